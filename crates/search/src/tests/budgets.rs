//! What an indexer allows: configured, told or learned; queries and downloads apart; kept across a restart.

use std::num::NonZeroU32;

use axum::http::Method;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use weir_engine::dispatch::policy::Window;

use super::*;
use crate::config::limit::WindowLimit;

fn limit(number: u32) -> Option<NonZeroU32> {
    NonZeroU32::new(number)
}

/// No spacing, so that only windows count.
fn quick(indexers: &[Indexer]) -> Config {
    Config {
        min_request_interval: Some(Duration::ZERO),
        ..named(indexers)
    }
}

impl World {
    /// Searches for a word; says the status.
    async fn search(&self, word: &str) -> u16 {
        let reply = self.get(&format!("/torznab/api?t=search&q={word}")).await;
        reply.status
    }

    /// Used and allowed in the windows of `a`.
    fn windows(&self) -> Vec<(Window, u32, u32, bool)> {
        let uses = self.view("a").status.query;
        uses.iter()
            .map(|window| (window.window, window.used, window.limit, window.learned))
            .collect()
    }
}

#[tokio::test(start_paused = true)]
async fn a_first_probe_makes_no_second_request_that_does_not_fit() {
    for (calls, made) in [(1, 1), (2, 2)] {
        let network = Network::new();
        let indexers = crowd(&network, 1).await;
        let mut config = quick(&indexers);
        config.indexers[0].per_day = limit(calls);
        let world = World::new(network.ground(), &config);
        let probe = "/api/v1/upstreams/search/a/probe";
        let reply = world
            .submit(Method::POST, probe, &[("x-api-key", KEY)], "")
            .await;
        assert!(reply.body.contains("answered"), "{}", reply.body);
        // The one that proves most is made, whatever else fits.
        assert_eq!(indexers[0].asked().len(), made);
        assert_eq!(indexers[0].searches().len(), 1);
        assert_eq!(world.windows()[0].1, calls);
    }
}

/// It assumes what one can do that does not say so, but that the page is not there is no answer.
#[tokio::test(start_paused = true)]
async fn a_probe_that_got_no_further_than_a_missing_page_has_failed() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let mut server = network.listen(indexers[0].address());
    let mut before = quick(&indexers);
    before.indexers[0].per_day = limit(2);
    let mut after = before.clone();
    after.indexers[0].per_day = limit(1);
    let world = World::new(network.ground(), &before);
    let probe = "/api/v1/upstreams/search/a/probe";
    let headers = [("x-api-key", KEY)];
    // There was room for a second request when it began, and is none when it has its first answer.
    let answer = async {
        let mut client = server.accept().await.expect("a connection");
        client.read_u8().await.expect("a request");
        world.reload(&after);
        let missing = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
        client.write_all(missing).await.expect("it is read");
        client
    };
    let (reply, _client) = tokio::join!(world.submit(Method::POST, probe, &headers, ""), answer);
    let body: Value = serde_json::from_str(&reply.body).expect("JSON");
    assert_eq!(body["result"], "failed", "{body}");
    let words = body["sentence"].as_str().expect("a sentence");
    assert!(words.contains("it answered 404"), "{words}");
}

