//! A store in memory, for tests and simulations: several handles on the same rows, one per node, a clock that the test
//! moves, and every way in which a store can fail.

mod rows;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;
use parking_lot::Mutex;

use self::rows::Rows;
use super::words::millis;
use super::{
    Answer, Ask, AskId, Beat, Claim, Entry, HandIn, Lease, Leave, LogAnswer, LogKey, Lost, NodeId,
    Place, Pulse, Question, Reply, SharedRow, SharedStore, StoreTime, Stream, StreamEnds, Table,
    TableChanges, Told, UpstreamKey, Version, fits,
};

/// What goes wrong with one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not carried out, and nobody answers.
    Unheard,
    /// It is carried out, and the answer is lost.
    Unanswered,
    /// Nobody answers; it is carried out so much later, before the first call from then on.
    Late(Duration),
    /// It is carried out twice; the second answer arrives.
    Twice,
    /// It is carried out and answered, and once more so much later.
    Again(Duration),
    /// It is carried out at once, and the answer takes so long, in tokio's time.
    Slow(Duration),
    /// It reaches the store so much later, whatever that holds by then, and is answered at once.
    Held(Duration),
    /// The store refuses it, with this sentence.
    Refused(&'static str),
}

/// One node's handle on a store in memory. For tests and simulations: it is as forgetful as they make it.
pub struct MemoryStore {
    world: Arc<Mutex<World>>,
    faults: Mutex<Faults>,
    /// The time of the newest pulse that was heard of.
    heard: Arc<AtomicU64>,
}

/// What a store in memory held once ([`MemoryStore::snapshot`]).
#[derive(Clone)]
pub struct Snapshot(Rows);

#[derive(Default)]
struct Faults {
    cut: bool,
    coming: VecDeque<Fault>,
    away: BTreeSet<Stream>,
}

type Work = Box<dyn FnOnce(&mut Rows, u64, u64) + Send>;

struct World {
    rows: Rows,
    run: u64,
    clock: Clock,
    /// Calls that are carried out later.
    late: Vec<(u64, Work)>,
}

enum Clock {
    Set(u64),
    Tokio(u64, tokio::time::Instant),
}

impl World {
    fn clock(&self) -> u64 {
        match self.clock {
            Clock::Set(millis) => millis,
            Clock::Tokio(begin, since) => begin + millis(since.elapsed()),
        }
    }

    /// Carries out what is due, then this.
    fn work<T>(&mut self, work: impl FnOnce(&mut Rows, u64, u64) -> T) -> T {
        self.late.sort_by_key(|(due, _)| *due);
        while self
            .late
            .first()
            .is_some_and(|(due, _)| *due <= self.clock())
        {
            let (_, late) = self.late.remove(0);
            let now = self.rows.now(self.clock());
            late(&mut self.rows, now, self.run);
        }
        let now = self.rows.now(self.clock());
        work(&mut self.rows, now, self.run)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(StoreTime(1_800_000_000_000))
    }
}

impl MemoryStore {
    /// A store whose clock shows this and moves when it is told to ([`advance`](Self::advance)).
    pub fn new(now: StoreTime) -> Self {
        Self::with(Clock::Set(now.0))
    }

    /// A store whose clock shows this now and then follows tokio's, which tests pause.
    pub fn on_tokio_time(now: StoreTime) -> Self {
        Self::with(Clock::Tokio(now.0, tokio::time::Instant::now()))
    }

    fn with(clock: Clock) -> Self {
        let world = World {
            rows: Rows::default(),
            run: 1,
            clock,
            late: Vec::new(),
        };
        Self {
            world: Arc::new(Mutex::new(world)),
            faults: Mutex::default(),
            heard: Arc::default(),
        }
    }

    /// Another node's handle on the same store, without faults.
    #[must_use]
    pub fn handle(&self) -> Self {
        Self {
            world: self.world.clone(),
            faults: Mutex::default(),
            heard: Arc::default(),
        }
    }

    /// What the store's clock shows.
    pub fn time(&self) -> StoreTime {
        StoreTime(self.world.lock().clock())
    }

    /// Sets the store's clock, forwards or back.
    pub fn set_time(&self, now: StoreTime) {
        self.world.lock().clock = Clock::Set(now.0);
    }

    /// Sets the store's clock, which follows tokio's from there.
    pub fn follow_tokio_time(&self, now: StoreTime) {
        self.world.lock().clock = Clock::Tokio(now.0, tokio::time::Instant::now());
    }

    /// Moves a clock that was set.
    pub fn advance(&self, span: Duration) {
        let mut world = self.world.lock();
        if let Clock::Set(now) = &mut world.clock {
            *now += millis(span);
        }
    }

