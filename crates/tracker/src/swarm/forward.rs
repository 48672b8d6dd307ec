//! What other trackers have to do with a swarm, as its record knows it.

use super::record::Record;
use crate::clock::Minute;

/// Whether an announce is to be sent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forward {
    /// Yes, and no announce of this swarm ever was.
    First,
    /// Yes, again.
    Due,
    /// Not yet.
    NotDue,
}

/// What other trackers have to do with a swarm, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForwardFlags(u8);

impl ForwardFlags {
    /// An announce of this swarm went on.
    pub const FORWARDED: Self = Self(1);
    /// A call about it is queued, under way or to be made again.
    pub const PENDING: Self = Self(2);
    /// Peers of other trackers are known.
    pub const PEERS: Self = Self(4);
    /// One of the two.
    pub const PENDING_OR_PEERS: Self = Self(6);

    /// Whether it has one of these bits.
    #[inline]
    pub fn has(self, bits: Self) -> bool {
        self.0 & bits.0 != 0
    }

    /// The same with these bits set or not.
    fn with(self, bits: Self, set: bool) -> Self {
        Self(if set {
            self.0 | bits.0
        } else {
            self.0 & !bits.0
        })
    }
}

/// What the ledger of other trackers says of a swarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mirrored {
    /// A call about it is queued, under way or to be made again.
    pub pending: bool,
    /// Peers of other trackers are known.
    pub peers: bool,
    /// The minute from which somebody may be asked who is not being asked.
    pub due: Minute,
}

impl Record {
    /// Whether this swarm is to be forwarded with an announce that comes now. If it is, announces of the next minute
    /// are not, until [`Record::mirror`] says better. If `may_go` denies it to a first one, the next is the first.
    #[inline]
    pub(super) fn forward(&mut self, now: Minute, may_go: impl FnOnce() -> bool) -> Forward {
        let next = now.plus(1).short();
        if !self.flags.has(ForwardFlags::FORWARDED) {
            if !may_go() {
                return Forward::First;
            }
            self.flags = self.flags.with(ForwardFlags::FORWARDED, true);
            self.due = next;
            return Forward::First;
        }
        // Behind us by less than half of what the stamp can tell.
        if now.short().wrapping_sub(self.due) > u16::MAX / 2 {
            return Forward::NotDue;
        }
        self.due = next;
        Forward::Due
    }

    /// The next announce is the first one that goes on.
    pub(super) fn not_forwarded(&mut self) {
        self.flags = self.flags.with(ForwardFlags::FORWARDED, false);
    }

    /// It was forwarded before it was stored, and is again from a minute on.
    pub(super) fn restore_due(&mut self, due: Minute) {
        self.flags = self.flags.with(ForwardFlags::FORWARDED, true);
        self.due = due.short();
    }

    /// Takes over what the ledger says. Says whether something changed that files tell.
    pub(super) fn mirror(&mut self, mirrored: Mirrored, now: Minute) -> bool {
        let flags = self.flags.with(ForwardFlags::PENDING, mirrored.pending);
        self.flags = flags.with(ForwardFlags::PEERS, mirrored.peers);
        let Some(left) = self.due_in(now) else {
            return false; // its next announce is the first one, whatever the ledger remembers
        };
        let before = self.due;
        if !mirrored.pending || mirrored.due > now {
            self.due = mirrored.due.short();
        } else if left > 1 {
            // There was no place for all that are due, or one is new. Those of a minute go on together: the rest has its
            // turn with the next.
            self.due = now.plus(1).short();
        }
        self.due != before
    }

    /// Minutes until it is to be forwarded again, if it ever was.
    pub(super) fn due_in(&self, now: Minute) -> Option<u16> {
        let left = self.due.wrapping_sub(now.short());
        let left = if left > u16::MAX / 2 { 0 } else { left };
        let forwarded = self.flags.has(ForwardFlags::FORWARDED);
        forwarded.then_some(left)
    }

    #[inline]
    pub(super) fn flags(&self) -> ForwardFlags {
        self.flags
    }
}
