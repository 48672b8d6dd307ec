//! Threads and articles.

use weir_engine::dispatch::Asker;
use weir_testkit::zoo::news::{self, Article, Behaviour};

use super::world::*;
use crate::model::ThreadPlace;
use crate::reading::{Content, ThreadView, Unread};

/// What a view shows of each row: `1`, `1?` for one that nobody has, `1!` for one that could not be fetched.
fn shown(view: &ThreadView) -> Vec<String> {
    let rows = view.messages.iter().map(|message| {
        let row = &view.outline[message.row];
        let number = row.id.bare().split('@').next().unwrap_or_default();
        let mark = match &message.content {
            Content::Read(_) => "",
            Content::Nowhere(_) => "?",
            Content::Unreachable(_) => "!",
        };
        format!("{}{number}{mark}", "-".repeat(row.depth))
    });
    rows.collect()
}

#[tokio::test(start_paused = true)]
async fn a_thread_has_its_articles_in_the_order_of_reading() {
    let shelf = test()
        .at(1, Article::numbered(1))
        .at(2, Article::reply(2, &[1]))
        .at(3, Article::reply(3, &[1]))
        .at(4, Article::reply(4, &[1, 2]));
    let world = NewsWorld::new(vec![vec![shelf]]).await;
    let view = world.thread(1).await.expect("a thread");
    assert_eq!(shown(&view), ["1", "-2", "--4", "-3"]);
    assert_eq!(view.subject, "Subject 1");
    assert_eq!(world.servers[0].count("ARTICLE"), 4);
    let again = world.thread(1).await.expect("a thread");
    assert!(std::sync::Arc::ptr_eq(&view, &again));
    assert_eq!(world.servers[0].count("ARTICLE"), 4);
}

#[tokio::test(start_paused = true)]
async fn the_page_with_the_newest_article_comes_by_one_deadline() {
    let mut shelf = test().at(1, Article::numbered(1));
    for number in 2..=120 {
        shelf = shelf.at(number, Article::reply(number, &[1]));
    }
    let world = NewsWorld::new(vec![vec![shelf]]).await;
    world.settled().await;
    world.servers[0].set_for("ARTICLE", Behaviour::Hang);
    let began = tokio::time::Instant::now();
    let (name, root) = (group("misc.test"), id(1));
    let newest = world
        .model
        .thread(&name, &root, ThreadPlace::Newest, Asker::NOBODY);
    let view = newest.await.expect("a thread");
    assert_eq!((view.page, view.pages), (2, 3));
    assert!(
        view.messages
            .iter()
            .any(|message| view.outline[message.row].id == id(120))
    );
    assert_eq!(began.elapsed(), world.config.deadline);
}

#[tokio::test(start_paused = true)]
async fn late_replies_to_an_article_far_back_are_there_for_the_next_reader() {
    let placed = |number: u64, mut article: Article| {
        let xref = format!("Xref: zoo.example misc.test:{number}\r\n");
        article.bytes.splice(0..0, xref.into_bytes());
        article
    };
    let mut shelf = test().with((1..=5_000).filter(|number| ![100, 300, 900].contains(number)));
    shelf = shelf.at(100, placed(100, Article::numbered(100)));
    for late in [300, 900] {
        shelf = shelf.at(late, placed(late, Article::reply(late, &[100])));
    }
    let world = NewsWorld::new(vec![vec![shelf]]).await;
    world.settled().await;
    // Whatever comes while its articles are fetched is not taken for missing.
    let first = shown(&world.thread(100).await.expect("a thread"));
    assert!(first.starts_with(&["100".to_owned(), "-300".to_owned()]));
    assert!(first.iter().all(|row| !row.ends_with('?')), "{first:?}");
    world.settle().await;
    let next = world.thread(100).await.expect("a thread");
    assert_eq!(shown(&next), ["100", "-300", "-900"]);
}

