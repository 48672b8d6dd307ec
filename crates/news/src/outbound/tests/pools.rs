//! Many orders over few connections.

use futures_util::future::join_all;

use weir_testkit::zoo::news::Greeting;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_thousand_unknown_articles_cost_no_connection() {
    let world = World::new().await;
    let link = world.link();
    for number in 1000..2000 {
        assert_eq!(link.article(&id(number)).await, Err(NewsFault::NoArticle));
    }
    let nowhere = newsgroup("no.such");
    for _ in 0..100 {
        assert_eq!(link.newsgroup(&nowhere).await, Err(NewsFault::NoNewsgroup));
    }
    assert_eq!(world.connections(), 1);
    assert_eq!(link.connections(), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn twenty_articles_from_a_far_server_take_one_round_trip() {
    let world = World::new().await;
    world.server.set(Behaviour::Far(80 * SECOND / 1000));
    let link = world.link();
    link.date().await.expect("an answer");
    let start = tokio::time::Instant::now();
    let articles = join_all((1..=20).map(|number| {
        let link = &link;
        async move { link.article(&id(number)).await }
    }));
    for article in articles.await {
        article.expect("an article");
    }
    assert_eq!(start.elapsed(), 80 * SECOND / 1000);
    assert_eq!(world.server.connections()[0].depth, 20);
}

#[tokio::test(start_paused = true)]
async fn no_more_than_four_overviews_are_asked_for_ahead() {
    let mut world = World::new().await;
    world.entry.connections = NonZeroU32::MIN;
    world.server.set(Behaviour::Far(SECOND));
    let link = world.link();
    let group = newsgroup("misc.test");
    let windows = join_all((0..10).map(|part: u64| {
        let (link, group) = (&link, &group);
        async move { link.overview(group, part * 10 + 1..=part * 10 + 10).await }
    }));
    for (part, window) in (0..).zip(windows.await) {
        let window = window.expect("an overview");
        assert_eq!(numbers(&window)[0], part * 10 + 1, "each gets its own");
    }
    assert_eq!(world.connections(), 1);
    assert!(
        world.server.depth() <= 5,
        "and the selection: {}",
        world.server.depth()
    );
    assert_eq!(world.server.count("GROUP"), 1, "it is selected once");
}

#[tokio::test(start_paused = true)]
async fn connections_are_opened_as_orders_queue_up_and_closed_when_nobody_needs_them() {
    let world = World::new().await;
    world.server.set(Behaviour::Slow(SECOND));
    let link = world.link();
    let group = newsgroup("misc.test");
    let windows = (0..40).map(|part: u64| {
        let (link, group) = (&link, &group);
        async move { link.overview(group, part * 2 + 1..=part * 2 + 2).await }
    });
    for window in join_all(windows).await {
        window.expect("an overview");
    }
    assert_eq!(world.connections(), 4, "as many as are configured");
    tokio::time::sleep(world.config.idle + 10 * SECOND).await;
    assert_eq!((link.connections().0, world.server.open()), (0, 0));
    assert_eq!(world.server.count("QUIT"), 4);
    link.date().await.expect("an answer");
    assert_eq!(world.connections(), 5);
}

#[tokio::test(start_paused = true)]
async fn no_connection_is_opened_for_what_is_answered_sooner_than_it_would_be() {
    let world = World::new().await;
    world.server.set(Behaviour::Far(SECOND / 10));
    let link = world.link();
    link.date().await.expect("an answer");
    // Opening a connection took more than that; from now on answers come sooner.
    world.server.set(Behaviour::Slow(SECOND / 200));
    let group = newsgroup("misc.test");
    let windows = (0..8).map(|part: u64| {
        let (link, group) = (&link, &group);
        async move { link.overview(group, part * 2 + 1..=part * 2 + 2).await }
    });
    for window in join_all(windows).await {
        window.expect("an overview");
    }
    assert_eq!(
        world.connections(),
        1,
        "the second four had room before another would have been open"
    );
}

#[tokio::test(start_paused = true)]
async fn an_order_behind_a_long_list_gets_a_connection_of_its_own() {
    let world = World::new().await;
    let link = world.link();
    link.date().await.expect("an answer");
    world.server.set_for("LIST", Behaviour::Slow(20 * SECOND));
    let start = tokio::time::Instant::now();
    let list = link.list(Listing::Active(None));
    let date = async {
        link.date().await.expect("an answer");
        start.elapsed()
    };
    let (list, waited) = tokio::join!(list, date);
    list.expect("a list");
    assert!(waited < SECOND, "{waited:?}");
    assert_eq!(world.connections(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_cannot_be_opened_beside_others_is_not_tried_time_and_again() {
    let world = World::new().await;
    let link = world.link();
    link.date().await.expect("an answer");
    world
        .server
        .be(|nature| nature.greeting = Greeting::garbage());
    world.server.set(Behaviour::Slow(SECOND / 2));
    let group = newsgroup("misc.test");
    let windows = (0..8).map(|part: u64| {
        let (link, group) = (&link, &group);
        async move { link.overview(group, part * 2 + 1..=part * 2 + 2).await }
    });
    for window in join_all(windows).await {
        window.expect("the one that works serves it");
    }
    // It took four seconds.
    assert_eq!(world.connections(), 2, "one that works, and one try");
}

#[tokio::test(start_paused = true)]
async fn orders_of_one_newsgroup_stay_on_its_connection() {
    let mut world = World::new().await;
    world.entry.connections = NonZeroU32::new(2).expect("not 0");
    world.server.set(Behaviour::Far(SECOND));
    let link = world.link();
    let (test, other) = (newsgroup("misc.test"), newsgroup("misc.other"));
    let ask = |group: &Newsgroup, number: u64| {
        let (link, group) = (&link, group.clone());
        async move { link.overview(&group, number..=number).await }
    };
    let first = join_all((1..=4).map(|number| ask(&test, number)));
    let both = tokio::join!(first, join_all((7..=9).map(|number| ask(&other, number))));
    assert!(both.0.iter().chain(&both.1).all(Result::is_ok));
    assert_eq!(world.connections(), 2);
    ask(&test, 5).await.expect("an overview");
    ask(&other, 7).await.expect("an overview");
    world.server.forget();
    // Both are idle: each newsgroup finds its own.
    for _ in 0..3 {
        ask(&test, 5).await.expect("an overview");
        ask(&other, 7).await.expect("an overview");
    }
    assert_eq!(world.server.count("GROUP"), 0, "{:?}", world.asked());
}

#[tokio::test(start_paused = true)]
async fn an_order_whose_connection_breaks_goes_to_a_fresh_one_unseen() {
    for behaviour in [
        Behaviour::Close,
        Behaviour::Reset,
        Behaviour::Half,
        Behaviour::Cut(3),
        Behaviour::Goodbye("400 idle for too long".to_owned()),
        Behaviour::Bytes(b"what is this\r\n".to_vec()),
    ] {
        let world = World::new().await;
        let link = world.link();
        link.date().await.expect("an answer");
        world.server.set_next("ARTICLE", 1, behaviour.clone());
        let article = link.article(&id(3)).await;
        assert!(article.is_ok(), "{behaviour:?}: {article:?}");
        assert_eq!(world.connections(), 2, "{behaviour:?}");
        world.server.set_for("ARTICLE", behaviour.clone());
        let article = link.article(&id(4)).await;
        assert!(article.is_err(), "{behaviour:?}: not for ever");
        assert_eq!(world.connections(), 3, "{behaviour:?}: and it moves once");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_died_while_nobody_looked_is_replaced() {
    let world = World::new().await;
    let link = world.link();
    link.date().await.expect("an answer");
    world.server.cut();
    tokio::time::sleep(SECOND).await;
    link.article(&id(3)).await.expect("an article");
    assert_eq!(world.connections(), 2);
}

#[tokio::test(start_paused = true)]
async fn one_connection_too_many_is_not_asked_for_again() {
    let world = World::new().await;
    world.server.be(|nature| nature.connections = Some(2));
    world.server.set(Behaviour::Slow(SECOND));
    let link = world.link();
    let group = newsgroup("misc.test");
    for _ in 0..3 {
        let windows = (0..30).map(|part: u64| {
            let (link, group) = (&link, &group);
            async move { link.overview(group, part + 1..=part + 1).await }
        });
        for window in join_all(windows).await {
            window.expect("the others serve it");
        }
    }
    assert_eq!(world.connections(), 3, "two, and one that was refused");
}

#[tokio::test(start_paused = true)]
async fn no_order_gets_the_numbers_of_another_newsgroup() {
    let mut world = World::new().await;
    world.entry.connections = NonZeroU32::MIN;
    world.server.set(Behaviour::Far(SECOND));
    let link = world.link();
    let (there, nowhere) = (newsgroup("misc.test"), newsgroup("no.such"));
    // A server that refuses the second keeps the first selected.
    let (first, second, third, fourth) = tokio::join!(
        link.overview(&there, 1..=2),
        link.overview(&nowhere, 1..=2),
        link.overview(&nowhere, 3..=4),
        link.overview(&there, 5..=6),
    );
    assert_eq!(numbers(&first.expect("it is there")), [1, 2]);
    assert_eq!(second.expect_err("it is not there"), NewsFault::NoNewsgroup);
    assert_eq!(third.expect_err("it is not there"), NewsFault::NoNewsgroup);
    assert_eq!(numbers(&fourth.expect("it is there")), [5, 6]);
    assert_eq!(world.connections(), 1);
}

#[tokio::test(start_paused = true)]
async fn who_leaves_takes_nobody_along() {
    let mut world = World::new().await;
    world.entry.connections = NonZeroU32::MIN;
    world.server.set(Behaviour::Far(SECOND));
    let link = world.link();
    link.date().await.expect("an answer");
    let (one, two, three) = (id(1), id(2), id(3));
    let leaves = tokio::time::timeout(SECOND / 2, link.article(&one));
    let (first, second, third) = tokio::join!(leaves, link.article(&two), link.article(&three));
    assert!(first.is_err());
    assert!(second.is_ok() && third.is_ok());
    assert_eq!(world.connections(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_is_closed_finishes_what_it_has() {
    let world = World::new().await;
    world.server.set(Behaviour::Far(SECOND));
    let link = world.link();
    link.date().await.expect("an answer");
    let one = id(1);
    let (article, ()) = tokio::join!(link.article(&one), async {
        tokio::time::sleep(SECOND / 2).await;
        link.close();
    });
    article.expect("it was on its way");
    world.outbound.closed().await;
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(world.server.open(), 0);
    assert!(link.article(&one).await.is_err(), "and takes nothing more");
}
