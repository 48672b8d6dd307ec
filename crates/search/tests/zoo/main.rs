//! A whole search front on loopback before a zoo of indexers: what clients and indexers read, byte by byte.

mod animals;
mod downloads;
mod secrets;
#[path = "../../src/tests/world.rs"]
#[allow(dead_code, reason = "the tests of the crate use more of it")]
mod world;

use std::sync::Arc;
use std::time::Duration;

use weir_search::config::{Config, indexer as entries};
use weir_search::{Front, Storage, policy};
use weir_testkit::zoo::Place;
use weir_testkit::zoo::indexer::{Behaviour, Files, Indexer, Item, RetryAfter, Setup};

use self::world::*;

/// The network of this machine, without names.
fn ground() -> Arc<dyn weir_net::Ground> {
    Arc::new(weir_net::System::with_name_servers(Vec::new()))
}

async fn indexer(setup: Setup) -> Indexer {
    let started = Indexer::start(Place::Loopback, setup).await;
    started.expect("a port")
}

/// One that misbehaves with releases 1, 2, 3 and a healthy one with 11, 12, 13, and a front before both.
async fn pair(timeout: Duration) -> (Indexer, Indexer, World) {
    let (odd, well) = (
        indexer(Setup::with(1..4)).await,
        indexer(Setup::with(11..14)).await,
    );
    let mut config = config([("odd", &odd), ("well", &well)]);
    config.min_request_interval = Some(Duration::ZERO);
    config.indexers[0].timeout = timeout;
    let world = World::new(ground(), &config);
    (odd, well, world)
}

/// The path of one of our links.
fn path(link: &str) -> String {
    link.replace("http://weir:7070", "")
}
