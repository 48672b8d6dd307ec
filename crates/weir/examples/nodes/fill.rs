//! What peers take: memory of the nodes and of the store, and what goes over the wire until all nodes have them.

use std::time::Duration;

use tokio::time::Instant;
use weir_tracker_proto::Event;

use crate::Plan;
use crate::announces::{Whom, as_fast_as_answered};
use crate::cost::each;
use crate::rig::{self, Cluster, Node, until};

pub(crate) fn run(plan: &Plan) {
    let all = plan.torrents * plan.peers;
    for shared in [false, true] {
        let cluster = Cluster::start(&plan.weir, plan.nodes, shared, "");
        let memory = || -> Vec<f64> { cluster.nodes.iter().map(Node::memory).collect() };
        let (empty, store, processor) = (memory(), cluster.store(), cluster.processor());
        let began = Instant::now();
        let answered = each(&cluster, |node, tracker| {
            let whom = (node..all).step_by(plan.nodes);
            let whom = whom.map(|number| {
                let (torrent, peer) = (number % plan.torrents, number / plan.torrents);
                (Whom::new(torrent, peer), Event::Started)
            });
            as_fast_as_answered(tracker, whom, Duration::from_secs(900))
        });
        let announced = began.elapsed();
        if shared {
            until("each node has all peers", || {
                let mut nodes = cluster.nodes.iter();
                nodes.all(|node| node.stat("/peers") == u64::from(all))
            });
        }
        let took = began.elapsed();
        let used = cluster.store();
        println!(
            "{} nodes {}: {} announces in {:.1} s (refused {}, lost {}), all known after {:.1} s, load average {}",
            plan.nodes,
            if shared { "on a store" } else { "alone" },
            answered.good,
            announced.as_secs_f64(),
            answered.bad,
            answered.lost,
            took.as_secs_f64(),
            rig::load(),
        );
        let peers: Vec<u64> = (cluster.nodes.iter())
            .map(|node| node.stat("/peers"))
            .collect();
        println!(
            "peers {peers:?}, memory of the nodes empty {empty:.0?} MiB, now {:.0?} MiB, processor time {:.2} s",
            memory(),
            cluster.processor() - processor,
        );
        if shared {
            let mib = |bytes: f64| bytes / f64::from(1 << 20);
            println!(
                "store: {:.1} MiB used (empty {:.1}), {:.1} MiB resident, {:.1} MiB in, {:.1} MiB out, {:.2} s processor time, {:.0} scripts",
                mib(used.memory),
                mib(store.memory),
                mib(used.resident),
                mib(used.bytes_in - store.bytes_in),
                mib(used.bytes_out - store.bytes_out),
                used.processor - store.processor,
                used.scripts - store.scripts,
            );
            println!(
                "store: {:.1} bytes used per peer; per announce: {}",
                (used.memory - store.memory) / f64::from(all),
                used.since(&store, f64::from(all))
            );
        }
        idle(&cluster, plan.time);
    }
}

/// What nobody's announces cost.
fn idle(cluster: &Cluster, time: Duration) {
    let (store, processor) = (cluster.store(), cluster.processor());
    std::thread::park_timeout(time);
    println!(
        "idle, per second: {}; nodes' processor time {:.2} % of one",
        cluster.store().since(&store, time.as_secs_f64()),
        100.0 * (cluster.processor() - processor) / time.as_secs_f64(),
    );
}
