//! What all nodes share, as plain lists.

use crate::{USE_WITHIN, WINDOWS};

pub(crate) type Millis = u64;

/// The name of one question: who asks, in which of its runs, and which.
pub(crate) type AskId = (usize, u32, u64);

/// How long a ledger that lost everything waits for what members know.
const HAND_IN: Millis = 10_000;

#[derive(Clone, Debug)]
pub(crate) enum Request {
    Ask {
        id: AskId,
        wanted_until: Millis,
    },
    /// A permission was not used.
    Unused(AskId),
    /// Calls that were made without asking, with how old they are.
    Started(Vec<(AskId, Millis)>),
    Beat,
    /// All its calls that may count, for this epoch.
    HandIn(u32, Vec<(AskId, Millis)>),
}

#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Granted(AskId, Millis),
    Refused {
        id: AskId,
        wait: Millis,
        /// The length of the window that is full; `None` while members have yet to hand in.
        full: Option<Millis>,
        now: Millis,
    },
    Late(AskId, Millis),
    Pulse {
        epoch: u32,
        now: Millis,
    },
}

pub(crate) struct Ledger {
    members: usize,
    starts: Vec<(AskId, Millis)>,
    /// Questions that were answered with yes, used or not.
    answered: Vec<AskId>,
    epoch: u32,
    began: Millis,
    handed_in: Vec<usize>,
}

/// What one member may spend of a window when it is alone.
pub(crate) fn share(limit: usize) -> usize {
    (limit / 20).max(1)
}

impl Ledger {
    pub(crate) fn new(members: usize) -> Self {
        Self {
            members,
            starts: Vec::new(),
            answered: Vec::new(),
            epoch: 1,
            began: 0,
            handed_in: (0..members).collect(),
        }
    }

    /// Everything is gone.
    pub(crate) fn lose(&mut self, now: Millis) {
        let epoch = self.epoch + 1;
        *self = Self {
            epoch,
            began: now,
            handed_in: Vec::new(),
            ..Self::new(self.members)
        };
    }

    pub(crate) fn hear(&mut self, now: Millis, from: usize, request: Request) -> Option<Reply> {
        match request {
            Request::Ask { id, wanted_until } => Some(self.ask(now, id, wanted_until)),
            Request::Unused(id) => {
                self.starts.retain(|(other, _)| *other != id);
                None
            }
            Request::Started(starts) => {
                self.count(now, &starts);
                None
            }
            Request::Beat => Some(self.pulse(now)),
            Request::HandIn(epoch, starts) => {
                if epoch == self.epoch {
                    self.count(now, &starts);
                    self.handed_in.push(from);
                }
                Some(self.pulse(now))
            }
        }
    }

    fn pulse(&self, now: Millis) -> Reply {
        let epoch = self.epoch;
        Reply::Pulse { epoch, now }
    }

    fn count(&mut self, now: Millis, starts: &[(AskId, Millis)]) {
        for &(id, age) in starts {
            if !self.starts.iter().any(|(other, _)| *other == id) {
                self.starts.push((id, now.saturating_sub(age)));
            }
        }
    }

    fn ask(&mut self, now: Millis, id: AskId, wanted_until: Millis) -> Reply {
        if self.answered.contains(&id) {
            return Reply::Granted(id, now);
        }
        if now > wanted_until {
            return Reply::Late(id, now);
        }
        let missing = (0..self.members).any(|member| !self.handed_in.contains(&member));
        for (window, limit) in WINDOWS {
            let counts = window + USE_WITHIN;
            // What a missing member did is not known: the window is taken for full until it has passed once.
            let unknown = self.began + counts.max(HAND_IN);
            let unknown = if missing {
                unknown.saturating_sub(now)
            } else {
                0
            };
            let room = limit - self.members * share(limit);
            let inside = self.starts.iter().map(|(_, at)| *at);
            let mut inside: Vec<Millis> = inside.filter(|at| at + counts > now).collect();
            inside.sort();
            let full = match inside.len().checked_sub(room) {
                Some(over) => inside[over] + counts - now,
                None => 0,
            };
            if unknown.max(full) > 0 {
                return Reply::Refused {
                    id,
                    // It may hand in at any moment.
                    wait: if unknown > 0 { 500 } else { full },
                    full: (unknown == 0).then_some(window),
                    now,
                };
            }
        }
        self.starts.push((id, now));
        self.answered.push(id);
        Reply::Granted(id, now)
    }
}
