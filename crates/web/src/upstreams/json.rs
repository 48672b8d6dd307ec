//! `/api/v1/upstreams` and `/api/v1/decisions`.

use std::time::Duration;

use axum::{
    Json,
    extract::{Path, Query, State},
    http::StatusCode,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use weir_engine::{Got, Kind, OwnDecision, Record, Standing, dispatch::Moment};

use super::{
    decisions::{DecisionPlace, FoundDecision, Itself, newest, tell_one},
    facts::limits_differ,
    limit::UpstreamLimit,
    list,
    parts::NEXT,
    query::UpstreamsQuery,
    reason,
    sight::Sight,
    voice::Voice,
};
use crate::{App, Failure};

/// Decisions per page: by default, and at most.
const PAGE: usize = 50;
pub(super) const MOST: usize = 500;

/// `GET /api/v1/upstreams`.
pub(super) async fn list(
    State(app): State<App>,
    Query(view): Query<UpstreamsQuery>,
) -> Result<Json<Value>, Failure> {
    known_front(&app, &view.front)?;
    let all = Sight::all(&app);
    let states = states(&all);
    let (summary, total) = (list::summary(&all), all.len());
    let page = view.page(all);
    Ok(Json(json!({
        "upstreams": page.rows.iter().map(upstream).collect::<Vec<_>>(),
        "summary": summary,
        "states": states,
        "total": total,
        "matching": page.matching,
        "position": page.before,
        "page": page.number,
        "pages": page.pages,
        "limit": view.limit(),
    })))
}

/// How many upstreams are in each state.
fn states(all: &[Sight<'_>]) -> Map<String, Value> {
    let states = Standing::ALL.into_iter();
    states
        .map(|state| (state.name().to_owned(), Sight::count(all, state).into()))
        .collect()
}

/// A front that is named must exist: nothing found would look like nothing wrong.
pub(super) fn known_front(app: &App, name: &str) -> Result<(), Failure> {
    let mut fronts = app.with_upstreams().map(|(front, _)| front.name);
    if name.is_empty() || fronts.any(|front| front == name) {
        return Ok(());
    }
    let fronts: Vec<&str> = app.with_upstreams().map(|(front, _)| front.name).collect();
    let failure = Failure::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        format!("There is no front {name:?} with upstreams."),
        format!("There are: {}.", fronts.join(", ")),
    );
    Err(failure.at("front"))
}

/// For the status: how many upstreams are in each state, the first that need attention, and how many do.
pub(crate) fn attention(app: &App, most: usize) -> (Value, Vec<Value>, usize) {
    let mut all = Sight::all(app);
    let counts =
        json!({ "total": all.len(), "summary": list::summary(&all), "states": states(&all) });
    all.retain(Sight::needs_attention);
    all.sort_by(|one, other| (one.rank(), one.name()).cmp(&(other.rank(), other.name())));
    let row = |sight: &Sight<'_>| {
        let times = &sight.times;
        json!({
            "front": sight.front.name,
            "name": sight.name(),
            "page": sight.path(),
            "state": sight.standing().name(),
            "reason": times.plain(&reason::short(sight)),
            "sentence": times.plain(&reason::full(sight)),
            "since": times.exact(sight.view.since),
            "until": sight.until().map(|until| times.exact(until)),
        })
    };
    let rows = all.iter().take(most).map(row).collect();
    (counts, rows, all.len())
}

