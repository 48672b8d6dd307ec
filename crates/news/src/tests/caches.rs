//! The caches and their times: who is served from memory, what is refreshed meanwhile, and what many ask at once.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::advance;
use weir_testkit::zoo::news::{Article, Behaviour};

use super::world::*;
use crate::reading::Unread;

#[tokio::test(start_paused = true)]
async fn two_hundred_readers_of_a_cold_page_cause_one_set_of_commands() {
    let world = NewsWorld::of(1..=800).await;
    let pages = join_all((0..200).map(|_| world.page(0))).await;
    assert!(
        pages
            .iter()
            .all(|page| page.as_ref().is_ok_and(|page| page.threads.len() == 50))
    );
    world.settle().await;
    let expected = [
        "LIST COUNTS",
        "LIST NEWSGROUPS",
        "GROUP misc.test",
        "OVER 301-800",
    ];
    let mut asked = world.asked(0);
    asked.sort_by_key(|line| expected.iter().position(|one| one == line));
    assert_eq!(asked, expected);
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_readers_of_one_article_cause_one_command() {
    let world = NewsWorld::of(1..=3).await;
    let read = join_all((0..10_000).map(|_| world.article(2))).await;
    assert!(read.iter().all(Result::is_ok));
    assert_eq!(world.servers[0].count("ARTICLE"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_list_of_threads_is_served_at_once_and_only_what_is_new_is_fetched() {
    let world = NewsWorld::of(1..=30).await;
    world.settled().await;
    world.asked(0);
    advance(29 * SECOND).await;
    world.page(0).await.expect("a page");
    world.settle().await;
    assert!(
        world.asked(0).is_empty(),
        "it was checked less than 30 s ago"
    );
    world.servers[0].add(&["misc.test"], Article::numbered(31));
    advance(2 * SECOND).await;
    let before = world.page(0).await.expect("a page");
    assert_eq!(before.known, 30, "nobody waits for a refresh");
    world.settle().await;
    assert_eq!(world.asked(0), ["GROUP misc.test", "OVER 31-31"]);
    assert_eq!(world.page(0).await.expect("a page").known, 31);
}

#[tokio::test(start_paused = true)]
async fn a_list_older_than_five_minutes_is_brought_up_to_date_first() {
    let world = NewsWorld::of(1..=30).await;
    world.settled().await;
    world.servers[0].add(&["misc.test"], Article::numbered(31));
    advance(5 * MINUTE).await;
    world.asked(0);
    assert_eq!(world.page(0).await.expect("a page").known, 31);
    assert_eq!(
        world.asked(0),
        ["GROUP misc.test", "OVER 31-31"],
        "never the whole newsgroup again"
    );
}

#[tokio::test(start_paused = true)]
async fn a_page_is_made_once_per_change() {
    let world = NewsWorld::of(1..=30).await;
    let first = world.settled().await;
    advance(40 * SECOND).await;
    world.page(0).await.expect("a page");
    world.settle().await;
    let second = world.page(0).await.expect("a page");
    assert!(
        std::sync::Arc::ptr_eq(&first, &second),
        "a check that finds nothing changes nothing"
    );
    world.servers[0].add(&["misc.test"], Article::numbered(31));
    advance(40 * SECOND).await;
    world.page(0).await.expect("a page");
    world.settle().await;
    let third = world.page(0).await.expect("a page");
    assert!(!std::sync::Arc::ptr_eq(&first, &third));
}

#[tokio::test(start_paused = true)]
async fn a_thread_costs_nothing_for_five_minutes_and_then_only_what_is_new() {
    let world = NewsWorld::of(1..=30).await;
    world.settled().await;
    let first = world.thread(7).await.expect("a thread");
    world.settle().await;
    world.asked(0);
    advance(29 * SECOND).await;
    let again = world.thread(7).await.expect("a thread");
    assert!(std::sync::Arc::ptr_eq(&first, &again), "it is made once");
    world.settle().await;
    assert!(world.asked(0).is_empty());
    advance(5 * MINUTE).await;
    world.servers[0].add(&["misc.test"], Article::reply(31, &[7]));
    let grown = world.thread(7).await.expect("a thread");
    assert_eq!(grown.outline.len(), 2, "whoever comes later waits for it");
    assert_eq!(
        world.asked(0),
        ["GROUP misc.test", "OVER 31-31", "ARTICLE <31@zoo.example>"],
        "the article that was read before is kept for a day"
    );
}

#[tokio::test(start_paused = true)]
async fn the_list_of_newsgroups_is_asked_for_once_an_hour() {
    let world = NewsWorld::of(1..=3).await;
    world.newsgroups().await.expect("a list");
    world.settle().await;
    world.asked(0);
    advance(59 * MINUTE).await;
    world.newsgroups().await.expect("a list");
    assert!(world.asked(0).is_empty());
    advance(MINUTE).await;
    world.newsgroups().await.expect("a list");
    assert_eq!(world.asked(0), ["LIST COUNTS"]);
}

#[tokio::test(start_paused = true)]
async fn an_article_is_asked_for_once_a_day() {
    let world = NewsWorld::of(1..=3).await;
    world.article(2).await.expect("an article");
    advance(23 * 60 * MINUTE).await;
    world.article(2).await.expect("an article");
    assert_eq!(world.servers[0].count("ARTICLE"), 1);
    advance(61 * MINUTE).await;
    world.article(2).await.expect("an article");
    assert_eq!(world.servers[0].count("ARTICLE"), 2);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_has_is_not_asked_for_again_for_a_minute() {
    let world = NewsWorld::of(1..=3).await;
    let absent = world.article(99).await.unwrap_err();
    let Unread::NoArticle(absence) = absent else {
        panic!("{absent:?}");
    };
    assert_eq!(absence.servers.len(), 1);
    world.article(99).await.unwrap_err();
    assert_eq!(world.servers[0].count("ARTICLE"), 1);
    advance(61 * SECOND).await;
    world.servers[0].add(&["misc.test"], Article::numbered(99));
    world.article(99).await.expect("it has come meanwhile");
}

#[tokio::test(start_paused = true)]
async fn a_reader_who_leaves_strands_nobody() {
    let world = NewsWorld::of(1..=3).await;
    world.servers[0].set_for("OVER", Behaviour::Slow(3 * SECOND));
    let leaves = tokio::time::timeout(SECOND, world.page(0));
    let stays = world.page(0);
    let (left, stayed) = tokio::join!(leaves, stays);
    assert!(left.is_err());
    assert_eq!(stayed.expect("a page").known, 3);
    assert_eq!(world.servers[0].count("OVER"), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_comes_by_the_deadline_and_what_comes_later_is_for_the_next_reader() {
    let world = NewsWorld::of(1..=3).await;
    world.newsgroups().await.expect("a list");
    world.servers[0].set_for("OVER", Behaviour::Slow(15 * SECOND));
    let began = tokio::time::Instant::now();
    world.page(0).await.unwrap_err();
    assert!(began.elapsed() <= Duration::from_secs(11));
    advance(6 * SECOND).await;
    world.settle().await;
    assert_eq!(world.page(0).await.expect("a page").known, 3);
    assert_eq!(world.servers[0].count("OVER"), 1);
}
