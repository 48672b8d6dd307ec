//! Calls that began lately, before they are told in the records of their upstreams.
//!
//! There is one for every job, so this is where records cost most. The rings of all upstreams are some megabytes, and a call
//! that is answered at once would fetch its place there twice from far memory, under the engine's lock. So calls are noted
//! here, in a few kilobytes that stay close, and move to the rings many at a time: when this is full, and before anybody
//! looks at a ring or adds something else to it, so that records have the order of what happened.

use crate::record::{CallEnd, RingEntry};
use crate::state::State;

/// How many are noted at most.
const MOST: usize = 128;

/// Calls whose records are not in their ring yet, oldest first.
#[derive(Debug, Default)]
pub(crate) struct NewCalls {
    calls: Vec<RingEntry>,
    /// How many have moved to their rings so far: the number of the first of `calls`.
    moved: u64,
}

impl NewCalls {
    pub(crate) fn is_full(&self) -> bool {
        self.calls.len() >= MOST
    }

    /// Notes a call. Gives its number, under which its end is told.
    #[inline]
    pub(crate) fn push(&mut self, call: RingEntry) -> u64 {
        let number = self.moved + self.calls.len() as u64;
        self.calls.push(call);
        number
    }

    /// The call with this number ended. Says whether it is still here.
    #[inline]
    pub(crate) fn end(&mut self, number: u64, end: CallEnd) -> bool {
        let place = number.checked_sub(self.moved).map(|place| place as usize);
        let Some(call) = place.and_then(|place| self.calls.get_mut(place)) else {
            return false;
        };
        call.end(end);
        true
    }
}

impl State {
    /// Moves the calls that began lately to the rings. Whoever looks at a ring does this first.
    #[inline]
    pub(crate) fn settle_calls(&mut self) {
        if !self.new_calls.calls.is_empty() {
            self.move_calls();
        }
    }

    fn move_calls(&mut self) {
        let mut new = std::mem::take(&mut self.new_calls);
        new.moved += new.calls.len() as u64;
        for call in &mut new.calls {
            // One that was removed may have come back: its records are there.
            let shown = self.heir(call.upstream()).0 as usize;
            self.sides[shown].records.take_call(self.records, call);
        }
        new.calls.clear();
        // With its room, so that nothing is allocated next time.
        self.new_calls = new;
    }
}
