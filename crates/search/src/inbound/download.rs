//! `/dl/{token}/{name}`: the file behind a release.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;
use weir_engine::{Own, OwnKind, OwnReason, about};
use weir_search_proto::Protocol;
use weir_web::{Pace, Visitor};

use super::text;
use super::torznab::FeedRequest;
use crate::downloads::{Grab, INVALID, NoFile};
use crate::history::{GrabKind, Grabbed};
use crate::indexer::Indexer;
use crate::links::Link;
use crate::views::Views;
use crate::words::{second, unix};
use crate::{program, reply};

pub(super) async fn show(
    State(views): State<Arc<Views>>,
    Path((token, name)): Path<(String, String)>,
    visitor: Visitor,
    headers: HeaderMap,
) -> Response {
    download(&views, &token, &name, &visitor, &headers).await
}

/// `t=get&id=`: the same by another address.
pub(super) async fn get(arrival: &FeedRequest, id: &str) -> Response {
    let (token, name) = id.split_once('/').unwrap_or((id, ""));
    download(
        &arrival.views,
        token,
        name,
        &arrival.visitor,
        &arrival.headers,
    )
    .await
}

async fn download(
    views: &Arc<Views>,
    token: &str,
    name: &str,
    visitor: &Visitor,
    headers: &HeaderMap,
) -> Response {
    // Opened before anything is counted: a forged link costs a hash, and nobody's allowance.
    let Some(link) = opened(views, token).await else {
        let sentence = "This link was not made by this Weir. Search again.";
        return refused(&NoFile::Unknown(sentence.to_owned()));
    };
    let per_minute = views.model.rules.load().downloads_per_minute;
    let (now, pace) = (second(views.model.wall()), Pace::per_minute(per_minute));
    let (throttle, address) = (&views.downloads.throttle, visitor.client.address);
    if per_minute > 0
        && let Err(until) = throttle.take(address, now, pace)
    {
        let seconds = until.duration_since(now).as_secs().unsigned_abs().max(1);
        // A decision of the front itself, in bursts, and no row of the history: links need no key, so anybody who has one could
        // write as many as they like.
        views.model.engine.note_refused(Own {
            asker: Some(address.to_string().into()),
            limit: Some(per_minute),
            retry: Some(Duration::from_secs(seconds)),
            example: Some(title(name).into()),
            ..Own::new(OwnKind::Refused, OwnReason::TooMany, about::DOWNLOAD)
        });
        let sentence = format!("Too many downloads from this address; next one in {seconds} s.");
        return refused(&NoFile::Busy(sentence, seconds));
    }
    let Some(indexer) = views.model.indexers.named(&link.indexer) else {
        let sentence = format!("The indexer {} is no longer configured.", link.indexer);
        return refused(&NoFile::Unknown(sentence));
    };
    let (began, at) = (Instant::now(), views.model.now());
    let program = program::name(text(headers, "user-agent"));
    let program = views.model.programs.of(visitor, &program, at);
    let id = views.model.history.begin_grab();
    let grab = views.downloads.get(&indexer, &link, program.asker).await;
    let (what, reason, bytes) = match &grab {
        Ok(Grab::File { bytes, cached }) => {
            let what = match cached {
                true => GrabKind::Cached,
                false => GrabKind::File,
            };
            (what, String::new(), bytes.len())
        }
        Ok(Grab::Magnet(_)) => (GrabKind::Magnet, String::new(), 0),
        Ok(Grab::Elsewhere(_)) => (GrabKind::Redirect, String::new(), 0),
        Err(no_file) => (GrabKind::Failed, no_file.sentence().to_owned(), 0),
    };
    views.model.history.note_grab(Grabbed {
        id,
        at: unix(at),
        program: program.name.to_string(),
        address: visitor.client.address.to_string(),
        indexer: indexer.name().to_owned(),
        title: title(name),
        what,
        reason,
        bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
        took_ms: u32::try_from(began.elapsed().as_millis()).unwrap_or(u32::MAX),
    });
    respond(&indexer, name, grab)
}

/// What a link leads to. Another node may have made it a moment ago with a key that is not known here yet.
async fn opened(views: &Views, token: &str) -> Option<Link> {
    let model = &views.model;
    if let Some(link) = model.links.open(token) {
        return Some(link);
    }
    let keys = model.links.keys().len();
    model.together.as_ref()?.links.look().await;
    // Without a new key it is as unknown as before.
    (model.links.keys().len() > keys).then(|| model.links.open(token))?
}

fn refused(no_file: &NoFile) -> Response {
    let (status, wait) = match no_file {
        NoFile::Unknown(_) => (StatusCode::NOT_FOUND, reply::LATER),
        NoFile::Busy(_, seconds) => (StatusCode::TOO_MANY_REQUESTS, *seconds),
        NoFile::Off(_) => (StatusCode::SERVICE_UNAVAILABLE, reply::LATER),
        NoFile::TimedOut(_) => (StatusCode::GATEWAY_TIMEOUT, reply::LATER),
        NoFile::Failed(_) => (StatusCode::BAD_GATEWAY, reply::LATER),
    };
    let text = format!("{}\n", no_file.sentence());
    let mut response = (status, text).into_response();
    reply::retry_after(&mut response, wait);
    response
}

fn respond(indexer: &Indexer, name: &str, grab: Result<Grab, NoFile>) -> Response {
    match grab {
        Err(no_file) => refused(&no_file),
        Ok(Grab::Magnet(url) | Grab::Elsewhere(url)) => match url.parse::<header::HeaderValue>() {
            Ok(location) => (StatusCode::FOUND, [(header::LOCATION, location)]).into_response(),
            Err(_) => refused(&NoFile::Unknown(INVALID.to_owned())),
        },
        Ok(Grab::File { bytes, .. }) => {
            let (kind, ending) = match indexer.protocol() {
                Protocol::Torrent => ("application/x-bittorrent", "torrent"),
                Protocol::Nzb => ("application/x-nzb", "nzb"),
            };
            let name = crate::links::file_name(&title(name), ending);
            let disposition = format!("attachment; filename=\"{name}\"");
            let headers = [
                (header::CONTENT_TYPE, kind.to_owned()),
                (header::CONTENT_DISPOSITION, disposition),
            ];
            (headers, Body::from(bytes)).into_response()
        }
    }
}

/// A release's title, as the name of a link shows it.
fn title(name: &str) -> String {
    let plain: String = name
        .chars()
        .filter(|letter| !letter.is_control())
        .take(200)
        .collect();
    let ends = [".torrent", ".nzb"];
    let bare = ends.iter().find_map(|end| plain.strip_suffix(end));
    bare.unwrap_or(&plain).to_owned()
}
