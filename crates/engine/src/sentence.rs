//! Decisions in words, for page, API and terminal: who, why, until when.
//!
//! One function per kind of record. A record carries all that its sentence needs; the scene only has names and the way to
//! write a time.

use std::time::Duration;

use weir_dispatch::{
    Asker, Cause, Class, Cooldown, DropReason, FullWindow, Moment, Skip, Wait, What, Window,
};

use crate::record::{About, Got, Record};
use crate::tally::Kind;
use crate::words::{self, capital, grouped};

/// What a sentence needs besides its record.
pub struct Scene<'a> {
    /// The upstream's name, which begins each sentence.
    pub upstream: &'a str,
    /// What the front calls a class.
    pub class: &'a dyn Fn(Class) -> &'a str,
    /// The program behind a number, if it is known.
    pub asker: &'a dyn Fn(Asker) -> Option<String>,
    /// A time of day; to the second if the second argument says so.
    pub clock: &'a dyn Fn(Moment, bool) -> String,
}

/// The sentence of a record. It tells of its moment alone, so it stays true whatever happens later.
pub fn sentence(record: &Record, scene: &Scene<'_>) -> String {
    let who = scene.upstream;
    let words = match record.what {
        What::Started { waited, reason, .. } => return started(record, waited, reason, scene),
        What::Waits {
            reason,
            until,
            full,
        } => waits(record, reason, until, full, scene),
        What::CooldownBegan {
            cooldown,
            next,
            probe,
            ..
        } if cooldown.cause.disables() => disabled(record, cooldown, next, probe, scene),
        What::CooldownBegan {
            cooldown,
            rung,
            failures,
            next,
            ..
        } => {
            // Records of earlier versions do not count them.
            let failures = failures.max(rung.into());
            cooling(record, cooldown, failures, next, scene)
        }
        What::Healed => "answered and is open again".to_owned(),
        What::Skipped(skip) => return skipped(record, skip, scene),
        What::Missed(skip) => return missed(record, skip, scene),
        What::Shared { with, after } => return shared(record, with, after, scene),
        What::Kept { by } => return kept(record, by, scene),
        What::Duplicate => return duplicate(record, scene),
        What::Dropped { reason, limit } => return dropped(record, reason, limit, scene),
        What::Raised { from } => return raised(record, from, scene),
        What::Retried { due } => return retried(record, due, scene),
        What::PutOff { due, reason, limit } => return put_off(record, due, reason, limit, scene),
        What::Cleared => return format!("{who}: cooldown cleared by {}.", operator(record, scene)),
        What::Forgiven => {
            return format!(
                "{who}: its failures were cleared by {}.",
                operator(record, scene)
            );
        }
        What::SwitchedOff => switched_off(record, scene),
        What::SwitchedOn => format!("was switched on by {}", operator(record, scene)),
    };
    format!("{who} {words}.")
}

/// That our own network is down, which `failed` upstreams showed; `paused` is until when no front makes a call.
pub fn our_network(failed: usize, paused: Option<Moment>, scene: &Scene<'_>) -> String {
    let next = match paused {
        // Pauses are short, so to the second.
        Some(until) => format!("Calls pause until {}.", (scene.clock)(until, true)),
        None => "The next call will show whether it is back.".to_owned(),
    };
    let outage = outage(failed as u64);
    format!("{outage} {next}")
}

/// What an outage of our own is known by, and what did not follow from it.
pub(crate) fn outage(failed: u64) -> String {
    match failed {
        // Those that showed it may have been removed.
        0 | 1 => "The fault is in our own network. Nothing was disabled.".to_owned(),
        failed => format!(
            "{} upstreams failed at once, so the fault is in our own network. None was disabled.",
            grouped(failed)
        ),
    }
}

