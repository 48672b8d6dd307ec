//! The records of swarms say what the ledger says.

use super::*;
use crate::swarm::ForwardFlags;

impl World {
    fn is_pending(&self, swarm: u8) -> bool {
        let hash = [swarm; 20];
        let pending = self
            .tracker
            .forwarding
            .ledger()
            .state(&hash, [].into_iter());
        let flags = self.tracker.swarms.flags(&hash);
        assert_eq!(flags.has(ForwardFlags::PENDING), pending.pending);
        pending.pending
    }
}

#[tokio::test(start_paused = true)]
async fn a_swarm_is_pending_while_a_call_about_it_lives_however_that_ends() {
    let network = Network::new();
    let (trackers, config) = crowd(&network, 2).await;
    let world = World::new(&network, &config);
    world.engine.hold();
    world.announce(1, 1).await;
    assert!(world.is_pending(1));
    world.engine.release();
    world.idle(0).await;
    assert!(!world.is_pending(1), "both have answered");
    world.engine.hold();
    world.announce(2, 1).await;
    world.event(2, 1, Event::Completed).await;
    world.event(2, 1, Event::Completed).await;
    let mut fewer = config.clone();
    fewer.forwarders.remove(0);
    world.reload(&fewer);
    assert!(world.is_pending(2), "one of them went");
    fewer.forwarders.clear();
    world.reload(&fewer);
    assert!(!world.is_pending(2), "and the other");
    world.reload(&config);
    world.announce(3, 1).await;
    assert!(world.is_pending(3));
    world.forwarders.stop(Duration::ZERO).await;
    assert!(!world.is_pending(3), "nothing is made after a stop");
    assert_eq!(asked(&trackers), 2);
}

#[tokio::test(start_paused = true)]
async fn who_found_no_place_is_asked_with_the_next_minute_though_others_take_long() {
    let network = Network::new();
    let (trackers, config) = crowd(&network, 3).await;
    let config = Config {
        max_forwarders_per_announce: number(1),
        ..config
    };
    let world = World::new(&network, &config);
    for tracker in 1..=3 {
        network.set_fault(place(tracker), weir_testkit::memory::Fault::Silent);
    }
    world.announce(1, 1).await;
    assert_eq!(world.engine.status().counts.busy, 1);
    world.announce(1, 2).await;
    assert_eq!(world.engine.status().counts.busy, 1, "not in this minute");
    world.until(MINUTE).await;
    world.announce(1, 1).await;
    let called = || (1..=3).filter(|number| world.last_call(&number.to_string()).is_some());
    assert_eq!(called().count(), 2);
    drop(trackers);
}

#[tokio::test(start_paused = true)]
async fn a_mirror_that_another_overtook_is_not_the_last_word() {
    const HASH: [u8; 20] = [1; 20];
    let world = World::new(&Network::new(), &config(&[]));
    world.announce(1, 1).await;
    let exchange = Arc::clone(&world.forwarders.exchange);
    let overtaken_by = |change: fn(&Exchange)| {
        let other = Arc::clone(&exchange);
        crate::fault::set_in_mirror(move || {
            change(&other);
            other.mirror(&HASH);
        });
        exchange.mirror(&HASH);
    };
    overtaken_by(|other| assert!(other.ledger().begin(&HASH, None)));
    assert!(world.is_pending(1), "not as it was before the call began");
    overtaken_by(|other| other.ledger().end(&HASH, None));
    assert!(!world.is_pending(1), "nor before it ended");
}
