//! One indexer's part in a search: what it can do, what is kept of it, and its answer.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use weir_engine::dispatch::policy::Budget;
use weir_engine::dispatch::{Asker, Class, Job, Wait};
use weir_engine::{About, Ended, Follower, Got, Receipt, Skipped};

use crate::answer::{AnswerKey, IndexerAnswer, SearchAnswer};
use crate::bill::Bill;
use crate::call::{SearchCall, about_query};
use crate::indexer::{Abilities, Indexer};
use crate::model::Model;
use crate::plan::{Plan, plan};
use crate::policy::COMPLETION;
use crate::rules::SearchRules;
use crate::search::{AnsweredFrom, PartState, Search, SearchQuestion};
use crate::unanswered::{Unanswered, skip, skipped};

use super::Fanout;

/// Sees to one indexer's part.
pub(super) struct Asking<'a> {
    fanout: &'a Fanout,
    search: &'a Search,
    at: usize,
    indexer: &'a Arc<Indexer>,
    /// A reload in between is for the next search.
    rules: Arc<SearchRules>,
    bill: Bill,
}

/// What is asked of an indexer once it is known what it can do.
struct IndexerQuestion {
    key: AnswerKey,
    /// Releases wanted at most.
    limit: u32,
    /// What is asked, for the records.
    about: About,
    /// The age of an answer that is too old to serve as one of now.
    old: Option<Duration>,
    /// Its answer came from another node.
    taken: Arc<AtomicBool>,
}

