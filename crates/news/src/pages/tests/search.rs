//! `/news/search` and the same for programs.

use std::sync::Arc;

use axum::http::Method;
use serde_json::{Value, json};

use super::world::{Samples, World};
use crate::pages::samples::{self, NOV};
use crate::seeking::{Coverage, FoundPage, Hit, Unfound};
use crate::text::Piece;

fn piece(text: &str, marked: bool) -> Piece {
    Piece {
        text: text.to_owned(),
        marked,
    }
}

fn hit(number: usize) -> Hit {
    Hit {
        id: samples::id(&format!("{number}@x.example")),
        subject: vec![piece("Gauge at the old ", false), piece("mill", true)],
        author: "Mira <b>Holt".to_owned(),
        date: NOV,
        newsgroups: ["example.one", "example.two"]
            .map(|name| name.parse().unwrap())
            .to_vec(),
        passage: vec![
            piece("<script>by the ", false),
            piece("<i>mill", true),
            piece(" & on", false),
        ],
    }
}

fn found(hits: usize, found: usize) -> FoundPage {
    FoundPage {
        hits: (0..hits).map(hit).collect(),
        found,
        is_all: true,
        coverage: Coverage {
            articles: 40_000,
            texts: 12_000,
            waiting: 0,
            since: None,
        },
        ..FoundPage::default()
    }
}

fn world(found: Result<FoundPage, Unfound>) -> World {
    World::new(Samples {
        found,
        ..Samples::default()
    })
}

#[tokio::test]
async fn what_is_found_is_shown_with_its_words_marked_and_nothing_runs() {
    let world = world(Ok(found(2, 2)));
    let answer = world.get("/news/search?q=mill").await;
    assert_eq!(answer.status, 200);
    for text in [
        "2 articles.",
        "40,000 stored articles are indexed, 12,000 with text.",
        "Gauge at the old <mark>mill</mark>",
        "&#60;script&#62;by the <mark>&#60;i&#62;mill</mark> &#38; on",
        "Mira &#60;b&#62;Holt",
        "href=\"/news/article/0%40x.example\"",
        "href=\"/news/example.two\"",
        "value=\"mill\"",
    ] {
        assert!(answer.body.contains(text), "{text} in {}", answer.body);
    }
    assert!(!answer.body.contains("rel=\"next\""));
    let tag = [("if-none-match", answer.header("etag"))];
    let again = world
        .ask(Method::GET, "/news/search?q=mill", &tag, "")
        .await;
    assert_eq!(again.status, 304);
}

#[tokio::test]
async fn everything_in_the_form_reaches_the_index_and_stays_in_the_form_and_the_pages() {
    let world = world(Ok(found(20, 5_000)));
    let path = "/news/search?q=%22a%3Cb%22&group=comp.*&author=holt&after=2025-01-31&before=2026-01-01&order=newest";
    let answer = world.get(path).await;
    let asked = world.asked().pop().unwrap();
    for text in [
        "[\"a\", \"b\"]",
        "\"comp.*\"",
        "Author, words: [\"holt\"]",
        "after: Some(1738281600)",
        "Newest",
        "page: 0",
    ] {
        assert!(asked.contains(text), "{text} in {asked}");
    }
    for text in [
        "5,000 articles. The first 1,000 can be seen.",
        "1–20 of 1,000",
        "value=\"&#34;a&#60;b&#34;\"",
        "<option value=\"newest\" selected>",
        "q=%22a%3Cb%22&#38;group=comp.%2A&#38;author=holt&#38;after=2025-01-31&#38;before=2026-01-01&#38;order=newest&#38;page=2",
    ] {
        assert!(answer.body.contains(text), "{text} in {}", answer.body);
    }
    let last = world.get("/news/search?q=a&page=50").await;
    assert!(!last.body.contains("rel=\"next\"") && last.body.contains("rel=\"prev\""));
}

