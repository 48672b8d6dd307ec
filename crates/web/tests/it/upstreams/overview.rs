//! The overview, and the points of its charts.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::Value;
use weir_engine::{
    Engine, Outcome, Own, OwnKind, OwnReason, RestoredPast, Standing, about, dispatch::Moment,
};
use weir_web::{Card, CardState, CardView, Figure};

use super::front::{Sample, Says, names, secs};
use crate::support::{self, KEY, Rig};

/// A card like those of the fronts.
struct TestCard(Engine);

impl Card for TestCard {
    fn view(&self) -> CardView {
        let rows = self.0.upstreams(0, usize::MAX);
        let open = rows.iter().any(|row| row.standing == Standing::Open);
        let mut figures = Figure::of_calls(&self.0.status().counters);
        figures.push(Figure::count("Swarms", 7));
        CardView {
            state: if open {
                CardState::Answering
            } else {
                CardState::Limited
            },
            sentence: "How it is doing.".into(),
            figures,
            lines: None,
        }
    }

    fn thresholds(&self) -> Vec<(u32, &'static str)> {
        vec![(80, "tokens"), (60, "top-N")]
    }
}

fn rig(samples: &[&Arc<Sample>]) -> Rig {
    let with_card = |sample: &&Arc<Sample>| {
        let card = TestCard(sample.engine.clone());
        sample.contribution().card(Arc::new(card))
    };
    support::rig_of(support::config(), samples.iter().map(with_card).collect())
}

/// Gives a front a past: three answered calls of about 0.1 s in each of so many steps, which ended so many seconds ago.
fn live_through(engine: &Engine, steps: u64, ago: u64) {
    let now = Moment(0).until(engine.timeline().now()).as_secs();
    let first = (now - ago) / 10 - steps;
    let text = format!(
        "calls 0 {first};0,3,,,,28,30,12;1,3,,,,28,30,12*{}\nflow 0 {first};0,7,2,,3;1,7,2,,3*{}",
        steps - 1,
        steps - 1
    );
    engine.restore_series(&RestoredPast { text, shift: 0 });
}

async fn page(rig: &Rig, path: &str) -> String {
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    let page = visitor.get(path).await;
    assert_eq!(page.status, StatusCode::OK);
    page.body
}

async fn read(rig: &Rig, path: &str) -> (StatusCode, Value) {
    let key = [("x-api-key", KEY)];
    let reply = rig
        .visitor()
        .ask(axum::http::Method::GET, path, &key, None)
        .await;
    (
        reply.status,
        serde_json::from_str(&reply.body).unwrap_or_default(),
    )
}

#[tokio::test]
async fn a_front_in_trouble_is_named_with_the_reason_and_the_time() {
    let search = Sample::new("search", "indexer");
    for (name, seconds) in [("harbor", 900), ("quarry", 1800)] {
        let retry_after = Some(secs(seconds));
        let id = search.add(name);
        search
            .call(
                id,
                Says(Outcome::Throttled { retry_after }, "it answered 429"),
            )
            .await;
    }
    let rig = rig(&[&search]);
    let page = page(&rig, "/").await;
    let words = "<h1 id=\"headline\" data-live>Search is answering from cache only: both indexers are cooling down. Next one back at <time";
    assert!(page.contains(words), "{page}");
    let (_, status) = read(&rig, "/api/v1/status").await;
    let sentence = status["sentence"].as_str().unwrap_or_default();
    assert!(
        sentence.starts_with("Search is answering from cache only: both indexers"),
        "{sentence}"
    );
    assert!(sentence.contains(", in 15 min."), "{sentence}");
    // What can be done about it needs no form of its own: live parts hold no visitor's token.
    let button =
        "<button form=\"act\" formaction=\"/upstreams/search/harbor/clear\">Clear cooldown";
    assert!(page.contains(button), "{page}");
}

