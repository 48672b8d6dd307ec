//! What programs ask one thing after the other, over ten indexers at default settings: nothing is refused and nobody is
//! left out.

use futures_util::future::join_all;

use super::*;

const SONARR: &str = "Sonarr/4.0.9.2244 (linux)";
const RADARR: &str = "Radarr/5.11.0.9244 (linux)";
const FLEXGET: &str = "FlexGet/3.20.14 (www.flexget.com)";
const CROSS_SEED: &str = "CrossSeed/7.0.0";

/// All indexers.
const MERGED: &str = "/torznab/api";

/// A request as a program sent it, without its key, with another value for one of its parameters.
macro_rules! recorded {
    ($name:literal $(, $old:literal => $new:expr)?) => {{
        let recorded = include_str!(concat!("../../../search-proto/tests/recorded/search_request/", $name));
        let query = recorded.trim().replace("apikey=0123456789abcdef", "");
        let query = query.trim_matches('&').replace("&&", "&");
        $(
            assert!(query.contains($old), "{query}");
            let query = query.replace($old, &$new);
        )?
        query
    }};
}

/// Ten indexers, the slowest of which takes three seconds, and the front before them.
async fn town() -> (Vec<Indexer>, World) {
    let network = Network::new();
    let indexers = crowd(&network, 10).await;
    for (number, indexer) in (1..).zip(&indexers) {
        indexer.set_all(Behaviour::Slow(number * Duration::from_millis(300)));
    }
    let world = World::fleeting(network.ground(), &plain(&indexers));
    (indexers, world)
}

impl World {
    /// What a program gets, which is an answer of all that it asked.
    async fn answered(&self, agent: &str, place: &str, query: &str) -> Reply {
        let reply = self.program(agent, &format!("{place}?{query}")).await;
        let at = self.time();
        assert_eq!(reply.status, 200, "{query} at {at:?}: {}", reply.body);
        assert!(!reply.body.contains("<error"), "{query}: {}", reply.body);
        assert_eq!(reply.skipped(), [], "{query} at {at:?}");
        reply
    }

    /// Asks by id, and by text where that finds nothing, as Sonarr and Radarr do: two seconds apart.
    async fn by_id_then_text(&self, agent: &str, place: &str, id: &str, text: &str) -> usize {
        for (asked, query) in [(1, id), (2, text)] {
            let began = self.time();
            let found = self.answered(agent, place, query).await;
            self.until(began + 2 * SECOND).await;
            if !found.titles().is_empty() {
                return asked;
            }
        }
        2
    }

    /// Sonarr's life: what it sends when it is set up, then a season, episode by episode. Says how many searches that were.
    async fn sonarr(&self, place: &str) -> usize {
        self.answered(SONARR, place, &recorded!("sonarr-caps"))
            .await;
        let recent = self
            .answered(SONARR, place, &recorded!("sonarr-recent"))
            .await;
        assert!(!recent.titles().is_empty());
        let mut searches = 1;
        for episode in 1..=10 {
            let id = recorded!("sonarr-episode", "&ep=2" => format!("&ep={episode}"));
            let text = id.replace("&tvdbid=12345", "&q=Some%20Show");
            searches += self.by_id_then_text(SONARR, place, &id, &text).await;
        }
        searches
    }

    /// Radarr looks for twenty films.
    async fn radarr(&self, place: &str) -> usize {
        let mut searches = 0;
        for film in 0..20 {
            let id = recorded!("radarr-movie", "0123456" => format!("01234{film:02}"));
            let text = format!(
                "t=search&cat=2000&extended=1&offset=0&limit=100&q=Some%20Film%20{film}%202020"
            );
            searches += self.by_id_then_text(RADARR, place, &id, &text).await;
        }
        searches
    }

    /// FlexGet reads the feed and discovers ten episodes. It takes no breath between them.
    async fn flexget(&self, place: &str) -> usize {
        self.answered(FLEXGET, place, "extended=1&t=caps").await;
        self.answered(FLEXGET, place, "t=search").await;
        for episode in 1..=10 {
            let query = recorded!("flexget", "&ep=1" => format!("&ep={episode}"));
            self.answered(FLEXGET, place, &query).await;
        }
        11
    }

    /// cross-seed looks for a hundred torrents, one each 30 s.
    async fn cross_seed(&self, place: &str) -> usize {
        self.answered(CROSS_SEED, place, "t=caps").await;
        let began = self.time();
        for torrent in 0..100 {
            self.until(began + torrent * 30 * SECOND).await;
            let query = recorded!("cross-seed", "&ep=1" => format!("&ep={torrent}"));
            self.answered(CROSS_SEED, place, &query).await;
        }
        100
    }

    /// Each indexer was asked so often, and left alone for so long in between.
    fn asked_all(&self, indexers: &[Indexer], searches: usize, gap: Duration) {
        for (name, indexer) in NAMES.into_iter().zip(indexers) {
            let asked = times(self, &indexer.searches());
            assert_eq!(asked.len(), searches, "{name}");
            let apart = asked.windows(2).map(|pair| pair[1] - pair[0]).min();
            assert!(apart >= Some(gap.as_millis()), "{name}: {apart:?}");
            assert_eq!(self.state_of(name), "open");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn sonarr_searches_a_season_episode_by_episode() {
    let (indexers, world) = town().await;
    let searches = world.sonarr(MERGED).await;
    assert!(searches > 10);
    world.asked_all(&indexers, searches, 2 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn sonarr_searches_a_season_at_ten_addresses_at_once() {
    let (indexers, world) = town().await;
    let places = NAMES.map(|name| format!("/torznab/{name}/api"));
    let searches = join_all(places.iter().map(|place| world.sonarr(place))).await;
    for (indexer, searches) in indexers.iter().zip(searches) {
        assert_eq!(indexer.searches().len(), searches);
    }
}

#[tokio::test(start_paused = true)]
async fn radarr_searches_twenty_films() {
    let (indexers, world) = town().await;
    let searches = world.radarr(MERGED).await;
    assert!(searches >= 20);
    world.asked_all(&indexers, searches, 2 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn flexget_discovers_ten_episodes_without_a_pause() {
    let (indexers, world) = town().await;
    let searches = world.flexget(MERGED).await;
    world.asked_all(&indexers, searches, 2 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn cross_seed_looks_for_a_hundred_torrents() {
    let (indexers, world) = town().await;
    let searches = world.cross_seed(MERGED).await;
    world.asked_all(&indexers, searches, 25 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn sonarr_radarr_and_flexget_search_at_the_same_time() {
    let (indexers, world) = town().await;
    let (sonarr, radarr, flexget) = tokio::join!(
        world.sonarr(MERGED),
        world.radarr(MERGED),
        world.flexget(MERGED)
    );
    world.asked_all(&indexers, sonarr + radarr + flexget, 2 * SECOND);
}
