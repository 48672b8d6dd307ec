//! What an upstream allows, and what it told.

use super::*;

pub(in crate::shared) async fn a_window_holds_for_all_nodes_together(stage: &dyn Stage) {
    join(stage, &[1, 2]).await;
    let limit = [(MINUTE, 3)];
    for (node, number) in [(1, 1), (2, 1), (2, 2)] {
        let now = stage.time();
        let store = stage.node(0);
        let answer = store.ask(ask(stage, id(node, number), &limit));
        assert_eq!(answer.await.unwrap(), Answer::Granted(Grant { at: now }));
        stage.advance(secs(10));
    }
    let refusal = refused(&*stage.node(1), ask(stage, id(1, 2), &limit)).await;
    // Used within two seconds, the first one counts for so much longer.
    assert_eq!(refusal, (secs(32), full(MINUTE, 3, 3)));
    // Another upstream and another budget have windows of their own.
    for other in [(OTHER, QUERY), (UP, Ledger::Grab)] {
        let mut ask = ask(stage, id(1, 3), &limit);
        (ask.upstream, ask.ledger) = other;
        assert!(granted(&*stage.node(1), ask).await);
    }
    stage.advance(Duration::from_millis(31_999));
    let refusal = refused(&*stage.node(1), ask(stage, id(1, 4), &limit)).await;
    assert_eq!(refusal.0, Duration::from_millis(1));
    stage.advance(Duration::from_millis(1));
    assert!(granted(&*stage.node(1), ask(stage, id(1, 5), &limit)).await);
    let refusal = refused(&*stage.node(2), ask(stage, id(2, 5), &limit)).await;
    assert_eq!(refusal, (secs(10), full(MINUTE, 3, 3)));
    // A node with a lower limit waits for more to end.
    let refusal = refused(&*stage.node(2), ask(stage, id(2, 6), &[(MINUTE, 1)])).await;
    assert_eq!(refusal, (secs(62), full(MINUTE, 3, 1)));

    let row = &stage.node(0).rows(vec![UP, OTHER]).await.unwrap();
    let starts: Vec<_> = row[0].starts.iter().map(|(id, ..)| *id).collect();
    assert_eq!(starts, [id(2, 1), id(2, 2), id(1, 3), id(1, 5)]);
    assert_eq!(row[1].starts.len(), 1);
}

pub(in crate::shared) async fn each_of_several_windows_holds(stage: &dyn Stage) {
    join(stage, &[1]).await;
    let limits = [(MINUTE, 2), (HOUR, 4)];
    assert_eq!(count_granted(stage, 1, 0, 3, &limits).await, 2);
    stage.advance(secs(62));
    assert_eq!(count_granted(stage, 1, 10, 3, &limits).await, 2);
    // Both are full: the longer wait is told.
    let refusal = refused(&*stage.node(0), ask(stage, id(1, 20), &limits)).await;
    assert_eq!(refusal, (secs(3602 - 62), full(HOUR, 4, 4)));
    stage.advance(secs(3602 - 62));
    assert_eq!(count_granted(stage, 1, 30, 3, &limits).await, 2);
}

pub(in crate::shared) async fn a_day_ends_at_its_hour(stage: &dyn Stage) {
    join(stage, &[1]).await;
    let day = 86_400_000;
    // Three in the morning, an hour away.
    stage.advance(Duration::from_millis(day - stage.time().0 % day) + secs(2 * 3600));
    let limits = [(DAY, 2)];
    let ask = |number, limits: &[(Window, u32)]| Ask {
        day_begins: Some(3 * 3600),
        ..ask(stage, id(1, number), limits)
    };
    let store = stage.node(0);
    assert!(granted(&*store, ask(1, &limits)).await);
    stage.advance(secs(3599));
    assert!(granted(&*store, ask(2, &limits)).await);
    let refusal = refused(&*store, ask(3, &limits)).await;
    assert_eq!(refusal, (secs(1), full(DAY, 2, 2)));
    stage.advance(secs(1));
    // The first one is of another day; the second may just be used now.
    assert!(granted(&*store, ask(4, &limits)).await);
    let refusal = refused(&*store, ask(5, &limits)).await;
    assert_eq!(refusal, (secs(86_400), full(DAY, 2, 2)));
    // The hour is that of the day's window alone, and a sliding one does not end with it.
    let refusal = refused(&*store, ask(6, &[(Window(7200), 3)])).await;
    assert_eq!(refusal.1, full(Window(7200), 3, 3));
}

