//! The dispatcher and the reference model, driven as one: both are told the same, and all that can be seen of them must
//! agree after each step. A story that is told once is so tested on both.

#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    reason = "included by several test targets, each of which uses a part"
)]

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use weir_dispatch::{
    Admission, After, Ask, Budget, Class, Dispatcher, End, Finish, Job, JobId, Moment, Next,
    Policy, Quota, Refused, SavedJob, Start, UpstreamId, Usage, Wait, What,
};

use crate::reference::{Model, Told};

/// Ids of jobs and upstreams are those of the dispatcher.
#[derive(Clone)]
pub struct Both {
    policy: Policy,
    pub real: Dispatcher,
    /// `None` in stories that are too large for a model that scans everything at each step.
    model: Option<Model>,
    /// How many upstreams were added.
    upstreams: u32,
    /// The model's ids of jobs.
    ids: HashMap<JobId, JobId>,
    /// What was submitted.
    jobs: HashMap<JobId, Job>,
    /// Jobs whose end was told.
    told: HashSet<JobId>,
    ended: Vec<(JobId, End)>,
    /// How many of the dispatcher's decisions were compared.
    compared: usize,
}

impl Both {
    pub fn new(policy: Policy, now: Moment) -> Self {
        let model = Model::new(policy.clone(), now);
        Self {
            model: Some(model),
            ..Self::alone(policy, now)
        }
    }

    /// The dispatcher alone.
    pub fn alone(policy: Policy, now: Moment) -> Self {
        Self {
            real: Dispatcher::new(policy.clone(), now),
            policy,
            model: None,
            upstreams: 0,
            ids: HashMap::new(),
            jobs: HashMap::new(),
            told: HashSet::new(),
            ended: Vec::new(),
            compared: 0,
        }
    }

    /// What was submitted as this job.
    pub fn job(&self, id: JobId) -> &Job {
        &self.jobs[&id]
    }

    pub fn submit(&mut self, now: Moment, job: Job) -> Admission {
        let entry = self.real.submit(now, job);
        if let Some(model) = &mut self.model {
            match (entry, model.submit(now, job)) {
                (Admission::Queued(real), Admission::Queued(model))
                | (Admission::Scheduled(real), Admission::Scheduled(model)) => {
                    self.ids.insert(real, model);
                }
                (Admission::Duplicate(real), Admission::Duplicate(model)) => {
                    assert_eq!(self.ids[&real], model);
                }
                (real, model) => assert_eq!(real, model, "entry of {job:?}"),
            }
        }
        if let Admission::Queued(id) | Admission::Scheduled(id) = entry {
            self.jobs.insert(id, job);
        }
        self.compare(now);
        entry
    }

    pub fn cancel(&mut self, now: Moment, id: JobId) -> bool {
        let cancelled = self.real.cancel(now, id);
        if let Some(model) = &mut self.model {
            assert_eq!(cancelled, model.cancel(now, self.ids[&id]));
        }
        self.compare(now);
        cancelled
    }

    pub fn raise(&mut self, now: Moment, id: JobId, class: Class) -> bool {
        let raised = self.real.raise(now, id, class);
        if let Some(model) = &mut self.model {
            assert_eq!(raised, model.raise(now, self.ids[&id], class));
        }
        self.compare(now);
        raised
    }

    pub fn finish(&mut self, now: Moment, id: JobId, finish: Finish, jitter: u16) -> After {
        let after = self.real.finish(now, id, finish, jitter);
        if let Some(model) = &mut self.model {
            let expected = model.finish(now, self.ids[&id], finish, jitter);
            assert_eq!(after, expected, "after {finish:?}");
        }
        self.compare(now);
        after
    }