fn started(record: &Record, waited: Duration, reason: Option<Wait>, scene: &Scene<'_>) -> String {
    let (who, what) = (scene.upstream, about(record));
    let after = match reason {
        None if waited < Duration::from_millis(100) => String::new(),
        None => format!(" after {} in the queue", span(waited)),
        Some(reason) => {
            let waiting = match reason {
                Wait::Off => "being switched off",
                Wait::Cooldown => "cooldown",
                Wait::Window => "waiting for quota",
                Wait::Gap => "spacing",
                Wait::Agreeing => "waiting for the nodes to agree",
                Wait::Share => "waiting for the shared store",
                Wait::Claimed => "waiting for another node",
                Wait::Network => "waiting for our own network",
            };
            format!(" after {} of {waiting}", span(waited))
        }
    };
    if record.end.is_some_and(|end| end.kind == Kind::Redirected) {
        let asker = (scene.asker)(record.asker).unwrap_or_else(|| "the program".to_owned());
        return format!(
            "{who}: {asker} was redirected to fetch the file itself{after}; counted as one call.{}",
            given(record, scene)
        );
    }
    let called = match (record.asker, after.is_empty()) {
        (Asker::WEIR, _) => format!("{who} was tested by Weir{what}{after}"),
        (_, true) => format!("{who} was called at once{}{what}", for_asker(record, scene)),
        (_, false) => format!("{who} was called{}{what}{after}", for_asker(record, scene)),
    };
    let ended = record.end.map_or_else(String::new, |end| {
        let took = span(end.took);
        match (end.kind, &record.cause) {
            (Kind::Done, _) => format!(" and answered in {took}"),
            (Kind::No | Kind::Again, None) => format!(" and said no in {took}"),
            (Kind::Cut, None) => "; Weir stopped before it answered".to_owned(),
            (Kind::Lost, _) => "; how it ended is not known, because Weir was killed".to_owned(),
            (_, Some(cause)) => format!(": {cause}"),
            (_, None) => " and did not answer".to_owned(),
        }
    });
    format!("{called}{ended}.{}", given(record, scene))
}

fn waits(
    record: &Record,
    reason: Wait,
    until: Moment,
    full: Option<FullWindow>,
    scene: &Scene<'_>,
) -> String {
    match (reason, full) {
        (Wait::Window, Some(full)) if full.limit == 0 => {
            format!("waits: its limit is 0 calls {}", per(full.window))
        }
        (Wait::Window, Some(full)) => {
            let kept = match full.kept {
                0 => String::new(),
                kept => format!(" ({} reserved for nodes without the store)", grouped(kept)),
            };
            format!(
                "waits: {} of {} calls used {}{kept}, next slot {}",
                grouped(full.used),
                grouped(full.limit),
                within(full.window),
                (scene.clock)(until, false)
            )
        }
        (Wait::Window, None) => {
            let next = (scene.clock)(until, false);
            format!("waits: its quota is used up, next slot {next}")
        }
        (Wait::Off, _) => "waits: it is switched off by an operator".to_owned(),
        (Wait::Cooldown, _) => {
            let next = (scene.clock)(until, true);
            let whom = format!("{}{}", for_asker(record, scene), about(record));
            format!("cannot be called{whom} before {next}{}", cause(record))
        }
        (Wait::Gap, _) => {
            let next = (scene.clock)(until, true);
            format!("waits for spacing, next slot {next}")
        }
        (Wait::Network, _) => {
            let next = (scene.clock)(until, true);
            format!("waits: our own network is down, next try {next}")
        }
        (Wait::Agreeing, _) => "waits while the nodes agree on how many calls were used".to_owned(),
        (Wait::Share, full) => {
            format!(
                "waits: the shared store does not answer, and {}",
                share(full, until, scene)
            )
        }
        (Wait::Claimed, _) => {
            let node = record.cause.as_deref().unwrap_or("another node");
            format!(
                "waits for {node}, which is asking the same{}",
                about(record)
            )
        }
    }
}

/// What a node without the store has used of what it may use then.
fn share(full: Option<FullWindow>, until: Moment, scene: &Scene<'_>) -> String {
    let Some(full) = full else {
        return "this node has used its share".to_owned();
    };
    let (limit, window) = (grouped(full.limit), window_name(full.window));
    match full.kept {
        // When the store is back nobody knows, so no time is told.
        0 => format!(
            "this node's share of the {limit} calls per {window} is zero. It tries again when the store is back"
        ),
        _ => format!(
            "this node has used its share ({} of {limit} calls per {window}). Next slot {}",
            grouped(full.used),
            (scene.clock)(until, false)
        ),
    }
}