pub(in crate::shared) async fn a_repeat_gets_the_same_answer_and_a_late_ask_changes_nothing(
    stage: &dyn Stage,
) {
    join(stage, &[1]).await;
    let limit = [(MINUTE, 2)];
    let store = stage.node(0);
    let first = ask(stage, id(1, 1), &limit);
    let answer = store.ask(first.clone()).await.unwrap();
    stage.advance(Duration::from_millis(700));
    assert_eq!(store.ask(first.clone()).await.unwrap(), answer);
    let second = ask(stage, id(1, 2), &limit);
    stage.advance(Duration::from_millis(1001));
    let now = stage.time();
    assert_eq!(store.ask(second).await.unwrap(), Answer::Late { now });
    assert_eq!(store.ask(first).await.unwrap(), answer);
    let row = store.rows(vec![UP]).await.unwrap().remove(0);
    assert_eq!(row.starts.len(), 1);
    // Not used, it counts no longer.
    let now = store.tell(UP, vec![Told::Unused(id(1, 1)), Told::Unused(id(9, 9))]);
    assert_eq!(now.await.unwrap(), stage.time());
    assert_eq!(count_granted(stage, 1, 10, 3, &limit).await, 2);
}

pub(in crate::shared) async fn the_gap_is_kept_by_all(stage: &dyn Stage) {
    join(stage, &[1, 2]).await;
    let store = stage.node(0);
    let spaced = |node, number, gap| Ask {
        gap: Some(gap),
        ..ask(stage, id(node, number), &[])
    };
    assert!(granted(&*store, spaced(1, 1, secs(5))).await);
    stage.advance(secs(2));
    let refusal = refused(&*store, spaced(2, 1, secs(5))).await;
    assert_eq!(refusal, (secs(3), Refusal::Gap));
    assert!(granted(&*store, spaced(2, 2, secs(2))).await);
    // No gap: neither waits for the clock nor starts it.
    stage.advance(secs(1));
    assert!(granted(&*store, ask(stage, id(1, 2), &[])).await);
    let refusal = refused(&*store, spaced(1, 3, secs(4))).await;
    assert_eq!(refusal, (secs(3), Refusal::Gap));
    // One that was not used starts no clock either.
    let told = vec![Told::Unused(id(2, 2))];
    store.tell(UP, told).await.unwrap();
    let refusal = refused(&*store, spaced(1, 4, secs(4))).await;
    assert_eq!(refusal, (secs(1), Refusal::Gap));
    let probe = Told::Started {
        id: id(2, 7),
        ledger: QUERY,
        age: secs(1),
        spaced: true,
    };
    store.tell(UP, vec![probe]).await.unwrap();
    let refusal = refused(&*store, spaced(1, 5, secs(4))).await;
    assert_eq!(refusal, (secs(3), Refusal::Gap));
    let row = store.rows(vec![UP]).await.unwrap().remove(0);
    let second_ago = StoreTime(stage.time().0 - 1000);
    assert_eq!(row.last_start, Some(second_ago));
    // Granted, and made a while later: it is one start, and the clock starts when it was made.
    stage.advance(secs(5));
    assert!(granted(&*store, spaced(1, 6, secs(2))).await);
    stage.advance(secs(1));
    let made = Told::Started {
        id: id(1, 6),
        ledger: QUERY,
        age: Duration::ZERO,
        spaced: true,
    };
    store.tell(UP, vec![made]).await.unwrap();
    let refusal = refused(&*store, spaced(2, 6, secs(2))).await;
    assert_eq!(refusal, (secs(2), Refusal::Gap));
    // What was before it is not forgotten.
    let unused = vec![Told::Unused(id(1, 6))];
    store.tell(UP, unused).await.unwrap();
    let row = store.rows(vec![UP]).await.unwrap().remove(0);
    let earlier = StoreTime(stage.time().0 - 7000);
    assert_eq!(row.last_start, Some(earlier));
}

