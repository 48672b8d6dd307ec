//! Stores that lost something.

use super::*;

pub(in crate::shared) async fn a_new_store_waits_for_everybody(stage: &dyn Stage) {
    let store = stage.node(0);
    let limit = [(MINUTE, 10)];
    // Nobody has said anything yet.
    let refusal = refused(&*store, ask(stage, id(1, 1), &limit)).await;
    assert_eq!(refusal, (secs(1), Refusal::HandingIn));
    let pulse = store.beat(beat(1, &[])).await.unwrap();
    assert_eq!(pulse.epoch, beat(1, &[]).new_epoch);
    assert_eq!((pulse.now, pulse.missing), (stage.time(), nodes(&[1])));
    // Whoever comes now may know something as well.
    let pulse = store.beat(beat(2, &[])).await.unwrap();
    assert_eq!(pulse.missing, nodes(&[1, 2]));
    let hand_in = |node, known: &[u64]| HandIn {
        node: NodeId(node),
        epoch: pulse.epoch,
        known: nodes(known),
        ..HandIn::default()
    };
    let second = store.hand_in(hand_in(1, &[2, 3])).await.unwrap();
    assert_eq!(
        (second.epoch, second.missing),
        (pulse.epoch, nodes(&[2, 3]))
    );
    let refusal = refused(&*store, ask(stage, id(1, 1), &limit)).await;
    assert_eq!(refusal.1, Refusal::HandingIn);
    store.hand_in(hand_in(2, &[1])).await.unwrap();
    let wrong = HandIn {
        epoch: Epoch(7),
        ..hand_in(3, &[])
    };
    let third = store.hand_in(wrong).await.unwrap();
    assert_eq!(third.missing, nodes(&[3]));
    let refusal = refused(&*store, ask(stage, id(1, 1), &limit)).await;
    assert_eq!(refusal.1, Refusal::HandingIn);
    let last = store.hand_in(hand_in(3, &[1, 2])).await.unwrap();
    assert_eq!(last.missing, []);
    // All that are known have said what they know. Somebody may be there whom nobody knows.
    stage.advance(secs(4));
    let refusal = refused(&*store, ask(stage, id(1, 1), &limit)).await;
    assert_eq!(refusal, (secs(1), Refusal::HandingIn));
    let pulse = store.beat(beat(1, &[wish(MINUTE, 100)])).await.unwrap();
    assert_eq!(pulse.shares, []);
    stage.advance(secs(1));
    assert!(granted(&*store, ask(stage, id(1, 1), &limit)).await);
    // One who comes later is not waited for.
    let pulse = store.beat(beat(4, &[])).await.unwrap();
    assert_eq!(pulse.missing, []);
    for node in [1, 2] {
        store.beat(beat(node, &[])).await.unwrap();
    }
    assert!(granted(&*store, ask(stage, id(4, 1), &limit)).await);
}

