//! Asks all indexers of a search at once, each by itself: its caps, the cache, a flight, its turn.
//!
//! A slow indexer costs its own releases, never the reply: who waits is told apart from who is asked.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;
use weir_engine::dispatch::policy::Budget;
use weir_engine::dispatch::{Asker, Class, Job, Moment, Skip, Wait, job};
use weir_engine::{Ended, Follower};

use crate::bill::Bill;
use crate::call::{CapsAnswer, Introducing, Searching};
use crate::config::Config;
use crate::desk::Desk;
use crate::indexer::{Indexer, Known};
use crate::judge::IndexerFault;
use crate::part::{Answer, Part, PartKey};
use crate::plan::{Plan, plan};
use crate::policy::{BACKGROUND, COMPLETION, INTERACTIVE, RSS, class_name};
use crate::program::Program;
use crate::search::{How, Question, Search, SearchId, State};
use crate::words::seconds;
use weir_engine::span;

/// Releases that are asked for at once where an indexer names no number.
const PAGE: u32 = 100;
/// More are not asked for, whatever an indexer offers.
const PAGE_MOST: u32 = 1000;

const PANICKED: &str = "Weir failed to ask it; the log says why";

/// Why there is no answer.
enum NoAnswer {
    Fault(IndexerFault),
    Ended(Ended),
}

/// However a task ends, nobody waits for it in vain.
struct OnPanic<'a>(&'a Search, usize);

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        let Self(search, place) = *self;
        if std::thread::panicking() {
            let reason = PANICKED.to_owned();
            search.set(
                place,
                State::Failed {
                    reason,
                    until: None,
                },
            );
        }
    }
}

impl NoAnswer {
    /// Whether all that is missing is its turn, and that comes within this time.
    fn passes_within(&self, time: Duration) -> bool {
        match self {
            Self::Ended(Ended::Skipped(skip)) => skip.wait.is_some_and(|wait| wait <= time),
            _ => false,
        }
    }
}

impl Desk {
    /// Begins a search. It goes on by itself; whoever wants to know how it goes watches it.
    pub(crate) fn begin(self: &Arc<Self>, question: Question) -> Arc<Search> {
        let id = SearchId(self.random());
        let (search, bills) = Search::new(id, question, self.engine.timeline().now());
        let search = Arc::new(search);
        for (place, bill) in bills.into_iter().enumerate() {
            let (desk, search) = (self.clone(), search.clone());
            self.tasks.spawn(async move {
                let _guard = OnPanic(&search, place);
                desk.ask(&search, place, &bill).await;
            });
        }
        search
    }

    /// Sees to one indexer's part until it is over or nobody can want it any more.
    async fn ask(self: &Arc<Self>, search: &Search, place: usize, bill: &Bill) {
        let kept = search.deadline() + self.config.load().keep_after_reply;
        let given_up = tokio::select! {
            () = self.answer(search, place, bill) => return,
            () = search.stop.cancelled() => "the search was stopped",
            () = self.closing.cancelled() => "Weir is stopping",
            () = tokio::time::sleep_until(kept) => "its turn did not come in time",
        };
        if matches!(search.places()[place].state, State::Asking) {
            let reason = given_up.to_owned();
            search.set(
                place,
                State::Skipped {
                    reason,
                    until: None,
                },
            );
        }
    }

