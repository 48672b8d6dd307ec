//! One upstream with its front, as it is now.

use std::sync::Arc;

use weir_engine::{
    Engine, Record, Scene, Standing, UpstreamView,
    dispatch::{Availability, Moment, UpstreamId, WindowUse},
};

use super::{Upstreams, day::Day, path, times::Times, voice::Voice};
use crate::{App, Failure, contribution::Contributed, kit, live::Whom};

/// One upstream, looked at once: all that is shown of it is of the same moment.
pub(crate) struct Sight<'a> {
    pub(super) front: &'a Contributed,
    pub(super) upstreams: &'a Arc<dyn Upstreams>,
    pub(super) view: UpstreamView,
    pub(super) place: String,
    pub(super) times: Times,
    pub(super) day: Day,
    /// Its records, newest first; none in a list.
    pub(super) records: Vec<Record>,
}

impl<'a> Sight<'a> {
    /// Every upstream of every front, without records: lists show none, or few of all.
    pub(super) fn all(app: &'a App) -> Vec<Self> {
        app.with_upstreams()
            .flat_map(|(front, upstreams)| {
                let rows = upstreams.engine().upstreams(0, usize::MAX);
                rows.into_iter().filter_map(move |row| {
                    let view = upstreams.engine().upstream(row.upstream)?;
                    Some(Self::new(app, front, upstreams, (view, Vec::new())))
                })
            })
            .collect()
    }

    /// One of those that were seen in brief, without records.
    pub(super) fn closely(
        app: &App,
        front: &'a Contributed,
        upstreams: &'a Arc<dyn Upstreams>,
        upstream: UpstreamId,
    ) -> Option<Self> {
        let view = upstreams.engine().upstream(upstream)?;
        Some(Self::new(app, front, upstreams, (view, Vec::new())))
    }

    /// How many of them are in this state.
    pub(super) fn count(all: &[Self], standing: Standing) -> usize {
        let wanted = all.iter().filter(|sight| sight.standing() == standing);
        wanted.count()
    }

    /// Whether it was ever called.
    pub(super) fn is_called(&self) -> bool {
        self.view.last_call.is_some()
    }

    /// The one with this name, or a failure that suggests similar names.
    pub(super) fn find(app: &'a App, front: &str, name: &str) -> Result<Self, Failure> {
        let known = app
            .with_upstreams()
            .find(|(known, _)| known.name == front)
            .ok_or_else(|| none(app, front, name))?;
        let upstream = known.1.engine().named(name);
        upstream
            .and_then(|upstream| Self::of(app, known.0, known.1, upstream))
            .ok_or_else(|| none(app, front, name))
    }

    /// The same for whoever watches it, with or without records; nothing is suggested if there is none.
    pub(super) fn watched(
        app: &'a App,
        (front, name): (&str, &str),
        with_records: bool,
    ) -> Option<Self> {
        let mut fronts = app.with_upstreams();
        let (front, upstreams) = fronts.find(|(known, _)| known.name == front)?;
        let upstream = upstreams.engine().named(name)?;
        match with_records {
            true => Self::of(app, front, upstreams, upstream),
            false => Self::closely(app, front, upstreams, upstream),
        }
    }

    fn of(
        app: &App,
        front: &'a Contributed,
        upstreams: &'a Arc<dyn Upstreams>,
        upstream: UpstreamId,
    ) -> Option<Self> {
        let seen = upstreams.engine().upstream_with_records(upstream)?;
        Some(Self::new(app, front, upstreams, seen))
    }

    fn new(
        app: &App,
        front: &'a Contributed,
        upstreams: &'a Arc<dyn Upstreams>,
        (mut view, records): (UpstreamView, Vec<Record>),
    ) -> Self {
        let day = Day::of(&std::mem::take(&mut view.day), view.at);
        Self {
            front,
            upstreams,
            place: upstreams.place(view.figures.upstream),
            times: Times::seen(view.at, app.now(), app.shell().zone.clone()),
            view,
            day,
            records,
        }
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

    /// What topics call it.
    pub(super) fn whom(&self) -> Whom {
        Whom {
            front: self.front.name.to_owned(),
            name: self.name().to_owned(),
        }
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
            Availability::Untried
            | Availability::Open
            | Availability::Probing
            | Availability::Off => None,
        }
    }

    /// When Weir tries it by itself if nobody asks for it before.
    pub(super) fn next_probe(&self) -> Option<Moment> {
        self.view.probe_at
    }

    /// Whether it is called although none of its last calls was answered.
    pub(super) fn is_failing(&self) -> bool {
        let open = matches!(self.standing(), Standing::Open | Standing::Untried);
        let never_answers = self.day.total() > 0 && self.day.answered() == 0;
        open && never_answers
    }

    /// The state that lends its colour: one that fails is not green, whatever it is called.
    pub(super) fn look(&self) -> &'static str {
        match self.standing() {
            Standing::Open | Standing::Untried if self.is_failing() => Standing::Cooldown.name(),
            standing => standing.name(),
        }
    }

    /// The used-up window that keeps an otherwise open upstream from being called: the one that opens last.
    pub(super) fn used_up(&self) -> Option<WindowUse> {
        weir_engine::used_up(&self.view.status, self.times.moment)
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
            Standing::Open | Standing::Untried if self.is_failing() => 3,
            Standing::Open if self.used_up().is_some() => 3,
            Standing::Manual => 4,
            Standing::Untried => 5,
            Standing::Open => 6,
        }
    }

    /// Tells of it.
    pub(super) fn voice(&self) -> Voice<'_> {
        Voice {
            front: self.front,
            upstreams: self.upstreams,
            name: self.name(),
            times: &self.times,
        }
    }

    /// Provides what sentences about it need.
    pub(super) fn scene<T>(&self, tell: impl FnOnce(&Scene<'_>) -> T) -> T {
        self.voice().scene(tell)
    }
}

/// A scene for sentences that are about no upstream; times become marks.
pub(super) fn no_scene() -> Scene<'static> {
    Scene {
        upstream: "",
        class: &|_| "",
        asker: &|_| None,
        clock: &|moment, seconds| match seconds {
            true => super::times::exactly(moment),
            false => super::times::at(moment),
        },
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
