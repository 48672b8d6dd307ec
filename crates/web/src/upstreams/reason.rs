//! Why an upstream is in its state, and until when: short for a row, in full for its own page.
//!
//! If the decision that led to the state is still known, its sentence is the engine's. All texts carry marks in place
//! of times.

use weir_engine::{
    Standing, UpstreamView,
    dispatch::{Cause, Decision, What},
    sentence,
};

use super::{
    numbers::{capital, counted, grouped, span},
    sight::{Sight, period},
    times::{at, exactly, left_of},
};

/// The state with its end: `Cooldown until 14:32`.
pub(super) fn chip(sight: &Sight<'_>) -> String {
    match (sight.standing(), sight.until()) {
        (Standing::Open, _) => "Open".to_owned(),
        (Standing::Probing, _) => "Probing".to_owned(),
        (Standing::Manual, _) => "Off by operator".to_owned(),
        (Standing::Cooldown, Some(until)) => format!("Cooldown until {}", at(until)),
        (Standing::Cooldown, None) => "Cooldown".to_owned(),
        (Standing::Disabled, Some(until)) => format!("Disabled, probe at {}", at(until)),
        (Standing::Disabled, None) => "Disabled".to_owned(),
    }
}

/// Beside the chip: why, when it is tried again, how many failures. Empty if there is nothing to say.
pub(super) fn short(sight: &Sight<'_>) -> String {
    let view = &sight.view;
    match sight.standing() {
        Standing::Open => open_short(sight),
        Standing::Cooldown => {
            let next = sight.until().map_or_else(String::new, |until| {
                format!(" Next try {}.", left_of(until))
            });
            let failures =
                failures(view).map_or_else(String::new, |words| format!(" {}.", capital(&words)));
            format!("{}.{next}{failures}", capital(&said_when(view)))
        }
        Standing::Disabled => {
            let said = match sight.since() {
                Some(since) => format!("Since {}: {}", at(since), said(view)),
                None => capital(&said(view)),
            };
            let next = sight.until().map_or_else(String::new, |until| {
                format!(" Next automatic probe {}{}.", left_of(until), later(view))
            });
            let failures = match view.status.failures {
                0 => String::new(),
                failures => format!(" {} in a row.", counted(failures, "failure", "failures")),
            };
            format!("{said}.{next}{failures}")
        }
        Standing::Probing if view.status.in_flight > 0 => {
            format!("{}. A probe is under way.", capital(&said_when(view)))
        }
        Standing::Probing => format!(
            "{}. Ready to retry: the next request will test it.",
            capital(&said_when(view))
        ),
        Standing::Manual => match &view.off {
            Some(off) => format!(
                "Since {}: “{}”, by {}. Stays off until switched on.",
                at(off.at),
                off.reason,
                off.who
            ),
            None => "Stays off until switched on.".to_owned(),
        },
    }
}

fn open_short(sight: &Sight<'_>) -> String {
    if let Some(window) = sight.used_up() {
        let (period, next) = (period(window.window), exactly(window.next));
        return format!("No calls left this {period}. The next one is possible at {next}.");
    }
    let (view, failures) = (&sight.view, sight.view.status.failures);
    match &view.last_error {
        Some((when, words)) if failures > 0 => format!(
            "{} in a row, the last at {}: {words}.",
            counted(failures, "failure", "failures"),
            at(*when)
        ),
        Some((when, words)) => format!("Last error at {}: {words}.", at(*when)),
        None if failures > 0 => {
            format!("{} in a row.", counted(failures, "failure", "failures"))
        }
        None => String::new(),
    }
}

/// On its own page: who, why, until when.
pub(super) fn full(sight: &Sight<'_>, decisions: &[Decision]) -> String {
    if let Some(decision) = origin(sight, decisions) {
        return sight.scene(decisions, |scene| sentence(decision, scene));
    }
    let (name, view) = (sight.name(), &sight.view);
    match sight.standing() {
        Standing::Open => open(sight),
        Standing::Cooldown => {
            let until = sight.until().map_or_else(String::new, |until| {
                format!(" until {}", sight.times.until(until))
            });
            let failures = failures(view).map_or_else(String::new, |words| format!(" ({words})"));
            format!("{name} is cooling down{until}: {}{failures}.", said(view))
        }
        Standing::Disabled => {
            let next = sight.until().map_or_else(String::new, |until| {
                format!(" Next automatic probe at {}{}.", at(until), later(view))
            });
            let disabled = match sight.since() {
                Some(since) => format!("has been disabled since {}", at(since)),
                None => "is disabled".to_owned(),
            };
            format!("{name} {disabled}: {}.{next}", said(view))
        }
        Standing::Probing if view.status.in_flight > 0 => format!(
            "{name} is being probed: one small request; normal work resumes if it succeeds. \
             Before that, {}.",
            said_when(view)
        ),
        Standing::Probing => format!(
            "{name} has cooled down. Before that, {}. The next request will test it; normal \
             work resumes if it succeeds.",
            said_when(view)
        ),
        Standing::Manual => match &view.off {
            Some(off) => format!(
                "{name} is off, by {} at {}: “{}”. Stays off until switched on.",
                off.who,
                at(off.at),
                off.reason
            ),
            None => format!("{name} is off. Stays off until switched on."),
        },
    }
}

