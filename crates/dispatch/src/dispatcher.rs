//! Everything as one state machine: submit, raise, cancel, finish, next.
//!
//! Every operation takes the time as an argument and first lets happen what time alone brings: calls
//! give their workers back, the crew grows or shrinks, scheduled jobs fall due. Nothing here looks at
//! more than one upstream at a time, and nothing ever scans the backlog.

mod ask;
mod enter;
mod finish;
mod leave;
mod look;
mod operate;

use smallvec::SmallVec;

use crate::agenda::Agenda;
use crate::crew::Crew;
use crate::heap::Heap;
use crate::job::{End, JobId, JobKey, Next, Start, UpstreamId, Wait};
use crate::jobs::{JobSlot, Jobs};
use crate::moment::Moment;
use crate::policy::{Budget, MAX_CLASSES, Policy};
use crate::queue;
use crate::record::{Asker, Decision, What};
use crate::spread::KeyTable;
use crate::upstream::Upstream;

pub use look::{SavedJob, SavedUpstream, Status, UpstreamStatus};

/// Decides whose turn it is, for one front.
#[derive(Clone, Debug)]
pub struct Dispatcher {
    policy: Policy,
    upstreams: Vec<Upstream>,
    /// Upstreams that are not gone.
    present: u32,
    jobs: Jobs,
    agenda: Agenda,
    crew: Crew,
    /// Upstreams by the moment at which their offer changes by time alone.
    timers: Heap<Moment>,
    /// Per class, the upstreams that offer a job of it, by submit number. Together with `timers` this is what keeps
    /// every decision at O(log upstreams): an upstream without a change is never looked at.
    offers: [Heap<u64>; MAX_CLASSES],
    /// When a job of each class last started on this front.
    last_starts: [Option<Moment>; MAX_CLASSES],
    /// The job that holds each pending key, from its submission to its end.
    pending: KeyTable<JobKey, JobSlot>,
    /// The order keys of calls under way, with the jobs that stand aside for them.
    under_way: KeyTable<JobKey, SmallVec<[JobSlot; 2]>>,
    /// Jobs in queues, among the probes and standing aside: what `capacity` bounds.
    queued: u32,
    /// Jobs taken in so far.
    taken_in: u64,
    /// Submit numbers given so far.
    submitted: u64,
    /// Start numbers given so far.
    started: u64,
    /// Time as far as it has been let happen.
    clock: Moment,
    paused_until: Moment,
    held: bool,
    stopped: bool,
    // What the caller has not fetched yet. The engine fetches after every operation, which is what bounds them.
    ended: Vec<(JobId, End)>,
    changed: Vec<UpstreamId>,
    agenda_changes: Vec<JobId>,
    decisions: Vec<Decision>,
}

/// A job whose turn it is, out of its queue and not started yet.
struct Chosen {
    upstream: u32,
    slot: JobSlot,
    /// When it was queued.
    since: Moment,
}

impl Dispatcher {
    /// A dispatcher without upstreams.
    ///
    /// # Panics
    /// If the policy has no class or more than [`MAX_CLASSES`], or an empty ladder.
    pub fn new(policy: Policy, now: Moment) -> Self {
        // A policy is made by a front's code from checked configuration: a wrong one is a bug, and found at the start.
        assert!(
            (1..=MAX_CLASSES).contains(&policy.classes.len()),
            "a front has one to four classes"
        );
        assert!(
            !policy.failure.ladder.is_empty(),
            "a ladder has at least one rung"
        );
        Self {
            crew: Crew::new(policy.crew.clone(), now),
            policy,
            upstreams: Vec::new(),
            present: 0,
            jobs: Jobs::default(),
            agenda: Agenda::default(),
            timers: Heap::default(),
            offers: std::array::from_fn(|_| Heap::default()),
            last_starts: [None; MAX_CLASSES],
            pending: KeyTable::default(),
            under_way: KeyTable::default(),
            queued: 0,
            taken_in: 0,
            submitted: 0,
            started: 0,
            clock: now,
            paused_until: Moment(0),
            held: false,
            stopped: false,
            ended: Vec::new(),
            changed: Vec::new(),
            agenda_changes: Vec::new(),
            decisions: Vec::new(),
        }
    }

