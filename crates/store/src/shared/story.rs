//! One story that every store has to tell alike: `shared/tests.rs` runs it in memory, `shared/redis/tests.rs` on real
//! servers. Time is what the stage says.

mod exchange;
mod losses;
mod members;
mod windows;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::*;
use crate::state::{Ledger, Window};

pub(super) use self::{exchange::*, losses::*, members::*, windows::*};

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
    what_is_only_counted_is_merged_and_not_forgotten,
    off_and_cleared,
    what_is_told_late_changes_nothing_that_is_newer,
    starts_told_count_once,
    shares_are_given_while_they_fit,
    shares_that_end_count_as_spent,
    who_leaves_takes_its_share_along,
    limits_of_who_is_gone_make_room,
    who_comes_is_known_to_all_before_it_calls,
    who_comes_was_read_of_and_not_only_told,
    a_new_store_waits_for_everybody,
    an_empty_store_takes_windows_for_full_without_the_missing,
    a_missing_member_is_allowed_its_share,
    older_data_is_mended,
    what_is_handed_in_is_merged,
    a_flushed_store_has_another_epoch,
    spacing_waits_for_those_who_are_there,
    somebody_new_at_an_emptied_store_waits_for_those_who_are_there,
    who_was_waited_for_is_so_in_the_next_epoch,
    starts_of_older_data_are_as_old_as_their_node_says,
    times_that_are_distrusted_are_told_anew,
    a_question_is_asked_once,
    a_claim_ends_by_itself,
    streams_are_read_from_a_place,
    tables_are_read_by_version,
    tables_forget,
    tables_of_another_epoch_are_read_whole,
    logs_have_one_order,
    who_has_not_noticed_a_loss_appends_nothing,
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
        newer: Vec::new(),
        new_epoch: Epoch(0xabcd_ef01_2345_0000 + node),
        distrusts: Epoch(0),
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

/// One more is there, and the others, who wish for the same, have read so. The first one in a new epoch waits until that has
/// settled.
async fn join_with(stage: &dyn Stage, node: u64, shares: &[ShareWish]) -> Pulse {
    let store = stage.node(0);
    let pulse = store.beat(beat(node, shares)).await.unwrap();
    let hand_in = HandIn {
        node: NodeId(node),
        epoch: pulse.epoch,
        ..HandIn::default()
    };
    store.hand_in(hand_in).await.unwrap();
    if pulse.missing.contains(&NodeId(node)) {
        stage.advance(SETTLE);
    }
    let here = |member: &&Member| member.state == NodeState::Here && member.node.0 != node;
    for other in pulse.members.iter().filter(here) {
        store.beat(beat(other.node.0, shares)).await.unwrap();
    }
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
