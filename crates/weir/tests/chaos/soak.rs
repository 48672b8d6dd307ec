//! Random trouble for a long time. `WEIR_MINUTES` says how long, `WEIR_SEED` which trouble.

use std::time::Duration;

use crate::nodes::{Nodes, Plan};
use crate::{pass, secs};

const LIMITS: &[(usize, u64)] = &[(30, 60), (120, 600)];

/// Something that goes wrong for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    StoreStopped,
    StoreKilled(Comes),
    Held(usize),
    HalfOpen(usize),
    Refused(usize),
    Slow(usize, u64),
    Killed(usize),
    Stopped(usize),
}

/// What a store that was killed comes back with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comes {
    /// All that it held.
    Whole,
    /// What it held when it was last saved.
    Older,
    Empty,
}

impl Fault {
    fn of_store(random: &mut fastrand::Rng) -> Self {
        match random.u32(0..5) {
            0 | 1 => Self::StoreStopped,
            2 => Self::StoreKilled(Comes::Whole),
            3 => Self::StoreKilled(Comes::Older),
            _ => Self::StoreKilled(Comes::Empty),
        }
    }

    fn of_node(random: &mut fastrand::Rng) -> Self {
        let node = random.usize(0..3);
        match random.u32(0..8) {
            0 => Self::Held(node),
            1 => Self::HalfOpen(node),
            2 => Self::Refused(node),
            3 | 4 => Self::Slow(node, random.u64(50..800)),
            5 => Self::Killed(node),
            _ => Self::Stopped(node),
        }
    }

    fn begin(self, nodes: &mut Nodes) {
        nodes.say(&format!("{self:?}"));
        match self {
            Self::StoreStopped => nodes.stores[0].freeze(),
            Self::StoreKilled(comes) => {
                match comes {
                    Comes::Whole => nodes.stores[0].save().unwrap(),
                    Comes::Older => {}
                    Comes::Empty => nodes.stores[0].forget().unwrap(),
                }
                nodes.stores[0].kill();
            }
            Self::Held(node) => nodes.ways[node].hold(true),
            Self::HalfOpen(node) => nodes.ways[node].half_open(true),
            Self::Refused(node) => {
                nodes.ways[node].refuse(true);
                nodes.ways[node].cut();
            }
            Self::Slow(node, delay) => nodes.ways[node].delay(Duration::from_millis(delay)),
            Self::Killed(node) => nodes.kill(node),
            Self::Stopped(node) => nodes.all[node].process().signal("STOP"),
        }
    }

    fn end(self, nodes: &mut Nodes) {
        nodes.say(&format!("end of {self:?}"));
        match self {
            Self::StoreStopped => nodes.stores[0].thaw(),
            Self::StoreKilled(_) => nodes.runtime.block_on(nodes.stores[0].run()).unwrap(),
            Self::Held(node) => nodes.ways[node].hold(false),
            Self::HalfOpen(node) => nodes.ways[node].half_open(false),
            Self::Refused(node) => nodes.ways[node].refuse(false),
            Self::Slow(node, _) => nodes.ways[node].delay(Duration::ZERO),
            Self::Killed(node) => nodes.revive(node),
            Self::Stopped(node) => nodes.all[node].process().signal("CONT"),
        }
    }
}

#[test]
#[ignore = "takes half an hour; cargo xtask chaos"]
fn soak() {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let minutes = number("WEIR_MINUTES").unwrap_or(30);
    let seed = number("WEIR_SEED").unwrap_or_else(|| fastrand::u64(0..1_000_000));
    println!("{minutes} minutes with seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut nodes = Nodes::start(Plan {
        limits: LIMITS,
        clocks: [None, Some("+300"), Some("-300")],
        ..Plan::default()
    });
    let clients = nodes.clients(3);
    nodes.wait_for_calls(20);
    let end = nodes.time() + secs(60 * minutes);
    let mut faults = 0;
    while nodes.time() < end {
        let mut under_way = match random.u32(0..4) {
            0 => vec![Fault::of_store(&mut random)],
            1 => vec![Fault::of_store(&mut random), Fault::of_node(&mut random)],
            2 => vec![Fault::of_node(&mut random), Fault::of_store(&mut random)],
            _ => vec![Fault::of_node(&mut random)],
        };
        faults += under_way.len();
        for fault in &under_way {
            fault.begin(&mut nodes);
            pass(Duration::from_millis(random.u64(0..3000)));
        }
        // Mostly short, sometimes a minute.
        let longest = if random.u32(0..8) == 0 {
            60_000
        } else {
            15_000
        };
        pass(Duration::from_millis(random.u64(100..longest)));
        random.shuffle(&mut under_way);
        for fault in under_way {
            fault.end(&mut nodes);
            pass(Duration::from_millis(random.u64(0..3000)));
        }
        moments(&mut nodes, &mut random);
        // Time for everybody to come together, or not quite.
        pass(Duration::from_millis(random.u64(0..20_000)));
    }
    nodes.say(&format!("{faults} faults; all is well from now on"));
    let replies = clients.end();
    nodes.check();
    for one in &nodes.all {
        let status = one.search("after all").status();
        assert!(matches!(status, 200 | 429), "{status}");
    }
    let asked = replies.answered + replies.later;
    assert!(asked as u64 > 60 * minutes, "only {asked} searches");
    // Windows hold easily where nothing is called. What is granted after all that trouble is at least half of what could be.
    let (limit, window) = (LIMITS[1].0, secs(LIMITS[1].1));
    for calls in nodes.calls() {
        let late = calls.iter().filter(|call| call.at + window > end);
        let late = late.count();
        nodes.say(&format!("{late} calls in the last {window:?}"));
        assert!(end < window || late > limit / 2, "only {late} calls");
    }
}

/// What takes no time.
fn moments(nodes: &mut Nodes, random: &mut fastrand::Rng) {
    let node = random.usize(0..3);
    match random.u32(0..6) {
        0 => {
            nodes.say("the store is saved");
            nodes.stores[0].save().unwrap();
        }
        1 => {
            nodes.say(&format!("node {node}: everything once more"));
            // What was said to a store that has gone since may not be answered.
            let again = nodes.runtime.block_on(nodes.ways[node].repeat());
            nodes.say(&format!("{again:?}"));
        }
        2 => {
            nodes.say(&format!("node {node}: cut"));
            nodes.ways[node].cut();
        }
        _ => {}
    }
}
