//! `stopped` events on their way: a stop of Weir waits for them, because nobody sends them again.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// How many are not delivered yet.
#[derive(Default)]
pub(crate) struct Farewells {
    left: AtomicUsize,
    /// Told when the last of them is.
    none_left: Notify,
}

impl Farewells {
    pub(crate) fn begin(&self) {
        self.left.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn end(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.none_left.notify_waiters();
        }
    }

    /// Waits until all are delivered.
    ///
    /// # Errors
    /// With how many are left when the time is over.
    pub(crate) async fn delivered(&self, until: Instant) -> Result<(), usize> {
        loop {
            // Before the count is read, so that the last one cannot end unnoticed between the two.
            let none_left = self.none_left.notified();
            match self.left.load(Ordering::Acquire) {
                0 => return Ok(()),
                left if timeout_at(until, none_left).await.is_err() => return Err(left),
                _ => {}
            }
        }
    }
}
