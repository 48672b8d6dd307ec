//! Calls that began lately, before they are told in the records of their upstreams.
//!
//! There is one for every job, so this is where records cost most. What costs is not the writing but the waiting, under the
//! engine's lock, for memory that is far away or that another processor wrote last. The rings of all upstreams are some
//! megabytes, and a log that all threads write to changes hands with every call. So each thread notes its calls in a log of
//! its own (under the engine's lock all the same, so that whoever looks sees all of them), and does nothing else for them: a
//! full log is written over, and what is about to be lost is looked at a few calls at a time. A call moves to its ring when
//! somebody looks at that one ring or adds something else to it, so that records have the order of what happened; most never
//! move, because by then their upstream has been called more often than a ring holds.

use std::sync::atomic::{AtomicUsize, Ordering};

use weir_dispatch::{Moment, Start, UpstreamId};

use crate::record::{About, CallEnd, PackedCall};
use crate::side::{self, Side};
use crate::state::State;

/// How many logs there are. Threads beyond these share them.
const LOGS: usize = 16;
/// So many bits of a call's place are the number of its log.
const LOG_BITS: u32 = LOGS.ilog2();
/// How many calls all logs have room for: as many as the rings of 180 upstreams hold, in 2.4 MB.
const MOST: usize = 36_864;
/// How many a log has room for at first.
const FIRST_ROOM: usize = 256;
/// How many calls are looked at together before they are written over, so that the processor can wait for all of their
/// upstreams at once.
const AHEAD: usize = 16;
/// How many upstreams' calls are moved at most for that, so that no single call pays for many.
const MOVED_AT_ONCE: usize = 2;

/// The place of a call that is in no log: it went to its ring at once.
const IN_RING: u64 = u64::MAX;

/// Calls that may not be in their ring yet.
#[derive(Debug)]
pub(crate) struct NewCalls {
    logs: [Log; LOGS],
    most: usize,
    first_room: usize,
}

/// The calls that one thread began, written over from the oldest on. Each is of another processor, and processors fetch two
/// lines of cache together.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Log {
    /// As many places as it has room for: a power of two, or none yet.
    places: Vec<LogPlace>,
    /// How many calls were noted.
    next: u64,
    /// Up to this one there is room: no call that is written over is needed any more.
    clear: u64,
}

/// Aligned, so that it is one line of cache and not parts of two.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct LogPlace(PackedCall);

/// What an upstream has among the new calls. In one line of cache, which every call needs anyway.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct NewOf {
    /// When it was last called for anything.
    pub(crate) last_call: Option<Moment>,
    /// How many calls were noted.
    made: u64,
    /// How many of them, the oldest, have moved.
    moved: u64,
    /// The place of the newest one, if any has not moved.
    newest: u32,
}

impl Default for NewCalls {
    fn default() -> Self {
        Self {
            logs: Default::default(),
            most: MOST,
            first_room: FIRST_ROOM,
        }
    }
}

impl NewOf {
    /// How many have not moved; the older of them may have been written over.
    #[inline]
    pub(crate) fn waiting(&self) -> u64 {
        self.made - self.moved
    }

    /// How many calls to the same upstream came after this one. Too few if that is more than two bytes can tell.
    #[inline]
    fn after(&self, call: &PackedCall) -> u64 {
        u64::from((self.made as u16).wrapping_sub(call.count))
    }

    /// Whether a call still has to be told in a ring that keeps so many.
    #[inline]
    fn needs(&self, call: &PackedCall, most: usize) -> bool {
        self.after(call) < self.waiting().min(most as u64)
    }
}

impl Log {
    #[inline]
    fn place(&mut self, number: u64) -> Option<&mut PackedCall> {
        let place = number as usize & self.places.len().wrapping_sub(1);
        self.places.get_mut(place).map(|place| &mut place.0)
    }

    /// Makes room for this many in all, more than before.
    fn grow(&mut self, room: usize) {
        let mut places = vec![LogPlace(PackedCall::BLANK); room];
        let before = self.places.len() as u64;
        for number in self.next.saturating_sub(before)..self.next {
            places[number as usize & (room - 1)] = self.places[(number % before) as usize];
        }
        self.places = places;
        self.clear = self.next + (room as u64 - before);
    }
}

