//! Newsreaders on connections in memory, before servers in memory.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::JoinSet;
use tower::ServiceExt;
use weir_config::Secret;
use weir_engine::Vitals;
use weir_net::{Stream, Tls};
use weir_news_proto::{BlockReader, LineReader};
use weir_store::sqlite::File;
use weir_testkit::inn::Certificate;
use weir_testkit::zoo::news::Newsgroup;
use weir_web::{App, Auth};

use crate::config::Config;
use crate::inbound::nntp::{NntpServer, NntpService, NntpSockets};
use crate::rules::nntp;
use crate::tests::world::NewsWorld;

pub(super) const KEY: &str = "a key of sixteen letters or more";

/// This machine.
pub(super) const HERE: &str = "127.0.0.1";
/// In `web.trusted`.
pub(super) const FRIEND: &str = "198.51.100.7";
/// Anybody.
pub(super) const STRANGER: &str = "203.0.113.9";

/// Bytes on their way in each direction.
const WAY: usize = 64 << 10;

/// A server with its newsreaders.
pub(super) struct Rig {
    pub(super) world: NewsWorld,
    pub(super) server: NntpServer,
    pub(super) service: NntpService,
    pub(super) open: JoinSet<()>,
    app: App,
    web: weir_web::Config,
    certificate: Certificate,
    _state: TempDir,
}

/// What differs from the usual.
#[derive(Default)]
pub(super) struct Wishes {
    pub(super) public: bool,
    pub(super) auth_none: bool,
    pub(super) tls: bool,
}

impl Rig {
    /// `misc.test` with these articles.
    pub(super) async fn of(numbers: impl IntoIterator<Item = u64>) -> Self {
        let newsgroup = Newsgroup::new("misc.test").with(numbers);
        Self::with(vec![vec![newsgroup]], Wishes::default(), |_| {}).await
    }

    pub(super) async fn wishing(wishes: Wishes) -> Self {
        let newsgroup = Newsgroup::new("misc.test").with(1..=3);
        Self::with(vec![vec![newsgroup]], wishes, |_| {}).await
    }

    pub(super) async fn with(
        shelves: Vec<Vec<Newsgroup>>,
        wishes: Wishes,
        change: impl FnOnce(&mut Config),
    ) -> Self {
        let state = TempDir::new().expect("a directory");
        let certificate = Certificate::new(&["localhost"]).expect("a certificate");
        let mut world = NewsWorld::with(shelves, |config| {
            config.path_host = Some("weir.example".to_owned());
            config.public = wishes.public;
            if wishes.tls {
                let path = |name: &str, text: &str| {
                    let path = state.path().join(name);
                    std::fs::write(&path, text).expect("a file");
                    Some(path)
                };
                config.tls_cert = path("cert.pem", &certificate.certificate);
                config.tls_key = path("key.pem", &certificate.key);
            }
            change(config);
        })
        .await;
        let config = std::mem::take(&mut world.config);
        let web = weir_web::Config {
            api_key: Some(Secret::new(KEY)),
            trusted: vec!["198.51.100.0/24".parse().expect("a network")],
            auth: match wishes.auth_none {
                true => Auth::None,
                false => Auth::Required,
            },
            ..weir_web::Config::default()
        };
        let file = File::open(state.path().join("state.db")).expect("a file");
        let clock = Arc::new(weir_web::System);
        let app = App::open(web.clone(), &file, clock, Default::default(), Vec::new());
        let app = app.expect("the web part");
        let parts = (world.model.clone(), config.public);
        let sockets = NntpSockets::default();
        let server = NntpServer::new(nntp(&config), parts, sockets, Vitals::default());
        let server = server.expect("a server");
        world.config = config;
        Self {
            service: NntpService {
                parts: server.parts.clone(),
                porter: app.porter(),
            },
            app,
            web,
            server,
            world,
            open: JoinSet::new(),
            certificate,
            _state: state,
        }
    }

    /// Another key opens everything from now on.
    pub(super) fn replace_key(&self, key: &str) {
        let web = weir_web::Config {
            api_key: Some(Secret::new(key)),
            ..self.web.clone()
        };
        let apply = self.app.stage(web).expect("settings");
        apply();
    }

    /// Makes a key, by the API: its address there and itself.
    pub(super) async fn make_key(&self, name: &str, right: &str) -> (String, String) {
        let body = serde_json::json!({ "name": name, "right": right });
        let made = self.api("POST", "/api/v1/keys", body.to_string()).await;
        let key = made["key"].as_str().expect("a key").to_owned();
        (format!("/api/v1/keys/{}", made["id"]), key)
    }

