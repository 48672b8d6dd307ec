//! What the pages show.

use std::{sync::Arc, time::Duration};

use axum::http::{Method, StatusCode};
use weir_engine::{
    Outcome, Weather,
    dispatch::{Asker, Class, Job},
};

use super::front::{NoRoute, ODD, Sample, Says, names, secs, town};
use crate::support::{self, KEY};

#[tokio::test]
async fn those_needing_attention_stand_first_with_reason_and_time() {
    let town = town().await;
    let page = town.signed_in().await.get("/upstreams").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(
        page.body
            .contains("1 of 8 open. 3 not tried yet, 1 cooling down, 1 probing, 1 disabled, 1 off by operator."),
        "{}",
        page.body
    );
    assert_eq!(
        names(&page.body),
        [
            "tracker-four",
            "harbor",
            "tracker-two",
            "lantern",
            "orchard",
            "a/b ü?&#60;i&#62;",
            "quarry",
            "tracker-one"
        ]
    );
    for part in [
        "Cooldown until <time datetime=\"2026-11-15T00:0",
        "It answered 429 (at <time",
        "</time>). Next try <span",
        ">in 15 min</span>",
        "Disabled, probe at <time",
        "Since <time",
        "</time>: no such host. Next automatic probe <span",
        "; if that fails, another 5 min later. 1 failure in a row.",
        "2 of 2 calls used in the last hour. The next one is possible at <time",
        "“account renewal”, by operator (192.0.2.1). Stays off until switched on.",
        "Ready to retry: the next request will test it, or Weir itself at <time",
        "<use href=\"#s-untried\"/></svg><span>Not tried yet</span></span><p>The next request will test it, or Weir itself at <time",
        "aria-label=\"2 of 2 calls in the last hour\"",
        "udp://host-0.example:1337",
        ">Clear cooldown<",
        ">Switch on<",
        ">Probe now<",
    ] {
        assert!(page.body.contains(part), "{part} in\n{}", page.body);
    }
    assert!(
        page.body
            .contains("href=\"/upstreams/tracker/a%2Fb%20%C3%BC%3F%3Ci%3E\"")
    );
    assert!(
        page.body
            .contains("<a href=\"/upstreams\" data-key=\"u\" aria-current=\"page\">")
    );
    assert!(!page.body.contains(" style="));
}

#[tokio::test]
async fn filters_and_orders_stand_in_the_address() {
    let town = town().await;
    let mut visitor = town.signed_in().await;
    for (query, wanted) in [
        ("q=HARB", &["harbor"][..]),
        ("q=host-3.example", &["orchard", ODD]),
        ("state=open&front=search", &["lantern"]),
        ("state=untried&front=search", &["quarry"]),
        (
            "state=attention&sort=name",
            &["harbor", "lantern", "tracker-four", "tracker-two"],
        ),
        ("state=manual", &["orchard"]),
        (
            "front=search&sort=-name",
            &["quarry", "orchard", "lantern", "harbor"],
        ),
        (
            "front=search&sort=-state",
            &["quarry", "orchard", "lantern", "harbor"],
        ),
        (
            "front=search&sort=success",
            &["harbor", "lantern", "orchard", "quarry"],
        ),
        ("q=nobody", &[]),
    ] {
        let page = visitor.get(&format!("/upstreams?{query}")).await;
        assert_eq!(page.status, StatusCode::OK);
        let wanted: Vec<String> = wanted
            .iter()
            .map(|name| name.replace('<', "&#60;").replace('>', "&#62;"))
            .collect();
        assert_eq!(names(&page.body), wanted, "{query}");
    }
    let page = visitor
        .get("/upstreams?front=search&sort=name&q=r")
        .await
        .body;
    assert!(page.contains(
        "aria-sort=\"ascending\"><a href=\"/upstreams?q=r&#38;front=search&#38;sort=-name\">Upstream</a> \
         <span aria-hidden=\"true\">↑</span>"
    ));
    assert!(page.contains("<option value=\"\" selected>Any state (8)</option>"));
    assert!(page.contains("Trackers 4</a>") && page.contains("Indexers 4</a>"));
    let odd = visitor
        .get("/upstreams?page=x&sort=%3Cb%3E&state=nope&limit=-3&refresh=1")
        .await;
    assert_eq!(
        names(&odd.body).len(),
        8,
        "what makes no sense counts as not there"
    );
    assert_eq!(odd.header("refresh"), "");
    assert_eq!(
        visitor.get("/upstreams?refresh=10").await.header("refresh"),
        "10"
    );
}

