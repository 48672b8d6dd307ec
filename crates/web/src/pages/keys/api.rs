//! `/api/v1/keys` and `/api/v1/sessions`.

use axum::{
    Json,
    extract::{Path, Query, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{browser::browser, end_session, end_sessions, find, no_such_key, not_made};
use super::{own_session, public_id};
use crate::{
    App, Failure, Right, Visitor,
    auth::keys::{self, KEYS, Key, NAME},
    openapi::{
        ApiRoutes, Operation, Schema,
        schema::{choice, count, flag, integer, list, object, text, time},
    },
};

/// The routes. All of them need the right to everything.
pub(crate) fn api() -> ApiRoutes<App> {
    let key = || {
        object([
            ("id", integer().about("Never given to another key.")),
            ("name", text()),
            ("right", choice(Right::ALL.map(Right::name))),
            ("made", time()),
            (
                "last_used",
                time()
                    .or_null()
                    .about("To the minute; null if it never was."),
            ),
        ])
    };
    let first = object([
        (
            "source",
            choice(["web.api_key", "weir"]).about("`weir` if Weir made it at the first start."),
        ),
        ("right", choice([Right::Everything.name()])),
        ("last_used", time().or_null()),
    ])
    .about("It stays: it cannot be revoked here.");
    let most = i64::try_from(NAME).unwrap_or(i64::MAX);
    let all = Operation::get("/api/v1/keys", "Keys by name").answers(
        "All of them, without the keys themselves, of which only hashes are kept.",
        object([
            ("first", first),
            ("keys", list(key().named("Key"))),
            (
                "most",
                count().about("So many there may be beside the first."),
            ),
        ]),
    );
    let make = Operation::post("/api/v1/keys", "Make a key")
        .about("The answer is the only time that the key is told.")
        .body(object([
            (
                "name",
                text()
                    .least(1)
                    .most(most)
                    .about("Of the program or person that will use it. No two keys have the same."),
            ),
            (
                "right",
                choice(Right::ALL.map(Right::name))
                    .about("`search` and `post` include `read`; `everything` includes all."),
            ),
        ]))
        .answers_as(
            StatusCode::CREATED,
            "It can be used at once.",
            key().with([("key", text().about("What the program sends."))]),
        )
        .fails(
            StatusCode::CONFLICT,
            "Another key has this name, or the limit of keys is reached.",
        );
    let revoke = Operation::delete("/api/v1/keys/{id}", "Revoke a key")
        .about("Its sessions end at once, its event streams and newsreaders within seconds.")
        .path("id", text())
        .answers(
            "It opens nothing any more.",
            object([
                ("id", integer()),
                ("name", text()),
                ("sessions_ended", count()),
            ]),
        );
    let ended = || object([("ended", count())]);
    let sessions = Operation::get("/api/v1/sessions", "Browsers that are signed in").answers(
        "The one used last first.",
        object([("sessions", list(session()))]),
    );
    let end = Operation::delete("/api/v1/sessions/{id}", "End a session")
        .path("id", text())
        .answers("It has ended.", ended());
    let end_all = Operation::delete("/api/v1/sessions", "End all sessions")
        .query(
            "keep",
            choice(["this"]).about("`this`: but the one that asks."),
        )
        .answers("They have ended.", ended());
    ApiRoutes::new()
        .route(all, self::all)
        .route(make, self::make)
        .route(revoke, self::revoke)
        .route(sessions, self::sessions)
        .route(end, self::end)
        .route(end_all, self::end_all)
}

fn session() -> Schema {
    object([
        ("id", text()),
        (
            "key",
            text().or_null().about("The name of the key it was opened with; null for the first one and for sign-in links."),
        ),
        ("right", choice(Right::ALL.map(Right::name))),
        ("since", time()),
        ("last_used", time()),
        (
            "address",
            text().or_null().about("From where somebody signed in."),
        ),
        ("browser", text().about("In words, as far as it can be told.")),
        ("this", flag().about("Whether it is the one that asks.")),
    ])
    .named("Session")
}

fn at(second: i64) -> String {
    Timestamp::from_second(second)
        .unwrap_or_default()
        .to_string()
}

fn shown(key: &Key) -> Value {
    json!({
        "id": key.id,
        "name": &*key.name,
        "right": key.right.name(),
        "made": at(key.made),
        "last_used": key.used().map(|at| at.to_string()),
    })
}

/// `GET /api/v1/keys`.
async fn all(State(app): State<App>) -> Json<Value> {
    let keeper = app.keeper();
    let source = match keeper.settings().is_made_by_weir() {
        true => "weir",
        false => "web.api_key",
    };
    let keys = keeper.keys();
    Json(json!({
        "first": {
            "source": source,
            "right": Right::Everything.name(),
            "last_used": keeper.first_used().map(|at| at.to_string()),
        },
        "keys": keys.iter().map(|key| shown(key)).collect::<Vec<_>>(),
        "most": KEYS,
    }))
}

#[derive(Deserialize)]
struct WantedKey {
    name: String,
    right: String,
}

/// `POST /api/v1/keys`.
async fn make(
    State(app): State<App>,
    visitor: Visitor,
    Json(wanted): Json<WantedKey>,
) -> Result<Response, Failure> {
    let wrong = |field, mistake: &str| {
        let advice = "Send another one. Nothing was changed.";
        Failure::new(StatusCode::UNPROCESSABLE_ENTITY, mistake, advice).at(field)
    };
    let name = keys::name(&wanted.name).map_err(|mistake| wrong("name", mistake))?;
    let right = Right::parse(&wanted.right);
    let right = right.ok_or_else(|| wrong("right", "There is no such right."))?;
    let made = app.keeper().make_key(&name, right).await?;
    let made = made.map_err(|why| {
        let advice = "GET /api/v1/keys lists them. Nothing was changed.";
        Failure::new(StatusCode::CONFLICT, not_made(why, &name), advice).at("name")
    })?;
    tracing::info!(who = %visitor.account(), key = name, right = right.name(), "a key was made");
    let mut body = shown(&made.key);
    body["key"] = made.secret.into();
    Ok((StatusCode::CREATED, Json(body)).into_response())
}

/// `DELETE /api/v1/keys/{id}`.
async fn revoke(
    State(app): State<App>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Json<Value>, Failure> {
    let id: i64 = id.parse().map_err(|_| no_such_key())?;
    let all = app.keeper().keys();
    let key = find(&all, id).ok_or_else(no_such_key)?;
    let ended = app.keeper().revoke_key(id).await?;
    let ended = ended.ok_or_else(no_such_key)?;
    tracing::info!(who = %visitor.account(), key = &*key.name, ended, "a key was revoked");
    Ok(Json(
        json!({ "id": id, "name": &*key.name, "sessions_ended": ended }),
    ))
}

/// `GET /api/v1/sessions`.
async fn sessions(State(app): State<App>, visitor: Visitor) -> Json<Value> {
    let own = own_session(&visitor);
    let sessions = app.keeper().sessions().into_iter();
    let sessions = sessions.map(|(one, bearer)| {
        json!({
            "id": public_id(&one.id),
            "key": bearer.name.as_deref(),
            "right": bearer.right.name(),
            "since": at(one.created),
            "last_used": at(one.used),
            "address": Some(&*one.address).filter(|address| !address.is_empty()),
            "browser": browser(&one.agent),
            "this": own == Some(one.id),
        })
    });
    Json(json!({ "sessions": sessions.collect::<Vec<_>>() }))
}

/// `DELETE /api/v1/sessions/{id}`.
async fn end(
    State(app): State<App>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Json<Value>, Failure> {
    if !end_session(&app, &id).await? {
        return Err(Failure::unknown(
            "There is no such session, or no longer.",
            "GET /api/v1/sessions lists them.",
        ));
    }
    tracing::info!(who = %visitor.account(), "a session was ended");
    Ok(Json(json!({ "ended": 1 })))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Kept {
    keep: String,
}

/// `DELETE /api/v1/sessions`.
async fn end_all(
    State(app): State<App>,
    visitor: Visitor,
    Query(Kept { keep }): Query<Kept>,
) -> Result<Json<Value>, Failure> {
    let ended = end_sessions(&app, &visitor, keep == "this").await?;
    Ok(Json(json!({ "ended": ended })))
}