    /// What is to be done now. When nothing is to start, how long to sleep is the dispatcher's own answer; see
    /// [`Self::earliest_start`].
    pub fn next(&mut self, now: Moment) -> Next {
        let next = self.real.next(now);
        if let Some(model) = &mut self.model {
            match (next, model.next(now)) {
                (Next::Start(start), Next::Start(expected)) => {
                    assert_eq!(self.of_model(start), expected, "at {now:?}");
                }
                (Next::Ask(ask), Next::Ask(expected)) => {
                    let job = self.ids[&ask.job];
                    assert_eq!(Ask { job, ..ask }, expected, "at {now:?}");
                }
                (Next::Wait(_) | Next::Idle, Next::Wait(_) | Next::Idle) => self.compare(now),
                (real, model) => panic!("{real:?}, but the model says {model:?} at {now:?}"),
            }
        }
        next
    }

    /// A start as the model, which keeps no waits, tells it.
    fn of_model(&self, start: Start) -> Start {
        Start {
            job: self.ids[&start.job],
            reason: None,
            decided: 0,
            ..start
        }
    }

    pub fn share(&mut self, now: Moment, id: UpstreamId, shared: bool) {
        self.real.share(now, id, shared);
        self.model(now, |model| model.share(now, id, shared));
    }

    pub fn grant(&mut self, now: Moment, id: JobId) -> Option<Start> {
        let start = self.real.grant(now, id);
        let of_model = start.map(|start| self.of_model(start));
        if let Some(model) = &mut self.model {
            assert_eq!(of_model, model.grant(now, self.ids[&id]), "at {now:?}");
        }
        self.compare(now);
        start
    }

    pub fn refuse(&mut self, now: Moment, id: JobId, refused: Refused) -> bool {
        let asked = self.real.refuse(now, id, refused);
        if let Some(model) = &mut self.model {
            assert_eq!(asked, model.refuse(now, self.ids[&id], refused));
        }
        self.compare(now);
        asked
    }

    pub fn put_back(&mut self, now: Moment, id: JobId) -> bool {
        let asked = self.real.put_back(now, id);
        if let Some(model) = &mut self.model {
            assert_eq!(asked, model.put_back(now, self.ids[&id]));
        }
        self.compare(now);
        asked
    }

    pub fn defer(&mut self, now: Moment, id: JobId, until: Moment) -> bool {
        let deferred = self.real.defer(now, id, until);
        if let Some(model) = &mut self.model {
            assert_eq!(deferred, model.defer(now, self.ids[&id], until));
        }
        self.compare(now);
        deferred
    }

    pub fn answered(&mut self, now: Moment, id: JobId) -> bool {
        let ended = self.real.answered(now, id);
        if let Some(model) = &mut self.model {
            assert_eq!(ended, model.answered(now, self.ids[&id]));
        }
        self.compare(now);
        ended
    }

    pub fn throttle(&mut self, now: Moment, id: UpstreamId, until: Moment) {
        self.real.throttle(now, id, until);
        self.model(now, |model| model.throttle(now, id, until));
    }

    /// The first moment at which a job would start if nothing else happened, as the model tells by trying. Neither may
    /// sleep past it; both may wake earlier, for something that turns out to be no start.
    pub fn earliest_start(&self, now: Moment) -> Option<Moment> {
        let model = self.model.as_ref()?;
        let earliest = model.earliest_start(now);
        for next in [self.real.clone().next(now), model.clone().next(now)] {
            match next {
                Next::Start(_) | Next::Ask(_) => assert_eq!(earliest, Some(now)),
                Next::Wait(at) => assert!(
                    now < at && earliest.is_none_or(|earliest| at <= earliest),
                    "sleeps until {at:?}, but a job could start at {earliest:?}"
                ),
                Next::Idle => assert_eq!(earliest, None),
            }
        }
        earliest
    }

    pub fn add_upstream(&mut self, now: Moment, quota: Quota) -> UpstreamId {
        let id = self.real.add_upstream(now, quota.clone());
        if let Some(model) = &mut self.model {
            assert_eq!(id, model.add_upstream(now, quota));
        }
        self.upstreams += 1;
        self.compare(now);
        id
    }