#[tokio::test]
async fn the_card_and_what_was_refused_lead_to_the_fronts_own_decisions() {
    let search = Sample::new("search", "indexer");
    search.add("harbor");
    let too_many = Own::new(OwnKind::Refused, OwnReason::TooMany, about::DOWNLOAD);
    search.engine.note_refused(too_many);
    let rig = rig(&[&search]);
    let overview = page(&rig, "/").await;
    for link in [
        "<a href=\"/decisions?front=search\">Decisions</a>",
        "<a href=\"/decisions?front=search&#38;what=refused\">100 % refused</a>",
    ] {
        assert!(overview.contains(link), "{link}: {overview}");
    }
    // The only front with a card, so it need not be named.
    let own = page(&rig, "/decisions").await;
    assert!(own.contains("<h1>Search decisions</h1>"), "{own}");
    assert!(!own.contains("aria-label=\"Fronts\""), "{own}");
}

#[tokio::test]
async fn a_button_of_the_overview_acts_and_leads_back() {
    let search = Sample::new("search", "indexer");
    let id = search.add("harbor");
    let retry_after = Some(secs(900));
    search
        .call(
            id,
            Says(Outcome::Throttled { retry_after }, "it answered 429"),
        )
        .await;
    let rig = rig(&[&search]);
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    let page = visitor.get("/?window=6h").await;
    let (_, form) = page
        .body
        .split_once("<form id=\"act\"")
        .expect("the form of all buttons");
    assert!(
        form.contains("name=\"next\" value=\"/?window=6h\""),
        "{form}"
    );
    let fields = format!("csrf={}&next=%2F%3Fwindow%3D6h", page.token());
    let reply = visitor
        .post("/upstreams/search/harbor/clear", &fields)
        .await;
    assert_eq!(reply.status, StatusCode::SEE_OTHER);
    let next = reply.header("location").to_owned();
    assert!(next.starts_with("/?window=6h&did=clear"), "{next}");
    let body = visitor.get(&next).await.body;
    assert!(
        body.contains("role=\"status\">harbor: cooldown cleared."),
        "{body}"
    );
}

#[tokio::test]
async fn a_card_shows_what_was_asked_in_the_window() {
    let search = Sample::new("search", "indexer");
    let id = search.add("harbor");
    search.call(id, Says(Outcome::Done, "")).await;
    search.engine.count_from_memory(8);
    live_through(&search.engine, 30, 600);
    let rig = rig(&[&search]);
    let hour = page(&rig, "/").await;
    // 30 steps of 7 from memory, 2 shared and 3 sent; and what happened just now.
    assert!(
        hour.contains("<b data-figure=\"asked\">369</b> asked"),
        "{hour}"
    );
    assert!(
        hour.contains("<b data-figure=\"sent\">91</b> sent upstream, last hour"),
        "{hour}"
    );
    for label in ["59 % cache", "16 % shared", "25 % sent"] {
        assert!(hour.contains(label), "{label} in {hour}");
    }
    let said = "aria-label=\"369 asked: 218 cache, 60 shared, 91 sent\"";
    assert!(hour.contains(said), "{hour}");
    assert!(
        hour.contains("Queue: 0 of 10,000; top-N at 60 %, tokens at 80 %"),
        "{hour}"
    );
    assert!(
        hour.contains("<dd data-figure=\"workers\">10 of 20</dd>"),
        "{hour}"
    );
    assert!(hour.contains("p50 128 ms · p95 192 ms"), "{hour}");
    assert!(
        hour.contains("<dt>Swarms</dt>") && !hour.contains("<dt>Calls made</dt>"),
        "{hour}"
    );
    // Only the hour was lived through.
    let week = page(&rig, "/?window=7d").await;
    assert!(
        week.contains("<b data-figure=\"asked\">9</b> asked"),
        "{week}"
    );
    assert!(week.contains("sent upstream, last 7 days"), "{week}");
    assert!(
        week.contains("<a href=\"/?window=7d\" aria-current=\"true\">7 d</a>"),
        "{week}"
    );
    assert!(
        week.contains("data-topics=\"page:overview:7d page:decisions points\""),
        "{week}"
    );
    let odd = page(&rig, "/?window=%3Cb%3E").await;
    assert!(
        odd.contains("aria-current=\"true\">1 h</a>") && !odd.contains("<b>\""),
        "{odd}"
    );
}

