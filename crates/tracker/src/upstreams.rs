//! The trackers that announces are sent on to: entries of the roster, and what pages show of them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use weir_engine::dispatch::UpstreamId;
use weir_engine::{Engine, Joining, Listed};
use weir_tracker_proto::announce::Endpoint as Stated;

use crate::config::forwarder::{self, ForwarderFamily};
use crate::ledger::sheet::Slot;
use crate::outbound::TrackerTarget;

/// One tracker that announces are sent on to.
#[derive(Debug)]
pub(crate) struct Forwarder {
    pub(crate) slot: Slot,
    pub(crate) upstream: UpstreamId,
    pub(crate) config: forwarder::ForwarderEntry,
    pub(crate) target: TrackerTarget,
    /// The interval it named last, in seconds; 0 before that.
    interval: AtomicU32,
    /// Its name among several nodes, made when it is needed first.
    pub(crate) shared_key: OnceLock<[u8; 16]>,
}

impl Listed for Forwarder {
    type Entry = forwarder::ForwarderEntry;

    fn entry(&self) -> &forwarder::ForwarderEntry {
        &self.config
    }

    fn upstream(&self) -> UpstreamId {
        self.upstream
    }

    fn name(entry: &forwarder::ForwarderEntry) -> &str {
        &entry.name
    }

    fn leads_elsewhere(
        before: &forwarder::ForwarderEntry,
        now: &forwarder::ForwarderEntry,
    ) -> bool {
        before.uri != now.uri
    }

    fn identity(entry: &forwarder::ForwarderEntry) -> (String, String) {
        // An account, if there is one, is in the address: a passkey.
        (entry.uri.expose().to_owned(), String::new())
    }

    fn look_up_anew(&self) {
        self.target.look_up_anew();
    }
}

impl Forwarder {
    pub(crate) fn new(
        entry: &forwarder::ForwarderEntry,
        slot: Slot,
        joining: &Joining<'_, Self>,
    ) -> Self {
        let kept = joining.own.try_into().map_or(0, u32::from_le_bytes);
        let interval = joining.before.map_or(kept, |before| {
            let interval = &before.interval;
            interval.load(Ordering::Relaxed)
        });
        Self {
            slot,
            upstream: joining.upstream,
            target: TrackerTarget::new(entry),
            config: entry.clone(),
            interval: AtomicU32::new(interval),
            shared_key: OnceLock::new(),
        }
    }

    /// The addresses it is told for our clients.
    pub(crate) fn stated(&self) -> (Option<Stated<Ipv4Addr>>, Option<Stated<Ipv6Addr>>) {
        let port = None;
        match self.config.ip {
            None => (None, None),
            Some(IpAddr::V4(address)) => (Some(Stated { address, port }), None),
            Some(IpAddr::V6(address)) => (None, Some(Stated { address, port })),
        }
    }

    /// It asked for this interval, which is kept over a restart.
    pub(crate) fn note_interval(&self, engine: &Engine, interval: Duration) {
        let seconds = u32::try_from(interval.as_secs()).unwrap_or(u32::MAX);
        if self.interval.swap(seconds, Ordering::Relaxed) != seconds {
            engine.keep_own(self.upstream, &seconds.to_le_bytes());
        }
    }

    pub(crate) fn last_interval(&self) -> Option<Duration> {
        let seconds = self.interval.load(Ordering::Relaxed);
        (seconds > 0).then(|| Duration::from_secs(seconds.into()))
    }

    /// Where it is, without what is secret in its URL.
    pub(crate) fn place(&self) -> String {
        self.config.uri.place()
    }

    /// What its entry says beside that, by label.
    pub(crate) fn facts(&self) -> Vec<(String, String)> {
        let config = &self.config;
        let family = match config.family {
            ForwarderFamily::Any => None,
            ForwarderFamily::Ipv4 => Some("IPv4 only".to_owned()),
            ForwarderFamily::Ipv6 => Some("IPv6 only".to_owned()),
        };
        let proxy = config.proxy.as_ref();
        let proxy = proxy.map(weir_config::SecretUrl::place);
        let facts = [
            ("Told as our address", config.ip.map(|ip| ip.to_string())),
            ("Host header", config.host.clone()),
            ("Proxy", proxy),
            ("Addresses", family),
        ];
        let given = facts.into_iter();
        given
            .filter_map(|(label, value)| Some((label.to_owned(), value?)))
            .collect()
    }
}
