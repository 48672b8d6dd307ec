//! What can be wrong with a line, a block or a value, and the code that tells a client.

use crate::reply::code;

/// Why bytes are not what they should be, or why a value cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A command that neither RFC 3977 nor an extension we know has.
    #[error("unknown command")]
    UnknownCommand,
    /// A known command with an unknown second word.
    #[error("unknown variant of this command")]
    UnknownVariant,
    /// `COMPRESS` with an algorithm other than DEFLATE.
    #[error("unsupported compression algorithm")]
    Compression,
    /// Fewer arguments than the command needs.
    #[error("an argument is missing")]
    MissingArgument,
    /// More arguments than the command takes.
    #[error("too many arguments")]
    TooManyArguments,
    /// Control characters, or bytes that are not UTF-8, in a place for text.
    #[error("the line has control characters or is not UTF-8")]
    Text,
    /// A line that is longer than the protocol allows.
    #[error("the line is too long")]
    LineTooLong,
    /// Not 3 to 250 printable ASCII characters in angle brackets.
    #[error("not a message ID")]
    MessageId,
    /// A name that no newsgroup can have.
    #[error("not the name of a newsgroup")]
    Newsgroup,
    /// Neither the name of a header field nor of a metadata item.
    #[error("not the name of a header field")]
    FieldName,
    /// A pattern with an empty part, an open bracket or nothing after a backslash.
    #[error("not a wildmat")]
    Wildmat,
    /// Neither `n` nor `n-` nor `n-m`.
    #[error("not a range of article numbers")]
    Range,
    /// Not digits, or a number beyond 64 bits.
    #[error("not a number")]
    Number,
    /// Not a date and time as `NEWGROUPS` and `DATE` have them.
    #[error("not a date and time")]
    Date,
    /// A SASL response with characters that base 64 does not have.
    #[error("not base 64")]
    Base64,
    /// A first line that does not begin with a code from 100 to 599.
    #[error("not a reply")]
    NotAReply,
    /// A reply, but not with the code or the words that were expected.
    #[error("unexpected reply {0}")]
    UnexpectedReply(u16),
    /// A line of a block that lacks what every such line has.
    #[error("unreadable line in a list")]
    ListLine,
    /// A block with more bytes than its reader may keep.
    #[error("the answer is longer than {0} bytes")]
    BlockTooLong(usize),
    /// A block whose end has not arrived.
    #[error("the answer is incomplete")]
    Incomplete,
}

impl Error {
    /// The code that answers a command line with this error.
    pub fn code(self) -> u16 {
        match self {
            Self::UnknownCommand => code::UNKNOWN_COMMAND,
            Self::Compression => code::UNSUPPORTED,
            Self::Base64 => code::BAD_ENCODING,
            _ => code::SYNTAX,
        }
    }
}
