//! Commands: what a client asks of a server.
//!
//! [`Command`] is a whole command with its arguments, each already of a type that can be sent.
//! `parse` is the server's half, `write` the client's; [`Verb`] knows how a conversation goes on
//! after one. What a command does is left to whoever serves it.

use std::fmt::{self, Debug, Formatter};

use crate::field::FieldName;
use crate::id::MessageId;
use crate::newsgroup::Newsgroup;
use crate::range::ArticleRange;
use crate::wildmat::{Pattern, Wildmat};

mod listing;
mod parse;
mod verb;
mod write;

pub use listing::{ListedBy, Listing};
pub use verb::{Pipelining, Verb};

/// Octets of the longest line, its end included (RFC 3977 §3.1).
pub const MAX_LINE: usize = 512;

/// A command with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Head and body of an article.
    Article(Which),
    /// Its head.
    Head(Which),
    /// Its body.
    Body(Which),
    /// Whether it is there.
    Stat(Which),
    /// Selects a newsgroup.
    Group(Newsgroup),
    /// Selects a newsgroup, or takes the selected one, and lists article numbers.
    ListGroup(Option<(Newsgroup, Option<ArticleRange>)>),
    /// Goes to the next article.
    Next,
    /// Goes to the previous article.
    Last,
    /// Overview lines.
    Over(Articles),
    /// The same under its name from before RFC 3977.
    Xover(Articles),
    /// One field of articles.
    Hdr(FieldName, Articles),
    /// The same under its name from before RFC 3977, answered with another code.
    Xhdr(FieldName, Articles),
    /// One field of those articles in which it matches a pattern.
    Xpat(FieldName, Articles, Pattern),
    /// One of the lists a server keeps.
    List(Listing),
    /// Newsgroups that came after a time, in Unix seconds.
    NewGroups(i64),
    /// IDs of articles in these newsgroups that came after a time, in Unix seconds.
    NewNews(Wildmat, i64),
    /// The server's time.
    Date,
    /// Words for people.
    Help,
    /// What the server can do; the word is for servers with keyed lists, of which there are none.
    Capabilities(Option<Box<str>>),
    /// Makes a transit server a server for newsreaders.
    ModeReader,
    /// A user's name.
    AuthUser(Box<str>),
    /// A user's password.
    AuthPass(Password),
    /// A SASL mechanism, and its first response in base 64.
    AuthSasl(Box<str>, Option<Password>),
    /// Begins TLS.
    StartTls,
    /// Begins compression.
    CompressDeflate,
    /// Posts an article, which is sent after the server agreed.
    Post,
    /// Offers an article, which is sent after the server agreed.
    Ihave(MessageId),
    /// Ends the conversation.
    Quit,
}

/// One article, as ARTICLE, HEAD, BODY and STAT take it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one the server is at.
    Current,
    /// By its number in the selected newsgroup.
    Number(u64),
    /// By its ID, in whatever newsgroup.
    Id(MessageId),
}

/// Several articles, as OVER, HDR and XPAT take them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Articles {
    /// The one the server is at.
    Current,
    /// By their numbers in the selected newsgroup.
    Range(ArticleRange),
    /// One by its ID, in whatever newsgroup.
    Id(MessageId),
}

/// A password or a SASL response. Shows nothing of itself in a log.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(Box<str>);

impl Password {
    /// Hides a text.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The text, to be sent or compared and never to be kept or shown.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl Debug for Password {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

#[cfg(test)]
mod tests;