/// `GET /api/v1/upstreams/{front}/{name}`.
pub(super) async fn one(
    State(app): State<App>,
    Path((front, name)): Path<(String, String)>,
) -> Result<Json<Value>, Failure> {
    let sight = Sight::find(&app, &front, &name)?;
    let (engine, id, times) = (sight.engine(), sight.id(), &sight.times);
    let mut body = upstream(&sight);
    body["history"] = sight
        .view
        .history
        .iter()
        .map(|(at, standing)| json!({ "at": times.exact(*at), "state": standing.name() }))
        .collect();
    let ladder = engine.ladder();
    body["ladder_seconds"] = ladder.iter().map(|cooldown| cooldown.as_secs()).collect();
    let errors = sight.view.errors.iter();
    body["errors"] = errors
        .map(|error| {
            json!({
                "first": times.exact(error.first),
                "last": times.exact(error.last),
                "count": error.count,
                "text": &*error.words,
            })
        })
        .collect();
    let (count, next) = engine.scheduled(id, NEXT);
    let next = next.into_iter().map(|call| {
        json!({
            "due": times.exact(call.due),
            "class": sight.voice().class(call.class),
            "attempt": call.attempt,
            "about": call.about.words(),
        })
    });
    body["scheduled"] = json!({ "count": count, "next": next.collect::<Vec<_>>() });
    let seen = engine.shared_use(id);
    body["all_nodes"] = seen.map_or(Value::Null, |seen| {
        let limits = UpstreamLimit::shared(&sight.view, &seen).into_iter();
        json!({
            "at": times.exact(seen.at),
            "limits": limits.map(|limit| limit.json(times)).collect::<Vec<_>>(),
            "told_to_wait": seen.throttled_at.as_deref(),
            "switched_off_at": seen.off_at.as_deref(),
            "limits_differ": limits_differ(&seen),
        })
    });
    let facts = sight.upstreams.facts(id).into_iter();
    body["facts"] = facts
        .map(|(label, value)| json!({ "label": label, "value": value }))
        .collect();
    Ok(Json(body))
}

/// One upstream with everything that is known of it.
pub(super) fn upstream(sight: &Sight<'_>) -> Value {
    let (view, times, day) = (&sight.view, &sight.times, &sight.day);
    let status = &view.status;
    let exact = |moment: Moment| times.exact(moment);
    let millis = |time: std::time::Duration| time.as_micros() as f64 / 1000.0;
    let short = times.plain(&reason::short(sight));
    let limits = UpstreamLimit::all(view).into_iter();
    let limits: Vec<Value> = limits.map(|limit| limit.json(times)).collect();
    let requests: Map<String, Value> = Kind::ALL
        .into_iter()
        .zip(view.figures.requests)
        .map(|(kind, count)| (kind.name().to_owned(), count.into()))
        .collect();
    let spacing = view.quota.gaps.iter().zip(sight.upstreams.classes());
    let spacing: Map<String, Value> = spacing
        .map(|(gap, class)| ((*class).to_owned(), gap.as_secs_f64().into()))
        .collect();
    let [answered, refused, failed, timed_out] = day.calls;
    json!({
        "front": sight.front.name,
        "name": sight.name(),
        "kind": sight.upstreams.kind(),
        "place": sight.place,
        "page": sight.path(),
        "state": sight.standing().name(),
        "reason": (!short.is_empty()).then_some(short),
        "sentence": times.plain(&reason::full(sight)),
        "since": exact(view.since),
        "until": sight.until().map(exact),
        "seconds_left": sight.until().map(|until| times.moment.until(until).as_secs()),
        "next_probe": sight.next_probe().map(exact),
        "rung": status.rung,
        "rungs": view.rungs,
        "next_rest_seconds": view.next_cooldown.map(|cooldown| cooldown.as_secs()),
        "failures": status.failures,
        "queued": status.queued,
        "in_flight": status.in_flight,
        "in_flight_limit": view.quota.in_flight,
        "spacing_seconds": spacing,
        "time_out_seconds": view.time_out.as_secs_f64(),
        "last_start": status.last_start.map(exact),
        "last_call": view.last_call.map(exact),
        "last_interval_seconds": sight.upstreams.last_interval(sight.id()).map(|time| time.as_secs()),
        "last_error": view.last_error.as_ref().map(|(at, words)| json!({ "at": exact(*at), "text": words })),
        "off": view.off.as_ref().map(|off| json!({ "reason": off.reason, "who": off.who, "at": exact(off.at) })),
        "quota": limits,
        "latency": { "p50_ms": day.p50.map(millis), "p95_ms": day.p95.map(millis) },
        "success_pct": day.success().map(|thousandths| thousandths as f64 / 10.0),
        "calls_24h": { "answered": answered, "refused": refused, "failed": failed, "timed_out": timed_out },
        "requests": requests,
    })
}

/// Which decisions are asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct DecisionsQuery {
    front: String,
    upstream: String,
    /// The cursor that an earlier answer returned.
    before: String,
    limit: String,
}

