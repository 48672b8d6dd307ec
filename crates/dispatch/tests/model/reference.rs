//! The reference model of the dispatcher: plain lists and full scans, obviously right and slow. Tests
//! compare the real dispatcher with it; where the design leaves something open, this model decides.
//!
//! # Ambiguities
//!
//! Queues, slots and workers
//!  1. "FIFO is strict per (upstream, class)": per upstream, class *and* budget, so that a grab never
//!     waits behind a query that waits for spacing. Within the most urgent class, the head with the
//!     lowest submit number among those that could start goes first.
//!  2. "that class's last start there": the last start of the same (class, budget) at this upstream. A
//!     queue is aged at exactly `since + aging + gap`; the gap of `Side` and `Grab` is 0. Longest wait is
//!     the earliest `since`; of equal ones the more urgent class, then the lower submit number.
//!  3. "takes the slot that opened for another class": an aged `Query` queue starts only while the gap of
//!     some waiting `Query` class has passed and its windows have room; a slot that is open for `Side` or
//!     `Grab` is none for it. So two `Query` starts are never closer than the smallest waiting gap.
//!  4. "whose candidates have waited `aging` since that class last started on this front": since the later
//!     of that start and the submission of the class's longest-waiting candidate. The earliest goes
//!     first; of equal ones the more urgent class.
//!  5. "head of the queue": the first of its queue that does not stand aside. A job stands aside exactly
//!     while a call with its order key is under way, counts as queued, and is judged for its max-wait
//!     only when a rest begins.
//!  6. "then to the lowest submit number": a job has its submit number and its submission time from the
//!     moment it enters the queue; a job from the agenda gets both when due (the due moment, however
//!     late the dispatcher is asked).
//!  8. "only the in-flight limit holds" an operator's probe: of what its upstream demands. A worker, its
//!     order key, `hold` and the pause of the front hold it too; it needs room in the queue; it counts in
//!     windows and starts the spacing clock of its budget like any call. It belongs to no queue (no head,
//!     no aging at the upstream) and is one call: there is no further attempt.
//!  9. Times "have passed" at exactly their moment: gap, window, rest, pause, aging and due all hold at
//!     `≤ now`. A start leaves a sliding window exactly `window` after it; one made at a reset
//!     belongs to the new day.
//! 10. A class beyond the last of the policy counts as the last. `in_flight`, `attempts` of 0 count as 1.
//!
//! Submission
//! 11. The order of checks: gone, shutdown, duplicate (pending key), not-before (agenda: scheduled key,
//!     then agenda full), off, rest, max-wait, queue full, backlog.
//! 12. "a later time than now puts it on the agenda": whatever the state of its upstream; state is asked
//!     when it is due.
//! 13. `OnRest::End` during a rest: skipped with reason `Rest`, the rest's remaining time, no limit; it comes
//!     before max-wait. Off: reason `Off`, neither wait nor limit. Max-wait: `wait > limit`, with the limit.
//! 14. "events go to the agenda": for both queue full and backlog, due after `put_off`, under the same two
//!     checks of the agenda; what the agenda refuses ends as dropped, for the agenda's reason.
//! 15. "2 × capacity ÷ upstreams": upstreams present, also resting or off ones; whole division; "a single
//!     upstream all". Jobs queued before the share shrank stay.
//! 16. "due jobs that find the queue full are put off": for queue full and backlog, in every class, from the due
//!     moment, without asking the agenda (they never left it). Jobs due at the same moment enter by job id.
//! 17. A due job meets: off (skipped), rest with `OnRest::End` (skipped), max-wait (skipped), no room (put
//!     off), else it is queued.
//! 18. Within one operation, the order of ends is not promised.
//! 19. `raise` does not judge the job as a submission does: only the max-wait of its new class at the head
//!     counts. A raised job keeps its submission time, so it may be aged at once.
//!
//! Max-wait
//! 20. "at the head of the queue": after every operation and every change by time, each head whose next
//!     wait exceeds its limit is skipped, then the one behind it. Next waits grow only through
//!     operations, so time alone never skips a head.
//! 21. "when a cooldown begins": all queued jobs of the upstream, not only heads; probes stay. A rest that is
//!     made longer begins anew.
//! 22. "cooldown, gap, window": neither in-flight limit, nor probing, workers, hold or pause are part of the
//!     next wait. While off, or gone, it lasts until `Moment::NEVER` with reason `Off`.
//!
//! Rests
//! 23. "failures of calls that started before it do not count": nor do their successes, ever, even when
//!     the rest is over or cleared. Only a time that the upstream names (`retry_after`, `at_least`) begins
//!     a rest through them.
//! 24. "A shorter one never replaces a longer one": compared by end; of equal ends the first stays; a longer
//!     one brings its own kind. A rest that is over (probing) is replaced by any.
//! 25. "one rung per failed try after a cooldown": an `Unavailable` attempt of a call that started while
//!     probing climbs at once and ends its job, whatever attempts are left; the rest keeps its kind. If the
//!     rest was cleared meanwhile, the call counts like any other.
//! 26. "probing with nothing in flight": no call of any kind, also none that started before the rest.
//! 27. An operator's probe that starts during a rest: a failure changes nothing unless a longer time is
//!     named, a success heals. While off without a rest, or probing, it counts like any other call.
//! 28. `Throttled` with a named time or with `FailurePolicy::throttled` rests for that time and neither
//!     climbs nor counts as a failure, also while probing; with neither it climbs at once (cooldown). A
//!     named time of 0 counts as none. Named times are cut to `longest`, ladder and `throttled` are not.
//! 29. `Rejected` climbs one rung at once, disabled, for the longer of that rung and `at_least`. At the
//!     top of the ladder the last rung repeats.
//! 30. "so many in a row": only used-up jobs count while open; `No`, `Again` and `Done` set failures and rung
//!     to 0; `OurNetwork` and `Panicked` change neither, and leave a probing upstream probing.
//! 31. A job with attempts left whose upstream rests or is off by then goes to the agenda all the same; what
//!     it meets when due decides.
//! 32. `clear` also sets failures to 0 while open; it does not touch off. Rests begin and end unseen while off.
//!
//! Attempts
//! 33. `Again` uses up no attempt, so the next start has the same number, without jitter; but it is a call after
//!     the first, so the job takes `again_class` as after `Unavailable` and `OurNetwork`.
//! 34. A further attempt meets, in this order: gone, shutdown, scheduled key, agenda full; each ends the job
//!     with that reason instead of the attempt's outcome, and counts as no failure.
//! 35. "× 2^(n−1) × (1000 + jitter)/1000": exact, rounded down once at the end, cut to `u64::MAX` ns. n is the
//!     number of attempts used up, the last one included. More jitter than 500 counts as 500.
//! 36. "calls pause": from `finish` on, the longest pause holds; pauses stop starts, nothing else. An
//!     agenda entry for now (`Again` after 0) is due before the next operation.
//!
//! Crew
//! 37. "+1 per second": steps fall on the grid from `new` on, also in the middle of a jump; each sees the fill
//!     just before it. Order at one moment: workers given back, step, agenda, then the operation.
//! 38. "a worker leaves only between calls": the size falls at once; nothing starts until fewer calls hold a
//!     worker than that. `set_crew` puts the size between its numbers at once; a max below base counts as base.
//! 39. "a call older than 1 s": at exactly `slot_time`. When waiting is full, the call that started first
//!     gives its worker back as soon as a waiting one ends. `running` counts calls that hold a worker,
//!     `waiting` the others.
//!
//! Windows
//! 40. A window counts starts only while it has a limit (configured or learned): without one there is nothing
//!     to remember, and a limit that comes later begins empty. A changed limit keeps its starts.
//! 41. "It counts where nothing is configured": a `Usage` about a configured window is ignored whole. What was
//!     used elsewhere counts in the named window only. A learned limit of 0 counts as 1; a configured
//!     0 never opens. What was told is forgotten at the first start of its budget two windows later, and when
//!     an operator clears a rest; after a restart, half a window later.
//!
//! Restart
//! 42. "the longest its kind allows": the longest of ladder and `longest`, for a cooldown also `throttled`.
//!     Due times are not cut; a due time in the past is now. Aging and pause begin anew;
//!     entries of upstreams without a row are left out; ids are given anew in order.
//!
//! Slow upstreams (a departure)
//! 43. "a call older than 1 s gives its slot back, so dead upstreams never hold the crew": by age alone they
//!     hold it for `slot_time` at each call. Here they hold it once: an upstream is slow from the
//!     moment one of its calls gives its worker back until one of its calls ends, with any outcome, less
//!     than `slot_time` after its start. A call that starts there while fewer than `waiting_max` wait
//!     needs a free worker as ever, but holds none: it waits from its start to its end. With no room
//!     to wait it holds its worker and gives it back by 39, not as soon as there is room. Calls that run
//!     when their upstream becomes slow keep to 39. The in-flight limit holds.
//! 44. What makes an upstream slow is the worker given back, at `slot_time` or later when there is room, not the
//!     age: a call that ends old with its worker makes nothing slow, nor does one that waits from its start
//!     and grows old. Since time goes before the operation (37), a call that ends at exactly `slot_time`
//!     has given its worker back, and one that starts at that moment meets a slow upstream.
//! 45. An early end counts whenever its call started, and while others of that upstream still wait. Within
//!     `finish` the end comes first and then the workers given back: they may make it slow again, and they
//!     take the room to wait before any call that starts.
//! 46. Every attempt is a call, an operator's probe too. `clear`, off and on, `set_quota`, `set_crew` and rests
//!     leave slowness alone; a restart forgets it. With a `slot_time` of 0 no end is early.
#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    missing_docs,
    reason = "included by several test targets, each of which uses a part"
)]

