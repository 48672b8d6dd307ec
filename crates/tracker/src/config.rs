//! The section `tracker`.

pub mod forwarder;

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use weir_config::{Fields, Origin, Percent, Size, check, choices, section};

use self::forwarder::Forwarder;
use crate::swarm::Age;

section! {
    /// The BitTorrent tracker and the trackers it asks for more peers.
    pub struct Config in "tracker" {
        /// Address for HTTP announces; [::] opens IPv4 and IPv6, null switches it off.
        http_listen: Option<SocketAddr> = "\"[::]:6969\"", at start;
        /// Address for UDP announces; null switches it off.
        udp_listen: Option<SocketAddr> = "\"[::]:6969\"", at start;
        /// How often clients are asked to announce.
        announce_interval: Duration = "30m", check check::whole_seconds;
        /// Interval told to clients while forwarders have not answered yet; 0s gives announce_interval.
        first_interval: Duration = "60s";
        /// How long after the first announce first_interval is told.
        first_window: Duration = "5m";
        /// Holds the reply of a first announce this long for a peer of a forwarder; 0s answers at once.
        first_wait: Duration = "0s";
        /// Replies held at once by first_wait.
        first_wait_replies: NonZeroU32 = "10000", at start;
        /// A peer that did not announce for this long is forgotten.
        age: Duration = "180m", at start, check kept_in_minutes;
        /// What a client is told to wait when first announces are limited.
        retry_period: Duration = "300", check check::whole_seconds, variable "RETRY_PERIOD";
        /// What a client is told to wait when the queue is full.
        queue_full_retry: Duration = "30m", check check::whole_seconds;
        /// What an overloaded tracker answers: failure tells clients to wait, peers gives the known peers.
        overload_reply: OverloadReply = "failure";
        /// Counts one client per ip or per endpoint (address and port).
        count_by: CountBy = "ip", at start;
        /// Swarms with more peers than this are counted by endpoint in any case.
        count_by_ip_peers: NonZeroU32 = "64", at start, check up_to_64;
        /// Peers in a reply when the client does not say how many it wants.
        numwant: u32 = "50";
        /// Peers in a reply at most.
        max_numwant: NonZeroU32 = "200";
        /// Swarms at most; above half of them, one address begins no more than its share of the rest.
        max_swarms: NonZeroU32 = "2000000", at start;
        /// Peers at most, in all swarms; above half of them, one address adds no more than its share of the rest.
        max_peers: NonZeroU32 = "10000000", at start;
        /// Peers of one address at most; null sets no limit.
        max_peers_per_ip: Option<NonZeroU32> = "null", at start;
        /// Info hashes in one scrape at most.
        scrape_hashes: NonZeroU32 = "74";
        /// Threads of each listener; null is one for each core, at most 4.
        listener_threads: Option<NonZeroU32> = "null", at start;
        /// HTTP connections open at once. An eighth is kept for this machine and web.trusted_proxies; when all are taken, the one that waits for a request longest makes room.
        http_connections: NonZeroU32 = "15000", at start;
        /// HTTP connections that one address (an IPv6 /64) holds, but for this machine and web.trusted_proxies; null is a sixteenth of http_connections, at least 8. Connections that are closed after their reply do not count.
        http_connections_per_address: Option<NonZeroU32> = "null", at start;
        /// A connection may rest this long between announces.
        http_idle_timeout: Duration = "60s", at start, check check::some_time;
        /// Time for a whole request to arrive, and for its reply to be taken.
        http_request_timeout: Duration = "10s", at start, check check::some_time;
        /// A request may be this long.
        http_request_bytes: Size = "8KiB", at start, check room_for_a_request;
        /// Swarms are written to the disk this often.
        snapshot_every: Duration = "1m", at start, check check::some_time;
        /// File of info hashes, one a line, that alone are served; null serves all.
        allow_file: Option<PathBuf> = "null";
        /// File of info hashes, one a line, that are not served.
        deny_file: Option<PathBuf> = "null";
        /// File with the list of forwarders (uri, name, ip, host …), instead of the key forwarders.
        forwarders_file: Option<PathBuf> = "null";
        /// Announces that may wait to be forwarded.
        forwarder_queue_size: NonZeroU32 = "10000", at start, variable "FORWARDER_QUEUE_SIZE";
        /// Workers that are always there.
        forwarder_workers: NonZeroU32 = "10", variable "FORWARDER_WORKERS";
        /// Workers at most; null is the larger of 20 and twice forwarder_workers.
        max_forwarder_workers: Option<NonZeroU32> = "null", variable "MAX_FORWARDER_WORKERS";
        /// Queue fill in percent from which workers are added.
        queue_scale_threshold_pct: Percent = "60", at start, variable "QUEUE_SCALE_THRESHOLD";
        /// Queue fill in percent from which fewer forwarders are asked per announce.
        queue_throttle_threshold: Percent = "60", variable "QUEUE_THROTTLE_THRESHOLD";
        /// How many are asked then; 0 switches throttling off.
        queue_throttle_top_n: u32 = "20", variable "QUEUE_THROTTLE_TOP";
        /// Queue fill in percent from which first announces are limited; 0 switches the limit off.
        queue_rate_limit_threshold: Percent = "80", variable "QUEUE_RATE_LIMIT_THRESHOLD";
        /// First announces a second, once limited.
        rate_limit_initial_per_sec: NonZeroU32 = "10", at start, variable "RATE_LIMIT_INITIAL_PER_SEC";
        /// First announces at once, once limited.
        rate_limit_initial_burst: NonZeroU32 = "200", at start, variable "RATE_LIMIT_INITIAL_BURST";
        /// An overloaded forwarder that names no time is left alone this long.
        forwarder_suspend_seconds: Duration = "300", at start, check check::some_time, variable "FORWARDER_SUSPEND_SECONDS";
        /// Forwarders asked per announce, picked at random.
        max_forwarders_per_announce: NonZeroU32 = "100", variable "MAX_FORWARDERS_PER_ANNOUNCE";
        /// Events (completed, stopped) of one client address, in IPv6 of one /64, sent on in a minute; 0 sets no limit.
        forward_events_per_minute: u32 = "60";
        /// Calls to one forwarder at once.
        forwarder_calls: NonZeroU32 = "4";
        /// Time for one attempt at a forwarder.
        forward_timeout: Duration = "30s", check check::some_time, variable "FORWARD_TIMEOUT";
        /// Attempts per announce and forwarder.
        forwarder_retry_attempts: NonZeroU32 = "5", at start, variable "FORWARDER_RETRY_ATTEMPTS";
        /// Milliseconds before the second attempt; doubles with each further one.
        forwarder_retry_base_ms: NonZeroU32 = "500", at start, variable "FORWARDER_RETRY_BASE_MS";
        /// Failures in a row after which a forwarder is disabled and only probed.
        forwarder_fail_threshold: NonZeroU32 = "10", at start, variable "FORWARDER_FAIL_THRESHOLD";
        /// After a failed call the hash is due again at that forwarder after this time.
        forwarder_failed_delay: Duration = "60s", check check::some_time;
        /// The shortest interval of a forwarder that is believed.
        forwarder_interval_min: Duration = "60s", check check::some_time;
        /// The longest interval of a forwarder that is believed.
        forwarder_interval_max: Duration = "24h", check check::some_time;
        /// A retry that a forwarder asks for is scheduled if it is sooner than this.
        forwarder_retry_in_max: Duration = "10m";
        /// A forwarder that says never is probed after this time.
        forwarder_never_probe: Duration = "24h", at start, check check::some_time;
        /// Peers of forwarders that are kept for one info hash at most.
        forwarder_peers: NonZeroU32 = "1000", at start;
        /// The same for all info hashes together.
        max_forwarder_peers: NonZeroU32 = "5000000", at start;
        /// Peers of a forwarder are kept for at least this long, else twice its interval, at most age.
        forwarder_peers_min: Duration = "1h";
        /// A UDP connection id is used again for this long; the protocol allows a minute.
        udp_connection_life: Duration = "1m", at start, check up_to_a_minute;
        /// Whether forwarders may have private addresses.
        allow_private_upstreams: bool = "true", at start;
        /// Waiting this long makes a job of any class the next one.
        aging: Duration = "10s", at start, check check::some_time;
        /// Dropped announces are logged at most once in this time.
        drop_log_every: Duration = "1s", check check::some_time;
    }
    lists |fields| {
        /// Trackers that announces are sent on to.
        forwarders: Vec<Forwarder> = forwarder::read_all(fields, forwarders_file.as_deref());
    }
    then |config, fields| { config.relate(fields) }
}

