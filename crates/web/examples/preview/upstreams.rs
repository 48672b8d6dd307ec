//! A day in the life of sample upstreams, lived through in a moment of paused time.

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};
use weir_engine::{
    Call, Engine, Options, Outcome, Permit, Reason, Timeline, Weather,
    dispatch::{
        Class, Job, MAX_CLASSES, Policy, Quota, UpstreamId, Window, Windows,
        policy::{ClassPolicy, CrewPolicy, FailurePolicy, OnCooldown, Overflow},
    },
};
use weir_web::{Section, Stats, Upstreams};

const MINUTE: Duration = Duration::from_secs(60);

/// The upstreams of one sample front.
pub(crate) struct Samples {
    engine: Engine,
    kind: &'static str,
    classes: &'static [&'static str],
    places: Vec<&'static str>,
}

/// A call that takes this long, then explains itself and ends with this outcome.
struct Scripted(Duration, Outcome, &'static str);

impl Call for Scripted {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        async move {
            tokio::time::sleep(self.0).await;
            if !self.2.is_empty() {
                permit.explain(self.2);
            }
            self.1
        }
        .boxed()
    }
}

impl Upstreams for Samples {
    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn kind(&self) -> &'static str {
        self.kind
    }

    fn place(&self, upstream: UpstreamId) -> String {
        let place = self.places.get(upstream.0 as usize);
        place.copied().unwrap_or_default().to_owned()
    }

    fn probe(&self, upstream: UpstreamId) -> Option<Arc<dyn Call>> {
        let took = Duration::from_millis(40);
        let call = if self.place(upstream).contains("four") {
            let reason = Reason::NoSuchHost;
            Scripted(took, Outcome::Rejected { reason }, "no such host")
        } else {
            Scripted(took, Outcome::Done, "")
        };
        Some(Arc::new(call))
    }

    fn classes(&self) -> &'static [&'static str] {
        self.classes
    }
}

impl Stats for Samples {
    fn section(&self) -> Section {
        Section {
            top_level: self.kind == "tracker",
            ..Section::default()
        }
        .and(Section::of_engine(self, 20))
    }
}

impl Samples {
    fn new(
        front: &'static str,
        kind: &'static str,
        classes: &'static [&'static str],
        options: Options,
    ) -> Self {
        Self {
            engine: Engine::new(front, policy(classes.len()), options),
            kind,
            classes,
            places: Vec::new(),
        }
    }

    fn add(&mut self, name: &str, place: &'static str, query: Windows) -> UpstreamId {
        self.places.push(place);
        let quota = Quota {
            gaps: [Duration::ZERO; MAX_CLASSES],
            in_flight: 4,
            query,
            grab: Windows::default(),
        };
        self.engine.add_upstream(name, quota, 30 * MINUTE / 60)
    }

    fn call(
        &self,
        upstream: UpstreamId,
        asker: u32,
        took: u64,
        outcome: Outcome,
        says: &'static str,
    ) {
        let classes = u8::try_from(self.classes.len()).unwrap_or(1);
        let class = Class(u8::try_from(asker).unwrap_or(0) % classes);
        let programs = ["curl", "Sonarr", "Radarr", "cross-seed"];
        let job = Job {
            asker: self.engine.asker(programs[asker as usize % programs.len()]),
            ..Job::new(upstream, class)
        };
        let call = Scripted(Duration::from_millis(took), outcome, says);
        self.engine.submit_detached(job, Arc::new(call));
    }
}

fn policy(classes: usize) -> Policy {
    let class = ClassPolicy {
        max_wait: None,
        on_cooldown: OnCooldown::End,
        overflow: Overflow::Drop,
    };
    Policy {
        classes: vec![class; classes],
        capacity: 10_000,
        agenda_capacity: 100_000,
        backlog_floor: 32,
        aging: Duration::from_secs(10),
        put_off: Duration::from_secs(10),
        crew: CrewPolicy {
            base: 10,
            max: 20,
            grow_at: 60,
            shrink_below: 40,
            step: Duration::from_secs(1),
            slot_time: Duration::from_secs(1),
            waiting_max: 1000,
        },
        failure: FailurePolicy {
            ladder: [1, 5, 15, 30, 60, 180, 360, 720, 1440]
                .map(|minutes| MINUTE * minutes)
                .to_vec(),
            threshold: 1,
            threshold_disables: false,
            throttled: None,
            longest: MINUTE * 1440,
        },
        again_class: None,
        attempts: 1,
        retry_base: Duration::from_secs(1),
        records: 200,
    }
}

