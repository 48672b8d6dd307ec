//! Times over several calls: due or not, in a cooldown, failing often, coming back.

use weir_engine::Outcome;
use weir_testkit::zoo::http::RetryAfter;
use weir_web::Upstreams;

use super::*;

#[tokio::test(start_paused = true)]
async fn recently_announced_forwarders_are_skipped_each_by_its_own_time() {
    let network = Network::new();
    let quick = tracker(&network, 1, good(300, &[])).await;
    let slow = tracker(&network, 2, good(700, &[])).await;
    let world = World::new(
        &network,
        &config(&[("quick", &quick.url()), ("slow", &slow.url())]),
    );
    for (second, expected) in [
        (0, [1, 1]),
        (1, [1, 1]),
        (299, [1, 1]),
        (300, [2, 1]),
        (599, [2, 1]),
        (600, [3, 1]),
        (700, [3, 2]),
        (900, [4, 2]),
    ] {
        world.until(second * SECOND).await;
        world.announce(1, 1).await;
        let seen = [quick.seen().len(), slow.seen().len()];
        assert_eq!(seen, expected, "after {second} s");
    }
    world.announce(2, 1).await;
    assert_eq!(quick.seen().len(), 5, "another swarm has its own time");
}

#[tokio::test(start_paused = true)]
async fn a_suspended_forwarder_is_skipped_until_its_time_is_over() {
    let network = Network::new();
    let often = tracker(&network, 1, Behaviour::Status(429, RetryAfter::None)).await;
    let other = tracker(&network, 2, good(60, &[])).await;
    let config = Config {
        forwarder_suspend_seconds: 200 * SECOND,
        ..config(&[("often", &often.url()), ("other", &other.url())])
    };
    let world = World::new(&network, &config);
    world.announce(1, 1).await;
    often.set(good(60, &[]));
    for second in [60, 120, 180, 199] {
        world.until(second * SECOND).await;
        world.announce(1, 1).await;
        world.announce(second as u8, 1).await;
        assert_eq!(often.seen().len(), 1, "its cooldown is for all swarms");
    }
    assert_eq!(other.seen().len(), 8, "the other one does not");
    world.until(200 * SECOND).await;
    world.announce(1, 1).await;
    assert_eq!(often.seen().len(), 2);
    assert_eq!(world.state_of("often"), "open");
}

