//! A front with an engine whose calls say what the test wants.

use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use futures_util::{FutureExt, future::BoxFuture};
use parking_lot::Mutex;
use weir_engine::{
    Call, Engine, Options, Outcome, Permit, Reason, Timeline, Trouble, Weather,
    dispatch::{
        Cause, Class, Cooldown, Job, MAX_CLASSES, Policy, Quota, SavedHealth, SavedUpstream,
        UpstreamId, Window, Windows,
        policy::{ClassPolicy, CrewPolicy, FailurePolicy, OnCooldown, Overflow},
    },
};
use weir_web::{Contribution, Icon, Section, Stats, Upstreams};

use crate::support::{self, KEY, Rig, Visitor};

pub(super) fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// A call that explains itself and ends like this.
#[derive(Clone)]
pub(super) struct Says(pub(super) Outcome, pub(super) &'static str);

impl Call for Says {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        async move {
            if !self.1.is_empty() {
                permit.explain(self.1);
            }
            self.0
        }
        .boxed()
    }
}

/// A call that finds no route.
pub(super) struct NoRoute;

impl Call for NoRoute {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        async move { permit.blame(Trouble::NoRoute, Outcome::Unavailable) }.boxed()
    }
}

/// A call that never ends by itself.
pub(super) struct Hangs;

impl Call for Hangs {
    fn attempt(&self, _: Permit) -> BoxFuture<'_, Outcome> {
        std::future::pending().boxed()
    }
}

pub(super) struct Sample {
    pub(super) engine: Engine,
    kind: &'static str,
    /// What a probe says; `None` if there is no probe.
    pub(super) probe: Mutex<Option<Arc<dyn Call>>>,
}

impl Upstreams for Sample {
    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn kind(&self) -> &'static str {
        self.kind
    }

    fn place(&self, upstream: UpstreamId) -> String {
        format!("udp://host-{}.example:1337", upstream.0)
    }

    fn probe(&self, _: UpstreamId) -> Option<Arc<dyn Call>> {
        self.probe.lock().clone()
    }

    fn classes(&self) -> &'static [&'static str] {
        &["interactive", "RSS"]
    }

    fn facts(&self, _: UpstreamId) -> Vec<(String, String)> {
        vec![("Peers <b>given</b>".into(), "12 & more".into())]
    }

    fn last_interval(&self, upstream: UpstreamId) -> Option<Duration> {
        (upstream == UpstreamId(0)).then(|| secs(1800))
    }
}

impl Stats for Sample {
    fn section(&self) -> Section {
        let mut own = Section {
            top_level: self.kind == "tracker",
            ..Section::default()
        };
        own.json.insert("swarms".into(), 7.into());
        own.text.push("swarms 7".into());
        own.and(Section::of_engine(self, 20))
    }
}

fn policy() -> Policy {
    let class = |max_wait: Option<u64>| ClassPolicy {
        max_wait: max_wait.map(secs),
        on_cooldown: OnCooldown::Hold,
        overflow: Overflow::Drop,
    };
    Policy {
        classes: vec![class(None), class(Some(15))],
        capacity: 10_000,
        agenda_capacity: 100_000,
        backlog_floor: 32,
        aging: secs(10),
        put_off: secs(10),
        crew: CrewPolicy {
            base: 10,
            max: 20,
            grow_at: 60,
            shrink_below: 40,
            step: secs(1),
            slot_time: secs(1),
            waiting_max: 1000,
        },
        failure: FailurePolicy {
            ladder: [60, 300, 900, 3600].map(secs).to_vec(),
            threshold: 1,
            threshold_disables: false,
            throttled: None,
            longest: secs(86_400),
        },
        again_class: None,
        attempts: 1,
        retry_base: secs(1),
        records: 64,
    }
}

impl Sample {
    pub(super) fn new(front: &'static str, kind: &'static str) -> Arc<Self> {
        Self::under(Weather::default(), front, kind)
    }

    pub(super) fn under(weather: Weather, front: &'static str, kind: &'static str) -> Arc<Self> {
        let wall = UNIX_EPOCH + secs(1_794_700_000);
        let options = Options::new(Timeline::starting_at(wall), weather);
        Self::with(options, front, kind)
    }

    pub(super) fn with(options: Options, front: &'static str, kind: &'static str) -> Arc<Self> {
        Self::of(Engine::new(front, policy(), options), kind)
    }

    /// One that leaves an upstream alone only after ten failures in a row.
    pub(super) fn patient(front: &'static str, kind: &'static str) -> Arc<Self> {
        let mut policy = policy();
        policy.failure.threshold = 10;
        let wall = UNIX_EPOCH + secs(1_794_700_000);
        let options = Options::new(Timeline::starting_at(wall), Weather::default());
        Self::of(Engine::new(front, policy, options), kind)
    }

