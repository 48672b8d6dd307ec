//! Random histories: servers gain articles, lose them, count anew, die and come back, are added and removed; Weir restarts.
//! After each step, whatever newsreaders are told agrees with all they were ever told.
//!
//! The same few histories are played each time; with `PROPTEST_CASES` so many others.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tokio::time::Instant;
use weir_engine::{Engine, Options, Outward, Timeline, Weather};
use weir_net::Roots;
use weir_news_proto::MessageId;
use weir_testkit::memory::Network;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::news::{Article, Behaviour, News};

use super::{READER, lines};
use crate::config::Config;
use crate::model::Model;
use crate::numbered::NumberedLine;
use crate::policy;
use crate::tests::world::*;

const SERVERS: usize = 3;
const NAME: &str = "misc.test";

/// Something that happens.
#[derive(Clone, Debug)]
enum Step {
    /// New articles, on the servers of this mask.
    Post {
        servers: u8,
        articles: u64,
    },
    /// A server takes over the newest articles of another.
    Feed {
        from: usize,
        to: usize,
    },
    /// So many of a server's oldest articles go.
    Expire {
        server: usize,
        articles: usize,
    },
    /// One article goes, from all servers or one.
    Cancel {
        server: Option<usize>,
        nth: usize,
    },
    /// A server counts anew.
    Renumber {
        server: usize,
        first: u64,
    },
    Down(usize),
    /// It is back, and after some minutes it is asked again.
    Up(usize),
    Remove(usize),
    Add(usize),
    Restart,
    /// The newsgroup leaves the memory.
    Leave,
    Pass(u64),
    /// Somebody reads a page in the browser.
    Browse(usize),
    List,
    Group,
    /// Parts of the range in percent.
    Range(u64, u64),
}

fn step() -> impl Strategy<Value = Step> {
    let server = || 0..SERVERS;
    prop_oneof![
        6 => (1..8_u8, 1..8_u64).prop_map(|(servers, articles)| Step::Post { servers, articles }),
        1 => (1..8_u8, 40..90_u64).prop_map(|(servers, articles)| Step::Post { servers, articles }),
        1 => (1..4_u8, Just(520)).prop_map(|(servers, articles)| Step::Post { servers, articles }),
        2 => (server(), server()).prop_map(|(from, to)| Step::Feed { from, to }),
        2 => (server(), 1..12_usize).prop_map(|(server, articles)| Step::Expire { server, articles }),
        2 => (prop::option::of(server()), 0..40_usize)
            .prop_map(|(server, nth)| Step::Cancel { server, nth }),
        2 => (server(), prop_oneof![1..5_u64, 40..60_u64, 2000..2005_u64])
            .prop_map(|(server, first)| Step::Renumber { server, first }),
        2 => server().prop_map(Step::Down),
        3 => server().prop_map(Step::Up),
        1 => server().prop_map(Step::Remove),
        2 => server().prop_map(Step::Add),
        2 => Just(Step::Restart),
        2 => Just(Step::Leave),
        3 => (1..4000_u64).prop_map(Step::Pass),
        1 => (0..4_usize).prop_map(Step::Browse),
        3 => Just(Step::List),
        3 => Just(Step::Group),
        4 => (0..100_u64, 0..100_u64).prop_map(|(from, to)| Step::Range(from, to)),
    ]
}

/// A server, and what is on it.
struct Upstream {
    server: News,
    /// By its own numbers.
    articles: BTreeMap<u64, u64>,
    high: u64,
    is_up: bool,
    configured: bool,
}

struct History {
    network: Network,
    upstreams: Vec<Upstream>,
    began: Instant,
    file: PathBuf,
    model: Arc<Model>,
    posted: u64,
    /// Whom each number that was ever told belongs to, and the other way round.
    told: HashMap<u64, MessageId>,
    numbers: HashMap<MessageId, u64>,
    /// The marks that were told last, by LIST or GROUP.
    marks: (u64, u64),
    _directory: tempfile::TempDir,
}

