//! `stopped` and `completed`: who is told, when, and what ends with them.

use weir_testkit::memory::Fault;
use weir_testkit::zoo::http::RetryAfter;

use super::*;

impl World {
    /// Takes out who was silent for too long, as the keeper's thread does once a minute.
    fn purge(&self) {
        for shard in 0..crate::swarm::SHARDS {
            self.tracker.swarms.sweep(shard, self.clock.now().minute);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn stopped_cancels_what_is_queued_and_tells_nobody_who_did_not_know() {
    let network = Network::new();
    let (trackers, config) = crowd(&network, 3).await;
    let world = World::new(&network, &config);
    world.engine.hold();
    world.announce(1, 1).await;
    world.announce(2, 2).await;
    assert_eq!(world.engine.status().counts.queued, 6);
    let reply = world.event(1, 1, Event::Stopped).await;
    assert_eq!((reply.interval, reply.peers.len()), (1800, 0));
    assert_eq!(world.engine.status().counts.queued, 3);
    world.engine.release();
    turn().await;
    for tracker in &trackers {
        let queries = queries(&tracker.seen());
        assert_eq!(queries.len(), 1, "{queries:?}");
        assert_eq!(value(&queries[0], "key"), Some("00000002"));
    }
}

#[tokio::test(start_paused = true)]
async fn who_stops_at_once_is_not_announced_at_all() {
    let network = Network::new();
    let tracker = tracker(&network, 1, good(1800, &[])).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    // Both before the forwarders have looked into their rings.
    world.ask(1, 1, Event::Started).expect("a reply");
    world.ask(1, 1, Event::Stopped).expect("a reply");
    world.until(5 * MINUTE).await;
    assert_eq!(events(&tracker.seen()), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_call_under_way_ends_by_itself_and_the_event_follows_it() {
    for (event, name) in [(Event::Stopped, "stopped"), (Event::Completed, "completed")] {
        let network = Network::new();
        let tracker = tracker(&network, 1, good(1800, &["198.51.100.7:1"])).await;
        network.set_fault(place(1), Fault::Slow(5 * SECOND));
        let world = World::new(&network, &config(&[("a", &tracker.url())]));
        world.announce(1, 1).await;
        world.announce(1, 2).await;
        world.until(SECOND).await;
        world.event(1, 1, event).await;
        world.until(5 * SECOND - SECOND / 1000).await;
        assert_eq!(events(&tracker.seen()), [""; 0]);
        world.until(5 * SECOND).await;
        assert_eq!(events(&tracker.seen()), ["started", name]);
        let peers = world.announce(1, 2).await.peers;
        assert!(peers.contains(&at("198.51.100.7:1")), "its answer is kept");
    }
}

#[tokio::test(start_paused = true)]
async fn a_scheduled_retry_stays_until_the_last_local_peer_goes() {
    let network = Network::new();
    let tracker = tracker(&network, 1, Behaviour::RetryIn(5)).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    let scheduled = || world.engine.status().counts.scheduled;
    world.announce(1, 1).await;
    world.announce(1, 2).await;
    assert_eq!(scheduled(), 1);
    world.until(60 * SECOND).await;
    world.event(1, 1, Event::Stopped).await;
    assert_eq!(scheduled(), 1);
    assert_eq!(events(&tracker.seen()), ["started", "stopped"]);
    world.until(300 * SECOND).await;
    assert_eq!(tracker.seen().len(), 3, "the retry");
    assert_eq!(scheduled(), 1, "and the next one");
    world.until(310 * SECOND).await;
    world.event(1, 2, Event::Stopped).await;
    assert_eq!(scheduled(), 0);
    let calls = tracker.seen().len();
    world.until(700 * SECOND).await;
    let late = &events(&tracker.seen())[calls..];
    assert!(late.iter().all(|event| event == "stopped"), "{late:?}");
}

#[tokio::test(start_paused = true)]
async fn completed_goes_to_all_at_once_but_not_to_those_that_rest() {
    let network = Network::new();
    let (trackers, config) = crowd(&network, 12).await;
    let config = Config {
        max_forwarders_per_announce: number(12),
        ..config
    };
    trackers[3].set(Behaviour::Status(429, RetryAfter::None));
    trackers[4].set(Behaviour::Status(404, RetryAfter::None));
    let world = World::new(&network, &config);
    world.announce(1, 1).await;
    trackers[3].set(good(1800, &[]));
    trackers[4].set(good(1800, &[]));
    world.until(30 * SECOND).await;
    let reply = world.event(1, 1, Event::Completed).await;
    assert_eq!(reply.counts, (1, 0), "it is a seeder now");
    for (index, tracker) in trackers.iter().enumerate() {
        let expected: &[&str] = match index {
            3 | 4 => &["started"],
            _ => &["started", "completed"],
        };
        assert_eq!(events(&tracker.seen()), expected, "{index}");
    }
    assert_eq!(world.engine.status().counters.skipped, 0, "not even tried");
    world.until(HOUR).await;
    assert_eq!(asked(&trackers), 22, "what was left out is not made up for");
}

#[tokio::test(start_paused = true)]
async fn the_answer_to_completed_is_an_answer_like_any_other() {
    let network = Network::new();
    let tracker = tracker(&network, 1, Behaviour::FailureOnly("no".to_owned())).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    world.announce(1, 1).await;
    world.until(100 * SECOND).await;
    tracker.set(good(900, &["198.51.100.7:1"]));
    world.event(1, 1, Event::Completed).await;
    assert_eq!(
        world.announce(1, 2).await.counts,
        (2, 1),
        "its peer is kept"
    );
    world.until(999 * SECOND).await;
    world.announce(1, 1).await;
    assert_eq!(tracker.seen().len(), 2);
    world.until(1000 * SECOND).await;
    world.announce(1, 1).await;
    assert_eq!(tracker.seen().len(), 3, "its interval counts");
}

#[tokio::test(start_paused = true)]
async fn a_first_announce_may_be_completed() {
    let network = Network::new();
    let tracker = tracker(&network, 1, good(900, &[])).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    world.event(1, 1, Event::Completed).await;
    world.until(SECOND).await;
    world.event(1, 1, Event::Stopped).await;
    assert_eq!(events(&tracker.seen()), ["completed", "stopped"]);
}

#[tokio::test(start_paused = true)]
async fn stopped_goes_to_those_that_were_told_and_to_nobody_else() {
    let network = Network::new();
    let (trackers, config) = crowd(&network, 6).await;
    let config = Config {
        max_forwarders_per_announce: number(2),
        ..config
    };
    let world = World::new(&network, &config);
    world.announce(1, 1).await;
    world.announce(1, 2).await;
    world.until(10 * SECOND).await;
    world.event(1, 1, Event::Stopped).await;
    world.event(1, 2, Event::Stopped).await;
    let mut told = [0; 3];
    for tracker in &trackers {
        let queries = queries(&tracker.seen());
        let keys: Vec<_> = queries.iter().map(|query| value(query, "key")).collect();
        match events(&tracker.seen()).as_slice() {
            [] => told[0] += 1,
            [first, last] if first == "started" && last == "stopped" => {
                assert_eq!(keys[0], keys[1], "of the same peer");
                assert_eq!(value(&queries[1], "numwant"), Some("0"));
                told[usize::from(keys[0] == Some("00000002")) + 1] += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(told, [2, 2, 2]);
}

#[tokio::test(start_paused = true)]
async fn stopped_is_sent_for_a_peer_that_went_silent() {
    let network = Network::new();
    let tracker = tracker(&network, 1, good(1800, &["198.51.100.7:1"])).await;
    let config = Config {
        age: 10 * MINUTE,
        ..config(&[("a", &tracker.url())])
    };
    let world = World::new(&network, &config);
    world.announce(1, 1).await;
    world.until(9 * MINUTE).await;
    world.purge();
    world.until(10 * MINUTE + 30 * SECOND).await;
    assert_eq!(events(&tracker.seen()), ["started"], "it is still here");
    world.until(12 * MINUTE).await;
    world.purge();
    world.until(12 * MINUTE + 70 * SECOND).await;
    assert_eq!(events(&tracker.seen()), ["started", "stopped"]);
    let queries = queries(&tracker.seen());
    for key in ["info_hash", "peer_id", "port", "key"] {
        assert_eq!(value(&queries[1], key), value(&queries[0], key), "{key}");
    }
    let ledger = world.tracker.forwarding.ledger();
    assert_eq!(
        ledger.peers(&[1; 20]),
        0,
        "what it gave goes with the last peer"
    );
    world.until(29 * MINUTE).await;
    world.announce(1, 1).await;
    assert_eq!(tracker.seen().len(), 2, "but not the time that it demanded");
    world.until(30 * MINUTE).await;
    world.announce(1, 1).await;
    assert_eq!(tracker.seen().len(), 3);
    world.until(2 * HOUR).await;
    world.purge();
    world.until(2 * HOUR + 3 * MINUTE).await;
    assert_eq!(ledger.totals(), (0, 0), "nothing is left of it");
}

#[tokio::test(start_paused = true)]
async fn the_last_stopped_drops_the_peers_but_not_the_times() {
    let network = Network::new();
    let tracker = tracker(&network, 1, good(900, &["198.51.100.7:1"])).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    world.announce(1, 1).await;
    assert_eq!(world.announce(1, 2).await.counts.0, 1);
    world.event(1, 1, Event::Stopped).await;
    assert_eq!(
        world.announce(1, 2).await.counts.0,
        1,
        "somebody is still here"
    );
    world.event(1, 2, Event::Stopped).await;
    world.until(100 * SECOND).await;
    let reply = world.announce(1, 1).await;
    assert_eq!((reply.peers.len(), reply.counts), (0, (0, 1)));
    world.until(899 * SECOND).await;
    world.announce(1, 1).await;
    assert_eq!(events(&tracker.seen()), ["started", "stopped"]);
    world.until(900 * SECOND).await;
    world.announce(1, 1).await;
    assert_eq!(events(&tracker.seen()), ["started", "stopped", "started"]);
}

#[tokio::test(start_paused = true)]
async fn stopping_delivers_stopped_and_sends_none_for_those_who_stay() {
    let network = Network::new();
    let tracker = tracker(&network, 1, good(1800, &[])).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    world.announce(1, 1).await;
    world.announce(2, 2).await;
    network.set_fault(place(1), Fault::Slow(3 * SECOND));
    world.until(2 * MINUTE).await; // the kept connection is closed by now
    world.ask(1, 1, Event::Stopped).expect("a reply");
    world.forwarders.stop(10 * SECOND).await;
    assert_eq!(world.time(), 2 * MINUTE + 3 * SECOND, "as long as it takes");
    assert_eq!(events(&tracker.seen()), ["started", "started", "stopped"]);
}

#[tokio::test(start_paused = true)]
async fn a_goodbye_that_waited_until_its_peer_was_back_is_neither_sent_nor_counted() {
    let network = Network::new();
    let tracker = tracker(&network, 1, good(1800, &[])).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    world.announce(1, 1).await;
    world.announce(1, 2).await;
    tracker.set(Behaviour::Status(500, RetryAfter::None));
    world.event(1, 1, Event::Stopped).await;
    let status = || world.engine.status();
    assert_eq!(status().counts.scheduled, 1, "it is tried again");
    tracker.set(good(1800, &[]));
    world.event(1, 1, Event::Started).await;
    let before = tracker.seen().len();
    world.until(60 * SECOND).await;
    assert_eq!(events(&tracker.seen()[before..]), [""; 0]);
    assert_eq!(world.state_of("a"), "open");
    assert_eq!(status().counters.sent, 2, "one attempt of it was made");
    // Before any attempt.
    world.announce(2, 1).await;
    world.engine.hold();
    world.event(2, 1, Event::Stopped).await;
    world.event(2, 1, Event::Started).await;
    let before = (world.calls("a"), status().counters.cancelled);
    world.engine.release();
    world.idle(0).await;
    assert_eq!(events(&tracker.seen()), ["started", "stopped", "started"]);
    let counters = status().counters;
    assert_eq!((counters.sent, counters.waiting()), (3, 0));
    let after = (world.calls("a"), counters.cancelled);
    assert_eq!(after, (before.0, before.1 + 1));
}

#[tokio::test(start_paused = true)]
async fn completed_goes_out_before_stopped_although_its_peer_has_left() {
    let network = Network::new();
    let (trackers, config) = crowd(&network, 3).await;
    let world = World::new(&network, &config);
    for knows_it in [false, true] {
        let swarm = 1 + u8::from(knows_it);
        world.announce(swarm, 2).await;
        if knows_it {
            world.event(swarm, 1, Event::Completed).await;
            world.event(swarm, 1, Event::Stopped).await;
        }
        let before = trackers[0].seen().len();
        world.engine.hold();
        world.event(swarm, 1, Event::Completed).await;
        world.event(swarm, 1, Event::Stopped).await;
        assert_eq!(world.engine.status().counts.queued, 6);
        world.engine.release();
        world.idle(0).await;
        for tracker in &trackers {
            let told = &tracker.seen()[before..];
            assert_eq!(events(told), ["completed", "stopped"], "{knows_it}");
        }
    }
    let seen = asked(&trackers);
    world.until(3 * MINUTE).await;
    assert_eq!(asked(&trackers), seen, "once, and nobody else is told");
    let counters = world.engine.status().counters;
    assert_eq!((counters.sent, counters.waiting()), (seen as u64, 0));
}

#[tokio::test(start_paused = true)]
async fn what_completed_brings_when_nobody_is_here_any_more_is_not_kept() {
    let network = Network::new();
    let tracker = tracker(&network, 1, good(1800, &["198.51.100.7:1"])).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    world.engine.hold();
    world.event(1, 1, Event::Completed).await;
    world.event(1, 1, Event::Stopped).await;
    world.engine.release();
    world.idle(0).await;
    assert_eq!(events(&tracker.seen()), ["completed", "stopped"]);
    let (sheets, peers) = world.tracker.forwarding.ledger().totals();
    assert_eq!((sheets, peers), (1, 0), "the time that it demanded stays");
}

#[tokio::test(start_paused = true)]
async fn completed_that_is_tried_again_after_stopped_is_followed_by_another() {
    let network = Network::new();
    let tracker = tracker(&network, 1, good(1800, &[])).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    world.announce(1, 1).await;
    world.announce(1, 2).await;
    tracker.set(Behaviour::Status(500, RetryAfter::None));
    world.event(1, 1, Event::Completed).await;
    assert_eq!(world.engine.status().counts.scheduled, 1);
    tracker.set(good(1800, &[]));
    world.event(1, 1, Event::Stopped).await;
    let before = tracker.seen().len();
    world.until(70 * SECOND).await;
    let later = events(&tracker.seen()[before..]);
    assert_eq!(later, ["completed", "stopped"]);
    world.until(3 * MINUTE).await;
    assert_eq!(tracker.seen().len(), before + 2);
}

#[tokio::test(start_paused = true)]
async fn who_was_never_told_of_completed_is_not_told_of_the_end() {
    let network = Network::new();
    let (trackers, config) = crowd(&network, 2).await;
    let world = World::new(&network, &config);
    world.announce(1, 2).await;
    world.engine.hold();
    world.event(1, 1, Event::Completed).await;
    // An operator keeps one of them from hearing of it.
    let first = world.view("1").figures.upstream;
    world.engine.switch_off(first, "a test", "nobody");
    world.engine.switch_on(first, "me");
    world.engine.release();
    world.idle(0).await;
    world.event(1, 1, Event::Stopped).await;
    assert_eq!(events(&trackers[0].seen()), ["started"]);
    assert_eq!(
        events(&trackers[1].seen()),
        ["started", "completed", "stopped"]
    );
}

#[tokio::test(start_paused = true)]
async fn two_peers_of_a_swarm_are_one_question_at_a_time() {
    let network = Network::new();
    let tracker = tracker(&network, 1, good(1800, &[])).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    world.engine.hold();
    for minute in 0..5 {
        world.until(minute * MINUTE).await;
        world.announce(1, 1).await;
        world.announce(1, 2).await;
    }
    assert_eq!(world.engine.status().counts.queued, 1);
    world.engine.release();
    turn().await;
    world.until(10 * MINUTE).await;
    world.announce(1, 2).await;
    assert_eq!(tracker.seen().len(), 1, "it said when");
}
