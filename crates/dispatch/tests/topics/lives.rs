//! Whole lives: whatever happens, every job ends once and no call comes early.

use weir_dispatch::policy::{OnCooldown, Overflow};
use weir_dispatch::{
    Admission, Budget, Class, Finish, Job, JobId, Moment, Next, Policy, Quota, UpstreamId, Window,
    Windows,
};

use crate::front::*;

/// A small generator of numbers, the same for every run of a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// One of three upstreams, or one that is not there.
    fn upstream(&mut self) -> UpstreamId {
        UpstreamId(self.below(4) as u32)
    }

    fn key(&mut self) -> Option<weir_dispatch::JobKey> {
        match self.below(9) {
            number @ 0..3 => key(number + 1),
            _ => None,
        }
    }

    fn job(&mut self, now: Moment) -> Job {
        Job {
            budget: [Budget::Query, Budget::Side, Budget::Grab][self.below(3) as usize],
            not_before: now - secs(10) + secs(self.below(20)),
            max_wait: (self.below(4) == 0).then(|| secs(self.below(40))),
            pending: self.key(),
            scheduled: self.key(),
            order: self.key(),
            probe: self.below(12) == 0,
            ..job(self.upstream(), Class(self.below(4) as u8))
        }
    }

    fn finish(&mut self) -> Finish {
        let time = secs(self.below(200));
        match self.below(10) {
            0 => Finish::No,
            1 => Finish::Again { after: time },
            2 => throttled(self.below(90)),
            3 => Finish::Throttled { retry_after: None },
            4 | 5 => Finish::Unavailable,
            6 => Finish::Rejected {
                at_least: Some(time),
            },
            7 => Finish::OurNetwork { pause: time / 10 },
            8 => Finish::Panicked,
            _ => Finish::Done,
        }
    }
}

/// Four classes that differ in all they can, and little room.
fn narrow() -> Policy {
    let mut policy = search();
    policy.classes[1].overflow = Overflow::Agenda;
    policy.classes[3].on_cooldown = OnCooldown::End;
    policy.capacity = 12;
    policy.agenda_capacity = 8;
    policy.backlog_floor = 4;
    policy.attempts = 3;
    policy.crew.base = 2;
    policy.crew.max = 4;
    policy.failure.throttled = Some(secs(300));
    policy
}

/// The smallest gap is that of the most urgent class: 2 s.
fn strict() -> Quota {
    Quota {
        gaps: [2, 10, 14, 20].map(secs),
        query: Windows::from([(Window::MINUTE, 6)]),
        grab: Windows::from([(Window::HOUR, 9)]),
        ..in_flight(2)
    }
}

#[test]
fn in_any_life_every_job_ends_once_and_no_call_comes_early() {
    for seed in 0..40 {
        one_life(&mut Numbers(seed));
    }
}

fn one_life(numbers: &mut Numbers) {
    let mut front = Front::new(narrow());
    for _ in 0..3 {
        front.add(strict());
    }
    let mut taken_in: Vec<JobId> = Vec::new();
    let mut under_way: Vec<JobId> = Vec::new();
    let mut last_query = [None; 3];
    for _ in 0..300 {
        front.pass_ms(numbers.below(4000));
        let any = |numbers: &mut Numbers, ids: &[JobId]| match ids.len() as u64 {
            0 => None,
            many => Some(ids[numbers.below(many) as usize]),
        };
        match numbers.below(16) {
            0 => front.clear(numbers.upstream()),
            1 => front.switch_off(numbers.upstream()),
            2 => front.switch_on(numbers.upstream()),
            3 => drop(any(numbers, &taken_in).map(|id| front.cancel(id))),
            4 => drop(any(numbers, &taken_in).map(|id| front.raise(id, INTERACTIVE))),
            5..=8 if !under_way.is_empty() => {
                let index = numbers.below(under_way.len() as u64) as usize;
                front.finish_after(under_way.swap_remove(index), numbers.finish(), 250);
            }
            _ => {
                if let Admission::Queued(id) | Admission::Scheduled(id) =
                    front.entry(numbers.job(front.now))
                {
                    taken_in.push(id);
                }
            }
        }
        front.earliest_start();
        while let Next::Start(start) = front.next() {
            under_way.push(start.job);
            let job = front.both.job(start.job);
            if job.budget == Budget::Query && !job.probe {
                let last = &mut last_query[start.upstream.0 as usize];
                let gap_over = last.is_none_or(|last: Moment| last + secs(2) <= front.now);
                assert!(gap_over, "closer than the smallest gap");
                *last = Some(front.now);
            }
        }
        front.earliest_start();
        let (busy, waiting) = front.counts();
        assert_eq!((busy + waiting) as usize, under_way.len());
        assert!(front.queued() <= 12);
    }
    front.shutdown();
    for id in under_way {
        front.finish(id, Finish::Unavailable);
    }
    let mut ended: Vec<JobId> = front.ended().into_iter().map(|(id, _)| id).collect();
    ended.sort();
    taken_in.sort();
    assert_eq!(ended, taken_in);
}
