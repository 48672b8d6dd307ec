//! Nodes that are started again, and stores that have lost something.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_node_that_is_restarted_alone_has_what_is_left_of_its_share() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let mut one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    assert_eq!(world.shares().await, [5, 5]);
    one.store.cut(true);
    pass(secs(3)).await;
    one.ask(2);
    pass(secs(3)).await;
    assert_eq!(world.calls_of(1), 2);
    one.kill().await;
    one.start();
    one.ask(50);
    two.ask(200);
    pass(secs(60)).await;
    // Neither forgotten nor had twice.
    assert_eq!(world.calls_of(1), 5);
    assert_eq!(world.calls_of(2), 90);
    one.kill().await;
    one.start();
    one.ask(50);
    pass(secs(60)).await;
    assert_eq!(world.calls_of(1), 5);
    one.store.cut(false);
    pass(secs(7200)).await;
    assert!(world.most(secs(3600)) <= 100);
}

#[tokio::test(start_paused = true)]
async fn an_emptied_store_hears_of_the_share_of_a_node_that_was_restarted() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let mut one = world.party(1).await;
    pass(secs(10)).await;
    one.kill().await;
    world.store.restart_empty();
    one.start();
    // Not given anew, which takes longer.
    pass(millis(50)).await;
    assert_eq!(world.shares().await, [5]);
    // After a day it is no longer its own: others may have it.
    one.kill().await;
    world.store.restart_empty();
    pass(secs(24 * 3600)).await;
    one.start();
    pass(millis(50)).await;
    assert!(!one.is_alone());
    assert!(world.shares().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_emptied_store_hears_of_queries_that_are_older_than_the_windows_of_downloads() {
    began();
    let mut world = World::new(Duration::ZERO, Windows::from([(Window::DAY, 100)]));
    world.quota.grab = hourly(10);
    let one = world.party(1).await;
    pass(secs(10)).await;
    one.ask(80);
    pass(secs(2 * 3600)).await;
    one.grab(1);
    pass(secs(10)).await;
    assert_eq!(world.calls(), 81);
    world.store.flush();
    pass(secs(60)).await;
    assert_eq!(world.counted().await, 81);
    one.ask(100);
    pass(secs(600)).await;
    // Five are kept for when it is alone.
    assert_eq!(world.most(secs(24 * 3600)), 95);
}

#[tokio::test(start_paused = true)]
async fn a_restart_makes_no_start_count_twice() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let mut one = world.party(1).await;
    pass(secs(10)).await;
    one.ask(60);
    pass(secs(30)).await;
    assert_eq!((world.calls(), world.counted().await), (60, 60));
    for _ in 0..2 {
        one.stop().await;
        one.start();
        pass(secs(10)).await;
    }
    // Of an earlier run, what may have been in its share is told when that is given back, by other names: five.
    assert_eq!(world.counted().await, 65);
    one.ask(50);
    pass(secs(60)).await;
    assert_eq!(world.calls(), 60 + 30);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_gave_its_share_back_has_none_when_it_is_back() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let mut one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    assert_eq!(world.shares().await, [5, 5]);
    one.stop().await;
    pass(secs(3)).await;
    two.ask(200);
    pass(secs(60)).await;
    assert_eq!(world.calls_of(2), 95);
    one.store.cut(true);
    two.store.cut(true);
    one.start();
    pass(secs(3)).await;
    one.ask(10);
    pass(secs(60)).await;
    assert_eq!((world.calls_of(1), world.calls_of(2)), (0, 100));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_stopped_while_it_beats_leaves() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let mut one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    assert_eq!(world.shares().await, [5, 5]);
    one.store.fail(Fault::Slow(millis(500)));
    one.it().node.hurry();
    pass(millis(100)).await;
    one.stop().await;
    assert_eq!(world.shares().await, [5]);
    pass(secs(3)).await;
    assert_eq!(two.it().node.view().members.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_restarted_alone_keeps_the_distance_of_all() {
    began();
    let gap = secs(2);
    // Known from the window, and where there is none.
    for windows in [hourly(1000), Windows::default()] {
        let world = World::new(gap, windows);
        let mut one = world.party(1).await;
        let _others = [world.party(2).await, world.party(3).await];
        pass(secs(10)).await;
        one.ask(1);
        pass(millis(100)).await;
        assert_eq!(world.calls_of(1), 1);
        one.kill().await;
        one.store.cut(true);
        one.start();
        assert_eq!(one.it().node.view().count(), 3);
        one.ask(2);
        pass(secs(60)).await;
        assert_eq!(world.calls_of(1), 3);
        assert!(world.closest() >= gap * 3, "{:?}", world.closest());
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_loses_everything_while_it_is_told_is_told_again() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let one = world.party(1).await;
    pass(secs(10)).await;
    one.ask(19);
    pass(secs(10)).await;
    assert_eq!(world.calls(), 19);
    world.store.flush();
    // It hears of the new epoch, and before it has said anything there is another one, begun by somebody new.
    one.store.fail(Fault::Slow(millis(500)));
    one.it().node.hurry();
    pass(millis(100)).await;
    world.store.flush();
    let two = world.party(2).await;
    pass(secs(10)).await;
    assert!(!one.is_alone() && !two.is_alone());
    assert_eq!(world.counted().await, 19);
    two.ask(10);
    pass(secs(60)).await;
    assert_eq!(world.calls_of(2), 0);
}

#[tokio::test(start_paused = true)]
async fn a_share_is_given_back_when_it_is_off_the_disk() {
    began();
    for fails in [false, true] {
        let world = World::new(Duration::ZERO, hourly(100));
        let mut one = world.absent(1);
        one.disk_fails = fails;
        one.start();
        pass(secs(10)).await;
        assert_eq!(world.shares().await, [5]);
        let kept = one.kept.clone();
        let watch = async {
            pass(millis(40)).await;
            // It is still on the disk, and so it is with the store.
            let shares = world.shares().await;
            assert_eq!((kept.lock().shares.len(), shares), (1, vec![5]));
        };
        futures_util::join!(one.stop(), watch);
        let (left, shares) = (usize::from(fails), world.shares().await.len());
        assert_eq!((kept.lock().shares.len(), shares), (left, left));
    }
}

#[tokio::test(start_paused = true)]
async fn an_emptied_store_hears_of_calls_to_an_upstream_that_was_removed() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    one.ask(60);
    pass(secs(10)).await;
    one.it().engine.remove_upstream(one.it().upstream);
    pass(secs(10)).await;
    world.store.flush();
    pass(secs(20)).await;
    two.ask(100);
    pass(secs(60)).await;
    assert!(world.most(secs(3600)) <= 100, "{}", world.most(secs(3600)));
    assert!(two.is_alone() || world.calls_of(2) > 20);
}