impl History {
    async fn begin(sizes: &[u64]) -> Self {
        let network = Network::new();
        let mut upstreams = Vec::new();
        for (place, &size) in (1_u8..).zip(sizes) {
            // Some are on all servers, others on one.
            let posted = |n: u64| {
                if n.is_multiple_of(3) {
                    n + 1000 * u64::from(place)
                } else {
                    n
                }
            };
            let articles: BTreeMap<u64, u64> = (1..=size).map(|n| (n, posted(n))).collect();
            let shelf = articles.iter().fold(test(), |shelf, (&number, &article)| {
                shelf.at(number, Article::numbered(article))
            });
            let address = ([192, 0, 2, place], 119).into();
            let started = News::start(Place::Memory(&network, address), vec![shelf]).await;
            upstreams.push(Upstream {
                server: started.expect("a server"),
                articles,
                high: size,
                is_up: true,
                configured: usize::from(place) < SERVERS,
            });
        }
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("news.db");
        let began = Instant::now();
        let model = start(&network, &upstreams, &file, began);
        Self {
            network,
            upstreams,
            began,
            file,
            model,
            posted: 100_000,
            told: HashMap::new(),
            numbers: HashMap::new(),
            marks: (0, 0),
            _directory: directory,
        }
    }

    async fn take(&mut self, step: &Step) {
        match *step {
            Step::Post { servers, articles } => {
                for _ in 0..articles {
                    self.posted += 1;
                    for server in 0..SERVERS {
                        if servers & (1 << server) != 0 {
                            self.upstreams[server].take(self.posted);
                        }
                    }
                }
            }
            Step::Feed { from, to } => {
                let newest = self.upstreams[from].articles.values().rev().take(5);
                for article in newest.copied().collect::<Vec<_>>().into_iter().rev() {
                    self.upstreams[to].take(article);
                }
            }
            Step::Expire { server, articles } => {
                let oldest = self.upstreams[server].articles.values().take(articles);
                for article in oldest.copied().collect::<Vec<_>>() {
                    self.upstreams[server].lose(article);
                }
            }
            Step::Cancel { server, nth } => {
                let one = &self.upstreams[server.unwrap_or(0)].articles;
                if let Some(&article) = one.values().rev().nth(nth) {
                    let servers = self.upstreams.iter_mut().enumerate();
                    servers
                        .filter(|(at, _)| server.is_none_or(|server| server == *at))
                        .for_each(|(_, upstream)| upstream.lose(article));
                }
            }
            Step::Renumber { server, first } => self.upstreams[server].renumber(first),
            Step::Down(server) => {
                let upstream = &mut self.upstreams[server];
                upstream.is_up = false;
                upstream
                    .server
                    .set(Behaviour::Goodbye("400 Down".to_owned()));
                upstream.server.cut();
            }
            Step::Up(server) => {
                self.upstreams[server].is_up = true;
                self.upstreams[server].server.set(Behaviour::Good);
                tokio::time::sleep(MINUTE * 11).await;
            }
            Step::Remove(server) => self.configure(server, false),
            Step::Add(server) => self.configure(server, true),
            Step::Restart => self.restart().await,
            Step::Leave => {
                self.settle().await;
                self.model.forget(&group(NAME));
            }
            Step::Pass(seconds) => tokio::time::sleep(SECOND * seconds as u32).await,
            Step::Browse(page) => {
                let _ = self.model.threads(&group(NAME), page, READER).await;
            }
            Step::List => self.list().await,
            Step::Group => self.group().await,
            Step::Range(from, to) => self.range(from.min(to), from.max(to)).await,
        }
    }

    /// Everything under way ends, and everything is written.
    async fn settle(&self) {
        tokio::time::sleep(Duration::from_millis(300)).await;
        self.model.file.flush();
    }

