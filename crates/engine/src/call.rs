//! The one seam that a front implements: a call to one upstream, and how it went.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use weir_dispatch::{Budget, Class, DropReason, Finish, JobId, Moment, Skip, UpstreamId, Usage};

use crate::record::About;
use crate::shared::Shared;
use crate::weather::Trouble;

/// One call to one upstream, which the engine makes as soon as the upstream's limits allow it.
pub trait Call: Send + Sync + 'static {
    /// Makes one attempt. The engine decides whether and when there is another.
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome>;

    /// What the front needs to make this call again after a restart, at most [`KEPT_BYTES`] long;
    /// `None` if it is not worth keeping. Called under the engine's lock, so it must only copy.
    fn keep(&self) -> Option<Vec<u8>> {
        None
    }

    /// What it is about, for the records. Called under the engine's lock, so it must only copy.
    fn about(&self) -> About {
        About::Nothing
    }

    /// Since when it is waited for, if its front submitted it for a later time because the upstream had asked for that: then it
    /// was not called at once, although it was not queued. Called under the engine's lock, so it must only copy.
    fn held_since(&self) -> Option<Moment> {
        None
    }

    /// What it asks, if other nodes may ask the same: then one of them makes the call, and the others take its answer.
    /// Called under the engine's lock, so it must only copy.
    fn question(&self) -> Option<SharedQuestion> {
        None
    }

    /// The answer that it got, for other nodes. Called after an attempt that was [`Outcome::Done`] or [`Outcome::No`].
    fn pack(&self) -> Option<Vec<u8>> {
        None
    }

    /// Takes the answer that another node got, as [`Call::pack`] wrote it there, and gives it to whoever waits. Returns
    /// whether it was of use; if not, the call is made.
    fn take(&self, _packed: &[u8]) -> bool {
        false
    }

    /// The last step of every call that was given to the engine, run exactly once for each time it was submitted (a
    /// flight that is launched again submits its call again), whether or not the call was ever made: here a front undoes
    /// what it noted when it created the call. A call that was not needed, because the same job was already pending, ends
    /// as [`Ended::Cancelled`].
    ///
    /// Not run under the engine's lock, so it may query the engine and submit; run before tickets and flights are told,
    /// so that whoever waits for the end finds this done. If a job ends at once, it runs inside the function that
    /// submits the job.
    fn ended(&self, _ended: Ended) {}
}

/// What a call asks, in words that are the same on every node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedQuestion {
    /// The question; which upstream is asked need not be in it.
    pub text: Vec<u8>,
    /// Answers that another node got longer ago are of no use.
    pub fresh: Duration,
    /// How long its answer is worth keeping for others.
    pub keep: Duration,
}

/// The most that [`Call::keep`] may return; anything longer is not kept.
pub const KEPT_BYTES: usize = 256;

/// How an attempt went, as far as the engine needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Answered.
    Done,
    /// A final no from a healthy upstream: not found, bad query.
    No,
    /// The upstream wants to be asked again after this time.
    Again {
        /// How long it wants us to wait.
        after: Duration,
    },
    /// The upstream wants to be left alone.
    Throttled {
        /// For how long, if it said so.
        retry_after: Option<Duration>,
    },
    /// A fault that may pass.
    Unavailable,
    /// There was nothing left to ask, and the upstream was not called: it counts as withdrawn, not as sent.
    Moot,
    /// Whoever asked uses the slot: a client that we redirect to the upstream makes the call itself. It counts like a call of
    /// ours, and says nothing about the upstream's health.
    Elsewhere,
    /// An unusable answer: a failure that an immediate retry does not fix.
    Broken,
    /// A fault that retrying does not fix.
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
    /// Its host name does not exist.
    NoSuchHost,
    /// Nothing listens there.
    Refused,
    /// There is no route to it.
    NoRoute,
    /// It answered with this HTTP status.
    Status(u16),
    /// It told us never to ask again.
    Never,
    /// It rejected our key as wrong or expired.
    NotAllowed,
    /// Its certificate or protocol cannot be trusted.
    Untrusted,
}

impl Reason {
    /// In words, for calls that explained nothing themselves.
    pub(crate) fn words(self) -> String {
        match self {
            Self::NoSuchHost => "no such host".to_owned(),
            Self::Refused => "it refused the connection".to_owned(),
            Self::NoRoute => "there is no route to it".to_owned(),
            Self::Status(status) => format!("it answered {status}"),
            Self::Never => "it told us never to ask again".to_owned(),
            Self::NotAllowed => "it rejected our key".to_owned(),
            Self::Untrusted => "its certificate or protocol cannot be trusted".to_owned(),
        }
    }
}

/// How a job ended; every job ends exactly once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its last attempt had this outcome.
    Finished(Outcome),
    /// It would have had to wait too long, or its upstream is left alone.
    Skipped(Arc<Skipped>),
    /// There was no room for it.
    Dropped(DropReason),
    /// Nobody wanted it any more.
    Cancelled,
    /// Another node had the answer, which its call has taken; it was not made here.
    Answered,
    /// Its call panicked.
    Panicked,
    /// Its last attempt took too long.
    TimedOut,
    /// The engine was shut down.
    Shutdown,
}

/// A skip as it is recorded: whoever asked is told the same reason and the same time, whatever happens in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// What holds the upstream, for how long, and what the job would have accepted.
    pub skip: Skip,
    /// Its class as it was recorded: somebody more urgent may have raised it.
    pub class: Option<Class>,
    /// When it was decided.
    pub at: Moment,
    /// The reason in words, where it comes from outside: what the upstream had said, or an operator.
    pub cause: Option<Arc<str>>,
    /// The number of its record, if it has one.
    pub number: Option<u64>,
}

impl Skipped {
    /// When the upstream could be called, as things were.
    pub fn until(&self) -> Option<Moment> {
        self.skip.wait.map(|wait| self.at + wait)
    }
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
            // As final as a call that was cut off, and it says as little about the upstream.
            Self::Moot | Self::Elsewhere => Finish::Panicked,
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
            // Any of these may come from a captive portal instead of the upstream.
            Self::Unavailable | Self::Broken | Self::Moot | Self::Elsewhere | Self::OurNetwork => {
                false
            }
        }
    }
}

/// The right to call an upstream once, now.
pub struct Permit {
    pub(crate) shared: Arc<Shared>,
    pub(crate) upstream: UpstreamId,
    pub(crate) job: JobId,
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
    /// How long the attempt may take before the engine cuts it off.
    pub fn time_out(&self) -> Duration {
        self.time_out
    }

    /// Reports a limit that the upstream told us.
    pub fn observe(&self, usage: Usage) {
        self.shared.observe(self.upstream, usage);
    }

    /// Reports what went wrong, in words for a person and without secrets: the reason of everything that follows from
    /// this attempt, and the upstream's last error.
    pub fn explain(&self, words: impl Into<String>) {
        self.shared
            .explain(self.upstream, self.job, words.into().into());
    }

    /// Counts one more request: this call makes two.
    pub fn count(&self, budget: Budget) {
        self.shared.count(self.upstream, budget);
    }

    /// Whether its upstream has room for one more request now, as far as this node knows.
    pub fn has_room(&self, budget: Budget) -> bool {
        self.shared.has_room(self.upstream, budget)
    }

    /// Asks for one more request, for a call that makes two, and counts it. If this says no, it must not be made.
    pub async fn another(&self, budget: Budget) -> bool {
        self.shared.another(self.upstream, budget).await
    }

    /// For a failure that may be our own network's. Returns [`Outcome::OurNetwork`] if it is, or may
    /// still turn out to be; `otherwise` if it is not.
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
