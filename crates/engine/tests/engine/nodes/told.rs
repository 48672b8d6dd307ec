//! What one node is told holds for all: throttling, switches, limits, answers.

use super::*;

#[tokio::test(start_paused = true)]
async fn who_waits_for_another_nodes_call_says_so_and_who_gets_a_kept_answer_how_old_it_is() {
    began();
    let world = World::new(Duration::ZERO, Windows::default());
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    let search = |party: &Party| {
        let job = Job {
            claims: true,
            ..Job::new(party.it().upstream, INTERACTIVE)
        };
        let call = Noted {
            takes: secs(3),
            ..party.call(Some("debian"))
        };
        party.it().engine.submit(job, Arc::new(call))
    };
    let first = search(&one);
    pass(secs(1)).await;
    let joined = search(&two);
    assert_eq!(first.await, Ended::Finished(Outcome::Done));
    assert_eq!(joined.await, Ended::Answered);
    let records = |most| two.it().engine.records(two.it().upstream, |_| true, most);
    let told = records(10);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(matches!(told[0].what, What::Shared { .. }));
    assert_eq!(told[0].got, Some(Got::Fresh));
    assert!(
        matches!(
            told[1].what,
            What::Waits {
                reason: Wait::Claimed,
                ..
            }
        ),
        "{told:?}"
    );
    assert_eq!(told[1].cause.as_deref(), Some("node 1"));
    // Asked a while later, it is an old answer.
    pass(secs(30)).await;
    assert_eq!(search(&two).await, Ended::Answered);
    let told = records(1).remove(0);
    let What::Kept { by } = told.what else {
        panic!("{told:?}");
    };
    assert_eq!(two.it().engine.asker_name(by).as_deref(), Some("node 1"));
    let Some(Got::Cached { age }) = told.got else {
        panic!("{told:?}");
    };
    assert!(age >= secs(30) && age < secs(33), "{age:?}");
    let counters = two.it().engine.status().counters;
    assert_eq!((counters.shared, counters.from_memory), (1, 1));
    assert_eq!(world.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_one_node_is_told_holds_for_all() {
    began();
    let world = World::new(Duration::ZERO, hourly(1000));
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    let throttled = Noted {
        outcome: Outcome::Throttled {
            retry_after: Some(secs(600)),
        },
        ..one.call(None)
    };
    let job = Job::new(one.it().upstream, COMPLETION);
    one.it().engine.submit_detached(job, Arc::new(throttled));
    pass(secs(1)).await;
    // Heard when it asks, and by one that asks nothing too.
    two.ask(1);
    pass(secs(1)).await;
    let view = two.it().engine.upstream(two.it().upstream).expect("there");
    assert!(
        matches!(view.status.state, Availability::Cooldown { .. }),
        "{:?}",
        view.status.state
    );
    let reason = view.trouble.expect("it is told why").reason;
    assert!(reason.contains("node 1"), "{reason}");
    assert_eq!(world.calls(), 1);
    let three = world.party(3).await;
    pass(secs(30)).await;
    let view = three
        .it()
        .engine
        .upstream(three.it().upstream)
        .expect("there");
    assert!(matches!(view.status.state, Availability::Cooldown { .. }));
    pass(secs(600)).await;
    assert_eq!(world.calls(), 2, "the job that waited was made");
}

#[tokio::test(start_paused = true)]
async fn off_here_is_off_everywhere_and_on_again() {
    began();
    let world = World::new(Duration::ZERO, hourly(1000));
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    let state = |party: &Party| {
        let view = party.it().engine.upstream(party.it().upstream);
        view.expect("there").status.state
    };
    one.it()
        .engine
        .switch_off(one.it().upstream, "it moves", "Ada");
    pass(secs(20)).await;
    assert_eq!(state(&two), Availability::Off);
    let off = two
        .it()
        .engine
        .upstream(two.it().upstream)
        .expect("there")
        .off;
    let off = off.expect("it is told who");
    assert!(
        off.who.contains("Ada") && off.who.contains("node 1"),
        "{}",
        off.who
    );
    two.it().engine.switch_on(two.it().upstream, "me");
    pass(secs(20)).await;
    assert_ne!(state(&one), Availability::Off);
}

#[tokio::test(start_paused = true)]
async fn what_was_switched_on_meanwhile_stays_on() {
    began();
    let world = World::new(Duration::ZERO, hourly(1000));
    let mut one = world.party(1).await;
    let mut two = world.party(2).await;
    pass(secs(10)).await;
    let off = |party: &Party| {
        let view = party.it().engine.upstream(party.it().upstream);
        view.expect("there").off
    };
    let switched = one.it().node.timeline().now();
    one.it()
        .engine
        .switch_off(one.it().upstream, "it moves", "Ada");
    pass(secs(3600)).await;
    // Heard with the time at which it happened.
    let heard = off(&two).expect("it is off");
    assert_eq!((&*heard.who, &*heard.reason), ("Ada on node 1", "it moves"));
    let ago = heard.at.until(two.it().node.timeline().now());
    assert!(ago > secs(3598) && ago < secs(3602), "{ago:?}");
    assert!(switched.until(one.it().node.timeline().now()) >= secs(3600));
    // Told with who and where.
    let off_record = |record: &Record| record.what == What::SwitchedOff;
    let engine = &two.it().engine;
    let records = engine.records(two.it().upstream, off_record, 10);
    let by = engine.asker_name(records[0].asker);
    assert_eq!(by.as_deref(), Some("Ada on node 1"));
    one.kill().await;
    two.it().engine.switch_on(two.it().upstream, "me");
    pass(secs(20)).await;
    one.start();
    pass(secs(30)).await;
    assert_eq!((off(&one), off(&two)), (None, None));
    // The other way round, and with a store that lost everything, and nodes that were started anew.
    one.it()
        .engine
        .switch_off(one.it().upstream, "it moves again", "Ada");
    pass(secs(20)).await;
    assert!(off(&two).is_some());
    one.kill().await;
    two.it().engine.switch_on(two.it().upstream, "me");
    pass(secs(20)).await;
    world.store.restart_empty();
    two.kill().await;
    two.start();
    pass(secs(30)).await;
    one.start();
    pass(secs(60)).await;
    assert_eq!((off(&one), off(&two)), (None, None));
    // What was switched off later, while it was alone, counts.
    one.store.cut(true);
    pass(secs(10)).await;
    one.it()
        .engine
        .switch_off(one.it().upstream, "for good", "Ada");
    pass(secs(10)).await;
    world.store.restart_empty();
    one.store.cut(false);
    pass(secs(60)).await;
    assert!(off(&one).is_some() && off(&two).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_one_node_learns_holds_for_all() {
    began();
    let world = World::new(Duration::ZERO, Windows::default());
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    let usage = Usage {
        budget: Budget::Query,
        window: Window::HOUR,
        limit: 40,
        used: Some(30),
    };
    one.it().engine.observe(one.it().upstream, usage);
    // Who asks nothing hears of it all the same.
    pass(secs(20)).await;
    one.ask(30);
    pass(secs(60)).await;
    two.ask(30);
    pass(secs(60)).await;
    // Ten are left, of which each node has two for when it is alone.
    assert_eq!(world.calls(), 6);
}

#[tokio::test(start_paused = true)]
async fn who_was_away_does_not_undo_what_the_others_were_told_meanwhile() {
    began();
    // Nor where the store has lost everything, and is told by all.
    for flushed in [false, true] {
        let world = World::new(
            Duration::ZERO,
            Windows::from([(Window::of_seconds(60), 1000)]),
        );
        let one = world.party(1).await;
        let two = world.party(2).await;
        let three = world.party(3).await;
        pass(secs(20)).await;
        one.store.cut(true);
        pass(secs(3)).await;
        assert!(one.is_alone());
        let limit = |limit| Usage {
            budget: Budget::Query,
            window: Window::HOUR,
            limit,
            used: None,
        };
        one.it().engine.clear(one.it().upstream, "me");
        one.it().engine.observe(one.it().upstream, limit(1000));
        pass(secs(10)).await;
        let throttled = Noted {
            outcome: Outcome::Throttled {
                retry_after: Some(secs(600)),
            },
            ..two.call(None)
        };
        let job = Job::new(two.it().upstream, COMPLETION);
        two.it().engine.submit_detached(job, Arc::new(throttled));
        two.it().engine.observe(two.it().upstream, limit(100));
        pass(secs(5)).await;
        if flushed {
            world.store.flush();
            two.it().node.hurry();
            three.it().node.hurry();
            pass(millis(100)).await;
        }
        one.store.cut(false);
        pass(millis(700)).await;
        assert!(!one.is_alone());
        let row = async || {
            let rows = world.store.rows(vec![world.key()]).await;
            rows.expect("it answers").remove(0)
        };
        assert!(row().await.throttled.is_some());
        assert_eq!(row().await.limits[0].limit, 100);
        pass(secs(30)).await;
        assert_eq!(row().await.limits[0].limit, 100);
        three.ask(1);
        pass(secs(30)).await;
        assert_eq!(world.calls(), 1);
        // Cleared once more, by somebody who knows all of this, it is called again.
        one.it().engine.clear(one.it().upstream, "me");
        two.it().engine.clear(two.it().upstream, "me");
        three.it().engine.clear(three.it().upstream, "me");
        pass(secs(30)).await;
        assert_eq!(world.calls(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn limits_that_differ_between_nodes_are_told() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let one = world.party(1).await;
    let mut other = world.clone();
    other.quota.query = hourly(200);
    let two = other.party(2).await;
    let differing = |party: &Party| {
        let seen = party.it().engine.shared_use(party.it().upstream);
        seen.expect("it was read").differing
    };
    pass(secs(40)).await;
    let said = |here, there, node: &str| DifferingLimit {
        budget: Budget::Query,
        window: Window::HOUR,
        here: Some(here),
        there: Some(there),
        node: node.into(),
    };
    assert_eq!(differing(&one), [said(100, 200, "node 2")]);
    assert_eq!(differing(&two), [said(200, 100, "node 1")]);
    // Each keeps to its own; the same everywhere is nothing to tell.
    let same = world.quota.clone();
    two.it().engine.set_quota(two.it().upstream, same);
    pass(secs(40)).await;
    assert_eq!((differing(&one), differing(&two)), (vec![], vec![]));
}
