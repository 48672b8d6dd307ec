//! `/connect`: what do I paste where?

mod programs;

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use weir_engine::words;
use weir_search_proto::Protocol;
use weir_web::kit::{Paste, Reach, is_local};
use weir_web::{ConnectPanel, Right, Visitor, is_called_after};

use self::programs::{KNOWN, KnownProgram};
use crate::form::PAGE;
use crate::program::HeardKey;
use crate::views::Views;
use crate::words::counted;

#[derive(Template)]
#[template(path = "connect.html")]
struct ConnectPage<'a> {
    opening: String,
    form_token: &'a str,
    programs: Vec<ProgramCard<'a>>,
    /// This machine alone reaches the address.
    local: bool,
    origin: String,
    /// The first key, for whoever may see it.
    key: Option<String>,
    /// Whether the visitor may make keys.
    is_operator: bool,
    /// Nobody needs a key here.
    is_open: bool,
    /// No indexer answers behind the addresses.
    empty: bool,
    /// Addresses of other fronts.
    panels: Vec<(&'a ConnectPanel, Paste)>,
    /// The full path of the file to edit.
    file: String,
    /// There is no such file.
    is_demo: bool,
}

/// A program and what to paste into it.
struct ProgramCard<'a> {
    name: &'static str,
    anchor: &'static str,
    /// Where in it.
    path: &'static str,
    fields: Vec<PasteField>,
    /// What else to know.
    note: &'static str,
    heard: Option<String>,
    proof: Proof,
    /// What a key for it must allow.
    needs: Option<Right>,
    /// The name of the key that is called after it.
    key: Option<String>,
    /// Its panel, while that has no addresses.
    off: Option<&'a ConnectPanel>,
    /// Why its addresses may be of no use to the visitor.
    reach: Option<Reach>,
}

/// What it proves that a program was heard.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proof {
    Works,
    /// It came with a key that was revoked since.
    Revoked,
    /// Nothing: nobody knows whether the key that it came with is still one.
    Nothing,
}

impl ProgramCard<'_> {
    fn works(&self) -> bool {
        self.heard.is_some() && self.proof == Proof::Works
    }
}

struct PasteField {
    id: String,
    label: &'static str,
    value: String,
    /// Lines of the value, if there are several.
    rows: usize,
}

impl PasteField {
    fn new(anchor: &str, place: usize, label: &'static str, value: String) -> Self {
        Self {
            id: format!("{anchor}-{place}"),
            label,
            rows: value.lines().count(),
            value,
        }
    }
}

/// `GET /connect`.
pub(super) async fn show(
    State(views): State<Arc<Views>>,
    visitor: Visitor,
    headers: HeaderMap,
) -> Response {
    let origin = visitor.client.origin(&headers);
    let now = views.model.now();
    let heard = views.model.programs.all();
    let by_agent = |name: &str| {
        let mut found = heard.iter();
        let (_, at) = found.find(|(other, _)| other.eq_ignore_ascii_case(name))?;
        Some(at.until(now))
    };
    let proof_of = |name: &str| {
        let mut found = heard.iter();
        let found = found.find(|(other, _)| other.eq_ignore_ascii_case(name));
        match found.map(|(name, _)| views.model.programs.key_of(name)) {
            Some(HeardKey::Named(key)) if !visitor.has_key(&key) => Proof::Revoked,
            Some(HeardKey::Named(_) | HeardKey::First) => Proof::Works,
            Some(HeardKey::Unknown) | None => Proof::Nothing,
        }
    };
    let offer = Offer::of(&views);
    let panels = visitor.connect_panels().iter();
    let panels: Vec<_> = panels
        .map(|panel| (panel, (panel.addresses)(&origin)))
        .collect();
    let searching = KNOWN.iter().map(|known| {
        let key = visitor.key_for(known.name);
        let used = key.as_ref().and_then(|key| key.used).and_then(since);
        ProgramCard {
            name: known.name,
            anchor: known.anchor,
            path: known.path,
            fields: fields(known, &origin, offer),
            note: known.note,
            heard: latest(by_agent(known.name), used),
            proof: match used {
                Some(_) => Proof::Works,
                None => proof_of(known.name),
            },
            needs: Some(Right::Search),
            key: key.map(|key| key.name),
            off: None,
            reach: None,
        }
    });
    let file = visitor.config_file();
    let others = panels.iter().flat_map(|(panel, addresses)| {
        panel.programs.iter().map(|program| {
            let key = program.needs.and_then(|_| visitor.key_for(program.name));
            let used = key.as_ref().and_then(|key| key.used).and_then(since);
            let lines = match addresses.is_empty() {
                true => Vec::new(),
                false => (program.lines)(addresses),
            };
            let lines = lines.into_iter().enumerate();
            ProgramCard {
                name: program.name,
                anchor: program.anchor,
                path: program.place,
                fields: lines
                    .map(|(place, (label, value))| {
                        PasteField::new(program.anchor, place, label, value)
                    })
                    .collect(),
                note: program.note,
                heard: latest((program.heard)(), used),
                proof: Proof::Works,
                needs: program.needs,
                key: key.map(|key| key.name),
                off: addresses.is_empty().then_some(*panel),
                reach: Some(Reach::of(addresses, &origin, &file)).filter(Reach::is_short),
            }
        })
    });
    // A client that announces and reads feeds has one section for both.
    let mut programs: Vec<ProgramCard<'_>> = Vec::new();
    for card in others.chain(searching) {
        match programs.iter_mut().find(|known| known.name == card.name) {
            Some(known) => known.join(card),
            None => programs.push(card),
        }
    }
    let is_operator = visitor.may(Right::Everything);
    let template = ConnectPage {
        opening: opening(&views, &programs),
        form_token: &visitor.form_token,
        programs,
        panels: panels
            .into_iter()
            .filter(|(_, addresses)| !addresses.is_empty())
            .map(|(panel, addresses)| {
                let paste = Paste::new(panel.anchor, addresses, &origin, &file);
                (panel, paste)
            })
            .collect(),
        file,
        is_demo: visitor.is_demo(),
        local: is_local(&origin),
        empty: offer.is_empty(),
        origin,
        key: visitor.key().map(|key| key.expose().to_owned()),
        is_operator,
        is_open: visitor.identity == weir_web::Identity::Anyone,
    };
    visitor.show("Connect", &template)
}