    async fn answer(self: &Arc<Self>, search: &Search, place: usize, bill: &Bill) {
        let (question, config) = (&search.question, self.config.load_full());
        let indexer = &question.scope[place];
        let Some(known) = self.introduced_to(search, place, &config).await else {
            return;
        };
        let query = match plan(&known, &question.query, &indexer.config.categories) {
            Plan::Ask(query) => Arc::new(query),
            Plan::Nothing(why) => return search.set(place, State::Nothing(why)),
        };
        let key = PartKey {
            upstream: indexer.upstream,
            indexer: indexer.name().into(),
            source: indexer.source.clone(),
            query,
        };
        let cached = self.cached(&key, indexer, &config).await;
        if let Some((part, fresh)) = &cached {
            let now = self.office.wall();
            if *fresh && !question.no_cache {
                self.engine.count_from_memory(1);
                self.counts.hit();
                let (part, how) = (part.clone(), How::Cached(part.age(now)));
                return search.set(place, State::Answered { part, how });
            }
            search.set_stale(place, part.clone());
        }
        self.counts.miss();
        self.fly(search, place, bill, &key, &known, cached.is_some())
            .await;
    }

    /// What the indexer of a place can do. `None` if it does not say so, and the place says why.
    async fn introduced_to(
        self: &Arc<Self>,
        search: &Search,
        place: usize,
        config: &Config,
    ) -> Option<Arc<Known>> {
        let question = &search.question;
        let (indexer, program) = (&question.scope[place], &question.program);
        let class = || self.class_of(search, true, config);
        let job = || Job {
            max_wait: question.max_wait,
            ..Job::new(indexer.upstream, class())
        };
        let until = Some(search.deadline());
        let no_answer = match self.known(indexer, program, until).await {
            Ok(known) => return Some(known),
            Err(no_answer) => no_answer,
        };
        let patient = self.engine.max_wait(&job()).is_none();
        let stays = patient && no_answer.passes_within(config.hold_max);
        search.set(place, self.in_vain(indexer, no_answer, class()));
        if !stays {
            return None;
        }
        match self.known(indexer, program, None).await {
            Ok(known) => Some(known),
            Err(no_answer) => {
                search.set(place, self.in_vain(indexer, no_answer, class()));
                None
            }
        }
    }

    /// Joins whoever asks the same, or asks; `cached` says that there is an old answer.
    async fn fly(
        self: &Arc<Self>,
        search: &Search,
        place: usize,
        bill: &Bill,
        key: &PartKey,
        known: &Known,
        cached: bool,
    ) {
        let (question, config) = (&search.question, self.config.load_full());
        let indexer = &question.scope[place];
        let class = self.class_of(search, !cached, &config);
        let job = Job {
            max_wait: question.max_wait,
            asker: question.program.asker,
            ..Job::new(indexer.upstream, class)
        };
        // What is old is asked for once more, for the next asker.
        let refresh = || {
            if cached {
                self.refresh(key, indexer, known, job.asker, bill.clone());
            }
        };
        let late = self.late(search, key, class);
        if let Some((why, wait, left)) = late {
            let limit = self.engine.max_wait(&job);
            let stays = limit.is_none() && wait <= config.hold_max && why != Wait::Off;
            let limit = limit.map(|limit| limit.min(left));
            search.set(place, self.skipped(indexer, &skip(why, wait, limit), class));
            if !stays {
                let limit = limit.unwrap_or(config.hold_max);
                self.engine.note_skip(&job, skip(why, wait, Some(limit)));
                return refresh();
            }
        }
        let mut follower = self.join(key, indexer, known, job, bill.clone());
        let how = match follower.leads() {
            true => How::Asked,
            false => {
                // It may be forgotten by now.
                let leader = self.programs.name(follower.leader());
                bill.shared(leader.unwrap_or("another program".to_owned()));
                How::Shared
            }
        };
        let put_off = follower.put_off(search.deadline());
        let ended = tokio::select! {
            biased;
            ended = &mut follower => ended,
            // Its answer is still worth waiting for, but not for whoever asked now.
            (wait, why) = put_off, if late.is_none() => {
                search.set(place, self.skipped(indexer, &skip(why, wait, None), class));
                follower.await
            }
        };
        let no_answer = match ended {
            Ok(answer) => match &*answer {
                Ok(part) => {
                    let part = part.clone();
                    return search.set(place, State::Answered { part, how });
                }
                Err(fault) => NoAnswer::Fault(fault.clone()),
            },
            Err(ended) => {
                if matches!(ended, Ended::Skipped(_)) {
                    refresh();
                }
                NoAnswer::Ended(ended)
            }
        };
        search.set(place, self.in_vain(indexer, no_answer, class));
    }

