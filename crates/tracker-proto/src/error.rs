//! What can be wrong with a client's request and with an upstream's reply.

use crate::bencode;

/// Why a client's request cannot be served; displays as the sentence the client gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// No `info_hash` in the query.
    #[error("info_hash is missing")]
    NoInfoHash,
    /// An `info_hash` that is not 20 bytes after decoding.
    #[error("info_hash must be 20 bytes")]
    InfoHashLength,
    /// An announce with more than one `info_hash`.
    #[error("an announce has one info_hash only")]
    ManyInfoHashes,
    /// No `peer_id` in the query.
    #[error("peer_id is missing")]
    NoPeerId,
    /// A `peer_id` that is not 20 bytes after decoding.
    #[error("peer_id must be 20 bytes")]
    PeerIdLength,
    /// No `port` in the query.
    #[error("port is missing")]
    NoPort,
    /// A port that no peer can listen on.
    #[error("port must be 1 to 65535")]
    Port,
    /// A `%` without two hexadecimal digits after it, in a value that we read.
    #[error("a % must be followed by two hexadecimal digits")]
    Escape,
    /// A count that is not one.
    #[error("{0} must be a number")]
    NotANumber(&'static str),
    /// A UDP packet that ends before its action's fields do.
    #[error("packet is too short")]
    Short,
    /// A UDP packet that asks for something other than connect, announce or scrape.
    #[error("unknown action")]
    UnknownAction,
}

/// Why an upstream's reply cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// Not bencode, or more of it than we read.
    #[error("not readable as bencode: {0}")]
    Bencode(#[from] bencode::Error),
    /// Bencode, but no dictionary.
    #[error("the reply is not a dictionary")]
    NotADictionary,
    /// A dictionary with nothing in it that an announce or scrape reply has.
    #[error("the reply says nothing")]
    Empty,
    /// A value of a type or size that its key cannot have.
    #[error("`{0}` is not what it should be")]
    Field(&'static str),
    /// A UDP packet that ends too early.
    #[error("packet is too short")]
    Short,
    /// A UDP packet of a kind that no tracker sends.
    #[error("unknown action {0}")]
    UnknownAction(u32),
}
