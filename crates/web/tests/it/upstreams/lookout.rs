//! What those are told who tell people: the same upstreams, the same sentences as on pages.

use std::sync::Arc;

use weir_engine::{Standing, Weather, dispatch::Moment};
use weir_web::{Card, CardOverload, CardState, CardView, Contribution, Icon};

use super::front::{NoRoute, Sample, secs, town};
use crate::support::{self, KEY};

/// A front that has more to do than it can.
struct Busy;

impl Card for Busy {
    fn view(&self) -> CardView {
        CardView {
            state: CardState::Overloaded,
            sentence: "Overloaded.".to_owned(),
            figures: Vec::new(),
            lines: None,
        }
    }

    fn overload(&self) -> Option<CardOverload> {
        Some(CardOverload {
            since: secs(180),
            clause: "1,204 first announces refused in the last minute".to_owned(),
            counts: Vec::new(),
        })
    }
}

#[tokio::test]
async fn a_lookout_sees_all_upstreams_and_says_what_their_pages_say() {
    let town = town().await;
    let lookout = town.rig.app.porter().lookout();
    let mut visitor = town.signed_in().await;
    let all = lookout.upstreams();
    let seen = |name: &str| {
        let mut all = all.iter();
        let found = all.find(|(_, condition)| &*condition.name == name);
        found.map(|(front, condition)| (*front, condition.standing, condition.used_up.is_some()))
    };
    assert_eq!(all.len(), 8);
    assert_eq!(seen("harbor"), Some(("search", Standing::Cooldown, false)));
    assert_eq!(seen("lantern"), Some(("search", Standing::Open, true)));
    assert_eq!(seen("orchard"), Some(("search", Standing::Manual, false)));
    assert_eq!(
        seen("tracker-four"),
        Some(("tracker", Standing::Disabled, false))
    );
    for (front, condition) in &all {
        let name = &*condition.name;
        let sentence = lookout.upstream(front, name).unwrap();
        let target = format!("/api{}", weir_web::Lookout::path(front, name));
        let target = target.replace("/api/", "/api/v1/");
        let page = visitor.get(&target).await;
        let body: serde_json::Value = serde_json::from_str(&page.body).unwrap();
        // It counts seconds, and one may end in between.
        let after = lookout.upstream(front, name).unwrap();
        let told = body["sentence"].as_str().unwrap();
        assert!(told == sentence || told == after, "{told}: {sentence}");
    }
    assert_eq!(lookout.upstream("search", "nobody"), None);
    assert_eq!(lookout.title("search"), Some("Search"));
    let now = town.search.engine.timeline().now();
    let (since, until) = (now - secs(600), now);
    let told = lookout.back("harbor", since, until);
    assert!(
        told.starts_with("harbor is back. It was down from "),
        "{told}"
    );
    assert!(!told.contains(['\u{2}', '\u{3}']), "{told:?}");
    assert!(lookout.network().is_none());
    assert!(!lookout.network_back(Moment(0), until).contains('\u{2}'));
}

#[tokio::test]
async fn overload_and_our_own_outage_are_told_as_on_the_pages() {
    let weather = Weather::new(2, secs(0), secs(30));
    let sample = Sample::under(weather, "search", "indexer");
    let all = ["one", "two"].map(|name| sample.add(name));
    let busy = Contribution::new("tracker", "Tracker", Icon::Tracker).card(Arc::new(Busy));
    let rig = support::rig_of(support::config(), vec![busy, sample.contribution()]);
    let lookout = rig.app.porter().lookout();
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    assert_eq!(lookout.fronts(), [("tracker", Some(secs(180)))]);
    let overload = lookout.overload("tracker").unwrap();
    let page = visitor.get("/").await.body;
    assert!(
        overload.starts_with("Tracker has been overloaded for 3 min: "),
        "{overload}"
    );
    assert!(page.contains(&overload), "{page}");
    assert_eq!(lookout.overload("search"), None);
    // Our own network explains everything else, so pages tell of that alone.
    for upstream in all {
        sample.call(upstream, NoRoute).await;
    }
    let network = lookout.network().unwrap();
    let (words, time) = network.split_once("Calls pause until ").unwrap();
    let page = visitor.get("/upstreams").await.body;
    assert!(
        page.contains(words) && page.contains(time.trim_end_matches('.')),
        "{network}"
    );
    let overview = visitor.get("/").await.body;
    let (_, opening) = overview.split_once("<h1 id=\"headline\"").unwrap();
    let (opening, _) = opening.split_once("</h1>").unwrap();
    assert!(opening.contains(words), "{opening}");
    assert!(!opening.contains("overloaded"), "{opening}");
}
