//! Forwarders before a zoo of trackers, in memory and with paused time: when is whom asked, and what are clients told?

mod agree;
mod animals;
mod asked;
mod events;
mod faults;
mod flood;
mod mirror;
mod nodes;
mod outage;
mod overload;
mod peers;
mod queue;
mod restart;
mod strangers;
mod times;
#[path = "tests/udp.rs"]
mod udp_trackers;

use std::net::{IpAddr, SocketAddr};
use std::num::{NonZeroU16, NonZeroU32};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use weir_config::SecretUrl;
use weir_engine::Node;
use weir_engine::dispatch::{Availability, Policy};
use weir_engine::{Options as EngineOptions, Rows, Timeline, UpstreamView, WallClock, Weather};
use weir_store::state::{self, MemoryState};
use weir_testkit::memory::Network;
use weir_testkit::zoo::http::{Behaviour, Good};
use weir_testkit::zoo::{Place, Seen, http, udp};
use weir_tracker_proto::http::{Answer, read_announce_reply, write_announce_query};
use weir_tracker_proto::{Announce, InfoHash, PeerId, compact};
use weir_web::seats::{Seating, Seats};

use super::*;
use crate::clock::FileTime;
use crate::config::{Config, forwarder};
use crate::conversation::Wire;
use crate::forwarding::ForwardRules;
use crate::inbound::http::{ConnectionLimits, Http};
use crate::ledger::{Ledger, LedgerLimits};
use crate::policy;
use crate::reply::TrackerRefusal;
use crate::rules::split;
use crate::sharing::{Places, RunningSharing, Sharing};
use crate::swarm::{SwarmCounts, Swarms};
use crate::tally::{ListenerTally, Tallies, TallyKind};
use crate::tracker::{Carries, ClientTerms, Tracker};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(86_400);

/// A tracker with its forwarders, and the network that they call into.
struct World {
    network: Network,
    tracker: Arc<Tracker>,
    engine: Engine,
    forwarders: Arc<Forwarders>,
    clock: TrackerClock,
    timeline: Timeline,
    disk: Arc<Disk>,
    tallies: Tallies,
    /// Of the only listener thread that is not for HTTP.
    tally: Arc<ListenerTally>,
    /// The only one that is.
    http: Arc<Http>,
    /// The other nodes, if there are any.
    sharing: Option<RunningSharing>,
}

/// What a client was told.
#[derive(Debug, PartialEq, Eq)]
struct Reply {
    interval: u32,
    /// Seeders and leechers.
    counts: (u32, u32),
    peers: Vec<SocketAddr>,
}

/// What a world begins with.
#[derive(Default)]
struct Before {
    /// Engine rows of an earlier run.
    state: Arc<MemoryState>,
    /// Files of swarms and of sheets, and how many seconds nobody ran.
    files: Vec<(Vec<u8>, Vec<u8>)>,
    away: u64,
    /// This node among others, and how far it had read what they wrote.
    node: Option<Node>,
    places: Places,
}

impl World {
    fn new(network: &Network, config: &Config) -> Self {
        Self::after(network, config, Before::default())
    }

    fn after(network: &Network, config: &Config, before: Before) -> Self {
        let timeline = Timeline::starting_at(SystemTime::UNIX_EPOCH + DAY);
        Self::on(timeline, network, config, before)
    }

    /// Announces are sent on by these rules from now on; all else is as it is by default.
    fn set_rules(&self, rules: ForwardRules) {
        self.tracker.set_terms(ClientTerms {
            forwarding: rules,
            ..split(&Config::default()).1.terms
        });
    }

    fn reload(&self, config: &Config) {
        self.forwarders.reload(&split(config).1.forwarders);
    }

