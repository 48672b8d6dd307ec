//! One indexer's part in a search: what it can do, what is kept of it, and its answer.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use weir_engine::dispatch::policy::Budget;
use weir_engine::dispatch::{Class, Job, Wait};
use weir_engine::{Ended, Follower};

use crate::answer::{AnswerKey, IndexerAnswer, SearchAnswer};
use crate::bill::Bill;
use crate::call::SearchCall;
use crate::config::Config;
use crate::indexer::{Abilities, Indexer};
use crate::model::Model;
use crate::plan::{Plan, plan};
use crate::policy::{COMPLETION, INTERACTIVE, RSS};
use crate::search::{AnsweredFrom, PartState, Search, SearchQuestion};
use crate::unanswered::{Unanswered, skip, skipped};
use crate::words::seconds;

use super::Fanout;

/// Releases that are asked for at once where an indexer names no number.
const PAGE: u32 = 100;
/// More are not asked for, whatever an indexer offers: all of it is read and merged before a reply.
const PAGE_MOST: u32 = 1000;

/// Sees to one indexer's part.
pub(super) struct Asking<'a> {
    fanout: &'a Fanout,
    search: &'a Search,
    at: usize,
    indexer: &'a Arc<Indexer>,
    /// A reload in between is for the next search.
    config: Arc<Config>,
    bill: Bill,
}

/// What is asked of an indexer once it is known what it can do.
struct IndexerQuestion {
    key: AnswerKey,
    /// Releases wanted at most.
    limit: u32,
    /// There is an answer that is too old to serve as one of now.
    has_old: bool,
}

/// A turn that comes only when the asker has got what is there.
#[derive(Clone, Copy)]
struct TooLate {
    why: Wait,
    wait: Duration,
    /// Time until the asker gets what is there.
    left: Duration,
}

impl<'a> Asking<'a> {
    pub(super) fn new(fanout: &'a Fanout, search: &'a Search, at: usize, bill: Bill) -> Self {
        Self {
            fanout,
            search,
            at,
            indexer: &search.question.scope[at],
            config: fanout.model.config.load_full(),
            bill,
        }
    }

    /// Goes on until it is over or nobody can want it any more.
    pub(super) async fn run(&self) {
        // Past the deadline it goes on for the cache, but not for ever: a job that waits holds a place in the queue.
        let kept = self.search.deadline() + self.config.keep_after_reply;
        let given_up = tokio::select! {
            () = self.answer() => return,
            () = self.search.stop.cancelled() => "the search was stopped",
            () = self.fanout.lifetime.closing() => "Weir is stopping",
            () = tokio::time::sleep_until(kept) => "it could not be called in time",
        };
        if self.search.is_asking(self.at) {
            let reason = given_up.to_owned();
            self.set(PartState::Skipped {
                reason,
                until: None,
            });
        }
    }

    async fn answer(&self) {
        let Some(known) = self.introduction().await else {
            return;
        };
        let only = &self.indexer.config.categories;
        let query = match plan(&known, &self.question().query, only) {
            Plan::Ask(query) => Arc::new(query),
            Plan::Nothing(why) => return self.set(PartState::Nothing(why)),
        };
        let key = AnswerKey {
            upstream: self.indexer.upstream,
            indexer: self.indexer.name().into(),
            source: self.indexer.source.clone(),
            query,
        };
        let kept = self.kept(&key).await;
        if let Some((answer, fresh)) = &kept {
            if *fresh && !self.question().no_cache {
                self.model().engine.count_from_memory(1);
                self.model().cache.count_hit();
                let from = AnsweredFrom::Cache(answer.age(self.model().wall()));
                let answer = answer.clone();
                return self.set(PartState::Answered { answer, from });
            }
            // Served if nothing better comes in time.
            self.search.set_stale(self.at, answer.clone());
        }
        self.model().cache.count_miss();
        let limit = match known.caps.max_limit.max(known.caps.default_limit) {
            0 => PAGE,
            most => most.min(PAGE_MOST),
        };
        self.fly(&IndexerQuestion {
            key,
            limit,
            has_old: kept.is_some(),
        })
        .await;
    }

    /// What the indexer can do. `None` if it does not say so, and its part says why.
    async fn introduction(&self) -> Option<Arc<Abilities>> {
        let (introductions, asker) = (&self.fanout.introductions, self.question().program.asker);
        let deadline = Some(self.search.deadline());
        let unanswered = match introductions.with(self.indexer, asker, deadline).await {
            Ok(known) => return Some(known),
            Err(unanswered) => unanswered,
        };
        let class = self.class(true);
        // Who waits however long it takes is asked when its turn comes, for the cache; all others are told once.
        let patient = self.model().engine.max_wait(&self.job(class)).is_none();
        let stays = patient && unanswered.passes_within(self.config.hold_max);
        self.set_without(unanswered, class);
        if !stays {
            return None;
        }
        match introductions.with(self.indexer, asker, None).await {
            Ok(known) => Some(known),
            Err(unanswered) => {
                self.set_without(unanswered, class);
                None
            }
        }
    }

    /// The kept answer to a question, and whether it still stands.
    async fn kept(&self, key: &AnswerKey) -> Option<(Arc<IndexerAnswer>, bool)> {
        let (digest, scrub) = (key.digest(), self.indexer.address.scrub());
        let answer = self.model().cache.answer(&digest, scrub).await?;
        let age = answer.age(self.model().wall());
        let oldest = seconds(self.config.cache.stale);
        let fresh = age < answer.life(&key.query, &self.config.cache);
        (age < oldest).then_some((answer, fresh))
    }

