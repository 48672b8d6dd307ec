//! Other settings while everything runs.

use super::*;

#[tokio::test(start_paused = true)]
async fn those_who_stay_keep_their_state_and_others_come_and_go() {
    let network = Network::new();
    let indexers = crowd(&network, 3).await;
    let all = named(&indexers);
    let (mut before, mut after) = (all.clone(), all);
    before.indexers.truncate(2);
    after.indexers.remove(1);
    after.deadline = 3 * SECOND;
    let world = World::new(network.ground(), &before);
    world.get("/torznab/api?t=caps").await;
    indexers[0].set(Behaviour::Status(429, RetryAfter::Seconds(600)));
    let reply = world.get("/torznab/api?t=search&q=some").await;
    assert_eq!(reply.titles().len(), 3, "those of b");
    world.front.reloader().reload(&after).expect("a reload");
    let reply = world.get("/torznab/api?t=search&q=some").await;
    assert_eq!(reply.titles().len(), 3, "those of c");
    assert!(reply.reason("a").starts_with("it rests"), "{}", reply.body);
    assert_eq!(indexers[0].searches().len(), 1);
    assert_eq!(indexers[1].searches().len(), 1, "it is gone");
    assert_eq!(indexers[0].introductions(), 1, "what it can do is known");
    assert_eq!(world.get("/torznab/b/api?t=search").await.status, 404);
    indexers[2].set(Behaviour::Hang);
    world.until(100 * SECOND).await;
    let reply = world.get("/torznab/c/api?t=search&q=another").await;
    assert_eq!((reply.status, reply.took), (429, 3 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_one_that_goes_is_told_so() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let before = named(&indexers);
    let mut after = before.clone();
    after.indexers.remove(0);
    let world = World::new(network.ground(), &before);
    world.get("/torznab/api?t=search&q=one").await;
    let search = world.begin("t=search&q=two", INTERACTIVE);
    turn().await;
    assert_eq!(standings(&search), ["asking", "asking"], "the spacing");
    world.front.reloader().reload(&after).expect("a reload");
    search.settled(search.deadline()).await;
    let places = search.places();
    assert!(
        matches!(&places[0].state, State::Skipped { reason, .. } if reason == "it is no longer configured"),
        "{:?}",
        standings(&search)
    );
}

#[tokio::test(start_paused = true)]
async fn a_reload_that_cannot_be_written_changes_nothing() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let after = named(&indexers);
    let mut before = after.clone();
    before.indexers.truncate(1);
    let world = World::new(network.ground(), &before);
    world.state.close();
    let after = Config {
        deadline: SECOND,
        ..after
    };
    world.front.reloader().reload(&after).expect_err("no file");
    assert_eq!(world.front.desk.config.load().deadline, before.deadline);
    assert_eq!(world.engine.upstreams(0, usize::MAX).len(), 1);
    assert_eq!(world.get("/torznab/b/api?t=caps").await.status, 404);
}
