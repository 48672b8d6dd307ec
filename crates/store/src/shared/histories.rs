//! Random histories of three nodes on one store that loses, delays and repeats what it is told, is restarted, and restarted
//! with less: whatever happens, no window is exceeded. Nodes do what the engine does, in a few lines.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::FutureExt;
use proptest::prelude::*;

use super::story::{id, secs};
use super::*;
use crate::state::{Ledger, Window};

pub(super) const UP: UpstreamKey = UpstreamKey([1; 16]);
pub(super) const WINDOWS: [(Window, u32); 2] = [(Window(60), 10), (Window(3600), 45)];

/// Something that happens.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// Time passes, in milliseconds.
    Wait(u64),
    /// A node says that it is there, and hands in if that is called for.
    Beat(u64),
    /// A node wants to call, and uses the grant so many milliseconds later; or gives it back.
    Call(u64, Option<u64>),
    /// The next call of a node goes wrong.
    Fault(u64, Fault),
    /// A node is cut off, or not any more.
    Cut(u64, bool),
    /// A node stops, cleanly or not, and comes back at its next beat with what it keeps on its disk.
    Stop(u64, bool),
    /// Notes what the store holds.
    Save,
    /// The store is restarted: with everything, with what was noted, empty.
    Restart(u8),
}

/// One node, as much of it as matters here.
struct Node {
    id: NodeId,
    store: MemoryStore,
    next: u64,
    epoch: Epoch,
    known: BTreeSet<NodeId>,
    shares: BTreeMap<Window, u32>,
    /// All own starts with the time of the call.
    starts: Vec<(AskId, u64)>,
    /// Those that were made alone, and those of them that the store was not told of.
    alone_starts: Vec<u64>,
    untold: Vec<(AskId, u64)>,
    together: bool,
    running: bool,
    last_beat: Option<u64>,
}

impl Node {
    fn new(number: u64, store: MemoryStore) -> Self {
        Self {
            id: NodeId(number),
            store,
            next: 0,
            epoch: Epoch(0),
            known: BTreeSet::new(),
            shares: BTreeMap::new(),
            starts: Vec::new(),
            alone_starts: Vec::new(),
            untold: Vec::new(),
            together: false,
            running: true,
            last_beat: None,
        }
    }

    fn now(&self) -> u64 {
        self.store.time().0
    }

    fn handed(&self, starts: &[(AskId, u64)]) -> Vec<HandedStart> {
        let now = self.now();
        let handed = |(id, at): &(AskId, u64)| HandedStart {
            upstream: UP,
            id: *id,
            ledger: Ledger::Query,
            age: Duration::from_millis(now.saturating_sub(*at)),
            spaced: false,
        };
        starts.iter().map(handed).collect()
    }

    fn take<T>(&mut self, answer: Option<Result<T, Lost>>) -> Option<T> {
        let answer = answer.unwrap().ok();
        // Nothing is known about whether it was carried out: from now on it is alone.
        self.together &= answer.is_some();
        answer
    }

    fn adopt(&mut self, pulse: &Pulse) {
        self.known
            .extend(pulse.members.iter().map(|member| member.node));
        self.shares = pulse
            .shares
            .iter()
            .map(|share| (share.window, share.starts))
            .collect();
        self.last_beat = Some(self.now());
    }

    fn beat(&mut self, epoch: u64) {
        self.running = true;
        let wish = |(window, limit)| ShareWish {
            upstream: UP,
            ledger: Ledger::Query,
            window,
            limit,
        };
        let beat = Beat {
            node: self.id,
            shares: WINDOWS.map(wish).to_vec(),
            new_epoch: Epoch(epoch),
            ..Beat::default()
        };
        let answer = self.store.beat(beat).now_or_never();
        let Some(mut pulse) = self.take(answer) else {
            return;
        };
        if pulse.epoch != self.epoch {
            let share = |(window, starts): (&Window, &u32)| Share {
                upstream: UP,
                ledger: Ledger::Query,
                window: *window,
                starts: *starts,
            };
            let hand_in = HandIn {
                node: self.id,
                epoch: pulse.epoch,
                known: self.known.iter().copied().collect(),
                starts: self.handed(&self.starts),
                shares: self.shares.iter().map(share).collect(),
                ..HandIn::default()
            };
            let answer = self.store.hand_in(hand_in).now_or_never();
            let Some(merged) = self.take(answer) else {
                return;
            };
            if merged.epoch != pulse.epoch {
                self.together = false;
                return;
            }
            pulse = merged;
            self.epoch = pulse.epoch;
            self.untold.clear();
        }
        self.adopt(&pulse);
        self.together = true;
        let told = self
            .handed(&self.untold)
            .into_iter()
            .map(|start| Told::Started {
                id: start.id,
                ledger: start.ledger,
                age: start.age,
                spaced: false,
            });
        let told = self.store.tell(UP, told.collect()).now_or_never();
        if self.take(told).is_some() {
            self.untold.clear();
        }
    }

    fn call(&mut self, used: Option<u64>) {
        if !self.running || self.last_beat.is_none() {
            return;
        }
        self.next += 1;
        let name = id(self.id.0, self.next);
        if !self.together {
            return self.call_alone(name);
        }
        let ask = Ask {
            id: name,
            upstream: UP,
            ledger: Ledger::Query,
            windows: WINDOWS.to_vec(),
            day_begins: None,
            gap: None,
            question: None,
            wanted_until: self.store.time().after(secs(1)),
        };
        let answer = self.store.ask(ask).now_or_never();
        match (self.take(answer), used) {
            (Some(Answer::Granted(_)), Some(later)) => {
                self.starts.push((name, self.now() + later));
            }
            (Some(Answer::Granted(_)), None) => {
                let told = self.store.tell(UP, vec![Told::Unused(name)]);
                let told = told.now_or_never();
                self.take(told);
            }
            _ => {}
        }
    }

