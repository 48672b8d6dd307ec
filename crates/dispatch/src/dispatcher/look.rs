//! What can be seen from outside: counts, one upstream's state, rows for the store.
//!
//! Questions whose answer depends on what time brings about (`status`, `upstream`) let it happen first and therefore take
//! `&mut self`; the others only read.

use crate::cooldown::{Cooldown, SavedHealth};
use crate::job::{Availability, JobId, UpstreamId};
use crate::jobs::{JobPlace, JobSlot};
use crate::moment::Moment;
use crate::policy::{Budget, Class, Quota};
use crate::quota::{SavedWindow, WindowUse};
use crate::record::{Asker, Decision};
use crate::upstream::Upstream;

use super::Dispatcher;

/// Counts of one front.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Jobs in queues, among the probes and standing aside.
    pub queued: u32,
    /// How many of those there may be.
    pub capacity: u32,
    /// Jobs on the agenda, which do not count as queued.
    pub scheduled: u32,
    /// Calls that hold a worker, and jobs that ask whether they may start; after the crew shrank there may be more than `crew`.
    pub busy: u32,
    /// Calls under way that hold none.
    pub waiting: u32,
    /// How many workers there are, busy or not.
    pub crew: u32,
    /// Nothing starts before this, because our own network was down.
    pub paused_until: Option<Moment>,
}

impl Status {
    /// Queued jobs in whole percent of the capacity.
    pub fn fill_percent(&self) -> u32 {
        // A queue without capacity holds nothing: 0 % full, and every submission is refused.
        let percent = u64::from(self.queued) * 100 / u64::from(self.capacity.max(1));
        u32::try_from(percent).unwrap_or(u32::MAX)
    }
}

/// One upstream as a person sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamStatus {
    /// Whether it is called, and until when not.
    pub state: Availability,
    /// The cooldown that no success has ended yet; it may be over.
    pub cooldown: Option<Cooldown>,
    /// Its rung on the ladder; 0 is healthy.
    pub rung: u8,
    /// Failures in a row, up to the threshold and beyond.
    pub failures: u32,
    /// Its part of [`Status::queued`].
    pub queued: u32,
    /// Calls under way, with or without a worker, and a job that asks whether it may start.
    pub in_flight: u32,
    /// Whether its calls hold no worker from their start on, where there is room for them to wait.
    pub slow: bool,
    /// When a call of budget Query last started, at this node or, as far as it was told, at another: where the spacing
    /// clock stands.
    pub last_start: Option<Moment>,
    /// Its limited windows for queries.
    pub query: Vec<WindowUse>,
    /// Its limited windows for grabs.
    pub grab: Vec<WindowUse>,
}

/// What is kept of an upstream across a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedUpstream {
    /// Cooldown, rung, failures, and the operator's switch.
    pub health: SavedHealth,
    /// The spacing clock.
    pub last_start: Option<Moment>,
    /// The windows of queries that have a limit, each length once.
    pub query: Vec<SavedWindow>,
    /// The windows of grabs that have a limit, each length once.
    pub grab: Vec<SavedWindow>,
}

/// What is kept of a scheduled job across a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedJob {
    /// Its id in this run; after a restart it gets another.
    pub job: JobId,
    /// Whom it calls; an id of this run too.
    pub upstream: UpstreamId,
    /// The class that it will be queued in.
    pub class: Class,
    /// The allowance that it will use.
    pub budget: Budget,
    /// When it is due; one that was put off has a later moment than it asked for.
    pub due: Moment,
    /// Attempts used up so far, for [`Job::attempts_made`](crate::Job::attempts_made).
    pub attempts_made: u8,
}

impl Dispatcher {
    /// The front's counts.
    pub fn status(&mut self, now: Moment) -> Status {
        let now = self.advance(now);
        Status {
            queued: self.queued,
            capacity: self.policy.capacity,
            scheduled: u32::try_from(self.agenda.len()).unwrap_or(u32::MAX),
            busy: self.crew.busy(),
            waiting: self.crew.waiting(),
            crew: self.crew.size(),
            paused_until: self.paused_until(now),
        }
    }

    /// Until when nothing starts, because our own network was down.
    pub fn paused_until(&self, now: Moment) -> Option<Moment> {
        let now = now.max(self.clock);
        (self.paused_until > now).then_some(self.paused_until)
    }

    /// The most workers there may be, and the fill in percent at which they become more.
    pub fn crew_limits(&self) -> (u32, u32) {
        self.crew.limits()
    }

    /// All that a page shows of one upstream, unless it is gone.
    pub fn upstream(&mut self, now: Moment, upstream: UpstreamId) -> Option<UpstreamStatus> {
        let now = self.advance(now);
        let up = self.seen(upstream)?;
        Some(UpstreamStatus {
            state: up.health.state(now),
            cooldown: up.health.cooldown(),
            rung: up.health.rung(),
            failures: up.health.failures(),
            queued: up.queued,
            in_flight: up.in_flight,
            slow: up.slow,
            last_start: self.last_start_of(up),
            query: up.query.uses(now).collect(),
            grab: up.grab.uses(now).collect(),
        })
    }

    /// Whether an upstream is called, unless it is gone.
    pub fn state(&self, now: Moment, upstream: UpstreamId) -> Option<Availability> {
        let now = now.max(self.clock);
        self.seen(upstream).map(|up| up.health.state(now))
    }

