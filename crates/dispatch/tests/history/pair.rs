//! One history, told to the dispatcher and the reference model together; `Both` compares them after each step. Watched
//! from outside besides: whatever the model says, no window is over its limit and no call comes too early.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::time::Duration;

use weir_dispatch::policy::{ClassPolicy, CrewPolicy, FailurePolicy, OnCooldown, Overflow};
use weir_dispatch::*;

use crate::both::Both;

/// One thing that happens. Numbers are taken modulo what there is.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Submit(Wanted),
    /// Many at once.
    Burst(Vec<Wanted>),
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
    /// Whether other nodes call an upstream too.
    Share(u8, bool),
    /// One of the jobs that asked, perhaps long ago, gets an answer.
    Answer(u16, Verdict),
    /// Another node was told to leave an upstream alone for so long.
    Throttle(u8, Duration),
    Add(Quota),
    Remove(u8),
    /// After a stop of so long.
    Restart(Duration),
}

/// An answer to a job that asked whether it may start.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict {
    Grant,
    Refuse {
        after: Duration,
        reason: Wait,
        full: Option<FullWindow>,
    },
    Defer(Duration),
    Answered,
    Nothing,
}

/// A job to submit.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) upstream: u8,
    pub(crate) class: u8,
    pub(crate) budget: Budget,
    pub(crate) delay: Duration,
    pub(crate) max_wait: Option<Duration>,
    pub(crate) pending: Option<u8>,
    pub(crate) scheduled: Option<u8>,
    pub(crate) order: Option<u8>,
    pub(crate) probe: bool,
    pub(crate) trial: bool,
    pub(crate) claims: bool,
}

pub(crate) struct Pair {
    both: Both,
    now: Moment,
    upstreams: Vec<UpstreamId>,
    /// Jobs that have not ended.
    alive: Vec<JobId>,
    running: Vec<(JobId, u32)>,
    /// The last jobs that asked; some have had their answer, or ended.
    asked: Vec<JobId>,
    quotas: Vec<Quota>,
    /// Start times that count in windows, by upstream and whether they are grabs.
    starts: HashMap<(u32, bool), Vec<Moment>>,
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
    pub(crate) cooldowns: u32,
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
    pub(crate) asks: u32,
    pub(crate) grants: u32,
    pub(crate) refusals: u32,
    pub(crate) deferred: u32,
    /// Answers to jobs that asked no longer, or could not start.
    pub(crate) late: u32,
}

impl Seen {
    /// Every count with its name.
    pub(crate) fn all(&self) -> [(&'static str, u32); 22] {
        [
            ("starts", self.starts),
            ("aged", self.aged),
            ("retries", self.retries),
            ("cooldowns", self.cooldowns),
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
            ("asks", self.asks),
            ("grants", self.grants),
            ("refusals", self.refusals),
            ("deferred", self.deferred),
            ("late", self.late),
        ]
    }
}

pub(crate) fn policy(kind: u8) -> Policy {
    let class = |max_wait: Option<u64>, on_cooldown, overflow| ClassPolicy {
        max_wait: max_wait.map(Duration::from_secs),
        on_cooldown,
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
            class(None, OnCooldown::Hold, Overflow::Drop),
            class(Some(15), OnCooldown::Hold, Overflow::Drop),
            class(None, OnCooldown::Hold, Overflow::Drop),
            class(Some(60), OnCooldown::Hold, Overflow::Drop),
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
            class(None, OnCooldown::End, Overflow::Agenda),
            class(None, OnCooldown::End, Overflow::Drop),
            class(None, OnCooldown::End, Overflow::Drop),
            class(None, OnCooldown::End, Overflow::Drop),
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
            both: Both::new(policy, now),
            now,
            upstreams: Vec::new(),
            alive: Vec::new(),
            running: Vec::new(),
            asked: Vec::new(),
            quotas: Vec::new(),
            starts: HashMap::new(),
            crew: 2,
            seen: Seen::default(),
        };
        for quota in quotas {
            pair.apply(&Op::Add(quota.clone()));
        }
        pair
    }