#[tokio::test(start_paused = true)]
async fn jobs_queued_when_a_rest_begins_end_and_are_due_at_its_end() {
    let network = Network::new();
    let often = tracker(&network, 1, Behaviour::Status(429, RetryAfter::Seconds(90))).await;
    let config = Config {
        forwarder_calls: number(1),
        ..config(&[("a", &often.url())])
    };
    let world = World::new(&network, &config);
    for swarm in 1..=5 {
        world.ask(swarm, 1, Event::None).expect("a reply");
    }
    turn().await;
    assert_eq!(often.seen().len(), 1, "the rest is not even tried");
    assert_eq!(
        world.announce(2, 1).await.interval,
        1800,
        "nothing is pending"
    );
    often.set(good(1800, &[]));
    world.until(90 * SECOND).await;
    for swarm in 1..=5 {
        world.announce(swarm, 1).await;
    }
    assert_eq!(often.seen().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_503_that_recovers_costs_nothing() {
    let network = Network::new();
    let tracker = tracker(&network, 1, Behaviour::Status(503, RetryAfter::None)).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    assert_eq!(world.announce(1, 1).await.interval, 60);
    tracker.set(good(900, &["198.51.100.7:1"]));
    world.until(SECOND / 2 - SECOND / 1000).await;
    assert_eq!(tracker.seen().len(), 1);
    world.until(3 * SECOND / 4).await;
    assert_eq!(
        tracker.seen().len(),
        2,
        "half a second later, or up to a half more"
    );
    assert_eq!(
        (
            world.state_of("a").as_str(),
            world.view("a").status.failures
        ),
        ("open", 0)
    );
    let reply = world.announce(1, 1).await;
    assert_eq!((reply.interval, reply.peers.len()), (1800, 1));
    world.until(900 * SECOND).await;
    world.announce(1, 1).await;
    assert_eq!(
        tracker.seen().len(),
        2,
        "the interval counts from the answer"
    );
    world.until(901 * SECOND).await;
    world.announce(1, 1).await;
    assert_eq!(tracker.seen().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn attempts_wait_twice_as_long_each_time() {
    let network = Network::new();
    let tracker = tracker(&network, 1, Behaviour::Status(500, RetryAfter::None)).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    world.announce(1, 1).await;
    world.idle(0).await;
    let seen = tracker.seen();
    assert_eq!(seen.len(), 5);
    for (pair, base) in seen.windows(2).zip([500, 1000, 2000, 4000]) {
        let wait = (pair[1].at - pair[0].at).as_millis();
        assert!((base..=base * 3 / 2).contains(&wait), "{wait} of {base}");
    }
    assert_eq!(
        events(&seen),
        ["started"; 5],
        "it is new to the tracker until it answers"
    );
}

#[tokio::test(start_paused = true)]
async fn ten_failures_in_a_row_disable_and_a_good_answer_between_them_forgives() {
    for (behaviour, takes) in [
        (Behaviour::Html, 0),
        (Behaviour::Status(500, RetryAfter::None), 20),
    ] {
        let network = Network::new();
        let tracker = tracker(&network, 1, behaviour.clone()).await;
        let world = World::new(&network, &config(&[("a", &tracker.url())]));
        let fail = async |swarm: u8| {
            world.announce(swarm, 1).await;
            world.idle(0).await;
            tokio::time::sleep(takes * SECOND).await;
        };
        for swarm in 1..=9 {
            fail(swarm).await;
        }
        assert_eq!(
            (
                world.state_of("a").as_str(),
                world.view("a").status.failures
            ),
            ("untried", 9)
        );
        tracker.set(good(1800, &[]));
        world.announce(10, 1).await;
        assert_eq!(world.view("a").status.failures, 0);
        tracker.set(behaviour);
        for swarm in 11..=20 {
            assert_eq!(world.state_of("a"), "open");
            fail(swarm).await;
        }
        let left = 60 - takes;
        assert!(
            world.state_of("a").starts_with("disabled"),
            "{left}: {}",
            world.state_of("a")
        );
        let calls = world.calls("a");
        world.announce(21, 1).await;
        assert_eq!(world.calls("a"), calls, "no further call");
    }
}

#[tokio::test(start_paused = true)]
async fn a_single_forwarder_that_refuses_is_disabled_with_a_reason_and_heals_by_itself() {
    let network = Network::new();
    let world = World::new(
        &network,
        &config(&[("a", "http://192.0.2.1:6969/announce")]),
    );
    let mut end = Duration::ZERO;
    for (calls, cooldown) in [(1, 60), (2, 300), (3, 900), (4, 1800)] {
        world.until(end).await;
        world.announce(1, 1).await;
        assert_eq!(world.calls("a"), calls);
        assert_eq!(world.state_of("a"), format!("disabled {cooldown}"));
        assert_eq!(world.last_error("a"), "connection refused");
        end += cooldown * SECOND;
    }
    let tracker = tracker(&network, 1, good(1800, &["198.51.100.7:1"])).await;
    world.until(end - SECOND).await;
    world.announce(1, 1).await;
    assert_eq!(tracker.seen().len(), 0);
    world.until(end).await;
    assert_eq!(
        world.state_of("a"),
        "probing",
        "the probe is the next real job"
    );
    assert_eq!(tracker.seen().len(), 0);
    world.announce(1, 1).await;
    assert_eq!(
        (tracker.seen().len(), world.state_of("a").as_str()),
        (1, "open")
    );
    assert_eq!(world.view("a").status.rung, 0);
    assert_eq!(world.announce(1, 1).await.counts.0, 1);
}

#[tokio::test(start_paused = true)]
async fn what_an_operator_clears_is_asked_with_the_next_announce() {
    let network = Network::new();
    let tracker = tracker(&network, 1, Behaviour::RetryNever).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    for swarm in 1..=3 {
        world.announce(swarm, 1).await;
    }
    assert_eq!(world.state_of("a"), "disabled 86400");
    tracker.set(good(1800, &[]));
    world.until(HOUR).await;
    world.engine.clear(world.view("a").figures.upstream, "me");
    for swarm in 1..=4 {
        world.announce(swarm, 1).await;
    }
    assert_eq!(
        tracker.seen().len(),
        4,
        "but not about what it never wants to hear of"
    );
}

#[tokio::test(start_paused = true)]
async fn never_is_about_one_torrent_until_it_is_said_about_three() {
    let network = Network::new();
    let tracker = tracker(&network, 1, Behaviour::RetryNever).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    for swarm in [1, 2] {
        world.announce(swarm, 1).await;
        // Said again about the same torrent, it is still about one.
        world.event(swarm, 1, Event::Completed).await;
    }
    assert_eq!(world.state_of("a"), "open");
    tracker.set(good(1800, &[]));
    world.announce(3, 1).await;
    tracker.set(Behaviour::RetryNever);
    for swarm in [4, 5] {
        world.announce(swarm, 1).await;
        assert_eq!(world.state_of("a"), "open", "it answered in between");
    }
    world.until(MINUTE).await;
    world.announce(6, 1).await;
    assert_eq!(world.state_of("a"), "disabled 86400", "three in a row");
    let seen = tracker.seen().len();
    // Its first probe is the next real announce; it says the same again.
    world.until(DAY + MINUTE).await;
    world.announce(7, 1).await;
    assert_eq!(tracker.seen().len(), seen + 1);
    assert!(world.state_of("a").starts_with("disabled"), "at once");
}

#[tokio::test(start_paused = true)]
async fn a_torrent_that_a_tracker_never_wants_is_asked_about_after_a_day() {
    let network = Network::new();
    let tracker = tracker(&network, 1, Behaviour::RetryNever).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    world.announce(1, 1).await;
    tracker.set(good(1800, &[]));
    world.announce(2, 1).await;
    assert_eq!(tracker.seen().len(), 2, "about the others as ever");
    world.until(DAY - SECOND).await;
    world.announce(1, 1).await;
    assert_eq!(tracker.seen().len(), 2);
    world.until(DAY).await;
    world.announce(1, 1).await;
    assert_eq!(tracker.seen().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_operators_probe_heals_and_is_a_scrape() {
    let network = Network::new();
    let tracker = tracker(&network, 1, Behaviour::Status(404, RetryAfter::None)).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    world.announce(1, 1).await;
    tracker.set(Behaviour::FailureOnly("no scrapes".to_owned()));
    let upstream = world.view("a").figures.upstream;
    let probe = world.forwarders.probe(upstream).expect("it is there");
    let asker = weir_engine::dispatch::Asker::default();
    let ended = world.engine.probe(upstream, probe, asker).await;
    // It answers, and answers no: that heals as well.
    assert_eq!(ended, weir_engine::Ended::Finished(Outcome::No));
    assert_eq!(world.state_of("a"), "open");
    assert!(queries(&tracker.seen())[1].starts_with("/scrape?info_hash="));
}
