//! `/api/v1/events`: what listeners get, from when on, and until when.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    body::{Body, BodyDataStream},
    extract::ConnectInfo,
    http::{Request, StatusCode},
    response::Response,
};
use futures_util::{FutureExt, StreamExt};
use serde_json::Value;
use tower::ServiceExt;
use weir_config::Secret;
use weir_engine::{Outcome, Own, OwnKind, OwnReason, about, dispatch::UpstreamId};
use weir_web::{Announcer, Config, Contribution, Icon};

use super::front::{Says, town};
use crate::support::{self, FAR, KEY, Rig};

/// An open stream.
struct Ears(BodyDataStream);

/// One event.
#[derive(Debug)]
struct Heard {
    id: String,
    event: String,
    data: Value,
}

async fn ask(rig: &Rig, path: &str, headers: &[(&str, &str)]) -> Response {
    let mut request = Request::builder().uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut request = request.body(Body::empty()).unwrap();
    let peer = SocketAddr::from((FAR.parse::<std::net::IpAddr>().unwrap(), 4000));
    request.extensions_mut().insert(ConnectInfo(peer));
    rig.router.clone().oneshot(request).await.unwrap()
}

async fn listen(rig: &Rig, topics: &str, headers: &[(&str, &str)]) -> Ears {
    let path = format!("/api/v1/events?topics={topics}");
    let response = ask(rig, &path, headers).await;
    assert_eq!(response.status(), StatusCode::OK);
    Ears(response.into_body().into_data_stream())
}

const WITH_KEY: [(&str, &str); 1] = [("x-api-key", KEY)];

impl Ears {
    /// All that has arrived by now.
    fn heard(&mut self) -> Vec<Heard> {
        let mut text = String::new();
        while let Some(Some(frame)) = self.0.next().now_or_never() {
            text += std::str::from_utf8(&frame.unwrap()).unwrap();
        }
        let events = text.split("\n\n").filter(|event| event.starts_with("id: "));
        let events = events.map(|event| {
            let field = |name: &str| {
                let line = event.lines().find_map(|line| line.strip_prefix(name));
                line.unwrap().to_owned()
            };
            Heard {
                id: field("id: "),
                event: field("event: "),
                data: serde_json::from_str(&field("data: ")).unwrap(),
            }
        });
        events.collect()
    }

    fn names(&mut self) -> Vec<String> {
        self.heard().into_iter().map(|heard| heard.event).collect()
    }

    async fn has_ended(&mut self) -> bool {
        for _ in 0..5 {
            second().await;
            loop {
                match self.0.next().now_or_never() {
                    Some(None) => return true,
                    Some(Some(_)) => {}
                    None => break,
                }
            }
        }
        false
    }
}

