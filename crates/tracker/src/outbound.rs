//! Calls to other trackers: one announce or one scrape, over HTTP or UDP, and what came back as a plain value.
//!
//! The time of an attempt is bounded by the engine, which drops the call; when there is another is not decided here.

mod http;
mod udp;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use weir_config::{SecretUrl, Secrets};
use weir_engine::Fault;
use weir_net::{Error, Family, Ground, Home, Names, Reach};
use weir_tracker_proto::http::{Failure, RetryIn};
use weir_tracker_proto::{Announce, InfoHash, ReplyError};

use crate::config::forwarder::{ForwarderEntry, ForwarderFamily};
use crate::swarm::PeerEndpoint;

/// The way out for all forwarders.
pub(crate) struct Outbound {
    ground: Arc<dyn Ground>,
    http: weir_net::http::Client,
    udp: udp::UdpCaller,
    /// Whether forwarders may have private addresses.
    private: bool,
}

/// A tracker to call, with what is known of the way to it from one call to the next.
#[derive(Debug)]
pub(crate) struct TrackerTarget {
    url: SecretUrl,
    home: Home,
    host: Option<String>,
    proxy: Option<SecretUrl>,
    family: Family,
    connection: udp::LastConnectionId,
    /// Which of its addresses is tried next over UDP.
    turn: AtomicUsize,
    secrets: Secrets,
}

/// What a tracker said to an announce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Given(GivenAnswer),
    /// A *no*, and when it wants to be asked again.
    Refused {
        reason: String,
        retry_in: Option<RetryIn>,
    },
}

/// A good answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GivenAnswer {
    /// Seconds.
    pub(crate) interval: Option<u32>,
    pub(crate) min_interval: Option<u32>,
    /// Seeders it counts.
    pub(crate) seeders: Option<u32>,
    /// Leechers it counts.
    pub(crate) leechers: Option<u32>,
    pub(crate) peers: Vec<PeerEndpoint>,
    pub(crate) tracker_id: Option<Box<[u8]>>,
    /// Where it sees us.
    pub(crate) external: Option<IpAddr>,
    /// The address that answered; through a proxy the one in its URL, if there is one.
    pub(crate) from: Option<IpAddr>,
}

/// Why a tracker said nothing that can be used. Displays without secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoUsableAnswer {
    #[error(transparent)]
    Fault(#[from] Fault),
    #[error("its answer cannot be read: {0}")]
    Unreadable(ReplyError),
    #[error("it said: {0}")]
    No(String),
}

impl From<Error> for NoUsableAnswer {
    fn from(error: Error) -> Self {
        Self::Fault(error.into())
    }
}

/// Peers that are taken from one answer; more are of no use to anybody.
const PEERS: usize = 1000;

impl TrackerTarget {
    pub(crate) fn new(entry: &ForwarderEntry) -> Self {
        // Without `..`, so that a new key does not compile before somebody has said whose it is.
        let ForwarderEntry {
            uri,
            name: _,    // the roster's
            ip: _,      // told to it, by `Forwarder`
            timeout: _, // the engine's
            host,
            proxy,
            family,
        } = entry;
        Self {
            home: Home::new(uri),
            secrets: Secrets::of(uri, None, |part| part != "announce"),
            url: uri.clone(),
            host: host.clone(),
            proxy: proxy.clone(),
            family: match family {
                ForwarderFamily::Any => Family::Any,
                ForwarderFamily::Ipv4 => Family::V4,
                ForwarderFamily::Ipv6 => Family::V6,
            },
            connection: udp::LastConnectionId::default(),
            turn: AtomicUsize::new(0),
        }
    }

    /// The address in its URL, if it has no name.
    fn literal(&self) -> Option<IpAddr> {
        let host = self.url.host()?.to_string();
        host.trim_matches(['[', ']']).parse().ok()
    }

    /// The configuration was read again: its name may lead elsewhere now.
    pub(crate) fn look_up_anew(&self) {
        self.home.forget();
    }

    fn is_udp(&self) -> bool {
        self.url.scheme() == "udp"
    }
}

impl Outbound {
    /// A UDP connection id is reused for `connection_life`; `private` addresses are called or not.
    pub(crate) fn new(
        ground: Arc<dyn Ground>,
        connection_life: Duration,
        private: bool,
    ) -> Result<Self, Error> {
        let limits = weir_net::http::Limits::default();
        let roots = weir_net::Roots::System;
        let http = weir_net::http::Client::new(Arc::clone(&ground), roots, limits)?;
        Ok(Self {
            udp: udp::UdpCaller::new(Arc::clone(&ground), connection_life),
            ground,
            http,
            private,
        })
    }

