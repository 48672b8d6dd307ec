//! What has happened to upstreams since the last second, for everybody who listens. Engines are asked once, whoever
//! listens to what.

use std::{collections::HashSet, sync::Arc};

use serde_json::{Value, json};
use weir_engine::{NewRecord, Onlooker, OwnDecision, SinceLast, dispatch::UpstreamId};

use super::{
    Upstreams, decisions::Itself, glance::Decided, json, reason, sight::Sight, times::Times,
    voice::Voice,
};
use crate::{App, LivePart, contribution::Contributed, kit, live::NewRows};

/// Decisions that are told at most in a second; of the others it is told how many.
const ROWS: usize = 20;
/// Changes of state that are told at most in a second.
const STATES: usize = 100;

/// What is new, by front.
pub(crate) struct Tidings<'a> {
    app: &'a App,
    /// They are the last of all, as a page lists them, and not only what is new.
    whole: bool,
    fronts: Vec<OfFront<'a>>,
}

struct OfFront<'a> {
    itself: Itself<'a>,
    upstreams: &'a Arc<dyn Upstreams>,
    new: SinceLast,
}

/// One decision, by the moment it was made.
enum Told<'a> {
    About(&'a NewRecord),
    Own(&'a OwnDecision),
}

impl<'a> Tidings<'a> {
    /// Looks at every front once. `onlookers` are those of the second before, or none.
    pub(crate) fn gather(app: &'a App, onlookers: &mut Vec<Onlooker>) -> Self {
        let fronts: Vec<_> = app.with_upstreams().collect();
        onlookers.resize_with(fronts.len(), Onlooker::default);
        let fronts = fronts.into_iter().zip(onlookers);
        let fronts = fronts.map(|((front, upstreams), onlooker)| {
            let new = upstreams.engine().since_last(onlooker, ROWS);
            OfFront::new(app, front, upstreams, new)
        });
        let (whole, fronts) = (false, fronts.collect());
        Self { app, whole, fronts }
    }

    /// The last decisions, as if they had just been made.
    pub(crate) fn last(app: &'a App) -> Self {
        let fronts = app.with_upstreams().map(|(front, upstreams)| {
            let engine = upstreams.engine();
            let mut own: Vec<_> = engine.own_decisions().into_iter().take(ROWS).collect();
            own.reverse();
            let new = SinceLast {
                records: engine.newest_records(ROWS),
                own,
                ..SinceLast::default()
            };
            OfFront::new(app, front, upstreams, new)
        });
        let (whole, fronts) = (true, fronts.collect());
        Self { app, whole, fronts }
    }

    /// Upstreams to which something happened, by front and name.
    pub(crate) fn changed(&self) -> HashSet<(&str, &str)> {
        let all = self.fronts.iter().flat_map(|of| {
            let names = of.new.changed.iter();
            names.map(|(_, name)| (of.itself.front.name, &**name))
        });
        all.collect()
    }

    /// `decisions`, for programs.
    pub(crate) fn decisions(&self) -> Option<Value> {
        let (rows, more) = self.newest();
        let rows: Vec<Value> = rows
            .iter()
            .map(|(of, told)| match told {
                Told::About(new) => json::row(of.voice(new), &new.record),
                Told::Own(decision) => json::own_row(&of.itself, decision),
            })
            .collect();
        (!rows.is_empty()).then(|| json!({ "decisions": rows, "more": more }))
    }

    /// The same as rows of the overview.
    pub(crate) fn decided(&self) -> NewRows {
        let (rows, more) = self.newest();
        let html = |(of, told): &(&OfFront<'_>, Told<'_>)| -> Option<LivePart> {
            let row = match told {
                Told::About(new) => Decided::about((of.voice(new), new.upstream), &new.record),
                Told::Own(decision) => Decided::own(&of.itself, decision),
            };
            kit::part(row.id.clone(), &row)
        };
        NewRows {
            list: "decided",
            rows: rows.iter().filter_map(html).collect(),
            more,
            newest: None,
        }
    }

    /// The newest decisions of all fronts, oldest first, and how many more there were.
    fn newest(&self) -> (Vec<(&OfFront<'_>, Told<'_>)>, u64) {
        let mut all: Vec<(_, (&OfFront<'_>, Told<'_>))> = Vec::new();
        for (index, of) in self.fronts.iter().enumerate() {
            let records = of.new.records.iter().map(|new| {
                let place = (new.record.at, index, new.record.number);
                (place, (of, Told::About(new)))
            });
            let own = of.new.own.iter().map(|decision| {
                // A burst that goes on is told again at its last moment; a page lists it where it began.
                let at = if self.whole {
                    decision.at
                } else {
                    decision.last
                };
                let place = (at, index, decision.number);
                (place, (of, Told::Own(decision)))
            });
            all.extend(records.chain(own));
        }
        all.sort_by_key(|(place, _)| *place);
        let surplus = all.len().saturating_sub(ROWS);
        let more: u64 = self.fronts.iter().map(|of| of.new.more).sum();
        let newest = all.drain(..).skip(surplus).map(|(_, told)| told);
        (newest.collect(), more + surplus as u64)
    }

    /// `states`, for programs.
    pub(crate) fn states(&self) -> Option<Value> {
        let all = self.fronts.iter();
        let all = all.flat_map(|of| of.new.states.iter().map(move |change| (of, change)));
        let count = all.clone().count();
        let states: Vec<Value> = all
            .take(STATES)
            .map(|(of, change)| {
                let (front, times) = (of.itself.front, &of.itself.times);
                // What is said of an upstream is about the state that it is in now.
                let now = of.sight(self.app, change.upstream);
                let now = now.filter(|sight| sight.standing() == change.to);
                let now = now.as_ref();
                json!({
                    "front": front.name,
                    "name": &*change.name,
                    "from": change.from.name(),
                    "to": change.to.name(),
                    "since": times.exact(change.at),
                    "until": now.and_then(Sight::until).map(|until| times.exact(until)),
                    "reason": now.map(|sight| sight.times.plain(&reason::full(sight))),
                })
            })
            .collect();
        (count > 0).then(|| json!({ "states": states, "more": count.saturating_sub(STATES) }))
    }
}

impl<'a> OfFront<'a> {
    fn new(
        app: &'a App,
        front: &'a Contributed,
        upstreams: &'a Arc<dyn Upstreams>,
        new: SinceLast,
    ) -> Self {
        let times = Times::new(upstreams.engine(), app.now(), app.shell().zone.clone());
        Self {
            itself: Itself::without_decisions(front, times),
            upstreams,
            new,
        }
    }

    fn voice<'b>(&'b self, new: &'b NewRecord) -> Voice<'b> {
        Voice {
            front: self.itself.front,
            upstreams: self.upstreams,
            name: &new.name,
            times: &self.itself.times,
        }
    }

    fn sight(&self, app: &App, upstream: UpstreamId) -> Option<Sight<'_>> {
        Sight::closely(app, self.itself.front, self.upstreams, upstream)
    }
}
