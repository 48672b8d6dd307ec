//! Who is there, and which share each has.

use super::*;

pub(in crate::shared) async fn shares_are_given_while_they_fit(stage: &dyn Stage) {
    let wishes = [wish(MINUTE, 40), wish(HOUR, 4), wish(DAY, 1)];
    let pulse = join_with(stage, 1, &wishes).await;
    // One twentieth, at least one; of a limit of one, nothing, since that is more than half.
    let own = [share(MINUTE, 2), share(HOUR, 1)];
    assert_eq!(pulse.shares, own);
    assert_eq!((pulse.members.len(), pulse.missing.len()), (1, 0));
    let member = &pulse.members[0];
    assert_eq!((member.node, &*member.name), (NodeId(1), "node 1"));
    assert_eq!((member.state, member.silent), (NodeState::Here, secs(0)));
    assert_eq!(
        (&*member.version, member.lag),
        ("1.2.3", Duration::from_millis(7))
    );
    assert_eq!(member.addresses, beat(1, &[]).addresses);
    let pulse = join_with(stage, 2, &wishes).await;
    assert_eq!(pulse.shares, own);
    // A third one would be more than half of four.
    let pulse = join_with(stage, 3, &wishes).await;
    assert_eq!(pulse.shares, [share(MINUTE, 2)]);
    let row = stage.node(0).rows(vec![UP]).await.unwrap().remove(0);
    let shares = [
        (NodeId(1), QUERY, MINUTE, 2),
        (NodeId(2), QUERY, MINUTE, 2),
        (NodeId(3), QUERY, MINUTE, 2),
        (NodeId(1), QUERY, HOUR, 1),
        (NodeId(2), QUERY, HOUR, 1),
    ];
    assert_eq!(row.shares, shares);
    // The store grants the rest.
    assert_eq!(count_granted(stage, 1, 0, 50, &[(MINUTE, 40)]).await, 34);
    let refusal = refused(&*stage.node(0), ask(stage, id(1, 60), &[(MINUTE, 40)])).await;
    assert_eq!(refusal.1, full(MINUTE, 34, 34));
    // One who comes now has to wait for room.
    let pulse = join_with(stage, 4, &wishes).await;
    assert_eq!(pulse.shares, []);
    stage.advance(secs(62));
    let pulse = join_with(stage, 4, &wishes).await;
    assert_eq!(pulse.shares, [share(MINUTE, 2)]);
    // A higher limit, a higher share.
    let store = stage.node(0);
    let higher = store.beat(beat(4, &[wish(MINUTE, 100)])).await.unwrap();
    assert_eq!(higher.shares, [share(MINUTE, 5)]);
    stage.advance(secs(11));
    let pulse = stage.node(0).beat(beat(1, &wishes)).await.unwrap();
    let silent: Vec<_> = pulse.members.iter().map(|member| member.state).collect();
    let (here, quiet) = (NodeState::Here, NodeState::Silent);
    assert_eq!(silent, [here, quiet, quiet, quiet]);
    assert_eq!(pulse.members[3].silent, secs(11));
}

pub(in crate::shared) async fn shares_that_end_count_as_spent(stage: &dyn Stage) {
    let wishes = [wish(DAY, 100)];
    join_with(stage, 1, &wishes).await;
    join_with(stage, 2, &wishes).await;
    // Lowered, given up: what is gone may have been spent.
    let store = stage.node(0);
    let lower = store.beat(beat(1, &[wish(DAY, 40)])).await.unwrap();
    assert_eq!(lower.shares, [share(DAY, 2)]);
    let none = store.beat(beat(1, &[])).await.unwrap();
    assert_eq!(none.shares, []);
    let counted = |row: &SharedRow| row.counted.iter().map(|lump| lump.starts).sum::<u32>();
    let row = stage.node(0).rows(vec![UP]).await.unwrap().remove(0);
    assert_eq!(counted(&row), 5);
    assert_eq!(row.shares, [(NodeId(2), QUERY, DAY, 5)]);
    // Silent for a day.
    stage.advance(secs(86_399));
    let pulse = stage.node(0).beat(beat(1, &[])).await.unwrap();
    assert_eq!(pulse.members.len(), 2);
    stage.advance(secs(3));
    let pulse = stage.node(0).beat(beat(1, &[])).await.unwrap();
    assert_eq!(pulse.members.len(), 1);
    let row = stage.node(0).rows(vec![UP]).await.unwrap().remove(0);
    assert_eq!((counted(&row), row.shares.len()), (5, 0));
    assert_eq!(row.counted[0].at, stage.time());
    assert_eq!(count_granted(stage, 1, 0, 10, &[(DAY, 10)]).await, 5);
    let refusal = refused(&*stage.node(0), ask(stage, id(1, 50), &[(DAY, 10)])).await;
    assert_eq!(refusal, (secs(86_402), full(DAY, 10, 10)));
}