pub(in crate::shared) async fn an_empty_store_takes_windows_for_full_without_the_missing(
    stage: &dyn Stage,
) {
    join(stage, &[1, 2]).await;
    let before = stage.node(0).beat(beat(1, &[])).await.unwrap().epoch;
    stage.restart_empty().await;
    stage.advance(secs(5));
    let store = stage.node(0);
    let mut again = beat(1, &[]);
    again.new_epoch = Epoch(77);
    let pulse = store.beat(again).await.unwrap();
    assert_eq!(pulse.epoch, Epoch(77));
    assert_ne!(pulse.epoch, before);
    let mine = HandIn {
        node: NodeId(1),
        epoch: pulse.epoch,
        known: nodes(&[1, 2]),
        starts: vec![handed(id(1, 1), secs(30)), handed(id(1, 1), secs(30))],
        ..HandIn::default()
    };
    let pulse = store.hand_in(mine).await.unwrap();
    assert_eq!(pulse.missing, nodes(&[2]));
    let limits = [(MINUTE, 10)];
    stage.advance(secs(9));
    let refusal = refused(&*store, ask(stage, id(1, 2), &limits)).await;
    assert_eq!(refusal, (secs(1), Refusal::HandingIn));
    stage.advance(secs(1));
    // Ten seconds are over, and nobody knows what the other one did in the last minute.
    let refusal = refused(&*store, ask(stage, id(1, 2), &limits)).await;
    assert_eq!(refusal, (secs(30), Refusal::HandingIn));
    stage.advance(secs(50));
    let refusal = refused(&*store, ask(stage, id(1, 2), &[(MINUTE, 10), (HOUR, 100)])).await;
    assert_eq!(refusal, (secs(30), Refusal::HandingIn));
    stage.advance(secs(2));
    assert!(granted(&*store, ask(stage, id(1, 3), &limits)).await);
    // Back, it tells what it did: from now on the hour is known too.
    let mine = HandIn {
        node: NodeId(2),
        epoch: pulse.epoch,
        starts: vec![handed(id(2, 1), secs(600))],
        ..HandIn::default()
    };
    let pulse = store.hand_in(mine).await.unwrap();
    assert_eq!(pulse.missing, []);
    assert_eq!(
        count_granted(stage, 1, 100, 100, &[(HOUR, 50)]).await,
        50 - 3
    );
}

pub(in crate::shared) async fn a_missing_member_is_allowed_its_share(stage: &dyn Stage) {
    let wishes = [wish(MINUTE, 100)];
    join_with(stage, 1, &wishes).await;
    join_with(stage, 2, &wishes).await;
    stage.restart_empty().await;
    let store = stage.node(0);
    let pulse = store.beat(beat(1, &wishes)).await.unwrap();
    // It has yet to hand in, so nothing is decided about its shares.
    assert_eq!(pulse.shares, []);
    let mine = HandIn {
        node: NodeId(1),
        epoch: pulse.epoch,
        known: nodes(&[1, 2]),
        shares: vec![share(MINUTE, 5)],
        ..HandIn::default()
    };
    let pulse = store.hand_in(mine.clone()).await.unwrap();
    assert_eq!(pulse.shares, [share(MINUTE, 5)]);
    stage.advance(secs(62));
    // The second one may be alone somewhere and spend five in a minute.
    assert_eq!(count_granted(stage, 1, 0, 100, &[(MINUTE, 100)]).await, 90);
    // No new share on such ground beyond half.
    stage.advance(secs(23 * 3600));
    assert_eq!(
        count_granted(stage, 1, 100, 100, &[(MINUTE, 100)]).await,
        90
    );
    stage.advance(secs(3600 + 62));
    assert_eq!(
        count_granted(stage, 1, 300, 100, &[(MINUTE, 100)]).await,
        95
    );
    let pulse = store.beat(beat(1, &wishes)).await.unwrap();
    assert_eq!(pulse.missing, []);
    // Handed in once more, nothing is taken back.
    let pulse = store.hand_in(mine).await.unwrap();
    assert_eq!(pulse.shares, [share(MINUTE, 5)]);
}

