//! `/connect`: what do I paste where?

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use weir_search_proto::Protocol;
use weir_web::kit::{Paste, is_local};
use weir_web::{ConnectPanel, Visitor};

use crate::form::PAGE;
use crate::views::Views;
use crate::words::{age, counted, seconds};

#[derive(Template)]
#[template(path = "connect.html")]
struct ConnectPage<'a> {
    opening: String,
    programs: Vec<ProgramCard>,
    /// This machine alone reaches the address.
    local: bool,
    origin: String,
    /// What programs send.
    key: Option<String>,
    /// No indexer answers behind the addresses.
    empty: bool,
    /// Addresses of other fronts.
    panels: Vec<(&'a ConnectPanel, Paste)>,
    /// The full path of the file to edit.
    file: String,
}

/// A program and what to paste into it.
struct ProgramCard {
    name: &'static str,
    anchor: &'static str,
    /// Where in it.
    path: &'static str,
    fields: Vec<PasteField>,
    /// What else to know.
    note: &'static str,
    heard: Option<String>,
}

struct PasteField {
    id: String,
    label: &'static str,
    value: String,
}

/// A program as it stands in the table below.
struct KnownProgram {
    name: &'static str,
    anchor: &'static str,
    path: &'static str,
    /// Labels and paths after our address; without a slash the text itself.
    fields: &'static [(&'static str, &'static str)],
    note: &'static str,
}

/// What Sonarr and its relatives ask for.
const URLS: &[(&str, &str)] = &[
    ("URL", "/torznab"),
    ("URL, Usenet", "/newznab"),
    ("API path", "=/api"),
];

const KNOWN: [KnownProgram; 9] = [
    KnownProgram {
        name: "Sonarr",
        anchor: "sonarr",
        path: "Settings, Indexers, +, Torznab (or Newznab for Usenet)",
        fields: URLS,
        note: "",
    },
    KnownProgram {
        name: "Radarr",
        anchor: "radarr",
        path: "Settings, Indexers, +, Torznab (or Newznab for Usenet)",
        fields: URLS,
        note: "",
    },
    KnownProgram {
        name: "Lidarr",
        anchor: "lidarr",
        path: "Settings, Indexers, +, Torznab (or Newznab for Usenet)",
        fields: URLS,
        note: "",
    },
    KnownProgram {
        name: "Prowlarr",
        anchor: "prowlarr",
        path: "Indexers, Add indexer, Generic Torznab (or Generic Newznab)",
        fields: URLS,
        note: "To put Weir in Prowlarr’s own place, give programs that know Prowlarr the address with /prowlarr.",
    },
    KnownProgram {
        name: "cross-seed",
        anchor: "cross-seed",
        path: "config.js, torznab: put the key in place of KEY",
        fields: &[("torznab", "/torznab/api?apikey=KEY")],
        note: "",
    },
    KnownProgram {
        name: "FlexGet",
        anchor: "flexget",
        path: "config.yml, discover, from, torznab: url and apikey",
        fields: &[
            ("url", "/torznab"),
            ("RSS", "/torznab/api?t=search&apikey=KEY"),
        ],
        note: "",
    },
    KnownProgram {
        name: "autobrr",
        anchor: "autobrr",
        path: "Settings, Feeds or Indexers, Add new, Torznab (or Newznab)",
        fields: &[("URL", "/torznab/api"), ("URL, Usenet", "/newznab/api")],
        note: "",
    },
    KnownProgram {
        name: "qui",
        anchor: "qui",
        path: "Settings, Indexers, discover from Prowlarr or Jackett, or add one",
        fields: &[
            ("Prowlarr URL", "/prowlarr"),
            ("Jackett URL", "/jackett"),
            ("Torznab URL", "/torznab/api"),
        ],
        note: "",
    },
    KnownProgram {
        name: "qBittorrent",
        anchor: "qbittorrent",
        path: "RSS, New subscription: put the key in place of KEY",
        fields: &[("RSS", "/torznab/api?t=search&apikey=KEY")],
        note: "",
    },
];

/// `GET /connect`.
pub(super) async fn show(
    State(views): State<Arc<Views>>,
    visitor: Visitor,
    headers: HeaderMap,
) -> Response {
    let origin = visitor.client.origin(&headers);
    let now = views.model.now();
    let heard = views.model.programs.all();
    let heard = |name: &str| {
        let found = heard
            .iter()
            .find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, at)| format!("{} ago", age(seconds(at.until(now)))))
    };
    let (torrents, usenet) = (
        views.model.all_of(Protocol::Torrent).is_empty(),
        views.model.all_of(Protocol::Nzb).is_empty(),
    );
    let empty = torrents && usenet;
    // What has no indexers behind it is not offered, as long as there are others.
    let offered = |path: &str| match path {
        _ if empty => true,
        path if path.starts_with("/torznab") => !torrents,
        path if path.starts_with("/newznab") => !usenet,
        _ => true,
    };
    let programs = KNOWN.iter().map(|known| ProgramCard {
        name: known.name,
        anchor: known.anchor,
        path: known.path,
        fields: fields(known, &origin, &offered),
        note: known.note,
        heard: heard(known.name),
    });
    let panels = visitor.connect_panels().iter();
    let panels = panels.map(|panel| {
        let addresses = (panel.addresses)(&origin);
        (panel, Paste::new(panel.anchor, addresses))
    });
    let panels = panels.filter(|(_, addresses)| !addresses.is_empty());
    let template = ConnectPage {
        panels: panels.collect(),
        file: visitor.config_file(),
        opening: opening(&views),
        programs: programs.collect(),
        local: is_local(&origin),
        empty,
        origin,
        key: visitor.key().map(|key| key.expose().to_owned()),
    };
    visitor.show("Connect", &template)
}

fn fields(known: &KnownProgram, origin: &str, offered: &impl Fn(&str) -> bool) -> Vec<PasteField> {
    let fields = known.fields.iter().enumerate();
    fields
        .filter(|(_, (_, text))| offered(text))
        .map(|(place, (label, text))| PasteField {
            id: format!("{}-{place}", known.anchor),
            label,
            value: match text.strip_prefix('=') {
                Some(text) => text.to_owned(),
                None => format!("{origin}{text}"),
            },
        })
        .collect()
}

fn opening(views: &Views) -> String {
    let heard = views.model.programs.all();
    let heard = heard
        .iter()
        .filter(|(name, _)| ![PAGE, "a browser", "unnamed"].contains(&&**name));
    match heard.count() {
        0 => "No program has connected yet. Paste an address into one; it appears here after its first request."
            .to_owned(),
        some => format!(
            "Weir has heard from {}.",
            counted(some, "program", "programs")
        ),
    }
}
