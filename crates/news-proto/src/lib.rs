//! NNTP (RFC 3977 and its extensions) as bytes and values, for a server that is asked and for one that asks; and articles as
//! people read them. No I/O: whoever owns a connection brings the bytes.

pub mod article;