    fn configure(&mut self, server: usize, configured: bool) {
        self.upstreams[server].configured = configured;
        self.model.apply(&config(&self.upstreams));
    }

    async fn restart(&mut self) {
        self.settle().await;
        // What was only estimated is not remembered.
        let open = self.model.open(&group(NAME)).await;
        let given = open.with(|state| {
            let numbers = state.numbers.as_ref();
            numbers.map_or((0, 0), |numbers| (numbers.low(), numbers.high()))
        });
        drop(open);
        self.marks = (self.marks.0.min(given.0), self.marks.1.min(given.1));
        self.model.stop(SECOND).await;
        self.model.close();
        self.model = start(&self.network, &self.upstreams, &self.file, self.began);
    }

    fn tell_marks(&mut self, (low, high): (u64, u64), by: &str) {
        assert!(
            low >= self.marks.0 && high >= self.marks.1,
            "{by}: {low} to {high} after {:?}",
            self.marks
        );
        assert!(low <= high + 1, "{by}");
        self.marks = (low, high);
    }

    async fn list(&mut self) {
        let Ok(list) = self.model.numbered_list(READER).await else {
            return;
        };
        if let Some(row) = list.find(&group(NAME)) {
            assert!(row.count <= (row.high + 1) - row.low);
            self.tell_marks((row.low, row.high), "LIST");
        }
    }

    async fn group(&mut self) {
        if let Ok(marks) = self.model.numbered(&group(NAME), READER).await {
            assert!(marks.count <= (marks.high + 1) - marks.low);
            self.tell_marks((marks.low, marks.high), "GROUP");
        }
    }

    fn note(&mut self, number: u64, id: &MessageId) {
        let before = self.told.entry(number).or_insert_with(|| id.clone());
        assert_eq!(before, id, "{number} has changed its article");
        let before = self.numbers.entry(id.clone()).or_insert(number);
        assert_eq!(*before, number, "{id} has changed its number");
    }

    /// Reads a range, and compares it with everything else that is told.
    async fn range(&mut self, from: u64, to: u64) {
        self.settle().await;
        self.group().await;
        // What that has set off may bring more.
        self.settle().await;
        self.list().await;
        let marks = self.marks;
        let at = |part: u64| marks.0 + (marks.1 + 1).saturating_sub(marks.0) * part / 100;
        let range = at(from)..=at(to);
        let read = match lines(&self.model, NAME, range.clone()).await {
            Ok(read) => read,
            Err(why) => {
                let troubled = self
                    .upstreams
                    .iter()
                    .any(|one| one.configured && !one.is_up);
                let configured = self.upstreams.iter().any(|one| one.configured);
                assert!(troubled || !configured, "all servers are up: {why:?}");
                return;
            }
        };
        for line in &read {
            self.note(line.number, &line.id);
        }
        self.settle().await;
        let again = lines(&self.model, NAME, range.clone())
            .await
            .expect("the same lines");
        for line in &read {
            let known = |other: &NumberedLine| (other.number, &other.id) == (line.number, &line.id);
            assert!(again.iter().any(known), "{} is gone", line.number);
        }
        let name = group(NAME);
        let there: HashMap<u64, MessageId> = again
            .iter()
            .map(|line| (line.number, line.id.clone()))
            .collect();
        let step = 1 + (range.end() - range.start()) / 12;
        let single = range.clone().step_by(step as usize);
        let single = single.chain(again.iter().step_by(19).map(|line| line.number));
        for number in single.collect::<Vec<_>>() {
            let one = self.model.id_at(&name, number, READER).await;
            let one = one.expect("as its range could be read");
            assert_eq!(one.as_ref(), there.get(&number), "{number}");
        }
        // Whoever reads a range may be the first to see an article, which raises the high mark.
        self.list().await;
        let (low, high) = (marks.0, self.marks.1);
        for line in &again {
            self.note(line.number, &line.id);
            assert!(
                (low..=high).contains(&line.number),
                "{} of {low} to {high}",
                line.number
            );
        }
        let live = self
            .upstreams
            .iter()
            .filter(|one| one.configured && one.is_up);
        let readable: Vec<MessageId> = live
            .flat_map(|one| one.articles.values().copied().map(id))
            .collect();
        for id in readable {
            if let Some(number) = self.model.number_of(&name, &id).await
                && range.contains(&number)
            {
                assert_eq!(there.get(&number), Some(&id), "{number} can be read");
            }
        }
        self.beside(&again).await;
    }

