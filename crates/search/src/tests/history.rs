//! What is remembered of searches: what they were, what became of them, and what they cost.

use super::*;
use crate::history::{Filter, Searched};
use crate::progress::Progress;

impl World {
    /// What is remembered, newest first.
    async fn remembered(&self) -> Vec<Searched> {
        turn().await;
        self.state.write_blocking(|_| Ok(())).expect("a file");
        let filter = Filter {
            page: 50,
            ..Filter::default()
        };
        let rows = self.front.desk.history.searches(&filter);
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
    let (desk, search) = (&world.front.desk, world.begin(query, INTERACTIVE));
    search.settled(search.deadline()).await;
    let list = search.list(|_| true);
    let progress = Progress::of(desk, &search, &list);
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
    let words = row.indexers.iter().map(|part| part.what.as_str());
    assert_eq!(words.collect::<Vec<_>>(), ["answered", "asking", "failed"]);
    let search = world.begin("t=search&q=some", INTERACTIVE);
    turn().await;
    assert_eq!(standings(&search), ["cached", "asking", "skipped"]);
    let list = search.list(|_| true);
    let progress = Progress::of(&world.front.desk, &search, &list).json(&search);
    let words = progress["indexers"].as_array().expect("a list").iter();
    let words: Vec<&str> = words.filter_map(|line| line["state"].as_str()).collect();
    assert_eq!(words, ["cached", "asking", "skipped"]);
    assert_eq!(progress["asking"], 1);
}
