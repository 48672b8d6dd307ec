//! `/settings/access`: which keys and sessions there are, and what an operator does about them. `api` is the same for
//! programs.

mod api;
mod browser;

use askama::Template;
use axum::{
    Router,
    body::Bytes,
    extract::{Path, Query, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use data_encoding::HEXLOWER;
use jiff::Timestamp;
use serde::Deserialize;
use weir_engine::Node;
use weir_store::shared::NodeId;

pub(crate) use self::api::api;
use self::browser::browser;
use crate::{
    App, Failure, Identity, Right, Shown, Visitor,
    auth::{
        keys::{self, KEYS, Key, NotMade},
        secrets::Hash,
    },
    forms::field,
    nodes::view::{NodesView, SeenState},
    pages::local,
    visitor::SessionId,
};

/// The address of the page.
const PAGE: &str = "/settings/access";
/// Characters of a wrong name that are shown again.
const SHOWN: usize = 200;

/// Pages and forms, for operators.
pub(crate) fn pages() -> Router<App> {
    Router::new()
        .route("/settings/access", get(show))
        .route("/settings/access/keys", post(make))
        .route(
            "/settings/access/keys/{id}/revoke",
            get(ask_revoke).post(revoke),
        )
        .route("/settings/access/nodes/{id}/revoke", post(revoke_first))
        .route("/settings/access/sessions/end", post(end_all))
        .route("/settings/access/sessions/{id}/end", post(end_one))
}

/// What was done, for the notice after a form.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AccessQuery {
    did: String,
    /// How many sessions ended.
    ended: Option<u32>,
}

impl AccessQuery {
    fn notice(&self) -> Option<String> {
        let sessions = |ended| weir_engine::words::counted(ended, "session", "sessions");
        match (self.did.as_str(), self.ended) {
            ("revoked", None | Some(0)) => Some("The key was revoked.".to_owned()),
            ("revoked", Some(ended)) => Some(format!(
                "The key was revoked, and its {} ended.",
                sessions(ended)
            )),
            ("gone", _) => Some("Somebody else has already revoked that key.".to_owned()),
            ("ended", ended) => Some(match ended.unwrap_or(1) {
                0 => "That session had already ended.".to_owned(),
                ended => format!("{} ended.", sessions(ended)),
            }),
            _ => None,
        }
    }
}

#[derive(Template)]
#[template(path = "access.html")]
struct AccessPage<'a> {
    form_token: &'a str,
    notice: Option<String>,
    made: Option<MadeView>,
    opening: String,
    /// Where the first key comes from.
    source: String,
    first_used: Option<Shown>,
    /// The name of this node, if there are several.
    node: Option<&'a str>,
    /// The first keys of other nodes.
    others: Vec<OtherFirst>,
    keys: Vec<KeyRow>,
    full: bool,
    /// Keys at most.
    most: usize,
    typed: &'a TypedKey,
    rights: Vec<RightChoice>,
    sessions: Vec<SessionRow>,
    /// Whether one of them is the visitor's.
    own: bool,
}

/// The key just made, and where to go on.
struct MadeView {
    name: String,
    right: &'static str,
    secret: String,
    /// What the program that it is called after takes, with the key in it.
    lines: Vec<(&'static str, String)>,
    next: String,
}

/// The first key of another node.
struct OtherFirst {
    id: String,
    name: String,
    /// Its node is there, and would bring the key back.
    is_here: bool,
}

struct KeyRow {
    id: i64,
    name: String,
    right: &'static str,
    made: Option<Shown>,
    used: Option<Shown>,
}

struct RightChoice {
    name: &'static str,
    words: &'static str,
    about: &'static str,
    chosen: bool,
}

/// A session in the list.
struct SessionRow {
    id: String,
    who: String,
    since: Option<Shown>,
    used: Option<Shown>,
    address: String,
    browser: String,
    is_own: bool,
}

/// What somebody typed, and what is wrong with it.
#[derive(Debug, Default)]
struct TypedKey {
    name: String,
    right: String,
    next: String,
    name_mistake: Option<String>,
    right_mistake: Option<String>,
    /// Why it could not be stored.
    trouble: Option<String>,
}

impl TypedKey {
    fn read(form: &[u8]) -> Self {
        let text = |name| field(form, name).unwrap_or_default();
        Self {
            name: text("name"),
            right: text("right"),
            next: text("next"),
            ..Self::default()
        }
    }

