//! One story that every store has to tell alike: `shared/tests.rs` runs it in memory, `shared/redis/tests.rs` on real
//! servers. Time is what the stage says.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::*;
use crate::state::{Ledger, Window};

/// A store that can be made older, with handles of several nodes.
pub(super) trait Stage: Send + Sync {
    /// The handle of a node, 0 to 2.
    fn node(&self, number: usize) -> Arc<dyn SharedStore>;

    /// What the store's clock shows.
    fn time(&self) -> StoreTime;

    /// Moves that clock.
    fn advance(&self, span: Duration);

    /// Notes what the store holds, for `restore`.
    fn save(&self) -> BoxFuture<'_, ()>;

    /// Restarts the store with what was noted last.
    fn restore(&self) -> BoxFuture<'_, ()>;

    /// Restarts the store empty.
    fn restart_empty(&self) -> BoxFuture<'_, ()>;

    /// Deletes everything while the store runs on.
    fn flush(&self) -> BoxFuture<'_, ()>;
}

/// Every part of the story, by name.
macro_rules! parts {
    ($($name:ident),* $(,)?) => {
        /// Makes a test of every part, on the stage that `$stage` makes.
        macro_rules! tell {
            ($stage:expr) => {
                $(#[tokio::test]
                async fn $name() {
                    let stage = $stage.await;
                    crate::shared::story::$name(&stage).await;
                })*
            };
        }
        pub(super) use tell;
    };
}

parts!(
    a_window_holds_for_all_nodes_together,
    each_of_several_windows_holds,
    a_day_ends_at_its_hour,
    a_repeat_gets_the_same_answer_and_a_late_ask_changes_nothing,
    the_gap_is_kept_by_all,
    what_an_upstream_told_is_kept_to,
    off_and_cleared,
    starts_told_count_once,
    shares_are_given_while_they_fit,
    shares_that_end_count_as_spent,
    who_leaves_takes_its_share_along,
    who_comes_is_known_to_all_before_it_calls,
    a_new_store_waits_for_everybody,
    an_empty_store_takes_windows_for_full_without_the_missing,
    a_missing_member_is_allowed_its_share,
    older_data_is_mended,
    what_is_handed_in_is_merged,
    a_flushed_store_has_another_epoch,
    a_question_is_asked_once,
    a_claim_ends_by_itself,
    streams_are_read_from_a_place,
    tables_are_read_by_version,
    tables_forget,
    tables_of_another_epoch_are_read_whole,
    logs_have_one_order,
    connections_are_shared_out,
);

const UP: UpstreamKey = UpstreamKey([1; 16]);
const OTHER: UpstreamKey = UpstreamKey([2; 16]);
const QUERY: Ledger = Ledger::Query;
const MINUTE: Window = Window(60);
const HOUR: Window = Window(3600);
const DAY: Window = Window(86_400);

pub(super) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(super) fn id(node: u64, number: u64) -> AskId {
    AskId {
        node: NodeId(node),
        number,
    }
}

/// An ask that is wanted for one second.
pub(super) fn ask(stage: &dyn Stage, id: AskId, windows: &[(Window, u32)]) -> Ask {
    Ask {
        id,
        upstream: UP,
        ledger: QUERY,
        windows: windows.to_vec(),
        day_begins: None,
        gap: None,
        question: None,
        wanted_until: stage.time().after(secs(1)),
    }
}

