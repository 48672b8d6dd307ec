//! The same for programs.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use weir_engine::{
    About, Got, Own, OwnKind, OwnReason, about,
    dispatch::{Class, Job, Skip, Wait},
};

use super::front::{Town, secs, town};
use crate::support::{FAR, KEY};

async fn ask(town: &Town, method: Method, path: &str, body: Option<&str>) -> (StatusCode, Value) {
    let headers = [("x-api-key", KEY), ("content-type", "application/json")];
    let reply = town.rig.visitor().ask(method, path, &headers, body).await;
    (reply.status, serde_json::from_str(&reply.body).unwrap())
}

async fn get(town: &Town, path: &str) -> Value {
    let (status, body) = ask(town, Method::GET, path, None).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    body
}

fn names(body: &Value) -> Vec<&str> {
    let rows = body["upstreams"].as_array().unwrap().iter();
    rows.map(|row| row["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_list_has_every_field_and_pages() {
    let town = town().await;
    let body = get(&town, "/api/v1/upstreams?limit=3").await;
    assert_eq!(names(&body), ["tracker-four", "harbor", "tracker-two"]);
    assert_eq!(
        (&body["total"], &body["matching"], &body["pages"]),
        (&8.into(), &8.into(), &3.into())
    );
    assert_eq!(body["states"]["open"], 1);
    assert_eq!(body["states"]["untried"], 3);
    assert_eq!(body["states"]["manual"], 1);
    let harbor = &body["upstreams"][1];
    assert_eq!(harbor["state"], "cooldown");
    assert_eq!(harbor["front"], "search");
    assert_eq!(harbor["kind"], "indexer");
    assert_eq!(harbor["place"], "udp://host-0.example:1337");
    assert_eq!(harbor["page"], "/upstreams/search/harbor");
    assert_eq!(harbor["last_error"]["text"], "it answered 429");
    assert_eq!(harbor["requests"]["throttled"], 1);
    assert_eq!(harbor["rungs"], 4);
    assert!(
        harbor["until"]
            .as_str()
            .unwrap()
            .starts_with("2026-11-15T00:0")
    );
    assert!((890..=900).contains(&harbor["seconds_left"].as_u64().unwrap()));
    let reason = harbor["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("It answered 429 (at ") && reason.contains("). Next try in 15 min."),
        "{reason}"
    );
    let sentence = harbor["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("harbor is cooling down until ") && !sentence.contains('<'),
        "{sentence}"
    );
    let last = get(&town, "/api/v1/upstreams?limit=3&page=3").await;
    assert_eq!(names(&last), ["quarry", "tracker-one"]);
    let some = get(
        &town,
        "/api/v1/upstreams?front=tracker&state=untried&sort=-name",
    )
    .await;
    assert_eq!(names(&some)[0], "tracker-one");
    assert_eq!(some["matching"], 2);
    let text = body.to_string();
    assert!(!text.contains('\u{2}') && !text.contains("datetime"));
}

#[tokio::test]
async fn one_upstream_has_history_ladder_and_facts() {
    let town = town().await;
    let body = get(&town, "/api/v1/upstreams/search/lantern").await;
    assert_eq!(body["quota"][0]["used"], 2);
    assert_eq!(body["quota"][0]["window"], "hour");
    assert!(body["quota"][0]["next"].is_string());
    assert_eq!(
        body["ladder_seconds"],
        serde_json::json!([60, 300, 900, 3600])
    );
    assert_eq!(body["facts"][0]["value"], "12 & more");
    let orchard = get(&town, "/api/v1/upstreams/search/orchard").await;
    assert_eq!(orchard["off"]["reason"], "account renewal");
    let states = orchard["history"].as_array().unwrap().iter();
    let states: Vec<_> = states.map(|one| one["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["untried", "manual"]);
    let (status, none) = ask(&town, Method::GET, "/api/v1/upstreams/search/x", None).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(
        none["error"]
            .as_str()
            .unwrap()
            .contains("no upstream called")
    );
}

#[tokio::test]
async fn a_program_acts_with_its_key() {
    let town = town().await;
    let path = |action: &str| format!("/api/v1/upstreams/search/harbor/{action}");
    let post = async |action: &str, body| ask(&town, Method::POST, &path(action), body).await;
    let (_, cleared) = post("clear", None).await;
    assert_eq!(
        (&cleared["result"], &cleared["upstream"]["state"]),
        (&"done".into(), &"open".into())
    );
    for (body, status, said) in [
        (None, 422, "Give a reason"),
        (Some("{}"), 422, "Give a reason"),
        (Some("no json"), 400, "The body is not JSON"),
        (
            Some("{\"reason\": 7}"),
            422,
            "`reason` is wrong. Send a text",
        ),
    ] {
        let (answered, refused) = post("disable", body).await;
        assert_eq!(answered, status);
        let detail = refused["detail"].as_str().unwrap();
        assert!(detail.starts_with(said), "{detail}");
        if status == 422 {
            assert_eq!(refused["errors"][0]["field"], "reason");
        }
    }
    let (_, off) = post("disable", Some("{\"reason\": \"moving\"}")).await;
    assert_eq!(off["upstream"]["state"], "manual");
    assert_eq!(
        off["upstream"]["off"]["who"],
        format!("a program with the key ({FAR})")
    );
    let (_, probed) = post("probe", None).await;
    assert_eq!(probed["result"], "answered");
    assert_eq!(probed["sentence"], "harbor answered the probe.");
    let (_, on) = post("enable", None).await;
    assert_eq!(on["upstream"]["state"], "open");
    assert_eq!(post("enable", None).await.1["result"], "nothing");
    assert_eq!(post("explode", None).await.0, StatusCode::NOT_FOUND);
    let (status, _) = ask(&town, Method::GET, &path("clear"), None).await;
    assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn a_browser_acts_with_session_and_token() {
    let town = town().await;
    let mut visitor = town.signed_in().await;
    let token = visitor.get("/upstreams").await.token();
    let path = "/api/v1/upstreams/search/harbor/clear";
    let refused = visitor.ask(Method::POST, path, &[], None).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    let done = visitor
        .ask(Method::POST, path, &[("x-csrf-token", &token)], None)
        .await;
    assert_eq!(done.status, StatusCode::OK);
    let form = format!("csrf={token}&reason=by+form");
    let off = visitor
        .post("/api/v1/upstreams/search/harbor/disable", &form)
        .await;
    assert!(off.body.contains("by form"), "{}", off.body);
}

#[tokio::test]
async fn decisions_come_newest_first_and_each_once() {
    let town = town().await;
    let whole = get(&town, "/api/v1/decisions").await;
    let whole = whole["decisions"].as_array().unwrap();
    assert!(whole.len() > 6);
    // Not as text: `.94Z` would come after `.941Z`.
    let times: Vec<jiff::Timestamp> = whole
        .iter()
        .map(|one| one["at"].as_str().unwrap().parse().unwrap())
        .collect();
    // Each front of this town has an engine with a clock of its own, and one millisecond may end between two looks at the time.
    let apart = jiff::SignedDuration::from_millis(2);
    assert!(
        times.is_sorted_by(|newer, older| *newer + apart >= *older),
        "{times:?}"
    );
    let (mut paged, mut before) = (Vec::new(), String::new());
    loop {
        let page = get(&town, &format!("/api/v1/decisions?limit=2&before={before}")).await;
        paged.extend(page["decisions"].as_array().unwrap().clone());
        match page["before"].as_str() {
            Some(place) => before = place.to_owned(),
            None => break,
        }
    }
    let key = |one: &Value| (one["upstream"].to_string(), one["number"].as_u64());
    assert_eq!(
        paged.iter().map(key).collect::<Vec<_>>(),
        whole.iter().map(key).collect::<Vec<_>>()
    );

    let harbor = get(&town, "/api/v1/decisions?front=search&upstream=harbor").await;
    let newest = &harbor["decisions"][0];
    assert_eq!(
        (&newest["kind"], &newest["upstream"]),
        (&"cooldown".into(), &"harbor".into())
    );
    let kinds = harbor["decisions"].as_array().unwrap().iter();
    let started = kinds.filter(|one| one["kind"] == "started").count();
    assert_eq!(started, 2);
    assert_eq!(harbor["decisions"][1]["asker"], "Sonarr");
    assert_eq!(harbor["decisions"][1]["class"], "interactive");
    let tracker = get(&town, "/api/v1/decisions?front=tracker").await;
    let rows = tracker["decisions"].as_array().unwrap();
    assert!(!rows.is_empty() && rows.iter().all(|one| one["front"] == "tracker"));
    let (status, _) = ask(&town, Method::GET, "/api/v1/decisions?before=soon", None).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    let (status, _) = ask(
        &town,
        Method::GET,
        "/api/v1/decisions?front=search&upstream=x",
        None,
    )
    .await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_decision_says_why_until_when_and_what_the_asker_got() {
    let town = town().await;
    let engine = &town.search.engine;
    let skip = |name: &str, reason, wait, got| {
        let upstream = engine.named(name).unwrap();
        let skip = Skip {
            reason,
            wait,
            limit: wait.map(|_| secs(15)),
        };
        let about = About::Text("\"linux\"".into());
        engine.note_skip(&Job::new(upstream, Class(1)), &about, skip, got);
    };
    let newest = async |name: &str| {
        let all = get(
            &town,
            &format!("/api/v1/decisions?front=search&upstream={name}"),
        )
        .await;
        all["decisions"][0].clone()
    };
    // Both times of a row are of one look; between two looks the clock goes on.
    let lasts = |row: &Value| {
        let time = |field: &str| {
            let time = row[field].as_str().unwrap();
            time.parse::<jiff::Timestamp>().unwrap()
        };
        time("until").duration_since(time("at")).as_secs()
    };
    let cooldown = newest("harbor").await;
    assert_eq!(lasts(&cooldown), 900);
    assert_eq!(cooldown["cause"], "it answered 429");
    assert_eq!(
        (&cooldown["reason"], &cooldown["got"]),
        (&Value::Null, &Value::Null)
    );
    let after = secs(900);
    skip("harbor", Wait::Cooldown, Some(after), Got::Retry { after });
    let skipped = newest("harbor").await;
    assert_eq!(skipped["reason"], "cooldown");
    assert_eq!(skipped["cause"], "it answered 429");
    assert_eq!(lasts(&skipped), 900);
    let got = |what: &str, age: Value, retry: Value| json!({ "what": what, "age_seconds": age, "retry_seconds": retry });
    assert_eq!(skipped["got"], got("retry", Value::Null, 900.into()));
    skip("orchard", Wait::Off, None, Got::Nothing);
    let off = newest("orchard").await;
    assert_eq!(
        (&off["reason"], &off["cause"]),
        (&"off".into(), &"account renewal".into())
    );
    assert_eq!(off["until"], Value::Null);
    assert_eq!(off["got"], got("nothing", Value::Null, Value::Null));
    skip(
        "quarry",
        Wait::Window,
        Some(secs(60)),
        Got::Cached { age: secs(90) },
    );
    let cached = newest("quarry").await;
    assert_eq!(cached["reason"], "quota");
    assert_eq!(cached["got"], got("cached", 90.into(), Value::Null));
}

#[tokio::test]
async fn what_a_front_decides_by_itself_stands_among_the_decisions() {
    let town = town().await;
    let own = |asker: &str| Own {
        asker: Some(asker.into()),
        limit: Some(60),
        ..Own::new(OwnKind::Throttled, OwnReason::TooMany, about::COMPLETED)
    };
    let before = get(&town, "/api/v1/decisions").await["decisions"].clone();
    let engine = &town.tracker.engine;
    engine.note_own(own("<b>203.0.113.7"), 900);
    engine.note_own(own("203.0.113.8"), 1);
    engine.note_own(own("<b>203.0.113.7"), 99);
    let all = get(&town, "/api/v1/decisions").await["decisions"].clone();
    let all = all.as_array().unwrap();
    assert_eq!(all.len(), before.as_array().unwrap().len() + 2);
    assert_eq!(all[0]["asker"], "203.0.113.8", "newest first");
    let burst = &all[1];
    assert_eq!(
        burst["sentence"],
        "<b>203.0.113.7 sent more than 60 events in a minute: 999 completed events were stored and answered, but not sent to trackers."
    );
    for (field, value) in [
        ("front", Value::from("tracker")),
        ("upstream", Value::Null),
        ("kind", "throttled".into()),
        ("about", "completed".into()),
        ("reason", "too_many".into()),
        ("limit", 60.into()),
        ("asker", "<b>203.0.113.7".into()),
        ("count", 999.into()),
        ("number", 1.into()),
    ] {
        assert_eq!(burst[field], value, "{field}");
    }
    assert!(burst["last"].as_str().unwrap() >= burst["at"].as_str().unwrap());
    let first = get(&town, "/api/v1/decisions?limit=1").await;
    let place = first["before"].as_str().unwrap();
    let second = get(&town, &format!("/api/v1/decisions?limit=1&before={place}")).await;
    assert_eq!(second["decisions"][0]["count"], 999);
    for (query, shown) in [
        ("front=tracker", 2),
        ("front=search", 0),
        ("front=tracker&upstream=tracker-four", 0),
        ("upstream=tracker-four", 0),
    ] {
        let some = get(&town, &format!("/api/v1/decisions?{query}")).await;
        let rows = some["decisions"].as_array().unwrap().iter();
        let own = rows.filter(|row| row["upstream"].is_null());
        assert_eq!(own.count(), shown, "{query}");
    }
    let page = town.signed_in().await.get("/").await.body;
    let words = "<bdi>Tracker</bdi></a>: &#60;b&#62;203.0.113.7 sent more than 60";
    assert!(page.contains(words), "{page}");
}
