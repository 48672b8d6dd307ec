//! Divides the limit on open files among the parts of Weir.
//!
//! All parts share one limit. Without a division, connections to the tracker could take the last descriptor, and
//! pages, databases and calls to upstreams would fail.

use std::num::NonZeroU32;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::Config;

/// Databases, files, listening sockets, logs, connections being passed from one listener to the other, and those
/// that were ended to make room but are not closed yet.
const FILES: u64 = 768;
/// For each call to a tracker or indexer: its connection, and one kept open for the next.
const PER_CALL: u64 = 2;

/// Connections that each listener may have open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shares {
    web: u64,
    news: u64,
    tracker: u64,
}

impl Shares {
    /// How many of the wanted connections fit within `limit`, next to this many connections to upstreams. The tracker gives
    /// up connections first, until it has half of what is left for listeners; then newsreaders.
    fn of(self, limit: u64, outward: u64) -> Self {
        let others = FILES.saturating_add(outward);
        // A limit this low is not meant for many upstreams, so listeners get at least half.
        let others = others.min(limit / 2);
        let connections = limit - others;
        let web = self.web.min(connections.div_ceil(2));
        let news = self.news.min((connections - web).div_ceil(2));
        Self {
            web: web.max(1),
            news: news.max(1),
            tracker: self.tracker.min(connections - web - news).max(1),
        }
    }
}

/// Raises the limit to the highest allowed and returns it; `None` if there is no limit.
fn raise() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    if limit.current != limit.maximum && setrlimit(Resource::Nofile, most).is_err() {
        return limit.current;
    }
    limit.maximum
}

/// Raises the limit. If it is still too low for the configured connections, listeners get fewer, and a warning is
/// logged.
pub(super) fn divide(config: &mut Config) {
    let Some(limit) = raise() else {
        return;
    };
    let wanted = Shares {
        web: config.web.limits.connections.get().into(),
        news: match (config.news.nntp_listen, config.news.nntps_listen) {
            (None, None) => 1,
            _ => config.news.nntp.connections.get().into(),
        },
        tracker: config.tracker.http_connections.get().into(),
    };
    let search = config.search.indexers.len() as u64;
    let hooks = config.notify.hooks.len() as u64;
    let calls = u64::from(config.tracker.max_workers().get()) + search + hooks;
    let servers = config.news.servers.iter();
    let news: u64 = servers
        .map(|entry| u64::from(entry.connections.get()))
        .sum();
    let given = wanted.of(limit, calls.saturating_mul(PER_CALL) + news);
    if given == wanted {
        return;
    }
    tracing::warn!(
        limit,
        tracker = given.tracker,
        web = given.web,
        news = given.news,
        "the limit on open files is too low for the configured connections, so listeners accept fewer; raise the limit (LimitNOFILE= in systemd, ulimit -n) or lower tracker.http_connections"
    );
    let at_least_one = |given| {
        u32::try_from(given)
            .ok()
            .and_then(NonZeroU32::new)
            .unwrap_or(NonZeroU32::MIN)
    };
    config.tracker.http_connections = at_least_one(given.tracker);
    config.web.limits.connections = at_least_one(given.web);
    let listens = config.news.nntp_listen.or(config.news.nntps_listen);
    if listens.is_some() {
        config.news.nntp.connections = at_least_one(given.news);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tracker_leaves_descriptors_to_the_others() {
        let wanted = Shares {
            web: 1024,
            news: 1024,
            tracker: 15_000,
        };
        assert_eq!(wanted.of(1 << 20, 40), wanted);
        let of = |limit| {
            let Shares { web, news, tracker } = wanted.of(limit, 40);
            assert!(web + news + tracker <= limit.max(3), "{limit}");
            (web, news, tracker)
        };
        assert_eq!(of(17_856), (1024, 1024, 15_000), "just enough");
        assert_eq!(of(17_855), (1024, 1024, 14_999));
        assert_eq!(of(4096), (1024, 1024, 1240));
        assert_eq!(of(1024), (256, 128, 128));
        assert_eq!(of(2), (1, 1, 1));
    }
}
