//! The reference model of the dispatcher: plain lists and full scans, obviously right and slow. It obeys the rules of
//! `weir_dispatch::rules`, written from the design and not from the dispatcher's code; tests drive both side by side.
#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    missing_docs,
    reason = "included by several test targets, each of which uses a part"
)]

mod allowance;
mod asking;
mod choice;
mod clock;
mod entry;
mod restart;

use std::collections::BTreeMap;
use std::time::Duration;

use weir_dispatch::job::{
    Admission, After, Availability, DropReason, End, Finish, Job, JobId, Next, Start, UpstreamId,
    Wait,
};
use weir_dispatch::moment::Moment;
use weir_dispatch::policy::{Budget, Class, ClassPolicy, Policy, Quota, Usage, Window};
use weir_dispatch::record::What;

use allowance::{Call, Upstream};
pub use allowance::{Cooldown, CooldownKind, Counter};
pub use restart::{Planned, Row};

/// The dispatcher as a list of jobs and a list of upstreams.
#[derive(Clone, Debug)]
pub struct Model {
    policy: Policy,
    /// The moment of `new`, from which the crew's steps are counted.
    began: Moment,
    now: Moment,
    upstreams: Vec<Upstream>,
    /// Every job that has not ended.
    jobs: Vec<Held>,
    /// Jobs that left their queues for another node's call, with the places that they had.
    deferred: BTreeMap<JobId, (u64, Moment)>,
    crew: u32,
    /// The last start of each class on this front.
    class_starts: Vec<Option<Moment>>,
    paused_until: Moment,
    held: bool,
    shut: bool,
    last_id: u64,
    last_number: u64,
    last_turn: u64,
    ended: Vec<(JobId, End)>,
    told: Vec<Told>,
}

/// A record that says what became of a job: skipped, dropped or put off. The job is named if it was taken in.
pub type Told = (UpstreamId, Option<JobId>, Moment, What);

/// A job that has not ended.
#[derive(Clone, Debug)]
struct Held {
    id: JobId,
    job: Job,
    /// Its class now; that of `job` is the one it was submitted with.
    class: Class,
    /// Attempts used up.
    made: u8,
    place: Place,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Queued {
        number: u64,
        since: Moment,
    },
    /// Out of its queue, with the gap that it asked with.
    Asking {
        number: u64,
        since: Moment,
        gap: Duration,
    },
    Scheduled {
        due: Moment,
    },
    Running {
        call: Call,
        turn: u64,
        worker: bool,
    },
}

impl Held {
    fn number(&self) -> u64 {
        match self.place {
            Place::Queued { number, .. } => number,
            _ => u64::MAX,
        }
    }

    fn since(&self) -> Moment {
        match self.place {
            Place::Queued { since, .. } => since,
            _ => Moment::NEVER,
        }
    }
}

impl Model {
    pub fn new(mut policy: Policy, now: Moment) -> Self {
        policy.crew.max = policy.crew.max.max(policy.crew.base);
        Self {
            began: now,
            now,
            upstreams: Vec::new(),
            jobs: Vec::new(),
            deferred: BTreeMap::new(),
            crew: policy.crew.base,
            class_starts: vec![None; policy.classes.len()],
            paused_until: now,
            held: false,
            shut: false,
            last_id: 0,
            last_number: 0,
            last_turn: 0,
            ended: Vec::new(),
            told: Vec::new(),
            policy,
        }
    }

    // Upstreams.

    pub fn add_upstream(&mut self, now: Moment, quota: Quota) -> UpstreamId {
        self.advance(now);
        self.upstreams.push(Upstream::new(quota));
        UpstreamId(self.upstreams.len() as u32 - 1)
    }

    pub fn remove_upstream(&mut self, now: Moment, id: UpstreamId) {
        self.advance(now);
        self.end_all(End::Dropped(DropReason::Gone), |held| {
            held.job.upstream == id
        });
        if let Some(upstream) = self.upstream_mut(id) {
            upstream.gone = true;
        }
    }

    pub fn set_quota(&mut self, now: Moment, id: UpstreamId, quota: Quota) {
        self.advance(now);
        self.recall(id);
        if let Some(upstream) = self.upstream_mut(id) {
            upstream.set_quota(quota);
        }
        self.skip_heads();
    }

    pub fn observe(&mut self, now: Moment, id: UpstreamId, usage: Usage) {
        self.advance(now);
        let now = self.now;
        if let Some(upstream) = self.upstream_mut(id) {
            upstream.observe(now, usage);
        }
        self.skip_heads();
    }

