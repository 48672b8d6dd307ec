//! One test per fault that was found by reading.

use tokio::time::advance;
use weir_engine::dispatch::Asker;
use weir_testkit::zoo::news::{self, Article, Behaviour};

use super::world::*;
use crate::model::ThreadPlace;
use crate::newsgroup::WindowSize;
use crate::numbers::Marks;
use crate::outbound::SelectedNumbers;
use crate::reading::Unread;

/// An article that says where it stands, as INN's do.
fn placed(number: u64, newsgroup: &str) -> Article {
    let mut article = Article::numbered(number);
    let xref = format!("Xref: zoo.example {newsgroup}:{number}\r\n");
    article.bytes.splice(0..0, xref.into_bytes());
    article
}

#[tokio::test(start_paused = true)]
async fn a_link_to_an_article_newer_than_the_last_check_hides_nothing_that_comes_after_it() {
    let world = NewsWorld::of(1..=600).await;
    world.settled().await;
    world.servers[0].add(&["misc.test"], placed(601, "misc.test"));
    world.asked(0);
    world.thread(601).await.expect("a thread");
    world.settle().await;
    let asked = world.asked(0);
    let beyond = asked.iter().filter(|line| line.starts_with("OVER"));
    assert_eq!(
        beyond.count(),
        0,
        "what came since, the next check brings: {asked:?}"
    );
    for number in 602..=605 {
        world.servers[0].add(&["misc.test"], Article::numbered(number));
    }
    advance(6 * MINUTE).await;
    world.page(0).await.expect("a page");
    world.page(12).await.expect("a page");
    assert_eq!(world.page(0).await.expect("a page").known, 605);
}

#[tokio::test(start_paused = true)]
async fn numbers_above_the_highest_do_not_count_as_fetched() {
    let world = NewsWorld::of(1..=600).await;
    world.settled().await;
    let open = world.model.open(&group("misc.test")).await;
    let server = world.model.server_id(&world.model.federation.in_order()[0]);
    open.take_in(server, &(551..=1050), &[], (&world.model.file, 0));
    let said = SelectedNumbers {
        count: 605,
        numbers: Some((1, 605)),
    };
    let size = WindowSize {
        lines: 500,
        single: false,
    };
    let sight = (&[][..], Marks::default());
    assert_eq!(open.seen(server, said, sight, size), [601..=605]);
}

#[tokio::test(start_paused = true)]
async fn an_article_is_not_filed_where_a_link_says_but_where_it_was_posted() {
    let other = news::Newsgroup::new("other").with(500..=501);
    let world = NewsWorld::new(vec![vec![test().with(1..=9), other]]).await;
    world.settled().await;
    let place = ThreadPlace::Page(0);
    let filed = world
        .model
        .thread(&group("other"), &id(3), place, Asker::NOBODY)
        .await;
    assert!(matches!(filed, Err(Unread::NoArticle(_))), "{filed:?}");
    let page = world.model.threads(&group("other"), 0, Asker::NOBODY).await;
    assert_eq!(page.expect("a page").known, 2);
}

#[tokio::test(start_paused = true)]
async fn numbers_without_end_are_believed_by_nobody() {
    let world = NewsWorld::of(1..=20).await;
    for high in [u64::MAX - 10, u64::MAX - 1, u64::MAX] {
        world.servers[0].be(|nature| nature.counts = Some((20, 1, high)));
        advance(6 * MINUTE).await;
        // Whatever is read: it ends.
        let _ = world.page(0).await;
        world.settle().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_newsgroup_that_left_the_memory_while_it_was_fetched_is_not_opened_twice() {
    let world = NewsWorld::of(1..=9).await;
    world.newsgroups().await.expect("a list");
    world.servers[0].set_for("OVER", Behaviour::Slow(2 * SECOND));
    let first = world.model.open(&group("misc.test")).await;
    let reads = world.page(0);
    let leaves = async {
        tokio::time::sleep(SECOND).await;
        world.model.forget(&group("misc.test"));
        world.page(0).await
    };
    let (read, other) = tokio::join!(reads, leaves);
    assert_eq!(read.expect("a page").known, 9);
    assert_eq!(other.expect("a page").known, 9);
    let again = world.model.open(&group("misc.test")).await;
    assert!(std::sync::Arc::ptr_eq(&first, &again));
}

#[tokio::test(start_paused = true)]
async fn with_its_server_down_a_list_does_not_claim_to_be_whole() {
    let world = NewsWorld::of(1..=2000).await;
    let page = world.page(0).await.expect("a page");
    assert!(!page.complete && page.has_next());
    world.servers[0].set(Behaviour::Goodbye("400 Down".to_owned()));
    advance(6 * MINUTE).await;
    let last = world.page(0).await.expect("a page").known / 50 - 1;
    let page = world.page(last).await.expect("a page");
    assert!(!page.complete, "most of it was never read");
    assert!(!page.has_next(), "and nobody can be asked for more");
}

#[tokio::test(start_paused = true)]
async fn pages_far_beyond_what_is_known_cost_servers_nothing() {
    let world = NewsWorld::of(1..=20_000).await;
    world.settled().await;
    world.asked(0);
    for page in [150, 9999, usize::MAX] {
        let beyond = world.page(page).await.unwrap_err();
        assert!(matches!(beyond, Unread::NoPage { .. }));
    }
    assert!(world.asked(0).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_date_that_cannot_be_asked_for_now_stays_as_it_was() {
    let other = news::Newsgroup::new("other").with(1..=9);
    let world = NewsWorld::new(vec![vec![other]]).await;
    let name = group("other");
    let newest = async || {
        world.newsgroups().await.expect("a list");
        world.model.look_at(&[&name], Asker::NOBODY);
        world.settle().await;
        advance(6 * SECOND).await;
        world.newsgroups().await.expect("a list").newsgroups[0].newest
    };
    let date = newest().await;
    assert!(date.is_some());
    world.servers[0].set(Behaviour::Goodbye("400 Down".to_owned()));
    advance(10 * MINUTE).await;
    assert_eq!(newest().await, date);
}

#[tokio::test(start_paused = true)]
async fn a_window_with_more_lines_than_its_newsgroup_promised_is_fetched_in_parts() {
    // One article from long ago, all others together at the top, with more to say than most.
    let subject = "long ".repeat(150);
    let long = |number: u64| {
        let headers = [
            ("Newsgroups", "misc.test"),
            ("From", "a@b.example"),
            ("Subject", &subject[..]),
        ];
        Article::new(&news::id(number), &headers, "Text.")
    };
    let mut shelf = test().with([1]);
    for number in 100_000..=100_599 {
        shelf = shelf.at(number, long(number));
    }
    let change = |config: &mut crate::Config| config.overview_lines = 10.try_into().expect("not 0");
    let world = NewsWorld::with(vec![vec![shelf]], change).await;
    let page = world.page(0).await.expect("a page");
    assert_eq!(page.threads.len(), 50);
}