impl NewCalls {
    /// Notes a call in a log. Gives its place.
    #[inline]
    fn push(&mut self, number: usize, rings: &mut Rings<'_>, mut call: PackedCall) -> u64 {
        if self.logs[number].next == self.logs[number].clear {
            self.make_room(number, rings);
        }
        let log = &mut self.logs[number];
        let place = log.next << LOG_BITS | number as u64;
        let of = &mut rings.sides[usize::from(call.upstream)].new;
        of.made += 1;
        (call.link, call.count) = (of.newest, of.made as u16);
        of.newest = place as u32;
        if let Some(oldest) = log.place(log.next) {
            *oldest = call;
        }
        log.next += 1;
        place
    }

    /// The call in this place ended. Says whether that is noted: not if it has moved, or was written over.
    #[inline]
    pub(crate) fn end(&mut self, of: &NewOf, place: u64, end: CallEnd) -> bool {
        let log = &mut self.logs[place as usize % LOGS];
        let number = place >> LOG_BITS;
        if number >= log.next || log.next - number > log.places.len() as u64 {
            return false;
        }
        let call = log.place(number);
        call.is_some_and(|call| of.after(call) < of.waiting() && call.end(end))
    }

    /// The newest calls of an upstream that have not moved, at most so many, newest first.
    fn newest(&self, of: &NewOf, most: usize) -> Vec<&PackedCall> {
        let mut place = of.newest;
        let count = of.waiting().min(most as u64);
        let back = (0..count).map(|_| {
            let places = &self.logs[place as usize % LOGS].places;
            let call = &places[(place >> LOG_BITS) as usize & (places.len() - 1)].0;
            place = call.link;
            call
        });
        back.collect()
    }
}

impl NewCalls {
    /// How many calls all logs have room for, those included that have yet to get their first room.
    fn rooms(&self) -> usize {
        let rooms = self.logs.iter().map(|log| log.places.len());
        rooms.map(|room| room.max(self.first_room)).sum()
    }
}

/// The upstreams, and how many records are kept of each.
pub(crate) struct Rings<'a> {
    pub(crate) sides: &'a mut [Side],
    pub(crate) most: usize,
}

impl NewCalls {
    /// Makes the record of a call that begins. Gives its place, under which its end is told.
    #[inline]
    pub(crate) fn note(
        &mut self,
        rings: &mut Rings<'_>,
        start: &Start,
        at: Moment,
        about: About,
    ) -> u64 {
        self.note_in(own_log(), rings, start, at, about)
    }

    #[inline]
    fn note_in(
        &mut self,
        log: usize,
        rings: &mut Rings<'_>,
        start: &Start,
        at: Moment,
        about: About,
    ) -> u64 {
        match PackedCall::new(start, at, about) {
            Ok(call) => self.push(log, rings, call),
            Err(about) => {
                self.settle(rings, start.upstream);
                let shown = side::heir(rings.sides, start.upstream).0 as usize;
                let records = &mut rings.sides[shown].records;
                records.begin(rings.most, start, at, about);
                IN_RING
            }
        }
    }

