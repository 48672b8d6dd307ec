//! Events of clients that did not go on at once, and what an overloaded tracker did not do, as records that say whose it
//! was and why.

use std::sync::Arc;

use weir_engine::{Own, OwnDecision, OwnKind, OwnReason};

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

impl ForwarderTask {
    /// Tells the engine and the log what was refused, dropped and left out since the last time.
    pub(super) fn note_overload(&self, ends: bool) {
        let exchange = &self.exchange;
        let now = exchange.clock.now();
        let reports = exchange.forwarding.overloads().take(now.seconds, ends);
        for (own, count) in reports.log {
            let told = OwnDecision {
                number: 0,
                at: now.moment,
                last: now.moment,
                count,
                own,
            };
            tracing::warn!(front = "tracker", "{}", told.sentence());
        }
        for (own, count) in reports.happened {
            exchange.engine.note_own(own, count);
        }
    }
}

fn own(why: HeldBack, asker: Option<Arc<str>>, per_minute: u32) -> Own {
    let (about, _) = why.labels();
    let (kind, reason, limit) = match why {
        HeldBack::Repeated => (OwnKind::Deduplicated, OwnReason::Repeated, None),
        HeldBack::Throttled | HeldBack::Delayed => {
            (OwnKind::Throttled, OwnReason::TooMany, Some(per_minute))
        }
    };
    Own {
        asker,
        limit,
        ..Own::new(kind, reason, about)
    }
}
