//! Verbs: how a conversation goes on after a command, without its arguments.

use super::Command;
use crate::reply::code;

/// A command without its arguments; what a client remembers of one that it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is described at Command")]
pub enum Verb {
    Article,
    Head,
    Body,
    Stat,
    Group,
    ListGroup,
    Next,
    Last,
    Over,
    Xover,
    Hdr,
    Xhdr,
    Xpat,
    List,
    NewGroups,
    NewNews,
    Date,
    Help,
    Capabilities,
    ModeReader,
    AuthUser,
    AuthPass,
    AuthSasl,
    StartTls,
    CompressDeflate,
    Post,
    Ihave,
    Quit,
}

/// Whether other commands may be sent before the reply to one has come (RFC 3977 §3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipelining {
    /// Any number of them, before and after.
    Free,
    /// Only before it.
    Last,
    /// None: its reply decides how the connection goes on.
    Alone,
}

impl Verb {
    /// Whether a reply with this code to this command is followed by a block.
    pub fn carries_block(self, code: u16) -> bool {
        match self {
            Self::Article => code == code::ARTICLE,
            Self::Head => code == code::HEAD,
            Self::Body => code == code::BODY,
            Self::ListGroup => code == code::GROUP_SELECTED,
            Self::Over | Self::Xover => code == code::OVERVIEW,
            // 221 is what XHDR had before there was HDR, and some servers have one code for both.
            Self::Hdr | Self::Xhdr | Self::Xpat => matches!(code, code::HEADERS | code::HEAD),
            Self::List => code == code::LIST,
            Self::NewGroups => code == code::NEW_GROUPS,
            Self::NewNews => code == code::NEW_ARTICLES,
            Self::Help => code == code::HELP,
            Self::Capabilities => code == code::CAPABILITIES,
            Self::Stat
            | Self::Group
            | Self::Next
            | Self::Last
            | Self::Date
            | Self::ModeReader
            | Self::AuthUser
            | Self::AuthPass
            | Self::AuthSasl
            | Self::StartTls
            | Self::CompressDeflate
            | Self::Post
            | Self::Ihave
            | Self::Quit => false,
        }
    }

    /// What may be sent around it without waiting.
    pub fn pipelining(self) -> Pipelining {
        match self {
            Self::ModeReader
            | Self::AuthUser
            | Self::AuthPass
            | Self::AuthSasl
            | Self::StartTls
            | Self::CompressDeflate
            | Self::Post
            | Self::Ihave => Pipelining::Alone,
            Self::Quit => Pipelining::Last,
            _ => Pipelining::Free,
        }
    }
}

impl Command {
    /// The command without its arguments.
    pub fn verb(&self) -> Verb {
        match self {
            Self::Article(_) => Verb::Article,
            Self::Head(_) => Verb::Head,
            Self::Body(_) => Verb::Body,
            Self::Stat(_) => Verb::Stat,
            Self::Group(_) => Verb::Group,
            Self::ListGroup(_) => Verb::ListGroup,
            Self::Next => Verb::Next,
            Self::Last => Verb::Last,
            Self::Over(_) => Verb::Over,
            Self::Xover(_) => Verb::Xover,
            Self::Hdr(..) => Verb::Hdr,
            Self::Xhdr(..) => Verb::Xhdr,
            Self::Xpat(..) => Verb::Xpat,
            Self::List(_) => Verb::List,
            Self::NewGroups(_) => Verb::NewGroups,
            Self::NewNews(..) => Verb::NewNews,
            Self::Date => Verb::Date,
            Self::Help => Verb::Help,
            Self::Capabilities(_) => Verb::Capabilities,
            Self::ModeReader => Verb::ModeReader,
            Self::AuthUser(_) => Verb::AuthUser,
            Self::AuthPass(_) => Verb::AuthPass,
            Self::AuthSasl(..) => Verb::AuthSasl,
            Self::StartTls => Verb::StartTls,
            Self::CompressDeflate => Verb::CompressDeflate,
            Self::Post => Verb::Post,
            Self::Ihave(_) => Verb::Ihave,
            Self::Quit => Verb::Quit,
        }
    }
}
