//! One upstream of the reference model: what it allows, what it used up, and when it is left alone.

use std::time::Duration;

use weir_dispatch::FullWindow;
use weir_dispatch::job::{Availability, Finish, Wait};
use weir_dispatch::moment::Moment;
use weir_dispatch::policy::{Budget, Class, FailurePolicy, Quota, Usage, Window};

/// What is known of one upstream.
#[derive(Clone, Debug)]
pub struct Upstream {
    pub gone: bool,
    pub off: bool,
    pub quota: Quota,
    /// The windows of `Query` (which `Side` shares) and of `Grab` that were ever configured or told.
    pub counters: Vec<Counter>,
    /// The last start of budget `Query`: the spacing clock.
    pub last_start: Option<Moment>,
    /// The last start of each queue, for aging.
    pub queue_starts: Vec<(Class, Budget, Moment)>,
    /// The cooldown under way, or the one that is over and waits for a success.
    pub cooldown: Option<Cooldown>,
    /// How many cooldowns have begun here.
    pub cooldowns: u64,
    pub rung: u8,
    pub failures: u32,
    /// A call to it has succeeded.
    pub answered: bool,
    /// A call gave its worker back by age, and none has ended early since.
    pub slow: bool,
    /// Other nodes call it too.
    pub shared: bool,
    /// Budgets (`Query` or `Grab`) whose windows other nodes left nothing of, until when, and which one is full.
    pub held_windows: Vec<(Budget, Moment, (Wait, Option<FullWindow>))>,
}

/// One window of one budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// `Query` or `Grab`.
    pub budget: Budget,
    pub window: Window,
    /// What the upstream said that it allows.
    pub learned: Option<u32>,
    /// When that is forgotten.
    pub learned_until: Moment,
    /// When starts were made, and how many at that moment.
    pub starts: Vec<(Moment, u64)>,
}

/// A time in which an upstream is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cooldown {
    pub kind: CooldownKind,
    pub until: Moment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CooldownKind {
    Cooldown,
    Disabled,
}

/// A call under way, as the judgement of its end needs it.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub started: Moment,
    /// How many cooldowns its upstream had begun when it started.
    pub cooldowns: u64,
    /// A probe or a trial.
    pub trial: bool,
}

impl Upstream {
    pub fn new(quota: Quota) -> Self {
        let mut upstream = Self {
            gone: false,
            off: false,
            quota: quota.clone(),
            counters: Vec::new(),
            last_start: None,
            queue_starts: Vec::new(),
            cooldown: None,
            cooldowns: 0,
            rung: 0,
            failures: 0,
            answered: false,
            slow: false,
            shared: false,
            held_windows: Vec::new(),
        };
        upstream.set_quota(quota);
        upstream
    }

    /// The number of the counter of this window; it is made if there is none.
    fn counter(&mut self, budget: Budget, window: Window) -> usize {
        let found = self
            .counters
            .iter()
            .position(|counter| (counter.budget, counter.window) == (budget, window));
        found.unwrap_or_else(|| {
            self.counters.push(Counter {
                budget,
                window,
                learned: None,
                learned_until: Moment(0),
                starts: Vec::new(),
            });
            self.counters.len() - 1
        })
    }

    pub fn state(&self, now: Moment) -> Availability {
        if self.off || self.gone {
            return Availability::Off;
        }
        match self.cooldown {
            None if !self.answered => Availability::Untried,
            None => Availability::Open,
            Some(cooldown) if cooldown.until <= now => Availability::Probing,
            Some(Cooldown { kind, until }) => match kind {
                CooldownKind::Cooldown => Availability::Cooldown { until },
                CooldownKind::Disabled => Availability::Disabled { until },
            },
        }
    }

    /// The cooldown that is under way now.
    pub fn cooling(&self, now: Moment) -> Option<Cooldown> {
        self.cooldown.filter(|cooldown| cooldown.until > now)
    }

