//! One upstream: its queues, its slot, and the one job that it offers to the crew (rules 6 to 8).
//!
//! An upstream is looked at only when something about it changed or a moment it named has come; what it offers is
//! remembered in between. So a decision costs the same with five upstreams and with five thousand.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::cooldown::Health;
use crate::job::Wait;
use crate::jobs::{JobSlot, Jobs};
use crate::moment::Moment;
use crate::policy::{Budget, Class, MAX_CLASSES, Quota};
use crate::queue::{self, QUEUES, Queue, QueueHead};
use crate::quota::Allowance;

/// One upstream and all that waits for it. What every decision reads comes first and lies together, which is why the
/// order of the fields is fixed (`repr(C)`).
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Upstream {
    /// A bit per queue that is not empty.
    pub(crate) filled: u16,
    /// Taken away. It keeps its place, since ids are positions and its calls under way still end.
    pub(crate) gone: bool,
    /// Its row is among the dispatcher's changed ones.
    pub(crate) changed: bool,
    /// What its first job waits for, once that has been recorded: a wait leaves one record, not one per look.
    pub(crate) waits_for: Option<Wait>,
    /// One of its calls gave its worker back by age, and none has ended sooner than that since (rule 44).
    pub(crate) slow: bool,
    /// Other nodes call it too (rule 56).
    pub(crate) shared: bool,
    /// Jobs in queues, among the probes and standing aside.
    pub(crate) queued: u32,
    pub(crate) in_flight: u32,
    in_flight_limit: u32,
    /// Its job that asks whether it may start, or [`JobSlot::NONE`]. It is one of those in flight.
    pub(crate) asking: JobSlot,
    /// When a call of budget Query last started: the spacing clock. One that a refusal moved may stand in the future.
    pub(crate) last_start: Option<Moment>,
    /// The longest of `gaps`: once it has passed, all have.
    longest_gap: Gap,
    pub(crate) query: Allowance,
    pub(crate) grab: Allowance,
    pub(crate) health: Health,
    /// Operators' probes; few upstreams ever have one.
    probes: Option<Box<Queue>>,
    /// What the crew sees of it: the choice as of the last refresh.
    pub(crate) offer: Option<Offer>,
    /// What the quota says, per class.
    gaps: [Gap; MAX_CLASSES],
    pub(crate) queues: [Queue; QUEUES],
    /// Jobs that stand aside, by submit number.
    pub(crate) aside: BTreeMap<u64, JobSlot>,
    /// Its jobs on the agenda, by their places there: all of them end with their upstream, and pages show the next few.
    pub(crate) scheduled: BTreeMap<(Moment, u64), JobSlot>,
    quota: Box<Quota>,
}

/// A time between two starts in nanoseconds, worked out once per quota: it is added to moments at every decision.
type Gap = u64;

/// The job that an upstream would start next, if there were a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) class: Class,
    pub(crate) head: QueueHead,
}

/// What an upstream offers now, and when that changes by time alone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outlook {
    pub(crate) offer: Option<Offer>,
    pub(crate) changes: Option<Moment>,
}

impl Upstream {
    pub(crate) fn new(quota: Quota) -> Self {
        let mut new = Self {
            gaps: [0; MAX_CLASSES],
            longest_gap: 0,
            in_flight_limit: 1,
            query: Allowance::default(),
            grab: Allowance::default(),
            quota: Box::new(quota.clone()),
            last_start: None,
            health: Health::default(),
            in_flight: 0,
            queues: std::array::from_fn(|_| Queue::default()),
            filled: 0,
            probes: None,
            aside: BTreeMap::new(),
            scheduled: BTreeMap::new(),
            queued: 0,
            offer: None,
            waits_for: None,
            slow: false,
            shared: false,
            asking: JobSlot::NONE,
            gone: false,
            changed: false,
        };
        new.allow(quota);
        new
    }

    pub(crate) fn quota(&self) -> &Quota {
        &self.quota
    }

    /// Gives it another quota; starts made so far stay counted, and the spacing clock runs on.
    pub(crate) fn allow(&mut self, quota: Quota) {
        self.query.configure(&quota.query);
        self.grab.configure(&quota.grab);
        self.gaps = quota.gaps.map(|gap| (Moment(0) + gap).0);
        self.longest_gap = self.gaps.into_iter().max().unwrap_or(0);
        // Rule 13: with 0 nothing would ever start, which is what switching off is for.
        self.in_flight_limit = quota.in_flight.max(1);
        *self.quota = quota;
    }

