//! A news front before servers in memory, asked as pages, newsreaders and programs do.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Method, Request};
use serde_json::Value;
use tower::ServiceExt;
use weir_config::Secret;
use weir_engine::{Engine, Options, Outward, Rows, Timeline, Vitals, WallClock, Weather};
use weir_net::Roots;
use weir_store::sqlite::File;
use weir_store::state::SqliteState;
use weir_testkit::memory::Network;
use weir_web::App;

use super::{Program, Wanted};
use crate::config::Config;
use crate::contribution::contribution;
use crate::inbound::nntp::tests::world::Door;
use crate::inbound::nntp::{NntpServer, NntpSockets};
use crate::marks::Marks;
use crate::model::{Model, ThreadPlace};
use crate::policy;
use crate::posting::{NotPosted, Poster};
use crate::reader::Reader;
use crate::reading::{SilentServer, Unread};
use crate::rules::nntp;
use crate::tests::world::{SECOND, group, id};

const KEY: &str = "the-right-key-for-this";

/// The web part's clock, which stands still with the engine's.
struct Follows(Timeline);

impl weir_web::Clock for Follows {
    fn now(&self) -> jiff::Timestamp {
        let wall = self.0.wall(self.0.now());
        jiff::Timestamp::try_from(wall).expect("a time of this century")
    }
}

pub(super) struct World {
    pub(super) model: Arc<Model>,
    pub(super) engine: Engine,
    pub(super) timeline: Timeline,
    router: Router,
    door: Door,
}

impl World {
    /// So long after the beginning, with what an earlier one has written.
    pub(super) fn start(network: &Network, config: &Config, file: &File, later: Duration) -> Self {
        let timeline = Timeline::starting_at(UNIX_EPOCH + 86_400 * 20_000 * SECOND + later);
        let wall: WallClock = Arc::new(move || timeline.wall(timeline.now()));
        let kept = Arc::new(SqliteState::open(file.clone()).expect("tables"));
        let (rows, restored) = Rows::load("news", kept, timeline, wall).expect("rows");
        let options = Options {
            keeper: Some(rows.clone() as _),
            seed: Some(7),
            ..Options::new(timeline, Weather::default())
        };
        let general = weir_testkit::policy::general();
        let engine = Engine::new("news", policy::policy(general, config), options);
        let outward = Outward {
            engine: engine.clone(),
            rows: Some(rows),
            restored,
            ground: network.ground(),
            node: None,
        };
        let model = Model::start(config, outward, &Roots::default(), None).expect("a model");
        let (parts, sockets) = ((model.clone(), false), NntpSockets::default());
        let server = NntpServer::new(nntp(config), parts, sockets, Vitals::default());
        let server = server.expect("a server");
        let marks = Marks::open(file.clone()).expect("tables");
        let reader = Reader::with_desk(model.clone(), marks, Arc::new(Follows(timeline)));
        let contribution = contribution(&model, &reader, false, &server);
        let web = weir_web::Config {
            api_key: Some(Secret::new(KEY)),
            ..weir_web::Config::default()
        };
        let clock = Arc::new(Follows(timeline));
        let app = App::open(web, file, clock, Default::default(), vec![contribution]);
        let app = app.expect("a web part");
        Self {
            door: Door::of(server, &app),
            router: app.router(),
            model,
            engine,
            timeline,
        }
    }

    /// A page or an answer of the API, and its status.
    pub(super) async fn ask(&self, method: Method, target: &str, body: &str) -> (u16, String) {
        let request = Request::builder()
            .method(method)
            .uri(target)
            .header("host", "weir:7070")
            .header("x-api-key", KEY)
            .header("content-type", "application/json")
            .body(Body::from(body.to_owned()));
        let mut request = request.expect("a request");
        let peer = SocketAddr::from(([127, 0, 0, 1], 4000));
        request.extensions_mut().insert(ConnectInfo(peer));
        let answer = self.router.clone().oneshot(request).await;
        let answer = answer.expect("an answer");
        let status = answer.status().as_u16();
        let bytes = axum::body::to_bytes(answer.into_body(), usize::MAX).await;
        let bytes = bytes.expect("a body");
        (status, String::from_utf8_lossy(&bytes).into_owned())
    }

    pub(super) async fn get(&self, target: &str) -> String {
        self.ask(Method::GET, target, "").await.1
    }

    pub(super) async fn json(&self, target: &str) -> Value {
        let (status, body) = self.ask(Method::GET, target, "").await;
        assert_eq!(status, 200, "{target}: {body}");
        serde_json::from_str(&body).expect("JSON")
    }

    /// What a newsreader is told in one line.
    pub(super) async fn command(&mut self, command: &str) -> String {
        self.door.ask(command).await
    }

    /// What somebody is told of servers that gave nothing.
    pub(super) async fn read(&self, program: Program, wanted: Wanted) -> Vec<SilentServer> {
        let (model, asker) = (&self.model, self.engine.asker(program.name()));
        let name = group("misc.test");
        let silent = match wanted {
            Wanted::Article(number) => model.article(&id(number), asker).await.map(|_| Vec::new()),
            Wanted::Newsgroups => {
                let list = model.newsgroups(asker).await;
                list.map(|list| list.currency.silent.clone())
            }
            Wanted::Threads(page) => {
                let page = model.threads(&name, page, asker).await;
                page.map(|page| page.currency.silent.clone())
            }
            Wanted::Thread(root) => {
                let place = ThreadPlace::Page(0);
                let view = model.thread(&name, &id(root), place, asker).await;
                view.map(|view| view.currency.silent.clone())
            }
            Wanted::Lines(first) => {
                let mut lines = model.numbered_lines(&name, first..=first + 20, asker);
                loop {
                    match lines.next().await {
                        Ok(Some(_)) => {}
                        Ok(None) => break Ok(Vec::new()),
                        Err(unread) => break Err(unread),
                    }
                }
            }
            Wanted::Dates => {
                model.look_at(&[&name], asker);
                Ok(Vec::new())
            }
            Wanted::Post | Wanted::Posts => {
                let times = if wanted == Wanted::Post { 1 } else { 8 };
                for _ in 0..times {
                    // What came of it is in the records.
                    drop(self.post(program).await);
                }
                Ok(Vec::new())
            }
        };
        match silent {
            Ok(silent) | Err(Unread::Unreachable(silent)) => silent,
            Err(_) => Vec::new(),
        }
    }

    pub(super) async fn post(&self, program: Program) -> Result<(), NotPosted> {
        let article =
            "From: Ann <a@b.example>\r\nNewsgroups: misc.test\r\nSubject: Mine\r\n\r\nText\r\n";
        let (poster, asker) = (
            Poster::of(Some(program.name()), None),
            self.engine.asker(program.name()),
        );
        let posted = self.model.post(article.into(), poster, asker).await;
        posted.map(drop)
    }

    /// Whether nobody is still being asked anything.
    pub(super) fn is_quiet(&self) -> bool {
        let rows = self.engine.upstreams(0, usize::MAX).into_iter();
        let mut views = rows.filter_map(|row| self.engine.upstream(row.upstream));
        let is_idle = views.all(|view| view.status.in_flight + view.status.queued == 0);
        is_idle && !self.model.is_running()
    }

    pub(super) async fn stop(self) {
        self.model.stop(SECOND).await;
        self.model.close();
    }
}
