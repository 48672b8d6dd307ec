//! Keeps an engine's rows in a store, and brings them back at the next start.
//!
//! The engine counts in moments that never jump; the store keeps wall times. Each row is translated by
//! the wall clock at the time it is handed over. When the wall clock is set, the rows that hold future
//! times (cooldowns, the agenda) are handed over again, so that they end when they should, whatever the
//! clock did in between. Window starts are written once: after a step back they count as made now; after
//! a step forward, those of upstreams that are called again are written again.

mod translate;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use weir_dispatch::{Budget, Class, JobId, Moment, SavedUpstream};
use weir_store::state::{self, Change, Payload, State, Wall};

use crate::engine::Engine;
use crate::keeper::{AgendaChange, Changes, Keeper, KeptUpstream, Memory, Off};
use crate::roster::Renamed;
use crate::timeline::Timeline;

use self::translate::{Skew, Translated};

/// A wall clock that has moved this much against ours was set.
const SET: i64 = 1_000_000_000;

/// Says what time it is.
pub type WallClock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// The rows of one front. Give it to the engine as its keeper.
pub struct Rows {
    front: &'static str,
    state: Arc<dyn State>,
    timeline: Timeline,
    clock: WallClock,
    book: Mutex<Book>,
}

/// What the store holds, as far as it decides what to write next.
#[derive(Default)]
struct Book {
    skew: Skew,
    upstreams: HashMap<Arc<str>, Translated>,
    agenda: HashMap<JobId, (Moment, state::AgendaRow)>,
    /// Entries from before this start, until those that are still wanted have been put back.
    old_agenda: Vec<u64>,
    next_id: u64,
    /// What is written together, while that gathers.
    held: Option<Vec<Change>>,
}

/// What was kept for one upstream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoredUpstream {
    /// The dispatcher's row.
    pub row: SavedUpstream,
    /// Why it is off, if an operator had switched it off.
    pub off: Option<Off>,
    /// What the engine remembered of it.
    pub memory: Memory,
    /// What happened lately.
    pub past: Option<RestoredPast>,
}

/// States and records as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredPast {
    /// The text.
    pub text: String,
    /// What its times are to be moved by, in nanoseconds: moments are of one run.
    pub shift: i64,
}

/// What was kept for a scheduled job. The front makes the job and the call again from its own bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredJob {
    /// The upstream it calls.
    pub upstream: Arc<str>,
    /// Its class.
    pub class: Class,
    /// Its budget.
    pub budget: Budget,
    /// When it is due.
    pub due: Moment,
    /// Attempts made so far.
    pub attempts_made: u8,
    /// The front's own bytes.
    pub kept: Vec<u8>,
}

/// Everything that was kept for a front.
#[derive(Clone, Debug, Default)]
pub struct Restored {
    /// Upstreams by name, including those that are no longer configured.
    pub upstreams: HashMap<Arc<str>, RestoredUpstream>,
    /// The agenda, soonest first.
    pub agenda: Vec<RestoredJob>,
    /// The front's own decisions, for [`Engine::restore_own`].
    pub past: Option<RestoredPast>,
    /// The front's series, for [`Engine::restore_series`].
    pub series: Option<RestoredPast>,
}