    /// Whether it has no room for another call.
    pub(crate) fn is_busy(&self) -> bool {
        self.in_flight >= self.in_flight_limit
    }

    /// Whether calls of this budget count in a window or keep a distance.
    pub(crate) fn is_limited(&self, budget: Budget) -> bool {
        self.allowance(budget).is_limited() || (budget == Budget::Query && self.longest_gap > 0)
    }

    /// The class whose gap a job that was just chosen waited for: its own, or where that has not passed, because the job is
    /// aged, the one with the smallest among the queries that wait (rule 8).
    pub(crate) fn gap_class(&self, class: Class, budget: Budget, now: Moment) -> Class {
        if self.gap_over(class, budget) <= now {
            return class;
        }
        let waiting = self.filled().map(queue::kind);
        let queries = waiting.filter(|&(_, budget)| budget == Budget::Query);
        let smallest = queries.min_by_key(|&(class, budget)| (self.gap(class, budget), class));
        smallest.map_or(class, |(class, _)| class)
    }

    /// The gap of a class.
    pub(crate) fn class_gap(&self, class: Class) -> Duration {
        self.quota.gaps[usize::from(class.0)]
    }

    /// Moves the spacing clock forward, so that the gap of this class ends at `until` at the earliest.
    pub(crate) fn space_until(&mut self, class: Class, until: Moment) {
        let last = until - self.class_gap(class);
        self.last_start = self.last_start.max(Some(last));
    }

    /// The queues that are not empty.
    pub(crate) fn filled(&self) -> impl Iterator<Item = usize> + use<> {
        let mut bits = self.filled;
        // Works on a copy, so queues may be emptied on the way.
        std::iter::from_fn(move || {
            let index = bits.trailing_zeros();
            // Takes the lowest bit away; of nothing it takes nothing.
            bits &= bits.wrapping_sub(1);
            (index < u16::BITS).then_some(index as usize)
        })
    }

    /// The probe that is first in line.
    pub(crate) fn probe(&self) -> Option<QueueHead> {
        self.probes.as_ref()?.head()
    }

    pub(crate) fn probes_mut(&mut self) -> &mut Queue {
        self.probes.get_or_insert_default()
    }

    /// The windows that a budget counts in; side calls count as queries.
    pub(crate) fn allowance(&self, budget: Budget) -> &Allowance {
        match budget {
            Budget::Query | Budget::Side => &self.query,
            Budget::Grab => &self.grab,
        }
    }

    pub(crate) fn allowance_mut(&mut self, budget: Budget) -> &mut Allowance {
        match budget {
            Budget::Query | Budget::Side => &mut self.query,
            Budget::Grab => &mut self.grab,
        }
    }

    /// When its next call of this class and budget could start and what that waits for, leaving
    /// aside who else is in line: rule 23. Not later than `now` means that nothing holds it.
    pub(crate) fn ready(&self, class: Class, budget: Budget, now: Moment) -> (Moment, Wait) {
        if self.health.is_off() || self.gone {
            return (Moment::NEVER, Wait::Off);
        }
        let mut ready = (
            self.health.cooling_until(now).unwrap_or_default(),
            Wait::Cooldown,
        );
        // Only what ends later replaces what was named before, so of equal waits the first is named.
        let window = self.allowance(budget).next();
        if window > ready.0 {
            ready = (window, self.allowance(budget).reason());
        }
        let gap = self.gap_over(class, budget);
        if gap > ready.0 {
            ready = (gap, Wait::Gap);
        }
        ready
    }

    /// Whether nothing holds any of its calls: it is on, no cooldown has begun since its last success, all gaps have
    /// passed, and it has no windows. True of most upstreams most of the time, and cheap to tell.
    pub(crate) fn is_unhindered(&self, now: Moment) -> bool {
        let limited = self.query.may_hold() || self.grab.may_hold();
        let spaced = self
            .last_start
            .is_some_and(|last| last.0.saturating_add(self.longest_gap) > now.0);
        !limited && !spaced && self.health.is_well()
    }

