//! The one seam that a front implements: a call to one upstream, and how it went.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use weir_dispatch::{Class, DropReason, Finish, Skip, UpstreamId, Usage};

use crate::shared::Shared;
use crate::weather::Trouble;

/// One call to one upstream, which the engine makes when its turn has come.
pub trait Call: Send + Sync + 'static {
    /// Makes one attempt. The engine decides whether and when there is another.
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome>;

    /// What the front needs to make this call again after a restart, at most [`KEPT_BYTES`] long;
    /// `None` if it is not worth keeping. Asked under the engine's lock: it only copies.
    fn keep(&self) -> Option<Vec<u8>> {
        None
    }

    /// The last step of every call that was given to the engine, once, whether or not it was ever made: here a front
    /// takes back what it noted when it made the call. A call that was not needed, because the same job was pending
    /// already, ends as [`Ended::Cancelled`].
    ///
    /// Not under the engine's lock, so it may ask and submit; before tickets and flights are told, so who waits for the
    /// end finds this done. It may happen within the very function that submits, where a job ends at once.
    fn ended(&self, _ended: Ended) {}
}

/// The most that [`Call::keep`] may return; what is longer is not kept.
pub const KEPT_BYTES: usize = 256;

/// How an attempt went, as far as the engine needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Answered.
    Done,
    /// A healthy final no: not found, bad query.
    No,
    /// The upstream wishes to be asked again after this time.
    Again {
        /// The wished wait.
        after: Duration,
    },
    /// The upstream wishes to be left alone.
    Throttled {
        /// For how long, if it said so.
        retry_after: Option<Duration>,
    },
    /// A fault that may pass.
    Unavailable,
    /// There was nothing to ask any more, and nobody was called.
    Moot,
    /// An answer that nobody can use: a failure, and trying again at once does not mend it.
    Broken,
    /// A fault that trying again does not mend.
    Rejected {
        /// What is wrong.
        reason: Reason,
    },
    /// Our own network is down; see [`Permit::blame`].
    OurNetwork,
}

/// Why an upstream is not asked again soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Its name is not known.
    NoSuchHost,
    /// Nobody listens there.
    Refused,
    /// There is no way to it.
    NoRoute,
    /// It answered with this HTTP status.
    Status(u16),
    /// It asked never to be asked again.
    Never,
    /// It refuses who we are: a wrong or expired key.
    NotAllowed,
    /// Its certificate or protocol cannot be trusted.
    Untrusted,
}

impl Reason {
    /// In words, where the call itself explained nothing.
    pub(crate) fn words(self) -> String {
        match self {
            Self::NoSuchHost => "no such host".to_owned(),
            Self::Refused => "it refused the connection".to_owned(),
            Self::NoRoute => "there is no route to it".to_owned(),
            Self::Status(status) => format!("it answered {status}"),
            Self::Never => "it asked not to be asked again".to_owned(),
            Self::NotAllowed => "it does not accept our key".to_owned(),
            Self::Untrusted => "its certificate or protocol cannot be trusted".to_owned(),
        }
    }
}

/// How a job ended; every job does so exactly once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its call, the last of its attempts, went like this.
    Finished(Outcome),
    /// Its turn would have come too late, or its upstream is left alone.
    Skipped(Skip),
    /// There was no room for it.
    Dropped(DropReason),
    /// Nobody wanted it any more.
    Cancelled,
    /// Its call panicked.
    Panicked,
    /// Its call, the last of its attempts, took too long.
    TimedOut,
    /// The engine was shut down.
    Shutdown,
}

impl Outcome {
    /// The same in the dispatcher's words; `pause` is for [`Outcome::OurNetwork`], `never` for [`Reason::Never`].
    pub(crate) fn finish(self, pause: Duration, never: Duration) -> Finish {
        match self {
            Self::Done => Finish::Done,
            Self::No => Finish::No,
            Self::Again { after } => Finish::Again { after },
            Self::Throttled { retry_after } => Finish::Throttled { retry_after },
            Self::Unavailable => Finish::Unavailable,
            Self::Broken => Finish::Broken,
            // As final as a call that was cut, and as little said by it about the upstream.
            Self::Moot => Finish::Panicked,
            Self::Rejected { reason } => Finish::Rejected {
                at_least: (reason == Reason::Never).then_some(never),
            },
            Self::OurNetwork => Finish::OurNetwork { pause },
        }
    }

    /// Whether somebody must have answered, so that our own network works.
    pub(crate) fn proves_network(self) -> bool {
        match self {
            Self::Done | Self::No | Self::Again { .. } | Self::Throttled { .. } => true,
            Self::Rejected { reason } => reason != Reason::NoRoute,
            // Whatever it was, a network that logs its guests in may have said it.
            Self::Unavailable | Self::Broken | Self::Moot | Self::OurNetwork => false,
        }
    }
}

/// The right to call an upstream once, now.
pub struct Permit {
    pub(crate) shared: Arc<Shared>,
    pub(crate) upstream: UpstreamId,
    pub(crate) class: Class,
    pub(crate) attempt: u8,
    pub(crate) time_out: Duration,
}

impl std::fmt::Debug for Permit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Permit")
            .field("upstream", &self.upstream)
            .field("class", &self.class)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

impl Permit {
    /// Who may be called.
    pub fn upstream(&self) -> UpstreamId {
        self.upstream
    }

    /// The class that the job started in.
    pub fn class(&self) -> Class {
        self.class
    }

    /// 1 for the first attempt.
    pub fn attempt(&self) -> u8 {
        self.attempt
    }

    /// How long the attempt may take before the engine cuts it.
    pub fn time_out(&self) -> Duration {
        self.time_out
    }

    /// Reports a limit that the upstream told us.
    pub fn observe(&self, usage: Usage) {
        self.shared.observe(self.upstream, usage);
    }

    /// Reports what went wrong, in words for a person and without secrets; shown as the upstream's
    /// last error.
    pub fn explain(&self, words: impl Into<String>) {
        self.shared.explain(self.upstream, words.into());
    }

    /// Something went wrong that may be our own network. Gives [`Outcome::OurNetwork`] if it is or
    /// may still turn out to be, else `otherwise`.
    pub fn blame(&self, trouble: Trouble, otherwise: Outcome) -> Outcome {
        if self.shared.may_be_our_network(self.upstream, trouble) {
            Outcome::OurNetwork
        } else {
            otherwise
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_means_a_day_at_least() {
        let day = Duration::from_secs(86_400);
        let finish = |reason| Outcome::Rejected { reason }.finish(Duration::ZERO, day);
        let day = Some(day);
        assert_eq!(finish(Reason::Never), Finish::Rejected { at_least: day });
        assert_eq!(finish(Reason::Refused), Finish::Rejected { at_least: None });
    }

    #[test]
    fn refusals_prove_that_the_network_works() {
        let rejected = |reason| Outcome::Rejected { reason }.proves_network();
        assert!(rejected(Reason::Refused) && rejected(Reason::NoSuchHost));
        assert!(rejected(Reason::Status(403)) && Outcome::No.proves_network());
        assert!(!rejected(Reason::NoRoute) && !Outcome::Unavailable.proves_network());
    }
}
