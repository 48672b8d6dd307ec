//! Signing in and out: by form, by link, across restarts, and being wrong too often.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use weir_config::Secret;
use weir_web::Config;

use crate::support::{KEY, config, rig, rig_with};

#[tokio::test]
async fn the_right_key_opens_pages_and_leads_back() {
    let rig = rig();
    let mut visitor = rig.visitor();
    let sent = visitor.get("/page?a=1&b=%2F").await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER);
    assert_eq!(
        sent.header("location"),
        "/sign-in?next=/page%3Fa%3D1%26b%3D%252F"
    );
    let form = visitor.get(sent.header("location")).await;
    assert!(
        form.body
            .contains("name=\"next\" value=\"/page?a=1&#38;b=%2F\""),
        "{}",
        form.body
    );
    let done = visitor
        .post(
            "/sign-in",
            &format!("csrf={}&key={KEY}&next=%2Fpage%3Fa%3D1", form.token()),
        )
        .await;
    assert_eq!(
        (done.status, done.header("location")),
        (StatusCode::SEE_OTHER, "/page?a=1")
    );
    let cookie = done.header("set-cookie");
    assert!(
        cookie.contains("; Path=/")
            && cookie.contains("; HttpOnly; SameSite=Lax")
            && !cookie.contains("Secure")
    );
    assert_eq!(visitor.get("/page").await.body, "page");
    assert_eq!(
        visitor.get("/sign-in").await.status,
        StatusCode::SEE_OTHER,
        "already signed in"
    );
}

#[tokio::test]
async fn a_wrong_key_says_so_and_opens_nothing() {
    let rig = rig();
    let mut visitor = rig.visitor();
    let reply = visitor.sign_in("wrong").await;
    assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(reply.body.contains("That is not the key."));
    assert!(!visitor.signed_in());
}

#[tokio::test]
async fn a_session_may_not_be_led_to_another_site() {
    let rig = rig();
    for next in [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
    ] {
        let mut visitor = rig.visitor();
        let token = visitor.get("/sign-in").await.token();
        let form = format!("csrf={token}&key={KEY}&next={}", next.replace('/', "%2F"));
        assert_eq!(
            visitor.post("/sign-in", &form).await.header("location"),
            "/",
            "{next}"
        );
        let link = rig.app.sign_in_link().unwrap();
        assert_eq!(
            rig.visitor()
                .get(&format!("{link}&next={next}"))
                .await
                .header("location"),
            "/",
            "{next}"
        );
    }
}

#[tokio::test]
async fn a_link_signs_in_once() {
    let rig = rig();
    let link = rig.app.sign_in_link().unwrap();
    assert!(!link.contains(KEY));
    let mut first = rig.visitor();
    assert_eq!(first.get(&link).await.status, StatusCode::SEE_OTHER);
    assert_eq!(first.get("/page").await.body, "page");
    let mut second = rig.visitor();
    let refused = second.get(&link).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert!(refused.body.contains("already been used"));
    assert!(!second.signed_in());
    let sessions = rig.state.read(|c| {
        c.query_row("SELECT count(*) FROM web_session", [], |row| {
            row.get::<_, i64>(0)
        })
    });
    assert_eq!(
        sessions.unwrap(),
        1,
        "a refused link leaves no session behind"
    );
}

