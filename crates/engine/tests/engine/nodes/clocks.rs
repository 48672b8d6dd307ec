//! Clocks that jump or were set back, and machines that sleep.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_store_whose_clock_jumps_ahead_is_told_how_long_ago_everything_was() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    one.ask(45);
    two.ask(45);
    pass(secs(20)).await;
    assert_eq!(world.calls(), 90);
    let ahead = world.store.time().after(secs(2 * 3600));
    world.store.follow_tokio_time(ahead);
    for _ in 0..30 {
        one.ask(10);
        two.ask(10);
        pass(millis(500)).await;
    }
    pass(secs(60)).await;
    assert!(!one.is_alone() && !two.is_alone());
    assert!(world.most(secs(3600)) <= 100, "{}", world.most(secs(3600)));
    pass(secs(3600)).await;
    assert!(world.calls() > 120, "{}", world.calls());
    assert!(world.most(secs(3600)) <= 100, "{}", world.most(secs(3600)));
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_slept_does_not_take_it_for_a_jump_of_the_clock() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let one = world.party(1).await;
    pass(secs(10)).await;
    let epoch = one.it().node.epoch();
    sleep(&world, secs(600));
    pass(secs(5)).await;
    let view = one.it().node.view();
    assert_eq!((view.returns, one.it().node.epoch()), (1, epoch));
    // A jump is one all the same.
    sleep(&world, secs(600));
    world
        .store
        .follow_tokio_time(world.store.time().after(secs(60)));
    pass(secs(5)).await;
    let view = one.it().node.view();
    assert_eq!(view.returns, 2);
    assert_ne!(one.it().node.epoch(), epoch);
}

#[tokio::test(start_paused = true)]
async fn what_was_granted_before_a_machine_slept_is_not_used_after() {
    began();
    let window = Windows::from([(Window::of_seconds(60), 1)]);
    let world = World::new(Duration::ZERO, window);
    let one = world.party(1).await;
    pass(secs(10)).await;
    one.store.fail(Fault::Slow(millis(500)));
    one.ask(1);
    pass(millis(100)).await;
    sleep(&world, secs(55));
    pass(secs(1)).await;
    assert_eq!(world.calls(), 1);
    // What the store counts is the second grant.
    let rows = world.store.rows(vec![world.key()]).await;
    let starts = rows.expect("it answers").remove(0).starts;
    let ages: Vec<_> = starts
        .iter()
        .map(|start| start.1.until(world.store.time()))
        .collect();
    assert!(ages.len() == 1 && ages[0] < secs(2), "{ages:?}");
}

#[tokio::test(start_paused = true)]
async fn a_share_ends_also_where_its_machine_sleeps() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let one = world.party(1).await;
    pass(secs(10)).await;
    one.store.cut(true);
    pass(secs(3)).await;
    sleep(&world, secs(22 * 3600));
    one.ask(1);
    pass(secs(10)).await;
    assert_eq!(world.calls(), 1);
    sleep(&world, secs(3600));
    one.ask(1);
    pass(secs(10)).await;
    assert_eq!(world.calls(), 1);
    // Nor does an emptied store hear of one.
    world.store.flush();
    one.store.cut(false);
    pass(millis(600)).await;
    assert!(!one.is_alone());
    assert!(world.shares().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_clock_of_the_store_that_was_set_back_is_told_with_what_to_do() {
    began();
    weir_testkit::log::listen();
    let world = World::new(Duration::ZERO, hourly(20));
    let one = world.party(1).await;
    let trouble = || one.it().node.store_trouble().map(|it| it.to_string());
    pass(secs(10)).await;
    assert_eq!(trouble(), None);
    let now = world.store.time();
    world.store.follow_tokio_time(now.before(secs(20)));
    pass(secs(5)).await;
    let told = trouble().expect("it is told");
    assert_eq!(
        told,
        "The store's clock was set back. Shared limits and waits do not end until it reaches the time that it showed before. \
         If the clock is wrong now, set it right (with NTP, for example); otherwise wait."
    );
    let log = weir_testkit::log::all();
    let mut lines = log.lines().filter(|line| line.contains(&told));
    assert!(lines.any(|line| line.contains("WARN")), "{log}");
    pass(secs(20)).await;
    assert_eq!(trouble(), None);
    assert_eq!(one.it().node.view().returns, 1);
}

#[tokio::test(start_paused = true)]
async fn of_a_store_that_is_away_nothing_is_told_about_its_clock() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let one = world.party(1).await;
    let trouble = || one.it().node.store_trouble();
    pass(secs(10)).await;
    let now = world.store.time();
    world.store.follow_tokio_time(now.before(secs(60)));
    pass(secs(5)).await;
    let before = trouble();
    assert!(before.is_some());
    one.store.cut(true);
    pass(secs(5)).await;
    assert!(one.it().node.is_alone());
    assert_eq!(trouble(), None);
    one.store.cut(false);
    pass(secs(2)).await;
    assert!(!one.it().node.is_alone());
    assert_eq!(trouble(), before, "it was set back still");
}