    /// Ends a cooldown; the upstream is open and nothing is held against it.
    pub fn clear(&mut self, now: Moment, id: UpstreamId) {
        self.advance(now);
        if let Some(upstream) = self.upstream_mut(id) {
            upstream.clear();
            upstream.forget_all_told();
            upstream.held_windows.clear();
        }
    }

    pub fn switch_off(&mut self, now: Moment, id: UpstreamId) {
        self.advance(now);
        let Some(upstream) = self.upstream_mut(id) else {
            return;
        };
        upstream.off = true;
        self.judge_queued(id);
    }

    pub fn switch_on(&mut self, now: Moment, id: UpstreamId) {
        self.advance(now);
        if let Some(upstream) = self.upstream_mut(id) {
            upstream.off = false;
        }
        self.skip_heads();
    }

    // The front.

    /// Lets happen what time alone brings.
    pub fn pass(&mut self, now: Moment) {
        self.advance(now);
    }

    pub fn set_crew(&mut self, now: Moment, base: u32, max: u32) {
        self.advance(now);
        self.policy.crew.base = base;
        self.policy.crew.max = max.max(base);
        self.crew = self.crew.clamp(base, max.max(base));
    }

    /// While held nothing starts.
    pub fn hold(&mut self, now: Moment, held: bool) {
        self.advance(now);
        self.held = held;
    }

    pub fn shutdown(&mut self, now: Moment) {
        self.advance(now);
        self.shut = true;
        self.end_all(End::Shutdown, |_| true);
    }

    // Jobs.

    pub fn submit(&mut self, now: Moment, job: Job) -> Admission {
        self.advance(now);
        self.enter(job)
    }

    pub fn cancel(&mut self, now: Moment, id: JobId) -> bool {
        self.advance(now);
        match self.held(id).map(|held| held.place) {
            Some(Place::Queued { .. } | Place::Asking { .. } | Place::Scheduled { .. }) => {
                self.end(id, End::Cancelled);
                self.skip_heads();
                true
            }
            Some(Place::Running { .. }) | None => false,
        }
    }

    pub fn raise(&mut self, now: Moment, id: JobId, class: Class) -> bool {
        self.advance(now);
        let Some(held) = self.jobs.iter_mut().find(|held| held.id == id) else {
            return false;
        };
        if matches!(held.place, Place::Running { .. }) || class >= held.class {
            return false;
        }
        held.class = class;
        self.skip_heads();
        true
    }

    // Calls.

    pub fn next(&mut self, now: Moment) -> Next {
        self.advance(now);
        match self.pick() {
            Some(id) if self.has_to_ask(self.held(id).expect("picked")) => Next::Ask(self.ask(id)),
            Some(id) => Next::Start(self.start(id)),
            None => self.wake().map_or(Next::Idle, Next::Wait),
        }
    }

    fn start(&mut self, id: JobId) -> Start {
        let now = self.now;
        let held = self.held(id).expect("picked").clone();
        let may_wait = self.may_wait();
        let upstream = self.upstream_mut(held.job.upstream).expect("picked");
        upstream.count_start(now, held.class, held.job.budget);
        let call = Call {
            started: now,
            cooldowns: upstream.cooldowns,
            trial: held.job.probe || held.job.trial,
        };
        let worker = !(upstream.slow && may_wait);
        self.class_starts[usize::from(held.class.0)] = Some(now);
        self.last_turn += 1;
        let turn = self.last_turn;
        self.deferred.remove(&id);
        self.place(id, Place::Running { call, turn, worker });
        self.skip_heads();
        Start {
            job: id,
            upstream: held.job.upstream,
            class: held.class,
            budget: held.job.budget,
            attempt: held.made.saturating_add(1),
            asker: held.job.asker,
            since: held.since(),
            // It keeps no waits.
            reason: None,
            decided: 0,
        }
    }

