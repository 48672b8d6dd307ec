//! When an upstream may be called again: the ladder, times that it named, probing, the operator's switch.
//!
//! Rules 26 to 34. A cooldown that is over is not taken away but kept until a call succeeds: "there is one, and
//! its end has passed" is what *probing* means, so no timer is needed to get there.

use serde::{Deserialize, Serialize};
use std::time::Duration;

use crate::job::Availability;
use crate::moment::Moment;
use crate::policy::FailurePolicy;

/// Two nodes never agree exactly on the time. A cooldown that is heard of and ends so little later than the present one is
/// the same, told again.
const SAME_END: Duration = Duration::from_secs(1);

/// How one upstream is doing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Health {
    /// Set when a cooldown begins and taken away by a success: past its end the upstream is probing.
    cooldown: Option<Cooldown>,
    rung: u8,
    /// Failures in a row.
    failures: u32,
    off: bool,
    /// It has answered since it was added.
    answered: bool,
    /// The start number at which the latest cooldown began. Numbers and not times tell which calls started
    /// before it (rule 26), since many calls start at one moment.
    mark: u64,
}

/// A time in which an upstream is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cooldown {
    /// The first moment at which it may be called again.
    pub until: Moment,
    /// What began it, which also decides whether it shows as disabled.
    pub cause: Cause,
}

/// What began a cooldown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Whether a cooldown with this cause shows as disabled.
    pub fn disables(self) -> bool {
        matches!(self, Self::FailedOften | Self::Rejected)
    }
}

/// What is kept of an upstream's health across a restart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SavedHealth {
    /// A cooldown that no success has ended yet; it may be over, and the upstream probing.
    pub cooldown: Option<Cooldown>,
    /// The rung on the ladder; 0 is healthy.
    pub rung: u8,
    /// Failures in a row, which a success sets to 0.
    pub failures: u32,
    /// Whether an operator has switched it off.
    pub off: bool,
    /// Whether it has ever answered.
    pub answered: bool,
}

/// The start of a call, as far as health is concerned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallStart {
    /// Its start number.
    pub(crate) number: u64,
    /// It is an operator's probe, started although its upstream was cooling down.
    pub(crate) during_cooldown: bool,
    /// It tries out an upstream because nobody asks for it.
    pub(crate) trial: bool,
    /// How many calls of this front have started by now: the mark of a cooldown that this call begins.
    pub(crate) started: u64,
}

impl Health {
    pub(crate) fn is_off(&self) -> bool {
        self.off
    }

    pub(crate) fn switch(&mut self, off: bool) {
        self.off = off;
    }

    /// Whether it is on, and no cooldown has begun since its last success.
    pub(crate) fn is_well(&self) -> bool {
        !self.off && self.cooldown.is_none()
    }

    /// When its cooldown ends, if it is cooling down now.
    pub(crate) fn cooling_until(&self, now: Moment) -> Option<Moment> {
        self.cooldown
            .map(|cooldown| cooldown.until)
            .filter(|&until| until > now)
    }

    /// Whether its cooldown is over and no call has succeeded since.
    pub(crate) fn is_probing(&self, now: Moment) -> bool {
        self.cooldown.is_some_and(|cooldown| cooldown.until <= now)
    }

    /// Whether this call tries out an upstream whose cooldown is over. A call that started before the cooldown
    /// may end after it and is no try (rule 26); nor is an operator's probe that did not wait for its end.
    pub(crate) fn is_probe(&self, call: CallStart, now: Moment) -> bool {
        self.is_probing(now) && call.number >= self.mark && !call.during_cooldown
    }

    pub(crate) fn state(&self, now: Moment) -> Availability {
        match self.cooldown {
            // Rule 34: whatever goes on beneath it, off is all that shows.
            _ if self.off => Availability::Off,
            None if !self.answered => Availability::Untried,
            None => Availability::Open,
            Some(cooldown) if cooldown.until <= now => Availability::Probing,
            Some(Cooldown { until, cause }) if cause.disables() => Availability::Disabled { until },
            Some(Cooldown { until, .. }) => Availability::Cooldown { until },
        }
    }

    pub(crate) fn rung(&self) -> u8 {
        self.rung
    }

    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    pub(crate) fn cooldown(&self) -> Option<Cooldown> {
        self.cooldown
    }

    /// An operator ends the cooldown. The mark stays, so that calls from before it still count for nothing.
    pub(crate) fn clear(&mut self) {
        self.cooldown = None;
        self.rung = 0;
        self.failures = 0;
    }

    /// A call succeeded. Says whether that ended a cooldown.
    pub(crate) fn succeed(&mut self, call: CallStart) -> bool {
        // Rule 54, whenever the call started.
        self.answered = true;
        // Rule 26: an answer that was on its way before the cooldown does not show that the upstream recovered.
        // An operator's probe during the cooldown does (rule 30), so `counts` is not what is asked here.
        if call.number < self.mark {
            return false;
        }
        self.rung = 0;
        self.failures = 0;
        self.cooldown.take().is_some()
    }

