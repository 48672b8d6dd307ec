//! Answers are bounded in time; what comes later is for the next asker.

use weir_engine::dispatch::{Wait, What};

use super::*;

/// Calls may take longer than an answer.
fn patient(indexers: &[Indexer]) -> Config {
    let mut config = named(indexers);
    for entry in &mut config.indexers {
        entry.timeout = 30 * SECOND;
    }
    config
}

#[tokio::test(start_paused = true)]
async fn at_the_deadline_what_is_there_is_served_and_the_rest_fills_the_cache() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let world = World::new(network.ground(), &patient(&indexers));
    world.get("/torznab/api?t=caps").await;
    indexers[1].set(Behaviour::Slow(20 * SECOND));
    let target = "/torznab/api?t=search&q=some";
    let reply = world.get(target).await;
    assert_eq!((reply.status, reply.titles().len()), (200, 3));
    assert_eq!(reply.took, 15 * SECOND);
    assert_eq!(reply.reason("b"), "it has not answered yet");
    world.until(21 * SECOND).await;
    indexers[1].set(Behaviour::Hang);
    let reply = world.get(target).await;
    assert_eq!((reply.titles().len(), reply.took), (6, Duration::ZERO));
    assert_eq!(reply.skipped(), []);
    assert_eq!(indexers[0].searches().len(), 1);
    assert_eq!(indexers[1].searches().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stop_keeps_nobody_waiting_for_the_deadline() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let world = World::new(network.ground(), &patient(&indexers));
    world.get("/torznab/api?t=caps").await;
    indexers[1].set(Behaviour::Hang);
    let stop = async {
        tokio::time::sleep(3 * SECOND).await;
        world.front.leave();
    };
    let (reply, ()) = tokio::join!(world.get("/torznab/api?t=search&q=some"), stop);
    assert_eq!((reply.status, reply.titles().len()), (200, 3));
    assert_eq!(reply.took, 5 * SECOND);
    assert_eq!(reply.reason("b"), "it has not answered yet");
    assert_eq!(world.remembered().await[0].took_ms, 5000);
}

#[tokio::test(start_paused = true)]
async fn whose_turn_comes_too_late_is_named_at_once_and_asked_for_the_next_one() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let config = Config { ..named(&indexers) };
    let world = World::new(network.ground(), &config);
    world.get("/torznab/api?t=caps").await;
    let mut only = world.question("t=search&q=warm", INTERACTIVE);
    only.scope.truncate(1);
    let warm = world.front.views.fanout.begin(only);
    warm.settled(warm.deadline()).await;
    let target = "/torznab/api?t=search&q=some";
    let reply = world.get(target).await;
    assert_eq!((reply.status, reply.titles().len()), (200, 3));
    assert_eq!(reply.took, Duration::ZERO, "nobody waits for 42 s");
    let reason = reply.reason("a");
    assert_eq!(reason, "it was asked a moment ago. Next try in 42 s");
    assert_eq!(world.queued(), 1, "it stays");
    world.until(42 * SECOND).await;
    assert_eq!(times(&world, &indexers[0].searches()), [0, 42_000]);
    let reply = world.get(target).await;
    assert_eq!((reply.titles().len(), reply.took), (6, Duration::ZERO));
    assert_eq!(indexers[0].searches().len(), 2);
    assert_eq!(indexers[1].searches().len(), 1);
}

/// Asks until it is clear that it is our own network that is down, which the last reply says.
async fn outage(world: &World, network: &Network) -> Reply {
    world.until(60 * SECOND).await;
    network.set_down(true);
    world.get("/torznab/api?t=search&q=show&nocache=1").await;
    world.until(80 * SECOND).await;
    world.get("/torznab/api?t=search&q=some&nocache=1").await
}

