//! One hook as the front keeps it, and its desk: what it was told and what it has to be told.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use weir_engine::dispatch::{Moment, UpstreamId};
use weir_engine::{Joining, Listed, Ticket};

use crate::config::hook::{EventKind, HookEntry, HookKind};
use crate::keep::KeptHook;
use crate::outbound::HookAddress;
use crate::outbox::{Batch, Line, Outbox};
use crate::rules::split_entry;
use crate::subject::{Subject, Whom};
use crate::watch::{Happening, KeptCourse, Sightings, Terms, Turn, Watch};

/// The name of this front.
pub(crate) const FRONT: &str = "notify";

/// An upstream of this front. Replaced by another when its entry in the configuration changes.
pub(crate) struct Hook {
    pub(crate) upstream: UpstreamId,
    /// As it is configured, for the roster.
    entry: HookEntry,
    name: String,
    pub(crate) kind: HookKind,
    events: Vec<EventKind>,
    down_after: Option<Duration>,
    pub(crate) address: HookAddress,
    /// Stays with the name, whatever else of the entry changes.
    pub(crate) desk: Arc<HookDesk>,
}

/// What one hook was told and has to be told.
pub(crate) struct HookDesk(Mutex<DeskState>);

struct DeskState {
    watch: Watch,
    outbox: Outbox,
    /// The number of the last line.
    last_line: u64,
    /// The message that waits for its turn or is under way.
    message: Option<Ticket>,
    /// What is not written yet.
    told: HashMap<Subject, Option<KeptCourse>>,
    is_outbox_unwritten: bool,
    last_test: Option<TestResult>,
}

/// What came of a test.
#[derive(Clone, Debug)]
pub(crate) struct TestResult {
    pub(crate) at: Timestamp,
    pub(crate) arrived: bool,
    pub(crate) sentence: String,
}

/// What must be written of one hook.
pub(crate) struct Unwritten {
    pub(crate) told: HashMap<Subject, Option<KeptCourse>>,
    /// The whole of it, if it has changed.
    pub(crate) outbox: Option<Outbox>,
}

impl HookDesk {
    /// With what was kept of the hook with this name.
    pub(crate) fn new(name: &str, kept: KeptHook) -> Self {
        let own = Whom::new(FRONT, name);
        Self(Mutex::new(DeskState {
            watch: Watch::restored(own, kept.told),
            last_line: kept.outbox.last(),
            outbox: kept.outbox,
            message: None,
            told: HashMap::new(),
            is_outbox_unwritten: false,
            last_test: None,
        }))
    }

    /// What the next message tells; see [`Outbox::begin`].
    pub(crate) fn begin(&self) -> Option<Batch> {
        self.0.lock().outbox.begin()
    }

    /// A message has arrived.
    pub(crate) fn sent(&self, batch: &Batch) {
        let mut state = self.0.lock();
        state.outbox.sent(batch);
        state.is_outbox_unwritten = true;
    }

    /// No message is under way any more.
    pub(crate) fn rest(&self) {
        self.0.lock().outbox.rest();
    }

    /// Submits a message unless one waits or there is nothing to tell.
    pub(crate) fn submit(&self, submit: impl FnOnce() -> Ticket) {
        let is_due = {
            let state = self.0.lock();
            let waits = state.message.as_ref();
            let waits = waits.is_some_and(|ticket| ticket.ended().is_none());
            !waits && !state.outbox.is_empty()
        };
        if is_due {
            // Not under the lock: a job that ends at once tells its call, which comes back here.
            let ticket = submit();
            let before = self.0.lock().message.replace(ticket);
            drop(before);
        }
    }

    /// Cancels the message that waits; one under way carries on.
    pub(crate) fn withdraw(&self) {
        let message = self.0.lock().message.take();
        drop(message);
    }

    /// Takes what is not written yet; `None` if there is nothing.
    pub(crate) fn unwritten(&self) -> Option<Unwritten> {
        let mut state = self.0.lock();
        let told = std::mem::take(&mut state.told);
        let outbox = std::mem::take(&mut state.is_outbox_unwritten);
        let outbox = outbox.then(|| state.outbox.clone());
        (!told.is_empty() || outbox.is_some()).then_some(Unwritten { told, outbox })
    }

    /// It could not be written: it is tried again.
    pub(crate) fn put_back(&self, unwritten: Unwritten) {
        let mut state = self.0.lock();
        state.is_outbox_unwritten |= unwritten.outbox.is_some();
        for (subject, kept) in unwritten.told {
            state.told.entry(subject).or_insert(kept);
        }
    }

    pub(crate) fn note_test(&self, result: TestResult) {
        self.0.lock().last_test = Some(result);
    }

    pub(crate) fn last_test(&self) -> Option<TestResult> {
        self.0.lock().last_test.clone()
    }
}