#[tokio::test]
async fn fifty_stand_on_a_page() {
    let sample = Sample::new("tracker", "tracker");
    for index in 1..=117 {
        sample.add(&format!("tracker-{index:03}"));
    }
    let rig = support::rig_of(support::config(), vec![sample.contribution()]);
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    let first = visitor.get("/upstreams").await.body;
    assert!(first.contains("0 of 117 open. 117 not tried yet."));
    assert!(first.contains("1–50 of 117, those needing attention first"));
    assert!(
        first.contains("<span>Previous</span><a href=\"/upstreams?page=2\" rel=\"next\">Next</a>")
    );
    assert!(first.len() < 60_000, "{} bytes", first.len());
    let last = visitor.get("/upstreams?page=3").await.body;
    assert_eq!(
        names(&last).first().map(String::as_str),
        Some("tracker-101")
    );
    assert!(last.contains("101–117 of 117") && last.contains("<span>Next</span>"));
    let beyond = visitor.get("/upstreams?page=99").await.body;
    assert!(beyond.contains("101–117 of 117"));
}

#[tokio::test]
async fn without_a_front_that_calls_there_is_no_entry_and_an_empty_page() {
    let rig = support::rig();
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    let page = visitor.get("/upstreams").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.body.contains("No upstream is set up.") && !page.body.contains("data-key=\"u\""));
    assert_eq!(page.body.matches("<h1").count(), 1);
}

#[tokio::test]
async fn each_state_has_its_answer() {
    let town = town().await;
    let mut visitor = town.signed_in().await;
    for (path, question, part) in [
        (
            "search/harbor",
            "Why is it not being asked?",
            "harbor is cooling down until <time",
        ),
        (
            "search/harbor",
            "Why is it not being asked?",
            ": it answered 429 (at <time",
        ),
        (
            "search/harbor",
            "Why is it not being asked?",
            "Went into cooldown for 15 min, until <time",
        ),
        (
            "search/lantern",
            "Why is it not being asked?",
            "lantern waits: 2 of 2 calls used in the last hour, next slot <time",
        ),
        (
            "search/quarry",
            "How is it doing?",
            "quarry has not been tried yet. The next request will test it, or Weir itself at <time",
        ),
        (
            "search/orchard",
            "Why is it not being asked?",
            "orchard is off, by operator (192.0.2.1) at <time",
        ),
        (
            "tracker/tracker-four",
            "Why is it not being asked?",
            "tracker-four has been disabled since <time",
        ),
        (
            "tracker/tracker-four",
            "Why is it not being asked?",
            "if that fails, another 5 min later",
        ),
        (
            "tracker/tracker-two",
            "Why is it not being asked?",
            "tracker-two is ready to retry. Before its cooldown, it did not answer.",
        ),
        (
            "tracker/a%2Fb%20%C3%BC%3F%3Ci%3E",
            "How is it doing?",
            "a/b ü?&#60;i&#62; has not been tried yet.",
        ),
    ] {
        let page = visitor.get(&format!("/upstreams/{path}")).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert!(
            page.body.contains(question) && page.body.contains(part),
            "{part} in\n{}",
            page.body
        );
        assert_eq!(page.body.matches("<h1").count(), 1);
        assert!(!page.body.contains(" style=") && !page.body.contains("<i>"));
        assert!(
            page.body.contains("Peers &#60;b&#62;given&#60;/b&#62;")
                && page.body.contains("12 &#38; more")
        );
    }
    let page = visitor.get("/upstreams/search/harbor").await.body;
    assert!(page.contains("<title>harbor · Upstreams · Weir</title>"));
    assert!(page.contains(">Called at once for Sonarr and answered in "));
    assert!(page.contains("<li aria-current=\"step\">") || page.contains("<li>1 min</li>"));
    assert!(page.contains("<pre class=\"said\">it answered 429</pre>"));
    assert!(
        page.contains("class=\"cooldown\" x="),
        "the band shows the cooldown"
    );
}