pub(in crate::shared) async fn what_an_upstream_told_is_kept_to(stage: &dyn Stage) {
    join(stage, &[1, 2]).await;
    let store = stage.node(0);
    assert_eq!(count_granted(stage, 1, 0, 2, &[(HOUR, 100)]).await, 2);
    let told = ToldLimit {
        ledger: QUERY,
        window: HOUR,
        limit: 10,
        used: Some(7),
        at: stage.time(),
    };
    store.tell(UP, vec![Told::Limit(told)]).await.unwrap();
    let row = store.rows(vec![UP]).await.unwrap().remove(0);
    assert_eq!(row.limits, [told]);
    let counted = Counted {
        ledger: QUERY,
        window: HOUR,
        starts: 5,
        at: stage.time(),
    };
    assert_eq!(row.counted, [counted]);
    // Told again, nothing is counted again.
    store.tell(UP, vec![Told::Limit(told)]).await.unwrap();
    stage.advance(secs(60));
    assert_eq!(count_granted(stage, 2, 0, 5, &[(MINUTE, 50)]).await, 3);
    let refusal = refused(&*store, ask(stage, id(1, 50), &[])).await;
    assert_eq!(refusal, (secs(3602 - 60), full(HOUR, 10, 10)));
    // Where the node has a limit of its own for that length, it is the node's.
    let refusal = refused(&*store, ask(stage, id(1, 51), &[(HOUR, 4)])).await;
    assert_eq!(refusal.1, full(HOUR, 10, 4));
    let answer = ask(stage, id(1, 52), &[(HOUR, 11)]);
    assert!(granted(&*store, answer).await);
    // Nobody can make the store count more than there is.
    let much = ToldLimit {
        window: MINUTE,
        limit: 20,
        used: Some(u32::MAX),
        ..told
    };
    store.tell(UP, vec![Told::Limit(much)]).await.unwrap();
    let refusal = refused(&*store, ask(stage, id(1, 53), &[(HOUR, 100)])).await;
    // The two of a minute ago end first.
    assert_eq!(refusal, (secs(2), full(MINUTE, 20, 20)));

    let throttled = |seconds, reason: &str| Told::Throttled {
        span: secs(seconds),
        by: NodeId(2),
        reason: reason.into(),
        at: stage.time(),
    };
    let told = vec![throttled(7200, "slow down"), throttled(10, "shorter")];
    store.tell(UP, told).await.unwrap();
    let reason = Refusal::Throttled {
        by: NodeId(2),
        reason: "slow down".into(),
    };
    let refusal = refused(&*store, ask(stage, id(1, 54), &[])).await;
    assert_eq!(refusal, (secs(7200), reason));
    let row = store.rows(vec![UP]).await.unwrap().remove(0);
    let until = stage.time().after(secs(7200));
    assert_eq!(
        row.throttled,
        Some((until, NodeId(2), "slow down".to_owned()))
    );
    stage.advance(secs(7200));
    assert!(granted(&*store, ask(stage, id(1, 55), &[])).await);
    let row = store.rows(vec![UP]).await.unwrap().remove(0);
    assert_eq!(row.throttled, None);
}

