//! What an indexer does after a request, step by step.

use std::time::Duration;

use tokio::time::Instant;

use super::document::{self, Latin};
use super::{Asked, Behaviour, Files, Play};
use crate::zoo::script::{answer, drip, packed, path, redirect, status, stream};
use crate::zoo::serve::{Act, Acts};
use crate::zoo::{Book, Seen};

const XML: &str = "Content-Type: application/rss+xml; charset=utf-8\r\n";

/// The steps after one request.
pub(super) fn of(play: &Play, book: &Book<Play>, head: &[u8]) -> Acts {
    let target = path(head);
    if target.starts_with("/file/") {
        return one(Act::Write(file(play, &target)));
    }
    if !target.starts_with("/api") {
        return one(Act::Write(answer(404, "", b"nothing here\n")));
    }
    let caps = value(&target, "t") == Some("caps");
    if caps && !play.all {
        return one(Act::Write(whole(&document::caps(&play.shelf))));
    }
    let good = || match caps {
        true => document::caps(&play.shelf),
        false => document::feed(&play.shelf, &target, ""),
    };
    let bytes = match &play.behaviour {
        Behaviour::Good => whole(&good()),
        Behaviour::Slow(time) => {
            let acts = [Act::Wait(*time), Act::Write(whole(&good()))];
            return Box::new(acts.into_iter());
        }
        Behaviour::Status(code, retry_after) => status(*code, retry_after),
        Behaviour::BurstLimit {
            calls,
            window,
            retry_after,
        } => match recent(&book.seen(), *window) > *calls {
            true => status(429, retry_after),
            false => whole(&good()),
        },
        Behaviour::Error(code, words) => whole(&document::error(*code, words)),
        Behaviour::ErrorStatus(status, code, words) => {
            answer(*status, XML, document::error(*code, words).as_bytes())
        }
        Behaviour::InvalidXml => {
            let good = good();
            let cut = good.rfind("</").unwrap_or(0) - 20;
            answer(200, XML, &good.as_bytes()[..cut])
        }
        Behaviour::Html => {
            let page = b"<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>Checking your browser</body></html>";
            answer(200, "Content-Type: text/html; charset=UTF-8\r\n", page)
        }
        Behaviour::Empty => answer(200, XML, b""),
        Behaviour::Hang => return one(Act::Hang),
        Behaviour::Drip(pause) => return drip(whole(&good()), *pause),
        Behaviour::CloseAfterRequest => return one(Act::Close),
        Behaviour::HugeBody(size) => {
            let head =
                format!("HTTP/1.1 200 OK\r\n{XML}Connection: close\r\n\r\n<rss><channel><title>");
            return stream(head.as_bytes(), *size);
        }
        Behaviour::GzipBomb(size) => {
            let bomb = packed(std::io::Read::take(std::io::repeat(b' '), *size as u64));
            answer(200, "Content-Encoding: gzip\r\n", &bomb)
        }
        Behaviour::Flood(flood, most) => return flood.acts(*most),
        Behaviour::EntityBomb => whole(&document::entity_bomb()),
        Behaviour::ExternalEntity => whole(&document::external_entity(&play.shelf.base)),
        Behaviour::RedirectLoop => redirect(&target),
        Behaviour::Flaky(nth) => {
            let searches = requests(&book.seen(), "/api");
            let searches = searches
                .iter()
                .filter(|asked| asked.value("t") != Some("caps"));
            match searches.count() % nth {
                0 => status(500, &crate::zoo::http::RetryAfter::None),
                _ => whole(&good()),
            }
        }
        Behaviour::Latin1 => {
            let Latin(body) = document::latin(&play.shelf, &target);
            answer(200, "Content-Type: application/rss+xml\r\n", &body)
        }
        Behaviour::Gzip => {
            let headers = format!("{XML}Content-Encoding: gzip\r\n");
            answer(200, &headers, &packed(good().as_bytes()))
        }
        Behaviour::WrongPaging => whole(&document::everything(&play.shelf)),
        Behaviour::Limits { calls, grabs } => {
            let made = requests(&book.seen(), "/api").len() + calls.0;
            let limits = document::limits((made, calls.1), *grabs);
            match caps {
                true => whole(&good()),
                false => whole(&document::feed(&play.shelf, &target, &limits)),
            }
        }
    };
    one(Act::Write(bytes))
}

fn one(act: Act) -> Acts {
    Box::new(std::iter::once(act))
}

fn whole(body: &str) -> Vec<u8> {
    answer(200, XML, body.as_bytes())
}

fn file(play: &Play, target: &str) -> Vec<u8> {
    let kind = match play.shelf.newznab {
        true => "Content-Type: application/x-nzb\r\n",
        false => "Content-Type: application/x-bittorrent\r\n",
    };
    match &play.files {
        Files::Good => answer(200, kind, &document::file(&play.shelf, target)),
        Files::Html => {
            let page = b"<html><body>Please sign in.</body></html>";
            answer(200, "Content-Type: text/html\r\n", page)
        }
        Files::Missing => answer(404, "", b"gone\n"),
        Files::Magnet => redirect(&format!("magnet:?xt=urn:btih:{:040x}", 0xabc)),
        Files::Status(code, retry_after) => status(*code, retry_after),
        Files::Error(code, words) => whole(&document::error(*code, words)),
    }
}

/// The value of a parameter, as it came.
pub(super) fn value<'a>(target: &'a str, name: &str) -> Option<&'a str> {
    let (_, query) = target.split_once('?')?;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// The requests to a path.
pub(super) fn requests(seen: &[Seen], start: &str) -> Vec<Asked> {
    let asked = seen.iter().map(|seen| Asked {
        at: seen.at,
        target: path(&seen.bytes),
    });
    asked
        .filter(|asked| asked.target.starts_with(start))
        .collect()
}

/// How many requests came within this time, the latest among them.
fn recent(seen: &[Seen], window: Duration) -> usize {
    let now = Instant::now();
    let asked = requests(seen, "/api").into_iter();
    asked
        .filter(|asked| now.duration_since(asked.at) < window)
        .count()
}
