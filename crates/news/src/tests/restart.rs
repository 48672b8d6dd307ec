//! What is there after a restart. Real time and a real file, so nothing here waits for anything long.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_engine::dispatch::Asker;
use weir_engine::{Engine, Options, Outward, Timeline, Weather};
use weir_net::Roots;
use weir_testkit::memory::Network;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::news::{Article, Behaviour, News};

use super::world::*;
use crate::config::Config;
use crate::model::{Model, ThreadPlace};
use crate::policy;
use crate::reading::Unread;

const READER: Asker = Asker::NOBODY;

pub(crate) struct Machine {
    network: Network,
    pub(crate) server: News,
    pub(crate) file: PathBuf,
    _directory: tempfile::TempDir,
}

impl Machine {
    pub(crate) async fn new(articles: u64) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let network = Network::new();
        let shelf = vec![test().with(1..=articles)];
        let place = Place::Memory(&network, ([192, 0, 2, 1], 119).into());
        let server = News::start(place, shelf).await.expect("a server");
        Self {
            network,
            server,
            file: directory.path().join("news.db"),
            _directory: directory,
        }
    }

    pub(crate) fn start(&self, change: impl FnOnce(&mut Config)) -> Arc<Model> {
        start(&self.network, &self.file, 0, change)
    }

    /// The same so many seconds later.
    pub(crate) fn start_later(&self, seconds: u32, change: impl FnOnce(&mut Config)) -> Arc<Model> {
        start(&self.network, &self.file, seconds, change)
    }
}

fn start(
    network: &Network,
    file: &Path,
    later: u32,
    change: impl FnOnce(&mut Config),
) -> Arc<Model> {
    let mut config = Config {
        servers: vec![entry("one", 1)],
        ..Config::default()
    };
    change(&mut config);
    let timeline =
        Timeline::starting_at(std::time::UNIX_EPOCH + (86_400 * 20_000 + later) * SECOND);
    let options = Options::new(timeline, Weather::default());
    let engine = Engine::new("news", policy::policy(general(), &config), options);
    let outward = Outward::without_rows(engine, network.ground());
    let model = Model::start(&config, outward, &Roots::default(), Some(file.to_owned()));
    model.expect("a model")
}

pub(crate) async fn stop(model: Arc<Model>) {
    model.stop(SECOND).await;
    model.close();
}

#[tokio::test]
async fn two_who_open_a_newsgroup_at_once_open_the_same() {
    let machine = Machine::new(30).await;
    let name = group("misc.test");
    let model = machine.start(|_| {});
    model.threads(&name, 0, READER).await.expect("a page");
    stop(model).await;
    let model = machine.start(|_| {});
    // Both find that it is not in memory, and read the file, before one of them is done.
    let (one, other) = tokio::join!(model.open(&name), model.open(&name));
    assert!(Arc::ptr_eq(&one, &other));
    let third = model.open(&name).await;
    assert!(Arc::ptr_eq(&one, &third));
    stop(model).await;
}

#[tokio::test]
async fn what_is_fetched_of_old_articles_is_no_check() {
    let machine = Machine::new(700).await;
    let name = group("misc.test");
    let model = machine.start(|_| {});
    model.threads(&name, 0, READER).await.expect("a page");
    // As if that had been an hour ago.
    let open = model.open(&name).await;
    let earlier = model.now().1 - 3600;
    open.with(|state| state.checked = Some((model.now().0, earlier)));
    model.threads(&name, 12, READER).await.expect("a page");
    stop(model).await;
    let model = machine.start(|config| config.cache.threads = 2 * 3600 * SECOND);
    let open = model.open(&name).await;
    let (kept, lines) = open.with(|state| (state.checked, state.table.articles()));
    assert_eq!((kept.map(|(_, at)| at), lines), (Some(earlier), 700));
    stop(model).await;
}

#[tokio::test]
async fn after_a_restart_a_page_says_when_it_was_last_checked() {
    let machine = Machine::new(30).await;
    let name = group("misc.test");
    let model = machine.start(|_| {});
    let page = model.threads(&name, 0, READER).await.expect("a page");
    let checked = page.currency.checked.expect("it was fetched just now");
    stop(model).await;
    machine
        .server
        .set(Behaviour::Goodbye("400 Down".to_owned()));
    let model = machine.start(|_| {});
    let page = model.threads(&name, 0, READER).await.expect("a page");
    assert_eq!(page.currency.checked, Some(checked));
    let written = crate::pages::threads::write(&page, None, true)
        .expect("a page")
        .body;
    let at = crate::pages::when::stamp(checked).to_string();
    let fetched = format!("Fetched <time datetime=\"{at}\"");
    assert!(written.contains(&fetched), "{fetched} in {written}");
    stop(model).await;
}

