//! Whose turn is it? The reference model's answer, from scratch each time.

use std::cmp::Reverse;
use std::time::Duration;

use weir_dispatch::job::{Availability, JobId, UpstreamId};
use weir_dispatch::moment::Moment;
use weir_dispatch::policy::{Budget, Class};

use super::{Held, Model, Place};

const BUDGETS: [Budget; 3] = [Budget::Query, Budget::Side, Budget::Grab];

impl Model {
    /// The job that a free worker takes now.
    pub(super) fn pick(&self) -> Option<JobId> {
        let free = self.running() < self.crew() as usize;
        if self.held || self.shut || self.now < self.paused_until || !free {
            return None;
        }
        let candidates: Vec<&Held> = self
            .upstream_ids()
            .into_iter()
            .filter_map(|upstream| self.candidate(upstream))
            .collect();
        let class = self.worker_class(&candidates)?;
        candidates
            .into_iter()
            .filter(|held| held.class == class)
            .min_by_key(|held| held.number())
            .map(|held| held.id)
    }

    /// The class that the next free worker goes to: aged ones first, the longest wait of all.
    fn worker_class(&self, candidates: &[&Held]) -> Option<Class> {
        let mut aged: Vec<(Moment, Class)> = Vec::new();
        for class in self.classes() {
            let of_class = candidates.iter().filter(|held| held.class == class);
            let Some(submitted) = of_class.map(|held| held.since()).min() else {
                continue;
            };
            let since = match self.class_starts[usize::from(class.0)] {
                Some(last) => last.max(submitted),
                None => submitted,
            };
            if since + self.policy.aging <= self.now {
                aged.push((since, class));
            }
        }
        aged.into_iter()
            .min()
            .map(|(_, class)| class)
            .or_else(|| candidates.iter().map(|held| held.class).min())
    }

    /// The one job that this upstream offers now.
    fn candidate(&self, id: UpstreamId) -> Option<&Held> {
        let upstream = self.upstream(id)?;
        let under_way = self.under_way(id);
        if under_way >= upstream.quota.in_flight.max(1) as usize {
            return None;
        }
        let probe = self
            .queued_at(id)
            .filter(|held| held.job.probe && !self.stands_aside(held))
            .min_by_key(|held| held.number());
        if probe.is_some() {
            return probe;
        }
        if self.asks(id) {
            return None;
        }
        match upstream.state(self.now) {
            Availability::Open | Availability::Untried => {}
            Availability::Probing if under_way == 0 => {}
            _ => return None,
        }

        let heads = self.heads(id);
        let has_room = |held: &Held| upstream.windows_free(self.now, held.job.budget) <= self.now;
        let ready = |held: &Held| {
            let gap = self.gap(id, held.class);
            upstream
                .next_wait(self.now, gap, held.job.budget)
                .0
                .is_zero()
        };
        let query_slot = heads
            .iter()
            .any(|held| held.job.budget == Budget::Query && ready(held));

        let aged = heads
            .iter()
            .filter(|held| self.aged_at(held) <= self.now)
            .filter(|held| has_room(held) && (held.job.budget != Budget::Query || query_slot))
            .min_by_key(|held| (self.queue_since(held), held.class, held.number()));
        let urgent = heads
            .iter()
            .filter(|held| ready(held))
            .min_by_key(|held| (held.class, held.number()));
        aged.or(urgent).copied()
    }

    /// Since when the head of a queue counts as waiting: its submission or that queue's last start.
    fn queue_since(&self, head: &Held) -> Moment {
        let last = self
            .upstream(head.job.upstream)
            .and_then(|upstream| upstream.queue_start(head.class, head.job.budget));
        last.map_or(head.since(), |last| last.max(head.since()))
    }

    /// When the head of a queue becomes aged at its upstream.
    fn aged_at(&self, head: &Held) -> Moment {
        let gap = match head.job.budget {
            Budget::Query => self.gap(head.job.upstream, head.class),
            Budget::Side | Budget::Grab => Duration::ZERO,
        };
        self.queue_since(head) + self.policy.aging + gap
    }

    /// The first of each (class, budget) of an upstream, without probes and those that stand aside.
    pub(super) fn heads(&self, id: UpstreamId) -> Vec<&Held> {
        let mut heads = Vec::new();
        for class in self.classes() {
            for budget in BUDGETS {
                let head = self
                    .queued_at(id)
                    .filter(|held| held.class == class && held.job.budget == budget)
                    .filter(|held| !held.job.probe && !self.stands_aside(held))
                    .min_by_key(|held| held.number());
                heads.extend(head);
            }
        }
        heads
    }

    /// Whether a call with this job's order key is under way.
    fn stands_aside(&self, held: &Held) -> bool {
        held.job.order.is_some()
            && self.jobs.iter().any(|other| {
                matches!(other.place, Place::Running { .. } | Place::Asking { .. })
                    && other.job.order == held.job.order
            })
    }

    /// How long a class waits after the last start of an upstream.
    pub(super) fn gap(&self, id: UpstreamId, class: Class) -> Duration {
        self.upstream(id).map_or(Duration::ZERO, |upstream| {
            upstream.quota.gaps[usize::from(class.0)]
        })
    }

    /// Calls that kept their worker past their time give it back, the oldest first, if there is room;
    /// from then on their upstream is slow.
    pub(super) fn give_back(&mut self) {
        while self.may_wait() {
            let now = self.now;
            let slot_time = self.policy.crew.slot_time;
            let oldest = self
                .jobs
                .iter_mut()
                .filter_map(|held| match &mut held.place {
                    Place::Running { call, turn, worker }
                        if *worker && call.started + slot_time <= now =>
                    {
                        Some((*turn, worker, held.job.upstream))
                    }
                    _ => None,
                })
                .max_by_key(|&(turn, _, _)| Reverse(turn));
            let Some((_, worker, id)) = oldest else {
                return;
            };
            *worker = false;
            if let Some(upstream) = self.upstream_mut(id) {
                upstream.slow = true;
            }
        }
    }
}