fn cooling(
    record: &Record,
    cooldown: Cooldown,
    failures: u32,
    next: Duration,
    scene: &Scene<'_>,
) -> String {
    let until = (scene.clock)(cooldown.until, false);
    let length = span(record.at.until(cooldown.until));
    let why = record.cause.as_deref().unwrap_or("it did not answer");
    let ladder = match cooldown.cause {
        Cause::Throttled => String::new(),
        _ => {
            let grows = next > record.at.until(cooldown.until);
            format!(" ({})", failure(failures, grows.then_some(next)))
        }
    };
    format!("went into cooldown for {length}, until {until}: {why}{ladder}")
}

fn disabled(
    record: &Record,
    cooldown: Cooldown,
    next: Duration,
    probe: Moment,
    scene: &Scene<'_>,
) -> String {
    let why = record.cause.as_deref().unwrap_or("it failed too often");
    // Records of earlier versions name no probe.
    let probed = (scene.clock)(cooldown.until.max(probe), false);
    format!(
        "was disabled: {why}. Next automatic probe at {probed}; if that fails, another {} later",
        span(next)
    )
}

fn skipped(record: &Record, skip: Skip, scene: &Scene<'_>) -> String {
    let who = scene.upstream;
    let whom = format!("{}{}", for_asker(record, scene), about(record));
    let Some(wait) = skip.wait else {
        let why = match &record.cause {
            Some(reason) if !reason.is_empty() => format!(" (\u{201c}{reason}\u{201d})"),
            _ => String::new(),
        };
        let got = given(record, scene);
        return format!("{who} was skipped{whom}: it is switched off by an operator{why}.{got}");
    };
    let (next, got) = (record.at + wait, given(record, scene));
    let Some(limit) = skip.limit else {
        let until = (scene.clock)(next, false);
        let why = cause(record);
        return format!("{who} was skipped{whom}: it is cooling down until {until}{why}.{got}");
    };
    if is_queued(&skip) {
        let queued = format!("the request was still queued after {}", span(limit));
        return format!("{who} was skipped{whom}: {queued}.{got}");
    }
    // Who knows beforehand is told of a longer time than that: this one left while it waited.
    if wait <= limit && knows_slot(skip.reason) {
        let (limit, wait) = (span(limit), span(wait));
        let at = (scene.clock)(next, true);
        let why = beside_time(record);
        return format!(
            "{who} was skipped{whom}: it had not been called after {limit}; next free slot in {wait} ({at}{why}).{got}"
        );
    }
    let requests = record.class.map_or_else(
        || "this request waits".to_owned(),
        |class| format!("{} requests wait", (scene.class)(class)),
    );
    let why = match knows_slot(skip.reason) {
        true => {
            let at = (scene.clock)(next, true);
            format!(
                "the next free slot is in {} ({at}{})",
                span(wait),
                beside_time(record)
            )
        }
        false => wait_reason(skip.reason, None),
    };
    format!(
        "{who} was skipped{whom}: {why}, and {requests} at most {}.{got}",
        span(limit)
    )
}

/// Whether it is known when the next slot is free. Otherwise the time is only when it is looked at again.
fn knows_slot(reason: Wait) -> bool {
    match reason {
        Wait::Agreeing | Wait::Share | Wait::Claimed => false,
        Wait::Off | Wait::Cooldown | Wait::Window | Wait::Gap | Wait::Network => true,
    }
}

/// Whether it is known until when a request waits: one without the shared store waits for a slot of its node's share, if it has
/// one at all.
pub fn waits_until(reason: Wait, full: Option<FullWindow>) -> bool {
    match reason {
        Wait::Share => full.is_some_and(|full| full.kept > 0),
        reason => knows_slot(reason),
    }
}

/// Whether a request was skipped while it was in the queue and nothing held its upstream.
pub fn is_queued(skip: &Skip) -> bool {
    skip.wait.is_some_and(|wait| wait.is_zero()) && knows_slot(skip.reason)
}

