//! Decisions in words, for page, API and terminal: who, why, until when.
//!
//! One function per kind of record. What the asker got instead is for the front to add: only it knows
//! its cache.

use std::time::Duration;

use weir_dispatch::{
    Asker, Cause, Class, Cooldown, Decision, DropReason, Moment, Skip, Wait, What, Window,
    WindowUse,
};

use crate::keeper::Off;
use crate::words::grouped;

/// What a sentence needs besides its decision.
pub struct Scene<'a> {
    /// The upstream's name, which begins each sentence.
    pub upstream: &'a str,
    /// Now, for "in 6 min".
    pub now: Moment,
    /// What the front calls a class.
    pub class: &'a dyn Fn(Class) -> &'a str,
    /// The program behind a number, if it is known.
    pub asker: &'a dyn Fn(Asker) -> Option<&'a str>,
    /// A time of day; to the second if the second argument says so.
    pub clock: &'a dyn Fn(Moment, bool) -> String,
    /// The cooldowns of the ladder.
    pub ladder: &'a [Duration],
    /// What last went wrong, and when.
    pub last_error: Option<(Moment, &'a str)>,
    /// The limited windows as they are now.
    pub windows: &'a [WindowUse],
    /// Why an operator switched it off, while it is off.
    pub off: Option<&'a Off>,
    /// How many jobs the front may queue.
    pub capacity: u32,
}

/// The sentence of a decision.
pub fn sentence(decision: &Decision, scene: &Scene<'_>) -> String {
    let who = scene.upstream;
    let words = match decision.what {
        What::Started { waited, reason, .. } => started(decision, waited, reason, scene),
        What::Waits { reason, until } => waits(reason, until, scene),
        What::CooldownBegan { cooldown, rung } if cooldown.cause.disables() => {
            disabled(decision, cooldown, rung, scene)
        }
        What::CooldownBegan { cooldown, rung } => cooling(decision, cooldown, rung, scene),
        What::Healed => healed(),
        What::Skipped(skip) => skipped(decision, skip, scene),
        What::Shared { with } => return shared(decision, with, scene),
        What::Duplicate => return format!("{who}: the same job is already queued."),
        What::Dropped(reason) => dropped(reason, scene),
        What::Raised { from } => return raised(decision, from, scene),
        What::Retried { due } => retried(due, scene),
        What::Cleared => cleared(),
        What::SwitchedOff => switched_off(decision, scene),
        What::SwitchedOn => switched_on(),
    };
    format!("{who} {words}.")
}

/// The sentence of a front whose calls pause because our own network is down.
pub fn our_network(upstreams: usize, next: Moment, scene: &Scene<'_>) -> String {
    let next = (scene.clock)(next, false);
    format!(
        "All {upstreams} upstreams fail at once, so this is our network: nobody was disabled. \
         Next try {next}."
    )
}

fn started(
    decision: &Decision,
    waited: Duration,
    reason: Option<Wait>,
    scene: &Scene<'_>,
) -> String {
    let asker = for_asker(decision, scene);
    match reason {
        None if waited < Duration::from_millis(100) => format!("was called at once{asker}"),
        None => format!("was called{asker} after {} in the queue", span(waited)),
        Some(reason) => {
            let waiting = match reason {
                Wait::Off => "being switched off",
                Wait::Cooldown => "cooldown",
                Wait::Window => "waiting for quota",
                Wait::Gap => "spacing",
            };
            format!("was called{asker} after {} of {waiting}", span(waited))
        }
    }
}

fn waits(reason: Wait, until: Moment, scene: &Scene<'_>) -> String {
    let full = scene.windows.iter().find(|window| window.next == until);
    match (reason, full) {
        (Wait::Window, Some(window)) => format!(
            "waits: {} of {} calls this {} used, next slot {}",
            window.used,
            window.limit,
            period(window.window),
            (scene.clock)(until, false)
        ),
        (Wait::Window, None) => {
            let next = (scene.clock)(until, false);
            format!("waits: its quota is used up, next slot {next}")
        }
        (Wait::Off, _) => "waits: an operator switched it off".to_owned(),
        (Wait::Cooldown, _) => {
            let next = (scene.clock)(until, true);
            format!("waits for its cooldown to end, next slot {next}")
        }
        (Wait::Gap, _) => {
            let next = (scene.clock)(until, true);
            format!("waits for spacing, next slot {next}")
        }
    }
}

fn cooling(decision: &Decision, cooldown: Cooldown, rung: u8, scene: &Scene<'_>) -> String {
    let until = until(cooldown.until, scene);
    let why = match cooldown.cause {
        Cause::Throttled => {
            let (at, asked) = (
                (scene.clock)(decision.at, false),
                decision.at.until(cooldown.until),
            );
            let said = fault(decision, scene).unwrap_or("it was overloaded");
            format!("{said} (at {at}), so it is left alone for {}", span(asked))
        }
        _ => {
            let said = fault(decision, scene).unwrap_or("it did not answer");
            format!("{said} ({})", ladder(rung, scene))
        }
    };
    format!("is cooling down until {until}: {why}")
}

