//! Several nodes over the same servers and one store: a number means the same article on all of them, whatever becomes of the
//! store; and together they open no more connections than an account has.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use weir_engine::dispatch::Asker;
use weir_engine::{Engine, KeptNode, Node, NodeOptions, Options, Outward, Timeline, Weather};
use weir_net::Roots;
use weir_news_proto::MessageId;
use weir_store::shared::{MemoryStore, Seal, StoreTime};
use weir_testkit::memory::Network;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::news::{self, Article, Behaviour, News};

use super::world::*;
use crate::agree::SealedLog;
use crate::config::Config;
use crate::model::Model;
use crate::numbers::LogEntry;
use crate::policy;

const READER: Asker = Asker::NOBODY;
const NAME: &str = "misc.test";
const SECRET: &str = "a secret that is long enough for everybody";

type Numbers = BTreeMap<u64, MessageId>;

/// Servers and a store.
struct Site {
    network: Network,
    servers: Vec<News>,
    store: MemoryStore,
    directory: tempfile::TempDir,
    timeline: Timeline,
}

/// One node.
struct Weir {
    model: Arc<Model>,
    node: Option<Node>,
    store: Arc<MemoryStore>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
    kept: Arc<Mutex<KeptNode>>,
    which: u64,
    servers: Vec<u8>,
    with_file: bool,
}

impl Site {
    async fn new(shelves: Vec<Vec<news::Newsgroup>>) -> Self {
        let network = Network::new();
        let mut servers = Vec::new();
        for (place, shelf) in (1_u8..).zip(shelves) {
            let address = ([192, 0, 2, place], 119).into();
            let started = News::start(Place::Memory(&network, address), shelf).await;
            servers.push(started.expect("a server"));
        }
        Self {
            network,
            servers,
            store: MemoryStore::on_tokio_time(StoreTime(1_800_000_000_000)),
            directory: tempfile::tempdir().expect("a directory"),
            timeline: Timeline::starting_at(std::time::UNIX_EPOCH + 86_400 * 20_000 * SECOND),
        }
    }

    fn file(&self, which: u64) -> PathBuf {
        self.directory.path().join(format!("news-{which}.db"))
    }

    /// Starts a node that asks these servers, the first one first; without the store if it is not wanted.
    async fn start(&self, which: u64, servers: &[u8]) -> Weir {
        let kept = Arc::<Mutex<KeptNode>>::default();
        self.start_with((which, servers, false), kept, true, |_| {})
            .await
    }

    async fn start_with(
        &self,
        (which, servers, with_file): (u64, &[u8], bool),
        kept: Arc<Mutex<KeptNode>>,
        shared: bool,
        change: impl FnOnce(&mut Config),
    ) -> Weir {
        let mut config = Config::default();
        for (priority, place) in (1_u32..).zip(servers) {
            let mut entry = entry(&format!("{which}-{place}"), *place);
            entry.priority = priority;
            config.servers.push(entry);
        }
        // What is known counts as old at once.
        config.cache.threads = Duration::ZERO;
        change(&mut config);
        let store = Arc::new(self.store.handle());
        let node = shared.then(|| self.node(which, &store, &kept));
        let options = Options::new(self.timeline, Weather::default());
        let engine = Engine::new("news", policy::policy(general(), &config), options);
        let mut outward = Outward::without_rows(engine, self.network.ground());
        outward.node.clone_from(&node);
        let file = with_file.then(|| self.file(which));
        let model = Model::start(&config, outward, &Roots::default(), file).expect("a model");
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        if let Some(node) = &node {
            let (node, stop) = (node.clone(), stop.clone());
            tasks.spawn(async move { node.run(stop).await });
        }
        let weir = Weir {
            model,
            node,
            store,
            stop,
            tasks,
            kept,
            which,
            servers: servers.to_vec(),
            with_file,
        };
        weir.settle().await;
        weir
    }

    fn node(&self, which: u64, store: &Arc<MemoryStore>, kept: &Arc<Mutex<KeptNode>>) -> Node {
        let (keeper, before) = (kept.clone(), kept.lock().clone());
        Node::new(NodeOptions {
            name: format!("node {which}"),
            version: "1".to_owned(),
            store: store.clone(),
            seal: Seal::new(SECRET),
            timeline: self.timeline,
            kept: before,
            keeper: Box::new(move |kept: &KeptNode| *keeper.lock() = kept.clone()),
        })
    }