    pub fn finish(&mut self, now: Moment, id: JobId, finish: Finish, jitter: u16) -> After {
        self.advance(now);
        let now = self.now;
        let Some(index) = self.jobs.iter().position(|held| held.id == id) else {
            return After::Ended;
        };
        let Place::Running { call, .. } = self.jobs[index].place else {
            return After::Ended;
        };
        if !matches!(finish, Finish::Again { .. }) {
            self.jobs[index].made = self.jobs[index].made.saturating_add(1);
        }
        let held = self.jobs[index].clone();
        if let Finish::OurNetwork { pause } = finish {
            self.paused_until = self.paused_until.max(now + pause);
        }

        let wish = self.wish(&held, call, finish, jitter);
        let rules = self.policy.failure.clone();
        let cooldown_began = self
            .upstream_mut(held.job.upstream)
            .is_some_and(|upstream| upstream.judge(now, &rules, call, finish, wish.is_none()));
        let early = now < call.started + self.policy.crew.slot_time;
        if let Some(upstream) = self.upstream_mut(held.job.upstream)
            && early
        {
            upstream.slow = false;
        }

        let after = match wish {
            None => Err(End::Finished(finish)),
            Some(_) if self.upstream(held.job.upstream).is_none() => {
                Err(End::Dropped(DropReason::Gone))
            }
            Some(_) if self.shut => Err(End::Shutdown),
            Some(wait) => match self.agenda_refusal(&held.job) {
                Some(reason) => Err(End::Dropped(reason)),
                None => Ok(now + wait),
            },
        };
        match after {
            Ok(due) => {
                let class = self.policy.again_class.unwrap_or(held.class);
                self.jobs[index].class = self.real_class(class);
                self.place(id, Place::Scheduled { due });
            }
            Err(end) => self.end(id, end),
        }
        if cooldown_began {
            self.judge_queued(held.job.upstream);
        }
        self.give_back();
        self.skip_heads();
        after.map_or(After::Ended, After::Scheduled)
    }

    pub fn take_ended(&mut self) -> Vec<(JobId, End)> {
        std::mem::take(&mut self.ended)
    }

