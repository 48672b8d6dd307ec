//! A call that counts as one of the search that leads it.

use futures_util::future::BoxFuture;
use weir_engine::{Call, Outcome, Permit};

use crate::search::Led;

/// A call and whose it is.
pub(crate) struct Counted<C> {
    pub(crate) call: C,
    pub(crate) led: Led,
}

impl<C: Call> Call for Counted<C> {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        self.led.count();
        self.call.attempt(permit)
    }

    fn keep(&self) -> Option<Vec<u8>> {
        self.call.keep()
    }
}
