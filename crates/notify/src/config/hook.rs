//! The entries of `notify.hooks`.

use std::time::Duration;

use weir_config::{Secret, SecretUrl, check, choices, item};

item! {
    /// Where messages are sent.
    pub struct HookEntry in "hooks", example "{ name: phone, kind: ntfy, url: \"https://ntfy.example/my-topic\" }" {
        needed {
            /// Name in pages, paths, logs and metrics: letters, digits, dot, dash, underscore.
            name: String, check |name| check::path_word(name);
            /// Where it takes messages: the URL of the webhook, or of the topic with ntfy.
            url: SecretUrl, check check::web_url;
        }
        /// webhook (JSON, signed), ntfy, discord or slack.
        kind: HookKind = "webhook";
        /// What it is told: down, back, quota, overload, network.
        events: Vec<EventKind> = "[down, back, quota, overload, network]", check |events| check::not_empty(events);
        /// How long an upstream must be down before this hook is told; null for notify.down_after.
        down_after: Option<Duration> = "null";
        /// Key that messages to a webhook are signed with, 16 characters or more; null for messages without a signature.
        secret: Option<Secret> = "null", check long_enough;
        /// Access token of ntfy.
        token: Option<Secret> = "null", check sendable;
        /// Priority with ntfy, from 1 (lowest) to 5 (highest).
        priority: u32 = "3", check one_to_five;
        /// Tags with ntfy, such as warning.
        tags: Vec<String> = "[]", check |tags| tags.iter().try_for_each(|tag| check::path_word(tag));
        /// Timeout of one call.
        timeout: Duration = "10s", check up_to_half_a_minute;
        /// Proxy to call it through: http or socks5 URL.
        proxy: Option<SecretUrl> = "null", check check::proxy;
    }
    then |fields| {
        if kind != HookKind::Webhook && secret.is_some() {
            fields.refuse("secret", "remove this key: only messages to a webhook are signed");
        }
        if kind != HookKind::Ntfy && token.is_some() {
            fields.refuse("token", "remove this key: only ntfy takes a token");
        }
        if kind != HookKind::Ntfy && !tags.is_empty() {
            fields.refuse("tags", "remove this key: only ntfy takes tags");
        }
        if kind == HookKind::Ntfy && url.as_ref().is_some_and(|url| topic(url).is_none()) {
            fields.refuse("url", "add the topic to the URL, as in https://ntfy.example/my-topic");
        }
    }
}

choices! {
    /// What a hook understands.
    pub enum HookKind {
        /// Our own JSON.
        Webhook = "webhook",
        /// ntfy.
        Ntfy = "ntfy",
        /// Discord, and what looks like it.
        Discord = "discord",
        /// Slack, and what looks like it.
        Slack = "slack",
    }
}

choices! {
    /// What a message may be about.
    pub enum EventKind {
        /// An upstream has been down for some time.
        Down = "down",
        /// It works again.
        Back = "back",
        /// Its quota is used up.
        Quota = "quota",
        /// A front has more to do than it can.
        Overload = "overload",
        /// Our own network is or was down.
        Network = "network",
    }
}

impl HookKind {
    /// As people write it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Webhook => "Webhook",
            Self::Ntfy => "ntfy",
            Self::Discord => "Discord",
            Self::Slack => "Slack",
        }
    }
}

impl EventKind {
    /// Its name in messages to programs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Back => "back",
            Self::Quota => "quota",
            Self::Overload => "overload",
            Self::Network => "network",
        }
    }
}

/// The server and the topic of an ntfy URL: the topic is the last part of its path.
pub(crate) fn topic(url: &SecretUrl) -> Option<(SecretUrl, String)> {
    let mut server = url.expose_url().clone();
    let parts: Vec<String> = server.path_segments()?.map(str::to_owned).collect();
    let (topic, before) = parts.split_last()?;
    if topic.is_empty() || server.query().is_some() {
        return None;
    }
    server.set_path(&before.join("/"));
    server.set_fragment(None);
    Some((SecretUrl::parse(server.as_str())?, topic.clone()))
}

/// What is easily guessed proves nothing.
fn long_enough(secret: &Option<Secret>) -> Result<(), &'static str> {
    let fits = |secret: &Secret| secret.expose().chars().count() >= 16;
    check::that(
        secret.as_ref().is_none_or(fits),
        "16 characters or more, such as `openssl rand -hex 16` prints",
    )
}

/// It is sent in a header.
fn sendable(token: &Option<Secret>) -> Result<(), &'static str> {
    let fits = |token: &Secret| token.expose().bytes().all(|byte| byte.is_ascii_graphic());
    check::that(
        token.as_ref().is_none_or(fits),
        "a token of letters, digits and signs, without spaces",
    )
}

fn one_to_five(priority: &u32) -> Result<(), &'static str> {
    check::that((1..=5).contains(priority), "a number from 1 to 5")
}

/// A test is answered within the time of a request to the pages.
fn up_to_half_a_minute(timeout: &Duration) -> Result<(), &'static str> {
    let fits = !timeout.is_zero() && *timeout <= Duration::from_secs(30);
    check::that(fits, "more than 0s and at most 30s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_topic_is_the_last_part_of_the_path() {
        let split = |url: &str| {
            let (server, topic) = topic(&SecretUrl::parse(url).unwrap())?;
            Some((server.expose().to_owned(), topic))
        };
        let some = |server: &str, topic: &str| Some((server.to_owned(), topic.to_owned()));
        assert_eq!(
            split("https://ntfy.example/weir"),
            some("https://ntfy.example/", "weir")
        );
        assert_eq!(
            split("http://192.0.2.1:8080/ntfy/weir"),
            some("http://192.0.2.1:8080/ntfy", "weir")
        );
        assert_eq!(split("https://ntfy.example/"), None);
        assert_eq!(split("https://ntfy.example"), None);
    }
}
