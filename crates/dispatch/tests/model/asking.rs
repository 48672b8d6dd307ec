//! Permission of the nodes that share an upstream, in the reference model: rules 56 to 66.

use std::time::Duration;

use weir_dispatch::job::{Ask, Availability, End, JobId, Refused, Start, UpstreamId, Wait};
use weir_dispatch::moment::Moment;
use weir_dispatch::policy::{Budget, Class, FailurePolicy};

use super::allowance::{CooldownKind, Upstream};
use super::{Held, Model, Place};

impl Model {
    pub fn share(&mut self, now: Moment, id: UpstreamId, shared: bool) {
        self.advance(now);
        if let Some(upstream) = self.upstream_mut(id) {
            upstream.shared = shared;
            if !shared {
                upstream.held_windows.clear();
            }
        }
        self.skip_heads();
    }

    pub fn grant(&mut self, now: Moment, id: JobId) -> Option<Start> {
        self.advance(now);
        let held = self.asking(id)?;
        let Place::Asking { gap, .. } = held.place else {
            return None;
        };
        let up = held.job.upstream;
        let upstream = self.upstream(up)?;
        let (wait, _) = upstream.next_wait(self.now, gap, held.job.budget);
        let probing = upstream.state(self.now) == Availability::Probing;
        let stopped = self.held || self.now < self.paused_until;
        let starts = !stopped && wait.is_zero() && !(probing && self.under_way(up) > 1);
        self.back_to_queue(id);
        if starts {
            return Some(self.start(id));
        }
        self.skip_heads();
        None
    }

    pub fn refuse(&mut self, now: Moment, id: JobId, refused: Refused) -> bool {
        self.advance(now);
        let Some(held) = self.asking(id) else {
            return false;
        };
        let Place::Asking { gap, .. } = held.place else {
            return false;
        };
        self.back_to_queue(id);
        let (up, budget) = (held.job.upstream, held.job.budget);
        let shortest = self.now + Duration::from_millis(1);
        let longest = self.now + Duration::from_secs(86_400);
        let until = refused.until.clamp(shortest, longest);
        let cools = refused.reason == Wait::Cooldown && self.hear(up, refused.until);
        let upstream = self.upstream_mut(up).expect("its job asked");
        if refused.reason == Wait::Gap && budget == Budget::Query {
            upstream.last_start = upstream.last_start.max(Some(until - gap));
        } else if !cools {
            let windows = match budget {
                Budget::Grab => Budget::Grab,
                Budget::Query | Budget::Side => Budget::Query,
            };
            upstream.held_windows.retain(|held| held.0 != windows);
            let held = (refused.reason, refused.full);
            upstream.held_windows.push((windows, until, held));
        }
        self.skip_heads();
        true
    }

    pub fn put_back(&mut self, now: Moment, id: JobId) -> bool {
        self.advance(now);
        let asked = self.asking(id).is_some();
        self.back_to_queue(id);
        self.skip_heads();
        asked
    }

    pub fn defer(&mut self, now: Moment, id: JobId, until: Moment) -> bool {
        self.advance(now);
        let Some(held) = self.held(id).cloned() else {
            return false;
        };
        let refusal = match held.place {
            Place::Asking { .. } => self.agenda_refusal(&held.job),
            Place::Scheduled { .. } => None,
            Place::Queued { .. } | Place::Running { .. } => return false,
        };
        let due = until.max(self.now);
        match refusal {
            Some(reason) => self.end(id, End::Dropped(reason)),
            None => {
                if let Place::Asking { number, since, .. } = held.place {
                    self.deferred.insert(id, (number, since));
                }
                self.place(id, Place::Scheduled { due });
            }
        }
        self.skip_heads();
        true
    }

    pub fn answered(&mut self, now: Moment, id: JobId) -> bool {
        self.advance(now);
        let place = self.held(id).map(|held| held.place);
        if matches!(place, None | Some(Place::Running { .. })) {
            return false;
        }
        self.end(id, End::Answered);
        self.skip_heads();
        true
    }

    pub fn throttle(&mut self, now: Moment, id: UpstreamId, until: Moment) {
        self.advance(now);
        self.hear(id, until);
        self.skip_heads();
    }

