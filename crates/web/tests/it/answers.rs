//! What answers look like: headers, assets, figures, failures.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use weir_web::{Config, Contribution, Icon, WebLimits};

use crate::support::{KEY, config, rig, rig_of, rig_with};

#[tokio::test]
async fn every_answer_carries_the_security_headers() {
    let rig = rig();
    let mut known = rig.visitor();
    known.sign_in(KEY).await;
    let page = known.get("/").await;
    let asset = page
        .body
        .split("href=\"")
        .find(|part| part.starts_with("/assets/app-"))
        .unwrap();
    let asset = asset.split('"').next().unwrap().to_owned();
    let paths = [
        "/",
        "/sign-in",
        "/nope",
        "/healthz",
        "/stats",
        "/api/v1/sample",
        "/feed",
        "/panics",
        "/favicon.ico",
        &asset,
    ];
    for path in paths {
        for reply in [known.get(path).await, rig.visitor().get(path).await] {
            assert_eq!(
                reply.header("content-security-policy"),
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                 form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
                "{path}"
            );
            assert_eq!(reply.header("x-content-type-options"), "nosniff", "{path}");
            assert_eq!(reply.header("x-frame-options"), "DENY", "{path}");
            assert_eq!(reply.header("referrer-policy"), "same-origin", "{path}");
            assert_eq!(
                reply.header("cross-origin-opener-policy"),
                "same-origin",
                "{path}"
            );
            assert!(!reply.header("permissions-policy").is_empty(), "{path}");
            assert!(!reply.header("x-request-id").is_empty(), "{path}");
            let kept = path.starts_with("/assets/") || path == "/favicon.ico";
            assert_eq!(reply.header("cache-control") == "no-store", !kept, "{path}");
        }
    }
}

#[tokio::test]
async fn pages_hold_no_inline_script_or_style() {
    let rig = rig();
    let mut visitor = rig.visitor();
    let mut bodies = vec![visitor.get("/sign-in").await.body];
    visitor.sign_in(KEY).await;
    for path in ["/", "/more", "/nope"] {
        bodies.push(visitor.get(path).await.body);
    }
    for body in bodies {
        assert!(
            !body.contains(" style=") && !body.contains("<style") && !body.contains(" onclick"),
            "{body}"
        );
        assert_eq!(
            body.matches("<script").count(),
            body.matches("<script src=\"/assets/").count(),
            "{body}"
        );
        assert_eq!(body.matches("<h1").count(), 1, "{body}");
    }
}

