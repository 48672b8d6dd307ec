//! The section `web`: where the pages listen, who may sign in, and what one client may ask of us.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use weir_config::{IpNet, Secret, Size, check, choices, section};

section! {
    /// The pages and the API.
    pub struct Config in "web" {
        /// Address of the pages and the API.
        listen: SocketAddr = "127.0.0.1:7070", at start;
        /// The key that opens everything, in place of the one that the first start makes and keeps; 16 characters or more.
        api_key: Option<Secret> = "null", check long_enough;
        /// required or none. Choose none only if something in front of Weir asks for a sign-in.
        auth: Auth = "required";
        /// Networks that may read /metrics and /stats without a key, as this machine itself may. Holds for both listeners.
        trusted: Vec<IpNet> = "[]";
        /// Networks of proxies whose forwarding headers are believed. Holds for both listeners.
        trusted_proxies: Vec<IpNet> = "[]";
        /// Further names that Weir is asked by where it needs no key. Addresses, names without a dot and those that end in localhost, local, lan, internal or home.arpa always count; any other might be that of a site which leads a browser here. Names that a trusted proxy lets through need no entry.
        hosts: Vec<String> = "[]";
        /// Wrong keys that one address may send within sign_in_window; then it waits.
        sign_in_tries: NonZeroU32 = "5";
        /// Time in which wrong keys are counted.
        sign_in_window: Duration = "1m", check check::some_time;
        /// How long a browser stays signed in.
        session_lifetime: Duration = "30d", check check::some_time;
    }
    sections {
        /// What one client may ask of the web listener.
        limits: Limits;
    }
}

section! {
    /// What one client may ask of the web listener.
    pub struct Limits in "limits" {
        /// Largest head of a request, 8KiB or more.
        header_bytes: Size = "16KiB", at start, check room_for_a_head;
        /// Most headers of a request.
        headers: NonZeroU32 = "100", at start;
        /// Largest body of a request.
        body_bytes: Size = "1MiB";
        /// Time for the head of a request to arrive, and for its body while its sender has not signed in.
        header_timeout: Duration = "10s", at start, check check::some_time;
        /// Time for a whole request and its answer; streams of events are not cut.
        request_timeout: Duration = "60s", check check::some_time;
        /// Time a connection may rest between requests.
        idle_timeout: Duration = "75s", at start, check check::some_time;
        /// Connections open at once. An eighth is kept for this machine and trusted_proxies; when all are taken, the one that waits for a request longest makes room.
        connections: NonZeroU32 = "1024", at start;
        /// Connections that one address (an IPv6 /64) holds, but for this machine and trusted_proxies; null is a sixteenth of connections, at least 8.
        connections_per_address: Option<NonZeroU32> = "null", at start;
        /// Streams of events that one address may have open; all together hold at most half of connections.
        streams_per_address: NonZeroU32 = "32";
    }
}

choices! {
    /// Whether signing in is asked for.
    pub enum Auth {
        /// Everything that needs it asks for a key or a session.
        Required = "required",
        /// Nothing asks; something in front of Weir protects it.
        None = "none",
    }
}

/// What a person likes to type is what a machine soon guesses. Spaces at the ends are gone by now.
fn long_enough(key: &Option<Secret>) -> Result<(), &'static str> {
    let Some(key) = key else { return Ok(()) };
    let text = key.expose();
    if text.chars().count() < 16 {
        return Err(
            "16 characters or more, as `openssl rand -hex 16` prints them (or leave it out: Weir makes a key itself)",
        );
    }
    if text.chars().any(char::is_control) {
        return Err("a key in one line, without control characters");
    }
    Ok(())
}

/// Hyper needs this much to read a head at all.
fn room_for_a_head(size: &Size) -> Result<(), &'static str> {
    if size.bytes() < 8192 {
        return Err("8KiB or more");
    }
    Ok(())
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
        assert_eq!(config.session_lifetime, Duration::from_secs(30 * 86_400));
        assert_eq!(config.limits.header_bytes.len(), 16 * 1024);
        assert!(config.api_key.is_none() && config.trusted.is_empty());
    }
}
