//! Makes events: of one snapshot, each topic once, and only what has changed.

mod figures;
mod points;

use std::{
    collections::{BTreeMap, HashSet},
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
};

use serde_json::{Map, Value, json};
use weir_engine::{Onlooker, Vital};

use super::{
    Announcer, LivePart, NewRows,
    hub::{Made, MadeEvent, WantedTopic},
    topic::{Topic, Whom},
};
use crate::{
    App, pages,
    upstreams::{self, Tidings},
};

/// What is said of an upstream to which nothing happens changes slowly (`in 6 min`), so it is looked at once in so many
/// ticks, some of them in each.
const SLOW: u64 = 10;

/// What was told last, so that only changes are told.
#[derive(Default)]
pub(super) struct Desk {
    tick: u64,
    /// What was seen of each front's upstreams; empty while nobody wants to know.
    onlookers: Vec<Onlooker>,
    /// Of topics that are told whole.
    told: BTreeMap<Topic, String>,
    /// Of parts of pages: what each element looked like.
    shown: BTreeMap<Topic, Vec<LivePart>>,
    /// Of lists about one upstream: the number of the newest row.
    listed: BTreeMap<Topic, Option<u64>>,
}

impl Desk {
    /// Makes what is wanted. Whatever panics is left out, so that it does not take the rest along.
    pub(super) fn make(
        &mut self,
        app: &App,
        wanted: &[WantedTopic],
        vital: &Vital,
    ) -> Vec<MadeEvent> {
        self.tick += 1;
        // Both are in the order of topics.
        let is_wanted = |topic: &Topic| wanted.binary_search_by(|one| one.topic.cmp(topic)).is_ok();
        self.told.retain(|topic, _| is_wanted(topic));
        self.shown.retain(|topic, _| is_wanted(topic));
        self.listed.retain(|topic, _| is_wanted(topic));
        for announcer in app.announcers() {
            announcer.set_heard(is_wanted(announcer.topic()));
        }
        let tidings = self.gather(app, wanted, vital);
        let changed = tidings.as_ref().map(Tidings::changed).unwrap_or_default();
        let made = wanted.iter().filter_map(|wanted| {
            let made = vital.guard(|| self.made(app, wanted, (tidings.as_ref(), &changed)))?;
            let (topic, name) = (wanted.topic.clone(), name(&wanted.topic));
            Some(MadeEvent { topic, name, made })
        });
        made.collect()
    }

