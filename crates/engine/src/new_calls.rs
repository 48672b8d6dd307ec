//! Calls that began lately, before they are told in the records of their upstreams.
//!
//! There is one for every job, so this is where records cost most. What costs is not the writing but the waiting, under the
//! engine's lock, for memory that is far away, and the rings of all upstreams are megabytes that are written in no order. So
//! calls are noted in one log, from one end to the other, and nothing else is done for them: a full log is written over, and
//! what is about to be lost is looked at a few calls at a time. A call moves to its ring when somebody looks at that one ring
//! or adds something else to it, so that records have the order of what happened; most never move, because by then their
//! upstream has been called more often than a ring holds.

use std::num::NonZeroU64;

use weir_dispatch::{Moment, Start, UpstreamId};

use crate::record::{About, CallEnd, PackedCall};
use crate::side::{self, Side};
use crate::state::State;

/// How many calls the log has room for: as many as the rings of 327 upstreams hold, in 2.1 MB. Links between them have 16
/// bits, so it cannot be longer.
const MOST: usize = 1 << 16;
/// How many it has room for at first.
const FIRST_ROOM: usize = 256;
/// How many calls are looked at together before they are written over, so that the processor can wait for all of their
/// upstreams at once.
const AHEAD: usize = 16;
/// How many upstreams' calls are moved at most for that, so that no single call pays for many.
const MOVED_AT_ONCE: usize = 2;

/// Calls that may not be in their ring yet, written over from the oldest on.
#[derive(Debug)]
pub(crate) struct NewCalls {
    /// As many places as it has room for: a power of two, or none yet.
    places: Vec<LogPlace>,
    /// How many calls were noted.
    next: u64,
    /// Up to this one there is room: no call that is written over is needed any more.
    clear: u64,
    most: usize,
    first_room: usize,
}

/// Aligned, so that it is in one line of cache and not in parts of two.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct LogPlace(PackedCall);

/// The record of a call that begins, for whoever tells how it ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noted {
    /// Not zero, so that an option of it is no larger: it is moved about with every call.
    number: NonZeroU64,
    /// How many calls were noted before it; anything if it went to its ring at once.
    place: u64,
}

impl Noted {
    /// The number of the record.
    pub(crate) fn number(self) -> u64 {
        self.number.get()
    }
}

/// What an upstream has among the new calls. In one line of cache, which every call needs anyway.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct NewOf {
    /// When it was last called for anything.
    pub(crate) last_call: Option<Moment>,
    /// The number of the newest call.
    made: u64,
    /// That of the newest one that has moved.
    moved: u64,
    /// The lowest bits of the newest one's place, if any has not moved.
    newest: u16,
}

impl Default for NewCalls {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            next: 0,
            clear: 0,
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

    /// Whether a call still has to be told in a ring that keeps so many.
    #[inline]
    fn needs(&self, call: &PackedCall, most: usize) -> bool {
        // Two bytes tell them apart: it is in the log, which is no longer than that.
        let after = (self.made as u16).wrapping_sub(call.number);
        u64::from(after) < self.waiting().min(most as u64)
    }

    /// All of them are in the ring, whose newest record has this number.
    #[inline]
    fn have_moved(&mut self, number: u64) {
        (self.made, self.moved) = (number, number);
    }
}

/// The upstreams, and how many records are kept of each.
pub(crate) struct Rings<'a> {
    pub(crate) sides: &'a mut [Side],
    pub(crate) most: usize,
}

impl NewCalls {
    /// Makes the record of a call that begins.
    #[inline]
    pub(crate) fn note(
        &mut self,
        rings: &mut Rings<'_>,
        start: &Start,
        at: Moment,
        about: About,
    ) -> Noted {
        match PackedCall::new(start, at, about) {
            Ok(call) => self.push(rings, call),
            Err(about) => self.note_whole(rings, start, at, about),
        }
    }

    #[inline]
    fn push(&mut self, rings: &mut Rings<'_>, mut call: PackedCall) -> Noted {
        if self.next == self.clear {
            self.make_room(rings);
        }
        let place = self.next;
        self.next += 1;
        let side = &mut rings.sides[usize::from(call.upstream)];
        debug_assert!(side.heir.is_none(), "what was removed is not called");
        let of = &mut side.new;
        if of.waiting() == 0 {
            // Records of other kinds are counted in the ring alone.
            of.have_moved(side.records.made());
        }
        let number = NonZeroU64::MIN.saturating_add(of.made);
        of.made = number.get();
        call.number = of.made as u16;
        call.back = (place as u16).wrapping_sub(of.newest);
        of.newest = place as u16;
        *self.at(place) = call;
        Noted { number, place }
    }

    /// The same in a record of its own, which goes to the ring at once.
    pub(crate) fn note_whole(
        &mut self,
        rings: &mut Rings<'_>,
        start: &Start,
        at: Moment,
        about: About,
    ) -> Noted {
        self.settle(rings, start.upstream);
        let shown = side::heir(rings.sides, start.upstream).0 as usize;
        let records = &mut rings.sides[shown].records;
        let number = records.begin(rings.most, start, at, about);
        rings.sides[start.upstream.0 as usize]
            .new
            .have_moved(number);
        Noted {
            number: NonZeroU64::new(number).expect("records are counted from 1"),
            place: 0,
        }
    }

