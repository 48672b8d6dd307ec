//! What a hook's answer means: in words, and for the engine as an [`Outcome`].

use weir_engine::{Fault, Outcome, Permit};
use weir_net::Error;

/// Why a message did not arrive. Displays without secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HookFault {
    /// What any upstream may do.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// It said why it does not take the message.
    #[error("it answered {0}: {1}")]
    Said(u16, String),
    /// It sends us elsewhere. A message is for whoever was configured, so nobody follows.
    #[error(
        "it answered {0} and leads elsewhere, which is not followed: set its url to the new address"
    )]
    Moved(u16),
}

impl HookFault {
    /// What it means for the hook.
    pub(crate) fn outcome(&self, permit: &Permit) -> Outcome {
        match self {
            // Often a program of the operator's own, which refuses connections while it starts.
            Self::Fault(Fault::Net(Error::Refused)) => Outcome::Unavailable,
            Self::Fault(fault) => fault.outcome(permit),
            Self::Said(status, _) => Fault::Status(*status).outcome(permit),
            Self::Moved(_) => Outcome::Broken,
        }
    }
}
