//! The head of an HTTP request, as far as an announce needs it.

use std::net::IpAddr;
use std::ops::Range;

use super::plain;
use crate::trust::Trust;

/// Headers in one request at most.
const HEADERS: usize = 64;

/// A whole head at the beginning of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RequestHead {
    pub(super) kind: Asks,
    /// Where in the bytes the query stands.
    pub(super) query: Range<usize>,
    /// Bytes of the head.
    pub(super) length: usize,
    /// Whether the client wants the connection for further requests.
    pub(super) keep: bool,
    /// It speaks HTTP/1.0, which closes unless both say otherwise.
    pub(super) old: bool,
    /// Who asks, judged after the proxies we trust.
    pub(super) client: IpAddr,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    Announce,
    Scrape,
    /// Something for the ordinary router.
    Other,
}

/// Why there is no head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoHead {
    /// More is to come.
    Partial,
    /// This is no HTTP, or not the kind that asks.
    Malformed,
    /// More headers than anyone needs.
    TooMany,
}

/// Reads the head of a request that came from `peer`.
#[inline]
pub(super) fn read(bytes: &[u8], peer: IpAddr, trust: &Trust) -> Result<RequestHead, NoHead> {
    // What a proxy says of its client stands in further headers.
    if !trust.is_proxy(peer)
        && let Some(plain) = plain::read(bytes, HEADERS)
    {
        return Ok(RequestHead {
            kind: Asks::Announce,
            query: plain.query,
            length: plain.length,
            keep: plain.keep,
            old: false,
            client: peer,
        });
    }
    read_any(bytes, peer, trust)
}

/// Reads a head of any shape.
#[inline(never)]
fn read_any(bytes: &[u8], peer: IpAddr, trust: &Trust) -> Result<RequestHead, NoHead> {
    match read_text(bytes, peer, trust) {
        Err(NoHead::Malformed) => read_raw(bytes, peer, trust),
        head => head,
    }
}

/// Some clients send info hashes as they are, which is no text. What stands in their place does not matter here: places
/// in the bytes are all that a head says of the query.
#[cold]
fn read_raw(bytes: &[u8], peer: IpAddr, trust: &Trust) -> Result<RequestHead, NoHead> {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or(bytes);
    if line.is_ascii() {
        return Err(NoHead::Malformed);
    }
    let (mut text, length) = (bytes.to_vec(), line.len());
    for byte in &mut text[..length] {
        if !byte.is_ascii() {
            *byte = b'x';
        }
    }
    read_text(&text, peer, trust)
}

#[inline]
fn read_text(bytes: &[u8], peer: IpAddr, trust: &Trust) -> Result<RequestHead, NoHead> {
    let mut headers = [const { std::mem::MaybeUninit::uninit() }; HEADERS];
    let mut request = httparse::Request::new(&mut []);
    let length = match request.parse_with_uninit_headers(bytes, &mut headers) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Err(NoHead::Partial),
        Err(httparse::Error::TooManyHeaders) => return Err(NoHead::TooMany),
        Err(_) => return Err(NoHead::Malformed),
    };
    let target = resource(request.path.unwrap_or_default()).ok_or(NoHead::Malformed)?;
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, query),
        None => (target, &target[target.len()..]),
    };
    let kind = match path {
        _ if request.method != Some("GET") => Asks::Other,
        "/announce" => Asks::Announce,
        "/scrape" => Asks::Scrape,
        _ => Asks::Other,
    };
    let old = request.version == Some(0);
    let mut keep = !old;
    for header in request.headers.iter() {
        let name = header.name;
        if name.eq_ignore_ascii_case("connection") {
            keep = match keep {
                true => !has_word(header.value, b"close"),
                false => has_word(header.value, b"keep-alive"),
            };
        } else if name.eq_ignore_ascii_case("transfer-encoding")
            || name.eq_ignore_ascii_case("content-length") && header.value != b"0"
        {
            // Nobody announces with a body; where the next request begins is the router's to find out.
            return Ok(RequestHead {
                kind: Asks::Other,
                query: 0..0,
                length,
                keep: false,
                old,
                client: peer,
            });
        }
    }
    let start = query.as_ptr() as usize - bytes.as_ptr() as usize;
    let client = if trust.is_proxy(peer) {
        let headers = &*request.headers;
        trust.behind(peer, || {
            let headers = headers.iter();
            headers.map(|header| (header.name, header.value))
        })
    } else {
        peer
    };
    Ok(RequestHead {
        kind,
        query: start..start + query.len(),
        length,
        keep,
        old,
        client,
    })
}

