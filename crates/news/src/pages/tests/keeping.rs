//! Marks as browsers send and fetch them.

use axum::http::Method;
use serde_json::{Value, json};

use super::world::{Samples, World};

const MARKS: &str = "/api/v1/news/marks";

#[tokio::test]
async fn what_one_browser_sends_another_gets() {
    let world = World::new(Samples::default());
    let sent = json!({
        "threads": { "<1@x>": { "upto": 5, "count": 2, "read": ["m0123456789"], "flag": "ignored", "flag_at": 7, "at": 7 } },
        "newsgroups": { "a.b": { "articles": 9, "upto": 4, "subscribed": true, "subscribed_at": 3, "at": 3 } },
    });
    let answer = world.send(Method::POST, MARKS, &sent.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let got: Value = serde_json::from_str(&world.get(MARKS).await.body).unwrap();
    assert_eq!(
        (&got["threads"], &got["newsgroups"]),
        (&sent["threads"], &sent["newsgroups"])
    );
    assert_eq!((&got["version"], &got["more"]), (&json!(2), &json!(false)));
    let later: Value =
        serde_json::from_str(&world.get("/api/v1/news/marks?since=2").await.body).unwrap();
    assert_eq!(later["threads"], json!({}));
}

#[tokio::test]
async fn too_much_at_once_is_refused() {
    let world = World::new(Samples::default());
    let threads: serde_json::Map<String, Value> = (0..501)
        .map(|number| (format!("<{number}@x>"), json!({})))
        .collect();
    let answer = world
        .send(
            Method::POST,
            MARKS,
            &json!({ "threads": threads }).to_string(),
        )
        .await;
    assert_eq!(answer.status, 422, "{}", answer.body);
    assert_eq!(
        serde_json::from_str::<Value>(&world.get(MARKS).await.body).unwrap()["version"],
        0
    );
    for body in [
        "",
        "{\"threads\": 1}",
        "{\"threads\": {\"<1@x>\": {\"flag\": \"odd\"}}}",
    ] {
        let answer = world.send(Method::POST, MARKS, body).await;
        assert!(
            (400..500).contains(&answer.status),
            "{body}: {}",
            answer.status
        );
    }
}
