//! Forwarders as pages, API and metrics see them, and the call by which an operator tries one out.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use weir_engine::dispatch::UpstreamId;
use weir_engine::{Call, Engine, Outcome, Permit};
use weir_net::BoxFuture;
use weir_web::Upstreams;

use crate::config::forwarder::Family;
use crate::forwarder::office::Office;
use crate::forwarder::{Forwarder, Forwarders};
use crate::judge;
use crate::policy::CLASSES;

impl Upstreams for Forwarders {
    fn engine(&self) -> &Engine {
        &self.office.engine
    }

    fn kind(&self) -> &'static str {
        "tracker"
    }

    fn place(&self, upstream: UpstreamId) -> String {
        let forwarder = self.find(upstream);
        forwarder.map_or_else(String::new, |forwarder| {
            let uri = &forwarder.config.uri;
            format!("{}://{}", uri.scheme(), uri.authority())
        })
    }

    fn probe(&self, upstream: UpstreamId) -> Option<Arc<dyn Call>> {
        let forwarder = self.find(upstream)?;
        Some(Arc::new(Probing {
            office: Arc::clone(&self.office),
            forwarder,
        }))
    }

    fn classes(&self) -> &'static [&'static str] {
        &CLASSES
    }

    fn facts(&self, upstream: UpstreamId) -> Vec<(String, String)> {
        let Some(forwarder) = self.find(upstream) else {
            return Vec::new();
        };
        let config = &forwarder.config;
        let family = match config.family {
            Family::Any => None,
            Family::Ipv4 => Some("IPv4 only".to_owned()),
            Family::Ipv6 => Some("IPv6 only".to_owned()),
        };
        let proxy = config.proxy.as_ref();
        let proxy = proxy.map(|proxy| format!("{}://{}", proxy.scheme(), proxy.authority()));
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

    fn last_interval(&self, upstream: UpstreamId) -> Option<Duration> {
        let seconds = self.find(upstream)?.interval.load(Ordering::Relaxed);
        (seconds > 0).then(|| Duration::from_secs(seconds.into()))
    }
}

/// Asks a tracker for something that changes nothing there.
struct Probing {
    office: Arc<Office>,
    forwarder: Arc<Forwarder>,
}

impl Call for Probing {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            let target = &self.forwarder.target;
            let answer = self.office.outbound.probe(target, permit.time_out()).await;
            match answer {
                Ok(()) => Outcome::Done,
                Err(trouble) => {
                    permit.explain(trouble.to_string());
                    judge::outcome(&trouble, &permit)
                }
            }
        })
    }
}
