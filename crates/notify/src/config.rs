//! The section `notify`.

use std::num::NonZeroU32;
use std::time::Duration;

use weir_config::{check, section};

pub mod hook;

use self::hook::HookEntry;

/// Hooks at most: each is a list of its own of what it was told.
const MOST_HOOKS: usize = 32;
/// Events in one message at most, whatever is configured: messages are bounded by it.
const MOST_LINES: u32 = 100;

section! {
    /// Messages about what goes wrong, sent through hooks: webhooks, ntfy, Discord, Slack.
    pub struct Config in "notify" {
        /// How long an upstream must be down before a message says so; a hook may have its own.
        down_after: Duration = "10m";
        /// How long an upstream must work again before a message says so. One that fails again before counts as down all the
        /// time; for one that comes and goes this time doubles, up to an hour.
        back_after: Duration = "2m";
        /// How long a front must be overloaded before a message says so.
        overload_after: Duration = "1m";
        /// Minimum time between two messages to one hook; what happens meanwhile is gathered into the next.
        interval: Duration = "1m", check check::some_time;
        /// Maximum events listed in a message; the rest is counted.
        events_per_message: NonZeroU32 = "20", check not_too_many;
        /// How often Weir looks for changes.
        look_every: Duration = "5s", check check::some_time;
        /// Address of these pages as readers of messages reach them, such as https://weir.example; null for messages without
        /// a link.
        link: Option<String> = "null", check web_address;
        /// Maximum queued messages.
        queue_size: NonZeroU32 = "256", at start;
        /// Whether hooks may have private addresses.
        allow_private_upstreams: bool = "true", at start;
    }
    lists |fields| {
        /// Where messages are sent.
        hooks: Vec<HookEntry> = {
            let list = fields.list();
            fields.distinct::<HookEntry>("name");
            list
        };
    }
    then |config, fields| {
        if config.hooks.len() > MOST_HOOKS {
            let text = format!("remove {} of {} hooks; there may be {MOST_HOOKS}", config.hooks.len() - MOST_HOOKS, config.hooks.len());
            fields.refuse("hooks", text);
        }
    }
}

fn not_too_many(lines: &NonZeroU32) -> Result<(), &'static str> {
    check::that(lines.get() <= MOST_LINES, "a number from 1 to 100")
}

/// A link that people can follow and that holds no secret: it is written into every message.
fn web_address(link: &Option<String>) -> Result<(), &'static str> {
    let Some(link) = link else { return Ok(()) };
    let fits = url::Url::parse(link).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.host_str().is_some()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
    });
    check::that(
        fits && link.len() <= 200,
        "a URL that begins with http or https, without user name, query or fragment",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_can_be_followed_and_tells_nothing() {
        let refused = |link: &str| web_address(&Some(link.to_owned())).is_err();
        for link in [
            "weir",
            "ftp://weir.example",
            "https://me:word@weir.example",
            "https://weir.example/?key=k",
        ] {
            assert!(refused(link), "{link}");
        }
        for link in ["https://weir.example", "http://192.0.2.7:7070/weir/"] {
            assert!(!refused(link), "{link}");
        }
    }
}