#[tokio::test]
async fn charts_tell_what_is_missing_and_why() {
    let (tracker, search) = (
        Sample::new("tracker", "tracker"),
        Sample::new("search", "indexer"),
    );
    tracker.add("one");
    search.add("harbor");
    let rig = rig(&[&tracker, &search]);
    let new = page(&rig, "/").await;
    assert_eq!(
        new.matches("Collecting, first point in ").count(),
        3,
        "{new}"
    );
    live_through(&tracker.engine, 60, 1200);
    live_through(&search.engine, 30, 1200);
    let page = page(&rig, "/").await;
    assert_eq!(page.matches("<svg viewBox=\"0 0 352 200\"").count(), 3);
    assert!(
        page.contains("Tracker: now 18, low 18, high 18. Search: now 18, low 18, high 18."),
        "{page}"
    );
    assert!(
        page.contains("Tracker: now 12 %, low 12 %, high 12 %."),
        "{page}"
    );
    // Before the first start, and since it was stopped.
    assert!(page.matches(">no data<").count() >= 3, "{page}");
    assert!(page.contains("data-marks=\"60 top-N,80 tokens\""), "{page}");
    assert!(
        page.contains("<summary>Queue fill as a table</summary><table"),
        "{page}"
    );
}

/// A card with nothing to add.
struct PlainCard(CardState);

impl Card for PlainCard {
    fn view(&self) -> CardView {
        CardView {
            state: self.0,
            sentence: "How it is doing.".into(),
            figures: Vec::new(),
            lines: None,
        }
    }
}

#[tokio::test]
async fn a_front_that_is_off_has_no_figures_and_one_that_is_on_says_when_workers_are_added() {
    for (state, has_figures) in [
        (CardState::Off, false),
        (CardState::Unconfigured, false),
        (CardState::Answering, true),
    ] {
        let search = Sample::new("search", "indexer");
        let card = Arc::new(PlainCard(state));
        let rig = support::rig_of(support::config(), vec![search.contribution().card(card)]);
        let page = page(&rig, "/").await;
        for words in [
            "data-figure=\"asked\"",
            "Queue: 0 of 10,000; more workers at 60 %",
        ] {
            assert_eq!(page.contains(words), has_figures, "{words} in {page}");
        }
    }
}

#[tokio::test]
async fn a_front_that_is_not_set_up_has_no_line_and_a_refusal_no_answer_time() {
    let (tracker, search) = (
        Sample::new("tracker", "tracker"),
        Sample::new("search", "indexer"),
    );
    search.add("harbor");
    let rig = rig(&[&tracker, &search]);
    // Three refused calls of about 0.1 s in each of 30 steps.
    let now = Moment(0).until(search.engine.timeline().now()).as_secs();
    let first = now / 10 - 40;
    let text = format!("calls 0 {first};0,,3,,,28,30,12;1,,3,,,28,30,12*29");
    let past = RestoredPast { text, shift: 0 };
    search.engine.restore_series(&past);
    let page = page(&rig, "/").await;
    assert!(page.contains("Search: now 18, low 18, high 18."), "{page}");
    assert!(!page.contains("Tracker: now"), "{page}");
    let (_, times) = page.split_once("id=\"times-caption\"").unwrap();
    let caption = times.split("</").next().unwrap_or_default();
    assert!(!caption.contains("Search: now"), "{caption}");
}

