//! Newsgroups, threads and articles of two servers, read as if there were one.

use serde_json::json;

use super::articles::{Posted, id};
use super::{Town, articles_of, roots, silent, text, wait};

fn two() -> Town {
    let both = Posted::plain("both", "misc.test", 10, &[]);
    let root = Posted::plain("root", "misc.test", 20, &[]);
    let one = [
        both.clone(),
        root.clone(),
        Posted::plain("first", "misc.test", 21, &["root"]),
        Posted::plain("onlyone", "misc.test", 30, &[]),
        Posted::plain("river", "example.rivers", 5, &[]),
    ];
    let two = [
        both,
        root,
        Posted::plain("second", "misc.test", 22, &["root", "lost"]),
        Posted::plain("onlytwo", "misc.test", 40, &[]),
        Posted::plain("hill", "example.hills", 6, &[]),
    ];
    let newsgroups: [&[&str]; 2] = [
        &["misc.test", "example.rivers"],
        &["misc.test", "example.hills"],
    ];
    Town::new([(newsgroups[0], &one), (newsgroups[1], &two)], "")
}

#[test]
fn two_servers_are_one_list_of_newsgroups_threads_and_articles() {
    let town = two();
    let list = town.weir.json("/api/v1/news/groups?q=e");
    let groups = list["groups"].as_array().unwrap();
    let servers_of = |name: &str| {
        let row = groups.iter().find(|row| row["name"] == name);
        row.unwrap_or_else(|| panic!("{name} in {list}"))["servers"].clone()
    };
    assert_eq!(servers_of("misc.test"), json!(["one", "two"]));
    assert_eq!(servers_of("example.rivers"), json!(["one"]));
    assert_eq!(servers_of("example.hills"), json!(["two"]));
    let tree = town.weir.page("/news");
    for words in ["rivers", "hills", "About misc.test"] {
        assert!(tree.contains(words), "{words} in {tree}");
    }

    // The page waits for the first server; the second is merged in.
    let page = wait("both are merged", || {
        let page = town.threads("misc.test");
        (articles_of(&page) == 6).then_some(page)
    });
    assert_eq!(
        roots(&page),
        ["onlytwo", "onlyone", "root", "both"].map(id),
        "the newest first, and nothing twice"
    );
    assert!(silent(&page).is_empty(), "{page}");
    assert_eq!(page["threads"][2]["articles"], 3);
    assert_eq!(page["threads"][2]["last_author"], "Author of second");
    let shown = town.weir.page("/news/misc.test");
    assert!(shown.contains("About onlytwo") && shown.contains("About onlyone"));

    a_thread_has_the_replies_of_both(&town);
    for (name, server) in [("onlyone", "one"), ("onlytwo", "two"), ("hill", "two")] {
        let article = town
            .weir
            .json(&format!("/api/v1/news/articles/{}", id(name)));
        assert_eq!(article["server"], server, "{name}");
        assert_eq!(
            text(&article["text"]).trim(),
            format!("The text of {name}.")
        );
    }
    let (status, _, body) = town
        .weir
        .ask(&format!("GET /news/article/{}", id("nowhere")), "");
    let body = String::from_utf8(body).unwrap();
    assert_eq!(status, 404);
    assert!(body.contains("one and two"), "who was asked: {body}");
}

/// Also of what nobody has: it keeps its place.
fn a_thread_has_the_replies_of_both(town: &Town) {
    let path = format!("/api/v1/news/groups/misc.test/threads/{}", id("root"));
    let thread = town.weir.json(&path);
    let rows: Vec<_> = thread["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (text(&row["id"]), row["depth"].as_u64(), text(&row["state"])))
        .collect();
    let row = |name, depth, state: &str| (id(name), Some(depth), state.to_owned());
    let expected = [
        row("root", 0, "read"),
        row("first", 1, "read"),
        row("lost", 1, "missing"),
        row("second", 2, "read"),
    ];
    assert_eq!(rows, expected, "{thread}");
    let page = town.weir.page(&format!("/news/misc.test/{}", id("root")));
    for words in ["The text of first.", "The text of second.", "Missing"] {
        assert!(page.contains(words), "{words} in {page}");
    }
    let feed = town.weir.page("/news/misc.test/atom.xml");
    assert!(feed.contains("About onlytwo"), "{feed}");
    let mbox = town
        .weir
        .page(&format!("/news/misc.test/{}/mbox", id("root")));
    assert_eq!(mbox.matches("\nMessage-ID: ").count(), 3, "{mbox}");
}

#[test]
fn a_page_that_has_not_changed_is_not_sent_again() {
    let stock = [Posted::plain("here", "misc.test", 1, &[])];
    let town = Town::new([(&["misc.test"], &stock), (&["misc.test"], &stock)], "");
    for path in [
        "/news".to_owned(),
        "/news/misc.test".to_owned(),
        format!("/news/misc.test/{}", id("here")),
        format!("/news/article/{}", id("here")),
    ] {
        let line = format!("GET {path}");
        // What the first visit sets off may change the page once more.
        let unchanged = || {
            let (_, head, _) = town.weir.ask(&line, "");
            let tag = head.lines().find_map(|line| line.strip_prefix("etag: "));
            let tag = tag.unwrap_or_else(|| panic!("{path}: {head}")).to_owned();
            let (status, _, body) = town.weir.ask(&line, &format!("If-None-Match: {tag}\r\n"));
            (status == 304).then_some(body)
        };
        let body = wait(&format!("{path} is not sent again"), unchanged);
        assert_eq!(body, b"");
    }
}