/// When the next slot of a skip is free, as far as anybody knows.
pub fn slot_of(skip: &Skip, at: Moment) -> Option<Moment> {
    let wait = skip.wait.filter(|wait| !wait.is_zero())?;
    knows_slot(skip.reason).then(|| at + wait)
}

/// What holds an upstream, as whoever asked is told; with the reason that it or an operator gave.
pub fn wait_reason(reason: Wait, cause: Option<&str>) -> String {
    let why = match reason {
        Wait::Off => "switched off by an operator",
        Wait::Cooldown => "it is cooling down",
        Wait::Window => "its quota is used up",
        Wait::Gap => "it was asked a moment ago",
        Wait::Agreeing => "the nodes are agreeing on how many calls were used",
        Wait::Share => "the shared store does not answer and this node has used its share",
        Wait::Claimed => "another node is asking the same",
        Wait::Network => "calls pause",
    };
    let said = cause.filter(|cause| !cause.is_empty());
    said.map_or_else(|| why.to_owned(), |said| format!("{why}: {said}"))
}

fn missed(record: &Record, skip: Skip, scene: &Scene<'_>) -> String {
    let who = scene.upstream;
    let (what, got) = (about(record), given(record, scene));
    let Some(wait) = skip.wait else {
        let asker = (scene.asker)(record.asker).map_or_else(String::new, |who| format!(" {who}"));
        return format!(
            "{who} did not answer{asker}{what} by the deadline. The call goes on.{got}"
        );
    };
    let why = if is_queued(&skip) {
        "the request was still queued when the deadline passed, and stays queued".to_owned()
    } else if knows_slot(skip.reason) {
        format!(
            "the next free slot is in {} ({}{}), too late for this request. It stays queued for the next asker",
            span(wait),
            (scene.clock)(record.at + wait, true),
            beside_time(record)
        )
    } else {
        let why = wait_reason(skip.reason, None);
        format!("{why}. The request stays queued for the next asker")
    };
    let asker = for_asker(record, scene);
    format!("{who} was skipped{asker}{what}: {why}.{got}")
}

fn shared(record: &Record, with: Asker, after: Duration, scene: &Scene<'_>) -> String {
    let who = scene.upstream;
    let one = (scene.asker)(record.asker).unwrap_or_else(|| "a program".to_owned());
    let other = (scene.asker)(with).unwrap_or_else(|| "another program".to_owned());
    let (what, after) = (about(record), span(after));
    let waited = format!("{who}: {one} waited for the call made for {other} {after} earlier{what}");
    match record.got {
        Some(Got::Nothing) => format!("{waited}; neither got an answer."),
        Some(Got::Cached { .. } | Got::Elsewhere | Got::Retry { .. }) => {
            format!("{waited}, which brought no answer.{}", given(record, scene))
        }
        Some(Got::Fresh) | None => format!(
            "{who}: {one} shared the answer to the same question, which {other} had asked {after} earlier{what}."
        ),
    }
}

fn kept(record: &Record, by: Asker, scene: &Scene<'_>) -> String {
    let who = scene.upstream;
    let one = (scene.asker)(record.asker).unwrap_or_else(|| "a program".to_owned());
    let node =
        (scene.asker)(by).map_or_else(|| "another node".to_owned(), |node| format!("node {node}"));
    let age = match record.got {
        Some(Got::Cached { age }) => format!(", {} old", words::age(age)),
        _ => String::new(),
    };
    format!(
        "{who}: {one} got the answer cached on {node}{age}{}.",
        about(record)
    )
}

fn duplicate(record: &Record, scene: &Scene<'_>) -> String {
    let who = scene.upstream;
    let what = record.about.words();
    let what = what.as_deref().unwrap_or("the same request");
    format!("{who}: {what} is already scheduled, queued or under way.")
}

fn dropped(record: &Record, reason: DropReason, limit: u32, scene: &Scene<'_>) -> String {
    let who = scene.upstream;
    let (what, why) = (about(record), drop_reason(reason, Some(limit)));
    let (from, got) = (from_asker(record, scene), given(record, scene));
    format!("{who}: the request{from}{what} was dropped: {why}.{got}")
}