    /// What is to be done now. Asked until it says neither [`Next::Start`] nor [`Next::Ask`].
    pub fn next(&mut self, now: Moment) -> Next {
        let now = self.advance(now);
        // Whoever shares an upstream's allowance with others needs their permission between the two, while the job
        // holds its place. A dispatcher that shares with nobody has it at once.
        match self.choose(now) {
            Some(chosen) if self.asks(&chosen) => Next::Ask(self.ask(&chosen, now)),
            Some(chosen) => Next::Start(self.start(chosen, now)),
            None => self.wake().map_or(Next::Idle, Next::Wait),
        }
    }

    /// The jobs that ended since the last call, each once. They are kept until they are taken.
    pub fn take_ended(&mut self) -> Vec<(JobId, End)> {
        std::mem::take(&mut self.ended)
    }

    /// Lets happen what time alone brings until `now`, in order of time (rule 3). Every public operation begins
    /// with this and goes on with the moment that it gives.
    fn advance(&mut self, now: Moment) -> Moment {
        // Rule 1.
        let now = now.max(self.clock);
        loop {
            let returns = self.crew.next_return(&self.jobs);
            let steps = self
                .crew
                .next_step(self.queued, self.policy.capacity, self.clock);
            let due = self.agenda.next();
            let at = returns
                .map_or(Moment::NEVER, |(at, _)| at)
                .min(steps.unwrap_or(Moment::NEVER))
                .min(due.map_or(Moment::NEVER, |(at, _)| at));
            // What is due at the end of time is due never, also when a caller gets there.
            if at > now || at == Moment::NEVER {
                break;
            }
            // A call that found no room among the waiting ones is overdue: it returns now.
            let at = at.max(self.clock);
            // Rule 3, the order at one moment. The loop ends: a call given back leaves the crew's list, a step moves the
            // clock, and a job that falls due leaves the agenda or is put off to a later moment.
            if let Some((_, slot)) = returns.filter(|&(returned, _)| returned <= at) {
                self.crew.give_back(&mut self.jobs, slot);
                self.upstreams[self.jobs[slot].upstream as usize].slow = true;
            } else if steps == Some(at) {
                self.crew.step(self.queued, self.policy.capacity);
                self.clock = at;
            } else if let Some((_, slot)) = due {
                self.clock = at;
                self.fall_due(slot, at);
            }
        }
        self.clock = now;
        // Offers are brought up to date last and all at `now`, not one by one at their moments: they matter only
        // to a start, which happens now, and time alone skips no head (rule 24).
        while let Some((at, upstream)) = self.timers.peek() {
            if at > now {
                break;
            }
            self.refresh(upstream, now);
        }
        now
    }

    /// The upstream that a free worker goes to (rule 9).
    fn turn(&self, now: Moment) -> Option<u32> {
        if self.held || self.stopped || now < self.paused_until || !self.crew.has_free_worker() {
            return None;
        }
        let mut aged: Option<(Moment, u32)> = None;
        let mut urgent = None;
        for (class, offers) in self.offers.iter().enumerate() {
            let Some((_, upstream)) = offers.peek() else {
                continue;
            };
            // Classes come most urgent first, so the first offer is the one to fall back on.
            urgent = urgent.or(Some(upstream));
            let offer = self.upstreams[upstream as usize]
                .offer
                .expect("an upstream among the offers has one");
            // The lowest submit number of a class has also waited longest: numbers are given in order of time.
            let since = self.last_starts[class]
                .unwrap_or_default()
                .max(offer.head.at);
            if since + self.policy.aging <= now && aged.is_none_or(|(longest, _)| since < longest) {
                aged = Some((since, upstream));
            }
        }
        aged.map(|(_, upstream)| upstream).or(urgent)
    }

    /// Takes the job whose turn it is out of its queue. From then on it holds one of its upstream's calls in flight.
    fn choose(&mut self, now: Moment) -> Option<Chosen> {
        let upstream = loop {
            let upstream = self.turn(now)?;
            if !self.offers_under_way(upstream) {
                break upstream;
            }
            // A call with the same order key has started at another upstream since this offer was worked out.
            // Looking again makes the job stand aside, so each turn of this loop uses up one offer.
            self.refresh(upstream, now);
        };
        let up = &mut self.upstreams[upstream as usize];
        let offer = up
            .offer
            .expect("the turn goes to an upstream with an offer");
        up.in_flight += 1;
        let slot = offer.head.slot;
        self.leave_queue(slot);
        Some(Chosen {
            upstream,
            slot,
            since: offer.head.at,
        })
    }