#[tokio::test]
async fn a_link_is_valid_for_an_hour_and_says_so_afterwards() {
    let rig = rig();
    let link = rig.app.sign_in_link().unwrap();
    rig.clock.advance(Duration::from_secs(3600));
    for _ in 0..7 {
        let refused = rig.visitor().get(&link).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN);
        assert!(
            refused.body.contains("has expired") && refused.body.contains("weir sign-in"),
            "{}",
            refused.body
        );
    }
    let key = [("x-api-key", KEY)];
    let reply = rig.visitor().ask(Method::GET, "/feed", &key, None).await;
    assert_eq!(reply.body, "feed", "who is late has not guessed");
    let link = rig.app.sign_in_link().unwrap();
    rig.clock.advance(Duration::from_secs(3599));
    assert_eq!(rig.visitor().get(&link).await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_newer_link_replaces_the_one_before() {
    let rig = rig();
    let (old, new) = (
        rig.app.sign_in_link().unwrap(),
        rig.app.sign_in_link().unwrap(),
    );
    assert_eq!(rig.visitor().get(&old).await.status, StatusCode::FORBIDDEN);
    let rig = rig.restarted(config());
    assert_eq!(
        rig.visitor().get(&new).await.status,
        StatusCode::SEE_OTHER,
        "a restart alone does not use it up"
    );
}

#[tokio::test]
async fn fetching_ahead_does_not_use_a_link_up() {
    let rig = rig();
    let link = rig.app.sign_in_link().unwrap();
    let mut visitor = rig.visitor();
    let ahead = [("sec-purpose", "prefetch;prerender")];
    assert_eq!(
        visitor.ask(Method::GET, &link, &ahead, None).await.status,
        StatusCode::SERVICE_UNAVAILABLE
    );
    assert_eq!(
        visitor.ask(Method::HEAD, &link, &[], None).await.status,
        StatusCode::SERVICE_UNAVAILABLE
    );
    assert_eq!(visitor.get(&link).await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn sessions_outlive_a_restart_but_not_their_time() {
    let rig = rig();
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    let cookies = visitor.cookies.clone();
    let rig = rig.restarted(config());
    let mut visitor = rig.visitor();
    visitor.cookies = cookies;
    assert_eq!(visitor.get("/page").await.body, "page");
    // Used every 20 days it never ends; after 31 days of silence it is gone.
    for _ in 0..3 {
        rig.clock.advance(Duration::from_secs(20 * 86400));
        let reply = visitor.get("/page").await;
        assert_eq!(reply.body, "page");
        assert!(
            reply.header("set-cookie").starts_with("weir_session="),
            "the cookie lives on too"
        );
    }
    rig.clock.advance(Duration::from_secs(31 * 86400));
    assert_eq!(visitor.get("/page").await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn signing_out_ends_the_session_itself() {
    let rig = rig();
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    let cookies = visitor.cookies.clone();
    let token = visitor.get("/").await.token();
    let reply = visitor.post("/sign-out", &format!("csrf={token}")).await;
    assert_eq!(reply.header("location"), "/sign-in");
    assert!(!visitor.signed_in());
    visitor.cookies = cookies;
    assert_eq!(
        visitor.get("/page").await.status,
        StatusCode::SEE_OTHER,
        "a copied cookie is worth nothing"
    );
}

#[tokio::test]
async fn signing_out_ends_the_session_although_nobody_waits_for_it() {
    let rig = rig();
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    let cookies = visitor.cookies.clone();
    let token = visitor.get("/").await.token();
    let form = format!("csrf={token}");
    let mut leaves = Box::pin(visitor.post("/sign-out", &form));
    // Far enough for the write to be queued; the answer is never heard.
    let _ = futures_util::poll!(&mut leaves);
    drop(leaves);
    rig.state.write_blocking(|_| Ok(())).unwrap();
    let mut copy = rig.visitor();
    copy.cookies = cookies;
    assert_eq!(copy.get("/page").await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_request_of_a_session_does_not_look_into_the_file() {
    let rig = rig();
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    rig.state.close();
    assert_eq!(visitor.get("/page").await.body, "page");
    rig.clock.advance(Duration::from_secs(31 * 86400));
    assert_eq!(visitor.get("/page").await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn another_key_ends_the_sessions_made_under_the_old_one() {
    let rig = rig();
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    let another = Config {
        api_key: Some(Secret::new("another")),
        ..Config::default()
    };
    let apply = rig.app.stage(another).unwrap();
    assert_eq!(visitor.get("/page").await.body, "page", "nothing changed");
    apply();
    assert_eq!(visitor.get("/page").await.status, StatusCode::SEE_OTHER);
    assert_eq!(
        rig.visitor().sign_in("another").await.status,
        StatusCode::SEE_OTHER
    );
    rig.app.stage(config()).unwrap()();
    assert_eq!(
        visitor.get("/page").await.body,
        "page",
        "the same key again, the same sessions"
    );
}

#[tokio::test]
async fn the_first_start_makes_a_key_and_keeps_it() {
    let rig = rig_with(Config::default());
    let key = rig.app.key_was_made().expect("made").expose().to_owned();
    assert_eq!(key.len(), 32);
    assert_eq!(
        rig.visitor().sign_in(&key).await.status,
        StatusCode::SEE_OTHER
    );
    let rig = rig.restarted(Config::default());
    assert!(rig.app.key_was_made().is_none());
    assert_eq!(
        rig.visitor().sign_in(&key).await.status,
        StatusCode::SEE_OTHER
    );
    let rig = rig.restarted(config());
    assert_eq!(
        rig.visitor().sign_in(&key).await.status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "web.api_key comes first"
    );
}

#[tokio::test]
async fn a_reload_that_makes_a_key_gives_it() {
    let rig = rig();
    let key = rig.app.stage(Config::default()).unwrap()();
    let key = key
        .expect("there was none in the store")
        .expose()
        .to_owned();
    assert_eq!(
        rig.visitor().sign_in(&key).await.status,
        StatusCode::SEE_OTHER
    );
    assert!(rig.app.stage(config()).unwrap()().is_none());
    assert!(rig.app.stage(Config::default()).unwrap()().is_none());
}

#[tokio::test]
async fn nothing_in_the_file_signs_in_but_the_key() {
    let rig = rig();
    let link = rig.app.sign_in_link().unwrap();
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    let session = visitor
        .cookies
        .iter()
        .find(|(name, _)| name == "weir_session")
        .unwrap()
        .1
        .clone();
    let directory = rig.directory.clone();
    rig.state.close();
    let bytes = std::fs::read(directory.path().join("state.db")).unwrap();
    let holds = |text: &str| {
        bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    assert!(holds("web_session"));
    assert!(!holds(&session) && !holds(link.split_once('=').unwrap().1));
}

#[tokio::test]
async fn five_wrong_keys_close_the_form_for_that_address_alone() {
    let rig = rig();
    let mut visitor = rig.visitor();
    for _ in 0..5 {
        assert_eq!(
            visitor.sign_in("wrong").await.status,
            StatusCode::UNPROCESSABLE_ENTITY
        );
        rig.clock.advance(Duration::from_secs(2));
    }
    let refused = visitor.sign_in(KEY).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.header("retry-after"), "50");
    assert!(
        refused
            .body
            .contains("Too many tries. Next one at <time datetime=\"2026-11-14T23:47:40Z\""),
        "{}",
        refused.body
    );
    let by_header = visitor
        .ask(Method::GET, "/api/v1/sample", &[("x-api-key", KEY)], None)
        .await;
    assert_eq!(
        (by_header.status, by_header.header("retry-after")),
        (StatusCode::TOO_MANY_REQUESTS, "50")
    );
    assert_eq!(
        rig.visitor_from("198.51.100.8").sign_in(KEY).await.status,
        StatusCode::SEE_OTHER
    );
    rig.clock.advance(Duration::from_secs(50));
    assert_eq!(visitor.sign_in(KEY).await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn wrong_keys_count_wherever_they_are_sent() {
    let rig = rig();
    let mut visitor = rig.visitor_from("2001:db8::1");
    visitor.sign_in("wrong").await;
    visitor.get("/sign-in?link=wrong").await;
    visitor.get("/feed?apikey=wrong").await;
    visitor
        .ask(
            Method::GET,
            "/api/v1/sample",
            &[("authorization", "Bearer wrong")],
            None,
        )
        .await;
    assert_eq!(
        visitor.get("/metrics?apikey=wrong").await.status,
        StatusCode::UNAUTHORIZED
    );
    let mut neighbour = rig.visitor_from("2001:db8::2");
    for path in ["/feed", "/stats", "/metrics"] {
        let refused = neighbour.get(&format!("{path}?apikey={KEY}")).await;
        assert_eq!(
            (refused.status, refused.header("retry-after")),
            (StatusCode::TOO_MANY_REQUESTS, "60"),
            "{path}"
        );
    }
    assert_eq!(
        neighbour.get("/sign-in?link=x").await.status,
        StatusCode::TOO_MANY_REQUESTS
    );
    assert_eq!(
        rig.visitor_from("2001:db8:0:1::1")
            .get(&format!("/feed?apikey={KEY}"))
            .await
            .body,
        "feed"
    );
}

#[tokio::test]
async fn a_session_is_not_closed_by_the_tries_of_others() {
    let rig = rig();
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    for _ in 0..6 {
        rig.visitor().get("/feed?apikey=wrong").await;
    }
    assert_eq!(visitor.get("/page").await.body, "page");
}
