//! `/settings` and `/api/v1/reload`: the values in use, their sources, and reloading them.

use askama::Template;
use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::json;
use weir_config::{Origin, Resolved};
use weir_engine::words;
use weir_notify::{Desk, HookRow};
use weir_web::openapi::schema::{list, object, text};
use weir_web::openapi::{ApiRoutes, Operation};
use weir_web::{
    Clock, Contribution, Failure, Icon, NavEntry, NavGroup, Right, System, Visitor, field,
};

use super::backups::Backups;
use super::changes::{Changes, Next, SettingRow, brief, listed};
use super::reload::{NotReloaded, Preview, Running};

/// What the pages show.
#[derive(Clone)]
struct Shown {
    running: Running,
    /// The hooks of notifications, with their tests.
    desk: Option<Desk>,
    backups: Backups,
}

/// The pages and routes of the configuration.
pub(super) fn contribution(
    running: &Running,
    desk: Option<Desk>,
    backups: Backups,
) -> Contribution {
    let shown = Shown {
        running: running.clone(),
        desk,
        backups,
    };
    let pages = Router::new()
        .route("/settings", get(show))
        .with_state(shown.clone());
    let forms = Router::new()
        .route("/settings/reload", get(ask_reload).post(reload))
        .with_state(shown);
    let reload = Operation::post("/api/v1/reload", "Read the configuration again")
        .about("Either all of it is applied or none.")
        .answers(
            "It was taken over.",
            object([
                ("changed", list(text()).about("Keys whose values changed.")),
                (
                    "at_next_start",
                    list(text()).about("Those that wait for the next start."),
                ),
                ("note", text().optional()),
            ]),
        )
        .fails(
            StatusCode::UNPROCESSABLE_ENTITY,
            "The configuration cannot be used; `mistakes` says why. Nothing was changed.",
        );
    let api = ApiRoutes::new()
        .route(reload, api_reload)
        .with_state(running.clone());
    Contribution::new("settings", "Settings", Icon::Settings)
        .router(Right::Read, pages)
        .router(Right::Everything, forms)
        .api(api)
        .nav(NavEntry {
            label: "Settings",
            href: "/settings",
            icon: Icon::Settings,
            key: ',',
            group: NavGroup::SetUp,
            place: 9,
            phone: false,
            needs: Right::Read,
        })
}

/// The filter of the table, and whether the page was opened by a reload.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SettingsQuery {
    filter: String,
    /// If present, only values that were set are shown.
    changed: Option<String>,
    /// Present after a reload.
    reloaded: Option<String>,
    /// The hook to which a test was sent.
    tested: Option<String>,
}

#[derive(Template)]
#[template(path = "settings.html")]
struct SettingsPage<'a> {
    view: SettingsQuery,
    form_token: &'a str,
    /// The full path of the file to edit.
    file: String,
    /// Whether there is such a file.
    has_file: bool,
    /// The file goes with the demo.
    is_demo: bool,
    rows: Vec<SettingRow>,
    all: usize,
    /// Keys whose values wait for the next start, as a list; empty if there are none.
    waiting: String,
    /// Where messages about what goes wrong are sent.
    hooks: Vec<HookRow>,
    /// What the reload just made has changed.
    reloaded: Option<Changes>,
    /// Why nothing was reloaded.
    mistakes: Vec<String>,
    /// Whether the visitor may do everything.
    is_operator: bool,
    backup: BackupPanel,
    /// What is kept in the data directory, with sizes in words and in bytes.
    stores: Vec<(String, String, u64)>,
    versions: Vec<(&'static str, String)>,
}

/// How a backup is made, and when the last one was.
struct BackupPanel {
    command: String,
    last: Option<(weir_web::Shown, String)>,
}

#[derive(Template)]
#[template(path = "settings_reload.html")]
struct ReloadPage<'a> {
    form_token: &'a str,
    file: String,
    /// The configuration is not the one that was shown before.
    is_another: bool,
    preview: Result<Preview, Vec<String>>,
}

impl SettingsPage<'_> {
    fn is_set(row: &Resolved) -> bool {
        row.origin != Origin::Default
    }

    fn notice(&self) -> Option<String> {
        let changes = self.reloaded.as_ref()?;
        let mut text = match &changes.looked_for[..] {
            [] => "Configuration reloaded.".to_owned(),
            paths => format!(
                "There is no configuration file. Weir looked for {}.",
                listed(paths)
            ),
        };
        if changes.changed.is_empty() {
            text += " No value has changed.";
        }
        for (what, keys) in [
            ("Now in use", &changes.now),
            ("Back to the value in use", &changes.back),
            ("At the next start", &changes.at_next_start),
        ] {
            if !keys.is_empty() {
                text += &format!(" {what}: {}.", brief(keys));
            }
        }
        Some(text)
    }

    /// What came of the test just sent, and whether it arrived.
    fn tested(&self) -> Option<(bool, String)> {
        let name = self.view.tested.as_ref()?;
        let mut hooks = self.hooks.iter().filter(|hook| hook.name == *name);
        let (_, arrived, sentence) = hooks.next()?.last_test.as_ref()?;
        Some((*arrived, format!("Test of {name}: {sentence}")))
    }
}

async fn show(
    State(shown): State<Shown>,
    Query(view): Query<SettingsQuery>,
    visitor: Visitor,
) -> Response {
    page(&shown, view, &visitor, Vec::new())
}

