//! What a search asks of the store: one that goes to the indexer, one that another node has the answer of, and one that
//! this node has the answer of.

use tokio::runtime::Runtime;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::indexer::{Indexer, Setup};

use crate::Plan;
use crate::rig::{self, Cluster, Node};

/// Searches of each kind.
const SEARCHES: u32 = 200;

pub(crate) fn run(plan: &Plan) {
    let runtime = Runtime::new().unwrap();
    let indexer = Indexer::start(Place::Loopback, Setup::with(1..=100));
    let indexer = runtime.block_on(indexer).unwrap();
    let config = format!(
        "search:\n  spacing: {{ interactive: 0s, rss: 0s, completion: 0s, background: 0s }}\n  indexers:\n  \
         - {{ name: one, url: '{}', api_key: k, limits: [100000/1h] }}\n",
        indexer.url()
    );
    let cluster = Cluster::start(&plan.weir, plan.nodes.max(2), true, &config);
    let [one, two] = [&cluster.nodes[0], &cluster.nodes[1]];
    search(one, 0);
    search(two, 0);
    println!(
        "one indexer with 100 releases and a limit, {SEARCHES} searches of each kind, load average {}",
        rig::load()
    );
    for (kind, node) in [
        ("asked the indexer", one),
        ("another node had asked", two),
        ("this node had the answer", two),
    ] {
        let (store, asked) = (cluster.store(), indexer.searches().len());
        for number in 1..=SEARCHES {
            search(node, number);
        }
        println!(
            "{kind}: calls {}; per search: {}",
            indexer.searches().len() - asked,
            cluster.store().since(&store, SEARCHES.into())
        );
    }
}

fn search(node: &Node, number: u32) {
    let answer = node.get(&format!("/torznab/api?t=search&q=word{number}"));
    assert!(answer.contains("<rss"), "{answer}");
}