    /// Makes room for a few calls in a log that has none: what is written over next is moved if it is needed.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, number: usize, rings: &mut Rings<'_>) {
        let (log, most) = (&self.logs[number], rings.most);
        let room = log.places.len();
        if room == 0 {
            return self.logs[number].grow(self.first_room);
        }
        let ahead = AHEAD.min(room);
        let place = |back: usize| (log.next as usize + back) & (room - 1);
        let is_needed = |sides: &[Side], call: &PackedCall| {
            sides[usize::from(call.upstream)].new.needs(call, most)
        };
        // All of them, without a branch in between.
        let needed: usize = (0..ahead)
            .map(|back| usize::from(is_needed(rings.sides, &log.places[place(back)].0)))
            .sum();
        let rooms = self.rooms();
        // One upstream that is seldom called makes nobody keep more.
        if needed > ahead / 4 && rooms + room <= self.most {
            return self.logs[number].grow(room * 2);
        }
        let mut left = MOVED_AT_ONCE;
        let mut clear = ahead;
        for back in (0..ahead).take_while(|_| needed > 0) {
            let call = &log.places[place(back)].0;
            if !is_needed(rings.sides, call) {
                continue;
            }
            if left == 0 {
                clear = back;
                break;
            }
            self.settle(rings, call.upstream());
            left -= 1;
        }
        self.logs[number].clear += clear as u64;
    }

    /// Moves an upstream's new calls to its ring. Whoever looks at a ring, or adds to it, does this first.
    #[inline]
    pub(crate) fn settle(&self, rings: &mut Rings<'_>, upstream: UpstreamId) {
        let side = rings.sides.get(upstream.0 as usize);
        if side.is_some_and(|side| side.new.waiting() > 0) {
            self.move_calls(rings, upstream);
        }
    }

    #[cold]
    fn move_calls(&self, rings: &mut Rings<'_>, upstream: UpstreamId) {
        // One that was removed may have come back: its records are there.
        let shown = side::heir(rings.sides, upstream).0 as usize;
        let of = &mut rings.sides[upstream.0 as usize].new;
        let calls = self.newest(of, rings.most);
        let passed_over = of.waiting() - calls.len() as u64;
        of.moved = of.made;
        let records = &mut rings.sides[shown].records;
        records.pass_over(passed_over);
        for call in calls.into_iter().rev() {
            records.take_call(rings.most, call);
        }
    }
}

/// The number of this thread's log.
#[inline]
fn own_log() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static LOG: usize = THREADS.fetch_add(1, Ordering::Relaxed) % LOGS;
    }
    LOG.with(|&log| log)
}

impl State {
    /// Makes the record of a call that begins. Gives its place, under which its end is told.
    #[inline]
    pub(crate) fn note_call(&mut self, start: &Start, at: Moment, about: About) -> u64 {
        let mut rings = Rings {
            sides: &mut self.sides,
            most: self.records,
        };
        self.new_calls.note(&mut rings, start, at, about)
    }

    /// Moves an upstream's new calls to its ring. Whoever looks at a ring, or adds to it, does this first.
    #[inline]
    pub(crate) fn settle_calls(&mut self, upstream: UpstreamId) {
        let mut rings = Rings {
            sides: &mut self.sides,
            most: self.records,
        };
        self.new_calls.settle(&mut rings, upstream);
    }

