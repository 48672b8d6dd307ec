//! Calls that began lately, before they are told in the records of their upstreams.
//!
//! There is one for every job, so this is where records cost most. The rings of all upstreams are some megabytes, and to
//! write a call into its ring is to wait for far memory, under the engine's lock. So calls are noted here one after the
//! other, as a log, which the processor fetches ahead of time. A call moves to its ring when somebody looks at that one
//! ring or adds something else to it, so that records have the order of what happened; most never move, because by then
//! their upstream has been called more often than a ring holds.

use std::collections::VecDeque;

use weir_dispatch::{Moment, Start, UpstreamId};

use crate::record::{About, CallEnd, PackedCall};
use crate::side::{self, Side};
use crate::state::State;

/// How many are noted at most: as many as the rings of 160 upstreams hold, in 2.4 MB.
const MOST: usize = 1 << 15;

/// The number of a call that is not among these: it went to its ring at once.
const IN_RING: u64 = u64::MAX;

/// Calls that may not be in their ring yet, oldest first.
#[derive(Debug)]
pub(crate) struct NewCalls {
    calls: VecDeque<PackedCall>,
    /// As many. What it takes to let the oldest go is kept apart, so that nothing fetches that call for it.
    links: VecDeque<Link>,
    /// The number of the first one: how many were let go.
    first: u64,
    most: usize,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    upstream: UpstreamId,
    /// How far before it the previous call to the same upstream is, if that has not moved either.
    back: u32,
}

/// What an upstream has among the new calls.
#[derive(Debug, Default)]
pub(crate) struct NewOf {
    /// How many were made since its calls last moved, those included that were let go.
    made: u64,
    /// How many of them are still there.
    held: usize,
    /// The number of the newest one, if there is one.
    newest: u64,
    /// Those with a smaller number have moved.
    moved: u64,
}

impl NewOf {
    /// How many were made since its calls last moved.
    pub(crate) fn made(&self) -> u64 {
        self.made
    }
}

impl Default for NewCalls {
    fn default() -> Self {
        Self {
            calls: VecDeque::new(),
            links: VecDeque::new(),
            first: 0,
            most: MOST,
        }
    }
}

impl NewCalls {
    /// Notes a call. Gives its number.
    #[inline]
    fn push(&mut self, upstream: UpstreamId, of: &mut NewOf, call: PackedCall) -> u64 {
        let number = self.next();
        let back = match of.held {
            0 => 0,
            _ => (number - of.newest) as u32,
        };
        (of.made, of.held, of.newest) = (of.made + 1, of.held + 1, number);
        self.calls.push_back(call);
        self.links.push_back(Link { upstream, back });
        number
    }

    /// The call with this number ended. Says whether it is still here, and has not moved.
    #[inline]
    pub(crate) fn end(&mut self, of: &NewOf, number: u64, end: CallEnd) -> bool {
        if number < of.moved {
            return false;
        }
        let place = number.checked_sub(self.first).map(|place| place as usize);
        let Some(call) = place.and_then(|place| self.calls.get_mut(place)) else {
            return false;
        };
        call.end(end);
        true
    }

    fn next(&self) -> u64 {
        self.first + self.calls.len() as u64
    }

    fn let_go(&mut self) {
        self.calls.pop_front();
        self.links.pop_front();
        self.first += 1;
    }

    /// The newest calls of an upstream, at most so many, newest first.
    fn newest(&self, of: &NewOf, most: usize) -> impl Iterator<Item = &PackedCall> {
        let mut place = of.newest.saturating_sub(self.first) as usize;
        (0..of.held.min(most)).map(move |_| {
            let call = &self.calls[place];
            place = place.saturating_sub(self.links[place].back as usize);
            call
        })
    }
}

/// The upstreams, and how many records are kept of each.
pub(crate) struct Rings<'a> {
    pub(crate) sides: &'a mut [Side],
    pub(crate) most: usize,
}

impl NewCalls {
    /// Makes the record of a call that begins. Gives its number, under which its end is told.
    #[inline]
    pub(crate) fn note(
        &mut self,
        rings: &mut Rings<'_>,
        start: &Start,
        at: Moment,
        about: About,
    ) -> u64 {
        match PackedCall::new(start, at, about) {
            Ok(call) => {
                self.make_room(rings);
                let of = &mut rings.sides[start.upstream.0 as usize].new;
                self.push(start.upstream, of, call)
            }
            Err(about) => {
                self.settle(rings, start.upstream);
                let shown = side::heir(rings.sides, start.upstream).0 as usize;
                let records = &mut rings.sides[shown].records;
                records.begin(rings.most, start, at, about);
                IN_RING
            }
        }
    }