#[tokio::test(start_paused = true)]
async fn while_our_network_is_down_nobody_waits_for_the_deadline_and_the_time_told_is_that_of_the_next_call()
 {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let world = World::new(network.ground(), &plain(&indexers));
    world.get("/torznab/api?t=caps").await;
    outage(&world, &network).await;
    let paused = world.engine.status().counts.paused_until;
    let rest = world.timeline.now().until(paused.expect("calls pause"));
    assert!(rest > 20 * SECOND, "{rest:?}");
    let calls = || {
        indexers
            .iter()
            .map(|one| network.connections(one.address()))
            .sum::<usize>()
    };
    let before = calls();
    let reply = world.get("/torznab/api?t=search&q=nothing&nocache=1").await;
    let seconds = rest.as_millis().div_ceil(1000).to_string();
    assert_eq!(
        (reply.status, reply.took),
        (429, Duration::ZERO),
        "{reply:?}"
    );
    assert_eq!(reply.retry_after, Some(seconds));
    let told = format!(
        "calls pause: our own network is down. Next try in {}",
        weir_engine::span(rest)
    );
    assert!(reply.body.contains(&told), "{told}: {}", reply.body);
    network.set_down(false);
    tokio::time::sleep(rest - Duration::from_millis(1)).await;
    turn().await;
    assert_eq!(calls(), before, "not before");
    tokio::time::sleep(Duration::from_millis(2)).await;
    turn().await;
    assert_eq!(calls(), before + 2, "it was queued");
    for name in ["a", "b"] {
        let upstream = world.view(name).figures.upstream;
        let newest = world.engine.decisions(upstream, None, 1).remove(0);
        assert!(
            matches!(
                newest.what,
                What::Started {
                    reason: Some(Wait::Network),
                    ..
                }
            ),
            "{newest:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn whose_turn_comes_within_five_minutes_is_waited_for_and_no_longer() {
    for (wait, called) in [(300, true), (301, false)] {
        let network = Network::new();
        let indexers = crowd(&network, 2).await;
        let world = World::new(network.ground(), &plain(&indexers));
        world.get("/torznab/api?t=caps").await;
        indexers[0].set(Behaviour::Status(429, RetryAfter::Seconds(wait)));
        world.get("/torznab/api?t=search&q=warm").await;
        indexers[0].set(Behaviour::Good);
        let reply = world.get("/torznab/api?t=search&q=some").await;
        assert!(reply.took <= 2 * SECOND, "{:?}", reply.took);
        assert!(
            reply
                .reason("a")
                .starts_with("it is cooling down: it says we ask too often")
        );
        world.until(10 * MINUTE).await;
        let asked = words(&indexers[0].searches());
        assert_eq!(asked.contains(&"some".to_owned()), called, "{wait}");
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_cools_down_before_it_said_what_it_can_do_is_asked_when_that_is_over() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    indexers[0].set_all(Behaviour::Status(429, RetryAfter::Seconds(120)));
    let world = World::new(network.ground(), &named(&indexers));
    let target = "/torznab/api?t=search&q=some";
    let reply = world.get(target).await;
    assert_eq!(reply.titles().len(), 3);
    indexers[0].set_all(Behaviour::Good);
    world.until(10 * SECOND).await;
    let reply = world.get(target).await;
    assert_eq!((reply.titles().len(), reply.took), (3, Duration::ZERO));
    assert!(
        reply.reason("a").contains("Next try in"),
        "{}",
        reply.reason("a")
    );
    world.until(121 * SECOND).await;
    let reply = world.get(target).await;
    assert_eq!(reply.titles().len(), 6, "{}", reply.body);
    assert_eq!(indexers[0].searches().len(), 1);
    assert_eq!(times(&world, &indexers[0].searches()), [120_000]);
}

#[tokio::test(start_paused = true)]
async fn an_indexer_that_begins_to_cool_down_while_others_wait_for_it_is_named_then() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let world = World::new(network.ground(), &plain(&indexers));
    world.get("/torznab/api?t=caps").await;
    indexers[0].set(Behaviour::Status(429, RetryAfter::Seconds(3600)));
    let warm = world.begin("t=search&q=warm", INTERACTIVE);
    turn().await;
    world.engine.clear(world.view("a").figures.upstream, "me");
    warm.settled(warm.deadline()).await;
    // Two wait for their turn of 2 s; the first of them brings the indexer a cooldown of an hour.
    let (one, other) = tokio::join!(
        world.get("/torznab/api?t=search&q=one"),
        world.get("/torznab/api?t=search&q=other"),
    );
    for reply in [&one, &other] {
        assert_eq!((reply.status, reply.titles().len()), (429, 0));
    }
    assert!(other.took <= 3 * SECOND, "{:?}", other.took);
    assert!(
        other
            .body
            .contains("it is cooling down: it says we ask too often"),
        "{}",
        other.body
    );
}

#[tokio::test(start_paused = true)]
async fn when_nobody_can_answer_the_reply_says_when_somebody_can() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let world = World::new(network.ground(), &named(&indexers));
    world.get("/torznab/api?t=caps").await;
    indexers[0].set(Behaviour::Status(429, RetryAfter::Seconds(3600)));
    indexers[1].set(Behaviour::Status(429, RetryAfter::Seconds(1800)));
    let target = "/torznab/api?t=search&q=some";
    let reply = world.get(target).await;
    assert_eq!(reply.status, 429);
    assert_eq!(reply.retry_after.as_deref(), Some("1800"));
    assert!(reply.body.contains("<error code=\"900\""), "{}", reply.body);
    world.until(SECOND + SECOND / 2).await;
    let reply = world.get(target).await;
    assert_eq!((reply.status, reply.took), (429, Duration::ZERO));
    assert_eq!(reply.retry_after.as_deref(), Some("1799"), "whole seconds");
}

#[tokio::test(start_paused = true)]
async fn the_earliest_slot_is_not_that_of_one_with_nothing_to_ask() {
    let network = Network::new();
    let books = Setup {
        caps: Caps {
            categories: vec![(7000, "Books", Vec::new())],
            ..Caps::default()
        },
        ..Setup::default()
    };
    let indexers = [
        indexer(&network, 1, Setup::with(1..3)).await,
        indexer(&network, 2, books).await,
    ];
    let world = World::new(network.ground(), &named(&indexers));
    world.get("/torznab/api?t=caps").await;
    indexers[0].set(Behaviour::Status(429, RetryAfter::Seconds(3600)));
    let reply = world.get("/torznab/api?t=search&q=some&cat=5000").await;
    assert_eq!(reply.status, 429);
    assert_eq!(reply.retry_after.as_deref(), Some("3600"));
    assert_eq!(indexers[1].searches().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn who_hangs_up_finds_the_answer_when_it_comes_back() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let world = World::new(network.ground(), &patient(&indexers));
    world.get("/torznab/api?t=caps").await;
    indexers[0].set(Behaviour::Slow(20 * SECOND));
    let target = "/torznab/api?t=search&q=some";
    let hung_up = tokio::time::timeout(SECOND, world.get(target)).await;
    assert!(hung_up.is_err());
    world.until(25 * SECOND).await;
    let reply = world.get(target).await;
    assert_eq!((reply.titles().len(), reply.took), (3, Duration::ZERO));
    assert_eq!(indexers[0].searches().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_switched_off_indexer_is_named_and_the_others_answer() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let world = World::new(network.ground(), &plain(&indexers));
    world.get("/torznab/api?t=caps").await;
    let upstream = world.view("a").figures.upstream;
    world.engine.switch_off(upstream, "moving house", "me");
    let reply = world.get("/torznab/api?t=search&q=some").await;
    assert_eq!((reply.titles().len(), reply.took), (3, Duration::ZERO));
    assert_eq!(
        reply.reason("a"),
        "switched off by an operator: moving house"
    );
    assert_eq!(indexers[0].searches().len(), 0);
    world.engine.switch_on(upstream, "me");
    let reply = world.get("/torznab/api?t=search&q=show").await;
    assert_eq!(reply.titles().len(), 6, "{}", reply.body);
}
