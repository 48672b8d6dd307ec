//! Answers that are kept: for how long they stand, who gets them, what they save.

use super::*;

#[tokio::test(start_paused = true)]
async fn answers_stand_as_long_as_their_kind_does() {
    for (query, minutes) in [
        ("t=search", 10),
        ("t=search&q=some", 60),
        ("t=tvsearch&tvdbid=123&season=1", 60),
        ("t=search&q=missing", 15),
    ] {
        let network = Network::new();
        let indexers = crowd(&network, 1).await;
        let world = World::new(network.ground(), &named(&indexers));
        let target = format!("/torznab/api?{query}");
        let first = world.get(&target).await;
        assert_eq!(first.status, 200, "{}", first.body);
        world.until(minutes * MINUTE - SECOND).await;
        let second = world.get(&target).await;
        assert_eq!(second.titles(), first.titles());
        assert_eq!(indexers[0].searches().len(), 1, "{query}");
        world.until(minutes * MINUTE + SECOND).await;
        world.get(&target).await;
        assert_eq!(indexers[0].searches().len(), 2, "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_indexer_can_do_is_asked_once_a_day() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let world = World::new(network.ground(), &named(&indexers));
    let target = "/torznab/api?t=caps";
    world.get(target).await;
    world.until(DAY - SECOND).await;
    world.get(target).await;
    assert_eq!(indexers[0].introductions(), 1);
    world.until(DAY + 2 * SECOND).await;
    world.get(target).await;
    world.until(DAY + 5 * SECOND).await;
    world.get(target).await;
    assert_eq!(indexers[0].introductions(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_indexer_whose_caps_could_not_be_read_is_soon_asked_again() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    indexers[0].set_all(Behaviour::Html);
    let world = World::new(network.ground(), &named(&indexers));
    let ids = "/torznab/api?t=tvsearch&tvdbid=123";
    world.get(ids).await;
    indexers[0].set_all(Behaviour::Good);
    world.until(16 * MINUTE).await;
    world.get(ids).await;
    world.until(17 * MINUTE).await;
    let reply = world.get(ids).await;
    assert_eq!(reply.titles().len(), 3, "{}", reply.body);
    let asked = indexers[0].searches();
    assert_eq!(
        asked.last().and_then(|asked| asked.value("tvdbid")),
        Some("123")
    );
}

/// It may not say what it can do, and still have what is asked for.
#[tokio::test(start_paused = true)]
async fn an_indexer_without_caps_has_no_cooldown_for_that() {
    for behaviour in [Behaviour::Html, Behaviour::Status(404, RetryAfter::None)] {
        let network = Network::new();
        let indexers = crowd(&network, 1).await;
        indexers[0].set_all(behaviour);
        let world = World::new(network.ground(), &named(&indexers));
        world.get("/torznab/api?t=caps").await;
        indexers[0].set_all(Behaviour::Good);
        assert_eq!(world.state_of("a"), "open");
        let reply = world.get("/torznab/api?t=search&q=some").await;
        assert_eq!(reply.titles().len(), 3, "{}", reply.body);
    }
}

/// Two indexers of one Prowlarr differ in their paths alone.
#[tokio::test(start_paused = true)]
async fn answers_from_another_address_are_not_served() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let mut config = named(&indexers);
    config.min_request_interval = Some(Duration::ZERO);
    let world = World::new(network.ground(), &config);
    world.get("/torznab/api?t=search").await;
    assert_eq!(
        world.get("/torznab/api?t=search").await.took,
        Duration::ZERO
    );
    assert_eq!(indexers[0].asked().len(), 2);
    let url = format!("{}/", indexers[0].url());
    config.indexers[0].url = weir_config::SecretUrl::parse(&url).expect("a URL");
    world.reload(&config);
    world.get("/torznab/api?t=search").await;
    assert_eq!(indexers[0].asked().len(), 4, "caps and releases");
}

/// What is known still stands, and the indexer has other things to do than to fail at this with every search.
#[tokio::test(start_paused = true)]
async fn an_indexer_that_fails_to_say_again_what_it_can_do_is_left_alone_for_a_while() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let world = World::new(network.ground(), &named(&indexers));
    world.get("/torznab/api?t=caps").await;
    indexers[0].set_all(Behaviour::Html);
    for minute in 0..20 {
        world.until(DAY + minute * MINUTE + SECOND).await;
        world.get("/torznab/api?t=caps").await;
    }
    assert_eq!(indexers[0].introductions(), 3);
}

#[tokio::test(start_paused = true)]
async fn nocache_passes_the_cache_by() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let world = World::new(network.ground(), &named(&indexers));
    let target = "/torznab/api?t=search&q=some";
    world.get(target).await;
    world.until(50 * SECOND).await;
    let reply = world.get(&format!("{target}&nocache=1")).await;
    assert_eq!((reply.status, reply.titles().len()), (200, 3));
    assert_eq!(indexers[0].searches().len(), 2);
    // Limited: the old answer serves, and says so.
    indexers[0].set(Behaviour::Status(429, RetryAfter::Seconds(600)));
    world.until(100 * SECOND).await;
    let reply = world.get(&format!("{target}&nocache=1")).await;
    assert_eq!((reply.status, reply.titles().len()), (200, 3));
    assert!(
        reply
            .reason("a")
            .ends_with("; answered from cache, 50 s old"),
        "{}",
        reply.body
    );
}

#[tokio::test(start_paused = true)]
async fn a_skipped_request_serves_what_is_old_and_leaves_one_refresh() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let config = Config { ..named(&indexers) };
    let world = World::new(network.ground(), &config);
    let feed = "/torznab/api?t=search";
    let first = world.get(feed).await;
    assert_eq!(first.titles().len(), 3);
    world.until(600 * SECOND).await;
    let search = world.begin("t=search&q=warm", INTERACTIVE);
    search.settled(search.deadline()).await;
    for agent in ["Sonarr/4", "Radarr/5", "Lidarr/2"] {
        let reply = world.ask(feed, &[("user-agent", agent)]).await;
        assert_eq!((reply.status, reply.took), (200, Duration::ZERO));
        assert_eq!(reply.titles(), first.titles());
        let reason = reply.reason("a");
        assert_eq!(
            reason,
            "it was asked a moment ago. Next try in 30 s; RSS searches wait at most 15 s; answered from cache, 10 min old"
        );
        assert_eq!(world.queued(), 1, "one refresh for all");
    }
    let counters = world.engine.status().counters;
    assert_eq!((counters.skipped, counters.shared), (3, 0));
    // As completion: after 42 s.
    world.until(650 * SECOND).await;
    let times = times(&world, &indexers[0].searches());
    assert_eq!(times, [0, 600_000, 642_000]);
    let reply = world.get(feed).await;
    assert_eq!((reply.skipped(), indexers[0].searches().len()), (vec![], 3));
}

