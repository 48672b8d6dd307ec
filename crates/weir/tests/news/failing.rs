//! A server dies, comes back, or counts anew, and readers go on reading.

use weir_testkit::inn::Options;

use super::articles::{Posted, id, series};
use super::{ALWAYS_CHECK, Shop, Town, articles_of, roots, silent, wait};

/// Two servers with the same forty articles.
fn town(settings: &str) -> Town {
    let stock = series("misc.test", 40);
    Town::new(
        [(&["misc.test"], &stock), (&["misc.test"], &stock)],
        settings,
    )
}

#[test]
fn a_server_that_dies_in_the_middle_of_a_page_costs_no_article_and_comes_back() {
    let mut town = town(ALWAYS_CHECK);
    town.weir.page("/news");
    // Dates of newest articles are asked for as well, but not from the first number on.
    town.shops[0].tap.hold_at("OVER 1-");
    let ask = town.weir.asker();
    let asked = std::thread::spawn(move || ask("/api/v1/news/groups/misc.test"));
    wait("the page's overview is under way", || {
        (town.shops[0].tap.count("OVER 1-") > 0).then_some(())
    });
    town.shops[0].die();
    town.shops[0].tap.hold(false);
    let (status, body) = asked.join().unwrap();
    assert_eq!(status, 200);
    let page: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(articles_of(&page), 40, "the other one has them all");
    assert_eq!(silent(&page), ["one"]);
    let shown = town.weir.page("/news/misc.test");
    assert!(
        shown.contains("No answer from <b>one</b>"),
        "it is said: {shown}"
    );
    town.weir
        .page(&format!("/news/misc.test/{}", id("t7")))
        .find("The text of t7.")
        .expect("articles are read from the other one");

    let Town { shops, runtime, .. } = &mut town;
    runtime.block_on(shops[0].come_back());
    let late = Posted::plain("late", "misc.test", 90, &[]);
    runtime.block_on(shops[0].inn.feed([late.bytes])).unwrap();
    let page = wait("the server is read again", || {
        let page = town.threads("misc.test");
        (articles_of(&page) == 41 && silent(&page).is_empty()).then_some(page)
    });
    assert_eq!(roots(&page)[0], id("late"), "and what only it has");
}

#[test]
fn a_server_that_counts_anew_doubles_nothing_and_loses_nothing() {
    let mut town = town(ALWAYS_CHECK);
    let before = wait("both are merged", || {
        let page = town.threads("misc.test");
        (town.shops[1].tap.count("OVER") > 0 && articles_of(&page) == 40).then_some(page)
    });
    // The same address, and other numbers for the same articles.
    let mut stock = series("misc.test", 40);
    stock.reverse();
    stock.push(Posted::plain("new", "misc.test", 100, &[]));
    let fresh = Shop::open(Options::with(&["misc.test"]), &stock);
    let fresh = town.runtime.block_on(fresh);
    town.shops[0].tap.point(fresh.inn.address());
    town.shops[0].tap.cut();
    town.shops[0].inn.kill();
    let after = wait("what is new is seen", || {
        let page = town.threads("misc.test");
        (roots(&page)[0] == id("new")).then_some(page)
    });
    assert_eq!(after["known"], 41, "{after}");
    assert_eq!(roots(&after)[1..], roots(&before)[..]);
    // Whoever is asked next says the same.
    for _ in 0..3 {
        let page = town.threads("misc.test");
        assert_eq!((articles_of(&page), &page["known"]), (41, &after["known"]));
    }
    for name in ["t1", "t20", "t40", "new"] {
        let path = format!("/api/v1/news/articles/{}", id(name));
        let read = town.weir.json(&path);
        assert_eq!(
            super::text(&read["text"]).trim(),
            format!("The text of {name}.")
        );
    }
    drop(std::mem::replace(&mut town.shops[0], fresh));
}
