//! Writes swarms to their files and forgets who is silent: one thread that has time.
//!
//! Within `snapshot_every` each group that changed is written once; a stop writes the rest, and so does a backup.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use weir_engine::Vital;

use super::Directory;
use crate::clock::{TrackerClock, wall_seconds};
use crate::error::Error;
use crate::sharing::Places;
use crate::swarm::SHARDS;
use crate::swarm::snapshot::GROUPS;
use crate::threads::{Threads, join};
use crate::tracker::Tracker;

/// How often the thread wakes.
const STEP: Duration = Duration::from_secs(1);
/// All shards are looked through for silent peers in so many steps.
const SWEEP_STEPS: usize = 64;

/// The thread, running.
pub(crate) struct FilesThread {
    /// It ends when this is dropped.
    goes_on: SyncSender<Saved>,
    thread: JoinHandle<()>,
    unwritten: Unwritten,
}

/// Groups that could not be written when it was last tried, one bit each; clones share them. A group leaves only when it
/// was written itself: others may have had nothing to write.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unwritten(Arc<AtomicU64>);

const _: () = assert!(GROUPS <= 64, "one bit for each group");

impl Unwritten {
    /// Notes what came of a group; returns whether there were any before, and whether there are now.
    fn note(&self, group: usize, written: bool) -> (bool, bool) {
        let before = self.0.load(Ordering::Relaxed);
        let now = match written {
            true => before & !(1 << group),
            false => before | 1 << group,
        };
        self.0.store(now, Ordering::Relaxed);
        (before != 0, now != 0)
    }

    /// What to tell whoever asks whether all is well.
    pub(crate) fn missing(&self) -> Option<String> {
        let all = self.0.load(Ordering::Relaxed);
        (all != 0).then(|| "tracker: swarms cannot be written. Is the disk full?".to_owned())
    }
}

/// Told when everything is written, or what kept it from that.
type Saved = SyncSender<io::Result<()>>;

/// Asks the thread to write everything now.
pub(crate) struct Saver(SyncSender<Saved>);

impl Saver {
    /// Blocks until all groups that changed are written.
    pub(crate) fn save(self) -> io::Result<()> {
        let gone = || io::Error::other("the thread that writes swarms has ended");
        let (tell, told) = sync_channel(1);
        self.0.send(tell).map_err(|_| gone())?;
        drop(self);
        told.recv().map_err(|_| gone())?
    }
}

impl FilesThread {
    /// Starts it; each group is written once in `every`.
    pub(crate) fn start(
        tracker: &Arc<Tracker>,
        directory: Directory,
        clock: TrackerClock,
        (every, places): (Duration, Option<Arc<Places>>),
        threads: &Threads,
    ) -> Result<Self, Error> {
        let tracker = Arc::clone(tracker);
        let (goes_on, stop) = sync_channel(1);
        let vital = threads.watch("swarms");
        let watch = vital.clone();
        let mut rounds = Rounds::new(every);
        let mut notes = PlaceNotes::new(places);
        let unwritten = Unwritten::default();
        let noted = unwritten.clone();
        let thread = threads.start_apart(vital, move || {
            let files = (&directory, &noted);
            let steps = (&mut rounds, &mut notes);
            run(&tracker, files, clock, steps, &watch, &stop);
            Ok(())
        })?;
        Ok(Self {
            goes_on,
            thread,
            unwritten,
        })
    }

    /// What could not be written.
    pub(crate) fn unwritten(&self) -> Unwritten {
        self.unwritten.clone()
    }

    pub(crate) fn saver(&self) -> Saver {
        Saver(self.goes_on.clone())
    }

    /// Waits until what is left is written.
    pub(crate) fn stop(self) {
        drop(self.goes_on);
        join(self.thread);
    }
}