    /// What keeps an indexer from being asked before the asker gets what is there, and how long that takes and is away.
    /// Whoever asks what is being asked already gets that answer, however far the next turn is.
    fn late(
        &self,
        search: &Search,
        key: &PartKey,
        class: Class,
    ) -> Option<(Wait, Duration, Duration)> {
        let (wait, why) = self.engine.next_wait(key.upstream, class, Budget::Query);
        let left = search.deadline().saturating_duration_since(Instant::now());
        let why = why.filter(|_| wait > left && !self.parts.is_under_way(key))?;
        Some((why, wait, left))
    }

    /// The kept answer to a question, and whether it still stands.
    async fn cached(
        &self,
        key: &PartKey,
        indexer: &Indexer,
        config: &Config,
    ) -> Option<(Arc<Part>, bool)> {
        let (digest, scrub) = (key.digest(), indexer.endpoint.scrub());
        let part = self.office.cache.part(&digest, scrub).await?;
        let age = part.age(self.office.wall());
        let oldest = seconds(config.cache.stale);
        let fresh = age < part.life(&key.query, &config.cache);
        (age < oldest).then_some((part, fresh))
    }

    /// How urgent a question is at an indexer: what nothing is known of yet is asked as if a person waited, so that
    /// the first request of every program gets something. However many indexers it goes to, that is one request.
    fn class_of(&self, search: &Search, unknown: bool, config: &Config) -> Class {
        let question = &search.question;
        if !unknown || !matches!(question.class, RSS | COMPLETION) {
            return question.class;
        }
        let rises = search.rises.get_or_init(|| {
            let now = self.engine.timeline().now();
            let most = config.first_asks_per_hour;
            self.programs.first_ask(&question.program, most, now)
        });
        match rises {
            true => INTERACTIVE,
            false => question.class,
        }
    }

    /// Leaves one shared job for the next asker, where all there is is old.
    fn refresh(
        self: &Arc<Self>,
        key: &PartKey,
        indexer: &Arc<Indexer>,
        known: &Known,
        asker: Asker,
        bill: Bill,
    ) {
        let config = self.config.load();
        let job = Job {
            max_wait: Some(config.hold_max),
            asker,
            ..Job::new(indexer.upstream, COMPLETION)
        };
        let follower = self.join(key, indexer, known, job, bill);
        self.follow(follower, config.hold_max + config.keep_after_reply);
    }

