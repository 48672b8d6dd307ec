//! One search while it runs and after: what each indexer said, and who is still asked.

mod part;
mod question;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use weir_engine::dispatch::{Moment, UpstreamId};
use weir_engine::{Engine, Receipt};

use crate::answer::IndexerAnswer;
use crate::bill::{Bill, Cost};
use crate::indexer::Indexer;
use crate::merge::{MergeInput, ReleaseList};

pub(crate) use self::part::{AnsweredFrom, IndexerPart, PartState, Stage};
pub(crate) use self::question::{SearchQuestion, ours};

/// Names a search in addresses; nobody guesses another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SearchId(pub(crate) u64);

impl SearchId {
    /// Reads the 16 hex digits that an id is written in.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let digits = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u64::from_str_radix(text, 16).ok()?;
        digits.then_some(Self(number))
    }
}

impl std::fmt::Display for SearchId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A search, shared by the tasks that see to its indexers and by everybody who watches it.
///
/// `merged` is locked before `parts`, never the other way round; neither is held across an await.
pub(crate) struct Search {
    pub(crate) id: SearchId,
    pub(crate) question: SearchQuestion,
    pub(crate) began: Moment,
    pub(crate) began_at: Instant,
    parts: Mutex<Vec<IndexerPart>>,
    /// The parts as they were when whoever asked was told: reply and history tell the same, whatever comes in between.
    told: OnceLock<Vec<IndexerPart>>,
    /// The releases, as they were after so many changes: many look at the same.
    merged: Mutex<Option<(u64, Arc<ReleaseList>)>>,
    /// Counts changes.
    changes: watch::Sender<u64>,
    /// What each of its indexers costs, in the order of the parts.
    costs: watch::Receiver<Vec<Cost>>,
    /// Nobody wants it any more.
    pub(crate) stop: CancellationToken,
    owed: Mutex<Owed>,
}

/// What is still to be recorded when whoever asked is told.
#[derive(Default)]
struct Owed {
    /// Those who gave nothing so far.
    receipts: Vec<Receipt>,
    /// Whoever asked was told to come back after this time.
    retry: Option<Duration>,
}

/// Figures of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SearchTally {
    pub(crate) asked: usize,
    pub(crate) answered: usize,
    pub(crate) nothing: usize,
    pub(crate) asking: usize,
    pub(crate) skipped: usize,
    pub(crate) failed: usize,
    /// Calls that were made for this search.
    pub(crate) calls: usize,
    /// Indexers of whose answers another's call is the source.
    pub(crate) shared: usize,
    /// Not answered, but there is an older answer.
    pub(crate) stale: usize,
}

impl Search {
    /// A search that is just begun, and the bills for those who see to it.
    pub(crate) fn new(id: SearchId, question: SearchQuestion, began: Moment) -> (Self, Vec<Bill>) {
        let part = |indexer: &Arc<Indexer>| IndexerPart {
            indexer: indexer.clone(),
            state: PartState::Asking,
            stale: None,
            took: Duration::ZERO,
            late: false,
            due: None,
        };
        let parts: Vec<IndexerPart> = question.scope.iter().map(part).collect();
        let (bills, costs) = Bill::open(parts.len());
        let search = Self {
            id,
            question,
            began,
            began_at: Instant::now(),
            parts: Mutex::new(parts),
            told: OnceLock::new(),
            merged: Mutex::default(),
            changes: watch::Sender::new(0),
            costs,
            stop: CancellationToken::new(),
            owed: Mutex::default(),
        };
        (search, bills)
    }

    /// When the asker gets what is there.
    pub(crate) fn deadline(&self) -> Instant {
        self.began_at + self.question.deadline
    }

    pub(crate) fn parts(&self) -> Vec<IndexerPart> {
        self.parts.lock().clone()
    }

    /// The parts as whoever asked is told of them: as they were when this was first asked, which is at the end of the
    /// search or its deadline.
    pub(crate) fn told(&self) -> &[IndexerPart] {
        self.told.get_or_init(|| {
            let mut parts = self.parts();
            for part in &mut parts {
                part.state = part.due.take().unwrap_or(part.state.clone());
            }
            parts
        })
    }