/// Sweeps and writes until `stop` is dropped, then writes what is left.
///
/// It may panic and be run again: `rounds` then go on with the step behind the one that panicked. Groups are guarded one
/// by one, so that one that cannot be written keeps no other from its file; it is tried again in the next round.
fn run(
    tracker: &Tracker,
    (directory, unwritten): (&Directory, &Unwritten),
    clock: TrackerClock,
    (rounds, notes): (&mut Rounds, &mut PlaceNotes),
    vital: &Vital,
    stop: &Receiver<Saved>,
) {
    let ledger = tracker.forwarding.ledger();
    let mut told_by = i128::from(wall_seconds()) - i128::from(clock.elapsed().as_secs());
    let mut next = clock.elapsed();
    loop {
        // By the clock, so that what a step takes does not add up to a longer round; a step that took longer than its
        // time is made up for once, not after a night's sleep of the machine.
        next = (next + STEP).max(clock.elapsed().saturating_sub(STEP));
        let wait = next.saturating_sub(clock.elapsed());
        let (ended, saved) = match stop.recv_timeout(wait) {
            Ok(saved) => (false, Some(saved)),
            Err(RecvTimeoutError::Timeout) => (false, None),
            Err(RecvTimeoutError::Disconnected) => (true, None),
        };
        if saved.is_some() {
            // The step that was waited for is still to come.
            next = next.saturating_sub(STEP);
        }
        let now = clock.file_time();
        // What is told by the wall clock is written again when that was set.
        let skew = i128::from(now.wall) - i128::from(clock.elapsed().as_secs());
        if (skew - told_by).abs() > 1 {
            told_by = skew;
            for group in 0..GROUPS {
                tracker.swarms.not_written(group);
                ledger.not_written(group);
            }
        }
        let groups = match ended || saved.is_some() {
            true => 0..GROUPS,
            false => rounds.next_groups(),
        };
        if !ended && saved.is_none() && tracker.swarms.totals().swarms > 0 {
            for shard in rounds.next_shards() {
                tracker.swarms.sweep(shard, now.minute());
            }
        }
        #[cfg(test)]
        crate::fault::once(&directory.path, "step");
        let mut refused = None;
        notes.begin(&groups);
        let last = groups.end;
        for group in groups {
            let written = vital.guard(|| {
                #[cfg(test)]
                crate::fault::once(&directory.path, "group");
                let written = directory.write_group(&tracker.swarms, group, now);
                let sheets = directory.write_sheets(ledger, group, now);
                written.and(sheets)
            });
            let written = written.unwrap_or_else(|| {
                // Nobody knows how far it came.
                tracker.swarms.not_written(group);
                ledger.not_written(group);
                Err(io::Error::other("writing them panicked"))
            });
            let (before, now) = unwritten.note(group, written.is_ok());
            match written {
                Ok(()) if before && !now => tracing::info!("swarms can be written again"),
                Ok(()) => {}
                Err(error) => {
                    if before && !ended {
                        tracing::debug!(%error, group, "not written");
                    } else {
                        tracing::error!(%error, "cannot write swarms; is the disk full? Weir will retry, and they are lost if it stops before that succeeds");
                    }
                    refused = Some(error);
                }
            }
        }
        if let Some(places) = notes.end(last, refused.is_none())
            && let Err(error) = directory.write_places(&places)
        {
            notes.not_written();
            tracing::debug!(%error, "places in other nodes' streams not written");
        }
        if let Some(saved) = saved {
            let _ = saved.send(refused.map_or(Ok(()), Err));
        }
        if ended {
            return;
        }
    }
}

/// Notes how far other nodes' streams were read before the first group of a round was written, once all of them are. A
/// restart reads on from there: what the files hold beyond is read again, which changes nothing.
struct PlaceNotes {
    places: Option<Arc<Places>>,
    /// As they were before the first group of this round; `None` if a group could not be written.
    before: Option<Vec<u8>>,
    written: Vec<u8>,
}

impl PlaceNotes {
    fn new(places: Option<Arc<Places>>) -> Self {
        Self {
            places,
            before: None,
            written: Vec::new(),
        }
    }

    fn begin(&mut self, groups: &std::ops::Range<usize>) {
        if groups.start == 0 && !groups.is_empty() {
            self.before = self.places.as_deref().map(Places::write);
        }
    }

    /// Groups up to this one were written, or not. Gives what is to be written now.
    fn end(&mut self, end: usize, written: bool) -> Option<Vec<u8>> {
        if !written {
            self.before = None;
        }
        if end < GROUPS {
            return None;
        }
        let before = self.before.take()?;
        (before != self.written).then(|| {
            self.written.clone_from(&before);
            before
        })
    }

