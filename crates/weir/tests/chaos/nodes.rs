//! Three nodes, some indexers, one store, and a way from each node to the store on which things go wrong.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::time::Instant;
use weir_testkit::proxy::Proxy;
use weir_testkit::redis::Redis;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::indexer::{Indexer, Setup};

use crate::checker::{self, Call};
use crate::clients::{Answer, Clients, Door, KEY, ask, search};
use crate::process::Process;
use crate::{PATIENCE, wait_until};

const SECRET: &str = "a secret that all nodes of this test share";

/// No distance between calls: only windows hold them back.
pub(crate) const AT_ONCE: &str =
    "spacing: { interactive: 0s, rss: 0s, completion: 0s, background: 0s }";

/// How a test is set up.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) indexers: usize,
    /// What each indexer allows: calls, in so many seconds.
    pub(crate) limits: &'static [(usize, u64)],
    /// More of each indexer's entry.
    pub(crate) entry: &'static str,
    /// More of the search section.
    pub(crate) section: &'static str,
    /// How far each node's clock is off.
    pub(crate) clocks: [Option<&'static str>; 3],
    /// Options of the store.
    pub(crate) store: &'static [&'static str],
    /// The store is a cluster, without anything on the way to it.
    pub(crate) cluster: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            indexers: 2,
            limits: &[(20, 20), (60, 90)],
            entry: "",
            section: "indexer_calls: 4",
            clocks: [None; 3],
            store: &[],
            cluster: false,
        }
    }
}

pub(crate) struct Nodes {
    pub(crate) plan: Plan,
    pub(crate) began: Instant,
    pub(crate) runtime: Runtime,
    pub(crate) indexers: Vec<Indexer>,
    /// One, or the three of a cluster.
    pub(crate) stores: Vec<Redis>,
    /// Each node's way to the store.
    pub(crate) ways: Vec<Proxy>,
    pub(crate) all: Vec<One>,
    /// What nodes that were killed had logged.
    past: Mutex<Vec<String>>,
}

/// One node, which may be down.
pub(crate) struct One {
    dir: TempDir,
    process: Option<Process>,
    pub(crate) door: Arc<Door>,
}

impl One {
    pub(crate) fn process(&self) -> &Process {
        self.process.as_ref().expect("it runs")
    }

    pub(crate) fn ask(&self, target: &str) -> Answer {
        ask(self.door.web().expect("it runs"), target).unwrap()
    }

    pub(crate) fn search(&self, words: &str) -> Answer {
        search(self.door.web().expect("it runs"), words).unwrap()
    }

    /// Whether it says that the store answers.
    fn is_together(&self) -> bool {
        let metrics = self.ask("/metrics");
        metrics.text().lines().any(|line| line == "weir_store_up 1")
    }
}

impl Nodes {
    /// Starts everything, and waits until each node has its share of each window.
    pub(crate) fn start(plan: Plan) -> Self {
        let runtime = Runtime::new().unwrap();
        let start = || Indexer::start(Place::Loopback, Setup::with(1..=5));
        let indexers = (0..plan.indexers).map(|_| runtime.block_on(start()).unwrap());
        let indexers = indexers.collect();
        let stores = match plan.cluster {
            true => runtime.block_on(Redis::start_cluster()).unwrap(),
            false => vec![runtime.block_on(Redis::start_with(plan.store)).unwrap()],
        };
        let to = stores[0].address();
        let ways = (0..3).map(|_| runtime.block_on(Proxy::start(to)).unwrap());
        let mut nodes = Self {
            began: Instant::now(),
            ways: ways.collect(),
            runtime,
            indexers,
            stores,
            all: Vec::new(),
            past: Mutex::default(),
            plan,
        };
        for number in 0..3 {
            let dir = TempDir::new().unwrap();
            std::fs::write(dir.path().join("weir.yaml"), nodes.config(number)).unwrap();
            let process = Process::start(dir.path(), nodes.plan.clocks[number]);
            let door = Door::new(process.web());
            let process = Some(process);
            nodes.all.push(One { dir, process, door });
        }
        nodes.wait_together();
        // All shares together are at most half of a limit.
        let limits = nodes.plan.limits.iter();
        if limits.map(|(calls, _)| *calls).min() >= Some(6) {
            nodes.wait_for_shares();
        }
        nodes
    }

    fn config(&self, number: usize) -> String {
        let store = match self.plan.cluster {
            true => {
                let servers = self.stores.iter().map(|store| store.address().to_string());
                servers.collect::<Vec<_>>().join(",")
            }
            false => self.ways[number].address().to_string(),
        };
        // Whoever asks a node that is stopped for a minute is answered when it wakes.
        let mut text = format!(
            "web: {{ api_key: {KEY}, limits: {{ request_timeout: 5m }} }}\nstore: {{ redis: 'redis://{store}', secret: '{SECRET}' }}\nnode: {{ name: node-{number} }}\n\
             search:\n  deadline: 2s\n  keep_after_reply: 1s\n  hold_max: 1s\n",
        );
        if !self.plan.entry.contains("min_request_interval") {
            writeln!(text, "  {AT_ONCE}").unwrap();
        }
        writeln!(text, "  {}\n  indexers:", self.plan.section).unwrap();
        let limits = self.plan.limits.iter();
        let limits: Vec<_> = limits
            .map(|(calls, seconds)| format!("{calls}/{seconds}s"))
            .collect();
        let (limits, entry) = (limits.join(", "), self.plan.entry);
        for (number, indexer) in self.indexers.iter().enumerate() {
            let url = indexer.url();
            writeln!(
                text,
                "    - {{ name: ix{number}, url: '{url}', api_key: k, limits: [{limits}] {entry} }}"
            )
            .unwrap();
        }
        text
    }

