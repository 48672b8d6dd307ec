//! What a message may be about: something that can go wrong and work again.

use std::fmt;
use std::sync::Arc;

/// One thing that is watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Subject {
    /// Our own network.
    Network,
    /// A front that may be overloaded.
    Front(Arc<str>),
    /// An upstream that may be down.
    Upstream(Whom),
    /// An upstream whose quota may be used up.
    Quota(Whom),
}

/// An upstream of a front.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Whom {
    pub(crate) front: Arc<str>,
    pub(crate) name: Arc<str>,
}

impl Whom {
    pub(crate) fn new(front: &str, name: &str) -> Self {
        Self {
            front: front.into(),
            name: name.into(),
        }
    }
}

impl Subject {
    /// Reads what [`fmt::Display`] wrote.
    pub(crate) fn read(text: &str) -> Option<Self> {
        // The name comes last: it may hold anything, and a front's name holds no slash.
        let mut parts = text.splitn(3, '/');
        let kind = parts.next()?;
        match (kind, parts.next(), parts.next()) {
            ("network", None, None) => Some(Self::Network),
            ("front", Some(front), None) => Some(Self::Front(front.into())),
            ("upstream", Some(front), Some(name)) => Some(Self::Upstream(Whom::new(front, name))),
            ("quota", Some(front), Some(name)) => Some(Self::Quota(Whom::new(front, name))),
            _ => None,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network => f.write_str("network"),
            Self::Front(front) => write!(f, "front/{front}"),
            Self::Upstream(Whom { front, name }) => write!(f, "upstream/{front}/{name}"),
            Self::Quota(Whom { front, name }) => write!(f, "quota/{front}/{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let whom = Whom::new("tracker", "tracker.example:1337/announce");
        for subject in [
            Subject::Network,
            Subject::Front("tracker".into()),
            Subject::Upstream(whom.clone()),
            Subject::Quota(whom),
        ] {
            assert_eq!(Subject::read(&subject.to_string()), Some(subject));
        }
        for text in ["", "network/x", "front", "upstream/search", "other/a/b"] {
            assert_eq!(Subject::read(text), None, "{text}");
        }
    }
}