pub(in crate::shared) async fn older_data_is_mended(stage: &dyn Stage) {
    join_with(stage, 1, &[wish(DAY, 100)]).await;
    join_with(stage, 2, &[wish(DAY, 100)]).await;
    let limit = [(HOUR, 10)];
    assert_eq!(count_granted(stage, 1, 0, 3, &limit).await, 3);
    stage.save().await;
    stage.advance(secs(100));
    assert_eq!(count_granted(stage, 1, 10, 2, &limit).await, 2);
    assert_eq!(count_granted(stage, 2, 10, 2, &limit).await, 2);
    // The data are older than a day; that says nothing about how long anybody was silent.
    stage.advance(secs(2 * 86_400));
    stage.restore().await;
    let store = stage.node(0);
    let refusal = refused(&*store, ask(stage, id(1, 90), &limit)).await;
    assert_eq!(refusal.1, Refusal::HandingIn);
    let mut again = beat(2, &[]);
    again.new_epoch = Epoch(78);
    let pulse = store.beat(again).await.unwrap();
    assert_eq!(pulse.epoch, Epoch(78));
    // All members of the old data are waited for.
    assert_eq!(pulse.missing, nodes(&[1, 2]));
    for (node, number) in [(1, 0), (2, 10)] {
        let start = handed(id(node, number), secs(60));
        let hand_in = HandIn {
            node: NodeId(node),
            epoch: pulse.epoch,
            starts: vec![start, handed(id(node, 99), secs(60))],
            ..HandIn::default()
        };
        store.hand_in(hand_in).await.unwrap();
    }
    let row = store.rows(vec![UP]).await.unwrap().remove(0);
    // id(1, 0) was in the old data, two days ago; its node knows better.
    let starts: Vec<_> = row.starts.iter().map(|(id, ..)| *id).collect();
    assert_eq!(starts, [id(1, 0), id(1, 99), id(2, 10), id(2, 99)]);
    let shares = [(NodeId(1), QUERY, DAY, 5), (NodeId(2), QUERY, DAY, 5)];
    assert_eq!(row.shares, shares);
    stage.advance(SETTLE);
    assert_eq!(count_granted(stage, 1, 200, 20, &limit).await, 6);
}

pub(in crate::shared) async fn what_is_handed_in_is_merged(stage: &dyn Stage) {
    let store = stage.node(0);
    let pulse = store.beat(beat(1, &[])).await.unwrap();
    let limit = ToldLimit {
        ledger: QUERY,
        window: HOUR,
        limit: 9,
        used: Some(4),
        at: stage.time(),
    };
    let off = |by: &str| Switched {
        off: true,
        node: NodeId(1),
        by: by.into(),
        reason: String::new(),
        at: StoreTime(5),
    };
    let mine = HandIn {
        node: NodeId(1),
        epoch: pulse.epoch,
        known: vec![],
        starts: vec![HandedStart {
            spaced: true,
            ..handed(id(1, 1), secs(20))
        }],
        shares: vec![share(HOUR, 2)],
        throttled: vec![
            (UP, secs(30), "thirty".into()),
            (UP, secs(20), "twenty".into()),
        ],
        limits: vec![(UP, limit)],
        switched: vec![(OTHER, off("anna")), (OTHER, off("bert"))],
    };
    for _ in 0..2 {
        store.hand_in(mine.clone()).await.unwrap();
    }
    // What was true before arrives late: nothing is less for it.
    let lower = HandIn {
        shares: vec![share(HOUR, 1)],
        throttled: vec![],
        ..mine
    };
    store.hand_in(lower).await.unwrap();
    let mut rows = store.rows(vec![UP, OTHER]).await.unwrap();
    let (up, other) = (rows.remove(0), rows.remove(0));
    let ago = StoreTime(stage.time().0 - 20_000);
    assert_eq!(up.last_start, Some(ago));
    assert_eq!(up.starts, [(id(1, 1), ago, QUERY)]);
    assert_eq!(up.limits, [limit]);
    assert_eq!(up.counted.iter().map(|lump| lump.starts).sum::<u32>(), 3);
    assert_eq!(up.shares, [(NodeId(1), QUERY, HOUR, 2)]);
    let until = stage.time().after(secs(30));
    assert_eq!(up.throttled, Some((until, NodeId(1), "thirty".to_owned())));
    assert_eq!(other.switched, Some(off("anna")));
}

pub(in crate::shared) async fn a_flushed_store_has_another_epoch(stage: &dyn Stage) {
    join(stage, &[1]).await;
    let limit = [(HOUR, 10)];
    assert!(granted(&*stage.node(0), ask(stage, id(1, 1), &limit)).await);
    stage.flush().await;
    let refusal = refused(&*stage.node(0), ask(stage, id(1, 2), &limit)).await;
    assert_eq!(refusal.1, Refusal::HandingIn);
    let mut again = beat(1, &[]);
    again.new_epoch = Epoch(79);
    let pulse = stage.node(1).beat(again).await.unwrap();
    assert_eq!((pulse.epoch, pulse.missing), (Epoch(79), nodes(&[1])));
}

