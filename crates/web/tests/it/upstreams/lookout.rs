//! What those are told who tell people: the same upstreams, the same sentences as on pages.

use weir_engine::{Standing, dispatch::Moment};

use super::front::{secs, town};

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
        assert_eq!(body["sentence"], sentence.as_str(), "{body}");
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
