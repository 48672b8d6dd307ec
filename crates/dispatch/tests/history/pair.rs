//! The dispatcher and the reference model, driven by the same history and compared after each step.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU64;
use std::time::Duration;

use weir_dispatch::policy::{ClassPolicy, CrewPolicy, FailurePolicy, OnRest, Overflow};
use weir_dispatch::*;

use crate::reference::Model;

/// One thing that happens. Numbers are taken modulo what there is.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Submit(Ask),
    /// Many at once.
    Burst(Vec<Ask>),
    Cancel(u16),
    Raise(u16, u8),
    Finish(u16, Finish, u16),
    /// Time passes; `true` stops at each moment at which the dispatcher wants to be woken.
    Pass(Duration, bool),
    SetQuota(u8, Quota),
    Observe(u8, Usage),
    SetCrew(u32, u32),
    Clear(u8),
    SwitchOff(u8),
    SwitchOn(u8),
    Hold(bool),
    Add(Quota),
    Remove(u8),
    Restart,
}

/// A job to submit.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) upstream: u8,
    pub(crate) class: u8,
    pub(crate) budget: Budget,
    pub(crate) delay: Duration,
    pub(crate) max_wait: Option<Duration>,
    pub(crate) pending: Option<u8>,
    pub(crate) scheduled: Option<u8>,
    pub(crate) order: Option<u8>,
    pub(crate) probe: bool,
}

pub(crate) struct Pair {
    policy: Policy,
    pub(crate) real: Dispatcher,
    model: Model,
    pub(crate) now: Moment,
    upstreams: Vec<UpstreamId>,
    /// Model ids by real ids of jobs that have not ended, and the other way.
    to_model: HashMap<JobId, JobId>,
    alive: Vec<JobId>,
    running: Vec<(JobId, u32)>,
    quotas: Vec<Quota>,
    /// What was submitted, by real id.
    jobs: HashMap<JobId, Job>,
    /// Start times that count in windows, by upstream and whether they are grabs.
    starts: HashMap<(u32, bool), Vec<Moment>>,
    /// Model ids of jobs that ended.
    ended: HashSet<JobId>,
    crew: u32,
    pub(crate) seen: Seen,
}

/// How often the interesting things happened, so that a generator that no longer brings them about is
/// noticed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) starts: u32,
    /// Starts that another class of the same upstream, more urgent, had to wait for.
    pub(crate) aged: u32,
    pub(crate) retries: u32,
    pub(crate) rests: u32,
    pub(crate) probing: u32,
    pub(crate) skips: u32,
    pub(crate) skips_in_line: u32,
    pub(crate) drops: u32,
    pub(crate) duplicates: u32,
    pub(crate) aside: u32,
    pub(crate) given_back: u32,
    pub(crate) put_off: u32,
    pub(crate) raises: u32,
    pub(crate) cancels: u32,
    pub(crate) windows: u32,
    pub(crate) crew_steps: u32,
    pub(crate) restarts: u32,
}