    /// Keeps an interest in a flight for some time, whoever else leaves it.
    fn follow(&self, follower: Follower<PartKey, Answer>, time: Duration) {
        let closing = self.closing.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                _ = follower => {}
                () = closing.cancelled() => {}
                () = tokio::time::sleep(time) => {}
            }
        });
    }

    fn join(
        &self,
        key: &PartKey,
        indexer: &Arc<Indexer>,
        known: &Known,
        job: Job,
        bill: Bill,
    ) -> Follower<PartKey, Answer> {
        let limit = match known.caps.max_limit.max(known.caps.default_limit) {
            0 => PAGE,
            most => most.min(PAGE_MOST),
        };
        self.parts.join(key.clone(), job, |landing| {
            Some(Arc::new(Searching {
                office: self.office.clone(),
                indexer: indexer.clone(),
                limit,
                bill,
                landing,
            }))
        })
    }

    /// What an indexer can do. Asks it if that is not known, unless its turn comes only after `until`; what is old is
    /// asked for again by the way.
    async fn known(
        self: &Arc<Self>,
        indexer: &Arc<Indexer>,
        program: &Program,
        until: Option<Instant>,
    ) -> Result<Arc<Known>, NoAnswer> {
        if let Some(known) = indexer.known.load_full() {
            let config = self.config.load();
            let life = match known.assumed {
                true => config.cache.nothing,
                false => config.cache.caps,
            };
            let now = self.office.wall();
            // One that fails to say it again is not asked with every search.
            let again = seconds(config.cache.nothing);
            let last = indexer.introduced.load(Ordering::Relaxed);
            if known.at.saturating_add(seconds(life)) < now && last.saturating_add(again) < now {
                indexer.introduced.store(now, Ordering::Relaxed);
                self.introduce(indexer, BACKGROUND);
            }
            return Ok(known);
        }
        let (wait, why) = self
            .engine
            .next_wait(indexer.upstream, INTERACTIVE, Budget::Side);
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if let Some(why) = why.filter(|_| left.is_some_and(|left| wait > left)) {
            let job = introduction(indexer, program, INTERACTIVE);
            self.engine.note_skip(&job, skip(why, wait, left));
            return Err(NoAnswer::Ended(Ended::Skipped(skip(why, wait, None))));
        }
        let answer = self.introduction(indexer, program, INTERACTIVE).await;
        match answer.as_deref() {
            Ok(Ok(known)) => Ok(known.clone()),
            Ok(Err(fault)) if fault.is_no_caps() => {
                let known = Arc::new(Known::assumed(self.office.wall()));
                indexer.known.store(Some(known.clone()));
                Ok(known)
            }
            Ok(Err(fault)) => Err(NoAnswer::Fault(fault.clone())),
            Err(ended) => Err(NoAnswer::Ended(*ended)),
        }
    }

    fn introduction(
        &self,
        indexer: &Arc<Indexer>,
        program: &Program,
        class: Class,
    ) -> Follower<weir_engine::dispatch::UpstreamId, CapsAnswer> {
        let job = introduction(indexer, program, class);
        self.caps.join(indexer.upstream, job, |landing| {
            Some(Arc::new(Introducing {
                office: self.office.clone(),
                indexer: indexer.clone(),
                landing,
            }))
        })
    }

    /// Asks an indexer what it can do, for whoever comes next.
    pub(crate) fn introduce(&self, indexer: &Arc<Indexer>, class: Class) {
        let nobody = Program {
            name: "".into(),
            asker: Default::default(),
        };
        let follower = self.introduction(indexer, &nobody, class);
        let (closing, time) = (self.closing.clone(), self.config.load().hold_max);
        self.tasks.spawn(async move {
            tokio::select! {
                _ = follower => {}
                () = closing.cancelled() => {}
                () = tokio::time::sleep(time) => {}
            }
        });
    }

    /// Waits until these have said what they can do, at most so long.
    pub(crate) async fn introduced(
        self: &Arc<Self>,
        indexers: &[Arc<Indexer>],
        program: &Program,
        within: Duration,
    ) {
        let until = Instant::now() + within;
        let all = indexers
            .iter()
            .map(|indexer| self.known(indexer, program, Some(until)));
        let all = futures_util::future::join_all(all);
        let _ = tokio::time::timeout_at(until, all).await;
    }

    fn in_vain(&self, indexer: &Indexer, why: NoAnswer, class: Class) -> State {
        let until = || self.rest_of(indexer);
        let failed = |reason: String| State::Failed {
            reason,
            until: until(),
        };
        match why {
            NoAnswer::Fault(fault) => failed(fault.to_string()),
            NoAnswer::Ended(Ended::Skipped(skip)) => self.skipped(indexer, &skip, class),
            NoAnswer::Ended(Ended::TimedOut) => {
                let time = indexer.config.timeout;
                failed(format!("it did not answer within {}", span(time)))
            }
            NoAnswer::Ended(Ended::Dropped(job::Drop::Gone)) => State::Skipped {
                reason: "it is no longer configured".to_owned(),
                until: None,
            },
            NoAnswer::Ended(Ended::Dropped(_)) => State::Skipped {
                reason: "too many questions wait already".to_owned(),
                until: None,
            },
            NoAnswer::Ended(Ended::Panicked) => failed(PANICKED.to_owned()),
            NoAnswer::Ended(Ended::Shutdown) => State::Skipped {
                reason: "Weir is stopping".to_owned(),
                until: None,
            },
            NoAnswer::Ended(Ended::Cancelled) => State::Skipped {
                reason: "nobody wanted its answer any more".to_owned(),
                until: None,
            },
            NoAnswer::Ended(Ended::Finished(_)) => {
                failed("it gave no answer that could be used".to_owned())
            }
        }
    }

    /// When an indexer that rests may be asked again.
    fn rest_of(&self, indexer: &Indexer) -> Option<Moment> {
        let rests = self.engine.rests([indexer.upstream]);
        rests
            .into_iter()
            .flatten()
            .find(|until| *until != Moment::NEVER)
    }

    fn skipped(&self, indexer: &Indexer, skip: &Skip, class: Class) -> State {
        let view = self.engine.upstream(indexer.upstream);
        let why = match skip.reason {
            Wait::Off => {
                let off = view.and_then(|view| view.off);
                match off
                    .map(|off| off.reason)
                    .filter(|reason| !reason.is_empty())
                {
                    Some(reason) => format!("switched off by an operator: {reason}"),
                    None => "switched off by an operator".to_owned(),
                }
            }
            Wait::Rest => match view.and_then(|view| view.last_error) {
                Some((_, error)) => format!("it rests: {error}"),
                None => "it rests".to_owned(),
            },
            Wait::Window => "its quota is used up".to_owned(),
            Wait::Gap => "it was asked a moment ago".to_owned(),
        };
        let class = class_name(class);
        let reason = match (skip.wait, skip.limit) {
            (Some(wait), Some(limit)) => format!(
                "{why}; its turn would come in {}, {class} may wait {}",
                span(wait),
                span(limit)
            ),
            (Some(wait), None) => format!("{why}; its turn comes in {}", span(wait)),
            (None, _) => why,
        };
        let until = skip.wait.map(|wait| self.engine.timeline().now() + wait);
        State::Skipped { reason, until }
    }
}

