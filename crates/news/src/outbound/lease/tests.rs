//! Nodes that share an account over a store in memory: whatever happens, all of them together have no more connections than
//! it allows, and each gets its part.

use std::sync::Arc;
use std::time::SystemTime;

use futures_util::FutureExt;
use proptest::prelude::*;
use weir_engine::{KeptNode, NodeOptions, Timeline};
use weir_store::shared::{Beat, MemoryStore, NodeId, Seal, SharedStore};

use super::*;

const ACCOUNT: UpstreamKey = UpstreamKey([7; 16]);
const STEP: Duration = Duration::from_millis(500);

/// A pool without connections: how many it has is a number.
struct Pool {
    node: NodeId,
    allowance: Allowance,
    open: u32,
    wants: u32,
    renewed: Option<Instant>,
    members: u32,
    alive: bool,
}

struct World {
    store: MemoryStore,
    now: Instant,
    limit: u32,
    pools: Vec<Pool>,
    away: bool,
    returns: u64,
}

impl World {
    fn new(limit: u32, nodes: u64) -> Self {
        let now = Instant::now();
        let pools = (1..=nodes).map(|node| Pool {
            node: NodeId(node),
            allowance: Allowance::new(limit, now),
            open: 0,
            wants: 0,
            renewed: None,
            members: 0,
            alive: true,
        });
        let mut world = Self {
            store: MemoryStore::default(),
            now,
            limit,
            pools: pools.collect(),
            away: false,
            returns: 0,
        };
        for pool in 0..world.pools.len() {
            world.renew(pool);
        }
        // Everybody has heard of everybody, and has waited for the store.
        world.pass(8);
        world
    }

    /// One beat and one lease, if the store answers.
    fn renew(&mut self, pool: usize) {
        let (now, limit, away) = (self.now, self.limit, self.away);
        let returns = self.returns;
        let pool = &mut self.pools[pool];
        if away || !pool.alive {
            return;
        }
        let beat = Beat {
            node: pool.node,
            ..Beat::default()
        };
        let pulse = self.store.beat(beat).now_or_never().expect("at once");
        pool.members = pulse.expect("a pulse").members.len() as u32;
        let around = Surroundings {
            members: pool.members,
            together: true,
            returns,
        };
        let wanted = pool
            .allowance
            .wanted(now, around, pool.open, pool.wants > pool.open);
        let lease = self.store.lease(ACCOUNT, pool.node, wanted, limit);
        let lease = lease.now_or_never().expect("at once").expect("a lease");
        pool.allowance.hear(now, &lease, around);
        pool.renewed = Some(now);
        // Whatever is not wanted is idle.
        let keep = pool.allowance.keep().max(pool.wants.min(pool.open));
        pool.open = pool.open.min(keep);
    }

    /// A pool opens what it wants and may.
    fn open(&mut self, pool: usize) {
        let (now, together, returns) = (self.now, !self.away, self.returns);
        let pool = &mut self.pools[pool];
        let around = Surroundings {
            members: pool.members,
            together,
            returns,
        };
        let most = pool.allowance.most(now, around);
        if pool.alive && pool.open < pool.wants.min(most) {
            pool.open += 1;
        }
    }

    fn pass(&mut self, steps: u32) {
        for _ in 0..steps {
            self.now += STEP;
            self.store.advance(STEP);
            for pool in 0..self.pools.len() {
                let one = &self.pools[pool];
                let waits = one.wants > one.open;
                let due = one.renewed.is_none_or(|at| self.now >= at + RENEW);
                if due || waits {
                    self.renew(pool);
                }
                self.open(pool);
                self.check();
            }
        }
    }

    fn check(&self) {
        let open: u32 = self.pools.iter().map(|pool| pool.open).sum();
        let each: Vec<u32> = self.pools.iter().map(|pool| pool.open).collect();
        assert!(open <= self.limit, "{each:?} of {}", self.limit);
    }

    fn open_each(&self) -> Vec<u32> {
        self.pools.iter().map(|pool| pool.open).collect()
    }
}

#[test]
fn one_that_nobody_else_disturbs_gets_all() {
    let mut world = World::new(8, 3);
    world.pools[0].wants = 20;
    world.pass(80);
    assert_eq!(world.open_each(), [8, 0, 0]);
}

#[test]
fn who_comes_later_gets_a_fair_part_of_what_is_idle() {
    let mut world = World::new(8, 2);
    world.pools[0].wants = 20;
    world.pass(80);
    world.pools[1].wants = 20;
    // What is busy stays open.
    world.pass(20);
    assert_eq!(world.open_each(), [8, 0]);
    // Two are busy now, and six have nothing to do.
    world.pools[0].wants = 2;
    world.pass(40);
    let open = world.open_each();
    assert!(open[0] <= 4 && open[1] >= 4, "{open:?}");
}

