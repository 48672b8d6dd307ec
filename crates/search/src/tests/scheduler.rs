//! What a scheduler of searches must do, topic by topic.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_engine::dispatch::record::What;
use weir_engine::dispatch::{Skip, Wait};
use weir_net::{BoxFuture, Datagrams, Error, Family, Ground, Stream};

use super::*;
use crate::config::Workers;

/// Nobody is raised, so that classes are what they are.
fn plain(indexers: &[Indexer]) -> Config {
    Config { ..named(indexers) }
}

/// A front that has asked its indexers what they can do.
async fn introduced(network: &Network, config: &Config) -> World {
    let world = World::fleeting(network.ground(), config);
    let reply = world.get("/torznab/api?t=caps").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    world
}

#[tokio::test(start_paused = true)]
async fn a_search_begins_at_once_and_delivers_per_indexer_until_all_are_done() {
    let network = Network::new();
    let indexers = crowd(&network, 3).await;
    let world = introduced(&network, &plain(&indexers)).await;
    for (indexer, seconds) in indexers.iter().zip(1..) {
        indexer.set(Behaviour::Slow(Duration::from_secs(seconds)));
    }
    let search = world.begin("t=search&q=some", INTERACTIVE);
    assert_eq!(standings(&search), ["asking"; 3], "nobody waited");
    let mut changes = search.watch();
    for expected in [
        ["answered", "asking", "asking"],
        ["answered", "answered", "asking"],
        ["answered", "answered", "answered"],
    ] {
        changes.changed().await.expect("the search goes on");
        changes.mark_unchanged();
        assert_eq!(standings(&search), expected);
    }
    assert!(!search.is_running());
    assert_eq!(search.began_at.elapsed(), 3 * SECOND);
    assert_eq!(search.list(|_| true).releases.len(), 9);
}