    /// What an upstream allows, unless it is gone.
    pub fn quota(&self, upstream: UpstreamId) -> Option<&Quota> {
        self.seen(upstream).map(Upstream::quota)
    }

    /// The class of a job that has not ended, and who asked for it.
    pub fn asked_by(&self, job: JobId) -> Option<(Class, Asker)> {
        let record = &self.jobs[self.jobs.find(job)?];
        Some((record.class, record.asker))
    }

    /// Whether calls of this budget count in a window that a restart must not forget.
    pub fn is_limited(&self, upstream: UpstreamId, budget: Budget) -> bool {
        self.seen(upstream)
            .is_some_and(|up| up.allowance(budget).is_limited())
    }

    /// The decisions that nobody has taken yet, oldest first. A start is not among them: [`Start`] itself says all of it,
    /// and where it belongs.
    ///
    /// [`Start`]: crate::Start
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// Moves the decisions since the last call to the end of `taken`, oldest first. They are kept until they are taken.
    pub fn take_decisions(&mut self, taken: &mut Vec<Decision>) {
        match taken.is_empty() {
            true => std::mem::swap(taken, &mut self.decisions),
            false => taken.append(&mut self.decisions),
        }
    }

    /// The same for the first `count` of them alone.
    pub fn take_first_decisions(&mut self, count: usize, taken: &mut Vec<Decision>) {
        let count = count.min(self.decisions.len());
        taken.extend(self.decisions.drain(..count));
    }

    /// Whether any row of an upstream or of the agenda changed since they were last taken.
    pub fn has_changes(&self) -> bool {
        !self.changed.is_empty() || !self.agenda_changes.is_empty()
    }

    /// The upstreams whose rows changed since the last call, each once. Their rows are read by [`Self::row`].
    pub fn take_changed(&mut self) -> Vec<UpstreamId> {
        for upstream in &self.changed {
            self.upstreams[upstream.0 as usize].changed = false;
        }
        std::mem::take(&mut self.changed)
    }

    /// The jobs that came to the agenda or left it since the last call; some may have ended. They are
    /// kept until they are taken, so also who stores none takes them.
    pub fn take_agenda_changes(&mut self) -> Vec<JobId> {
        std::mem::take(&mut self.agenda_changes)
    }

    /// What to keep of an upstream, unless it is gone.
    pub fn row(&self, upstream: UpstreamId) -> Option<SavedUpstream> {
        let up = self.seen(upstream)?;
        Some(SavedUpstream {
            health: up.health.row(),
            last_start: self.last_start_of(up),
            query: up.query.rows(),
            grab: up.grab.rows(),
        })
    }

    /// What to keep of a job, if it is on the agenda.
    pub fn agenda_row(&self, job: JobId) -> Option<SavedJob> {
        let slot = self.jobs.find(job)?;
        (self.jobs[slot].place == JobPlace::Scheduled).then(|| self.row_of(slot))
    }

    /// All rows of the agenda, soonest first.
    pub fn agenda_rows(&self) -> impl Iterator<Item = SavedJob> + '_ {
        self.agenda.iter().map(|(_, slot)| self.row_of(slot))
    }

    /// How many jobs of an upstream are on the agenda, and the soonest of them, at most so many: O(log jobs + `most`).
    pub fn agenda_of(
        &mut self,
        now: Moment,
        upstream: UpstreamId,
        most: usize,
    ) -> (usize, Vec<SavedJob>) {
        // What is due by now is not on it any more.
        self.advance(now);
        let Some(up) = self.seen(upstream) else {
            return (0, Vec::new());
        };
        let next = up.scheduled.values().take(most);
        let rows = next.map(|slot| self.row_of(*slot)).collect();
        (up.scheduled.len(), rows)
    }

    /// Takes a stored row in for an upstream that was just added (rules 52 and 53).
    pub fn restore(&mut self, now: Moment, upstream: UpstreamId, row: &SavedUpstream) {
        let now = self.advance(now);
        let health = crate::cooldown::Health::restore(&self.policy.failure, &row.health, now);
        let Some(up) = self.upstreams.get_mut(upstream.0 as usize) else {
            return;
        };
        up.health = health;
        // Rule 52: a start in the future, written by a clock that was ahead, would hold the upstream for longer than
        // its spacing.
        up.last_start = row.last_start.map(|start| start.min(now));
        up.query.restore(&row.query, now);
        up.grab.restore(&row.grab, now);
        self.refresh(upstream.0, now);
    }

    fn row_of(&self, slot: JobSlot) -> SavedJob {
        let record = &self.jobs[slot];
        SavedJob {
            job: self.jobs.id(slot),
            upstream: UpstreamId(record.upstream),
            class: record.class,
            budget: record.budget,
            due: record.at,
            attempts_made: record.attempts,
        }
    }

    /// Where the spacing clock stands; now at the latest, also where a refusal has moved it into the future.
    fn last_start_of(&self, up: &Upstream) -> Option<Moment> {
        up.last_start.map(|last| last.min(self.clock))
    }

    /// The upstream with this id, unless it is gone.
    fn seen(&self, upstream: UpstreamId) -> Option<&Upstream> {
        self.upstreams
            .get(upstream.0 as usize)
            .filter(|up| !up.gone)
    }
}
