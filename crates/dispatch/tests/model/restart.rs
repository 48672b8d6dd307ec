//! What the reference model keeps across a restart.

use weir_dispatch::job::{Job, UpstreamId};
use weir_dispatch::moment::Moment;
use weir_dispatch::policy::{FailurePolicy, Policy, Quota};

use super::allowance::{Cooldown, CooldownKind, Counter, Upstream};
use super::{Model, Place};

/// What is kept of one upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its id in the dispatcher that wrote the row.
    pub upstream: UpstreamId,
    /// What is configured; not stored, but given again at the start.
    pub quota: Quota,
    /// Window starts that still count, and learned limits.
    pub counters: Vec<Counter>,
    pub last_start: Option<Moment>,
    pub cooldown: Option<Cooldown>,
    pub rung: u8,
    pub failures: u32,
    pub off: bool,
    pub answered: bool,
}

/// What is kept of one agenda entry; the job holds the attempts made and its class now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    pub due: Moment,
    pub job: Job,
}

impl Model {
    /// One row for each upstream that is present.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for id in self.upstream_ids() {
            let upstream = &self.upstreams[id.0 as usize];
            let mut counters = upstream.counters.clone();
            for counter in &mut counters {
                let all = counter.clone();
                counter
                    .starts
                    .retain(|&(start, _)| upstream.leaves(&all, start) > self.now);
            }
            rows.push(Row {
                upstream: id,
                quota: upstream.quota.clone(),
                counters,
                last_start: self.last_start(id),
                cooldown: upstream.cooldown,
                rung: upstream.rung,
                failures: upstream.failures,
                off: upstream.off,
                answered: upstream.answered,
            });
        }
        rows
    }

    /// The agenda by due moment, then job id.
    pub fn agenda(&self) -> Vec<Planned> {
        let mut planned = Vec::new();
        for held in &self.jobs {
            if let Place::Scheduled { due } = held.place {
                let mut job = held.job;
                job.class = held.class;
                job.attempts_made = held.made;
                planned.push((due, held.id, Planned { due, job }));
            }
        }
        planned.sort_by_key(|&(due, id, _)| (due, id));
        planned.into_iter().map(|(_, _, entry)| entry).collect()
    }

    pub fn restore(policy: Policy, rows: Vec<Row>, agenda: Vec<Planned>, now: Moment) -> Self {
        let mut model = Self::new(policy, now);
        let mut old_ids = Vec::new();
        for row in rows {
            old_ids.push(row.upstream);
            let upstream = model.restored(row, now);
            model.upstreams.push(upstream);
        }
        for Planned { due, mut job } in agenda {
            let Some(position) = old_ids.iter().position(|&id| id == job.upstream) else {
                continue;
            };
            job.upstream = UpstreamId(position as u32);
            job.class = model.real_class(job.class);
            let due = due.max(now);
            model.keep(job, Place::Scheduled { due });
        }
        model.advance(now);
        model
    }

    fn restored(&self, row: Row, now: Moment) -> Upstream {
        let mut upstream = Upstream::new(row.quota);
        upstream.counters = row.counters;
        for counter in &mut upstream.counters {
            counter.learned_until = now + counter.window.length() / 2;
            for (start, _) in &mut counter.starts {
                *start = (*start).min(now);
            }
        }
        upstream.last_start = row.last_start.map(|start| start.min(now));
        upstream.cooldown = row
            .cooldown
            .map(|cooldown| cut(&self.policy.failure, cooldown, now));
        upstream.rung = row.rung;
        upstream.failures = row.failures;
        upstream.off = row.off;
        upstream.answered = row.answered;
        upstream
    }
}

/// A stored end is never later than the longest cooldown of its kind from now.
fn cut(rules: &FailurePolicy, cooldown: Cooldown, now: Moment) -> Cooldown {
    let ladder = rules.ladder.iter().copied().max().unwrap_or_default();
    let longest = match cooldown.kind {
        CooldownKind::Cooldown => ladder
            .max(rules.longest)
            .max(rules.throttled.unwrap_or_default()),
        CooldownKind::Disabled => ladder.max(rules.longest),
    };
    Cooldown {
        kind: cooldown.kind,
        until: cooldown.until.min(now + longest),
    }
}
