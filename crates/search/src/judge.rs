//! What an indexer's answer means: for whoever asked, in words, and for the engine, as an [`Outcome`].
//!
//! What all protocols share (status, network) the engine judges. Here stand the words of Torznab and Newznab: error
//! documents with their codes, answers that are no feed, links that lead to no file.

use std::sync::Arc;
use std::time::Duration;

use weir_config::Secrets;
use weir_engine::{Fault, Outcome, Permit, Reason};
use weir_net::Error;
use weir_search_proto::Unreadable;
use weir_search_proto::error::code;

/// How long an indexer is taken to refuse us that says its limit is reached and not for how long. Accounts are limited by
/// the hour or by the day; the shorter of the two is tried.
const LIMIT_REACHED: Duration = Duration::from_secs(60 * 60);
/// How long a host of files is left alone that is asked too often and does not say for how long.
const TOO_OFTEN: Duration = Duration::from_secs(60);

/// Why an indexer gave nothing that can be used. Displays without secrets.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum IndexerFault {
    /// What any upstream may do.
    #[error(transparent)]
    Fault(#[from] Fault),
    #[error("its limit is reached: {0}")]
    Limit(String),
    /// The limit of downloads alone.
    #[error("its limit is reached: {0}")]
    Downloads(String),
    #[error("it rejected our API key: {0}")]
    Key(String),
    #[error("it does not support this search: {0}")]
    Question(String),
    #[error("it has no such file")]
    Missing,
    #[error("it said: {0}")]
    Said(String),
    #[error("its answer cannot be read: {0}")]
    Unreadable(Arc<Unreadable>),
    #[error("{0}")]
    NotAFile(&'static str),
}

impl IndexerFault {
    /// What a document says that is not what was asked for. `secrets` are taken out of its words.
    pub(crate) fn of_document(secrets: &Secrets, unreadable: Unreadable) -> Self {
        let Unreadable::Error(error) = unreadable else {
            return Self::Unreadable(Arc::new(unreadable));
        };
        let words = secrets.words(&error.description);
        // Many say so with a code of their own.
        let limit = words.to_lowercase().contains("limit reached");
        match error.code {
            100..200 => Self::Key(words),
            code::NO_SUCH_ITEM => Self::Missing,
            code::REQUEST_LIMIT => Self::Limit(words),
            code::DOWNLOAD_LIMIT => Self::Downloads(words),
            _ if limit => Self::Limit(words),
            200..300 => Self::Question(words),
            // The HTTP status, from those who know no other code for it.
            429 => Self::Fault(Fault::Overload { retry_after: None }),
            other => Self::Said(format!("{words} (error {other})")),
        }
    }

    /// Whether it is there, but does not say what it can do. That is found out by asking.
    pub(crate) fn is_no_caps(&self) -> bool {
        matches!(
            self,
            Self::Unreadable(_)
                | Self::Question(_)
                | Self::Missing
                | Self::Fault(Fault::Status(404))
        )
    }

    /// For how long it refuses us, from which a limit may be learned.
    pub(crate) fn refuses_for(&self) -> Option<Duration> {
        match self {
            Self::Fault(Fault::Overload { retry_after }) => *retry_after,
            Self::Limit(_) | Self::Downloads(_) => Some(LIMIT_REACHED),
            _ => None,
        }
    }

    /// For how long no more files are asked for, where a link led to this. `own_host` says that the link was to the
    /// indexer itself, of which the engine keeps the cooldown.
    pub(crate) fn gives_no_files_for(&self, own_host: bool) -> Option<Duration> {
        match self {
            Self::Downloads(_) => Some(LIMIT_REACHED),
            Self::Fault(Fault::Overload { retry_after }) if !own_host => {
                Some(retry_after.unwrap_or(TOO_OFTEN))
            }
            _ => None,
        }
    }

    /// What it means for the indexer.
    pub(crate) fn outcome(&self, permit: &Permit) -> Outcome {
        match self {
            // An indexer is often a program of the operator's own, which refuses connections while it starts.
            Self::Fault(Fault::Net(Error::Refused)) => Outcome::Unavailable,
            Self::Fault(fault) => fault.outcome(permit),
            Self::Limit(_) | Self::Downloads(_) => Outcome::Throttled { retry_after: None },
            Self::Key(_) => Outcome::Rejected {
                reason: Reason::NotAllowed,
            },
            Self::Question(_) | Self::Missing => Outcome::No,
            Self::Said(_) | Self::Unreadable(_) | Self::NotAFile(_) => Outcome::Broken,
        }
    }

    /// The same for a file: that one link is dead says nothing of the indexer, nor does a host that is not its own.
    pub(crate) fn outcome_of_file(&self, own_host: bool, permit: &Permit) -> Outcome {
        match self {
            Self::Fault(Fault::Net(
                Error::Forbidden(_)
                | Error::LocalName
                | Error::TooLarge { .. }
                | Error::TooMany(_)
                | Error::NoSuchHost
                | Error::Redirects
                | Error::Unreadable,
            )) => Outcome::No,
            Self::Fault(Fault::Overload { .. } | Fault::Net(_)) | Self::Limit(_) | Self::Key(_)
                if own_host =>
            {
                self.outcome(permit)
            }
            // One whose downloads are used up still answers questions.
            _ => Outcome::No,
        }
    }
}