    /// The same node, started again.
    async fn restart(&self, weir: Weir) -> Weir {
        let (which, servers, with_file) = (weir.which, weir.servers.clone(), weir.with_file);
        let (kept, shared) = (weir.kept.clone(), weir.node.is_some());
        weir.end().await;
        self.start_with((which, &servers, with_file), kept, shared, |_| {})
            .await
    }

    fn post(&self, server: usize, number: u64) {
        self.servers[server].add(&[NAME], Article::numbered(number));
    }
}

impl Weir {
    /// Until it is together with the others and all have handed in, or a while.
    async fn settle(&self) {
        for _ in 0..100 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let agreement = self.model.agreement.as_ref();
            let alone = self.node.as_ref().is_some_and(Node::is_alone);
            if !alone && agreement.is_none_or(|agreement| agreement.is_done()) {
                return;
            }
        }
    }

    /// What is new, from all servers.
    async fn refresh(&self) {
        self.model
            .threads(&group(NAME), 0, READER)
            .await
            .expect("a page");
        let open = self.model.open(&group(NAME)).await;
        self.model.bring_new(&open, crate::LOW, READER).await;
        self.model.bring_others(&open, READER).await;
    }

    /// All that it numbers.
    async fn numbers(&self) -> Numbers {
        let mut lines = self
            .model
            .numbered_lines(&group(NAME), 1..=u64::MAX, READER);
        let mut all = Numbers::new();
        while let Some(batch) = lines.next().await.expect("lines") {
            all.extend(batch.into_iter().map(|line| (line.number, line.id)));
        }
        all
    }

    async fn number_of(&self, number: u64) -> Option<u64> {
        self.model.number_of(&group(NAME), &id(number)).await
    }

    /// Whether it shows an article, with a number or without.
    async fn knows(&self, number: u64) -> bool {
        let open = self.model.open(&group(NAME)).await;
        open.with(|state| state.table.article(&id(number)).is_some())
    }

    fn away(&self, away: bool) {
        self.store.cut(away);
    }

    async fn end(self) {
        self.stop.cancel();
        self.model.stop(SECOND).await;
        self.model.close();
        self.tasks.join_all().await;
    }
}

async fn alone(weirs: &[&Weir]) {
    for weir in weirs {
        weir.away(true);
    }
    tokio::time::sleep(3 * SECOND).await;
    for weir in weirs {
        assert!(weir.node.as_ref().is_some_and(Node::is_alone));
    }
}

async fn together(weirs: &[&Weir]) {
    for weir in weirs {
        weir.away(false);
    }
    tokio::time::sleep(3 * SECOND).await;
    for weir in weirs {
        assert!(!weir.node.as_ref().is_some_and(Node::is_alone));
        weir.settle().await;
    }
}

fn two_servers() -> Vec<Vec<news::Newsgroup>> {
    vec![
        vec![test().with(1..=60)],
        // Some of them, and others, under numbers of its own.
        vec![test().with((1..=80).filter(|n| n % 3 == 0 || *n > 60))],
    ]
}

#[tokio::test(start_paused = true)]
async fn a_number_means_the_same_article_on_all_nodes_whoever_finds_it_first() {
    let site = Site::new(two_servers()).await;
    // They read the servers in another order.
    let one = site.start(1, &[1, 2]).await;
    let two = site.start(2, &[2, 1]).await;
    one.refresh().await;
    two.refresh().await;
    for number in 100..140 {
        site.post(usize::from(number % 2 == 0), number);
        if number % 5 == 0 {
            site.post(usize::from(number % 2 != 0), number);
        }
        if number % 7 == 0 {
            tokio::join!(one.refresh(), two.refresh());
        }
    }
    two.refresh().await;
    one.refresh().await;
    two.refresh().await;
    let (first, second) = (one.numbers().await, two.numbers().await);
    assert!(first.len() >= 100, "{}", first.len());
    assert_eq!(first, second);
    let ids: std::collections::HashSet<_> = first.values().collect();
    assert_eq!(ids.len(), first.len(), "an article has one number");
    let marks = one.model.numbered(&group(NAME), READER).await;
    let others = two.model.numbered(&group(NAME), READER).await;
    assert_eq!(marks.expect("marks").high, others.expect("marks").high);
}