impl IndexerQuestion {
    /// What whoever asks gets without an answer of now.
    fn instead(&self) -> Got {
        match self.old {
            Some(age) => Got::Cached { age },
            None => Got::Nothing,
        }
    }
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
            rules: fanout.model.rules.load_full(),
            bill,
        }
    }

    /// Goes on until it is over or nobody can want it any more.
    pub(super) async fn run(&self) {
        // Past the deadline it goes on for the cache, but not for ever: a job that waits holds a place in the queue.
        let kept = self.search.deadline() + self.rules.keep_after_reply;
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
        if self.is_off() {
            return;
        }
        let Some(known) = self.introduction().await else {
            return;
        };
        let only = &self.indexer.terms.categories;
        let query = match plan(&known, &self.question().query, only) {
            Plan::Ask(query) => Arc::new(query),
            Plan::Nothing(why) => return self.set(PartState::Nothing(why)),
        };
        let key = AnswerKey::new(self.indexer, query);
        let kept = self.kept(&key).await;
        let mut old = None;
        if let Some((answer, fresh)) = kept {
            let age = answer.age(self.model().wall());
            if fresh && !self.question().no_cache {
                self.model().engine.count_from_memory(1);
                self.model().cache.count_hit();
                let from = AnsweredFrom::Cache(age);
                return self.set(PartState::Answered { answer, from });
            }
            // Served if nothing better comes in time.
            self.search.set_stale(self.at, answer, age);
            old = u64::try_from(age).ok().map(Duration::from_secs);
        }
        self.model().cache.count_miss();
        self.fly(&IndexerQuestion {
            about: about_query(&key.query),
            key,
            limit: known.page(),
            old,
            taken: Arc::default(),
        })
        .await;
    }

    /// Whether an operator has switched the indexer off, in which case its part says so. Nothing of it is offered then, not
    /// even what is kept: nobody could download it.
    fn is_off(&self) -> bool {
        let (engine, class) = (&self.model().engine, self.question().class);
        let (wait, why) = engine.next_wait(self.indexer.upstream, class, Budget::Query);
        if why != Some(Wait::Off) {
            return false;
        }
        let (job, skip) = (self.job(class), skip(Wait::Off, wait, None));
        let about = about_query(&self.question().query);
        let told = engine.note_skip(&job, &about, skip, Got::Nothing);
        self.set_skipped(&told, class);
        true
    }

    /// What the indexer can do. `None` if it does not say so, and its part says why.
    async fn introduction(&self) -> Option<Arc<Abilities>> {
        let (introductions, asker) = (&self.fanout.introductions, self.question().program.asker);
        let deadline = Some(self.search.deadline());
        let unanswered = match introductions.with(self.indexer, asker, deadline).await {
            Ok(known) => return Some(known),
            Err(unanswered) => unanswered,
        };
        let class = self.question().class;
        // Who waits however long it takes is asked when its turn comes, for the cache; all others are told once.
        let patient = self.model().engine.max_wait(&self.job(class)).is_none();
        let stays = patient && unanswered.passes_within(self.rules.hold_max);
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
        let lives = &self.rules.lives;
        let fresh = age < answer.life(&key.query, lives);
        (age < lives.stale).then_some((answer, fresh))
    }

    /// Joins whoever asks the same, or asks.
    async fn fly(&self, asked: &IndexerQuestion) {
        let class = self.question().class;
        let (job, late) = (self.job(class), self.late(asked, class));
        if let Some(late) = late
            && !self.stays(late, &job)
        {
            self.leave(late, &job, asked);
            return self.refresh(asked);
        }
        let mut follower = self.join(asked, job);
        let mut told = false;
        // Its turn may have come in between.
        if let Some(TooLate { why, wait, .. }) = late.filter(|_| !follower.is_called())
            && let Some(late) = follower.miss(skip(why, wait, None), asked.instead())
        {
            self.set_skipped(&late, class);
            told = true;
        }
        let ended = self.wait_for(&mut follower, asked, class, &mut told).await;
        let Some(ended) = ended else {
            drop(follower);
            return self.refresh(asked);
        };
        let taken = asked.taken.load(Ordering::Relaxed);
        let from = match follower.leads() && !taken {
            true => AnsweredFrom::Call,
            false => AnsweredFrom::SharedCall,
        };
        let unanswered = match ended {
            Ok(answer) => {
                // Only now: whoever merely waited for another's call, or was told something else before, shared nothing.
                if matches!(from, AnsweredFrom::SharedCall) && !told {
                    let leader = self.model().engine.asker_name(follower.leader());
                    let leader = match taken {
                        true => "another node",
                        false => leader.as_deref().unwrap_or("another program"),
                    };
                    self.bill.shared(leader.to_owned());
                }
                match &*answer {
                    Ok(answer) => {
                        let answer = answer.clone();
                        return self.set(PartState::Answered { answer, from });
                    }
                    Err(fault) => Unanswered::Fault(fault.clone()),
                }
            }
            Err(ended) => {
                if matches!(ended, Ended::Skipped(_)) {
                    self.refresh(asked);
                }
                Unanswered::Ended(ended)
            }
        };
        follower.note_got(asked.instead());
        self.owe(follower.receipt());
        // Whoever was told of a skip is told once: what becomes of the call then is a record of its own.
        if !told || self.search.is_asking(self.at) {
            self.set_without(unanswered, class);
        }
    }

    /// Waits for the answer, also past the deadline: it is then worth nothing to whoever asked, who is told so, but to
    /// whoever asks next. `None` if the turn has moved so far away that it is for nobody.
    async fn wait_for(
        &self,
        follower: &mut Follower<AnswerKey, SearchAnswer>,
        asked: &IndexerQuestion,
        class: Class,
        told: &mut bool,
    ) -> Option<Result<Arc<SearchAnswer>, Ended>> {
        let deadline = self.search.deadline();
        let mut put_off = pin!(follower.put_off(deadline));
        loop {
            tokio::select! {
                biased;
                ended = &mut *follower => return Some(ended),
                (wait, why) = &mut put_off, if !*told => {
                    let hold_max = self.rules.hold_max;
                    let is_hopeless = wait > hold_max;
                    let skip = skip(why, wait, is_hopeless.then_some(hold_max));
                    let skipped = match follower.is_called() {
                        true => None,
                        false => follower.miss(skip, asked.instead()),
                    };
                    // Its call began, or ended, since its turn was looked at: it is waited for as before.
                    let Some(skipped) = skipped else {
                        put_off.set(follower.put_off(deadline));
                        continue;
                    };
                    *told = true;
                    self.set_skipped(&skipped, class);
                    if is_hopeless {
                        return None;
                    }
                }
                () = tokio::time::sleep_until(deadline), if !*told => {
                    *told = true;
                    let skip = skip(Wait::Gap, Duration::ZERO, None);
                    if !follower.is_called() {
                        self.set(PartState::Skipped {
                            reason: "the request was still queued when the deadline passed".to_owned(),
                            until: None,
                        });
                    }
                    follower.miss(skip, asked.instead());
                    self.owe(follower.receipt());
                    self.search.set_due(self.at);
                }
            }
        }
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

    /// Whether a job whose turn comes too late stays in the queue for the next asker.
    fn stays(&self, late: TooLate, job: &Job) -> bool {
        let is_patient = self.model().engine.max_wait(job).is_none();
        is_patient && late.wait <= self.rules.hold_max && late.why != Wait::Off
    }

    /// Notes and names an indexer whose turn comes so late that it is not asked.
    fn leave(&self, late: TooLate, job: &Job, asked: &IndexerQuestion) {
        let TooLate { why, wait, left } = late;
        let engine = &self.model().engine;
        // Its class's own limit, where that is what it exceeds.
        let limit = engine.max_wait(job);
        let limit = limit.map(|limit| if wait > limit { limit } else { left });
        let too_late = skip(why, wait, Some(limit.unwrap_or(self.rules.hold_max)));
        let told = engine.note_skip(job, &asked.about, too_late, asked.instead());
        let told = Skipped {
            skip: skip(why, wait, limit),
            ..told
        };
        self.set_skipped(&told, job.class);
    }

    fn job(&self, class: Class) -> Job {
        Job {
            max_wait: self.question().max_wait,
            claims: true,
            asker: self.question().program.asker,
            ..Job::new(self.indexer.upstream, class)
        }
    }

    /// Leaves one shared job for the next asker, where all there is is old. It is nobody's: whoever asked has been told.
    fn refresh(&self, asked: &IndexerQuestion) {
        let (engine, hold_max) = (&self.model().engine, self.rules.hold_max);
        let (wait, _) = engine.next_wait(self.indexer.upstream, COMPLETION, Budget::Query);
        if asked.old.is_none() || wait > hold_max {
            return;
        }
        let job = Job {
            max_wait: Some(hold_max),
            asker: Asker::NOBODY,
            ..self.job(COMPLETION)
        };
        let follower = self.join(asked, job).unasked();
        let time = hold_max + self.rules.keep_after_reply;
        self.fanout.lifetime.keep(follower, time);
    }

    fn join(&self, asked: &IndexerQuestion, job: Job) -> Follower<AnswerKey, SearchAnswer> {
        self.fanout.parts.join(asked.key.clone(), job, |landing| {
            Some(Arc::new(SearchCall {
                model: self.fanout.model.clone(),
                indexer: self.indexer.clone(),
                limit: asked.limit,
                bill: self.bill.clone(),
                about: asked.about.clone(),
                no_cache: self.question().no_cache,
                taken: asked.taken.clone(),
                packed: Mutex::default(),
                landing,
            }))
        })
    }

    fn set(&self, state: PartState) {
        self.search.set(self.at, state);
    }

    /// What is told of the indexer is what is recorded of it.
    fn set_skipped(&self, told: &Skipped, class: Class) {
        self.owe(Receipt::of(self.indexer.upstream, told));
        self.set(skipped(told, class));
    }

    fn owe(&self, receipt: Option<Receipt>) {
        self.search.owe(&self.model().engine, receipt);
    }

    fn set_without(&self, unanswered: Unanswered, class: Class) {
        if let Unanswered::Ended(Ended::Skipped(told)) = &unanswered {
            self.owe(Receipt::of(self.indexer.upstream, told));
        }
        self.set(unanswered.state(&self.model().engine, self.indexer, class));
    }

    fn model(&self) -> &Model {
        &self.fanout.model
    }

    fn question(&self) -> &SearchQuestion {
        &self.search.question
    }
}