#[tokio::test]
async fn assets_are_kept_for_good_and_confirmed_by_tag() {
    let rig = rig();
    let mut visitor = rig.visitor();
    let page = visitor.get("/sign-in").await.body;
    for (ending, kind) in [
        (".js", "text/javascript"),
        (".css", "text/css"),
        (".svg", "image/svg+xml"),
    ] {
        let path = page
            .split('"')
            .find(|part| part.starts_with("/assets/") && part.ends_with(ending))
            .unwrap();
        let plain = visitor.get(path).await;
        assert_eq!(plain.status, StatusCode::OK);
        assert!(plain.header("content-type").starts_with(kind));
        assert_eq!(
            plain.header("cache-control"),
            "public, max-age=31536000, immutable"
        );
        let packed = visitor
            .ask(Method::GET, path, &[("accept-encoding", "br, gzip")], None)
            .await;
        assert_eq!(packed.header("content-encoding"), "gzip");
        let tag = plain.header("etag");
        let again = visitor
            .ask(Method::GET, path, &[("if-none-match", tag)], None)
            .await;
        assert_eq!(
            (again.status, again.body.len()),
            (StatusCode::NOT_MODIFIED, 0)
        );
        let other = visitor
            .ask(Method::GET, path, &[("if-none-match", "\"other\"")], None)
            .await;
        assert_eq!(other.status, StatusCode::OK);
    }
    assert_eq!(
        visitor.get("/assets/app-000000000000.js").await.status,
        StatusCode::NOT_FOUND
    );
    assert_eq!(
        visitor.get("/assets/..%2Fsecret").await.status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn stats_come_as_text_and_json() {
    let rig = rig();
    rig.clock.advance(Duration::from_secs(42));
    let mut near = rig.visitor_from("127.0.0.1");
    let json: serde_json::Value =
        serde_json::from_str(&near.get("/stats?format=json").await.body).unwrap();
    assert_eq!(
        json["version"],
        env!("CARGO_PKG_VERSION"),
        "no front speaks for the whole"
    );
    assert_eq!(json["uptime_seconds"], 42);
    assert_eq!(json["started"], "2026-11-14T23:46:40Z");
    assert_eq!(json["fronts"]["sample"]["queue_depth"], 3);
    assert_eq!(json["queue_depth"], 3, "also on top");
    let text = near.get("/stats").await;
    assert!(text.header("content-type").starts_with("text/plain"));
    assert!(
        text.body.contains("\nuptime_seconds 42\n")
            && text.body.contains("\n[sample]\nqueue_depth 3\n")
    );
    assert_eq!(
        near.get("/stats?format=xml").await.status,
        StatusCode::BAD_REQUEST
    );
}

#[tokio::test]
async fn metrics_have_their_names() {
    let rig = rig();
    let mut near = rig.visitor_from("127.0.0.1");
    near.get("/healthz").await;
    near.get("/feed").await;
    let text = near.get("/metrics").await.body;
    for line in [
        "weir_build_info{version=\"0.1.0\"} 1",
        "weir_requests_total{front=\"web\",kind=\"health\"} 1",
        "weir_requests_total{front=\"sample\",kind=\"feed\"} 1",
        "weir_web_connections 0",
        "weir_queue_depth 3",
        "process_start_time_seconds 1794700000.0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
    }
    assert!(
        text.contains("\nprocess_resident_memory_bytes ")
            && text.contains("\nprocess_cpu_seconds_total ")
    );
}

#[tokio::test]
async fn readiness_asks_the_fronts_each_time() {
    let down = Arc::new(AtomicBool::new(false));
    let asked = down.clone();
    let front = Contribution::new("tracker", "Tracker", Icon::Tracker);
    let front = front.missing(move || match asked.load(Ordering::Relaxed) {
        true => vec!["tracker: udp failed 3 times in a row".to_owned()],
        false => Vec::new(),
    });
    let rig = rig_of(config(), vec![front]);
    let mut visitor = rig.visitor();
    assert_eq!(visitor.get("/readyz").await.status, StatusCode::OK);
    down.store(true, Ordering::Relaxed);
    let reply = visitor.get("/readyz").await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(reply.body.contains("udp failed 3 times in a row"));
    let alive = visitor.get("/healthz").await.status;
    assert_eq!(alive, StatusCode::OK, "alive all the same");
    down.store(false, Ordering::Relaxed);
    assert_eq!(visitor.get("/readyz").await.body, "ready\n");
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused() {
    let rig = rig_with(Config {
        limits: WebLimits {
            body_bytes: 100.into(),
            ..WebLimits::default()
        },
        ..config()
    });
    let mut visitor = rig.visitor();
    let long = "x".repeat(101);
    let key = [("x-api-key", KEY)];
    let undeclared = visitor.ask(Method::POST, "/takes", &key, Some(&long)).await;
    assert_eq!(undeclared.status, StatusCode::PAYLOAD_TOO_LARGE);
    let declared = visitor
        .ask(
            Method::POST,
            "/page",
            &[key[0], ("content-length", "101")],
            Some(&long),
        )
        .await;
    assert_eq!(declared.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(declared.body.contains("larger than 100 bytes"));
    assert_eq!(
        visitor
            .ask(Method::POST, "/takes", &key, Some(&long[..100]))
            .await
            .body
            .len(),
        100
    );
}

#[tokio::test]
async fn a_panic_is_an_answer_with_an_id() {
    let rig = rig();
    let reply = rig
        .visitor()
        .ask(Method::GET, "/panics", &[("x-api-key", KEY)], None)
        .await;
    assert_eq!(reply.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(
        reply.body.contains(reply.header("x-request-id")) && !reply.body.contains("on purpose")
    );
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_given_up() {
    let limits = WebLimits {
        request_timeout: Duration::from_millis(20),
        ..WebLimits::default()
    };
    let rig = rig_with(Config { limits, ..config() });
    let reply = rig
        .visitor()
        .ask(Method::GET, "/slow", &[("x-api-key", KEY)], None)
        .await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(reply.body.contains("longer than 0.02 s"), "{}", reply.body);
}

#[tokio::test]
async fn another_method_is_explained() {
    let rig = rig();
    let reply = rig
        .visitor()
        .ask(Method::POST, "/more", &[("x-api-key", KEY)], None)
        .await;
    assert_eq!(reply.status, StatusCode::METHOD_NOT_ALLOWED);
    assert!(reply.body.contains("does not accept this kind of request"));
}
