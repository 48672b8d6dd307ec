//! What indexers can do: asked once, kept, and asked again by the way when it has become old.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;
use weir_engine::dispatch::policy::Budget;
use weir_engine::dispatch::{Asker, Class, Job, UpstreamId, Wait};
use weir_engine::{Ended, Flights, Follower, Got, Lifetime, Skipped};

use crate::call::{CapsAnswer, CapsCall, about_caps};
use crate::indexer::{Abilities, Indexer};
use crate::model::Model;
use crate::policy::{BACKGROUND, INTERACTIVE};
use crate::unanswered::{Unanswered, skip};

/// Asks indexers for their caps, each of them once for all who want to know.
pub(crate) struct Introductions {
    model: Arc<Model>,
    flights: Flights<UpstreamId, CapsAnswer>,
    lifetime: Lifetime,
}

impl Introductions {
    pub(crate) fn new(model: Arc<Model>, lifetime: Lifetime) -> Self {
        Self {
            flights: Flights::new(model.engine.clone()),
            model,
            lifetime,
        }
    }

    /// What an indexer can do. Asks it if that is not known, unless its turn comes only after `until`, when whoever asks
    /// gets what is there; without that, whoever asked has been told already. What is old is asked for again by the way.
    pub(crate) async fn with(
        &self,
        indexer: &Arc<Indexer>,
        asker: Asker,
        until: Option<Instant>,
    ) -> Result<Arc<Abilities>, Unanswered> {
        if let Some(known) = indexer.known.load_full() {
            self.refresh(indexer, &known);
            return Ok(known);
        }
        let engine = &self.model.engine;
        let (wait, why) = engine.next_wait(indexer.upstream, INTERACTIVE, Budget::Side);
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        // Not asked for nothing: a flight that nobody can wait for would only fill the queue.
        if let Some(why) = why.filter(|_| left.is_some_and(|left| wait > left)) {
            let job = job(indexer, asker, INTERACTIVE);
            let too_late = skip(why, wait, left);
            let told = engine.note_skip(&job, &about_caps(), too_late, Got::Nothing);
            let told = Skipped {
                skip: skip(why, wait, None),
                ..told
            };
            return Err(Unanswered::Ended(Ended::Skipped(Arc::new(told))));
        }
        let follower = self.ask(indexer, asker, INTERACTIVE);
        let answer = match until {
            Some(until) => wait_for(follower, until).await,
            None => follower.unasked().await,
        };
        match answer.as_deref() {
            Ok(Ok(known)) => Ok(known.clone()),
            // It answers, so it can be searched; what it takes is found out by asking.
            Ok(Err(fault)) if fault.is_no_caps() => {
                let known = Arc::new(Abilities::assumed(self.model.wall()));
                indexer.known.store(Some(known.clone()));
                Ok(known)
            }
            Ok(Err(fault)) => Err(Unanswered::Fault(fault.clone())),
            Err(ended) => Err(Unanswered::Ended(ended.clone())),
        }
    }

    /// Waits until these have said what they can do, at most so long.
    pub(crate) async fn with_all(&self, indexers: &[Arc<Indexer>], asker: Asker, within: Duration) {
        let until = Instant::now() + within;
        let all = indexers
            .iter()
            .map(|indexer| self.with(indexer, asker, Some(until)));
        let all = futures_util::future::join_all(all);
        let _ = tokio::time::timeout_at(until, all).await;
    }

    /// Asks once more for what is old, for whoever comes next.
    fn refresh(&self, indexer: &Arc<Indexer>, known: &Abilities) {
        let (rules, now) = (self.model.rules.load(), self.model.wall());
        let life = match known.assumed {
            true => rules.lives.nothing,
            false => rules.lives.caps,
        };
        // One that fails to say it again is not asked with every search.
        let again = rules.lives.nothing;
        let last = indexer.introduced.load(Ordering::Relaxed);
        if known.at.saturating_add(life) < now && last.saturating_add(again) < now {
            // Two searches at the same moment may both get here, and share one flight.
            indexer.introduced.store(now, Ordering::Relaxed);
            let follower = self.ask(indexer, Asker::NOBODY, BACKGROUND).unasked();
            self.lifetime.keep(follower, rules.hold_max);
        }
    }

    fn ask(
        &self,
        indexer: &Arc<Indexer>,
        asker: Asker,
        class: Class,
    ) -> Follower<UpstreamId, CapsAnswer> {
        let job = job(indexer, asker, class);
        self.flights.join(indexer.upstream, job, |landing| {
            Some(Arc::new(CapsCall {
                model: self.model.clone(),
                indexer: indexer.clone(),
                landing,
            }))
        })
    }
}

/// Waits for the answer, also when it comes too late for whoever asked.
async fn wait_for(
    mut follower: Follower<UpstreamId, CapsAnswer>,
    until: Instant,
) -> Result<Arc<CapsAnswer>, Ended> {
    tokio::select! {
        biased;
        answer = &mut follower => return answer,
        () = tokio::time::sleep_until(until) => {}
    }
    follower.miss(skip(Wait::Gap, Duration::ZERO, None), Got::Nothing);
    follower.await
}

/// The job that asks an indexer what it can do. It counts in the windows and does not start the spacing clock.
fn job(indexer: &Indexer, asker: Asker, class: Class) -> Job {
    Job {
        budget: Budget::Side,
        claims: true,
        asker,
        ..Job::new(indexer.upstream, class)
    }
}
