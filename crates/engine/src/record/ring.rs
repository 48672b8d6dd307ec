//! The last records of one upstream, in little room.
//!
//! One is made for every call. An ordinary call (answered or under way, nothing to say in words) is packed into half a line
//! of cache, and whatever else there is to tell stands in a record of its own.

use std::sync::Arc;
use std::time::Duration;

use weir_dispatch::{Asker, Class, Decision, Moment, Start, UpstreamId, Wait, What};

use super::{About, CallEnd, Got, Record, Whose, cut};
use crate::tally::Kind;

/// A full ring is written over in place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    ring: Vec<RingPlace>,
    /// The place of the oldest.
    first: usize,
    made: u64,
    /// Something has changed since they were last written.
    pub(crate) changed: bool,
    /// What was last written keeps numbers free for records that might be lost with a kill.
    keeps_free: bool,
}

/// Aligned, so that it is in one line of cache and not in parts of two.
#[derive(Clone, Debug)]
#[repr(align(32))]
struct RingPlace(RingEntry);

/// One record as it is kept in memory. No alignment here, or the compiler no longer finds room for the tag.
#[derive(Clone, Debug)]
pub(super) enum RingEntry {
    Call(PackedCall),
    Other(Box<Record>),
}

/// An ordinary call. Its job is not kept: whoever tells how it ended knows its number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedCall {
    at: Moment,
    /// How long its job was queued.
    waited: Ticks,
    /// Zero until it ends.
    took: Ticks,
    /// All zero for nothing: what is really about that torrent is not packed.
    torrent: [u8; 6],
    /// The lowest bits: those who are not programs have the highest numbers.
    asker: i16,
    /// The lowest bits of its number.
    pub(crate) number: u16,
    /// In a ring the next bits of its number: rings are far shorter than what both can tell apart. Among the new calls how
    /// far back the one before it to the same upstream is.
    pub(crate) back: u16,
    /// Among the new calls, to whom it is.
    pub(crate) upstream: u16,
    /// Its class, what it waited for and its attempt: three, three and two bits.
    start: u8,
    end: Option<Kind>,
}

/// A time of up to four and a half minutes, in units of 64 ns: so many of them are a millisecond, and nothing shorter is
/// shown to anybody.
#[derive(Clone, Copy, Debug)]
struct Ticks(u32);

impl Ticks {
    const BITS: u32 = 6;

    fn time(self) -> Duration {
        Duration::from_nanos(u64::from(self.0) << Self::BITS)
    }
}

const NO_TORRENT: [u8; 6] = [0; 6];

/// More than are made for one upstream, or by a front itself, between two times of writing. Those that a kill takes have been
/// read and linked to, so nothing else gets their numbers.
pub(crate) const FREE: u64 = 1_000_000;
/// No record has a number like this: whoever wrote it, it must not keep later ones from being counted.
pub(crate) const MOST_RECORDS: u64 = 1 << 62;

impl RingEntry {
    /// It ended, in a ring that has made so many.
    fn end(&mut self, end: CallEnd, made: u64) {
        let is_noted = match self {
            Self::Call(call) => call.end(end),
            Self::Other(_) => false,
        };
        if !is_noted {
            self.unpacked(made).end = Some(end);
        }
    }

    /// The record, in a ring that has made so many.
    fn record(&self, made: u64) -> Record {
        match self {
            Self::Call(call) => call.record(made),
            Self::Other(record) => (**record).clone(),
        }
    }

    /// The record, to be added to.
    fn unpacked(&mut self, made: u64) -> &mut Record {
        if let Self::Call(call) = self {
            *self = Self::Other(Box::new(call.record(made)));
        }
        match self {
            Self::Other(record) => record,
            Self::Call(_) => unreachable!("it was just unpacked"),
        }
    }

    fn number(&self, made: u64) -> u64 {
        match self {
            Self::Call(call) => call.number(made),
            Self::Other(record) => record.number,
        }
    }

    fn has_ended(&self) -> bool {
        match self {
            Self::Call(call) => call.end.is_some(),
            Self::Other(record) => record.end.is_some(),
        }
    }

    fn is_of(&self, whose: &Whose, made: u64) -> bool {
        match (self, whose) {
            (Self::Call(_), Whose::Job { .. }) => false,
            (Self::Call(call), Whose::Number(number)) => call.number(made) == *number,
            (Self::Other(record), whose) => whose.is(record),
        }
    }
}

impl PackedCall {
    /// In places that no call has been written to.
    pub(crate) const BLANK: Self = Self {
        at: Moment(0),
        waited: Ticks(0),
        took: Ticks(0),
        torrent: NO_TORRENT,
        asker: 0,
        number: 0,
        back: 0,
        upstream: 0,
        start: 0,
        end: None,
    };

