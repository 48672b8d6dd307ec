//! Mistakes of our own: what a panic costs.

use super::*;

#[tokio::test(start_paused = true)]
async fn an_announce_that_panics_gives_its_places_back_and_others_go_on() {
    let network = Network::new();
    let (trackers, config) = crowd(&network, 3).await;
    let world = World::new(&network, &config);
    let fault = crate::fault::FORWARDED;
    // Taken from the ring together.
    for swarm in [1, fault, 2] {
        world.ask(swarm, 1, Event::None).expect("a reply");
    }
    turn().await;
    world.idle(0).await;
    assert_eq!(asked(&trackers), 6, "two of three went on");
    assert_eq!(world.engine.gate().queued(), 0);
    world.event(fault, 1, Event::Completed).await;
    world.event(1, 1, Event::Completed).await;
    world.idle(0).await;
    assert_eq!(asked(&trackers), 9);
    let failures = world.engine.vitals().failures();
    assert!(
        failures.contains(&("tracker", "forwarder", 2)),
        "{failures:?}"
    );
}