#[tokio::test(start_paused = true)]
async fn queries_and_downloads_have_budgets_of_their_own() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let mut config = quick(&indexers);
    // Caps count with the queries.
    config.indexers[0].per_day = limit(2);
    config.indexers[0].grabs_per_day = limit(1);
    let world = World::new(network.ground(), &config);
    let reply = world.get("/torznab/api?t=search").await;
    assert_eq!(reply.titles().len(), 3);
    assert_eq!(world.search("more").await, 429, "two queries were made");
    let links = reply.links();
    let path = |link: &String| link.replace("http://weir:7070", "");
    let first = world.get(&path(&links[0])).await;
    assert_eq!(first.status, 200, "{}", first.body);
    let second = world.get(&path(&links[1])).await;
    assert_eq!(second.status, 429, "{}", second.body);
    let wait: u64 = second
        .retry_after
        .expect("a time")
        .parse()
        .expect("seconds");
    assert!((86_399..=86_400).contains(&wait), "{wait}");
    let again = world.get(&path(&links[0])).await;
    assert_eq!((again.status, indexers[0].grabs().len()), (200, 1), "kept");
    world.until(DAY + SECOND).await;
    assert_eq!(world.search("more").await, 200);
    assert_eq!(world.get(&path(&links[1])).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn downloads_have_an_hour_of_their_own() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let mut config = quick(&indexers);
    config.indexers[0].grabs_per_hour = limit(1);
    let world = World::new(network.ground(), &config);
    let links = world.get("/torznab/api?t=search").await.links();
    let path = |link: &String| link.replace("http://weir:7070", "");
    assert_eq!(world.get(&path(&links[0])).await.status, 200);
    let second = world.get(&path(&links[1])).await;
    assert_eq!(second.status, 429, "{}", second.body);
    assert_eq!(world.search("more").await, 200);
    world.until(HOUR + SECOND).await;
    assert_eq!(world.get(&path(&links[1])).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn downloads_neither_wait_for_nor_start_the_spacing() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let world = World::new(network.ground(), &named(&indexers));
    let reply = world.get("/torznab/api?t=search").await;
    world.until(4 * SECOND).await;
    for link in reply.links() {
        let given = world.get(&link.replace("http://weir:7070", "")).await;
        assert_eq!((given.status, given.took), (200, Duration::ZERO));
    }
    assert_eq!(times(&world, &indexers[0].grabs()), [4000; 3]);
    let search = world.begin("t=search&q=some", INTERACTIVE);
    search.settled(search.deadline()).await;
    assert_eq!(times(&world, &indexers[0].searches()), [0, 6000]);
}

#[tokio::test(start_paused = true)]
async fn caps_count_but_do_not_start_the_spacing() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let mut config = named(&indexers);
    config.indexers[0].per_hour = limit(10);
    let world = World::new(network.ground(), &config);
    let reply = world.get("/torznab/api?t=search").await;
    assert_eq!((reply.status, reply.took), (200, Duration::ZERO));
    assert_eq!(times(&world, &indexers[0].asked()), [0, 0]);
    assert_eq!(world.windows(), [(Window::HOUR, 2, 10, false)]);
}