/// `GET /settings/reload`: what would change, before it does.
async fn ask_reload(State(shown): State<Shown>, visitor: Visitor) -> Response {
    preview(&shown.running, &visitor, false)
}

fn preview(running: &Running, visitor: &Visitor, is_another: bool) -> Response {
    let page = ReloadPage {
        form_token: &visitor.form_token,
        file: running.to_edit(),
        is_another,
        preview: running.preview(),
    };
    let status = match (&page.preview, is_another) {
        (Err(_), _) => StatusCode::UNPROCESSABLE_ENTITY,
        (Ok(_), true) => StatusCode::CONFLICT,
        (Ok(_), false) => StatusCode::OK,
    };
    (status, visitor.show("Reload · Settings", &page)).into_response()
}

/// `POST /settings/reload`. The page says what it showed; a program that says nothing wants whatever there is.
async fn reload(State(shown): State<Shown>, visitor: Visitor, body: Bytes) -> Response {
    let seen = field(&body, "seen").filter(|seen| !seen.is_empty());
    match shown.running.reload_seen(seen.as_deref()) {
        Ok(_) => Redirect::to("/settings?reloaded=1").into_response(),
        Err(NotReloaded::Changed) => preview(&shown.running, &visitor, true),
        Err(NotReloaded::Mistakes(mistakes)) => {
            let page = page(&shown, SettingsQuery::default(), &visitor, mistakes);
            (StatusCode::UNPROCESSABLE_ENTITY, page).into_response()
        }
    }
}

async fn api_reload(State(running): State<Running>) -> Response {
    match running.reload() {
        Ok(changes) => {
            let mut body =
                json!({ "changed": changes.changed, "at_next_start": changes.at_next_start });
            if !changes.looked_for.is_empty() {
                let looked_for = listed(&changes.looked_for);
                body["note"] =
                    format!("There is no configuration file. Weir looked for {looked_for}.").into();
            }
            Json(body).into_response()
        }
        Err(mistakes) => {
            let failure = Failure::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "The configuration cannot be used. Nothing was changed.",
                "Correct what `mistakes` names, then reload again.",
            );
            failure.with_mistakes(mistakes).into_response()
        }
    }
}

fn page(shown: &Shown, view: SettingsQuery, visitor: &Visitor, mistakes: Vec<String>) -> Response {
    let Shown {
        running,
        desk,
        backups,
    } = shown;
    let mut rows = running.settings();
    let all = rows.len();
    let waiting = rows.iter().filter(|row| row.next.is_some());
    let waiting = waiting.filter_map(|row| Some(row.row()?.path.clone()));
    let waiting: Vec<String> = waiting.collect();
    rows.retain(|setting| {
        let is_set = match &setting.next {
            Some(_) => true,
            None => setting.row().is_some_and(SettingsPage::is_set),
        };
        setting
            .row()
            .is_some_and(|row| row.path.contains(view.filter.trim()))
            && (view.changed.is_none() || is_set)
    });
    let page = SettingsPage {
        reloaded: view.reloaded.as_ref().and_then(|_| running.last_changes()),
        view,
        form_token: &visitor.form_token,
        file: running.to_edit(),
        has_file: running.has_file(),
        is_demo: running.is_demo(),
        rows,
        all,
        waiting: brief(&waiting),
        hooks: desk.as_ref().map_or_else(Vec::new, Desk::hooks),
        mistakes,
        is_operator: visitor.may(Right::Everything),
        backup: backup_panel(backups),
        stores: running
            .stores()
            .into_iter()
            .map(|(name, bytes)| (name, words::size(bytes), bytes))
            .collect(),
        versions: versions(),
    };
    visitor.show("Settings", &page)
}

fn backup_panel(backups: &Backups) -> BackupPanel {
    let data = std::path::absolute(backups.data()).unwrap_or_else(|_| backups.data().to_owned());
    let last = backups.last_fetched().and_then(|last| {
        let shown = weir_web::Shown::of_second(last.at, System.now())?;
        Some((shown, words::size(last.bytes)))
    });
    BackupPanel {
        command: format!("weir backup --data {} weir-backup", quoted(&data)),
        last,
    }
}

/// A path as a shell takes it.
fn quoted(path: &std::path::Path) -> String {
    let text = path.display().to_string();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    match text.chars().all(plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// What runs here.
fn versions() -> Vec<(&'static str, String)> {
    let toolchain = include_str!("../../../../rust-toolchain.toml").lines();
    let mut rust = toolchain.filter_map(|line| line.strip_prefix("channel = "));
    let rust = rust.next().unwrap_or("unknown").trim_matches('"');
    vec![
        ("Weir", env!("CARGO_PKG_VERSION").to_owned()),
        ("SQLite", weir_store::rusqlite::version().to_owned()),
        ("Built with Rust", rust.to_owned()),
        (
            "System",
            format!("{}, {}", std::env::consts::OS, std::env::consts::ARCH),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_path_is_pasted_as_one_word() {
        for (path, pasted) in [
            ("/var/lib/weir", "/var/lib/weir"),
            ("/srv/my data", "'/srv/my data'"),
            ("/srv/it's; rm", "'/srv/it'\\''s; rm'"),
        ] {
            assert_eq!(quoted(path.as_ref()), pasted);
        }
    }
}