#[tokio::test(start_paused = true)]
async fn two_who_find_the_same_at_once_agree() {
    let site = Site::new(two_servers()).await;
    let one = site.start(1, &[1, 2]).await;
    let two = site.start(2, &[2, 1]).await;
    tokio::join!(one.refresh(), two.refresh());
    for round in 0..10 {
        for number in 0..5 {
            let number = 100 + round * 5 + number;
            site.post(0, number);
            site.post(1, number);
        }
        tokio::join!(one.refresh(), two.refresh());
        assert_eq!(one.numbers().await, two.numbers().await, "round {round}");
    }
}

#[tokio::test(start_paused = true)]
async fn while_the_store_is_away_no_number_is_given_and_those_given_before_stay() {
    let site = Site::new(vec![vec![test().with(1..=30)]]).await;
    let one = site.start(1, &[1]).await;
    let two = site.start(2, &[1]).await;
    one.refresh().await;
    two.refresh().await;
    let before = one.numbers().await;
    assert_eq!(before.len(), 30);
    alone(&[&one, &two]).await;
    for number in 31..=34 {
        site.post(0, number);
    }
    one.refresh().await;
    two.refresh().await;
    assert!(one.knows(33).await && two.knows(33).await, "on the web");
    assert_eq!(one.number_of(33).await, None);
    assert_eq!(one.numbers().await, before);
    assert_eq!(two.numbers().await, before);
    let article = one.model.article(&id(33), READER).await;
    assert!(article.is_ok(), "by its Message-ID");
    // They are not fetched again each time.
    site.servers[0].forget();
    one.refresh().await;
    let windows = site.servers[0].count("OVER");
    assert_eq!(windows, 0, "{:?}", site.servers[0].commands());
    together(&[&one, &two]).await;
    // Without anybody reading it.
    tokio::time::sleep(2 * SECOND).await;
    let after = one.numbers().await;
    assert_eq!(after.len(), 34);
    assert!(
        before
            .iter()
            .all(|(number, id)| after.get(number) == Some(id))
    );
    assert_eq!(two.numbers().await, after);
}