    /// What it means, or all that is wrong with it.
    fn check(&mut self) -> Option<(String, Right)> {
        let name = keys::name(&self.name);
        let right = Right::parse(&self.right);
        if right.is_none() {
            self.right_mistake = Some("Choose one of the four rights.".to_owned());
        }
        match name {
            Ok(name) => Some((name, right?)),
            Err(mistake) => {
                self.name_mistake = Some(mistake.to_owned());
                self.name = self.name.chars().take(SHOWN).collect();
                None
            }
        }
    }
}

/// Why a key was not made, for people.
fn not_made(why: NotMade, name: &str) -> String {
    match why {
        NotMade::Taken => {
            format!("The name “{name}” is taken. Choose another.")
        }
        NotMade::Full => {
            format!("You have reached the limit of {KEYS} keys. Revoke one first.")
        }
    }
}

/// `GET /settings/access`.
async fn show(
    State(app): State<App>,
    visitor: Visitor,
    Query(asked): Query<AccessQuery>,
) -> Response {
    let typed = TypedKey {
        right: Right::Search.name().to_owned(),
        ..TypedKey::default()
    };
    page(&app, &visitor, asked.notice(), &typed, None)
}

/// `POST /settings/access/keys`. The answer is the only page that ever shows the key.
async fn make(
    State(app): State<App>,
    visitor: Visitor,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let mut typed = TypedKey::read(&body);
    let Some((name, right)) = typed.check() else {
        return refused(&app, &visitor, &typed, StatusCode::UNPROCESSABLE_ENTITY);
    };
    match app.keeper().make_key(&name, right).await {
        Ok(Ok(made)) => {
            tracing::info!(who = %visitor.account(), key = name, right = right.name(), "a key was made");
            let origin = visitor.client.origin(&headers);
            let shell = app.shell();
            let writers = shell.key_lines.iter();
            let lines = writers.flat_map(|write| write(&name, &origin, &made.secret));
            let view = MadeView {
                lines: lines.collect(),
                right: right.deed(),
                secret: made.secret,
                next: local(&typed.next).unwrap_or(PAGE).to_owned(),
                name,
            };
            let blank = TypedKey {
                right: typed.right,
                ..TypedKey::default()
            };
            page(&app, &visitor, None, &blank, Some(view))
        }
        Ok(Err(why)) => {
            let sentence = Some(not_made(why, &name));
            match why {
                NotMade::Taken => typed.name_mistake = sentence,
                // No other name would help.
                NotMade::Full => typed.trouble = sentence,
            }
            refused(&app, &visitor, &typed, StatusCode::CONFLICT)
        }
        Err(error) => {
            let failure = Failure::from(error);
            typed.trouble = Some(format!("{} {}", failure.sentence, failure.advice));
            refused(&app, &visitor, &typed, failure.status)
        }
    }
}

fn refused(app: &App, visitor: &Visitor, typed: &TypedKey, status: StatusCode) -> Response {
    let mut response = page(app, visitor, None, typed, None);
    *response.status_mut() = status;
    response
}

#[derive(Template)]
#[template(path = "key_revoke.html")]
struct RevokePage<'a> {
    form_token: &'a str,
    id: i64,
    name: &'a str,
    right: &'static str,
    used: Option<Shown>,
    sessions: usize,
}

/// `GET /settings/access/keys/{id}/revoke`.
async fn ask_revoke(
    State(app): State<App>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let all = app.keeper().keys();
    let key = id.parse().ok().and_then(|id| find(&all, id));
    let key = key.ok_or_else(no_such_key)?;
    let sessions = app.keeper().sessions().into_iter();
    let sessions = sessions.filter(|(_, bearer)| bearer.name.as_deref() == Some(&*key.name));
    let page = RevokePage {
        form_token: &visitor.form_token,
        id: key.id,
        name: &key.name,
        right: key.right.deed(),
        used: key.used().map(|at| shown(&app, at)),
        sessions: sessions.count(),
    };
    Ok(visitor.show(&format!("Revoke {}", key.name), &page))
}

/// `POST /settings/access/keys/{id}/revoke`.
async fn revoke(
    State(app): State<App>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let id = id.parse().map_err(|_| no_such_key())?;
    let ended = app.keeper().revoke_key(id).await?;
    tracing::info!(who = %visitor.account(), id, ended, "a key was revoked");
    Ok(back(&match ended {
        Some(ended) => format!("did=revoked&ended={ended}"),
        None => "did=gone".to_owned(),
    }))
}

/// `POST /settings/access/nodes/{id}/revoke`: the first key of a node that is gone.
async fn revoke_first(
    State(app): State<App>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let node = u64::from_str_radix(&id, 16).map_err(|_| no_such_key())?;
    let ended = app.keeper().revoke_first(NodeId(node)).await?;
    tracing::info!(who = %visitor.account(), node = id, ended, "the first key of another node was revoked");
    Ok(back(&match ended {
        Some(ended) => format!("did=revoked&ended={ended}"),
        None => "did=gone".to_owned(),
    }))
}

/// The first keys of other nodes, by name.
fn others(app: &App) -> Vec<OtherFirst> {
    let view = NodesView::of(app);
    let is_here = |node| {
        let mut nodes = view.iter().flat_map(|view| &view.nodes);
        nodes.any(|one| one.id == node && one.state != SeenState::Silent)
    };
    let all = app.keeper().other_firsts().into_iter();
    let mut all: Vec<OtherFirst> = all
        .map(|first| OtherFirst {
            id: format!("{:016x}", first.node.0),
            name: first.name.to_string(),
            is_here: is_here(first.node),
        })
        .collect();
    all.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
    all
}

