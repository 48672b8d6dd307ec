//! How much time Weir adds to a search: 60 indexers on loopback, a third of which is slow or limited.
//!
//! ```sh
//! cargo run --release -p weir-search --example added -- 100
//! ```
//!
//! What counts is the reply less the delay of the slowest indexer that answers, so that connecting, reading and the
//! scripted indexers themselves are in it.

#[path = "../src/tests/world.rs"]
#[allow(dead_code, reason = "the tests of the crate use more of it")]
mod world;

use std::sync::Arc;
use std::time::Duration;

use weir_search::config::{Config, indexer as entries};
use weir_search::{Front, Outward, policy};
use weir_testkit::zoo::Place;
use weir_testkit::zoo::indexer::{Behaviour, Indexer, Item, RetryAfter, Setup};

use self::world::{World, config};

/// The delay of the slowest.
const SLOWEST: Duration = Duration::from_millis(150);

#[tokio::main]
async fn main() {
    let rounds = std::env::args().nth(1);
    let rounds: usize = rounds.and_then(|text| text.parse().ok()).unwrap_or(100);
    let mut indexers = Vec::new();
    for number in 0..60_u32 {
        // A half of its releases is everywhere.
        let items =
            (0..100).map(|at| Item::numbered(if at % 2 == 0 { at } else { number * 1000 + at }));
        let setup = Setup {
            items: items.collect(),
            ..Setup::default()
        };
        let started = Indexer::start(Place::Loopback, setup).await;
        indexers.push(started.expect("a port"));
    }
    let names: Vec<String> = (0..60).map(|number| format!("indexer{number}")).collect();
    let named = names.iter().map(String::as_str).zip(&indexers);
    let mut config = config(named);
    config.min_request_interval = Duration::ZERO;
    let ground = Arc::new(weir_net::System::with_name_servers(Vec::new()));
    let world = World::new(ground, &config);
    world.get("/torznab/api?t=caps").await;
    for (indexer, number) in indexers.iter().zip(0_u32..) {
        indexer.set(match number % 6 {
            // One after the other: that they all answer at once is not what is measured.
            0 => Behaviour::Slow(SLOWEST - Duration::from_millis(u64::from(number))),
            1 => Behaviour::Status(429, RetryAfter::Seconds(3600)),
            _ => Behaviour::Slow(Duration::from_millis(u64::from(number))),
        });
    }
    world.get("/torznab/api?t=search&nocache=1").await;
    let mut added = Vec::new();
    for round in 0..rounds {
        let target = format!("/torznab/api?t=search&cat=5000&minsize={round}&nocache=1");
        let reply = world.get(&target).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert_eq!(reply.skipped().len(), 10, "the limited ones");
        added.push(reply.took.saturating_sub(SLOWEST).as_secs_f64() * 1000.0);
    }
    say("over the slowest indexer", &mut added);
    let mut cached = Vec::new();
    for _ in 0..rounds {
        let reply = world.get("/torznab/api?t=search&cat=5000&minsize=0").await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        cached.push(reply.took.as_secs_f64() * 1000.0);
    }
    say("all from the cache", &mut cached);
    world.stop().await;
}

#[expect(clippy::print_stdout, reason = "it is what this is for")]
fn say(what: &str, times: &mut [f64]) {
    times.sort_by(f64::total_cmp);
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    let (middle, most) = (at(50), at(99));
    println!(
        "{what}: median {middle:.1} ms, p99 {most:.1} ms of {}",
        times.len()
    );
}
