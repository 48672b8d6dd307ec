//! Watches the day from outside: counts what upstreams would count, and remembers what they asked for.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use weir_dispatch::{
    Budget, Class, End, Job, JobId, Moment, Policy, Quota, Start, UpstreamId, Window,
};

/// Marsaglia's xorshift64: the same numbers for the same seed.
#[derive(Clone, Debug)]
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * u64::from(end)) >> 32) as u32
    }
}

/// Everything that was promised about one upstream, seen from its side.
struct Seen {
    quota: Quota,
    in_flight: u32,
    starts: VecDeque<Moment>,
    last: Option<Moment>,
    /// It asked not to be called before this.
    told: Moment,
    /// Whether it always answers well and has no windows, so that only spacing makes its jobs wait.
    steady: bool,
    /// Per class and budget, the last start and the place in line of the job that started.
    queues: [[(Moment, u64); 4]; 3],
}

/// A job that has not ended.
#[derive(Clone, Copy)]
struct Held {
    job: Job,
    since: Moment,
    /// Its place in line; 0 for a job whose place changed.
    line: u64,
    running: bool,
}

pub(crate) struct Watch {
    policy: Policy,
    seen: Vec<Seen>,
    jobs: HashMap<JobId, Held>,
    lines: u64,
    /// What a call takes at a steady upstream at the most.
    longest_call: Duration,
}

impl Watch {
    pub(crate) fn new(policy: Policy, longest_call: Duration) -> Self {
        Self {
            policy,
            seen: Vec::new(),
            jobs: HashMap::new(),
            lines: 0,
            longest_call,
        }
    }

    pub(crate) fn add(&mut self, quota: Quota, steady: bool) {
        self.seen.push(Seen {
            quota,
            in_flight: 0,
            starts: VecDeque::new(),
            last: None,
            told: Moment(0),
            steady,
            queues: [[(Moment(0), 0); 4]; 3],
        });
    }

    pub(crate) fn taken_in(&mut self, id: JobId, job: Job, queued: bool, now: Moment) {
        self.lines += 1;
        let held = Held {
            job,
            since: now,
            line: if queued { self.lines } else { 0 },
            running: false,
        };
        assert!(
            self.jobs.insert(id, held).is_none(),
            "{id:?} was given twice"
        );
    }

    /// Its place in line is no longer that of its submission.
    pub(crate) fn moved(&mut self, id: JobId, class: Option<Class>) {
        let held = self.jobs.get_mut(&id).expect("it has not ended");
        held.line = 0;
        held.running = false;
        held.job.class = class.unwrap_or(held.job.class);
    }

    pub(crate) fn told(&mut self, upstream: UpstreamId, until: Moment) {
        let told = &mut self.seen[upstream.0 as usize].told;
        *told = until.max(*told);
    }

    pub(crate) fn cleared(&mut self, upstream: UpstreamId) {
        self.seen[upstream.0 as usize].told = Moment(0);
    }

    pub(crate) fn started(&mut self, start: Start, now: Moment) {
        let held = self.jobs.get_mut(&start.job).expect("only a job starts");
        assert!(!held.running, "{start:?} is under way already");
        held.running = true;
        let held = *held;
        let seen = &mut self.seen[start.upstream.0 as usize];
        assert_eq!(held.job.upstream, start.upstream);
        assert!(held.job.not_before <= now, "{start:?} is too early");
        assert!(seen.told <= now, "{start:?} before the time that was told");
        seen.in_flight += 1;
        assert!(
            seen.in_flight <= seen.quota.in_flight,
            "{start:?} is one too many"
        );
        let class = usize::from(start.class.0);
        let gaps = seen.quota.gaps;
        let least = gaps.into_iter().min().unwrap_or_default();
        let gap = gaps[class];
        if held.job.budget == Budget::Query {
            if let Some(last) = seen.last {
                assert!(last + least <= now, "{start:?} is too close to {last:?}");
            }
            seen.last = Some(now);
        }
        let queue = &mut seen.queues[held.job.budget as usize][class];
        let (last, line) = *queue;
        if held.line > 0 {
            assert!(held.line > line, "{start:?} overtook another");
            queue.1 = held.line;
            // Aged after `aging` and its gap; then the slot that is next, behind at most the three other
            // classes if they have waited longer. Where it waits, slots are at most its gap apart.
            let slot = gap + self.longest_call * 2;
            let bound = self.policy.aging + gap + slot * 4;
            let waited = last.max(held.since).until(now);
            assert!(
                !seen.steady || waited <= bound,
                "{start:?} waited {waited:?}"
            );
        }
        queue.0 = now;
        count(seen, now, start);
    }

    /// The call of a job ended; the job may have another.
    pub(crate) fn called(&mut self, upstream: UpstreamId) {
        self.seen[upstream.0 as usize].in_flight -= 1;
    }

    pub(crate) fn ended(&mut self, id: JobId, end: End) -> Job {
        let held = self.jobs.remove(&id).expect("every job ends once");
        if let End::Skipped(skip) = end
            && let (Some(wait), Some(limit)) = (skip.wait, skip.limit)
        {
            assert!(wait > limit, "{skip:?} need not have been");
        }
        held.job
    }

    pub(crate) fn job(&self, id: JobId) -> Option<Job> {
        self.jobs.get(&id).map(|held| held.job)
    }

    pub(crate) fn left(&self) -> usize {
        self.jobs.len()
    }
}

/// Counts a start in every window and finds none over its limit.
fn count(seen: &mut Seen, now: Moment, start: Start) {
    let windows = &seen.quota.query;
    if *windows == weir_dispatch::Windows::default() {
        return;
    }
    seen.starts.push_back(now);
    let day = Window::DAY.length();
    while seen.starts.front().is_some_and(|&first| first + day <= now) {
        seen.starts.pop_front();
    }
    for (window, limit) in windows.iter() {
        let reset = windows.day_reset.filter(|_| window == Window::DAY);
        let inside = seen.starts.iter().rev().take_while(|&&at| match reset {
            // The day of the simulation has one reset in it.
            Some(reset) => at >= reset || now < reset,
            None => at + window.length() > now,
        });
        let used = inside.count();
        assert!(
            used <= limit as usize,
            "{start:?}: {used} of {limit} in a {window:?}"
        );
    }
}