    fn on(timeline: Timeline, network: &Network, config: &Config, before: Before) -> Self {
        let (start, reload) = split(config);
        let clock = TrackerClock::on(timeline);
        let wall: WallClock = Arc::new(move || timeline.wall(timeline.now()));
        let disk = Arc::new(Disk {
            state: before.state,
            is_cut_off: AtomicBool::new(false),
        });
        let kept = Arc::clone(&disk);
        let (rows, restored) =
            Rows::load("tracker", kept, timeline, wall).expect("memory can be read");
        let options = EngineOptions {
            keeper: Some(Arc::clone(&rows) as _),
            rate: policy::rate(config),
            never: config.forwarder_never_probe,
            seed: Some(7),
            ..EngineOptions::new(timeline, Weather::default())
        };
        // So many that none is lost: no test here is about that.
        let general = Policy {
            records: 10_000,
            ..weir_testkit::policy::general()
        };
        let engine = Engine::new("tracker", policy::policy(general, config), options);
        if let Some(past) = &restored.past {
            engine.restore_own(past);
        }
        let sharing = before
            .node
            .clone()
            .map(|node| Sharing::new(node, start.sharing, reload.terms.interval, before.places));
        let (sharing, shared_rings) = sharing.unzip();
        let outlet = sharing.as_ref().map(|sharing| Arc::clone(&sharing.outlet));
        let swarms = Swarms::new(start.swarms, [1; 16]).shared(outlet);
        let swarms = Arc::new(swarms);
        let limits = LedgerLimits {
            sheets: 1000,
            peers: 10_000,
            ..start.ledger
        };
        let ledger = Ledger::new(limits, [1; 16]);
        for (swarm, sheets) in &before.files {
            let now = FileTime {
                seconds: clock.now().seconds,
                wall: before.away,
            };
            swarms.restore(swarm, now).expect("a whole file");
            ledger.restore(sheets, now).expect("a whole file");
        }
        let (tokens, rules) = (start.engine.first_announces, &reload.forwarders);
        let (gate, events) = (engine.gate(), rules.events_per_minute);
        let (forwarding, rings) = Forwarding::new(gate, ledger, tokens.per_second, events, 10);
        let tallies = Tallies::default();
        let counted = tallies.clone();
        engine.count_listeners(move || counted.by_themselves());
        let outward = Outward {
            engine: engine.clone(),
            rows: Some(rows),
            restored,
            ground: network.ground(),
            node: before.node,
        };
        let model = (Arc::clone(&swarms), Arc::clone(&forwarding));
        let (life, private) = (start.udp_connection_life, start.allow_private_upstreams);
        let outbound = Outbound::new(network.ground(), life, private).expect("a way out");
        let outward = (outward, sharing.clone());
        let forwarders = Forwarders::start(rules, outbound, model, clock, outward, rings);
        let exchange = forwarders.shared_exchange();
        let sharing = sharing.zip(shared_rings);
        let sharing =
            sharing.map(|(sharing, rings)| RunningSharing::start(sharing, exchange, rings));
        let tracker = Arc::new(Tracker::new(swarms, forwarding, reload.terms));
        let limits = ConnectionLimits {
            idle: 60,
            request: 10,
            bytes: 8192,
        };
        let vital = engine.vitals().add("tracker", "http");
        let seats = Seats::new(Seating::new(1, None));
        let others = (tokio::sync::mpsc::channel(1).0, seats, vital);
        let http = Http::new(Arc::clone(&tracker), clock, tallies.add(), limits, others);
        Self {
            network: network.clone(),
            tracker,
            http: Arc::new(http),
            engine,
            forwarders,
            clock,
            timeline,
            disk,
            tally: tallies.add(),
            tallies,
            sharing,
        }
    }

    /// An announce of a peer (its last byte) for a swarm, as the listeners hand it over.
    fn ask(&self, swarm: u8, peer: u8, event: Event) -> Result<Reply, TrackerRefusal> {
        self.ask_as(&announce(swarm, peer, event), peer)
    }

    fn ask_as(&self, announce: &Announce, peer: u8) -> Result<Reply, TrackerRefusal> {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        let mut random = fastrand::Rng::with_seed(3);
        let told = self.tracker.announce(
            &self.tracker.terms(),
            announce,
            address(peer),
            Carries::Both,
            (self.clock.now(), &mut random),
            [&mut v4, &mut v6],
        );
        // As the listeners count.
        self.tally.count(match &told {
            Ok(told) => TallyKind::udp(told.went),
            Err(_) => TallyKind::Refused,
        });
        let told = told?;
        let v4 = compact::v4s(&v4).map(SocketAddr::from);
        let v6 = compact::v6s(&v6).map(SocketAddr::from);
        Ok(Reply {
            interval: told.interval,
            counts: (told.counts.seeders, told.counts.leechers),
            peers: v4.chain(v6).collect(),
        })
    }

