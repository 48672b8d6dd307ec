//! Addresses that are pasted into other programs.

use std::net::IpAddr;

use askama::Template;

/// An address to paste into another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasteAddress {
    /// What it is called there.
    pub label: &'static str,
    /// The address.
    pub url: String,
    /// The key that says where we listen there.
    pub key: &'static str,
    /// We listen there for this machine alone.
    pub is_bound_here: bool,
}

/// Addresses, each with a button that copies it; `{{ paste|safe }}` in a template writes them.
#[derive(Clone, Debug, Template)]
#[template(path = "kit/paste.html")]
pub struct Paste {
    prefix: &'static str,
    addresses: Vec<PasteAddress>,
    reach: Reach,
}

impl Paste {
    /// These addresses, for somebody who reaches us at `origin`; `prefix` tells their fields from others on the page, and
    /// `file` is the full path of the file to edit.
    pub fn new(
        prefix: &'static str,
        addresses: Vec<PasteAddress>,
        origin: &str,
        file: &str,
    ) -> Self {
        Self {
            prefix,
            reach: Reach::of(&addresses, origin, file),
            addresses,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.addresses.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    fn all_are_local(&self) -> bool {
        !self.is_empty() && self.addresses.iter().all(|address| is_local(&address.url))
    }
}

/// Says which addresses work on this machine alone, and what to set for others; `{{ reach|safe }}` in a template writes it.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "kit/reach.html")]
pub struct Reach {
    bound_here: Vec<BoundHere>,
    /// Whoever reads this came from another machine, so these addresses are of no use there.
    is_elsewhere: bool,
    /// The full path of the file to edit; empty if there is none, as in a demo.
    file: String,
}

/// An address at which we listen for this machine alone.
#[derive(Clone, Debug)]
struct BoundHere {
    address: String,
    key: &'static str,
    /// What to set for all machines.
    instead: String,
}

impl Reach {
    /// What there is to say about these addresses to somebody who reaches us at `origin`.
    pub fn of(addresses: &[PasteAddress], origin: &str, file: &str) -> Self {
        let bound = addresses.iter().filter(|one| one.is_bound_here);
        let bound_here = bound.map(|one| {
            let address = authority_of(&one.url);
            let (every, port) = match address.rsplit_once(':') {
                Some((host, port)) if host.starts_with('[') => ("[::]", port),
                Some((_, port)) => ("0.0.0.0", port),
                None => ("0.0.0.0", ""),
            };
            BoundHere {
                address: address.to_owned(),
                key: one.key,
                instead: format!("{every}:{port}"),
            }
        });
        Self {
            bound_here: bound_here.collect(),
            is_elsewhere: !is_local(origin),
            file: file.to_owned(),
        }
    }

    /// Whether an address is of no use to whoever reads this.
    pub fn is_short(&self) -> bool {
        self.is_elsewhere && !self.bound_here.is_empty()
    }
}

/// The host in `host:port`, without the port.
fn host(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// Host and port of a URL.
pub fn authority_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or_default()
}

/// The host of a URL, without a port.
pub fn host_of(url: &str) -> &str {
    host(authority_of(url))
}

/// Whether a URL is reached from this machine alone.
pub fn is_local(url: &str) -> bool {
    let name = host_of(url).trim_matches(['[', ']']);
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_lose_their_port() {
        assert_eq!(host_of("http://weir.example:7070"), "weir.example");
        assert_eq!(host_of("udp://weir.example/announce"), "weir.example");
        assert_eq!(host_of("http://[::1]:7070/x"), "[::1]");
        assert_eq!(host_of("http://[::1]"), "[::1]");
    }

    #[test]
    fn loopback_is_told_apart() {
        for url in [
            "http://127.0.0.1:7070",
            "http://[::1]:7070/announce",
            "udp://127.0.0.1:1/announce",
            "http://LocalHost",
        ] {
            assert!(is_local(url), "{url}");
        }
        for url in ["http://weir.example:7070", "https://192.0.2.7"] {
            assert!(!is_local(url), "{url}");
        }
    }

    #[test]
    fn addresses_are_there_to_copy() {
        let url = |host: &str| PasteAddress {
            label: "HTTP",
            url: format!("http://{host}:1/a?b&c"),
            key: "some.listen",
            is_bound_here: false,
        };
        let paste = |addresses| Paste::new("x", addresses, "http://127.0.0.1", "weir.yaml");
        let written = paste(vec![url("weir.example")]).to_string();
        assert!(
            written.contains(r#"value="http://weir.example:1/a?b&#38;c""#),
            "{written}"
        );
        assert!(written.contains(r#"data-copy="x-1""#), "{written}");
        assert!(!written.contains("this machine only"), "{written}");
        let written = paste(vec![url("127.0.0.1")]).to_string();
        assert!(written.contains("this machine only"), "{written}");
        assert_eq!(paste(Vec::new()).to_string(), "");
    }

    #[test]
    fn an_address_for_this_machine_alone_names_what_to_set() {
        let bound = |url: &str| PasteAddress {
            label: "HTTP",
            url: url.to_owned(),
            key: "some.listen",
            is_bound_here: true,
        };
        let addresses = [bound("nntp://127.0.0.1:1119"), bound("nntps://[::1]:563/x")];
        let said = |origin| Reach::of(&addresses, origin, "/etc/weir.yaml");
        let elsewhere = said("http://weir.example:7070");
        assert!(elsewhere.is_short());
        assert!(!said("http://localhost:7070").is_short());
        assert!(!Reach::of(&[], "http://weir.example", "weir.yaml").is_short());
        let written = elsewhere.to_string();
        for words in [
            r#"<p class="notice warn"><code>127.0.0.1:1119</code>"#,
            "<code>some.listen</code> in <code>/etc/weir.yaml</code>",
            "<code>0.0.0.0:1119</code>",
            "<code>[::]:563</code>",
        ] {
            assert!(written.contains(words), "{words}: {written}");
        }
        // Its own name instead would not help either.
        let here = Paste::new("x", addresses.to_vec(), "http://[::1]:1", "weir.yaml").to_string();
        assert!(here.contains("some.listen"), "{here}");
        assert!(!here.contains("name or address instead"), "{here}");
    }
}