    /// Kills a node; its clients are cut off.
    pub(crate) fn kill(&mut self, node: usize) {
        let one = &mut self.all[node];
        one.door.set(None);
        let mut process = one.process.take().expect("it runs");
        process.kill();
        self.past.lock().extend(process.log());
    }

    /// Starts a node again in its directory.
    pub(crate) fn revive(&mut self, node: usize) {
        let clock = self.plan.clocks[node];
        let one = &mut self.all[node];
        let process = Process::start(one.dir.path(), clock);
        one.door.set(Some(process.web()));
        one.process = Some(process);
    }

    /// Starts clients at all nodes.
    pub(crate) fn clients(&self, each: usize) -> Clients {
        let doors: Vec<_> = self.all.iter().map(|one| one.door.clone()).collect();
        Clients::start(&doors, each, self.began)
    }

    pub(crate) fn wait_together(&self) {
        for (number, one) in self.all.iter().enumerate() {
            wait_until(
                &format!("node {number} is together with the others"),
                || one.is_together(),
            );
        }
    }

    pub(crate) fn wait_alone(&self, node: usize) {
        let one = &self.all[node];
        wait_until(&format!("node {node} is alone"), || !one.is_together());
    }

    /// Waits until each node has been given what it may spend when it is alone.
    fn wait_for_shares(&self) {
        wait_until("each node has a share", || {
            let shares = |store: &Redis| {
                let keys = store.ask(&["KEYS", "*:shares:*"]).unwrap();
                keys.lines().filter(|line| !line.is_empty()).count()
            };
            self.stores.iter().map(shares).sum::<usize>() >= self.all.len()
        });
    }

    /// Waits until so many more calls have arrived: windows hold easily where nothing is called.
    pub(crate) fn wait_for_calls(&self, more: usize) {
        let before = self.total();
        wait_until(&format!("{more} more calls than {before}"), || {
            self.total() >= before + more
        });
    }

    pub(crate) fn calls(&self) -> Vec<Vec<Call>> {
        checker::calls(&self.indexers, self.began)
    }

    pub(crate) fn total(&self) -> usize {
        self.calls().iter().map(Vec::len).sum()
    }

    /// Since this test began.
    pub(crate) fn time(&self) -> Duration {
        self.began.elapsed()
    }

    /// Says what happens, for whoever reads a failure.
    pub(crate) fn say(&self, what: &str) {
        println!("{:8.1} s  {what}", self.time().as_secs_f64());
    }

    /// No window of any indexer was exceeded, no node panicked, and all are there, together with the others.
    pub(crate) fn check(&self) {
        self.wait_together();
        for (number, one) in self.all.iter().enumerate() {
            assert_eq!(one.ask("/readyz").status(), 200, "node {number}");
        }
        let mut wrong = Vec::new();
        for (number, calls) in self.calls().iter().enumerate() {
            for &(limit, seconds) in self.plan.limits {
                let window = Duration::from_secs(seconds);
                let found = checker::exceeded(calls, limit, window);
                wrong.extend(found.iter().map(|what| format!("indexer {number}: {what}")));
            }
            self.say(&format!(
                "indexer {number} was called {} times",
                calls.len()
            ));
        }
        let panics = self.logged("panicked");
        if !wrong.is_empty() || !panics.is_empty() {
            for line in self.logged("WARN").iter().chain(&self.logged("INFO")) {
                println!("{line}");
            }
        }
        let shown = &wrong[..wrong.len().min(5)];
        assert!(wrong.is_empty(), "{} times: {shown:#?}", wrong.len());
        assert!(panics.is_empty(), "{panics:#?}");
    }

    /// The lines of all nodes with this text, those of earlier runs first.
    fn logged(&self, text: &str) -> Vec<String> {
        let mut lines = self.past.lock().clone();
        for (number, one) in self.all.iter().enumerate() {
            let log = one.process.as_ref().map(Process::log).unwrap_or_default();
            lines.extend(log.iter().map(|line| format!("node {number}: {line}")));
        }
        lines.retain(|line| line.contains(text));
        lines
    }

    /// Waits until all windows have passed once, so that whatever was done too early shows.
    pub(crate) fn let_windows_pass(&self) {
        let longest = self.plan.limits.iter().map(|(_, seconds)| *seconds).max();
        let longest = Duration::from_secs(longest.unwrap_or_default() + 5);
        assert!(longest < PATIENCE, "too long to wait for");
        crate::pass(longest);
    }
}