#[tokio::test(start_paused = true)]
async fn fifty_identical_searches_at_once_cost_one_call_per_indexer() {
    let network = Network::new();
    let indexers = crowd(&network, 3).await;
    let world = World::new(network.ground(), &named(&indexers));
    for indexer in &indexers {
        indexer.set(Behaviour::Slow(2 * SECOND));
    }
    let agents: Vec<String> = (0..50).map(|number| format!("Program{number}/1")).collect();
    let all = agents.iter().map(|agent| {
        let world = &world;
        async move {
            let headers = [("user-agent", agent.as_str())];
            world.ask("/torznab/api?t=search&q=some", &headers).await
        }
    });
    for reply in futures_util::future::join_all(all).await {
        assert_eq!(
            (reply.status, reply.titles().len()),
            (200, 9),
            "{}",
            reply.body
        );
        assert_eq!(reply.took, 2 * SECOND);
    }
    for indexer in &indexers {
        assert_eq!((indexer.searches().len(), indexer.introductions()), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn five_programs_that_poll_a_feed_all_day_cost_one_call_per_ten_minutes() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let world = World::fleeting(network.ground(), &named(&indexers));
    let agents = ["Sonarr/4", "Radarr/5", "Lidarr/2", "autobrr", "CrossSeed/7"];
    // Each every ten minutes, one after the other.
    for round in 0..12 * 60_u32 {
        let agent = agents[round as usize % agents.len()];
        let reply = world
            .ask("/torznab/api?t=search&cat=5000", &[("user-agent", agent)])
            .await;
        assert_eq!((reply.status, reply.titles().len()), (200, 3), "{round}");
        world.until((round + 1) * 2 * MINUTE).await;
    }
    assert_eq!(indexers[0].searches().len(), 144);
    let times = times(&world, &indexers[0].searches());
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 600_000));
}