    /// The records since the last call that say what became of jobs.
    pub fn take_told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }

    // What can be seen.

    /// Jobs in the queue, those that stand aside included.
    pub fn queued(&self) -> usize {
        self.all_queued().count()
    }

    /// Jobs on the agenda.
    pub fn scheduled(&self) -> usize {
        let on_agenda = |held: &&Held| matches!(held.place, Place::Scheduled { .. });
        self.jobs.iter().filter(on_agenda).count()
    }

    /// Calls that hold a worker, and jobs that ask.
    pub fn running(&self) -> usize {
        let busy = |held: &&Held| {
            matches!(
                held.place,
                Place::Running { worker: true, .. } | Place::Asking { .. }
            )
        };
        self.jobs.iter().filter(busy).count()
    }

    /// Calls that hold no worker: they gave it back, or their upstream was slow when they started.
    pub fn waiting(&self) -> usize {
        let waits = |held: &&Held| matches!(held.place, Place::Running { worker: false, .. });
        self.jobs.iter().filter(waits).count()
    }

    /// Whether one more call may hold no worker.
    fn may_wait(&self) -> bool {
        self.waiting() < self.policy.crew.waiting_max as usize
    }

    /// The size of the crew now.
    pub fn crew(&self) -> u32 {
        self.crew
    }

    /// Availability, rung, failures in a row and slowness of an upstream that is present.
    pub fn seen(&self, now: Moment, id: UpstreamId) -> Option<(Availability, u8, u32, bool)> {
        let upstream = self.upstream(id)?;
        let state = upstream.state(now.max(self.now));
        Some((state, upstream.rung, upstream.failures, upstream.slow))
    }

    /// The limited windows of a budget, shortest first, with what is used and what is allowed.
    pub fn uses(&self, now: Moment, id: UpstreamId, budget: Budget) -> Vec<(Window, u64, u32)> {
        self.upstream(id)
            .map_or_else(Vec::new, |up| up.uses(now.max(self.now), budget))
    }

    /// How long until a job of this class and budget could start there, and what for.
    pub fn next_wait(
        &self,
        now: Moment,
        id: UpstreamId,
        class: Class,
        budget: Budget,
    ) -> (Duration, Option<Wait>) {
        let now = now.max(self.now);
        match self.upstream(id) {
            Some(upstream) => upstream.next_wait(now, self.gap(id, class), budget),
            None => (now.until(Moment::NEVER), Some(Wait::Off)),
        }
    }

    // Small steps.

    fn wait_of(&self, job: &Job, class: Class) -> (Duration, Option<Wait>) {
        if job.probe {
            return (Duration::ZERO, None);
        }
        self.next_wait(self.now, job.upstream, class, job.budget)
    }

    /// Judges all queued jobs of an upstream that began to cool down or was switched off.
    fn judge_queued(&mut self, id: UpstreamId) {
        self.recall(id);
        let mut skipped = Vec::new();
        for held in self.queued_at(id) {
            if let Some(skip) = self.refusal(&held.job, held.class) {
                skipped.push((held.id, skip));
            }
        }
        for (job, skip) in skipped {
            self.end(job, End::Skipped(skip));
        }
    }

    /// Ends all queued and scheduled jobs of which this holds.
    fn end_all(&mut self, end: End, which: impl Fn(&Held) -> bool) {
        let ids: Vec<JobId> = self
            .jobs
            .iter()
            .filter(|held| !matches!(held.place, Place::Running { .. }) && which(held))
            .map(|held| held.id)
            .collect();
        for id in ids {
            self.end(id, end);
        }
    }

    fn end(&mut self, id: JobId, end: End) {
        let upstream = self.held(id).expect("it has not ended").job.upstream;
        self.tell(upstream, Some(id), end);
        self.jobs.retain(|held| held.id != id);
        self.ended.push((id, end));
    }

    /// Leaves the record of an end that is a skip or a drop.
    fn tell(&mut self, upstream: UpstreamId, id: Option<JobId>, end: End) {
        let what = match end {
            End::Skipped(skip) => What::Skipped(skip),
            End::Dropped(reason) => What::Dropped {
                reason,
                limit: self.limit_of(reason),
            },
            End::Finished(_) | End::Cancelled | End::Answered | End::Shutdown => return,
        };
        self.told.push((upstream, id, self.now, what));
    }

    /// Leaves the record of a job that is put off.
    fn tell_put_off(&mut self, upstream: UpstreamId, id: JobId, due: Moment, reason: DropReason) {
        let limit = self.limit_of(reason);
        let what = What::PutOff { due, reason, limit };
        self.told.push((upstream, Some(id), self.now, what));
    }

    fn keep(&mut self, job: Job, place: Place) -> JobId {
        self.last_id += 1;
        let id = JobId(self.last_id);
        self.jobs.push(Held {
            id,
            job,
            class: job.class,
            made: job.attempts_made,
            place,
        });
        id
    }

    /// A place at the end of the queue.
    fn queue_place(&mut self) -> Place {
        self.last_number += 1;
        Place::Queued {
            number: self.last_number,
            since: self.now,
        }
    }

    fn place(&mut self, id: JobId, place: Place) {
        if let Some(held) = self.jobs.iter_mut().find(|held| held.id == id) {
            held.place = place;
        }
    }

    fn held(&self, id: JobId) -> Option<&Held> {
        self.jobs.iter().find(|held| held.id == id)
    }

    fn all_queued(&self) -> impl Iterator<Item = &Held> {
        self.jobs
            .iter()
            .filter(|held| matches!(held.place, Place::Queued { .. }))
    }

    fn queued_at(&self, id: UpstreamId) -> impl Iterator<Item = &Held> {
        self.all_queued()
            .filter(move |held| held.job.upstream == id)
    }

    /// Calls of an upstream that have started and not finished, and jobs that ask.
    fn under_way(&self, id: UpstreamId) -> usize {
        self.jobs
            .iter()
            .filter(|held| held.job.upstream == id)
            .filter(|held| matches!(held.place, Place::Running { .. } | Place::Asking { .. }))
            .count()
    }

    fn upstream(&self, id: UpstreamId) -> Option<&Upstream> {
        self.upstreams
            .get(id.0 as usize)
            .filter(|upstream| !upstream.gone)
    }

    fn upstream_mut(&mut self, id: UpstreamId) -> Option<&mut Upstream> {
        self.upstreams
            .get_mut(id.0 as usize)
            .filter(|upstream| !upstream.gone)
    }

    /// The upstreams that are present.
    fn upstream_ids(&self) -> Vec<UpstreamId> {
        (0..self.upstreams.len() as u32)
            .map(UpstreamId)
            .filter(|&id| self.upstream(id).is_some())
            .collect()
    }

    fn classes(&self) -> impl Iterator<Item = Class> + use<> {
        (0..self.policy.classes.len() as u8).map(Class)
    }

    fn class_policy(&self, class: Class) -> &ClassPolicy {
        &self.policy.classes[usize::from(self.real_class(class).0)]
    }

    fn real_class(&self, class: Class) -> Class {
        Class(class.0.min(self.policy.classes.len() as u8 - 1))
    }
}