#[tokio::test]
async fn counts_say_no_more_than_is_known() {
    let mut page = found(1, 10_000);
    page.is_all = false;
    (page.coverage.waiting, page.coverage.since) = (28_000, Some(NOV));
    page.notes.push("Only the first 24 words count.".to_owned());
    let answer = world(Ok(page)).get("/news/search?q=a").await;
    for text in [
        "At least 10,000 articles; only the newest were looked at. The first 1,000 can be seen.",
        "40,000 of 68,000 stored articles are indexed so far.",
        "articles from before 10 Nov 2026 are not in it",
        "Only the first 24 words count.",
    ] {
        assert!(answer.body.contains(text), "{text} in {}", answer.body);
    }
}

#[tokio::test]
async fn an_empty_question_gets_hints_and_nothing_found_gets_advice() {
    let world = world(Ok(found(0, 0)));
    let empty = world.get("/news/search").await;
    assert_eq!(empty.status, 200);
    assert!(empty.body.contains("group:comp.*") && !empty.body.contains("Nothing was found."));
    let nothing = world.get("/news/search?q=mill").await;
    assert!(
        nothing.body.contains("Nothing was found.") && nothing.body.contains("Try fewer words")
    );
    let beyond = world.get("/news/search?q=mill&page=3").await;
    assert!(beyond.body.contains("There is nothing on this page."));
    assert_eq!(world.get("/news/search?q=mill&page=x").await.status, 400);
}

#[tokio::test]
async fn a_busy_an_unreadable_and_a_missing_index_say_so() {
    for (unfound, status, retry) in [
        (Unfound::Busy { retry_after: 3 }, 503, "3"),
        (Unfound::Unreadable, 503, "60"),
        (Unfound::Off, 404, ""),
    ] {
        let world = world(Err(unfound));
        for path in ["/news/search?q=a", "/api/v1/news/search?q=a"] {
            let answer = world.get(path).await;
            assert_eq!(
                (answer.status, answer.header("retry-after")),
                (status, retry),
                "{path}"
            );
        }
    }
}

#[tokio::test]
async fn programs_get_the_same() {
    let world = world(Ok(found(1, 21)));
    let answer = world.get("/api/v1/news/search?q=mill&page=1").await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let value: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(
        value,
        json!({
            "found": 21, "complete": true, "page": 1, "has_next": true, "notes": [],
            "index": { "articles": 40_000, "texts": 12_000, "waiting": 0, "since": null },
            "articles": [{
                "id": "0@x.example", "subject": "Gauge at the old mill", "author": "Mira <b>Holt",
                "at": "2026-11-10T09:12:00Z", "groups": ["example.one", "example.two"],
                "url": "/news/article/0%40x.example",
                "passage": [
                    { "text": "<script>by the ", "marked": false },
                    { "text": "<i>mill", "marked": true },
                    { "text": " & on", "marked": false },
                ],
            }],
        })
    );
}

#[tokio::test]
async fn without_an_index_there_is_no_search_box() {
    for (found, is_there) in [(Ok(found(1, 1)), true), (Err(Unfound::Off), false)] {
        let world = World::new(Samples {
            newsgroups: Ok(Arc::new(samples::list(vec![samples::newsgroup("a.b")]))),
            threads: Ok(Arc::new(samples::threads(Vec::new()))),
            found,
            ..Samples::default()
        });
        for path in ["/news", "/news?q=a", "/news/example.rivers.gauges"] {
            let body = world.get(path).await.body;
            assert_eq!(body.contains("action=\"/news/search\""), is_there, "{path}");
        }
    }
}

#[test]
fn newsgroups_and_their_list_have_a_search_box() {
    let threads = crate::pages::threads::write(&samples::threads(Vec::new()), None, true)
        .unwrap()
        .body;
    let list = samples::list(vec![samples::newsgroup("a.b")]);
    let list = crate::pages::groups::write(&list, &Default::default(), 0, true)
        .unwrap()
        .body;
    for body in [&threads, &list] {
        assert!(body.contains("action=\"/news/search\""), "{body}");
    }
    assert!(threads.contains("name=\"group\" value=\"example.rivers.gauges\""));
}
