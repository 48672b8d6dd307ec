//! One upstream with its front, as it is now.

use std::{collections::HashMap, sync::Arc};

use weir_engine::{
    Engine, Scene, Standing, UpstreamView,
    dispatch::{Asker, Availability, Class, Decision, Moment, UpstreamId, Window, WindowUse},
};

use super::{OPERATOR, Upstreams, day::Day, path, times::Times};
use crate::{App, Failure, contribution::Contributed, kit};

/// One upstream, looked at once.
pub(crate) struct Sight<'a> {
    pub(super) front: &'a Contributed,
    pub(super) upstreams: &'a Arc<dyn Upstreams>,
    pub(super) view: UpstreamView,
    pub(super) place: String,
    pub(super) times: Times,
}

/// One limit of an upstream and what is used of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct UpstreamLimit {
    pub(super) grabs: bool,
    pub(super) window: WindowUse,
}

impl<'a> Sight<'a> {
    /// Every upstream of every front.
    pub(super) fn all(app: &'a App) -> Vec<Self> {
        app.with_upstreams()
            .flat_map(|(front, upstreams)| {
                let rows = upstreams.engine().upstreams(0, usize::MAX);
                rows.into_iter()
                    .filter_map(move |row| Self::of(app, front, upstreams, row.upstream))
            })
            .collect()
    }

    /// How many of them are in this state.
    pub(super) fn count(all: &[Self], standing: Standing) -> usize {
        let wanted = all.iter().filter(|sight| sight.standing() == standing);
        wanted.count()
    }

    /// The one with this name, or a failure that suggests similar names.
    pub(super) fn find(app: &'a App, front: &str, name: &str) -> Result<Self, Failure> {
        let known = app
            .with_upstreams()
            .find(|(known, _)| known.name == front)
            .ok_or_else(|| none(app, front, name))?;
        let rows = known.1.engine().upstreams(0, usize::MAX);
        rows.iter()
            .find(|row| *row.name == *name)
            .and_then(|row| Self::of(app, known.0, known.1, row.upstream))
            .ok_or_else(|| none(app, front, name))
    }

    fn of(
        app: &App,
        front: &'a Contributed,
        upstreams: &'a Arc<dyn Upstreams>,
        upstream: UpstreamId,
    ) -> Option<Self> {
        let engine = upstreams.engine();
        Some(Self {
            front,
            upstreams,
            view: engine.upstream(upstream)?,
            place: upstreams.place(upstream),
            times: Times::new(engine, app.now(), app.shell().zone.clone()),
        })
    }

    /// The same upstream as it is now, after something was done to it.
    pub(super) fn again(&self, app: &App) -> Option<Self> {
        Self::of(app, self.front, self.upstreams, self.id())
    }

    pub(super) fn id(&self) -> UpstreamId {
        self.view.figures.upstream
    }

    pub(super) fn engine(&self) -> &Engine {
        self.upstreams.engine()
    }

    pub(super) fn name(&self) -> &str {
        &self.view.figures.name
    }

    pub(super) fn path(&self) -> String {
        path(self.front.name, self.name())
    }

    pub(super) fn standing(&self) -> Standing {
        self.view.status.state.into()
    }

    /// When its state ends by itself.
    pub(super) fn until(&self) -> Option<Moment> {
        match self.view.status.state {
            Availability::Cooldown { until } | Availability::Disabled { until } => Some(until),
            Availability::Open | Availability::Probing | Availability::Off => None,
        }
    }

    /// Since when it has been in its state, as far as this run knows.
    pub(super) fn since(&self) -> Option<Moment> {
        let history = self.engine().history(self.id());
        let (at, standing) = *history.last()?;
        (standing == self.standing()).then_some(at)
    }

    pub(super) fn day(&self) -> Day {
        Day::look(self.engine(), self.id())
    }

    /// All limits, those on queries first.
    pub(super) fn limits(&self) -> Vec<UpstreamLimit> {
        let status = &self.view.status;
        let of = |grabs| {
            move |window: &WindowUse| UpstreamLimit {
                grabs,
                window: *window,
            }
        };
        let queries = status.query.iter().map(of(false));
        queries.chain(status.grab.iter().map(of(true))).collect()
    }

