//! Announces and scrapes over HTTP (BEP 3, 7, 21, 23, 24, 31, 48), both directions.
//!
//! A listener reads a query (`request`) and writes bencode (`reply`); a forwarder writes the query
//! (`ask`) and reads the bencode (`answer`). The HTTP around it is theirs.

mod answer;
mod ask;
mod query;
mod reply;
mod request;

pub use answer::{
    AnnounceAnswer, Answer, Failure, Files, Peers, ScrapeAnswer, read_announce_reply,
    read_scrape_reply,
};
pub use ask::{scrape_url, write_announce_query, write_scrape_query};
pub use reply::{AnnounceWriter, DictPeer, Head, RetryIn, write_failure, write_scrape};
pub use request::{Scrape, parse_announce, parse_scrape};