#[tokio::test(start_paused = true)]
async fn articles_of_a_page_are_asked_for_at_once() {
    let mut shelf = test().at(1, Article::numbered(1));
    for number in 2..=20 {
        shelf = shelf.at(number, Article::reply(number, &[1]));
    }
    let world = NewsWorld::new(vec![vec![shelf]]).await;
    world.settled().await;
    world.servers[0].set_for(
        "ARTICLE",
        Behaviour::Far(std::time::Duration::from_millis(80)),
    );
    let began = tokio::time::Instant::now();
    world.thread(1).await.expect("a thread");
    assert!(began.elapsed().as_millis() < 250, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_missing_parent_is_looked_for_by_its_id_and_keeps_its_place() {
    let shelf = test()
        .at(3, Article::reply(3, &[1, 2]))
        .at(4, Article::reply(4, &[1, 9]));
    // Only the other server has it, in a newsgroup that nobody reads.
    let elsewhere = news::Newsgroup::new("elsewhere").at(1, Article::reply(2, &[1]));
    let world = NewsWorld::new(vec![vec![shelf], vec![elsewhere]]).await;
    let view = world.thread(3).await.expect("a thread");
    assert_eq!(shown(&view), ["1?", "-2", "--3", "-9?", "--4"]);
    let found = &view.outline[1];
    assert_eq!(found.missing, 0, "the outline knows it, too");
    assert!(!found.author.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_thread_is_found_by_any_of_its_articles_even_by_one_that_no_list_has_brought() {
    let world = NewsWorld::of(1..=1200).await;
    let view = world.thread(5).await.expect("a thread");
    assert_eq!(shown(&view), ["5"]);
    let absent = world.thread(99_999).await.unwrap_err();
    assert!(matches!(absent, Unread::NoArticle(_)), "{absent:?}");
}

#[tokio::test(start_paused = true)]
async fn an_article_that_cannot_be_fetched_now_is_fetched_for_the_next_reader() {
    let world = NewsWorld::of(1..=3).await;
    world.settled().await;
    world.servers[0].set_next("ARTICLE", 1, Behaviour::Line("403 Fault".to_owned()));
    let view = world.thread(2).await.expect("a thread");
    assert_eq!(shown(&view), ["2!"]);
    tokio::time::advance(2 * MINUTE).await;
    assert_eq!(shown(&world.thread(2).await.expect("a thread")), ["2"]);
}

#[tokio::test(start_paused = true)]
async fn long_threads_have_pages_and_the_next_one_is_read_ahead() {
    let mut shelf = test().at(1, Article::numbered(1));
    for number in 2..=160 {
        shelf = shelf.at(number, Article::reply(number, &[1]));
    }
    let world = NewsWorld::new(vec![vec![shelf]]).await;
    let view = world.thread(1).await.expect("a thread");
    assert_eq!(
        (view.pages, view.messages.len(), view.outline.len()),
        (4, 50, 160)
    );
    world.settle().await;
    assert_eq!(world.servers[0].count("ARTICLE"), 100);
    let place = crate::model::ThreadPlace::Article(id(75));
    let reader = weir_engine::dispatch::Asker::NOBODY;
    let second = world
        .model
        .thread(&group("misc.test"), &id(1), place, reader)
        .await;
    assert_eq!(second.expect("a page").page, 1);
}

#[tokio::test(start_paused = true)]
async fn an_article_is_read_whoever_has_it() {
    let world = NewsWorld::new(vec![vec![test().with(1..=3)], vec![test().with(4..=6)]]).await;
    let article = world.article(5).await.expect("an article");
    assert_eq!(article.server.as_ref(), "two");
    assert_eq!(article.article.head.subject, "Subject 5");
    assert!(article.raw.starts_with(b"Newsgroups: "));
}

#[tokio::test(start_paused = true)]
async fn a_thousand_unknown_ids_cost_no_connection_and_no_cooldown() {
    let world = NewsWorld::of(1..=3).await;
    let absent = (1000..2000).map(|number| world.article(number));
    let absent = futures_util::future::join_all(absent).await;
    assert!(
        absent
            .iter()
            .all(|one| matches!(one, Err(Unread::NoArticle(_))))
    );
    assert!(world.servers[0].connections().len() <= 4);
    world.article(1).await.expect("an article");
}

#[tokio::test(start_paused = true)]
async fn replies_to_an_old_article_are_found_by_what_stands_near_it() {
    let mut shelf = test().with(1..=99);
    // INN writes where an article stands into the article itself.
    let mut old = Article::numbered(100);
    old.bytes
        .splice(0..0, *b"Xref: zoo.example misc.test:100\r\n");
    shelf = shelf.at(100, old);
    shelf = shelf.at(101, Article::reply(101, &[100])).with(102..=2000);
    let world = NewsWorld::new(vec![vec![shelf]]).await;
    let view = world.thread(100).await.expect("a thread");
    assert_eq!(shown(&view), ["100", "-101"]);
}

#[tokio::test(start_paused = true)]
async fn a_newsgroup_is_read_although_the_list_is_late() {
    let world = NewsWorld::of(1..=9).await;
    world.servers[0].set_for("LIST COUNTS", Behaviour::Slow(20 * SECOND));
    world.servers[0].set_for("LIST ACTIVE", Behaviour::Slow(20 * SECOND));
    let page = world.page(0).await.expect("a page");
    assert_eq!(page.known, 9);
}
