//! The last records of one upstream, in little room.
//!
//! One is made for every call. An ordinary call (answered or under way, nothing to say in words) is packed into one line
//! of cache, and whatever else there is to tell stands in a record of its own.

use std::sync::Arc;
use std::time::Duration;

use weir_dispatch::{Asker, Class, Decision, JobId, Moment, Start, Wait, What};

use super::{About, CallEnd, Got, Record, Whose};
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
}

/// Aligned, so that it is one line of cache and not parts of two.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct RingPlace(RingEntry);

/// One record as it is kept in memory. No alignment here, or the compiler no longer finds room for the tag.
#[derive(Clone, Debug)]
pub(super) enum RingEntry {
    Call(PackedCall),
    Other(Box<Record>),
}

/// An ordinary call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedCall {
    at: Moment,
    job: JobId,
    /// When its job was queued.
    since: Moment,
    /// In nanoseconds; 0 until it ends.
    took: u64,
    asker: Asker,
    /// The lower half: rings are far shorter than what that can tell apart. Zero until it is in one.
    number: u32,
    /// All zero for nothing: what is really about that torrent is not packed.
    hash: [u8; 20],
    class: Class,
    attempt: u8,
    reason: Option<Wait>,
    end: Option<Kind>,
}

const NO_HASH: [u8; 20] = [0; 20];

impl RingEntry {
    fn end(&mut self, end: CallEnd) {
        match self {
            Self::Call(call) => call.end(end),
            Self::Other(record) => record.end = Some(end),
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

    /// Whether it tells that this job's call began.
    fn starts(&self, job: JobId) -> bool {
        match self {
            Self::Call(call) => call.job == job,
            Self::Other(record) => {
                record.job == Some(job) && matches!(record.what, What::Started { .. })
            }
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
            (Self::Call(call), Whose::Job { job, .. }) => *job == Some(call.job),
            (Self::Call(call), Whose::Number(number)) => call.number(made) == *number,
            (Self::Other(record), whose) => whose.is(record),
        }
    }
}

impl PackedCall {
    /// A call that begins; gives back what it is about if that is no torrent, which only a whole record can tell.
    #[inline]
    pub(crate) fn new(start: &Start, at: Moment, about: About) -> Result<Self, About> {
        let hash = match about {
            About::Nothing => NO_HASH,
            About::Hash(hash) if hash != NO_HASH => hash,
            about => return Err(about),
        };
        Ok(Self {
            at,
            job: start.job,
            since: start.since,
            took: 0,
            asker: start.asker,
            number: 0,
            hash,
            class: start.class,
            attempt: start.attempt,
            reason: start.reason,
            end: None,
        })
    }

    /// It ended, with nothing to say about it.
    #[inline]
    pub(crate) fn end(&mut self, end: CallEnd) {
        (self.end, self.took) = (Some(end.kind), nanos(end.took));
    }

    fn number(&self, made: u64) -> u64 {
        made - u64::from((made as u32).wrapping_sub(self.number))
    }

    fn record(&self, made: u64) -> Record {
        let took = Duration::from_nanos(self.took);
        Record {
            number: self.number(made),
            at: self.at,
            class: Some(self.class),
            asker: self.asker,
            about: match self.hash {
                NO_HASH => About::Nothing,
                hash => About::Hash(hash),
            },
            what: What::Started {
                waited: self.since.until(self.at),
                reason: self.reason,
                attempt: self.attempt,
            },
            cause: None,
            end: self.end.map(|kind| CallEnd { kind, took }),
            got: None,
            job: Some(self.job),
        }
    }
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
            about,
            what: decision.what,
            cause,
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

    /// Takes in a call that begins and cannot be packed.
    pub(crate) fn begin(&mut self, most: usize, start: &Start, at: Moment, about: About) {
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
        self.push(most, &decision, about, None);
    }

    /// Takes a call in that has begun.
    pub(crate) fn take_call(&mut self, most: usize, call: &PackedCall) {
        self.made += 1;
        self.changed = true;
        let number = self.made as u32;
        let call = RingEntry::Call(PackedCall { number, ..*call });
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

    /// The call of this job has ended.
    pub(crate) fn end(&mut self, job: JobId, end: CallEnd, cause: Option<Arc<str>>) {
        let made = self.made;
        // Calls end soon after they started, so this looks at few.
        let started = self.newest_mut().find(|entry| entry.starts(job));
        let Some(started) = started.filter(|started| !started.has_ended()) else {
            return;
        };
        started.end(end);
        if cause.is_some() {
            started.unpacked(made).cause = cause;
        }
        self.changed = true;
    }

    /// The call of this job was not made after all.
    pub(crate) fn take_back(&mut self, job: JobId) {
        self.ring.rotate_left(self.first);
        self.first = 0;
        if let Some(place) = self.ring.iter().rposition(|place| place.0.starts(job)) {
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
            newest.unpacked(number).cause = Some(cause);
        }
    }

    /// Whoever asked got this instead of an answer.
    pub(crate) fn give(&mut self, whose: &Whose, got: Got) {
        let made = self.made;
        let Some(newest) = self.newest_mut().find(|entry| entry.is_of(whose, made)) else {
            return;
        };
        let newest = newest.unpacked(made);
        // Of whoever shared a call that came to nothing, only the front knows whether something older was there.
        let is_open = match newest.what {
            What::Shared { .. } => matches!(newest.got, None | Some(Got::Nothing)),
            _ => newest.got.is_none(),
        };
        if is_open {
            newest.got = Some(got);
            self.changed = true;
        }
    }
}
