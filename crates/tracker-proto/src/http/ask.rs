//! What a forwarder asks: the query of an announce or scrape, appended to an upstream's URL.

use std::fmt::{Display, Write};

use crate::announce::{Announce, Endpoint, Event};
use crate::hash::InfoHash;

/// Appends an announce to a URL or request target, whose own query (a passkey) stays as it is.
///
/// Always asks for compact peers unless the announce says otherwise. `tracker_id` is what the
/// upstream gave with its last reply.
pub fn write_announce_query(announce: &Announce, tracker_id: Option<&[u8]>, url: &mut String) {
    begin_pair(url, "info_hash");
    escape(&announce.info_hash.0, url);
    begin_pair(url, "peer_id");
    escape(&announce.peer_id.0, url);
    pair(url, "port", announce.port);
    pair(url, "uploaded", announce.uploaded);
    pair(url, "downloaded", announce.downloaded);
    // Many upstreams read a signed number; one they cannot read may be 0 to them, a seeder.
    pair(url, "left", announce.left.min(i64::MAX as u64));
    if let Some(event) = event_name(announce.event) {
        pair(url, "event", event);
    }
    if let Some(numwant) = announce.numwant {
        pair(url, "numwant", numwant);
    }
    if let Some(key) = announce.key {
        pair(url, "key", format_args!("{key:08X}"));
    }
    pair(url, "compact", u8::from(announce.compact.unwrap_or(true)));
    if announce.no_peer_id {
        pair(url, "no_peer_id", 1);
    }
    if let Some(ip) = announce.ip {
        text_pair(url, "ip", &ip.to_string());
    }
    if let Some(ipv4) = announce.ipv4 {
        text_pair(url, "ipv4", &endpoint(ipv4, ("", "")));
    }
    if let Some(ipv6) = announce.ipv6 {
        text_pair(url, "ipv6", &endpoint(ipv6, ("[", "]")));
    }
    if let Some(id) = tracker_id {
        begin_pair(url, "trackerid");
        escape(id, url);
    }
}

/// Appends a scrape to a URL or request target, whose own query stays as it is.
pub fn write_scrape_query(hashes: impl IntoIterator<Item = InfoHash>, url: &mut String) {
    for hash in hashes {
        begin_pair(url, "info_hash");
        escape(&hash.0, url);
    }
}

/// Where a tracker is scraped, if it is: `scrape` in place of `announce` at the start of the last
/// part of its announce URL's path (BEP 48).
pub fn scrape_url(announce_url: &str) -> Option<String> {
    let end = announce_url.find(['?', '#']);
    let (path, query) = announce_url.split_at(end.unwrap_or(announce_url.len()));
    let (before, last) = path.rsplit_once('/')?;
    let rest = last.strip_prefix("announce")?;
    Some(format!("{before}/scrape{rest}{query}"))
}

fn event_name(event: Event) -> Option<&'static str> {
    match event {
        Event::None => None,
        Event::Started => Some("started"),
        Event::Stopped => Some("stopped"),
        Event::Completed => Some("completed"),
        Event::Paused => Some("paused"),
    }
}

fn endpoint<A: Display>(endpoint: Endpoint<A>, (open, close): (&str, &str)) -> String {
    let address = endpoint.address;
    match endpoint.port {
        Some(port) => format!("{open}{address}{close}:{port}"),
        None => address.to_string(),
    }
}

fn begin_pair(url: &mut String, key: &str) {
    if !url.contains('?') {
        url.push('?');
    } else if !url.ends_with(['?', '&']) {
        url.push('&');
    }
    url.push_str(key);
    url.push('=');
}

fn pair(url: &mut String, key: &str, value: impl Display) {
    begin_pair(url, key);
    write!(url, "{value}").expect("a string takes all that is written");
}

fn text_pair(url: &mut String, key: &str, value: &str) {
    begin_pair(url, key);
    escape(value.as_bytes(), url);
}

/// Escapes every byte: upstreams differ in which bytes they take raw.
fn escape(bytes: &[u8], url: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in bytes {
        url.push('%');
        url.push(char::from(DIGITS[usize::from(byte >> 4)]));
        url.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}