    /// How many changes there were; waits for further ones.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// One indexer's part has come so far.
    pub(crate) fn set(&self, at: usize, state: PartState) {
        let took = self.began_at.elapsed();
        let mut parts = self.parts.lock();
        let part = &mut parts[at];
        let was_given_up = !matches!(part.state, PartState::Asking);
        part.late = matches!(state, PartState::Answered { .. })
            && (was_given_up || took > self.question.deadline);
        part.state = state;
        part.took = took;
        // Whoever is woken looks at the parts.
        drop(parts);
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// One indexer gave nothing: where that is recorded, it is added what whoever asked is told.
    pub(crate) fn owe(&self, engine: &Engine, receipt: Option<Receipt>) {
        let mut owed = self.owed.lock();
        if let (Some(receipt), Some(retry)) = (&receipt, owed.retry) {
            engine.note_retry(receipt, retry);
        }
        owed.receipts.extend(receipt);
    }

    /// Whoever asked got nothing at all and is told to come back after this time.
    pub(crate) fn told_to_retry(&self, engine: &Engine, after: Duration) {
        let mut owed = self.owed.lock();
        owed.retry = Some(after);
        for receipt in &owed.receipts {
            engine.note_retry(receipt, after);
        }
    }

    /// The deadline has come for one indexer's part: what is recorded of it now is what whoever asked is told.
    pub(crate) fn set_due(&self, at: usize) {
        let part = &mut self.parts.lock()[at];
        part.due = Some(part.state.clone());
    }

    /// There is an answer of this age in seconds, which serves until there is a new one.
    pub(crate) fn set_stale(&self, at: usize, answer: Arc<IndexerAnswer>, age: i64) {
        self.parts.lock()[at].stale = Some((answer, age));
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// What each indexer costs, in the order of the parts.
    pub(crate) fn costs(&self) -> watch::Receiver<Vec<Cost>> {
        self.costs.clone()
    }

    /// Those who have something to be asked.
    pub(crate) fn wanted(&self) -> Vec<Arc<Indexer>> {
        let parts = self.parts.lock();
        let wanted = parts
            .iter()
            .filter(|part| !matches!(part.state, PartState::Nothing(_)));
        wanted.map(|part| part.indexer.clone()).collect()
    }

    /// Whether the answer of the indexer at this position is still awaited.
    pub(crate) fn is_asking(&self, at: usize) -> bool {
        matches!(self.parts.lock()[at].state, PartState::Asking)
    }

    pub(crate) fn is_running(&self) -> bool {
        let parts = self.parts.lock();
        parts
            .iter()
            .any(|part| matches!(part.state, PartState::Asking))
    }

    /// Waits until nobody is asked any more, or until then.
    ///
    /// # Cancel safety
    /// Waiting can be given up at any time.
    pub(crate) async fn settled(&self, until: Instant) {
        // Subscribed before it looks, or it would miss the last change.
        let mut changes = self.watch();
        let all = async {
            while self.is_running() {
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout_at(until, all).await;
    }

    /// The figures as whoever asked is told of them.
    pub(crate) fn told_tally(&self) -> SearchTally {
        self.tally_of(self.told())
    }

    /// The figures of these parts. Calls may be counted later; see [`Bill`].
    pub(crate) fn tally_of(&self, parts: &[IndexerPart]) -> SearchTally {
        let mut tally = SearchTally::default();
        for part in parts {
            tally.asked += 1;
            match &part.state {
                PartState::Asking => tally.asking += 1,
                PartState::Answered { .. } => tally.answered += 1,
                PartState::Nothing(_) => tally.nothing += 1,
                PartState::Skipped { .. } => tally.skipped += 1,
                PartState::Failed { .. } => tally.failed += 1,
            }
            let answered = matches!(part.state, PartState::Answered { .. });
            tally.stale += usize::from(!answered && part.stale.is_some());
        }
        for cost in self.costs.borrow().iter() {
            tally.calls += cost.calls as usize;
            tally.shared += usize::from(cost.shared_with.is_some());
        }
        tally
    }

    /// All releases that are there now. `healthy` says whether an indexer could be asked for a file.
    pub(crate) fn list(&self, healthy: impl Fn(&Indexer) -> bool) -> Arc<ReleaseList> {
        // Read first: what changes while it is merged is merged next time.
        let changes = *self.changes.borrow();
        // Held while it is merged: of ten who look at once, nine wait and get what the first made.
        let mut merged = self.merged.lock();
        if let Some((_, list)) = merged.as_ref().filter(|(at, _)| *at == changes) {
            return list.clone();
        }
        let list = Arc::new(self.merge(healthy));
        *merged = Some((changes, list.clone()));
        list
    }

    /// Bytes that its answers hold in memory, about.
    pub(crate) fn weight(&self) -> usize {
        let parts = self.parts.lock();
        let weight = |part: &IndexerPart| match &part.state {
            PartState::Answered { answer, .. } => answer.weight,
            _ => part.stale.as_ref().map_or(0, |(answer, _)| answer.weight),
        };
        parts.iter().map(weight).sum()
    }

    fn merge(&self, healthy: impl Fn(&Indexer) -> bool) -> ReleaseList {
        let contributions = self
            .parts()
            .into_iter()
            .filter_map(|part| {
                let (answer, cached) = match part.state {
                    PartState::Answered { answer, from } => {
                        (answer, matches!(from, AnsweredFrom::Cache(_)))
                    }
                    _ => (part.stale?.0, true),
                };
                let healthy = healthy(&part.indexer);
                Some(MergeInput {
                    indexer: part.indexer,
                    answer,
                    cached,
                    healthy,
                })
            })
            .collect();
        // Most releases of an indexer are in the categories of the one before.
        let mut last: Option<(UpstreamId, Vec<u32>, bool)> = None;
        ReleaseList::of(contributions, |contribution, release| {
            let indexer = &*contribution.indexer;
            if !self.question.fits(indexer, release, self.began) {
                return false;
            }
            let same = |known: &&(UpstreamId, Vec<u32>, bool)| {
                known.0 == indexer.upstream && known.1 == release.categories
            };
            if let Some((.., fits)) = last.as_ref().filter(same) {
                return *fits;
            }
            let fits = self.question.fits_category(indexer, release);
            last = Some((indexer.upstream, release.categories.clone(), fits));
            fits
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_16_hex_digits() {
        let id = SearchId(0xab);
        assert_eq!(id.to_string(), "00000000000000ab");
        assert_eq!(SearchId::parse(&id.to_string()), Some(id));
        for text in [
            "",
            "ab",
            "+0000000000000ab",
            "00000000000000abc",
            "000000000000000g",
        ] {
            assert_eq!(SearchId::parse(text), None, "{text}");
        }
    }
}
