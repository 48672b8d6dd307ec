//! Three dispatchers that share one upstream through a ledger, over ways that delay, lose and repeat everything: in no
//! window do they start more calls than its limit.
//!
//! The ledger and what a node does when it hears nothing are written here as plainly as they can be; `store` and `engine`
//! have the real ones. What is tried is that a dispatcher starts one call for each permission, at most, whatever comes
//! between question and answer.

#[path = "nodes/ledger.rs"]
mod ledger;
#[path = "nodes/member.rs"]
mod member;

use std::time::Duration;

use ledger::{Ledger, Millis, Reply, Request};
use member::{Member, Sent};

/// The windows of the upstream in milliseconds, with their limits.
const WINDOWS: [(Millis, usize); 2] = [(60_000, 12), (600_000, 40)];

/// How long a permission may lie between the ledger's count and the call.
const USE_WITHIN: Millis = 2_000;

/// Marsaglia's xorshift64: the same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    fn one_in(&mut self, often: u64) -> bool {
        self.below(often) == 0
    }
}

/// A message on its way.
enum Post {
    ToLedger(usize, u32, Request),
    /// To a node, in the run of it that asked.
    ToMember(usize, u32, Reply),
}

#[derive(Default, Debug)]
struct Sum {
    granted: usize,
    alone: usize,
    given_back: usize,
    lost: usize,
    repeated: usize,
    restarts: usize,
    losses: usize,
}