#[tokio::test(start_paused = true)]
async fn answers_and_caps_outlive_a_restart() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let world = World::new(network.ground(), &named(&indexers));
    let target = "/torznab/api?t=search&q=some";
    let before = world.get(target).await;
    let directory = world.stop().await;
    indexers[0].set_all(Behaviour::Hang);
    let world = World::after(network.ground(), &named(&indexers), directory, 30 * MINUTE);
    let after = world.get(target).await;
    assert_eq!(after.titles(), before.titles());
    assert_eq!(after.links(), before.links(), "links stay the same");
    assert_eq!(after.took, Duration::ZERO);
    assert_eq!(
        (indexers[0].searches().len(), indexers[0].introductions()),
        (1, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn ids_go_to_those_that_know_them_and_text_to_the_others() {
    let network = Network::new();
    let with = |searching: Vec<(&'static str, &'static str)>| Setup {
        caps: Caps {
            searching,
            ..Caps::default()
        },
        ..Setup::with(1..4)
    };
    let indexers = [
        indexer(&network, 1, Setup::with(1..4)).await,
        indexer(&network, 2, with(vec![("search", "q")])).await,
        indexer(
            &network,
            3,
            with(vec![("search", ""), ("movie-search", "imdbid")]),
        )
        .await,
    ];
    let world = World::new(network.ground(), &named(&indexers));
    let target = "/torznab/api?t=tvsearch&tvdbid=123&season=1&ep=2";
    let reply = world.get(&format!("{target}&q=some+show")).await;
    assert_eq!(
        (reply.status, reply.skipped()),
        (200, vec![]),
        "{}",
        reply.body
    );
    let asked = |number: usize| {
        indexers[number]
            .searches()
            .first()
            .map(|asked| asked.target.clone())
    };
    let ids = asked(0).expect("it was asked");
    assert!(
        ids.contains("t=tvsearch") && ids.contains("tvdbid=123"),
        "{ids}"
    );
    assert!(ids.contains("season=1") && ids.contains("ep=2"), "{ids}");
    let text = asked(1).expect("it was asked");
    assert!(text.contains("t=search&q=some%20show%20S01E02"), "{text}");
    assert!(!text.contains("tvdbid"), "{text}");
    assert_eq!(asked(2), None, "{:?}", asked(2));
    // Without words there is nothing to ask two of them; the answer accounts for them all the same.
    world.until(MINUTE).await;
    let search = world.begin("t=tvsearch&tvdbid=999&season=1", INTERACTIVE);
    search.settled(search.deadline()).await;
    assert_eq!(standings(&search), ["answered", "nothing", "nothing"]);
    let reply = world
        .get("/torznab/api?t=tvsearch&tvdbid=999&season=1")
        .await;
    assert_eq!((reply.status, reply.skipped()), (200, vec![]));
}

#[tokio::test(start_paused = true)]
async fn what_nobody_can_be_asked_is_an_empty_answer_and_no_error() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let world = World::new(network.ground(), &named(&indexers));
    let reply = world.get("/torznab/api?t=search&q=some&cat=3000").await;
    assert_eq!((reply.status, reply.titles().len()), (200, 0));
    assert_eq!((reply.response(), reply.skipped()), ((0, 0), vec![]));
}