#[tokio::test]
async fn after_a_restart_nothing_is_fetched_again_and_everything_is_readable_with_all_servers_down()
{
    let machine = Machine::new(700).await;
    let name = group("misc.test");
    let model = machine.start(|_| {});
    let list = model.newsgroups(READER).await.expect("a list");
    let page = model.threads(&name, 0, READER).await.expect("a page");
    model.threads(&name, 12, READER).await.expect("a page");
    let thread = model
        .thread(&name, &id(690), ThreadPlace::Page(0), READER)
        .await
        .expect("a thread");
    stop(model).await;

    machine
        .server
        .set(Behaviour::Goodbye("400 Down".to_owned()));
    machine.server.forget();
    let model = machine.start(|_| {});
    let again = model.newsgroups(READER).await.expect("a list");
    assert_eq!(again.newsgroups.len(), list.newsgroups.len());
    let kept = model.threads(&name, 0, READER).await.expect("a page");
    assert_eq!(kept.threads, page.threads);
    assert_eq!(
        kept.currency.checked, page.currency.checked,
        "it says from when it is"
    );
    let deep = model.threads(&name, 13, READER).await.expect("a page");
    assert_eq!((deep.known, deep.complete), (700, true));
    let read = model
        .thread(&name, &id(690), ThreadPlace::Page(0), READER)
        .await
        .expect("a thread");
    assert_eq!(read.subject, thread.subject);
    assert!(matches!(
        read.messages[0].content,
        crate::reading::Content::Read(_)
    ));
    assert!(
        machine.server.commands().is_empty(),
        "{:?}",
        machine.server.commands()
    );
    stop(model).await;
}

#[tokio::test]
async fn after_a_restart_only_what_is_new_is_fetched() {
    let machine = Machine::new(40).await;
    let name = group("misc.test");
    let model = machine.start(|_| {});
    model.threads(&name, 0, READER).await.expect("a page");
    stop(model).await;
    machine.server.add(&["misc.test"], Article::numbered(41));
    machine.server.forget();
    // What was kept counts as old at once.
    let model = machine.start(|config| config.cache.threads = std::time::Duration::ZERO);
    let page = model.threads(&name, 0, READER).await.expect("a page");
    assert_eq!(page.known, 41);
    let over = machine
        .server
        .commands()
        .into_iter()
        .map(|command| command.line);
    let over: Vec<String> = over.filter(|line| line.starts_with("OVER")).collect();
    assert_eq!(over, ["OVER 41-41"]);
    stop(model).await;
}

#[tokio::test]
async fn a_newsgroup_that_left_the_memory_is_read_from_the_file() {
    let machine = Machine::new(300).await;
    let name = group("misc.test");
    let model = machine.start(|_| {});
    model.threads(&name, 0, READER).await.expect("a page");
    model.forget(&name);
    machine.server.forget();
    let page = model.threads(&name, 5, READER).await.expect("a page");
    assert_eq!(page.known, 300);
    assert!(
        machine.server.commands().is_empty(),
        "{:?}",
        machine.server.commands()
    );
    stop(model).await;
}

#[tokio::test]
async fn numbers_are_the_same_after_a_restart() {
    let machine = Machine::new(30).await;
    let name = group("misc.test");
    let numbers = async |model: &Model| {
        model.threads(&name, 0, READER).await.expect("a page");
        let open = model.open(&name).await;
        open.with(|state| {
            (1..=30)
                .map(|n| state.table.article(&id(n)).and_then(|one| one.number()))
                .collect::<Vec<_>>()
        })
    };
    let model = machine.start(|_| {});
    let before = numbers(&model).await;
    assert!(before.iter().all(Option::is_some));
    stop(model).await;
    machine.server.renumber("misc.test", 901);
    let model = machine.start(|config| config.cache.threads = std::time::Duration::ZERO);
    assert_eq!(
        numbers(&model).await,
        before,
        "although the server counts anew"
    );
    stop(model).await;
}

#[tokio::test]
async fn a_newsgroup_that_no_server_lists_any_more_can_still_be_read() {
    let machine = Machine::new(5).await;
    let name = group("misc.test");
    let model = machine.start(|_| {});
    model.threads(&name, 0, READER).await.expect("a page");
    stop(model).await;
    let model = start(&machine.network, &machine.file, 0, |config| {
        config.servers.clear()
    });
    let page = model.threads(&name, 0, READER).await.expect("a page");
    assert_eq!(page.known, 5);
    let other = model.threads(&group("other"), 0, READER).await.unwrap_err();
    assert_eq!(other, Unread::NoServers);
    stop(model).await;
}
