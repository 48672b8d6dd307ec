//! The whole front before a zoo of indexers, in memory and with paused time: when is whom asked, and what are clients
//! told?

mod agree;
mod animals;
mod api;
mod budgets;
mod cache;
mod classes;
mod clients;
mod deadline;
mod files;
mod history;
mod nodes;
mod pages;
mod programs;
mod reload;
mod scheduler;
mod strangers;
mod told;
mod web;
mod week;
mod world;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use weir_engine::dispatch::Class;
use weir_search_proto::{Protocol, Request, parse_request};
use weir_testkit::memory::Network;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::indexer::{Asked, Behaviour, Caps, Indexer, Item, RetryAfter, Setup};
use weir_web::Front as _;

use self::world::*;
use crate::config::{Config, indexer as entries};
use crate::policy::policy;
use crate::policy::{BACKGROUND, COMPLETION, INTERACTIVE, RSS};
use crate::search::{AnsweredFrom, PartState, Search, SearchQuestion};
use crate::{Front, Storage};

/// An indexer in memory; those of different numbers stand apart.
async fn indexer(network: &Network, number: u8, setup: Setup) -> Indexer {
    let address = SocketAddr::from(([192, 0, 2, number], 80));
    let started = Indexer::start(Place::Memory(network, address), setup).await;
    started.expect("memory has room")
}

/// So many good indexers, each with releases of its own: 1, 2, 3 at the first, 11, 12, 13 at the second.
async fn crowd(network: &Network, count: u8) -> Vec<Indexer> {
    let mut indexers = Vec::new();
    for number in 0..count {
        let first = u32::from(number) * 10 + 1;
        let setup = Setup::with(first..first + 3);
        indexers.push(indexer(network, number + 1, setup).await);
    }
    indexers
}

/// What they are called.
const NAMES: [&str; 10] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];

/// A configuration with them as `a`, `b`, `c`, all else at its default.
fn plain(indexers: &[Indexer]) -> Config {
    config(NAMES.into_iter().zip(indexers))
}

/// The same with a minute between calls, of which each class keeps its share: 6, 30, 42 and 60 s.
fn named(indexers: &[Indexer]) -> Config {
    Config {
        min_request_interval: Some(MINUTE),
        ..plain(indexers)
    }
}

impl World {
    /// A question of a program to all torrent indexers.
    fn question(&self, query: &str, class: Class) -> SearchQuestion {
        let Ok(Request::Search(asked)) = parse_request(query).request else {
            panic!("{query} is no search");
        };
        let model = &self.front.views.model;
        SearchQuestion {
            query: asked.query,
            scope: model.all_of(Protocol::Torrent),
            class,
            max_wait: None,
            no_cache: false,
            program: model.programs.heard("test", self.timeline.now()),
            address: "192.0.2.200".to_owned(),
            deadline: model.rules.load().deadline,
        }
    }

    fn begin(&self, query: &str, class: Class) -> Arc<Search> {
        self.front.views.fanout.begin(self.question(query, class))
    }
}

/// When requests came, since the beginning of a world, in milliseconds.
fn times(world: &World, asked: &[Asked]) -> Vec<u128> {
    let time = |asked: &Asked| asked.at.duration_since(world.began).as_millis();
    asked.iter().map(time).collect()
}

/// What was searched for.
fn words(asked: &[Asked]) -> Vec<String> {
    let word = |asked: &Asked| asked.value("q").unwrap_or_default().to_owned();
    asked.iter().map(word).collect()
}

/// How far each indexer is, in a word.
fn standings(search: &Search) -> Vec<&'static str> {
    let parts = search.parts();
    parts
        .iter()
        .map(|place| place.state.stage().name())
        .collect()
}