    /// How long until a job with this gap and budget could start here, and what for.
    pub fn next_wait(
        &self,
        now: Moment,
        gap: Duration,
        budget: Budget,
    ) -> (Duration, Option<Wait>) {
        let off = if self.off || self.gone {
            Moment::NEVER
        } else {
            now
        };
        let cooldown = self.cooling(now).map_or(now, |cooldown| cooldown.until);
        let spaced = match self.last_start {
            Some(last) if budget == Budget::Query => last + gap,
            _ => now,
        };
        let mut longest = (Duration::ZERO, None);
        for (moment, reason) in [
            (off, Wait::Off),
            (cooldown, Wait::Cooldown),
            (
                self.windows_free(now, budget),
                self.window_reason(now, budget),
            ),
            (spaced, Wait::Gap),
        ] {
            let wait = now.until(moment);
            if wait > longest.0 {
                longest = (wait, Some(reason));
            }
        }
        longest
    }

    /// The first moment from `now` on at which every window of `budget` has room.
    pub fn windows_free(&self, now: Moment, budget: Budget) -> Moment {
        self.counters
            .iter()
            .filter(|counter| counter.budget == shared(budget))
            .map(|counter| self.free(now, counter))
            .chain(self.held(budget).map(|(until, _)| until))
            .max()
            .unwrap_or(now)
    }

    /// Until when other nodes left nothing of the windows of a budget, and which is full.
    fn held(&self, budget: Budget) -> Option<(Moment, (Wait, Option<FullWindow>))> {
        let mut held = self.held_windows.iter();
        held.find(|held| held.0 == shared(budget))
            .map(|&(_, until, why)| (until, why))
    }

    /// What the windows of a budget make wait for: what the others said where that lasts longest.
    fn window_reason(&self, now: Moment, budget: Budget) -> Wait {
        let free = self.windows_free(now, budget);
        let held = self.held(budget).filter(|&(until, _)| until == free);
        held.map_or(Wait::Window, |(_, (reason, _))| reason)
    }

    fn free(&self, now: Moment, counter: &Counter) -> Moment {
        let Some(limit) = self.limit(counter) else {
            return now;
        };
        if limit == 0 {
            return Moment::NEVER;
        }
        let mut inside: Vec<(Moment, u64)> = counter
            .starts
            .iter()
            .copied()
            .filter(|&(start, _)| self.leaves(counter, start) > now)
            .collect();
        inside.sort();
        let mut count: u64 = inside.iter().map(|&(_, times)| times).sum();
        let mut free = now;
        for (start, times) in inside {
            if count < u64::from(limit) {
                break;
            }
            count -= times;
            free = self.leaves(counter, start);
        }
        free
    }

    /// When a start made at `start` no longer counts in this window.
    pub fn leaves(&self, counter: &Counter, start: Moment) -> Moment {
        let windows = match counter.budget {
            Budget::Grab => &self.quota.grab,
            Budget::Query | Budget::Side => &self.quota.query,
        };
        match windows.day_reset {
            Some(reset) if counter.window == Window::DAY => next_reset(reset, start),
            _ => start + counter.window.length(),
        }
    }

    /// What holds in this window: what is configured, else what was learned.
    pub fn limit(&self, counter: &Counter) -> Option<u32> {
        self.configured(counter.budget, counter.window)
            .or(counter.learned)
    }

    fn configured(&self, budget: Budget, window: Window) -> Option<u32> {
        let windows = match budget {
            Budget::Grab => &self.quota.grab,
            Budget::Query | Budget::Side => &self.quota.query,
        };
        windows
            .iter()
            .find(|&(length, _)| length == window)
            .map(|(_, limit)| limit)
    }

