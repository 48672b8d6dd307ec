//! What hooks answer, and what becomes of the message.

use super::*;

/// A world in which one upstream is down for long, before a hook that behaves like this.
async fn told_to(network: &Network, behaviour: Behaviour) -> (World, Hook) {
    let hook = hook(network, 1, behaviour).await;
    let world = World::new(
        network.ground(),
        &config(vec![entry("a", &hook, HookKind::Webhook)]),
    );
    world.upstream("harbor", true);
    (world, hook)
}

/// Everything that was in messages, in order, by ID.
fn ids(hook: &Hook) -> Vec<String> {
    hook.received()
        .iter()
        .flat_map(events)
        .map(|one| one.2)
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_asks_for_time_gets_it() {
    let network = Network::new();
    let (world, hook) = told_to(&network, Behaviour::RetryAfter(429, 1800)).await;
    tokio::time::sleep(15 * MINUTE).await;
    assert_eq!(hook.received().len(), 1);
    assert_eq!(world.standing(), Standing::Cooldown);
    assert_eq!(world.last_error(), "it says we ask too often");
    hook.set(Behaviour::good());
    world.upstream("lake", true);
    tokio::time::sleep(HOUR).await;
    let times = times(&world, &hook);
    assert_eq!(times.len(), 2);
    assert!((1800..1810).contains(&(times[1] - times[0])), "{times:?}");
    let names: Vec<_> = events(&hook.received()[1])
        .into_iter()
        .map(|one| one.1)
        .collect();
    assert_eq!(names, ["harbor", "lake"], "all that happened meanwhile");
    assert_eq!(ids(&hook)[0], ids(&hook)[1], "told again under the same ID");
    assert_eq!(world.standing(), Standing::Open);
}

#[tokio::test(start_paused = true)]
async fn a_dead_hook_cools_down_longer_and_longer_and_is_told_once_it_lives() {
    for behaviour in [
        Behaviour::Says(500, "no".to_owned()),
        Behaviour::Hang,
        Behaviour::Cut,
        Behaviour::Says(404, "Unknown Webhook s3cr3t-part".to_owned()),
        Behaviour::Redirect("http://203.0.113.9/elsewhere".to_owned()),
    ] {
        let network = Network::new();
        let elsewhere = super::hook(&network, 9, Behaviour::good()).await;
        let (world, hook) = told_to(&network, behaviour.clone()).await;
        tokio::time::sleep(45 * MINUTE).await;
        let times = times(&world, &hook);
        // At 10, then after 1, 5 and 15 minutes, and as long as a time-out takes.
        assert_eq!(times.len(), 4, "{behaviour:?} {times:?}");
        let gaps: Vec<u64> = times.windows(2).map(|two| (two[1] - two[0]) / 60).collect();
        assert_eq!(gaps, [1, 5, 15], "{behaviour:?}");
        assert_ne!(world.standing(), Standing::Open);
        // Whoever sends us elsewhere answers, but not as a hook does.
        let is_moved = matches!(behaviour, Behaviour::Redirect(_));
        let last = world.engine.decisions(UpstreamId(0), None, 99);
        let ends = last.iter().filter_map(|record| record.end);
        let ends: Vec<_> = ends.map(|end| end.kind == Kind::Broken).collect();
        assert!(!is_moved || ends == [true; 4], "{last:?}");
        assert!(
            !world.last_error().contains("s3cr3t"),
            "{}",
            world.last_error()
        );
        hook.set(Behaviour::good());
        tokio::time::sleep(2 * HOUR).await;
        assert_eq!(hook.received().len(), 5, "{behaviour:?}");
        assert_eq!(world.standing(), Standing::Open);
        let mut all = ids(&hook);
        all.dedup();
        assert_eq!(all.len(), 1, "one event, under one ID");
        assert_eq!(elsewhere.received().len(), 0, "nobody follows");
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_took_a_message_does_not_get_it_again_whatever_it_says_then() {
    for behaviour in [
        Behaviour::Huge(8 << 20),
        Behaviour::HalfBody,
        Behaviour::NoBody,
        Behaviour::Says(204, String::new()),
    ] {
        let network = Network::new();
        let (world, hook) = told_to(&network, behaviour.clone()).await;
        tokio::time::sleep(2 * HOUR).await;
        assert_eq!(hook.received().len(), 1, "{behaviour:?}");
        assert_eq!(world.standing(), Standing::Open, "{behaviour:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_kind_is_called_as_it_wants_to_be() {
    let network = Network::new();
    let hook = hook(&network, 1, Behaviour::good()).await;
    let ntfy = HookEntry {
        token: Some(Secret::new("tk_secret")),
        priority: 5,
        tags: vec!["warning".to_owned()],
        ..entry("n", &hook, HookKind::Ntfy)
    };
    let webhook = HookEntry {
        secret: Some(Secret::new("a key of many letters")),
        ..entry("w", &hook, HookKind::Webhook)
    };
    let all = vec![
        ntfy,
        webhook,
        entry("d", &hook, HookKind::Discord),
        entry("s", &hook, HookKind::Slack),
    ];
    let world = World::new(network.ground(), &config(all));
    world.upstream("harbor", true);
    tokio::time::sleep(15 * MINUTE).await;
    let received = hook.received();
    assert_eq!(received.len(), 4);
    let with = |field: &str| {
        let mut all = received.iter();
        let found = all.find(|one| {
            let body: Value = serde_json::from_str(&one.body).expect("JSON");
            body.get(field).is_some()
        });
        found.unwrap_or_else(|| panic!("none has {field}"))
    };
    let ntfy = with("topic");
    assert!(
        ntfy.head.starts_with("POST /hooks "),
        "to the server: {}",
        ntfy.head
    );
    assert_eq!(ntfy.header("authorization"), Some("Bearer tk_secret"));
    assert!(
        ntfy.body.contains("\"topic\":\"s3cr3t-part\"") && ntfy.body.contains("\"priority\":5")
    );
    let webhook = with("version");
    let timestamp = webhook.header("x-weir-timestamp").expect("a time");
    let expected = crate::seal::signature("a key of many letters", timestamp, &webhook.body);
    assert_eq!(webhook.header("x-weir-signature"), Some(&*expected));
    assert_eq!(
        timestamp.parse::<u64>().expect("seconds") / 60,
        BEGINS / 60 + 10
    );
    assert!(with("content").header("authorization").is_none());
    with("mrkdwn");
}

/// The hook answers now this, now that; whatever it does, it is not called too often.
#[test]
fn no_hook_is_called_twice_a_minute() {
    use proptest::prelude::*;
    let behaviour = || {
        prop_oneof![
            Just(Behaviour::good()),
            Just(Behaviour::Says(500, String::new())),
            Just(Behaviour::Says(403, String::new())),
            Just(Behaviour::Hang),
            Just(Behaviour::Cut),
            Just(Behaviour::HalfBody),
            (1_u64..300).prop_map(|seconds| Behaviour::RetryAfter(503, seconds)),
        ]
    };
    let step = (behaviour(), 1_u64..200, 0_u32..6, any::<bool>());
    let config = ProptestConfig::with_cases(24);
    proptest!(config, |(steps in prop::collection::vec(step, 1..30))| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let network = Network::new();
            let hook = super::hook(&network, 1, Behaviour::good()).await;
            let mut config = super::config(vec![entry("a", &hook, HookKind::Webhook)]);
            config.down_after = Duration::ZERO;
            config.back_after = Duration::ZERO;
            let world = World::new(network.ground(), &config);
            for (behaviour, seconds, name, is_down) in steps {
                hook.set(behaviour);
                world.upstream(&format!("site-{name}"), is_down);
                tokio::time::sleep(Duration::from_secs(seconds)).await;
            }
            let received = hook.received();
            for two in received.windows(2) {
                let gap = two[1].at.duration_since(two[0].at);
                assert!(gap >= MINUTE - Duration::from_millis(5), "{gap:?}");
            }
        });
    });
}
