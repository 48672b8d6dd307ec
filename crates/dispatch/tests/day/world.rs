//! The day itself: who asks what when, how upstreams answer, and what becomes of it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU64;
use std::time::Duration;

use weir_dispatch::policy::{ClassPolicy, CrewPolicy, FailurePolicy, OnCooldown, Overflow};
use weir_dispatch::{
    Admission, After, Asker, Availability, Budget, Class, Dispatcher, End, Finish, Job, JobId,
    JobKey, Moment, Next, Policy, UpstreamId,
};

use crate::upstreams::Nature;
use crate::watch::{Numbers, Watch};

const DAY: Duration = Duration::from_secs(86_400);
const BEGIN: Moment = Moment(1_000_000_000_000_000);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Front {
    Search,
    Tracker,
}

/// What the day came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) starts: u64,
    pub(crate) cooldowns: u64,
    pub(crate) skips: u64,
    pub(crate) retries: u64,
    pub(crate) cancels: u64,
    pub(crate) raises: u64,
    pub(crate) duplicates: u64,
    /// All decisions, in order, as one number.
    pub(crate) trace: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Ask,
    Answer { job: JobId, upstream: UpstreamId },
    Cancel(JobId),
    Raise(JobId),
    Operate,
}

pub(crate) struct Day {
    front: Front,
    dispatcher: Dispatcher,
    watch: Watch,
    numbers: Numbers,
    natures: Vec<Nature>,
    events: BinaryHeap<Reverse<(Moment, u64, Event)>>,
    answers: std::collections::HashMap<JobId, Finish>,
    scheduled: u64,
    now: Moment,
    sum: Sum,
}

impl Day {
    pub(crate) fn new(front: Front, upstreams: u32, seed: u64) -> Self {
        let policy = policy(front);
        let gaps = match front {
            Front::Search => [6, 30, 42, 60],
            Front::Tracker => [0; 4],
        };
        let gaps = gaps.map(Duration::from_secs);
        let mut dispatcher = Dispatcher::new(policy.clone(), BEGIN);
        let mut watch = Watch::new(policy, Duration::from_millis(250));
        let natures: Vec<Nature> = (0..upstreams).map(Nature::of).collect();
        for (number, nature) in (0..).zip(&natures) {
            let quota = nature.quota(number, gaps, BEGIN + DAY / 2);
            dispatcher.add_upstream(BEGIN, quota.clone());
            watch.add(quota, *nature == Nature::Fast);
        }
        let mut day = Self {
            front,
            dispatcher,
            watch,
            numbers: Numbers(seed),
            natures,
            events: BinaryHeap::new(),
            answers: std::collections::HashMap::new(),
            scheduled: 0,
            now: BEGIN,
            sum: Sum::default(),
        };
        day.plan(Duration::ZERO, Event::Ask);
        day.plan(Duration::from_secs(600), Event::Operate);
        day
    }

    pub(crate) fn run(mut self) -> Sum {
        let end = BEGIN + DAY;
        let mut wake = None;
        loop {
            let event = self.events.peek().map(|Reverse((at, _, _))| *at);
            let Some(at) = event.into_iter().chain(wake).min().filter(|&at| at < end) else {
                break;
            };
            assert!(at >= self.now, "time goes on");
            self.now = at;
            while let Some(&Reverse((_, _, event))) = self
                .events
                .peek()
                .filter(|Reverse((when, _, _))| *when <= at)
            {
                self.events.pop();
                self.happen(event);
            }
            wake = self.start_all();
            self.note_ends();
        }
        self.close(end)
    }

