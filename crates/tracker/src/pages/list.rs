//! `/swarms`: which torrents are here?

use std::sync::Arc;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use weir_tracker_proto::InfoHash;
use weir_web::kit::{self, ColumnHead, Pager, Paste, Sorted};
use weir_web::{Failure, Visitor};

use super::forwarders::{ForwarderTable, SwarmTimes};
use super::span;
use super::urls::announce_addresses;
use super::wanted::{SwarmsQuery, SwarmsWanted, write_place};
use crate::catalogue::{self, Busy, CataloguePage, SwarmRank};
use crate::exchange::Lineup;
use crate::look::Look;
use crate::swarm::SeenSwarm;
use crate::tracker::ToldSwarm;
use weir_engine::words::{counted, grouped};

/// Digits from which on something was meant to be a whole hash.
const NEARLY: usize = 33;

#[derive(Template)]
#[template(path = "swarms.html")]
struct SwarmsPage {
    /// What is here; HTML.
    opening: String,
    q: String,
    mistake: Option<String>,
    rows: Vec<SwarmRow>,
    pager: Option<Pager>,
    /// Where to announce.
    addresses: Paste,
    /// The full path of the file to edit.
    file: String,
    /// Nothing matches, in a sentence.
    nothing: Option<String>,
    empty: bool,
}

struct SwarmRow {
    hash: InfoHash,
    peers: String,
    /// Here and elsewhere.
    seeders: [String; 2],
    leechers: String,
    /// How many forwarders were asked, of how many; `None` where there are none.
    asked: Option<String>,
    /// HTML.
    next: String,
    completed: String,
    age: String,
    /// Where this row is open, or closed if it is.
    fold: String,
    opened: Option<ForwarderTable>,
}

/// What is here, in a sentence, which changes while somebody looks.
#[derive(Template)]
#[template(path = "swarms_opening.html")]
struct SwarmsOpening {
    says: String,
}

/// What changes on the page while somebody looks: id and HTML of each part.
pub(crate) fn live_parts(look: &Look) -> Vec<(String, String)> {
    vec![("swarms-opening".to_owned(), opening_part(look))]
}

fn opening_part(look: &Look) -> String {
    kit::written(&SwarmsOpening {
        says: opening(look),
    })
}

/// `GET /swarms`.
pub(super) async fn show(
    State(look): State<Look>,
    Query(view): Query<SwarmsQuery>,
    headers: HeaderMap,
    visitor: Visitor,
) -> Result<Response, Failure> {
    let mut shown = SwarmsPage::new(&look, &view, &visitor, &headers);
    match view.wanted() {
        Ok(SwarmsWanted::One(hash)) if look.tracker().swarms.holds(&hash.0) => {
            return Ok(Redirect::to(&format!("/swarms/{hash}")).into_response());
        }
        Ok(SwarmsWanted::One(_)) => {
            shown.nothing = Some("Nobody has announced this hash here.".into())
        }
        Ok(SwarmsWanted::Many(question)) => {
            if !shown.empty {
                let found = look.catalogue().page(question).await;
                shown.fill(&look, &found.map_err(busy)?, &view);
            }
        }
        Err(mistake) => {
            shown.mistake = Some(mistake);
            let page = visitor.show("Swarms", &shown);
            return Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response());
        }
    }
    Ok(visitor.show("Swarms", &shown))
}

/// What is said when too many look at once.
pub(super) fn busy(Busy: Busy) -> Failure {
    Failure::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "Too many people are browsing swarms right now.",
        "Try again in a moment. The tracker itself is not held up.",
    )
    .retry_after(2)
}

impl SwarmsPage {
    fn new(look: &Look, view: &SwarmsQuery, visitor: &Visitor, headers: &HeaderMap) -> Self {
        let origin = visitor.client.origin(headers);
        let addresses = announce_addresses(look.listening(), &origin);
        let empty = look.totals().swarms == 0;
        let file = visitor.config_file();
        Self {
            opening: opening_part(look),
            q: view.q.clone(),
            mistake: None,
            rows: Vec::new(),
            pager: None,
            addresses: Paste::new("url", addresses, &origin, &file),
            file,
            nothing: None,
            empty,
        }
    }