#[tokio::test]
async fn the_page_reloads_without_script_if_asked_to() {
    let search = Sample::new("search", "indexer");
    search.add("harbor");
    let rig = rig(&[&search]);
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    let still = visitor.get("/?window=6h").await;
    assert_eq!(still.header("refresh"), "");
    let link = "<a href=\"/?window=6h&#38;refresh=10\">Refresh every 10 s</a>";
    assert!(still.body.contains(link), "{}", still.body);
    let reloads = visitor.get("/?window=6h&refresh=10").await;
    assert_eq!(reloads.header("refresh"), "10");
    assert!(reloads.body.contains("<a href=\"/?window=6h\">Stop</a>"));
    assert_eq!(visitor.get("/?refresh=1").await.header("refresh"), "");
}

#[tokio::test]
async fn points_come_in_columns_of_the_same_length() {
    let search = Sample::new("search", "indexer");
    let id = search.add("harbor");
    search.call(id, Says(Outcome::Done, "")).await;
    live_through(&search.engine, 30, 600);
    let rig = rig(&[&search]);
    let (status, all) = read(&rig, "/api/v1/series").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(
        (&all["window"], &all["step_seconds"]),
        (&"1h".into(), &10.into())
    );
    let front = &all["series"][0];
    assert_eq!(
        (&front["front"], &front["upstream"]),
        (&"search".into(), &Value::Null)
    );
    let columns = [
        "at",
        "answered",
        "refused",
        "failed",
        "timed_out",
        "p50_ms",
        "p95_ms",
        "fill_pct",
    ];
    for column in columns {
        assert_eq!(front[column].as_array().map(Vec::len), Some(30), "{column}");
    }
    assert_eq!(
        (&front["answered"][0], &front["fill_pct"][29]),
        (&3.into(), &12.into())
    );
    let span = front["to"].as_i64().unwrap_or(0) - front["from"].as_i64().unwrap_or(0);
    assert_eq!(span, 3600);
    let ran = &front["ran"][0];
    assert_eq!(
        ran[1].as_i64().unwrap_or(0) - ran[0].as_i64().unwrap_or(0),
        300
    );
    let (status, one) = read(
        &rig,
        "/api/v1/series?front=search&upstream=harbor&window=7d",
    )
    .await;
    assert_eq!(
        (status, &one["series"][0]["upstream"]),
        (StatusCode::OK, &"harbor".into())
    );
    assert!(one["series"][0]["used_hour"].is_array(), "{one}");
    for (path, wanted) in [
        ("?window=2h", StatusCode::UNPROCESSABLE_ENTITY),
        ("?upstream=harbor", StatusCode::UNPROCESSABLE_ENTITY),
        ("?front=serch", StatusCode::NOT_FOUND),
        ("?front=search&upstream=harbour", StatusCode::NOT_FOUND),
    ] {
        let (status, _) = read(&rig, &format!("/api/v1/series{path}")).await;
        assert_eq!(status, wanted, "{path}");
    }
    let stranger = rig.visitor().get("/api/v1/series").await;
    assert_eq!(stranger.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn attention_and_decisions_are_those_of_all_upstreams() {
    let search = Sample::new("search", "indexer");
    for number in 0..40 {
        let id = search.add(&format!("upstream-{number:02}"));
        let outcome = if number % 2 == 0 {
            Outcome::Done
        } else {
            Outcome::Unavailable
        };
        search.call(id, Says(outcome, "")).await;
    }
    let rig = rig(&[&search]);
    let page = page(&rig, "/").await;
    let (_, attention) = page.split_once("id=\"attention\"").unwrap();
    let (attention, decisions) = attention.split_once("id=\"decisions\"").unwrap();
    let first: Vec<String> = (0..10)
        .map(|number| format!("upstream-{:02}", number * 2 + 1))
        .collect();
    assert_eq!(names(attention), first);
    assert!(
        attention.contains("<a href=\"/upstreams?state=attention\">10 more</a>"),
        "{attention}"
    );
    let last = names(decisions);
    assert_eq!(last.len(), 10, "{last:?}");
    assert!(
        last.iter().all(|name| name.as_str() >= "upstream-33"),
        "{last:?}"
    );
}
