//! Feeds that a parser of XML reads.

use std::sync::Arc;

use quick_xml::Reader;
use quick_xml::events::Event;

use super::world::{Samples, World};
use crate::pages::samples::{self, row};

/// The text of all elements of a name.
fn texts(xml: &str, wanted: &str) -> Vec<String> {
    let mut reader = Reader::from_str(xml);
    let (mut path, mut found) = (Vec::new(), Vec::new());
    loop {
        match reader.read_event().expect("well-formed XML") {
            Event::Start(start) => {
                path.push(start.name().as_ref().to_owned());
                if path.last().is_some_and(|name| name == wanted) {
                    found.push(String::new());
                }
            }
            Event::End(_) => {
                path.pop();
            }
            Event::Text(text) if path.last().is_some_and(|name| name == wanted) => {
                found.last_mut().expect("begun").push_str(&text);
            }
            Event::GeneralRef(reference) if path.last().is_some_and(|name| name == wanted) => {
                let character = reference
                    .resolve_char_ref()
                    .expect("a character")
                    .expect("a number");
                found.last_mut().expect("begun").push(character);
            }
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(path, [""; 0]);
    found
}

#[tokio::test]
async fn a_newsgroup_feed_has_an_entry_for_each_newest_article() {
    let mut rows: Vec<_> = (0..3).map(samples::thread_row).collect();
    rows[1].subject = "<b>&amp; \u{1}\u{FFFE}done]]></title>".to_owned();
    rows[1].last_author = String::new();
    rows[2].last_id = samples::id("a<\"&'b@x");
    let world = World::new(Samples {
        threads: Ok(Arc::new(samples::threads(rows))),
        ..Samples::default()
    });
    let answer = world.get("/news/example.rivers.gauges/atom.xml").await;
    assert_eq!(
        answer.header("content-type"),
        "application/atom+xml; charset=utf-8"
    );
    let xml = &answer.body;
    assert_eq!(
        texts(xml, "id"),
        [
            "news:example.rivers.gauges",
            "news:0.last%40x.example",
            "news:1.last%40x.example",
            "news:a%3C%22%26%27b%40x"
        ]
    );
    assert_eq!(texts(xml, "title")[2], "<b>&amp; done]]></title>");
    assert_eq!(
        texts(xml, "name")[1],
        "(no name)",
        "an author must have a name"
    );
    assert_eq!(texts(xml, "updated")[0], "2026-11-10T09:12:00Z");
    assert!(xml.contains("href=\"http://weir.example:7070/news/example.rivers.gauges/0%40x.example?article=0.last%40x.example#m"), "{xml}");
}

#[tokio::test]
async fn a_thread_feed_begins_with_the_newest_and_shows_its_words() {
    let rows = vec![
        row(0, 0, None, "Mira"),
        row(1, 1, Some(0), "Jonas <script>"),
    ];
    let view = samples::thread(rows, |index| format!("Words <{index}>\n"));
    let world = World::new(Samples {
        thread: vec![Ok(Arc::new(view))],
        ..Samples::default()
    });
    let answer = world
        .get("/news/example.rivers.gauges/0@x.example/atom.xml")
        .await;
    let xml = &answer.body;
    assert_eq!(
        texts(xml, "id"),
        [
            "news:0%40x.example#thread",
            "news:1%40x.example",
            "news:0%40x.example"
        ]
    );
    assert_eq!(texts(xml, "summary"), ["Words <1>", "Words <0>"]);
    let asked = world.asked();
    assert_eq!(asked.len(), 1, "one question, one deadline: {asked:?}");
    assert!(asked[0].ends_with("Newest"), "{asked:?}");
    assert_eq!(texts(xml, "name")[0], "Jonas <script>");
}

#[tokio::test]
async fn an_empty_newsgroup_has_a_valid_feed() {
    let world = World::new(Samples {
        threads: Ok(Arc::new(samples::threads(Vec::new()))),
        ..Samples::default()
    });
    let answer = world.get("/news/a.b/atom.xml").await;
    assert_eq!(texts(&answer.body, "updated").len(), 1);
}
