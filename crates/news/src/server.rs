//! One news server as the front keeps it: an entry of its roster, and the way to it.

use std::sync::Arc;

use weir_engine::dispatch::UpstreamId;
use weir_engine::{Joining, Listed};

use crate::config::server::ServerEntry;
use crate::outbound::{Link, Outbound};
use crate::rules::LinkRules;

/// A news server.
pub struct Server {
    served: ServedEntry,
    pub(crate) upstream: UpstreamId,
    /// Shared with the same server under its former entry, if the way has not changed.
    pub(crate) link: Arc<Link>,
}

/// A server's entry with what all servers share: a change of either makes its connections anew.
#[derive(Clone, Debug, PartialEq)]
pub struct ServedEntry {
    pub(crate) entry: ServerEntry,
    pub(crate) link: LinkRules,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Server").field(&self.name()).finish()
    }
}

impl Server {
    pub(crate) fn join(
        served: &ServedEntry,
        joining: &Joining<'_, Self>,
        outbound: &Outbound,
    ) -> Self {
        let same = joining
            .before
            .filter(|before| has_same_way(&before.served, served));
        let link = match same {
            Some(before) => before.link.clone(),
            None => {
                if let Some(before) = joining.before {
                    before.link.close();
                }
                Arc::new(outbound.link(&served.link, &served.entry))
            }
        };
        Self {
            served: served.clone(),
            upstream: joining.upstream,
            link,
        }
    }

    /// What its article numbers belong to, whatever it is called here.
    pub(crate) fn place(&self) -> String {
        self.entry().place()
    }

    /// The name that it has on pages.
    pub fn name(&self) -> &str {
        &self.served.entry.name
    }

    /// Its entry in the configuration.
    pub(crate) fn entry(&self) -> &ServerEntry {
        &self.served.entry
    }
}

/// Whether only what has nothing to do with connections differs.
pub(crate) fn has_same_way(before: &ServedEntry, now: &ServedEntry) -> bool {
    let mut other = before.clone();
    other.entry.priority = now.entry.priority;
    other == *now
}

impl Listed for Server {
    type Entry = ServedEntry;

    fn entry(&self) -> &ServedEntry {
        &self.served
    }

    fn upstream(&self) -> UpstreamId {
        self.upstream
    }

    fn name(served: &ServedEntry) -> &str {
        &served.entry.name
    }

    fn leads_elsewhere(before: &ServedEntry, now: &ServedEntry) -> bool {
        let account = |served: &ServedEntry| {
            let entry = &served.entry;
            (
                entry.host.to_ascii_lowercase(),
                entry.port,
                entry.username.clone(),
            )
        };
        account(before) != account(now)
    }

    fn identity(served: &ServedEntry) -> (String, String) {
        served.entry.identity()
    }

    fn look_up_anew(&self) {
        self.link.look_up_anew();
    }
}