    /// Joins whoever asks the same, or asks.
    async fn fly(&self, asked: &IndexerQuestion) {
        let class = self.class(!asked.has_old);
        let (job, late) = (self.job(class), self.late(asked, class));
        if let Some(late) = late
            && !self.stays(late, &job)
        {
            return self.refresh(asked);
        }
        let mut follower = self.join(asked, job);
        let from = match follower.leads() {
            true => AnsweredFrom::Call,
            false => {
                // It may be forgotten by now.
                let leader = self.model().programs.name(follower.leader());
                self.bill
                    .shared(leader.unwrap_or("another program".to_owned()));
                AnsweredFrom::SharedCall
            }
        };
        let put_off = follower.put_off(self.search.deadline());
        let ended = tokio::select! {
            biased;
            ended = &mut follower => ended,
            // Its answer is still worth waiting for, but not for whoever asked now.
            (wait, why) = put_off, if late.is_none() => {
                self.set(skipped(&self.model().engine, self.indexer, &skip(why, wait, None), class));
                follower.await
            }
        };
        let unanswered = match ended {
            Ok(answer) => match &*answer {
                Ok(answer) => {
                    let answer = answer.clone();
                    return self.set(PartState::Answered { answer, from });
                }
                Err(fault) => Unanswered::Fault(fault.clone()),
            },
            Err(ended) => {
                if matches!(ended, Ended::Skipped(_)) {
                    self.refresh(asked);
                }
                Unanswered::Ended(ended)
            }
        };
        self.set_without(unanswered, class);
    }

    /// Whether its turn comes too late for the asker. Whoever asks what is being asked already gets that answer, however
    /// far the next turn is.
    fn late(&self, asked: &IndexerQuestion, class: Class) -> Option<TooLate> {
        let engine = &self.model().engine;
        let (wait, why) = engine.next_wait(self.indexer.upstream, class, Budget::Query);
        let left = self.search.deadline();
        let left = left.saturating_duration_since(Instant::now());
        // This is looked at last: whoever sees the slot used up sees the flight under way that used it.
        let shares = || self.fanout.parts.is_under_way(&asked.key);
        let why = why.filter(|_| wait > left && !shares())?;
        Some(TooLate { why, wait, left })
    }

    /// Names an indexer whose turn comes too late. Says whether its job stays in the queue for the next asker; where it
    /// does not, that is noted.
    fn stays(&self, late: TooLate, job: &Job) -> bool {
        let TooLate { why, wait, left } = late;
        let (engine, hold_max) = (&self.model().engine, self.config.hold_max);
        let limit = engine.max_wait(job);
        let stays = limit.is_none() && wait <= hold_max && why != Wait::Off;
        let limit = limit.map(|limit| limit.min(left));
        let too_late = skip(why, wait, limit);
        self.set(skipped(engine, self.indexer, &too_late, job.class));
        if !stays {
            let limit = limit.unwrap_or(hold_max);
            engine.note_skip(job, skip(why, wait, Some(limit)));
        }
        stays
    }

    /// How urgent a question is at this indexer: what nothing is known of yet is asked as if a person waited, so that
    /// the first request of every program gets something. However many indexers it goes to, that is one request.
    fn class(&self, unknown: bool) -> Class {
        let question = self.question();
        if !unknown || !matches!(question.class, RSS | COMPLETION) {
            return question.class;
        }
        let rises = self.search.rises.get_or_init(|| {
            let (model, most) = (self.model(), self.config.first_asks_per_hour);
            model
                .programs
                .first_ask(&question.program, most, model.now())
        });
        match rises {
            true => INTERACTIVE,
            false => question.class,
        }
    }

    fn job(&self, class: Class) -> Job {
        Job {
            max_wait: self.question().max_wait,
            asker: self.question().program.asker,
            ..Job::new(self.indexer.upstream, class)
        }
    }

    /// Leaves one shared job for the next asker, where all there is is old.
    fn refresh(&self, asked: &IndexerQuestion) {
        if !asked.has_old {
            return;
        }
        let hold_max = self.config.hold_max;
        let job = Job {
            max_wait: Some(hold_max),
            ..self.job(COMPLETION)
        };
        let follower = self.join(asked, job);
        let time = hold_max + self.config.keep_after_reply;
        self.fanout.lifetime.keep(follower, time);
    }

    fn join(&self, asked: &IndexerQuestion, job: Job) -> Follower<AnswerKey, SearchAnswer> {
        self.fanout.parts.join(asked.key.clone(), job, |landing| {
            Some(Arc::new(SearchCall {
                model: self.fanout.model.clone(),
                indexer: self.indexer.clone(),
                limit: asked.limit,
                bill: self.bill.clone(),
                landing,
            }))
        })
    }

    fn set(&self, state: PartState) {
        self.search.set(self.at, state);
    }

    fn set_without(&self, unanswered: Unanswered, class: Class) {
        self.set(unanswered.state(&self.model().engine, self.indexer, class));
    }

    fn model(&self) -> &Model {
        &self.fanout.model
    }

    fn question(&self) -> &SearchQuestion {
        &self.search.question
    }
}