    /// Lets one thing happen, and whatever starts because of it.
    pub(crate) fn apply(&mut self, op: &Op) {
        let now = self.now;
        let both = &mut self.both;
        match op {
            Op::Submit(wanted) => self.submit(wanted),
            Op::Burst(all) => all.iter().for_each(|wanted| self.submit(wanted)),
            Op::Cancel(at) => {
                if let Some(id) = pick(&self.alive, *at) {
                    self.seen.cancels += u32::from(both.cancel(now, id));
                }
            }
            Op::Raise(at, class) => {
                if let Some(id) = pick(&self.alive, *at) {
                    self.seen.raises += u32::from(both.raise(now, id, Class(class % 4)));
                }
            }
            Op::Finish(at, finish, jitter) => {
                if !self.running.is_empty() {
                    let (id, _) = self.running.remove(usize::from(*at) % self.running.len());
                    let after = both.finish(now, id, *finish, *jitter);
                    self.seen.retries += u32::from(matches!(after, After::Scheduled(_)));
                }
            }
            Op::Pass(span, stop) => return self.pass(*span, *stop),
            Op::SetQuota(at, quota) => {
                if let Some(id) = pick(&self.upstreams, u16::from(*at)) {
                    both.set_quota(now, id, quota.clone());
                    // What started under the old quota is not held against the new one.
                    self.quotas[id.0 as usize] = unlimited(quota.in_flight);
                }
            }
            Op::Observe(at, usage) => {
                if let Some(id) = pick(&self.upstreams, u16::from(*at)) {
                    both.observe(now, id, *usage);
                }
            }
            Op::SetCrew(base, more) => both.set_crew(now, *base, base + more),
            Op::Clear(at) => self.operate(*at, Both::clear),
            Op::SwitchOff(at) => self.operate(*at, Both::switch_off),
            Op::SwitchOn(at) => self.operate(*at, Both::switch_on),
            Op::Hold(held) => both.hold(now, *held),
            Op::Share(at, shared) => {
                if let Some(id) = pick(&self.upstreams, u16::from(*at)) {
                    both.share(now, id, *shared);
                }
            }
            Op::Answer(at, verdict) => {
                if let Some(id) = pick(&self.asked, *at) {
                    self.answer(id, *verdict);
                }
            }
            Op::Throttle(at, span) => {
                if let Some(id) = pick(&self.upstreams, u16::from(*at)) {
                    both.throttle(now, id, now + *span);
                }
            }
            Op::Add(quota) => {
                self.upstreams.push(both.add_upstream(now, quota.clone()));
                self.quotas.push(quota.clone());
            }
            Op::Remove(at) => {
                if self.upstreams.len() > 1 {
                    let at = usize::from(*at) % self.upstreams.len();
                    both.remove_upstream(now, self.upstreams.remove(at));
                }
            }
            Op::Restart(off_for) => {
                self.seen.restarts += 1;
                self.now = now + *off_for;
                self.restart();
            }
        }
        self.run();
    }

    fn submit(&mut self, wanted: &Wanted) {
        let job = self.job(wanted);
        match self.both.submit(self.now, job) {
            Admission::Queued(id) | Admission::Scheduled(id) => self.alive.push(id),
            Admission::Duplicate(_) => self.seen.duplicates += 1,
            Admission::Ended(End::Skipped(_)) => self.seen.skips += 1,
            Admission::Ended(End::Dropped(_)) => self.seen.drops += 1,
            Admission::Ended(_) => {}
        }
    }