impl Seen {
    /// Every count with its name.
    pub(crate) fn all(&self) -> [(&'static str, u32); 17] {
        [
            ("starts", self.starts),
            ("aged", self.aged),
            ("retries", self.retries),
            ("rests", self.rests),
            ("probing", self.probing),
            ("skips", self.skips),
            ("skips in line", self.skips_in_line),
            ("drops", self.drops),
            ("duplicates", self.duplicates),
            ("aside", self.aside),
            ("given back", self.given_back),
            ("put off", self.put_off),
            ("raises", self.raises),
            ("cancels", self.cancels),
            ("windows", self.windows),
            ("crew steps", self.crew_steps),
            ("restarts", self.restarts),
        ]
    }
}

pub(crate) fn policy(kind: u8) -> Policy {
    let class = |gap_permille, max_wait: Option<u64>, on_rest, overflow| ClassPolicy {
        gap_permille,
        max_wait: max_wait.map(Duration::from_secs),
        on_rest,
        overflow,
    };
    let crew = CrewPolicy {
        base: 2,
        max: 4,
        grow_at: 60,
        shrink_below: 40,
        step: Duration::from_secs(1),
        slot_time: Duration::from_secs(1),
        waiting_max: 3,
    };
    let ladder = [60, 300, 900, 1800].map(Duration::from_secs).to_vec();
    let search = Policy {
        classes: vec![
            class(100, None, OnRest::Hold, Overflow::Drop),
            class(500, Some(15), OnRest::Hold, Overflow::Drop),
            class(700, None, OnRest::Hold, Overflow::Drop),
            class(1000, Some(60), OnRest::Hold, Overflow::Drop),
        ],
        capacity: 20,
        agenda_capacity: 10,
        backlog_floor: 5,
        aging: Duration::from_secs(10),
        put_off: Duration::from_secs(10),
        crew,
        failure: FailurePolicy {
            ladder,
            threshold: 1,
            threshold_disables: false,
            throttled: None,
            longest: Duration::from_secs(24 * 60 * 60),
        },
        again_class: None,
        attempts: 1,
        retry_base: Duration::from_millis(500),
        records: 8,
    };
    if kind == 0 {
        return search;
    }
    Policy {
        classes: vec![
            class(1000, None, OnRest::End, Overflow::Agenda),
            class(1000, None, OnRest::End, Overflow::Drop),
            class(1000, None, OnRest::End, Overflow::Drop),
            class(1000, None, OnRest::End, Overflow::Drop),
        ],
        failure: FailurePolicy {
            threshold: 3,
            threshold_disables: true,
            throttled: Some(Duration::from_secs(300)),
            ..search.failure.clone()
        },
        again_class: Some(Class(3)),
        attempts: 3,
        ..search
    }
}

impl Pair {
    pub(crate) fn new(policy: Policy, quotas: &[Quota]) -> Self {
        let now = Moment(1_000_000_000_000_000);
        let mut pair = Self {
            real: Dispatcher::new(policy.clone(), now),
            model: Model::new(policy.clone(), now),
            policy,
            now,
            upstreams: Vec::new(),
            to_model: HashMap::new(),
            alive: Vec::new(),
            running: Vec::new(),
            quotas: Vec::new(),
            jobs: HashMap::new(),
            starts: HashMap::new(),
            ended: HashSet::new(),
            crew: 2,
            seen: Seen::default(),
        };
        for quota in quotas {
            pair.apply(&Op::Add(quota.clone()));
        }
        pair
    }

    /// Lets one thing happen to both and compares all that can be seen.
    pub(crate) fn apply(&mut self, op: &Op) {
        let now = self.now;
        match op {
            Op::Submit(ask) => self.submit(ask),
            Op::Burst(asks) => asks.iter().for_each(|ask| self.submit(ask)),
            Op::Cancel(at) => {
                if let Some(id) = pick(&self.alive, *at) {
                    let cancelled = self.real.cancel(now, id);
                    assert_eq!(cancelled, self.model.cancel(now, self.to_model[&id]));
                    self.seen.cancels += u32::from(cancelled);
                }
            }
            Op::Raise(at, class) => {
                if let Some(id) = pick(&self.alive, *at) {
                    let class = Class(class % 4);
                    let raised = self.real.raise(now, id, class);
                    assert_eq!(raised, self.model.raise(now, self.to_model[&id], class));
                    self.seen.raises += u32::from(raised);
                }
            }
            Op::Finish(at, finish, jitter) => {
                if !self.running.is_empty() {
                    let (id, _) = self.running.remove(usize::from(*at) % self.running.len());
                    let real = self.real.finish(now, id, *finish, *jitter);
                    let model = self.model.finish(now, self.to_model[&id], *finish, *jitter);
                    assert_eq!(real, model, "after {finish:?}");
                    self.seen.retries += u32::from(matches!(real, After::Scheduled(_)));
                }
            }
            Op::Pass(span, stop) => return self.pass(*span, *stop),
            Op::SetQuota(at, quota) => {
                if let Some(id) = pick(&self.upstreams, u16::from(*at)) {
                    self.real.set_quota(now, id, quota.clone());
                    self.model.set_quota(now, id, quota.clone());
                    // What started under the old quota is not held against the new one.
                    self.quotas[id.0 as usize] = unlimited(quota.in_flight);
                }
            }
            Op::Observe(at, usage) => {
                if let Some(id) = pick(&self.upstreams, u16::from(*at)) {
                    self.real.observe(now, id, *usage);
                    self.model.observe(now, id, *usage);
                }
            }
            Op::SetCrew(base, more) => {
                self.real.set_crew(now, *base, base + more);
                self.model.set_crew(now, *base, base + more);
            }
            Op::Clear(at) => self.operate(*at, Dispatcher::clear, Model::clear),
            Op::SwitchOff(at) => self.operate(*at, Dispatcher::switch_off, Model::switch_off),
            Op::SwitchOn(at) => self.operate(*at, Dispatcher::switch_on, Model::switch_on),
            Op::Hold(held) => {
                self.real.hold(now, *held);
                self.model.hold(now, *held);
            }
            Op::Add(quota) => {
                let id = self.real.add_upstream(now, quota.clone());
                assert_eq!(id, self.model.add_upstream(now, quota.clone()));
                self.upstreams.push(id);
                self.quotas.push(quota.clone());
            }
            Op::Remove(at) => {
                if self.upstreams.len() > 1 {
                    let id = self
                        .upstreams
                        .remove(usize::from(*at) % self.upstreams.len());
                    self.real.remove_upstream(now, id);
                    self.model.remove_upstream(now, id);
                }
            }
            Op::Restart => {
                self.seen.restarts += 1;
                self.restart();
            }
        }
        self.run();
    }