    /// Starts a chosen job. It is counted before the call is made (rule 49): a crash in between then costs one call of
    /// the allowance, never one too many.
    fn start(&mut self, chosen: Chosen, now: Moment) -> Start {
        let Chosen {
            upstream,
            slot,
            since,
        } = chosen;
        let up = &mut self.upstreams[upstream as usize];
        let record = &mut self.jobs[slot];
        let index = queue::index(record.class, record.budget);
        up.queues[index].last_start = now;
        up.allowance_mut(record.budget).record(now);
        // Side calls and grabs leave the spacing clock alone.
        if record.budget == Budget::Query {
            // Rule 64: a refusal may have moved the clock further than that, which holds no probe.
            up.last_start = up.last_start.max(Some(now));
        }
        record.during_cooldown = up.health.cooling_until(now).is_some();
        let slow = up.slow;
        // From here on the record is that of a call: its number and time are those of the start.
        record.number = self.started;
        record.at = now;
        record.attempts = record.attempts.saturating_add(1);
        self.started += 1;
        self.last_starts[usize::from(record.class.0)] = Some(now);
        let (class, attempt, asker) = (record.class, record.attempts, record.asker);
        let budget = record.budget;
        self.crew.start(&mut self.jobs, slot, slow);
        // Rule 10: entered before the refresh below, so that a job of the same key that is next here stands aside.
        if let Some(order) = self.jobs.order(slot) {
            // A job that asked has entered it already, and others may stand aside for it.
            self.under_way.entry(order).or_default();
        }
        let reason = self.upstreams[upstream as usize].waits_for.take();
        // Rule 66: what it waited for itself.
        let deferred = self.jobs.take_deferred(slot);
        let reason = reason.or(deferred.then_some(Wait::Claimed));
        // What the refresh below decides comes after the start.
        let decided = self.decisions.len();
        self.mark_changed(upstream);
        self.refresh(upstream, now);
        Start {
            job: self.jobs.id(slot),
            upstream: UpstreamId(upstream),
            class,
            budget,
            attempt,
            asker,
            since,
            reason,
            decided,
        }
    }

    /// Works out anew what `upstream` offers, after anything about it has changed.
    fn refresh(&mut self, upstream: u32, now: Moment) {
        self.settle(upstream, now);
        let up = &mut self.upstreams[upstream as usize];
        let choice = up.choose(&self.jobs, self.policy.aging, now);
        self.timers.set(upstream, choice.changes);
        if up.offer != choice.offer {
            // An upstream stands in the heap of one class at most; within it, setting the rank anew is enough.
            if let Some(old) = up.offer.take()
                && choice.offer.is_none_or(|new| new.class != old.class)
            {
                self.offers[usize::from(old.class.0)].set(upstream, None);
            }
            if let Some(new) = choice.offer {
                self.offers[usize::from(new.class.0)].set(upstream, Some(new.head.number));
            }
            up.offer = choice.offer;
        }
        // What nobody waits for any more must not explain the start of a later job.
        if up.filled == 0 {
            if up.asking == JobSlot::NONE {
                up.waits_for = None;
            }
        } else if choice.offer.is_none() && choice.changes.is_some() {
            self.note_wait(upstream, now);
        }
    }

    /// Looks at the head of each queue: one whose order key is under way stands aside (rule 10), one whose
    /// turn would come too late is skipped (rule 24). Each step takes a job out of a queue, so it ends.
    fn settle(&mut self, upstream: u32, now: Moment) {
        let up = &self.upstreams[upstream as usize];
        // The ordinary case, in which no head can be in either state.
        if self.under_way.is_empty() && up.is_unhindered(now) {
            return;
        }
        // Probes accept any wait, so they are never skipped.
        while let Some(probe) = self.upstreams[upstream as usize].probe() {
            if !self.is_under_way(probe.slot) {
                break;
            }
            self.stand_aside(probe.slot);
        }
        for index in self.upstreams[upstream as usize].filled() {
            while let Some(head) = self.upstreams[upstream as usize].queues[index].head() {
                if self.is_under_way(head.slot) {
                    self.stand_aside(head.slot);
                } else if let Some(skip) = self.too_late(&self.demand(head.slot), now) {
                    self.skip(head.slot, skip, now);
                } else {
                    break;
                }
            }
        }
    }

