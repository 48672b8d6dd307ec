//! `/api/v1/swarms` and `/api/v1/swarms/{info_hash}`.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde_json::{Value, json};
use weir_tracker_proto::InfoHash;
use weir_web::Failure;

use super::forwarders::{self, SwarmTimes};
use super::list::busy;
use super::one::{family, find};
use super::wanted::{SwarmsQuery, SwarmsWanted, write_place};
use crate::catalogue::{CataloguePage, SwarmRank};
use crate::look::Look;
use crate::swarm::SeenSwarm;
use crate::tracker::ToldSwarm;

/// `GET /api/v1/swarms`.
pub(super) async fn list(
    State(look): State<Look>,
    Query(view): Query<SwarmsQuery>,
) -> Result<Json<Value>, Failure> {
    let wanted = view.wanted().map_err(|mistake| {
        Failure::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            mistake,
            "Send an info hash or its first hex digits as q, and after or before as an answer gave them.",
        )
        .at(view.wrong_field())
    })?;
    let page = match wanted {
        SwarmsWanted::Many(question) => look.catalogue().page(question).await.map_err(busy)?,
        SwarmsWanted::One(hash) => {
            let found = look
                .tracker()
                .swarms
                .close(&hash.0, 0, look.clock().now().minute);
            let swarms: Vec<SeenSwarm> = found.into_iter().map(|close| close.seen).collect();
            let all = swarms.len();
            let page = CataloguePage {
                swarms,
                before: 0,
                all,
            };
            page.into()
        }
    };
    let totals = look.totals();
    let place = |seen: &SeenSwarm| write_place(SwarmRank::of(seen));
    let next = page.swarms.last().filter(|_| page.has_more()).map(place);
    let previous = page.swarms.first().filter(|_| page.before > 0).map(place);
    Ok(Json(json!({
        "swarms": page.swarms.iter().map(|seen| swarm(&look, seen)).collect::<Vec<_>>(),
        "matching": page.all,
        "position": page.before,
        "after": next,
        "before": previous,
        "totals": {
            "swarms": totals.swarms,
            "peers": totals.peers(),
            "seeders": totals.seeders,
            "leechers": totals.leechers(),
        },
    })))
}

/// `GET /api/v1/swarms/{info_hash}`.
pub(super) async fn one(
    State(look): State<Look>,
    Path(hash): Path<String>,
) -> Result<Json<Value>, Failure> {
    let (_, close) = find(&look, &hash)?;
    let mut body = swarm(&look, &close.seen);
    let exchange = look.forwarders().exchange();
    let asked = exchange.asked(&close.seen.hash, &exchange.lineup());
    let times = SwarmTimes::new(&look);
    body["forwarders"] = forwarders::json(&look, &close.seen.hash, &asked, &times);
    body["peers_v4"] = close.v4.into();
    body["peers_v6"] = close.v6.into();
    body["peer_list"] = close
        .peers
        .iter()
        .map(|peer| {
            json!({
                "address": peer.at.socket().to_string(),
                "family": family(&peer.at).to_ascii_lowercase(),
                "seeder": peer.seeder,
                "silent_minutes": peer.silent,
            })
        })
        .collect();
    Ok(Json(body))
}

/// Seeders and leechers are those that clients are told; peers are those here.
fn swarm(look: &Look, seen: &SeenSwarm) -> Value {
    let ToldSwarm {
        peers,
        others,
        counts,
        elsewhere,
    } = look.told(seen);
    json!({
        "info_hash": InfoHash(seen.hash).to_string(),
        "peers": peers,
        "forwarder_peers": others,
        "seeders": counts.seeders,
        "seeders_elsewhere": elsewhere,
        "leechers": counts.leechers,
        "completed": counts.completed,
        "age_minutes": seen.age,
    })
}
