//! The search front: one Torznab/Newznab address in front of many indexers.
//!
//! A request becomes a [`Query`](weir_search_proto::Query), is asked of its indexers all at once (`fanout`), each by
//! way of the cache, a shared flight and the engine, and is answered from what has arrived within a bound (`merge`,
//! `reply`). What comes later is kept for the next asker.

mod answer;
mod api;
#[cfg(feature = "bench")]
pub mod bench;
mod bill;
mod cache;
mod call;
mod card;
pub mod config;
mod contribution;
mod downloads;
mod error;
mod fanout;
mod form;
mod front;
mod history;
mod inbound;
mod indexer;
mod introductions;
mod judge;
mod links;
mod merge;
mod metrics;
mod model;
mod nodes;
mod outbound;
mod packed;
mod pages;
mod plan;
mod policy;
mod program;
mod progress;
mod releases;
mod reply;
mod rules;
mod scope;
mod search;
mod searches;
mod session;
mod stats;
#[cfg(test)]
mod tests;
mod tryout;
mod unanswered;
mod upstreams;
mod views;
mod words;

pub use error::Error;
pub use front::Front;
pub use model::Storage;
pub use policy::policy;