pub(in crate::shared) async fn spacing_waits_for_those_who_are_there(stage: &dyn Stage) {
    join(stage, &[1, 2]).await;
    stage.flush().await;
    let store = stage.node(0);
    let spaced = |number| Ask {
        gap: Some(secs(5)),
        ..ask(stage, id(1, number), &[])
    };
    let refusal = refused(&*store, spaced(1)).await;
    assert_eq!(refusal, (secs(1), Refusal::HandingIn));
    let pulse = store.beat(beat(1, &[])).await.unwrap();
    // Whoever is there has five seconds to say that it wants to be left alone; nobody is waited for beyond that.
    stage.advance(secs(4));
    let refusal = refused(&*store, spaced(2)).await;
    assert_eq!(refusal, (secs(1), Refusal::HandingIn));
    let throttled = HandIn {
        node: NodeId(2),
        epoch: pulse.epoch,
        throttled: vec![(UP, secs(30), "busy".into())],
        ..HandIn::default()
    };
    store.hand_in(throttled).await.unwrap();
    stage.advance(secs(1));
    let refusal = refused(&*store, spaced(3)).await;
    assert!(
        matches!(refusal.1, Refusal::Throttled { .. }),
        "{refusal:?}"
    );
    stage.advance(secs(30));
    assert!(granted(&*store, spaced(4)).await);
    // What is neither limited nor spaced has nothing to wait for.
    stage.flush().await;
    assert!(granted(&*store, ask(stage, id(1, 5), &[])).await);
}

pub(in crate::shared) async fn somebody_new_at_an_emptied_store_waits_for_those_who_are_there(
    stage: &dyn Stage,
) {
    let wishes = [wish(HOUR, 10)];
    join_with(stage, 1, &wishes).await;
    let limit = [(HOUR, 10)];
    assert_eq!(count_granted(stage, 1, 0, 9, &limit).await, 9);
    stage.flush().await;
    let store = stage.node(0);
    let pulse = join_in(stage, 2, &wishes).await;
    assert_eq!((pulse.missing.len(), pulse.shares.len()), (0, 0));
    for number in 0..4 {
        let refusal = refused(&*store, ask(stage, id(2, number), &limit)).await;
        assert_eq!(refusal, (secs(1), Refusal::HandingIn));
        stage.advance(secs(1));
    }
    // The first one has noticed.
    let pulse = store.beat(beat(1, &wishes)).await.unwrap();
    assert_eq!(pulse.missing, nodes(&[1]));
    let mine = HandIn {
        node: NodeId(1),
        epoch: pulse.epoch,
        starts: (0..9)
            .map(|number| handed(id(1, number), secs(9)))
            .collect(),
        shares: vec![share(HOUR, 1)],
        ..HandIn::default()
    };
    store.hand_in(mine).await.unwrap();
    stage.advance(secs(1));
    store.beat(beat(1, &wishes)).await.unwrap();
    let pulse = store.beat(beat(2, &wishes)).await.unwrap();
    assert_eq!(pulse.shares, []);
    let refusal = refused(&*store, ask(stage, id(2, 9), &limit)).await;
    assert_eq!(refusal.1, full(HOUR, 9, 9));
}

/// A node that comes without anybody else saying anything.
async fn join_in(stage: &dyn Stage, node: u64, shares: &[ShareWish]) -> Pulse {
    let store = stage.node(0);
    let mut first = beat(node, shares);
    first.new_epoch = Epoch(81);
    let pulse = store.beat(first).await.unwrap();
    let hand_in = HandIn {
        node: NodeId(node),
        epoch: pulse.epoch,
        ..HandIn::default()
    };
    store.hand_in(hand_in).await.unwrap();
    store.beat(beat(node, shares)).await.unwrap()
}

