//! `/swarms`: which torrents are here?

use std::sync::Arc;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use weir_tracker_proto::InfoHash;
use weir_web::kit::{self, ColumnHead, Pager, Paste, Sorted};
use weir_web::{Failure, Visitor};

use super::span;
use super::urls::announce_addresses;
use super::wanted::{SwarmsQuery, SwarmsWanted, write_place};
use crate::catalogue::{self, Busy, CataloguePage, SwarmRank};
use crate::look::Look;
use crate::swarm::SeenSwarm;
use crate::tracker::ToldSwarm;
use weir_engine::words::{counted, grouped};

#[derive(Template)]
#[template(path = "swarms.html")]
struct SwarmsPage {
    /// What is here, in a sentence.
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
    others: String,
    seeders: String,
    leechers: String,
    completed: String,
    age: String,
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
                shown.fill(&look, &found.map_err(busy)?, &view.q);
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
        "Too many readers look through the swarms at this moment.",
        "Try again in a moment. The tracker itself is not held up.",
    )
    .retry_after(2)
}

impl SwarmsPage {
    fn new(look: &Look, view: &SwarmsQuery, visitor: &Visitor, headers: &HeaderMap) -> Self {
        let origin = visitor.client.origin(headers);
        let addresses = announce_addresses(look.listening(), &origin);
        let empty = look.totals().swarms == 0;
        Self {
            opening: opening(look),
            q: view.q.clone(),
            mistake: None,
            rows: Vec::new(),
            pager: None,
            addresses: Paste::new("url", addresses),
            file: visitor.config_file(),
            nothing: None,
            empty,
        }
    }

    fn fill(&mut self, look: &Look, page: &Arc<CataloguePage>, q: &str) {
        let Some((first, last)) = page.swarms.first().zip(page.swarms.last()) else {
            self.nothing = Some(match (q.trim(), page.all) {
                ("", _) | (_, 1..) => "There are no swarms on this page any more.".into(),
                (q, 0) => format!("No hash here begins with {q}."),
            });
            return;
        };
        let rows = page.swarms.iter();
        self.rows = rows.map(|seen| SwarmRow::new(look, seen)).collect();
        let range = kit::range(page.before, page.swarms.len(), page.all);
        let link = |which: &str, seen: &SeenSwarm| {
            let place = write_place(SwarmRank::of(seen));
            kit::address("/swarms", &[("q", q.trim()), (which, &place)], &[])
        };
        self.pager = Some(Pager::new(
            "swarms",
            format!("{range}, largest first"),
            (page.before > 0).then(|| link("before", first)),
            page.has_more().then(|| link("after", last)),
        ));
    }

    /// The catalogue knows one order, so no head leads anywhere.
    fn heads() -> [ColumnHead; 7] {
        let number = |label| ColumnHead::new(label).number(true);
        [
            ColumnHead::new("Hash"),
            number("Peers here").sorted(Some(Sorted::Descending)),
            number("From forwarders"),
            number("Seeders"),
            number("Leechers"),
            number("Finished"),
            number("Here for"),
        ]
    }

    fn page_size() -> usize {
        catalogue::PAGE
    }
}

impl SwarmRow {
    fn new(look: &Look, seen: &SeenSwarm) -> Self {
        let ToldSwarm {
            peers,
            others,
            counts,
        } = look.told(seen);
        Self {
            hash: InfoHash(seen.hash),
            peers: grouped(peers),
            others: grouped(others),
            seeders: grouped(counts.seeders),
            leechers: grouped(counts.leechers),
            completed: grouped(counts.completed),
            age: span(seen.age),
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
            " Seeders and leechers below are what clients are told: peers from forwarders count as seeders."
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