    /// The same over HTTP, as the bytes of a connection.
    fn ask_over_http(&self, announce: &Announce, peer: u8) -> Result<Reply, TrackerRefusal> {
        let mut query = "/announce".to_owned();
        write_announce_query(announce, None, &mut query);
        let request = format!("GET {query} HTTP/1.1\r\nConnection: close\r\n\r\n");
        let mut wire = Wire::bringing([request.as_bytes()].into_iter());
        let from = SocketAddr::new(address(peer), 4000);
        Arc::clone(&self.http).converse(from, &mut wire);
        let sent = wire.sent();
        let end = sent.windows(4).position(|four| four == b"\r\n\r\n");
        let body = &sent[end.expect("a head") + 4..];
        match read_announce_reply(body).expect("a reply") {
            Answer::Given(given) => Ok(Reply {
                interval: given.interval.expect("it is always given"),
                counts: (
                    given.complete.expect("it is always given"),
                    given.incomplete.expect("it is always given"),
                ),
                peers: given.peers.addresses().collect(),
            }),
            Answer::Refused(_) => {
                let terms = self.tracker.terms();
                let refusals = [
                    TrackerRefusal::NotServed,
                    TrackerRefusal::Full(terms.interval),
                    TrackerRefusal::Crowded(terms.interval),
                    TrackerRefusal::Busy(terms.forwarding.busy),
                    TrackerRefusal::QueueFull(terms.forwarding.full),
                ];
                let is_this = |refusal: &TrackerRefusal| {
                    let mut written = Vec::new();
                    refusal.write_http(&mut written);
                    written == body
                };
                let this = refusals.into_iter().find(is_this);
                Err(this.expect("words and times are those of one of them"))
            }
        }
    }

    /// Announces, and lets everything happen that follows at once.
    async fn announce(&self, swarm: u8, peer: u8) -> Reply {
        self.event(swarm, peer, Event::None).await
    }

    async fn event(&self, swarm: u8, peer: u8, event: Event) -> Reply {
        let reply = self.ask(swarm, peer, event).expect("a reply");
        turn().await;
        reply
    }

    /// What clients are told of a swarm in a scrape.
    fn told(&self, swarm: u8) -> SwarmCounts {
        let told = self.tracker.told(&[swarm; 20]);
        told.expect("a swarm").counts
    }

    /// Time since the beginning.
    fn time(&self) -> Duration {
        self.clock.elapsed()
    }

    /// Sleeps until so much time has passed since the beginning, and lets everything happen at that moment.
    async fn until(&self, time: Duration) {
        let wait = time.saturating_sub(self.time());
        if wait > 3 * HOUR {
            // Not second by second, in which nothing happens.
            tokio::time::advance(wait - HOUR).await;
            turn().await;
        }
        tokio::time::sleep(time.saturating_sub(self.time())).await;
        turn().await;
    }

    fn view(&self, name: &str) -> UpstreamView {
        let all = self.forwarders.all();
        let forwarder = all.iter().find(|forwarder| forwarder.config.name == name);
        let upstream = forwarder.expect("it is configured").upstream;
        self.engine.upstream(upstream).expect("it is there")
    }

    /// `open`, `cooldown 300`: with the seconds that are left, rounded up.
    fn state_of(&self, name: &str) -> String {
        let now = self.timeline.now();
        let left = |until| now.until(until).as_millis().div_ceil(1000);
        match self.view(name).status.state {
            Availability::Untried => "untried".to_owned(),
            Availability::Open => "open".to_owned(),
            Availability::Cooldown { until } => format!("cooldown {}", left(until)),
            Availability::Disabled { until } => format!("disabled {}", left(until)),
            Availability::Probing => "probing".to_owned(),
            Availability::Off => "off".to_owned(),
        }
    }

    /// When it was last called, since the beginning.
    fn last_call(&self, name: &str) -> Option<Duration> {
        let began = self.timeline.now();
        let last = self.view(name).status.last_start?;
        Some(self.time() - last.until(began))
    }

    /// How often it was called, as far as the calls are over.
    fn calls(&self, name: &str) -> u64 {
        self.view(name).figures.requests.iter().sum()
    }

    fn last_error(&self, name: &str) -> String {
        let error = self.view(name).last_error;
        error.map_or_else(String::new, |(_, words)| words.to_string())
    }

    /// Waits until nothing is queued or under way, and no more than `scheduled` jobs are put off.
    async fn idle(&self, scheduled: u32) {
        for _ in 0..100_000 {
            let counts = self.engine.status().counts;
            let running = counts.queued + counts.busy + counts.waiting;
            if running == 0 && counts.scheduled <= scheduled {
                return;
            }
            tokio::time::sleep(SECOND / 10).await;
            turn().await;
        }
        panic!("it is never idle: {:?}", self.engine.status());
    }
}

/// Where a world keeps its rows, until it is killed.
struct Disk {
    state: Arc<MemoryState>,
    is_cut_off: AtomicBool,
}

