//! A filling queue: throttling, tokens, refusals, and what is never refused.

use weir_testkit::zoo::http::RetryAfter;

use super::*;

impl World {
    fn queued(&self) -> u32 {
        self.engine.status().counts.queued
    }
}

#[tokio::test(start_paused = true)]
async fn an_active_rate_limit_takes_tokens_and_then_says_busy() {
    let network = Network::new();
    let (_trackers, config) = crowd(&network, 1).await;
    let config = Config {
        rate_limit_initial_burst: number(3),
        rate_limit_initial_per_sec: number(1),
        ..config
    };
    let world = World::new(&network, &config);
    world.engine.hold();
    for swarm in 1..=83 {
        world.announce(swarm, 1).await;
    }
    assert_eq!(world.queued(), 83, "three tokens beyond 80 %");
    let refused = world.ask(84, 1, Event::None);
    assert_eq!(refused, Err(TrackerRefusal::Busy(300)));
    turn().await;
    let status = world.engine.status();
    assert_eq!((status.counts.queued, status.rate_limited), (83, 1));
    assert_eq!(
        world.tracker.swarms.totals().swarms,
        84,
        "it is stored all the same"
    );
    world.until(SECOND).await;
    assert!(world.ask(84, 1, Event::None).is_ok(), "a token a second");
    assert!(world.ask(85, 1, Event::None).is_err());
    world.until(MINUTE).await;
    for swarm in 1..=10 {
        world.announce(swarm, 1).await;
    }
    let first = world.ask(85, 1, Event::None);
    assert!(first.is_ok(), "only first announces need one");
}

#[tokio::test(start_paused = true)]
async fn a_disabled_rate_limit_fills_the_queue_and_then_says_full() {
    let network = Network::new();
    let (_trackers, config) = crowd(&network, 1).await;
    let config = Config {
        rate_limit_initial_burst: number(1),
        ..config
    };
    let world = World::new(&network, &config);
    world.set_rules(ForwardRules {
        limit_at: 0,
        ..split(&config).1.terms.forwarding
    });
    world.engine.hold();
    for swarm in 1..=100 {
        world.announce(swarm, 1).await;
    }
    assert_eq!(
        world.ask(101, 1, Event::None),
        Err(TrackerRefusal::QueueFull(1800))
    );
    world.until(MINUTE).await;
    assert_eq!(
        world.announce(1, 1).await.interval,
        60,
        "a re-announce is not refused"
    );
    let status = world.engine.status();
    assert_eq!((status.rate_limited, status.counts.queued), (0, 100));
    world.engine.release();
    world.idle(0).await;
    assert_eq!(
        world.announce(101, 1).await.interval,
        60,
        "there is room again"
    );
    assert_eq!(world.calls("1"), 101, "and it counts as its first announce");
}

#[tokio::test(start_paused = true)]
async fn throttling_limits_the_forwarders_of_an_announce() {
    let network = Network::new();
    let (trackers, config) = crowd(&network, 30).await;
    let world = World::new(&network, &config);
    world.engine.hold();
    for (swarm, queued) in [(1, 30), (2, 60), (3, 80)] {
        world.announce(swarm, 1).await;
        assert_eq!(world.queued(), queued);
    }
    assert_eq!(world.engine.status().throttled, 10);
    world.engine.release();
    turn().await;
    assert_eq!(asked(&trackers), 80);
    world.announce(3, 1).await;
    assert_eq!(asked(&trackers), 90, "those left out are asked next time");

    let off = Config {
        queue_throttle_top_n: 0,
        ..config
    };
    let world = World::new(&network, &off);
    world.engine.hold();
    for swarm in 1..=3 {
        world.announce(swarm, 1).await;
    }
    assert_eq!((world.queued(), world.engine.status().throttled), (90, 0));
}

#[tokio::test(start_paused = true)]
async fn at_most_so_many_forwarders_per_announce_and_the_others_next_time() {
    let network = Network::new();
    let (trackers, config) = crowd(&network, 30).await;
    let config = Config {
        max_forwarders_per_announce: number(12),
        ..config
    };
    let world = World::new(&network, &config);
    for expected in [12, 24, 30, 30] {
        world.announce(1, 1).await;
        assert_eq!(asked(&trackers), expected);
    }
    assert!(trackers.iter().all(|tracker| tracker.seen().len() == 1));
    assert_eq!(world.engine.status().throttled, 0);
}

#[tokio::test(start_paused = true)]
async fn forwarders_that_rest_take_nobodys_place() {
    let network = Network::new();
    let (trackers, config) = crowd(&network, 9).await;
    for tracker in &trackers[1..] {
        tracker.set(Behaviour::Status(404, RetryAfter::None));
    }
    let world = World::new(&network, &config);
    world.announce(1, 1).await;
    let few = Config {
        max_forwarders_per_announce: number(1),
        ..config
    };
    world.set_rules(split(&few).1.terms.forwarding);
    for swarm in 2..=9 {
        world.announce(swarm, 1).await;
        assert_eq!(trackers[0].seen().len(), usize::from(swarm));
    }
}

#[tokio::test(start_paused = true)]
async fn events_are_neither_cut_nor_throttled_and_wait_on_the_agenda_while_the_queue_is_full() {
    let network = Network::new();
    let (trackers, config) = crowd(&network, 30).await;
    let config = Config {
        max_forwarders_per_announce: number(10),
        ..config
    };
    let world = World::new(&network, &config);
    world.announce(1, 1).await;
    assert_eq!(asked(&trackers), 10);
    world.engine.hold();
    for swarm in 2..=11 {
        world.announce(swarm, 1).await;
    }
    assert_eq!(world.queued(), 100);
    world.until(5 * SECOND).await;
    world.event(1, 1, Event::Completed).await;
    assert_eq!(
        world.engine.status().counts.scheduled,
        30,
        "none is dropped"
    );
    world.until(6 * SECOND).await;
    world.engine.release();
    turn().await;
    assert_eq!(asked(&trackers), 110);
    world.until(15 * SECOND - SECOND / 1000).await;
    assert_eq!(asked(&trackers), 110);
    world.until(15 * SECOND).await;
    assert_eq!(
        asked(&trackers),
        140,
        "ten seconds after it happened, all at once"
    );
    let told = trackers.iter().map(|tracker| queries(&tracker.seen()));
    let completed = |queries: Vec<String>| {
        let events = queries.iter().filter_map(|query| value(query, "event"));
        events.filter(|event| *event == "completed").count()
    };
    assert!(told.map(completed).all(|count| count == 1));
}
