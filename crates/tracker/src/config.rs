//! The section `tracker`.

pub mod forwarder;

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use weir_config::{Fields, Origin, Percent, Size, check, choices, section};

use self::forwarder::ForwarderEntry;
use crate::swarm::Age;

section! {
    /// The BitTorrent tracker, and the upstream trackers it asks for more peers.
    pub struct Config in "tracker" {
        /// Address for HTTP announces; [::] accepts IPv4 and IPv6, null switches it off.
        http_listen: Option<SocketAddr> = "\"[::]:6969\"", at start;
        /// Address for UDP announces; null switches it off.
        udp_listen: Option<SocketAddr> = "\"[::]:6969\"", at start;
        /// How often clients are asked to announce.
        announce_interval: Duration = "30m", check check::whole_seconds;
        /// Interval that clients are given until the forwarders have answered; 0s gives announce_interval.
        first_interval: Duration = "60s";
        /// How long first_interval is given, counted from the first announce of a swarm, in whole minutes.
        first_window: Duration = "5m";
        /// How long the reply to a first announce may wait for peers from a forwarder; 0s answers at once.
        first_wait: Duration = "0s";
        /// Maximum replies held back by first_wait at once.
        first_wait_replies: NonZeroU32 = "10000", at start;
        /// A peer that has not announced for this long is forgotten.
        age: Duration = "180m", at start, check kept_in_minutes;
        /// How long clients are told to wait while first announces are limited.
        retry_period: Duration = "300", check check::whole_seconds, variable "RETRY_PERIOD";
        /// How long clients are told to wait when the queue is full.
        queue_full_retry: Duration = "30m", check check::whole_seconds;
        /// Reply of an overloaded tracker: failure tells clients to wait, peers gives the known peers.
        overload_reply: OverloadReply = "failure";
        /// What counts as one client: ip, or endpoint (address and port).
        count_by: CountBy = "ip", at start;
        /// Swarms with more peers than this, those from forwarders included, are always counted by endpoint.
        count_by_ip_peers: NonZeroU32 = "64", at start, check up_to_64;
        /// Peers in a reply if the client does not say how many it wants.
        numwant: u32 = "50";
        /// Maximum peers in a reply.
        max_numwant: NonZeroU32 = "200";
        /// Maximum swarms. Once half of them exist, one address may only start a share of those left.
        max_swarms: NonZeroU32 = "2000000", at start;
        /// Maximum peers in all swarms. Once half of them exist, one address may only add a share of those left.
        max_peers: NonZeroU32 = "10000000", at start;
        /// Maximum peers per address; null for no limit.
        max_peers_per_ip: Option<NonZeroU32> = "null", at start;
        /// Maximum info hashes in one scrape.
        scrape_hashes: NonZeroU32 = "74";
        /// Threads per listener; null for one per core, at most 4.
        listener_threads: Option<NonZeroU32> = "null", at start;
        /// Maximum open HTTP connections. An eighth is kept free for this machine and web.trusted_proxies; when all are taken, the one that has been idle longest is closed.
        http_connections: NonZeroU32 = "15000", at start;
        /// Maximum HTTP connections per address (in IPv6, per /64), except for this machine and web.trusted_proxies; null for a sixteenth of http_connections, at least 8. Connections that close after their reply do not count.
        http_connections_per_address: Option<NonZeroU32> = "null", at start;
        /// How long a connection may stay idle between announces.
        http_idle_timeout: Duration = "60s", at start, check check::some_time;
        /// Time for a whole request to arrive, and for the client to take its reply.
        http_request_timeout: Duration = "10s", at start, check check::some_time;
        /// Maximum size of a request.
        http_request_bytes: Size = "8KiB", at start, check room_for_a_request;
        /// How often swarms are written to disk.
        snapshot_every: Duration = "1m", at start, check check::some_time;
        /// File of info hashes, one per line. Only these are served; null serves all.
        allow_file: Option<PathBuf> = "null";
        /// File of info hashes, one per line, that are not served.
        deny_file: Option<PathBuf> = "null";
        /// File with the list of forwarders (uri, name, ip, host …), used instead of the key forwarders.
        forwarders_file: Option<PathBuf> = "null";
        /// Maximum announces waiting to be forwarded, each counted once per forwarder.
        forwarder_queue_size: NonZeroU32 = "10000", at start, variable "FORWARDER_QUEUE_SIZE";
        /// Minimum workers for forwarding.
        forwarder_workers: NonZeroU32 = "10", variable "FORWARDER_WORKERS";
        /// Maximum workers for forwarding; null for 20 or twice forwarder_workers, whichever is more.
        max_forwarder_workers: Option<NonZeroU32> = "null", variable "MAX_FORWARDER_WORKERS";
        /// Queue fill in percent at which workers are added.
        queue_scale_threshold_pct: Percent = "60", at start, variable "QUEUE_SCALE_THRESHOLD";
        /// Queue fill in percent at which fewer forwarders are asked per announce.
        queue_throttle_threshold: Percent = "60", variable "QUEUE_THROTTLE_THRESHOLD";
        /// How many forwarders are asked then; 0 switches throttling off.
        queue_throttle_top_n: u32 = "20", variable "QUEUE_THROTTLE_TOP";
        /// Queue fill in percent at which first announces are limited; 0 switches the limit off.
        queue_rate_limit_threshold: Percent = "80", variable "QUEUE_RATE_LIMIT_THRESHOLD";
        /// First announces per second while they are limited.
        rate_limit_initial_per_sec: NonZeroU32 = "10", at start, variable "RATE_LIMIT_INITIAL_PER_SEC";
        /// First announces accepted in one burst while they are limited.
        rate_limit_initial_burst: NonZeroU32 = "200", at start, variable "RATE_LIMIT_INITIAL_BURST";
        /// Cooldown of an overloaded forwarder that does not say how long to wait.
        forwarder_suspend_seconds: Duration = "300", at start, check check::some_time, variable "FORWARDER_SUSPEND_SECONDS";
        /// Maximum forwarders asked per announce, picked at random.
        max_forwarders_per_announce: NonZeroU32 = "100", variable "MAX_FORWARDERS_PER_ANNOUNCE";
        /// Maximum completed and stopped events forwarded per minute and client address (in IPv6, per /64); 0 for no limit.
        forward_events_per_minute: u32 = "60";
        /// Maximum simultaneous calls to one forwarder.
        forwarder_calls: NonZeroU32 = "4";
        /// Timeout of one attempt at a forwarder.
        forward_timeout: Duration = "30s", check check::some_time, variable "FORWARD_TIMEOUT";
        /// Attempts per announce and forwarder.
        forwarder_retry_attempts: NonZeroU32 = "5", at start, variable "FORWARDER_RETRY_ATTEMPTS";
        /// Milliseconds before the second attempt; doubled for each further one.
        forwarder_retry_base_ms: NonZeroU32 = "500", at start, variable "FORWARDER_RETRY_BASE_MS";
        /// Failures in a row after which a forwarder is disabled and only probed.
        forwarder_fail_threshold: NonZeroU32 = "10", at start, variable "FORWARDER_FAIL_THRESHOLD";
        /// After a failed call, the same info hash may go to that forwarder again after this time.
        forwarder_failed_delay: Duration = "60s", check check::some_time;
        /// The shortest interval accepted from a forwarder; a shorter one counts as this.
        forwarder_interval_min: Duration = "60s", check check::some_time;
        /// The longest interval accepted from a forwarder; a longer one counts as this.
        forwarder_interval_max: Duration = "24h", check check::some_time;
        /// A retry that a forwarder asks for is scheduled only if it is due sooner than this.
        forwarder_retry_in_max: Duration = "10m";
        /// After "retry in: never" the forwarder is not asked about that info hash for this long; one that was disabled for it is probed after this time.
        forwarder_never_probe: Duration = "24h", at start, check check::some_time;
        /// Info hashes about which a forwarder has to answer "retry in: never", with no other answer between, to be disabled.
        forwarder_never_hashes: NonZeroU32 = "3", check up_to_1000;
        /// Maximum peers from forwarders kept per info hash.
        forwarder_peers: NonZeroU32 = "1000", at start;
        /// Maximum peers from forwarders kept for all info hashes together.
        max_forwarder_peers: NonZeroU32 = "5000000", at start;
        /// Peers from a forwarder are kept for twice its interval, but at least this long and at most age.
        forwarder_peers_min: Duration = "1h";
        /// How long a UDP connection id is reused; the protocol allows a minute.
        udp_connection_life: Duration = "1m", at start, check up_to_a_minute;
        /// Whether forwarders may have private addresses.
        allow_private_upstreams: bool = "true", at start;
        /// Whether peers at private addresses (10.x, 192.168.x, fc00::/7 …) are shared with the other nodes of store.redis. Set it only if all nodes are in the same private network.
        share_private: bool = "false", at start;
        /// A job that has waited this long goes next, whatever its class.
        aging: Duration = "10s", at start, check check::some_time;
        /// Announces that are refused or dropped, and forwarders that are left out, are logged at most once in this time for each kind.
        drop_log_every: Duration = "1s", check check::some_time;
    }
    lists |fields| {
        /// Trackers that announces are forwarded to.
        forwarders: Vec<ForwarderEntry> = forwarder::read_all(fields, forwarders_file.as_deref());
    }
    then |config, fields| { config.relate(fields) }
}

choices! {
    /// How an overloaded tracker replies.
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
    /// `max_forwarder_workers` with its default filled in.
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
            let text = format!("write {base} (forwarder_workers) or more, not {max}");
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
    check::that(*life <= Duration::from_secs(60), "at most 1m")
}

fn kept_in_minutes(age: &Duration) -> Result<(), &'static str> {
    let seconds = 60..=u64::from(Age::MAX.0) * 60;
    check::that(seconds.contains(&age.as_secs()), "from 1m to 166h")
}

fn up_to_64(peers: &NonZeroU32) -> Result<(), &'static str> {
    check::that(peers.get() <= 64, "at most 64")
}

fn up_to_1000(hashes: &NonZeroU32) -> Result<(), &'static str> {
    check::that(hashes.get() <= 1000, "at most 1000")
}

fn room_for_a_request(size: &Size) -> Result<(), &'static str> {
    check::that(size.bytes() >= 1024, "at least 1KiB")
}
