//! Our own network goes away; most trackers are dead: what the others notice of it.

use weir_engine::OwnReason;

use super::*;

#[tokio::test(start_paused = true)]
async fn nobody_is_blamed_for_our_own_network() {
    let network = Network::new();
    network.resolves("b.example", &["192.0.2.2"]);
    let a = tracker(&network, 1, good(60, &[])).await;
    let b = tracker(&network, 2, good(60, &[])).await;
    let c = tracker(&network, 3, good(60, &[])).await;
    let d = udp_tracker(
        &network,
        4,
        udp::Behaviour::Good {
            interval: 60,
            peers: Vec::new(),
        },
    )
    .await;
    let urls = [
        &a.url(),
        "http://b.example:6969/announce",
        &c.url(),
        &d.url(),
    ];
    let names = ["a", "b", "c", "d"];
    let pairs: Vec<(&str, &str)> = names.into_iter().zip(urls.map(|url| url as &str)).collect();
    let world = World::new(&network, &config(&pairs));
    let mut swarm = 1;
    world.announce(swarm, 1).await;
    world.until(100 * SECOND).await;
    network.set_down(true);
    for second in (100..160).step_by(5) {
        world.until(second * SECOND).await;
        swarm += 1;
        assert_eq!(
            world.announce(swarm, 1).await.interval,
            60,
            "clients notice nothing"
        );
        world.announce(1, 1).await;
    }
    for name in names {
        let status = world.view(name).status;
        assert_eq!(
            (world.state_of(name).as_str(), status.failures),
            ("open", 0),
            "{name}"
        );
    }
    let before = names.map(|name| world.calls(name));
    network.set_down(false);
    world.until(240 * SECOND).await;
    for swarm in 1..=swarm {
        world.announce(swarm, 1).await;
    }
    world.until(300 * SECOND).await;
    for (name, before) in names.into_iter().zip(before) {
        assert_eq!(world.state_of(name), "open", "{name}");
        assert_eq!(world.view(name).status.failures, 0, "{name}");
        assert!(
            world.calls(name) > before + u64::from(swarm) / 2,
            "{name} is called again"
        );
    }
    let heard = [a.seen().len(), b.seen().len(), c.seen().len()];
    assert!(
        heard.iter().all(|heard| *heard > usize::from(swarm)),
        "{heard:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn fifty_of_two_hundred_are_asked_as_if_the_others_did_not_hang() {
    let network = Network::new();
    let (trackers, config) = crowd(&network, 200).await;
    let config = Config {
        forwarder_queue_size: number(10_000),
        max_forwarders_per_announce: number(200),
        ..config
    };
    for dead in &trackers[50..] {
        dead.set(Behaviour::Hang);
    }
    let world = World::new(&network, &config);
    let alive = || asked(&trackers[..50]);
    world.announce(1, 1).await;
    // Nobody knows yet which are dead: each holds a worker for a second.
    world.until(15 * SECOND).await;
    assert_eq!(alive(), 50);
    let mut most = 0;
    for swarm in 2..=120 {
        world.announce(swarm, 1).await;
        assert_eq!(
            alive(),
            50 * usize::from(swarm),
            "at once: {:?}",
            world.engine.status()
        );
        most = most.max(world.engine.status().fill_percent);
        world.until(15 * SECOND + u32::from(swarm) * SECOND).await;
    }
    assert!(most < 60, "the queue fills: {most} %");
    let status = world.engine.status();
    assert_eq!((status.refused_full, status.rate_limited), (0, 0));
    let decisions = world.engine.own_decisions();
    let slow = decisions
        .iter()
        .filter(|one| one.own.reason == OwnReason::Slow);
    let left_out: u64 = slow.map(|one| one.own.concerned).sum();
    assert_eq!(
        status.throttled, left_out,
        "only those that hang are left out"
    );
}