#[tokio::test(start_paused = true)]
async fn the_more_urgent_class_goes_first_and_within_a_class_the_earlier_one() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let config = Config {
        min_request_interval: Some(Duration::ZERO),
        ..plain(&indexers)
    };
    let world = introduced(&network, &config).await;
    world.engine.hold();
    let mut searches = Vec::new();
    for (word, class) in [
        ("background", BACKGROUND),
        ("completion", COMPLETION),
        ("rss", RSS),
        ("interactive", INTERACTIVE),
        ("later", COMPLETION),
        ("latest", RSS),
    ] {
        searches.push(world.begin(&format!("t=search&q={word}"), class));
        turn().await;
    }
    world.engine.release();
    world.until(SECOND).await;
    assert_eq!(
        words(&indexers[0].searches()),
        [
            "interactive",
            "rss",
            "latest",
            "completion",
            "later",
            "background"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn spacing_holds_the_next_call_for_the_share_of_its_class() {
    for (class, seconds) in [(INTERACTIVE, 6), (COMPLETION, 42), (BACKGROUND, 60)] {
        let network = Network::new();
        let indexers = crowd(&network, 1).await;
        let config = Config {
            deadline: 5 * MINUTE,
            ..plain(&indexers)
        };
        let world = introduced(&network, &config).await;
        let first = world.begin("t=search&q=first", INTERACTIVE);
        turn().await;
        let second = world.begin("t=search&q=second", class);
        second.settled(second.deadline()).await;
        assert_eq!(standings(&first), ["answered"]);
        assert_eq!(standings(&second), ["answered"]);
        let times = times(&world, &indexers[0].searches());
        assert_eq!(times, [0, seconds * 1000], "{class:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_longer_wait_than_the_class_accepts_skips_with_the_reason() {
    // Class, wait in seconds, its own limit.
    for (class, wait, limit) in [
        (RSS, 15, None),
        (RSS, 16, Some(15)),
        (COMPLETION, 300, None),
        (BACKGROUND, 60, None),
        (BACKGROUND, 61, Some(60)),
        (INTERACTIVE, 300, None),
    ] {
        let network = Network::new();
        let indexers = crowd(&network, 1).await;
        let config = Config {
            deadline: 10 * MINUTE,
            min_request_interval: Some(Duration::ZERO),
            ..plain(&indexers)
        };
        let world = introduced(&network, &config).await;
        indexers[0].set(Behaviour::Status(429, RetryAfter::Seconds(wait)));
        world.begin("t=search&q=first", INTERACTIVE);
        turn().await;
        indexers[0].set(Behaviour::Good);
        let upstream = world.view("a").figures.upstream;
        let search = world.begin("t=search&q=second", class);
        search.settled(search.deadline()).await;
        let Some(limit) = limit.map(Duration::from_secs) else {
            assert_eq!(standings(&search), ["answered"], "{class:?} {wait}");
            assert_eq!(search.began_at.elapsed().as_secs(), wait);
            continue;
        };
        assert_eq!(search.began_at.elapsed(), Duration::ZERO, "at once");
        let PartState::Skipped { reason, until } = &search.parts()[0].state else {
            panic!("{:?}", standings(&search));
        };
        assert!(
            reason.contains("it is cooling down") && reason.contains("wait at most"),
            "{reason}"
        );
        let wait = Duration::from_secs(wait);
        assert_eq!(*until, Some(world.timeline.now() + wait));
        let decisions = world.engine.decisions(upstream, None, 10);
        let skip = Skip {
            reason: Wait::Cooldown,
            wait: Some(wait),
            limit: Some(limit),
        };
        assert_eq!(decisions[0].what, What::Skipped(skip));
        assert_eq!(decisions[0].class, Some(class));
        world.until(wait + 10 * MINUTE).await;
        let asked = words(&indexers[0].searches());
        assert_eq!(asked, ["first", ""], "not later, but Weir's own try");
        assert_eq!(world.state_of("a"), "open", "a skip is no failure");
    }
}

#[tokio::test(start_paused = true)]
async fn a_max_wait_of_the_request_comes_before_that_of_its_class() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let config = Config {
        deadline: 50 * SECOND,
        ..plain(&indexers)
    };
    let world = introduced(&network, &config).await;
    let wait = |seconds: &'static str, class: &'static str, word: &str| {
        let target = format!("/torznab/api?t=search&q={word}");
        let headers = [("x-weir-max-wait", seconds), ("x-weir-class", class)];
        let world = &world;
        async move { world.ask(&target, &headers).await }
    };
    assert_eq!(wait("5", "interactive", "some").await.status, 200);
    // 6 s of spacing.
    let reply = wait("5", "interactive", "show").await;
    assert_eq!((reply.status, reply.took), (429, Duration::ZERO));
    assert_eq!(reply.retry_after.as_deref(), Some("6"));
    assert!(
        reply.body.contains("interactive searches wait at most 5 s"),
        "{}",
        reply.body
    );
    let reply = wait("6s", "interactive", "show").await;
    assert_eq!((reply.status, reply.took), (200, 6 * SECOND));
    // More than the 15 s of its class.
    let reply = wait("40", "rss", "s01e01").await;
    assert_eq!((reply.status, reply.took), (200, 30 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn one_call_at_a_time_reaches_an_indexer() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let config = Config {
        min_request_interval: Some(Duration::ZERO),
        ..plain(&indexers)
    };
    let world = introduced(&network, &config).await;
    indexers[0].set(Behaviour::Slow(2 * SECOND));
    let searches = ["one", "two", "three"].map(|word| {
        let query = format!("t=search&q={word}");
        world.begin(&query, INTERACTIVE)
    });
    for search in &searches {
        search.settled(search.deadline()).await;
    }
    assert_eq!(times(&world, &indexers[0].searches()), [0, 2000, 4000]);
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_than_workers_are_made_at_once() {
    let network = Network::new();
    let indexers = crowd(&network, 5).await;
    let config = Config {
        workers: Workers::Count(NonZeroU32::new(2).expect("not 0")),
        ..plain(&indexers)
    };
    let world = introduced(&network, &config).await;
    for indexer in &indexers {
        indexer.set(Behaviour::Slow(SECOND / 2));
    }
    let search = world.begin("t=search&q=some", INTERACTIVE);
    search.settled(search.deadline()).await;
    let mut starts: Vec<u128> = indexers
        .iter()
        .flat_map(|indexer| times(&world, &indexer.searches()))
        .collect();
    starts.sort_unstable();
    assert_eq!(starts, [0, 0, 500, 500, 1000]);
}

#[tokio::test(start_paused = true)]
async fn dead_indexers_do_not_hold_the_crew() {
    let network = Network::new();
    let indexers = crowd(&network, 5).await;
    let config = Config {
        workers: Workers::Count(NonZeroU32::new(2).expect("not 0")),
        ..plain(&indexers)
    };
    let world = introduced(&network, &config).await;
    for indexer in &indexers[..4] {
        indexer.set(Behaviour::Hang);
    }
    let search = world.begin("t=search&q=some", INTERACTIVE);
    search.settled(search.deadline()).await;
    let failed = "failed";
    assert_eq!(
        standings(&search),
        [failed, failed, failed, failed, "answered"]
    );
    assert_eq!(times(&world, &indexers[4].searches()), [2000]);
}

#[tokio::test(start_paused = true)]
async fn the_same_feed_asked_twice_is_one_call_whose_answer_both_get() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let world = introduced(&network, &plain(&indexers)).await;
    indexers[0].set(Behaviour::Slow(SECOND));
    let radarr = [("user-agent", "Radarr/5.0")];
    let target = "/torznab/api?t=search&cat=5000";
    let (one, other) = tokio::join!(world.get(target), world.ask(target, &radarr));
    assert_eq!(one.titles().len(), 3, "{}", one.body);
    assert_eq!(other.titles(), one.titles(), "{}", other.body);
    assert_eq!(indexers[0].searches().len(), 1);
    assert_eq!(world.engine.status().counters.shared, 1);
}

#[tokio::test(start_paused = true)]
async fn other_categories_are_another_question_and_other_limits_another_page_of_one_answer() {
    let network = Network::new();
    let setup = Setup {
        items: vec![
            Item::numbered(1),
            Item::numbered(2),
            Item {
                category: 5030,
                ..Item::numbered(3)
            },
        ],
        ..Setup::default()
    };
    let indexers = [indexer(&network, 1, setup).await];
    let config = Config {
        min_request_interval: Some(Duration::ZERO),
        ..plain(&indexers)
    };
    let world = introduced(&network, &config).await;
    let (hd, sd, one, two) = tokio::join!(
        world.get("/torznab/api?t=search&cat=5040"),
        world.get("/torznab/api?t=search&cat=5030"),
        world.get("/torznab/api?t=search&limit=1"),
        world.get("/torznab/api?t=search&limit=2"),
    );
    let count = |reply: &Reply| (reply.titles().len(), reply.response().1);
    assert_eq!((count(&hd), count(&sd)), ((2, 2), (1, 1)));
    assert_eq!((count(&one), count(&two)), ((1, 3), (2, 3)));
    assert_eq!(indexers[0].searches().len(), 3);
}

/// A network in which connecting to one address breaks Weir itself.
struct Trapped(Network, SocketAddr, Arc<AtomicBool>);

impl Ground for Trapped {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Error>> {
        Ground::resolve(&self.0, name)
    }

    fn connect(&self, to: SocketAddr) -> BoxFuture<'_, Result<Box<dyn Stream>, Error>> {
        assert!(to != self.1 || !self.2.load(Ordering::Relaxed), "a trap");
        self.0.connect(to)
    }

    fn bind(&self, family: Family) -> BoxFuture<'_, Result<Arc<dyn Datagrams>, Error>> {
        self.0.bind(family)
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_panics_is_that_indexers_error_and_frees_its_slot() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let armed = Arc::new(AtomicBool::new(true));
    let ground = Trapped(network.clone(), indexers[0].address(), armed.clone());
    let config = Config {
        min_request_interval: Some(Duration::ZERO),
        workers: Workers::Count(NonZeroU32::MIN),
        ..plain(&indexers)
    };
    let world = World::fleeting(Arc::new(ground), &config);
    let reply = world.get("/torznab/api?t=search&q=some").await;
    assert_eq!((reply.status, reply.titles().len()), (200, 3));
    assert_eq!(reply.reason("a"), "Weir failed to ask it; the log says why");
    let fault = "it is not the indexer's fault";
    assert_eq!(world.state_of("a"), "untried", "{fault}");
    armed.store(false, Ordering::Relaxed);
    let reply = world.get("/torznab/api?t=search&q=show").await;
    assert_eq!((reply.status, reply.titles().len()), (200, 6));
}

#[tokio::test(start_paused = true)]
async fn stopping_a_search_cancels_what_waits_and_keeps_what_runs() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let world = introduced(&network, &plain(&indexers)).await;
    // The first was asked a moment ago, the second takes its time.
    let search = {
        let mut question = world.question("t=search&q=warm", INTERACTIVE);
        question.scope.truncate(1);
        world.front.views.fanout.begin(question)
    };
    search.settled(search.deadline()).await;
    indexers[1].set(Behaviour::Slow(5 * SECOND));
    let search = world.begin("t=search&q=some", INTERACTIVE);
    turn().await;
    assert_eq!((world.queued(), indexers[1].searches().len()), (1, 1));
    search.stop.cancel();
    turn().await;
    assert_eq!(world.queued(), 0);
    assert_eq!(standings(&search), ["skipped", "skipped"]);
    world.until(30 * SECOND).await;
    assert_eq!(words(&indexers[0].searches()), ["warm"]);
    let again = world.begin("t=search&q=some", INTERACTIVE);
    turn().await;
    let PartState::Answered { from, .. } = again.parts()[1].state else {
        panic!("{:?}", standings(&again));
    };
    assert!(matches!(from, AnsweredFrom::Cache(_)), "{from:?}");
    assert_eq!(indexers[1].searches().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn each_indexers_error_is_told_beside_the_answers_of_the_others() {
    let network = Network::new();
    let indexers = crowd(&network, 4).await;
    let world = introduced(&network, &plain(&indexers)).await;
    indexers[0].set(Behaviour::Status(500, RetryAfter::None));
    indexers[1].set(Behaviour::Error(900, "out of order".to_owned()));
    indexers[2].set(Behaviour::Hang);
    let reply = world.get("/torznab/api?t=search&q=some").await;
    assert_eq!(
        (reply.status, reply.titles().len()),
        (200, 3),
        "{}",
        reply.body
    );
    assert_eq!(reply.took, 12 * SECOND);
    assert_eq!(reply.reason("a"), "it answered 500");
    assert_eq!(reply.reason("b"), "it said: out of order (error 900)");
    assert_eq!(reply.reason("c"), "it did not answer within 12 s");
    assert_eq!(reply.skipped().len(), 3);
    let until = reply.skipped()[0].2.clone();
    assert_eq!(until.as_deref(), Some("2024-10-04T00:01:00Z"));
}