/// `GET /api/v1/decisions`.
pub(super) async fn decisions(
    State(app): State<App>,
    Query(asked): Query<DecisionsQuery>,
) -> Result<Json<Value>, Failure> {
    let before = match asked.before.as_str() {
        "" => None,
        text => Some(read(text).ok_or_else(odd_place)?),
    };
    known_front(&app, &asked.front)?;
    let limit = asked.limit.parse().unwrap_or(PAGE).clamp(1, MOST);
    let is_wanted = |wanted: &str, name: &str| wanted.is_empty() || wanted == name;
    let (mut sights, mut fronts) = (Vec::new(), Vec::new());
    if !asked.front.is_empty() && !asked.upstream.is_empty() {
        sights.push(Sight::find(&app, &asked.front, &asked.upstream)?);
    } else {
        sights.extend(Sight::all(&app));
        sights.retain(|sight| is_wanted(&asked.front, sight.front.name));
        sights.retain(|sight| is_wanted(&asked.upstream, sight.name()));
    }
    if asked.upstream.is_empty() {
        fronts.extend(Itself::all(&app));
        fronts.retain(|itself| is_wanted(&asked.front, itself.front.name));
    }
    let (found, more) = newest(&app, (&sights, &fronts), before, limit);
    let last = found.last().map(|(place, _)| write(*place));
    let rows: Vec<Value> = found
        .iter()
        .map(|(_, found)| match found {
            FoundDecision::About(index, decision) => row(sights[*index].voice(), decision),
            FoundDecision::Own(index, decision) => own_row(&fronts[*index], decision),
        })
        .collect();
    Ok(Json(
        json!({ "decisions": rows, "before": last.filter(|_| more) }),
    ))
}

pub(super) fn row(voice: Voice<'_>, decision: &Record) -> Value {
    let told = tell_one(voice, decision);
    json!({
        "front": voice.front.name,
        "upstream": voice.name,
        "number": told.number,
        "at": voice.times.exact(told.at),
        "kind": told.kind,
        "class": told.class,
        "asker": told.asker,
        "about": told.about,
        "reason": told.reason,
        "cause": told.cause.as_deref(),
        "until": told.until.map(|until| voice.times.exact(until)),
        "got": told.got.map(got),
        "sentence": voice.times.plain(&told.sentence),
    })
}

/// What whoever asked got.
fn got(got: Got) -> Value {
    let (what, age, after) = match got {
        Got::Fresh => ("fresh", None, None),
        Got::Cached { age } => ("cached", Some(age), None),
        Got::Nothing => ("nothing", None, None),
        Got::Elsewhere => ("elsewhere", None, None),
        Got::Retry { after } => ("retry", None, Some(after)),
    };
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs());
    json!({ "what": what, "age_seconds": seconds(age), "retry_seconds": seconds(after) })
}

/// A decision of the front itself: without an upstream, but with how often it was made, and when last.
pub(super) fn own_row(itself: &Itself<'_>, decision: &OwnDecision) -> Value {
    let own = &decision.own;
    json!({
        "front": itself.front.name,
        "upstream": null,
        "number": decision.number,
        "at": itself.times.exact(decision.at),
        "last": itself.times.exact(decision.last),
        "count": decision.count,
        "kind": own.kind.name(),
        "about": &*own.about,
        "reason": own.reason.name(),
        "limit": own.limit,
        "concerned": own.concerned,
        "told_retry_seconds": own.retry.map(|retry| retry.as_secs()),
        "example": own.example.as_deref(),
        "class": null,
        "asker": own.asker.as_deref(),
        "sentence": decision.sentence(),
    })
}

fn write((at, (front, upstream), number): DecisionPlace) -> String {
    format!("{at}-{front}-{upstream}-{number}")
}

fn read(text: &str) -> Option<DecisionPlace> {
    let mut parts = text.splitn(4, '-');
    let at = parts.next()?.parse().ok()?;
    let whom = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some((at, whom, parts.next()?.parse().ok()?))
}

fn odd_place() -> Failure {
    Failure::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "`before` is not a valid cursor.",
        "Send `before` as the last answer returned it.",
    )
    .at("before")
}
