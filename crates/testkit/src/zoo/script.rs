//! What an HTTP tracker does after a request, step by step.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use weir_tracker_proto::bencode::Writer;
use weir_tracker_proto::compact;

use super::http::{Behaviour, Good, RetryAfter};
use super::serve::{Act, Acts};

/// Large bodies are written in pieces, so that nobody needs memory for all of it.
const PIECE: usize = 64 << 10;

/// The steps after one request.
pub(super) fn of(behaviour: &Behaviour, head: &[u8]) -> Acts {
    let acts = match behaviour {
        Behaviour::Good(_) if is_scrape(head) => {
            vec![Act::Write(answer(200, "", b"d5:filesdee"))]
        }
        Behaviour::Good(good) => vec![Act::Write(whole(good))],
        Behaviour::Status(code, retry_after) => vec![Act::Write(status(*code, retry_after))],
        Behaviour::Hang => vec![Act::Hang],
        Behaviour::HalfBody => {
            let answer = whole(&Good::default());
            vec![Act::Write(answer[..answer.len() - 10].to_vec()), Act::Close]
        }
        Behaviour::Drip(pause) => return drip(whole(&Good::default()), *pause),
        Behaviour::CloseAtOnce | Behaviour::CloseAfterRequest => vec![Act::Close],
        Behaviour::Reset => vec![Act::Reset],
        Behaviour::Garbage => {
            let garbage = b"\x00\x13BitTorrent protocol\r\n\xff\xfe\r\n\r\n".repeat(8);
            vec![Act::Write(garbage), Act::Close]
        }
        Behaviour::Html => {
            let page = b"<!doctype html><title>Welcome</title><h1>It works!</h1>";
            vec![Act::Write(answer(200, "Content-Type: text/html\r\n", page))]
        }
        Behaviour::Empty => vec![Act::Write(answer(200, "", b""))],
        Behaviour::Truncated => {
            let body = body(&Good::default());
            vec![Act::Write(answer(200, "", &body[..body.len() / 2]))]
        }
        Behaviour::NestingBomb => vec![Act::Write(answer(200, "", &b"l".repeat(100_000)))],
        Behaviour::EndlessString => {
            let body = b"d8:intervali1800e5:peers99999999999:abc";
            vec![Act::Write(answer(200, "", body))]
        }
        Behaviour::HugeBody(size) => {
            return stream(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", *size);
        }
        Behaviour::GzipBomb(size) => {
            vec![Act::Write(answer(
                200,
                "Content-Encoding: gzip\r\n",
                &bomb(*size),
            ))]
        }
        Behaviour::HugeHead(size) => return stream(b"HTTP/1.1 200 OK\r\nX-Long: ", *size),
        Behaviour::Flood(flood, most) => return flood.acts(*most),
        Behaviour::Interval(interval) => vec![Act::Write(whole(&Good {
            interval: *interval,
            ..Good::default()
        }))],
        Behaviour::RetryIn(minutes) => {
            let minutes = i64::from(*minutes);
            vec![Act::Write(failure("try later", |out| {
                out.integer_at("retry in", minutes)
            }))]
        }
        Behaviour::RetryNever => {
            let never = |out: &mut Writer<'_>| out.bytes_at("retry in", b"never");
            vec![Act::Write(failure("gone for good", never))]
        }
        Behaviour::FailureOnly(reason) => vec![Act::Write(failure(reason, |_| {}))],
        Behaviour::Redirect(to) => vec![Act::Write(redirect(to))],
        Behaviour::RedirectLoop => vec![Act::Write(redirect(&path(head)))],
    };
    Box::new(acts.into_iter())
}

pub(super) fn answer(code: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {code} Whatever\r\n{headers}Content-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

fn whole(good: &Good) -> Vec<u8> {
    let body = body(good);
    if good.gzip {
        answer(200, "Content-Encoding: gzip\r\n", &packed(&body[..]))
    } else {
        answer(200, "Content-Type: text/plain\r\n", &body)
    }
}

pub(super) fn status(code: u16, retry_after: &RetryAfter) -> Vec<u8> {
    let header = match retry_after {
        RetryAfter::None => String::new(),
        RetryAfter::Seconds(seconds) => format!("Retry-After: {seconds}\r\n"),
        RetryAfter::Text(text) => format!("Retry-After: {text}\r\n"),
    };
    answer(code, &header, format!("status {code}\n").as_bytes())
}

pub(super) fn redirect(to: &str) -> Vec<u8> {
    answer(302, &format!("Location: {to}\r\n"), b"")
}

pub(super) fn path(head: &[u8]) -> String {
    let line = String::from_utf8_lossy(head);
    line.split(' ').nth(1).unwrap_or("/").to_owned()
}

fn failure(reason: &str, more: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut body = Vec::new();
    let mut out = Writer::new(&mut body);
    out.begin_dict();
    out.bytes_at("failure reason", reason.as_bytes());
    more(&mut out);
    out.end();
    answer(200, "", &body)
}

/// Written here rather than by the tracker's own writer, so that tests have two opinions.
fn body(good: &Good) -> Vec<u8> {
    let mut body = Vec::new();
    let mut out = Writer::new(&mut body);
    out.begin_dict();
    out.integer_at("complete", 1);
    out.integer_at("incomplete", 0);
    out.integer_at("interval", good.interval);
    if let Some(seconds) = good.min_interval {
        out.integer_at("min interval", seconds);
    }
    if good.dictionaries {
        out.bytes(b"peers");
        dictionaries(&good.peers, &mut out);
    } else {
        let (v4, v6) = compacted(&good.peers);
        out.bytes_at("peers", &v4);
        if !v6.is_empty() {
            out.bytes_at("peers6", &v6);
        }
    }
    if let Some(id) = &good.tracker_id {
        out.bytes_at("tracker id", id.as_bytes());
    }
    if let Some(warning) = &good.warning {
        out.bytes_at("warning message", warning.as_bytes());
    }
    out.end();
    body
}

fn compacted(peers: &[SocketAddr]) -> (Vec<u8>, Vec<u8>) {
    let (mut v4, mut v6) = (Vec::new(), Vec::new());
    for peer in peers {
        match peer {
            SocketAddr::V4(peer) => v4.extend_from_slice(&compact::from_v4(*peer)),
            SocketAddr::V6(peer) => v6.extend_from_slice(&compact::from_v6(*peer)),
        }
    }
    (v4, v6)
}

fn dictionaries(peers: &[SocketAddr], out: &mut Writer<'_>) {
    out.begin_list();
    for peer in peers {
        out.begin_dict();
        out.bytes_at("ip", peer.ip().to_string().as_bytes());
        out.bytes_at("peer id", b"-ZO0001-abcdefghijkl");
        out.integer_at("port", i64::from(peer.port()));
        out.end();
    }
    out.end();
}

/// Whether it is asked for counts, of a torrent that it does not know.
fn is_scrape(head: &[u8]) -> bool {
    let path = head.split(|byte| *byte == b'?').next();
    path.is_some_and(|path| path.ends_with(b"/scrape"))
}

pub(super) fn drip(answer: Vec<u8>, pause: Duration) -> Acts {
    let bytes = answer.into_iter();
    Box::new(bytes.flat_map(move |byte| [Act::Write(vec![byte]), Act::Wait(pause)]))
}

/// A beginning, then `size` bytes, then the end of the connection.
pub(super) fn stream(beginning: &[u8], size: usize) -> Acts {
    let pieces = (0..size).step_by(PIECE);
    let pieces = pieces.map(move |at| Act::Write(vec![b'x'; PIECE.min(size - at)]));
    let beginning = std::iter::once(Act::Write(beginning.to_vec()));
    Box::new(beginning.chain(pieces).chain(std::iter::once(Act::Close)))
}

fn bomb(size: usize) -> Vec<u8> {
    packed(io::repeat(0).take(size as u64))
}

pub(super) fn packed(mut plain: impl Read) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let packed = io::copy(&mut plain, &mut encoder).and_then(|_| encoder.flush());
    packed.expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}
