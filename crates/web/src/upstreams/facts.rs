//! Further facts about an upstream, for its own page.

use weir_engine::dispatch::{Budget, MAX_CLASSES};
use weir_engine::{DifferingLimit, Kind, SharedUse, Standing, window_name};

use super::{
    limit::UpstreamLimit,
    numbers::{UNKNOWN, answer_time, counted, escape, grouped, percent, span},
    sight::Sight,
    times::{at, exactly},
};

/// A rung of the ladder.
pub(super) struct LadderStep {
    pub(super) cooldown: String,
    /// The upstream is on this rung.
    pub(super) here: bool,
}

/// The cooldowns that follow failures in a row.
pub(super) fn ladder(sight: &Sight<'_>) -> Vec<LadderStep> {
    let ladder = sight.engine().ladder();
    let rung = usize::from(sight.view.status.rung);
    ladder
        .iter()
        .enumerate()
        .map(|(index, cooldown)| LadderStep {
            cooldown: match cooldown.as_secs() {
                seconds if seconds >= 3600 && seconds.is_multiple_of(3600) => {
                    format!("{} h", seconds / 3600)
                }
                seconds if seconds >= 60 && seconds.is_multiple_of(60) => {
                    format!("{} min", seconds / 60)
                }
                _ => span(*cooldown),
            },
            here: index + 1 == rung,
        })
        .collect()
}

/// Where it is on the ladder.
pub(super) fn ladder_in_words(sight: &Sight<'_>) -> String {
    let status = &sight.view.status;
    let failures = counted(status.failures, "failure", "failures");
    match (status.rung, status.failures) {
        (0, 0) if failed_by_our_network(sight) => {
            "Its last try failed. It does not count while our own network may be the cause."
                .to_owned()
        }
        (0, 0) if sight.view.in_vain > 0 => {
            "Its last try failed. A call counts as failed once all its tries have, and none has \
                   since its last answer."
                .to_owned()
        }
        (0, 0) => "It has not failed since its last answer.".to_owned(),
        (0, _) => format!("{failures} in a row; no cooldown has begun for that."),
        _ => match sight.view.next_cooldown {
            Some(next) => format!(
                "{failures} in a row. Another would begin a cooldown of {}.",
                span(next)
            ),
            None => format!("{failures} in a row."),
        },
    }
}

/// Whether the newest call that has ended was in vain and may have been so because of our own network.
fn failed_by_our_network(sight: &Sight<'_>) -> bool {
    let last = sight.records.iter().find_map(|record| record.end);
    last.is_some_and(|end| end.kind == Kind::OurNetwork)
}

/// Labels and values; values are HTML.
pub(super) fn of(sight: &Sight<'_>) -> Vec<(String, String)> {
    let (view, times, day) = (&sight.view, &sight.times, &sight.day);
    let status = &view.status;
    let time = |moment| times.html(&at(moment));
    let unknown = || UNKNOWN.to_owned();
    let [_, refused, failed, timed_out] = day.calls;
    let lost = [
        (refused, "refused"),
        (failed, "failed"),
        (timed_out, "timed out"),
    ];
    let lost: Vec<String> = lost
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{} {word}", grouped(count)))
        .collect();
    let success = match lost.as_slice() {
        [] => percent(day.answered(), day.total()),
        lost => format!(
            "{} ({})",
            percent(day.answered(), day.total()),
            lost.join(", ")
        ),
    };
    let wait = view.next_call;
    let next = match sight.standing() {
        Standing::Manual => "none while it is off".to_owned(),
        _ if wait.is_zero() => "now".to_owned(),
        _ => times.html(&exactly(times.moment + wait)),
    };
    let mut facts = vec![
        ("In this state since", time(view.since)),
        ("Next call possible", next),
        ("Last call", view.last_call.map_or_else(unknown, time)),
        ("Answered, 24 h", success),
        (
            "Answer time p50 / p95",
            format!("{} / {}", answer_time(day.p50), answer_time(day.p95)),
        ),
        ("Calls since Weir started", calls(sight)),
        (
            "In flight",
            format!("{} of {}", status.in_flight, view.quota.in_flight),
        ),
        ("Queued", grouped(status.queued)),
        ("Failures in a row", grouped(status.failures)),
        ("Time-out", span(view.time_out)),
    ];
    if let Some(spacing) = spacing(sight) {
        facts.push(("Spacing", spacing));
    }
    facts.extend(shared(sight));
    if let Some(interval) = sight.upstreams.last_interval(sight.id()) {
        facts.push(("Interval it asked for", span(interval)));
    }
    let own = facts
        .into_iter()
        .map(|(label, value)| (label.to_owned(), value));
    let further = sight.upstreams.facts(sight.id()).into_iter();
    let further = further.map(|(label, value)| (label, escape(&value)));
    own.chain(further).collect()
}