/// Thirty equal calls, then one that is refused.
async fn refused_after_thirty() -> Arc<Sample> {
    let sample = Sample::new("tracker", "tracker");
    let one = sample.add("one");
    for _ in 0..30 {
        sample.call(one, Says(Outcome::Done, "")).await;
    }
    let after = Some(secs(900));
    sample
        .call(one, Says(Outcome::Throttled { retry_after: after }, ""))
        .await;
    sample
}

#[tokio::test]
async fn decisions_are_paged_and_chosen() {
    let sample = refused_after_thirty().await;
    let rig = support::rig_of(support::config(), vec![sample.contribution()]);
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    let first = visitor.get("/upstreams/tracker/one?each=1").await.body;
    assert_eq!(first.matches("<tr id=\"d-").count(), 25);
    assert!(first.contains("id=\"d-32\"") && first.contains("href=\"#d-32\""));
    let older = "<a href=\"/upstreams/tracker/one?before=8&#38;each=1\" rel=\"next\">Older</a>";
    assert!(first.contains(older), "{first}");
    let second = visitor
        .get("/upstreams/tracker/one?before=8&each=1")
        .await
        .body;
    assert_eq!(second.matches("<tr id=\"d-").count(), 7);
    assert!(second.contains(
        "<a href=\"/upstreams/tracker/one?each=1\" rel=\"first\">Newest</a><span>Older</span>"
    ));
    assert!(second.contains("<a href=\"/upstreams/tracker/one?before=8\">Fold equal ones</a>"));
    let failed = visitor.get("/upstreams/tracker/one?what=failed").await.body;
    let words = "the call that failed, and the cooldown";
    assert_eq!(failed.matches("<tr id=\"d-").count(), 2, "{words}");
    assert!(failed.contains("aria-current=\"true\">Failed 2</a>"));
    let skipped = visitor
        .get("/upstreams/tracker/one?what=skipped")
        .await
        .body;
    assert!(skipped.contains("No decision of this kind is recorded."));
}

#[tokio::test]
async fn equal_decisions_are_one_row_that_opens_and_each_can_be_linked_to() {
    let sample = refused_after_thirty().await;
    let rig = support::rig_of(support::config(), vec![sample.contribution()]);
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    let page = visitor.get("/upstreams/tracker/one").await.body;
    let (_, rows) = page.split_once("<tbody id=\"decision-rows\"").unwrap();
    let (rows, _) = rows.split_once("</tbody>").unwrap();
    assert_eq!(rows.matches("<tr id=\"d-").count(), 3, "{rows}");
    assert!(rows.contains("class=\"open\">Called</span> <span class=\"times\">×30</span>"));
    let (_, run) = rows.split_once("<summary data-open>×30, <time").unwrap();
    let (span, list) = run.split_once("</summary>").unwrap();
    assert!(span.contains("</time> to <time"), "{span}");
    assert_eq!(list.matches("<li id=\"d-").count(), 29);
    for number in 1..=32 {
        assert_eq!(
            rows.matches(&format!(" id=\"d-{number}\"")).count(),
            1,
            "each decision is in the page once: {number}"
        );
    }
    assert!(!rows.contains("one was called"), "its name is not repeated");
    assert!(!page.contains(">Older</a>"));
    let later = visitor.get("/upstreams/tracker/one?before=13").await.body;
    assert!(later.contains("×12, <time"), "a link may cut a run");
    let api = visitor.get("/api/v1/decisions?upstream=one").await.body;
    assert_eq!(api.matches("\"number\":").count(), 32, "the API lists each");
}