    /// The time that a class leaves between the last start and its own. Only queries keep a distance (rule 8).
    fn gap(&self, class: Class, budget: Budget) -> Gap {
        match budget {
            Budget::Query => self.gaps[usize::from(class.0)],
            Budget::Side | Budget::Grab => 0,
        }
    }

    /// When that time is over; long ago for a budget that keeps no distance.
    fn gap_over(&self, class: Class, budget: Budget) -> Moment {
        match (budget, self.last_start) {
            (Budget::Query, Some(last)) => later(last, self.gap(class, budget)),
            _ => Moment(0),
        }
    }

    /// Who goes next here (rule 6), and when that changes by time alone. Where only an operation can change it, as
    /// while it is busy, there is no such moment: the end of a call brings the next look.
    pub(crate) fn choose(&self, jobs: &Jobs, aging: Duration, now: Moment) -> Outlook {
        if self.is_busy() {
            return Outlook::default();
        }
        // Rule 11: before off, cooldown, windows and gaps are asked.
        if let Some(head) = self.probe() {
            let class = jobs[head.slot].class;
            return Outlook {
                offer: Some(Offer { class, head }),
                changes: None,
            };
        }
        // Rule 58: the answer brings the next look.
        if self.filled == 0 || self.asking != JobSlot::NONE || self.health.is_off() {
            return Outlook::default();
        }
        if let Some(until) = self.health.cooling_until(now) {
            return Outlook {
                offer: None,
                changes: Some(until),
            };
        }
        // Rule 28: also a call from before the cooldown keeps the try waiting.
        if self.health.is_probing(now) && self.in_flight > 0 {
            return Outlook::default();
        }
        self.choose_open(aging, now)
    }

    /// Who goes next at an upstream that takes calls: the best head among at most twelve queues.
    ///
    /// An aged queue takes the slot that opened for another: it needs room in its windows, but its own gap may still
    /// run while another waiting query's has passed.
    fn choose_open(&self, aging: Duration, now: Moment) -> Outlook {
        // With a single queue filled there is nobody to take a slot from, so nobody is woken for its age.
        let alone = self.filled.is_power_of_two();
        // Rule 8: the slot that an aged query may take.
        let query_open = self
            .filled()
            .map(queue::kind)
            .any(|(class, budget)| budget == Budget::Query && self.gap_over(class, budget) <= now);
        let aging = (Moment(0) + aging).0;
        let query_window = self.query.next();
        let grab_window = self.grab.next();
        let mut aged: Option<(Moment, Offer)> = None;
        let mut ready: Option<Offer> = None;
        let mut changes = Moment::NEVER;
        for index in self.filled() {
            let (class, budget) = queue::kind(index);
            let queue = &self.queues[index];
            let head = queue.head().expect("the bit of an empty queue is not set");
            let window = match budget {
                Budget::Query | Budget::Side => query_window,
                Budget::Grab => grab_window,
            };
            let gap = self.gap_over(class, budget);
            // Rule 7.
            let since = queue.last_start.max(head.at);
            let ages = later(later(since, aging), self.gap(class, budget));
            // The next look is due when this head becomes ready or aged, whichever of all heads is first. A head that
            // was skipped over because of its window still counts here, or nobody would look when it opens.
            if window > now || gap > now {
                changes = changes.min(window.max(gap));
            }
            if ages > now && !alone {
                changes = changes.min(ages);
            }
            if window > now {
                continue;
            }
            let this = Offer { class, head };
            // Side calls and grabs have no gap: theirs has always passed.
            let may_take = gap <= now || (budget == Budget::Query && query_open);
            let rank = |since: Moment, offer: Offer| (since, offer.class, offer.head.number);
            if ages <= now
                && may_take
                && aged.is_none_or(|(other, old)| rank(since, this) < rank(other, old))
            {
                aged = Some((since, this));
            }
            let is_first = |old: Offer| (class, head.number) < (old.class, old.head.number);
            if gap <= now && ready.is_none_or(is_first) {
                ready = Some(this);
            }
        }
        let offer = aged.map(|(_, aged)| aged).or(ready);
        Outlook {
            offer,
            changes: (changes < Moment::NEVER).then_some(changes),
        }
    }
}

fn later(moment: Moment, gap: Gap) -> Moment {
    Moment(moment.0.saturating_add(gap))
}
