//! *Send a test*: a message that an operator asks for, and what the hook answered.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use jiff::tz::TimeZone;
use weir_engine::dispatch::{Asker, Budget, Job};
use weir_engine::{Ended, Fault};
use weir_net::Error;
use weir_web::{Failure, Lookout, Shown};

use crate::call::TestCall;
use crate::hook::{FRONT, Hook, TestResult};
use crate::model::Model;
use crate::policy::MESSAGE;

/// How long an answer waits for a test; one that takes longer carries on by itself.
const WAIT: Duration = Duration::from_secs(15);

/// Where an operator sends tests; a cheap handle.
#[derive(Clone)]
pub struct Desk(pub(crate) Arc<Model>);

/// One hook as pages list it.
pub struct HookRow {
    /// Its name.
    pub name: String,
    /// What it is: `ntfy`.
    pub kind: &'static str,
    /// Where it is, without secrets.
    pub place: String,
    /// The path of its page.
    pub href: String,
    /// What it is told, in words.
    pub events: String,
    /// When the last test was, whether it arrived, and what the hook answered.
    pub last_test: Option<(Shown, bool, String)>,
}

/// What came of a test.
pub(crate) struct Tested {
    pub(crate) hook: String,
    /// `None` while there is no answer.
    pub(crate) arrived: Option<bool>,
    pub(crate) sentence: String,
}

impl Desk {
    /// All hooks, in the order of the configuration.
    pub fn hooks(&self) -> Vec<HookRow> {
        let (now, zone) = (self.0.clock.now(), TimeZone::system());
        let all = self.0.hooks.all();
        let rows = all.iter().map(|hook| HookRow {
            name: hook.name().to_owned(),
            kind: hook.kind.title(),
            place: hook.address.place(),
            href: Lookout::path(FRONT, hook.name()),
            events: hook.events(),
            last_test: hook.desk.last_test().map(|test| {
                let at = Shown::new(test.at, now, &zone);
                (at, test.arrived, test.sentence)
            }),
        });
        rows.collect()
    }

    /// Sends a test to the hook with this name, or to all of them, and waits a moment for what they answer.
    pub(crate) async fn test(&self, name: Option<&str>) -> Result<Vec<Tested>, Failure> {
        let all = self.0.hooks.all();
        if all.is_empty() {
            return Err(Failure::unknown(
                "No hook is configured.",
                "Add one under notify.hooks and reload.",
            ));
        }
        let wanted = |hook: &&Arc<Hook>| name.is_none_or(|name| hook.name() == name);
        let wanted: Vec<Arc<Hook>> = all.iter().filter(wanted).cloned().collect();
        if wanted.is_empty() {
            let names: Vec<&str> = all.iter().map(|hook| hook.name()).collect();
            return Err(Failure::unknown(
                "There is no hook with this name.",
                format!("The hooks are {}.", names.join(", ")),
            ));
        }
        Ok(join_all(wanted.into_iter().map(|hook| self.test_one(hook))).await)
    }

    async fn test_one(&self, hook: Arc<Hook>) -> Tested {
        let call = Arc::new(TestCall {
            model: self.0.clone(),
            hook: hook.clone(),
            answer: Default::default(),
        });
        let job = Job {
            budget: Budget::Side,
            probe: true,
            asker: Asker::OPERATOR,
            ..Job::new(hook.upstream, MESSAGE)
        };
        let mut ticket = self.0.engine.submit(job, call.clone());
        let (arrived, sentence) = match tokio::time::timeout(WAIT, &mut ticket).await {
            Ok(ended) => {
                let TestResult {
                    arrived, sentence, ..
                } = call.result(ended);
                (Some(arrived), sentence)
            }
            Err(_) => {
                ticket.keep();
                let sentence = "It has not answered yet. Its page will show the result.";
                (None, sentence.to_owned())
            }
        };
        tracing::info!(hook = hook.name(), ?arrived, "operator: test message");
        Tested {
            hook: hook.name().to_owned(),
            arrived,
            sentence,
        }
    }
}

impl TestCall {
    /// What came of it, in words.
    pub(crate) fn result(&self, ended: Ended) -> TestResult {
        let answer = self.answer.lock().clone();
        let failed =
            |words: &dyn std::fmt::Display| format!("The message did not arrive: {words}.");
        let (arrived, sentence) = match (answer, ended) {
            (Some(Ok(status)), _) => (true, format!("The message arrived: it answered {status}.")),
            (Some(Err(fault)), _) => (false, failed(&fault)),
            (None, Ended::TimedOut) => (false, failed(&Fault::Net(Error::TimedOut))),
            (None, Ended::Dropped(_)) => (
                false,
                failed(&"too many messages wait, or the hook was removed"),
            ),
            (None, Ended::Shutdown) => (false, failed(&"Weir is stopping")),
            (None, _) => (false, failed(&"it could not be sent")),
        };
        TestResult {
            at: self.model.clock.now(),
            arrived,
            sentence,
        }
    }
}
