//! `/swarms/{info_hash}`: who has this torrent?

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use weir_tracker_proto::InfoHash;
use weir_web::{Failure, Visitor};

use super::forwarders::{ForwarderTable, SwarmTimes};
use super::span;
use crate::look::Look;
use crate::swarm::{Close, Peer, PeerEndpoint};
use crate::tracker::ToldSwarm;
use weir_engine::words::{counted, grouped};

/// Peers that are shown.
pub(super) const PEERS: usize = 200;

#[derive(Template)]
#[template(path = "swarm.html")]
struct SwarmPage {
    hash: InfoHash,
    opening: String,
    /// What clients are told, where that differs.
    told: Option<String>,
    figures: [(&'static str, String); 7],
    forwarders: ForwarderTable,
    rows: Vec<PeerRow>,
    shown: String,
}

struct PeerRow {
    at: String,
    family: &'static str,
    seeder: bool,
    silent: String,
}

/// `GET /swarms/{info_hash}`.
pub(super) async fn show(
    State(look): State<Look>,
    Path(hash): Path<String>,
    visitor: Visitor,
) -> Result<Response, Failure> {
    let (hash, close) = find(&look, &hash)?;
    let title = format!("{}… · Swarms", &hash.to_string()[..8]);
    let told = look.told(&close.seen);
    let exchange = look.forwarders().exchange();
    let asked = exchange.asked(&hash.0, &exchange.lineup());
    let forwarders = ForwarderTable::new(&look, &hash.0, asked, &SwarmTimes::new(&look));
    let page = SwarmPage::new(hash, &close, told, forwarders);
    Ok(visitor.show(&title, &page))
}

/// The swarm that an address names.
pub(super) fn find(look: &Look, text: &str) -> Result<(InfoHash, Close), Failure> {
    let Ok(hash) = text.parse::<InfoHash>() else {
        return Err(Failure::unknown(
            format!(
                "A hash is 40 hex digits; this has {}.",
                text.chars().count()
            ),
            "Look for its first digits on the page of swarms.",
        ));
    };
    let close = look
        .tracker()
        .swarms
        .close(&hash.0, PEERS, look.clock().now().minute);
    match close {
        Some(close) => Ok((hash, close)),
        None => Err(Failure::unknown(
            "Nobody has announced this hash here.",
            "A swarm is forgotten when its last peer leaves or is silent for too long.",
        )),
    }
}

impl SwarmPage {
    fn new(hash: InfoHash, close: &Close, told: ToldSwarm, forwarders: ForwarderTable) -> Self {
        let Close { seen, v4, v6, .. } = close;
        let (counts, elsewhere) = (told.counts, told.elsewhere);
        let others = match told.others {
            0 => String::new(),
            others => format!(", and {} more from forwarders", grouped(others)),
        };
        let by_address = counts.seeders + counts.leechers != told.peers + told.others;
        let why = match (told.others, by_address) {
            (0, false) => None,
            (0, true) => Some("each address counts once"),
            (_, false) => Some("those from forwarders count as seeders"),
            (_, true) => {
                Some("those from forwarders count as seeders, and each address counts once")
            }
        };
        let told = why.map(|why| {
            format!(
                "Clients are told {} and {}: {why}.",
                counted(counts.seeders, "seeder", "seeders"),
                counted(counts.leechers, "leecher", "leechers")
            )
        });
        let all = grouped(seen.peers);
        Self {
            hash,
            opening: format!(
                "{} here{others}. It began {} ago.",
                counted(seen.peers, "peer is", "peers are"),
                span(seen.age)
            ),
            told,
            figures: [
                ("Seeders", grouped(counts.seeders)),
                ("Of these elsewhere", grouped(elsewhere)),
                ("Leechers", grouped(counts.leechers)),
                ("Finished downloads", grouped(counts.completed)),
                ("Peers in IPv4", grouped(*v4)),
                ("Peers in IPv6", grouped(*v6)),
                ("Here for", span(seen.age)),
            ],
            shown: match close.peers.len() {
                some if some < seen.peers as usize => {
                    format!("{some} of {all} peers, some of every kind")
                }
                _ => counted(seen.peers, "peer", "peers"),
            },
            forwarders,
            rows: close.peers.iter().map(PeerRow::new).collect(),
        }
    }
}

impl PeerRow {
    fn new(peer: &Peer) -> Self {
        Self {
            at: peer.at.socket().to_string(),
            family: family(&peer.at),
            seeder: peer.seeder,
            silent: match peer.silent {
                0 => "under 1 min ago".into(),
                minutes => format!("{} ago", span(minutes)),
            },
        }
    }
}

pub(super) fn family(at: &PeerEndpoint) -> &'static str {
    match at {
        PeerEndpoint::V4(_) => "IPv4",
        PeerEndpoint::V6(_) => "IPv6",
    }
}