    fn submit(&mut self, ask: &Ask) {
        let job = self.job(ask);
        let real = self.real.submit(self.now, job);
        let model = self.model.submit(self.now, job);
        self.compare_entry(job, real, model);
    }

    fn pass(&mut self, span: Duration, stop: bool) {
        let target = self.now + span;
        if stop {
            for _ in 0..1000 {
                let Next::Wait(at) = self.real.next(self.now) else {
                    break;
                };
                if at > target {
                    break;
                }
                assert!(
                    at > self.now,
                    "wants to be woken at {at:?}, which is not after {:?}",
                    self.now
                );
                self.now = at;
                self.run();
            }
        }
        self.now = target;
        self.run();
    }

    /// Starts what can start on both sides and compares.
    fn run(&mut self) {
        loop {
            let real = self.real.next(self.now);
            let model = self.model.next(self.now);
            let (Next::Start(start), Next::Start(expected)) = (real, model) else {
                assert!(
                    !matches!(real, Next::Start(_)) && !matches!(model, Next::Start(_)),
                    "dispatcher says {real:?}, model says {model:?} at {:?}",
                    self.now,
                );
                break;
            };
            let mapped = Start {
                job: self.to_model[&start.job],
                ..start
            };
            assert_eq!(mapped, expected, "at {:?}", self.now);
            self.running.push((start.job, start.upstream.0));
            self.count_start(start);
            self.check_start(start);
        }
        self.compare();
    }

    fn compare(&mut self) {
        let mut real: Vec<(JobId, End)> = self
            .real
            .take_ended()
            .into_iter()
            .map(|(id, end)| (self.to_model[&id], end))
            .collect();
        let mut model = self.model.take_ended();
        real.sort_by_key(|&(id, _)| id);
        model.sort_by_key(|&(id, _)| id);
        assert_eq!(real, model, "ends at {:?}", self.now);
        for (id, end) in &real {
            assert!(self.ended.insert(*id), "job {id:?} ended twice");
            self.seen.skips_in_line += u32::from(matches!(end, End::Skipped(_)));
        }
        let ended: Vec<JobId> = real.into_iter().map(|(id, _)| id).collect();
        let to_model = &self.to_model;
        self.alive.retain(|id| !ended.contains(&to_model[id]));
        self.running
            .retain(|(id, _)| !ended.contains(&to_model[id]));
        let status = self.real.status(self.now);
        self.count_waits(status);
        let seen = (
            status.queued,
            status.scheduled,
            status.busy,
            status.waiting,
            status.crew,
        );
        let expected = (
            self.model.queued() as u32,
            self.model.scheduled() as u32,
            self.model.running() as u32,
            self.model.waiting() as u32,
            self.model.crew(),
        );
        assert_eq!(
            seen, expected,
            "queued, scheduled, running, waiting, crew at {:?}",
            self.now
        );
        for &id in &self.upstreams {
            assert_eq!(
                self.real.state(self.now, id),
                Some(self.model.state(self.now, id)),
                "state of {id:?}"
            );
            assert_eq!(
                self.real.upstream(self.now, id).map(|up| up.rung),
                Some(self.model.rung(id))
            );
        }
    }