    /// A call that begins; gives back what it is about if only a whole record can tell it: something that is no torrent, or
    /// after minutes in a queue.
    #[inline]
    pub(crate) fn new(start: &Start, at: Moment, about: About) -> Result<Self, About> {
        let torrent = match about {
            About::Nothing => NO_TORRENT,
            About::Torrent(torrent) if torrent != NO_TORRENT => torrent,
            about => return Err(about),
        };
        let waited = at.0.saturating_sub(start.since.0) >> Ticks::BITS;
        let attempt = start.attempt.wrapping_sub(1);
        let (asker, upstream) = (start.asker.0 as i16, start.upstream.0 as u16);
        let fits = waited <= u64::from(u32::MAX)
            && asker as u32 == start.asker.0
            && u32::from(upstream) == start.upstream.0
            && start.class.0 < 8
            // There is no place for its code, and it is rare.
            && start.reason != Some(Wait::Network)
            && attempt < 4;
        if !fits {
            return Err(about);
        }
        Ok(Self {
            at,
            waited: Ticks(waited as u32),
            took: Ticks(0),
            torrent,
            asker,
            number: 0,
            back: 0,
            upstream,
            start: start.class.0 | code(start.reason) << 3 | attempt << 6,
            end: None,
        })
    }

    /// Whom it is to.
    #[inline]
    pub(crate) fn upstream(&self) -> UpstreamId {
        UpstreamId(u32::from(self.upstream))
    }

    /// It ended, with nothing to say about it. Says whether that could be noted: not if it took minutes.
    #[inline]
    pub(crate) fn end(&mut self, end: CallEnd) -> bool {
        let Ok(took) = u32::try_from(nanos(end.took) >> Ticks::BITS) else {
            return false;
        };
        self.end = Some(end.kind);
        self.took = Ticks(took);
        true
    }

    fn number(&self, made: u64) -> u64 {
        let number = u32::from(self.back) << 16 | u32::from(self.number);
        made - u64::from((made as u32).wrapping_sub(number))
    }

    fn record(&self, made: u64) -> Record {
        let took = self.took.time();
        Record {
            number: self.number(made),
            at: self.at,
            class: Some(Class(self.start & 7)),
            asker: Asker(self.asker as u32),
            about: match self.torrent {
                NO_TORRENT => About::Nothing,
                torrent => About::Torrent(torrent),
            },
            what: What::Started {
                waited: self.waited.time(),
                reason: REASONS[usize::from(self.start >> 3 & 7)],
                attempt: (self.start >> 6) + 1,
            },
            cause: None,
            end: self.end.map(|kind| CallEnd { kind, took }),
            got: None,
            job: None,
        }
    }
}

/// What calls wait for, each in the place of its code.
const REASONS: [Option<Wait>; 8] = [
    Some(Wait::Off),
    Some(Wait::Cooldown),
    Some(Wait::Window),
    Some(Wait::Gap),
    Some(Wait::Agreeing),
    Some(Wait::Share),
    Some(Wait::Claimed),
    None,
];

#[inline]
fn code(reason: Option<Wait>) -> u8 {
    reason.map_or(7, |reason| reason as u8)
}

/// Moments are counted in nanoseconds, so nothing is lost.
fn nanos(time: Duration) -> u64 {
    time.as_secs()
        .saturating_mul(1_000_000_000)
        .saturating_add(u64::from(time.subsec_nanos()))
}

impl Records {
    /// Takes a decision in, and lets the oldest record go if there are `most`.
    pub(crate) fn push(
        &mut self,
        most: usize,
        decision: &Decision,
        about: About,
        cause: Option<Arc<str>>,
    ) -> &mut Record {
        let record = Record {
            number: self.made + 1,
            at: decision.at,
            class: decision.class,
            asker: decision.asker,
            about: about.cut(),
            what: decision.what,
            cause: cause.map(cut),
            end: None,
            got: None,
            job: decision.job,
        };
        let place = self.restore(most, record);
        self.ring[place].0.unpacked(self.made)
    }

    /// Takes a record in that was kept from an earlier run, with its number. Gives its place.
    pub(crate) fn restore(&mut self, most: usize, record: Record) -> usize {
        self.made = record.number;
        self.changed = true;
        let place = self.place(most);
        match self.ring.get_mut(place) {
            // Its room is used again.
            Some(RingPlace(RingEntry::Other(oldest))) => **oldest = record,
            Some(oldest) => oldest.0 = RingEntry::Other(Box::new(record)),
            None => self
                .ring
                .push(RingPlace(RingEntry::Other(Box::new(record)))),
        }
        place
    }