    fn plan(&mut self, after: Duration, event: Event) {
        self.scheduled += 1;
        let entry = (self.now + after, self.scheduled, event);
        self.events.push(Reverse(entry));
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Ask => self.ask(),
            Event::Answer { job, upstream } => self.answer(job, upstream),
            Event::Cancel(job) => {
                let cancelled = self.dispatcher.cancel(self.now, job);
                self.sum.cancels += u64::from(cancelled);
            }
            Event::Raise(job) => {
                if self.dispatcher.raise(self.now, job, Class(0)) {
                    self.sum.raises += 1;
                    self.watch.moved(job, Some(Class(0)));
                }
            }
            Event::Operate => self.operate(),
        }
    }

    fn ask(&mut self) {
        let pause = Duration::from_millis(u64::from(self.numbers.below(6_000)));
        self.plan(pause, Event::Ask);
        let many = 1 + self.numbers.below(12);
        for _ in 0..many {
            let job = self.job();
            let entry = self.dispatcher.submit(self.now, job);
            self.trace(&entry);
            match entry {
                Admission::Queued(id) | Admission::Scheduled(id) => {
                    let queued = matches!(entry, Admission::Queued(_));
                    // A job with an order key may let others pass.
                    let in_line = queued && job.order.is_none();
                    self.watch.taken_in(id, job, in_line, self.now);
                    self.follow(id);
                }
                Admission::Duplicate(_) => self.sum.duplicates += 1,
                Admission::Ended(End::Skipped(_)) => self.sum.skips += 1,
                Admission::Ended(_) => {}
            }
        }
    }

    /// Some askers change their minds.
    fn follow(&mut self, id: JobId) {
        let later = Duration::from_millis(u64::from(self.numbers.below(60_000)));
        match self.numbers.below(40) {
            0 | 1 => self.plan(later, Event::Cancel(id)),
            2 => self.plan(later, Event::Raise(id)),
            _ => {}
        }
    }

    fn job(&mut self) -> Job {
        let numbers = &mut self.numbers;
        let upstreams = self.natures.len() as u32;
        // Half of the questions go to a tenth of the upstreams.
        let upstream = match numbers.below(2) {
            0 => numbers.below(upstreams),
            _ => numbers.below(upstreams.div_ceil(10)),
        };
        let kind = numbers.below(10);
        let key = |kind: u32, number: u32| {
            let number = u64::from(upstream) << 16 | u64::from(kind) << 8 | u64::from(number);
            NonZeroU64::new(number + 1).map(JobKey)
        };
        let later = Duration::from_secs(u64::from(numbers.below(900)));
        Job {
            upstream: UpstreamId(upstream),
            class: Class(numbers.below(4) as u8),
            budget: [Budget::Query, Budget::Side][usize::from(numbers.below(20) == 0)],
            not_before: if kind == 0 {
                self.now + later
            } else {
                Moment(0)
            },
            max_wait: (kind == 1).then_some(later),
            pending: (kind < 4).then(|| key(1, numbers.below(4))).flatten(),
            scheduled: (kind < 3).then(|| key(2, numbers.below(4))).flatten(),
            order: (kind == 5).then(|| key(3, numbers.below(2))).flatten(),
            probe: false,
            trial: false,
            claims: false,
            asker: Asker(0),
            attempts_made: 0,
        }
    }

    fn start_all(&mut self) -> Option<Moment> {
        loop {
            match self.dispatcher.next(self.now) {
                Next::Start(start) => {
                    self.sum.starts += 1;
                    self.trace(&start);
                    self.note_ends();
                    self.watch.started(start, self.now);
                    let nature = self.natures[start.upstream.0 as usize];
                    let (takes, finish) = nature.answer(&mut self.numbers);
                    self.answers.insert(start.job, finish);
                    let (job, upstream) = (start.job, start.upstream);
                    self.plan(takes, Event::Answer { job, upstream });
                }
                Next::Wait(at) => {
                    assert!(at > self.now, "it wants to be woken in the past");
                    return Some(at);
                }
                Next::Idle => return None,
                Next::Ask(ask) => panic!("nothing is shared, but {ask:?}"),
            }
        }
    }

    fn answer(&mut self, job: JobId, upstream: UpstreamId) {
        let finish = self.answers.remove(&job).expect("a call has an answer");
        if let Finish::Throttled {
            retry_after: Some(time),
        } = finish
        {
            self.watch.told(upstream, self.now + time.min(DAY));
        }
        let before = self.dispatcher.state(self.now, upstream);
        let after = self.dispatcher.finish(self.now, job, finish, 250);
        self.trace(&(finish, after));
        self.watch.called(upstream);
        if let After::Scheduled(_) = after {
            self.sum.retries += 1;
            let class = (self.front == Front::Tracker).then_some(Class(3));
            self.watch.moved(job, class);
        }
        let state = self.dispatcher.state(self.now, upstream);
        let cooldowns = matches!(
            state,
            Some(Availability::Cooldown { .. } | Availability::Disabled { .. })
        );
        self.sum.cooldowns += u64::from(cooldowns && state != before);
    }

    fn operate(&mut self) {
        self.plan(Duration::from_secs(600), Event::Operate);
        let upstream = UpstreamId(self.numbers.below(self.natures.len() as u32));
        match self.numbers.below(3) {
            0 => self.dispatcher.switch_off(self.now, upstream),
            1 => self.dispatcher.switch_on(self.now, upstream),
            _ => {
                self.dispatcher.clear(self.now, upstream);
                self.watch.cleared(upstream);
            }
        }
    }

    fn note_ends(&mut self) {
        for (id, end) in self.dispatcher.take_ended() {
            self.trace(&(id, end));
            self.watch.ended(id, end);
            self.sum.skips += u64::from(matches!(end, End::Skipped(_)));
        }
        drop(self.dispatcher.take_changed());
        drop(self.dispatcher.take_agenda_changes());
        self.dispatcher.take_decisions(&mut Vec::new());
    }

    /// Everything ends.
    fn close(mut self, end: Moment) -> Sum {
        self.now = end;
        self.dispatcher.shutdown(end);
        let mut running: Vec<JobId> = self.answers.keys().copied().collect();
        running.sort();
        for id in running {
            assert!(self.watch.job(id).is_some());
            self.dispatcher.finish(end, id, Finish::Unavailable, 0);
        }
        self.note_ends();
        assert_eq!(self.watch.left(), 0, "every job ends");
        let status = self.dispatcher.status(end);
        let left = (status.queued, status.scheduled, status.busy, status.waiting);
        assert_eq!(left, (0, 0, 0, 0));
        self.sum
    }

    /// Adds a decision to the trace.
    fn trace(&mut self, what: &impl std::fmt::Debug) {
        let text = format!("{:?} {what:?}", self.now);
        for byte in text.bytes() {
            self.sum.trace = (self.sum.trace ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn policy(front: Front) -> Policy {
    let secs = Duration::from_secs;
    let class = |max_wait: Option<u64>, on_cooldown, overflow| ClassPolicy {
        max_wait: max_wait.map(secs),
        on_cooldown,
        overflow,
    };
    let is_search = front == Front::Search;
    let classes = match front {
        Front::Search => vec![
            class(None, OnCooldown::Hold, Overflow::Drop),
            class(Some(15), OnCooldown::Hold, Overflow::Drop),
            class(None, OnCooldown::Hold, Overflow::Drop),
            class(Some(60), OnCooldown::Hold, Overflow::Drop),
        ],
        Front::Tracker => vec![
            class(None, OnCooldown::End, Overflow::Agenda),
            class(None, OnCooldown::End, Overflow::Drop),
            class(None, OnCooldown::End, Overflow::Drop),
            class(None, OnCooldown::End, Overflow::Drop),
        ],
    };
    let minutes = [1, 5, 15, 30, 60, 180, 360, 720, 1440];
    Policy {
        classes,
        capacity: 10_000,
        agenda_capacity: 100_000,
        backlog_floor: 32,
        aging: secs(10),
        put_off: secs(10),
        crew: CrewPolicy {
            base: 200,
            max: 200,
            grow_at: 60,
            shrink_below: 40,
            step: secs(1),
            slot_time: secs(1),
            waiting_max: 1_000,
        },
        failure: FailurePolicy {
            ladder: minutes.map(|minutes| secs(60 * minutes)).to_vec(),
            threshold: if is_search { 1 } else { 3 },
            threshold_disables: !is_search,
            throttled: (!is_search).then_some(secs(300)),
            longest: DAY,
        },
        again_class: (!is_search).then_some(Class(3)),
        attempts: if is_search { 1 } else { 3 },
        retry_base: Duration::from_millis(500),
        records: 16,
    }
}
