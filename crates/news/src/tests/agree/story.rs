//! Plays a history: one world after another before the same servers.

use std::num::NonZeroU32;
use std::time::Duration;

use axum::http::Method;
use futures_util::future::join_all;
use tokio::time::Instant;
use weir_store::sqlite::File;
use weir_testkit::memory::Network;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::news::{self, Behaviour, News};

use super::book::Book;
use super::promises::Promises;
use super::world::World;
use super::{Mood, NAMES, Program, Step, Wanted, views};
use crate::config::Config;
use crate::reading::SilentServer;
use crate::tests::world::{SECOND, entry, test};

/// Everything there is.
pub(super) struct Story {
    network: Network,
    pub(super) servers: Vec<News>,
    config: Config,
    state: Option<File>,
    directory: tempfile::TempDir,
    pub(super) began: Instant,
    /// It is there but for a moment of each restart.
    world: Option<World>,
    pub(super) book: Book,
}

impl Story {
    /// Articles 1 to 60 are on all servers, 61 to 80 on the first, 81 to 100 on the second; and so many more from 1001,
    /// 2001 and 3001 on.
    pub(super) async fn begin(more: u64) -> Self {
        let network = Network::new();
        let mut config = Config {
            queue_size: NonZeroU32::new(8).expect("not zero"),
            posts_per_hour: NonZeroU32::new(5).expect("not zero"),
            path_host: Some("weir.example".to_owned()),
            ..Config::default()
        };
        let mut servers = Vec::new();
        for (place, name) in (1_u8..).zip(NAMES) {
            let (own, much) = match place {
                1 => (61..81, 2001..2001 + more),
                2 => (81..101, 3001..3001 + more),
                _ => (0..0, 0..0),
            };
            let all = (1..61_u64).chain(1001..1001 + more);
            let shelf = vec![test().with(all.chain(own).chain(much))];
            let address = ([192, 0, 2, place], 119).into();
            let started = News::start(Place::Memory(&network, address), shelf).await;
            servers.push(started.expect("a server"));
            config.servers.push(entry(name, place));
        }
        let directory = tempfile::tempdir().expect("a directory");
        let mut story = Self {
            network,
            servers,
            config,
            state: None,
            directory,
            began: Instant::now(),
            world: None,
            book: Book::default(),
        };
        story.start();
        // Its own tasks begin.
        turn().await;
        story.look();
        story
    }

    fn start(&mut self) {
        let file = File::open(self.directory.path().join("state.db")).expect("a file");
        let later = self.began.elapsed();
        let world = World::start(&self.network, &self.config, &file, later);
        self.state = Some(file);
        self.world = Some(world);
    }

    pub(super) fn world(&self) -> &World {
        self.world.as_ref().expect("it is there")
    }

    /// Does what a step says, and looks whether all that was recorded agrees with all before.
    pub(super) async fn go_on(&mut self, step: &Step) {
        match step {
            Step::Ask(all) => {
                let told = self.ask(all).await;
                self.look();
                for told in told.iter().flatten() {
                    self.book.tells(self.world(), told);
                }
            }
            Step::Page(page) => {
                let body = self.world().get(page).await;
                self.look();
                for told in views::silent(&body) {
                    self.book.tells(self.world(), &told);
                }
            }
            Step::Command(command) => {
                let world = self.world.as_mut().expect("it is there");
                let reply = world.command(command).await;
                self.look();
                for told in views::silent_in_line(&reply) {
                    self.book.tells(self.world(), &told);
                }
            }
            Step::Crowd(count) => self.crowd(*count).await,
            Step::Behave(whom, mood) => self.behave(*whom, *mood),
            Step::Operate(whom, action) => {
                self.operate(NAMES[*whom], action).await;
            }
            Step::Reload => self.reload(),
            Step::Restart(seconds) => self.restart(Duration::from_secs(*seconds)).await,
            Step::Pass(seconds) => self.pass(Duration::from_secs(*seconds)).await,
            Step::Look => {
                views::agree(self.world.as_ref().expect("it is there"), &mut self.book).await
            }
        }
        turn().await;
        self.look();
    }