choices! {
    /// What an overloaded tracker answers.
    pub enum OverloadReply {
        /// A failure with the time to wait.
        Failure = "failure",
        /// The known peers.
        Peers = "peers",
    }
}

choices! {
    /// What counts as one client.
    pub enum CountBy {
        /// An address.
        Ip = "ip",
        /// An address and port.
        Endpoint = "endpoint",
    }
}

impl Config {
    /// Workers at most: as written, else the larger of 20 and twice the base.
    pub fn max_workers(&self) -> NonZeroU32 {
        let twice = self
            .forwarder_workers
            .saturating_add(self.forwarder_workers.get());
        let usual = NonZeroU32::new(20).map_or(twice, |twenty| twenty.max(twice));
        self.max_forwarder_workers.unwrap_or(usual)
    }

    fn relate(&self, fields: &mut Fields<'_>) {
        let (base, max) = (self.forwarder_workers, self.max_workers());
        if max < base {
            let text = format!("write {base} or more, as many as forwarder_workers, not {max}");
            fields.refuse("max_forwarder_workers", text);
        }
        if fields.source("max_forwarder_workers") == Some(Origin::Default) {
            fields.settle("max_forwarder_workers", &max);
        }
        if self.forwarder_interval_min > self.forwarder_interval_max {
            fields.refuse(
                "forwarder_interval_min",
                "write at most forwarder_interval_max",
            );
        }
    }
}

fn up_to_a_minute(life: &Duration) -> Result<(), &'static str> {
    check::some_time(life)?;
    if *life > Duration::from_secs(60) {
        Err("at most 1m")
    } else {
        Ok(())
    }
}

fn kept_in_minutes(age: &Duration) -> Result<(), &'static str> {
    let most = u64::from(Age::MAX.0) * 60;
    match age.as_secs() {
        60.. if age.as_secs() <= most => Ok(()),
        _ => Err("from 1m to 166h"),
    }
}

fn up_to_64(peers: &NonZeroU32) -> Result<(), &'static str> {
    if peers.get() > 64 {
        return Err("at most 64");
    }
    Ok(())
}

fn room_for_a_request(size: &Size) -> Result<(), &'static str> {
    if size.bytes() < 1024 {
        return Err("at least 1KiB");
    }
    Ok(())
}