/// Lets a second pass, and what is due in it happen.
async fn second() {
    tokio::time::sleep(Duration::from_secs(1)).await;
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

/// A front whose page has a live part that says how often it was written.
fn counted() -> (Rig, Arc<AtomicUsize>, Announcer) {
    let count = Arc::new(AtomicUsize::new(0));
    let (written, announcer) = (Arc::clone(&count), Announcer::of_searches());
    let contribution = Contribution::new("sample", "Sample", Icon::Tracker)
        .live("counted", move || {
            let number = written.fetch_add(1, Ordering::SeqCst);
            vec![
                ("count".to_owned(), format!("<p id=\"count\">{number}</p>")),
                ("same".to_owned(), "<p id=\"same\"></p>".to_owned()),
            ]
        })
        .announcements(announcer.clone());
    let rig = support::rig_of(support::config(), vec![contribution]);
    tokio::time::pause();
    (rig, count, announcer)
}

#[tokio::test]
async fn nothing_is_told_without_a_key_and_mistakes_are_named() {
    let rig = support::rig();
    let path = "/api/v1/events?topics=figures";
    assert_eq!(
        ask(&rig, path, &[]).await.status(),
        StatusCode::UNAUTHORIZED
    );
    let wrong = ask(&rig, path, &[("x-api-key", "wrong")]).await;
    assert_eq!(wrong.status(), StatusCode::UNAUTHORIZED);
    let many = vec!["figures"; 65].join(",");
    for (topics, words) in [
        ("figures,figure", "Did you mean `figures`?"),
        ("page:overview:2h", "page:overview:"),
        (
            "zzzzzzzz",
            "Topics are: figures, states, decisions, points, searches, news.",
        ),
        ("%3Cb%3E", "there is no topic “<b>”"),
        (&many, "more than 64"),
        (",", "there is no topic"),
    ] {
        let path = format!("/api/v1/events?topics={topics}");
        let refused = ask(&rig, &path, &WITH_KEY).await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{topics}");
        let body = axum::body::to_bytes(refused.into_body(), 10_000)
            .await
            .unwrap();
        let body = String::from_utf8_lossy(&body).into_owned();
        assert!(body.contains(words), "{words} in {body}");
    }
}

#[tokio::test]
async fn one_snapshot_a_second_feeds_everybody_and_none_nobody() {
    let (rig, count, _) = counted();
    // Not set back: what is written next would then be the same again, and not be sent.
    let mut before = 0;
    let mut written = || {
        let now = count.load(Ordering::SeqCst);
        now - std::mem::replace(&mut before, now)
    };
    second().await;
    assert_eq!(written(), 0, "nobody listens");
    let topics = "page:counted";
    let response = ask(&rig, &format!("/api/v1/events?topics={topics}"), &WITH_KEY).await;
    for (name, value) in [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-store"),
        ("x-accel-buffering", "no"),
    ] {
        assert_eq!(response.headers()[name], value);
    }
    let mut first = Ears(response.into_body().into_data_stream());
    let hello = first.0.next().await.unwrap().unwrap();
    let hello = std::str::from_utf8(&hello).unwrap();
    let retry: u64 = hello
        .strip_prefix("retry: ")
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert!((3000..5000).contains(&retry), "{retry}");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let whole = first.heard();
    assert_eq!(whole[0].data["parts"]["count"], "<p id=\"count\">0</p>");
    assert_eq!(whole[0].data["parts"]["same"], "<p id=\"same\"></p>");
    let mut others = Vec::new();
    for _ in 0..20 {
        others.push(listen(&rig, topics, &WITH_KEY).await);
    }
    written();
    for _ in 0..10 {
        second().await;
    }
    assert_eq!(written(), 10, "once a second for 21");
    let told = first.heard();
    assert_eq!(told.len(), 10);
    assert!(
        told[0].data["parts"].get("same").is_none(),
        "what changed alone"
    );
    assert_eq!(others[7].heard().len(), 10);
    drop((first, others));
    second().await;
    written();
    for _ in 0..5 {
        second().await;
    }
    assert_eq!(written(), 0, "everybody has left");
}

/// Without the fractions of seconds in exact times: what is sent is made a millisecond after the page.
fn to_the_second(html: &str) -> String {
    let mut parts = html.split("T");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push('T');
        match part.split_once('.').zip(part.split_once('Z')) {
            Some(((whole, _), (before, rest))) if whole.len() == 8 && before.len() > 8 => {
                text += whole;
                text.push('Z');
                text += rest;
            }
            _ => text += part,
        }
    }
    text
}

