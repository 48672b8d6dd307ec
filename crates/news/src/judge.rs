//! What a news server's answer means: for whoever asked, in words, and for the engine, as an [`Outcome`].
//!
//! What all protocols share (the network) the engine judges. Here are the codes of NNTP. A server that does not have an
//! article or a newsgroup is healthy: asking a thousand times for what nobody has costs no cooldown and no connection.

use weir_engine::{Fault, Outcome, Permit, Reason};
use weir_net::Error;
use weir_news_proto::reply::code;

/// Why a news server gave nothing that can be used. Displays without secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NewsFault {
    /// What any upstream may do.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// Healthy: there is no such article.
    #[error("it has no such article")]
    NoArticle,
    /// Healthy: there is no such newsgroup.
    #[error("it does not carry the newsgroup")]
    NoNewsgroup,
    /// Healthy: it does not know a command or keeps no such list.
    #[error("it cannot do that: {0}")]
    Unsupported(String),
    /// It wants to know who we are, and no name and password are configured.
    #[error("it wants a user name and a password")]
    LoginWanted,
    /// It does not accept our name and password.
    #[error("it rejected our user name or password: {0}")]
    Login(String),
    /// A name and password are configured, and there is no way to send them encrypted.
    #[error("it offers no encryption, and passwords are never sent without")]
    NoEncryption,
    /// It serves others, not us.
    #[error("it does not serve us: {0}")]
    Closed(String),
    /// It cannot answer now.
    #[error("it cannot answer now: {0}")]
    Busy(String),
    /// Healthy: other nodes have all connections of its account, this many.
    #[error("other nodes use all connections of its account (`connections` is {0})")]
    Elsewhere(u32),
    /// What it sent is not what the protocol says.
    #[error("its answer cannot be read: {0}")]
    Garbled(String),
    /// Its answer is longer than we take.
    #[error("its answer is longer than {0} bytes")]
    TooLong(usize),
    /// It did not answer within the time that one command has.
    #[error("it did not answer in time")]
    Silent,
    /// Healthy: it takes no articles from us.
    #[error("it does not let us post: {0}")]
    NoPosting(String),
    /// Healthy: it does not want this article.
    #[error("it refused the article: {0}")]
    NotTaken(String),
    /// It asked for an article and was gone before it said what became of it.
    #[error("the connection was lost while it took the article: {0}")]
    Unfinished(String),
}

impl NewsFault {
    /// What a code means that is not the good one. `words` come from the server.
    pub(crate) fn of_code(code: u16, words: String) -> Self {
        match code {
            code::NO_SUCH_GROUP => Self::NoNewsgroup,
            // 412 is ours to avoid, 451 is for what was taken down.
            412 | 420..=423 | 430 | 451 => Self::NoArticle,
            code::NO_POSTING => Self::NoPosting(words),
            // The others answer IHAVE, and some servers answer POST with them.
            code::POSTING_FAILED | 435..=437 => Self::NotTaken(words),
            480 | 483 => Self::LoginWanted,
            481 | 482 => Self::Login(words),
            400 | 403 => Self::Busy(words),
            401 | 500 | 501 | 503 => Self::Unsupported(words),
            502 => Self::Closed(words),
            _ => Self::Garbled(format!("unexpected reply {code} {words}")),
        }
    }

    /// Whether the connection is gone with it, and another one may do better.
    pub(crate) fn is_broken(&self) -> bool {
        matches!(
            self,
            Self::Fault(Fault::Net(Error::Cut | Error::Other(_))) | Self::Silent | Self::Garbled(_)
        )
    }

    /// What it means for the server.
    pub(crate) fn outcome(&self, permit: &Permit) -> Outcome {
        match self {
            // Often a program of the operator's own, which refuses connections while it starts.
            Self::Fault(Fault::Net(Error::Refused)) => Outcome::Unavailable,
            Self::Fault(fault) => fault.outcome(permit),
            Self::NoArticle
            | Self::NoNewsgroup
            | Self::Unsupported(_)
            | Self::TooLong(_)
            | Self::NoPosting(_)
            | Self::NotTaken(_)
            | Self::Elsewhere(_) => Outcome::No,
            Self::LoginWanted | Self::Login(_) | Self::Closed(_) => Outcome::Rejected {
                reason: Reason::NotAllowed,
            },
            Self::NoEncryption => Outcome::Rejected {
                reason: Reason::Untrusted,
            },
            Self::Busy(_) | Self::Silent | Self::Unfinished(_) => Outcome::Unavailable,
            Self::Garbled(_) => Outcome::Broken,
        }
    }
}

impl From<Error> for NewsFault {
    fn from(error: Error) -> Self {
        Self::Fault(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_does_not_have_says_nothing_against_it() {
        let of = |code| NewsFault::of_code(code, "words".to_owned());
        assert_eq!(of(411), NewsFault::NoNewsgroup);
        for code in [420, 423, 430, 451] {
            assert_eq!(of(code), NewsFault::NoArticle, "{code}");
        }
        assert_eq!(of(503), NewsFault::Unsupported("words".to_owned()));
        assert_eq!(of(400), NewsFault::Busy("words".to_owned()));
        assert_eq!(of(481), NewsFault::Login("words".to_owned()));
        assert!(matches!(of(299), NewsFault::Garbled(_)));
        assert!(!of(430).is_broken() && of(299).is_broken());
    }
}
