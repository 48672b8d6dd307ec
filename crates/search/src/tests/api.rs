//! The API as the web part serves it, with indexers on this machine.

use axum::http::Method;

use super::web::*;
use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_search_is_begun_watched_and_read_in_parts() {
    let one = library(&["Example A", "Example B"]).await;
    let two = library(&["Example B", "Example C"]).await;
    let world = World::on_loopback([("one", &one), ("two", &two)]);
    let id = world
        .begin_by_api(r#"{"query": "example", "categories": [4000]}"#)
        .await;
    assert_eq!(id.len(), 16);
    let body = world.finished(&id).await;
    assert_eq!(body["results"], 3, "{body:#}");
    assert_eq!((&body["count"], &body["matching"]), (&3.into(), &3.into()));
    assert_eq!(body["headline"], "3 results from 2 indexers.");
    assert_eq!(body["program"], "Sample");
    for line in body["indexers"].as_array().unwrap() {
        assert_eq!(
            (&line["state"], &line["releases"]),
            (&"answered".into(), &2.into())
        );
    }
    let both = &body["releases"].as_array().unwrap();
    let both = both
        .iter()
        .find(|release| release["title"] == "Example B")
        .unwrap();
    assert_eq!(both["sources"].as_array().unwrap().len(), 2);
    assert_eq!(both["category"], "PC / ISO");
    let link = both["download"].as_str().unwrap();
    assert!(link.starts_with("http://weir:7070/dl/"), "{link}");
    assert!(!body.to_string().contains("key=secret"));

    let titles = async |view: &str| {
        let body = world.json(&format!("/api/v1/searches/{id}?{view}")).await;
        let releases = body["releases"].as_array().unwrap().iter();
        let titles: Vec<String> = releases
            .map(|release| release["title"].as_str().unwrap()[8..].to_owned())
            .collect();
        titles.join("")
    };
    assert_eq!(titles("sort=title").await, "ABC");
    assert_eq!(titles("sort=-title&limit=2").await, "CB");
    assert_eq!(titles("sort=title&offset=2").await, "C");
    assert_eq!(titles("filter=EXAMPLE+c").await, "C");
    assert_eq!(titles("filter=two&sort=title").await, "BC");

    // Looking again asks nobody again.
    assert_eq!((one.searches().len(), two.searches().len()), (1, 1));
    let all = world.json("/api/v1/searches").await;
    assert_eq!(all["searches"][0]["id"], id.as_str());
    assert!(all["searches"][0].get("releases").is_none());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_are_said_and_nobody_is_asked() {
    let one = library(&[]).await;
    let world = World::on_loopback([("one", &one)]);
    for (body, status, field, said) in [
        ("", 400, "", "The body is not JSON"),
        ("[]", 422, "", "Send an object."),
        (r#"{"querry": "x"}"#, 422, "querry", "Did you mean query?"),
        (
            r#"{"indexers": ["two"]}"#,
            422,
            "indexers",
            "There is no indexer \"two\". There are: one.",
        ),
        (
            r#"{"function": "find"}"#,
            422,
            "function",
            "Send one of: search, tvsearch",
        ),
        (
            r#"{"terms": {"season": 1}}"#,
            422,
            "terms.season",
            "takes words alone",
        ),
        (
            r#"{"function": "tvsearch", "terms": {"season": [1]}}"#,
            422,
            "terms.season",
            "Send a text. Or: Send a number.",
        ),
        (
            r#"{"function": "tvsearch", "terms": {"ep": "1", "season": "x"}}"#,
            422,
            "terms.season",
            "season",
        ),
        (
            r#"{"categories": [-1]}"#,
            422,
            "categories[0]",
            "Send a whole number",
        ),
    ] {
        let (answered, text) = world.text(Method::POST, "/api/v1/searches", body).await;
        assert_eq!(answered, status, "{body}: {text}");
        let told: serde_json::Value = serde_json::from_str(&text).unwrap();
        let detail = told["detail"].as_str().unwrap();
        assert!(detail.contains(said), "{said} in {text}");
        if status == 422 {
            assert_eq!(told["errors"][0]["field"], field, "{text}");
        }
    }
    for (path, status) in [
        ("/api/v1/searches/12", 404),
        ("/api/v1/searches/00000000000000ab", 404),
        ("/api/v1/searches/00000000000000ab/events", 404),
        ("/api/v1/history?day=today", 422),
    ] {
        assert_eq!(world.text(Method::GET, path, "").await.0, status, "{path}");
    }
    assert_eq!(one.searches().len(), 0);
    let none = World::on_loopback([]);
    let (status, text) = none.text(Method::POST, "/api/v1/searches", "{}").await;
    assert_eq!(status, 503, "no mistake of whoever asks");
    assert!(text.contains("No indexer is configured"), "{text}");
    none.stop().await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_tell_what_changes_and_end() {
    let fast = library(&["Example A"]).await;
    let slow = slow_library(&["Example B"], Duration::from_millis(700)).await;
    let world = World::on_loopback([("fast", &fast), ("slow", &slow)]);
    let id = world.begin_by_api(r#"{"query": "example"}"#).await;
    let response = world
        .open(Method::GET, &format!("/api/v1/searches/{id}/events"), "")
        .await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(response.headers()["x-accel-buffering"], "no");
    // The stream ends by itself.
    let body = axum::body::to_bytes(response.into_body(), usize::MAX)
        .await
        .unwrap();
    let text = String::from_utf8(body.into()).unwrap();
    let events: Vec<&str> = text
        .split("\n\n")
        .filter(|event| !event.is_empty())
        .collect();
    let (last, states) = events.split_last().unwrap();
    assert!(last.contains("event: done"), "{last}");
    assert!((2..=6).contains(&states.len()), "{text}");
    let counts: Vec<u64> = states
        .iter()
        .map(|event| {
            let data = event
                .lines()
                .find_map(|line| line.strip_prefix("data: "))
                .unwrap();
            let body: serde_json::Value = serde_json::from_str(data).unwrap();
            assert!(body.get("releases").is_none());
            body["count"].as_u64().unwrap()
        })
        .collect();
    assert!(counts.is_sorted() && counts.contains(&1), "{counts:?}");
    assert_eq!(counts.last(), Some(&2));
    let again = world.page(&format!("/api/v1/searches/{id}/events")).await;
    assert_eq!(again.matches("event: state").count(), 1, "{again}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_end_when_weir_stops() {
    let slow = slow_library(&["Example"], Duration::from_secs(3600)).await;
    let world = World::on_loopback([("slow", &slow)]);
    let id = world.begin_by_api(r#"{"query": "example"}"#).await;
    let path = format!("/api/v1/searches/{id}/events");
    let stop = async { world.front.leave() };
    let (text, ()) = tokio::join!(world.page(&path), stop);
    assert!(text.contains("event: done"), "{text}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_search_waits_for_nobody_and_is_remembered_once() {
    let fast = library(&["Example A"]).await;
    let slow = slow_library(&["Example B"], Duration::from_secs(30)).await;
    let world = World::on_loopback([("fast", &fast), ("slow", &slow)]);
    let id = world.begin_by_api(r#"{"query": "example"}"#).await;
    let path = format!("/api/v1/searches/{id}");
    loop {
        let body = world.json(&path).await;
        assert_eq!(body["finished"], false);
        if body["count"] == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (status, _) = world.text(Method::DELETE, &path, "").await;
    assert_eq!(status, 204);
    let history = loop {
        let body = world.json("/api/v1/history").await;
        if body["searches"]
            .as_array()
            .is_some_and(|rows| !rows.is_empty())
        {
            break body;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let body = world.json(&path).await;
    assert_eq!(
        (&body["finished"], &body["stopped"]),
        (&true.into(), &true.into())
    );
    assert!(
        body["sentence"].as_str().unwrap().contains("Stopped after"),
        "{body:#}"
    );
    assert_eq!(body["indexers"][1]["reason"], "the search was stopped");
    let rows = history["searches"].as_array().unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["query"], "\"example\"");
    assert_eq!(
        (&rows[0]["class"], &rows[0]["scope"]),
        (&"interactive".into(), &"all indexers".into())
    );
    assert_eq!(rows[0]["indexers"].as_array().unwrap().len(), 2);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn history_is_paged_and_filtered() {
    let one = library(&["Example A"]).await;
    let world = World::on_loopback([("one", &one)]);
    for number in 0..5 {
        let id = world
            .begin_by_api(&format!("{{\"query\": \"example {number}\"}}"))
            .await;
        world.finished(&id).await;
    }
    let mut seen = Vec::new();
    let mut path = "/api/v1/history?limit=2".to_owned();
    // What is over is written a moment later.
    tokio::time::sleep(Duration::from_millis(300)).await;
    loop {
        let body = world.json(&path).await;
        let rows = body["searches"].as_array().unwrap().clone();
        seen.extend(
            rows.iter()
                .map(|row| row["query"].as_str().unwrap().to_owned()),
        );
        match body["next"].as_i64() {
            Some(next) => path = format!("/api/v1/history?limit=2&before={next}"),
            None => break,
        }
    }
    assert_eq!(seen.len(), 5);
    assert_eq!((&*seen[0], &*seen[4]), ("\"example 4\"", "\"example 0\""));
    for (filter, count) in [
        ("program=Sample", 5),
        ("program=Sonarr", 0),
        ("indexer=one&outcome=answered", 5),
        ("outcome=skipped", 0),
        ("day=2001-01-01", 0),
        ("kind=searches", 5),
    ] {
        let body = world.json(&format!("/api/v1/history?{filter}")).await;
        assert_eq!(
            body["searches"].as_array().unwrap().len(),
            count,
            "{filter}"
        );
    }
    let grabs = world.json("/api/v1/history?kind=grabs").await;
    assert_eq!(grabs["grabs"], serde_json::json!([]));
    world.stop().await;
}
