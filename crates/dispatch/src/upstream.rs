//! One upstream: its queues, its slot, and the one job that it offers to the crew.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::cooldown::Health;
use crate::job::Wait;
use crate::jobs::{Jobs, List, Slot};
use crate::moment::Moment;
use crate::policy::{Budget, Class, Policy, Quota};
use crate::queue::{self, QUEUES, Queue};
use crate::quota::Ledger;
use crate::record::Ring;

/// One upstream and all that waits for it.
#[derive(Clone, Debug)]
pub(crate) struct Upstream {
    pub(crate) quota: Quota,
    pub(crate) query: Ledger,
    pub(crate) grab: Ledger,
    /// When a call of budget Query last started: the spacing clock.
    pub(crate) last_start: Option<Moment>,
    pub(crate) health: Health,
    pub(crate) in_flight: u32,
    pub(crate) queues: [Queue; QUEUES],
    /// A bit per queue that is not empty.
    pub(crate) filled: u16,
    pub(crate) probes: Queue,
    /// Jobs that stand aside, by submit number.
    pub(crate) aside: BTreeMap<u64, Slot>,
    /// Jobs on the agenda.
    pub(crate) scheduled: List,
    /// Jobs in queues, among the probes and standing aside.
    pub(crate) queued: u32,
    /// What the crew sees of it.
    pub(crate) offer: Option<Offer>,
    /// What its first job waits for, once that has been recorded.
    pub(crate) waits_for: Option<Wait>,
    pub(crate) ring: Ring,
    pub(crate) gone: bool,
    pub(crate) changed: bool,
}

/// The job that an upstream would start next, if there were a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) class: Class,
    pub(crate) slot: Slot,
    /// The job's submit number.
    pub(crate) number: u64,
}

/// What an upstream offers now, and when that changes by time alone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Choice {
    pub(crate) offer: Option<Offer>,
    pub(crate) changes: Option<Moment>,
}

impl Upstream {
    pub(crate) fn new(quota: Quota) -> Self {
        Self {
            query: Ledger::new(quota.query),
            grab: Ledger::new(quota.grab),
            quota,
            last_start: None,
            health: Health::default(),
            in_flight: 0,
            queues: std::array::from_fn(|_| Queue::default()),
            filled: 0,
            probes: Queue::default(),
            aside: BTreeMap::new(),
            scheduled: List::default(),
            queued: 0,
            offer: None,
            waits_for: None,
            ring: Ring::default(),
            gone: false,
            changed: false,
        }
    }

    /// The queues that are not empty.
    pub(crate) fn filled(&self) -> impl Iterator<Item = usize> + use<> {
        let mut bits = self.filled;
        std::iter::from_fn(move || {
            let index = bits.trailing_zeros() as usize;
            bits &= bits.wrapping_sub(1);
            (index < QUEUES).then_some(index)
        })
    }

    pub(crate) fn ledger(&self, budget: Budget) -> &Ledger {
        match budget {
            Budget::Query | Budget::Side => &self.query,
            Budget::Grab => &self.grab,
        }
    }

    pub(crate) fn ledger_mut(&mut self, budget: Budget) -> &mut Ledger {
        match budget {
            Budget::Query | Budget::Side => &mut self.query,
            Budget::Grab => &mut self.grab,
        }
    }

    /// When its next call of this class and budget could start and what that waits for, leaving
    /// aside who else is in line. Not later than `now` means that nothing holds it.
    pub(crate) fn ready(
        &self,
        policy: &Policy,
        class: Class,
        budget: Budget,
        now: Moment,
    ) -> (Moment, Wait) {
        if self.health.is_off() {
            return (Moment::NEVER, Wait::Off);
        }
        let mut ready = (self.health.resting(now).unwrap_or_default(), Wait::Rest);
        let window = self.ledger(budget).next(now);
        if window > ready.0 {
            ready = (window, Wait::Window);
        }
        let gap = self.gap_over(policy, class, budget);
        if gap > ready.0 {
            ready = (gap, Wait::Gap);
        }
        ready
    }

    /// The time that a class leaves between the last start and its own.
    fn gap(&self, policy: &Policy, class: Class, budget: Budget) -> Duration {
        match budget {
            Budget::Query => share(
                self.quota.spacing,
                policy.classes[usize::from(class.0)].gap_permille,
            ),
            Budget::Side | Budget::Grab => Duration::ZERO,
        }
    }

    fn gap_over(&self, policy: &Policy, class: Class, budget: Budget) -> Moment {
        match (budget, self.last_start) {
            (Budget::Query, Some(last)) => last + self.gap(policy, class, budget),
            _ => Moment(0),
        }
    }

    /// Who goes next here. An aged queue takes the slot that opened for another: it needs room in
    /// its windows, but its own gap may still run while another waiting query's has passed.
    pub(crate) fn choose(&self, jobs: &Jobs, policy: &Policy, now: Moment) -> Choice {
        if self.in_flight >= self.quota.in_flight {
            return Choice::default();
        }
        if let Some(probe) = self.probes.head(jobs) {
            return Choice {
                offer: Some(offer(jobs, probe)),
                changes: None,
            };
        }
        if self.filled == 0 || self.health.is_off() {
            return Choice::default();
        }
        if let Some(until) = self.health.resting(now) {
            return Choice {
                offer: None,
                changes: Some(until),
            };
        }
        if self.health.is_probing(now) && self.in_flight > 0 {
            return Choice::default();
        }
        self.choose_open(jobs, policy, now)
    }

    fn choose_open(&self, jobs: &Jobs, policy: &Policy, now: Moment) -> Choice {
        let alone = self.filled.is_power_of_two();
        let query_open = self.filled().map(queue::kind).any(|(class, budget)| {
            budget == Budget::Query && self.gap_over(policy, class, budget) <= now
        });
        let mut aged: Option<(Moment, Offer)> = None;
        let mut ready: Option<Offer> = None;
        let mut changes = Moment::NEVER;
        for index in self.filled() {
            let (class, budget) = queue::kind(index);
            let head = self.queues[index]
                .head(jobs)
                .expect("the bit of an empty queue is not set");
            let window = self.ledger(budget).next(now);
            let gap = self.gap_over(policy, class, budget);
            let since = self.queues[index]
                .last_start
                .unwrap_or_default()
                .max(jobs[head].at);
            let ages = since + policy.aging + self.gap(policy, class, budget);
            for moment in [window.max(gap), if alone { Moment(0) } else { ages }] {
                if moment > now {
                    changes = changes.min(moment);
                }
            }
            if window > now {
                continue;
            }
            let this = offer(jobs, head);
            let may_take = gap <= now || (budget == Budget::Query && query_open);
            let rank = |since: Moment, offer: Offer| (since, offer.class, offer.number);
            if ages <= now
                && may_take
                && aged.is_none_or(|(other, old)| rank(since, this) < rank(other, old))
            {
                aged = Some((since, this));
            }
            if gap <= now
                && ready.is_none_or(|old| (this.class, this.number) < (old.class, old.number))
            {
                ready = Some(this);
            }
        }
        let offer = aged.map(|(_, aged)| aged).or(ready);
        Choice {
            offer,
            changes: (changes < Moment::NEVER).then_some(changes),
        }
    }
}

fn offer(jobs: &Jobs, slot: Slot) -> Offer {
    Offer {
        class: jobs[slot].class,
        slot,
        number: jobs[slot].number,
    }
}

/// So many thousandths of `span`, in whole nanoseconds.
fn share(span: Duration, permille: u32) -> Duration {
    let nanos = span.as_nanos() * u128::from(permille) / 1000;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
