//! What is told of a request agrees wherever it is told: to the program, in the history, on the indexer's page and in the
//! counters.

use axum::http::Method;
use serde_json::{Value, json};
use weir_engine::Counters;
use weir_engine::dispatch::{Availability, Moment, What};

use super::*;
use crate::history::Searched;
use crate::search::Stage;

const RADARR: (&str, &str) = ("user-agent", "Radarr/5.11 (linux)");

impl World {
    /// The decisions about an indexer as its page and the API tell them, oldest first.
    async fn decided(&self, name: &str) -> Vec<Value> {
        turn().await;
        let target = format!("/api/v1/decisions?front=search&upstream={name}&limit=500");
        let reply = self.get(&target).await;
        let body: Value = serde_json::from_str(&reply.body).expect("JSON");
        let rows = body["decisions"].as_array().expect("a list").iter();
        rows.rev().cloned().collect()
    }

    /// Who was skipped at this indexer, in sentences.
    async fn skips(&self, name: &str) -> Vec<String> {
        let all = self.decided(name).await;
        let skips = all.iter().filter(|one| one["kind"] == "skipped");
        skips.map(sentence).collect()
    }

    fn counters(&self) -> Counters {
        let counters = self.engine.status().counters;
        let parts = counters.parts();
        let sum: u64 = parts.iter().map(|(_, count)| count).sum();
        assert_eq!(sum, counters.asked, "{parts:?}");
        counters
    }

    /// Fails unless replies, history, records and counters tell of so many skipped requests.
    async fn assert_skipped(&self, name: &str, wanted: usize) -> Vec<String> {
        let skips = self.skips(name).await;
        assert_eq!(skips.len(), wanted, "{skips:?}");
        let rows = self.remembered().await;
        let parts = rows.iter().flat_map(|row| &row.indexers);
        let skipped = parts.filter(|part| part.indexer == name && part.what == Stage::Skipped);
        assert_eq!(skipped.count(), wanted, "in the history");
        assert_eq!(self.counters().skipped, wanted as u64);
        skips
    }
}

fn sentence(row: &Value) -> String {
    row["sentence"].as_str().expect("a sentence").to_owned()
}

/// One indexer that is known, and nothing waits for spacing.
async fn unspaced(network: &Network, count: u8) -> (Vec<Indexer>, World) {
    let indexers = crowd(network, count).await;
    let mut config = Config {
        min_request_interval: Some(Duration::ZERO),
        ..named(&indexers)
    };
    for entry in &mut config.indexers {
        entry.timeout = 30 * SECOND;
    }
    let world = World::new(network.ground(), &config);
    world.get("/torznab/api?t=caps").await;
    (indexers, world)
}

const SOME: &str = "/torznab/api?t=search&q=some";