#[tokio::test(start_paused = true)]
async fn a_newsgroup_that_nobody_opened_before_has_no_numbers_while_the_store_is_away() {
    let site = Site::new(vec![vec![test().with(1..=30)]]).await;
    let one = site.start(1, &[1]).await;
    let two = site.start(2, &[1]).await;
    alone(&[&one, &two]).await;
    one.refresh().await;
    assert!(one.knows(30).await);
    assert_eq!(one.number_of(30).await, None);
    site.post(0, 31);
    two.refresh().await;
    together(&[&one, &two]).await;
    one.refresh().await;
    two.refresh().await;
    assert_eq!(one.numbers().await.len(), 31);
    assert_eq!(one.numbers().await, two.numbers().await);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_has_lost_its_newest_entries_gets_them_back() {
    let site = Site::new(two_servers()).await;
    let one = site.start(1, &[1, 2]).await;
    let two = site.start(2, &[1, 2]).await;
    one.refresh().await;
    two.refresh().await;
    let old = site.store.snapshot();
    for number in 200..230 {
        site.post(0, number);
    }
    // The second node does not hear of these.
    one.refresh().await;
    let before = one.numbers().await;
    alone(&[&one, &two]).await;
    site.store.restore(&old);
    for number in 300..310 {
        site.post(1, number);
    }
    together(&[&two, &one]).await;
    // Whoever is first must not give the numbers of what was lost.
    two.refresh().await;
    one.refresh().await;
    two.refresh().await;
    let after = one.numbers().await;
    assert!(
        before
            .iter()
            .all(|(number, id)| after.get(number) == Some(id))
    );
    assert!(after.len() >= before.len() + 10);
    assert_eq!(two.numbers().await, after);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_comes_back_empty_gets_everything_back() {
    let site = Site::new(two_servers()).await;
    let one = site.start(1, &[1, 2]).await;
    let two = site.start(2, &[2, 1]).await;
    one.refresh().await;
    two.refresh().await;
    let before = one.numbers().await;
    alone(&[&one, &two]).await;
    site.post(0, 400);
    two.refresh().await;
    site.store.restart_empty();
    together(&[&two, &one]).await;
    two.refresh().await;
    one.refresh().await;
    two.refresh().await;
    let after = two.numbers().await;
    assert!(
        before
            .iter()
            .all(|(number, id)| after.get(number) == Some(id))
    );
    assert_eq!(after.len(), before.len() + 1);
    assert_eq!(one.numbers().await, after);
    // A node that comes now finds all of it.
    let three = site.start(3, &[1, 2]).await;
    three.refresh().await;
    assert_eq!(three.numbers().await, after);
}

#[tokio::test(start_paused = true)]
async fn nobody_gives_numbers_in_a_new_epoch_before_the_others_have_handed_in() {
    let site = Site::new(vec![vec![test().with(1..=30)]]).await;
    let one = site.start(1, &[1]).await;
    let two = site.start(2, &[1]).await;
    one.refresh().await;
    two.refresh().await;
    let old = site.store.snapshot();
    for number in 31..=35 {
        site.post(0, number);
    }
    one.refresh().await;
    let before = one.numbers().await;
    // The node that knows more is cut off just now.
    one.away(true);
    site.store.restore(&old);
    site.post(0, 36);
    tokio::time::sleep(4 * SECOND).await;
    two.refresh().await;
    assert_eq!(two.number_of(36).await, None, "the other may know better");
    one.away(false);
    tokio::time::sleep(4 * SECOND).await;
    two.refresh().await;
    one.refresh().await;
    two.refresh().await;
    let after = two.numbers().await;
    assert!(
        before
            .iter()
            .all(|(number, id)| after.get(number) == Some(id))
    );
    assert_eq!(one.numbers().await, after);
    assert_eq!(after.len(), 36);
    // One that stays away does not stop the others for ever.
    one.away(true);
    site.store.restore(&site.store.snapshot());
    site.post(0, 37);
    tokio::time::sleep(14 * SECOND).await;
    two.refresh().await;
    assert!(two.number_of(37).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_node_that_has_not_noticed_a_loss_gives_no_number() {
    for empty in [true, false] {
        let site = Site::new(vec![vec![test().with(1..=30)]]).await;
        let one = site.start(1, &[1]).await;
        let two = site.start(2, &[1]).await;
        one.refresh().await;
        two.refresh().await;
        let old = site.store.snapshot();
        site.post(0, 31);
        // The second node does not hear of it.
        one.refresh().await;
        let before = one.numbers().await;
        assert_eq!(before.len(), 31);
        match empty {
            true => site.store.restart_empty(),
            false => site.store.restore(&old),
        }
        site.post(0, 32);
        // At once: no beat has told anybody.
        two.refresh().await;
        assert_eq!(two.number_of(32).await, None, "empty: {empty}");
        tokio::time::sleep(4 * SECOND).await;
        two.refresh().await;
        one.refresh().await;
        two.refresh().await;
        let after = two.numbers().await;
        let stays = |(number, id): (&u64, &MessageId)| after.get(number) == Some(id);
        assert!(before.iter().all(stays), "empty: {empty}");
        assert_eq!(after.len(), 32);
        assert_eq!(one.numbers().await, after);
    }
}

#[tokio::test(start_paused = true)]
async fn nodes_that_had_numbers_of_their_own_agree_on_those_of_the_first() {
    let site = Site::new(two_servers()).await;
    let own = Arc::<Mutex<KeptNode>>::default;
    let files = |which: u64, servers: &'static [u8]| (which, servers, true);
    let one = site
        .start_with(files(1, &[1, 2]), own(), false, |_| {})
        .await;
    let two = site
        .start_with(files(2, &[2, 1]), own(), false, |_| {})
        .await;
    one.refresh().await;
    two.refresh().await;
    let (first, second) = (one.numbers().await, two.numbers().await);
    assert_ne!(first, second, "each by its own first server");
    one.end().await;
    two.end().await;
    let one = site
        .start_with(files(1, &[1, 2]), own(), true, |_| {})
        .await;
    one.refresh().await;
    let joined = one.numbers().await;
    assert!(
        first
            .iter()
            .all(|(number, id)| joined.get(number) == Some(id))
    );
    let two = site
        .start_with(files(2, &[2, 1]), own(), true, |_| {})
        .await;
    two.refresh().await;
    one.refresh().await;
    two.refresh().await;
    let agreed = two.numbers().await;
    assert_eq!(agreed, one.numbers().await);
    assert!(
        joined
            .iter()
            .all(|(number, id)| agreed.get(number) == Some(id))
    );
    // And that is kept.
    let two = site.restart(two).await;
    assert_eq!(two.numbers().await, agreed);
}

#[tokio::test(start_paused = true)]
async fn numbers_are_the_same_after_restarts_also_without_the_store() {
    let site = Site::new(two_servers()).await;
    let kept = Arc::<Mutex<KeptNode>>::default;
    let one = site
        .start_with((1, &[1, 2], true), kept(), true, |_| {})
        .await;
    let two = site
        .start_with((2, &[2, 1], true), kept(), true, |_| {})
        .await;
    one.refresh().await;
    two.refresh().await;
    one.refresh().await;
    let before = one.numbers().await;
    assert_eq!(two.numbers().await, before);
    let one = site.restart(one).await;
    assert_eq!(one.numbers().await, before);
    one.away(true);
    let two = site.restart(two).await;
    two.away(true);
    tokio::time::sleep(3 * SECOND).await;
    assert_eq!(two.numbers().await, before);
    site.post(0, 500);
    two.refresh().await;
    assert_eq!(two.number_of(500).await, None);
    let two = site.restart(two).await;
    two.refresh().await;
    one.away(false);
    tokio::time::sleep(3 * SECOND).await;
    one.refresh().await;
    assert_eq!(one.numbers().await, two.numbers().await);
    assert_eq!(one.numbers().await.len(), before.len() + 1);
}

#[tokio::test(start_paused = true)]
async fn articles_of_a_server_that_is_not_configured_here_keep_their_numbers() {
    let site = Site::new(two_servers()).await;
    let one = site.start(1, &[1, 2]).await;
    let two = site.start(2, &[2]).await;
    one.refresh().await;
    two.refresh().await;
    site.post(0, 600);
    one.refresh().await;
    site.post(1, 601);
    two.refresh().await;
    one.refresh().await;
    let (first, second) = (one.numbers().await, two.numbers().await);
    assert!(first.values().any(|one| *one == id(600)));
    assert!(
        !second.values().any(|one| *one == id(600)),
        "nobody has it here"
    );
    assert!(second.len() >= 20);
    for (number, id) in &second {
        assert_eq!(first.get(number), Some(id));
    }
    // Another server gets it.
    site.post(1, 600);
    two.refresh().await;
    let number = one.number_of(600).await;
    assert!(number.is_some());
    assert_eq!(two.number_of(600).await, number);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_counts_anew_changes_no_number_on_any_node() {
    let site = Site::new(vec![vec![test().with(1..=40)]]).await;
    let one = site.start(1, &[1]).await;
    let two = site.start(2, &[1]).await;
    one.refresh().await;
    let before = one.numbers().await;
    site.servers[0].renumber(NAME, 21);
    two.refresh().await;
    one.refresh().await;
    two.refresh().await;
    let (first, second) = (one.numbers().await, two.numbers().await);
    assert_eq!(before.len(), 40);
    assert_eq!(first, before, "on the node that had seen it before");
    assert_eq!(second, before, "on the one that finds it out");
    // What is new since has one number, on a node that comes now as well.
    site.post(0, 700);
    two.refresh().await;
    one.refresh().await;
    let after = one.numbers().await;
    assert_eq!(after.get(&41), Some(&id(700)));
    assert_eq!(after.len(), 41);
    assert_eq!(two.numbers().await, after);
    let three = site.start(3, &[1]).await;
    three.refresh().await;
    assert_eq!(three.numbers().await, after);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_was_killed_before_it_handed_in_its_logs_does_so_when_it_is_back() {
    let site = Site::new(two_servers()).await;
    let kept = Arc::<Mutex<KeptNode>>::default();
    let one = site.start_with((1, &[1, 2], true), kept.clone(), true, |_| {});
    let one = one.await;
    one.refresh().await;
    let before = one.numbers().await;
    assert!(before.len() >= 60, "{}", before.len());
    one.end().await;
    site.store.restart_empty();
    // It hears of the new epoch and hands in what its engines know, and that is all it comes to.
    let epoch = kept.lock().epoch;
    let node = site.node(1, &Arc::new(site.store.handle()), &kept);
    let beats = node.run(CancellationToken::new());
    tokio::time::timeout(3 * SECOND, beats).await.unwrap_err();
    assert_ne!(kept.lock().epoch, epoch);
    // Back, it tells its numbers before anybody asks it for them.
    let one = site
        .start_with((1, &[1, 2], true), kept, true, |_| {})
        .await;
    let two = site.start(2, &[2, 1]).await;
    two.refresh().await;
    let numbers = two.numbers().await;
    for (number, id) in &before {
        assert_eq!(numbers.get(number), Some(id), "{number}");
    }
    drop(one);
}

#[tokio::test(start_paused = true)]
async fn nonsense_in_the_log_costs_nothing_but_itself() {
    use weir_store::shared::{SharedStore, UpstreamKey};
    let site = Site::new(vec![vec![test().with(1..=20)]]).await;
    let seal = Seal::new(SECRET);
    let log = SealedLog::new(&seal, NAME);
    let foreign = UpstreamKey([9; 16]);
    let nonsense = [
        vec![],
        vec![1],
        vec![1, 99],
        vec![1, 4, 3],
        vec![0xFF; 300],
        LogEntry::Promise {
            server: foreign,
            ours: u64::MAX,
            theirs: u64::MAX - 3,
            length: u64::MAX,
        }
        .write(),
        LogEntry::Bind {
            server: foreign,
            articles: vec![(0, 0, 1), (u64::MAX, u64::MAX, 2), (5, 5, 3)],
        }
        .write(),
    ];
    // The one of a newer Weir is left out: after that no numbers are given.
    let readable: Vec<_> = nonsense
        .iter()
        .filter(|entry| entry.first() != Some(&0xFF))
        .cloned()
        .collect();
    let sealed = log.seal(0, readable.clone());
    let appended = site.store.extend(log.key(), 0, sealed).await;
    assert!(appended.expect("an answer").appended);
    // None of the nodes wrote this.
    let article = crate::store::hash(&id(21)).cast_unsigned();
    let forged = LogEntry::Bind {
        server: foreign,
        articles: vec![(1_000_000, 21, article)],
    };
    let known = readable.len() as u64;
    let appended = site
        .store
        .extend(log.key(), known, vec![forged.write()])
        .await;
    assert!(appended.expect("an answer").appended);
    let one = site.start(1, &[1]).await;
    let two = site.start(2, &[1]).await;
    one.refresh().await;
    two.refresh().await;
    let first = one.numbers().await;
    assert_eq!(first, two.numbers().await);
    assert_eq!(first.len(), 20, "{first:?}");
    site.post(0, 21);
    one.refresh().await;
    let number = one.number_of(21).await;
    assert!(number.is_some_and(|number| number < 1000), "{number:?}");
    let first = one.numbers().await;
    let length = site.store.extend(log.key(), 0, Vec::new()).await;
    let length = length.expect("an answer").length;
    let sealed = log.seal(length, vec![vec![0xFF; 300]]);
    let newer = site.store.extend(log.key(), length, sealed).await;
    assert!(newer.expect("an answer").appended);
    site.post(0, 22);
    one.refresh().await;
    assert_eq!(
        one.number_of(22).await,
        None,
        "it is written by a newer Weir"
    );
    assert_eq!(one.numbers().await, first);
}

#[tokio::test(start_paused = true)]
async fn one_node_without_a_store_asks_nobody() {
    let site = Site::new(vec![vec![test().with(1..=20)]]).await;
    let kept = Arc::<Mutex<KeptNode>>::default();
    let one = site.start_with((1, &[1], false), kept, false, |_| {}).await;
    one.refresh().await;
    assert_eq!(one.numbers().await.len(), 20);
    let open = one.model.open(&group(NAME)).await;
    assert!(open.with(|state| state.log.is_none()));
}

#[tokio::test(start_paused = true)]
async fn nodes_share_out_the_connections_of_an_account() {
    let site = Site::new(vec![vec![test().with(1..=400)]]).await;
    site.servers[0].set(Behaviour::Slow(SECOND));
    let limit = 4;
    let few = |config: &mut Config| {
        config.servers[0].connections = NonZeroU32::new(limit).expect("not 0");
    };
    let kept = Arc::<Mutex<KeptNode>>::default;
    let one = site.start_with((1, &[1], false), kept(), true, few).await;
    let two = site.start_with((2, &[1], false), kept(), true, few).await;
    tokio::time::sleep(5 * SECOND).await;
    let busy = async |weir: &Weir| {
        let articles = (1..=60).map(|number| {
            let model = weir.model.clone();
            async move { model.article(&id(number), READER).await.is_ok() }
        });
        futures_util::future::join_all(articles).await
    };
    let most = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let watch = async {
        loop {
            let open = site.servers[0].open();
            most.fetch_max(open, std::sync::atomic::Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let both = async { tokio::join!(busy(&one), busy(&two)) };
    let (first, second) = tokio::select! {
        both = both => both,
        () = watch => unreachable!("it never ends"),
    };
    assert!(first.iter().any(|read| *read) && second.iter().any(|read| *read));
    let most = most.load(std::sync::atomic::Ordering::Relaxed);
    assert!(most >= 2, "{most}");
    assert!(most <= limit as usize, "{most}");
    let theirs = two.model.federation.servers.all()[0].clone();
    let (open, _) = theirs.link.connections();
    assert!(site.servers[0].open() > open, "both have some");
    // Held, so that they end because they are closed, not because nobody has them any more.
    let ours = one.model.federation.servers.all()[0].clone();
    one.end().await;
    assert_eq!(ours.link.connections().0, 0);
    // Each ends when the server has answered what it was asked, which nobody waits for any more; long before it would be
    // closed for having nothing to do.
    let closed = async {
        while site.servers[0].open() > theirs.link.connections().0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let closed = tokio::time::timeout(60 * SECOND, closed).await;
    assert!(closed.is_ok(), "{} are open", site.servers[0].open());
    assert_eq!(theirs.link.connections().0, open, "its own stay");
}

#[tokio::test(start_paused = true)]
async fn who_finds_all_connections_taken_is_told_so_and_asks_another_server() {
    let site = Site::new(vec![vec![test().with(1..=40)], vec![test().with(1..=40)]]).await;
    let single = |config: &mut Config| {
        config.servers[0].connections = NonZeroU32::MIN;
    };
    let kept = Arc::<Mutex<KeptNode>>::default;
    let one = site
        .start_with((1, &[1], false), kept(), true, single)
        .await;
    let two = site
        .start_with((2, &[1], false), kept(), true, single)
        .await;
    tokio::time::sleep(5 * SECOND).await;
    assert!(one.model.article(&id(1), READER).await.is_ok());
    // It stays busy.
    site.servers[0].set(Behaviour::Slow(20 * SECOND));
    let model = one.model.clone();
    let mut busy = JoinSet::new();
    busy.spawn(async move { model.article(&id(2), READER).await.is_ok() });
    tokio::time::sleep(SECOND).await;
    let server = two.model.federation.servers.all()[0].clone();
    let refused = server.link.date().await;
    let refused = refused.expect_err("none is left");
    assert_eq!(refused, crate::NewsFault::Elsewhere(1));
    assert!(refused.to_string().contains("other nodes"), "{refused}");
    let row = two.model.engine.upstream(server.upstream);
    assert!(
        row.is_some_and(|row| row.trouble.is_none()),
        "it is healthy"
    );
    busy.abort_all();
    // With another server, it is read there.
    let three = site
        .start_with((3, &[1, 2], false), kept(), true, single)
        .await;
    assert!(three.model.article(&id(3), READER).await.is_ok());
}