pub(in crate::shared) async fn who_leaves_takes_its_share_along(stage: &dyn Stage) {
    let wishes = [wish(HOUR, 100)];
    join_with(stage, 1, &wishes).await;
    join_with(stage, 2, &wishes).await;
    let leave = Leave {
        node: NodeId(2),
        starts: vec![handed(id(2, 1), secs(100)), handed(id(2, 2), secs(10))],
    };
    for _ in 0..2 {
        stage.node(0).leave(leave.clone()).await.unwrap();
    }
    let pulse = stage.node(0).beat(beat(1, &wishes)).await.unwrap();
    assert_eq!((pulse.members.len(), pulse.missing.len()), (1, 0));
    let row = stage.node(0).rows(vec![UP]).await.unwrap().remove(0);
    assert_eq!(row.shares, [(NodeId(1), QUERY, HOUR, 5)]);
    assert_eq!((row.starts.len(), row.counted.len()), (2, 0));
    assert_eq!(
        count_granted(stage, 1, 0, 100, &[(HOUR, 100)]).await,
        100 - 5 - 2
    );
}

pub(in crate::shared) async fn limits_of_who_is_gone_make_room(stage: &dyn Stage) {
    let limits = vec![Configured {
        ledger: QUERY,
        window: HOUR,
        limit: 7,
    }];
    let tell = async |node: u64| {
        let told = vec![Told::Configured(NodeId(node), limits.clone())];
        stage.node(0).tell(UP, told).await.unwrap();
        let row = stage.node(0).rows(vec![UP]).await.unwrap().remove(0);
        let tellers = row.configured.iter().map(|(node, _)| node.0);
        tellers.collect::<Vec<u64>>()
    };
    // Members, but for the third and the fifth.
    let most = MOST_CONFIGURED as u64;
    for node in (1..most + 3).filter(|node| ![3, 5].contains(node)) {
        stage.node(0).beat(beat(node, &[])).await.unwrap();
    }
    for node in 1..most {
        tell(node).await;
    }
    assert_eq!(tell(most).await, (1..=most).collect::<Vec<_>>());
    let all = |but: &[u64], last: u64| -> Vec<u64> {
        (1..=last).filter(|node| !but.contains(node)).collect()
    };
    assert_eq!(tell(most + 1).await, all(&[3], most + 1));
    assert_eq!(tell(2).await, all(&[3], most + 1), "it has a place");
    assert_eq!(tell(most + 2).await, all(&[3, 5], most + 2));
    assert_eq!(
        tell(most + 3).await,
        all(&[3, 5], most + 2),
        "all are members"
    );
    let leave = Leave {
        node: NodeId(9),
        starts: Vec::new(),
    };
    stage.node(0).leave(leave).await.unwrap();
    let row = stage.node(0).rows(vec![UP]).await.unwrap().remove(0);
    assert!(row.configured.iter().all(|(node, _)| *node != NodeId(9)));
    assert_eq!(row.configured.len(), MOST_CONFIGURED - 1);
}

pub(in crate::shared) async fn who_comes_is_known_to_all_before_it_calls(stage: &dyn Stage) {
    let wishes = [wish(HOUR, 100)];
    join_with(stage, 1, &wishes).await;
    join_with(stage, 2, &wishes).await;
    stage.advance(secs(1));
    let (store, limit) = (stage.node(0), [(HOUR, 100)]);
    // The third one comes.
    let pulse = store.beat(beat(3, &wishes)).await.unwrap();
    assert_eq!((pulse.shares.len(), pulse.missing.len()), (0, 0));
    let refusal = refused(&*store, ask(stage, id(3, 1), &limit)).await;
    assert_eq!(refusal, (secs(1), Refusal::HandingIn));
    // Those that are there already go on.
    assert!(granted(&*store, ask(stage, id(1, 1), &limit)).await);
    stage.advance(secs(1));
    // A beat of the first one is not enough: whether its answer arrived shows with the next one alone. The second one falls
    // silent.
    let own = stage.node(1);
    own.beat(beat(1, &wishes)).await.unwrap();
    stage.advance(secs(7));
    own.beat(beat(1, &wishes)).await.unwrap();
    let refusal = refused(&*store, ask(stage, id(3, 2), &limit)).await;
    assert_eq!(refusal.1, Refusal::HandingIn);
    stage.advance(secs(1));
    let refusal = refused(&*store, ask(stage, id(3, 3), &limit)).await;
    assert_eq!(refusal.1, Refusal::HandingIn);
    stage.advance(secs(1));
    let pulse = store.beat(beat(3, &wishes)).await.unwrap();
    assert_eq!(pulse.shares, [share(HOUR, 5)]);
    assert!(granted(&*store, ask(stage, id(3, 4), &limit)).await);
    // Once is enough.
    stage.advance(secs(1));
    assert!(granted(&*store, ask(stage, id(3, 5), &limit)).await);
}

pub(in crate::shared) async fn who_comes_was_read_of_and_not_only_told(stage: &dyn Stage) {
    join(stage, &[1]).await;
    stage.advance(secs(1));
    let (first, other) = (stage.node(1), stage.node(2));
    first.beat(beat(1, &[])).await.unwrap();
    stage.advance(secs(1));
    other.beat(beat(2, &[])).await.unwrap();
    stage.advance(secs(1));
    let limit = [(HOUR, 100)];
    // Its answer may have been lost.
    first.beat(beat(1, &[])).await.unwrap();
    let refusal = refused(&*other, ask(stage, id(2, 1), &limit)).await;
    assert_eq!(refusal.1, Refusal::HandingIn);
    first.beat(beat(1, &[])).await.unwrap();
    assert!(granted(&*other, ask(stage, id(2, 2), &limit)).await);
}