    /// Whether this job has to ask before it starts.
    pub(super) fn has_to_ask(&self, held: &Held) -> bool {
        let job = &held.job;
        let Some(upstream) = self.upstream(job.upstream) else {
            return false;
        };
        let spaced = upstream.quota.gaps.iter().any(|gap| !gap.is_zero());
        let windows = match job.budget {
            Budget::Grab => Budget::Grab,
            Budget::Query | Budget::Side => Budget::Query,
        };
        let limited = upstream
            .counters
            .iter()
            .any(|counter| counter.budget == windows && upstream.limit(counter).is_some());
        let reason = job.claims || limited || (job.budget == Budget::Query && spaced);
        upstream.shared && !job.probe && reason
    }

    /// A picked job asks.
    pub(super) fn ask(&mut self, id: JobId) -> Ask {
        let held = self.held(id).expect("picked").clone();
        let up = held.job.upstream;
        let own = self.gap(up, held.class);
        let upstream = self.upstream(up).expect("picked");
        let passed = upstream
            .last_start
            .is_none_or(|last| last + own <= self.now);
        let mut gap = own;
        if held.job.budget == Budget::Query && !passed {
            let others = self.heads(up).into_iter().filter(|other| other.id != id);
            let queries = others.filter(|other| other.job.budget == Budget::Query);
            // The next of its own queue waits as well, with the same gap.
            gap = queries
                .map(|other| self.gap(up, other.class))
                .min()
                .unwrap_or(own)
                .min(own);
        }
        let (number, since) = (held.number(), held.since());
        self.place(id, Place::Asking { number, since, gap });
        self.skip_heads();
        Ask {
            job: id,
            upstream: up,
            class: held.class,
            budget: held.job.budget,
            gap: (held.job.budget == Budget::Query).then_some(gap),
            attempt: held.made.saturating_add(1),
            asker: held.job.asker,
            since,
        }
    }

    /// Whether a job of this upstream asks.
    pub(super) fn asks(&self, id: UpstreamId) -> bool {
        let here = |held: &&Held| held.job.upstream == id;
        let mut jobs = self.jobs.iter().filter(here);
        jobs.any(|held| matches!(held.place, Place::Asking { .. }))
    }

    /// Puts the jobs of an upstream that ask back into their queues.
    pub(super) fn recall(&mut self, id: UpstreamId) {
        let here: Vec<JobId> = self
            .jobs
            .iter()
            .filter(|held| held.job.upstream == id)
            .map(|held| held.id)
            .collect();
        for job in here {
            self.back_to_queue(job);
        }
    }

    /// Puts a job that asks back where its number belongs.
    fn back_to_queue(&mut self, id: JobId) {
        if let Some(Place::Asking { number, since, .. }) = self.held(id).map(|held| held.place) {
            self.place(id, Place::Queued { number, since });
        }
    }

    fn asking(&self, id: JobId) -> Option<Held> {
        self.held(id)
            .filter(|held| matches!(held.place, Place::Asking { .. }))
            .cloned()
    }

    /// Another node was told to leave this upstream alone. Says whether a cooldown began or grew.
    fn hear(&mut self, id: UpstreamId, until: Moment) -> bool {
        let (now, rules) = (self.now, self.policy.failure.clone());
        let began = self
            .upstream_mut(id)
            .is_some_and(|upstream| upstream.hear(now, &rules, until));
        if began {
            self.judge_queued(id);
        }
        began
    }

    /// Calls in flight, and a job that asks.
    pub fn in_flight(&self, id: UpstreamId) -> usize {
        self.under_way(id)
    }

    /// Where the spacing clock is shown to stand.
    pub fn last_start(&self, id: UpstreamId) -> Option<Moment> {
        let last = self.upstream(id)?.last_start;
        last.map(|last| last.min(self.now))
    }
}

impl Upstream {
    fn hear(&mut self, now: Moment, rules: &FailurePolicy, until: Moment) -> bool {
        let until = until.min(now + rules.longest);
        let own = self
            .cooling(now)
            .map_or(now, |own| own.until + Duration::from_secs(1));
        until > own && self.begin_cooldown(now, CooldownKind::Cooldown, until)
    }
}