    /// Lets go what nobody needs, before a call is noted. Two at most, so that no single call pays for many; that is
    /// faster than they come.
    #[inline]
    fn make_room(&mut self, rings: &mut Rings<'_>) {
        for _ in 0..2 {
            let Some(&Link { upstream, .. }) = self.links.front() else {
                return;
            };
            let of = &mut rings.sides[upstream.0 as usize].new;
            let has_moved = self.first < of.moved;
            if !has_moved && of.held > rings.most {
                of.held -= 1;
            } else if !has_moved && self.calls.len() >= self.most {
                self.settle(rings, upstream);
            } else if !has_moved {
                return;
            }
            self.let_go();
        }
    }

    /// Moves an upstream's new calls to its ring. Whoever looks at a ring, or adds to it, does this first.
    #[inline]
    pub(crate) fn settle(&self, rings: &mut Rings<'_>, upstream: UpstreamId) {
        let side = rings.sides.get(upstream.0 as usize);
        if side.is_some_and(|side| side.new.made > 0) {
            self.move_calls(rings, upstream);
        }
    }

    #[cold]
    fn move_calls(&self, rings: &mut Rings<'_>, upstream: UpstreamId) {
        // One that was removed may have come back: its records are there.
        let shown = side::heir(rings.sides, upstream).0 as usize;
        let moved = NewOf {
            moved: self.next(),
            ..NewOf::default()
        };
        let of = std::mem::replace(&mut rings.sides[upstream.0 as usize].new, moved);
        let calls: Vec<_> = self.newest(&of, rings.most).collect();
        let records = &mut rings.sides[shown].records;
        records.pass_over(of.made - calls.len() as u64);
        for call in calls.into_iter().rev() {
            records.take_call(rings.most, call);
        }
    }
}

impl State {
    /// Makes the record of a call that begins. Gives its number, under which its end is told.
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
    }

    const KEPT: usize = 5;

    impl Desk {
        fn new(upstreams: u32, most: usize) -> Self {
            let side = |number| Side::new(format!("{number}").into(), Duration::ZERO, Moment(0));
            Self {
                new: NewCalls {
                    most,
                    ..NewCalls::default()
                },
                sides: (0..upstreams).map(side).collect(),
                told: vec![Vec::new(); upstreams as usize],
                jobs: 0,
            }
        }

        /// A call begins. Gives its job and the number of its record.
        fn begin(&mut self, upstream: usize, about: About) -> (JobId, u64) {
            self.jobs += 1;
            let job = JobId(self.jobs);
            let start = Start {
                job,
                upstream: UpstreamId(upstream as u32),
                class: Class(0),
                attempt: 1,
                asker: Asker(1),
                since: Moment(0),
                reason: None,
                decided: 0,
            };
            let (sides, most) = (&mut self.sides[..], KEPT);
            let mut rings = Rings { sides, most };
            let number = self.new.note(&mut rings, &start, Moment(9), about);
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
            let mut desk = Desk::new(4, rng.usize(8..40));
            let mut under_way = Vec::new();
            for _ in 0..300 {
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
                assert_eq!(desk.new.calls.len(), desk.new.links.len());
                assert!(desk.new.calls.len() <= desk.new.most);
            }
            (0..4).for_each(|upstream| desk.check(upstream));
        }
    }

    #[test]
    fn one_that_is_seldom_called_keeps_its_record_and_makes_nobody_keep_more() {
        let mut desk = Desk::new(3, 100);
        let quiet = desk.begin(2, About::Nothing);
        for _ in 0..1000 {
            desk.begin(0, About::Nothing);
            desk.begin(1, About::Nothing);
        }
        assert!(desk.new.calls.len() <= 2 * (KEPT + 1), "it moved long ago");
        desk.end(2, quiet);
        (0..3).for_each(|upstream| desk.check(upstream));
    }

    #[test]
    fn calls_of_one_upstream_are_let_go_as_they_come() {
        let mut desk = Desk::new(1, MOST);
        for _ in 0..1000 {
            desk.begin(0, About::Nothing);
        }
        assert!(desk.new.calls.len() <= KEPT + 1, "no more than its ring");
        assert!(desk.sides[0].records.newest().next().is_none());
        desk.check(0);
    }
}
