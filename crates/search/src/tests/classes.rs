//! How urgent a request is, and what that costs it.

use weir_engine::dispatch::record::What;

use super::*;

/// The classes of the calls that were made to `a`, oldest first, without caps.
fn classes(world: &World, calls: usize) -> Vec<Class> {
    let upstream = world.view("a").figures.upstream;
    let decisions = world.engine.decisions(upstream, None, 1000);
    let started = decisions
        .iter()
        .filter(|decision| matches!(decision.what, What::Started { .. }));
    let mut classes: Vec<Class> = started.filter_map(|decision| decision.class).collect();
    classes.truncate(calls);
    classes.reverse();
    classes
}

#[tokio::test(start_paused = true)]
async fn the_class_follows_from_what_is_asked_what_is_said_and_who_asks() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let config = Config {
        min_request_interval: Some(Duration::ZERO),
        ..named(&indexers)
    };
    let world = World::fleeting(network.ground(), &config);
    world.get("/torznab/api?t=caps").await;
    for (number, (query, agent, said, expected)) in [
        ("t=search", "Sonarr/4", None, RSS),
        ("t=search&cat=5030", "CrossSeed/7.0.0", None, RSS),
        (
            "t=search&cat=5040",
            "Sonarr/4",
            Some("interactive"),
            INTERACTIVE,
        ),
        ("t=search&q=%", "Sonarr/4.0.9", None, COMPLETION),
        ("t=search&q=%", "Radarr/5.1", None, COMPLETION),
        ("t=search&q=%", "Prowlarr/1.2", None, COMPLETION),
        ("t=search&q=%", "CrossSeed/7.0.0", None, BACKGROUND),
        ("t=search&q=%", "autobrr", None, COMPLETION),
        (
            "t=search&q=%",
            "FlexGet/3.11 (www.flexget.com)",
            None,
            COMPLETION,
        ),
        ("t=search&q=%", "curl/8", None, COMPLETION),
        (
            "t=search&q=%",
            "FlexGet/3.11",
            Some("interactive"),
            INTERACTIVE,
        ),
        ("t=search&q=%", "curl/8", Some("background"), BACKGROUND),
        ("t=search&q=%", "curl/8", Some("nonsense"), COMPLETION),
    ]
    .into_iter()
    .enumerate()
    {
        let query = query.replace('%', &format!("word{number}"));
        let mut headers = vec![("user-agent", agent)];
        headers.extend(said.map(|said| ("x-weir-class", said)));
        let reply = world.ask(&format!("/torznab/api?{query}"), &headers).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert_eq!(classes(&world, 1), [expected], "{query} of {agent}");
    }
}

#[tokio::test(start_paused = true)]
async fn with_defaults_a_fresh_start_gives_every_program_something() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let world = World::new(network.ground(), &plain(&indexers));
    for (agent, query) in [
        (
            "Sonarr/4",
            "t=tvsearch&cat=5030,5040&extended=1&offset=0&limit=100",
        ),
        ("Radarr/5", "t=search&cat=5000"),
        ("autobrr", "t=search"),
    ] {
        let headers = [("user-agent", agent)];
        let reply = world.ask(&format!("/torznab/api?{query}"), &headers).await;
        assert_eq!(reply.titles().len(), 6, "{agent}: {}", reply.body);
        assert!(reply.took <= 10 * SECOND, "{agent}: {:?}", reply.took);
    }
}

#[tokio::test(start_paused = true)]
async fn a_more_urgent_asker_raises_the_job_that_waits() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let config = Config {
        deadline: 2 * MINUTE,
        ..named(&indexers)
    };
    let world = World::fleeting(network.ground(), &config);
    let warm = world.begin("t=search&q=warm", INTERACTIVE);
    warm.settled(warm.deadline()).await;
    let slow = world.begin("t=search&q=some", BACKGROUND);
    turn().await;
    assert_eq!(world.queued(), 1);
    world.until(SECOND).await;
    let fast = world.begin("t=search&q=some", INTERACTIVE);
    fast.settled(fast.deadline()).await;
    turn().await;
    assert_eq!(times(&world, &indexers[0].searches()), [0, 6000]);
    assert_eq!(standings(&slow), ["answered"]);
    assert_eq!(standings(&fast), ["shared"]);
}