/// Makes the first indexer ask to be left alone.
async fn let_cool(indexers: &[Indexer], world: &World, seconds: u64) {
    indexers[0].set(Behaviour::Status(429, RetryAfter::Seconds(seconds)));
    world.get("/torznab/a/api?t=search&q=warm").await;
    indexers[0].set(Behaviour::Good);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_comes_much_too_late_is_a_skip_with_what_the_program_got() {
    let network = Network::new();
    let (indexers, world) = unspaced(&network, 2).await;
    assert_eq!(world.get(SOME).await.titles().len(), 6);
    world.until(2 * HOUR).await;
    let_cool(&indexers, &world, 3600).await;
    let reply = world.get(SOME).await;
    assert!(
        reply
            .reason("a")
            .ends_with("; answered from cache, 2 h old"),
        "{}",
        reply.body
    );
    let other = world.get("/torznab/api?t=search&q=show").await;
    assert_eq!(other.titles().len(), 3);
    let skips = world.assert_skipped("a", 2).await;
    assert!(skips[0].starts_with("a was skipped for Sonarr (\"some\"): "));
    assert!(
        skips[0].ends_with(" Sonarr got the cached answer, 2 h old."),
        "{skips:?}"
    );
    assert!(skips[0].contains("; it says we ask too often"));
    assert!(
        skips[1].ends_with(" Sonarr got nothing: no cached answer."),
        "{skips:?}"
    );
    let page = world.remembered().await;
    let reason = |row: &Searched| row.indexers[0].reason.clone();
    assert_eq!(reason(&page[1]), reply.reason("a"), "the same words");
}

#[tokio::test(start_paused = true)]
async fn whoever_asks_only_those_that_are_off_is_told_so_and_not_to_come_back_tomorrow() {
    let network = Network::new();
    let (_indexers, world) = unspaced(&network, 2).await;
    let off = |name| {
        let upstream = world.view(name).figures.upstream;
        world.engine.switch_off(upstream, "renewal", "me");
    };
    off("a");
    let told = "a: switched off by an operator: renewal";
    let json = format!("{}&o=json", SOME.replace("/api", "/a/api"));
    for target in [&SOME.replace("/api", "/a/api"), &json] {
        let reply = world.get(target).await;
        assert_eq!(reply.status, 503, "{}", reply.body);
        assert_eq!(reply.retry_after.as_deref(), Some("300"));
        assert_eq!(reply.took, Duration::ZERO);
        assert!(reply.body.contains(told), "{}", reply.body);
        assert!(
            reply.body.contains("900"),
            "an error document: {}",
            reply.body
        );
    }
    for skip in world.assert_skipped("a", 2).await {
        assert!(skip.contains("renewal"), "{skip}");
        assert!(skip.contains("Sonarr got nothing"), "{skip}");
    }
    // With the other it is the other's time that counts, and with that off as well there is none.
    let reply = world.get(SOME).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    off("b");
    let reply = world.get(SOME).await;
    assert_eq!(
        (reply.status, reply.retry_after.as_deref()),
        (503, Some("300"))
    );
    for name in ["a", "b"] {
        let told = format!("{name}: switched off by an operator: renewal");
        assert!(reply.body.contains(&told), "{}", reply.body);
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_is_off_has_no_part_in_the_time_to_come_back() {
    let network = Network::new();
    let (indexers, world) = unspaced(&network, 2).await;
    let_cool(&indexers, &world, 3600).await;
    let off = world.view("b").figures.upstream;
    world.engine.switch_off(off, "renewal", "me");
    let reply = world.get(SOME).await;
    assert_eq!(
        (reply.status, reply.retry_after.as_deref()),
        (429, Some("3600"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_held_for_the_next_asker_is_skipped_for_this_one() {
    let network = Network::new();
    let (indexers, world) = unspaced(&network, 2).await;
    let_cool(&indexers, &world, 120).await;
    let reply = world.get(SOME).await;
    assert_eq!((reply.titles().len(), world.queued()), (3, 1));
    let skips = world.assert_skipped("a", 1).await;
    assert!(
        skips[0].contains("It stays queued for the next asker. Sonarr got nothing"),
        "{skips:?}"
    );
    assert!(skips[0].contains("the next free slot is in 2 min"));
    let before = world.counters();
    world.until(130 * SECOND).await;
    assert_eq!(indexers[0].searches().len(), 2, "it was made");
    let skips = world.assert_skipped("a", 1).await;
    let after = world.counters();
    assert_eq!((after.sent, after.waiting()), (before.sent + 1, 0));
    assert_eq!(skips.len(), 1, "its answer changes nothing");
}

#[tokio::test(start_paused = true)]
async fn who_waits_when_a_cooldown_begins_is_skipped_then() {
    let network = Network::new();
    let (indexers, world) = unspaced(&network, 1).await;
    // One call at a time: the second waits for the first, which brings a cooldown.
    indexers[0].set(Behaviour::Status(429, RetryAfter::Seconds(3600)));
    let radarr = [RADARR];
    let (one, two) = tokio::join!(
        world.get("/torznab/api?t=search&q=one"),
        world.ask("/torznab/api?t=search&q=two", &radarr),
    );
    assert_eq!((one.status, two.status), (429, 429));
    let skips = world.assert_skipped("a", 1).await;
    assert!(
        skips[0].starts_with("a was skipped for Radarr (\"two\"): "),
        "{skips:?}"
    );
    let why = "it says we ask too often), and completion requests wait at most 5 min.";
    assert!(skips[0].contains(why), "{skips:?}");
    assert_eq!(world.queued(), 0, "it would wait too long for anybody");
    let called = world.decided("a").await;
    let called = called.iter().find(|one| one["about"] == "\"one\"");
    let called = sentence(called.expect("the first was called"));
    assert!(
        called.ends_with(". Sonarr was told to retry in 60 min."),
        "{called}"
    );
}

#[tokio::test(start_paused = true)]
async fn whose_turn_has_not_come_at_the_deadline_is_skipped() {
    let network = Network::new();
    let (indexers, world) = unspaced(&network, 1).await;
    world.engine.hold();
    let reply = world.get(SOME).await;
    assert_eq!((reply.status, reply.took), (429, 15 * SECOND));
    let skips = world.skips("a").await;
    let words = "a was skipped for Sonarr (\"some\"): the request was still queued when the deadline \
                 passed, and stays queued. Sonarr was told to retry in 1 s.";
    assert_eq!(skips, [words]);
    assert_eq!(
        (world.counters().skipped, world.counters().waiting()),
        (1, 0)
    );
    world.engine.release();
    turn().await;
    assert_eq!(indexers[0].searches().len(), 1);
    assert_eq!(world.counters().sent, 2, "caps and the search");
}

#[tokio::test(start_paused = true)]
async fn what_there_is_no_room_for_is_told_with_the_reason_that_is_recorded() {
    // The queue is full; or one of two indexers has its share of it.
    let share = "requests for this upstream are already queued";
    for (count, size, most, reason, recorded) in [
        (
            1,
            3,
            3,
            "queue full".to_owned(),
            "queue full (3)".to_owned(),
        ),
        (
            2,
            80,
            40,
            format!("too many {share}"),
            format!("40 {share}"),
        ),
    ] {
        let network = Network::new();
        let indexers = crowd(&network, count).await;
        let config = Config {
            min_request_interval: Some(Duration::ZERO),
            queue_size: std::num::NonZeroU32::new(size).expect("not zero"),
            ..named(&indexers)
        };
        let world = World::new(network.ground(), &config);
        world.get("/torznab/api?t=caps").await;
        world.engine.hold();
        let ask = |number| {
            let target = format!("/torznab/a/api?t=search&q=number{number}");
            let world = &world;
            async move { world.get(&target).await }
        };
        futures_util::future::join_all((0..=most).map(ask)).await;
        let rows = world.remembered().await;
        let parts = rows.iter().flat_map(|row| &row.indexers);
        let dropped: Vec<&str> = parts
            .map(|part| &*part.reason)
            .filter(|told| !told.contains("deadline") && *told != "it has not answered yet")
            .collect();
        assert_eq!(dropped, [&*reason]);
        let all = world.decided("a").await;
        let drops: Vec<String> = (all.iter())
            .filter(|one| one["kind"] == "dropped")
            .map(sentence)
            .collect();
        assert_eq!(drops.len(), 1, "{all:?}");
        let words = format!("was dropped: {recorded}.");
        assert!(drops[0].contains(&words), "{drops:?}");
        assert_eq!(world.counters().dropped, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_got_nothing_before_the_answer_came_has_shared_nothing() {
    let network = Network::new();
    let (indexers, world) = unspaced(&network, 1).await;
    indexers[0].set(Behaviour::Slow(20 * SECOND));
    let radarr = [RADARR];
    let (sonarr, radarr) = tokio::join!(world.get(SOME), async {
        turn().await;
        world.ask(SOME, &radarr).await
    });
    assert_eq!((sonarr.status, radarr.status), (429, 429));
    for _ in 0..2 {
        let all = world.decided("a").await;
        assert!(!all.iter().any(|one| one["kind"] == "shared"), "{all:?}");
        let skips = world.skips("a").await;
        let words = "a did not answer Radarr (\"some\") by the deadline. The call goes on. \
                     Radarr was told to retry in 1 s.";
        assert_eq!(skips, [words]);
        let counters = world.counters();
        assert_eq!((counters.shared, counters.skipped), (0, 1));
        let rows = world.remembered().await;
        let shared = rows.iter().flat_map(|row| &row.indexers);
        let shared = shared.filter(|part| part.shared_with.is_some());
        assert_eq!(shared.count(), 0, "in the history");
        // The answer comes, and changes nothing of this.
        world.until(40 * SECOND).await;
    }
    assert_eq!(indexers[0].searches().len(), 1);
    let all = world.decided("a").await;
    let called = all.iter().find(|one| one["about"] == "\"some\"");
    let words = "a was called at once for Sonarr (\"some\") and answered in 20 s. \
                 Sonarr was told to retry in 1 s.";
    assert_eq!(sentence(called.expect("it was called")), words);
}

#[tokio::test(start_paused = true)]
async fn shared_caps_are_told_as_caps() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    indexers[0].set_all(Behaviour::Slow(2 * SECOND));
    let world = World::new(network.ground(), &named(&indexers));
    let radarr = [RADARR];
    tokio::join!(world.get("/torznab/api?t=search&q=one"), async {
        turn().await;
        world.ask("/torznab/api?t=search&q=two", &radarr).await
    });
    let all = world.decided("a").await;
    let shared: Vec<&Value> = all.iter().filter(|one| one["kind"] == "shared").collect();
    assert_eq!(shared.len(), 1, "{all:?}");
    assert_eq!(shared[0]["about"], "caps");
    assert_eq!(
        sentence(shared[0]),
        "a: Radarr shared the answer to the same question, which Sonarr had asked 2 s earlier (caps)."
    );
    assert_eq!(world.counters().shared, 1);
}

#[tokio::test(start_paused = true)]
async fn caps_that_come_too_late_are_shared_by_nobody() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    indexers[0].set_all(Behaviour::Slow(20 * SECOND));
    let mut config = named(&indexers);
    config.indexers[0].timeout = 30 * SECOND;
    let world = World::new(network.ground(), &config);
    let radarr = [RADARR];
    let (one, two) = tokio::join!(world.get("/torznab/api?t=search&q=one"), async {
        turn().await;
        world.ask("/torznab/api?t=search&q=two", &radarr).await
    });
    assert_eq!((one.status, two.status), (429, 429));
    world.until(30 * SECOND).await;
    let all = world.decided("a").await;
    assert!(!all.iter().any(|one| one["kind"] == "shared"), "{all:?}");
    let words = "a did not answer Radarr (caps) by the deadline. The call goes on. \
                 Radarr got nothing: no cached answer.";
    assert_eq!(world.skips("a").await[0], words);
    assert_eq!(world.counters().shared, 0);
}

#[tokio::test(start_paused = true)]
async fn a_newer_error_rewrites_no_older_reason() {
    let network = Network::new();
    let (indexers, world) = unspaced(&network, 1).await;
    let_cool(&indexers, &world, 60).await;
    let before = world.decided("a").await;
    let cooldown = before.last().expect("a record");
    assert_eq!(cooldown["kind"], "cooldown");
    let words = "a went into cooldown for 60 s, until ";
    assert!(sentence(cooldown).starts_with(words), "{cooldown}");
    assert!(sentence(cooldown).ends_with(": it says we ask too often."));
    world.until(70 * SECOND).await;
    indexers[0].set(Behaviour::Status(500, RetryAfter::None));
    world.get(SOME).await;
    let after = world.decided("a").await;
    let newest = sentence(after.last().expect("a record"));
    assert!(newest.contains("it answered 500"), "{newest}");
    let told = |rows: &[Value]| rows.iter().map(without_times).collect::<Vec<_>>();
    assert_eq!(told(&after[..before.len()]), told(&before));
}

/// The web part's clock is the machine's, which does not stand still with the engine's.
fn without_times(row: &Value) -> String {
    let words = sentence(row);
    let words = words.split_whitespace();
    let is_time =
        |word: &&str| word.starts_with(|first: char| first.is_ascii_digit()) && word.contains(':');
    let words = words.filter(|word| !is_time(word));
    words.collect::<Vec<_>>().join(" ")
}

#[tokio::test(start_paused = true)]
async fn the_card_counts_as_the_overview_does() {
    let network = Network::new();
    let indexers = crowd(&network, 3).await;
    let world = World::new(network.ground(), &named(&indexers));
    let assert_told = async |words: &str, state: &str| {
        let overview = world.get("/").await.body;
        let overview = super::agree::text(&overview);
        for words in [words, &words.replace("indexers", "upstreams")] {
            assert!(overview.contains(words), "{words} in {overview}");
        }
        let status = world.get("/api/v1/status").await.body;
        let status: Value = serde_json::from_str(&status).expect("JSON");
        let fronts = status["fronts"].as_array().expect("a list");
        let search = fronts.iter().find(|front| front["name"] == "search");
        let search = search.expect("it is there");
        let sentence = search["sentence"].as_str().expect("a sentence");
        assert!(sentence.starts_with(words), "{words}: {sentence}");
        assert_eq!(search["state"], state, "{sentence}");
    };
    let untried = "None of the 3 indexers has been tried yet.";
    assert_told(untried, "answering").await;
    world.get(SOME).await;
    assert_told("All 3 indexers are open.", "answering").await;
    indexers[0].set(Behaviour::Status(500, RetryAfter::None));
    world.until(40 * SECOND).await;
    world.get("/torznab/a/api?t=search&q=another").await;
    assert_told("2 of 3 indexers are open.", "answering").await;
    world.until(world.time() + 65 * SECOND).await;
    assert_eq!(world.state_of("a"), "probing");
    assert_told("2 of 3 indexers are open.", "answering").await;
    for name in ["a", "b", "c"] {
        let upstream = world.view(name).figures.upstream;
        world.engine.switch_off(upstream, "renewal", "me");
    }
    let none = "0 of 3 indexers are open.";
    assert_told(none, "limited").await;
    // Of what is off nothing is offered, so nothing comes from the cache.
    let overview = world.get("/").await.body;
    let overview = super::agree::text(&overview);
    for words in [
        "Search cannot answer: all 3 indexers are off. They stay off until switched on.",
        "Searches find nothing until an indexer is switched on.",
    ] {
        assert!(overview.contains(words), "{words} in {overview}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_with_a_key_that_only_caps_accept_fails() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    indexers[0].set(Behaviour::Error(100, "wrong key".to_owned()));
    let world = World::new(network.ground(), &named(&indexers));
    let probe = "/api/v1/upstreams/search/a/probe";
    let reply = world
        .submit(Method::POST, probe, &[("x-api-key", KEY)], "")
        .await;
    let body: Value = serde_json::from_str(&reply.body).expect("JSON");
    assert_eq!(body["result"], "failed", "{body}");
    let words = body["sentence"].as_str().expect("a sentence");
    assert!(words.starts_with("a: the probe failed: "), "{words}");
    assert!(words.contains("wrong key"), "{words}");
    assert_eq!(
        body["upstream"]["state"], "untried",
        "a first try climbs no rung"
    );
    assert!(
        body["upstream"]["sentence"]
            .as_str()
            .expect("a sentence")
            .contains("has not answered yet"),
        "{body}"
    );
    assert_eq!(indexers[0].searches().len(), 1);
    // What it can do is known now, so the next probe makes one request.
    indexers[0].set(Behaviour::Good);
    let before = indexers[0].asked().len();
    let reply = world
        .submit(Method::POST, probe, &[("x-api-key", KEY)], "")
        .await;
    let body: Value = serde_json::from_str(&reply.body).expect("JSON");
    assert_eq!(body["result"], "answered", "{body}");
    assert_eq!(body["upstream"]["state"], "open");
    assert_eq!(indexers[0].asked().len(), before + 1);
}

/// What an indexer's page says of it, times in whole seconds.
fn facts(world: &World) -> Value {
    let view = world.view("a");
    let seconds = |at: Moment| Moment(0).until(at).as_secs();
    let trouble = view.trouble.expect("it is disabled");
    let error = view.last_error.expect("there was an error");
    let states = view.history.iter();
    let states = states.map(|&(at, state)| (seconds(at), state.name()));
    let calls = view.day.iter().flat_map(|point| point.calls);
    json!({
        "state": view.figures.standing.name(),
        "in this state since": seconds(view.since),
        "disabled since": seconds(trouble.since),
        "reason": &*trouble.reason,
        "last error": [seconds(error.0).to_string(), error.1.to_string()],
        "last call": view.last_call.map(seconds),
        "states": states.collect::<Vec<_>>(),
        "calls": calls.sum::<u32>(),
    })
}

#[tokio::test(start_paused = true)]
async fn a_disabled_indexer_is_told_after_a_restart_as_before() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let config = plain(&indexers);
    let world = World::new(network.ground(), &config);
    world.get(SOME).await;
    world.until(100 * SECOND).await;
    indexers[0].set(Behaviour::Error(100, "wrong key".to_owned()));
    world.get("/torznab/api?t=search&q=another").await;
    world.until(200 * SECOND).await;
    let (facts_before, decided) = (facts(&world), world.decided("a").await);
    assert_eq!(facts_before["state"], "disabled");
    let reason = facts_before["reason"].as_str().expect("words");
    assert!(reason.contains("wrong key"), "{reason}");
    let searches = world.remembered().await;
    let (away, directory) = (300 * SECOND, world.stop().await);
    tokio::time::advance(away - 200 * SECOND).await;
    let world = World::after(network.ground(), &config, directory, away);
    assert_eq!(facts(&world), facts_before);
    let told = |rows: &[Value]| rows.iter().map(without_times).collect::<Vec<_>>();
    assert_eq!(told(&world.decided("a").await), told(&decided));
    let again = world.remembered().await;
    assert_eq!(again.len(), searches.len(), "the history of searches");
}

#[tokio::test(start_paused = true)]
async fn a_failed_probe_leaves_no_two_beginnings_and_every_call_is_counted_once() {
    let network = Network::new();
    let (indexers, world) = unspaced(&network, 1).await;
    world.get(SOME).await;
    world.until(100 * SECOND).await;
    indexers[0].set(Behaviour::Error(100, "wrong key".to_owned()));
    world.get("/torznab/api?t=search&q=another").await;
    let before = facts(&world);
    let Availability::Disabled { until } = world.view("a").status.state else {
        panic!("{before}");
    };
    // It is probed by itself then, and fails again.
    let wait = world.timeline.now().until(until);
    world.until(world.time() + wait + 90 * SECOND).await;
    let after = facts(&world);
    assert!(after["last call"].as_u64() > before["last call"].as_u64());
    assert_eq!(after["state"], "disabled");
    assert_eq!(after["disabled since"], before["disabled since"]);
    assert_eq!(after["in this state since"], before["disabled since"]);
    let rows = world.decided("a").await;
    let calls = rows.iter().filter(|row| row["kind"] == "started");
    let calls = calls.count() as u64;
    let view = world.view("a");
    assert_eq!(view.figures.requests.iter().sum::<u64>(), calls, "{rows:?}");
    assert_eq!(after["calls"], calls);
    let newest = world.engine.records(
        view.figures.upstream,
        |one| matches!(one.what, What::Started { .. }),
        1,
    );
    assert_eq!(view.last_call, Some(newest[0].at), "a call is the last one");
}
