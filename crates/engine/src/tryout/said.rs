//! What is said about an upstream that somebody tries before it is saved: what it found, or what to change at which field.

use std::time::Duration;

use futures_util::future::BoxFuture;
use weir_net::Error;

use crate::call::Ended;
use crate::fault::Fault;
use crate::sentence::span;

/// What came of trying an upstream.
pub type TryoutResult = Result<TryoutFound, TryoutFault>;

/// A tryout under way.
pub type Tryout = BoxFuture<'static, TryoutResult>;

/// It answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TryoutFound {
    /// What was found, each in a few words: `12 categories`.
    pub facts: Vec<String>,
    /// What it told about its limits: keys of its entry with their values.
    pub told: Vec<(&'static str, String)>,
}

/// It did not, or not as it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TryoutFault {
    /// The key to change, if one is the likely cause.
    pub field: Option<&'static str>,
    /// What happened, as a clause about "it" and without secrets.
    pub what: String,
    /// What to do, as a sentence.
    pub advice: &'static str,
}

/// The keys that a front's entries have for the same things.
#[derive(Debug, Clone, Copy)]
pub struct TryoutKeys {
    /// Where it is.
    pub address: &'static str,
    /// What it knows us by.
    pub secret: &'static str,
    /// Whether the connection is encrypted.
    pub encryption: &'static str,
    /// What it is called through, if it can be.
    pub proxy: Option<&'static str>,
}

impl TryoutFault {
    /// A fault with what to change.
    pub fn new(field: &'static str, what: impl Into<String>, advice: &'static str) -> Self {
        Self {
            field: Some(field),
            what: what.into(),
            advice,
        }
    }

    /// A fault that no field has to do with.
    pub fn elsewhere(what: impl Into<String>, advice: &'static str) -> Self {
        Self {
            field: None,
            what: what.into(),
            advice,
        }
    }

    /// What any upstream may do.
    pub fn of(fault: &Fault, keys: TryoutKeys) -> Self {
        let TryoutKeys {
            address,
            secret,
            encryption,
            proxy,
        } = keys;
        let what = fault.to_string();
        let (field, advice) = match fault {
            Fault::Overload { .. } => (
                None,
                "You can save it now; Weir will call it once it allows calls.",
            ),
            Fault::Status(401 | 403) => (Some(secret), "Check the key."),
            Fault::Status(300..500) => (Some(address), "Check the path of the address."),
            Fault::Status(_) => (None, "It may be out of order. Try again later."),
            Fault::Net(error) => match error {
                Error::NoSuchHost | Error::NoAddress | Error::LocalName => {
                    (Some(address), "Check the host name.")
                }
                Error::Refused => (
                    Some(address),
                    "Check host and port, and that it is running.",
                ),
                Error::TimedOut => (
                    Some(address),
                    "Check host and port, and whether a firewall is between.",
                ),
                Error::NoRoute | Error::Unreachable | Error::SilentDns => {
                    (None, "Check this machine's network, then the address.")
                }
                Error::Forbidden(_) | Error::Moved(_) => (
                    Some(address),
                    "Private addresses are not allowed for these upstreams; allow_private_upstreams changes that.",
                ),
                Error::Untrusted(_) => (
                    Some(encryption),
                    "Its certificate has to be valid for this host name.",
                ),
                Error::NotTls => (
                    Some(encryption),
                    "It answers without encryption at this port.",
                ),
                Error::Proxy(_) => (proxy, "Check the proxy."),
                Error::Unsendable(_) => (
                    Some(address),
                    "Check the address for characters that do not belong there.",
                ),
                Error::Redirects
                | Error::TooLarge { .. }
                | Error::TooMany(_)
                | Error::Unreadable
                | Error::Cut
                | Error::Roots(_)
                | Error::Other(_) => (Some(address), "Check that the address is right."),
            },
        };
        Self {
            field,
            what: match fault {
                Fault::Net(_) => about_it(&what),
                _ => what,
            },
            advice,
        }
    }

    /// The call ended before there was an answer.
    pub fn unanswered(ended: &Ended, within: Duration, keys: TryoutKeys) -> Self {
        match ended {
            Ended::TimedOut => Self::new(
                keys.address,
                format!("it did not answer within {}", span(within)),
                "Check host and port, or allow it more time.",
            ),
            Ended::Shutdown | Ended::Cancelled => {
                Self::elsewhere("Weir is stopping", "Try again when it runs.")
            }
            _ => Self::elsewhere("it could not be called now", "Try again in a moment."),
        }
    }
}

/// What the network says is no sentence about the upstream yet.
fn about_it(what: &str) -> String {
    match what.starts_with("it") {
        true => what.to_owned(),
        false => format!("it cannot be reached: {what}"),
    }
}
