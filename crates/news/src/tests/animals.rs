//! Every animal of the zoo as the first of two servers: whatever it does, readers have an answer by the deadline, and
//! readers of the other server notice nothing.

use std::time::Duration;

use tokio::time::Instant;
use weir_engine::dispatch::Asker;
use weir_testkit::zoo::news::{self, Article, Behaviour, EmptyRange, Greeting, News, Rows};

use super::world::*;

/// Whoever answers, or fails, at once.
const AT_ONCE: Duration = SECOND;
/// Whoever says nothing: after some seconds the other server is asked, long before the deadline.
const AFTER_A_WHILE: Duration = Duration::from_secs(5);

/// Its name, how long readers wait who could be served by the other server, and what makes a server one.
type Animal = (&'static str, Duration, fn(&News));

fn greeting(greeting: Greeting) -> impl FnOnce(&News) {
    move |server| {
        server.be(|nature| nature.greeting = greeting);
        server.cut();
    }
}

const ANIMALS: &[Animal] = &[
    ("mail server", AT_ONCE, |server| {
        greeting(Greeting::smtp())(server);
    }),
    ("garbage for a greeting", AT_ONCE, |server| {
        greeting(Greeting::garbage())(server);
    }),
    ("400 for a greeting", AT_ONCE, |server| {
        greeting(Greeting::not_now())(server);
    }),
    ("502 for a greeting", AT_ONCE, |server| {
        greeting(Greeting::refused())(server);
    }),
    ("no greeting", AFTER_A_WHILE, |server| {
        greeting(Greeting::Never)(server);
    }),
    ("no connection left", AT_ONCE, |server| {
        server.be(|nature| nature.connections = Some(0));
        server.cut();
    }),
    ("400 in mid-session", AT_ONCE, |server| {
        server.set(Behaviour::Goodbye("400 Going down".to_owned()));
    }),
    ("502 in mid-session", AT_ONCE, |server| {
        server.set(Behaviour::Goodbye("502 Enough".to_owned()));
    }),
    ("480 in mid-session", AT_ONCE, |server| {
        server.set(Behaviour::Line("480 Who are you".to_owned()));
    }),
    ("hang", AFTER_A_WHILE, |server| {
        server.set(Behaviour::Hang);
    }),
    ("drip", AFTER_A_WHILE, |server| {
        server.set(Behaviour::Drip(3 * SECOND));
    }),
    (
        "silence in the middle of a block",
        AFTER_A_WHILE,
        |server| {
            server.set_for("OVER", Behaviour::Stall(700));
        },
    ),
    ("cut in the middle of a block", AT_ONCE, |server| {
        server.set_for("OVER", Behaviour::Half);
    }),
    ("end without a word", AT_ONCE, |server| {
        server.set(Behaviour::Close);
    }),
    ("line without end", AT_ONCE, |server| {
        server.without(&["COMPRESS"]);
        server.cut();
        server.set_for("OVER", Behaviour::EndlessLine(64 << 20));
    }),
    ("block without end", AT_ONCE, |server| {
        server.without(&["COMPRESS"]);
        server.cut();
        server.set_for("OVER", Behaviour::EndlessBlock(64 << 20));
    }),
    ("deflate bomb", AT_ONCE, |server| {
        server.set_for("OVER", Behaviour::EndlessBlock(64 << 20));
    }),
    ("counts that are too high", AT_ONCE, |server| {
        server.be(|nature| nature.counts = Some((2_000_000_000, 1, 2_000_000_000)));
    }),
    ("counts that say nothing is there", AT_ONCE, |server| {
        server.be(|nature| nature.counts = Some((0, 0, 0)));
    }),
    ("renumbered", AT_ONCE, |server| {
        server.renumber("misc.test", 7_001);
    }),
    ("overview with two fields", AT_ONCE, |server| {
        server.be(|nature| nature.rows = Rows::Fields(2));
    }),
    ("overview of garbage", AT_ONCE, |server| {
        server.be(|nature| nature.rows = Rows::Garbage);
    }),
    ("empty range as 423", AT_ONCE, |server| {
        server.be(|nature| nature.empty_range = EmptyRange::NoArticles);
        server.be(|nature| nature.counts = Some((900, 41, 941)));
    }),
    ("empty range as an empty block", AT_ONCE, |server| {
        server.be(|nature| nature.empty_range = EmptyRange::EmptyBlock);
        server.be(|nature| nature.counts = Some((900, 41, 941)));
    }),
    ("huge article", AT_ONCE, |server| {
        server.add(&["misc.test"], Article::huge(40, 20 << 20));
    }),
];

/// Two servers with the same newsgroup, and the second with one of its own. Both have sent their lists.
async fn town() -> NewsWorld {
    let other = news::Newsgroup::new("misc.other").with(1..=5);
    let two = vec![test().with(1..=40), other];
    let world = NewsWorld::new(vec![vec![test().with(1..=40)], two]).await;
    world.newsgroups().await.expect("a list");
    world.settle().await;
    world
}

#[tokio::test(start_paused = true)]
async fn whatever_the_first_server_does_the_page_comes_from_the_second() {
    for (name, wait, release) in ANIMALS {
        let world = town().await;
        release(&world.servers[0]);
        let start = Instant::now();
        world
            .page(0)
            .await
            .unwrap_or_else(|why| panic!("{name}: {why:?}"));
        let took = start.elapsed();
        assert!(took <= *wait, "{name}: {took:?}");
        // What the first server says, if it says something, is not all there is.
        world.settle().await;
        let page = world.page(0).await.expect("a page");
        assert_eq!(page.known, 40, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_the_first_server_does_the_readers_of_the_second_notice_nothing() {
    for (name, _, release) in ANIMALS {
        let world = town().await;
        release(&world.servers[0]);
        let other = group("misc.other");
        let read = async {
            let start = Instant::now();
            let page = world.model.threads(&other, 0, Asker::NOBODY).await;
            (page.map(|page| page.known), start.elapsed())
        };
        let (_, (known, took)) = tokio::join!(world.page(0), read);
        assert_eq!(known, Ok(5), "{name}");
        assert!(took <= SECOND, "{name}: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_the_first_server_does_articles_come_from_the_second() {
    for (name, wait, release) in ANIMALS {
        let world = town().await;
        release(&world.servers[0]);
        let start = Instant::now();
        let article = world.article(7).await;
        let took = start.elapsed();
        assert!(article.is_ok() && took <= *wait, "{name}: {took:?}");
    }
}