    /// The limited windows of a budget, shortest first, with what is used and what is allowed.
    pub fn uses(&self, now: Moment, budget: Budget) -> Vec<(Window, u64, u32)> {
        let mut uses = Vec::new();
        for counter in &self.counters {
            if let (true, Some(limit)) = (counter.budget == budget, self.limit(counter)) {
                let inside = counter.starts.iter();
                let used = inside
                    .filter(|&&(start, _)| self.leaves(counter, start) > now)
                    .map(|&(_, times)| times)
                    .sum();
                let held = self.held(budget).filter(|&(until, (reason, full))| {
                    let kept = full.is_some_and(|full| full.kept > 0);
                    let rechecks = [Wait::Agreeing, Wait::Claimed, Wait::Off].contains(&reason)
                        || (reason == Wait::Share && !kept);
                    until > now && !rechecks
                });
                let full = held.and_then(|(_, (_, full))| full);
                let of_all = full.filter(|full| full.window == counter.window);
                let of_all = of_all.map_or(0, |full| u64::from(full.used));
                uses.push((counter.window, of_all.max(used), limit));
            }
        }
        uses.sort();
        uses
    }

    /// Counts a start, before its call.
    pub fn count_start(&mut self, now: Moment, class: Class, budget: Budget) {
        for index in 0..self.counters.len() {
            if self.counters[index].budget != shared(budget) {
                continue;
            }
            if self.counters[index].learned_until <= now {
                self.forget_told(index);
            }
            let limited = self.limit(&self.counters[index]).is_some();
            let counter = &mut self.counters[index];
            if limited {
                counter.starts.push((now, 1));
            }
        }
        if budget == Budget::Query {
            self.last_start = self.last_start.max(Some(now));
        }
        self.queue_starts
            .retain(|&(c, b, _)| (c, b) != (class, budget));
        self.queue_starts.push((class, budget, now));
    }

    /// The last start of the queue of this class and budget.
    pub fn queue_start(&self, class: Class, budget: Budget) -> Option<Moment> {
        self.queue_starts
            .iter()
            .find(|&&(c, b, _)| (c, b) == (class, budget))
            .map(|&(_, _, moment)| moment)
    }

    pub fn set_quota(&mut self, quota: Quota) {
        for (budget, windows) in [(Budget::Query, &quota.query), (Budget::Grab, &quota.grab)] {
            for (window, _) in windows.iter() {
                self.counter(budget, window);
            }
        }
        self.quota = quota;
        self.held_windows.clear();
        for index in 0..self.counters.len() {
            if self.limit(&self.counters[index]).is_none() {
                self.counters[index].starts.clear();
            }
        }
    }

    pub fn observe(&mut self, now: Moment, usage: Usage) {
        let budget = shared(usage.budget);
        if self.configured(budget, usage.window).is_some() {
            return;
        }
        let index = self.counter(budget, usage.window);
        let counter = &self.counters[index];
        let known: u64 = counter
            .starts
            .iter()
            .filter(|&&(start, _)| self.leaves(counter, start) > now)
            .map(|&(_, times)| times)
            .sum();
        let more = u64::from(usage.used.unwrap_or(0)).saturating_sub(known);
        let counter = &mut self.counters[index];
        counter.learned = Some(usage.limit.max(1));
        counter.learned_until = now + 2 * usage.window.length();
        if more > 0 {
            counter.starts.push((now, more));
        }
    }

    /// Forgets what the upstream said of one window.
    fn forget_told(&mut self, index: usize) {
        self.counters[index].learned = None;
        if self.limit(&self.counters[index]).is_none() {
            self.counters[index].starts.clear();
        }
    }

    /// Forgets all that the upstream said of its windows.
    pub fn forget_all_told(&mut self) {
        (0..self.counters.len()).for_each(|index| self.forget_told(index));
    }

    /// Ends a cooldown without a success, as an operator does.
    pub fn clear(&mut self) {
        self.cooldown = None;
        self.rung = 0;
        self.failures = 0;
    }

    /// Whether this call is the try that follows a cooldown.
    pub fn probed_by(&self, call: Call) -> bool {
        call.cooldowns == self.cooldowns
            && self
                .cooldown
                .is_some_and(|cooldown| cooldown.until <= call.started)
    }