    /// The same for all upstreams.
    pub(crate) fn settle_all_calls(&mut self) {
        for number in 0..self.sides.len() as u32 {
            self.settle_calls(UpstreamId(number));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weir_dispatch::{Asker, Class, JobId};

    use super::*;
    use crate::tally::Kind;

    /// The new calls of a few upstreams, and what a reader has to be told of each: its calls by number, and whether
    /// they ended.
    struct Desk {
        new: NewCalls,
        sides: Vec<Side>,
        told: Vec<Vec<(JobId, bool)>>,
        jobs: u64,
        /// In whose log calls are noted.
        log: usize,
    }

    const KEPT: usize = 5;

    impl Desk {
        fn new(upstreams: u32, most: usize) -> Self {
            let side = |number| Side::new(format!("{number}").into(), Duration::ZERO, Moment(0));
            Self {
                new: NewCalls {
                    most,
                    first_room: 4,
                    ..NewCalls::default()
                },
                sides: (0..upstreams).map(side).collect(),
                told: vec![Vec::new(); upstreams as usize],
                jobs: 0,
                log: 0,
            }
        }

        /// A call begins. Gives its job and the place of its record.
        fn begin(&mut self, upstream: usize, about: About) -> (JobId, u64) {
            self.jobs += 1;
            let job = JobId(self.jobs);
            let start = Start {
                job,
                upstream: UpstreamId(upstream as u32),
                class: Class(0),
                budget: weir_dispatch::Budget::Query,
                attempt: 1,
                asker: Asker(1),
                since: Moment(0),
                reason: None,
                decided: 0,
            };
            let (sides, most) = (&mut self.sides[..], KEPT);
            let mut rings = Rings { sides, most };
            let (new, at) = (&mut self.new, Moment(9));
            let number = new.note_in(self.log, &mut rings, &start, at, about);
            self.told[upstream].push((job, false));
            (job, number)
        }

        fn end(&mut self, upstream: usize, (job, number): (JobId, u64)) {
            let end = CallEnd {
                kind: Kind::Done,
                took: Duration::ZERO,
            };
            if !self.new.end(&self.sides[upstream].new, number, end) {
                self.sides[upstream].records.end(job, end, None);
            }
            let told = self.told[upstream].iter_mut().find(|told| told.0 == job);
            told.expect("it began").1 = true;
        }

        /// Looks at the records of an upstream.
        fn check(&mut self, upstream: usize) {
            let (sides, most) = (&mut self.sides[..], KEPT);
            let mut rings = Rings { sides, most };
            self.new.settle(&mut rings, UpstreamId(upstream as u32));
            let records = self.sides[upstream].records.newest();
            let shown: Vec<_> = records
                .map(|one| (one.number, one.job, one.end.is_some()))
                .collect();
            let told = (1..).zip(&self.told[upstream]);
            let told = told.map(|(number, &(job, ended))| (number, Some(job), ended));
            let told: Vec<_> = told.collect();
            let last = told.iter().rev().take(KEPT).copied();
            assert_eq!(shown, last.collect::<Vec<_>>(), "upstream {upstream}");
        }
    }

    #[test]
    fn whenever_somebody_looks_the_last_calls_are_told_in_their_order() {
        for seed in 0..200 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut desk = Desk::new(4, rng.usize(64..200));
            let threads = [1, 2, 3, LOGS][rng.usize(0..4)];
            let mut under_way = Vec::new();
            for _ in 0..500 {
                desk.log = rng.usize(0..threads);
                // Some are called more often than others.
                let upstream = rng.usize(0..4).min(rng.usize(0..4));
                match rng.u8(0..20) {
                    0 => desk.check(upstream),
                    1 => under_way.push((upstream, desk.begin(upstream, About::Text("a".into())))),
                    2..8 if !under_way.is_empty() => {
                        let (upstream, call) = under_way.swap_remove(rng.usize(0..under_way.len()));
                        desk.end(upstream, call);
                    }
                    _ => under_way.push((upstream, desk.begin(upstream, About::Nothing))),
                }
                assert!(desk.new.rooms() <= desk.new.most);
            }
            (0..4).for_each(|upstream| desk.check(upstream));
        }
    }

    #[test]
    fn all_logs_together_have_a_bounded_place() {
        assert!(MOST * size_of::<LogPlace>() <= 2_400_000);
        let mut desk = Desk::new(500, 100);
        for call in 0..20_000 {
            desk.log = call % 7 % LOGS;
            desk.begin(call % 500, About::Nothing);
            assert!(desk.new.rooms() <= 100);
        }
        (0..500).for_each(|upstream| desk.check(upstream));
    }

    #[test]
    fn one_that_is_seldom_called_keeps_its_record_and_makes_nobody_keep_more() {
        let mut desk = Desk::new(3, 100);
        let quiet = desk.begin(2, About::Nothing);
        for _ in 0..1000 {
            desk.begin(0, About::Nothing);
            desk.begin(1, About::Nothing);
        }
        let moved = desk.sides[2].records.newest().count();
        assert_eq!((moved, desk.new.logs[0].places.len()), (1, 32));
        desk.end(2, quiet);
        (0..3).for_each(|upstream| desk.check(upstream));
    }

    #[test]
    fn calls_of_one_upstream_are_let_go_as_they_come() {
        let mut desk = Desk::new(1, MOST);
        for _ in 0..1000 {
            desk.begin(0, About::Nothing);
        }
        assert_eq!(
            desk.new.logs[0].places.len(),
            32,
            "little more than its ring"
        );
        assert!(desk.sides[0].records.newest().next().is_none());
        desk.check(0);
    }
}
