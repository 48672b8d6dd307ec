//! What announces cost the nodes with a store and without: the same load by turns, in processor time.
//!
//! Without a store each node is filled with all peers, so that both hold the same. A turn ends a second after the last announce,
//! with a store and without, or later, when all nodes have taken in what was told.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use weir_tracker_proto::Event;

use crate::Plan;
use crate::announces::{Answered, Whom, as_fast_as_answered, scatter};
use crate::rig::{self, Cluster};

/// What is announced in a turn, in percent. The rest are known peers that say what they said before.
#[derive(Clone, Copy, Debug)]
struct Mix {
    name: &'static str,
    /// New peers.
    came: u64,
    /// Peers that came before and leave.
    left: u64,
    /// Known peers that others have to hear of.
    told: u64,
}

/// In a day a client announces each 30 minutes, and a peer that stays is told of once in each third of `age`, an hour: every
/// second announce. With ten announces, five hours, between coming and leaving that is the mix of a `day`. In `half` and
/// `new` as many are peers that never were here before: nothing costs more.
const MIXES: [Mix; 4] = [
    Mix {
        name: "again",
        came: 0,
        left: 0,
        told: 0,
    },
    Mix {
        name: "day",
        came: 10,
        left: 10,
        told: 40,
    },
    Mix {
        name: "half",
        came: 50,
        left: 0,
        told: 0,
    },
    Mix {
        name: "new",
        came: 100,
        left: 0,
        told: 0,
    },
];

/// Some turns of reading what the others told, which are taken five times a second.
const SETTLED: Duration = Duration::from_secs(1);

/// How much of each one node has heard.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    all: u64,
    came: u32,
    left: u32,
    told: u32,
}

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
    let progress = || (0..plan.nodes).map(|_| Mutex::default()).collect();
    let progress: [Vec<Mutex<Progress>>; 2] = [progress(), progress()];
    let wanted = |mix: &Mix| plan.mix.as_deref().is_none_or(|name| name == mix.name);
    for mix in MIXES.into_iter().filter(wanted) {
        let mut ratios = Vec::new();
        for round in 0..plan.rounds {
            let mut rates = [0.0; 2];
            let mut words = String::new();
            // The second of a pair has a machine that is warm: it is not always the same.
            let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
            for which in order {
                let cluster = [&alone, &shared][which];
                let (store, processor) = (cluster.store(), cluster.processor());
                let answered = each(cluster, |node, tracker| {
                    let mut progress = progress[which][node as usize].lock().unwrap();
                    let announces = announces(plan, mix, node, &mut progress);
                    as_fast_as_answered(tracker, announces, plan.time)
                });
                // Asked only after the time was read: the pages that say so cost time as well, and only nodes with a store are
                // asked for them. If there was more to read, the time for these is in it.
                let mut used = 0.0;
                rig::until("everything was read", || {
                    thread::park_timeout(SETTLED);
                    used = cluster.processor() - processor;
                    if cluster.redis.is_some() {
                        words = cluster.store().since(&store, answered.good as f64);
                    }
                    cluster.is_settled()
                });
                rates[which] = answered.good as f64 / used;
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
    Whom::new(number % plan.torrents, number / plan.torrents)
}

/// What one node hears in a turn. A client stays with its node.
fn announces<'a>(
    plan: &'a Plan,
    mix: Mix,
    node: u32,
    progress: &'a mut Progress,
) -> impl Iterator<Item = (Whom, Event)> + 'a {
    let nodes = plan.nodes as u32;
    let mine = plan.torrents * plan.peers / nodes;
    // Who comes has the number of nobody who is known.
    let newcomer = move |number: u32| {
        let peer = plan.peers + number * nodes + node;
        Whom::new(scatter(peer.into()) as u32 % plan.torrents, peer)
    };
    // Who is told of has changed from one that has all of it to one that has not, or back; one after the other, all over
    // again. Others say once more what they said last.
    let changed = move |place: u32, told: u32| {
        let whom = known(plan, place * nodes + node);
        let times = told / mine + u32::from(place < told % mine);
        Whom {
            seeder: whom.seeder != (times % 2 == 1),
            ..whom
        }
    };
    (0..u64::MAX).map(move |_| {
        let random = scatter(progress.all * u64::from(nodes) + u64::from(node));
        progress.all += 1;
        let kind = random % 100;
        if kind < mix.came {
            progress.came += 1;
            (newcomer(progress.came), Event::Started)
        } else if kind < mix.came + mix.left && progress.left < progress.came {
            progress.left += 1;
            (newcomer(progress.left), Event::Stopped)
        } else if kind < mix.came + mix.left + mix.told {
            progress.told += 1;
            let place = (progress.told - 1) % mine;
            (changed(place, progress.told), Event::None)
        } else {
            let place = (random >> 32) as u32 % mine;
            (changed(place, progress.told), Event::None)
        }
    })
}
