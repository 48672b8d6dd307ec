//! What the engine keeps for each of the dispatcher's jobs: the call, and who wants to know how
//! it ended. The table is indexed like the dispatcher's own, so nothing is hashed.

use std::sync::{Arc, OnceLock};

use weir_dispatch::{JobId, Moment};

use crate::call::{Call, Ended};
use crate::ticket::Cell;

/// One job's call and whoever asked for it.
pub(crate) struct Payload {
    pub(crate) call: Arc<dyn Call>,
    pub(crate) told: Told,
    generation: u32,
    /// It has been sent to its upstream at least once.
    pub(crate) sent: bool,
    /// The request it was submitted for is not counted yet under what became of it.
    pub(crate) open: bool,
    /// It runs even if nobody waits for it.
    pub(crate) wanted: bool,
    /// What it has to do with another node's call.
    pub(crate) elsewhere: Elsewhere,
}

/// What a job has to do with the same question of another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    Nothing,
    /// It waits, or waited, for a call under way.
    Joins,
    /// It was answered with what the other had kept.
    Kept,
    /// The call that it waited for came to nothing.
    Fails,
    /// The other's answer was of no use: the call is made here.
    Distrusts,
}

/// Who is told how a job ended.
pub(crate) enum Told {
    Nobody,
    Ticket(Arc<Cell>),
    Hook(Arc<Hook>),
    /// Everybody who asked for the same job while it was pending.
    #[expect(
        clippy::box_collection,
        reason = "a thin pointer keeps all other payloads small"
    )]
    Several(Box<Vec<Self>>),
}

/// Tells a flight of its job's start and end; a thin pointer in [`Told`].
pub(crate) struct Hook {
    end: Box<dyn Fn(Ended) + Send + Sync>,
    started: OnceLock<Moment>,
}

impl Hook {
    pub(crate) fn new(end: Box<dyn Fn(Ended) + Send + Sync>) -> Self {
        Self {
            end,
            started: OnceLock::new(),
        }
    }

    /// When the job's first attempt began.
    pub(crate) fn started(&self) -> Option<Moment> {
        self.started.get().copied()
    }
}

impl Payload {
    pub(crate) fn new(call: Arc<dyn Call>, told: Told) -> Self {
        let wanted = matches!(told, Told::Nobody);
        Self {
            call,
            told,
            generation: 0,
            sent: false,
            open: true,
            wanted,
            elsewhere: Elsewhere::Nothing,
        }
    }

    /// Somebody else wants to know how this ends.
    pub(crate) fn join(&mut self, told: Told) {
        match (&mut self.told, told) {
            (_, Told::Nobody) => self.wanted = true,
            (Told::Several(all), told) => all.push(told),
            (_, told) => {
                let first = std::mem::replace(&mut self.told, Told::Nobody);
                self.told = Told::Several(Box::new(vec![first, told]));
            }
        }
    }

    /// Somebody no longer wants it. Returns whether nobody does.
    pub(crate) fn leave(&mut self, interest: Interest<'_>) -> bool {
        match &mut self.told {
            Told::Several(all) => all.retain(|told| !interest.is(told)),
            one if interest.is(one) => *one = Told::Nobody,
            _ => {}
        }
        self.is_unwanted()
    }

    /// Whether nobody wants to know how it ends.
    pub(crate) fn is_unwanted(&self) -> bool {
        let nobody = match &self.told {
            Told::Nobody => true,
            Told::Several(all) => all.iter().all(|told| matches!(told, Told::Nobody)),
            _ => false,
        };
        nobody && !self.wanted
    }

    /// Whether nobody else wants it.
    pub(crate) fn is_only_for(&self, interest: Interest<'_>) -> bool {
        let is = |told: &Told| matches!(told, Told::Nobody) || interest.is(told);
        let only = match &self.told {
            Told::Several(all) => all.iter().all(is),
            one => is(one),
        };
        only && !self.wanted
    }
}

/// Whose interest it is.
#[derive(Clone, Copy)]
pub(crate) enum Interest<'a> {
    Ticket(&'a Arc<Cell>),
    Hook(&'a Arc<Hook>),
}

impl Interest<'_> {
    fn is(self, told: &Told) -> bool {
        match (self, told) {
            (Self::Ticket(mine), Told::Ticket(other)) => Arc::ptr_eq(mine, other),
            (Self::Hook(mine), Told::Hook(other)) => Arc::ptr_eq(mine, other),
            _ => false,
        }
    }
}

impl Told {
    /// The job's call is made now. Noted under the engine's lock, so that whoever sees the slot used up
    /// also sees by whom.
    pub(crate) fn start(&self, now: Moment) {
        match self {
            Self::Hook(hook) => {
                hook.started.get_or_init(|| now);
            }
            Self::Several(all) => all.iter().for_each(|told| told.start(now)),
            Self::Nobody | Self::Ticket(_) => {}
        }
    }

    /// Whether somebody may tell later what became of the job for them.
    pub(crate) fn has_hook(&self) -> bool {
        matches!(self, Self::Hook(_) | Self::Several(_))
    }

    /// Tells everybody. Must not be called under the engine's lock, because a hook may submit.
    pub(crate) fn tell(self, ended: Ended) {
        match self {
            Self::Nobody => {}
            Self::Ticket(cell) => cell.end(ended),
            Self::Hook(hook) => (hook.end)(ended),
            Self::Several(all) => all.into_iter().for_each(|told| told.tell(ended.clone())),
        }
    }
}

/// The payloads of all jobs that have not ended.
#[derive(Default)]
pub(crate) struct Payloads(Vec<Option<Payload>>);

impl Payloads {
    pub(crate) fn insert(&mut self, job: JobId, mut payload: Payload) {
        let index = place(job);
        if index >= self.0.len() {
            self.0.resize_with(index + 1, || None);
        }
        payload.generation = generation(job);
        debug_assert!(self.0[index].is_none(), "the last job here has been reaped");
        self.0[index] = Some(payload);
    }

    pub(crate) fn find(&mut self, job: JobId) -> Option<&mut Payload> {
        let payload = self.0.get_mut(place(job))?.as_mut();
        payload.filter(|payload| payload.generation == generation(job))
    }

    pub(crate) fn remove(&mut self, job: JobId) -> Option<Payload> {
        self.find(job)?;
        self.0[place(job)].take()
    }
}

fn place(job: JobId) -> usize {
    (job.0 & u64::from(u32::MAX)) as usize
}

fn generation(job: JobId) -> u32 {
    (job.0 >> 32) as u32
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;

    use super::*;
    use crate::call::{Outcome, Permit};

    struct Nothing;

    impl Call for Nothing {
        fn attempt(&self, _: Permit) -> BoxFuture<'_, Outcome> {
            std::future::ready(Outcome::Done).boxed()
        }
    }

    #[test]
    fn an_old_id_does_not_find_the_next_job_in_its_place() {
        let (old, new) = (JobId(3), JobId((1 << 32) | 3));
        let mut payloads = Payloads::default();
        payloads.insert(new, Payload::new(Arc::new(Nothing), Told::Nobody));
        assert!(payloads.find(old).is_none() && payloads.remove(old).is_none());
        assert!(payloads.find(new).is_some() && payloads.remove(new).is_some());
        assert!(payloads.find(new).is_none());
    }

    #[test]
    fn a_payload_is_small() {
        assert!(size_of::<Option<Payload>>() <= 40);
    }
}
