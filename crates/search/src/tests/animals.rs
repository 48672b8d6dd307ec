//! Every misbehaviour: what becomes of the indexer, and when exactly it is called again. Next to each stands a healthy
//! one, whose releases are in every reply.

use weir_testkit::zoo::flood::Flood;

use super::*;

/// What must come of a misbehaviour.
struct Case {
    behaviour: Behaviour,
    /// Seconds until the reply is there.
    takes: u64,
    state: &'static str,
    /// Why the indexer has no part in the reply; empty if it has.
    words: &'static str,
}

fn case(behaviour: Behaviour, state: &'static str, words: &'static str) -> Case {
    Case {
        behaviour,
        takes: 0,
        state,
        words,
    }
}

fn table() -> Vec<Case> {
    use Behaviour as B;
    let status = |status| B::Status(status, RetryAfter::None);
    let seconds = |status, seconds| B::Status(status, RetryAfter::Seconds(seconds));
    let said = |code, words: &str| B::Error(code, words.to_owned());
    let often = "it says we ask too often";
    let large = "the answer is larger than 16777216 bytes";
    let unreadable = "its answer cannot be read";
    vec![
        case(B::Good, "open", ""),
        case(B::Gzip, "open", ""),
        case(B::Latin1, "open", ""),
        case(B::WrongPaging, "open", ""),
        Case {
            takes: 5,
            ..case(B::Slow(5 * SECOND), "open", "")
        },
        case(status(429), "cooldown 60", often),
        case(seconds(429, 90), "cooldown 90", often),
        case(seconds(429, 3600), "cooldown 3600", often),
        case(seconds(429, 999_999), "cooldown 86400", often),
        case(seconds(503, 90), "cooldown 90", often),
        case(status(503), "cooldown 60", "it answered 503"),
        case(status(500), "cooldown 60", "it answered 500"),
        case(status(404), "disabled 60", "it answered 404"),
        case(status(401), "disabled 60", "it answered 401"),
        case(
            said(100, "Incorrect user credentials"),
            "disabled 60",
            "it rejected our API key: Incorrect",
        ),
        case(
            said(101, "Account suspended"),
            "disabled 60",
            "it rejected our API key: Account",
        ),
        case(
            said(201, "Incorrect parameter"),
            "open",
            "it does not support this search: Incorrect",
        ),
        case(
            said(500, "Request limit reached"),
            "cooldown 60",
            "its limit is reached: Request",
        ),
        case(
            said(900, "Unknown error"),
            "cooldown 60",
            "it said: Unknown error (error 900)",
        ),
        case(
            B::ErrorStatus(400, 100, "no".to_owned()),
            "disabled 60",
            "it rejected our API key: no",
        ),
        case(B::InvalidXml, "cooldown 60", unreadable),
        case(
            B::Html,
            "cooldown 60",
            "its answer cannot be read: the indexer sent a page for people",
        ),
        case(B::Empty, "cooldown 60", unreadable),
        case(B::EntityBomb, "cooldown 60", unreadable),
        case(B::ExternalEntity, "cooldown 60", unreadable),
        case(B::RedirectLoop, "cooldown 60", "redirected too often"),
        case(
            B::CloseAfterRequest,
            "cooldown 60",
            "the connection was closed",
        ),
        case(B::HugeBody(17 << 20), "cooldown 60", large),
        case(B::GzipBomb(17 << 20), "cooldown 60", large),
        case(
            B::Flood(Flood::Informational, 17 << 20),
            "cooldown 60",
            "the answer consists of too many preliminary replies",
        ),
        case(
            B::Flood(Flood::Chunks, 17 << 20),
            "cooldown 60",
            "the answer consists of too many small pieces",
        ),
        case(
            B::Flood(Flood::GzipMembers, 1 << 20),
            "cooldown 60",
            "the answer consists of too many gzip members",
        ),
        case(B::Flaky(1), "cooldown 60", "it answered 500"),
        Case {
            takes: 12,
            ..case(B::Hang, "cooldown 60", "it did not answer within 12 s")
        },
        Case {
            takes: 12,
            ..case(
                B::Drip(SECOND),
                "cooldown 60",
                "it did not answer within 12 s",
            )
        },
    ]
}

