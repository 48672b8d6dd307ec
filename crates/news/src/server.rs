//! One news server as the front keeps it: an entry of its roster, and the way to it.

use std::sync::Arc;

use weir_engine::dispatch::UpstreamId;
use weir_engine::{Joining, Listed};

use crate::config::Config;
use crate::config::server::ServerEntry;
use crate::outbound::{Link, Outbound};

/// A news server.
pub struct Server {
    pub(crate) entry: ServerEntry,
    pub(crate) upstream: UpstreamId,
    /// Shared with the same server under its former entry, if the way has not changed.
    pub(crate) link: Arc<Link>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Server").field(&self.entry.name).finish()
    }
}

impl Server {
    pub(crate) fn join(
        entry: &ServerEntry,
        joining: &Joining<'_, Self>,
        outbound: &Outbound,
        config: &Config,
    ) -> Self {
        let same = joining
            .before
            .filter(|before| has_same_way(&before.entry, entry));
        let link = match same {
            Some(before) => before.link.clone(),
            None => {
                if let Some(before) = joining.before {
                    before.link.close();
                }
                Arc::new(outbound.link(config, entry))
            }
        };
        Self {
            entry: entry.clone(),
            upstream: joining.upstream,
            link,
        }
    }

    /// The name that it has on pages.
    pub fn name(&self) -> &str {
        &self.entry.name
    }
}

/// Whether only what has nothing to do with connections differs.
fn has_same_way(before: &ServerEntry, now: &ServerEntry) -> bool {
    let mut other = before.clone();
    other.priority = now.priority;
    other == *now
}

impl Listed for Server {
    type Entry = ServerEntry;

    fn entry(&self) -> &ServerEntry {
        &self.entry
    }

    fn upstream(&self) -> UpstreamId {
        self.upstream
    }

    fn name(entry: &ServerEntry) -> &str {
        &entry.name
    }

    fn leads_elsewhere(before: &ServerEntry, now: &ServerEntry) -> bool {
        let account = |entry: &ServerEntry| {
            (
                entry.host.to_ascii_lowercase(),
                entry.port,
                entry.username.clone(),
            )
        };
        account(before) != account(now)
    }

    fn look_up_anew(&self) {
        self.link.look_up_anew();
    }
}
