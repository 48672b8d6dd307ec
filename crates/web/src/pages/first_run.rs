//! The first run: three short steps on the overview, each ticked as it happens, until all are or somebody closes them.
//!
//! What was ticked and whether they were closed survives a restart. Ticks only ever appear: a client that was heard from
//! once has shown that the address is right.

use std::sync::atomic::{AtomicU8, Ordering};

use askama::Template;
use axum::{
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Redirect, Response},
};
use weir_store::sqlite::File;

use crate::{App, Error, Failure, LivePart, Right, Visitor, auth::secrets, kit, upstreams};

/// The row that holds the bits below.
const ROW: &str = "first_run";

const CLIENT: u8 = 1;
const UPSTREAM: u8 = 2;
const DECISION: u8 = 4;
const ALL: u8 = CLIENT | UPSTREAM | DECISION;
/// Somebody closed the steps, or all were ticked and seen.
const CLOSED: u8 = 8;

/// Kinds of requests that people make with a browser, and those that prove nothing.
const NO_CLIENT: [&str; 8] = [
    "page", "api", "stats", "open", "health", "asset", "sign-in", "none",
];

/// How far the first run has come.
pub(crate) struct FirstRun {
    file: File,
    bits: AtomicU8,
}

impl FirstRun {
    /// Reads how far it has come; the tables must be there.
    pub(crate) fn open(file: File) -> Result<Self, Error> {
        let row = file.read(|connection| secrets::read(connection, ROW))?;
        let bits = row.and_then(|row| row.first().copied()).unwrap_or(0);
        Ok(Self {
            file,
            bits: AtomicU8::new(bits),
        })
    }

    fn has(&self, bits: u8) -> bool {
        self.bits.load(Ordering::Relaxed) & bits == bits
    }

    /// Adds bits; if they are new, they are written soon.
    fn add(&self, bits: u8, now: i64) {
        let before = self.bits.fetch_or(bits, Ordering::Relaxed);
        let all = before | bits;
        if all == before {
            return;
        }
        let put =
            move |tx: &weir_store::rusqlite::Transaction<'_>| secrets::put(tx, ROW, &[all], now);
        if let Err(error) = self.file.write_later(put) {
            tracing::debug!(%error, "the first steps are not kept");
        }
    }
}

/// The steps on the overview.
#[derive(Template)]
#[template(path = "parts/first_run.html")]
pub(crate) struct FirstRunPart {
    ticks: [Tick; 3],
    addresses: Vec<FirstAddress>,
    /// The Torznab address with the key.
    torznab: String,
    /// The full path of the file to edit.
    file: String,
}

/// An address to paste.
struct FirstAddress {
    /// Who takes it.
    users: &'static str,
    url: String,
    /// What to set, if whoever reads this cannot reach it.
    set: Option<&'static str>,
}

/// Whether a step is done.
#[derive(Clone, Copy, Template)]
#[template(path = "parts/first_tick.html")]
struct Tick {
    name: &'static str,
    done: bool,
    /// Where to see it.
    leads: Option<&'static str>,
}

/// The steps, unless they are over.
pub(crate) fn shown(app: &App, visitor: &Visitor, headers: &HeaderMap) -> Option<FirstRunPart> {
    let first_run = app.first_run();
    // Whoever may not do everything can take none of the steps.
    if first_run.has(CLOSED) || app.is_demo() || !visitor.may(Right::Everything) {
        return None;
    }
    let ticks = ticks(app);
    if first_run.has(ALL) {
        first_run.add(CLOSED, app.now().as_second());
        return None;
    }
    let origin = visitor.client.origin(headers);
    let shell = app.shell();
    let panels = shell.connect.iter();
    let is_elsewhere = !kit::is_local(&origin);
    let addresses = panels.filter_map(|panel| {
        // The first that helps, else the first.
        let mut all = (panel.addresses)(&origin);
        all.sort_by_key(|one| is_elsewhere && one.is_bound_here);
        let first = all.into_iter().next()?;
        Some(FirstAddress {
            users: panel.users,
            url: first.url,
            set: (is_elsewhere && first.is_bound_here).then_some(first.key),
        })
    });
    let key = visitor.key().map(|key| format!("?apikey={}", key.expose()));
    Some(FirstRunPart {
        ticks,
        addresses: addresses.collect(),
        torznab: format!("{origin}/torznab/api{}", key.unwrap_or_default()),
        file: shell.config_file.read().clone(),
    })
}

/// The ticks, live; also the last one, though the steps are gone when the page is opened again.
pub(crate) fn parts(app: &App) -> Vec<LivePart> {
    if app.first_run().has(CLOSED) || app.is_demo() {
        return Vec::new();
    }
    let ticks = ticks(app).into_iter();
    ticks
        .filter_map(|tick| kit::part(tick.id(), &tick))
        .collect()
}

/// Looks what has happened by now.
fn ticks(app: &App) -> [Tick; 3] {
    let first_run = app.first_run();
    let (is_there, was_asked) = upstreams::present(app);
    let found = [
        (CLIENT, "client", app.requests().any_but(&NO_CLIENT), None),
        (UPSTREAM, "upstream", is_there, None),
        (DECISION, "decision", was_asked, Some("#decisions")),
    ];
    found.map(|(bit, name, happened, leads)| {
        if happened {
            first_run.add(bit, app.now().as_second());
        }
        Tick {
            name,
            done: first_run.has(bit),
            leads,
        }
    })
}

impl Tick {
    fn id(&self) -> String {
        format!("first-{}", self.name)
    }
}

/// `POST /first-run/close`.
pub(crate) async fn close(State(app): State<App>) -> Result<Response, Failure> {
    app.first_run().add(CLOSED, app.now().as_second());
    Ok(Redirect::to("/").into_response())
}