impl ProgramCard<'_> {
    /// Takes over what the same program may do besides.
    fn join(&mut self, other: Self) {
        let begin = self.fields.len();
        let more = other.fields.into_iter().enumerate();
        self.fields.extend(more.map(|(place, field)| {
            PasteField::new(self.anchor, begin + place, field.label, field.value)
        }));
        if self.heard.is_none() {
            (self.heard, self.proof) = (other.heard, other.proof);
        }
        self.needs = self.needs.or(other.needs);
        self.key = self.key.take().or(other.key);
    }
}

/// How long ago, in words, whichever was later.
fn latest(one: Option<Duration>, other: Option<Duration>) -> Option<String> {
    let ago = one.into_iter().chain(other).min()?;
    Some(format!("{} ago", words::age(ago)))
}

/// The time since then; the clock may have been set back.
fn since(at: jiff::Timestamp) -> Option<Duration> {
    let now = weir_web::Clock::now(&weir_web::System);
    Some(Duration::try_from(now.duration_since(at)).unwrap_or_default())
}

/// Which kinds of indexers there are.
#[derive(Clone, Copy)]
struct Offer {
    torrents: bool,
    usenet: bool,
}

impl Offer {
    fn of(views: &Views) -> Self {
        let has = |protocol| !views.model.all_of(protocol).is_empty();
        Self {
            torrents: has(Protocol::Torrent),
            usenet: has(Protocol::Nzb),
        }
    }

    fn is_empty(self) -> bool {
        !self.torrents && !self.usenet
    }

    /// Whether to show this path. What has no indexers behind it is not offered, as long as there are others.
    fn has(self, path: &str) -> bool {
        match path {
            _ if self.is_empty() => true,
            path if path.starts_with("/torznab") => self.torrents,
            path if path.starts_with("/newznab") => self.usenet,
            _ => true,
        }
    }
}

/// What a program takes: labels and values.
fn lines(known: &KnownProgram, origin: &str, offer: Offer) -> Vec<(&'static str, String)> {
    let fields = known.fields.iter().filter(|(_, text)| offer.has(text));
    fields
        .map(|(label, text)| match text.strip_prefix('=') {
            Some(text) => (*label, text.replace("ORIGIN", origin)),
            None => (*label, format!("{origin}{text}")),
        })
        .collect()
}

fn fields(known: &KnownProgram, origin: &str, offer: Offer) -> Vec<PasteField> {
    let lines = lines(known, origin, offer).into_iter().enumerate();
    lines
        .map(|(place, (label, value))| PasteField::new(known.anchor, place, label, value))
        .collect()
}

/// The lines with a key in them of the program that a key of this name is for.
pub(crate) fn key_lines(
    views: &Views,
    name: &str,
    origin: &str,
    key: &str,
) -> Vec<(&'static str, String)> {
    let mut known = KNOWN.iter();
    let Some(known) = known.find(|known| is_called_after(name, known.name)) else {
        return Vec::new();
    };
    let lines = lines(known, origin, Offer::of(views)).into_iter();
    lines
        .filter(|(_, line)| line.contains(programs::KEY))
        .map(|(label, line)| (label, line.replace(programs::KEY, key)))
        .collect()
}

fn opening(views: &Views, programs: &[ProgramCard<'_>]) -> String {
    let heard = views.model.programs.all();
    let others = heard.iter().filter(|(name, _)| {
        let is_listed = programs
            .iter()
            .any(|card| card.name.eq_ignore_ascii_case(name));
        !is_listed && ![PAGE, "a browser", "unnamed"].contains(&&**name)
    });
    let listed = programs.iter().filter(|card| card.heard.is_some());
    match others.count() + listed.count() {
        0 => "No program has connected yet. Paste an address into one; it appears here after its first request."
            .to_owned(),
        some => format!(
            "Weir has heard from {}.",
            counted(some, "program", "programs")
        ),
    }
}
