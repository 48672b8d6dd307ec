//! Tries a tracker that is not saved yet: a scrape, which changes nothing there. Nothing of it is kept here.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use weir_engine::{
    Call, Fault, Outcome, Permit, TryoutFault, TryoutFound, TryoutKeys, TryoutResult,
};
use weir_net::{BoxFuture, Error};

use crate::config::forwarder::ForwarderEntry;
use crate::exchange::Exchange;
use crate::judge;
use crate::outbound::{NoUsableAnswer, TrackerTarget};
use crate::policy::quota;

const KEYS: TryoutKeys = TryoutKeys {
    address: "uri",
    secret: "uri",
    encryption: "uri",
    proxy: Some("proxy"),
};

/// Asks a tracker, through the engine.
pub(crate) async fn try_out(
    exchange: Arc<Exchange>,
    entry: ForwarderEntry,
    calls: u32,
    time_out: Duration,
) -> TryoutResult {
    let same_way = |one: &ForwarderEntry| {
        one.uri == entry.uri && one.proxy == entry.proxy && one.host == entry.host
    };
    let known = exchange.roster.find_by(|one| same_way(&one.config));
    let upstream = known.map(|known| known.upstream);
    let over = match entry.uri.scheme() {
        "udp" => "UDP",
        "https" => "HTTPS",
        _ => "HTTP",
    };
    let call = Arc::new(TryoutCall {
        exchange: exchange.clone(),
        target: TrackerTarget::new(&entry),
        said: Mutex::default(),
    });
    let ended = exchange
        .engine
        .try_out(upstream, quota(calls), time_out, call.clone());
    let ended = ended.await;
    let said = call.said.lock().take();
    let found = |fact: String| TryoutFound {
        facts: vec![fact],
        told: Vec::new(),
    };
    match said {
        Some(Ok(())) => Ok(found(format!("a tracker over {over}"))),
        Some(Err(NoUsableAnswer::No(reason))) if is_about_us(&reason) => Err(TryoutFault::new(
            KEYS.secret,
            format!("it said: {reason}"),
            "Check the passkey in the address.",
        )),
        // To a scrape of nothing that is an answer like any other.
        Some(Err(no @ NoUsableAnswer::No(_))) => Ok(found(no.to_string())),
        Some(Err(fault)) => Err(explain(&fault)),
        None => Err(TryoutFault::unanswered(&ended, time_out, KEYS)),
    }
}

/// Words of trackers that do not accept who asks, whatever is asked for.
const ABOUT_US: [&str; 8] = [
    "passkey",
    "pass key",
    "authkey",
    "torrent_pass",
    "unauthorized",
    "not authorized",
    "permission denied",
    "banned",
];

fn is_about_us(reason: &str) -> bool {
    let reason = reason.to_ascii_lowercase();
    ABOUT_US.iter().any(|words| reason.contains(words))
}

struct TryoutCall {
    exchange: Arc<Exchange>,
    target: TrackerTarget,
    /// What came of it.
    said: Mutex<Option<Result<(), NoUsableAnswer>>>,
}

impl Call for TryoutCall {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            let outbound = &self.exchange.outbound;
            let said = outbound.probe(&self.target, permit.time_out()).await;
            let outcome = match &said {
                Ok(()) => Outcome::Done,
                Err(no_answer) => {
                    permit.explain(no_answer.to_string());
                    judge::outcome(no_answer, &permit)
                }
            };
            *self.said.lock() = Some(said);
            outcome
        })
    }
}

/// What is wrong, and at which field.
fn explain(fault: &NoUsableAnswer) -> TryoutFault {
    let what = fault.to_string();
    match fault {
        NoUsableAnswer::Fault(Fault::Net(Error::NotTls)) => TryoutFault::new(
            KEYS.address,
            what,
            "Write http instead of https, or another port.",
        ),
        NoUsableAnswer::Fault(fault) => TryoutFault::of(fault, KEYS),
        NoUsableAnswer::Unreadable(_) | NoUsableAnswer::No(_) => TryoutFault::new(
            KEYS.address,
            what,
            "Check that the address is the announce URL of a tracker.",
        ),
    }
}
