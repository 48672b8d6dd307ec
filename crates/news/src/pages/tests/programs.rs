//! The API gives what the pages show.

use std::sync::Arc;

use serde_json::{Value, json};

use super::thread::mill;
use super::world::{Samples, World};
use crate::pages::samples::{self, NOV};
use crate::reading::{Absence, Content, SilentServer};

async fn read(world: &World, path: &str) -> Value {
    let answer = world.get(path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    serde_json::from_str(&answer.body).expect("JSON")
}

#[tokio::test]
async fn newsgroups_are_listed_filtered_and_named() {
    let mut gauges = samples::newsgroup("example.gauges");
    gauges.description = "Water levels".to_owned();
    let mut list = samples::list(vec![
        gauges,
        samples::newsgroup("example.ice"),
        samples::newsgroup("misc"),
    ]);
    list.currency.silent.push(SilentServer {
        name: "news-two".into(),
        reason: "it timed out".to_owned(),
        retry_at: Some(NOV),
    });
    let world = World::new(Samples {
        newsgroups: Ok(Arc::new(list)),
        ..Samples::default()
    });
    let all = read(&world, "/api/v1/news/groups").await;
    assert_eq!((&all["total"], &all["pages"]), (&json!(3), &json!(1)));
    assert_eq!(
        all["groups"][0],
        json!({ "name": "example.gauges", "description": "Water levels", "articles": 214, "posting": "open",
                "servers": ["news-one", "news-two"], "newest_at": null })
    );
    assert_eq!(
        all["currency"],
        json!({ "checked_at": "2026-11-10T09:12:00Z", "busy": false,
                "silent": [{ "name": "news-two", "reason": "it timed out", "retry_at": "2026-11-10T09:12:00Z" }] })
    );
    assert_eq!(
        read(&world, "/api/v1/news/groups?q=water").await["total"],
        1
    );
    let named = read(&world, "/api/v1/news/groups?names=misc,none,example.ice").await;
    assert_eq!(
        (&named["groups"][0]["name"], &named["total"]),
        (&json!("misc"), &json!(2))
    );
}

#[tokio::test]
async fn threads_and_articles_are_given_with_what_is_missing() {
    let mut view = samples::thread(mill(), |index| format!("Words {index}\n"));
    view.messages[4].content = Content::Nowhere(Arc::new(Absence {
        servers: vec!["news-one".into()],
        at: NOV,
    }));
    let read_article = match &view.messages[0].content {
        Content::Read(read) => read.clone(),
        other => panic!("{other:?}"),
    };
    let world = World::new(Samples {
        threads: Ok(Arc::new(samples::threads(vec![samples::thread_row(4)]))),
        thread: vec![Ok(Arc::new(view))],
        article: Ok(read_article),
        ..Samples::default()
    });
    let page = read(&world, "/api/v1/news/groups/example.rivers.gauges").await;
    assert_eq!(
        (&page["threads"][0]["articles"], &page["complete"]),
        (&json!(5), &json!(true))
    );
    let thread = read(
        &world,
        "/api/v1/news/groups/example.rivers.gauges/threads/0@x.example",
    )
    .await;
    assert_eq!(
        (&thread["articles"], &thread["missing"]),
        (&json!(8), &json!(1))
    );
    assert_eq!(thread["messages"][1]["parent"], "0@x.example");
    assert_eq!(thread["messages"][1]["content"]["text"], "Words 1");
    assert_eq!(thread["messages"][4]["state"], "missing");
    let article = read(&world, "/api/v1/news/articles/0@x.example").await;
    assert_eq!(article["text"], "Words 0");
    assert_eq!(article["headers"][0]["name"], "From");
    assert_eq!(article["url"], "/news/article/0%40x.example");
}