    /// Looks at all records.
    pub(super) fn look(&mut self) {
        let world = self.world.as_ref().expect("it is there");
        self.book.look(world);
    }

    /// Everything comes to rest, and is looked at, before and after a restart.
    pub(super) async fn end(mut self) {
        for restart in [false, true] {
            if restart {
                self.restart(SECOND).await;
            }
            self.pass(400 * SECOND).await;
            views::agree(self.world.as_ref().expect("it is there"), &mut self.book).await;
        }
        self.world.take().expect("it is there").stop().await;
    }

    pub(super) async fn ask(&self, all: &[(Program, Wanted)]) -> Vec<Vec<SilentServer>> {
        let asked = all.iter();
        let asked = asked.map(|(program, wanted)| self.world().read(*program, *wanted));
        join_all(asked).await
    }

    /// Articles that nobody has asked for yet, while nothing is called.
    pub(super) async fn crowd(&self, count: u64) {
        let engine = &self.world().engine;
        engine.hold();
        let all: Vec<_> = (1..=count)
            .map(|number| (Program::Slrn, Wanted::Article(2 + number)))
            .collect();
        let goes_on = async {
            tokio::time::sleep(6 * SECOND).await;
            engine.release();
        };
        tokio::join!(self.ask(&all), goes_on);
    }

    pub(super) fn behave(&self, whom: usize, mood: Mood) {
        let server = &self.servers[whom];
        for command in ["ARTICLE", "POST"] {
            server.set_for(command, Behaviour::Good);
        }
        server.set(Behaviour::Good);
        match mood {
            Mood::Good => {}
            Mood::Closes => server.set(Behaviour::Close),
            Mood::Hangs => server.set(Behaviour::Hang),
            Mood::Busy => server.set(Behaviour::Line("400 Going down".to_owned())),
            Mood::Rejects => server.set(Behaviour::Line("502 Not for you".to_owned())),
            Mood::SlowArticles => server.set_for("ARTICLE", Behaviour::Hang),
            Mood::ReadOnly => server.set_for("POST", Behaviour::Line("440 No".to_owned())),
        }
        if !matches!(mood, Mood::SlowArticles | Mood::ReadOnly) {
            for command in ["ARTICLE", "POST"] {
                server.set_for(command, behaviour(mood));
            }
        }
        server.cut();
    }

    pub(super) async fn operate(&self, name: &str, action: &str) {
        let listed = self.config.servers.iter().any(|entry| entry.name == name);
        let target = format!("/api/v1/upstreams/news/{name}/{action}");
        let body = r#"{"reason":"renewal"}"#;
        let (status, body) = self.world().ask(Method::POST, &target, body).await;
        assert_eq!(status, if listed { 200 } else { 404 }, "{target}: {body}");
    }

    pub(super) fn reload(&mut self) {
        let last = NAMES[NAMES.len() - 1];
        match self.config.servers.len() == NAMES.len() {
            true => drop(self.config.servers.pop()),
            false => self.config.servers.push(entry(last, NAMES.len() as u8)),
        }
        self.world().model.apply(&self.config);
        self.look();
    }

    pub(super) async fn restart(&mut self, pause: Duration) {
        self.look();
        self.world.take().expect("it is there").stop().await;
        self.state.take().expect("it is open").close();
        tokio::time::sleep(pause).await;
        self.start();
        turn().await;
        let world = self.world.as_ref().expect("it is there");
        self.book.restart(world);
    }

    pub(super) async fn pass(&self, time: Duration) {
        let promises = Promises::made(self.world());
        tokio::time::sleep(time).await;
        turn().await;
        promises.kept(self.world());
    }
}

fn behaviour(mood: Mood) -> Behaviour {
    match mood {
        Mood::Closes => Behaviour::Close,
        Mood::Hangs => Behaviour::Hang,
        Mood::Busy => Behaviour::Line("400 Going down".to_owned()),
        Mood::Rejects => Behaviour::Line("502 Not for you".to_owned()),
        Mood::Good | Mood::SlowArticles | Mood::ReadOnly => Behaviour::Good,
    }
}

/// Lets everything happen that needs no time.
pub(super) async fn turn() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

/// One of the series.
pub(super) fn printed(number: u64) -> String {
    news::id(number)
}
