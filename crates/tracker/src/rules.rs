//! The section `tracker`, split by who reads it and when.
//!
//! No key can be forgotten: the section is destructured without `..`, so a key that nobody reads does not compile.

use std::path::PathBuf;
use std::time::Duration;

use weir_engine::Rate;
use weir_web::seats::Seating;

use crate::config::{Config, CountBy, OverloadReply};
use crate::exchange::ForwarderRules;
use crate::forwarding::ForwardRules;
use crate::inbound::http::ConnectionLimits;
use crate::inbound::start::Listening;
use crate::judge::Judge;
use crate::ledger::LedgerLimits;
use crate::lists::Lists;
use crate::policy::EngineRules;
use crate::sharing::SharingRules;
use crate::swarm::{Age, PeerCounting, SwarmRules};
use crate::tracker::ClientTerms;
use crate::trust::Trust;

/// What engine and front are built with, once.
pub(crate) struct StartRules {
    pub(crate) engine: EngineRules,
    pub(crate) listening: Listening,
    pub(crate) swarms: SwarmRules,
    pub(crate) sharing: SharingRules,
    pub(crate) ledger: LedgerLimits,
    pub(crate) held_replies: usize,
    pub(crate) snapshot_every: Duration,
    pub(crate) udp_connection_life: Duration,
    pub(crate) allow_private_upstreams: bool,
}

/// What a reload replaces.
pub(crate) struct ReloadRules {
    /// They trust nobody and have no lists yet: trust is in the section `web`, and a list may be unreadable.
    pub(crate) terms: ClientTerms,
    pub(crate) allow_file: Option<PathBuf>,
    pub(crate) deny_file: Option<PathBuf>,
    pub(crate) forwarders: ForwarderRules,
}

/// Splits the section.
pub(crate) fn split(config: &Config) -> (StartRules, ReloadRules) {
    let max_workers = config.max_workers();
    let Config {
        http_listen,
        udp_listen,
        announce_interval,
        first_interval,
        first_window,
        first_wait,
        first_wait_replies,
        age,
        retry_period,
        queue_full_retry,
        overload_reply,
        count_by,
        count_by_ip_peers,
        numwant,
        max_numwant,
        max_swarms,
        max_peers,
        max_peers_per_ip,
        scrape_hashes,
        listener_threads,
        http_connections,
        http_connections_per_address,
        http_idle_timeout,
        http_request_timeout,
        http_request_bytes,
        snapshot_every,
        allow_file,
        deny_file,
        forwarders_file: _, // `forwarders` has what it says
        forwarder_queue_size,
        forwarder_workers,
        max_forwarder_workers: _, // in `max_workers`
        queue_scale_threshold_pct,
        queue_throttle_threshold,
        queue_throttle_top_n,
        queue_rate_limit_threshold,
        rate_limit_initial_per_sec,
        rate_limit_initial_burst,
        forwarder_suspend_seconds,
        max_forwarders_per_announce,
        forward_events_per_minute,
        forwarder_calls,
        forward_timeout,
        forwarder_retry_attempts,
        forwarder_retry_base_ms,
        forwarder_fail_threshold,
        forwarder_failed_delay,
        forwarder_interval_min,
        forwarder_interval_max,
        forwarder_retry_in_max,
        forwarder_never_probe,
        forwarder_never_hashes,
        forwarder_peers,
        max_forwarder_peers,
        forwarder_peers_min,
        udp_connection_life,
        allow_private_upstreams,
        share_private,
        aging,
        drop_log_every,
        forwarders,
    } = config.clone();
    let seconds = |time: Duration| u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
    let timeout = |time: Duration| u32::try_from(time.as_secs().max(1)).unwrap_or(u32::MAX / 2);
    let age_minutes = u16::try_from(age.as_secs() / 60).map_or(Age::MAX, Age);
    let start = StartRules {
        engine: EngineRules {
            queue_size: forwarder_queue_size.get(),
            aging,
            grow_at: queue_scale_threshold_pct.value().into(),
            fail_threshold: forwarder_fail_threshold.get(),
            throttled: forwarder_suspend_seconds,
            attempts: u8::try_from(forwarder_retry_attempts.get()).unwrap_or(u8::MAX),
            retry_base: Duration::from_millis(forwarder_retry_base_ms.get().into()),
            first_announces: Rate {
                per_second: rate_limit_initial_per_sec.get(),
                burst: rate_limit_initial_burst.get(),
            },
        },
        listening: Listening {
            udp: udp_listen,
            http: http_listen,
            threads: listener_threads,
            seating: Seating::new(
                http_connections.get() as usize,
                http_connections_per_address,
            ),
            limits: ConnectionLimits {
                idle: timeout(http_idle_timeout),
                request: timeout(http_request_timeout),
                bytes: http_request_bytes.len(),
            },
        },
        swarms: SwarmRules {
            age: age_minutes,
            count_by: match count_by {
                CountBy::Ip => PeerCounting::Address(count_by_ip_peers.get()),
                CountBy::Endpoint => PeerCounting::Endpoint,
            },
            max_swarms: max_swarms.get(),
            max_peers: max_peers.get(),
            max_peers_per_ip: max_peers_per_ip.map(Into::into),
            forwards: true,
        },
        sharing: SharingRules {
            age: age_minutes,
            private: share_private,
        },
        ledger: LedgerLimits {
            sheets: max_swarms.get() as usize,
            peers: max_forwarder_peers.get() as usize,
            peers_of_one: forwarder_peers.get() as usize,
        },
        held_replies: first_wait_replies.get() as usize,
        snapshot_every,
        udp_connection_life,
        allow_private_upstreams,
    };
    let reload = ReloadRules {
        terms: ClientTerms {
            interval: seconds(announce_interval),
            numwant: numwant.min(max_numwant.get()),
            max_numwant: max_numwant.get(),
            scrape_hashes: scrape_hashes.get() as usize,
            forwarding: ForwardRules {
                most: max_forwarders_per_announce.get(),
                throttle_at: queue_throttle_threshold.value().into(),
                throttle_to: queue_throttle_top_n,
                limit_at: queue_rate_limit_threshold.value().into(),
                busy: seconds(retry_period),
                full: seconds(queue_full_retry),
                peers: overload_reply == OverloadReply::Peers,
                first_interval: seconds(first_interval),
                first_window: u16::try_from(first_window.as_secs() / 60).unwrap_or(u16::MAX),
                first_wait,
            },
            trust: Trust::default(),
            lists: Lists::default(),
        },
        allow_file,
        deny_file,
        forwarders: ForwarderRules {
            entries: forwarders,
            calls: forwarder_calls.get(),
            timeout: forward_timeout,
            workers: forwarder_workers.get(),
            max_workers: max_workers.get(),
            events_per_minute: forward_events_per_minute,
            log_every: seconds(drop_log_every).max(1),
            judge: Judge {
                numwant: max_numwant.get(),
                announce_interval,
                failed_delay: forwarder_failed_delay,
                interval_min: forwarder_interval_min,
                interval_max: forwarder_interval_max,
                retry_in_max: forwarder_retry_in_max,
                never: forwarder_never_probe,
                never_hashes: forwarder_never_hashes.get() as usize,
                peers_min: forwarder_peers_min,
                age,
            },
        },
    };
    (start, reload)
}