    /// Whether a call with this job's order key is under way.
    fn is_under_way(&self, slot: JobSlot) -> bool {
        // Where no ordered call is under way, as in a front without order keys, the job's extras are not looked at.
        !self.under_way.is_empty()
            && self
                .jobs
                .order(slot)
                .is_some_and(|key| self.under_way.contains_key(&key))
    }

    /// Whether the job that this upstream offers would overlap with a call of the same order key.
    fn offers_under_way(&self, upstream: u32) -> bool {
        let offer = self.upstreams[upstream as usize].offer;
        offer.is_some_and(|offer| self.is_under_way(offer.head.slot))
    }

    /// The earliest moment at which there may be something to do without anything else happening.
    fn wake(&self) -> Option<Moment> {
        let waits_for_worker = self.offers.iter().any(|offers| offers.peek().is_some());
        let returns = self.crew.next_return(&self.jobs).map(|(at, _)| at);
        let steps = self
            .crew
            .next_step(self.queued, self.policy.capacity, self.clock);
        let resumes = (self.paused_until > self.clock).then_some(self.paused_until);
        // A worker given back, or the end of a pause, matters only to an offer that waits for it. Without these
        // conditions a front whose calls are all under way would be woken once for each of them.
        let moments = [
            returns.filter(|_| waits_for_worker && !self.crew.has_free_worker()),
            steps,
            resumes.filter(|_| waits_for_worker),
            self.agenda.next().map(|(due, _)| due),
            self.timers.peek().map(|(at, _)| at),
        ];
        moments.into_iter().flatten().min()
    }

    /// Leaves a decision about a job of the table.
    fn note(&mut self, slot: JobSlot, at: Moment, what: What) {
        let record = &self.jobs[slot];
        self.decide(Decision {
            upstream: UpstreamId(record.upstream),
            job: Some(self.jobs.id(slot)),
            at,
            class: Some(record.class),
            asker: record.asker,
            what,
        });
    }

    /// Leaves a decision about an upstream itself and no job of it.
    fn note_health(&mut self, upstream: u32, at: Moment, what: What) {
        self.decide(Decision {
            upstream: UpstreamId(upstream),
            job: None,
            at,
            class: None,
            asker: Asker::NOBODY,
            what,
        });
    }

    fn decide(&mut self, decision: Decision) {
        // Whoever keeps none does not have to fetch them either.
        if self.policy.records > 0 {
            self.decisions.push(decision);
        }
    }

    /// Records once that the first job in line has to wait, and for what.
    fn note_wait(&mut self, upstream: u32, now: Moment) {
        let up = &self.upstreams[upstream as usize];
        let Some(first) = up.filled().min_by_key(|&index| queue::kind(index)) else {
            return;
        };
        let (class, budget) = queue::kind(first);
        let (until, reason) = up.ready(class, budget, now);
        if until <= now || up.waits_for == Some(reason) {
            return;
        }
        let up = &mut self.upstreams[upstream as usize];
        up.waits_for = Some(reason);
        let head = up.queues[first]
            .head()
            .expect("the bit of an empty queue is not set");
        // As it is now: when the record is read, the window holds something else.
        let full = match reason {
            Wait::Window | Wait::Share => up.allowance(budget).full(now),
            Wait::Off | Wait::Cooldown | Wait::Gap => None,
            Wait::Agreeing | Wait::Claimed | Wait::Network => None,
        };
        let waits = What::Waits {
            reason,
            until,
            full,
        };
        self.note(head.slot, now, waits);
    }

    /// Notes that the upstream's row is to be kept anew; once, however often it changes before it is fetched.
    fn mark_changed(&mut self, upstream: u32) {
        let up = &mut self.upstreams[upstream as usize];
        if !std::mem::replace(&mut up.changed, true) {
            self.changed.push(UpstreamId(upstream));
        }
    }
}