/// Path and query of a target, in origin form or in absolute form (RFC 9112, section 3.2.2), which proxies are sent and
/// some clients send to everybody. What else a target may be is left to the router.
fn resource(target: &str) -> Option<&str> {
    let Some((scheme, rest)) = target.split_once("://") else {
        return Some(target);
    };
    if target.starts_with('/') || scheme.contains('?') {
        return Some(target);
    }
    let http = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, resource) = rest.split_at(end);
    // A user before the host is an error, says RFC 9110, section 4.2.4.
    (http && !host.is_empty() && !host.contains('@')).then_some(resource)
}

fn has_word(value: &[u8], word: &[u8]) -> bool {
    value
        .split(|byte| *byte == b',')
        .any(|part| part.trim_ascii().eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::{Index, select};

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 1));

    fn head(text: &str) -> Result<RequestHead, NoHead> {
        read(text.as_bytes(), PEER, &Trust::default())
    }

    /// Lines of which heads are made, most of them such that a plain head has them.
    const LINES: [&str; 16] = [
        "Host: tracker.example:6969",
        "Host:x",
        "User-Agent: qBittorrent/4.6.5",
        "User-Agent:",
        "User-Agent:\t  x \t",
        "Accept: */*",
        "Accept-Encoding: gzip",
        "Connection: keep-alive",
        "Connection: close",
        "Connection:close",
        "Connection: Keep-Alive",
        "Connection: x, close",
        "connection: close",
        "Content-Length: 0",
        "Content-Length: 3",
        "X: y",
    ];

    proptest! {
        #[test]
        fn a_plain_head_is_read_like_any_other(
            target in "/announce[?][!-~]{0,40}|/announce[?][ -\u{ff}]{0,9}|/[a-z?]{0,12}",
            version in select(vec!["1.1", "1.1", "1.1", "1.0"]),
            lines in vec(select(LINES.to_vec()), 0..8),
            change in proptest::option::of((any::<Index>(), any::<u8>())),
            cut in proptest::option::of(any::<Index>()),
        ) {
            let mut text = format!("GET {target} HTTP/{version}\r\n");
            for line in lines {
                text.extend([line, "\r\n"]);
            }
            let mut bytes = (text + "\r\nGET /").into_bytes();
            if let Some((place, byte)) = change {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            bytes.truncate(cut.map_or(bytes.len(), |cut| cut.index(bytes.len())));
            let trust = Trust::default();
            prop_assert_eq!(read(&bytes, PEER, &trust), read_any(&bytes, PEER, &trust));
        }
    }

    #[test]
    fn announces_and_scrapes_are_told_from_the_rest() {
        let kind = |line: &str| head(&format!("{line} HTTP/1.1\r\n\r\n")).unwrap().kind;
        assert_eq!(kind("GET /announce?info_hash=x"), Asks::Announce);
        assert_eq!(kind("GET /announce"), Asks::Announce);
        assert_eq!(kind("GET /scrape?info_hash=x"), Asks::Scrape);
        for other in [
            "GET /",
            "GET /stats",
            "POST /announce?x",
            "HEAD /announce",
            "GET /announced",
            "GET /x/announce",
        ] {
            assert_eq!(kind(other), Asks::Other, "{other}");
        }
    }

    #[test]
    fn a_target_in_absolute_form_is_read_like_its_path() {
        for (target, kind, query) in [
            (
                "http://tracker.example:6969/announce?a=b",
                Asks::Announce,
                "a=b",
            ),
            (
                "HTTPS://[::1]/announce?a=http://x/y",
                Asks::Announce,
                "a=http://x/y",
            ),
            ("http://t/scrape?a", Asks::Scrape, "a"),
            ("http://t/announce", Asks::Announce, ""),
            ("http://t", Asks::Other, ""),
            ("http://t/stats", Asks::Other, ""),
            ("http://t?announce", Asks::Other, "announce"),
            ("/announce?u=http://x/y", Asks::Announce, "u=http://x/y"),
        ] {
            let text = format!("GET {target} HTTP/1.1\r\nHost: other\r\n\r\n");
            let head = head(&text).unwrap();
            assert_eq!((head.kind, &text[head.query]), (kind, query), "{target}");
        }
        for target in [
            "ftp://t/announce",
            "http:///announce",
            "http://me@t/announce",
        ] {
            let text = format!("GET {target} HTTP/1.1\r\n\r\n");
            assert_eq!(head(&text), Err(NoHead::Malformed), "{target}");
        }
        let raw = b"GET http://t/announce?info_hash=\xff\x80 HTTP/1.1\r\n\r\n";
        let head = read(raw, PEER, &Trust::default()).unwrap();
        assert_eq!(raw[head.query], *b"info_hash=\xff\x80");
    }

    #[test]
    fn the_query_is_found_in_the_bytes() {
        let text = "GET /announce?a=%00&b HTTP/1.1\r\nHost: x\r\n\r\nGET";
        let head = head(text).unwrap();
        assert_eq!(&text[head.query], "a=%00&b");
        assert_eq!(&text[head.length..], "GET");
    }

    #[test]
    fn a_hash_may_stand_there_as_it_is() {
        let bytes = b"GET /announce?info_hash=\xff\x80\xc3(&port=1 HTTP/1.1\r\n\r\nGET";
        let head = read(bytes, PEER, &Trust::default()).unwrap();
        assert_eq!(head.kind, Asks::Announce);
        assert_eq!(bytes[head.query], *b"info_hash=\xff\x80\xc3(&port=1");
        assert_eq!(bytes[head.length..], *b"GET");
        let partial = read(&bytes[..30], PEER, &Trust::default());
        assert_eq!(partial, Err(NoHead::Partial));
        let noise = read(b"\xff\x80 \x00\r\n\r\n", PEER, &Trust::default());
        assert_eq!(noise, Err(NoHead::Malformed));
    }

    #[test]
    fn version_and_header_decide_whether_the_connection_stays() {
        let keep = |version: &str, header: &str| {
            let head = head(&format!("GET /announce HTTP/{version}\r\n{header}\r\n\r\n"));
            head.unwrap().keep
        };
        assert!(keep("1.1", "A: b"));
        assert!(!keep("1.1", "Connection: close"));
        assert!(!keep("1.1", "connection: x, Close"));
        assert!(!keep("1.0", "A: b"));
        assert!(keep("1.0", "Connection: Keep-Alive"));
    }

    #[test]
    fn what_is_not_http_is_refused_and_what_is_not_whole_is_awaited() {
        assert_eq!(head("GET /announce HTTP/1.1\r\nA"), Err(NoHead::Partial));
        assert_eq!(head(""), Err(NoHead::Partial));
        assert_eq!(head("\0\0\0\x01"), Err(NoHead::Malformed));
        assert_eq!(
            head("GET /announce HTTP/9.9\r\n\r\n"),
            Err(NoHead::Malformed)
        );
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS + 1));
        assert_eq!(head(&many), Err(NoHead::TooMany));
    }

    #[test]
    fn a_body_is_left_to_the_router() {
        let with = |header: &str| {
            head(&format!("GET /announce HTTP/1.1\r\n{header}\r\n\r\n"))
                .unwrap()
                .kind
        };
        assert_eq!(with("Content-Length: 5"), Asks::Other);
        assert_eq!(with("Transfer-Encoding: chunked"), Asks::Other);
        assert_eq!(with("Content-Length: 0"), Asks::Announce);
    }

    #[test]
    fn a_proxy_we_trust_says_who_asks_and_nobody_else_does() {
        let text =
            "GET /announce HTTP/1.1\r\nX-Forwarded-For: 1.1.1.1, 198.51.100.7, 203.0.113.1\r\n\r\n";
        assert_eq!(head(text).unwrap().client, PEER);
        let trust = Trust {
            clients: Vec::new(),
            proxies: vec!["203.0.113.0/24".parse().unwrap()],
        };
        let client = |text: &str| {
            read(text.as_bytes(), PEER, &trust)
                .unwrap()
                .client
                .to_string()
        };
        assert_eq!(
            client(text),
            "198.51.100.7",
            "what stands before was written by the client"
        );
        let real = "GET /announce HTTP/1.1\r\nX-Real-IP: 2001:db8::7\r\n\r\n";
        assert_eq!(client(real), "2001:db8::7");
        let broken = "GET /announce HTTP/1.1\r\nX-Forwarded-For: me\r\n\r\n";
        assert_eq!(client(broken), "203.0.113.1");
    }
}