    /// The used-up window that keeps an otherwise open upstream from being called: the one that opens last.
    pub(super) fn used_up(&self) -> Option<WindowUse> {
        let windows = self.view.status.query.iter();
        windows
            .filter(|window| window.used >= window.limit && window.next > self.times.moment)
            .max_by_key(|window| window.next)
            .copied()
            .filter(|_| self.standing() == Standing::Open)
    }

    /// Whether an operator may want to look at it.
    pub(super) fn needs_attention(&self) -> bool {
        self.rank() < 4
    }

    /// Its place in the default order: those needing attention first.
    pub(super) fn rank(&self) -> u8 {
        match self.standing() {
            Standing::Disabled => 0,
            Standing::Cooldown => 1,
            Standing::Probing => 2,
            Standing::Open if self.used_up().is_some() => 3,
            Standing::Manual => 4,
            Standing::Open => 5,
        }
    }

    pub(super) fn class(&self, class: Class) -> &'static str {
        let classes = self.upstreams.classes();
        classes
            .get(usize::from(class.0))
            .copied()
            .unwrap_or("the job")
    }

    /// Who an asker is, as a name.
    pub(super) fn asker(&self, asker: Asker) -> Option<String> {
        match asker {
            OPERATOR => Some("operator".to_owned()),
            Asker(0) => None,
            asker => self.upstreams.asker(asker),
        }
    }

    /// Its last decisions, newest first.
    pub(super) fn decisions(&self) -> Vec<Decision> {
        self.engine().decisions(self.id(), None, usize::MAX)
    }

    /// Provides what sentences about these decisions need.
    pub(super) fn scene<T>(&self, decisions: &[Decision], tell: impl FnOnce(&Scene<'_>) -> T) -> T {
        let askers = decisions.iter().flat_map(|decision| {
            let other = match decision.what {
                weir_engine::dispatch::What::Shared { with } => Some(with),
                _ => None,
            };
            [Some(decision.asker), other].into_iter().flatten()
        });
        let in_a_sentence = |asker| match asker {
            OPERATOR => Some("an operator".to_owned()),
            asker => self.asker(asker),
        };
        let askers: HashMap<Asker, String> = askers
            .filter_map(|asker| Some((asker, in_a_sentence(asker)?)))
            .collect();
        let ladder = self.engine().ladder();
        let error = &self.view.last_error;
        tell(&Scene {
            upstream: self.name(),
            now: self.times.moment,
            class: &|class| self.class(class),
            asker: &|asker| askers.get(&asker).map(String::as_str),
            clock: &|moment, seconds| {
                if seconds {
                    super::times::exactly(moment)
                } else {
                    super::times::at(moment)
                }
            },
            ladder: &ladder,
            last_error: error.as_ref().map(|(at, words)| (*at, words.as_str())),
            windows: &self.view.status.query,
            off: self.view.off.as_ref(),
            capacity: self.engine().status().counts.capacity,
        })
    }
}

impl UpstreamLimit {
    /// `hour`, or `grabs` for limits on grabs.
    pub(super) fn label(self) -> &'static str {
        match (self.grabs, self.window.window) {
            (true, _) => "grabs",
            (false, Window::Minute) => "min",
            (false, Window::Hour) => "hour",
            (false, Window::Day) => "day",
        }
    }
}

/// `hour` in a sentence.
pub(super) fn period(window: Window) -> &'static str {
    match window {
        Window::Minute => "minute",
        Window::Hour => "hour",
        Window::Day => "day",
    }
}

/// Says that there is no such upstream, and which ones have a similar name.
fn none(app: &App, front: &str, name: &str) -> Failure {
    let names: Vec<String> = app
        .with_upstreams()
        .filter(|(known, _)| known.name == front || !is_front(app, front))
        .flat_map(|(_, upstreams)| upstreams.engine().upstreams(0, usize::MAX))
        .map(|row| row.name.to_string())
        .collect();
    let near = kit::nearest(name, names);
    let advice = match near.as_slice() {
        [] => "The Upstreams page lists them all.".to_owned(),
        near => format!("Similar names: {}.", near.join(", ")),
    };
    Failure::unknown(
        format!("There is no upstream called “{name}” here."),
        advice,
    )
}

fn is_front(app: &App, name: &str) -> bool {
    app.with_upstreams().any(|(front, _)| front.name == name)
}