    /// Asks the API with the first key. The file behind it keeps its own time, so the clock goes on meanwhile.
    pub(super) async fn api(&self, method: &str, path: &str, body: String) -> serde_json::Value {
        let request = axum::http::Request::builder()
            .method(method)
            .uri(path)
            .header("x-api-key", KEY)
            .header("content-type", "application/json")
            .body(axum::body::Body::from(body));
        tokio::time::resume();
        let answer = self.app.router().oneshot(request.expect("a request")).await;
        tokio::time::pause();
        let body = answer.expect("an answer").into_body();
        let bytes = axum::body::to_bytes(body, usize::MAX)
            .await
            .expect("a body");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    /// A newsreader on this machine that has read its greeting.
    pub(super) async fn here(&mut self) -> Newsreader {
        self.from(HERE).await
    }

    /// The same at another address.
    pub(super) async fn from(&mut self, address: &str) -> Newsreader {
        let mut newsreader = self.connect(address, WAY).expect("a place");
        let greeting = newsreader.line().await;
        assert!(greeting.starts_with("200 weir.example "), "{greeting}");
        newsreader
    }

    /// A newsreader that has read nothing, with room for so many bytes on the way; nothing if there is no place for it.
    pub(super) fn connect(&mut self, address: &str, way: usize) -> Option<Newsreader> {
        let (near, far) = tokio::io::duplex(way);
        let peer = SocketAddr::new(address.parse().expect("an address"), 4711);
        let turned_away = self.service.welcome(&mut self.open, far, peer, false);
        turned_away.is_none().then(|| Newsreader::new(near))
    }

    /// A newsreader with TLS from the first byte.
    pub(super) async fn secure(&mut self, address: &str) -> Newsreader<Box<dyn Stream>> {
        let (near, far) = tokio::io::duplex(WAY);
        let peer = SocketAddr::new(address.parse().expect("an address"), 4711);
        let turned_away = self.service.welcome(&mut self.open, far, peer, true);
        assert!(turned_away.is_none());
        let mut newsreader = Newsreader::new(self.tls(near).await);
        let greeting = newsreader.line().await;
        assert!(greeting.starts_with("200 "), "{greeting}");
        newsreader
    }

    /// The client's half of TLS.
    pub(super) async fn tls(&self, stream: DuplexStream) -> Box<dyn Stream> {
        let roots = weir_net::Roots::Pem(self.certificate.certificate.clone().into_bytes());
        let tls = Tls::new(&roots, None).expect("roots");
        let secured = tls.secure(Box::new(stream), "localhost").await;
        secured.expect("a handshake")
    }
}

/// Where newsreaders of this machine come in, for tests that have a world of their own.
pub(crate) struct Door {
    service: NntpService,
    open: JoinSet<()>,
    _server: NntpServer,
}

impl Door {
    pub(crate) fn of(server: NntpServer, app: &App) -> Self {
        let (parts, porter) = (server.parts.clone(), app.porter());
        Self {
            service: NntpService { parts, porter },
            open: JoinSet::new(),
            _server: server,
        }
    }

    /// The line with which a command of a new connection is answered.
    pub(crate) async fn ask(&mut self, command: &str) -> String {
        let (near, far) = tokio::io::duplex(WAY);
        let peer = SocketAddr::new(HERE.parse().expect("an address"), 4711);
        let turned_away = self.service.welcome(&mut self.open, far, peer, false);
        assert!(turned_away.is_none());
        let mut newsreader = Newsreader::new(near);
        newsreader.line().await;
        newsreader.ask(command).await
    }
}

/// The other end of a connection.
pub(super) struct Newsreader<S = DuplexStream> {
    pub(super) stream: S,
    pub(super) arrived: Vec<u8>,
}

impl<S: Stream> Newsreader<S> {
    pub(super) fn new(stream: S) -> Self {
        Self {
            stream,
            arrived: Vec::new(),
        }
    }

    pub(super) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream
            .write_all(bytes.as_ref())
            .await
            .expect("the server listens");
        self.stream.flush().await.expect("the server listens");
    }

    async fn fill(&mut self) -> bool {
        let mut piece = [0; 4096];
        let read = self.stream.read(&mut piece).await.unwrap_or(0);
        self.arrived.extend_from_slice(&piece[..read]);
        read > 0
    }

    /// The next line without its end; empty if there is none any more.
    pub(super) async fn line(&mut self) -> String {
        let mut reader = LineReader::new(1 << 20);
        loop {
            let fed = reader.feed(&self.arrived);
            self.arrived.drain(..fed.used);
            if fed.done {
                let line = reader.line().expect("a line");
                return String::from_utf8_lossy(line).into_owned();
            }
            if !self.fill().await {
                return String::new();
            }
        }
    }

    /// The block that follows, dots undone.
    pub(super) async fn block(&mut self) -> Vec<u8> {
        let mut reader = BlockReader::new(1 << 24);
        loop {
            let fed = reader.feed(&self.arrived);
            self.arrived.drain(..fed.used);
            if fed.done {
                return reader.into_bytes().expect("a block");
            }
            assert!(self.fill().await, "the block has no end");
        }
    }

    /// Asks, and reads one line.
    pub(super) async fn ask(&mut self, command: &str) -> String {
        self.send(format!("{command}\r\n")).await;
        self.line().await
    }

    /// Asks for a block; returns the code, and the block as text.
    pub(super) async fn list(&mut self, command: &str) -> (String, String) {
        let reply = self.ask(command).await;
        let block = self.block().await;
        let code = reply.split(' ').next().unwrap_or_default().to_owned();
        (code, String::from_utf8_lossy(&block).replace("\r\n", "\n"))
    }

    /// The code that a command is answered with, if it is answered with one line.
    pub(super) async fn code(&mut self, command: &str) -> u16 {
        let reply = self.ask(command).await;
        let code = reply.get(..3).and_then(|code| code.parse().ok());
        code.unwrap_or_else(|| panic!("{command}: {reply:?}"))
    }

    /// Signs in.
    pub(super) async fn sign_in(&mut self) {
        assert_eq!(self.code("AUTHINFO USER anybody").await, 381);
        assert_eq!(self.code(&format!("AUTHINFO PASS {KEY}")).await, 281);
    }

    /// The labels of CAPABILITIES, with their arguments.
    pub(super) async fn capabilities(&mut self) -> BTreeSet<String> {
        let (code, block) = self.list("CAPABILITIES").await;
        assert_eq!(code, "101");
        block.lines().map(str::to_owned).collect()
    }

    /// All that still comes.
    pub(super) async fn rest(&mut self) -> Vec<u8> {
        while self.fill().await {}
        std::mem::take(&mut self.arrived)
    }
}
