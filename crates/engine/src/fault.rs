//! What went wrong with a call, as far as all protocols share it, and what that means for the upstream.
//!
//! One judgement for all fronts: an upstream that refuses connections or answers 503 is treated the same whatever it
//! speaks. What a protocol says in its own words (a failure reason, an XML error, a three-digit code) the front's own
//! `judge` turns into an [`Outcome`].

use std::time::Duration;

use weir_net::Error;
use weir_net::http::Response;

use crate::call::{Outcome, Permit, Reason};
use crate::weather::Trouble;

/// Why a call brought no answer in its protocol.
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
    /// What an HTTP status means, if it is a fault: 429 asks to be left alone, 503 only with a time, because without
    /// one that is any server whose back end is down.
    pub fn of_status(status: u16, retry_after: Option<Duration>) -> Option<Self> {
        match status {
            200..300 => None,
            429 => Some(Self::Overload { retry_after }),
            503 if retry_after.is_some() => Some(Self::Overload { retry_after }),
            _ => Some(Self::Status(status)),
        }
    }

    /// The answer, unless its status says that it is a fault.
    ///
    /// # Errors
    /// What [`Fault::of_status`] gives.
    pub fn check(response: Response) -> Result<Response, Self> {
        match Self::of_status(response.status, response.retry_after) {
            None => Ok(response),
            Some(fault) => Err(fault),
        }
    }

    /// What it means for the upstream. A missing network may be our own, which `permit` knows more about.
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
            // Anything else is no answer to a request like ours.
            Self::Status(_) => Outcome::Broken,
            Self::Net(error) => match error {
                Error::NoSuchHost | Error::NoAddress => rejected(Reason::NoSuchHost),
                Error::Refused => rejected(Reason::Refused),
                Error::NoRoute | Error::Unreachable => {
                    permit.blame(Trouble::NoRoute, rejected(Reason::NoRoute))
                }
                Error::SilentDns => permit.blame(Trouble::SilentDns, Outcome::Unavailable),
                Error::Untrusted(_) | Error::Forbidden(_) | Error::Moved(_) | Error::LocalName => {
                    rejected(Reason::Untrusted)
                }
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
