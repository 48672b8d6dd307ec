//! The section `notify` and its entries, split by who reads it and when.
//!
//! No key can be forgotten: section and entry are destructured without `..`, each in this one place.

use std::time::Duration;

use weir_config::{Secret, SecretUrl};

use crate::config::Config;
use crate::config::hook::{EventKind, HookEntry, HookKind};
use crate::watch::Terms;

/// What engine and front are built with, once.
pub(crate) struct StartRules {
    pub(crate) queue_size: u32,
    /// Whether hooks may have private addresses.
    pub(crate) private: bool,
}

/// Who is told, and how often; a reload replaces it.
pub(crate) struct NotifyRules {
    pub(crate) entries: Vec<HookEntry>,
    pub(crate) terms: Terms,
    pub(crate) interval: Duration,
    pub(crate) lines: usize,
    pub(crate) look_every: Duration,
    /// Where the pages are, without a slash at the end.
    pub(crate) link: Option<String>,
}

/// The entry of one hook.
pub(crate) struct HookRules {
    pub(crate) name: String,
    pub(crate) kind: HookKind,
    pub(crate) events: Vec<EventKind>,
    pub(crate) down_after: Option<Duration>,
    pub(crate) timeout: Duration,
    pub(crate) way: HookWay,
    pub(crate) ntfy: NtfyRules,
}

/// Where a hook is, and how it is reached.
pub(crate) struct HookWay {
    pub(crate) url: SecretUrl,
    pub(crate) secret: Option<Secret>,
    pub(crate) token: Option<Secret>,
    pub(crate) proxy: Option<SecretUrl>,
}

/// How ntfy shows a message.
#[derive(Clone, Debug)]
pub(crate) struct NtfyRules {
    pub(crate) priority: u32,
    pub(crate) tags: Vec<String>,
}

/// Splits the entry of a hook.
pub(crate) fn split_entry(entry: &HookEntry) -> HookRules {
    let HookEntry {
        name,
        url,
        kind,
        events,
        down_after,
        secret,
        token,
        priority,
        tags,
        timeout,
        proxy,
    } = entry.clone();
    HookRules {
        name,
        kind,
        events,
        down_after,
        timeout,
        way: HookWay {
            url,
            secret,
            token,
            proxy,
        },
        ntfy: NtfyRules { priority, tags },
    }
}

/// Splits the section.
pub(crate) fn split(config: &Config) -> (StartRules, NotifyRules) {
    let Config {
        down_after,
        back_after,
        overload_after,
        interval,
        events_per_message,
        look_every,
        link,
        queue_size,
        allow_private_upstreams,
        hooks,
    } = config.clone();
    let start = StartRules {
        queue_size: queue_size.get(),
        private: allow_private_upstreams,
    };
    let rules = NotifyRules {
        entries: hooks,
        terms: Terms {
            down_after,
            back_after,
            overload_after,
        },
        interval,
        lines: usize::try_from(events_per_message.get()).unwrap_or(usize::MAX),
        look_every,
        link: link.map(|link| link.trim_end_matches('/').to_owned()),
    };
    (start, rules)
}
