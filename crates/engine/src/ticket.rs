//! What a submitter holds until the end: one job's ticket, or a batch's stream.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_util::Stream;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use weir_dispatch::{BatchId, JobId};

use crate::call::Ended;
use crate::payload::Interest;
use crate::shared::Shared;

/// Where the end of a job is put for its ticket.
#[derive(Debug, Default)]
pub(crate) struct Cell(Mutex<State>);

#[derive(Debug)]
enum State {
    Waiting(Option<Waker>),
    Ended(Ended),
}

impl Default for State {
    fn default() -> Self {
        Self::Waiting(None)
    }
}

impl Cell {
    pub(crate) fn end(&self, ended: Ended) {
        let before = std::mem::replace(&mut *self.0.lock(), State::Ended(ended));
        if let State::Waiting(Some(waker)) = before {
            waker.wake();
        }
    }

    fn ended(&self) -> Option<Ended> {
        match *self.0.lock() {
            State::Ended(ended) => Some(ended),
            State::Waiting(_) => None,
        }
    }
}

/// A submitted job as its submitter sees it: a future of how it ends.
///
/// Dropping it withdraws interest: a job that has not started and that no ticket wants is cancelled;
/// a call under way always ends by itself.
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

    /// Lets go of the ticket without withdrawing interest: the job goes on by itself.
    pub fn keep(mut self) {
        self.job = None;
    }
}

impl Future for Ticket {
    type Output = Ended;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Ended> {
        match &mut *self.cell.0.lock() {
            State::Ended(ended) => Poll::Ready(*ended),
            State::Waiting(waker) => {
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

/// Jobs that were submitted together: a stream of (position in the submission, how it ended), in the
/// order in which they end. It has room for all of them, so that nobody waits for its reader.
///
/// Dropping it withdraws interest in all, as with a [`Ticket`].
#[must_use = "dropping a batch cancels its jobs, unless their calls are under way"]
pub struct Batch {
    pub(crate) shared: Arc<Shared>,
    pub(crate) id: BatchId,
    pub(crate) jobs: Vec<JobId>,
    pub(crate) interest: mpsc::WeakSender<(usize, Ended)>,
    pub(crate) outcomes: mpsc::Receiver<(usize, Ended)>,
}

impl Batch {
    /// The batch's number.
    pub fn id(&self) -> BatchId {
        self.id
    }

    /// The next job that ended; `None` when all have.
    ///
    /// # Cancel safety
    /// Nothing is lost when this is dropped before it is ready.
    pub async fn next(&mut self) -> Option<(usize, Ended)> {
        self.outcomes.recv().await
    }

    /// Lets go of the batch without withdrawing interest: its jobs go on by themselves.
    pub fn keep(mut self) {
        self.jobs.clear();
    }

    /// Takes all jobs back that have not started and that nobody else wants; all ends still come.
    pub fn cancel(&self) {
        let interest = Interest::Batch(&self.interest);
        self.shared.cancel_own(&self.jobs, interest);
    }
}

impl Stream for Batch {
    type Item = (usize, Ended);

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<(usize, Ended)>> {
        self.outcomes.poll_recv(context)
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        for &job in &self.jobs {
            self.shared.withdraw(job, Interest::Batch(&self.interest));
        }
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("id", &self.id).finish()
    }
}