    fn fill(&mut self, look: &Look, page: &Arc<CataloguePage>, view: &SwarmsQuery) {
        let q = view.q.trim();
        let Some((first, last)) = page.swarms.first().zip(page.swarms.last()) else {
            self.nothing = Some(match (q, page.all) {
                ("", _) | (_, 1..) => "This page no longer has any swarms.".into(),
                // Whoever wrote nearly all of it meant all of it.
                (q, 0) if q.len() >= NEARLY => format!(
                    "No hash here begins with {q}. A hash is 40 hex digits; this has {}.",
                    q.len()
                ),
                (q, 0) => format!("No hash here begins with {q}."),
            });
            return;
        };
        let lineup = look.forwarders().exchange().lineup();
        let times = SwarmTimes::new(look);
        let opened = view.opened();
        let rows = page.swarms.iter();
        self.rows = rows
            .map(|seen| SwarmRow::new(look, seen, (&lineup, &times), (view, opened)))
            .collect();
        let range = kit::range(page.before, page.swarms.len(), page.all);
        let link = |which: &str, seen: &SeenSwarm| {
            let place = write_place(SwarmRank::of(seen));
            kit::address("/swarms", &[("q", q), (which, &place)], &[])
        };
        self.pager = Some(Pager::new(
            "swarms",
            format!("{range}, largest first"),
            (page.before > 0).then(|| link("before", first)),
            page.has_more().then(|| link("after", last)),
        ));
    }

    /// The catalogue knows one order, so no head leads anywhere.
    fn heads() -> [ColumnHead; 8] {
        let number = |label| ColumnHead::new(label).number(true);
        [
            ColumnHead::new("Hash"),
            number("Peers here").sorted(Some(Sorted::Descending)),
            number("Seeders here / elsewhere"),
            number("Leechers here"),
            number("Forwarders asked"),
            number("Next request"),
            number("Finished"),
            number("Here for"),
        ]
    }

    fn page_size() -> usize {
        catalogue::PAGE
    }
}

impl SwarmRow {
    fn new(
        look: &Look,
        seen: &SeenSwarm,
        (lineup, times): (&Lineup, &SwarmTimes),
        (view, opened): (&SwarmsQuery, Option<InfoHash>),
    ) -> Self {
        let ToldSwarm {
            peers,
            counts,
            elsewhere,
            ..
        } = look.told(seen);
        let hash = InfoHash(seen.hash);
        let asked = look.forwarders().exchange().asked(&seen.hash, lineup);
        let is_open = opened == Some(hash);
        Self {
            peers: grouped(peers),
            seeders: [counts.seeders - elsewhere, elsewhere].map(grouped),
            leechers: grouped(counts.leechers),
            asked: (!asked.is_empty()).then(|| {
                let count = asked.iter().filter(|one| one.asked.was_asked()).count();
                format!(
                    "{} of {}",
                    grouped(count as u64),
                    grouped(asked.len() as u64)
                )
            }),
            next: times.next(asked.iter().map(|one| one.next).min()),
            completed: grouped(counts.completed),
            age: span(seen.age),
            fold: view.with_open((!is_open).then_some(&hash)),
            opened: is_open.then(|| ForwarderTable::new(look, &seen.hash, asked, times)),
            hash,
        }
    }
}

fn opening(look: &Look) -> String {
    let totals = look.totals();
    if totals.swarms == 0 {
        return "Nobody has announced anything yet.".into();
    }
    let others = match look.tracker().forwarding.ledger().totals() {
        (_, 0) => "",
        _ => {
            " Clients are told the seeders here and elsewhere together: peers that other trackers named count as seeders."
        }
    };
    format!(
        "{} with {} here: {} and {}.{others}",
        counted(totals.swarms, "swarm", "swarms"),
        counted(totals.peers(), "peer", "peers"),
        counted(totals.seeders, "seeder", "seeders"),
        counted(totals.leechers(), "leecher", "leechers"),
    )
}
