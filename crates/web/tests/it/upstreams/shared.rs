//! An upstream that several nodes share: its page says what all of them used, and what one of the others was told.

use std::sync::Arc;

use serde_json::Value;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use weir_engine::{Options, Outcome, Weather};
use weir_store::shared::{
    AskId, Configured, MemoryStore, NodeId, SharedStore, StoreTime, Told, UpstreamKey,
};
use weir_store::state::Ledger;

use super::front::{Sample, Says, secs};
use crate::nodes::{node_with, together};
use crate::support::{self, KEY};

#[tokio::test]
async fn what_all_nodes_used_and_what_one_was_told_is_on_the_page() {
    let store = Arc::new(MemoryStore::on_tokio_time(StoreTime(1_800_000_000_000)));
    let mut beats = JoinSet::new();
    let other = node_with("birch <b>", 2, Arc::new(store.handle()), "a secret");
    let node = node_with("alder", 1, store.clone(), "a secret");
    let options = Options {
        node: Some(node.clone()),
        ..Options::new(node.timeline(), Weather::default())
    };
    let search = Sample::with(options, "search", "indexer");
    let harbor = search.add_limited("harbor", Some(100));
    let key = UpstreamKey([7; 16]);
    search.engine.share(harbor, key);
    for node in [other.clone(), node.clone()] {
        let beating = node.clone();
        beats.spawn(async move { beating.run(CancellationToken::new()).await });
        together(&node).await;
    }
    search.call(harbor, Says(Outcome::Done, "")).await;
    let start = |number| Told::Started {
        id: AskId {
            node: NodeId(2),
            number,
        },
        ledger: Ledger::Query,
        age: secs(60),
        spaced: false,
    };
    let wait = Told::Throttled {
        span: secs(900),
        by: NodeId(2),
        reason: "slow down".to_owned(),
        at: node.view().now.unwrap_or_default(),
    };
    let other = Configured {
        ledger: Ledger::Query,
        window: weir_store::state::Window(3600),
        limit: 200,
    };
    let other = Told::Configured(NodeId(2), vec![other]);
    let told = vec![start(1), start(2), start(3), wait, other];
    store.tell(key, told).await.unwrap();
    let mut view = node.watch();
    let is_heard = || {
        let seen = search.engine.shared_use(harbor);
        seen.is_some_and(|seen| seen.throttled_at.is_some())
    };
    while !is_heard() {
        node.hurry();
        view.changed().await.unwrap();
    }
    let rig = support::rig_of(support::config(), vec![search.contribution()]);
    let mut browser = rig.visitor();
    browser.sign_in(KEY).await;
    let page = browser.get("/upstreams/search/harbor").await.body;
    assert!(
        page.contains("<dt>Used by all nodes</dt><dd>4 of 100 calls in the last hour<"),
        "{page}"
    );
    assert!(
        page.contains("<dt>Told to wait</dt><dd>node birch &#60;b&#62;</dd>"),
        "{page}"
    );
    assert!(page.contains("slow down (told to birch"), "{page}");
    let one = browser.get("/api/v1/upstreams/search/harbor").await.body;
    let one: Value = serde_json::from_str(&one).unwrap();
    assert_eq!(one["all_nodes"]["limits"][0]["used"], 4);
    assert_eq!(one["all_nodes"]["told_to_wait"], "birch <b>");
    assert_eq!(one["all_nodes"]["switched_off_at"], Value::Null);
    let differ = "Limits differ between nodes: 100 per hour here, 200 per hour at birch <b>.";
    assert_eq!(one["all_nodes"]["limits_differ"], differ);
    let differ = "100 per hour here, 200 per hour at birch &#60;b&#62;.</dd>";
    assert!(page.contains(differ), "{page}");
}