/// Why there was no room for a request, as records tell it and whoever asked; `limit` is how many fit, where that is known.
pub fn drop_reason(reason: DropReason, limit: Option<u32>) -> String {
    let many = limit.map_or_else(|| "too many".to_owned(), grouped);
    let limit = limit.map_or_else(String::new, |limit| format!(" ({})", grouped(limit)));
    match reason {
        DropReason::QueueFull => format!("queue full{limit}"),
        DropReason::Backlog => format!("{many} requests for this upstream are already queued"),
        DropReason::AgendaFull => format!("too many requests are scheduled{limit}"),
        DropReason::Scheduled => "the same request is already scheduled".to_owned(),
        DropReason::Gone => "it is no longer configured".to_owned(),
    }
}

fn raised(record: &Record, from: Class, scene: &Scene<'_>) -> String {
    let (who, from) = (scene.upstream, (scene.class)(from));
    let to = record
        .class
        .map_or("a more urgent class", |class| (scene.class)(class));
    let why = (scene.asker)(record.asker).map_or_else(String::new, |asker| {
        format!(" because {asker} asked for it")
    });
    let what = about(record);
    format!("{who}: a queued request{what} was raised from {from} to {to}{why}.")
}

/// A plan, not a promise: the queue may be full then.
fn retried(record: &Record, due: Moment, scene: &Scene<'_>) -> String {
    let (who, next, what) = (scene.upstream, (scene.clock)(due, true), about(record));
    let why = match &record.cause {
        Some(cause) => format!(": {cause}{what}"),
        None => format!(" did not answer{what}"),
    };
    format!("{who}{why}; next try planned for {next}.")
}

fn put_off(
    record: &Record,
    due: Moment,
    reason: DropReason,
    limit: u32,
    scene: &Scene<'_>,
) -> String {
    let (who, next, what) = (scene.upstream, (scene.clock)(due, true), about(record));
    let (from, why) = (from_asker(record, scene), drop_reason(reason, Some(limit)));
    format!("{who}: the request{from}{what} was put off until {next}: {why}.")
}

fn switched_off(record: &Record, scene: &Scene<'_>) -> String {
    let who = operator(record, scene);
    match &record.cause {
        Some(reason) if !reason.is_empty() => {
            format!("was switched off by {who}: \u{201c}{reason}\u{201d}")
        }
        _ => format!("was switched off by {who}"),
    }
}

/// Who acted: `anna (192.0.2.4)`, or `anna on birch`. Records of earlier versions do not name who acted here.
fn operator(record: &Record, scene: &Scene<'_>) -> String {
    let elsewhere = Some(record.asker).filter(|asker| *asker != Asker::OPERATOR);
    let elsewhere = elsewhere.and_then(scene.asker);
    elsewhere.unwrap_or_else(|| "an operator".to_owned())
}

/// ` for Sonarr`.
fn for_asker(record: &Record, scene: &Scene<'_>) -> String {
    let asker = (scene.asker)(record.asker);
    asker.map_or_else(String::new, |asker| format!(" for {asker}"))
}

/// ` from Sonarr`.
fn from_asker(record: &Record, scene: &Scene<'_>) -> String {
    let asker = (scene.asker)(record.asker);
    asker.map_or_else(String::new, |asker| format!(" from {asker}"))
}

/// ` (4be19c07…90c2)`.
fn about(record: &Record) -> String {
    let what = record.about.words();
    what.map_or_else(String::new, |what| format!(" ({what})"))
}

/// ` (it answered 503)`. Not "because": some causes are sentences, others are not (`connection refused`).
fn cause(record: &Record) -> String {
    let words = record.cause.as_ref();
    words.map_or_else(String::new, |words| format!(" ({words})"))
}

/// `; it answered 503`, in the parentheses of a time.
fn beside_time(record: &Record) -> String {
    let words = record.cause.as_ref();
    words.map_or_else(String::new, |words| format!("; {words}"))
}

