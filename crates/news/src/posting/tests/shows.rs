//! Posts are to be seen at once, marked until a server lists them, also after a restart.

use std::sync::Arc;

use weir_engine::dispatch::Asker;
use weir_engine::{Engine, Options, Outward, Timeline, Weather};
use weir_net::Roots;
use weir_news_proto::MessageId;
use weir_store::sqlite::File;
use weir_testkit::memory::Network;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::news::{self, Behaviour, News};

use super::deliveries::{article, post};
use crate::config::Config;
use crate::model::{Model, ThreadPlace};
use crate::policy;
use crate::posting::outbox::Outbox;
use crate::posting::{PostState, Poster};
use crate::reading::{Content, ThreadView};
use crate::tests::world::*;

const READER: Asker = Asker::NOBODY;

/// An answer to an article of the series.
fn answer(number: u64) -> bytes::Bytes {
    article(
        "misc.test",
        &format!("References: {}\r\n", news::id(number)),
    )
}

/// The mark that an article has in its thread; `None` if it is not there.
fn mark(view: &ThreadView, id: &MessageId) -> Option<Option<PostState>> {
    let message = view
        .messages
        .iter()
        .find(|message| view.outline[message.row].id == *id)?;
    let Content::Read(read) = &message.content else {
        return None;
    };
    Some(read.post.as_ref().map(|note| note.state))
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_in_its_thread_at_once_and_marked_until_a_server_lists_it() {
    let world = NewsWorld::of(1..=3).await;
    world.settled().await;
    let before = world.thread(3).await.expect("a thread");
    assert_eq!(before.outline.len(), 1);
    // Its list is late: nobody has seen the article there yet.
    world.servers[0].set_for("GROUP", Behaviour::Far(20 * SECOND));
    let id = post(&world, answer(3)).await.expect("it is posted");
    let view = world.thread(3).await.expect("a thread");
    assert_eq!(mark(&view, &id), Some(Some(PostState::Sent)));
    assert_eq!(view.outline[1].parent, Some(0));
    let page = world.page(0).await.expect("a page");
    let row = page
        .threads
        .iter()
        .find(|row| row.root == super::shows::root(3))
        .expect("its thread");
    assert_eq!((row.articles, &row.last_id), (2, &id));
    let read = world.model.article(&id, READER).await.expect("an article");
    assert_eq!(
        read.post.as_ref().map(|note| note.state),
        Some(PostState::Sent)
    );

    tokio::time::sleep(MINUTE).await;
    world.page(0).await.expect("a page");
    tokio::time::sleep(MINUTE).await;
    let view = world.thread(3).await.expect("a thread");
    assert_eq!(view.outline.len(), 2, "it is there once");
    assert_eq!(mark(&view, &id), Some(Some(PostState::Seen)));
    let read = world.model.article(&id, READER).await.expect("an article");
    assert!(
        read.post
            .as_ref()
            .is_some_and(|note| note.sentence().is_none())
    );
    assert_eq!(read.server.as_ref(), "one");
    assert!(
        world.servers[0].count(&format!("ARTICLE {id}")) > 0,
        "as the server has it"
    );
}

#[tokio::test(start_paused = true)]
async fn a_new_thread_is_in_the_list_and_a_cancel_is_not() {
    let world = NewsWorld::of(1..=3).await;
    world.settled().await;
    world.servers[0].set_for("GROUP", Behaviour::Hang);
    let id = post(&world, article("misc.test", ""))
        .await
        .expect("it is posted");
    let page = world.page(0).await.expect("a page");
    assert_eq!((page.known, &page.threads[0].root), (4, &id));
    let cancel = article("misc.test", &format!("Control: cancel {id}\r\n"));
    post(&world, cancel).await.expect("it is sent");
    let page = world.page(0).await.expect("a page");
    assert_eq!(page.known, 4);
    let read = world.model.article(&id, READER).await.expect("an article");
    let says = read.post.as_ref().and_then(|note| note.sentence());
    assert!(says.expect("a sentence").starts_with("Cancelled"));
}

fn root(number: u64) -> MessageId {
    id(number)
}

/// Real time and a real file from here on, so nothing waits for anything long.
struct Machine {
    network: Network,
    server: News,
    directory: tempfile::TempDir,
}

impl Machine {
    async fn new() -> Self {
        let network = Network::new();
        let place = Place::Memory(&network, ([192, 0, 2, 1], 119).into());
        let server = News::start(place, vec![test().with(1..=3)]).await;
        Self {
            network,
            server: server.expect("a server"),
            directory: tempfile::tempdir().expect("a directory"),
        }
    }

    fn start(&self) -> (Arc<Model>, File) {
        let config = Config {
            servers: vec![entry("one", 1)],
            ..Config::default()
        };
        let timeline = Timeline::starting_at(std::time::UNIX_EPOCH + 86_400 * 20_000 * SECOND);
        let options = Options::new(timeline, Weather::default());
        let engine = Engine::new("news", policy::policy(general(), &config), options);
        let outward = Outward::without_rows(engine, self.network.ground());
        let state = File::open(self.directory.path().join("state.db")).expect("a file");
        let outbox = Outbox::open(Some(state.clone())).expect("an outbox");
        let model = Model::start_with(&config, outward, &Roots::default(), None, outbox);
        (model.expect("a model"), state)
    }
}

async fn stop((model, state): (Arc<Model>, File)) {
    model.stop(SECOND).await;
    model.close();
    drop(model);
    state.close();
}

#[tokio::test]
async fn what_no_server_lists_yet_is_there_after_a_restart() {
    let machine = Machine::new().await;
    let running = machine.start();
    let id = running
        .0
        .post(answer(3), Poster::keyholder(), READER)
        .await
        .expect("it is posted");
    let lock = |raw: &[u8]| {
        let text = String::from_utf8_lossy(raw).into_owned();
        let line = text.lines().find(|line| line.starts_with("Cancel-Lock:"));
        line.map(str::to_owned)
    };
    let first = lock(&machine.server.posted()[0].bytes);
    stop(running).await;

    machine
        .server
        .set_for("GROUP", Behaviour::Line("403 Not now".to_owned()));
    let running = machine.start();
    let model = &running.0;
    let own = model.own(&id).expect("it is remembered");
    assert_eq!(
        (own.state, own.server.as_deref()),
        (PostState::Sent, Some("one"))
    );
    let place = ThreadPlace::Page(0);
    let view = model
        .thread(
            &group("misc.test"),
            &crate::tests::world::id(3),
            place,
            READER,
        )
        .await;
    let view = view.expect("a thread");
    assert_eq!(mark(&view, &id), Some(Some(PostState::Sent)));
    // The key to the lock is the same, or nobody could take it back.
    let cancel = article("misc.test", &format!("Control: cancel {id}\r\n"));
    model
        .post(cancel, Poster::keyholder(), READER)
        .await
        .expect("it is sent");
    let key = model.outbox.lock().lock(&id);
    assert_eq!(first, Some(format!("Cancel-Lock: {key}")));
    stop(running).await;
}

#[tokio::test]
async fn what_was_being_sent_when_weir_stopped_is_found_out_about() {
    let machine = Machine::new().await;
    let running = machine.start();
    machine
        .server
        .set_next("POST", 1, Behaviour::DieAfterArticle);
    machine.server.set_for("STAT", Behaviour::Close);
    let id = running
        .0
        .post(answer(3), Poster::keyholder(), READER)
        .await
        .expect("Weir has taken it over");
    stop(running).await;
    let running = machine.start();
    let unsure = running.0.outbox.find(&id).expect("it is remembered");
    assert_eq!(unsure.note.state, PostState::Unsure);
    assert!(unsure.raw.is_some(), "it can be sent again");
    stop(running).await;
}
