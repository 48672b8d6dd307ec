//! What an operator does through the forms.

use std::sync::Arc;

use axum::http::StatusCode;
use weir_engine::{Outcome, Standing, dispatch::UpstreamId};

use super::front::{Hangs, Sample, Says, Town, town};
use crate::support::{self, FAR, KEY};

fn standing(sample: &Sample, upstream: u32) -> Standing {
    let view = sample.engine.upstream(UpstreamId(upstream)).unwrap();
    view.figures.standing
}

/// Sends a form of the page and follows to where it leads.
async fn act(town: &Town, path: &str, fields: &str) -> String {
    let mut visitor = town.signed_in().await;
    let token = visitor.get("/upstreams").await.token();
    let reply = visitor.post(path, &format!("csrf={token}&{fields}")).await;
    assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.body);
    let next = reply.header("location").to_owned();
    visitor.get(&next).await.body
}

#[tokio::test]
async fn clearing_a_cooldown_opens_at_once_and_is_recorded() {
    let town = town().await;
    let page = act(&town, "/upstreams/search/harbor/clear", "").await;
    assert_eq!(standing(&town.search, 0), Standing::Open);
    assert!(
        page.contains("role=\"status\">harbor: cooldown cleared. It is open.</p>"),
        "{page}"
    );
    let cleared = format!("Cooldown cleared by operator ({FAR}).");
    assert!(page.contains(&cleared), "{page}");
    let again = act(&town, "/upstreams/search/harbor/clear", "").await;
    assert!(again.contains("harbor is not cooling down. Nothing was changed."));
    assert_eq!(again.matches(&cleared).count(), 1);
}

#[tokio::test]
async fn what_never_answered_is_not_open_because_its_cooldown_was_cleared() {
    let town = town().await;
    let page = act(&town, "/upstreams/tracker/tracker-four/clear", "").await;
    assert_eq!(standing(&town.tracker, 0), Standing::Untried);
    let words = "tracker-four: cooldown cleared. It is called again, but has not answered yet.";
    assert!(page.contains(words), "{page}");
    assert!(page.contains("<span>No answer yet</span>"), "{page}");
    assert!(page.contains("tracker-four has not answered yet. At <time"));
    assert!(page.contains("class=\"untried\" x="), "in the band");
}

#[tokio::test]
async fn switching_off_needs_a_reason_and_remembers_who() {
    let town = town().await;
    let mut visitor = town.signed_in().await;
    let asked = visitor.get("/upstreams/search/quarry/disable").await;
    assert!(
        asked.body.contains("Switch off <bdi>quarry</bdi>?") && asked.body.contains("Keep it on")
    );
    let token = asked.token();
    for reason in ["", "++%0A"] {
        let form = format!("csrf={token}&reason={reason}");
        let refused = visitor
            .post("/upstreams/search/quarry/disable", &form)
            .await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(
            refused
                .body
                .contains("aria-invalid=\"true\" aria-describedby=\"mistake\"")
        );
    }
    let long = format!("csrf={token}&reason={}", "x".repeat(201));
    let refused = visitor
        .post("/upstreams/search/quarry/disable", &long)
        .await;
    assert!(
        refused.body.contains("at most 200 characters") && refused.body.contains(&"x".repeat(201))
    );
    assert_eq!(standing(&town.search, 2), Standing::Untried);

    let page = act(
        &town,
        "/upstreams/search/quarry/disable",
        "reason=key+%3Cexpired%3E",
    )
    .await;
    assert_eq!(standing(&town.search, 2), Standing::Manual);
    assert!(page.contains("quarry is off until it is switched on."));
    let words = format!("quarry is off, by operator ({FAR}) at <time");
    assert!(page.contains(&words), "{page}");
    assert!(page.contains("“key &#60;expired&#62;”. Stays off until switched on."));
    assert!(page.contains(">Switch on</button>") && !page.contains("data-dialog"));

    let page = act(&town, "/upstreams/search/quarry/enable", "").await;
    assert_eq!(standing(&town.search, 2), Standing::Untried);
    assert!(page.contains("quarry is switched on."));
    assert!(page.contains(&format!("Switched on by operator ({FAR}).")));
    let off = format!("Switched off by operator ({FAR}): “key &#60;expired&#62;”.");
    assert!(page.contains(&off), "{page}");
    let again = act(&town, "/upstreams/search/quarry/enable", "").await;
    assert!(again.contains("quarry was not off. Nothing was changed."));
}

#[tokio::test]
async fn switching_on_says_that_a_cooldown_continues() {
    let town = town().await;
    act(&town, "/upstreams/search/harbor/disable", "reason=x").await;
    let page = act(&town, "/upstreams/search/harbor/enable", "").await;
    assert!(page.contains("harbor is switched on. It is cooling down until <time"));
    assert_eq!(standing(&town.search, 0), Standing::Cooldown);
}

#[tokio::test]
async fn a_probe_that_is_answered_opens() {
    let town = town().await;
    let next = "next=%2Fupstreams%3Ffront%3Dtracker";
    let page = act(&town, "/upstreams/tracker/tracker-four/probe", next).await;
    assert!(
        page.contains("tracker-four answered the probe and is open."),
        "{page}"
    );
    assert!(page.contains("<h1>Upstreams</h1>"), "back on the list");
    assert_eq!(standing(&town.tracker, 0), Standing::Open);
    let page = act(&town, "/upstreams/tracker/tracker-two/probe", "").await;
    assert!(page.contains("tracker-two answered the probe and is open."));
    assert!(
        page.contains("Called at once for an operator and answered in "),
        "it is in the decisions"
    );
}

