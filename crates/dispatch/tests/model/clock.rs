//! What time alone does in the reference model, in order of time.

use std::time::Duration;

use weir_dispatch::job::{End, JobId, Skip, UpstreamId};
use weir_dispatch::moment::Moment;

use super::{Model, Place};

impl Model {
    /// Applies everything that time alone does up to `now`.
    pub(super) fn advance(&mut self, now: Moment) {
        let now = now.max(self.now);
        while let Some(moment) = self.next_event(now) {
            // A step sees only the fill, which workers given back at its moment do not change.
            self.crew_steps(moment);
            self.now = moment;
            self.give_back();
            self.enter_due();
            self.skip_heads();
        }
        self.crew_steps(now);
        self.now = now;
    }

    /// The next moment until `now` at which a worker is given back or a scheduled job is due.
    fn next_event(&self, now: Moment) -> Option<Moment> {
        self.given_back_at()
            .into_iter()
            .chain(self.due_at())
            .filter(|&moment| moment <= now && moment < Moment::NEVER)
            .min()
            .map(|moment| moment.max(self.now))
    }

    /// When calls will give their worker back; none while no more may wait.
    fn given_back_at(&self) -> Vec<Moment> {
        if !self.may_wait() {
            return Vec::new();
        }
        let slot_time = self.policy.crew.slot_time;
        let times = self.jobs.iter().filter_map(|held| match held.place {
            Place::Running { call, worker, .. } if worker => Some(call.started + slot_time),
            _ => None,
        });
        times.collect()
    }

    fn due_at(&self) -> Vec<Moment> {
        let times = self.jobs.iter().filter_map(|held| match held.place {
            Place::Scheduled { due } => Some(due),
            _ => None,
        });
        times.collect()
    }

    /// Makes the crew's steps after `self.now` up to `moment`. Nothing else happens between them, so
    /// all of them see the same fill.
    fn crew_steps(&mut self, moment: Moment) {
        let step = nanos(self.policy.crew.step);
        if step == 0 {
            return;
        }
        let made = (self.now.0 - self.began.0) / step;
        let due = (moment.0 - self.began.0) / step;
        for _ in made..due {
            let size = self.crew_after_step();
            if size == self.crew {
                break;
            }
            self.crew = size;
        }
    }

    /// The size that a step at the present fill leads to.
    fn crew_after_step(&self) -> u32 {
        let queued = self.queued() as u64 * 100;
        let capacity = u64::from(self.policy.capacity);
        let rules = &self.policy.crew;
        if queued >= u64::from(rules.grow_at) * capacity {
            (self.crew + 1).min(rules.max.max(self.crew))
        } else if queued < u64::from(rules.shrink_below) * capacity {
            self.crew.saturating_sub(1).max(rules.base)
        } else {
            self.crew
        }
    }

    /// Moves every job that is due now from the agenda: to the queue, to its end, or put off.
    fn enter_due(&mut self) {
        let mut due: Vec<(Moment, JobId)> = Vec::new();
        for held in &self.jobs {
            if let Place::Scheduled { due: moment } = held.place
                && moment <= self.now
            {
                due.push((moment, held.id));
            }
        }
        due.sort();
        for (_, id) in due {
            self.enter_one(id);
        }
    }

    fn enter_one(&mut self, id: JobId) {
        let held = self.held(id).expect("listed by the caller").clone();
        if let Some(skip) = self.refusal(&held.job, held.class) {
            self.end(id, End::Skipped(skip));
        } else if let Some(reason) = self.no_room(held.job.upstream) {
            let put_off = self.policy.put_off.max(Duration::from_nanos(1));
            let due = self.now + put_off;
            self.tell_put_off(held.job.upstream, id, due, reason);
            self.place(id, Place::Scheduled { due });
        } else {
            let place = match self.deferred.get(&id) {
                Some(&(number, since)) => Place::Queued { number, since },
                None => self.queue_place(),
            };
            self.place(id, place);
        }
    }

    /// Skips heads whose upstream's next wait exceeds what they accept, until none does.
    pub(super) fn skip_heads(&mut self) {
        for upstream in self.upstream_ids() {
            while let Some((id, skip)) = self.impatient_head(upstream) {
                self.end(id, End::Skipped(skip));
            }
        }
    }

    fn impatient_head(&self, upstream: UpstreamId) -> Option<(JobId, Skip)> {
        self.heads(upstream).into_iter().find_map(|head| {
            let skip = self.too_long(&head.job, head.class)?;
            Some((head.id, skip))
        })
    }

    /// A moment after now before which time alone changes nothing; `None` if it never does. Aging
    /// needs no moment of its own: it changes who takes a slot, never when there is one.
    pub(super) fn wake(&self) -> Option<Moment> {
        let mut moments = self.given_back_at();
        moments.extend(self.due_at());
        let step = nanos(self.policy.crew.step);
        if step > 0 && self.crew_after_step() != self.crew {
            let made = (self.now.0 - self.began.0) / step;
            moments.push(Moment(self.began.0.saturating_add((made + 1) * step)));
        }
        if self.queued() > 0 {
            moments.push(self.paused_until);
        }
        for held in self.all_queued() {
            let (wait, _) = self.wait_of(&held.job, held.class);
            moments.push(self.now + wait);
        }
        moments
            .into_iter()
            .filter(|&moment| moment > self.now && moment < Moment::NEVER)
            .min()
    }

    /// The first moment at which a job would start if nothing else happened: tries them all.
    pub fn earliest_start(&self, now: Moment) -> Option<Moment> {
        let mut model = self.clone();
        model.advance(now);
        loop {
            if model.pick().is_some() {
                return Some(model.now);
            }
            let moment = model.wake()?;
            let due: Vec<JobId> = model
                .jobs
                .iter()
                .filter(|held| matches!(held.place, Place::Scheduled { due } if due <= moment))
                .map(|held| held.id)
                .collect();
            model.advance(moment);
            // What was put off found no room, and without a start there never is any: forget it, or
            // this would go on for ever.
            model.jobs.retain(|held| {
                !(matches!(held.place, Place::Scheduled { .. }) && due.contains(&held.id))
            });
        }
    }
}

/// `span` in nanoseconds; five centuries where that does not fit.
pub(super) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
