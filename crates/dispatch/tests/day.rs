//! A simulated day with 5,000 upstreams, most of which misbehave in some way: whatever happens, the promises
//! hold, and the same seed gives the same day.

#[path = "day/upstreams.rs"]
mod upstreams;
#[path = "day/watch.rs"]
mod watch;
#[path = "day/world.rs"]
mod world;

use world::{Day, Front};

const UPSTREAMS: u32 = 5_000;

#[test]
fn a_day_of_searches_keeps_every_promise_and_is_the_same_each_time() {
    twice(Front::Search, 0x5eed_0001);
}

#[test]
fn a_day_of_announces_keeps_every_promise_and_is_the_same_each_time() {
    twice(Front::Tracker, 0x5eed_0002);
}

#[test]
fn another_seed_gives_another_day() {
    let trace = |seed| Day::new(Front::Search, 50, seed).run().trace;
    assert_ne!(trace(1), trace(2));
}

fn twice(front: Front, seed: u64) {
    let first = Day::new(front, UPSTREAMS, seed).run();
    let second = Day::new(front, UPSTREAMS, seed).run();
    assert_eq!(first, second);
    // The day was worth watching.
    assert!(first.starts > 100_000, "{first:?}");
    assert!(first.cooldowns > 1_000, "{first:?}");
    assert!(first.skips > 1_000, "{first:?}");
    assert!(first.retries > 1_000 || front == Front::Search, "{first:?}");
    assert!(first.cancels > 500 && first.raises > 200, "{first:?}");
    assert!(first.duplicates > 100, "{first:?}");
}
