//! Several nodes: a link that one made opens at the others, and an indexer has one number.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use weir_engine::{
    Engine, KeptNode, Node, NodeOptions, Options, Outward, Restored, Timeline, Weather,
};
use weir_store::shared::{MemoryStore, NodeId, Seal, SharedStore, StoreTime, Table};
use weir_store::sqlite::File;

use super::world::BEGINS;
use super::*;
use crate::links::Link;

/// Nodes on one store.
struct Cluster {
    store: MemoryStore,
    beats: JoinSet<()>,
}

impl Cluster {
    fn new() -> Self {
        Self {
            store: MemoryStore::on_tokio_time(StoreTime(1_800_000_000_000)),
            beats: JoinSet::new(),
        }
    }

    /// One that reaches the store, by its own way there.
    async fn node(&mut self, id: u64) -> (Node, Arc<MemoryStore>) {
        let way = Arc::new(self.store.handle());
        let node = node(id, way.clone());
        let beating = node.clone();
        self.beats
            .spawn(async move { beating.run(CancellationToken::new()).await });
        let mut view = node.watch();
        while node.is_alone() {
            view.changed().await.expect("a view");
        }
        (node, way)
    }
}

fn node(id: u64, store: Arc<MemoryStore>) -> Node {
    Node::new(NodeOptions {
        name: format!("node {id}"),
        version: "1".to_owned(),
        store,
        seal: Seal::new("a secret"),
        timeline: Timeline::starting_at(UNIX_EPOCH + Duration::from_secs(BEGINS)),
        kept: KeptNode {
            id: NodeId(id),
            ..KeptNode::default()
        },
        keeper: Box::new(|_: &KeptNode| {}),
    })
}

/// A front at a node, with what an earlier one left in a directory.
fn world(
    network: &Network,
    config: &Config,
    node: Option<Node>,
    directory: &Arc<tempfile::TempDir>,
) -> World {
    // Each node was first started an hour after the one before it.
    let later = node.as_ref().map_or(0, |node| node.id().0) * 3600;
    let timeline = Timeline::starting_at(UNIX_EPOCH + Duration::from_secs(BEGINS + later));
    let engine = Engine::new(
        "search",
        crate::policy(weir_testkit::policy::general(), config),
        Options::new(timeline, Weather::default()),
    );
    let outward = Outward {
        engine,
        rows: None,
        restored: Restored::default(),
        ground: network.ground(),
        node,
    };
    let storage = Storage {
        state: File::open(directory.path().join("state.db")).expect("a file"),
        cache: None,
    };
    World::of(config, outward, storage, timeline, directory.clone())
}

fn directory() -> Arc<tempfile::TempDir> {
    Arc::new(tempfile::tempdir().expect("a directory"))
}

async fn exchange(world: &World) {
    let together = world.front.views.model.together.as_ref();
    let together = together.expect("a node");
    together.links.exchange().await.expect("the store");
    together.numbers.exchange().await.expect("the store");
}

fn link(world: &World, number: u32) -> String {
    let links = &world.front.views.model.links;
    links.seal("a", &format!("http://a.example/{number}"))
}

fn opens(world: &World, token: &str) -> Option<Link> {
    world.front.views.model.links.open(token)
}

/// Whether a download is refused because nobody made the link.
async fn is_unknown(world: &World, token: &str) -> bool {
    let reply = world.get(&format!("/dl/{token}/x")).await;
    reply.body.contains("not made by this Weir")
}

#[tokio::test]
async fn a_link_made_at_one_node_opens_at_all_also_while_the_store_is_away() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let config = named(&indexers);
    let mut cluster = Cluster::new();
    let (place_a, place_b) = (directory(), directory());
    // One that was there before has links out already.
    let alone = world(&network, &config, None, &place_a);
    let old = link(&alone, 1);
    alone.state.close();
    drop(alone);
    let (node_a, _) = cluster.node(1).await;
    let a = world(&network, &config, Some(node_a), &place_a);
    exchange(&a).await;
    let (node_b, way_b) = cluster.node(2).await;
    let b = world(&network, &config, Some(node_b.clone()), &place_b);
    // The first to ask looks at the store before it refuses.
    assert!(!is_unknown(&b, &old).await);
    assert!(opens(&b, &old).is_some());
    exchange(&b).await;
    exchange(&a).await;
    assert_eq!(
        link(&a, 2),
        link(&b, 2),
        "the same link for the same release"
    );
    assert_eq!(link(&a, 1), old, "as before there were two");
    assert!(is_unknown(&b, "made-up").await);
    // Nothing in the store shows the key.
    let table = cluster
        .store
        .changes(Table::Keys, weir_store::shared::Version::NONE);
    let key = a.front.views.model.links.keys()[0].key;
    for (_, body) in table.await.expect("rows").entries {
        let body = body.expect("a row");
        assert!(!body.windows(8).any(|part| part == &key[..8]));
    }
    way_b.cut(true);
    assert!(opens(&b, &old).is_some());
    b.state.close();
    drop(b);
    // After a restart with the store away.
    let b = world(&network, &config, Some(node(2, way_b)), &place_b);
    assert!(opens(&b, &old).is_some());
    assert_eq!(link(&a, 3), link(&b, 3));
}

#[tokio::test]
async fn an_indexer_has_one_number_on_all_nodes() {
    let network = Network::new();
    let indexers = crowd(&network, 3).await;
    let config = named(&indexers);
    let mut cluster = Cluster::new();
    let (place_a, place_b) = (directory(), directory());
    let alone = world(&network, &config, None, &place_a);
    let listed = |world: &World| {
        let all = world.front.views.model.indexers.all();
        let all = all
            .iter()
            .map(|one| (one.name().to_owned(), one.number.get()));
        all.collect::<Vec<_>>()
    };
    let before = listed(&alone);
    assert_eq!(before.iter().map(|(_, number)| *number).max(), Some(3));
    alone.state.close();
    drop(alone);
    let (node_b, way_b) = cluster.node(2).await;
    let b = world(&network, &config, Some(node_b), &place_b);
    exchange(&b).await;
    let first = listed(&b);
    assert_ne!(first, before, "made of names");
    let (node_a, _) = cluster.node(1).await;
    let a = world(&network, &config, Some(node_a), &place_a);
    exchange(&a).await;
    exchange(&b).await;
    assert_eq!(listed(&a), before, "what programs know stays");
    assert_eq!(listed(&b), before);
    // What the younger node gave out meanwhile still leads to the same indexer.
    for (name, number) in &first {
        let path = format!("/prowlarr/api/v1/indexer/{number}");
        let told = b.get(&path).await.body;
        assert!(told.contains(&format!("\"name\":\"{name}\"")), "{told}");
    }
    b.state.close();
    drop(b);
    way_b.cut(true);
    let b = world(&network, &config, Some(node(2, way_b)), &place_b);
    assert_eq!(listed(&b), before, "after a restart with the store away");
}