#[tokio::test]
async fn a_part_of_the_page_is_told_as_the_page_has_it() {
    let town = town().await;
    let mut visitor = town.signed_in().await;
    tokio::time::pause();
    let page = to_the_second(&visitor.get("/").await.body);
    let mut ears = listen(&town.rig, "page:overview:1h,page:decisions", &WITH_KEY).await;
    // A timer that is due now fires with the next millisecond.
    tokio::time::sleep(Duration::from_millis(2)).await;
    let heard = ears.heard();
    let parts = heard.iter().find(|heard| heard.event == "parts").unwrap();
    for (id, html) in parts.data["parts"].as_object().unwrap() {
        let html = &to_the_second(html.as_str().unwrap());
        assert!(html.contains(&format!(" id=\"{id}\"")), "{html}");
        assert!(page.contains(html), "{html} in {page}");
    }
    let rows = heard.iter().find(|heard| heard.event == "rows").unwrap();
    assert_eq!(rows.data["list"], "decided");
    assert!(page.contains(" id=\"decided\""));
    let rows = rows.data["rows"].as_array().unwrap();
    assert!(rows.len() >= 6, "{rows:?}");
    for row in rows.iter().rev().take(6) {
        let html = &to_the_second(row["html"].as_str().unwrap());
        assert!(page.contains(html), "{html} in {page}");
        assert!(html.contains(row["id"].as_str().unwrap()));
    }
    // Newest last, as opposed to the page.
    let place = |row: &Value| page.find(&to_the_second(row["html"].as_str().unwrap()));
    assert!(place(rows.last().unwrap()) < place(&rows[rows.len() - 2]));
}

#[tokio::test]
async fn programs_are_told_what_happens_and_nothing_while_nothing_does() {
    let town = town().await;
    tokio::time::pause();
    let mut ears = listen(&town.rig, "", &WITH_KEY).await;
    second().await;
    let first = ears.heard();
    assert_eq!(first[0].event, "figures");
    assert!(first[0].data["sentence"].is_string());
    assert!(
        first.iter().all(|heard| heard.event != "decisions"),
        "{first:?}"
    );
    second().await;
    assert_eq!(ears.names(), [""; 0]);
    let quarry = UpstreamId(2);
    town.search.call(quarry, Says(Outcome::Done, "")).await;
    let throttled = Outcome::Throttled {
        retry_after: Some(Duration::from_secs(600)),
    };
    town.search
        .call(quarry, Says(throttled, "it answered 429"))
        .await;
    second().await;
    let heard = ears.heard();
    let names: Vec<_> = heard.iter().map(|heard| heard.event.as_str()).collect();
    assert_eq!(names, ["states", "decisions"]);
    let states = heard[0].data["states"].as_array().unwrap();
    let change = |state: &Value| format!("{} {} {}", state["name"], state["from"], state["to"]);
    let changes: Vec<String> = states.iter().map(change).collect();
    assert_eq!(
        changes,
        [
            "\"quarry\" \"untried\" \"open\"",
            "\"quarry\" \"open\" \"cooldown\""
        ]
    );
    assert_eq!(
        states[0]["reason"],
        Value::Null,
        "it is not in that state any more"
    );
    let reason = states[1]["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("quarry is cooling down until "),
        "{reason}"
    );
    assert!(states[1]["until"].is_string() && states[1]["front"] == "search");
    let rows = heard[1].data["decisions"].as_array().unwrap();
    assert_eq!(heard[1].data["more"], 0);
    let path = format!("/api/v1/decisions?limit={}", rows.len());
    let mut visitor = town.rig.visitor();
    let reply = visitor.ask(axum::http::Method::GET, &path, &WITH_KEY, None);
    let listed: Value = serde_json::from_str(&reply.await.body).unwrap();
    let listed = listed["decisions"].as_array().unwrap();
    assert!(rows.len() >= 3 && rows.len() == listed.len(), "{rows:?}");
    for (row, listed) in rows.iter().rev().zip(listed) {
        for field in ["front", "upstream", "number", "kind", "asker", "class"] {
            assert_eq!(row[field], listed[field], "{field}");
        }
    }
    second().await;
    assert_eq!(ears.names(), [""; 0], "each once");
}

