//! LIST and its variants (RFC 3977 §7.6, RFC 6048).

use crate::wildmat::Wildmat;

/// A list that a server keeps, and which part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listing {
    /// Newsgroups with their numbers and posting status; also what a bare `LIST` asks for.
    Active(Option<Wildmat>),
    /// When newsgroups were made and by whom.
    ActiveTimes(Option<Wildmat>),
    /// Newsgroups with their numbers, counts and posting status.
    Counts(Option<Wildmat>),
    /// Which distribution suits which newsgroup.
    DistribPats,
    /// Distributions and what they are for.
    Distributions,
    /// Fields that HDR can be asked for: in general, by ID only, or by range only.
    Headers(Option<ListedBy>),
    /// Addresses of moderators.
    Moderators,
    /// A message of the day.
    Motd,
    /// Descriptions of newsgroups.
    Newsgroups(Option<Wildmat>),
    /// Fields of overview lines.
    OverviewFmt,
    /// Newsgroups for someone who is new.
    Subscriptions(Option<Wildmat>),
}

/// The way of asking that LIST HEADERS is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedBy {
    /// HDR with an ID.
    MessageId,
    /// HDR with a range.
    Range,
}

impl Listing {
    /// The second word of the command.
    pub fn keyword(&self) -> &'static str {
        match self {
            Self::Active(_) => "ACTIVE",
            Self::ActiveTimes(_) => "ACTIVE.TIMES",
            Self::Counts(_) => "COUNTS",
            Self::DistribPats => "DISTRIB.PATS",
            Self::Distributions => "DISTRIBUTIONS",
            Self::Headers(_) => "HEADERS",
            Self::Moderators => "MODERATORS",
            Self::Motd => "MOTD",
            Self::Newsgroups(_) => "NEWSGROUPS",
            Self::OverviewFmt => "OVERVIEW.FMT",
            Self::Subscriptions(_) => "SUBSCRIPTIONS",
        }
    }

    /// The third word of the command, if there is one.
    pub fn argument(&self) -> Option<&str> {
        match self {
            Self::Active(wildmat)
            | Self::ActiveTimes(wildmat)
            | Self::Counts(wildmat)
            | Self::Newsgroups(wildmat)
            | Self::Subscriptions(wildmat) => wildmat.as_ref().map(Wildmat::as_str),
            Self::Headers(Some(ListedBy::MessageId)) => Some("MSGID"),
            Self::Headers(Some(ListedBy::Range)) => Some("RANGE"),
            Self::DistribPats
            | Self::Distributions
            | Self::Headers(None)
            | Self::Moderators
            | Self::Motd
            | Self::OverviewFmt => None,
        }
    }
}
