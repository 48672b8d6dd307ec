//! Articles and servers that break the rules.

use weir_testkit::zoo::news::{Article, Behaviour, Rows};

use super::world::*;
use crate::reading::Content;

#[tokio::test(start_paused = true)]
async fn overviews_that_are_wrong_still_list_what_can_be_read() {
    for (rows, known) in [
        (Rows::Good, 20),
        (Rows::Fields(5), 20),
        (Rows::ExtraTabs, 20),
        (Rows::Twice, 20),
        (Rows::Reversed, 20),
        (Rows::Holes, 10),
        (Rows::Garbage, 20),
        (Rows::Shifted(7), 20),
        (Rows::NoNumbers, 0),
    ] {
        let world = NewsWorld::of(1..=20).await;
        world.servers[0].be(|nature| nature.rows = rows);
        let page = world.page(0).await.expect("a page");
        assert_eq!(page.known, known, "{rows:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn wrong_counts_do_not_hide_articles() {
    for counts in [
        (0, 0, 0),
        (1, 1, 20),
        (1_000_000, 1, 20),
        (20, 1, 2_000_000_000),
    ] {
        let world = NewsWorld::of(1..=20).await;
        world.servers[0].be(|nature| nature.counts = Some(counts));
        let page = world.page(0).await;
        let known = page.map_or(0, |page| page.known);
        match counts {
            (0, 0, 0) => assert_eq!(known, 0, "it says that there is none"),
            (20, ..) => {}
            _ => assert_eq!(known, 20, "{counts:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn threads_that_refer_to_themselves_in_circles_or_without_end_are_read() {
    let mut shelf = test()
        .at(1, Article::reply(1, &[1]))
        .at(2, Article::reply(2, &[3]))
        .at(3, Article::reply(3, &[2]));
    let mut chain = vec![10];
    shelf = shelf.at(10, Article::numbered(10));
    for number in 11..=400 {
        let last = chain.len().saturating_sub(20);
        shelf = shelf.at(number, Article::reply(number, &chain[last..]));
        chain.push(number);
    }
    let world = NewsWorld::new(vec![vec![shelf]]).await;
    let page = world.page(0).await.expect("a page");
    assert_eq!(page.known, 3);
    assert_eq!(world.thread(1).await.expect("a thread").outline.len(), 1);
    assert_eq!(world.thread(2).await.expect("a thread").outline.len(), 2);
    let deep = world.thread(400).await.expect("a thread");
    assert_eq!(deep.outline.len(), 391);
    assert_eq!(deep.outline.iter().map(|row| row.depth).max(), Some(390));
}

#[tokio::test(start_paused = true)]
async fn a_damaged_article_is_shown_as_far_as_it_can_be_read() {
    let shelf = test()
        .at(1, Article::garbage(1))
        .at(2, Article::numbered(2));
    let world = NewsWorld::new(vec![vec![shelf]]).await;
    let article = world.article(1).await.expect("an article");
    assert!(!article.article.damage.is_empty());
    let view = world.thread(1).await.expect("a thread");
    assert!(matches!(view.messages[0].content, Content::Read(_)));
    world
        .article(2)
        .await
        .expect("the connection is still good");
}

#[tokio::test(start_paused = true)]
async fn an_article_larger_than_we_take_costs_nobody_else_anything() {
    let shelf = test()
        .at(1, Article::huge(1, 9 << 20))
        .at(2, Article::numbered(2));
    let world = NewsWorld::new(vec![vec![shelf]]).await;
    let (large, small) = tokio::join!(world.article(1), world.article(2));
    assert!(large.is_err());
    small.expect("an article");
}

#[tokio::test(start_paused = true)]
async fn endless_answers_end() {
    for behaviour in [
        Behaviour::EndlessLine(64 << 20),
        Behaviour::EndlessBlock(64 << 20),
    ] {
        let world = NewsWorld::of(1..=3).await;
        world.newsgroups().await.expect("a list");
        world.servers[0].set_for("OVER", behaviour);
        world.page(0).await.unwrap_err();
    }
}