#[tokio::test]
async fn long_runs_keep_the_page_light_and_lead_to_all_of_it() {
    let sample = Sample::new("tracker", "tracker");
    let (one, two) = (sample.add("one"), Outcome::No);
    for round in 0..3 {
        for _ in 0..60 {
            sample.call(one, Says(Outcome::Done, "")).await;
        }
        if round < 2 {
            sample.call(one, Says(two, "it said no")).await;
        }
    }
    let rig = support::rig_of(support::config(), vec![sample.contribution()]);
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    let page = visitor.get("/upstreams/tracker/one").await.body;
    // The sample keeps 64 decisions.
    assert!(page.contains("×60, <time"), "{page}");
    assert!(page.matches("<li id=\"d-").count() <= 100);
}

#[tokio::test]
async fn what_is_next_and_what_went_wrong_is_on_its_page() {
    let sample = Sample::new("tracker", "tracker");
    let one = sample.add("one");
    let later = |seconds| weir_engine::dispatch::Job {
        not_before: sample.engine.timeline().now() + secs(seconds),
        attempts_made: 1,
        ..weir_engine::dispatch::Job::new(one, weir_engine::dispatch::Class(1))
    };
    for seconds in [700, 100, 200, 300, 400, 500, 8000] {
        let call = Arc::new(Says(Outcome::Done, ""));
        sample.engine.submit_detached(later(seconds), call);
    }
    for said in ["it answered <503>", "it answered <503>", "no such host"] {
        sample.engine.clear(one, "me");
        sample.call(one, Says(Outcome::Broken, said)).await;
    }
    let rig = support::rig_of(support::config(), vec![sample.contribution()]);
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    let page = visitor.get("/upstreams/tracker/one").await.body;
    let part = |id: &str| {
        let (_, part) = page.split_once(&format!("id=\"{id}\"")).unwrap();
        part.split_once("</section>").unwrap().0.to_owned()
    };
    let next = part("up-next");
    assert!(next.contains("the next 5 of 7"), "{next}");
    assert_eq!(next.matches("RSS, attempt 2</li>").count(), 5, "{next}");
    assert!(next.contains(">in 2 min</span>"), "{next}");
    let errors = part("up-errors");
    let (host, answered) = errors.split_once("no such host").unwrap();
    assert!(!host.contains('×'), "{errors}");
    assert!(answered.contains("×2, <time") && answered.contains("it answered &#60;503&#62;"));
    let api = visitor.get("/api/v1/upstreams/tracker/one").await.body;
    let api: serde_json::Value = serde_json::from_str(&api).unwrap();
    assert_eq!(api["scheduled"]["count"], 7);
    assert_eq!(api["scheduled"]["next"][4]["class"], "RSS");
    assert_eq!(api["errors"][1]["count"], 2);
    assert_eq!(api["errors"][1]["text"], "it answered <503>");
    let ladder = part("up-ladder");
    assert!(ladder.contains("<li aria-current=\"step\">"), "{ladder}");
    let idle = Sample::new("tracker", "tracker");
    idle.add("idle");
    let rig = support::rig_of(support::config(), vec![idle.contribution()]);
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    let page = visitor.get("/upstreams/tracker/idle").await.body;
    assert!(page.contains("No calls since Weir started at"), "{page}");
    assert!(page.contains("id=\"up-errors\" data-live aria-labelledby=\"errors\" hidden"));
}

#[tokio::test]
async fn an_unknown_upstream_is_not_found_and_names_like_it_are_told() {
    let town = town().await;
    let mut visitor = town.signed_in().await;
    let page = visitor.get("/upstreams/search/harbour").await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
    assert!(
        page.body
            .contains("There is no upstream called “harbour” here.")
    );
    assert!(page.body.contains("Similar names: harbor."));
    assert_eq!(page.body.matches("<h1").count(), 1);
    for path in [
        "/upstreams/nope/harbor",
        "/upstreams/search/%3Cb%3E",
        "/upstreams/search/x/disable",
    ] {
        let page = visitor.get(path).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{path}");
        assert!(!page.body.contains("<b>"));
    }
}