    /// One that tries each call a second time, an hour later.
    pub(super) fn persistent(front: &'static str, kind: &'static str) -> Arc<Self> {
        let mut policy = policy();
        (policy.attempts, policy.retry_base) = (2, secs(3600));
        let wall = UNIX_EPOCH + secs(1_794_700_000);
        let options = Options::new(Timeline::starting_at(wall), Weather::default());
        Self::of(Engine::new(front, policy, options), kind)
    }

    fn of(engine: Engine, kind: &'static str) -> Arc<Self> {
        Arc::new(Self {
            engine,
            kind,
            probe: Mutex::new(Some(Arc::new(Says(Outcome::Done, "")))),
        })
    }

    pub(super) fn add(&self, name: &str) -> UpstreamId {
        self.add_limited(name, None)
    }

    pub(super) fn add_limited(&self, name: &str, per_hour: Option<u32>) -> UpstreamId {
        let limit = per_hour.map(|limit| (Window::HOUR, limit));
        let query = limit.into_iter().collect();
        self.add_with(name, query, Windows::default())
    }

    pub(super) fn add_with(&self, name: &str, query: Windows, grab: Windows) -> UpstreamId {
        let quota = Quota {
            gaps: [Duration::ZERO; MAX_CLASSES],
            in_flight: 2,
            query,
            grab,
        };
        self.engine.add_upstream(name, quota, secs(30))
    }

    /// Makes a call and waits for its end.
    pub(super) async fn call(&self, upstream: UpstreamId, says: impl Call) {
        let job = Job {
            asker: self.engine.asker("Sonarr"),
            ..Job::new(upstream, Class(0))
        };
        self.engine.submit(job, Arc::new(says)).await;
    }

    /// A cooldown that is over, as after a restart.
    pub(super) fn let_probe(&self, upstream: UpstreamId) {
        let until = self.engine.timeline().now();
        let health = SavedHealth {
            cooldown: Some(Cooldown {
                until,
                cause: Cause::Failed,
            }),
            rung: 2,
            failures: 2,
            off: false,
            answered: true,
        };
        self.restore(upstream, health);
    }

    /// It answered before a restart, and nothing is held against it.
    pub(super) fn let_be_open(&self, upstream: UpstreamId) {
        let health = SavedHealth {
            answered: true,
            ..SavedHealth::default()
        };
        self.restore(upstream, health);
    }

    fn restore(&self, upstream: UpstreamId, health: SavedHealth) {
        let row = SavedUpstream {
            health,
            ..SavedUpstream::default()
        };
        let kept = weir_engine::RestoredUpstream {
            row,
            ..weir_engine::RestoredUpstream::default()
        };
        self.engine.restore(upstream, &kept);
    }

    pub(super) fn contribution(self: &Arc<Self>) -> Contribution {
        let (icon, title) = match self.kind {
            "tracker" => (Icon::Tracker, "Tracker"),
            _ => (Icon::Search, "Search"),
        };
        Contribution::new(self.engine.front(), title, icon)
            .stats(self.clone())
            .upstreams(self.clone())
    }
}

/// An upstream in each state, and one whose name must be written with care.
pub(super) struct Town {
    pub(super) rig: Rig,
    pub(super) tracker: Arc<Sample>,
    pub(super) search: Arc<Sample>,
}

pub(super) const ODD: &str = "a/b ü?<i>";

pub(super) async fn town() -> Town {
    let (tracker, search) = (
        Sample::new("tracker", "tracker"),
        Sample::new("search", "indexer"),
    );
    let harbor = search.add("harbor");
    let throttled = Outcome::Throttled {
        retry_after: Some(secs(900)),
    };
    search.call(harbor, Says(Outcome::Done, "")).await;
    search
        .call(harbor, Says(throttled, "it answered 429"))
        .await;
    let lantern = search.add_limited("lantern", Some(2));
    search.call(lantern, Says(Outcome::Done, "")).await;
    search.call(lantern, Says(Outcome::Done, "")).await;
    search.add_limited("quarry", Some(100));
    let orchard = search.add("orchard");
    search
        .engine
        .switch_off(orchard, "account renewal", "operator (192.0.2.1)");
    let four = tracker.add("tracker-four");
    let reason = Reason::NoSuchHost;
    tracker
        .call(four, Says(Outcome::Rejected { reason }, ""))
        .await;
    tracker.add("tracker-one");
    let two = tracker.add("tracker-two");
    tracker.let_probe(two);
    tracker.add(ODD);
    let contributions = vec![tracker.contribution(), search.contribution()];
    let rig = support::rig_of(support::config(), contributions);
    Town {
        rig,
        tracker,
        search,
    }
}

impl Town {
    pub(super) async fn signed_in(&self) -> Visitor<'_> {
        let mut visitor = self.rig.visitor();
        visitor.sign_in(KEY).await;
        visitor
    }
}

/// The names in a list, in order.
pub(super) fn names(body: &str) -> Vec<String> {
    let rows = body.split("<bdi>").skip(1);
    rows.filter_map(|row| Some(row.split_once("</bdi>")?.0.to_owned()))
        .collect()
}