    fn not_written(&mut self) {
        self.written.clear();
    }
}

/// What is due in each step.
struct Rounds {
    /// Steps in which all groups are written.
    steps: usize,
    step: usize,
    swept: usize,
}

impl Rounds {
    fn new(every: Duration) -> Self {
        let steps = every.as_secs() / STEP.as_secs();
        Self {
            steps: usize::try_from(steps).unwrap_or(usize::MAX).max(1),
            step: 0,
            swept: 0,
        }
    }

    fn next_groups(&mut self) -> std::ops::Range<usize> {
        let first = self.step * GROUPS / self.steps;
        self.step += 1;
        let end = self.step * GROUPS / self.steps;
        if self.step == self.steps {
            self.step = 0;
        }
        first..end
    }

    fn next_shards(&mut self) -> std::ops::Range<usize> {
        let each = SHARDS / SWEEP_STEPS;
        let first = self.swept * each;
        self.swept = (self.swept + 1) % SWEEP_STEPS;
        first..first + each
    }
}

#[cfg(test)]
mod tests {
    use weir_store::shared::{NodeId, Place, Stream};

    use super::*;

    #[test]
    fn swarms_are_unwritten_until_each_group_that_failed_was_written() {
        let unwritten = Unwritten::default();
        assert_eq!(unwritten.missing(), None);
        assert_eq!(unwritten.note(0, false), (false, true));
        assert_eq!(unwritten.note(63, false), (true, true));
        assert_eq!(
            unwritten.note(7, true),
            (true, true),
            "it had nothing to write"
        );
        assert!(unwritten.missing().unwrap().contains("Is the disk full?"));
        assert_eq!(unwritten.note(63, true), (true, true));
        assert_eq!(unwritten.note(0, true), (true, false));
        assert_eq!(unwritten.missing(), None);
    }

    #[test]
    fn every_group_is_written_once_in_its_time() {
        for seconds in [1, 7, 60, 64, 600] {
            let mut rounds = Rounds::new(Duration::from_secs(seconds));
            for _ in 0..3 {
                let groups: Vec<_> = (0..seconds).flat_map(|_| rounds.next_groups()).collect();
                assert_eq!(groups, (0..GROUPS).collect::<Vec<_>>(), "{seconds}");
            }
        }
    }

    #[test]
    fn places_are_noted_as_they_were_before_the_first_group_once_all_are_written() {
        let places = Arc::new(Places::default());
        let mut notes = PlaceNotes::new(Some(Arc::clone(&places)));
        let place = |millis| Place { millis, number: 0 };
        let noted = |file: Vec<u8>| crate::sharing::read_places(&file).unwrap();
        let stream = Stream::Swarm(NodeId(1));
        places.set(stream, place(1));
        notes.begin(&(0..30));
        assert_eq!(notes.end(30, true), None);
        places.set(stream, place(2));
        notes.begin(&(30..GROUPS));
        let file = notes.end(GROUPS, true).unwrap();
        assert_eq!(noted(file).get(stream), place(1));
        // A group that could not be written: what was noted before still holds.
        notes.begin(&(0..30));
        assert_eq!(notes.end(30, false), None);
        notes.begin(&(30..GROUPS));
        assert_eq!(notes.end(GROUPS, true), None);
        // All at once.
        notes.begin(&(0..GROUPS));
        let file = notes.end(GROUPS, true).unwrap();
        assert_eq!(noted(file).get(stream), place(2));
        notes.begin(&(0..GROUPS));
        assert_eq!(notes.end(GROUPS, true), None, "nothing is new");
        let mut alone = PlaceNotes::new(None);
        alone.begin(&(0..GROUPS));
        assert_eq!(alone.end(GROUPS, true), None);
    }

    #[test]
    fn every_shard_is_swept_in_turn() {
        let mut rounds = Rounds::new(STEP);
        let shards: Vec<_> = (0..SWEEP_STEPS)
            .flat_map(|_| rounds.next_shards())
            .collect();
        assert_eq!(shards, (0..SHARDS).collect::<Vec<_>>());
        assert_eq!(rounds.next_shards().start, 0);
    }
}
