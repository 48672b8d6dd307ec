//! Several servers in memory, asked through the engine with paused time.

mod told;

use std::num::NonZeroU32;

use futures_util::future::join_all;
use tokio::time::Instant;
use weir_engine::dispatch::What;
use weir_engine::{Options, Timeline, Weather};
use weir_news_proto::Newsgroup;
use weir_testkit::memory::Network;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::news::{self, Behaviour, News};

use super::*;
use crate::call::ProbeCall;
use crate::policy::{HIGH, LOW, NORMAL};
use crate::tests::world::{SECOND, entry, general, id};

/// Two servers: articles 1 to 60 are on both, 61 to 80 on the first, 81 to 100 on the second.
pub(crate) struct World {
    pub(crate) federation: Arc<Federation>,
    pub(crate) engine: Engine,
    config: Config,
    pub(crate) servers: [News; 2],
}

impl World {
    pub(crate) async fn new(change: impl FnOnce(&mut Config)) -> Self {
        let network = Network::new();
        let start = async |host: u8, articles: Vec<u64>| {
            let shelf = vec![news::Newsgroup::new("misc.test").with(articles)];
            let address = ([192, 0, 2, host], 119).into();
            let started = News::start(Place::Memory(&network, address), shelf).await;
            started.expect("a server")
        };
        let servers = [
            start(1, (1..=80).collect()).await,
            start(2, (1..=60).chain(81..=100).collect()).await,
        ];
        let mut config = Config {
            servers: vec![entry("one", 1), entry("two", 2)],
            ..Config::default()
        };
        change(&mut config);
        let (federation, engine) = federated(&network, &config);
        Self {
            federation,
            engine,
            config,
            servers,
        }
    }

    pub(crate) async fn article(&self, number: u64) -> Sought<bytes::Bytes> {
        let question = AskArticle(id(number));
        self.federation
            .seek(&question, (HIGH, Asker::NOBODY), || Got::Nothing)
            .await
    }

    fn server(&self, name: &str) -> Arc<Server> {
        self.federation.servers.named(name).expect("a server")
    }

    /// Which commands of these kinds a server heard, in their order.
    fn heard(&self, server: usize, verbs: &[&str]) -> Vec<String> {
        let commands = self.servers[server].commands().into_iter();
        let lines = commands.map(|command| command.line);
        lines
            .filter(|line| verbs.iter().any(|verb| line.starts_with(verb)))
            .collect()
    }
}

fn federated(network: &Network, config: &Config) -> (Arc<Federation>, Engine) {
    let wall = std::time::UNIX_EPOCH + 86_400 * 20_000 * SECOND;
    let timeline = Timeline::starting_at(wall);
    let options = Options::new(timeline, Weather::default());
    let engine = Engine::new("news", policy::policy(general(), config), options);
    let outward = Outward::without_rows(engine.clone(), network.ground());
    let federation = Federation::start(config, outward, &Roots::default());
    let federation = federation.expect("a way out");
    let probed = Arc::downgrade(&federation);
    engine.set_prober(move |upstream| probed.upgrade()?.servers.probe(upstream, ProbeCall));
    (federation, engine)
}

fn group() -> Newsgroup {
    "misc.test".parse().expect("a name")
}

fn found<T>(sought: &Sought<T>) -> &str {
    match sought {
        Sought::Found { server, .. } => server.name(),
        Sought::Nowhere => "nowhere",
        Sought::Unknown(_) => "unknown",
    }
}

