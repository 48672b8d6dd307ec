//! What announces cost the nodes with a store and without: the same load by turns, in processor time.
//!
//! Without a store each node is filled with all peers, so that both hold the same. A turn ends when the other nodes have
//! taken in what was told.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use weir_tracker_proto::Event;

use crate::Plan;
use crate::announces::{Answered, Whom, as_fast_as_answered, scatter};
use crate::rig::{self, Cluster};

/// What is announced in a turn.
#[derive(Clone, Copy, Debug)]
struct Mix {
    name: &'static str,
    /// Percent that are new peers; the others are known.
    new: u64,
}

/// An announce that others have to hear of costs the same whether the peer is new, goes, or is told of again, as is every
/// second announce of a peer that stays: half of them is what a tracker hears in a day.
const MIXES: [Mix; 3] = [
    Mix {
        name: "again",
        new: 0,
    },
    Mix {
        name: "half",
        new: 50,
    },
    Mix {
        name: "new",
        new: 100,
    },
];

pub(crate) fn run(plan: &Plan) {
    // Far from where it matters who has how many.
    let room = "tracker: { max_peers: 100000000 }";
    let alone = Cluster::start(&plan.weir, plan.nodes, false, room);
    let shared = Cluster::start(&plan.weir, plan.nodes, true, room);
    for cluster in [&alone, &shared] {
        let (count, all) = (plan.nodes as u32, plan.torrents * plan.peers);
        each(cluster, |node, tracker| {
            let every = match cluster.redis {
                Some(_) => count,
                None => 1,
            };
            let first = if every == 1 { 0 } else { node };
            let whom = (first..all).step_by(every as usize);
            let whom = whom.map(|number| (known(plan, number), Event::None));
            as_fast_as_answered(tracker, whom, Duration::from_secs(600))
        });
        cluster.settle();
    }
    println!(
        "{} nodes, {} swarms of {}, turns of {:?}; announces per second of the nodes' processor time",
        plan.nodes, plan.torrents, plan.peers, plan.time
    );
    let mut fresh = plan.torrents * plan.peers;
    for mix in MIXES {
        let mut ratios = Vec::new();
        for round in 0..plan.rounds {
            let mut rates = [0.0; 2];
            let mut words = String::new();
            // The same peers for both, so they are as new here as there.
            let from = fresh;
            // The second of a pair has a machine that is warm: it is not always the same.
            let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
            for which in order {
                let cluster = [&alone, &shared][which];
                let (store, processor) = (cluster.store(), cluster.processor());
                let answered = each(cluster, |node, tracker| {
                    as_fast_as_answered(tracker, announces(plan, mix, from, node), plan.time)
                });
                cluster.settle();
                let used = cluster.processor() - processor;
                rates[which] = answered.good as f64 / used;
                fresh = fresh.max(from + answered.good as u32 + 1_000_000);
                if cluster.redis.is_some() {
                    words = cluster.store().since(&store, answered.good as f64);
                }
                assert_eq!(answered.bad, 0, "an announce was refused");
            }
            let [without, with] = rates;
            ratios.push(with / without);
            println!(
                "{}: without {without:.0} with {with:.0} ratio {:.3}; per announce: {words}",
                mix.name,
                with / without
            );
        }
        ratios.sort_by(f64::total_cmp);
        println!(
            "{}: ratios {:.3} to {:.3}, median {:.3}, load average {}",
            mix.name,
            ratios[0],
            ratios[ratios.len() - 1],
            ratios[ratios.len() / 2],
            rig::load()
        );
    }
    let dropped: u64 = (shared.nodes.iter())
        .map(|node| node.stat("/swarm_events/dropped"))
        .sum();
    println!("events dropped {dropped}");
}

/// Does something at all nodes at the same time.
pub(crate) fn each(
    cluster: &Cluster,
    act: impl Fn(u32, SocketAddr) -> Answered + Sync,
) -> Answered {
    let mut all = Answered::default();
    thread::scope(|scope| {
        let act = &act;
        let threads: Vec<_> = (cluster.nodes.iter().zip(0..))
            .map(|(node, number)| {
                let tracker = node.tracker;
                scope.spawn(move || act(number, tracker))
            })
            .collect();
        for thread in threads {
            all.add(thread.join().unwrap());
        }
    });
    all
}

/// A peer that all nodes know; those next to each other are of different torrents.
fn known(plan: &Plan, number: u32) -> Whom {
    Whom {
        torrent: number % plan.torrents,
        peer: number / plan.torrents,
    }
}

/// What one node hears in a turn.
fn announces(
    plan: &Plan,
    mix: Mix,
    from: u32,
    node: u32,
) -> impl Iterator<Item = (Whom, Event)> + '_ {
    let nodes = plan.nodes as u32;
    let mut next = from + node;
    (0..u64::MAX).map(move |number| {
        let random = scatter((u64::from(from) << 24) + number * u64::from(nodes) + u64::from(node));
        let whom = if random % 100 < mix.new {
            next += nodes;
            Whom {
                torrent: (random >> 32) as u32 % plan.torrents,
                peer: next,
            }
        } else {
            known(plan, (random >> 32) as u32 % (plan.torrents * plan.peers))
        };
        (whom, Event::None)
    })
}
