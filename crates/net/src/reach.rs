//! Who may be called at a private address: nobody, everybody, or one upstream at the addresses it first had.
//!
//! What an indexer or a tracker sends (links, redirects, the addresses of its own name) must not lead into
//! the operator's network. An operator who configures an upstream in the local network means that machine, so its
//! addresses are remembered when its name is first looked up; whatever the name resolves to later is not what the
//! operator chose.

use std::net::IpAddr;

use parking_lot::Mutex;
use weir_config::{SecretUrl, is_local_name};

use crate::names::{Literal, literal};
use crate::{Error, is_private};

/// Which private addresses a request and its redirects may lead to.
#[derive(Clone, Copy, Debug, Default)]
pub enum Reach<'a> {
    /// None.
    #[default]
    Public,
    /// Those of a configured upstream, at its own origin.
    Home(&'a Home),
    /// All of them, because the operator allowed it or gave the address.
    Everywhere,
}

/// A configured upstream: its origin (scheme, host and port) and the private addresses that it may have.
#[derive(Debug)]
pub struct Home {
    scheme: String,
    host: String,
    port: Option<u16>,
    /// Whether the host is an address or a local name, such as routers and containers give out. No other
    /// network can answer for those, so they may have any private address and change it.
    settled: bool,
    /// Written by look-ups; for each family, only the first one that returned addresses counts.
    known: Mutex<Known>,
}

/// What the name first resolved to, separately for each family: a slow name server may answer for one family before the
/// other, and the late answer still counts as the first of its family.
#[derive(Debug, Default)]
struct Known {
    /// The private addresses, IPv4 then IPv6; empty if the name had a public address by then.
    private: [Option<Vec<IpAddr>>; 2],
    /// The name has had a public address, so no private ones are added any more.
    public: bool,
}

impl Home {
    /// The upstream with this URL, which has not been looked up yet.
    pub fn new(url: &SecretUrl) -> Self {
        let (scheme, host, port) = origin(url);
        Self {
            settled: match literal(host) {
                Ok(Literal::Address(_)) => true,
                Ok(Literal::Name(name)) => is_local_name(&name),
                Err(_) => false,
            },
            scheme: scheme.to_owned(),
            host: host.to_owned(),
            port,
            known: Mutex::default(),
        }
    }

    /// Whether a URL has the same scheme, host and port.
    pub fn is_at(&self, url: &SecretUrl) -> bool {
        (self.scheme.as_str(), self.host.as_str(), self.port) == origin(url)
    }

    /// Trusts what the name resolves to next; called on a reload, because the operator has looked at the configuration.
    pub fn forget(&self) {
        *self.known.lock() = Known::default();
    }

    fn allows(&self, address: IpAddr) -> bool {
        let known = || {
            let known = self.known.lock();
            known
                .private
                .iter()
                .flatten()
                .any(|of| of.contains(&address))
        };
        !is_private(address) || self.settled || known()
    }

    /// Remembers what the name resolved to, for families that have no addresses yet.
    fn note(&self, found: &[IpAddr]) {
        let mut known = self.known.lock();
        known.public |= found.iter().any(|address| !is_private(*address));
        let public = known.public;
        for (family, of_v4) in known.private.iter_mut().zip([true, false]) {
            let of_family = |address: &&IpAddr| address.to_canonical().is_ipv4() == of_v4;
            if family.is_some() || !found.iter().any(|address| of_family(&address)) {
                continue;
            }
            *family = Some(match public {
                true => Vec::new(),
                false => found.iter().filter(of_family).copied().collect(),
            });
        }
    }
}

impl Reach<'_> {
    /// The same for one URL: an upstream's private addresses are allowed at its own origin only.
    pub(crate) fn at(self, url: &SecretUrl) -> Self {
        match self {
            Self::Home(home) if !home.is_at(url) => Self::Public,
            reach => reach,
        }
    }

    /// Whether a connection to this address may be used.
    pub(crate) fn allows(self, address: IpAddr) -> bool {
        match self {
            Self::Public => !is_private(address),
            Self::Home(home) => home.allows(address),
            Self::Everywhere => true,
        }
    }

    /// The addresses that may be called, never an empty list.
    pub(crate) fn admit(self, mut found: Vec<IpAddr>) -> Result<Vec<IpAddr>, Error> {
        let first = found.first().copied().ok_or(Error::NoSuchHost)?;
        if let Self::Home(home) = self {
            home.note(&found);
        }
        found.retain(|address| self.allows(*address));
        match (found.is_empty(), self) {
            (false, _) => Ok(found),
            (true, Self::Home(_)) => Err(Error::Moved(first)),
            (true, _) => Err(Error::Forbidden(first)),
        }
    }
}