    /// One look at all upstreams, if somebody wants to know.
    fn gather<'a>(
        &mut self,
        app: &'a App,
        wanted: &[WantedTopic],
        vital: &Vital,
    ) -> Option<Tidings<'a>> {
        if wanted.iter().any(|wanted| needs_tidings(&wanted.topic)) {
            return vital.guard(|| Tidings::gather(app, &mut self.onlookers));
        }
        self.onlookers.clear();
        None
    }

    fn made(
        &mut self,
        app: &App,
        wanted: &WantedTopic,
        (tidings, changed): (Option<&Tidings<'_>>, &HashSet<(&str, &str)>),
    ) -> Made {
        let is_due = |whom: &Whom| {
            let happened = changed.contains(&(&*whom.front, &*whom.name));
            happened || wanted.whole || is_turn_of(&wanted.topic, self.tick)
        };
        match &wanted.topic {
            Topic::Figures => self.state(wanted, figures::figures(app).to_string()),
            Topic::Points => self.state(wanted, points::points(app).to_string()),
            Topic::States => happened(tidings.and_then(Tidings::states)),
            Topic::Decisions => happened(tidings.and_then(Tidings::decisions)),
            Topic::Searches | Topic::News => {
                let mut all = app.announcers();
                let announcer = all.find(|one| *one.topic() == wanted.topic);
                happened(announcer.and_then(Announcer::take))
            }
            Topic::Overview(window) => self.parts(wanted, pages::overview::parts(app, window)),
            Topic::Contributed(name) => self.parts(wanted, app.contributed_parts(name)),
            Topic::Row(whom) if is_due(whom) => self.parts(wanted, upstreams::row_parts(app, whom)),
            Topic::Upstream(whom) if is_due(whom) => {
                self.parts(wanted, upstreams::one_parts(app, whom))
            }
            Topic::Row(_) | Topic::Upstream(_) => Made::Happened(None),
            Topic::Decided => Made::State {
                changed: tidings.and_then(|tidings| rows_json(&tidings.decided(), false)),
                whole: (wanted.whole)
                    .then(|| rows_json(&Tidings::last(app).decided(), true))
                    .flatten(),
            },
            Topic::DecidedAbout(whom) if is_due(whom) => self.rows(app, wanted, whom),
            Topic::DecidedAbout(_) => Made::Happened(None),
        }
    }

    /// A topic that is told whole whenever something in it changes.
    fn state(&mut self, wanted: &WantedTopic, now: String) -> Made {
        let before = self.told.get(&wanted.topic);
        let changed = before.is_none_or(|before| *before != now);
        let made = Made::State {
            changed: (changed && wanted.changes).then(|| now.clone()),
            whole: wanted.whole.then(|| now.clone()),
        };
        if changed {
            self.told.insert(wanted.topic.clone(), now);
        }
        made
    }

    /// Parts of a page, of which those are told that changed.
    fn parts(&mut self, wanted: &WantedTopic, now: Vec<LivePart>) -> Made {
        let before = self.shown.insert(wanted.topic.clone(), now);
        let before = before.unwrap_or_default();
        let now = &self.shown[&wanted.topic];
        let changed: Vec<&LivePart> = now.iter().filter(|part| !before.contains(part)).collect();
        let told = wanted.changes && !changed.is_empty();
        let whole = wanted.whole && !now.is_empty();
        Made::State {
            changed: told.then(|| parts_json(changed)),
            whole: whole.then(|| parts_json(now)),
        }
    }

    /// Rows about one upstream.
    fn rows(&mut self, app: &App, wanted: &WantedTopic, whom: &Whom) -> Made {
        let before = self.listed.get(&wanted.topic).copied();
        let new = before.map(|after| upstreams::one_rows(app, whom, after.or(Some(0))));
        let all = (wanted.whole || before.is_none()).then(|| upstreams::one_rows(app, whom, None));
        let newest = |rows: &Option<NewRows>| rows.as_ref().and_then(|rows| rows.newest);
        let newest = newest(&new).or(newest(&all)).or(before.flatten());
        self.listed.insert(wanted.topic.clone(), newest);
        let all = all.filter(|_| wanted.whole);
        Made::State {
            changed: new.and_then(|rows| rows_json(&rows, false)),
            whole: all.and_then(|rows| rows_json(&rows, true)),
        }
    }
}

fn needs_tidings(topic: &Topic) -> bool {
    match topic {
        Topic::States
        | Topic::Decisions
        | Topic::Decided
        | Topic::DecidedAbout(_)
        | Topic::Row(_)
        | Topic::Upstream(_) => true,
        Topic::Figures
        | Topic::Points
        | Topic::Searches
        | Topic::News
        | Topic::Overview(_)
        | Topic::Contributed(_) => false,
    }
}

/// Whether it is looked at in this tick although nothing happened.
fn is_turn_of(topic: &Topic, tick: u64) -> bool {
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(topic.to_string());
    hash.wrapping_add(tick) % SLOW == 0
}

/// The event's name.
fn name(topic: &Topic) -> &'static str {
    match topic {
        Topic::Decided | Topic::DecidedAbout(_) => "rows",
        topic if topic.is_for_programs() => topic.word(),
        _ => "parts",
    }
}

fn happened(data: Option<Value>) -> Made {
    Made::Happened(data.map(|data| data.to_string()))
}

fn parts_json<'a>(parts: impl IntoIterator<Item = &'a LivePart>) -> String {
    let parts = parts.into_iter();
    let parts = parts.map(|(id, html)| (id.clone(), Value::from(html.as_str())));
    json!({ "parts": parts.collect::<Map<_, _>>() }).to_string()
}

/// `whole` says that they are the newest of all, and not only what is new.
fn rows_json(new: &NewRows, whole: bool) -> Option<String> {
    let rows = new
        .rows
        .iter()
        .map(|(id, html)| json!({ "id": id, "html": html }));
    let rows: Vec<Value> = rows.collect();
    let data = json!({ "list": new.list, "rows": rows, "more": new.more, "whole": whole });
    (!new.rows.is_empty()).then(|| data.to_string())
}