#[test]
fn both_that_want_all_get_half() {
    let mut world = World::new(8, 2);
    world.pools[0].wants = 20;
    world.pools[1].wants = 20;
    world.pass(80);
    assert_eq!(world.open_each(), [4, 4]);
}

#[test]
fn with_more_nodes_than_connections_some_wait_and_get_one_when_it_is_idle() {
    let mut world = World::new(1, 3);
    world.pools[0].wants = 1;
    world.pass(10);
    assert_eq!(world.open_each(), [1, 0, 0]);
    world.pools[1].wants = 1;
    world.pass(20);
    assert_eq!(world.open_each(), [1, 0, 0]);
    world.pools[0].wants = 0;
    world.pools[0].open = 0;
    world.pass(10);
    assert_eq!(world.open_each(), [0, 1, 0]);
}

#[test]
fn the_connections_of_a_dead_node_are_free_after_ten_seconds() {
    let mut world = World::new(4, 2);
    world.pools[0].wants = 4;
    world.pass(60);
    assert_eq!(world.open_each(), [4, 0]);
    world.pools[0].alive = false;
    world.pools[1].wants = 4;
    world.pass(18);
    assert_eq!(world.open_each()[1], 0, "it may be there still");
    world.pools[0].open = 0;
    world.pass(60);
    assert_eq!(world.open_each()[1], 4);
}

#[test]
fn alone_each_has_its_part_of_what_was_free() {
    let mut world = World::new(9, 3);
    world.pools[0].wants = 5;
    world.pass(60);
    assert_eq!(world.open_each(), [5, 0, 0]);
    world.away = true;
    for pool in &mut world.pools {
        pool.wants = 20;
    }
    world.pass(100);
    assert_eq!(world.open_each(), [6, 1, 1]);
}

#[test]
fn a_pool_that_never_heard_the_store_waits_for_it_and_then_takes_its_part() {
    let now = Instant::now();
    let allowance = Allowance::new(8, now);
    let around = Surroundings {
        members: 4,
        together: false,
        returns: 0,
    };
    assert_eq!(allowance.most(now, around), 0);
    assert_eq!(allowance.most(now + FIRST, around), 2);
}

#[derive(Clone, Debug)]
enum Step {
    Want(usize, u32),
    /// Connections end by themselves.
    Lose(usize, u32),
    Pass(u32),
    Away(bool),
    /// The store is restarted without anything.
    Empty,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..4_usize, 0..12_u32).prop_map(|(pool, wants)| Step::Want(pool, wants)),
        2 => (0..4_usize, 1..4_u32).prop_map(|(pool, lost)| Step::Lose(pool, lost)),
        6 => (1..30_u32).prop_map(Step::Pass),
        3 => any::<bool>().prop_map(Step::Away),
        1 => Just(Step::Empty),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn all_together_never_have_more_than_the_account_allows(
        limit in 1..12_u32,
        nodes in 1..5_u64,
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut world = World::new(limit, nodes);
        for step in steps {
            let pools = world.pools.len();
            match step {
                Step::Want(pool, wants) => {
                    world.pools[pool % pools].wants = wants;
                }
                Step::Lose(pool, lost) => {
                    let pool = &mut world.pools[pool % pools];
                    pool.open = pool.open.saturating_sub(lost);
                }
                Step::Pass(steps) => world.pass(steps),
                Step::Away(away) => {
                    world.returns += u64::from(world.away && !away);
                    world.away = away;
                }
                Step::Empty => {
                    // Nobody is answered while it restarts.
                    let before = std::mem::replace(&mut world.away, true);
                    world.pass(4);
                    world.store.restart_empty();
                    world.away = before;
                    world.returns += 1;
                }
            }
        }
        world.pass(20);
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_restarted_alone_takes_its_part_among_all_it_knows() {
    let timeline =
        Timeline::starting_at(SystemTime::UNIX_EPOCH + Duration::from_secs(1_794_700_000));
    let node = Node::new(NodeOptions {
        name: "one".to_owned(),
        version: "1".to_owned(),
        store: Arc::new(MemoryStore::default()),
        seal: Seal::new("a secret"),
        timeline,
        kept: KeptNode {
            id: NodeId(1),
            known: vec![(NodeId(2), timeline.now()), (NodeId(3), timeline.now())],
            ..KeptNode::default()
        },
        keeper: Box::new(|_: &KeptNode| {}),
    });
    let account = ACCOUNT;
    let around = Tenant { node, account }.surroundings();
    let now = Instant::now();
    assert_eq!(Allowance::new(6, now).most(now + FIRST, around), 2);
}
