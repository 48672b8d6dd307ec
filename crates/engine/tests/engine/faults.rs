//! What went wrong with a call means the same for every front.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use weir_engine::{Call, Ended, Fault, Outcome, Permit, Reason};
use weir_net::Error;

use crate::kit::*;

struct Faulty(Fault);

impl Call for Faulty {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        async move { self.0.outcome(&permit) }.boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn each_fault_has_its_outcome() {
    let desk = Desk::new(policy());
    let rejected = |reason| Outcome::Rejected { reason };
    let busy = Some(secs(7));
    for (number, (fault, expected)) in [
        (
            Fault::Overload { retry_after: busy },
            Outcome::Throttled { retry_after: busy },
        ),
        (Fault::Status(401), rejected(Reason::NotAllowed)),
        (Fault::Status(404), rejected(Reason::Status(404))),
        (Fault::Status(500), Outcome::Unavailable),
        (Fault::Status(302), Outcome::Broken),
        (Error::NoSuchHost.into(), rejected(Reason::NoSuchHost)),
        (Error::NoAddress.into(), rejected(Reason::NoSuchHost)),
        (Error::Refused.into(), rejected(Reason::Refused)),
        (Error::LocalName.into(), rejected(Reason::Untrusted)),
        (Error::TooLarge { limit: 1 }.into(), Outcome::Broken),
        (Error::Redirects.into(), Outcome::Broken),
        (Error::TimedOut.into(), Outcome::Unavailable),
        (Error::Cut.into(), Outcome::Unavailable),
    ]
    .into_iter()
    .enumerate()
    {
        let upstream = desk.upstream(&number.to_string(), secs(0), 1);
        let call = Arc::new(Faulty(fault.clone()));
        let ended = desk.engine.submit(job(upstream, INTERACTIVE), call).await;
        assert_eq!(ended, Ended::Finished(expected), "{fault}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_network_may_be_our_own() {
    for error in [Error::NoRoute, Error::Unreachable, Error::SilentDns] {
        let desk = Desk::new(policy());
        let one = desk.upstream("one", secs(0), 1);
        // With one upstream alone, it is always that one.
        desk.upstream("another", secs(0), 1);
        let call = Arc::new(Faulty(error.clone().into()));
        let ended = desk.engine.submit(job(one, INTERACTIVE), call).await;
        assert_eq!(ended, Ended::Finished(Outcome::OurNetwork), "{error}");
    }
}