    fn pass(&mut self, span: Duration, stop: bool) {
        let target = self.now + span;
        if stop {
            for _ in 0..1000 {
                let Next::Wait(at) = self.both.next(self.now) else {
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

    /// Tells the answer of the other nodes. The job stays among those that asked, so the same may come again.
    fn answer(&mut self, id: JobId, verdict: Verdict) {
        let now = self.now;
        let both = &mut self.both;
        let in_time = match verdict {
            Verdict::Grant => match both.grant(now, id) {
                Some(start) => {
                    self.seen.grants += 1;
                    self.note_start(start);
                    true
                }
                None => false,
            },
            Verdict::Refuse {
                after,
                reason,
                full,
            } => {
                let until = now + after;
                let refused = both.refuse(
                    now,
                    id,
                    Refused {
                        until,
                        reason,
                        full,
                    },
                );
                self.seen.refusals += u32::from(refused);
                refused
            }
            Verdict::Defer(span) => {
                let deferred = both.defer(now, id, now + span);
                self.seen.deferred += u32::from(deferred);
                deferred
            }
            Verdict::Answered => both.answered(now, id),
            Verdict::Nothing => both.put_back(now, id),
        };
        self.seen.late += u32::from(!in_time);
    }

    fn note_start(&mut self, start: Start) {
        self.running.push((start.job, start.upstream.0));
        self.count_start(start);
        self.check_start(start);
    }

    /// Starts what can start, and lets ask what has to.
    fn run(&mut self) {
        loop {
            match self.both.next(self.now) {
                Next::Start(start) => self.note_start(start),
                Next::Ask(ask) => {
                    self.seen.asks += 1;
                    self.asked.push(ask.job);
                    // The latest few: they and their repeats are what answers come for.
                    let old = self.asked.len().saturating_sub(3);
                    self.asked.drain(..old);
                }
                Next::Wait(_) | Next::Idle => break,
            }
        }
        for (id, end) in self.both.take_ended() {
            self.seen.skips_in_line += u32::from(matches!(end, End::Skipped(_)));
            self.alive.retain(|&other| other != id);
            self.running.retain(|&(other, _)| other != id);
        }
        let status = self.both.real.status(self.now);
        self.count_waits(status);
    }

    /// The dispatcher must not sleep past a moment at which something would start.
    pub(crate) fn check_wake(&mut self) {
        self.both.earliest_start(self.now);
    }

    /// Ends everything and checks that each job that was taken in has ended once.
    pub(crate) fn finish_all(&mut self) {
        self.both.shutdown(self.now);
        self.run();
        for _ in 0..self.running.len() {
            self.apply(&Op::Finish(0, Finish::Unavailable, 0));
        }
        assert!(
            self.alive.is_empty(),
            "jobs that never ended: {:?}",
            self.alive
        );
        let status = self.both.real.status(self.now);
        assert_eq!(
            (status.queued, status.scheduled, status.busy, status.waiting),
            (0, 0, 0, 0)
        );
    }

    /// Calls under way are cut off and stay counted, queued jobs are lost; rows and agenda are kept.
    fn restart(&mut self) {
        self.alive = self.both.restart(self.now);
        self.running.clear();
        self.asked.clear();
        // Upstreams are numbered anew in their order.
        let old = std::mem::take(&mut self.upstreams);
        let mut starts = HashMap::new();
        for (position, id) in (0u32..).zip(&old) {
            self.upstreams.push(UpstreamId(position));
            for grab in [false, true] {
                let times = self.starts.remove(&(id.0, grab)).unwrap_or_default();
                starts.insert((position, grab), times);
            }
        }
        let quota = |id: &UpstreamId| self.quotas[id.0 as usize].clone();
        self.quotas = old.iter().map(quota).collect();
        self.starts = starts;
    }

    fn operate(&mut self, at: u8, act: fn(&mut Both, Moment, UpstreamId)) {
        if let Some(id) = pick(&self.upstreams, u16::from(at)) {
            act(&mut self.both, self.now, id);
        }
    }

    /// What can be told of a start from outside.
    fn count_start(&mut self, start: Start) {
        self.seen.starts += 1;
        let more_urgent = self.alive.iter().any(|id| {
            let job = self.both.job(*id);
            let waits = !self.running.iter().any(|(other, _)| other == id)
                && self.both.real.agenda_row(*id).is_none();
            waits && job.upstream == start.upstream && job.class < start.class
        });
        self.seen.aged += u32::from(more_urgent);
        let probing = self.both.real.state(self.now, start.upstream) == Some(Availability::Probing);
        self.seen.probing += u32::from(probing);
    }

    /// Whether a job waits for a call with its order key.
    fn count_waits(&mut self, status: Status) {
        self.seen.given_back += status.waiting;
        self.seen.crew_steps += u32::from(status.crew != self.crew);
        self.crew = status.crew;
        let calls = self.running.iter().map(|(id, _)| self.both.job(*id).order);
        let orders: Vec<_> = calls.flatten().collect();
        for id in &self.alive {
            let running = self.running.iter().any(|(other, _)| other == id);
            let job = self.both.job(*id);
            let order = job.order.filter(|key| orders.contains(key));
            self.seen.aside += u32::from(!running && order.is_some());
            let due = self.both.real.agenda_row(*id).map(|row| row.due);
            let put_off = due.is_some_and(|due| due > job.not_before + Duration::from_secs(9));
            self.seen.put_off += u32::from(put_off && job.not_before > Moment(0));
        }
        for &id in &self.upstreams {
            let up = self
                .both
                .real
                .upstream(self.now, id)
                .expect("it is present");
            let cooling = matches!(
                up.state,
                Availability::Cooldown { .. } | Availability::Disabled { .. }
            );
            self.seen.cooldowns += u32::from(cooling && up.queued > 0);
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
        let job = *self.both.job(start.job);
        assert!(job.not_before <= self.now, "started before its time");
        let grab = job.budget == Budget::Grab;
        let starts = self.starts.entry((start.upstream.0, grab)).or_default();
        starts.push(self.now);
        let windows = if grab { &quota.grab } else { &quota.query };
        for (window, limit) in windows.iter().filter(|_| !job.probe) {
            let reset = windows.day_reset.filter(|_| window == Window::DAY);
            if reset.is_none() {
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

    fn job(&self, wanted: &Wanted) -> Job {
        let key = |kind: u64, key: Option<u8>| {
            key.and_then(|key| NonZeroU64::new(1 + u64::from(key) + 1000 * kind))
                .map(JobKey)
        };
        let upstream =
            pick(&self.upstreams, u16::from(wanted.upstream)).expect("there is always an upstream");
        let of_upstream = |kind: u64, k: Option<u8>| key(kind + 10 * u64::from(upstream.0), k);
        Job {
            upstream,
            class: Class(wanted.class % 4),
            budget: wanted.budget,
            not_before: if wanted.delay.is_zero() {
                Moment(0)
            } else {
                self.now + wanted.delay
            },
            max_wait: wanted.max_wait,
            pending: of_upstream(1, wanted.pending),
            scheduled: of_upstream(2, wanted.scheduled),
            order: of_upstream(3, wanted.order),
            probe: wanted.probe,
            trial: wanted.trial,
            claims: wanted.claims,
            asker: Asker(0),
            attempts_made: 0,
        }
    }
}

fn unlimited(in_flight: u32) -> Quota {
    Quota {
        gaps: [Duration::ZERO; MAX_CLASSES],
        in_flight,
        query: Windows::default(),
        grab: Windows::default(),
    }
}

fn pick<T: Copy>(all: &[T], at: u16) -> Option<T> {
    (!all.is_empty()).then(|| all[usize::from(at) % all.len()])
}