impl Rows {
    /// Reads what is kept for a front. Blocks.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn load(
        front: &'static str,
        state: Arc<dyn State>,
        timeline: Timeline,
        clock: WallClock,
    ) -> Result<(Arc<Self>, Restored), weir_store::Error> {
        let skew = Skew::between(clock(), &timeline);
        let kept = state.load(front, skew.wall(timeline.now()))?;
        let mut book = Book {
            skew,
            next_id: kept
                .agenda
                .iter()
                .map(|row| row.id.saturating_add(1))
                .max()
                .unwrap_or(0),
            old_agenda: kept.agenda.iter().map(|row| row.id).collect(),
            ..Book::default()
        };
        let mut restored = Restored::default();
        for upstream in kept.upstreams {
            let (row, translated) = translate::restore(&upstream, skew);
            book.upstreams.insert(upstream.name.clone(), translated);
            restored.upstreams.insert(upstream.name, row);
        }
        restored.agenda = kept
            .agenda
            .iter()
            .map(|row| translate::job(row, skew))
            .collect();
        restored.agenda.sort_by_key(|job| job.due);
        restored.past = kept.past.as_ref().map(|past| translate::past(past, skew));
        restored.series = kept.series.as_ref().map(|past| translate::past(past, skew));
        let rows = Self {
            front,
            state,
            timeline,
            clock,
            book: Mutex::new(book),
        };
        Ok((Arc::new(rows), restored))
    }

    /// The front has put everything it still wants back into its `engine`: entries from before this start are
    /// dropped once the new ones are with the store, and upstreams not in `present` are marked as gone.
    pub fn settle(&self, engine: &Engine, present: &[&str]) {
        engine.keep_numbers_free();
        engine.hand_over();
        let mut book = self.book.lock();
        let mut changes: Vec<Change> = book.old_agenda.drain(..).map(Change::Taken).collect();
        let now = book.skew.wall(self.timeline.now());
        for (name, upstream) in &mut book.upstreams {
            let gone = !present.contains(&name.as_ref());
            if gone != upstream.row.gone.is_some() {
                upstream.row.gone = gone.then_some(now);
                changes.push(Change::Upstream {
                    name: name.clone(),
                    row: upstream.row.clone(),
                });
            }
        }
        self.save(&mut book, changes);
    }

    /// What is kept for upstreams, for those that come back while Weir is running. Blocks.
    pub fn kept(&self) -> HashMap<Arc<str>, RestoredUpstream> {
        let skew = self.book.lock().skew;
        let now = skew.wall(self.timeline.now());
        let kept = self.state.flush();
        match kept.and_then(|()| self.state.load(self.front, now)) {
            Ok(kept) => {
                let upstreams = kept.upstreams.iter();
                upstreams
                    .map(|upstream| {
                        let (row, _) = translate::restore(upstream, skew);
                        (upstream.name.clone(), row)
                    })
                    .collect()
            }
            Err(error) => {
                tracing::warn!(front = self.front, %error, "cannot read the saved state of upstreams; those that come back start fresh");
                HashMap::new()
            }
        }
    }

    /// Gives upstreams of the `engine` other names, and what is kept of them with it. Nothing is left under the old names:
    /// whoever has one of them later is another upstream. It is written at once or not at all, so that nothing is lost where
    /// names change hands, whenever Weir is killed. Blocks until all of it is on the disk.
    pub(crate) fn rename(&self, engine: &Engine, renamed: &[Renamed]) {
        self.begin_renaming(renamed);
        for one in renamed {
            engine.rename(one.upstream, &one.to);
        }
        engine.hand_over();
        let mut book = self.book.lock();
        let changes = book.held.take().unwrap_or_default();
        self.save(&mut book, changes);
        drop(book);
        if let Err(error) = self.state.flush() {
            tracing::warn!(front = self.front, %error, "the state of renamed upstreams is not written yet");
        }
    }

    /// Clears the old names, and what somebody else left under the new ones. From now on, changes wait for those that follow.
    fn begin_renaming(&self, renamed: &[Renamed]) {
        let mut book = self.book.lock();
        let mut held = Vec::new();
        for name in renamed.iter().flat_map(|one| [&one.from, &one.to]) {
            if book.upstreams.remove(name).is_some() {
                held.push(Change::Cleared(name.clone()));
            }
        }
        for (_, row) in book.agenda.values_mut() {
            if let Some(one) = renamed.iter().find(|one| one.from == row.upstream) {
                row.upstream = one.to.clone();
                held.push(Change::Scheduled(row.clone()));
            }
        }
        book.held = Some(held);
    }

    fn save(&self, book: &mut Book, changes: Vec<Change>) {
        if changes.is_empty() {
            return;
        }
        if let Some(held) = &mut book.held {
            held.extend(changes);
            return;
        }
        if let Err(error) = self.state.save(self.front, changes) {
            tracing::warn!(front = self.front, %error, "cannot save state; some of it will not survive a restart");
        }
    }

    fn upstream(&self, book: &mut Book, kept: &KeptUpstream, changes: &mut Vec<Change>) {
        let (skew, now) = (book.skew, self.timeline.now());
        let known = book.upstreams.entry(kept.name.clone()).or_default();
        known.take_over(kept, skew, now, changes);
    }

    fn agenda(&self, book: &mut Book, change: AgendaChange, changes: &mut Vec<Change>) {
        match change {
            AgendaChange::Gone(job) => {
                if let Some((_, row)) = book.agenda.remove(&job) {
                    changes.push(Change::Taken(row.id));
                }
            }
            AgendaChange::Put {
                row,
                upstream,
                kept,
            } => {
                let Ok(payload) = Payload::new(kept) else {
                    tracing::warn!(
                        front = self.front,
                        "a scheduled job is too large to survive a restart"
                    );
                    return;
                };
                let id = match book.agenda.get(&row.job) {
                    Some((_, old)) => old.id,
                    None => book.next_id,
                };
                book.next_id = book.next_id.max(id + 1);
                let stored = state::AgendaRow {
                    id,
                    upstream,
                    class: row.class.0,
                    budget: translate::stored_budget(row.budget),
                    due: book.skew.wall(row.due),
                    attempts: row.attempts_made,
                    payload,
                };
                book.agenda.insert(row.job, (row.due, stored.clone()));
                changes.push(Change::Scheduled(stored));
            }
        }
    }

    /// If the wall clock was set, hands over all future times again.
    fn follow_clock(&self, book: &mut Book, changes: &mut Vec<Change>) {
        let skew = Skew::between((self.clock)(), &self.timeline);
        if skew.differs(book.skew, SET) {
            let old = std::mem::replace(&mut book.skew, skew);
            tracing::info!(
                front = self.front,
                "the wall clock was set; saved times are adjusted"
            );
            for (name, upstream) in &mut book.upstreams {
                upstream.shift(old, skew);
                changes.push(Change::Upstream {
                    name: name.clone(),
                    row: upstream.row.clone(),
                });
            }
            for (due, row) in book.agenda.values_mut() {
                row.due = skew.wall(*due);
                changes.push(Change::Scheduled(row.clone()));
            }
        }
    }
}

impl Keeper for Rows {
    fn changed(&self, _front: &'static str, changed: Changes) {
        let mut book = self.book.lock();
        let mut changes = Vec::new();
        self.follow_clock(&mut book, &mut changes);
        for upstream in &changed.upstreams {
            self.upstream(&mut book, upstream, &mut changes);
        }
        for change in changed.agenda {
            self.agenda(&mut book, change, &mut changes);
        }
        for past in changed.pasts {
            if state::is_upstream(&past.name) {
                // The store has a row for it from now on.
                book.upstreams.entry(past.name.clone()).or_default();
            }
            let skew = book.skew.nanos();
            changes.push(Change::Past {
                name: past.name,
                past: state::Past {
                    skew,
                    text: past.text,
                },
            });
        }
        self.save(&mut book, changes);
    }
}

/// Clamps the wall time of a far-off moment to what the store can hold.
pub(crate) fn far(nanos: i128) -> Wall {
    Wall(i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX }))
}