    /// Announces to a tracker; `within` is the time of the whole attempt.
    pub(crate) async fn announce(
        &self,
        target: &TrackerTarget,
        announce: &Announce,
        tracker_id: Option<&[u8]>,
        within: Duration,
    ) -> Result<Said, NoUsableAnswer> {
        if target.is_udp() {
            let addresses = self.reachable(target).await?;
            return self
                .udp
                .announce(target, &addresses, announce, within)
                .await;
        }
        self.announce_http(target, announce, tracker_id).await
    }

    /// Asks a tracker for something that changes nothing there, to see whether it answers.
    pub(crate) async fn probe(
        &self,
        target: &TrackerTarget,
        within: Duration,
    ) -> Result<(), NoUsableAnswer> {
        let nobody = InfoHash([0; 20]);
        if target.is_udp() {
            let addresses = self.reachable(target).await?;
            return self.udp.scrape(target, &addresses, nobody, within).await;
        }
        self.scrape_http(target, nobody).await
    }

    /// Where packets to a tracker come from, as far as this machine knows.
    pub(crate) async fn own_addresses(&self, target: &TrackerTarget) -> Vec<IpAddr> {
        if target.proxy.is_some() {
            return Vec::new(); // it sees the proxy's, and our name servers need not know of it
        }
        match self.addresses(target).await {
            Ok(addresses) => addresses
                .into_iter()
                .filter_map(|to| self.ground.own(to))
                .collect(),
            Err(_) => Vec::new(),
        }
    }

    /// Ends what runs by itself.
    pub(crate) fn stop(&self) {
        self.udp.stop();
    }

    /// The addresses that packets can be sent to: those of a family that this machine lacks are left out.
    async fn reachable(&self, target: &TrackerTarget) -> Result<Vec<SocketAddr>, Error> {
        let all = self.addresses(target).await?;
        let there: Vec<SocketAddr> = all
            .iter()
            .copied()
            .filter(|to| self.ground.own(*to).is_some())
            .collect();
        Ok(if there.is_empty() { all } else { there })
    }

    async fn addresses(&self, target: &TrackerTarget) -> Result<Vec<SocketAddr>, Error> {
        let host = target.url.host().ok_or(Error::NoSuchHost)?.to_string();
        let port = target.url.port().unwrap_or(0);
        let (ground, reach) = (&*self.ground, self.reach(target));
        Names::addresses(ground, &host, port, target.family, reach).await
    }

    /// Which private addresses a tracker and its redirects may lead to.
    fn reach<'a>(&self, target: &'a TrackerTarget) -> Reach<'a> {
        match self.private {
            true => Reach::Home(&target.home),
            false => Reach::Public,
        }
    }
}

fn said_no(failure: &Failure<'_>, target: &TrackerTarget) -> Said {
    Said::Refused {
        reason: target.secrets.words(&failure.reason.to_string()),
        retry_in: failure.retry_in,
    }
}

fn endpoints(addresses: impl Iterator<Item = SocketAddr>) -> Vec<PeerEndpoint> {
    addresses
        .filter(|address| address.port() != 0 && !address.ip().is_unspecified())
        .map(|address| PeerEndpoint::new(address.ip(), address.port()))
        .take(PEERS)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tracker_says_shows_no_passkey() {
        let target = |url: &str| {
            TrackerTarget::new(&ForwarderEntry {
                uri: SecretUrl::parse(url).expect("a URL"),
                name: "a".into(),
                ip: None,
                host: None,
                proxy: None,
                timeout: None,
                family: ForwarderFamily::Any,
            })
        };
        for url in [
            "http://t.example/s3cr3tkey/announce",
            "http://t.example/announce?passkey=s3cr3tkey",
            "udp://t.example:1/announce?a=1&k=s3cr3tkey",
        ] {
            let words = target(url)
                .secrets
                .words("Invalid passkey s3cr3tkey for /announce\u{1b}[0m");
            assert_eq!(words, "Invalid passkey … for /announce[0m", "{url}");
        }
        let coded = target("http://t.example/announce?passkey=a%2Fb%2Fc%2Fd");
        assert_eq!(
            coded.secrets.words("no a/b/c/d, no a%2Fb%2Fc%2Fd"),
            "no …, no …"
        );
    }
}