    /// A job's last attempt, or any attempt while probing, failed. Says whether a cooldown began.
    pub(crate) fn fail(&mut self, policy: &FailurePolicy, call: CallStart, now: Moment) -> bool {
        if !self.counts(call) {
            return false;
        }
        let disables = match self.cooldown {
            // Rule 29: a failed try keeps the kind; an upstream does not come back from disabled by failing.
            Some(cooldown) => cooldown.cause.disables(),
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
        self.begin(Cooldown { until, cause }, call.started)
    }

    /// The upstream asked to be left alone. Says whether a cooldown began or grew.
    pub(crate) fn throttle(
        &mut self,
        policy: &FailurePolicy,
        call: CallStart,
        retry_after: Option<Duration>,
        now: Moment,
    ) -> bool {
        let span = match named(policy, retry_after) {
            // Rule 26: a time that the upstream named is kept to whenever the call started.
            Some(span) => span,
            None if !self.counts(call) => return false,
            // Rule 31: the front's own time is no failure; only where there is none does it climb.
            None => policy.throttled.unwrap_or_else(|| self.climb(policy)),
        };
        self.begin(
            Cooldown {
                until: now + span,
                cause: Cause::Throttled,
            },
            call.started,
        )
    }

    /// The upstream refused in a way that trying again does not mend. Says whether a cooldown began.
    pub(crate) fn reject(
        &mut self,
        policy: &FailurePolicy,
        call: CallStart,
        at_least: Option<Duration>,
        now: Moment,
    ) -> bool {
        let at_least = named(policy, at_least);
        let span = match at_least {
            None if !self.counts(call) => return false,
            // Rule 26: the named time holds, but a call from before the cooldown climbs no rung.
            Some(span) if !self.counts(call) => span,
            _ => self.climb(policy).max(at_least.unwrap_or_default()),
        };
        self.begin(
            Cooldown {
                until: now + span,
                cause: Cause::Rejected,
            },
            call.started,
        )
    }

    /// Another node was told to leave the upstream alone until then (rule 64). `started` is the mark of the cooldown that
    /// this begins. Says whether one began or grew.
    pub(crate) fn hear(
        &mut self,
        policy: &FailurePolicy,
        until: Moment,
        started: u64,
        now: Moment,
    ) -> bool {
        let until = until.min(now + policy.longest);
        let same = |own: Moment| until <= own + SAME_END;
        if until <= now || self.cooling_until(now).is_some_and(same) {
            return false;
        }
        let cause = Cause::Throttled;
        self.begin(Cooldown { until, cause }, started)
    }

    pub(crate) fn row(&self) -> SavedHealth {
        SavedHealth {
            cooldown: self.cooldown,
            rung: self.rung,
            failures: self.failures,
            off: self.off,
            answered: self.answered,
        }
    }

    /// Takes a stored row in.
    pub(crate) fn restore(policy: &FailurePolicy, row: &SavedHealth, now: Moment) -> Self {
        let top = policy.ladder.iter().copied().max().unwrap_or_default();
        // Rule 52: stored ends are wall time. Where the wall clock was ahead when one was written, or the
        // ladder was longer then, the upstream would be left alone for longer than anything now allows.
        let cooldown = row.cooldown.map(|cooldown| {
            let own = match cooldown.cause {
                Cause::Throttled | Cause::Failed => policy.throttled.unwrap_or_default(),
                Cause::Rejected | Cause::FailedOften => Duration::ZERO,
            };
            let longest = own.max(top).max(policy.longest);
            Cooldown {
                until: cooldown.until.min(now + longest),
                ..cooldown
            }
        });
        Self {
            cooldown,
            rung: row.rung,
            failures: row.failures,
            off: row.off,
            answered: row.answered,
            // No call from before the restart can end any more, and start numbers begin at 0 again.
            mark: 0,
        }
    }

    /// Whether a failure of this call is held against the upstream: not if it started before the latest
    /// cooldown began, nor if it was an operator's probe during one that has not been cleared since, nor if it was
    /// the first try of an upstream that nobody has asked for anything (rule 55).
    fn counts(&self, call: CallStart) -> bool {
        let could_only_help = call.during_cooldown && self.cooldown.is_some();
        let first_try = call.trial && !self.answered && self.cooldown.is_none();
        call.number >= self.mark && !could_only_help && !first_try
    }

    /// One failure and one rung more; gives the time that the rung stands for.
    fn climb(&mut self, policy: &FailurePolicy) -> Duration {
        self.failures = self.failures.saturating_add(1);
        let rungs = u8::try_from(policy.ladder.len()).unwrap_or(u8::MAX);
        // Rule 32: the last rung repeats. The rung is at least 1 here, since a ladder is never empty; one that
        // was stored under a longer ladder is brought down to the present one.
        self.rung = self.rung.saturating_add(1).min(rungs);
        policy.ladder[usize::from(self.rung) - 1]
    }

    /// Begins a cooldown, unless one that is as long or longer is under way (rule 27). Calls that started before `mark`
    /// started before it.
    fn begin(&mut self, cooldown: Cooldown, mark: u64) -> bool {
        if self.cooldown.is_some_and(|old| old.until >= cooldown.until) {
            return false;
        }
        self.cooldown = Some(cooldown);
        self.mark = mark;
        true
    }
}

/// A time that an upstream named, if it did and means it: `Retry-After: 0` says nothing (rule 31).
fn named(policy: &FailurePolicy, time: Option<Duration>) -> Option<Duration> {
    time.filter(|time| !time.is_zero())
        .map(|time| time.min(policy.longest))
}