/// The job that asks an indexer what it can do.
fn introduction(indexer: &Indexer, program: &Program, class: Class) -> Job {
    Job {
        budget: Budget::Side,
        asker: program.asker,
        ..Job::new(indexer.upstream, class)
    }
}

/// Why a turn comes too late. One that is switched off has none, so there is no time to tell.
pub(crate) fn skip(reason: Wait, wait: Duration, limit: Option<Duration>) -> Skip {
    let has_turn = reason != Wait::Off;
    Skip {
        reason,
        wait: has_turn.then_some(wait),
        limit: limit.filter(|_| has_turn),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::tests::indexer;

    #[tokio::test]
    async fn a_task_that_panics_is_not_waited_for() {
        let question = Question {
            query: weir_search_proto::Query::new(weir_search_proto::Function::Search),
            scope: vec![indexer(0, 25)],
            class: INTERACTIVE,
            max_wait: None,
            no_cache: false,
            program: Program {
                name: "".into(),
                asker: Default::default(),
            },
            address: String::new(),
            deadline: Duration::from_secs(3600),
        };
        let (search, _) = Search::new(SearchId(1), question, Moment(0));
        let search = Arc::new(search);
        let mut tasks = tokio::task::JoinSet::new();
        let asked = search.clone();
        tasks.spawn(async move {
            let _guard = OnPanic(&asked, 0);
            panic!("as if the code were wrong");
        });
        search.settled(search.deadline()).await;
        let places = search.places();
        assert!(
            matches!(&places[0].state, State::Failed { reason, .. } if reason == PANICKED),
            "an outcome"
        );
    }
}
