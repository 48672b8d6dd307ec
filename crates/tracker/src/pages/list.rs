//! `/swarms`: which torrents are here?

use std::sync::Arc;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use weir_tracker_proto::InfoHash;
use weir_web::kit::{self, ColumnHead, Pager, Sorted};
use weir_web::{Failure, Visitor};

use super::span;
use super::urls::{announce_urls, host, is_local};
use super::wanted::{SwarmsQuery, SwarmsWanted, write_place};
use crate::catalogue::{self, Busy, CataloguePage, SwarmRank};
use crate::look::Look;
use crate::swarm::SeenSwarm;
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
    /// Nobody announced: where to.
    urls: Vec<AnnounceUrl>,
    /// Nothing matches, in a sentence.
    nothing: Option<String>,
    empty: bool,
}

struct SwarmRow {
    hash: InfoHash,
    peers: String,
    seeders: String,
    leechers: String,
    completed: String,
    age: String,
}

struct AnnounceUrl {
    label: &'static str,
    url: String,
    local: bool,
}

/// `GET /swarms`.
pub(super) async fn show(
    State(look): State<Look>,
    Query(view): Query<SwarmsQuery>,
    headers: HeaderMap,
    visitor: Visitor,
) -> Result<Response, Failure> {
    let mut shown = SwarmsPage::new(&look, &view, &headers);
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
                shown.fill(&found.map_err(busy)?, &view.q);
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
    fn new(look: &Look, view: &SwarmsQuery, headers: &HeaderMap) -> Self {
        let name = headers
            .get(header::HOST)
            .and_then(|host| host.to_str().ok())
            .map_or("localhost", host);
        let urls = announce_urls(look.listening(), name).into_iter();
        let empty = look.totals().swarms == 0;
        Self {
            opening: opening(look),
            q: view.q.clone(),
            mistake: None,
            rows: Vec::new(),
            pager: None,
            urls: urls
                .map(|(protocol, url)| AnnounceUrl {
                    label: if protocol == "udp" { "UDP" } else { "HTTP" },
                    local: is_local(&url),
                    url,
                })
                .collect(),
            nothing: None,
            empty,
        }
    }

    fn fill(&mut self, page: &Arc<CataloguePage>, q: &str) {
        let Some((first, last)) = page.swarms.first().zip(page.swarms.last()) else {
            self.nothing = Some(match (q.trim(), page.all) {
                ("", _) | (_, 1..) => "There are no swarms on this page any more.".into(),
                (q, 0) => format!("No hash here begins with {q}."),
            });
            return;
        };
        self.rows = page.swarms.iter().map(SwarmRow::new).collect();
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
    fn heads() -> [ColumnHead; 6] {
        let number = |label| ColumnHead::new(label).number(true);
        [
            ColumnHead::new("Hash"),
            number("Peers").sorted(Some(Sorted::Descending)),
            number("Seeders"),
            number("Leechers"),
            number("Finished"),
            number("Here for"),
        ]
    }

    fn all_are_local(&self) -> bool {
        self.urls.iter().all(|url| url.local)
    }

    fn page_size() -> usize {
        catalogue::PAGE
    }
}

impl SwarmRow {
    fn new(seen: &SeenSwarm) -> Self {
        Self {
            hash: InfoHash(seen.hash),
            peers: grouped(seen.peers),
            seeders: grouped(seen.counts.seeders),
            leechers: grouped(seen.counts.leechers),
            completed: grouped(seen.counts.completed),
            age: span(seen.age),
        }
    }
}

fn opening(look: &Look) -> String {
    let totals = look.totals();
    if totals.swarms == 0 {
        return "Nobody has announced anything yet.".into();
    }
    format!(
        "{} with {} here: {} and {}.",
        counted(totals.swarms, "swarm", "swarms"),
        counted(totals.peers(), "peer", "peers"),
        counted(totals.seeders, "seeder", "seeders"),
        counted(totals.leechers(), "leecher", "leechers"),
    )
}