    pub fn remove_upstream(&mut self, now: Moment, id: UpstreamId) {
        self.real.remove_upstream(now, id);
        self.model(now, |model| model.remove_upstream(now, id));
    }

    pub fn set_quota(&mut self, now: Moment, id: UpstreamId, quota: Quota) {
        self.real.set_quota(now, id, quota.clone());
        self.model(now, |model| model.set_quota(now, id, quota));
    }

    pub fn observe(&mut self, now: Moment, id: UpstreamId, usage: Usage) {
        self.real.observe(now, id, usage);
        self.model(now, |model| model.observe(now, id, usage));
    }

    pub fn clear(&mut self, now: Moment, id: UpstreamId) {
        self.real.clear(now, id);
        self.model(now, |model| model.clear(now, id));
    }

    pub fn switch_off(&mut self, now: Moment, id: UpstreamId) {
        self.real.switch_off(now, id);
        self.model(now, |model| model.switch_off(now, id));
    }

    pub fn switch_on(&mut self, now: Moment, id: UpstreamId) {
        self.real.switch_on(now, id);
        self.model(now, |model| model.switch_on(now, id));
    }

    pub fn set_crew(&mut self, now: Moment, base: u32, max: u32) {
        self.real.set_crew(now, base, max);
        self.model(now, |model| model.set_crew(now, base, max));
    }

    pub fn hold(&mut self, now: Moment, held: bool) {
        self.real.hold(now, held);
        self.model(now, |model| model.hold(now, held));
    }

    pub fn shutdown(&mut self, now: Moment) {
        self.real.shutdown(now);
        self.model(now, |model| model.shutdown(now));
    }

    pub fn next_wait(
        &self,
        now: Moment,
        id: UpstreamId,
        class: Class,
        budget: Budget,
    ) -> (Duration, Option<Wait>) {
        let wait = self.real.next_wait(now, id, class, budget);
        if let Some(model) = &self.model {
            assert_eq!(wait, model.next_wait(now, id, class, budget));
        }
        wait
    }

    /// Lets happen what time alone brings.
    pub fn pass(&mut self, now: Moment) {
        self.compare(now);
    }

    /// The jobs that ended since the last call.
    pub fn take_ended(&mut self) -> Vec<(JobId, End)> {
        std::mem::take(&mut self.ended)
    }

    /// Calls under way are cut off and stay counted, queued jobs are lost; rows and agenda are kept. Upstreams that are
    /// present are numbered anew in their order. Gives the jobs of the agenda under their new ids, soonest first.
    pub fn restart(&mut self, now: Moment) -> Vec<JobId> {
        let mut new = match &self.model {
            Some(old) => Self {
                model: Some(Model::restore(
                    self.policy.clone(),
                    old.rows(),
                    old.agenda(),
                    now,
                )),
                ..Self::alone(self.policy.clone(), now)
            },
            None => Self::alone(self.policy.clone(), now),
        };
        let mut renumbered = HashMap::new();
        for old in (0..self.upstreams).map(UpstreamId) {
            let Some(row) = self.real.row(old) else {
                continue;
            };
            let quota = self.real.quota(old).expect("it has a row").clone();
            let id = new.real.add_upstream(now, quota);
            new.real.restore(now, id, &row);
            new.upstreams += 1;
            renumbered.insert(old, id);
        }
        let kept: Vec<SavedJob> = self.real.agenda_rows().collect();
        let agenda = (1..).map(JobId).zip(kept).map(|(model_id, row)| {
            let job = Job {
                upstream: renumbered[&row.upstream],
                class: row.class,
                not_before: row.due,
                attempts_made: row.attempts_made,
                ..self.jobs[&row.job]
            };
            let Admission::Scheduled(id) = new.real.reschedule(now, job) else {
                panic!("{job:?} has its place on the agenda");
            };
            new.ids.insert(id, model_id);
            new.jobs.insert(id, job);
            id
        });
        let agenda = agenda.collect();
        *self = new;
        self.compare(now);
        agenda
    }

