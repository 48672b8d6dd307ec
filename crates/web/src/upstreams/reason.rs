//! Why an upstream is in its state, and until when: short for a row, in full for its own page.
//!
//! Both are made from one look at the upstream, and the reason is the one that its cooldown began with: what went wrong
//! later is told as what it is, the last error. All texts carry marks in place of times.

use weir_engine::{
    Record, Standing, UpstreamView,
    dispatch::{Moment, What},
    failure, within,
};

use super::{
    numbers::{capital, counted, grouped, span},
    sight::Sight,
    times::{at, exactly, left_of},
};

/// The state with its end: `Cooldown until 14:32`.
pub(super) fn chip(sight: &Sight<'_>) -> String {
    match (sight.standing(), ends(sight)) {
        (Standing::Untried, _) if sight.is_called() => "No answer yet".to_owned(),
        (Standing::Untried, _) => "Not tried yet".to_owned(),
        (Standing::Open, _) if sight.is_failing() => "Open, failing".to_owned(),
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
        Standing::Untried => untried_short(sight),
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
            let next = ends(sight).map_or_else(String::new, |probe| {
                format!(" Next automatic probe {}{}.", left_of(probe), later(view))
            });
            let failures = match view.status.failures {
                0 => String::new(),
                failures => format!(" {} in a row.", counted(failures, "failure", "failures")),
            };
            let (since, said) = (at(view.since), said(view));
            format!("Since {since}: {said}.{next}{failures}")
        }
        Standing::Probing if view.status.in_flight > 0 => {
            format!("{}. A probe is under way.", capital(&said_when(view)))
        }
        Standing::Probing => format!("{}. {}", capital(&said_when(view)), next_probe(sight)),
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

/// When a cooldown ends; of a disabled one when its probe comes, which may have to wait for quota.
fn ends(sight: &Sight<'_>) -> Option<Moment> {
    match sight.standing() {
        Standing::Disabled => sight.next_probe().or(sight.until()),
        _ => sight.until(),
    }
}

/// Who will test it: the next request, or Weir itself.
fn next_probe(sight: &Sight<'_>) -> String {
    match sight.view.probe_at {
        Some(probe) => format!(
            "Ready to retry: the next request will test it, or Weir itself at {}.",
            exactly(probe)
        ),
        None => "Ready to retry: the next request will test it.".to_owned(),
    }
}

/// Beside a chip that says that it was not tried yet, or has not answered yet.
fn untried_short(sight: &Sight<'_>) -> String {
    let next = first_try(sight);
    match &sight.view.last_error {
        Some((when, words)) => format!("At {}: {words}. {next}", at(*when)),
        None => next,
    }
}

fn untried(sight: &Sight<'_>) -> String {
    let (name, next) = (sight.name(), first_try(sight));
    match &sight.view.last_error {
        Some((when, words)) => {
            format!(
                "{name} has not answered yet. At {}: {words}. {next}",
                at(*when)
            )
        }
        None if sight.is_called() => format!("{name} has not answered yet. {next}"),
        None => format!("{name} has not been tried yet. {next}"),
    }
}

/// Who will show whether it works.
fn first_try(sight: &Sight<'_>) -> String {
    match sight.view.probe_at {
        _ if sight.view.status.in_flight > 0 => "A call is under way.".to_owned(),
        Some(probe) => format!(
            "The next request will test it, or Weir itself at {}.",
            exactly(probe)
        ),
        None => "The next request will test it.".to_owned(),
    }
}

fn open_short(sight: &Sight<'_>) -> String {
    if let Some(window) = sight.used_up() {
        return format!(
            "{} of {} calls used {}. The next one is possible at {}.",
            grouped(window.used),
            grouped(window.limit),
            within(window.window),
            exactly(window.next)
        );
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
pub(super) fn full(sight: &Sight<'_>) -> String {
    let (name, view) = (sight.name(), &sight.view);
    match sight.standing() {
        Standing::Untried => untried(sight),
        Standing::Open => open(sight),
        Standing::Cooldown => {
            let until = sight.until().map_or_else(String::new, |until| {
                format!(" until {}", sight.times.until(until))
            });
            let failures = failures(view).map_or_else(String::new, |words| format!("; {words}"));
            format!(
                "{name} is cooling down{until}: {}{failures}.",
                said_when(view)
            )
        }
        Standing::Disabled => {
            let next = ends(sight).map_or_else(String::new, |probe| {
                format!(" Next automatic probe at {}{}.", at(probe), later(view))
            });
            let (since, said) = (at(view.since), said(view));
            format!("{name} has been disabled since {since}: {said}.{next}")
        }
        Standing::Probing if view.status.in_flight > 0 => format!(
            "{name} is being probed: one small request; normal work resumes if it succeeds. \
             Before that, {}.",
            said_when(view)
        ),
        Standing::Probing => format!(
            "{name} is ready to retry. Before its cooldown, {}. {} Normal work resumes if it succeeds.",
            said_when(view),
            next_probe(sight)
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
            "{name} waits: {} of {} calls used {}, next slot {}.",
            grouped(window.used),
            grouped(window.limit),
            within(window.window),
            exactly(window.next)
        );
    }
    // What our own network may have caused, or is tried again, is no failure, and yet it was in vain.
    let (day, view) = (&sight.day, &sight.view);
    let failures = view.status.failures.max(view.in_vain);
    let total = day.total();
    let answered = match total {
        0 => match sight.view.last_call {
            Some(last) => format!("{name} is open. Its last call was at {}.", at(last)),
            None => format!("{name} is open. No calls since Weir started."),
        },
        total if day.answered() == total => format!(
            "{name} is open and answered {} in the last 24 hours.",
            match total {
                1 => "the only call".to_owned(),
                total => format!("all {} calls", grouped(total)),
            }
        ),
        total => format!(
            "{name} is open and answered {} of {} in the last 24 hours.",
            grouped(day.answered()),
            counted(total, "call", "calls")
        ),
    };
    match (&sight.view.last_error, failures) {
        (_, 0) => answered,
        (Some((when, words)), 1) => {
            format!(
                "{answered} Its last call failed (at {}): {words}.",
                at(*when)
            )
        }
        (Some((when, words)), failures) => format!(
            "{answered} Its last {} calls failed, the latest at {}: {words}.",
            grouped(failures),
            at(*when)
        ),
        (None, 1) => format!("{answered} Its last call failed."),
        (None, failures) => format!("{answered} Its last {} calls failed.", grouped(failures)),
    }
}

/// That it works again, and when it did not.
pub(super) fn back(name: &str, since: Moment, until: Moment) -> String {
    let (since, until) = (at(since), at(until));
    format!("{name} is back. It was down from {since} to {until}.")
}

/// The same of our own network.
pub(super) fn network_back(since: Moment, until: Moment) -> String {
    let (since, until) = (at(since), at(until));
    format!("Our network was down from {since} to {until}. Nobody was disabled for it.")
}

/// How many calls were skipped or dropped since the state began, in a sentence.
pub(super) fn meanwhile(sight: &Sight<'_>) -> Option<String> {
    if matches!(sight.standing(), Standing::Open | Standing::Untried) {
        return None;
    }
    let (since, records) = (sight.view.since, &sight.records);
    let lost = records
        .iter()
        .take_while(|record| record.at >= since)
        .filter(|record| {
            matches!(
                record.what,
                What::Skipped(_) | What::Missed(_) | What::Dropped { .. }
            )
        })
        .count();
    // What is recorded may not reach back so far.
    let reaches = |oldest: &Record| oldest.at < since || oldest.number == 1;
    let all = records.last().is_some_and(reaches);
    let least = if all { "" } else { "at least " };
    Some(match lost {
        0 if !all => return None,
        0 => "No request was skipped since then.".to_owned(),
        1 => format!("Since then {least}1 request was skipped."),
        lost => format!(
            "Since then {least}{} requests were skipped.",
            grouped(lost as u64)
        ),
    })
}

/// Why it is left alone.
fn said(view: &UpstreamView) -> &str {
    let reason = view.trouble.as_ref().map(|trouble| &*trouble.reason);
    reason
        .filter(|reason| !reason.is_empty())
        .unwrap_or("it did not answer")
}

fn said_when(view: &UpstreamView) -> String {
    match &view.trouble {
        Some(trouble) => format!("{} (at {})", said(view), at(trouble.began)),
        None => said(view).to_owned(),
    }
}

/// `failure 3 in a row; if it fails again, the next pause is 30 min`; none for an upstream that merely asked us to wait.
fn failures(view: &UpstreamView) -> Option<String> {
    let (status, next) = (&view.status, view.next_cooldown?);
    match status.rung {
        0 => None,
        rung if usize::from(rung) < view.rungs => Some(failure(status.failures, Some(next))),
        _ => Some(failure(status.failures, None)),
    }
}

fn later(view: &UpstreamView) -> String {
    view.next_cooldown.map_or_else(String::new, |next| {
        format!("; if that fails, another {} later", span(next))
    })
}