#[tokio::test]
async fn at_most_twenty_decisions_a_second_and_how_many_more() {
    let town = town().await;
    tokio::time::pause();
    let mut ears = listen(&town.rig, "decisions", &WITH_KEY).await;
    second().await;
    let moment = async || tokio::time::sleep(Duration::from_millis(1)).await;
    for _ in 0..50 {
        town.search
            .call(UpstreamId(2), Says(Outcome::Done, ""))
            .await;
        moment().await;
        town.tracker
            .call(UpstreamId(1), Says(Outcome::Done, ""))
            .await;
        moment().await;
    }
    let own = Own {
        asker: Some("203.0.113.7".into()),
        ..Own::new(OwnKind::Throttled, OwnReason::TooMany, about::COMPLETED)
    };
    town.tracker.engine.note_own(own, 1);
    second().await;
    let heard = ears.heard();
    let rows = heard[0].data["decisions"].as_array().unwrap();
    assert_eq!((heard.len(), rows.len()), (1, 20));
    assert_eq!(heard[0].data["more"], 100 + 1 - 20);
    assert_eq!(rows[19]["kind"], "throttled", "the newest are told");
    assert_eq!(rows[18]["upstream"], "tracker-one");
}

#[tokio::test]
async fn a_front_announces_to_whoever_listens() {
    let (rig, _, announcer) = counted();
    announcer.announce(|| unreachable!("nobody listens"));
    let mut ears = listen(&rig, "searches", &WITH_KEY).await;
    second().await;
    announcer.announce(|| serde_json::json!({ "id": "1" }));
    second().await;
    let heard = ears.heard();
    assert_eq!(heard[0].event, "searches");
    assert_eq!(heard[0].data["searches"][0]["id"], "1");
    drop(ears);
    for _ in 0..70 {
        second().await;
    }
    announcer.announce(|| unreachable!("nobody listens any more"));
}

#[tokio::test]
async fn whoever_comes_back_within_a_minute_has_missed_nothing() {
    let town = town().await;
    tokio::time::pause();
    let mut ears = listen(&town.rig, "decisions", &WITH_KEY).await;
    second().await;
    town.search
        .call(UpstreamId(2), Says(Outcome::Done, ""))
        .await;
    second().await;
    let last = ears.heard().pop().unwrap().id;
    drop(ears);
    second().await;
    town.search.call(UpstreamId(2), Says(Outcome::No, "")).await;
    second().await;
    let back = [("x-api-key", KEY), ("last-event-id", &*last)];
    let mut ears = listen(&town.rig, "decisions", &back).await;
    let heard = ears.heard();
    assert_eq!(heard.len(), 1);
    assert_eq!(heard[0].data["decisions"][0]["upstream"], "quarry");
    drop(ears);
    for _ in 0..70 {
        second().await;
    }
    let mut ears = listen(&town.rig, "decisions", &back).await;
    let heard = ears.heard();
    assert_eq!(heard[0].event, "missed");
    assert_eq!(heard[0].data["last"], *last);
    assert!(
        heard[0].data["advice"]
            .as_str()
            .unwrap()
            .contains("/api/v1/decisions")
    );
}

#[tokio::test]
async fn a_stream_does_not_outlive_the_right_to_it() {
    let town = town().await;
    let mut visitor = town.signed_in().await;
    let token = visitor.get("/").await.token();
    let pairs = visitor
        .cookies
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let cookie = pairs.collect::<Vec<_>>().join("; ");
    let mut session = listen(&town.rig, "figures", &[("cookie", &cookie)]).await;
    let mut key = listen(&town.rig, "figures", &WITH_KEY).await;
    visitor.post("/sign-out", &format!("csrf={token}")).await;
    tokio::time::pause();
    assert!(session.has_ended().await, "it signed out");
    assert!(!key.has_ended().await);
    let other = Config {
        api_key: Some(Secret::new("another-key-altogether")),
        ..support::config()
    };
    town.rig.app.stage(other).unwrap()();
    assert!(key.has_ended().await, "there is another key now");
}

#[tokio::test]
async fn one_address_has_only_so_many() {
    let rig = support::rig();
    let mut open = Vec::new();
    for _ in 0..32 {
        open.push(listen(&rig, "figures", &WITH_KEY).await);
    }
    let path = "/api/v1/events?topics=figures";
    let refused = ask(&rig, path, &WITH_KEY).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    open.pop();
    assert_eq!(ask(&rig, path, &WITH_KEY).await.status(), StatusCode::OK);
}