impl Hook {
    pub(crate) fn join(
        entry: &HookEntry,
        joining: &Joining<'_, Self>,
        desk: Arc<HookDesk>,
    ) -> Self {
        let rules = split_entry(entry);
        Self {
            upstream: joining.upstream,
            entry: entry.clone(),
            name: rules.name.clone(),
            kind: rules.kind,
            events: rules.events.clone(),
            down_after: rules.down_after,
            address: HookAddress::new(rules),
            desk,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What it is told, in words.
    pub(crate) fn events(&self) -> String {
        let events = self.events.iter().map(|event| event.name());
        events.collect::<Vec<_>>().join(", ")
    }

    /// Compares what is seen with what this hook was told, and puts what is new into its outbox, at most so many lines.
    /// `tell` writes a line's words.
    pub(crate) fn look(
        &self,
        now: Moment,
        seen: &Sightings,
        terms: &Terms,
        most: usize,
        tell: impl Fn(&Happening) -> (String, String),
    ) {
        let terms = Terms {
            down_after: self.down_after.unwrap_or(terms.down_after),
            ..*terms
        };
        let mut state = self.desk.0.lock();
        let noticed = state.watch.look(now, seen, &terms);
        state.told.extend(noticed.changes);
        for happening in noticed.happenings {
            let Some(kind) = self.kind_of(&happening) else {
                continue;
            };
            let id = now.0.max(state.last_line + 1);
            state.last_line = id;
            let (title, sentence) = tell(&happening);
            let (front, upstream) = match &happening.subject {
                Subject::Network => (None, None),
                Subject::Front(front) => (Some(front.to_string()), None),
                Subject::Upstream(whom) | Subject::Quota(whom) => {
                    (Some(whom.front.to_string()), Some(whom.name.to_string()))
                }
            };
            let (began, since, until) = match happening.turn {
                Turn::Began { since } => (true, since, None),
                Turn::Ended { since, until } => (false, since, Some(until.0)),
            };
            let line = Line {
                id,
                event: kind.name().to_owned(),
                began,
                subject: happening.subject.to_string(),
                front,
                upstream,
                at: now.0,
                since: since.0,
                until,
                title,
                sentence,
            };
            state.outbox.push(line, most);
            state.is_outbox_unwritten = true;
        }
    }

    /// What an event is called, if this hook wants to be told of it.
    fn kind_of(&self, happening: &Happening) -> Option<EventKind> {
        let kind = match (&happening.subject, happening.turn) {
            (Subject::Upstream(_), Turn::Began { .. }) => EventKind::Down,
            (Subject::Upstream(_), Turn::Ended { .. }) => EventKind::Back,
            (Subject::Quota(_), Turn::Began { .. }) => EventKind::Quota,
            (Subject::Front(_), Turn::Began { .. }) => EventKind::Overload,
            // Whoever is beyond our network hears of it when it is back.
            (Subject::Network, Turn::Began { .. }) if self.address.is_near => EventKind::Network,
            (Subject::Network, Turn::Ended { .. }) => EventKind::Network,
            (Subject::Network, Turn::Began { .. })
            | (Subject::Quota(_) | Subject::Front(_), Turn::Ended { .. }) => return None,
        };
        self.events.contains(&kind).then_some(kind)
    }
}

impl Listed for Hook {
    type Entry = HookEntry;

    fn entry(&self) -> &HookEntry {
        &self.entry
    }

    fn upstream(&self) -> UpstreamId {
        self.upstream
    }

    fn name(entry: &HookEntry) -> &str {
        &entry.name
    }

    fn leads_elsewhere(before: &HookEntry, now: &HookEntry) -> bool {
        before.url != now.url || before.proxy != now.proxy
    }

    fn identity(entry: &HookEntry) -> (String, String) {
        (entry.url.expose().to_owned(), String::new())
    }

    fn look_up_anew(&self) {
        self.address.look_up_anew();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn course(repeats: u8) -> Option<KeptCourse> {
        let kept = json!({ "since": 1, "from": null, "over": null, "repeats": repeats });
        Some(serde_json::from_value(kept).unwrap())
    }

    #[test]
    fn what_could_not_be_written_is_written_later_unless_something_newer_is() {
        let desk = HookDesk::new("a", KeptHook::default());
        let [one, other] =
            ["one", "other"].map(|name| Subject::Upstream(Whom::new("search", name)));
        {
            let mut state = desk.0.lock();
            state.told = HashMap::from([(one.clone(), course(1)), (other.clone(), course(1))]);
            state.is_outbox_unwritten = true;
        }
        let unwritten = desk.unwritten().unwrap();
        assert!(desk.unwritten().is_none(), "it was taken");
        desk.0.lock().told.insert(one.clone(), course(2));
        desk.put_back(unwritten);
        let again = desk.unwritten().unwrap();
        let told = HashMap::from([(one, course(2)), (other, course(1))]);
        assert_eq!(again.told, told);
        assert!(again.outbox.is_some());
    }
}