/// `interactive 1 s, RSS 2 s`; a single time where all classes keep the same.
fn spacing(sight: &Sight<'_>) -> Option<String> {
    let classes = sight.upstreams.classes();
    let gaps = &sight.view.quota.gaps[..classes.len().min(MAX_CLASSES)];
    let longest = gaps.iter().max().filter(|gap| !gap.is_zero())?;
    if gaps.iter().all(|gap| gap == longest) {
        return Some(span(*longest));
    }
    let each = classes.iter().zip(gaps);
    let each: Vec<String> = each
        .map(|(class, gap)| format!("{class} {}", span(*gap)))
        .collect();
    Some(each.join(", "))
}

/// What all nodes together used, and what one of the others was told.
fn shared(sight: &Sight<'_>) -> Vec<(&'static str, String)> {
    let Some(seen) = sight.engine().shared_use(sight.id()) else {
        return Vec::new();
    };
    let used = UpstreamLimit::shared(&sight.view, &seen).into_iter();
    let used: Vec<String> = used.map(UpstreamLimit::said).collect();
    let mut facts = Vec::new();
    if !used.is_empty() {
        facts.push(("Used by all nodes", used.join(", ")));
    }
    let differ = limits_differ(&seen);
    facts.extend(differ.map(|differ| ("Limits", escape(&differ).to_string())));
    let told = seen.throttled_at.as_deref();
    facts.extend(told.map(|node| ("Told to wait", format!("node {}", escape(node)))));
    let off = seen.off_at.as_deref();
    facts.extend(off.map(|node| ("Switched off at", format!("node {}", escape(node)))));
    facts
}

/// `Limits differ between nodes: 100 per day here, 200 per day at birch.`
pub(super) fn limits_differ(seen: &SharedUse) -> Option<String> {
    let said = |one: &DifferingLimit, limit: Option<u32>| {
        let what = match one.budget {
            Budget::Grab => " downloads",
            Budget::Query | Budget::Side => "",
        };
        let limit = limit.map_or_else(|| "no limit".to_owned(), grouped);
        format!("{limit}{what} per {}", window_name(one.window))
    };
    let mut parts: Vec<String> = Vec::new();
    for one in &seen.differing {
        let here = format!("{} here", said(one, one.here));
        if !parts.contains(&here) {
            parts.push(here);
        }
        parts.push(format!("{} at {}", said(one, one.there), one.node));
    }
    (!parts.is_empty()).then(|| format!("Limits differ between nodes: {}.", parts.join(", ")))
}

/// `412: 409 done, 3 timed out`.
fn calls(sight: &Sight<'_>) -> String {
    let requests = sight.view.figures.requests;
    let total: u64 = requests.iter().sum();
    let kinds: Vec<String> = Kind::ALL
        .into_iter()
        .zip(requests)
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{} {}", grouped(count), kind.name().replace('_', " ")))
        .collect();
    match kinds.as_slice() {
        [] => "none".to_owned(),
        kinds => format!("{}: {}", counted(total, "call", "calls"), kinds.join(", ")),
    }
}