impl state::State for Disk {
    fn load(&self, front: &str, now: state::Wall) -> Result<state::Kept, weir_store::Error> {
        self.state.load(front, now)
    }

    fn save(&self, front: &str, changes: Vec<state::Change>) -> Result<(), weir_store::Error> {
        match self.is_cut_off.load(Ordering::Relaxed) {
            true => Ok(()),
            false => self.state.save(front, changes),
        }
    }

    fn flush(&self) -> Result<(), weir_store::Error> {
        self.state.flush()
    }

    fn forget(&self, before: state::Wall) -> Result<usize, weir_store::Error> {
        self.state.forget(before)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // It would look at its sheets every second for as long as the test runs.
        self.forwarders.stop.cancel();
    }
}

/// A configuration with these forwarders, by name and URL.
fn config(forwarders: &[(&str, &str)]) -> Config {
    let forwarders = forwarders.iter().map(|(name, url)| forwarder(name, url));
    Config {
        forwarders: forwarders.collect(),
        ..Config::default()
    }
}

fn forwarder(name: &str, url: &str) -> forwarder::ForwarderEntry {
    forwarder::ForwarderEntry {
        uri: SecretUrl::parse(url).expect("a URL"),
        name: name.to_owned(),
        ip: None,
        host: None,
        proxy: None,
        timeout: None,
        family: forwarder::ForwarderFamily::Any,
    }
}

fn announce(swarm: u8, peer: u8, event: Event) -> Announce {
    let port = NonZeroU16::new(6881).expect("not 0");
    Announce {
        event,
        key: NonZeroU32::new(peer.into()),
        left: 1,
        ..Announce::new(InfoHash([swarm; 20]), PeerId([peer; 20]), port)
    }
}

fn address(peer: u8) -> IpAddr {
    [10, 0, 0, peer].into()
}

fn at(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

/// Where the tracker of a number stands.
fn place(number: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, number], 6969))
}

async fn tracker(network: &Network, number: u8, behaviour: Behaviour) -> http::Tracker {
    tracker_at(network, place(number), behaviour).await
}

async fn tracker_at(network: &Network, place: SocketAddr, behaviour: Behaviour) -> http::Tracker {
    let started = http::Tracker::start(Place::Memory(network, place), behaviour).await;
    started.expect("memory has room")
}

async fn udp_tracker(network: &Network, number: u8, behaviour: udp::Behaviour) -> udp::Tracker {
    let place = Place::Memory(network, place(number));
    let started = udp::Tracker::start(place, behaviour).await;
    started.expect("memory has room")
}

/// Good trackers, and a configuration with a queue of 100 that has them as forwarders `1`, `2`, …
async fn crowd(network: &Network, count: u8) -> (Vec<http::Tracker>, Config) {
    let mut trackers = Vec::new();
    for number in 1..=count {
        trackers.push(tracker(network, number, good(1800, &[])).await);
    }
    let named = trackers.iter().zip(1..);
    let forwarders = named.map(|(tracker, number)| forwarder(&format!("{number}"), &tracker.url()));
    let config = Config {
        forwarders: forwarders.collect(),
        forwarder_queue_size: number(100),
        ..Config::default()
    };
    (trackers, config)
}

/// How often they were asked, together.
fn asked(trackers: &[http::Tracker]) -> usize {
    trackers.iter().map(|tracker| tracker.seen().len()).sum()
}

const fn number(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).expect("not 0")
}

fn good(interval: i64, peers: &[&str]) -> Behaviour {
    Behaviour::Good(Good {
        interval,
        peers: peers.iter().map(|peer| at(peer)).collect(),
        ..Good::default()
    })
}

/// The queries that a tracker was asked.
fn queries(seen: &[Seen]) -> Vec<String> {
    let line = |seen: &Seen| {
        let text = seen.bytes.escape_ascii().to_string();
        text.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    seen.iter().map(line).collect()
}

/// The events that a tracker was told, of any peer; empty for none.
fn events(seen: &[Seen]) -> Vec<String> {
    let queries = queries(seen);
    let event = |query: &String| value(query, "event").unwrap_or_default().to_owned();
    queries.iter().map(event).collect()
}

/// The value of a key in a query.
fn value<'a>(query: &'a str, key: &str) -> Option<&'a str> {
    let (_, pairs) = query.split_once('?')?;
    let mut pairs = pairs.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| *name == key).map(|(_, value)| value)
}

/// Everything happens that needs no time.
async fn turn() {
    for _ in 0..300 {
        tokio::task::yield_now().await;
    }
}
