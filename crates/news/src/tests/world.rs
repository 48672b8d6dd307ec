//! Two news servers in memory and a model in front of them.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use weir_engine::dispatch::Asker;
use weir_engine::dispatch::policy::{CrewPolicy, FailurePolicy};
use weir_engine::{Engine, Options, Outward, Timeline, Weather, dispatch};
use weir_net::Roots;
use weir_news_proto::{MessageId, Newsgroup};
use weir_testkit::memory::Network;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::news::{self, News};

use crate::config::Config;
use crate::config::server::{ServerEntry, TlsMode};
use crate::model::{Model, ThreadPlace};
use crate::policy;
use crate::reading::{NewsgroupList, ReadArticle, ThreadPage, ThreadView, Unread};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// Nobody in particular reads.
pub(crate) const READER: Asker = Asker::NOBODY;

/// Servers and a model that asks them, the first one first.
pub(crate) struct NewsWorld {
    pub(crate) model: Arc<Model>,
    pub(crate) servers: Vec<News>,
    pub(crate) config: Config,
}

impl NewsWorld {
    /// Each server has one newsgroup or more.
    pub(crate) async fn new(shelves: Vec<Vec<news::Newsgroup>>) -> Self {
        Self::with(shelves, |_| {}).await
    }

    pub(crate) async fn with(
        shelves: Vec<Vec<news::Newsgroup>>,
        change: impl FnOnce(&mut Config),
    ) -> Self {
        let network = Network::new();
        let mut servers = Vec::new();
        let mut config = Config::default();
        for (place, shelf) in (1u8..).zip(shelves) {
            let address = ([192, 0, 2, place], 119).into();
            let started = News::start(Place::Memory(&network, address), shelf).await;
            servers.push(started.expect("a server"));
            let name = ["one", "two", "three"][usize::from(place) - 1];
            config.servers.push(entry(name, place));
        }
        change(&mut config);
        let timeline = Timeline::starting_at(std::time::UNIX_EPOCH + 86_400 * 20_000 * SECOND);
        let options = Options::new(timeline, Weather::default());
        let engine = Engine::new("news", policy::policy(general(), &config), options);
        let outward = Outward::without_rows(engine, network.ground());
        let model = Model::start(&config, outward, &Roots::default(), None);
        Self {
            model: model.expect("a model"),
            servers,
            config,
        }
    }

    /// One server with articles of the series in `misc.test`.
    pub(crate) async fn of(numbers: impl IntoIterator<Item = u64>) -> Self {
        Self::new(vec![vec![test().with(numbers)]]).await
    }

    pub(crate) async fn newsgroups(&self) -> Result<Arc<NewsgroupList>, Unread> {
        self.model.newsgroups(READER).await
    }

    pub(crate) async fn page(&self, page: usize) -> Result<Arc<ThreadPage>, Unread> {
        self.model.threads(&group("misc.test"), page, READER).await
    }

    /// The first page, after everything that it set off has ended.
    pub(crate) async fn settled(&self) -> Arc<ThreadPage> {
        self.page(0).await.expect("a page");
        self.settle().await;
        self.page(0).await.expect("a page")
    }

    /// Lets everything under way end. The clock stays nearly where it is.
    pub(crate) async fn settle(&self) {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }

    pub(crate) async fn thread(&self, root: u64) -> Result<Arc<ThreadView>, Unread> {
        let place = ThreadPlace::Page(0);
        self.model
            .thread(&group("misc.test"), &id(root), place, READER)
            .await
    }

    pub(crate) async fn article(&self, number: u64) -> Result<Arc<ReadArticle>, Unread> {
        self.model.article(&id(number), READER).await
    }

    /// What a server was asked since somebody last looked, without how connections begin.
    pub(crate) fn asked(&self, server: usize) -> Vec<String> {
        let commands = self.servers[server].commands().into_iter();
        self.servers[server].forget();
        let lines = commands.map(|command| command.line);
        let begins = [
            "CAPABILITIES",
            "MODE",
            "QUIT",
            "COMPRESS",
            "LIST OVERVIEW.FMT",
        ];
        lines
            .filter(|line| !begins.iter().any(|verb| line.starts_with(verb)))
            .collect()
    }
}

pub(crate) fn entry(name: &str, place: u8) -> ServerEntry {
    ServerEntry {
        port: NonZeroU32::new(119),
        tls: TlsMode::Off,
        priority: u32::from(place),
        ..ServerEntry::new(name, &format!("192.0.2.{place}"))
    }
}

/// What holds for all fronts, in short.
pub(crate) fn general() -> dispatch::Policy {
    dispatch::Policy {
        classes: Vec::new(),
        capacity: 1,
        agenda_capacity: 10,
        backlog_floor: 32,
        aging: 10 * SECOND,
        put_off: 10 * SECOND,
        crew: CrewPolicy {
            base: 1,
            max: 1,
            grow_at: 60,
            shrink_below: 40,
            step: SECOND,
            slot_time: SECOND,
            waiting_max: 1000,
        },
        failure: FailurePolicy {
            ladder: vec![60 * SECOND, 300 * SECOND],
            threshold: 1,
            threshold_disables: false,
            throttled: None,
            longest: 86_400 * SECOND,
        },
        again_class: None,
        attempts: 1,
        retry_base: SECOND,
        records: 200,
    }
}

pub(crate) fn test() -> news::Newsgroup {
    news::Newsgroup::new("misc.test")
}

pub(crate) fn group(name: &str) -> Newsgroup {
    name.parse().expect("a name")
}

pub(crate) fn id(number: u64) -> MessageId {
    news::id(number).parse().expect("an ID")
}

/// The roots of a page's threads by their numbers in the series.
pub(crate) fn roots(page: &ThreadPage) -> Vec<u64> {
    let bare = |root: &MessageId| root.bare().split('@').next().and_then(|n| n.parse().ok());
    page.threads
        .iter()
        .map(|thread| bare(&thread.root).expect("one of the series"))
        .collect()
}
