//! What a front decided by itself, on a page: the overview has the newest alone.

use axum::http::StatusCode;
use weir_engine::{Own, OwnKind, OwnReason, about};

use super::front::{Town, secs, town};

/// A client that was turned away, before many others.
const FIRST: &str = "New peer for torrent &#60;b&#62;4be1…90c2 refused: the tracker is full \
     (max_peers or max_swarms reached). The client was told to retry in 30 minutes.";

fn held_back(asker: &str) -> Own {
    Own {
        asker: Some(asker.into()),
        limit: Some(60),
        ..Own::new(OwnKind::Throttled, OwnReason::TooMany, about::COMPLETED)
    }
}

async fn busy() -> Town {
    let town = town().await;
    let engine = &town.tracker.engine;
    let full = Own {
        retry: Some(secs(1800)),
        example: Some("<b>4be1…90c2".into()),
        ..Own::new(OwnKind::Refused, OwnReason::Full, about::NEW_PEER)
    };
    engine.note_own(full, 1);
    for number in 0..30 {
        engine.note_own(held_back(&format!("203.0.113.{number}")), 1);
    }
    town
}

fn rows(body: &str) -> Vec<&str> {
    let rows = body.split("<tr id=\"d-").skip(1);
    rows.filter_map(|row| Some(row.split_once('"')?.0))
        .collect()
}

#[tokio::test]
async fn why_a_client_was_refused_is_on_a_page_however_much_was_decided_since() {
    let town = busy().await;
    let mut visitor = town.signed_in().await;
    let overview = visitor.get("/").await.body;
    assert!(!overview.contains(FIRST), "only the newest: {overview}");
    let page = visitor.get("/decisions?front=tracker").await;
    assert_eq!(page.status, StatusCode::OK);
    let body = page.body;
    assert!(body.contains("<h1>Tracker decisions</h1>"), "{body}");
    let newest: Vec<String> = (7..=31).rev().map(|number| number.to_string()).collect();
    assert_eq!(rows(&body), newest);
    for label in [
        "All 31",
        "Refused 1",
        "Dropped 0",
        "Held back 30",
        "Repeated 0",
    ] {
        assert!(body.contains(&format!(">{label}</a>")), "{label}: {body}");
    }
    assert!(!body.contains(FIRST));
    let older = "/decisions?front=tracker&#38;before=7";
    assert!(
        body.contains(&format!("<a href=\"{older}\" rel=\"next\">")),
        "{body}"
    );
    let body = visitor.get(&older.replace("&#38;", "&")).await.body;
    assert_eq!(rows(&body), ["6", "5", "4", "3", "2", "1"]);
    assert!(body.contains(FIRST), "{body}");
    assert!(body.contains("<a href=\"/decisions?front=tracker\" rel=\"first\">"));
}

#[tokio::test]
async fn the_fronts_decisions_of_one_kind_are_listed_alone_and_the_overview_leads_to_each() {
    let town = busy().await;
    let mut visitor = town.signed_in().await;
    let body = visitor
        .get("/decisions?front=tracker&what=refused")
        .await
        .body;
    assert_eq!(rows(&body), ["1"]);
    assert!(body.contains(FIRST), "{body}");
    assert!(
        body.contains(" class=\"disabled\">Refused</span>"),
        "{body}"
    );
    let chosen = "<a href=\"/decisions?front=tracker&#38;what=refused\" aria-current=\"true\">";
    assert!(body.contains(chosen), "{body}");
    let overview = visitor.get("/").await.body;
    let newest = "<a href=\"/decisions?front=tracker#d-31\" data-open><bdi>Tracker</bdi></a>";
    assert!(overview.contains(newest), "{overview}");
    let none = visitor.get("/decisions?front=tracker&what=dropped").await;
    assert!(none.body.contains("No decision of this kind is recorded."));
    let none = visitor.get("/decisions?front=search").await.body;
    assert!(
        none.contains("Nothing was refused, dropped or held back"),
        "{none}"
    );
    let odd = visitor
        .get("/decisions?front=tracker&what=%3Cb%3E&before=x")
        .await;
    assert_eq!(rows(&odd.body).len(), 25, "what cannot be read is ignored");
    for path in ["/decisions?front=%3Cb%3E", "/decisions?front=trackers"] {
        let unknown = visitor.get(path).await;
        assert_eq!(unknown.status, StatusCode::UNPROCESSABLE_ENTITY, "{path}");
    }
}

#[tokio::test]
async fn a_burst_is_one_row_that_says_when_it_happened_last() {
    let town = town().await;
    let engine = &town.tracker.engine;
    engine.note_own(held_back("203.0.113.7"), 9);
    // Moments are those of a real clock here, and two of them differ.
    engine.note_own(held_back("203.0.113.7"), 1);
    let body = town
        .signed_in()
        .await
        .get("/decisions?front=tracker")
        .await
        .body;
    assert_eq!(rows(&body), ["1"]);
    let words = "203.0.113.7 sent more than 60 events in a minute: 10 completed events were \
         stored and answered, but not sent to trackers. The last time was at <time ";
    assert!(body.contains(words), "{body}");
    assert!(body.contains("<td>203.0.113.7</td>"), "{body}");
}