pub(in crate::shared) async fn off_and_cleared(stage: &dyn Stage) {
    join(stage, &[1]).await;
    let store = stage.node(0);
    let off = Switched {
        off: true,
        node: NodeId(1),
        by: "anna".into(),
        reason: "moving: \"new\"\r\nhouse, \u{e9}".into(),
        at: stage.time(),
    };
    let limit = ToldLimit {
        ledger: QUERY,
        window: HOUR,
        limit: 1,
        used: Some(1),
        at: stage.time(),
    };
    let throttled = Told::Throttled {
        span: secs(60),
        by: NodeId(1),
        reason: String::new(),
        at: stage.time(),
    };
    let told = vec![
        Told::Switched(off.clone()),
        Told::Limit(limit),
        throttled.clone(),
    ];
    store.tell(UP, told).await.unwrap();
    let refusal = refused(&*store, ask(stage, id(1, 1), &[])).await;
    assert_eq!(refusal.1, Refusal::Off(off.clone()));
    let row = store.rows(vec![UP]).await.unwrap().remove(0);
    assert_eq!(row.switched, Some(off.clone()));
    // What happened before changes nothing, whenever it is heard of; what happened later does.
    let on = |at| Switched {
        off: false,
        node: NodeId(2),
        by: "bert".into(),
        reason: String::new(),
        at,
    };
    let earlier = Told::Switched(on(StoreTime(off.at.0 - 1)));
    store.tell(UP, vec![earlier]).await.unwrap();
    let row = store.rows(vec![UP]).await.unwrap().remove(0);
    assert_eq!(row.switched, Some(off.clone()));
    // Nothing happens later than it is heard of.
    let later = Told::Switched(on(stage.time().after(secs(60))));
    let again = Told::Switched(Switched {
        at: StoreTime(off.at.0 - 1),
        ..off.clone()
    });
    store.tell(UP, vec![later, again]).await.unwrap();
    let row = store.rows(vec![UP]).await.unwrap().remove(0);
    assert_eq!(row.switched, Some(on(stage.time())));
    let refusal = refused(&*store, ask(stage, id(1, 2), &[])).await;
    assert_eq!(refusal.1, full(HOUR, 1, 1));
    let cleared = Told::Cleared(stage.time());
    store.tell(UP, vec![cleared]).await.unwrap();
    assert!(granted(&*store, ask(stage, id(1, 3), &[])).await);
    // What was counted stays counted.
    let refusal = refused(&*store, ask(stage, id(1, 4), &[(HOUR, 2)])).await;
    assert_eq!(refusal.1, full(HOUR, 2, 2));
}

pub(in crate::shared) async fn what_is_told_late_changes_nothing_that_is_newer(stage: &dyn Stage) {
    join(stage, &[1]).await;
    let store = stage.node(0);
    let limit = |limit, used, at| ToldLimit {
        ledger: QUERY,
        window: DAY,
        limit,
        used,
        at,
    };
    let throttled = |seconds, at| Told::Throttled {
        span: secs(seconds),
        by: NodeId(2),
        reason: "slow down".into(),
        at,
    };
    let row = async || store.rows(vec![UP]).await.unwrap().remove(0);
    let before = stage.time();
    stage.advance(secs(600));
    // Who was away then cleared it before it said anything.
    let (at, learned) = (stage.time(), limit(100, Some(7), stage.time()));
    let told = vec![throttled(3600, at), Told::Limit(learned)];
    store.tell(UP, told).await.unwrap();
    let late = vec![
        Told::Cleared(before),
        Told::Limit(limit(1000, Some(900), before)),
    ];
    store.tell(UP, late).await.unwrap();
    let until = at.after(secs(3600));
    let known = row().await;
    assert_eq!(known.throttled.map(|(until, ..)| until), Some(until));
    assert_eq!(known.limits, [learned]);
    assert_eq!(known.counted.iter().map(|lump| lump.starts).sum::<u32>(), 7);
    let refusal = refused(&*store, ask(stage, id(1, 1), &[])).await;
    assert_eq!(refusal.0, secs(3600));
    // Nor does what is handed in, which says nothing about what was used.
    let epoch = store.beat(beat(1, &[])).await.unwrap().epoch;
    let hand_in = |limit| HandIn {
        node: NodeId(1),
        epoch,
        limits: vec![(UP, limit)],
        ..HandIn::default()
    };
    for at in [before, at, StoreTime::default()] {
        store.hand_in(hand_in(limit(1000, None, at))).await.unwrap();
    }
    assert_eq!(row().await.limits, [learned]);
    stage.advance(secs(60));
    // What is newer does; nodes know the store's clock only so well.
    let newer = limit(50, None, stage.time());
    store.hand_in(hand_in(newer)).await.unwrap();
    assert_eq!(row().await.limits, [newer]);
    let same = limit(60, None, StoreTime(newer.at.0 - 900));
    store.tell(UP, vec![Told::Limit(same)]).await.unwrap();
    assert_eq!(row().await.limits, [same]);
    store
        .tell(UP, vec![Told::Cleared(stage.time())])
        .await
        .unwrap();
    let known = row().await;
    assert_eq!((known.throttled, known.limits), (None, vec![]));
    // What was said before that is forgotten, whoever still tells it.
    let late = vec![throttled(7200, at), Told::Limit(limit(9, None, at))];
    store.tell(UP, late).await.unwrap();
    let known = row().await;
    assert_eq!((known.throttled, known.limits), (None, vec![]));
    let told = vec![throttled(60, stage.time())];
    store.tell(UP, told).await.unwrap();
    assert!(row().await.throttled.is_some());
}