#[tokio::test]
async fn strangers_are_sent_to_sign_in() {
    let town = town().await;
    for path in ["/upstreams", "/upstreams/search/harbor"] {
        let page = town.rig.visitor().get(path).await;
        assert_eq!(page.status, StatusCode::SEE_OTHER);
        assert!(
            page.header("location")
                .starts_with("/sign-in?next=/upstreams")
        );
    }
    for path in [
        "/api/v1/upstreams",
        "/api/v1/decisions",
        "/api/v1/upstreams/search/harbor",
    ] {
        assert_eq!(
            town.rig.visitor().get(path).await.status,
            StatusCode::UNAUTHORIZED
        );
    }
    let post = "/api/v1/upstreams/search/harbor/clear";
    let refused = town.rig.visitor().ask(Method::POST, post, &[], None).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn what_happened_since_is_said_as_far_as_it_is_recorded() {
    let sample = Sample::new("search", "indexer");
    let one = sample.add("harbor");
    let throttled = |seconds| {
        let retry_after = Some(secs(seconds));
        Says(Outcome::Throttled { retry_after }, "it answered 429")
    };
    sample.call(one, Says(Outcome::Done, "")).await;
    sample.call(one, throttled(900)).await;
    let rig = support::rig_of(support::config(), vec![sample.contribution()]);
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    let page = visitor.get("/upstreams/search/harbor").await.body;
    let none = "No request was skipped since then. If you clear the cooldown now,";
    assert!(page.contains(none), "{page}");
    // A real request tested it and failed: nothing was skipped, but something was asked.
    let probe = |seconds| {
        sample
            .engine
            .probe(one, Arc::new(throttled(seconds)), Asker::default())
    };
    probe(1000).await;
    let page = visitor.get("/upstreams/search/harbor").await.body;
    assert!(page.contains(none), "{page}");
    let impatient = Job::new(one, Class(1));
    sample
        .engine
        .submit(impatient, Arc::new(Says(Outcome::Done, "")))
        .await;
    let page = visitor.get("/upstreams/search/harbor").await.body;
    assert!(
        page.contains("Since then 1 request was skipped. If you"),
        "{page}"
    );
    // More than is recorded: what is not known is not said.
    for more in 0..70 {
        probe(2000 + more).await;
    }
    let page = visitor.get("/upstreams/search/harbor").await.body;
    assert!(!page.contains("skipped since then"), "{page}");
    assert!(!page.contains("Since then"), "{page}");
    assert!(page.contains("If you clear the cooldown now,"), "{page}");
}

#[tokio::test]
async fn our_own_outage_is_said_on_top() {
    let weather = Weather::new(2, secs(0), secs(30));
    let sample = Sample::under(weather, "tracker", "tracker");
    let upstreams = ["one", "two"].map(|name| sample.add(name));
    // Of this one nobody knows.
    sample.add("three");
    for upstream in upstreams {
        sample.call(upstream, NoRoute).await;
    }
    assert!(sample.engine.status().network_down);
    let rig = support::rig_of(support::config(), vec![sample.contribution()]);
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    let page = visitor.get("/upstreams").await.body;
    let words = "2 upstreams failed at once, so the fault is in our own network. None was disabled. \
                 Calls pause until <time";
    assert!(page.contains(words), "{page}");
}

#[tokio::test]
async fn an_outage_is_said_until_somebody_answers_and_not_just_while_calls_pause() {
    // A pause that is over at once, and no time in which it is not clear whose fault it is.
    let moment = Duration::from_nanos(1);
    let weather = Weather::new(2, moment, moment);
    let sample = Sample::under(weather, "tracker", "tracker");
    let upstreams = ["one", "two"].map(|name| sample.add(name));
    for upstream in upstreams {
        sample.let_be_open(upstream);
        sample.call(upstream, Says(Outcome::Done, "")).await;
    }
    for upstream in [upstreams[1], upstreams[0], upstreams[1]] {
        sample.call(upstream, NoRoute).await;
    }
    let figures = sample.engine.status();
    assert!(figures.network_down && figures.counts.paused_until.is_none());
    let rig = support::rig_of(support::config(), vec![sample.contribution()]);
    let lookout = rig.app.porter().lookout();
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    let words = "2 upstreams failed at once, so the fault is in our own network. None was disabled. \
                 The next call will show whether it is back.";
    for place in ["/", "/upstreams"] {
        let page = visitor.get(place).await.body;
        assert!(page.contains(words), "{place}: {page}");
        assert!(!page.contains("is answering."), "{place}: {page}");
    }
    assert_eq!(lookout.network().as_deref(), Some(words));
    for (name, answered, failed) in [
        ("one", "1 of 2 calls", "Its last call failed"),
        ("two", "1 of 3 calls", "Its last 2 calls failed"),
    ] {
        let page = visitor
            .get(&format!("/upstreams/tracker/{name}"))
            .await
            .body;
        let says = format!("{name} is open and answered {answered} in the last 24 hours. {failed}");
        assert!(page.contains(&says), "{page}");
        let words =
            "Its last try failed. It does not count while our own network may be the cause.";
        assert!(page.contains(words), "{page}");
        assert!(!page.contains("It has not failed"), "{page}");
    }
    sample.call(upstreams[0], Says(Outcome::Done, "")).await;
    for place in ["/", "/upstreams"] {
        let page = visitor.get(place).await.body;
        assert!(
            !page.contains("will show whether it is back"),
            "{place}: {page}"
        );
    }
    assert_eq!(lookout.network(), None);
    // What remains is the record.
    let (words, _) = words.split_once(" The next").unwrap();
    let overview = visitor.get("/").await.body;
    let (_, decisions) = overview.split_once("id=\"decisions\"").unwrap();
    assert!(decisions.contains(words), "{decisions}");
    let all = visitor.get("/api/v1/decisions").await.body;
    let all: serde_json::Value = serde_json::from_str(&all).unwrap();
    let mut rows = all["decisions"].as_array().unwrap().iter();
    let row = rows.find(|row| row["kind"] == "our_network").unwrap();
    assert_eq!(row["sentence"], words);
    assert_eq!(
        (&row["count"], &row["concerned"]),
        (&2.into(), &2.into()),
        "{row}"
    );
    assert_eq!(
        (&row["upstream"], &row["reason"]),
        (&().into(), &"all_failed".into())
    );
}

#[tokio::test]
async fn the_overview_names_what_needs_attention_and_what_was_decided() {
    let town = town().await;
    let mut visitor = town.signed_in().await;
    let page = visitor.get("/").await.body;
    assert!(
        page.contains(
            "1 of 8 upstreams is open. 3 have not been tried yet. Next probe: tracker-four at <time"
        ),
        "{page}"
    );
    let (_, attention) = page.split_once("id=\"attention\"").unwrap();
    let (attention, decisions) = attention.split_once("id=\"decisions\"").unwrap();
    assert_eq!(
        names(attention),
        ["tracker-four", "harbor", "tracker-two", "lantern"]
    );
    assert!(
        decisions.contains(
            "<bdi>tracker-four</bdi></a> was disabled: no such host. Next automatic probe at <time"
        ),
        "{decisions}"
    );
    assert!(decisions.contains("href=\"/upstreams/tracker/tracker-four#d-2\""));
    for name in [
        "search/harbor/clear",
        "tracker/tracker-four/clear",
        "tracker/tracker-two/clear",
    ] {
        let token = visitor.get("/").await.token();
        visitor
            .post(&format!("/upstreams/{name}"), &format!("csrf={token}"))
            .await;
    }
    town.search
        .engine
        .remove_upstream(weir_engine::dispatch::UpstreamId(1));
    let page = visitor.get("/").await.body;
    let words = "2 of 7 upstreams are open. 3 have not been tried yet. 1 has not answered yet.";
    assert!(page.contains(words), "{page}");
    let (_, attention) = page.split_once("id=\"attention\"").unwrap();
    let (attention, _) = attention.split_once("id=\"decisions\"").unwrap();
    let failing = "tracker-four";
    assert_eq!(names(attention), [failing], "no call to it was answered");
    assert!(attention.contains("class=\"chip cooldown\""), "{attention}");
    let token = visitor.get("/").await.token();
    visitor
        .post(
            "/upstreams/tracker/tracker-four/probe",
            &format!("csrf={token}"),
        )
        .await;
    let page = visitor.get("/").await.body;
    assert!(
        page.contains("Nothing needs attention.") && page.contains("3 of 7 upstreams are open."),
        "{page}"
    );
}

#[tokio::test]
async fn one_that_is_open_and_answers_nothing_is_not_calm() {
    let tracker = Sample::patient("tracker", "tracker");
    let ids = ["tracker-one", "tracker-two"].map(|name| tracker.add(name));
    for id in ids {
        tracker.let_be_open(id);
    }
    tracker.call(ids[0], Says(Outcome::Done, "")).await;
    let silent = || Says(Outcome::Unavailable, "it did not answer within 30 s");
    for _ in 0..3 {
        tracker.call(ids[1], silent()).await;
    }
    let rig = support::rig_of(support::config(), vec![tracker.contribution()]);
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    let one = visitor.get("/upstreams/tracker/tracker-two").await.body;
    let list = visitor.get("/upstreams").await.body;
    let overview = visitor.get("/").await.body;
    let failing = "<span class=\"chip cooldown\"";
    for page in [&one, &list, &overview] {
        assert!(page.contains("Open, failing"), "{page}");
        assert!(page.contains(failing), "not green: {page}");
    }
    let words = "tracker-two is open and answered 0 of 3 calls in the last 24 hours. \
                 Its last 3 calls failed, the latest at <time";
    assert!(one.contains(words), "{one}");
    assert!(
        list.contains("3 failures in a row, the last at <time"),
        "{list}"
    );
    assert!(list.contains("All 2 are open, 1 failing."), "{list}");
    let words = "All 2 upstreams are open, but 1 is failing.";
    assert!(overview.contains(words), "{overview}");
    let (_, attention) = overview.split_once("id=\"attention\"").unwrap();
    let (attention, _) = attention.split_once("id=\"decisions\"").unwrap();
    assert_eq!(names(attention), ["tracker-two"]);
    tracker.call(ids[1], Says(Outcome::Done, "")).await;
    let overview = visitor.get("/").await.body;
    assert!(overview.contains("All 2 upstreams are open."), "{overview}");
    let one = visitor.get("/upstreams/tracker/tracker-two").await.body;
    assert!(!one.contains("Open, failing"), "{one}");
}

/// A call that is tried again later is no failure yet, but nobody should read that nothing has failed.
#[tokio::test]
async fn a_try_that_failed_is_not_hidden_by_the_next_one() {
    let tracker = Sample::persistent("tracker", "tracker");
    let id = tracker.add("tracker-one");
    tracker.call(id, Says(Outcome::Done, "")).await;
    let rig = support::rig_of(support::config(), vec![tracker.contribution()]);
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    let one = visitor.get("/upstreams/tracker/tracker-one").await.body;
    assert!(
        one.contains("It has not failed since its last answer."),
        "{one}"
    );
    let silent = Says(Outcome::Unavailable, "it did not answer within 30 s");
    let mut call = Box::pin(tracker.call(id, silent));
    let ended = || {
        let newest = tracker.engine.decisions(id, None, 9);
        newest.iter().filter(|record| record.end.is_some()).count() == 2
    };
    while !ended() {
        tokio::select! {
            biased;
            () = &mut call => panic!("it is tried again"),
            () = tokio::task::yield_now() => {}
        }
    }
    let one = visitor.get("/upstreams/tracker/tracker-one").await.body;
    assert!(
        one.contains("Its last try failed. A call counts as failed once"),
        "{one}"
    );
    assert!(!one.contains("It has not failed"), "{one}");
}
