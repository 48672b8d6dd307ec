//! What every front looks like to the program that runs it.

use std::time::Duration;

use futures_util::future::BoxFuture;
use weir_engine::Tryout;

use crate::{Contribution, Porter, Requests};

/// A change that is checked and ready. Applying it cannot fail, so several can be applied together or not at all.
pub type Staged = Box<dyn FnOnce() + Send>;

/// Why a front cannot do what it was asked to; the message is for the operator.
pub type Refused = Box<dyn std::error::Error + Send + Sync>;

/// One front, running. The program starts it, and from then on treats all fronts alike.
pub trait Front: Send + Sync + 'static {
    /// What it contributes to the web listener. Requests to its own listeners are counted in `requests`. Called once.
    ///
    /// # Errors
    /// When something that it needs for this is not available.
    fn contribution(&self, requests: &Requests) -> Result<Contribution, Refused>;

    /// Begins to serve the clients of its own listeners, as far as they are judged by the rules of the web listener.
    /// Called once, after [`Self::contribution`].
    fn serve(&self, _porter: &Porter) {}

    /// What a person who starts Weir should know about it, in whole lines.
    fn greeting(&self) -> String {
        String::new()
    }

    /// The operator has reviewed the configuration: whatever address an upstream's name resolves to now is accepted, even
    /// if it has become a private one.
    fn look_up_anew(&self);

    /// A backup is about to be made: hands over or writes now what would otherwise be written later. Blocks, and is called
    /// on a thread that may.
    ///
    /// # Errors
    /// When something cannot be written.
    fn save(&self) -> Result<(), Refused> {
        Ok(())
    }

    /// Weir is about to stop: clients that wait for something should soon get what there is by then.
    fn leave(&self) {}

    /// Stops listening and ends every call within `drain`. May be dropped before it is done, when a second signal comes.
    fn stop(&self, drain: Duration) -> BoxFuture<'_, ()>;

    /// Comes last, even after a `stop` that was cut off: writes what is not yet written, however long that takes.
    fn close(&self) {}
}

/// A front that can take over a new configuration while it runs. `C` is a whole configuration, of which it reads its
/// own sections.
pub trait Reload<C>: Front {
    /// First half of a reload: does everything that may be refused, and changes nothing that anybody could notice.
    /// Returns the second half.
    ///
    /// # Errors
    /// When the configuration cannot be taken over.
    fn stage(&self, config: &C) -> Result<Staged, Refused>;

    /// Tries the upstream of this name as `config` has it, whether that is in use or not: real calls through the engine,
    /// which change nothing. `None` if there is none, or if it cannot be tried.
    fn try_out(&self, _config: &C, _name: &str) -> Option<Tryout> {
        None
    }
}