    /// Whoever goes from one article to the next comes along the same ones.
    async fn beside(&self, read: &[NumberedLine]) {
        let name = group(NAME);
        for two in read.windows(2).step_by(1 + read.len() / 6) {
            let up = self.model.beside(&name, two[0].number, true, READER).await;
            assert_eq!(up, Ok(Some((two[1].number, two[1].id.clone()))));
            let down = self.model.beside(&name, two[1].number, false, READER).await;
            assert_eq!(down, Ok(Some((two[0].number, two[0].id.clone()))));
        }
    }

    async fn end(mut self) {
        self.range(0, 100).await;
        self.model.stop(SECOND).await;
        self.model.close();
    }
}

impl Upstream {
    fn take(&mut self, article: u64) {
        if !self.articles.values().any(|known| *known == article) {
            self.high += 1;
            self.articles.insert(self.high, article);
            self.server.add(&[NAME], Article::numbered(article));
        }
    }

    fn lose(&mut self, article: u64) {
        self.articles.retain(|_, known| *known != article);
        self.server.remove(id(article).as_str());
    }

    fn renumber(&mut self, first: u64) {
        let articles = std::mem::take(&mut self.articles).into_values();
        self.articles = (first..).zip(articles).collect();
        self.high = first + self.articles.len() as u64 - 1;
        self.server.renumber(NAME, first);
    }
}

fn config(upstreams: &[Upstream]) -> Config {
    let mut config = Config {
        overview_lines: NonZeroU32::new(20).expect("some"),
        ..Config::default()
    };
    for (at, upstream) in upstreams.iter().enumerate() {
        if upstream.configured {
            config
                .servers
                .push(entry(["one", "two", "three"][at], at as u8 + 1));
        }
    }
    config
}

fn start(
    network: &Network,
    upstreams: &[Upstream],
    file: &std::path::Path,
    began: Instant,
) -> Arc<Model> {
    let config = config(upstreams);
    let now = std::time::UNIX_EPOCH + 86_400 * 20_000 * SECOND + began.elapsed();
    let options = Options::new(Timeline::starting_at(now), Weather::default());
    let engine = Engine::new("news", policy::policy(general(), &config), options);
    let outward = Outward::without_rows(engine, network.ground());
    let model = Model::start(&config, outward, &Roots::default(), Some(file.to_owned()));
    model.expect("a model")
}

fn setting(name: &str, usual: u32) -> u32 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// One history from its beginning to its end.
fn live(sizes: &[u64], steps: &[Step]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let mut history = History::begin(sizes).await;
        for step in steps {
            history.take(step).await;
        }
        history.end().await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: setting("PROPTEST_CASES", 6),
        max_shrink_iters: setting("PROPTEST_MAX_SHRINK_ITERS", 300),
        max_shrink_time: setting("PROPTEST_MAX_SHRINK_TIME", 60_000),
        failure_persistence: None,
        rng_seed: match std::env::var_os("PROPTEST_CASES") {
            Some(_) => RngSeed::Random,
            None => RngSeed::Fixed(15),
        },
        ..ProptestConfig::default()
    })]

    #[test]
    fn numbers_mean_the_same_articles_whatever_happens(
        sizes in prop::collection::vec(0..60_u64, SERVERS),
        steps in prop::collection::vec(step(), 5..30),
    ) {
        live(&sizes, &steps);
    }
}