/// What whoever asked got, as a sentence of its own.
fn given(record: &Record, scene: &Scene<'_>) -> String {
    let asker = (scene.asker)(record.asker).unwrap_or_else(|| "the program".to_owned());
    let who = capital(&asker);
    match record.got {
        None | Some(Got::Fresh) => String::new(),
        Some(Got::Cached { age }) => {
            format!(" {who} got the cached answer, {} old.", words::age(age))
        }
        Some(Got::Nothing) if record.about == About::File => format!(" {who} got no file."),
        // Of one that is switched off, nothing is given that is cached either.
        Some(Got::Nothing) if is_off(record) => format!(" {who} got nothing."),
        Some(Got::Nothing) => format!(" {who} got nothing: no cached answer."),
        Some(Got::Elsewhere) => format!(" Another server answered {asker}."),
        Some(Got::Retry { after }) => format!(" {who} was told to retry in {}.", span(after)),
    }
}

fn is_off(record: &Record) -> bool {
    matches!(record.what, What::Skipped(skip) | What::Missed(skip) if skip.reason == Wait::Off)
}

/// `failure 3 in a row; if it fails again, the next pause is 30 min`; `next` is `None` if pauses no longer grow.
pub fn failure(failures: u32, next: Option<Duration>) -> String {
    let failure = match failures {
        0 | 1 => "first failure".to_owned(),
        more => format!("failure {} in a row", grouped(more)),
    };
    match next {
        Some(next) => format!(
            "{failure}; if it fails again, the next pause is {}",
            span(next)
        ),
        None => format!("{failure}; this is the longest pause"),
    }
}

/// A window by its name: `hour`, `5 min`, `30 days`.
pub fn window_name(window: Window) -> String {
    match window {
        Window::MINUTE => "minute".to_owned(),
        Window::HOUR => "hour".to_owned(),
        Window::DAY => "day".to_owned(),
        _ => match window.seconds() {
            // Never rounded: somebody wrote this length into a file.
            seconds if seconds.is_multiple_of(24 * 3600) => format!("{} days", seconds / 24 / 3600),
            seconds if seconds.is_multiple_of(3600) => format!("{} h", seconds / 3600),
            seconds if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
            seconds => format!("{seconds} s"),
        },
    }
}

/// When what is counted in a window was counted: `in the last hour`, `in the last 24 h`.
pub fn within(window: Window) -> String {
    match window {
        Window::DAY => "in the last 24 h".to_owned(),
        _ => format!("in the last {}", window_name(window)),
    }
}

/// How often a limit is there: `a day`, `in 5 min`.
fn per(window: Window) -> String {
    match window {
        Window::HOUR => "an hour".to_owned(),
        Window::MINUTE | Window::DAY => format!("a {}", window_name(window)),
        _ => format!("in {}", window_name(window)),
    }
}

/// A length of time as people say it: `58 ms`, `0.7 s`, `74 s`, `6 min`, `2 h 1 min`, `12 h`. Whoever waits as long as that
/// has waited long enough, and hardly longer: nothing is rounded down, or up by more than a tenth.
pub fn span(time: Duration) -> String {
    let (seconds, millis) = (time.as_secs(), time.as_millis());
    match seconds {
        0 if millis < 100 => return format!("{millis} ms"),
        0..10 if millis % 1000 >= 50 && millis % 1000 < 950 => {
            return format!("{:.1} s", time.as_secs_f64());
        }
        _ => {}
    }
    // To the nearest: a clock has moved on by a moment since somebody chose a whole number.
    let seconds = u64::try_from((millis + 500) / 1000).unwrap_or(u64::MAX);
    let minutes = seconds.div_ceil(60);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..600 => pair((seconds / 60, "min"), (seconds % 60, "s")),
        600..7200 => format!("{minutes} min"),
        7200..36_000 => pair((minutes / 60, "h"), (minutes % 60, "min")),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

fn pair((whole, unit): (u64, &str), (rest, smaller): (u64, &str)) -> String {
    match rest {
        0 => format!("{whole} {unit}"),
        rest => format!("{whole} {unit} {rest} {smaller}"),
    }
}

#[cfg(test)]
#[path = "sentence/tests.rs"]
mod tests;
