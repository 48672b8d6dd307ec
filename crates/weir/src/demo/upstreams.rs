//! The upstreams of the demo, and the configuration that names them.
//!
//! Some are slow, limited or broken on purpose, so that there is something to see: one of each kind that fails, one that
//! asks to be left alone, one whose allowance is soon used up.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use weir_testkit::zoo::indexer::{self, Indexer, Item, RetryAfter, Setup};
use weir_testkit::zoo::news::{self, Greeting, News};
use weir_testkit::zoo::{Place, http, udp};

use super::{news as letters, releases};

/// Seconds after which a tracker may be asked about a torrent again.
const INTERVAL: i64 = 90;

/// All of them; they end when dropped.
pub(super) struct Upstreams {
    udp_trackers: Vec<(&'static str, udp::Tracker)>,
    http_trackers: Vec<(&'static str, http::Tracker)>,
    /// With what else their entries say.
    indexers: Vec<(&'static str, &'static str, Indexer)>,
    servers: Vec<(&'static str, Arc<News>)>,
}

impl Upstreams {
    pub(super) async fn start() -> io::Result<Self> {
        Ok(Self {
            udp_trackers: udp_trackers().await?,
            http_trackers: http_trackers().await?,
            indexers: indexers().await?,
            servers: servers().await?,
        })
    }

    /// The server to which articles are added now and then.
    pub(super) fn letters(&self) -> Option<Arc<News>> {
        self.servers.first().map(|(_, server)| server.clone())
    }

    /// The configuration of a Weir in front of them.
    pub(super) fn config(&self, data: PathBuf, tracker: SocketAddr) -> String {
        let udp = self.udp_trackers.iter();
        let http = self.http_trackers.iter();
        let forwarders: String = udp
            .map(|(name, tracker)| (name, tracker.url()))
            .chain(http.map(|(name, tracker)| (name, tracker.url())))
            .map(|(name, url)| format!("    - {{ name: {name}, uri: \"{url}\" }}\n"))
            .collect();
        let indexers: String = self
            .indexers
            .iter()
            .map(|(name, more, indexer)| {
                let url = indexer.url();
                format!("    - {{ name: {name}, url: \"{url}\", api_key: made-up, {more} }}\n")
            })
            .collect();
        let servers: String = self
            .servers
            .iter()
            .map(|(name, server)| {
                let port = server.address().port();
                format!("    - {{ name: {name}, host: 127.0.0.1, port: {port}, tls: off }}\n")
            })
            .collect();
        format!(
            "# Written by `weir demo` and removed with it.\n\
             data: \"{data}\"\n\
             drain: 1s\n\
             web:\n  listen: 127.0.0.1:0\n  trusted_proxies: [127.0.0.1]\n\
             tracker:\n  http_listen: {tracker}\n  udp_listen: 127.0.0.1:0\n  forward_timeout: 3s\n  \
             forwarders:\n{forwarders}\
             search:\n  deadline: 8s\n  \
             spacing: {{ interactive: 200ms, rss: 200ms, completion: 200ms, background: 1s }}\n  \
             indexers:\n{indexers}\
             news:\n  nntp_listen: 127.0.0.1:0\n  servers:\n{servers}",
            data = data.display()
        )
    }
}

fn peers(first: u8) -> Vec<SocketAddr> {
    // Addresses that are kept for examples (RFC 5737).
    let peer = |last| SocketAddr::from((Ipv4Addr::new(203, 0, 113, last), 51_413));
    (first..first + 12).map(peer).collect()
}

async fn udp_trackers() -> io::Result<Vec<(&'static str, udp::Tracker)>> {
    let good = udp::Behaviour::Good {
        interval: INTERVAL.unsigned_abs() as u32,
        peers: peers(10),
    };
    Ok(vec![
        ("brook", udp::Tracker::start(Place::Loopback, good).await?),
        (
            "dry-bed",
            udp::Tracker::start(Place::Loopback, udp::Behaviour::Silent).await?,
        ),
    ])
}

async fn http_trackers() -> io::Result<Vec<(&'static str, http::Tracker)>> {
    let good = http::Behaviour::Good(http::Good {
        interval: INTERVAL,
        peers: peers(40),
        ..http::Good::default()
    });
    let all = [
        ("canal", good),
        ("slow-bend", http::Behaviour::Drip(Duration::from_millis(6))),
        (
            "floodgate",
            http::Behaviour::Status(503, http::RetryAfter::Seconds(900)),
        ),
    ];
    let mut started = Vec::new();
    for (name, behaviour) in all {
        started.push((
            name,
            http::Tracker::start(Place::Loopback, behaviour).await?,
        ));
    }
    Ok(started)
}

async fn indexers() -> io::Result<Vec<(&'static str, &'static str, Indexer)>> {
    use indexer::Behaviour;

    /// Which releases it has.
    type Has = fn(usize) -> bool;

    let all: [(_, _, Has, _); 6] = [
        ("meadow", "per_hour: 2000", |_| true, Behaviour::Good),
        (
            "beacon",
            "tags: [slow]",
            |n| n % 3 != 1,
            Behaviour::Slow(Duration::from_millis(1_600)),
        ),
        // What it allows is soon used up.
        ("lantern", "per_hour: 3", |n| n % 2 == 0, Behaviour::Good),
        (
            "harbor",
            "tags: [busy]",
            |n| n % 4 == 0,
            Behaviour::Status(429, RetryAfter::Seconds(900)),
        ),
        (
            "orchard",
            "tags: [old]",
            |n| n % 5 == 0,
            Behaviour::Error(100, "Incorrect user credentials".to_owned()),
        ),
        ("quarry", "kind: newznab", |n| n % 2 == 1, Behaviour::Good),
    ];
    let releases = releases::all(now());
    let mut started = Vec::new();
    for (name, more, has, behaviour) in all {
        let numbered = releases.iter().cloned().enumerate();
        let items = numbered.filter(|(number, _)| has(*number));
        let newznab = more.contains("newznab");
        let items = items.map(|(_, item)| match newznab {
            true => Item::bare(item),
            false => item,
        });
        let setup = Setup {
            items: items.collect(),
            caps: releases::caps(),
            newznab,
            secret: "passkey-of-nobody".to_owned(),
        };
        let indexer = Indexer::start(Place::Loopback, setup).await?;
        indexer.set(behaviour);
        started.push((name, more, indexer));
    }
    Ok(started)
}

async fn servers() -> io::Result<Vec<(&'static str, Arc<News>)>> {
    let now = now();
    let springs = News::start(Place::Loopback, letters::newsgroups(now, |_| true)).await?;
    let estuary = letters::newsgroups(now, |name| name.starts_with("rivers."));
    let estuary = News::start(Place::Loopback, estuary).await?;
    estuary.set(news::Behaviour::Far(Duration::from_millis(250)));
    let marsh = News::start(Place::Loopback, Vec::new()).await?;
    marsh.be(|nature| nature.greeting = Greeting::not_now());
    let all = [("springs", springs), ("estuary", estuary), ("marsh", marsh)];
    Ok(all.map(|(name, server)| (name, Arc::new(server))).into())
}

/// Seconds since 1970.
#[expect(clippy::disallowed_methods, reason = "what is made up has dates too")]
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs().cast_signed())
}