fn disabled(decision: &Decision, cooldown: Cooldown, rung: u8, scene: &Scene<'_>) -> String {
    let since = (scene.clock)(decision.at, false);
    let why = fault(decision, scene).unwrap_or("it failed too often");
    let probed = (scene.clock)(cooldown.until, false);
    let later = scene.ladder.get(usize::from(rung)).or(scene.ladder.last());
    let later = later.map_or_else(String::new, |cooldown| {
        format!("; if that fails, {} later", span(*cooldown))
    });
    format!("has been disabled since {since}: {why}. Next automatic probe at {probed}{later}")
}

fn healed() -> String {
    "answered and is open again".to_owned()
}

fn skipped(decision: &Decision, skip: Skip, scene: &Scene<'_>) -> String {
    let Some(wait) = skip.wait else {
        return "skipped: an operator switched it off".to_owned();
    };
    let next = decision.at + wait;
    let Some(limit) = skip.limit else {
        return format!("skipped: it is cooling down until {}", until(next, scene));
    };
    let jobs = decision.class.map_or_else(
        || "this job waits".to_owned(),
        |class| format!("{} jobs wait", (scene.class)(class)),
    );
    format!(
        "skipped: the next free slot is in {} ({}), and {jobs} at most {}",
        span(wait),
        (scene.clock)(next, true),
        span(limit)
    )
}

fn shared(decision: &Decision, with: Asker, scene: &Scene<'_>) -> String {
    let who = scene.upstream;
    let one = (scene.asker)(decision.asker).unwrap_or("a program");
    let other = (scene.asker)(with).unwrap_or("another program");
    format!("{who}: {one} got the answer to the same question that {other} asked.")
}

fn dropped(reason: DropReason, scene: &Scene<'_>) -> String {
    match reason {
        DropReason::QueueFull => format!("dropped: queue full ({})", grouped(scene.capacity)),
        DropReason::Backlog => "dropped: its share of the queue is used up".to_owned(),
        DropReason::AgendaFull => "dropped: too many jobs are scheduled".to_owned(),
        DropReason::Scheduled => "dropped: the same job is already scheduled".to_owned(),
        DropReason::Gone => "dropped: the upstream was removed".to_owned(),
    }
}

fn raised(decision: &Decision, from: Class, scene: &Scene<'_>) -> String {
    let (who, from) = (scene.upstream, (scene.class)(from));
    let to = decision
        .class
        .map_or("a more urgent class", |class| (scene.class)(class));
    let asker = for_asker(decision, scene);
    format!("{who}: a job was raised from {from} to {to}{asker}.")
}

fn retried(due: Moment, scene: &Scene<'_>) -> String {
    format!("did not answer. Next try at {}", (scene.clock)(due, true))
}

fn cleared() -> String {
    "is open: an operator cleared its cooldown".to_owned()
}

fn switched_off(decision: &Decision, scene: &Scene<'_>) -> String {
    let at = (scene.clock)(decision.at, false);
    // Only the latest reason is kept, and it belongs to the latest switch.
    match scene.off.filter(|off| off.at == decision.at) {
        Some(off) => format!(
            "is off, by {} at {at}: \u{201c}{}\u{201d}. Stays off until switched on",
            off.who, off.reason
        ),
        None => format!("was switched off at {at}"),
    }
}

fn switched_on() -> String {
    "was switched on".to_owned()
}

fn for_asker(decision: &Decision, scene: &Scene<'_>) -> String {
    let asker = (scene.asker)(decision.asker);
    asker.map_or_else(String::new, |asker| format!(" for {asker}"))
}

/// The upstream's last error, if the decision is about that one.
fn fault<'a>(decision: &Decision, scene: &Scene<'a>) -> Option<&'a str> {
    let (at, words) = scene.last_error?;
    let near = at <= decision.at && at + Duration::from_secs(60) > decision.at;
    near.then_some(words)
}

fn ladder(rung: u8, scene: &Scene<'_>) -> String {
    // The last rung repeats, so there its number no longer counts failures.
    match scene.ladder.get(usize::from(rung)) {
        Some(next) => format!("failure {rung}; the next pause would be {}", span(*next)),
        None => "pauses no longer grow".to_owned(),
    }
}

/// "14:32, in 6 min", the second part below one hour.
fn until(moment: Moment, scene: &Scene<'_>) -> String {
    let clock = (scene.clock)(moment, false);
    let left = scene.now.until(moment);
    if left.is_zero() || left >= Duration::from_secs(3600) {
        return clock;
    }
    format!("{clock}, in {}", span(left))
}

fn period(window: Window) -> &'static str {
    match window {
        Window::Minute => "minute",
        Window::Hour => "hour",
        Window::Day => "day",
    }
}

/// A length of time as people say it: `58 ms`, `0.7 s`, `74 s`, `6 min`, `12 h`.
pub fn span(time: Duration) -> String {
    let (seconds, millis) = (time.as_secs(), time.as_millis());
    match seconds {
        0 if millis < 100 => format!("{millis} ms"),
        0..10 if millis % 1000 >= 50 && millis % 1000 < 950 => {
            format!("{:.1} s", time.as_secs_f64())
        }
        0..90 => format!("{:.0} s", time.as_secs_f64()),
        90..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

#[cfg(test)]
#[path = "sentence/tests.rs"]
mod tests;
