//! The section `web`: where the pages listen, who may sign in, and what one client may ask of us.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use weir_config::{Field, Fields, IpNet, Row, Secret, Section, Size, Table, check, choices};

/// What the web listener needs to know.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Where the pages and the API listen.
    pub listen: SocketAddr,
    /// The key that opens everything, in place of the one in the store.
    pub api_key: Option<Secret>,
    /// Whether signing in is asked for.
    pub auth: Auth,
    /// Clients that may read metrics and stats without a key.
    pub trusted: Vec<IpNet>,
    /// Proxies whose forwarding headers are believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Names that Weir answers to where it asks for no key, besides those that no other site can have.
    pub hosts: Vec<String>,
    /// What one client may ask of the listener.
    pub limits: Limits,
    /// Wrong keys that one address may send in a window.
    pub sign_in_tries: u32,
    /// The window in which wrong keys are counted.
    pub sign_in_window: Duration,
    /// How long a session lives without a new sign-in.
    pub session_lifetime: Duration,
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

/// What one client may ask of the listener.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Bytes of a request's head.
    pub header_bytes: usize,
    /// Number of a request's headers.
    pub headers: usize,
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// Time for the head to arrive.
    pub header_timeout: Duration,
    /// Time for a whole request and its answer; streams of events are not cut.
    pub request_timeout: Duration,
    /// Time a connection may rest between requests.
    pub idle_timeout: Duration,
    /// Connections open at once.
    pub connections: usize,
    /// Those that one address may hold; `None` is a sixteenth.
    pub connections_per_address: Option<NonZeroU32>,
    /// Streams of events that one address may have open.
    pub streams_per_address: usize,
}

const LISTEN: Field<SocketAddr> = Field::new(
    "listen",
    "127.0.0.1:7070",
    "Address of the pages and the API.",
)
.at_start(true);
const API_KEY: Field<Option<Secret>> = Field::new(
    "api_key",
    "null",
    "The key that opens everything, in place of the one that the first start makes and keeps; 16 characters or more.",
)
.check(long_enough);

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

const AUTH: Field<Auth> = Field::new(
    "auth",
    "required",
    "required or none. Choose none only if something in front of Weir asks for a sign-in.",
);
const TRUSTED: Field<Vec<IpNet>> = Field::new(
    "trusted",
    "[]",
    "Networks that may read /metrics and /stats without a key, as this machine itself may. Holds for both listeners.",
);
const TRUSTED_PROXIES: Field<Vec<IpNet>> = Field::new(
    "trusted_proxies",
    "[]",
    "Networks of proxies whose forwarding headers are believed. Holds for both listeners.",
);
const HOSTS: Field<Vec<String>> = Field::new(
    "hosts",
    "[]",
    "Further names that Weir is asked by where it needs no key. Addresses, names without a dot and those that end in localhost, local, lan, internal or home.arpa always count; any other might be that of a site which leads a browser here. Names that a trusted proxy lets through need no entry.",
);
const SIGN_IN_TRIES: Field<NonZeroU32> = Field::new(
    "sign_in_tries",
    "5",
    "Wrong keys that one address may send within sign_in_window; then it waits.",
);
const SIGN_IN_WINDOW: Field<Duration> = Field::new(
    "sign_in_window",
    "1m",
    "Time in which wrong keys are counted.",
)
.check(check::some_time);
const SESSION_LIFETIME: Field<Duration> = Field::new(
    "session_lifetime",
    "30d",
    "How long a browser stays signed in.",
)
.check(check::some_time);

impl Section for Config {
    const TABLE: &'static Table = &Table {
        key: "web",
        doc: "The pages and the API.",
        at_start: false,
        rows: &[
            LISTEN.row(),
            API_KEY.row(),
            AUTH.row(),
            TRUSTED.row(),
            TRUSTED_PROXIES.row(),
            HOSTS.row(),
            SIGN_IN_TRIES.row(),
            SIGN_IN_WINDOW.row(),
            SESSION_LIFETIME.row(),
            Row::Section(Limits::TABLE),
        ],
    };

    fn read(fields: &mut Fields<'_>) -> Self {
        Self {
            listen: fields.get(&LISTEN),
            api_key: fields.get(&API_KEY),
            auth: fields.get(&AUTH),
            trusted: fields.get(&TRUSTED),
            trusted_proxies: fields.get(&TRUSTED_PROXIES),
            hosts: fields.get(&HOSTS),
            sign_in_tries: fields.get(&SIGN_IN_TRIES).get(),
            sign_in_window: fields.get(&SIGN_IN_WINDOW),
            session_lifetime: fields.get(&SESSION_LIFETIME),
            limits: fields.section(),
        }
    }
}

