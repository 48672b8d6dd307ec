//! What is remembered of searches: what they were, what became of them, and what they cost.

use super::*;
use crate::history::{Filter, Searched};

const RADARR: (&str, &str) = ("user-agent", "Radarr/5.11 (linux)");

/// Calls of a search, and of each indexer.
fn calls(row: &Searched) -> (u32, Vec<u32>) {
    let parts = row.indexers.iter();
    (row.calls, parts.map(|part| part.calls).collect())
}

impl World {
    /// What is remembered, newest first.
    pub(super) async fn remembered(&self) -> Vec<Searched> {
        turn().await;
        self.state.write_blocking(|_| Ok(())).expect("a file");
        let filter = Filter {
            page: 50,
            ..Filter::default()
        };
        let rows = self.front.views.model.history.searches(&filter);
        rows.expect("rows")
    }
}

#[tokio::test(start_paused = true)]
async fn a_count_is_the_same_wherever_it_stands() {
    let network = Network::new();
    let mut indexers = Vec::new();
    for first in [1_u8, 3] {
        let setup = Setup::with(u32::from(first)..u32::from(first) + 3);
        indexers.push(indexer(&network, first, setup).await);
    }
    let world = World::new(network.ground(), &named(&indexers));
    // Of 1, 2, 3 and 3, 4, 5 the last is too large.
    let query = "t=search&q=some&maxsize=1000004";
    let reply = world.get(&format!("/torznab/api?{query}")).await;
    assert_eq!(reply.titles().len(), 4);
    let row = &world.remembered().await[0];
    let counts = row.indexers.iter().map(|part| (part.releases, part.alone));
    assert_eq!((row.results, counts.collect()), (4, vec![(3, 2), (2, 1)]));
    let search = world.begin(query, INTERACTIVE);
    search.settled(search.deadline()).await;
    let list = search.list(|_| true);
    let progress = world.front.views.progress(&search, &list);
    let counts = progress.lines.iter().map(|line| line.releases);
    assert_eq!((progress.results, counts.collect()), (4, vec![3, 2]));
    assert_eq!(progress.headline(), "4 results from 2 indexers.");
}

