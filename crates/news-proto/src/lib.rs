//! NNTP (RFC 3977 and its extensions) as bytes and values, for a server that is asked and for one that asks; and articles as
//! people read them. No I/O: whoever owns a connection brings the bytes.
//!
//! Commands, replies, blocks and the lines inside them are parsed and written here, nothing else: no
//! sockets, no clock, no decisions. What comes from others is read tolerantly in form and strictly in
//! size: any bytes are read or refused in time and memory proportional to them, without a panic.

#![forbid(unsafe_code)]

pub mod article;
pub mod block;
pub mod capabilities;
pub mod command;
pub mod date;
mod error;
pub mod field;
mod head;
pub mod id;
pub mod list;
mod newsgroup;
mod number;
pub mod overview;
mod range;
pub mod reply;
mod text;
pub mod wildmat;
pub mod xref;

pub use block::{BlockReader, BlockWriter, Fed};
pub use capabilities::Capabilities;
pub use command::{Articles, Command, ListedBy, Listing, Password, Pipelining, Verb, Which};
pub use error::Error;
pub use field::FieldName;
pub use id::MessageId;
pub use newsgroup::Newsgroup;
pub use overview::{OverviewFormat, OverviewLine};
pub use range::ArticleRange;
pub use reply::{Located, Reply, Selected};
pub use wildmat::{Pattern, Wildmat};
pub use xref::Xref;
