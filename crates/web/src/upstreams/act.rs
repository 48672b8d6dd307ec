//! What an operator can do about an upstream: probe it, clear its cooldown, switch it off and on. Forms on pages and the
//! API lead here.

use std::{num::NonZeroU64, time::Duration};

use axum::{
    Json,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
};
use percent_encoding::utf8_percent_encode;
use serde_json::{Value, json};
use weir_config::ENCODED;
use weir_engine::{
    Ended, Outcome, Standing,
    dispatch::{Budget, Class, Job, JobKey},
};

use super::{json, notice, one, sight::Sight};
use crate::{App, Failure, Identity, Visitor, forms::field, pages::local};

/// How long an answer waits for a probe; one that takes longer carries on by itself.
const PROBE: Duration = Duration::from_secs(3);
/// The longest reason, in characters.
const REASON: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Probe,
    Clear,
    Disable,
    Enable,
}

impl Action {
    pub(super) const ALL: [Self; 4] = [Self::Probe, Self::Clear, Self::Disable, Self::Enable];

    pub(super) fn read(text: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|action| action.name() == text)
    }

    /// In addresses.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::Clear => "clear",
            Self::Disable => "disable",
            Self::Enable => "enable",
        }
    }

    /// On buttons.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Probe => "Probe now",
            Self::Clear => "Clear cooldown",
            Self::Disable => "Switch off",
            Self::Enable => "Switch on",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Done,
    /// It is done, but a restart would undo it: it is not on disk yet.
    Unwritten,
    /// There was nothing to do.
    Nothing,
    Answered,
    Failed,
    UnderWay,
    /// The front has no probe of its own.
    NoProbe,
}

impl Effect {
    pub(super) const ALL: [Self; 7] = [
        Self::Done,
        Self::Unwritten,
        Self::Nothing,
        Self::Answered,
        Self::Failed,
        Self::UnderWay,
        Self::NoProbe,
    ];

    /// In addresses and in the API.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Unwritten => "unwritten",
            Self::Nothing => "nothing",
            Self::Answered => "answered",
            Self::Failed => "failed",
            Self::UnderWay => "under_way",
            Self::NoProbe => "no_probe",
        }
    }
}

/// The one action that a row of the list offers for an upstream's state.
pub(super) fn fitting(sight: &Sight<'_>) -> Option<Action> {
    match sight.standing() {
        Standing::Cooldown => Some(Action::Clear),
        Standing::Disabled if sight.upstreams.probe(sight.id()).is_some() => Some(Action::Probe),
        Standing::Disabled => Some(Action::Clear),
        Standing::Manual => Some(Action::Enable),
        Standing::Untried if sight.upstreams.probe(sight.id()).is_some() => Some(Action::Probe),
        Standing::Untried | Standing::Open | Standing::Probing => None,
    }
}

/// Whether *Probe all failing* includes it.
pub(super) fn may_be_probed(sight: &Sight<'_>) -> bool {
    let fails = matches!(
        sight.standing(),
        Standing::Cooldown | Standing::Disabled | Standing::Probing
    );
    fails && sight.view.status.in_flight == 0 && sight.upstreams.probe(sight.id()).is_some()
}

/// `POST /upstreams/{front}/{name}/{action}`: forms without further fields.
pub(super) async fn form(
    State(app): State<App>,
    Path((front, name, action)): Path<(String, String, String)>,
    visitor: Visitor,
    body: Bytes,
) -> Result<Response, Failure> {
    let sight = Sight::find(&app, &front, &name)?;
    let action = Action::read(&action).ok_or_else(Failure::not_found)?;
    let how = perform(&app, &sight, action, ("", &visitor)).await;
    Ok(back(&sight, action, how, &body))
}

/// `POST /upstreams/{front}/{name}/disable`.
pub(super) async fn disable(
    State(app): State<App>,
    Path((front, name)): Path<(String, String)>,
    visitor: Visitor,
    body: Bytes,
) -> Result<Response, Failure> {
    let sight = Sight::find(&app, &front, &name)?;
    let given = field(&body, "reason").unwrap_or_default();
    match reason(&given) {
        Ok(reason) => {
            let how = perform(&app, &sight, Action::Disable, (&reason, &visitor)).await;
            Ok(back(&sight, Action::Disable, how, &body))
        }
        Err(mistake) => {
            let mut response = one::ask(&sight, &visitor, &given, Some(mistake));
            *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
            Ok(response)
        }
    }
}

/// `POST /upstreams/probe`.
pub(super) async fn probe_all_failing(
    State(app): State<App>,
    visitor: Visitor,
    body: Bytes,
) -> Response {
    let all = Sight::all(&app);
    let mut probed = 0u64;
    for sight in all.iter().filter(|sight| may_be_probed(sight)) {
        if let Some(call) = sight.upstreams.probe(sight.id()) {
            sight.engine().submit_detached(job(sight), call);
            probed += 1;
        }
    }
    tracing::info!(who = %who(&visitor), probed, "operator: probe all failing");
    let next = field(&body, "next").unwrap_or_default();
    let next = local(&next).unwrap_or("/upstreams");
    Redirect::to(&with(next, &format!("did=probe-all&how={probed}"))).into_response()
}