    /// What an attempt's end says about its upstream; true if a cooldown began. `used_up`: its job has
    /// no further attempt.
    pub fn judge(
        &mut self,
        now: Moment,
        rules: &FailurePolicy,
        call: Call,
        finish: Finish,
        used_up: bool,
    ) -> bool {
        let probed = self.probed_by(call);
        let before_cooldown = call.cooldowns < self.cooldowns;
        let during_cooldown = !before_cooldown && self.cooldown.is_some() && !probed;
        let named = match finish {
            Finish::Throttled {
                retry_after: Some(time),
            } if !time.is_zero() => Some((CooldownKind::Cooldown, time.min(rules.longest))),
            Finish::Rejected {
                at_least: Some(time),
            } if !time.is_zero() => Some((CooldownKind::Disabled, time.min(rules.longest))),
            _ => None,
        };
        let healthy = matches!(finish, Finish::Done | Finish::No | Finish::Again { .. });

        if healthy {
            self.answered = true;
            if !before_cooldown {
                self.clear();
            }
            return false;
        }
        let first_try = call.trial && !self.answered && self.cooldown.is_none();
        if before_cooldown || during_cooldown || first_try {
            return named.is_some_and(|(kind, time)| self.begin_cooldown(now, kind, now + time));
        }
        match finish {
            Finish::Throttled { .. } => match (named, rules.throttled) {
                (Some((kind, time)), _) => self.begin_cooldown(now, kind, now + time),
                (None, Some(time)) => self.begin_cooldown(now, CooldownKind::Cooldown, now + time),
                (None, None) => self.climb(now, rules, CooldownKind::Cooldown, Duration::ZERO),
            },
            Finish::Rejected { .. } => {
                let at_least = named.map_or(Duration::ZERO, |(_, time)| time);
                self.climb(now, rules, CooldownKind::Disabled, at_least)
            }
            Finish::Unavailable | Finish::Broken => match self.cooldown {
                Some(cooldown) => self.climb(now, rules, cooldown.kind, Duration::ZERO),
                None if !used_up && finish == Finish::Unavailable => false,
                None if self.failures.saturating_add(1) < rules.threshold => {
                    self.failures += 1;
                    false
                }
                None if rules.threshold_disables => {
                    self.climb(now, rules, CooldownKind::Disabled, Duration::ZERO)
                }
                None => self.climb(now, rules, CooldownKind::Cooldown, Duration::ZERO),
            },
            _ => false,
        }
    }

    /// One failure and one rung more, at most the last of the ladder.
    fn climb(
        &mut self,
        now: Moment,
        rules: &FailurePolicy,
        kind: CooldownKind,
        at_least: Duration,
    ) -> bool {
        self.failures = self.failures.saturating_add(1);
        let top = u8::try_from(rules.ladder.len()).unwrap_or(u8::MAX);
        self.rung = self.rung.saturating_add(1).min(top);
        let cooldown = rules.ladder[usize::from(self.rung) - 1].max(at_least);
        self.begin_cooldown(now, kind, now + cooldown)
    }

    /// A shorter cooldown never replaces a longer one.
    pub fn begin_cooldown(&mut self, now: Moment, kind: CooldownKind, until: Moment) -> bool {
        if self
            .cooling(now)
            .is_some_and(|cooldown| cooldown.until >= until)
        {
            return false;
        }
        self.cooldown = Some(Cooldown { kind, until });
        self.cooldowns += 1;
        true
    }
}

/// The budget whose windows this one counts in.
fn shared(budget: Budget) -> Budget {
    match budget {
        Budget::Grab => Budget::Grab,
        Budget::Query | Budget::Side => Budget::Query,
    }
}

/// The first reset after `start`, where `reset` is one and the others are whole days from it.
fn next_reset(reset: Moment, start: Moment) -> Moment {
    let day = 86_400_000_000_000;
    let first = Moment(reset.0 % day);
    if start < first {
        return first;
    }
    let days = (start.0 - first.0) / day + 1;
    Moment(first.0.saturating_add(days.saturating_mul(day)))
}