#[tokio::test(start_paused = true)]
async fn a_state_has_the_same_word_wherever_it_stands() {
    let network = Network::new();
    let indexers = crowd(&network, 3).await;
    let mut config = named(&indexers);
    config.indexers[1].timeout = MINUTE;
    let world = World::new(network.ground(), &config);
    world.get("/torznab/api?t=caps").await;
    indexers[1].set(Behaviour::Hang);
    indexers[2].set(Behaviour::Status(500, RetryAfter::None));
    let reply = world.get("/torznab/api?t=search&q=some").await;
    assert_eq!(reply.reason("b"), "it has not answered yet");
    let row = &world.remembered().await[0];
    let words = row.indexers.iter().map(|part| part.what.name());
    assert_eq!(words.collect::<Vec<_>>(), ["answered", "asking", "failed"]);
    let search = world.begin("t=search&q=some", INTERACTIVE);
    turn().await;
    assert_eq!(standings(&search), ["cached", "asking", "skipped"]);
    let list = search.list(|_| true);
    let progress = world.front.views.progress(&search, &list).json(&search);
    let words = progress["indexers"].as_array().expect("a list").iter();
    let words: Vec<&str> = words.filter_map(|line| line["state"].as_str()).collect();
    assert_eq!(words, ["cached", "asking", "skipped"]);
    assert_eq!(progress["asking"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_search_that_began_later_is_listed_first_though_it_ended_first() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let world = World::new(network.ground(), &named(&indexers));
    world.get("/torznab/api?t=caps").await;
    indexers[0].set(Behaviour::Hang);
    let slow = world.get("/torznab/a/api?t=search&q=slow");
    let quick = async {
        turn().await;
        world.get("/torznab/b/api?t=search&q=quick").await;
        let rows = world.remembered().await;
        assert_eq!(rows.len(), 1, "the other is under way");
    };
    tokio::join!(slow, quick);
    let rows = world.remembered().await;
    let queries: Vec<&str> = rows.iter().map(|row| row.query.as_str()).collect();
    assert!(queries[0].contains("quick"), "{queries:?}");
    assert!(queries[1].contains("slow"), "{queries:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_under_way_at_the_reply_is_counted() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let mut config = named(&indexers);
    config.indexers[1].timeout = MINUTE;
    let world = World::new(network.ground(), &config);
    world.get("/torznab/api?t=caps").await;
    indexers[1].set(Behaviour::Slow(20 * SECOND));
    world.get("/torznab/api?t=search&q=some").await;
    let rows = world.remembered().await;
    assert_eq!(rows[0].answered, 1);
    assert_eq!(calls(&rows[0]), (2, vec![1, 1]));
    world.until(30 * SECOND).await;
    let rows = world.remembered().await;
    assert_eq!((rows.len(), calls(&rows[0])), (1, (2, vec![1, 1])));
    assert_eq!(rows[0].answered, 1, "what the asker got stays");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_comes_after_the_reply_corrects_the_row() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let config = Config { ..named(&indexers) };
    let world = World::new(network.ground(), &config);
    world.get("/torznab/api?t=caps").await;
    world.get("/torznab/a/api?t=search&q=warm").await;
    world.get("/torznab/api?t=search&q=some").await;
    let row = &world.remembered().await[0];
    assert_eq!(row.indexers[0].what.name(), "skipped");
    assert_eq!(calls(row), (1, vec![0, 1]));
    world.until(50 * SECOND).await;
    assert_eq!(indexers[0].searches().len(), 2);
    let rows = world.remembered().await;
    assert_eq!((rows.len(), calls(&rows[0])), (2, (2, vec![1, 1])));
    assert_eq!(rows[0].indexers[0].what.name(), "skipped");
    // All that was asked upstream is somebody's cost.
    let cost: u32 = rows.iter().map(|row| row.calls).sum();
    let asked = indexers[0].searches().len() + indexers[1].searches().len();
    assert_eq!(cost as usize, asked);
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_leader_has_left_is_still_its_own() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let world = World::new(network.ground(), &named(&indexers));
    world.get("/torznab/api?t=search&q=warm").await;
    let leader = world.begin("t=search&q=some", INTERACTIVE);
    world
        .front
        .views
        .fanout
        .remember(&leader, "a test".to_owned());
    turn().await;
    let target = "/torznab/api?t=search&q=some";
    let hurry = [RADARR, ("x-weir-class", "interactive")];
    let stop = async {
        tokio::time::sleep(SECOND).await;
        leader.stop.cancel();
    };
    let (reply, ()) = tokio::join!(world.ask(target, &hurry), stop);
    assert_eq!(reply.titles().len(), 3);
    let rows = world.remembered().await;
    let row = |program: &str| rows.iter().find(|row| row.program == program);
    let (led, shared) = (row("test").expect("a row"), row("Radarr").expect("a row"));
    assert_eq!((calls(led), calls(shared)), ((1, vec![1]), (0, vec![0])));
    assert_eq!(shared.shared_with, ["test"]);
}

#[tokio::test(start_paused = true)]
async fn only_who_leads_a_call_pays_for_it_and_the_others_name_him() {
    for behaviour in [
        Behaviour::Slow(SECOND),
        Behaviour::Status(500, RetryAfter::None),
    ] {
        let network = Network::new();
        let indexers = crowd(&network, 2).await;
        let world = World::new(network.ground(), &named(&indexers));
        world.get("/torznab/api?t=caps").await;
        indexers[1].set(behaviour);
        let target = "/torznab/api?t=search&q=some";
        tokio::join!(world.get(target), world.ask(target, &[RADARR]));
        let rows = world.remembered().await;
        let row = |program: &str| rows.iter().find(|row| row.program == program);
        let (led, shared) = (row("Sonarr").expect("a row"), row("Radarr").expect("a row"));
        assert_eq!(calls(led), (2, vec![1, 1]));
        assert_eq!((led.shared, &led.shared_with), (0, &Vec::new()));
        assert_eq!(calls(shared), (0, vec![0, 0]));
        assert_eq!(
            (shared.shared, &shared.shared_with),
            (2, &vec!["Sonarr".to_owned()])
        );
        assert_eq!(indexers[1].searches().len(), 1);
        let page = world.get("/history?program=Radarr").await.body;
        assert!(page.contains("0, shared with Sonarr"), "{page}");
        assert!(
            page.contains("Shared a call that Sonarr had under way"),
            "{page}"
        );
        let page = world.get("/api/v1/history?program=Radarr").await.body;
        assert!(page.contains("\"shared_with\":[\"Sonarr\"]"), "{page}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_fails_to_say_what_it_can_do_was_not_searched() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    indexers[1].set_all(Behaviour::Status(500, RetryAfter::None));
    let world = World::new(network.ground(), &named(&indexers));
    world.get("/torznab/api?t=search&q=some").await;
    let row = &world.remembered().await[0];
    assert_eq!(row.indexers[1].what.name(), "failed");
    assert_eq!(calls(row), (1, vec![1, 0]));
}

#[tokio::test(start_paused = true)]
async fn who_hangs_up_is_remembered() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let world = World::new(network.ground(), &named(&indexers));
    world.get("/torznab/api?t=caps").await;
    indexers[1].set(Behaviour::Hang);
    let asked = world.get("/torznab/api?t=search&q=some");
    tokio::time::timeout(3 * SECOND, asked)
        .await
        .expect_err("it hangs");
    world.until(16 * SECOND).await;
    let rows = world.remembered().await;
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].answered, calls(&rows[0]).0), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn strangers_fill_no_table() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let config = named(&indexers);
    let world = World::new(network.ground(), &config);
    world.get("/torznab/api?t=caps").await;
    let links = world.get("/torznab/api?t=search").await.links();
    let link = links[0].replace("http://weir:7070", "");
    for number in 0..300 {
        let agent = format!("stranger{number}/1.0");
        let target = match number {
            0 => &link,
            _ => "/torznab/api?t=caps",
        };
        let reply = world.send(target, &[("user-agent", &agent)]).await;
        assert_eq!(reply.status, 200);
    }
    let names = |world: &World| -> Vec<String> {
        let heard = world.front.views.model.programs.all();
        heard.iter().map(|(name, _)| name.to_string()).collect()
    };
    assert_eq!(names(&world), ["Sonarr"]);
    let directory = world.stop().await;
    let world = World::after(network.ground(), &config, directory, MINUTE);
    assert_eq!(names(&world), ["Sonarr"], "nor by a restart");
}

#[tokio::test(start_paused = true)]
async fn who_was_heard_is_known_after_a_restart() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let config = named(&indexers);
    let world = World::new(network.ground(), &config);
    world.ask("/torznab/api?t=search&q=some", &[RADARR]).await;
    world.until(MINUTE).await;
    world.get("/torznab/api?t=search&q=some").await;
    turn().await;
    let directory = world.stop().await;
    let world = World::after(network.ground(), &config, directory, 3 * MINUTE);
    let page = world.get("/connect").await.body;
    for text in [
        // With which key, and whether that is still one, is not known.
        "Weir heard from Sonarr 2 min ago.</span>",
        "Weir heard from Radarr 3 min ago.</span>",
        "Not heard from Lidarr yet.",
        "Weir has heard from 2 programs.",
    ] {
        assert!(page.contains(text), "{text} in {page}");
    }
    world.get("/torznab/api?t=caps").await;
    let page = world.get("/connect").await.body;
    assert!(
        page.contains("Weir heard from Sonarr 0 s ago. It works."),
        "{page}"
    );
}
