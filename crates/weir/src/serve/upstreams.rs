//! Adds, changes, removes and imports upstreams, on pages and through the API, and tries them before they are saved.

mod api;
mod form;
mod import;
mod kept;
mod pages;
mod tries;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use weir_config::Origin;
use weir_engine::words::capital;
use weir_engine::{TryoutFault, TryoutFound, span};
use weir_net::aside;
use weir_web::{Contribution, Icon, Right, Visitor};

use self::import::ImportList;
use self::kept::Kept;
use self::tries::Tries;
use super::reload::Running;
use super::reload::saving::{Edit, EntryPlace, NotSaved};
use crate::added::Kind;

/// What the pages and the API work with.
#[derive(Clone)]
struct Editor(Arc<Shared>);

struct Shared {
    running: Running,
    /// Secrets that were typed into forms which are not saved yet, so that they need not be sent back to the page.
    secrets: Kept<BTreeMap<&'static str, String>>,
    /// What other programs have, until somebody has picked from it.
    lists: Kept<ImportList>,
    tries: Tries,
}

/// What came of trying an upstream.
#[derive(Clone)]
struct TriedOut {
    answered: bool,
    sentence: String,
    /// The key to change.
    field: Option<&'static str>,
    facts: Vec<String>,
    /// What it told about its limits, by key.
    told: Vec<(&'static str, String)>,
    millis: u64,
}

/// Why an upstream was not tried.
enum NotTried {
    /// It could not be saved either.
    NotSaved(NotSaved),
    /// Too many are being tried, or were lately.
    Busy(&'static str),
}

/// The pages and routes.
pub(super) fn contribution(running: &Running) -> Contribution {
    let editor = Editor(Arc::new(Shared {
        running: running.clone(),
        secrets: Kept::default(),
        lists: Kept::default(),
        tries: Tries::default(),
    }));
    let pages = Router::new()
        .route("/upstreams/add", get(pages::add).post(pages::save_new))
        .route(
            "/upstreams/{front}/{name}/edit",
            get(pages::edit).post(pages::save_changed),
        )
        .route(
            "/upstreams/{front}/{name}/remove",
            get(pages::ask_to_remove).post(pages::remove),
        )
        .route("/upstreams/import", get(import::ask).post(import::list))
        .route("/upstreams/import/add", axum::routing::post(import::add))
        .with_state(editor.clone());
    Contribution::new("editor", "Upstreams", Icon::Upstreams)
        .router(Right::Everything, pages)
        .api(api::routes(editor))
}

impl Editor {
    /// What is said of an entry that Weir does not write. A demo's file goes with it, so nobody is sent there.
    fn elsewhere(&self, origin: &Origin) -> String {
        match self.0.running.is_demo() {
            true => "This entry is part of the demo and disappears when it stops. Add one of your own to try the form.".to_owned(),
            false => elsewhere(origin),
        }
    }

    /// Saves a change; the disk may take its time.
    async fn save(&self, edit: Edit) -> Result<Vec<String>, NotSaved> {
        let running = self.0.running.clone();
        aside(move || running.save(&edit)).await
    }

    /// Where the entry of an upstream is; files may have to be read for that.
    async fn entry(&self, kind: Kind, name: &str) -> Result<Option<EntryPlace>, NotSaved> {
        let (running, name) = (self.0.running.clone(), name.to_owned());
        aside(move || running.entry(kind, &name)).await
    }

    /// Calls the upstream for real, as it would be saved.
    async fn try_out(
        &self,
        visitor: &Visitor,
        kind: Kind,
        edit: Edit,
    ) -> Result<TriedOut, NotTried> {
        let place = self.0.tries.begin(visitor).map_err(NotTried::Busy)?;
        let running = self.0.running.clone();
        let planned = aside(move || running.plan(&edit)).await;
        let planned = planned.map_err(NotTried::NotSaved)?;
        let mut config = planned.loaded.config;
        // Names are distinct within a front only: the others have none to find.
        if kind != Kind::Tracker {
            config.tracker.forwarders.clear();
        }
        if kind != Kind::Indexer {
            config.search.indexers.clear();
        }
        if kind != Kind::NewsServer {
            config.news.servers.clear();
        }
        let name = planned.names.first().map_or("", String::as_str);
        let tryout = (self.0.running).on_fronts(|front| front.try_out(&config, name));
        let begin = tokio::time::Instant::now();
        let said = match tryout {
            Some(tryout) => tokio::time::timeout(tries::LONGEST, tryout)
                .await
                .unwrap_or_else(|_| Err(too_long(kind))),
            None => Err(TryoutFault::elsewhere(
                "Weir is starting",
                "Try again in a moment.",
            )),
        };
        drop(place);
        Ok(TriedOut::of(said, begin.elapsed()))
    }
}

fn too_long(kind: Kind) -> TryoutFault {
    let what = format!("it did not answer within {}", span(tries::LONGEST));
    TryoutFault::new(kind.address(), what, "Check host and port.")
}

impl TriedOut {
    fn of(said: Result<TryoutFound, TryoutFault>, took: std::time::Duration) -> Self {
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        match said {
            Ok(TryoutFound { facts, told }) => Self {
                answered: true,
                sentence: format!("It answered in {}: {}.", span(took), facts.join(", ")),
                field: None,
                facts,
                told,
                millis,
            },
            Err(TryoutFault {
                field,
                what,
                advice,
            }) => Self {
                answered: false,
                sentence: format!("{}. {advice}", capital(what.trim_end_matches('.'))),
                field,
                facts: Vec::new(),
                told: Vec::new(),
                millis,
            },
        }
    }
}

/// Where an entry is that Weir does not write.
fn elsewhere(origin: &Origin) -> String {
    match origin {
        Origin::File { file, line, .. } => {
            let path = std::path::absolute(&**file);
            let file = path.map_or_else(|_| file.to_string(), |path| path.display().to_string());
            format!("This entry is in {file}, line {line}. Edit it there.")
        }
        other => format!("This entry comes from {other}. Edit it there."),
    }
}
