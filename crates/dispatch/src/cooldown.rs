//! When an upstream may be called again: the ladder, times that it named, probing, the operator's switch.

use std::time::Duration;

use crate::job::State;
use crate::moment::Moment;
use crate::policy::FailurePolicy;

/// How one upstream is doing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Health {
    /// Set when a rest begins and taken away by a success: past its end the upstream is probing.
    rest: Option<Rest>,
    rung: u8,
    /// Failures in a row.
    failures: u32,
    off: bool,
    /// The start number at which the latest rest began: calls that started before it count neither
    /// as failures nor as successes.
    mark: u64,
}

/// A time in which an upstream is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    /// When it ends.
    pub until: Moment,
    /// What began it.
    pub cause: Cause,
}

/// What began a rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The upstream asked to be left alone.
    Throttled,
    /// It failed, or failed too often: a step on the ladder that shows as a cooldown.
    Failed,
    /// It failed too often: a step on the ladder that shows as disabled.
    FailedOften,
    /// It refused in a way that trying again does not mend.
    Rejected,
}

impl Cause {
    /// Whether a rest with this cause shows as disabled.
    pub fn disables(self) -> bool {
        matches!(self, Self::FailedOften | Self::Rejected)
    }
}

/// What is kept of an upstream's health across a restart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HealthRow {
    /// A rest that no success has ended yet.
    pub rest: Option<Rest>,
    /// The rung on the ladder; 0 is healthy.
    pub rung: u8,
    /// Failures in a row.
    pub failures: u32,
    /// Whether an operator has it off.
    pub off: bool,
}

/// One attempt's start, as far as health is concerned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallStart {
    /// Its start number.
    pub(crate) number: u64,
    /// It is an operator's probe, started although the upstream rested.
    pub(crate) during_cooldown: bool,
    /// How many calls of this front have started by now.
    pub(crate) started: u64,
}

impl Health {
    pub(crate) fn is_off(&self) -> bool {
        self.off
    }

    pub(crate) fn switch(&mut self, off: bool) {
        self.off = off;
    }

    /// Whether it is on and has neither rested since its last success nor rests now.
    pub(crate) fn is_well(&self) -> bool {
        !self.off && self.rest.is_none()
    }

    /// When its rest ends, if it rests now.
    pub(crate) fn cooling_until(&self, now: Moment) -> Option<Moment> {
        self.rest
            .map(|rest| rest.until)
            .filter(|&until| until > now)
    }

    /// Whether its rest is over and no call has succeeded since.
    pub(crate) fn is_probing(&self, now: Moment) -> bool {
        self.rest.is_some_and(|rest| rest.until <= now)
    }

    /// Whether this attempt is the one that tries out an upstream whose rest is over.
    pub(crate) fn is_probe(&self, attempt: CallStart, now: Moment) -> bool {
        self.is_probing(now) && attempt.number >= self.mark && !attempt.during_cooldown
    }

    pub(crate) fn state(&self, now: Moment) -> State {
        match self.rest {
            _ if self.off => State::Off,
            None => State::Open,
            Some(rest) if rest.until <= now => State::Probing,
            Some(Rest { until, cause }) if cause.disables() => State::Disabled { until },
            Some(Rest { until, .. }) => State::Cooldown { until },
        }
    }

    pub(crate) fn rung(&self) -> u8 {
        self.rung
    }

    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    pub(crate) fn rest(&self) -> Option<Rest> {
        self.rest
    }

    /// An operator ends the rest.
    pub(crate) fn clear(&mut self) {
        self.rest = None;
        self.rung = 0;
        self.failures = 0;
    }

    /// A call succeeded. Says whether that ended a rest.
    pub(crate) fn succeed(&mut self, attempt: CallStart) -> bool {
        if attempt.number < self.mark {
            return false;
        }
        self.rung = 0;
        self.failures = 0;
        self.rest.take().is_some()
    }

