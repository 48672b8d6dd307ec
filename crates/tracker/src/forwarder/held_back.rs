//! Events of clients that did not go on at once, as records that say whose they were and why.

use weir_engine::words::{counted, grouped};
use weir_engine::{Own, OwnDecision, OwnKind};

use super::task::ForwarderTask;
use crate::forwarding::allowance::HeldBack;

/// Addresses with records of their own in one second; the others have one together, so that a flood from many addresses
/// does not push out every other record.
const NOTED: usize = 100;

impl ForwarderTask {
    /// Tells the engine what was held back since the last time.
    pub(super) fn note_held_back(&self) {
        let allowances = self.exchange.forwarding.allowances();
        let (noted, others) = allowances.take_noted(NOTED);
        let per_minute = allowances.per_minute();
        let noted = noted
            .into_iter()
            .map(|(who, counts)| (Some(who.to_string().into()), counts));
        for (asker, counts) in noted.chain([(None, others)]) {
            for (why, count) in HeldBack::ALL.into_iter().zip(counts) {
                if count > 0 {
                    let asker = Clone::clone(&asker);
                    let own = own(why, asker, per_minute);
                    self.exchange.engine.note_own(own, count);
                }
            }
        }
    }
}

fn own(why: HeldBack, asker: Option<std::sync::Arc<str>>, per_minute: u32) -> Own {
    let (about, _) = why.labels();
    let (kind, limit, sentence): (_, _, fn(&OwnDecision) -> String) = match why {
        HeldBack::Repeated => (OwnKind::Deduplicated, None, repeated),
        HeldBack::Throttled => (OwnKind::Throttled, Some(per_minute), throttled),
        HeldBack::Delayed => (OwnKind::Throttled, Some(per_minute), delayed),
    };
    Own {
        kind,
        about,
        asker,
        limit,
        sentence,
    }
}

fn repeated(decision: &OwnDecision) -> String {
    let times = counted(decision.count, "completed event", "completed events");
    format!(
        "{} repeated {times}. They were answered but not forwarded again.",
        who(decision)
    )
}

fn throttled(decision: &OwnDecision) -> String {
    let events = counted(
        decision.count,
        "completed event was",
        "completed events were",
    );
    format!(
        "{}: {events} stored and answered, but not sent on to trackers.",
        too_many(decision)
    )
}

fn delayed(decision: &OwnDecision) -> String {
    let events = counted(decision.count, "stopped event goes", "stopped events go");
    format!("{}: {events} on to trackers later.", too_many(decision))
}

fn too_many(decision: &OwnDecision) -> String {
    let limit = grouped(decision.own.limit.unwrap_or_default());
    format!(
        "{} sent more than {limit} events in a minute",
        who(decision)
    )
}

fn who(decision: &OwnDecision) -> &str {
    decision.own.asker.as_deref().unwrap_or("Other clients")
}