#[tokio::test]
async fn a_probe_that_fails_says_why() {
    let town = town().await;
    let says = Says(Outcome::Unavailable, "it reset the connection");
    *town.search.probe.lock() = Some(Arc::new(says));
    let page = act(&town, "/upstreams/search/harbor/probe", "").await;
    assert!(page.contains(
        "class=\"notice warn\" role=\"status\">harbor: the probe failed: it reset the connection."
    ));
    assert_eq!(standing(&town.search, 0), Standing::Cooldown);
    *town.search.probe.lock() = None;
    let page = act(&town, "/upstreams/search/harbor/probe", "").await;
    assert!(page.contains("harbor has no separate probe: the next request will test it."));
    assert!(!page.contains(">Probe now<"));
}

#[tokio::test]
async fn a_slow_probe_goes_on_by_itself_and_is_made_once() {
    let town = town().await;
    *town.search.probe.lock() = Some(Arc::new(Hangs));
    let path = "/upstreams/search/harbor/probe";
    let (mut one, mut two) = (town.signed_in().await, town.signed_in().await);
    let form = format!("csrf={}", one.get("/upstreams").await.token());
    let same = format!("csrf={}", two.get("/upstreams").await.token());
    tokio::time::pause();
    let (one, two) = tokio::join!(one.post(path, &form), two.post(path, &same));
    for reply in [one, two] {
        assert!(
            reply.header("location").ends_with("&how=under_way"),
            "{reply:?}"
        );
    }
    let view = town.search.engine.upstream(UpstreamId(0)).unwrap();
    assert_eq!(view.status.in_flight, 1, "the second is the first");
    tokio::time::resume();
    let word = "did=probe&whom=search%2Fharbor&how=under_way";
    let page = town
        .signed_in()
        .await
        .get(&format!("/upstreams?{word}"))
        .await
        .body;
    assert!(page.contains("harbor is being probed."), "{page}");
}

#[tokio::test]
async fn what_fails_is_probed_at_once() {
    let town = town().await;
    let page = act(&town, "/upstreams/probe", "next=%2Fupstreams").await;
    assert!(page.contains("3 upstreams are being probed."), "{page}");
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let page = town.signed_in().await.get("/upstreams").await.body;
    assert!(
        page.contains("4 of 8 open. 3 not tried yet, 1 off by operator."),
        "{page}"
    );
    assert!(!page.contains("Probe all failing"));
}

#[tokio::test]
async fn forms_without_their_token_change_nothing() {
    let town = town().await;
    let mut visitor = town.signed_in().await;
    for path in [
        "/upstreams/search/harbor/clear",
        "/upstreams/search/harbor/probe",
        "/upstreams/search/harbor/disable",
        "/upstreams/search/orchard/enable",
        "/upstreams/probe",
        "/api/v1/upstreams/search/harbor/clear",
    ] {
        let refused = visitor.post(path, "csrf=wrong&reason=x").await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path}");
        assert!(refused.body.contains("nothing was changed"));
    }
    assert_eq!(standing(&town.search, 0), Standing::Cooldown);
    assert_eq!(standing(&town.search, 3), Standing::Manual);
    let sample = &town.search;
    let before = sample.engine.decisions(UpstreamId(0), None, 99).len();
    visitor.get("/upstreams/search/harbor/clear").await;
    assert_eq!(
        sample.engine.decisions(UpstreamId(0), None, 99).len(),
        before
    );
}

#[tokio::test]
async fn nobody_puts_words_into_our_mouth() {
    let town = town().await;
    let mut visitor = town.signed_in().await;
    for query in [
        "did=clear&whom=search/nobody&how=done",
        "did=clear&whom=search%2Fharbor&how=%3Cb%3E",
        "did=%3Cb%3E&whom=search/harbor&how=done",
        "did=probe-all&how=%3Cb%3E",
    ] {
        let page = visitor.get(&format!("/upstreams?{query}")).await.body;
        assert!(
            !page.contains("class=\"notice") && !page.contains("<b>"),
            "{query}"
        );
    }
    let token = visitor.get("/upstreams").await.token();
    let form = format!("csrf={token}&next=//evil.example");
    let reply = visitor.post("/upstreams/search/harbor/clear", &form).await;
    assert!(
        reply
            .header("location")
            .starts_with("/upstreams/search/harbor?did=clear")
    );
    let unknown = visitor.post("/upstreams/search/harbor/delete", &form).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    let unknown = visitor.post("/upstreams/search/nobody/clear", &form).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn one_front_without_limits_has_a_simple_page() {
    let sample = Sample::new("news", "news server");
    sample.add("one");
    let rig = support::rig_of(support::config(), vec![sample.contribution()]);
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    let page = visitor.get("/upstreams").await.body;
    assert!(page.contains("0 of 1 open. 1 not tried yet.") && page.contains("News server, udp://"));
    assert!(
        !page.contains("aria-label=\"Fronts\""),
        "one front is no choice"
    );
    assert!(!page.contains("Quota used"), "no limits, no column");
}