#[tokio::test(start_paused = true)]
async fn every_misbehaviour_costs_its_own_indexer_a_cooldown_and_nobody_else_anything() {
    for case in table() {
        let what = format!("{:?}", case.behaviour);
        let network = Network::new();
        let indexers = crowd(&network, 2).await;
        let config = Config {
            min_request_interval: Some(Duration::ZERO),
            ..named(&indexers)
        };
        let world = World::fleeting(network.ground(), &config);
        world.get("/torznab/api?t=caps").await;
        indexers[0].set(case.behaviour.clone());
        let reply = world.get("/torznab/api?t=search&q=some").await;
        assert_eq!(
            (reply.status, reply.took.as_secs()),
            (200, case.takes),
            "{what}"
        );
        let well = case.state == "open" && case.words.is_empty();
        let titles = reply.titles();
        assert_eq!(
            titles.len(),
            if well { 6 } else { 3 },
            "{what}: {}",
            reply.body
        );
        for number in 11..14 {
            let title = format!("Some.Show.S01E{number}.1080p");
            assert!(titles.contains(&title), "{what}: {titles:?}");
        }
        assert_eq!(world.state_of("a"), case.state, "{what}");
        let reason = reply.reason("a");
        assert!(reason.starts_with(case.words), "{what}: {reason}");
        assert_eq!(
            reply.skipped().len(),
            usize::from(!well),
            "{what}: {reason}"
        );
        assert!(!indexers[0].was_lured(), "{what}");
        assert_eq!(world.state_of("b"), "open", "{what}");
        again(&world, &indexers, &case, &what).await;
    }
}

/// It is called again to the second, by somebody who waits for it, and a good answer ends all of it.
async fn again(world: &World, indexers: &[Indexer], case: &Case, what: &str) {
    let Some(left) = case.state.split(' ').nth(1) else {
        return;
    };
    let left = Duration::from_secs(left.parse().expect("seconds"));
    let ends = world.time() + left;
    let calls = indexers[0].searches().len();
    indexers[0].set(Behaviour::Good);
    world.until(ends - SECOND).await;
    let reply = world.get("/torznab/api?t=search&q=early").await;
    assert_eq!((reply.took, reply.skipped()), (SECOND, vec![]), "{what}");
    let asked = indexers[0].searches();
    assert_eq!(words(&asked[calls..]), ["early"], "{what}");
    assert_eq!(asked[calls].at.duration_since(world.began), ends, "{what}");
    assert_eq!(world.state_of("a"), "open", "{what}");
    let reply = world.get("/torznab/api?t=search&q=show").await;
    assert_eq!(reply.titles().len(), 6, "{what}: {}", reply.body);
}

#[tokio::test(start_paused = true)]
async fn a_date_in_retry_after_is_kept_to() {
    // The wall clock of the machine is what such a date is read by.
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let world = World::fleeting(network.ground(), &named(&indexers));
    world.get("/torznab/api?t=caps").await;
    let date = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(600);
    let date = date.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    indexers[0].set(Behaviour::Status(429, RetryAfter::Text(date)));
    world.get("/torznab/api?t=search&q=some").await;
    let state = world.state_of("a");
    let left: u64 = state
        .strip_prefix("cooldown ")
        .expect("a cooldown")
        .parse()
        .expect("seconds");
    assert!((590..=600).contains(&left), "{state}");
}

