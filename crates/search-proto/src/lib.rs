//! Torznab and Newznab, the protocol of indexers: requests, caps, categories, feeds and errors.
//!
//! Parses and writes both sides, nothing else: no sockets, no clock, no decisions. The search front
//! uses it towards clients and indexers, and so do scripted indexers in tests. What comes from
//! others is read tolerantly in form and strictly in size: any bytes at all are read or refused in
//! time and memory proportional to them.

#![forbid(unsafe_code)]

pub mod caps;
pub mod category;
mod date;
pub mod error;
pub mod feed;
mod number;
pub mod query;
pub mod release;
pub mod request;
mod text;
mod xml;

pub use caps::{Caps, Category, ListedIndexer, WrittenIndexer, read_indexers, write_indexers};
pub use category::Mapping;
pub use error::{ErrorDocument, Refusal, Unreadable};
pub use feed::{ApiLimits, Channel, Feed, Item, Skipped, read_feed, write_feed, write_feed_json};
pub use query::{Function, Query, Term};
pub use release::{InfoHash, NotAnInfoHash, Protocol, Release};
pub use request::{Format, Parsed, Request, SearchRequest, parse_request};