    /// The next call through this handle goes wrong like this; several of them one after another.
    pub fn fail(&self, fault: Fault) {
        self.faults.lock().coming.push_back(fault);
    }

    /// Whether this handle is cut off: no call reaches the store.
    pub fn cut(&self, cut: bool) {
        self.faults.lock().cut = cut;
    }

    /// The server that has this stream is away, as one of a cluster may be; through this handle alone.
    pub fn lose(&self, stream: Stream, away: bool) {
        let streams = &mut self.faults.lock().away;
        match away {
            true => streams.insert(stream),
            false => streams.remove(&stream),
        };
    }

    fn is_away(&self, stream: Stream) -> bool {
        self.faults.lock().away.contains(&stream)
    }

    /// A newer Weir has written the row of this upstream in a form that nobody here understands.
    pub fn renew(&self, upstream: UpstreamKey, newer: bool) {
        self.world.lock().rows.renew(upstream, newer);
    }

    /// What the store holds now, for [`restore`](Self::restore).
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(self.world.lock().rows.clone())
    }

    /// The store is restarted with what it held then. Calls that were to be carried out later are lost.
    pub fn restore(&self, snapshot: &Snapshot) {
        let mut world = self.world.lock();
        world.rows = snapshot.0.clone();
        world.run += 1;
        world.late.clear();
    }

    /// The store is restarted and keeps everything.
    pub fn restart(&self) {
        let all = self.snapshot();
        self.restore(&all);
    }

    /// The store is restarted empty.
    pub fn restart_empty(&self) {
        self.restore(&Snapshot(Rows::default()));
    }

    /// Everything is deleted while the store runs on.
    pub fn flush(&self) {
        self.world.lock().rows = Rows::default();
    }

    /// The epoch that the store has noted.
    #[cfg(test)]
    pub(super) fn epoch(&self) -> super::Epoch {
        self.world.lock().rows.noted_epoch()
    }

    /// The same for a call that is answered with a pulse.
    fn pulse(
        &self,
        work: impl Fn(&mut Rows, u64, u64) -> Result<Pulse, Lost> + Send + 'static,
    ) -> Reply<'_, Pulse> {
        let answer = self.call(work);
        let heard = self.heard.clone();
        let note = move |pulse: &Pulse| {
            heard.fetch_max(pulse.now.0, Ordering::SeqCst);
        };
        answer.map(|answer| answer.inspect(note)).boxed()
    }

    /// Carries out one call, as well as its fault allows.
    fn call<T: Send + 'static>(
        &self,
        work: impl Fn(&mut Rows, u64, u64) -> Result<T, Lost> + Send + 'static,
    ) -> Reply<'_, T> {
        let silent = || Err(Lost::Silent("no answer".into()));
        let ready = |result| std::future::ready(result).boxed();
        let fault = {
            let mut faults = self.faults.lock();
            if faults.cut {
                return ready(Err(Lost::Silent("not connected".into())));
            }
            faults.coming.pop_front()
        };
        let mut world = self.world.lock();
        let Some(fault) = fault else {
            return ready(world.work(work));
        };
        match fault {
            Fault::Unheard => ready(silent()),
            Fault::Refused(sentence) => ready(Err(Lost::Refused(sentence.into()))),
            Fault::Unanswered => {
                let _ = world.work(work);
                ready(silent())
            }
            Fault::Twice => {
                let _ = world.work(&work);
                ready(world.work(work))
            }
            Fault::Late(span) => {
                let due = world.clock() + millis(span);
                world.late.push((due, forget(work)));
                ready(silent())
            }
            Fault::Again(span) => {
                let answer = world.work(&work);
                let due = world.clock() + millis(span);
                world.late.push((due, forget(work)));
                ready(answer)
            }
            Fault::Slow(span) => {
                let answer = world.work(work);
                async move {
                    tokio::time::sleep(span).await;
                    answer
                }
                .boxed()
            }
            Fault::Held(span) => {
                let due = world.clock() + millis(span);
                let follows = matches!(world.clock, Clock::Tokio(..));
                drop(world);
                let world = self.world.clone();
                async move {
                    if follows {
                        tokio::time::sleep(span).await;
                    } else {
                        // Nobody wakes it: who moves the clock looks again.
                        std::future::poll_fn(|_| match world.lock().clock() >= due {
                            true => Poll::Ready(()),
                            false => Poll::Pending,
                        })
                        .await;
                    }
                    world.lock().work(work)
                }
                .boxed()
            }
        }
    }
}