fn open(sight: &Sight<'_>) -> String {
    let name = sight.name();
    if let Some(window) = sight.used_up() {
        return format!(
            "{name} waits: {} of {} calls this {} used, next slot {}.",
            grouped(window.used),
            grouped(window.limit),
            period(window.window),
            exactly(window.next)
        );
    }
    let day = sight.day();
    let asked: u64 = sight.view.figures.requests.iter().sum();
    match (day.total(), asked) {
        (0, 0) if sight.view.status.last_start.is_none() => {
            format!("{name} is open. Not tried yet.")
        }
        (0, 0) => format!("{name} is open. No calls since Weir started."),
        (0, asked) => format!(
            "{name} is open. {} since Weir started.",
            counted(asked, "call", "calls")
        ),
        (total, _) if day.answered() == total => format!(
            "{name} is open and answered {} in the last 24 hours.",
            match total {
                1 => "the only call".to_owned(),
                total => format!("all {} calls", grouped(total)),
            }
        ),
        (total, _) => format!(
            "{name} is open and answered {} of {} in the last 24 hours.",
            grouped(day.answered()),
            counted(total, "call", "calls")
        ),
    }
}

/// The decision that led to the state, if it is still known.
fn origin<'a>(sight: &Sight<'_>, decisions: &'a [Decision]) -> Option<&'a Decision> {
    let (standing, view) = (sight.standing(), &sight.view);
    decisions.iter().find(|decision| match decision.what {
        What::CooldownBegan { cooldown, .. } => {
            let in_cooldown = matches!(standing, Standing::Cooldown | Standing::Disabled);
            in_cooldown && view.status.cooldown == Some(cooldown)
        }
        What::SwitchedOff => {
            let at = view.off.as_ref().map(|off| off.at);
            standing == Standing::Manual && at == Some(decision.at)
        }
        _ => false,
    })
}

/// How many calls were skipped or dropped since the state began, in a sentence.
pub(super) fn meanwhile(sight: &Sight<'_>, decisions: &[Decision]) -> Option<String> {
    if sight.standing() == Standing::Open {
        return None;
    }
    let since = sight.since()?;
    let lost = decisions
        .iter()
        .take_while(|decision| decision.at >= since)
        .filter(|decision| matches!(decision.what, What::Skipped(_) | What::Dropped(_)))
        .count();
    let all = decisions.last().is_some_and(|oldest| oldest.at < since) || decisions.is_empty();
    let least = if all || lost == 0 { "" } else { "at least " };
    Some(match lost {
        0 => "No requests for it since then.".to_owned(),
        1 => format!("Since then {least}1 call was skipped."),
        lost => format!(
            "Since then {least}{} calls were skipped.",
            grouped(lost as u64)
        ),
    })
}

/// The last error, or what its cooldown tells if that is unknown.
fn said(view: &UpstreamView) -> String {
    if let Some((_, words)) = &view.last_error {
        return words.clone();
    }
    let words = match view.status.cooldown.map(|cooldown| cooldown.cause) {
        Some(Cause::Throttled) => "it asked us to wait",
        Some(Cause::FailedOften) => "it failed too often",
        Some(Cause::Rejected) => "it failed in a way that a retry does not fix",
        Some(Cause::Failed) | None => "it did not answer",
    };
    words.to_owned()
}

fn said_when(view: &UpstreamView) -> String {
    match &view.last_error {
        Some((when, words)) => format!("{words} (at {})", at(*when)),
        None => said(view),
    }
}

/// `failure 3; the next pause would be 30 min`; none for an upstream that merely asked us to wait.
fn failures(view: &UpstreamView) -> Option<String> {
    let (status, next) = (&view.status, view.next_cooldown?);
    match status.rung {
        0 => None,
        rung if usize::from(rung) < view.rungs => Some(format!(
            "failure {}; the next pause would be {}",
            status.failures,
            span(next)
        )),
        _ => Some(format!(
            "failure {}; pauses no longer grow",
            status.failures
        )),
    }
}

fn later(view: &UpstreamView) -> String {
    view.next_cooldown.map_or_else(String::new, |next| {
        format!("; if that fails, {} later", span(next))
    })
}
