//! Who is behind a proxy: one rule for every listener, whatever parses its headers.
//!
//! Proxies often set one of these headers and pass on the others as the client sent them. So if headers disagree or
//! cannot be read, the address is that of the proxy itself: otherwise a client could choose under which address its
//! wrong keys are counted, or which address a swarm is given.

use std::net::{IpAddr, SocketAddr};

/// The client that a trusted proxy speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behind {
    /// Its address; the proxy's if the headers do not make clear whose request it is.
    pub address: IpAddr,
    /// Whether the headers left no doubt.
    pub sure: bool,
}

/// The client behind the trusted proxy `peer`, by the headers it sent: the last address in `X-Forwarded-For`,
/// `Forwarded` (RFC 7239) and `X-Real-IP` that is not a proxy of ours. All that are present must name the same one.
///
/// `headers` returns all headers from the start each time it is called.
pub fn behind<'h, H>(
    peer: IpAddr,
    headers: impl Fn() -> H,
    is_proxy: impl Fn(IpAddr) -> bool,
) -> Behind
where
    H: Iterator<Item = (&'h str, &'h [u8])>,
{
    let peer = peer.to_canonical();
    let unclear = Behind {
        address: peer,
        sure: false,
    };
    let readers: [(&str, EntryReader); 3] = [
        ("x-forwarded-for", address),
        ("forwarded", |element| address(pair(element, "for")?)),
        ("x-real-ip", address),
    ];
    let (mut client, mut first_proxy) = (None, None);
    for (name, read) in readers {
        let entries = parts(headers(), name).map(|part| read(part?));
        match last_foreign(entries, &is_proxy) {
            Chain::Absent => {}
            Chain::Foreign(address) if client.is_none_or(|before| before == address) => {
                client = Some(address);
            }
            Chain::Foreign(_) | Chain::Unreadable => return unclear,
            Chain::Proxies(first) => first_proxy = first_proxy.or(Some(first)),
        }
    }
    // Only proxies: the first of them speaks for itself.
    match client.or(first_proxy) {
        Some(address) => Behind {
            address,
            sure: true,
        },
        None => Behind {
            sure: !headers().any(|(name, _)| forwards(name)),
            ..unclear
        },
    }
}

/// Reads the address in one entry of a header.
type EntryReader = fn(&str) -> Option<IpAddr>;

/// Whether proxies add a header of this name.
pub fn forwards(name: &str) -> bool {
    const NAMES: [&str; 5] = [
        "forwarded",
        "x-real-ip",
        "via",
        "cf-connecting-ip",
        "true-client-ip",
    ];
    const BEGINS: &[u8] = b"x-forwarded";
    let begin = name.as_bytes().get(..BEGINS.len());
    begin.is_some_and(|begin| begin.eq_ignore_ascii_case(BEGINS))
        || NAMES.iter().any(|other| name.eq_ignore_ascii_case(other))
}

/// Whether the proxy says that its client used https.
pub(crate) fn by_https<'h, H>(headers: impl Fn() -> H) -> bool
where
    H: Iterator<Item = (&'h str, &'h [u8])>,
{
    let last = |name| parts(headers(), name).last().flatten();
    let is_https = |scheme: &str| scheme.eq_ignore_ascii_case("https");
    last("x-forwarded-proto").is_some_and(is_https)
        || last("forwarded")
            .and_then(|element| pair(element, "proto"))
            .is_some_and(is_https)
}

/// An address with or without port and brackets.
pub(crate) fn address(text: &str) -> Option<IpAddr> {
    // Nothing but a port may follow: `[::1].evil.example` is a name.
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
        .filter(|(_, port)| port.is_empty() || port.starts_with(':'))
        .map(|(inside, _)| inside);
    let with_port = || text.parse::<SocketAddr>().ok().map(|socket| socket.ip());
    let address = bare.unwrap_or(text).parse().ok().or_else(with_port);
    address.map(|address: IpAddr| address.to_canonical())
}

enum Chain {
    /// There is no such header.
    Absent,
    /// The last address that is not one of our proxies: everything before it is the client's own claim.
    Foreign(IpAddr),
    /// Only proxies, the first of them.
    Proxies(IpAddr),
    /// The last entry that is not one of our proxies is not an address, so it hides who the client is.
    Unreadable,
}

fn last_foreign(
    entries: impl Iterator<Item = Option<IpAddr>>,
    is_proxy: impl Fn(IpAddr) -> bool,
) -> Chain {
    let mut chain = Chain::Absent;
    for entry in entries {
        chain = match (entry, chain) {
            (None, _) => Chain::Unreadable,
            (Some(address), Chain::Absent) if is_proxy(address) => Chain::Proxies(address),
            (Some(address), before) if is_proxy(address) => before,
            (Some(address), _) => Chain::Foreign(address),
        };
    }
    chain
}

/// The comma-separated parts of all headers of a name; `None` for parts that are not text.
fn parts<'h>(
    headers: impl Iterator<Item = (&'h str, &'h [u8])>,
    wanted: &str,
) -> impl Iterator<Item = Option<&'h str>> {
    headers
        .filter(move |(name, _)| name.eq_ignore_ascii_case(wanted))
        .flat_map(|(_, value)| value.split(|byte| *byte == b','))
        .map(|part| str::from_utf8(part.trim_ascii()).ok())
}

/// One value of an RFC 7239 element, whose pairs are separated by semicolons.
fn pair<'e>(element: &'e str, name: &str) -> Option<&'e str> {
    element.split(';').find_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        key.trim()
            .eq_ignore_ascii_case(name)
            .then(|| value.trim().trim_matches('"'))
    })
}
