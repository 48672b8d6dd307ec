//! Passkeys reach the upstream byte for byte, and nobody else.

use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::Request;
use tower::ServiceExt;
use weir_testkit::log;
use weir_testkit::zoo::http::{Behaviour, Good, RetryAfter, Tracker};
use weir_testkit::zoo::{Place, udp as udp_zoo};

use super::*;

/// In the path and in the query, with bytes that a careless hand would change.
const PATH: &str = "Pa~sS%2fk.3y!";
const QUERY: &str = "s3cr%41t+*'(x)";

fn is_clean(text: &str) -> bool {
    ["sS%2fk", "s3cr", "sS/k", "sS%2Fk"]
        .iter()
        .all(|secret| !text.contains(secret))
}

/// All that can be read of a forwarder: as a value, on pages, in figures.
async fn readable(weir: &mut Weir, forwarder: &ForwarderEntry) -> String {
    let view = weir.view();
    let decisions = weir.engine.decisions(view.figures.upstream, None, 100);
    let status = weir.engine.status();
    let uri = &forwarder.uri;
    let mut all = format!("{forwarder:#?} {uri} {view:?} {decisions:?} {status:?}");
    let requests = weir_web::Requests::default();
    let front = weir.front.as_mut().expect("it runs");
    let contribution = front.contribution(&requests).expect("a thread");
    let state = weir_store::sqlite::File::open(weir.directory.path().join("state.db"));
    let state = state.expect("a file");
    let key = "the-right-key";
    let web = weir_web::Config {
        api_key: Some(weir_config::Secret::new(key)),
        ..weir_web::Config::default()
    };
    let system = Arc::new(weir_web::System);
    let app = weir_web::App::open(web, &state, system, requests, vec![contribution]);
    let router = app.expect("an application").router();
    for path in [
        "/",
        "/stats",
        "/stats?format=json",
        "/metrics",
        "/upstreams",
        "/upstreams/tracker/upstream",
        "/api/v1/upstreams",
        "/api/v1/upstreams/tracker/upstream",
        "/api/v1/decisions",
    ] {
        let request = Request::builder().uri(path).header("host", "weir:7070");
        let request = request.header("x-api-key", key).body(Body::empty());
        let mut request = request.expect("a request");
        let peer = SocketAddr::from(([127, 0, 0, 1], 4000));
        request.extensions_mut().insert(ConnectInfo(peer));
        let answer = router.clone().oneshot(request).await.expect("an answer");
        assert_eq!(answer.status(), 200, "{path}");
        let body = to_bytes(answer.into_body(), usize::MAX).await;
        let body = body.expect("a body");
        all.push_str(str::from_utf8(&body).expect("text"));
    }
    state.close();
    assert!(all.contains("upstream"), "{all}");
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn passkeys_over_http_are_for_the_upstream_alone() {
    log::listen();
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
        let mut weir = Weir::start(forwarder.clone());
        weir.announce(1, 1000, "").await;
        weir.called(1).await;
        let seen = tracker.seen();
        let head = seen[0].bytes.escape_ascii().to_string();
        let line = format!("GET {target}&info_hash=%01")
            .escape_default()
            .to_string();
        assert!(head.starts_with(&line), "{behaviour:?}: {head}");
        let text = readable(&mut weir, &forwarder).await;
        assert!(is_clean(&text), "{behaviour:?}: {text}");
    }
    // A port where nobody listens any more.
    let gone = Tracker::start(Place::Loopback, Behaviour::Hang).await;
    let url = format!(
        "http://{}/{PATH}/announce?passkey={QUERY}",
        gone.expect("a tracker").address()
    );
    let forwarder = forwarder(&url, None);
    let mut weir = Weir::start(forwarder.clone());
    weir.announce(1, 1000, "").await;
    weir.called(1).await;
    let text = readable(&mut weir, &forwarder).await;
    assert!(is_clean(&text), "{text}");
    let log = log::all();
    assert!(
        log.contains("=> Disabled"),
        "state changes are logged: {log}"
    );
    assert!(is_clean(&log), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn passkeys_over_udp_are_for_the_upstream_alone() {
    log::listen();
    let tracker = udp_zoo::Tracker::start(Place::Loopback, udp_zoo::Behaviour::good()).await;
    let tracker = tracker.expect("a tracker");
    let target = format!("/{PATH}/announce?passkey={QUERY}");
    let forwarder = forwarder(&format!("udp://{}{target}", tracker.address()), None);
    let mut weir = Weir::start(forwarder.clone());
    weir.announce(1, 1000, "").await;
    weir.called(1).await;
    let packet = &tracker.seen()[1].bytes;
    let option = [&[2, target.len() as u8], target.as_bytes(), &[0]].concat();
    assert_eq!(
        packet[98..].escape_ascii().to_string(),
        option.escape_ascii().to_string()
    );
    let text = readable(&mut weir, &forwarder).await;
    assert!(is_clean(&text), "{text}");
    let log = log::all();
    assert!(is_clean(&log), "{log}");
}