    /// The dispatcher must not sleep past a moment at which something would start.
    pub(crate) fn check_wake(&mut self) {
        if let Some(earliest) = self.model.earliest_start(self.now) {
            match self.real.next(self.now) {
                Next::Wait(at) => assert!(
                    at <= earliest,
                    "sleeps until {at:?}, a job could start at {earliest:?}"
                ),
                other => panic!("{other:?}, but a job could start at {earliest:?}"),
            }
        }
    }

    /// Ends everything and checks that each job that was taken in has ended once.
    pub(crate) fn finish_all(&mut self) {
        self.real.shutdown(self.now);
        self.model.shutdown(self.now);
        self.run();
        for _ in 0..self.running.len() {
            self.apply(&Op::Finish(0, Finish::Unavailable, 0));
        }
        assert!(
            self.alive.is_empty(),
            "jobs that never ended: {:?}",
            self.alive
        );
        let status = self.real.status(self.now);
        assert_eq!(
            (status.queued, status.scheduled, status.busy, status.waiting),
            (0, 0, 0, 0)
        );
    }

    /// Calls under way are cut off and stay counted, queued jobs are lost; rows and agenda are kept.
    fn restart(&mut self) {
        let now = self.now;
        self.model = Model::restore(
            self.policy.clone(),
            self.model.rows(),
            self.model.agenda(),
            now,
        );
        let agenda: Vec<Job> = self.real.agenda_rows().map(|row| self.kept(row)).collect();
        let old = std::mem::replace(&mut self.real, Dispatcher::new(self.policy.clone(), now));
        let upstreams = std::mem::take(&mut self.upstreams);
        let mut starts = HashMap::new();
        let mut quotas = Vec::new();
        for (position, id) in (0u32..).zip(upstreams) {
            let quota = old.quota(id).expect("it is present").clone();
            let new = self.real.add_upstream(now, quota);
            self.real
                .restore(now, new, &old.row(id).expect("it is present"));
            self.upstreams.push(new);
            quotas.push(self.quotas[id.0 as usize].clone());
            for grab in [false, true] {
                let times = self.starts.remove(&(id.0, grab)).unwrap_or_default();
                starts.insert((position, grab), times);
            }
        }
        self.quotas = quotas;
        self.starts = starts;
        self.to_model.clear();
        self.alive.clear();
        self.running.clear();
        self.ended.clear();
        self.jobs.clear();
        for (model_id, mut job) in (1..).map(JobId).zip(agenda) {
            let position = old_position(&old, job.upstream);
            job.upstream = self.upstreams[position];
            let Entry::Scheduled(id) = self.real.reschedule(now, job) else {
                panic!("a kept job has its place on the agenda");
            };
            self.to_model.insert(id, model_id);
            self.alive.push(id);
            self.jobs.insert(id, job);
        }
    }

    /// What was submitted, as it stands on the agenda now.
    fn kept(&self, row: AgendaRow) -> Job {
        Job {
            class: row.class,
            not_before: row.due,
            attempts_made: row.attempts_made,
            ..self.jobs[&row.job]
        }
    }

    fn operate(
        &mut self,
        at: u8,
        real: fn(&mut Dispatcher, Moment, UpstreamId),
        model: fn(&mut Model, Moment, UpstreamId),
    ) {
        if let Some(id) = pick(&self.upstreams, u16::from(at)) {
            real(&mut self.real, self.now, id);
            model(&mut self.model, self.now, id);
        }
    }

    fn compare_entry(&mut self, job: Job, real: Entry, model: Entry) {
        match (real, model) {
            (Entry::Queued(real), Entry::Queued(model))
            | (Entry::Scheduled(real), Entry::Scheduled(model)) => {
                self.to_model.insert(real, model);
                self.alive.push(real);
                self.jobs.insert(real, job);
            }
            (Entry::Duplicate(real), Entry::Duplicate(model)) => {
                assert_eq!(self.to_model[&real], model)
            }
            (real, model) => assert_eq!(real, model, "entry of {job:?}"),
        }
        match real {
            Entry::Duplicate(_) => self.seen.duplicates += 1,
            Entry::Ended(End::Skipped(_)) => self.seen.skips += 1,
            Entry::Ended(End::Dropped(_)) => self.seen.drops += 1,
            _ => {}
        }
    }