    /// Its own share and nothing else, for as long as that lasts.
    fn call_alone(&mut self, name: AskId) {
        let now = self.now();
        let lasts = u64::try_from(SHARE_LASTS.as_millis()).unwrap();
        if self.last_beat.is_none_or(|last| now > last + lasts) {
            return;
        }
        let left = WINDOWS.iter().all(|(window, _)| {
            let since = now.saturating_sub(u64::from(window.0) * 1000);
            let spent = self.alone_starts.iter().filter(|at| **at > since).count();
            let share = self.shares.get(window).copied().unwrap_or(0);
            spent < usize::try_from(share).unwrap()
        });
        if left {
            self.alone_starts.push(now);
            self.starts.push((name, now));
            self.untold.push((name, now));
        }
    }

    fn stop(&mut self, cleanly: bool) {
        if cleanly && self.running {
            let leave = Leave {
                node: self.id,
                starts: self.handed(&self.untold),
            };
            let left = self.store.leave(leave).now_or_never().unwrap();
            // Heard or not, it has no share any more.
            self.shares.clear();
            if left.is_ok() {
                self.untold.clear();
            }
        }
        (self.running, self.together) = (false, false);
        // What it did alone and what it was granted cannot be told apart after a restart.
        self.alone_starts = self.starts.iter().map(|(_, at)| *at).collect();
    }
}

/// Tells a history and gives the times of all calls.
fn tell(history: &[Event]) -> Vec<u64> {
    let store = MemoryStore::default();
    let mut nodes: Vec<_> = (1..=3)
        .map(|node| Node::new(node, store.handle()))
        .collect();
    // Two know each other; the third comes whenever it comes.
    for epoch in 1..=3 {
        for node in &mut nodes[..2] {
            node.beat(epoch);
        }
    }
    let mut saved = store.snapshot();
    let mut epochs = 10;
    for event in history {
        epochs += 1;
        match event {
            Event::Wait(millis) => store.advance(Duration::from_millis(*millis)),
            Event::Beat(node) => nodes[*node as usize].beat(epochs),
            Event::Call(node, used) => nodes[*node as usize].call(*used),
            Event::Fault(node, fault) => nodes[*node as usize].store.fail(*fault),
            Event::Cut(node, cut) => nodes[*node as usize].store.cut(*cut),
            Event::Stop(node, cleanly) => nodes[*node as usize].stop(*cleanly),
            // A node that is new to a store which was just emptied, before anybody else has noticed, finds nothing and
            // nobody: that much is not promised.
            Event::Restart(_) if nodes[2].last_beat.is_none() => {}
            Event::Save => saved = store.snapshot(),
            Event::Restart(0) => store.restart(),
            Event::Restart(1) => store.restore(&saved),
            Event::Restart(_) => store.restart_empty(),
        }
    }
    let starts = nodes.iter().flat_map(|node| node.starts.iter());
    starts.map(|(_, at)| *at).collect()
}

/// The first window that holds more calls than it may.
fn exceeded(calls: &[u64]) -> Option<(Window, usize)> {
    let mut calls = calls.to_vec();
    calls.sort_unstable();
    for (window, limit) in WINDOWS {
        let length = u64::from(window.0) * 1000;
        for (place, first) in calls.iter().enumerate() {
            let later = calls[place..].iter();
            let count = later.take_while(|at| **at < first + length).count();
            if count > usize::try_from(limit).unwrap() {
                return Some((window, count));
            }
        }
    }
    None
}

fn fault() -> impl Strategy<Value = Fault> {
    let span = (0_u64..5000).prop_map(Duration::from_millis);
    prop_oneof![
        Just(Fault::Unheard),
        Just(Fault::Unanswered),
        Just(Fault::Twice),
        span.clone().prop_map(Fault::Late),
        span.prop_map(Fault::Again),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let node = 0_u64..3;
    prop_oneof![
        40 => (node.clone(), proptest::option::weighted(0.9, 0_u64..2000))
            .prop_map(|(node, used)| Event::Call(node, used)),
        12 => node.clone().prop_map(Event::Beat),
        10 => (1_u64..3000).prop_map(Event::Wait),
        4 => (3000_u64..90_000).prop_map(Event::Wait),
        1 => (90_000_u64..4_000_000).prop_map(Event::Wait),
        1 => (80_000_000_u64..100_000_000).prop_map(Event::Wait),
        6 => (node.clone(), fault()).prop_map(|(node, fault)| Event::Fault(node, fault)),
        3 => (node.clone(), any::<bool>()).prop_map(|(node, cut)| Event::Cut(node, cut)),
        1 => (node, any::<bool>()).prop_map(|(node, cleanly)| Event::Stop(node, cleanly)),
        1 => Just(Event::Save),
        1 => (0_u8..3).prop_map(Event::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn windows_hold_in_every_history(history in proptest::collection::vec(event(), 1..400)) {
        let calls = tell(&history);
        prop_assert_eq!(exceeded(&calls), None);
    }
}

#[test]
fn the_checker_sees_one_call_too_many() {
    let mut calls: Vec<u64> = (0..10).map(|call| call * 100).collect();
    assert_eq!(exceeded(&calls), None);
    calls.push(59_999);
    assert_eq!(exceeded(&calls), Some((Window(60), 11)));
    *calls.last_mut().unwrap() = 60_000;
    assert_eq!(exceeded(&calls), None);
}