const HEADER_BYTES: Field<Size> = Field::new(
    "header_bytes",
    "16KiB",
    "Largest head of a request, 8KiB or more.",
)
.at_start(true)
.check(|size| {
    if size.bytes() < 8192 {
        Err("8KiB or more")
    } else {
        Ok(())
    }
});
const HEADERS: Field<NonZeroU32> =
    Field::new("headers", "100", "Most headers of a request.").at_start(true);
const BODY_BYTES: Field<Size> = Field::new("body_bytes", "1MiB", "Largest body of a request.");
const HEADER_TIMEOUT: Field<Duration> = Field::new(
    "header_timeout",
    "10s",
    "Time for the head of a request to arrive, and for its body while its sender has not signed in.",
)
.check(check::some_time).at_start(true);
const REQUEST_TIMEOUT: Field<Duration> = Field::new(
    "request_timeout",
    "60s",
    "Time for a whole request and its answer; streams of events are not cut.",
)
.check(check::some_time);
const IDLE_TIMEOUT: Field<Duration> = Field::new(
    "idle_timeout",
    "75s",
    "Time a connection may rest between requests.",
)
.check(check::some_time)
.at_start(true);
const CONNECTIONS: Field<NonZeroU32> = Field::new(
    "connections",
    "1024",
    "Connections open at once. An eighth is kept for this machine and trusted_proxies; when all are taken, the one that waits for a request longest makes room.",
).at_start(true);
const CONNECTIONS_PER_ADDRESS: Field<Option<NonZeroU32>> = Field::new(
    "connections_per_address",
    "null",
    "Connections that one address (an IPv6 /64) holds, but for this machine and trusted_proxies; null is a sixteenth of connections, at least 8.",
).at_start(true);
const STREAMS_PER_ADDRESS: Field<NonZeroU32> = Field::new(
    "streams_per_address",
    "32",
    "Streams of events that one address may have open; all together hold at most half of connections.",
);

impl Section for Limits {
    const TABLE: &'static Table = &Table {
        key: "limits",
        doc: "What one client may ask of the web listener.",
        at_start: false,
        rows: &[
            HEADER_BYTES.row(),
            HEADERS.row(),
            BODY_BYTES.row(),
            HEADER_TIMEOUT.row(),
            REQUEST_TIMEOUT.row(),
            IDLE_TIMEOUT.row(),
            CONNECTIONS.row(),
            CONNECTIONS_PER_ADDRESS.row(),
            STREAMS_PER_ADDRESS.row(),
        ],
    };

    fn read(fields: &mut Fields<'_>) -> Self {
        Self {
            header_bytes: fields.get(&HEADER_BYTES).len(),
            headers: count(fields.get(&HEADERS)),
            body_bytes: fields.get(&BODY_BYTES).len(),
            header_timeout: fields.get(&HEADER_TIMEOUT),
            request_timeout: fields.get(&REQUEST_TIMEOUT),
            idle_timeout: fields.get(&IDLE_TIMEOUT),
            connections: count(fields.get(&CONNECTIONS)),
            connections_per_address: fields.get(&CONNECTIONS_PER_ADDRESS),
            streams_per_address: count(fields.get(&STREAMS_PER_ADDRESS)),
        }
    }
}

fn count(number: NonZeroU32) -> usize {
    usize::try_from(number.get()).unwrap_or(usize::MAX)
}

impl Default for Config {
    fn default() -> Self {
        weir_config::defaults()
    }
}

impl Default for Limits {
    fn default() -> Self {
        weir_config::defaults()
    }
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
        assert_eq!(config.sign_in_tries, 5);
        assert_eq!(config.sign_in_window, Duration::from_secs(60));
        assert_eq!(config.session_lifetime, Duration::from_secs(30 * 86_400));
        assert_eq!(config.limits.header_bytes, 16 * 1024);
        assert!(config.api_key.is_none() && config.trusted.is_empty());
    }
}
