//! What every front is to the program that runs it.

use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::{Contribution, Requests};

/// A change that is checked and ready. Applying it cannot fail, so several are applied together or not at all.
pub type Staged = Box<dyn FnOnce() + Send>;

/// Why a front cannot do what it is asked; the words are for the operator.
pub type Refused = Box<dyn std::error::Error + Send + Sync>;

/// One front, running. The program starts it, and from then on treats all fronts alike.
pub trait Front: Send + Sync + 'static {
    /// What it brings to the web listener. What its own listeners count goes into `requests`. Called once.
    ///
    /// # Errors
    /// When something that it needs for this is not to be had.
    fn contribution(&self, requests: &Requests) -> Result<Contribution, Refused>;

    /// What a person who starts Weir should know of it, in whole lines.
    fn greeting(&self) -> String {
        String::new()
    }

    /// The operator has looked at the configuration: what the names of upstreams lead to now is right, also if that
    /// has become a private address.
    fn look_up_anew(&self);

    /// Weir is going to stop: clients that wait for something are to be let go soon, with what there is by then.
    fn leave(&self) {}

    /// Stops listening and ends every call within `drain`. May be dropped before it is done, when a second signal comes.
    fn stop(&self, drain: Duration) -> BoxFuture<'_, ()>;

    /// Comes last, also after a `stop` that was cut off: writes what is not written yet, and takes as long as that takes.
    fn close(&self) {}
}

/// A front that takes over another configuration while it runs. `C` is a whole configuration, of which it reads its
/// own sections.
pub trait Reload<C>: Front {
    /// First half of a reload: does all that may be refused, and changes nothing that anybody could notice. What comes
    /// back is the second half.
    ///
    /// # Errors
    /// When the configuration cannot be taken over.
    fn stage(&self, config: &C) -> Result<Staged, Refused>;
}