pub(in crate::shared) async fn starts_told_count_once(stage: &dyn Stage) {
    join(stage, &[1, 2]).await;
    let store = stage.node(0);
    let told = vec![
        started(id(2, 1), secs(50)),
        started(id(2, 2), secs(3000)),
        started(id(2, 1), secs(50)),
    ];
    for _ in 0..2 {
        store.tell(UP, told.clone()).await.unwrap();
    }
    let refusal = refused(&*store, ask(stage, id(1, 1), &[(HOUR, 2)])).await;
    assert_eq!(refusal, (secs(602), full(HOUR, 2, 2)));
    let refusal = refused(&*store, ask(stage, id(1, 1), &[(MINUTE, 1)])).await;
    assert_eq!(refusal, (secs(12), full(MINUTE, 1, 1)));
    // A start that a window of a day counts is not forgotten by a store that has seen no such window yet.
    let told = vec![started(id(2, 3), secs(20 * 3600))];
    store.tell(OTHER, told).await.unwrap();
    let other = |number, windows: &[(Window, u32)]| Ask {
        upstream: OTHER,
        ..ask(stage, id(1, number), windows)
    };
    assert!(granted(&*store, other(5, &[])).await);
    let refusal = refused(&*store, other(6, &[(DAY, 2)])).await;
    assert_eq!(refusal, (secs(4 * 3600 + 2), full(DAY, 2, 2)));
}

pub(in crate::shared) async fn what_is_only_counted_is_merged_and_not_forgotten(stage: &dyn Stage) {
    join(stage, &[1]).await;
    let store = stage.node(0);
    for used in 1..=40 {
        let told = ToldLimit {
            ledger: QUERY,
            window: HOUR,
            limit: 100,
            used: Some(used),
            at: stage.time(),
        };
        store.tell(UP, vec![Told::Limit(told)]).await.unwrap();
        stage.advance(secs(1));
    }
    let row = store.rows(vec![UP]).await.unwrap().remove(0);
    assert_eq!(row.counted.len(), MOST_COUNTED);
    assert_eq!(row.counted.iter().map(|lump| lump.starts).sum::<u32>(), 40);
    // Of those that became one, each counts at least as long as it would have.
    stage.advance(secs(3562));
    let row = store.rows(vec![UP]).await.unwrap().remove(0);
    let left: u32 = row.counted.iter().map(|lump| lump.starts).sum();
    assert_eq!(left, 40);
    stage.advance(secs(40));
    let row = store.rows(vec![UP]).await.unwrap().remove(0);
    assert_eq!(row.counted, []);
}
