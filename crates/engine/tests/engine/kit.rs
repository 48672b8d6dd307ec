//! A front for tests: calls that do what the test says, and a log of their starts.

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use weir_engine::dispatch::policy::{
    Class, ClassPolicy, CrewPolicy, FailurePolicy, OnCooldown, Overflow, Policy, Quota, Windows,
};
use weir_engine::dispatch::{Job, JobKey, UpstreamId};
use weir_engine::{Call, Engine, Options, Outcome, Permit, Timeline, Trouble, Weather};

pub(crate) const INTERACTIVE: Class = Class(0);
pub(crate) const RSS: Class = Class(1);
pub(crate) const COMPLETION: Class = Class(2);
pub(crate) const BACKGROUND: Class = Class(3);

pub(crate) fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub(crate) fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The wall time at which every test begins.
pub(crate) fn wall() -> SystemTime {
    UNIX_EPOCH + secs(1_700_000_000)
}

/// The policy of the search front, one attempt per job.
pub(crate) fn policy() -> Policy {
    let class = |max_wait: Option<u64>| ClassPolicy {
        max_wait: max_wait.map(secs),
        on_cooldown: OnCooldown::Hold,
        overflow: Overflow::Drop,
    };
    Policy {
        classes: vec![class(None), class(Some(15)), class(None), class(Some(60))],
        capacity: 10_000,
        agenda_capacity: 100_000,
        backlog_floor: 32,
        aging: secs(10),
        put_off: secs(10),
        crew: CrewPolicy {
            base: 10,
            max: 10,
            grow_at: 60,
            shrink_below: 40,
            step: secs(1),
            slot_time: secs(1),
            waiting_max: 1000,
        },
        failure: FailurePolicy {
            ladder: [60, 300, 900].map(secs).to_vec(),
            threshold: 1,
            threshold_disables: false,
            throttled: None,
            longest: secs(86_400),
        },
        again_class: None,
        attempts: 1,
        retry_base: millis(500),
        records: 64,
    }
}

/// With gaps of 0.1, 0.5, 0.7 and 1.0 of `spacing`.
pub(crate) fn quota(spacing: Duration, in_flight: u32) -> Quota {
    Quota {
        gaps: [1, 5, 7, 10].map(|tenths| spacing * tenths / 10),
        in_flight,
        query: Windows::default(),
        grab: Windows::default(),
    }
}

pub(crate) fn job(upstream: UpstreamId, class: Class) -> Job {
    Job::new(upstream, class)
}

pub(crate) fn key(number: u64) -> Option<JobKey> {
    NonZeroU64::new(number).map(JobKey)
}

/// An engine and what its calls did.
pub(crate) struct Desk {
    pub(crate) engine: Engine,
    pub(crate) log: Log,
    began: Instant,
}

impl Desk {
    pub(crate) fn new(policy: Policy) -> Self {
        Self::with(policy, |_| ())
    }

    pub(crate) fn with(policy: Policy, change: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options::new(Timeline::starting_at(wall()), Weather::default());
        options.seed = Some(7);
        change(&mut options);
        Self {
            engine: Engine::new("test", policy, options),
            log: Log::default(),
            began: Instant::now(),
        }
    }

    pub(crate) fn upstream(&self, name: &str, spacing: Duration, in_flight: u32) -> UpstreamId {
        self.engine
            .add_upstream(name, quota(spacing, in_flight), secs(30))
    }

    /// A call that waits for what the test gives it.
    pub(crate) fn call(&self, name: &str) -> Arc<Hand> {
        Arc::new(Hand {
            name: name.to_owned(),
            log: self.log.clone(),
            began: self.began,
            steps: Mutex::default(),
            given: Notify::new(),
        })
    }

    /// A call that does this at once.
    pub(crate) fn ready(&self, name: &str, step: Step) -> Arc<Hand> {
        let call = self.call(name);
        call.give(step);
        call
    }

    /// A call that is answered at once.
    pub(crate) fn done(&self, name: &str) -> Arc<Hand> {
        self.ready(name, Step::Outcome(Outcome::Done))
    }

    /// Lets upstreams be tried by calls named `probe`, which end so.
    pub(crate) fn try_with(&self, outcome: Outcome) {
        let (log, began) = (self.log.clone(), self.began);
        self.engine.set_prober(move |_| {
            let hand = Hand {
                name: "probe".to_owned(),
                log: log.clone(),
                began,
                steps: Mutex::default(),
                given: Notify::new(),
            };
            let step = match outcome {
                Outcome::Done => Step::Outcome(Outcome::Done),
                outcome => Step::Said(outcome, "it said no"),
            };
            hand.give(step);
            Some(Arc::new(hand))
        });
    }

    /// The names of the calls that started so far, in order.
    pub(crate) fn started(&self) -> Vec<String> {
        self.log
            .0
            .lock()
            .iter()
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// When each of the calls with this name started, since the beginning of the test.
    pub(crate) fn starts(&self, name: &str) -> Vec<Duration> {
        let log = self.log.0.lock();
        let mine = log.iter().filter(|(other, _)| other == name);
        mine.map(|(_, at)| *at).collect()
    }
}

/// Starts of calls.
#[derive(Clone, Default)]
pub(crate) struct Log(pub(crate) Arc<Mutex<Vec<(String, Duration)>>>);

/// What a call does next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Outcome(Outcome),
    /// Explains itself, then ends so.
    Said(Outcome, &'static str),
    Panic,
    /// Takes this long, then is answered.
    Take(Duration),
    /// Never ends.
    Never,
    /// Has this trouble; unavailable if that is the upstream's fault.
    Trouble(Trouble),
}

/// A call driven by hand.
pub(crate) struct Hand {
    name: String,
    log: Log,
    began: Instant,
    steps: Mutex<VecDeque<Step>>,
    given: Notify,
}

impl Hand {
    /// What its next attempt does, or the one under way.
    pub(crate) fn give(&self, step: Step) {
        self.steps.lock().push_back(step);
        self.given.notify_one();
    }

    pub(crate) fn answer(&self) {
        self.give(Step::Outcome(Outcome::Done));
    }

    pub(crate) async fn step(&self) -> Step {
        loop {
            if let Some(step) = self.steps.lock().pop_front() {
                return step;
            }
            self.given.notified().await;
        }
    }

    /// What [`Call::attempt`] does, for calls that do more.
    pub(crate) async fn run(&self, permit: &Permit) -> Outcome {
        self.log
            .0
            .lock()
            .push((self.name.clone(), self.began.elapsed()));
        match self.step().await {
            Step::Outcome(outcome) => outcome,
            Step::Said(outcome, words) => {
                permit.explain(words);
                outcome
            }
            Step::Panic => panic!("as the test wished"),
            Step::Take(time) => {
                tokio::time::sleep(time).await;
                Outcome::Done
            }
            Step::Never => std::future::pending().await,
            Step::Trouble(trouble) => permit.blame(trouble, Outcome::Unavailable),
        }
    }
}

impl Call for Hand {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        async move { self.run(&permit).await }.boxed()
    }

    fn keep(&self) -> Option<Vec<u8>> {
        Some(self.name.clone().into_bytes())
    }
}

/// Lets everything happen that needs no time.
pub(crate) async fn settle() {
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}

/// Lets this much time pass, and everything happen that becomes due.
pub(crate) async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
    settle().await;
}
