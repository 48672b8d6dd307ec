//! The section `web`: where the pages listen, who may sign in, and the limits of one client.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use weir_config::{IpNet, Secret, Size, check, choices, section};

section! {
    /// The pages and the API.
    pub struct Config in "web" {
        /// Address of the pages and the API.
        listen: SocketAddr = "127.0.0.1:7070", at start;
        /// The key to everything, used instead of the one that Weir makes at its first start; 16 characters or more.
        api_key: Option<Secret> = "null", check long_enough;
        /// required or none. Choose none only if something in front of Weir asks for a sign-in.
        auth: Auth = "required";
        /// Networks that may read /metrics and /stats without a key, as this machine itself may. Applies to both listeners.
        trusted: Vec<IpNet> = "[]";
        /// Networks of proxies whose forwarding headers are trusted. Applies to both listeners.
        trusted_proxies: Vec<IpNet> = "[]";
        /// Other host names accepted where no key is needed. Addresses, names without a dot and those ending in localhost, local, lan, internal or home.arpa are always accepted; any other name could belong to a site that points a browser here (DNS rebinding). Behind a proxy, add its public name.
        hosts: Vec<String> = "[]";
        /// Wrong keys that one address may send within sign_in_window before it has to wait.
        sign_in_tries: NonZeroU32 = "5";
        /// Time over which wrong keys are counted.
        sign_in_window: Duration = "1m", check check::some_time;
        /// Pages that one address (in IPv6, one /64) may open within reading_window without signing in, where everybody may read (news.public). A whole thread as a mailbox counts as all of its pages.
        reading_pages: NonZeroU32 = "240";
        /// Time over which those pages are counted.
        reading_window: Duration = "1m", check check::some_time;
        /// How long a browser stays signed in.
        session_lifetime: Duration = "30d", check check::some_time;
    }
    sections {
        /// Limits of the web listener.
        limits: WebLimits;
    }
}

section! {
    /// Limits of the web listener.
    pub struct WebLimits in "limits" {
        /// Maximum size of a request's head, 8KiB or more.
        header_bytes: Size = "16KiB", at start, check room_for_a_head;
        /// Maximum headers in a request.
        headers: NonZeroU32 = "100", at start;
        /// Maximum size of a request's body.
        body_bytes: Size = "1MiB";
        /// Time for the head of a request to arrive, and for its body if the sender has not signed in.
        header_timeout: Duration = "10s", at start, check check::some_time;
        /// Time for a whole request and its answer; event streams are not cut off.
        request_timeout: Duration = "60s", check check::some_time;
        /// How long a connection may stay idle between requests.
        idle_timeout: Duration = "75s", at start, check check::some_time;
        /// Maximum open connections. An eighth is kept free for this machine and trusted_proxies; when all are taken, the one that has been idle longest is closed.
        connections: NonZeroU32 = "1024", at start;
        /// Maximum connections per address (in IPv6, per /64), except for this machine and trusted_proxies; null for a sixteenth of connections, at least 8.
        connections_per_address: Option<NonZeroU32> = "null", at start;
        /// Maximum open event streams per address; all together take at most half of connections.
        streams_per_address: NonZeroU32 = "32";
    }
}

choices! {
    /// Whether signing in is required.
    pub enum Auth {
        /// Pages and the API need a key or a session.
        Required = "required",
        /// Everything is open; something in front of Weir protects it.
        None = "none",
    }
}

/// A key short enough to type from memory is short enough to guess. Spaces at both ends are already trimmed.
fn long_enough(key: &Option<Secret>) -> Result<(), &'static str> {
    let Some(key) = key else { return Ok(()) };
    let text = key.expose();
    if text.chars().count() < 16 {
        return Err(
            "16 characters or more, such as `openssl rand -hex 16` prints (or leave it out: Weir makes a key itself)",
        );
    }
    if text.chars().any(char::is_control) {
        return Err("a key on one line, without control characters");
    }
    Ok(())
}

/// hyper panics if its read buffer is smaller.
fn room_for_a_head(size: &Size) -> Result<(), &'static str> {
    check::that(size.bytes() >= 8192, "8KiB or more")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_can_be_guessed_or_not_be_sent_is_refused() {
        let refused = |text: &str| long_enough(&Some(Secret::new(text))).is_err();
        for key in ["a", "fifteen-letters", "sixteen\nletters-"] {
            assert!(refused(key), "{key:?}");
        }
        for key in ["sixteen-letters-", "sixteen letters.", "ключ-из-16-знаков"] {
            assert!(!refused(key), "{key:?}");
        }
        assert!(long_enough(&None).is_ok());
    }

    #[test]
    fn nothing_written_gives_the_contract() {
        let config = Config::default();
        assert_eq!(config.listen.to_string(), "127.0.0.1:7070");
        assert_eq!(config.auth, Auth::Required);
        assert_eq!(config.sign_in_tries.get(), 5);
        assert_eq!(config.sign_in_window, Duration::from_secs(60));
        assert_eq!(config.reading_pages.get(), 240);
        assert_eq!(config.reading_window, Duration::from_secs(60));
        assert_eq!(config.session_lifetime, Duration::from_secs(30 * 86_400));
        assert_eq!(config.limits.header_bytes.len(), 16 * 1024);
        assert!(config.api_key.is_none() && config.trusted.is_empty());
    }
}