mod allowance;
mod choice;
mod clock;
mod entry;
mod restart;

use std::time::Duration;

use weir_dispatch::job::{
    After, Drop, End, Entry, Finish, Job, JobId, Next, Start, State, UpstreamId, Wait,
};
use weir_dispatch::moment::Moment;
use weir_dispatch::policy::{Budget, Class, ClassPolicy, Policy, Quota, Usage};

use allowance::{Call, Upstream};
pub use allowance::{Counter, Rest, RestKind};
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
}

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
    Queued { number: u64, since: Moment },
    Scheduled { due: Moment },
    Running { call: Call, turn: u64, worker: bool },
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
            crew: policy.crew.base,
            class_starts: vec![None; policy.classes.len()],
            paused_until: now,
            held: false,
            shut: false,
            last_id: 0,
            last_number: 0,
            last_turn: 0,
            ended: Vec::new(),
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
        self.end_all(End::Dropped(Drop::Gone), |held| held.job.upstream == id);
        if let Some(upstream) = self.upstream_mut(id) {
            upstream.gone = true;
        }
    }

    pub fn set_quota(&mut self, now: Moment, id: UpstreamId, quota: Quota) {
        self.advance(now);
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

    /// Ends a rest; the upstream is open and nothing is held against it.
    pub fn clear(&mut self, now: Moment, id: UpstreamId) {
        self.advance(now);
        if let Some(upstream) = self.upstream_mut(id) {
            upstream.clear();
            upstream.forget_all_told();
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

    pub fn submit(&mut self, now: Moment, job: Job) -> Entry {
        self.advance(now);
        self.enter(job)
    }

    pub fn cancel(&mut self, now: Moment, id: JobId) -> bool {
        self.advance(now);
        match self.held(id).map(|held| held.place) {
            Some(Place::Queued { .. } | Place::Scheduled { .. }) => {
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
            rests: upstream.rests,
        };
        let worker = !(upstream.slow && may_wait);
        self.class_starts[usize::from(held.class.0)] = Some(now);
        self.last_turn += 1;
        let turn = self.last_turn;
        self.place(id, Place::Running { call, turn, worker });
        self.skip_heads();
        Start {
            job: id,
            upstream: held.job.upstream,
            class: held.class,
            attempt: held.made.saturating_add(1),
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
        let rest_began = self
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
            Some(_) if self.upstream(held.job.upstream).is_none() => Err(End::Dropped(Drop::Gone)),
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
        if rest_began {
            self.judge_queued(held.job.upstream);
        }
        self.give_back();
        self.skip_heads();
        after.map_or(After::Ended, After::Scheduled)
    }

    pub fn take_ended(&mut self) -> Vec<(JobId, End)> {
        std::mem::take(&mut self.ended)
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

    /// Calls that hold a worker.
    pub fn running(&self) -> usize {
        let busy = |held: &&Held| matches!(held.place, Place::Running { worker: true, .. });
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

    /// How full the queue is, rounded down.
    pub fn fill_percent(&self) -> u32 {
        match self.policy.capacity as usize {
            0 => 100,
            capacity => (self.queued() * 100 / capacity) as u32,
        }
    }

    pub fn state(&self, now: Moment, id: UpstreamId) -> State {
        self.upstream(id)
            .map_or(State::Off, |upstream| upstream.state(now.max(self.now)))
    }

    pub fn rung(&self, id: UpstreamId) -> u8 {
        self.upstream(id).map_or(0, |upstream| upstream.rung)
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

    /// Judges all queued jobs of an upstream that began to rest or was switched off.
    fn judge_queued(&mut self, id: UpstreamId) {
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
        self.jobs.retain(|held| held.id != id);
        self.ended.push((id, end));
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

    /// Calls of an upstream that have started and not finished.
    fn under_way(&self, id: UpstreamId) -> usize {
        self.jobs
            .iter()
            .filter(|held| held.job.upstream == id)
            .filter(|held| matches!(held.place, Place::Running { .. }))
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