/// Scheme, host and port: two URLs that differ in one of them are not the same upstream.
pub(crate) fn origin(url: &SecretUrl) -> (&str, &str, Option<u16>) {
    let host = url.expose_url().host_str().unwrap_or_default();
    (url.scheme(), host, url.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> SecretUrl {
        SecretUrl::parse(text).expect("a URL")
    }

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        let texts = texts.iter();
        texts
            .map(|text| text.parse().expect("an address"))
            .collect()
    }

    /// What a home admits of one answer after the other.
    fn admitted(home: &Home, answers: &[&[&str]]) -> Vec<Result<Vec<IpAddr>, Error>> {
        let answers = answers.iter().map(|answer| addresses(answer));
        answers
            .map(|answer| Reach::Home(home).admit(answer))
            .collect()
    }

    fn moved(text: &str) -> Result<Vec<IpAddr>, Error> {
        Err(Error::Moved(text.parse().expect("an address")))
    }

    #[test]
    fn a_public_name_that_becomes_private_is_refused() {
        let home = Home::new(&url("https://indexer.example/api"));
        let answers: &[&[&str]] = &[
            &["192.0.2.1"],
            &["192.0.2.2", "10.0.0.5"],
            &["10.0.0.5"],
            &["::ffff:10.0.0.5"],
        ];
        assert_eq!(
            admitted(&home, answers),
            [
                Ok(addresses(&["192.0.2.1"])),
                Ok(addresses(&["192.0.2.2"])),
                moved("10.0.0.5"),
                moved("::ffff:10.0.0.5"),
            ]
        );
        home.forget();
        assert_eq!(
            admitted(&home, &[&["10.0.0.5"]]),
            [Ok(addresses(&["10.0.0.5"]))]
        );
    }

    #[test]
    fn a_name_that_is_both_from_the_start_is_reached_in_public_alone() {
        let home = Home::new(&url("https://indexer.example/api"));
        assert_eq!(
            admitted(&home, &[&["10.0.0.5", "192.0.2.1"], &["10.0.0.5"]]),
            [Ok(addresses(&["192.0.2.1"])), moved("10.0.0.5")]
        );
    }

    #[test]
    fn a_private_name_keeps_its_addresses() {
        let home = Home::new(&url("http://nas.example/api"));
        let answers: &[&[&str]] = &[
            &["10.0.0.5", "fd00::5"],
            &["fd00::5"],
            &["10.0.0.6"],
            &["192.0.2.1", "10.0.0.5", "127.0.0.1"],
        ];
        assert_eq!(
            admitted(&home, answers),
            [
                Ok(addresses(&["10.0.0.5", "fd00::5"])),
                Ok(addresses(&["fd00::5"])),
                moved("10.0.0.6"),
                Ok(addresses(&["192.0.2.1", "10.0.0.5"])),
            ]
        );
    }

    #[test]
    fn a_family_that_is_heard_of_late_has_its_first_word_too() {
        let home = Home::new(&url("http://nas.example/api"));
        let answers: &[&[&str]] = &[
            &["fd00::5"],
            &["10.0.0.5", "fd00::5"],
            &["10.0.0.6", "fd00::6"],
        ];
        assert_eq!(
            admitted(&home, answers),
            [
                Ok(addresses(&["fd00::5"])),
                Ok(addresses(&["10.0.0.5", "fd00::5"])),
                moved("10.0.0.6"),
            ]
        );
        let public = Home::new(&url("http://indexer.example/api"));
        assert_eq!(
            admitted(&public, &[&["2001:db8::1"], &["10.0.0.5"]]),
            [Ok(addresses(&["2001:db8::1"])), moved("10.0.0.5")],
            "it is a public one"
        );
    }

    #[test]
    fn names_of_this_network_and_addresses_may_be_anywhere_in_it() {
        for text in [
            "http://jackett:9117/",
            "http://nas.local/",
            "http://nas.lan./",
            "http://a.b.internal/",
            "http://nas.home.arpa/",
            "http://localhost/",
            "http://10.0.0.5/",
            "http://[fd00::5]/",
        ] {
            let home = Home::new(&url(text));
            let admitted = admitted(&home, &[&["192.0.2.1"], &["10.0.0.5"], &["10.0.0.6"]]);
            assert!(admitted.iter().all(Result::is_ok), "{text}: {admitted:?}");
        }
    }

    #[test]
    fn the_same_upstream_is_the_same_scheme_host_and_port() {
        let home = Home::new(&url("https://nas.example/api?apikey=1"));
        for (text, same) in [
            ("https://nas.example/file/1", true),
            ("https://NAS.example:443/", true),
            ("https://me:word@nas.example/", true),
            ("http://nas.example/", false),
            ("http://nas.example:443/", false),
            ("https://nas.example:8443/", false),
            ("https://nas.example./", false),
            ("https://www.nas.example/", false),
        ] {
            assert_eq!(home.is_at(&url(text)), same, "{text}");
            let reach = Reach::Home(&home).at(&url(text));
            assert_eq!(matches!(reach, Reach::Home(_)), same, "{text}");
        }
    }
}
