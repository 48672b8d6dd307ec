//! How long it takes until a peer that announced at one node is given out by another.
//!
//! For each pair of nodes somebody announces a peer at the one and asks the other every few milliseconds, again and again;
//! meanwhile all nodes are under load. The time to look is part of what is measured.

use std::thread;
use std::time::Duration;

use tokio::time::Instant;
use weir_tracker_proto::Event;

use crate::Plan;
use crate::announces::{Answered, Client, Whom, at_a_pace, scatter};
use crate::rig::{self, Cluster};

/// How often the other node is asked.
const LOOK: Duration = Duration::from_millis(5);
/// Who has not been given out by then is counted as lost.
const GIVE_UP: Duration = Duration::from_secs(20);
/// The number of the first peer that is looked for; those of the load are below.
const MARKED: u32 = 0x4000_0000;

pub(crate) fn run(plan: &Plan) {
    let cluster = Cluster::start(&plan.weir, plan.nodes, true, "");
    let trackers: Vec<_> = cluster.nodes.iter().map(|node| node.tracker).collect();
    let before = (cluster.store(), cluster.processor());
    let (mut lags, mut lost, mut answered) = (Vec::new(), 0, Answered::default());
    thread::scope(|scope| {
        let count = trackers.len();
        let load: Vec<_> = (trackers.iter().copied().enumerate())
            .map(|(node, tracker)| {
                let each = f64::from(plan.rate) / count as f64;
                scope.spawn(move || at_a_pace(tracker, load(plan, node as u32), each, plan.time))
            })
            .collect();
        let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
        let looks: Vec<_> = pairs
            .filter(|(from, to)| from != to)
            .map(|(from, to)| {
                let (torrent, nodes) = ((from * count + to) as u32, (trackers[from], trackers[to]));
                scope.spawn(move || {
                    let (from, to) = (Client::new(nodes.0), Client::new(nodes.1));
                    look(plan.torrents + torrent, (from, to), plan.time)
                })
            })
            .collect();
        for thread in load {
            answered.add(thread.join().unwrap());
        }
        for thread in looks {
            let (found, gone) = thread.join().unwrap();
            lags.extend(found);
            lost += gone;
        }
    });
    lags.sort_unstable();
    let at = |share: f64| {
        let place = ((lags.len().max(1) - 1) as f64 * share).round() as usize;
        lags.get(place)
            .map_or(f64::NAN, |lag| 1000.0 * lag.as_secs_f64())
    };
    let seconds = plan.time.as_secs_f64();
    println!(
        "{} nodes, {:.0} announces/s of which {} % new (refused {}, lost {}), {} looks, load average {}",
        plan.nodes,
        (answered.good + answered.bad) as f64 / seconds,
        plan.new,
        answered.bad,
        answered.lost,
        lags.len(),
        rig::load(),
    );
    println!(
        "given out after ms: p50 {:.0} p90 {:.0} p99 {:.0} p99.9 {:.0} most {:.0}; never {lost}",
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        at(1.0)
    );
    let all = answered.good as f64;
    println!(
        "per announce: {}; nodes' processor time {:.1} % of one",
        cluster.store().since(&before.0, all),
        100.0 * (cluster.processor() - before.1) / seconds
    );
}

/// What one node hears: peers of its own, new ones and those that were there before.
fn load(plan: &Plan, node: u32) -> impl Iterator<Item = (Whom, Event)> + use<> {
    let (torrents, new, nodes) = (plan.torrents, u64::from(plan.new), plan.nodes as u32);
    let mut last = 0_u32;
    (0..u64::MAX).map(move |number| {
        let random = scatter(number * u64::from(nodes) + u64::from(node));
        if last == 0 || random % 100 < new {
            last += 1;
        }
        let peer = match random % 100 < new {
            true => last,
            false => 1 + (random >> 32) as u32 % last,
        };
        let peer = peer * nodes + node;
        let torrent = scatter(peer.into()) as u32 % torrents;
        (Whom::new(torrent, peer), Event::None)
    })
}

/// Announces one peer after the other at the first and looks for it at the second.
fn look(
    torrent: u32,
    (mut from, mut to): (Client, Client),
    time: Duration,
) -> (Vec<Duration>, u32) {
    let (mut lags, mut lost) = (Vec::new(), 0);
    let began = Instant::now();
    let asker = Whom::new(torrent, MARKED - 1);
    for number in 0.. {
        if began.elapsed() >= time {
            break;
        }
        let marked = Whom::new(torrent, MARKED + number);
        let came = Instant::now();
        if from.ask(marked, Event::Started).is_none() {
            continue;
        }
        let lag = loop {
            let given = to.ask(asker, Event::None).unwrap_or_default();
            if given.iter().any(|peer| peer.ip() == marked.address()) {
                break Some(came.elapsed());
            }
            if came.elapsed() > GIVE_UP {
                break None;
            }
            thread::park_timeout(LOOK);
        };
        match lag {
            Some(lag) => lags.push(lag),
            None => lost += 1,
        }
        from.ask(marked, Event::Stopped);
        // Not in step with the nodes' own turns.
        let wait = scatter(u64::from(torrent) << 32 | u64::from(number)) % 250;
        thread::park_timeout(Duration::from_millis(wait));
    }
    (lags, lost)
}