    /// A call ended. Says whether that is noted: not if it has moved, or was written over.
    #[inline]
    pub(crate) fn end(&mut self, of: &NewOf, noted: Noted, end: CallEnd) -> bool {
        let is_here =
            noted.number() > of.moved && self.next - noted.place <= self.places.len() as u64;
        is_here && self.at(noted.place).end(end)
    }

    #[inline]
    fn at(&mut self, place: u64) -> &mut PackedCall {
        let last = self.places.len() - 1;
        &mut self.places[place as usize & last].0
    }

    /// Makes room for a few calls: what is written over next is moved if it is needed.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, rings: &mut Rings<'_>) {
        let (room, most) = (self.places.len(), rings.most);
        if room == 0 {
            return self.grow(self.first_room);
        }
        let ahead = AHEAD.min(room);
        let place = |back: usize| (self.next as usize + back) & (room - 1);
        let is_needed = |sides: &[Side], call: &PackedCall| {
            sides[usize::from(call.upstream)].new.needs(call, most)
        };
        // All of them, without a branch in between.
        let needed: usize = (0..ahead)
            .map(|back| usize::from(is_needed(rings.sides, &self.places[place(back)].0)))
            .sum();
        // One upstream that is seldom called makes nobody keep more.
        if needed > ahead / 4 && room * 2 <= self.most {
            return self.grow(room * 2);
        }
        let mut left = MOVED_AT_ONCE;
        let mut clear = ahead;
        for back in (0..ahead).take_while(|_| needed > 0) {
            let call = &self.places[place(back)].0;
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
        self.clear += clear as u64;
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
        of.have_moved(of.made);
        let records = &mut rings.sides[shown].records;
        records.pass_over(passed_over);
        for call in calls.into_iter().rev() {
            records.take_call(rings.most, call);
        }
    }

    /// The newest calls of an upstream that have not moved, at most so many, newest first.
    fn newest(&self, of: &NewOf, most: usize) -> Vec<&PackedCall> {
        let mut place = of.newest;
        let count = of.waiting().min(most as u64);
        let back = (0..count).map(|_| {
            let call = &self.places[usize::from(place) & (self.places.len() - 1)].0;
            place = place.wrapping_sub(call.back);
            call
        });
        back.collect()
    }
}

impl State {
    /// Makes the record of a call that begins. One that somebody follows is known by its job later on, so its record is a
    /// whole one.
    #[inline]
    pub(crate) fn note_call(
        &mut self,
        start: &Start,
        at: Moment,
        about: About,
        followed: bool,
    ) -> Noted {
        let mut rings = Rings {
            sides: &mut self.sides,
            most: self.records,
        };
        match followed {
            true => self.new_calls.note_whole(&mut rings, start, at, about),
            false => self.new_calls.note(&mut rings, start, at, about),
        }
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

    /// The new calls of a few upstreams, and what a reader has to be told of each: its calls in their order, and whether
    /// they ended.
    struct Desk {
        new: NewCalls,
        sides: Vec<Side>,
        told: Vec<Vec<(Moment, bool)>>,
        calls: u64,
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
                calls: 0,
            }
        }

        /// A call begins, each at another moment.
        fn begin(&mut self, upstream: usize, about: About) -> Noted {
            self.calls += 1;
            let at = Moment(self.calls);
            let start = Start {
                job: JobId(self.calls),
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
            let noted = self.new.note(&mut Rings { sides, most }, &start, at, about);
            self.told[upstream].push((at, false));
            assert_eq!(noted.number(), self.told[upstream].len() as u64);
            noted
        }

        fn end(&mut self, upstream: usize, noted: Noted) {
            let end = CallEnd {
                kind: Kind::Done,
                took: Duration::ZERO,
            };
            let side = &mut self.sides[upstream];
            if !self.new.end(&side.new, noted, end) {
                side.records.end(noted.number(), end, None);
            }
            self.told[upstream][noted.number() as usize - 1].1 = true;
        }

        /// Looks at the records of an upstream.
        fn check(&mut self, upstream: usize) {
            let (sides, most) = (&mut self.sides[..], KEPT);
            let mut rings = Rings { sides, most };
            self.new.settle(&mut rings, UpstreamId(upstream as u32));
            let records = self.sides[upstream].records.newest();
            let shown: Vec<_> = records
                .map(|one| (one.number, one.at, one.end.is_some()))
                .collect();
            let told = (1..).zip(&self.told[upstream]);
            let told = told.map(|(number, &(at, ended))| (number, at, ended));
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
            let mut under_way = Vec::new();
            for _ in 0..500 {
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
                assert!(desk.new.places.len() <= desk.new.most);
            }
            (0..4).for_each(|upstream| desk.check(upstream));
        }
    }

    #[test]
    fn the_log_has_a_bounded_place() {
        assert_eq!(MOST * size_of::<LogPlace>(), 2_097_152);
        let mut desk = Desk::new(500, 100);
        for call in 0..20_000 {
            desk.begin(call % 500, About::Nothing);
            assert!(desk.new.places.len() <= 100);
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
        assert_eq!((moved, desk.new.places.len()), (1, 32));
        desk.end(2, quiet);
        (0..3).for_each(|upstream| desk.check(upstream));
    }

    #[test]
    fn calls_of_one_upstream_are_let_go_as_they_come() {
        let mut desk = Desk::new(1, MOST);
        for _ in 0..1000 {
            desk.begin(0, About::Nothing);
        }
        assert_eq!(desk.new.places.len(), 32, "little more than its ring");
        assert!(desk.sides[0].records.newest().next().is_none());
        desk.check(0);
    }
}