    /// Takes in a call that begins and cannot be packed. Gives its number.
    pub(crate) fn begin(&mut self, most: usize, start: &Start, at: Moment, about: About) -> u64 {
        let what = What::Started {
            waited: start.since.until(at),
            reason: start.reason,
            attempt: start.attempt,
        };
        let decision = Decision {
            upstream: start.upstream,
            job: Some(start.job),
            at,
            class: Some(start.class),
            asker: start.asker,
            what,
        };
        self.push(most, &decision, about, None).number
    }

    /// Takes a call in that has begun.
    pub(crate) fn take_call(&mut self, most: usize, call: &PackedCall) {
        self.made += 1;
        self.changed = true;
        let (number, back) = (self.made as u16, (self.made >> 16) as u16);
        let call = RingEntry::Call(PackedCall {
            number,
            back,
            ..*call
        });
        let place = self.place(most);
        match self.ring.get_mut(place) {
            Some(oldest) => oldest.0 = call,
            None => self.ring.push(RingPlace(call)),
        }
    }

    /// So many calls were made that nobody needs to be told of any more: later ones have come than a ring holds.
    pub(crate) fn pass_over(&mut self, calls: u64) {
        self.made += calls;
        self.changed |= calls > 0;
    }

    /// Where the next one goes.
    fn place(&mut self, most: usize) -> usize {
        let len = self.ring.len();
        if len < most.max(1) && self.first == 0 {
            return len;
        }
        let oldest = self.first;
        self.first = if oldest + 1 < len { oldest + 1 } else { 0 };
        oldest
    }

    /// Whether they have to be written now, and for that the highest number that a record may have before they are written
    /// again; after the `last` time none is made.
    pub(crate) fn due(&mut self, last: bool) -> Option<u64> {
        let is_due = std::mem::take(&mut self.changed) || (last && self.keeps_free);
        is_due.then(|| {
            self.keeps_free = !last;
            self.made + if last { 0 } else { FREE }
        })
    }

    /// The next time they are written, numbers are kept free: before the first record of a run, which a kill may take.
    pub(crate) fn keep_numbers_free(&mut self) {
        self.changed |= !self.keeps_free;
    }

    /// Numbers up to this one are taken.
    pub(crate) fn go_on_after(&mut self, number: u64) {
        self.made = self.made.max(number);
    }

    /// How many were made so far.
    pub(crate) fn made(&self) -> u64 {
        self.made
    }

    /// Newest first.
    pub(crate) fn newest(&self) -> impl DoubleEndedIterator<Item = Record> {
        let (later, earlier) = self.ring.split_at(self.first);
        let newest = earlier.iter().chain(later).rev();
        newest.map(|place| place.0.record(self.made))
    }

    fn newest_mut(&mut self) -> impl Iterator<Item = &mut RingEntry> {
        let (later, earlier) = self.ring.split_at_mut(self.first);
        let newest = earlier.iter_mut().chain(later).rev();
        newest.map(|place| &mut place.0)
    }

    /// The call with this number has ended.
    pub(crate) fn end(&mut self, number: u64, end: CallEnd, cause: Option<Arc<str>>) {
        let made = self.made;
        // Calls end soon after they started, so this looks at few.
        let started = self
            .newest_mut()
            .find(|entry| entry.number(made) <= number)
            .filter(|entry| entry.number(made) == number);
        let Some(started) = started.filter(|started| !started.has_ended()) else {
            return;
        };
        started.end(end, made);
        if cause.is_some() {
            started.unpacked(made).cause = cause.map(cut);
        }
        self.changed = true;
    }

    /// The call with this number was not made after all.
    pub(crate) fn take_back(&mut self, number: u64) {
        self.ring.rotate_left(self.first);
        self.first = 0;
        let is_it = |place: &RingPlace| place.0.number(self.made) == number;
        if let Some(place) = self.ring.iter().rposition(is_it) {
            self.ring.remove(place);
            self.changed = true;
        }
    }

    /// The front knows why this was decided; told under the same lock.
    pub(crate) fn explain(&mut self, number: u64, cause: Arc<str>) {
        if self.made != number {
            return;
        }
        if let Some(newest) = self.newest_mut().next() {
            newest.unpacked(number).cause = Some(cut(cause));
        }
    }

    /// Whoever asked got this instead of an answer.
    pub(crate) fn give(&mut self, whose: &Whose, got: Got) {
        let made = self.made;
        let Some(newest) = self.newest_mut().find(|entry| entry.is_of(whose, made)) else {
            return;
        };
        let newest = newest.unpacked(made);
        // Of whoever shared a call that came to nothing, only the front knows whether something older was there; and whoever
        // has nothing of any upstream is told when to come back.
        let is_open = matches!(
            (newest.what, newest.got, got),
            (_, None, _)
                | (What::Shared { .. }, Some(Got::Nothing), _)
                | (_, Some(Got::Nothing), Got::Retry { .. })
        );
        if is_open {
            newest.got = Some(got);
            self.changed = true;
        }
    }
}