    /// What can be told of a start from outside.
    fn count_start(&mut self, start: Start) {
        self.seen.starts += 1;
        let more_urgent = self.alive.iter().any(|id| {
            let job = self.jobs[id];
            let waits = !self.running.iter().any(|(other, _)| other == id)
                && self.real.agenda_row(*id).is_none();
            waits && job.upstream == start.upstream && job.class < start.class
        });
        self.seen.aged += u32::from(more_urgent);
        let probing = self.real.state(self.now, start.upstream) == Some(State::Probing);
        self.seen.probing += u32::from(probing);
    }

    /// Whether a job waits for a call with its order key.
    fn count_waits(&mut self, status: Status) {
        self.seen.given_back += status.waiting;
        self.seen.crew_steps += u32::from(status.crew != self.crew);
        self.crew = status.crew;
        let mut calls = self.running.iter().map(|(id, _)| self.jobs[id].order);
        let orders: Vec<_> = calls.by_ref().flatten().collect();
        for id in &self.alive {
            let running = self.running.iter().any(|(other, _)| other == id);
            let order = self.jobs[id].order.filter(|key| orders.contains(key));
            self.seen.aside += u32::from(!running && order.is_some());
            let job = &self.jobs[id];
            let due = self.real.agenda_row(*id).map(|row| row.due);
            let put_off = due.is_some_and(|due| due > job.not_before + Duration::from_secs(9));
            self.seen.put_off += u32::from(put_off && job.not_before > Moment(0));
        }
        for &id in &self.upstreams {
            let up = self.real.upstream(self.now, id).expect("it is present");
            let resting = matches!(up.state, State::Cooldown { .. } | State::Disabled { .. });
            self.seen.rests += u32::from(resting && up.queued > 0);
            let used_up = up.query.iter().any(|window| window.next > self.now);
            self.seen.windows += u32::from(used_up && up.queued > 0);
        }
    }

    /// Never over any window, never more in flight than allowed, whatever the model says.
    fn check_start(&mut self, start: Start) {
        let quota = &self.quotas[start.upstream.0 as usize];
        let running = self
            .running
            .iter()
            .filter(|(_, up)| *up == start.upstream.0)
            .count();
        assert!(
            running <= quota.in_flight as usize,
            "{running} in flight at {:?}",
            start.upstream
        );
        let job = self.jobs[&start.job];
        assert!(job.not_before <= self.now, "started before its time");
        let grab = job.budget == Budget::Grab;
        let starts = self.starts.entry((start.upstream.0, grab)).or_default();
        starts.push(self.now);
        let windows = if grab { quota.grab } else { quota.query };
        for window in Window::ALL.into_iter().filter(|_| !job.probe) {
            let reset = windows.day_reset.filter(|_| window == Window::Day);
            if let (Some(limit), None) = (windows.limit(window), reset) {
                let now = self.now;
                let inside = starts
                    .iter()
                    .filter(|&&at| at + window.length() > now)
                    .count();
                assert!(
                    inside <= limit as usize,
                    "{inside} starts in a {window:?} of {limit}"
                );
            }
        }
    }

    fn job(&self, ask: &Ask) -> Job {
        let key = |kind: u64, key: Option<u8>| {
            key.and_then(|key| NonZeroU64::new(1 + u64::from(key) + 1000 * kind))
                .map(Key)
        };
        let upstream =
            pick(&self.upstreams, u16::from(ask.upstream)).expect("there is always an upstream");
        let of_upstream = |kind: u64, k: Option<u8>| key(kind + 10 * u64::from(upstream.0), k);
        Job {
            upstream,
            class: Class(ask.class % 4),
            budget: ask.budget,
            not_before: if ask.delay.is_zero() {
                Moment(0)
            } else {
                self.now + ask.delay
            },
            max_wait: ask.max_wait,
            pending: of_upstream(1, ask.pending),
            scheduled: of_upstream(2, ask.scheduled),
            order: of_upstream(3, ask.order),
            probe: ask.probe,
            asker: Asker(0),
            attempts_made: 0,
        }
    }
}

/// Which of the upstreams that are present this is.
fn old_position(old: &Dispatcher, id: UpstreamId) -> usize {
    (0..id.0)
        .filter(|&other| old.quota(UpstreamId(other)).is_some())
        .count()
}

fn unlimited(in_flight: u32) -> Quota {
    Quota {
        spacing: Duration::ZERO,
        in_flight,
        query: Windows::default(),
        grab: Windows::default(),
    }
}

fn pick<T: Copy>(all: &[T], at: u16) -> Option<T> {
    (!all.is_empty()).then(|| all[usize::from(at) % all.len()])
}
