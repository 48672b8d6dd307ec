//! `/dl/{token}/{name}`: the file behind a release, by way of its indexer's own budget of downloads.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use tokio::time::Instant;
use weir_config::SecretUrl;
use weir_engine::dispatch::Job;
use weir_engine::dispatch::policy::Budget;
use weir_engine::{Ended, Fault, span};
use weir_search_proto::Protocol;
use weir_web::Visitor;

use super::text;
use super::torznab::Arrival;
use crate::call::{Fetching, FileAnswer};
use crate::config::indexer::Download;
use crate::desk::Desk;
use crate::fanout::skip;
use crate::history::Grabbed;
use crate::indexer::Indexer;
use crate::judge::IndexerFault;
use crate::links::Link;
use crate::outbound::Fetched;
use crate::part::Digest;
use crate::policy::INTERACTIVE;
use crate::words::{seconds, unix};
use crate::{program, reply};

/// How a download ended.
enum Given {
    File { bytes: Bytes, cached: bool },
    Magnet(String),
    Elsewhere(String),
    Not(Refused),
}

/// Why there is no file.
struct Refused {
    status: StatusCode,
    sentence: String,
    retry_after: u64,
}

pub(super) async fn show(
    State(desk): State<Arc<Desk>>,
    Path((token, name)): Path<(String, String)>,
    visitor: Visitor,
    headers: HeaderMap,
) -> Response {
    download(&desk, &token, &name, &visitor, &headers).await
}

/// `t=get&id=`: the same by another address.
pub(super) async fn get(arrival: &Arrival, id: &str) -> Response {
    let (token, name) = id.split_once('/').unwrap_or((id, ""));
    download(
        &arrival.desk,
        token,
        name,
        &arrival.visitor,
        &arrival.headers,
    )
    .await
}

async fn download(
    desk: &Arc<Desk>,
    token: &str,
    name: &str,
    visitor: &Visitor,
    headers: &HeaderMap,
) -> Response {
    // Opened before anything is counted: a forged link costs a hash, and nobody's allowance.
    let Some(link) = desk.links.open(token) else {
        return refused(&not_found(
            "This link was not made by this Weir. Search again.",
        ));
    };
    let per_minute = desk.config.load().downloads_per_minute;
    if let Err(seconds) = desk.downloads.take(visitor.client.address, per_minute) {
        return refused(&Refused {
            status: StatusCode::TOO_MANY_REQUESTS,
            sentence: format!("Too many downloads from this address; next one in {seconds} s."),
            retry_after: seconds,
        });
    }
    let roster = desk.roster.load();
    let Some(indexer) = roster.named(&link.indexer).cloned() else {
        let sentence = format!("The indexer {} is no longer configured.", link.indexer);
        return refused(&not_found(&sentence));
    };
    drop(roster);
    let (began, at) = (Instant::now(), desk.engine.timeline().now());
    let program = desk
        .programs
        .of(visitor, &program::name(text(headers, "user-agent")), at);
    let given = fetch(desk, &indexer, &link, program.asker).await;
    let (what, reason, bytes) = match &given {
        Given::File { bytes, cached } => {
            let what = if *cached { "cached" } else { "file" };
            (what, String::new(), bytes.len())
        }
        Given::Magnet(_) => ("magnet", String::new(), 0),
        Given::Elsewhere(_) => ("redirect", String::new(), 0),
        Given::Not(refused) => ("failed", refused.sentence.clone(), 0),
    };
    desk.history.note_grab(Grabbed {
        id: 0,
        at: unix(at),
        program: program.name.to_string(),
        address: visitor.client.address.to_string(),
        indexer: indexer.name().to_owned(),
        title: title(name),
        what: what.to_owned(),
        reason,
        bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
        took_ms: u32::try_from(began.elapsed().as_millis()).unwrap_or(u32::MAX),
    });
    respond(&indexer, name, given)
}

async fn fetch(
    desk: &Arc<Desk>,
    indexer: &Arc<Indexer>,
    link: &Link,
    asker: weir_engine::dispatch::Asker,
) -> Given {
    if link.url.starts_with("magnet:") {
        return Given::Magnet(link.url.clone());
    }
    // A client that is sent on must not be sent to a file of its own, or to another program.
    let url = SecretUrl::parse(&link.url).filter(|url| matches!(url.scheme(), "http" | "https"));
    let Some(url) = url else {
        return Given::Not(not_found("The indexer sent an invalid address."));
    };
    let job = Job {
        budget: Budget::Grab,
        asker,
        ..Job::new(indexer.upstream, INTERACTIVE)
    };
    let within = desk.config.load().deadline + indexer.config.timeout;
    if indexer.config.download == Download::Redirect {
        // The client's own call counts as one of ours.
        if let Some(refused) = cannot_wait(desk, indexer, job) {
            return Given::Not(refused);
        }
        let turn = desk.engine.take_turn(job);
        return match tokio::time::timeout(within, turn).await {
            Ok(Ended::Finished(_)) => Given::Elsewhere(link.url.clone()),
            Ok(ended) => Given::Not(ended_without(desk, indexer, ended)),
            Err(_) => Given::Not(no_turn(desk, indexer)),
        };
    }
    let key = digest(link);
    let life = seconds(desk.config.load().cache.files);
    let since = desk.office.wall().saturating_sub(life);
    if let Some(bytes) = desk.office.cache.file(&key, since) {
        desk.engine.count_from_memory(1);
        return Given::File {
            bytes,
            cached: true,
        };
    }
    if let Some(refused) = cannot_wait(desk, indexer, job) {
        return Given::Not(refused);
    }
    let now = desk.engine.timeline().now();
    let no_files = now.until(indexer.calls.lock().no_files_before);
    tokio::time::sleep(no_files).await;
    let follower = desk.files.join((indexer.upstream, key), job, |landing| {
        Some(Arc::new(Fetching {
            office: desk.office.clone(),
            indexer: indexer.clone(),
            url,
            landing,
        }))
    });
    match tokio::time::timeout(within, follower).await {
        Ok(Ok(answer)) => given(desk, indexer, &answer),
        Ok(Err(ended)) => Given::Not(ended_without(desk, indexer, ended)),
        Err(_) => Given::Not(no_turn(desk, indexer)),
    }
}

