//! What went wrong with a call, as far as all protocols share it, and what that means for the upstream.
//!
//! One judgement for all fronts: an upstream that refuses connections or answers 503 is treated the same whatever
//! protocol it speaks. A protocol's own words (a failure reason, an XML error, a three-digit code) are turned into an
//! [`Outcome`] by the front's `judge`.

use std::time::Duration;

use weir_net::Error;
use weir_net::http::Response;

use crate::call::{Outcome, Permit, Reason};
use crate::weather::Trouble;

/// Why a call got no answer in its protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The upstream asks to be left alone.
    #[error("it says we ask too often")]
    Overload {
        /// For how long, if it said so.
        retry_after: Option<Duration>,
    },
    /// It answered with an HTTP status other than success.
    #[error("it answered {0}")]
    Status(u16),
    /// There was no whole answer.
    #[error(transparent)]
    Net(#[from] Error),
}

impl Fault {
    /// What an HTTP status means, if it is a fault: 429 asks us to wait; 503 does so only with a time, because without
    /// one it comes from any server whose back end is down.
    pub fn of_status(status: u16, retry_after: Option<Duration>) -> Option<Self> {
        match status {
            200..300 => None,
            429 => Some(Self::Overload { retry_after }),
            503 if retry_after.is_some() => Some(Self::Overload { retry_after }),
            _ => Some(Self::Status(status)),
        }
    }

    /// The answer, unless its status is a fault.
    ///
    /// # Errors
    /// The fault that [`Fault::of_status`] finds.
    pub fn check(response: Response) -> Result<Response, Self> {
        match Self::of_status(response.status, response.retry_after) {
            None => Ok(response),
            Some(fault) => Err(fault),
        }
    }

    /// What it means for the upstream. If the network is missing it may be our own; `permit` knows more about that.
    pub fn outcome(&self, permit: &Permit) -> Outcome {
        let rejected = |reason| Outcome::Rejected { reason };
        match self {
            Self::Overload { retry_after } => Outcome::Throttled {
                retry_after: *retry_after,
            },
            // A key or passkey that is wrong or has expired.
            Self::Status(401) => rejected(Reason::NotAllowed),
            Self::Status(status @ 400..500) => rejected(Reason::Status(*status)),
            Self::Status(500..) => Outcome::Unavailable,
            // No other status answers a request like ours.
            Self::Status(_) => Outcome::Broken,
            Self::Net(error) => match error {
                Error::NoSuchHost | Error::NoAddress => rejected(Reason::NoSuchHost),
                Error::Refused => rejected(Reason::Refused),
                Error::NoRoute | Error::Unreachable => {
                    permit.blame(Trouble::NoRoute, rejected(Reason::NoRoute))
                }
                Error::SilentDns => permit.blame(Trouble::SilentDns, Outcome::Unavailable),
                Error::Untrusted(_)
                | Error::NotTls
                | Error::Forbidden(_)
                | Error::Moved(_)
                | Error::LocalName => rejected(Reason::Untrusted),
                Error::TooLarge { .. }
                | Error::TooMany(_)
                | Error::Unreadable
                | Error::Redirects => Outcome::Broken,
                Error::TimedOut
                | Error::Cut
                | Error::Proxy(_)
                | Error::Unsendable(_)
                | Error::Roots(_)
                | Error::Other(_) => Outcome::Unavailable,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overload_is_429_or_503_with_a_time() {
        let second = Some(Duration::from_secs(1));
        for (status, retry_after, expected) in [
            (429, None, true),
            (429, second, true),
            (503, second, true),
            (503, None, false),
            (500, second, false),
            (404, None, false),
        ] {
            let fault = Fault::of_status(status, retry_after);
            let wanted = match expected {
                true => Fault::Overload { retry_after },
                false => Fault::Status(status),
            };
            assert_eq!(fault, Some(wanted), "{status} {retry_after:?}");
        }
        assert_eq!(Fault::of_status(200, second), None);
    }
}