    /// A job's last attempt, or any attempt while probing, failed. Says whether a rest began.
    pub(crate) fn fail(&mut self, policy: &FailurePolicy, attempt: CallStart, now: Moment) -> bool {
        if !self.counts(attempt) {
            return false;
        }
        let disables = match self.rest {
            Some(rest) => rest.cause.disables(),
            None if self.failures.saturating_add(1) < policy.threshold => {
                self.failures += 1;
                return false;
            }
            None => policy.threshold_disables,
        };
        let cause = if disables {
            Cause::FailedOften
        } else {
            Cause::Failed
        };
        let until = now + self.climb(policy);
        self.begin(Rest { until, cause }, attempt)
    }

    /// The upstream asked to be left alone. Says whether a rest began or grew.
    pub(crate) fn throttle(
        &mut self,
        policy: &FailurePolicy,
        attempt: CallStart,
        retry_after: Option<Duration>,
        now: Moment,
    ) -> bool {
        let span = match named(policy, retry_after) {
            Some(span) => span,
            None if !self.counts(attempt) => return false,
            None => policy.throttled.unwrap_or_else(|| self.climb(policy)),
        };
        self.begin(
            Rest {
                until: now + span,
                cause: Cause::Throttled,
            },
            attempt,
        )
    }

    /// The upstream refused in a way that trying again does not mend. Says whether a rest began.
    pub(crate) fn reject(
        &mut self,
        policy: &FailurePolicy,
        attempt: CallStart,
        at_least: Option<Duration>,
        now: Moment,
    ) -> bool {
        let at_least = named(policy, at_least);
        let span = match at_least {
            None if !self.counts(attempt) => return false,
            Some(span) if !self.counts(attempt) => span,
            _ => self.climb(policy).max(at_least.unwrap_or_default()),
        };
        self.begin(
            Rest {
                until: now + span,
                cause: Cause::Rejected,
            },
            attempt,
        )
    }

    pub(crate) fn row(&self) -> HealthRow {
        HealthRow {
            rest: self.rest,
            rung: self.rung,
            failures: self.failures,
            off: self.off,
        }
    }

    /// Takes a stored row in. An end is cut to the longest that its kind allows.
    pub(crate) fn restore(policy: &FailurePolicy, row: &HealthRow, now: Moment) -> Self {
        let top = policy.ladder.iter().copied().max().unwrap_or_default();
        let rest = row.rest.map(|rest| {
            let longest = match rest.cause {
                Cause::Throttled | Cause::Failed => policy.throttled.unwrap_or_default(),
                Cause::Rejected | Cause::FailedOften => Duration::ZERO,
            };
            Rest {
                until: rest.until.min(now + longest.max(top).max(policy.longest)),
                ..rest
            }
        });
        Self {
            rest,
            rung: row.rung,
            failures: row.failures,
            off: row.off,
            mark: 0,
        }
    }

    /// Whether a failure of this attempt is held against the upstream: not if it started before the
    /// latest rest began, nor if it was an operator's probe during it.
    fn counts(&self, attempt: CallStart) -> bool {
        attempt.number >= self.mark && !(attempt.during_cooldown && self.rest.is_some())
    }

    /// One failure and one rung more, and its rest.
    fn climb(&mut self, policy: &FailurePolicy) -> Duration {
        self.failures = self.failures.saturating_add(1);
        let rungs = u8::try_from(policy.ladder.len()).unwrap_or(u8::MAX);
        self.rung = self.rung.saturating_add(1).min(rungs);
        policy.ladder[usize::from(self.rung) - 1]
    }

    /// Begins a rest, unless one that is as long or longer is under way.
    fn begin(&mut self, rest: Rest, attempt: CallStart) -> bool {
        if self.rest.is_some_and(|old| old.until >= rest.until) {
            return false;
        }
        self.rest = Some(rest);
        self.mark = attempt.started;
        true
    }
}

/// A time that an upstream named, if it did and means it.
fn named(policy: &FailurePolicy, time: Option<Duration>) -> Option<Duration> {
    time.filter(|time| !time.is_zero())
        .map(|time| time.min(policy.longest))
}