#[tokio::test(start_paused = true)]
async fn the_next_server_is_asked_for_what_the_first_does_not_have() {
    let world = World::new(|_| {}).await;
    assert_eq!(found(&world.article(1).await), "one");
    assert_eq!(found(&world.article(85).await), "two");
    assert_eq!(found(&world.article(999).await), "nowhere");
    assert_eq!(world.heard(0, &["ARTICLE"]).len(), 3);
    assert_eq!(world.heard(1, &["ARTICLE"]).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_next_server_is_asked_while_the_first_cools_down() {
    let world = World::new(|_| {}).await;
    world.servers[0].set(Behaviour::Close);
    assert_eq!(found(&world.article(1).await), "two");
    let tried = world.servers[0].connections().len();
    for number in 2..=20 {
        assert_eq!(found(&world.article(number).await), "two");
    }
    assert_eq!(
        world.servers[0].connections().len(),
        tried,
        "it is left alone"
    );
    let Sought::Unknown(silent) = world.article(70).await else {
        panic!("the first might have it");
    };
    assert!(matches!(
        &silent[..],
        [(server, NoAnswer::Ended(Ended::Skipped(_)))] if server.name() == "one"
    ));
    // Nobody asks it, and it comes back by itself.
    world.servers[0].set(Behaviour::Good);
    tokio::time::sleep(100 * SECOND).await;
    assert_eq!(found(&world.article(70).await), "one");
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_readers_of_one_article_cost_one_command() {
    let world = World::new(|_| {}).await;
    world.servers[0].set(Behaviour::Far(SECOND));
    let readers = (0..10_000).map(|_| world.article(61));
    for sought in join_all(readers).await {
        assert_eq!(found(&sought), "one");
    }
    assert_eq!(world.heard(0, &["ARTICLE"]).len(), 1);
    let counters = world.engine.status().counters;
    assert_eq!((counters.sent, counters.shared), (1, 9_999));
}

#[tokio::test(start_paused = true)]
async fn a_reader_who_leaves_strands_nobody() {
    let world = World::new(|_| {}).await;
    world.servers[0].set(Behaviour::Far(SECOND));
    let leaves = tokio::time::timeout(SECOND / 2, world.article(1));
    let (first, second) = tokio::join!(leaves, world.article(1));
    assert!(first.is_err());
    assert_eq!(found(&second), "one");
    assert_eq!(world.heard(0, &["ARTICLE"]).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_past_its_time_takes_no_more_readers() {
    let world = World::new(|_| {}).await;
    world.servers[0].set_for("ARTICLE", Behaviour::Hang);
    let time_out = world.config.servers[0].timeout;
    let late = async {
        tokio::time::sleep(time_out - SECOND).await;
        let start = Instant::now();
        let sought = world.article(1).await;
        (found(&sought).to_owned(), start.elapsed())
    };
    let (first, (second, waited)) = tokio::join!(world.article(1), late);
    assert_eq!(found(&first), "two");
    assert_eq!(second, "two");
    assert!(waited <= 2 * SECOND, "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn articles_go_before_lists_and_lists_before_refreshes() {
    let world = World::new(|config| {
        config.servers.truncate(1);
        config.servers[0].connections = NonZeroU32::MIN;
        config.pipeline_depth = NonZeroU32::MIN;
        config.article_depth = NonZeroU32::MIN;
    })
    .await;
    world.servers[0].set(Behaviour::Slow(SECOND / 10));
    let server = world.server("one");
    let federation = &world.federation;
    let low = federation.ask(&server, AskNumbers(group()), (LOW, Asker::NOBODY));
    let window = AskWindow {
        newsgroup: group(),
        low: 1,
        high: 5,
    };
    let normal = federation.ask(&server, window, (NORMAL, Asker::NOBODY));
    let high = federation.ask(&server, AskArticle(id(2)), (HIGH, Asker::NOBODY));
    let first = federation.ask(&server, AskArticle(id(1)), (HIGH, Asker::NOBODY));
    // The first takes the only place; the others wait and are taken by their class.
    let (first, low, normal, high) = tokio::join!(first, low, normal, high);
    assert!(first.is_ok() && low.is_ok() && normal.is_ok() && high.is_ok());
    let heard = world.heard(0, &["ARTICLE", "OVER", "GROUP"]);
    let article = |number| format!("ARTICLE {}", id(number));
    assert_eq!(heard[..2], [article(1), article(2)]);
    assert!(heard[2..].iter().any(|line| line.starts_with("OVER")));
    assert_eq!(
        heard.last().map(String::as_str),
        Some("GROUP misc.test"),
        "{heard:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_refresh_is_not_starved_by_articles() {
    let world = World::new(|config| {
        config.servers.truncate(1);
        config.servers[0].connections = NonZeroU32::MIN;
        config.pipeline_depth = NonZeroU32::MIN;
        config.article_depth = NonZeroU32::MIN;
    })
    .await;
    world.servers[0].set(Behaviour::Slow(SECOND));
    let server = world.server("one");
    let federation = &world.federation;
    let began = Instant::now();
    let low = async {
        let told = federation
            .ask(&server, AskNumbers(group()), (LOW, Asker::NOBODY))
            .await;
        assert!(told.is_ok());
        began.elapsed()
    };
    let reading = join_all((1..=60).map(|number| {
        let (federation, server) = (federation, &server);
        async move {
            let asked = federation.ask(server, AskArticle(id(number)), (HIGH, Asker::NOBODY));
            assert!(asked.await.is_ok());
        }
    }));
    let (waited, _) = tokio::join!(low, reading);
    assert!(
        waited < 15 * SECOND,
        "the aging time and the call before it: {waited:?}"
    );
    assert!(began.elapsed() > 60 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_unknown_articles_are_no_failure() {
    let world = World::new(|_| {}).await;
    for number in 1000..2000 {
        assert_eq!(found(&world.article(number).await), "nowhere");
    }
    for (name, server) in ["one", "two"].into_iter().zip(&world.servers) {
        assert_eq!(server.connections().len(), 1, "{name}");
        let upstream = world.server(name).upstream;
        let view = world.engine.upstream(upstream).expect("it is there");
        assert_eq!(view.figures.standing, Standing::Open, "{name}");
        let decisions = world.engine.decisions(upstream, None, 300);
        assert!(
            decisions
                .iter()
                .all(|one| matches!(one.what, What::Started { .. })),
            "{name}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_changed_server_keeps_its_connections_unless_the_way_changed() {
    let world = World::new(|_| {}).await;
    world.article(1).await;
    let mut config = world.config.clone();
    config.servers[0].priority = 9;
    world.federation.apply(&split(&config).1);
    assert_eq!(found(&world.article(2).await), "two", "it comes second now");
    assert_eq!(found(&world.article(61).await), "one");
    assert_eq!(world.servers[0].connections().len(), 1);
    config.servers[0].timeout = 10 * SECOND;
    world.federation.apply(&split(&config).1);
    assert_eq!(found(&world.article(62).await), "one");
    assert_eq!(world.servers[0].connections().len(), 2);
    config.servers.remove(0);
    world.federation.apply(&split(&config).1);
    assert_eq!(found(&world.article(63).await), "nowhere");
    tokio::time::sleep(5 * SECOND).await;
    assert_eq!(world.servers[0].open(), 0, "whoever is gone is left");
    world.federation.stop(SECOND).await;
    tokio::time::sleep(5 * SECOND).await;
    assert_eq!(world.servers[1].open(), 0);
}
