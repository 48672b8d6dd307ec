//! Servers that break the rules: each costs at most its own time and a bounded number of bytes.

use weir_config::Size;
use weir_testkit::zoo::news::{Article, Rows};

use super::*;

#[tokio::test(start_paused = true)]
async fn silence_ends_in_time_however_it_is_dressed() {
    for behaviour in [
        Behaviour::Hang,
        Behaviour::Stall(20),
        Behaviour::Drip(3 * SECOND),
    ] {
        let world = World::new().await;
        let link = world.link();
        link.date().await.expect("an answer");
        world.server.set_for("ARTICLE", behaviour.clone());
        let start = tokio::time::Instant::now();
        let fault = link.article(&id(1)).await.expect_err("no answer");
        assert_eq!(fault, NewsFault::Silent, "{behaviour:?}");
        // Once on the open connection, once on a fresh one.
        let most = 2 * world.entry.timeout + SECOND;
        assert!(
            start.elapsed() <= most,
            "{behaviour:?}: {:?}",
            start.elapsed()
        );
        world.server.set_for("ARTICLE", Behaviour::Good);
        link.article(&id(1)).await.expect("an article");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_without_end_cost_no_more_than_their_limit() {
    const MEGABYTE: usize = 1 << 20;
    for compressed in [true, false] {
        for behaviour in [
            Behaviour::EndlessLine(200 * MEGABYTE),
            Behaviour::EndlessBlock(200 * MEGABYTE),
        ] {
            let mut world = World::new().await;
            world.config.article_bytes = Size::from(MEGABYTE as u64);
            if !compressed {
                world.server.without(&["COMPRESS"]);
            }
            world.server.set_for("ARTICLE", behaviour.clone());
            let link = world.link();
            let fault = link.article(&id(1)).await.expect_err("no answer");
            assert!(
                matches!(fault, NewsFault::Garbled(_)),
                "{behaviour:?}: {fault}"
            );
            if !compressed {
                let written = world.server.written();
                assert!(written < 12 * MEGABYTE, "{behaviour:?}: {written}");
            }
            link.date().await.expect("an answer");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_article_that_is_too_long_is_skipped_and_the_connection_kept() {
    let mut world = World::new().await;
    world.config.article_bytes = Size::from(100 * 1024);
    world
        .server
        .add(&["misc.test"], Article::huge(500, 200_000));
    let link = world.link();
    let fault = link.article(&id(500)).await.expect_err("it is too long");
    assert_eq!(fault, NewsFault::TooLong(100 * 1024));
    link.article(&id(1)).await.expect("an article");
    assert_eq!(world.connections(), 1);
}

#[tokio::test(start_paused = true)]
async fn odd_rows_cost_no_more_than_themselves() {
    for (rows, expected) in [
        (Rows::Fields(2), vec![1, 2, 3, 4]),
        (Rows::ExtraTabs, vec![1, 2, 3, 4]),
        (Rows::Twice, vec![1, 1, 2, 2, 3, 3, 4, 4]),
        (Rows::Reversed, vec![4, 3, 2, 1]),
        (Rows::NoNumbers, vec![]),
        (Rows::Garbage, vec![1, 2, 3, 4]),
    ] {
        let world = World::new().await;
        world.server.be(|nature| nature.rows = rows);
        let link = world.link();
        let window = link.overview(&newsgroup("misc.test"), 1..=4).await;
        assert_eq!(numbers(&window.expect("an overview")), expected, "{rows:?}");
        link.date().await.expect("an answer");
        assert_eq!(world.connections(), 1, "{rows:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn wrong_counts_are_passed_on_and_break_nothing() {
    for counts in [(0, 0, 0), (5, 10, 3), (u64::MAX, 1, u64::MAX)] {
        let world = World::new().await;
        world.server.be(|nature| nature.counts = Some(counts));
        let link = world.link();
        let told = link
            .newsgroup(&newsgroup("misc.test"))
            .await
            .expect("numbers");
        let (count, low, high) = counts;
        assert_eq!(told.count, count);
        assert_eq!(
            told.numbers,
            (count > 0 && low <= high).then_some((low, high))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_there_says_which_way_it_is_not() {
    let mut world = World::new().await;
    world.entry.host = "192.0.2.77".to_owned();
    world.entry.timeout = 9 * SECOND;
    let start = tokio::time::Instant::now();
    let fault = world.link().date().await.expect_err("nobody is there");
    assert!(
        start.elapsed() <= 10 * SECOND,
        "{:?}: {fault}",
        start.elapsed()
    );
    world.entry.host = "nowhere.example".to_owned();
    let fault = world.link().date().await.expect_err("nobody is there");
    assert_eq!(fault.to_string(), "no such host");
    assert!(
        world
            .network
            .ground()
            .own(([192, 0, 2, 1], 1).into())
            .is_none()
    );
}