pub(in crate::shared) async fn who_was_waited_for_is_so_in_the_next_epoch(stage: &dyn Stage) {
    let store = stage.node(0);
    let pulse = store.beat(beat(1, &[])).await.unwrap();
    let mine = HandIn {
        node: NodeId(1),
        epoch: pulse.epoch,
        known: nodes(&[7]),
        ..HandIn::default()
    };
    let pulse = store.hand_in(mine).await.unwrap();
    assert_eq!(pulse.missing, nodes(&[7]));
    // The one that named it is gone for good, and the store is restarted with all it has.
    let leave = Leave {
        node: NodeId(1),
        ..Leave::default()
    };
    store.leave(leave).await.unwrap();
    stage.save().await;
    stage.restore().await;
    let mut second = beat(2, &[]);
    second.new_epoch = Epoch(82);
    let pulse = stage.node(0).beat(second).await.unwrap();
    assert_eq!((pulse.epoch, pulse.missing), (Epoch(82), nodes(&[2, 7])));
}

pub(in crate::shared) async fn starts_of_older_data_are_as_old_as_their_node_says(
    stage: &dyn Stage,
) {
    join(stage, &[1]).await;
    let limit = [(MINUTE, 3)];
    assert_eq!(count_granted(stage, 1, 0, 3, &limit).await, 3);
    stage.save().await;
    // Restarted at once on a machine whose clock is five minutes ahead.
    stage.advance(secs(300));
    stage.restore().await;
    let store = stage.node(0);
    let mut again = beat(1, &[]);
    again.new_epoch = Epoch(83);
    let pulse = store.beat(again).await.unwrap();
    let mine = HandIn {
        node: NodeId(1),
        epoch: pulse.epoch,
        starts: (0..3)
            .map(|number| handed(id(1, number), secs(2)))
            .collect(),
        ..HandIn::default()
    };
    store.hand_in(mine).await.unwrap();
    stage.advance(SETTLE);
    let refusal = refused(&*store, ask(stage, id(1, 9), &limit)).await;
    assert_eq!(refusal, (secs(55), full(MINUTE, 3, 3)));
    // What is told late, or once more, makes none of them younger.
    store
        .tell(UP, vec![started(id(1, 0), secs(1))])
        .await
        .unwrap();
    let refusal = refused(&*store, ask(stage, id(1, 9), &limit)).await;
    assert_eq!(refusal.0, secs(55));
}

pub(in crate::shared) async fn times_that_are_distrusted_are_told_anew(stage: &dyn Stage) {
    join(stage, &[1, 2]).await;
    let limit = [(MINUTE, 3)];
    assert_eq!(count_granted(stage, 2, 0, 3, &limit).await, 3);
    // The store's clock jumps by five minutes, and the first one notices.
    stage.advance(secs(300));
    let store = stage.node(0);
    let mut distrusting = beat(1, &[]);
    distrusting.distrusts = store.beat(beat(1, &[])).await.unwrap().epoch;
    distrusting.new_epoch = Epoch(84);
    for new_epoch in [Epoch(84), Epoch(85)] {
        // Said again, by whomever, it is another one already.
        distrusting.new_epoch = new_epoch;
        let pulse = store.beat(distrusting.clone()).await.unwrap();
        assert_eq!((pulse.epoch, pulse.missing), (Epoch(84), nodes(&[1, 2])));
    }
    let refusal = refused(&*store, ask(stage, id(1, 1), &limit)).await;
    assert_eq!(refusal.1, Refusal::HandingIn);
    for node in [1, 2] {
        let starts = (0..3).map(|number| handed(id(2, number), secs(2)));
        let hand_in = HandIn {
            node: NodeId(node),
            epoch: Epoch(84),
            starts: starts.filter(|start| start.id.node.0 == node).collect(),
            ..HandIn::default()
        };
        store.hand_in(hand_in).await.unwrap();
    }
    stage.advance(SETTLE);
    let refusal = refused(&*store, ask(stage, id(1, 2), &limit)).await;
    assert_eq!(refusal, (secs(55), full(MINUTE, 3, 3)));
}
