//! Upstreams for programs: add, change, remove, try.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use weir_web::openapi::schema::{any, choice, count, flag, list, map, object, text};
use weir_web::openapi::{ApiRoutes, Operation, Schema};
use weir_web::{Failure, FieldMistake, Visitor};

use super::{Editor, NotTried, TriedOut, elsewhere};
use crate::added::{Draft, Kind, SavedValue, saved};
use crate::serve::reload::saving::{Edit, EntryPlace, NotSaved};

#[derive(Deserialize)]
pub(super) struct NewUpstream {
    front: String,
    entry: Map<String, Value>,
    /// For a tryout: the saved upstream whose secrets are used where the entry has none.
    #[serde(default)]
    name: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct ChangedUpstream {
    entry: Map<String, Value>,
    #[serde(default)]
    revision: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct SeenQuery {
    revision: Option<String>,
}

/// The routes with their descriptions.
pub(super) fn routes(editor: Editor) -> ApiRoutes {
    ApiRoutes::new()
        .route(
            Operation::post("/api/v1/upstreams", "Add an upstream")
                .about("It is written to `upstreams.yaml` in the data directory, by the checks of `weir check`, and in use at once.")
                .body(new_upstream())
                .answers_as(StatusCode::CREATED, "It was added.", written())
                .fails(StatusCode::SERVICE_UNAVAILABLE, "The file cannot be written, perhaps because the disk is full. Nothing was changed."),
            add,
        )
        .route(
            Operation::post("/api/v1/upstreams/try", "Try an upstream before it is saved")
                .about("Calls it for real: twice for an indexer (caps, then the recent feed), a scrape of a tracker, greeting and sign-in of a news server. Nothing is saved. One at a time for each client, a few in all.")
                .body(new_upstream().with([(
                    "name",
                    text().most(200).optional().about("The saved upstream whose secrets are used where `entry` has none."),
                )]))
                .answers("What came of it.", tried())
                .fails(StatusCode::NOT_FOUND, "There is no upstream of this `name`.")
                .fails(StatusCode::CONFLICT, "The upstream of this `name` is in your own configuration file."),
            try_out,
        )
        .route(
            at_entry(Operation::get("/api/v1/upstreams/{front}/{name}/entry", "The entry of an upstream"))
                .about("Where it is written, and what of it may be shown. Secrets never are.")
                .answers("The entry.", entry())
                .fails(StatusCode::UNPROCESSABLE_ENTITY, "`upstreams.yaml` has mistakes."),
            show,
        )
        .route(
            at_entry(Operation::put("/api/v1/upstreams/{front}/{name}", "Change an upstream"))
                .about("Replaces its entry. Keys that are missing get their defaults, but secrets are kept: `null` removes one. A saved secret is not kept if the address changes to another server.")
                .body(object([
                    ("entry", values()),
                    ("revision", text().most(64).optional().about("Of the entry that you saw; another one is not replaced.")),
                ]))
                .answers("It was changed.", written())
                .fails(StatusCode::CONFLICT, "Somebody else has changed it, or it is in your own configuration file.")
                .fails(StatusCode::SERVICE_UNAVAILABLE, "The file cannot be written, perhaps because the disk is full. Nothing was changed."),
            change,
        )
        .route(
            at_entry(Operation::delete("/api/v1/upstreams/{front}/{name}", "Remove an upstream"))
                .query("revision", text().most(64).about("Of the entry that you saw; another one is not removed."))
                .answers("It was removed.", object([("file", text()), ("sentence", text())]))
                .fails(StatusCode::CONFLICT, "Somebody else has changed it, or it is in your own configuration file.")
                .fails(StatusCode::SERVICE_UNAVAILABLE, "The file cannot be written, perhaps because the disk is full. Nothing was changed."),
            remove,
        )
        .with_state(editor)
}

fn at_entry(operation: Operation) -> Operation {
    operation
        .path("front", choice(Kind::ALL.map(Kind::front)))
        .path("name", text())
}

fn new_upstream() -> Schema {
    object([
        (
            "front",
            choice(Kind::ALL.map(Kind::front)).about("Which front calls it."),
        ),
        ("entry", values()),
    ])
}

fn values() -> Schema {
    map(any())
        .most(40)
        .about("Keys and values as in the configuration file: those of `tracker.forwarders`, `search.indexers` or `news.servers`.")
}

fn written() -> Schema {
    object([
        ("front", text()),
        ("name", text()),
        ("revision", text().about("Changes with the entry.")),
        ("file", text().about("Where it is written.")),
        ("sentence", text()),
    ])
}

fn entry() -> Schema {
    object([
        ("front", text()),
        ("name", text()),
        (
            "editable",
            flag().about("Whether Weir writes it; otherwise it is in your own file."),
        ),
        ("sentence", text().about("Where it is.")),
        ("revision", text().or_null()),
        (
            "values",
            map(text()).about("The keys that are set, as text; secrets are left out."),
        ),
        (
            "secrets",
            list(text()).about("The keys that hold a secret."),
        ),
    ])
}

fn tried() -> Schema {
    object([
        ("answered", flag()),
        ("sentence", text()),
        ("took_ms", count()),
        ("facts", list(text()).about("What was found.")),
        (
            "told",
            map(text()).about("What it told about its limits, by key of the entry."),
        ),
        (
            "field",
            text()
                .or_null()
                .about("The key to change, if it did not answer."),
        ),
    ])
}

async fn add(
    State(editor): State<Editor>,
    Json(NewUpstream { front, entry, .. }): Json<NewUpstream>,
) -> Result<Response, Failure> {
    let kind = kind(&front)?;
    let draft = Draft::of_json(kind, &entry).map_err(wrong)?;
    let names = editor.save(Edit::Add(draft)).await.map_err(failure)?;
    let answer = editor.written(kind, names.first(), "was added").await;
    Ok((StatusCode::CREATED, answer).into_response())
}

async fn change(
    State(editor): State<Editor>,
    Path((front, name)): Path<(String, String)>,
    Json(ChangedUpstream { entry, revision }): Json<ChangedUpstream>,
) -> Result<Response, Failure> {
    let kind = kind(&front)?;
    let draft = Draft::of_json(kind, &entry).map_err(wrong)?;
    let edit = Edit::Replace {
        name,
        revision,
        draft,
    };
    let names = editor.save(edit).await.map_err(failure)?;
    let answer = editor.written(kind, names.first(), "was changed").await;
    Ok(answer.into_response())
}

async fn remove(
    State(editor): State<Editor>,
    Path((front, name)): Path<(String, String)>,
    Query(SeenQuery { revision }): Query<SeenQuery>,
) -> Result<Json<Value>, Failure> {
    let kind = kind(&front)?;
    let sentence = format!("{name} was removed.");
    let edit = Edit::Remove {
        kind,
        name,
        revision,
    };
    editor.save(edit).await.map_err(failure)?;
    let file = editor.0.running.added_file();
    Ok(Json(json!({ "file": file, "sentence": sentence })))
}

async fn show(
    State(editor): State<Editor>,
    Path((front, name)): Path<(String, String)>,
) -> Result<Json<Value>, Failure> {
    let kind = kind(&front)?;
    let place = editor.entry(kind, &name).await.map_err(failure)?;
    let place = place.ok_or_else(unknown)?;
    let (mut values, mut secrets) = (Map::new(), Vec::new());
    let (editable, revision, sentence) = match place {
        EntryPlace::Own(origin) => (false, None, editor.elsewhere(&origin)),
        EntryPlace::Added { entry, revision } => {
            for (key, value) in saved(kind, &entry) {
                match value {
                    SavedValue::Unset => {}
                    SavedValue::Shown(value) => drop(values.insert(key.to_owned(), value.into())),
                    SavedValue::Hidden(_) => secrets.push(key),
                }
            }
            let file = editor.0.running.added_file();
            (
                true,
                Some(revision),
                format!("This entry is in {file}, a file that Weir manages."),
            )
        }
    };
    Ok(Json(json!({
        "front": kind.front(),
        "name": name,
        "editable": editable,
        "sentence": sentence,
        "revision": revision,
        "values": values,
        "secrets": secrets,
    })))
}

async fn try_out(
    State(editor): State<Editor>,
    visitor: Visitor,
    Json(NewUpstream { front, entry, name }): Json<NewUpstream>,
) -> Result<Json<Value>, Failure> {
    let kind = kind(&front)?;
    let draft = Draft::of_json(kind, &entry).map_err(wrong)?;
    let edit = match name {
        None => Edit::Add(draft),
        Some(name) => Edit::Replace {
            name,
            revision: None,
            draft,
        },
    };
    let TriedOut {
        answered,
        sentence,
        field,
        facts,
        told,
        millis,
    } = match editor.try_out(&visitor, kind, edit).await {
        Ok(tried) => tried,
        Err(NotTried::NotSaved(not_saved)) => return Err(failure(not_saved)),
        Err(NotTried::Busy(sentence)) => {
            let status = StatusCode::TOO_MANY_REQUESTS;
            let failure = Failure::new(status, sentence, "Nothing was called.");
            return Err(failure.retry_after(10));
        }
    };
    let told: Map<String, Value> = (told.into_iter())
        .map(|(key, value)| (key.to_owned(), value.into()))
        .collect();
    Ok(Json(json!({
        "answered": answered,
        "sentence": sentence,
        "took_ms": millis,
        "facts": facts,
        "told": told,
        "field": field,
    })))
}

impl Editor {
    async fn written(&self, kind: Kind, name: Option<&String>, what: &str) -> Json<Value> {
        let name = name.map_or("", String::as_str);
        let revision = match self.entry(kind, name).await {
            Ok(Some(EntryPlace::Added { revision, .. })) => revision,
            _ => String::new(),
        };
        Json(json!({
            "front": kind.front(),
            "name": name,
            "revision": revision,
            "file": self.0.running.added_file(),
            "sentence": format!("{name} {what} and is in use."),
        }))
    }
}

fn kind(front: &str) -> Result<Kind, Failure> {
    Kind::of_front(front).ok_or_else(unknown)
}

fn unknown() -> Failure {
    Failure::unknown(
        "There is no upstream of this name.",
        "It may have been renamed or removed; GET /api/v1/upstreams lists them.",
    )
}

fn wrong(mistakes: Vec<FieldMistake>) -> Failure {
    let names: Vec<String> = (mistakes.iter()).map(|one| one.field.clone()).collect();
    let below_entry = |one: FieldMistake| FieldMistake {
        field: format!("entry.{}", one.field),
        detail: one.detail,
    };
    Failure::at_fields(
        StatusCode::UNPROCESSABLE_ENTITY,
        format!("The entry has mistakes: {}.", names.join(", ")),
        mistakes.into_iter().map(below_entry).collect(),
    )
}

pub(super) fn failure(not_saved: NotSaved) -> Failure {
    match not_saved {
        NotSaved::Fields(mistakes) => wrong(mistakes),
        NotSaved::Changed => Failure::new(
            StatusCode::CONFLICT,
            "Somebody has changed this entry since you read it.",
            "Read it again, then send your change with its new revision. Nothing was changed.",
        ),
        NotSaved::Gone => unknown(),
        NotSaved::Own(origin) => Failure::new(
            StatusCode::CONFLICT,
            elsewhere(&origin),
            "Weir never rewrites your own file. Nothing was changed.",
        ),
        NotSaved::Mistakes(mistakes) => Failure::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "The configuration has mistakes, which have to be corrected first. Nothing was changed.",
            "Correct the mistakes, then try again.",
        )
        .with_mistakes(mistakes),
        NotSaved::Failed(why) => Failure::new(
            StatusCode::SERVICE_UNAVAILABLE,
            format!("Nothing was changed: {why}."),
            "Make room or give Weir permission, then send it again.",
        ),
    }
}