/// `POST /api/v1/upstreams/{front}/{name}/{action}`.
pub(super) async fn api(
    State(app): State<App>,
    Path((front, name, action)): Path<(String, String, String)>,
    visitor: Visitor,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, Failure> {
    let sight = Sight::find(&app, &front, &name)?;
    let action = Action::read(&action).ok_or_else(|| {
        Failure::unknown(
            "There is no such action.",
            "The actions are probe, clear, disable and enable.",
        )
    })?;
    let given = match action {
        Action::Disable => reason(&given(&headers, &body)).map_err(|mistake| {
            Failure::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                mistake,
                "Send it in the field `reason`, as JSON or as a form.",
            )
            .at("reason")
        })?,
        _ => String::new(),
    };
    let how = perform(&app, &sight, action, (&given, &visitor)).await;
    let now = sight.again(&app).unwrap_or(sight);
    Ok(Json(json!({
        "action": action.name(),
        "result": how.name(),
        "sentence": now.times.plain(&notice::sentence(&now, action, how)),
        "upstream": json::upstream(&now),
    })))
}

/// The field `reason` of a JSON body or a form.
fn given(headers: &HeaderMap, body: &[u8]) -> String {
    let kind = headers.get(header::CONTENT_TYPE);
    if kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json")) {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        return body["reason"].as_str().unwrap_or_default().to_owned();
    }
    field(body, "reason").unwrap_or_default()
}

/// A reason on one line.
fn reason(given: &str) -> Result<String, &'static str> {
    let words = given.split(|letter: char| letter.is_whitespace() || letter.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let reason = words.join(" ");
    match reason.chars().count() {
        0 => Err("Give a reason: other operators will see it."),
        1..=REASON => Ok(reason),
        _ => Err("A reason may have at most 200 characters."),
    }
}

async fn perform(
    app: &App,
    sight: &Sight<'_>,
    action: Action,
    (reason, visitor): (&str, &Visitor),
) -> Effect {
    let (engine, id, who) = (sight.engine(), sight.id(), who(visitor));
    let how = match action {
        Action::Probe => probe(sight).await,
        Action::Clear if can_be_cleared(sight) => {
            engine.clear(id, &who);
            Effect::Done
        }
        Action::Disable if sight.standing() != Standing::Manual => {
            engine.switch_off(id, reason, &who);
            Effect::Done
        }
        Action::Enable if sight.standing() == Standing::Manual => {
            engine.switch_on(id, &who);
            Effect::Done
        }
        Action::Clear | Action::Disable | Action::Enable => Effect::Nothing,
    };
    // Rows of the engine are written behind, so the disk is asked here.
    let how = match how {
        Effect::Done if !app.can_write().await => Effect::Unwritten,
        other => other,
    };
    let (front, upstream) = (sight.front.name, sight.name());
    let (action, how_name) = (action.name(), how.name());
    tracing::info!(
        front,
        upstream,
        who,
        reason,
        "operator: {action}, {how_name}"
    );
    how
}

/// Whether there is anything for *Clear cooldown* to clear.
pub(super) fn can_be_cleared(sight: &Sight<'_>) -> bool {
    let status = &sight.view.status;
    status.cooldown.is_some() || status.failures > 0
}

/// Makes the front's own probe call and waits a moment for the answer.
async fn probe(sight: &Sight<'_>) -> Effect {
    let Some(call) = sight.upstreams.probe(sight.id()) else {
        return Effect::NoProbe;
    };
    let mut ticket = sight.engine().submit(job(sight), call);
    match tokio::time::timeout(PROBE, &mut ticket).await {
        Ok(Ended::Finished(Outcome::Done | Outcome::No | Outcome::Again { .. })) => {
            Effect::Answered
        }
        Ok(_) => Effect::Failed,
        Err(_) => {
            ticket.keep();
            Effect::UnderWay
        }
    }
}

/// A probe; while one is under way, another joins it.
fn job(sight: &Sight<'_>) -> Job {
    // The keys of fronts are hashes, so any fixed number is as unlikely to collide as any other.
    let number = u64::from_be_bytes(*b"probe\0\0\0") ^ u64::from(sight.id().0);
    Job {
        budget: Budget::Side,
        probe: true,
        asker: weir_engine::dispatch::Asker::OPERATOR,
        pending: NonZeroU64::new(number).map(JobKey),
        ..Job::new(sight.id(), Class(0))
    }
}

/// Who does it, as other operators will read it.
fn who(visitor: &Visitor) -> String {
    let address = visitor.client.address;
    match (visitor.identity, visitor.key_name()) {
        (Identity::Anyone | Identity::Nobody, _) => format!("someone at {address}"),
        (_, Some(name)) => format!("{name} ({address})"),
        (Identity::Session(_), None) => format!("operator ({address})"),
        (Identity::Key, None) => format!("a program with the key ({address})"),
    }
}

/// Back to the page with the form, with a note of what was done.
fn back(sight: &Sight<'_>, action: Action, how: Effect, form: &[u8]) -> Response {
    let (path, next) = (sight.path(), field(form, "next").unwrap_or_default());
    let whom = format!("{}/{}", sight.front.name, sight.name());
    let word = format!(
        "did={}&whom={}&how={}",
        action.name(),
        utf8_percent_encode(&whom, ENCODED),
        how.name()
    );
    Redirect::to(&with(local(&next).unwrap_or(&path), &word)).into_response()
}

fn with(path: &str, word: &str) -> String {
    let (path, _) = path.split_once('#').unwrap_or((path, ""));
    let sign = if path.contains('?') { '&' } else { '?' };
    format!("{path}{sign}{word}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line_of_words() {
        assert_eq!(
            reason(" account\r\n\u{2}renewal\t "),
            Ok("account renewal".to_owned())
        );
        assert!(reason(" \u{3}\n").is_err());
        assert!(reason(&"x".repeat(200)).is_ok());
        assert!(reason(&"x".repeat(201)).is_err());
    }

    #[test]
    fn word_of_what_was_done_joins_the_address() {
        assert_eq!(with("/upstreams", "did=x"), "/upstreams?did=x");
        assert_eq!(with("/upstreams?q=a#d-1", "did=x"), "/upstreams?q=a&did=x");
    }
}
