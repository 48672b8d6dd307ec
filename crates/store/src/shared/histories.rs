//! Random histories of three nodes on one store that loses, delays and repeats what it is told, is restarted, and restarted
//! with less: whatever happens, no window is exceeded. Nodes do what the engine does, in a few lines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
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
    store: Arc<MemoryStore>,
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
    open: Vec<Open>,
}

/// A question on its way.
struct Open {
    name: AskId,
    sent: u64,
    /// How much later the call is made; `None` gives the grant back.
    used: Option<u64>,
    handed_in: bool,
    answer: BoxFuture<'static, Result<Answer, Lost>>,
}

impl Node {
    fn new(number: u64, store: MemoryStore) -> Self {
        Self {
            id: NodeId(number),
            store: Arc::new(store),
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
            open: Vec::new(),
        }
    }

    fn now(&self) -> u64 {
        self.store.time().0
    }

    fn handed(&self, starts: &[(AskId, u64)]) -> Vec<HandedStart> {
        handed(self.now(), starts)
    }

    fn take<T>(&mut self, answer: Option<Result<T, Lost>>) -> Option<T> {
        // What is still under way is waited for by questions alone.
        let answer = answer.and_then(Result::ok);
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
            // What it had a day ago, others may have by now.
            if !self.share_lasts() {
                self.shares.clear();
            }
            let share = |(window, starts): (&Window, &u32)| Share {
                upstream: UP,
                ledger: Ledger::Query,
                window: *window,
                starts: *starts,
            };
            let mut starts = self.handed(&self.starts);
            for open in &mut self.open {
                open.handed_in = true;
                let start = (open.name, self.store.time().0);
                starts.extend(handed(self.store.time().0, &[start]));
            }
            let hand_in = HandIn {
                node: self.id,
                epoch: pulse.epoch,
                known: self.known.iter().copied().collect(),
                starts,
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
        let store = self.store.clone();
        self.open.push(Open {
            name,
            sent: self.now(),
            used,
            handed_in: false,
            answer: async move { store.ask(ask).await }.boxed(),
        });
        self.look();
    }

    /// Takes the answers that have arrived.
    fn look(&mut self) {
        for mut open in std::mem::take(&mut self.open) {
            match (&mut open.answer).now_or_never() {
                None => self.open.push(open),
                Some(answer) => self.heed(&open, answer),
            }
        }
    }

    fn heed(&mut self, open: &Open, answer: Result<Answer, Lost>) {
        let fresh = self.now() <= open.sent + 1000;
        let granted = matches!(self.take(Some(answer)), Some(Answer::Granted(_)));
        match open.used.filter(|_| fresh && self.running) {
            Some(later) if granted && !open.handed_in => {
                self.starts.push((open.name, self.now() + later));
            }
            _ if granted || open.handed_in => {
                let told = self.store.tell(UP, vec![Told::Unused(open.name)]);
                let told = told.now_or_never();
                self.take(told);
            }
            _ => {}
        }
    }

    /// Its own share and nothing else, for as long as that lasts.
    fn call_alone(&mut self, name: AskId) {
        let now = self.now();
        if !self.share_lasts() {
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

    fn share_lasts(&self) -> bool {
        let lasts = u64::try_from(SHARE_LASTS.as_millis()).unwrap();
        self.last_beat
            .is_some_and(|last| self.now() <= last + lasts)
    }

    fn stop(&mut self, cleanly: bool) {
        if cleanly && self.running {
            let leave = Leave {
                node: self.id,
                starts: self.handed(&self.untold),
            };
            let left = self.store.leave(leave).now_or_never();
            // Heard or not, it has no share any more.
            self.shares.clear();
            if left.is_some_and(|left| left.is_ok()) {
                self.untold.clear();
            }
        }
        (self.running, self.together) = (false, false);
        self.open.clear();
        // What it did alone and what it was granted cannot be told apart after a restart.
        self.alone_starts = self.starts.iter().map(|(_, at)| *at).collect();
    }
}

/// Starts as they are handed in.
fn handed(now: u64, starts: &[(AskId, u64)]) -> Vec<HandedStart> {
    let handed = |(id, at): &(AskId, u64)| HandedStart {
        upstream: UP,
        id: *id,
        ledger: Ledger::Query,
        age: Duration::from_millis(now.saturating_sub(*at)),
        spaced: false,
    };
    starts.iter().map(handed).collect()
}

/// All nodes on one store.
struct World {
    store: MemoryStore,
    nodes: Vec<Node>,
    /// Whether nodes beat by themselves, or only when the history says so.
    lively: bool,
    epochs: u64,
    /// The store's epoch and when it began.
    epoch: (Epoch, u64),
}

/// Nodes beat each two seconds.
const BEAT: u64 = 2000;

/// Beats in a row that are played; then time jumps.
const BEATS: u64 = 6;

impl World {
    fn next_epoch(&mut self) -> u64 {
        self.epochs += 1;
        self.epochs
    }

    fn beat(&mut self, node: usize) {
        let epoch = self.next_epoch();
        self.nodes[node].beat(epoch);
        let epoch = self.store.epoch();
        if epoch != self.epoch.0 {
            self.epoch = (epoch, self.store.time().0);
        }
    }

    fn wait(&mut self, millis: u64) {
        let mut left = millis;
        for _ in 0..BEATS {
            let step = if self.lively { left.min(BEAT) } else { 0 };
            self.pass(step);
            left -= step;
        }
        self.pass(left);
    }

    fn pass(&mut self, millis: u64) {
        if millis == 0 {
            return;
        }
        self.store.advance(Duration::from_millis(millis));
        for node in 0..self.nodes.len() {
            let it = &self.nodes[node];
            if self.lively && it.running && it.last_beat.is_some() {
                self.beat(node);
            }
            self.nodes[node].look();
        }
    }

    /// Whether somebody was called for, or may be, who has not reached the store in five seconds of this epoch and is known
    /// to nobody who has. For the store this is a first start: the one thing that is not promised.
    fn is_forgotten(&self) -> bool {
        let (epoch, began) = self.epoch;
        let settle = u64::try_from(SETTLE.as_millis()).unwrap();
        let (here, away): (Vec<&Node>, Vec<&Node>) =
            self.nodes.iter().partition(|node| node.epoch == epoch);
        let named = |it: &&Node| here.iter().any(|node| node.known.contains(&it.id));
        let counts = |it: &&Node| !it.starts.is_empty() || !it.shares.is_empty();
        let unknown = away.iter().filter(|it| counts(it) && !named(it)).count();
        self.store.time().0 >= began + settle && unknown > 0
    }
}

/// Tells a history and gives the times of all calls.
fn tell(history: &[Event], lively: bool) -> Vec<u64> {
    let store = MemoryStore::default();
    let nodes = (1..=3).map(|node| Node::new(node, store.handle()));
    let mut world = World {
        nodes: nodes.collect(),
        store,
        lively,
        epochs: 0,
        epoch: (Epoch(0), 0),
    };
    // Two know each other; the third comes whenever it comes.
    for _ in 0..4 {
        world.beat(0);
        world.beat(1);
        world.store.advance(Duration::from_millis(BEAT));
    }
    let mut saved = world.store.snapshot();
    for event in history {
        match event {
            Event::Wait(millis) => world.wait(*millis),
            Event::Beat(node) => world.beat(*node as usize),
            Event::Call(node, used) => {
                let node = *node as usize;
                let before = world.nodes[node].starts.len();
                let forgotten = world.is_forgotten();
                world.nodes[node].call(*used);
                if forgotten && world.nodes[node].starts.len() > before {
                    world.nodes[node].starts.truncate(before);
                    break;
                }
            }
            Event::Fault(node, fault) => world.nodes[*node as usize].store.fail(*fault),
            Event::Cut(node, cut) => world.nodes[*node as usize].store.cut(*cut),
            Event::Stop(node, cleanly) => world.nodes[*node as usize].stop(*cleanly),
            Event::Save => saved = world.store.snapshot(),
            Event::Restart(0) => world.store.restart(),
            Event::Restart(1) => world.store.restore(&saved),
            Event::Restart(_) => world.store.restart_empty(),
        }
    }
    let starts = world.nodes.iter().flat_map(|node| node.starts.iter());
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
        (0_u64..1500).prop_map(|span| Fault::Held(Duration::from_millis(span))),
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

/// A few are tried with all other tests; more with `PROPTEST_CASES=100000`.
fn cases() -> u32 {
    let wanted = std::env::var("PROPTEST_CASES").ok();
    wanted.and_then(|cases| cases.parse().ok()).unwrap_or(100)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn windows_hold_in_every_history(
        history in proptest::collection::vec(event(), 1..400),
        lively in any::<bool>(),
    ) {
        let calls = tell(&history, lively);
        prop_assert_eq!(exceeded(&calls), None);
    }
}

/// The third node is the first to meet a store that was just emptied, and calls whenever it can.
#[test]
fn somebody_new_at_an_emptied_store_waits_for_those_who_are_there() {
    for wait in [1, 500, 1900] {
        let call = |node| vec![Event::Call(node, Some(0)); 12];
        let mut history = call(0);
        history.extend([Event::Wait(wait), Event::Restart(2), Event::Beat(2)]);
        for _ in 0..100 {
            history.extend(call(2));
            history.push(Event::Wait(100));
        }
        let calls = tell(&history, true);
        assert_eq!(exceeded(&calls), None);
        assert!(calls.len() >= 8, "{} calls", calls.len());
    }
}

/// It was handed in as a start, since nobody knew whether it had been granted.
#[test]
fn a_question_that_arrives_after_it_was_handed_in_is_no_permission() {
    // All that there is, and what each has for when it is alone.
    let mut history = vec![Event::Call(0, Some(0)); 8];
    history.extend([Event::Cut(1, true), Event::Call(1, None)]);
    history.extend([Event::Call(1, None), Event::Cut(1, false)]);
    history.push(Event::Beat(1));
    let held = Fault::Held(Duration::from_millis(600));
    history.extend([Event::Fault(0, held), Event::Call(0, Some(0))]);
    history.extend([Event::Restart(2), Event::Beat(0), Event::Beat(1)]);
    history.extend([Event::Wait(700), Event::Cut(0, true), Event::Call(0, None)]);
    history.push(Event::Call(0, None));
    let calls = tell(&history, false);
    assert_eq!(exceeded(&calls), None);
    assert_eq!(calls.len(), 10);
}

/// The second node is away for a day, after which its share is anybody's, and comes back to an epoch of which it knows nothing.
#[test]
fn a_share_of_yesterday_is_not_handed_in() {
    let mut history = vec![Event::Cut(1, true), Event::Cut(0, true), Event::Restart(0)];
    history.extend([Event::Beat(2), Event::Wait(86_400_000), Event::Beat(2)]);
    history.push(Event::Wait(62_000));
    history.extend(vec![Event::Call(2, Some(0)); 12]);
    history.extend([
        Event::Cut(2, true),
        Event::Call(2, None),
        Event::Call(2, None),
    ]);
    history.extend([Event::Cut(1, false), Event::Beat(1), Event::Cut(1, true)]);
    history.extend([Event::Call(1, None), Event::Call(1, None)]);
    let calls = tell(&history, false);
    assert_eq!(exceeded(&calls), None);
    assert_eq!(calls.len(), 10);
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