fn per_hour(hour: u32, day: u32) -> Windows {
    Windows::from([(Window::HOUR, hour), (Window::DAY, day)])
}

/// The upstreams of a tracker and of a search front after 20 hours. Time must be paused.
pub(crate) async fn live(started: std::time::SystemTime) -> (Arc<Samples>, Arc<Samples>) {
    let options = Options::new(Timeline::starting_at(started), Weather::default());
    let classes = &["event", "initial", "re-announce", "retry"];
    let mut tracker = Samples::new("tracker", "tracker", classes, options.clone());
    let classes = &["interactive", "RSS", "completion", "background"];
    let mut search = Samples::new("search", "indexer", classes, options);
    let harbor = search.add(
        "harbor.example",
        "https://harbor.example/api",
        per_hour(100, 1000),
    );
    let lantern = search.add(
        "lantern.example",
        "https://lantern.example/api",
        per_hour(20, 1000),
    );
    let quarry = search.add(
        "quarry.example",
        "https://quarry.example/api",
        per_hour(100, 2000),
    );
    let orchard = search.add(
        "orchard.example",
        "https://orchard.example/api",
        Windows::default(),
    );
    let meadow = search.add(
        "a-rather-long-name-of-an-indexer-somewhere.example",
        "https://a-rather-long-name-of-an-indexer-somewhere.example/torznab/api",
        Windows::default(),
    );
    let none = Windows::default;
    let one = tracker.add("tracker-one.example", "https://tracker-one.example", none());
    let two = tracker.add(
        "tracker-two.example",
        "udp://tracker-two.example:6969",
        none(),
    );
    let four = tracker.add(
        "tracker-four.example",
        "udp://tracker-four.example:1337",
        none(),
    );
    let six = tracker.add(
        "tracker-six.example",
        "udp://tracker-six.example:451",
        none(),
    );
    tracker.add("idle", "udp://idle.example:80", none());
    let after = |minutes: u32| Outcome::Throttled {
        retry_after: Some(MINUTE * minutes),
    };
    search
        .engine
        .switch_off(orchard, "account renewal", "operator (192.0.2.1)");
    for minute in 0u32..1200 {
        let jitter = |most: u64| u64::from(minute.wrapping_mul(2_654_435_761) >> 20) % most;
        match minute {
            500 => search.call(harbor, 1, 300, after(40), "it answered 429"),
            1191 => search.call(harbor, 1, 300, after(15), "it answered 429"),
            _ if minute % 3 == 0 => {
                search.call(harbor, 1 + minute % 3, 500 + jitter(900), Outcome::Done, "")
            }
            _ => {}
        }
        if minute % 4 == 0 || minute > 1190 {
            search.call(lantern, 2, 300 + jitter(300), Outcome::Done, "");
        }
        search.call(
            quarry,
            1 + minute % 3,
            700 + jitter(2500),
            Outcome::Done,
            "",
        );
        if minute % 7 == 0 {
            let outcome = if minute % 21 == 0 {
                Outcome::Unavailable
            } else {
                Outcome::Done
            };
            let says = if minute % 21 == 0 {
                "it reset the connection"
            } else {
                ""
            };
            search.call(meadow, 3, 200, outcome, says);
        }
        tracker.engine.count_from_memory(20 + jitter(30));
        search.engine.count_from_memory(3 + jitter(4));
        tracker.call(one, 0, 40 + jitter(100), Outcome::Done, "");
        tracker.call(six, 0, 20 + jitter(40), Outcome::Done, "");
        if minute > 700 {
            let reason = Reason::NoSuchHost;
            tracker.call(four, 0, 10, Outcome::Rejected { reason }, "no such host");
        }
        if minute < 1190 {
            tracker.call(two, 0, 80 + jitter(60), Outcome::Done, "");
        }
        if minute == 1190 {
            tracker.call(two, 0, 80, after(60), "it says we ask too often");
        }
        tokio::time::sleep(MINUTE).await;
    }
    (Arc::new(tracker), Arc::new(search))
}