#[tokio::test(start_paused = true)]
async fn failures_climb_the_ladder_and_a_success_comes_down() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let config = Config {
        min_request_interval: Some(Duration::ZERO),
        ..named(&indexers)
    };
    let world = World::fleeting(network.ground(), &config);
    world.get("/torznab/api?t=caps").await;
    indexers[0].set(Behaviour::Status(500, RetryAfter::None));
    let mut asked = 0;
    // Within a day: then its caps are asked for, which would be a success.
    for minutes in [1, 5, 15, 30, 60, 180, 360, 720, 1440] {
        asked += 1;
        world
            .get(&format!("/torznab/api?t=search&q=word{asked}"))
            .await;
        assert_eq!(indexers[0].searches().len(), asked);
        assert_eq!(world.state_of("a"), format!("cooldown {}", minutes * 60));
        world.until(world.time() + minutes * MINUTE).await;
        assert_eq!(world.state_of("a"), "probing");
    }
    indexers[0].set(Behaviour::Good);
    let reply = world.get("/torznab/api?t=search&q=some").await;
    assert_eq!(reply.titles().len(), 3);
    assert_eq!(world.state_of("a"), "open");
    indexers[0].set(Behaviour::Status(500, RetryAfter::None));
    world.get("/torznab/api?t=search&q=other").await;
    assert_eq!(world.state_of("a"), "cooldown 60", "from the first rung");
}

/// One that is just being started again is there soon, so it is not disabled like one whose address is wrong.
#[tokio::test(start_paused = true)]
async fn where_nobody_listens_there_may_be_somebody_soon() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let world = World::fleeting(network.ground(), &named(&indexers));
    let fault = weir_testkit::memory::Fault::Refused;
    network.set_fault(indexers[0].address(), fault);
    world.get("/torznab/api?t=search&q=some").await;
    assert_eq!(world.state_of("a"), "cooldown 60");
}

#[tokio::test(start_paused = true)]
async fn an_operator_ends_a_cooldown() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let world = World::fleeting(network.ground(), &named(&indexers));
    world.get("/torznab/api?t=caps").await;
    indexers[0].set(Behaviour::Status(429, RetryAfter::Seconds(7200)));
    assert_eq!(world.get("/torznab/api?t=search&q=some").await.status, 429);
    indexers[0].set(Behaviour::Good);
    world.until(MINUTE).await;
    world.engine.clear(world.view("a").figures.upstream, "me");
    assert_eq!(world.state_of("a"), "open");
    let reply = world.get("/torznab/api?t=search&q=some").await;
    assert_eq!((reply.status, reply.titles().len()), (200, 3));
}

#[tokio::test(start_paused = true)]
async fn a_flaky_indexer_cools_down_when_it_fails_and_answers_when_it_does_not() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let config = Config {
        min_request_interval: Some(Duration::ZERO),
        ..named(&indexers)
    };
    let world = World::fleeting(network.ground(), &config);
    indexers[0].set(Behaviour::Flaky(3));
    let mut statuses = Vec::new();
    for number in 0..9 {
        let target = format!("/torznab/api?t=search&q=word{number}");
        statuses.push(world.get(&target).await.status);
        world.until(world.time() + MINUTE).await;
    }
    assert_eq!(statuses, [200, 200, 429, 200, 200, 429, 200, 200, 429]);
}

#[tokio::test(start_paused = true)]
async fn what_is_cached_is_served_whatever_becomes_of_the_indexer() {
    for behaviour in [
        Behaviour::Hang,
        Behaviour::Html,
        Behaviour::Status(429, RetryAfter::Seconds(3600)),
        Behaviour::Error(100, "no".to_owned()),
    ] {
        let network = Network::new();
        let indexers = crowd(&network, 1).await;
        let world = World::new(network.ground(), &named(&indexers));
        let target = "/torznab/api?t=search&q=some";
        world.get(target).await;
        indexers[0].set(behaviour.clone());
        world.until(2 * HOUR).await;
        for _ in 0..2 {
            let reply = world.get(target).await;
            assert_eq!(
                (reply.status, reply.titles().len()),
                (200, 3),
                "{behaviour:?}"
            );
            let reason = reply.reason("a");
            assert!(
                reason.ends_with("answered from cache, 2 h old"),
                "{behaviour:?}: {reason}"
            );
        }
    }
}
