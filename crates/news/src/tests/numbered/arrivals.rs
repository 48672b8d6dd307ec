//! New newsgroups and new articles, with a real file and real time.

use weir_testkit::zoo::news::{Article, Newsgroup};

use super::super::restart::{Machine, stop};
use super::*;

#[tokio::test]
async fn new_newsgroups_are_known_after_a_restart() {
    let machine = Machine::new(3).await;
    let model = machine.start(|_| {});
    let names = async |model: &Model, since| {
        let new = model.newsgroups_since(since, READER).await.expect("a list");
        let names = new.iter().map(|(row, _)| row.name.as_str().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(&model, 0).await, ["misc.test"]);
    let at = model.newsgroups_since(0, READER).await.expect("a list")[0].1;
    assert!(names(&model, at + 1).await.is_empty());
    stop(model).await;
    machine.server.put(Newsgroup::new("alt.new").with(1..=2));
    let model = machine.start_later(1000, |config| {
        config.cache.groups = std::time::Duration::ZERO
    });
    // The first to ask may be told what was kept.
    model.newsgroups(READER).await.expect("a list");
    let new = model
        .newsgroups_since(at + 500, READER)
        .await
        .expect("a list");
    let new: Vec<_> = new
        .iter()
        .map(|(row, at)| (row.name.as_str(), row.high, *at))
        .collect();
    assert_eq!(new.len(), 1, "{new:?}");
    assert_eq!((new[0].0, new[0].1), ("alt.new", 2));
    assert_eq!(names(&model, 0).await, ["alt.new", "misc.test"]);
    stop(model).await;
}

#[tokio::test]
async fn new_articles_are_those_that_became_known() {
    let machine = Machine::new(3).await;
    let model = machine.start(|_| {});
    let began = model.now().1;
    let name = group("misc.test");
    model.numbered(&name, READER).await.expect("marks");
    stop(model).await;
    let fresh = |number| {
        // Its date is that of the day on which the test's clock begins.
        let head = [
            ("Newsgroups", "misc.test"),
            ("Subject", "x"),
            ("Date", "04 Oct 2024 12:00:00 +0000"),
        ];
        Article::new(id(number).as_str(), &head, "Hello\n")
    };
    for number in 4..=6 {
        machine.server.add(&["misc.test"], fresh(number));
    }
    let model = machine.start_later(600, |config| {
        config.cache.threads = std::time::Duration::ZERO
    });
    model.numbered(&name, READER).await.expect("marks");
    let all = |name: &str| name == "misc.test";
    let new = model
        .articles_since(began + 300, all, 10)
        .await
        .expect("some");
    assert_eq!((new.ids, new.whole), (vec![id(4), id(5), id(6)], true));
    let some = model
        .articles_since(began + 300, all, 2)
        .await
        .expect("some");
    assert_eq!((some.ids.len(), some.whole), (2, false));
    let none = model
        .articles_since(began + 300, |_| false, 2)
        .await
        .expect("none");
    assert_eq!((none.ids.len(), none.whole), (0, true));
    let later = model
        .articles_since(began + 10_000, all, 10)
        .await
        .expect("none");
    assert_eq!(later.ids, []);
    // Those of the start became known then, but were written long before.
    let old = model.articles_since(began, all, 10).await.expect("some");
    assert_eq!(old.ids, [id(4), id(5), id(6)]);
    stop(model).await;
}

#[tokio::test(start_paused = true)]
async fn without_a_file_nobody_can_say_what_is_new() {
    let world = NewsWorld::of(1..=3).await;
    let new = world.model.articles_since(0, |_| true, 10).await;
    assert_eq!(new, Err(Unread::Unreachable(Vec::new())));
}
