//! The pages as the web part serves them, with indexers on this machine.

use axum::http::Method;

use super::web::*;
use super::*;

/// Asks by the form and gives the address that it leads to.
async fn ask(world: &World, form: &str) -> String {
    let (status, place) = world.text(Method::POST, "/search", form).await;
    assert_eq!(status, 303, "{place}");
    place
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_is_shown_and_a_reload_asks_nobody() {
    let one = library(&["Example A", "Example &lt;B&gt;"]).await;
    let two = library(&["Example A"]).await;
    let world = World::on_loopback([("one", &one), ("two", &two)]);
    let blank = world.page("/search").await;
    assert!(blank.contains("Search all 2 indexers."), "{blank}");
    let place = ask(&world, "q=example&cat=4000").await;
    for _ in 0..3 {
        let page = world.page(&place).await;
        for text in [
            "<h1 id=\"found\">",
            "2 results from 2 indexers.",
            "Example &#60;B&#62;",
            "Finished ",
            "PC / ISO",
            // Each row names its indexer, and says where there are more.
            "<span class=\"opens\"><bdi>one</bdi></span>",
            "</bdi> and 1 more</span>",
            "href=\"/dl/",
            "href=\"magnet:?xt=urn:btih:",
            "value=\"example\"",
            "example&#34; · Search · Weir",
            "<option value=\"4000\" selected>",
        ] {
            assert!(page.contains(text), "{text} in {page}");
        }
        assert!(
            !page.contains("http-equiv") && !page.contains("data-search"),
            "{page}"
        );
        assert!(!page.contains("secret"));
    }
    assert_eq!((one.searches().len(), two.searches().len()), (1, 1));
    let part = world
        .page(&format!("{place}&part=releases&sort=-title"))
        .await;
    assert!(
        part.starts_with("<section")
            && part.contains("aria-sort=\"descending\"")
            && part.contains("Title</a> <span aria-hidden=\"true\">↓</span></th>"),
        "{part}"
    );
    let filtered = world.page(&format!("{place}&filter=nothing+of+it")).await;
    assert!(
        filtered.contains("No release matches this filter."),
        "{filtered}"
    );
    // Asked once more, the answers come from the cache unless that is passed by.
    ask(&world, "q=example&cat=4000").await;
    assert_eq!((one.searches().len(), two.searches().len()), (1, 1));
    ask(&world, "q=example&cat=4000&no_cache=1&indexer=two").await;
    assert_eq!((one.searches().len(), two.searches().len()), (1, 2));
    let blank = world.page("/search").await;
    assert!(
        blank.contains("<button name=\"q\" value=\"example\">"),
        "{blank}"
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_finished_says_so_and_can_be_stopped() {
    let fast = library(&["Example A"]).await;
    let slow = slow_library(&["Example B"], Duration::from_secs(30)).await;
    let world = World::on_loopback([("fast", &fast), ("slow", &slow)]);
    let place = ask(&world, "q=example&live=1").await;
    let page = loop {
        let page = world.page(&place).await;
        if page.contains("1 result from 1 of 2 indexers.") {
            break page;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    for text in [
        "1 still to answer.",
        "asking, 0 of 2 s",
        "<noscript><meta http-equiv=\"refresh\" content=\"2\"></noscript>",
        "data-deadline=\"2000\"",
    ] {
        assert!(page.contains(text), "{text} in {page}");
    }
    let id = place.split_once('=').unwrap().1;
    let (status, again) = world
        .text(Method::POST, "/search/stop", &format!("id={id}"))
        .await;
    assert_eq!((status, &again), (303, &place));
    let page = world.page(&place).await;
    assert!(
        page.contains("Stopped after") && page.contains("Not asked: the search was stopped."),
        "{page}"
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_keep_what_was_written() {
    let one = library(&[]).await;
    let world = World::on_loopback([("one", &one)]);
    let (status, page) = world
        .text(Method::POST, "/search", "q=%3Cb%3E&indexer=none")
        .await;
    assert_eq!(status, 422);
    assert!(
        page.contains("There is no indexer") && page.contains("value=\"&#60;b&#62;\""),
        "{page}"
    );
    let (status, page) = world
        .text(Method::GET, "/search?id=00000000000000ab", "")
        .await;
    assert_eq!(status, 404);
    assert!(page.contains("This search has expired."), "{page}");
    let (status, page) = world
        .text(
            Method::POST,
            "/search",
            "again=t%3Dtvsearch%26q%3Dshow%26season%3D1&indexer=none",
        )
        .await;
    assert_eq!(status, 422);
    assert!(page.contains("value=\"show {season:1}\""), "{page}");
    let place = ask(&world, "q=none").await;
    let page = world.page(&place).await;
    assert!(page.contains("No results from 1 indexer."), "{page}");
    let none = World::on_loopback([]);
    let page = none.page("/search").await;
    assert!(page.contains("No indexer is configured yet."), "{page}");
    none.stop().await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn history_names_what_each_indexer_did() {
    let one = library(&["Example A"]).await;
    let world = World::on_loopback([("one", &one)]);
    let page = world.page("/history").await;
    assert!(
        page.contains("Programs appear here after their first search."),
        "{page}"
    );
    ask(&world, "q=example").await;
    let page = loop {
        let page = world.page("/history").await;
        if page.contains("the search page") {
            break page;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    for text in [
        "&#34;example&#34;",
        "1 of 1",
        "Answered: 1 result, 1 of them nowhere else.",
        "Search again",
        ": 1 indexer request, 1 call.",
    ] {
        assert!(page.contains(text), "{text} in {page}");
    }
    let page = world.page("/history?program=Sonarr").await;
    assert!(page.contains("Nothing matches."), "{page}");
    let (status, page) = world.text(Method::GET, "/history?day=x", "").await;
    assert_eq!(status, 422);
    assert!(page.contains("A day is written as"), "{page}");
    let page = world.page("/history?kind=grabs").await;
    assert!(
        page.contains("No program has downloaded anything"),
        "{page}"
    );
    world.stop().await;
}

/// The value of a field or button.
fn value(page: &str, name: &str) -> String {
    let (_, rest) = page
        .split_once(&format!("name=\"{name}\" value=\""))
        .unwrap_or_else(|| panic!("no {name} in {page}"));
    let value = rest.split('"').next().unwrap_or_default();
    value.replace("&#38;", "&")
}

#[tokio::test(flavor = "multi_thread")]
async fn asking_again_keeps_the_whole_question() {
    let one = library(&["Example A"]).await;
    let two = library(&["Example B"]).await;
    let world = World::on_loopback([("one", &one), ("two", &two)]);
    let asked = "t=movie&q=example&cat=4000%2C4020&imdbid=0133093&maxage=9&maxsize=7000000";
    let place = format!("/torznab/one/api?{asked}");
    world.page(&place).await;
    let history = loop {
        let page = world.page("/history").await;
        if page.contains("Search again") {
            break page;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(value(&history, "again"), asked);
    assert_eq!(value(&history, "indexer"), "one");
    let encode =
        |text: &str| -> String { url::form_urlencoded::byte_serialize(text.as_bytes()).collect() };
    // The search page offers the same once more.
    let form = format!("indexer=one&again={}", encode(&value(&history, "again")));
    let page = world.page(&ask(&world, &form).await).await;
    let (_, anew) = page.split_once("class=\"anew\"").unwrap();
    assert_eq!(value(anew, "again"), asked);
    assert_eq!(value(anew, "indexer"), "one");
    let search = &world.front.views.searches.all()[0];
    assert_eq!(crate::form::written(&search.question.query), asked);
    assert_eq!(search.question.scope.len(), 1);
    // What is typed makes the kind of search.
    let typed = encode("{imdbid:tt0133093}");
    let page = world.page(&ask(&world, &format!("q={typed}")).await).await;
    let (_, anew) = page.split_once("class=\"anew\"").unwrap();
    assert_eq!(value(anew, "again"), "t=movie&imdbid=0133093");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let blank = world.page("/search").await;
    assert!(
        blank.contains("value=\"{imdbid:0133093}\""),
        "asked before: {blank}"
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connect_shows_addresses_and_who_was_heard() {
    let one = library(&[]).await;
    let world = World::on_loopback([("one", &one)]);
    let page = world.page("/connect").await;
    assert!(
        page.contains("value=\"http://weir:7070/torznab\""),
        "{page}"
    );
    assert!(page.contains("Not heard from Sonarr yet."), "{page}");
    assert!(
        !page.contains("on this machine only") && !page.contains("/newznab\""),
        "{page}"
    );
    let model = &world.front.views.model;
    model.programs.heard("Sonarr", model.now());
    let page = world.page("/connect").await;
    assert!(page.contains("Weir heard from Sonarr"), "{page}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn if_nobody_can_be_asked_the_first_slot_is_named() {
    let one = library(&[]).await;
    one.set(Behaviour::InvalidXml);
    let world = World::on_loopback([("one", &one)]);
    let page = world.page(&ask(&world, "q=first").await).await;
    assert!(
        page.contains("The indexer gave no answer.") && page.contains("1 failed."),
        "{page}"
    );
    let page = world.page(&ask(&world, "q=second").await).await;
    for text in [
        "1 skipped.",
        "The first one can be asked again at <time",
        "Not asked: it is cooling down",
    ] {
        assert!(page.contains(text), "{text} in {page}");
    }
    world.stop().await;
}