fn beat(node: u64, shares: &[ShareWish]) -> Beat {
    Beat {
        node: NodeId(node),
        name: format!("node {node}"),
        version: "1.2.3".into(),
        addresses: vec!["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()],
        lag: Duration::from_millis(7),
        shares: shares.to_vec(),
        new_epoch: Epoch(0xabcd_ef01_2345_0000 + node),
    }
}

fn wish(window: Window, limit: u32) -> ShareWish {
    ShareWish {
        upstream: UP,
        ledger: QUERY,
        window,
        limit,
    }
}

fn share(window: Window, starts: u32) -> Share {
    Share {
        upstream: UP,
        ledger: QUERY,
        window,
        starts,
    }
}

fn started(id: AskId, age: Duration) -> Told {
    Told::Started {
        id,
        ledger: QUERY,
        age,
        spaced: false,
    }
}

fn handed(id: AskId, age: Duration) -> HandedStart {
    HandedStart {
        upstream: UP,
        id,
        ledger: QUERY,
        age,
        spaced: false,
    }
}

/// Numbers of nodes, handed in or missing.
fn nodes(of: &[u64]) -> Vec<NodeId> {
    of.iter().copied().map(NodeId).collect()
}

/// These nodes are there, and nothing is missing.
async fn join(stage: &dyn Stage, nodes: &[u64]) {
    for node in nodes {
        join_with(stage, *node, &[]).await;
    }
}

async fn join_with(stage: &dyn Stage, node: u64, shares: &[ShareWish]) -> Pulse {
    let store = stage.node(0);
    let pulse = store.beat(beat(node, shares)).await.unwrap();
    let hand_in = HandIn {
        node: NodeId(node),
        epoch: pulse.epoch,
        ..HandIn::default()
    };
    store.hand_in(hand_in).await.unwrap();
    store.beat(beat(node, shares)).await.unwrap()
}

async fn granted(store: &dyn SharedStore, ask: Ask) -> bool {
    matches!(store.ask(ask).await.unwrap(), Answer::Granted(_))
}

/// How many of these asks are granted, numbered from `from`.
async fn count_granted(
    stage: &dyn Stage,
    node: u64,
    from: u64,
    asks: u64,
    windows: &[(Window, u32)],
) -> u64 {
    let store = stage.node(0);
    let mut count = 0;
    for number in from..from + asks {
        count += u64::from(granted(&*store, ask(stage, id(node, number), windows)).await);
    }
    count
}

async fn refused(store: &dyn SharedStore, ask: Ask) -> (Duration, Refusal) {
    match store.ask(ask).await.unwrap() {
        Answer::Refused { wait, reason, .. } => (wait, reason),
        other => panic!("{other:?}"),
    }
}

fn full(window: Window, used: u32, limit: u32) -> Refusal {
    Refusal::Window {
        window,
        used,
        limit,
    }
}

pub(super) async fn a_window_holds_for_all_nodes_together(stage: &dyn Stage) {
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

pub(super) async fn each_of_several_windows_holds(stage: &dyn Stage) {
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

pub(super) async fn a_day_ends_at_its_hour(stage: &dyn Stage) {
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

pub(super) async fn a_repeat_gets_the_same_answer_and_a_late_ask_changes_nothing(
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

pub(super) async fn the_gap_is_kept_by_all(stage: &dyn Stage) {
    // Without a window there is nothing to wait for, not even for members.
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
}

pub(super) async fn what_an_upstream_told_is_kept_to(stage: &dyn Stage) {
    join(stage, &[1, 2]).await;
    let store = stage.node(0);
    assert_eq!(count_granted(stage, 1, 0, 2, &[(HOUR, 100)]).await, 2);
    let told = ToldLimit {
        ledger: QUERY,
        window: HOUR,
        limit: 10,
        used: Some(7),
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

pub(super) async fn off_and_cleared(stage: &dyn Stage) {
    join(stage, &[1]).await;
    let store = stage.node(0);
    let off = ToldOff {
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
    };
    let throttled = Told::Throttled {
        span: secs(60),
        by: NodeId(1),
        reason: String::new(),
    };
    let told = vec![
        Told::Off(Some(off.clone())),
        Told::Limit(limit),
        throttled.clone(),
    ];
    store.tell(UP, told).await.unwrap();
    let refusal = refused(&*store, ask(stage, id(1, 1), &[])).await;
    assert_eq!(refusal.1, Refusal::Off(off.clone()));
    let row = store.rows(vec![UP]).await.unwrap().remove(0);
    assert_eq!(row.off, Some(off));
    store.tell(UP, vec![Told::Off(None)]).await.unwrap();
    let refusal = refused(&*store, ask(stage, id(1, 2), &[])).await;
    assert_eq!(refusal.1, full(HOUR, 1, 1));
    store.tell(UP, vec![Told::Cleared]).await.unwrap();
    assert!(granted(&*store, ask(stage, id(1, 3), &[])).await);
    // What was counted stays counted.
    let refusal = refused(&*store, ask(stage, id(1, 4), &[(HOUR, 2)])).await;
    assert_eq!(refusal.1, full(HOUR, 2, 2));
}

pub(super) async fn starts_told_count_once(stage: &dyn Stage) {
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

pub(super) async fn shares_are_given_while_they_fit(stage: &dyn Stage) {
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
    let pulse = join_with(stage, 4, &[wish(MINUTE, 100)]).await;
    assert_eq!(pulse.shares, [share(MINUTE, 5)]);
    stage.advance(secs(11));
    let pulse = stage.node(0).beat(beat(1, &wishes)).await.unwrap();
    let silent: Vec<_> = pulse.members.iter().map(|member| member.state).collect();
    let (here, quiet) = (NodeState::Here, NodeState::Silent);
    assert_eq!(silent, [here, quiet, quiet, quiet]);
    assert_eq!(pulse.members[3].silent, secs(11));
}

pub(super) async fn shares_that_end_count_as_spent(stage: &dyn Stage) {
    let wishes = [wish(DAY, 100)];
    join_with(stage, 1, &wishes).await;
    join_with(stage, 2, &wishes).await;
    // Lowered, given up: what is gone may have been spent.
    let pulse = join_with(stage, 1, &[wish(DAY, 40)]).await;
    assert_eq!(pulse.shares, [share(DAY, 2)]);
    let pulse = join_with(stage, 1, &[]).await;
    assert_eq!(pulse.shares, []);
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

pub(super) async fn who_leaves_takes_its_share_along(stage: &dyn Stage) {
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

pub(super) async fn who_comes_is_known_to_all_before_it_calls(stage: &dyn Stage) {
    let wishes = [wish(HOUR, 100)];
    join_with(stage, 1, &wishes).await;
    join_with(stage, 2, &wishes).await;
    stage.advance(secs(1));
    let (store, limit) = (stage.node(0), [(HOUR, 100)]);
    let pulse = join_with(stage, 3, &wishes).await;
    assert_eq!(pulse.shares, []);
    let refusal = refused(&*store, ask(stage, id(3, 1), &limit)).await;
    assert_eq!(refusal, (secs(1), Refusal::HandingIn));
    // Those that are there already go on, and one hears of it; the other one falls silent.
    assert!(granted(&*store, ask(stage, id(1, 1), &limit)).await);
    stage.advance(secs(1));
    store.beat(beat(1, &wishes)).await.unwrap();
    let refusal = refused(&*store, ask(stage, id(3, 2), &limit)).await;
    assert_eq!(refusal.1, Refusal::HandingIn);
    stage.advance(secs(8));
    store.beat(beat(1, &wishes)).await.unwrap();
    let refusal = refused(&*store, ask(stage, id(3, 3), &limit)).await;
    assert_eq!(refusal.1, Refusal::HandingIn);
    stage.advance(Duration::from_millis(1));
    assert!(granted(&*store, ask(stage, id(3, 4), &limit)).await);
    let pulse = store.beat(beat(3, &wishes)).await.unwrap();
    assert_eq!(pulse.shares, [share(HOUR, 5)]);
    // Once is enough.
    stage.advance(secs(1));
    assert!(granted(&*store, ask(stage, id(3, 5), &limit)).await);
}

pub(super) async fn a_new_store_waits_for_everybody(stage: &dyn Stage) {
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
    assert!(granted(&*store, ask(stage, id(1, 1), &limit)).await);
    // One who comes later is not waited for.
    let pulse = store.beat(beat(4, &[])).await.unwrap();
    assert_eq!(pulse.missing, []);
    assert!(granted(&*store, ask(stage, id(4, 1), &limit)).await);
}

pub(super) async fn an_empty_store_takes_windows_for_full_without_the_missing(stage: &dyn Stage) {
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
    assert_eq!(refusal, (secs(30), full(MINUTE, 9, 9)));
    stage.advance(secs(50));
    let refusal = refused(&*store, ask(stage, id(1, 2), &[(MINUTE, 10), (HOUR, 100)])).await;
    assert_eq!(refusal, (secs(30), full(HOUR, 95, 95)));
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

pub(super) async fn a_missing_member_is_allowed_its_share(stage: &dyn Stage) {
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

pub(super) async fn older_data_is_mended(stage: &dyn Stage) {
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
    // id(1, 0) was in the old data, two days ago.
    let starts: Vec<_> = row.starts.iter().map(|(id, ..)| *id).collect();
    assert_eq!(starts, [id(1, 99), id(2, 10), id(2, 99)]);
    let shares = [(NodeId(1), QUERY, DAY, 5), (NodeId(2), QUERY, DAY, 5)];
    assert_eq!(row.shares, shares);
    assert_eq!(count_granted(stage, 1, 200, 20, &limit).await, 7);
}

pub(super) async fn what_is_handed_in_is_merged(stage: &dyn Stage) {
    let store = stage.node(0);
    let pulse = store.beat(beat(1, &[])).await.unwrap();
    let limit = ToldLimit {
        ledger: QUERY,
        window: HOUR,
        limit: 9,
        used: Some(4),
    };
    let off = |by: &str| ToldOff {
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
        off: vec![(OTHER, off("anna")), (OTHER, off("bert"))],
    };
    for _ in 0..2 {
        store.hand_in(mine.clone()).await.unwrap();
    }
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
    assert_eq!(other.off, Some(off("anna")));
}

pub(super) async fn a_flushed_store_has_another_epoch(stage: &dyn Stage) {
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

pub(super) async fn a_question_is_asked_once(stage: &dyn Stage) {
    join(stage, &[1, 2]).await;
    let store = stage.node(0);
    let question = Question {
        key: [9; 16],
        claim: secs(20),
        fresh: secs(60),
    };
    let about = |node, number| Ask {
        question: Some(question),
        ..ask(stage, id(node, number), &[(HOUR, 3)])
    };
    assert!(granted(&*store, about(1, 1)).await);
    stage.advance(secs(5));
    let claimed = Answer::Claimed {
        by: NodeId(1),
        left: secs(15),
        now: stage.time(),
    };
    assert_eq!(store.ask(about(2, 1)).await.unwrap(), claimed);
    let answers = store.answers(vec![
        question,
        Question {
            key: [8; 16],
            ..question
        },
    ]);
    assert_eq!(answers.await.unwrap(), [Some(claimed), None]);
    let row = store.rows(vec![UP]).await.unwrap().remove(0);
    assert_eq!(row.starts.len(), 1);
    // Another's claim is not answered.
    let body = b"\0\xff\r\n answer".to_vec();
    let answer = |by, body: Option<&Vec<u8>>| {
        let (store, body) = (stage.node(0), body.cloned());
        async move { store.answer(question, NodeId(by), body, secs(100)).await }
    };
    answer(2, Some(&body)).await.unwrap();
    assert!(matches!(
        store.ask(about(2, 2)).await.unwrap(),
        Answer::Claimed { .. }
    ));
    answer(1, Some(&body)).await.unwrap();
    stage.advance(secs(60));
    let answered = Answer::Answered {
        by: NodeId(1),
        age: secs(60),
        body: body.clone().into(),
        now: stage.time(),
    };
    assert_eq!(store.ask(about(2, 3)).await.unwrap(), answered);
    let answers = store.answers(vec![question]).await.unwrap();
    assert_eq!(answers, [Some(answered)]);
    // Too old to be wanted, so it is asked again, and the old answer is gone.
    stage.advance(Duration::from_millis(1));
    assert!(granted(&*store, about(2, 4)).await);
    // A failure: others ask themselves.
    answer(2, None).await.unwrap();
    assert_eq!(store.answers(vec![question]).await.unwrap(), [None]);
    assert!(granted(&*store, about(1, 5)).await);
    // Full: nothing is claimed while it only waits.
    answer(1, None).await.unwrap();
    let refusal = refused(&*store, about(2, 6)).await;
    assert_eq!(refusal.1, full(HOUR, 3, 3));
    assert_eq!(store.answers(vec![question]).await.unwrap(), [None]);
}

pub(super) async fn a_claim_ends_by_itself(stage: &dyn Stage) {
    let store = stage.node(0);
    let keys = vec![[1; 16], [2; 16]];
    let claim = |node, keys: &[[u8; 16]]| {
        let (store, keys) = (stage.node(0), keys.to_vec());
        async move { store.claim(keys, NodeId(node), secs(30)).await.unwrap() }
    };
    assert_eq!(claim(1, &keys[..1]).await, [Claim::Ours]);
    stage.advance(secs(10));
    let theirs = Claim::Theirs {
        by: NodeId(1),
        left: secs(20),
    };
    assert_eq!(claim(2, &keys).await, [theirs, Claim::Ours]);
    // Renewed by its owner, given back by nobody else.
    store.release(keys.clone(), NodeId(1)).await.unwrap();
    assert_eq!(claim(3, &keys[..1]).await, [Claim::Ours]);
    assert_eq!(claim(2, &keys[1..]).await, [Claim::Ours]);
    // Whoever claimed it may be dead: after its time it is anybody's.
    stage.advance(Duration::from_millis(29_999));
    let left = Duration::from_millis(1);
    let theirs = |node| Claim::Theirs {
        by: NodeId(node),
        left,
    };
    assert_eq!(claim(1, &keys).await, [theirs(3), theirs(2)]);
    stage.advance(left);
    assert_eq!(claim(1, &keys).await, [Claim::Ours, Claim::Ours]);

    // The same with a question.
    join(stage, &[1]).await;
    let question = Question {
        key: [9; 16],
        claim: secs(20),
        fresh: secs(60),
    };
    let about = |node, number| Ask {
        question: Some(question),
        ..ask(stage, id(node, number), &[])
    };
    assert!(granted(&*store, about(1, 1)).await);
    stage.advance(secs(20));
    assert!(granted(&*store, about(2, 1)).await);
    let late = store.answer(question, NodeId(1), Some(vec![1]), secs(9));
    late.await.unwrap();
    let answers = store.answers(vec![question]).await.unwrap();
    assert!(matches!(answers[..], [Some(Answer::Claimed { by, .. })] if by == NodeId(2)));
}

pub(super) async fn streams_are_read_from_a_place(stage: &dyn Stage) {
    let store = stage.node(0);
    let (swarm, other) = (Stream::Swarm(NodeId(1)), Stream::Forwarded(NodeId(1)));
    let append = |stream, body: &[u8]| {
        let (store, body) = (stage.node(0), body.to_vec());
        async move { store.append(stream, body, secs(60)).await.unwrap() }
    };
    let read = |place, most| {
        let store = stage.node(1);
        async move {
            let mut ends = store.read(vec![(swarm, place)], most).await.unwrap();
            ends.remove(0)
        }
    };
    let empty = read(Place::START, 10).await;
    assert_eq!((empty.first, empty.last), (None, None));
    assert_eq!(empty.entries, []);
    let now = stage.time();
    let one = append(swarm, b"one").await;
    let two = append(swarm, b"t\0wo").await;
    assert_eq!((one.millis, two.millis), (now.0, now.0));
    assert!(one > Place::START && two > one);
    append(other, b"else").await;
    stage.advance(secs(30));
    let three = append(swarm, b"three").await;
    let end = read(Place::START, 2).await;
    assert_eq!(
        (end.stream, end.first, end.last),
        (swarm, Some(one), Some(three))
    );
    assert_eq!(
        end.entries,
        [(one, b"one".to_vec()), (two, b"t\0wo".to_vec())]
    );
    let end = read(two, 2).await;
    assert_eq!(end.entries, [(three, b"three".to_vec())]);
    let ends = store.read(vec![(other, Place::START), (swarm, three)], 9);
    let ends = ends.await.unwrap();
    assert_eq!(ends[0].entries.len(), 1);
    assert_eq!((ends[1].entries.len(), ends[1].last), (0, Some(three)));
    // What is older than a minute is forgotten, but for the newest of it: who has read that has missed nothing.
    stage.advance(secs(31));
    let four = append(swarm, b"four").await;
    let end = read(one, 9).await;
    assert_eq!((end.first, end.last), (Some(two), Some(four)));
    assert_eq!(end.entries.len(), 3);
    stage.advance(secs(600));
    let five = append(swarm, b"five").await;
    let end = read(three, 9).await;
    assert_eq!((end.first, end.last), (Some(four), Some(five)));
    assert!(end.first > Some(three));
    // Time that stands still, or goes back, makes places none the less.
    let six = append(swarm, b"six").await;
    assert!(six > five);
    let long = vec![0; LONGEST_ANSWER + 1];
    assert!(matches!(
        store.append(swarm, long, secs(1)).await,
        Err(Lost::Refused(_))
    ));
}

fn row(key: &str, value: Option<&str>) -> Entry {
    let bytes = |text: &str| text.as_bytes().to_vec();
    (bytes(key), value.map(bytes))
}

pub(super) async fn tables_are_read_by_version(stage: &dyn Stage) {
    join(stage, &[1]).await;
    let store = stage.node(0);
    let put = |entries: Vec<Entry>| {
        let store = stage.node(1);
        async move { store.put(Table::Sessions, entries, secs(60)).await.unwrap() }
    };
    let changes = |since| {
        let store = stage.node(2);
        async move { store.changes(Table::Sessions, since).await.unwrap() }
    };
    let empty = changes(Version::NONE).await;
    assert_eq!((empty.whole, empty.entries.len()), (true, 0));
    let first = put(vec![row("a", Some("1")), row("b\0", Some("2"))]).await;
    let all = changes(Version::NONE).await;
    let both = [row("a", Some("1")), row("b\0", Some("2"))];
    assert_eq!((all.whole, all.version), (true, first));
    assert_eq!(all.entries, both);
    let since = changes(empty.version).await;
    assert_eq!((since.whole, since.version), (false, first));
    assert_eq!(since.entries, both);
    let second = put(vec![row("a", None), row("c", Some(""))]).await;
    let third = put(vec![row("b\0", Some("3"))]).await;
    assert!(first < second && second < third);
    let since = changes(first).await;
    assert_eq!((since.whole, since.version), (false, third));
    let news = [row("a", None), row("c", Some("")), row("b\0", Some("3"))];
    assert_eq!(since.entries, news);
    let since = changes(third).await;
    assert_eq!((since.whole, since.entries.len()), (false, 0));
    // Read whole, what was taken out is simply not there.
    let all = changes(Version::NONE).await;
    assert_eq!(all.entries, [row("c", Some("")), row("b\0", Some("3"))]);
    // Tables do not know one another.
    let other = store.changes(Table::Keys, Version::NONE).await.unwrap();
    assert_eq!((other.whole, other.entries.len()), (true, 0));
    let long = (vec![0; LONGEST_ANSWER], Some(vec![0]));
    let refused = store.put(Table::Keys, vec![long], secs(1)).await;
    assert!(matches!(refused, Err(Lost::Refused(_))), "{refused:?}");
}

pub(super) async fn tables_forget(stage: &dyn Stage) {
    join(stage, &[1]).await;
    let store = stage.node(0);
    let put = |entries: Vec<Entry>, keep| store.put(Table::Due, entries, keep);
    let first = put(vec![row("a", Some("1"))], secs(60)).await.unwrap();
    let second = put(vec![row("b", Some("2"))], secs(600)).await.unwrap();
    stage.advance(secs(60));
    let all = store.changes(Table::Due, Version::NONE).await.unwrap();
    assert_eq!(all.entries, [row("b", Some("2"))]);
    // A row that ended leaves those who know the table alone.
    let since = store.changes(Table::Due, first).await.unwrap();
    assert_eq!((since.whole, since.entries.len()), (false, 1));
    let third = put(vec![row("b", None)], secs(60)).await.unwrap();
    stage.advance(secs(60));
    // That it was taken out is forgotten: who has not read it reads everything.
    let since = store.changes(Table::Due, second).await.unwrap();
    assert_eq!((since.whole, since.entries.len()), (true, 0));
    let since = store.changes(Table::Due, third).await.unwrap();
    assert_eq!((since.whole, since.entries.len()), (false, 0));
}

pub(super) async fn tables_of_another_epoch_are_read_whole(stage: &dyn Stage) {
    join(stage, &[1]).await;
    let put = |key: &str| {
        let (store, entry) = (stage.node(0), row(key, Some("1")));
        async move { store.put(Table::Keys, vec![entry], secs(60)).await.unwrap() }
    };
    put("a").await;
    stage.save().await;
    let lost = put("b").await;
    stage.restore().await;
    let store = stage.node(0);
    let mut again = beat(1, &[]);
    again.new_epoch = Epoch(80);
    store.beat(again).await.unwrap();
    // So many changes there have been again, but others.
    put("c").await;
    let since = store.changes(Table::Keys, lost).await.unwrap();
    assert!(since.whole);
    let both = [row("a", Some("1")), row("c", Some("1"))];
    assert_eq!(since.entries, both);
    let since = store.changes(Table::Keys, since.version).await.unwrap();
    assert!(!since.whole);
    stage.restart_empty().await;
    let store = stage.node(0);
    let since = store.changes(Table::Keys, since.version).await.unwrap();
    assert_eq!((since.whole, since.entries.len()), (true, 0));
}

pub(super) async fn logs_have_one_order(stage: &dyn Stage) {
    let log = LogKey::Numbers("alt.test".into());
    let extend = |node, known, entries: &[&str]| {
        let (store, log) = (stage.node(node), log.clone());
        let entries = entries.iter().map(|entry| entry.as_bytes().to_vec());
        let entries: Vec<_> = entries.collect();
        async move { store.extend(log, known, entries).await.unwrap() }
    };
    let texts = |answer: &LogAnswer| -> Vec<String> {
        let entries = answer.entries.iter();
        entries
            .map(|entry| String::from_utf8_lossy(entry).into_owned())
            .collect()
    };
    let answer = extend(0, 0, &["one", "two"]).await;
    assert_eq!((answer.appended, answer.length), (true, 2));
    assert_eq!(texts(&answer), ["one", "two"]);
    // Somebody was faster: what came in between is told, and nothing appended.
    let answer = extend(1, 0, &["eins"]).await;
    assert_eq!((answer.appended, answer.length), (false, 2));
    assert_eq!(texts(&answer), ["one", "two"]);
    let answer = extend(1, 2, &["three"]).await;
    assert_eq!((answer.appended, answer.length), (true, 3));
    assert_eq!(texts(&answer), ["three"]);
    // Known to be longer than it is: the store has lost something.
    let answer = extend(2, 5, &["six"]).await;
    assert_eq!((answer.appended, answer.length), (false, 3));
    assert_eq!(texts(&answer).len(), 0);
    // Asked about, without anything to add.
    let answer = extend(2, 1, &[]).await;
    assert_eq!((answer.appended, answer.length), (false, 3));
    assert_eq!(texts(&answer), ["two", "three"]);
    let other = LogKey::Numbers("alt.other".into());
    let answer = stage.node(0).extend(other, 0, vec![]).await.unwrap();
    assert_eq!((answer.appended, answer.length), (true, 0));
}

pub(super) async fn connections_are_shared_out(stage: &dyn Stage) {
    let lease = |node, open| {
        let store = stage.node(0);
        async move {
            let lease = store.lease(UP, NodeId(node), open, 10).await.unwrap();
            (lease.granted, lease.others, lease.nodes)
        }
    };
    assert_eq!(lease(1, 4).await, (4, 0, 1));
    assert_eq!(lease(2, 8).await, (6, 4, 2));
    assert_eq!(lease(3, 8).await, (0, 10, 3));
    // Closed ones are free for others.
    assert_eq!(lease(1, 1).await, (1, 6, 3));
    assert_eq!(lease(3, 8).await, (3, 7, 3));
    assert_eq!(lease(1, 0).await, (0, 9, 2));
    // Not heard of for ten seconds: a lease or a beat will do.
    stage.advance(secs(8));
    stage.node(0).beat(beat(2, &[])).await.unwrap();
    stage.advance(secs(3));
    assert_eq!(lease(1, 9).await, (4, 6, 2));
    let other = stage.node(0).lease(OTHER, NodeId(1), 3, 2).await.unwrap();
    assert_eq!(
        (other.granted, other.nodes, other.now),
        (2, 1, stage.time())
    );
}
