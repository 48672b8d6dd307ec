//! Files: whose fault it is that there is none, and what they cost.

use weir_engine::Got;
use weir_engine::dispatch::record::What;
use weir_testkit::zoo::indexer::Files;

use super::*;

fn path(link: &str) -> String {
    link.replace("http://weir:7070", "")
}

/// Its files are at another host than its API: by name, not by address.
fn elsewhere(network: &Network, mut config: Config) -> Config {
    network.resolves("indexer.example", &["192.0.2.1"]);
    let url = weir_config::SecretUrl::parse("http://indexer.example/api");
    config.indexers[0].url = url.expect("a URL");
    config.allow_private_links = true;
    config
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_not_to_be_had_is_no_failure_of_its_indexer() {
    for (files, own_host, state) in [
        (Files::Status(500, RetryAfter::None), true, "open"),
        (Files::Status(401, RetryAfter::None), true, "open"),
        (Files::Status(418, RetryAfter::None), true, "open"),
        (Files::Error(900, "Some error".into()), true, "open"),
        (
            Files::Status(429, RetryAfter::Seconds(90)),
            true,
            "cooldown 90",
        ),
        (Files::Error(100, "Wrong key".into()), true, "disabled 60"),
        (Files::Status(429, RetryAfter::Seconds(90)), false, "open"),
        (Files::Error(100, "Wrong key".into()), false, "open"),
        (Files::Status(503, RetryAfter::None), false, "open"),
    ] {
        let network = Network::new();
        let indexers = crowd(&network, 1).await;
        let config = match own_host {
            true => named(&indexers),
            false => elsewhere(&network, named(&indexers)),
        };
        let world = World::new(network.ground(), &config);
        let links = world.get("/torznab/api?t=search").await.links();
        indexers[0].set_files(files.clone());
        let given = world.get(&path(&links[0])).await;
        assert!(given.status >= 400, "{files:?}: {}", given.body);
        assert_eq!(indexers[0].grabs().len(), 1, "{files:?}");
        assert_eq!(world.state_of("a"), state, "{files:?}");
        let wait = given.retry_after.expect("a time to come back");
        assert!(wait.parse::<u64>().is_ok_and(|wait| wait >= 60), "{wait}");
        if matches!(files, Files::Status(429, _)) {
            let given = world.get(&path(&links[1])).await;
            assert_eq!((given.status, indexers[0].grabs().len()), (429, 1));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_download_costs_nothing_and_what_was_said_of_files_outlives_a_reload() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let mut config = named(&indexers);
    config.indexers[0].grabs_per_day = std::num::NonZeroU32::new(5);
    let world = World::new(network.ground(), &config);
    let links = world.get("/torznab/api?t=search").await.links();
    indexers[0].set_files(Files::Error(501, "Download limit reached".into()));
    world.get(&path(&links[0])).await;
    let used = || world.view("a").status.grab[0].used;
    assert_eq!(used(), 1);
    indexers[0].set_files(Files::Good);
    config.indexers[0].priority = 3;
    world.reload(&config);
    for _ in 0..5 {
        assert_eq!(world.get(&path(&links[1])).await.status, 429);
    }
    assert_eq!((used(), indexers[0].grabs().len()), (1, 1));
    world.until(HOUR + SECOND).await;
    assert_eq!(world.get(&path(&links[1])).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_short_cooldown_of_a_host_of_files_is_waited_for() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let config = elsewhere(&network, named(&indexers));
    let world = World::new(network.ground(), &config);
    let links = world.get("/torznab/api?t=search").await.links();
    indexers[0].set_files(Files::Status(429, RetryAfter::Seconds(10)));
    world.get(&path(&links[0])).await;
    indexers[0].set_files(Files::Good);
    let given = world.get(&path(&links[1])).await;
    assert_eq!((given.status, given.took), (200, 10 * SECOND));
    // What for, and how long, is recorded: when it began to wait, and when it was called.
    let all = world
        .json("/api/v1/decisions?front=search&upstream=a")
        .await;
    let rows = all["decisions"].as_array().expect("a list").iter();
    let rows: Vec<_> = rows.filter(|row| row["about"] == "a file").collect();
    assert_eq!(
        (&rows[1]["kind"], &rows[1]["asker"]),
        (&"waits".into(), &"Sonarr".into())
    );
    assert_eq!(rows[1]["cause"], "it asked us to wait with downloads");
    let sentence = |number: usize| rows[number]["sentence"].as_str().expect("a sentence");
    let waits = "a cannot be called for Sonarr (a file) before ";
    assert!(sentence(1).starts_with(waits), "{}", sentence(1));
    assert!(
        sentence(1).ends_with(" (it asked us to wait with downloads)."),
        "{}",
        sentence(1)
    );
    let called = "a was called for Sonarr (a file) after 10 s of cooldown";
    assert!(sentence(0).starts_with(called), "{}", sentence(0));
}

#[tokio::test(start_paused = true)]
async fn a_download_that_waits_for_a_host_of_files_ends_when_weir_stops() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let config = elsewhere(&network, named(&indexers));
    let world = World::new(network.ground(), &config);
    let links = world.get("/torznab/api?t=search").await.links();
    indexers[0].set_files(Files::Status(429, RetryAfter::Seconds(10)));
    world.get(&path(&links[0])).await;
    let target = path(&links[1]);
    let (given, ()) = tokio::join!(world.get(&target), async {
        turn().await;
        world.front.stop(SECOND).await;
    });
    assert_eq!(given.status, 502, "{}", given.body);
    assert!(given.took < 2 * SECOND, "{:?}", given.took);
    assert_eq!(indexers[0].grabs().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_magnet_link_is_answered_from_memory_also_when_its_indexer_is_switched_off() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let world = World::new(network.ground(), &named(&indexers));
    let magnet = "magnet:?xt=urn:btih:0000000000000000000000000000000000000abc";
    let token = world.front.views.model.links.seal("a", magnet);
    let link = format!("/dl/{token}/some.torrent");
    let off = world.view("a").figures.upstream;
    for number in 1..=2 {
        let given = world.get(&link).await;
        assert_eq!(given.status, 302, "{}", given.body);
        assert_eq!(given.location.as_deref(), Some(magnet));
        let counters = world.engine.status().counters;
        assert_eq!((counters.asked, counters.from_memory), (number, number));
        world.engine.switch_off(off, "account renewal", "operator");
    }
    assert_eq!(indexers[0].seen().len(), 0);
    world.state.write_blocking(|_| Ok(())).expect("a file");
    let rows = world.json("/api/v1/history?kind=grabs").await;
    let rows = rows["grabs"].as_array().expect("a list").clone();
    let what: Vec<_> = rows.iter().map(|row| &row["what"]).collect();
    assert_eq!(what, ["magnet", "magnet"]);
}

#[tokio::test(start_paused = true)]
async fn forged_links_use_up_nobodys_downloads() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let mut config = named(&indexers);
    config.downloads_per_minute = 2;
    let world = World::new(network.ground(), &config);
    let links = world.get("/torznab/api?t=search").await.links();
    let (head, token) = links[0].split_at(links[0].find("/dl/").expect("a link") + 4);
    assert!(head.ends_with("/dl/"));
    for number in 0..5 {
        for forged in [format!("/dl/x{number}/a.torrent"), format!("/dl/A{token}")] {
            let given = world.send(&forged, &[]).await;
            assert_eq!(given.status, 404, "{forged}: {}", given.body);
        }
    }
    for link in &links[..2] {
        assert_eq!(world.send(&path(link), &[]).await.status, 200);
    }
    assert_eq!(world.send(&path(&links[2]), &[]).await.status, 429);
    let forged = world.send("/dl/x/a.torrent", &[]).await;
    assert_eq!(forged.status, 404, "{}", forged.body);
    assert_eq!(indexers[0].grabs().len(), 2);
    tokio::time::advance(60 * SECOND).await;
    assert_eq!(world.send(&path(&links[2]), &[]).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn downloads_that_are_too_many_are_told_as_one_decision_of_the_front() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let mut config = named(&indexers);
    config.downloads_per_minute = 2;
    let world = World::new(network.ground(), &config);
    let links = world.get("/torznab/api?t=search").await.links();
    let before = world.engine.status().counters;
    let mut told = None;
    for number in 0..5 {
        tokio::time::advance(SECOND).await;
        let given = world.send(&path(&links[number % 3]), &[]).await;
        assert_eq!(given.status, if number < 2 { 200 } else { 429 });
        told = given.retry_after;
    }
    let counters = world.engine.status().counters;
    assert_eq!(counters.refused, 3);
    assert_eq!(counters.asked - before.asked, 5);
    let sum: u64 = counters.parts().iter().map(|(_, count)| count).sum();
    assert_eq!(sum, counters.asked, "{counters:?}");
    let all = world.json("/api/v1/decisions?front=search").await;
    let rows = all["decisions"].as_array().expect("a list").iter();
    let own: Vec<_> = rows.filter(|row| row["upstream"].is_null()).collect();
    assert_eq!(own.len(), 1, "one burst: {own:?}");
    let (row, told) = (own[0], told.expect("a time"));
    assert_eq!(
        (&row["kind"], &row["count"]),
        (&"refused".into(), &3.into())
    );
    assert_eq!(row["told_retry_seconds"].to_string(), told);
    let words = format!(
        ": 127.0.0.1 asked for more than 2 files in a minute. It was last told to retry in {told} s."
    );
    let sentence = row["sentence"].as_str().expect("a sentence");
    assert!(
        sentence.starts_with("3 downloads refused, most recently of ")
            && sentence.ends_with(&words),
        "{words} in {sentence}"
    );
    let overview = world.get("/").await.body;
    assert!(
        super::agree::text(&overview).contains(sentence),
        "{overview}"
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_limit_an_address_downloads_as_much_as_it_likes() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let mut config = named(&indexers);
    config.downloads_per_minute = 0;
    let world = World::new(network.ground(), &config);
    let links = world.get("/torznab/api?t=search").await.links();
    for _ in 0..200 {
        assert_eq!(world.send(&path(&links[0]), &[]).await.status, 200);
    }
}

#[tokio::test(start_paused = true)]
async fn that_there_are_no_files_for_a_while_is_shown() {
    use crate::upstreams::IndexerViews;
    use weir_web::Upstreams;
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let world = World::new(network.ground(), &named(&indexers));
    let links = world.get("/torznab/api?t=search").await.links();
    let upstream = world.view("a").figures.upstream;
    let files = || {
        let indexers = IndexerViews(world.front.views.model.clone());
        let facts = indexers.facts(upstream);
        facts.into_iter().find(|(name, _)| name == "Files")
    };
    assert_eq!(files(), None);
    indexers[0].set_files(Files::Error(501, "Download limit reached".into()));
    world.get(&path(&links[0])).await;
    let (_, text) = files().expect("a fact");
    assert!(text.starts_with("no downloads for 60 min"), "{text}");
    world.until(HOUR + SECOND).await;
    assert_eq!(files(), None);
}

#[tokio::test(start_paused = true)]
async fn a_host_of_files_that_is_away_says_nothing_of_the_indexer() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let mut config = elsewhere(&network, named(&indexers));
    let address = indexers[0].address();
    let other = SocketAddr::from(([192, 0, 2, 77], 80));
    let api = Indexer::start(Place::Memory(&network, other), Setup::with(1..4)).await;
    let api = api.expect("memory has room");
    network.resolves("indexer.example", &["192.0.2.77"]);
    config.min_request_interval = Some(Duration::ZERO);
    let world = World::new(network.ground(), &config);
    // The links of a release lead where its indexer says.
    let links = world.get("/torznab/api?t=search").await.links();
    assert_eq!(api.searches().len(), 1);
    network.set_fault(other, weir_testkit::memory::Fault::Refused);
    let given = world.get(&path(&links[0])).await;
    assert_eq!(given.status, 502, "{}", given.body);
    assert_eq!(world.state_of("a"), "open", "{address}");
}

#[tokio::test(start_paused = true)]
async fn who_can_give_the_file_comes_first() {
    let network = Network::new();
    let mut indexers = Vec::new();
    for number in 1..=2 {
        indexers.push(indexer(&network, number, Setup::with(1..3)).await);
    }
    let mut config = named(&indexers);
    config.min_request_interval = Some(Duration::ZERO);
    config.indexers[0].priority = 1;
    config.indexers[0].grabs_per_day = std::num::NonZeroU32::new(1);
    let world = World::new(network.ground(), &config);
    let feed = "/torznab/api?t=search";
    let links = world.get(feed).await.links();
    assert_eq!(world.get(&path(&links[0])).await.status, 200);
    assert_eq!(indexers[0].grabs().len(), 1);
    let links = world.get(feed).await.links();
    assert_eq!(world.get(&path(&links[1])).await.status, 200);
    assert_eq!(indexers[1].grabs().len(), 1, "the other has used its up");
}

#[tokio::test(start_paused = true)]
async fn a_redirect_is_a_download_of_the_indexers_budget() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let mut config = named(&indexers);
    config.indexers[0].download = entries::Download::Redirect;
    config.indexers[0].grabs_per_day = std::num::NonZeroU32::new(2);
    let world = World::new(network.ground(), &config);
    let links = world.get("/torznab/api?t=search").await.links();
    for link in &links[..2] {
        let given = world.get(&path(link)).await;
        assert_eq!((given.status, given.took), (302, Duration::ZERO));
    }
    let refused = world.get(&path(&links[2])).await;
    assert_eq!(refused.status, 429, "{}", refused.body);
    assert_eq!(refused.retry_after, Some("86400".to_owned()));
    assert_eq!(indexers[0].grabs().len(), 0);
    let view = world.view("a");
    assert_eq!(
        (view.status.grab[0].used, view.status.grab[0].limit),
        (2, 2)
    );
    // Why there was none can be looked up.
    let upstream = view.figures.upstream;
    let newest = world.engine.decisions(upstream, None, 1).remove(0);
    assert!(matches!(newest.what, What::Skipped { .. }), "{newest:?}");
}

#[tokio::test(start_paused = true)]
async fn a_release_of_one_that_is_off_is_fetched_from_another_source() {
    let network = Network::new();
    let mut indexers = Vec::new();
    for number in 1..=2 {
        indexers.push(indexer(&network, number, Setup::with(1..3)).await);
    }
    let mut config = named(&indexers);
    config.min_request_interval = Some(Duration::ZERO);
    config.indexers[0].priority = 1;
    let world = World::new(network.ground(), &config);
    let feed = "/torznab/api?t=search";
    let before = world.get(feed).await;
    assert_eq!(world.get(&path(&before.links()[0])).await.status, 200);
    let grabs = |number: usize| indexers[number].grabs().len();
    assert_eq!((grabs(0), grabs(1)), (1, 0), "the first one is preferred");
    let off = world.view("a").figures.upstream;
    world.engine.switch_off(off, "account renewal", "operator");
    let after = world.get(feed).await;
    assert_eq!(after.titles(), before.titles(), "all are still offered");
    for link in after.links() {
        assert_eq!(world.get(&path(&link)).await.status, 200);
    }
    assert_eq!((grabs(0), grabs(1)), (1, 2), "by the other one");
}

#[tokio::test(start_paused = true)]
async fn what_is_switched_off_is_not_offered_and_its_links_say_so() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let world = World::new(network.ground(), &named(&indexers));
    let before = world.get("/torznab/api?t=search").await.links();
    let off = world.view("a").figures.upstream;
    world.engine.switch_off(off, "account renewal", "operator");
    // Its answer is still in the cache, but nobody could download what it lists.
    let reply = world.get("/torznab/api?t=search").await;
    assert_eq!(reply.status, 200);
    assert!(!reply.links().is_empty(), "the other one is there");
    assert!(
        reply
            .body
            .contains("switched off by an operator: account renewal")
    );
    let gone: Vec<_> = before
        .iter()
        .filter(|link| !reply.links().contains(link))
        .collect();
    assert!(!gone.is_empty());
    for link in gone {
        let given = world.get(&path(link)).await;
        assert_eq!(given.status, 503, "{}", given.body);
        assert!(given.body.contains("account renewal"), "{}", given.body);
        assert!(!given.body.contains("Next try"), "{}", given.body);
        assert_eq!(given.retry_after.as_deref(), Some("300"));
    }
    assert_eq!(indexers[0].grabs().len(), 0);
    let newest = world.engine.decisions(off, None, 1).remove(0);
    assert!(matches!(newest.what, What::Skipped(_)), "{newest:?}");
    world.engine.switch_on(off, "me");
    assert_eq!(world.get(&path(&before[0])).await.status, 200);
}

/// How indexers give files.
const WAYS: [entries::Download; 2] = [entries::Download::Proxy, entries::Download::Redirect];

/// A world with one indexer that gives files like this, and the links of its releases.
async fn offered(download: entries::Download) -> (World, Vec<String>) {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let mut config = named(&indexers);
    config.indexers[0].download = download;
    config.queue_size = std::num::NonZeroU32::new(3).expect("not zero");
    let world = World::new(network.ground(), &config);
    let links = world.get("/torznab/api?t=search").await.links();
    (world, links.iter().map(|link| path(link)).collect())
}

impl World {
    /// The newest decision about `a`, and what whoever asked got; the counters add up to as many as were asked.
    fn newest(&self) -> (What, Option<Got>) {
        let counters = self.engine.status().counters;
        let sum: u64 = counters.parts().iter().map(|(_, count)| count).sum();
        assert_eq!(
            (sum, counters.waiting()),
            (counters.asked, 0),
            "{counters:?}"
        );
        let upstream = self.view("a").figures.upstream;
        let newest = self.engine.decisions(upstream, None, 1).remove(0);
        assert_eq!(
            newest.about.words().as_deref(),
            Some("a file"),
            "{newest:?}"
        );
        (newest.what, newest.got)
    }
}

#[tokio::test(start_paused = true)]
async fn a_download_that_waits_while_its_indexer_is_switched_off_is_told_so() {
    for way in WAYS {
        let (world, links) = offered(way).await;
        world.engine.hold();
        let off = world.view("a").figures.upstream;
        let (given, ()) = tokio::join!(world.get(&links[0]), async {
            turn().await;
            world.engine.switch_off(off, "account renewal", "operator");
        });
        assert_eq!(given.status, 503, "{way:?}: {}", given.body);
        assert_eq!(given.retry_after.as_deref(), Some("300"));
        assert!(given.body.contains("account renewal"), "{}", given.body);
        let decisions = world.engine.decisions(off, None, 2);
        let skip = decisions
            .iter()
            .find(|one| matches!(one.what, What::Skipped(_)));
        let skip = skip.expect("it is recorded");
        assert_eq!(skip.got, Some(Got::Nothing), "{way:?}: {skip:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_download_whose_turn_does_not_come_is_recorded_with_what_the_client_got() {
    for way in WAYS {
        let (world, links) = offered(way).await;
        world.engine.hold();
        let given = world.get(&links[0]).await;
        assert_eq!(given.status, 429, "{way:?}: {}", given.body);
        assert_eq!(given.body, "a could not be called in time.\n");
        turn().await;
        let (what, got) = world.newest();
        assert!(matches!(what, What::Skipped(_)), "{way:?}: {what:?}");
        let after = given.retry_after.expect("a time").parse();
        let after = Duration::from_secs(after.expect("seconds"));
        assert_eq!(got, Some(Got::Retry { after }), "{way:?}");
        assert_eq!(world.queued(), 0, "nobody waits for it any more");
    }
}

#[tokio::test(start_paused = true)]
async fn a_download_for_which_there_is_no_room_is_told_the_reason() {
    for way in WAYS {
        let (world, links) = offered(way).await;
        world.engine.hold();
        let searches = ["one", "two", "three"].map(|words| {
            let question = format!("t=search&q={words}");
            world.begin(&question, INTERACTIVE)
        });
        turn().await;
        assert_eq!(world.queued(), 3, "it is full");
        let given = world.get(&links[0]).await;
        assert_eq!(given.status, 429, "{way:?}: {}", given.body);
        assert_eq!(
            given.body,
            "a cannot be asked for a file now: queue full.\n"
        );
        for search in searches {
            search.stop.cancel();
        }
        turn().await;
        let (what, got) = world.newest();
        assert!(matches!(what, What::Dropped { .. }), "{way:?}: {what:?}");
        assert!(matches!(got, Some(Got::Retry { .. })), "{way:?}: {got:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_later_page_lists_nothing_of_what_was_switched_off_meanwhile() {
    let network = Network::new();
    let mut indexers = Vec::new();
    for numbers in [1..7, 4..10] {
        let number = u8::try_from(indexers.len() + 1).expect("few");
        indexers.push(indexer(&network, number, Setup::with(numbers)).await);
    }
    let mut config = named(&indexers);
    config.indexers[0].priority = 1;
    let world = World::new(network.ground(), &config);
    let whole = world.get("/torznab/api?t=search").await;
    assert_eq!(whole.titles().len(), 9);
    let off = world.view("a").figures.upstream;
    world.engine.switch_off(off, "account renewal", "operator");
    let mut left = Vec::new();
    for (offset, before) in whole.titles().chunks(3).enumerate().skip(1) {
        let offset = 3 * offset;
        let page = format!("/torznab/api?t=search&offset={offset}&limit=3");
        let page = world.get(&page).await;
        assert_eq!(
            page.response(),
            (offset as u64, 9),
            "places stay as they were"
        );
        for title in page.titles() {
            assert!(before.contains(&title), "{title} has moved");
        }
        let reason = page.reason("a");
        assert_eq!(reason, "switched off by an operator: account renewal");
        for link in page.links() {
            assert_eq!(world.get(&path(&link)).await.status, 200, "{link}");
        }
        left.extend(page.titles());
    }
    assert_eq!(indexers[0].grabs().len(), 0, "by the other one");
    assert!(!left.is_empty() && left.len() < 6, "{left:?}");
    world.engine.switch_on(off, "me");
    let page = world.get("/torznab/api?t=search&offset=6&limit=3").await;
    assert_eq!(page.titles(), whole.titles()[6..]);
    assert_eq!(page.reason("a"), "");
}

#[tokio::test(start_paused = true)]
async fn a_kept_search_offers_nothing_of_what_was_switched_off_meanwhile() {
    let network = Network::new();
    let mut indexers = Vec::new();
    for numbers in [1..7, 4..10] {
        let number = u8::try_from(indexers.len() + 1).expect("few");
        indexers.push(indexer(&network, number, Setup::with(numbers)).await);
    }
    let mut config = named(&indexers);
    config.indexers[0].priority = 1;
    let world = World::new(network.ground(), &config);
    let key = [("x-api-key", KEY), ("content-type", "application/json")];
    let begun = world
        .submit(axum::http::Method::POST, "/api/v1/searches", &key, "{}")
        .await;
    let begun: serde_json::Value = serde_json::from_str(&begun.body).expect("JSON");
    let id = begun["id"].as_str().expect("an ID");
    let (api, page) = (format!("/api/v1/searches/{id}"), format!("/search?id={id}"));
    world.until(20 * SECOND).await;
    let before = world.json(&api).await;
    assert_eq!(
        (&before["results"], &before["answered"]),
        (&9.into(), &2.into())
    );
    let off = world.view("a").figures.upstream;
    world.engine.switch_off(off, "account renewal", "operator");
    let after = world.json(&api).await;
    let reason = "switched off by an operator: account renewal";
    assert_eq!(
        (&after["results"], &after["matching"]),
        (&6.into(), &6.into())
    );
    assert_eq!(
        (&after["answered"], &after["skipped"]),
        (&1.into(), &1.into())
    );
    let line = &after["indexers"][0];
    assert_eq!(
        (&line["state"], &line["reason"]),
        (&"skipped".into(), &reason.into())
    );
    assert_eq!(line["note"], format!("Not listed: {reason}"));
    let releases = after["releases"].as_array().expect("a list");
    assert_eq!(releases.len(), 6, "what the other has too stays");
    for release in releases {
        assert_eq!(
            release["sources"].as_array().map(Vec::len),
            Some(1),
            "{release}"
        );
        assert_eq!(release["sources"][0]["indexer"], "b");
        let link = release["download"].as_str().expect("a link");
        assert_eq!(world.get(&path(link)).await.status, 200);
    }
    assert_eq!(indexers[0].grabs().len(), 0);
    let listed = world.json("/api/v1/searches").await;
    assert_eq!(listed["searches"][0]["results"], 6);
    let events = world.get(&format!("{api}/events")).await.body;
    assert!(
        events.contains("\"results\":6") && events.contains(reason),
        "{events}"
    );
    for part in ["", "&part=releases"] {
        let shown = world.get(&format!("{page}{part}")).await.body;
        assert!(shown.contains("6 releases"), "{shown}");
        // The line of the indexer is there, and no release of it.
        assert_eq!(
            shown.matches("/dl/").count(),
            2 * 6,
            "a button and a source each"
        );
        assert_eq!(
            shown.contains(&format!("Not listed: {reason}")),
            part.is_empty()
        );
    }
    world.engine.switch_on(off, "me");
    assert_eq!(world.json(&api).await["results"], 9, "all of it is back");
    // One that is gone is not offered either: its links lead nowhere.
    config.indexers.remove(0);
    world.reload(&config);
    let after = world.json(&api).await;
    assert_eq!(after["results"], 6);
    let line = &after["indexers"][0];
    assert_eq!(line["note"], "Not listed: it is no longer configured");
}

#[tokio::test(start_paused = true)]
async fn an_operator_who_prefers_magnet_links_gets_them_where_there_are_any() {
    let network = Network::new();
    let magnet = "magnet:?xt=urn:btih:0000000000000000000000000000000000000abc";
    let mut setup = Setup::with(1..3);
    setup.items[0].more = format!("<torznab:attr name=\"magneturl\" value=\"{magnet}\"/>");
    let indexers = [indexer(&network, 1, setup).await];
    let feed = "/torznab/api?t=search";
    let mut config = named(&indexers);
    let world = World::new(network.ground(), &config);
    let links = world.get(feed).await.links();
    assert!(links.iter().all(|link| link.contains("/dl/")), "{links:?}");
    config.indexers[0].download = entries::Download::Magnet;
    world.reload(&config);
    let mut links = world.get(feed).await.links();
    links.sort();
    let [file, link] = links.as_slice() else {
        panic!("{links:?}");
    };
    assert_eq!(link, magnet);
    assert_eq!(world.get(&path(file)).await.status, 200);
}