struct World {
    now: Millis,
    numbers: Numbers,
    ledger: Ledger,
    members: Vec<Member>,
    post: Vec<(Millis, Post)>,
    /// Whose way to the ledger is cut until when.
    cut: [Millis; 3],
    /// When calls really started, and who made them alone.
    starts: Vec<(Millis, Option<usize>)>,
    sum: Sum,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 ^ (seed + 1));
        // Clocks up to five minutes apart.
        let members = (0..3).map(|number| Member::new(number, numbers.below(300_000)));
        Self {
            now: 1_000_000,
            members: members.collect(),
            numbers,
            ledger: Ledger::new(3),
            post: Vec::new(),
            cut: [0; 3],
            starts: Vec::new(),
            sum: Sum::default(),
        }
    }

    /// Puts a message on its way, if it is not lost; perhaps twice.
    fn send(&mut self, number: usize, make: impl Fn() -> Post) {
        if self.now < self.cut[number] || self.numbers.one_in(20) {
            self.sum.lost += 1;
            return;
        }
        let copies = if self.numbers.one_in(10) { 2 } else { 1 };
        self.sum.repeated += copies - 1;
        for _ in 0..copies {
            let slow = self.numbers.one_in(8);
            let delay = self.numbers.below(if slow { 5_000 } else { 150 });
            self.post.push((self.now + delay, make()));
        }
    }

    /// Lets a member do what it can, and notes what it really did.
    fn follow(&mut self, number: usize) {
        for sent in self.members[number].follow(self.now) {
            match sent {
                Sent::Started { alone } => {
                    self.starts.push((self.now, alone.then_some(number)));
                    self.sum.granted += usize::from(!alone);
                    self.sum.alone += usize::from(alone);
                }
                Sent::Request(request) => {
                    self.sum.given_back += usize::from(matches!(request, Request::Unused(_)));
                    let run = self.members[number].run;
                    self.send(number, || Post::ToLedger(number, run, request.clone()));
                }
            }
        }
    }

    fn deliver(&mut self) {
        // In order of time; of one moment as they were sent.
        self.post.sort_by_key(|(at, _)| *at);
        while self.post.first().is_some_and(|(at, _)| *at <= self.now) {
            match self.post.remove(0).1 {
                Post::ToLedger(number, run, request) => {
                    if let Some(reply) = self.ledger.hear(self.now, number, request) {
                        self.send(number, || Post::ToMember(number, run, reply.clone()));
                    }
                }
                Post::ToMember(number, run, reply) => {
                    // Nobody of an earlier run is there to hear it.
                    if self.members[number].run == run {
                        self.members[number].hear(self.now, reply);
                        self.follow(number);
                    }
                }
            }
        }
    }

    fn live(&mut self, steps: u32) {
        for _ in 0..steps {
            let slow = self.numbers.one_in(12);
            let span = self.numbers.below(if slow { 20_000 } else { 400 });
            let target = self.now + span;
            // In small steps, so that messages arrive when they do.
            while self.now < target {
                self.now = (self.now + 50).min(target);
                self.deliver();
                (0..3).for_each(|number| self.follow(number));
            }
            let number = self.numbers.below(3) as usize;
            match self.numbers.below(400) {
                0..2 => {
                    self.ledger.lose(self.now);
                    self.sum.losses += 1;
                }
                2..8 => {
                    let span = self.numbers.below(60_000);
                    self.cut[number] = self.now + span;
                }
                8..12 => {
                    self.members[number].restart(self.now);
                    self.sum.restarts += 1;
                }
                what => {
                    let (at, more) = (self.numbers.below(1_000), self.numbers.below(1_000));
                    self.members[number].act(self.now, what, at as usize, more);
                }
            }
            self.follow(number);
        }
    }

    /// The most starts of these in any window of this length.
    fn most(&self, window: Millis, which: impl Fn(Option<usize>) -> bool) -> usize {
        let these = self.starts.iter().filter(|(_, alone)| which(*alone));
        let times: Vec<Millis> = these.map(|(at, _)| *at).collect();
        let within = |from: Millis| {
            let later = times.iter().filter(|at| **at >= from);
            later.filter(|at| **at < from + window).count()
        };
        times.iter().map(|at| within(*at)).max().unwrap_or(0)
    }

    /// No window is exceeded; nor is what the ledger may grant of it, nor what a member may spend alone, which would not
    /// always show in the sum.
    fn check(&self, seed: u64) {
        let sum = &self.sum;
        for (window, limit) in WINDOWS {
            let share = ledger::share(limit);
            let most = self.most(window, |_| true);
            assert!(most <= limit, "seed {seed}: {most} in {window} ms; {sum:?}");
            let granted = self.most(window, |alone| alone.is_none());
            let left = limit - self.members.len() * share;
            assert!(
                granted <= left,
                "seed {seed}: {granted} granted in {window} ms; {sum:?}"
            );
            for number in 0..self.members.len() {
                let alone = self.most(window, |alone| alone == Some(number));
                assert!(
                    alone <= share,
                    "seed {seed}: {alone} alone in {window} ms; {sum:?}"
                );
            }
        }
    }
}

fn settings(name: &str, usual: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn three_dispatchers_on_one_ledger_never_exceed_a_window() {
    let mut all = Sum::default();
    let seeds = settings("NODES_SEEDS", 40);
    let mut starts = 0;
    for seed in 0..seeds {
        let mut world = World::new(seed);
        world.live(1_500);
        world.check(seed);
        starts += world.starts.len();
        let sum = &world.sum;
        all.granted += sum.granted;
        all.alone += sum.alone;
        all.given_back += sum.given_back;
        all.lost += sum.lost;
        all.repeated += sum.repeated;
        all.restarts += sum.restarts;
        all.losses += sum.losses;
    }
    // What is to be tried does happen.
    let seeds = seeds as usize;
    assert!(starts > 40 * seeds, "{starts} starts; {all:?}");
    let rare = [
        all.granted / 20,
        all.alone,
        all.given_back,
        all.lost,
        all.repeated,
        all.restarts,
        all.losses,
    ];
    assert!(rare.iter().all(|&count| count > seeds), "{all:?}");
}

/// The limits of the upstream, as a dispatcher knows them.
fn windows() -> impl Iterator<Item = (Duration, usize)> {
    WINDOWS
        .into_iter()
        .map(|(window, limit)| (Duration::from_millis(window), limit))
}