#[tokio::test(start_paused = true)]
async fn a_minute_an_hour_and_a_day_have_their_limits() {
    for (window, length) in [("minute", MINUTE), ("hour", HOUR), ("day", DAY)] {
        let network = Network::new();
        let indexers = crowd(&network, 1).await;
        let mut config = quick(&indexers);
        let indexer = &mut config.indexers[0];
        match window {
            "minute" => indexer.per_minute = limit(3),
            "hour" => indexer.per_hour = limit(3),
            _ => indexer.per_day = limit(3),
        }
        let world = World::new(network.ground(), &config);
        world.get("/torznab/api?t=caps").await;
        assert_eq!(
            (world.search("one").await, world.search("two").await),
            (200, 200)
        );
        let reply = world.get("/torznab/api?t=search&q=three").await;
        assert_eq!(reply.status, 429, "{window}");
        assert!(
            reply.body.contains("its quota is used up"),
            "{}",
            reply.body
        );
        let seconds = length.as_secs().to_string();
        assert_eq!(reply.retry_after, Some(seconds), "{window}");
        world.until(length - SECOND).await;
        assert_eq!(indexers[0].searches().len(), 2, "{window}");
        world.until(length + SECOND).await;
        assert_eq!(world.search("four").await, 200, "{window}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_days_of_an_indexer_begin_at_its_hour() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let mut config = quick(&indexers);
    config.indexers[0].per_day = limit(2);
    config.indexers[0].reset_hour = Some(3);
    // It is midnight.
    let world = World::new(network.ground(), &config);
    assert_eq!(world.search("one").await, 200);
    let reply = world.get("/torznab/api?t=search&q=two").await;
    assert_eq!(
        (reply.status, reply.retry_after.as_deref()),
        (429, Some("10800"))
    );
    world.until(3 * HOUR).await;
    assert_eq!(world.search("two").await, 200);
    assert_eq!(world.search("three").await, 200);
    assert_eq!(world.search("four").await, 429);
    world.until(27 * HOUR).await;
    assert_eq!(world.search("five").await, 200);
}

#[tokio::test(start_paused = true)]
async fn limits_that_an_indexer_tells_are_kept_to() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    indexers[0].set(Behaviour::Limits {
        calls: (95, 100),
        grabs: (4, 5),
    });
    let world = World::new(network.ground(), &quick(&indexers));
    let reply = world.get("/torznab/api?t=search").await;
    // Caps and this one: 97 of 100.
    assert_eq!(world.windows(), [(Window::DAY, 97, 100, true)]);
    for word in ["one", "two", "three"] {
        assert_eq!(world.search(word).await, 200, "{word}");
    }
    let full = world.get("/torznab/api?t=search&q=four").await;
    assert_eq!((full.status, full.took), (429, Duration::ZERO));
    assert_eq!(indexers[0].asked().len(), 5);
    // And one download.
    let links = reply.links();
    let path = |link: &String| link.replace("http://weir:7070", "");
    assert_eq!(world.get(&path(&links[0])).await.status, 200);
    assert_eq!(world.get(&path(&links[1])).await.status, 429);
    assert_eq!(indexers[0].grabs().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_ones_own_comes_before_what_an_indexer_tells() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    indexers[0].set(Behaviour::Limits {
        calls: (99, 100),
        grabs: (0, 5),
    });
    let mut config = quick(&indexers);
    config.indexers[0].per_day = limit(500);
    let world = World::new(network.ground(), &config);
    assert_eq!(
        (world.search("one").await, world.search("two").await),
        (200, 200)
    );
    assert_eq!(world.windows(), [(Window::DAY, 3, 500, false)]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_for_an_hour_after_ten_calls_teaches_the_limit() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    indexers[0].set(Behaviour::BurstLimit {
        calls: 12,
        window: HOUR,
        retry_after: RetryAfter::Seconds(3600),
    });
    let world = World::new(network.ground(), &quick(&indexers));
    // With caps that makes twelve.
    for number in 0..11 {
        assert_eq!(world.search(&format!("word{number}")).await, 200);
    }
    assert_eq!(world.windows(), []);
    assert_eq!(world.search("more").await, 429);
    assert_eq!(world.windows(), [(Window::HOUR, 12, 12, true)]);
    world.until(HOUR + SECOND).await;
    for number in 0..12 {
        assert_eq!(
            world.search(&format!("later{number}")).await,
            200,
            "{number}"
        );
    }
    let before = indexers[0].asked().len();
    assert_eq!(world.search("enough").await, 429);
    assert_eq!(indexers[0].asked().len(), before, "nobody had to refuse us");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_after_a_few_calls_or_for_a_moment_teaches_nothing() {
    for (calls, seconds) in [(5, 3600), (12, 30)] {
        let network = Network::new();
        let indexers = crowd(&network, 1).await;
        indexers[0].set(Behaviour::BurstLimit {
            calls,
            window: HOUR,
            retry_after: RetryAfter::Seconds(seconds),
        });
        let world = World::new(network.ground(), &quick(&indexers));
        for number in 0..calls {
            world.search(&format!("word{number}")).await;
        }
        assert_eq!(world.state_of("a"), format!("cooldown {seconds}"));
        assert_eq!(world.windows(), []);
    }
}

/// Calls from before a restart were not counted, so nobody knows what was allowed.
#[tokio::test(start_paused = true)]
async fn a_refusal_soon_after_a_restart_teaches_nothing() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let world = World::new(network.ground(), &quick(&indexers));
    assert_eq!(world.search("one").await, 200);
    let directory = world.stop().await;
    let world = World::after(network.ground(), &quick(&indexers), directory, HOUR);
    for number in 0..15 {
        assert_eq!(world.search(&format!("word{number}")).await, 200);
    }
    indexers[0].set(Behaviour::Status(429, RetryAfter::Seconds(7200)));
    assert_eq!(world.search("more").await, 429);
    assert_eq!(world.windows(), []);
}

#[tokio::test(start_paused = true)]
async fn a_restart_in_the_middle_of_a_day_keeps_the_count() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let mut config = quick(&indexers);
    config.indexers[0].per_day = limit(4);
    let world = World::new(network.ground(), &config);
    assert_eq!(world.search("one").await, 200);
    world.until(HOUR).await;
    assert_eq!(world.search("two").await, 200);
    let directory = world.stop().await;
    let world = World::after(network.ground(), &config, directory, 2 * HOUR);
    assert_eq!(world.windows(), [(Window::DAY, 3, 4, false)]);
    assert_eq!(world.search("three").await, 200);
    let reply = world.get("/torznab/api?t=search&q=four").await;
    let wait = (22 * HOUR).as_secs().to_string();
    assert_eq!((reply.status, reply.retry_after), (429, Some(wait)));
    assert_eq!(indexers[0].asked().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn windows_of_any_length_hold_and_survive_a_restart() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let mut config = quick(&indexers);
    let [minutes, month] = [300, 30 * 86_400].map(Window::of_seconds);
    let so_many = |calls, window| WindowLimit {
        calls: NonZeroU32::new(calls).expect("some"),
        window,
    };
    config.indexers[0].limits = vec![so_many(3, minutes)];
    config.indexers[0].grab_limits = vec![so_many(2, month)];
    let world = World::new(network.ground(), &config);
    let links = world.get("/torznab/api?t=search").await.links();
    assert_eq!(world.search("one").await, 200);
    let reply = world.get("/torznab/api?t=search&q=two").await;
    let wait = (reply.status, reply.retry_after.as_deref());
    assert_eq!(wait, (429, Some("300")), "two searches and the caps");
    let get = async |world: &World, link: usize| {
        let path = links[link].replace("http://weir:7070", "");
        world.get(&path).await.status
    };
    assert_eq!(get(&world, 0).await, 200);
    world.until(5 * MINUTE).await;
    assert_eq!(world.search("two").await, 200);
    let directory = world.stop().await;

    let world = World::after(network.ground(), &config, directory, 8 * MINUTE);
    assert_eq!(world.windows(), [(minutes, 1, 3, false)]);
    assert_eq!(get(&world, 1).await, 200);
    assert_eq!(get(&world, 2).await, 429);
    let directory = world.stop().await;
    let later = 30 * DAY - MINUTE;
    let world = World::after(network.ground(), &config, directory, later);
    assert_eq!(get(&world, 2).await, 429);
    let grabs = world.view("a").status.grab;
    assert_eq!((grabs[0].window, grabs[0].used), (month, 2));
    world.until(MINUTE).await;
    assert_eq!(get(&world, 2).await, 200, "the first has left the window");
}

#[tokio::test(start_paused = true)]
async fn an_indexers_page_says_how_far_apart_its_calls_are() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let mut config = plain(&indexers);
    config.indexers[1].min_request_interval = Some(10 * SECOND);
    let world = World::new(network.ground(), &config);
    for (name, said, seconds) in [
        (
            "a",
            "interactive 1 s, RSS 2 s, completion 2 s, background 25 s",
            [1.0, 2.0, 2.0, 25.0],
        ),
        (
            "b",
            "interactive 1 s, RSS 5 s, completion 7 s, background 10 s",
            [1.0, 5.0, 7.0, 10.0],
        ),
    ] {
        let page = world.get(&format!("/upstreams/search/{name}")).await;
        assert!(page.body.contains(said), "{}", page.body);
        let told = world.get(&format!("/api/v1/upstreams/search/{name}")).await;
        let told: serde_json::Value = serde_json::from_str(&told.body).expect("JSON");
        let classes = crate::policy::CLASSES.into_iter().zip(seconds);
        for (class, seconds) in classes {
            assert_eq!(told["spacing_seconds"][class], seconds, "{name}, {class}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_restart_keeps_cooldowns_spacing_and_learned_limits() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    indexers[0].set(Behaviour::Limits {
        calls: (10, 100),
        grabs: (0, 5),
    });
    let config = named(&indexers);
    let world = World::new(network.ground(), &config);
    world.get("/torznab/api?t=caps").await;
    indexers[1].set(Behaviour::Status(429, RetryAfter::Seconds(3600)));
    world.get("/torznab/api?t=search").await;
    let directory = world.stop().await;
    let world = World::after(network.ground(), &config, directory, 20 * SECOND);
    assert_eq!(world.state_of("b"), "cooldown 3580");
    assert_eq!(world.windows(), [(Window::DAY, 12, 100, true)]);
    let search = world.begin("t=search&q=some", COMPLETION);
    turn().await;
    let PartState::Skipped { reason, .. } = &search.parts()[0].state else {
        panic!("{:?}", standings(&search));
    };
    // 42 s less the 20 s of before.
    assert_eq!(reason, "it was asked a moment ago. Next try in 22 s");
    world.until(22 * SECOND).await;
    assert_eq!(standings(&search), ["answered", "skipped"]);
}