/// The same work, whose answer nobody hears.
fn forget<T>(work: impl Fn(&mut Rows, u64, u64) -> T + Send + 'static) -> Work {
    Box::new(move |rows, now, run| {
        work(rows, now, run);
    })
}

fn away() -> Lost {
    Lost::Part("its server is away".into())
}

impl SharedStore for MemoryStore {
    fn beat(&self, beat: Beat) -> Reply<'_, Pulse> {
        let heard = self.heard.load(Ordering::SeqCst);
        self.pulse(move |rows, now, run| {
            rows.knows(beat.upstreams())?;
            rows.beat(now, run, heard, beat.clone())
        })
    }

    fn hand_in(&self, hand_in: HandIn) -> Reply<'_, Pulse> {
        self.pulse(move |rows, now, run| {
            rows.knows(hand_in.upstreams())?;
            Ok(rows.hand_in(now, run, hand_in.clone()))
        })
    }

    fn leave(&self, leave: Leave) -> Reply<'_, ()> {
        let heard = self.heard.load(Ordering::SeqCst);
        self.call(move |rows, now, _| {
            rows.knows(leave.upstreams())?;
            rows.leave(now, heard, &leave);
            Ok(())
        })
    }

    fn ask(&self, ask: Ask) -> Reply<'_, Answer> {
        self.call(move |rows, now, run| {
            rows.knows([ask.upstream])?;
            Ok(rows.ask(now, run, &ask))
        })
    }

    fn tell(&self, upstream: UpstreamKey, told: Vec<Told>) -> Reply<'_, StoreTime> {
        self.call(move |rows, now, _| {
            rows.knows([upstream])?;
            Ok(rows.tell(now, upstream, told.clone()))
        })
    }

    fn rows(&self, upstreams: Vec<UpstreamKey>) -> Reply<'_, Vec<SharedRow>> {
        self.call(move |rows, now, _| {
            rows.knows(upstreams.iter().copied())?;
            Ok(rows.rows(now, &upstreams))
        })
    }

    fn answer(
        &self,
        question: Question,
        claim: AskId,
        body: Option<Vec<u8>>,
        keep: Duration,
    ) -> Reply<'_, ()> {
        self.call(move |rows, now, _| {
            fits(body.as_ref().map_or(0, Vec::len))?;
            rows.answer(now, question.key, claim, body.clone(), keep);
            Ok(())
        })
    }

    fn claim(&self, keys: Vec<[u8; 16]>, by: NodeId, span: Duration) -> Reply<'_, Vec<Claim>> {
        self.call(move |rows, now, _| Ok(rows.claim(now, &keys, by, span)))
    }

    fn append(&self, stream: Stream, body: Vec<u8>, keep: Duration) -> Reply<'_, Place> {
        if self.is_away(stream) {
            return std::future::ready(Err(away())).boxed();
        }
        self.call(move |rows, now, _| {
            fits(body.len())?;
            Ok(rows.append(now, stream, body.clone(), keep))
        })
    }

    fn read(&self, mut after: Vec<(Stream, Place)>, most: usize) -> Reply<'_, StreamEnds> {
        let wanted = after.len();
        after.retain(|(stream, _)| !self.is_away(*stream));
        let lost = (after.len() < wanted).then(away);
        self.call(move |rows, _, _| {
            Ok(StreamEnds {
                ends: rows.read(&after, most),
                lost: lost.clone(),
            })
        })
    }

    fn put(&self, table: Table, entries: Vec<Entry>, keep: Duration) -> Reply<'_, Version> {
        self.call(move |rows, now, run| {
            for (key, value) in &entries {
                fits(key.len() + value.as_ref().map_or(0, Vec::len))?;
            }
            Ok(rows.put(now, run, table, entries.clone(), keep))
        })
    }

    fn changes(&self, table: Table, since: Version) -> Reply<'_, TableChanges> {
        self.call(move |rows, now, run| Ok(rows.changes(now, run, table, since)))
    }

    fn extend_within(
        &self,
        epoch: Option<super::Epoch>,
        log: LogKey,
        known: u64,
        entries: Vec<Vec<u8>>,
    ) -> Reply<'_, LogAnswer> {
        self.call(move |rows, _, run| {
            for entry in &entries {
                fits(entry.len())?;
            }
            let may = rows.is_in(epoch, run);
            Ok(rows.extend(log.clone(), known, entries.clone(), may))
        })
    }

    fn lease(&self, account: UpstreamKey, by: NodeId, open: u32, limit: u32) -> Reply<'_, Lease> {
        self.call(move |rows, now, _| Ok(rows.lease(now, account, by, open, limit)))
    }
}
