//! Passkeys reach the upstream byte for byte, and nobody else.

use std::sync::{Mutex, OnceLock};

use tracing_subscriber::fmt::MakeWriter;
use weir_testkit::zoo::http::{Behaviour, Good, RetryAfter, Tracker};
use weir_testkit::zoo::{Place, udp as udp_zoo};

use super::*;

/// In the path and in the query, with bytes that a careless hand would change.
const PATH: &str = "Pa~sS%2fk.3y!";
const QUERY: &str = "s3cr%41t+*'(x)";

/// Everything that this program logs.
static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Log;

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOG.lock()
            .expect("nobody panics here")
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        Self
    }
}

fn listen() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        tracing_subscriber::fmt()
            .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
            .with_writer(Log)
            .init();
    });
}

fn is_clean(text: &str) -> bool {
    ["sS%2fk", "s3cr", "sS/k", "sS%2Fk"]
        .iter()
        .all(|secret| !text.contains(secret))
}

/// All that can be read of a forwarder.
fn readable(weir: &Weir, forwarder: &Forwarder) -> String {
    let view = weir.view();
    let decisions = weir.engine.decisions(view.figures.upstream, None, 100);
    let status = weir.engine.status();
    format!(
        "{forwarder:?} {forwarder:#?} {view:?} {decisions:?} {status:?} {}",
        forwarder.uri
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn passkeys_over_http_are_for_the_upstream_alone() {
    listen();
    let status = |status| Behaviour::Status(status, RetryAfter::None);
    for behaviour in [
        Behaviour::Good(Good::default()),
        status(429),
        status(404),
        status(500),
        Behaviour::Html,
        Behaviour::Garbage,
        Behaviour::Reset,
        Behaviour::RetryNever,
        Behaviour::RedirectLoop,
        Behaviour::FailureOnly("no".to_owned()),
    ] {
        let tracker = Tracker::start(Place::Loopback, behaviour.clone()).await;
        let tracker = tracker.expect("a tracker");
        let target = format!("/{PATH}/announce?passkey={QUERY}&uid=1");
        let url = format!("http://{}{target}", tracker.address());
        let forwarder = forwarder(&url, None);
        let weir = Weir::start(forwarder.clone());
        weir.announce(1, 1000, "").await;
        weir.called(1).await;
        let seen = tracker.seen();
        let head = seen[0].bytes.escape_ascii().to_string();
        let line = format!("GET {target}&info_hash=%01")
            .escape_default()
            .to_string();
        assert!(head.starts_with(&line), "{behaviour:?}: {head}");
        let text = readable(&weir, &forwarder);
        assert!(is_clean(&text), "{behaviour:?}: {text}");
    }
    // A port where nobody listens any more.
    let gone = Tracker::start(Place::Loopback, Behaviour::Hang).await;
    let url = format!(
        "http://{}/{PATH}/announce?passkey={QUERY}",
        gone.expect("a tracker").address()
    );
    let forwarder = forwarder(&url, None);
    let weir = Weir::start(forwarder.clone());
    weir.announce(1, 1000, "").await;
    weir.called(1).await;
    let text = readable(&weir, &forwarder);
    assert!(is_clean(&text), "{text}");
    let log = LOG
        .lock()
        .expect("nobody panics here")
        .escape_ascii()
        .to_string();
    assert!(log.contains("Open => "), "state changes are logged: {log}");
    assert!(is_clean(&log), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn passkeys_over_udp_are_for_the_upstream_alone() {
    listen();
    let tracker = udp_zoo::Tracker::start(Place::Loopback, udp_zoo::Behaviour::good()).await;
    let tracker = tracker.expect("a tracker");
    let target = format!("/{PATH}/announce?passkey={QUERY}");
    let forwarder = forwarder(&format!("udp://{}{target}", tracker.address()), None);
    let weir = Weir::start(forwarder.clone());
    weir.announce(1, 1000, "").await;
    weir.called(1).await;
    let packet = &tracker.seen()[1].bytes;
    let option = [&[2, target.len() as u8], target.as_bytes(), &[0]].concat();
    assert_eq!(
        packet[98..].escape_ascii().to_string(),
        option.escape_ascii().to_string()
    );
    let text = readable(&weir, &forwarder);
    assert!(is_clean(&text), "{text}");
    let log = LOG
        .lock()
        .expect("nobody panics here")
        .escape_ascii()
        .to_string();
    assert!(is_clean(&log), "{log}");
}