/// `POST /settings/access/sessions/{id}/end`.
async fn end_one(
    State(app): State<App>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let ended = end_session(&app, &id).await?;
    tracing::info!(who = %visitor.account(), ended, "a session was ended");
    Ok(back(&format!("did=ended&ended={}", u8::from(ended))))
}

/// `POST /settings/access/sessions/end`: all, or all but the visitor's own.
async fn end_all(
    State(app): State<App>,
    visitor: Visitor,
    body: Bytes,
) -> Result<Response, Failure> {
    let keep = field(&body, "keep").as_deref() == Some("this");
    let ended = end_sessions(&app, &visitor, keep).await?;
    Ok(back(&format!("did=ended&ended={ended}")))
}

async fn end_session(app: &App, id: &str) -> Result<bool, Failure> {
    let sessions = app.keeper().sessions();
    let found = sessions.iter().find(|(one, _)| public_id(&one.id) == id);
    let Some((session, _)) = found else {
        return Ok(false);
    };
    app.keeper().sign_out(session.id).await?;
    Ok(true)
}

async fn end_sessions(app: &App, visitor: &Visitor, keep: bool) -> Result<usize, Failure> {
    let but = own_session(visitor).filter(|_| keep);
    let ended = app.keeper().end_sessions(but).await?;
    tracing::info!(who = %visitor.account(), ended, "sessions were ended");
    Ok(ended)
}

fn back(word: &str) -> Response {
    Redirect::to(&format!("{PAGE}?{word}")).into_response()
}

fn no_such_key() -> Failure {
    Failure::unknown(
        "That key does not exist or was revoked.",
        "Settings, Keys and sessions lists the current ones.",
    )
}

fn find(all: &[std::sync::Arc<Key>], id: i64) -> Option<&Key> {
    all.iter().find(|key| key.id == id).map(|key| &**key)
}

fn own_session(visitor: &Visitor) -> Option<Hash> {
    match visitor.identity {
        Identity::Session(SessionId(id)) => Some(id),
        _ => None,
    }
}

/// What a session is called in addresses. It says nothing of what the cookie holds.
fn public_id(id: &Hash) -> String {
    HEXLOWER.encode(&id[..8])
}

fn shown(app: &App, at: Timestamp) -> Shown {
    Shown::new(at, app.now(), &app.shell().zone)
}

/// By what name somebody is known to operators.
fn who(name: Option<&str>) -> String {
    name.unwrap_or("The first key").to_owned()
}

fn page(
    app: &App,
    visitor: &Visitor,
    notice: Option<String>,
    typed: &TypedKey,
    made: Option<MadeView>,
) -> Response {
    let keeper = app.keeper();
    let second = |second: i64| Timestamp::from_second(second).ok().map(|at| shown(app, at));
    let keys = keeper.keys();
    let rows = keys.iter().map(|key| KeyRow {
        id: key.id,
        name: key.name.to_string(),
        right: key.right.words(),
        made: second(key.made),
        used: key.used().map(|at| shown(app, at)),
    });
    let own = own_session(visitor);
    let sessions = keeper.sessions();
    let sessions: Vec<SessionRow> = sessions
        .iter()
        .map(|(one, bearer)| SessionRow {
            id: public_id(&one.id),
            who: who(bearer.name.as_deref()),
            since: second(one.created),
            used: second(one.used),
            address: match &*one.address {
                "" => "not noted".to_owned(),
                address => address.to_owned(),
            },
            browser: browser(&one.agent),
            is_own: own == Some(one.id),
        })
        .collect();
    let place = format!(" in {}.", visitor.config_file());
    let page = AccessPage {
        form_token: &visitor.form_token,
        notice,
        made,
        opening: opening(keys.len(), sessions.len()),
        source: match keeper.settings().is_made_by_weir() {
            _ if visitor.is_demo() => "It was made for this demo and disappears when it stops.".to_owned(),
            true => "Weir made it at the first start and keeps it in state.db. To use your own, set web.api_key".to_owned() + &place,
            false => "It is set by web.api_key".to_owned() + &place,
        },
        first_used: keeper.first_used().map(|at| shown(app, at)),
        node: app.node().map(Node::name),
        others: others(app),
        keys: rows.collect(),
        full: keys.len() >= KEYS,
        most: KEYS,
        rights: Right::ALL
            .into_iter()
            .map(|right| RightChoice {
                name: right.name(),
                words: right.words(),
                about: right.about(),
                chosen: right.name() == typed.right,
            })
            .collect(),
        typed,
        own: sessions.iter().any(|one| one.is_own),
        sessions,
    };
    visitor.show("Keys and sessions", &page)
}

fn opening(keys: usize, sessions: usize) -> String {
    let keys = match keys {
        0 => "Only the first key opens Weir".to_owned(),
        1 => "One key besides the first opens Weir".to_owned(),
        keys => format!("{keys} keys besides the first open Weir"),
    };
    let sessions = match sessions {
        0 => "nobody is signed in".to_owned(),
        1 => "one browser is signed in".to_owned(),
        sessions => format!("{sessions} browsers are signed in"),
    };
    format!("{keys}; {sessions}.")
}
