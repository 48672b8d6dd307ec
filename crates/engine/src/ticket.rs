//! What a submitter holds until its job has ended.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use weir_dispatch::JobId;

use crate::call::Ended;
use crate::payload::Interest;
use crate::shared::Shared;

/// Where the end of a job is put for its ticket.
#[derive(Debug, Default)]
pub(crate) struct Cell(Mutex<TicketState>);

#[derive(Debug)]
enum TicketState {
    Waiting(Option<Waker>),
    Ended(Ended),
}

impl Default for TicketState {
    fn default() -> Self {
        Self::Waiting(None)
    }
}

impl Cell {
    pub(crate) fn end(&self, ended: Ended) {
        let before = std::mem::replace(&mut *self.0.lock(), TicketState::Ended(ended));
        if let TicketState::Waiting(Some(waker)) = before {
            waker.wake();
        }
    }

    fn ended(&self) -> Option<Ended> {
        match &*self.0.lock() {
            TicketState::Ended(ended) => Some(ended.clone()),
            TicketState::Waiting(_) => None,
        }
    }
}

/// A submitted job as its submitter sees it: a future of how it ends.
///
/// Dropping it withdraws interest: a job that has not started and that nobody else wants is cancelled;
/// a call under way always runs to its end.
#[must_use = "dropping a ticket cancels its job, unless the call is under way"]
pub struct Ticket {
    pub(crate) shared: Arc<Shared>,
    pub(crate) job: Option<JobId>,
    pub(crate) cell: Arc<Cell>,
}

impl Ticket {
    /// The job, unless it ended at once.
    pub fn job(&self) -> Option<JobId> {
        self.job
    }

    /// How it ended, if it has.
    pub fn ended(&self) -> Option<Ended> {
        self.cell.ended()
    }

    /// Lets go of the ticket without withdrawing interest: the job carries on by itself.
    pub fn keep(mut self) {
        self.job = None;
    }
}

impl Future for Ticket {
    type Output = Ended;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Ended> {
        match &mut *self.cell.0.lock() {
            TicketState::Ended(ended) => Poll::Ready(ended.clone()),
            TicketState::Waiting(waker) => {
                match waker {
                    Some(waker) => waker.clone_from(context.waker()),
                    None => *waker = Some(context.waker().clone()),
                }
                Poll::Pending
            }
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(job) = self.job
            && self.cell.ended().is_none()
        {
            self.shared.withdraw(job, Interest::Ticket(&self.cell));
        }
    }
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket").field("job", &self.job).finish()
    }
}