fn no_turn(desk: &Desk, indexer: &Indexer) -> Refused {
    let sentence = "The indexer's turn did not come in time.";
    busy(desk, indexer, sentence.to_owned())
}

/// A download that would wait longer than a client does is refused at once, with the time to come back.
fn cannot_wait(desk: &Desk, indexer: &Indexer, job: Job) -> Option<Refused> {
    let (wait, most) = (desk.wait_for_files(indexer)?, desk.config.load().deadline);
    if wait <= most {
        return None;
    }
    let (turn, why) = desk
        .engine
        .next_wait(indexer.upstream, INTERACTIVE, Budget::Grab);
    // Where it is the host of the files that is left alone, the engine has nothing to skip.
    if let Some(why) = why.filter(|_| turn > most) {
        desk.engine.note_skip(&job, skip(why, turn, Some(most)));
    }
    let name = indexer.name();
    let sentence = format!(
        "{name} cannot be asked for a file now; its turn comes in {}.",
        span(wait)
    );
    Some(busy(desk, indexer, sentence))
}

fn given(desk: &Desk, indexer: &Indexer, answer: &FileAnswer) -> Given {
    match answer {
        Ok(Fetched::Bytes(bytes)) => Given::File {
            bytes: bytes.clone(),
            cached: false,
        },
        Ok(Fetched::Magnet(url)) => Given::Magnet(url.clone()),
        Err(fault) => {
            let sentence = format!("{} gave no file: {fault}.", indexer.name());
            match fault {
                IndexerFault::Common(Fault::Overload { .. })
                | IndexerFault::Limit(_)
                | IndexerFault::Downloads(_) => Given::Not(busy(desk, indexer, sentence)),
                IndexerFault::Missing | IndexerFault::Common(Fault::Status(404 | 410)) => {
                    Given::Not(not_found(&sentence))
                }
                _ => Given::Not(Refused {
                    status: StatusCode::BAD_GATEWAY,
                    sentence,
                    retry_after: reply::LATER,
                }),
            }
        }
    }
}

fn ended_without(desk: &Desk, indexer: &Indexer, ended: Ended) -> Refused {
    let name = indexer.name();
    match ended {
        Ended::Skipped(_) | Ended::Dropped(_) => busy(
            desk,
            indexer,
            format!("{name} cannot be asked for a file now."),
        ),
        Ended::TimedOut => Refused {
            status: StatusCode::GATEWAY_TIMEOUT,
            sentence: format!("{name} did not give the file in time."),
            retry_after: reply::LATER,
        },
        _ => Refused {
            status: StatusCode::BAD_GATEWAY,
            sentence: format!("{name} gave no file."),
            retry_after: reply::LATER,
        },
    }
}

fn busy(desk: &Desk, indexer: &Indexer, sentence: String) -> Refused {
    let wait = desk.wait_for_files(indexer).unwrap_or_default();
    Refused {
        status: StatusCode::TOO_MANY_REQUESTS,
        sentence,
        retry_after: (wait.as_secs() + 1).min(24 * 60 * 60),
    }
}

fn not_found(sentence: &str) -> Refused {
    Refused {
        status: StatusCode::NOT_FOUND,
        sentence: sentence.to_owned(),
        retry_after: reply::LATER,
    }
}

fn refused(refused: &Refused) -> Response {
    let text = format!("{}\n", refused.sentence);
    let mut response = (refused.status, text).into_response();
    reply::retry_after(&mut response, refused.retry_after);
    response
}

fn respond(indexer: &Indexer, name: &str, given: Given) -> Response {
    match given {
        Given::Not(why) => refused(&why),
        Given::Magnet(url) | Given::Elsewhere(url) => match url.parse::<header::HeaderValue>() {
            Ok(location) => (StatusCode::FOUND, [(header::LOCATION, location)]).into_response(),
            Err(_) => refused(&not_found("The indexer sent an invalid address.")),
        },
        Given::File { bytes, .. } => {
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

fn digest(link: &Link) -> Digest {
    let mut hasher = blake3::Hasher::new();
    hasher.update(link.indexer.as_bytes()).update(&[0]);
    hasher.update(link.url.as_bytes());
    let mut digest = Digest::default();
    digest.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    digest
}