    fn model(&mut self, now: Moment, act: impl FnOnce(&mut Model)) {
        self.model.as_mut().map(act);
        self.compare(now);
    }

    /// All that can be seen of both agrees, when what is due now has happened.
    fn compare(&mut self, now: Moment) {
        let status = self.real.status(now);
        let ended = self.real.take_ended();
        for (id, _) in &ended {
            assert!(self.told.insert(*id), "{id:?} ended twice");
        }
        if let Some(model) = &mut self.model {
            model.pass(now);
            let ids = &self.ids;
            let mut real: Vec<(JobId, End)> =
                ended.iter().map(|(id, end)| (ids[id], *end)).collect();
            let mut expected = model.take_ended();
            // Rule 19: within one operation their order is not promised.
            real.sort_by_key(|&(id, _)| id);
            expected.sort_by_key(|&(id, _)| id);
            assert_eq!(real, expected, "ends at {now:?}");

            // Some tests take them.
            let decisions = self.real.decisions();
            let new = &decisions[self.compared.min(decisions.len())..];
            self.compared = decisions.len();
            let about_ends = new.iter().filter(|one| {
                matches!(
                    one.what,
                    What::Skipped(_) | What::Dropped { .. } | What::PutOff { .. }
                )
            });
            let told = about_ends.map(|one| {
                let job = one.job.map(|id| ids[&id]);
                (one.upstream, job, one.at, one.what)
            });
            let mut told: Vec<Told> = told.collect();
            let mut expected = model.take_told();
            told.sort_by_key(|&(_, job, at, _)| (job, at));
            expected.sort_by_key(|&(_, job, at, _)| (job, at));
            assert_eq!(told, expected, "records at {now:?}");

            assert_eq!(
                (
                    status.queued as usize,
                    status.scheduled as usize,
                    status.busy as usize,
                    status.waiting as usize,
                    status.crew,
                ),
                (
                    model.queued(),
                    model.scheduled(),
                    model.running(),
                    model.waiting(),
                    model.crew(),
                ),
                "queued, scheduled, busy, waiting, crew at {now:?}"
            );
            for id in (0..self.upstreams).map(UpstreamId) {
                let Some(up) = self.real.upstream(now, id) else {
                    assert_eq!(model.seen(now, id), None);
                    continue;
                };
                // The look at one upstream says what the whole agenda says of it.
                let (count, next) = self.real.agenda_of(now, id, 3);
                let rows = self.real.agenda_rows();
                let its: Vec<SavedJob> = rows.filter(|row| row.upstream == id).collect();
                assert_eq!(count, its.len(), "on the agenda of {id:?} at {now:?}");
                assert!(next.iter().eq(its.iter().take(3)), "{next:?}, not {its:?}");
                let real = Some((up.state, up.rung, up.failures, up.slow));
                assert_eq!(real, model.seen(now, id), "{id:?} at {now:?}");
                assert_eq!(
                    (up.in_flight as usize, up.last_start),
                    (model.in_flight(id), model.last_start(id)),
                    "in flight and spacing clock of {id:?} at {now:?}"
                );
                for (class, budget) in [(0, Budget::Query), (3, Budget::Query), (0, Budget::Grab)] {
                    assert_eq!(
                        self.real.next_wait(now, id, Class(class), budget),
                        model.next_wait(now, id, Class(class), budget),
                        "next wait of {class} and {budget:?} at {now:?}"
                    );
                }
                for (budget, uses) in [(Budget::Query, up.query), (Budget::Grab, up.grab)] {
                    let uses = uses.into_iter();
                    let uses: Vec<_> = uses
                        .map(|one| (one.window, u64::from(one.used), one.limit))
                        .collect();
                    let expected = model.uses(now, id, budget);
                    assert_eq!(uses, expected, "{budget:?} windows of {id:?} at {now:?}");
                }
            }
        }
        self.ended.extend(ended);
    }
}
