//! The front behind the web part without a listener, and small indexers to ask, for tests of pages and API.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Query, State};
use axum::http::{Method, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio_util::task::TaskTracker;
use weir_config::{Secret, SecretUrl};
use weir_engine::{Engine, Options, Outward, Restored, Timeline, Weather};
use weir_store::sqlite::File;
use weir_web::{App, Front as _, Requests, System};

use crate::config::Config;
use crate::config::indexer::{Indexer, Limits};
use crate::{Front, Storage};

pub(crate) const KEY: &str = "the-right-key";
/// A day in November 2026.
const TODAY: Duration = Duration::from_secs(1_794_830_000);

/// The front and the web part.
pub(crate) struct Rig {
    pub(crate) front: Front,
    pub(crate) router: Router,
    state: File,
    _directory: tempfile::TempDir,
}

/// An indexer that has some releases.
#[derive(Clone)]
pub(crate) struct Small {
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    searched: Arc<AtomicUsize>,
}

struct Shelf {
    name: &'static str,
    titles: Vec<&'static str>,
    slow: Duration,
    searched: Arc<AtomicUsize>,
}

impl Small {
    /// An indexer with releases of these titles, which answers after so long.
    pub(crate) async fn start(name: &'static str, titles: &[&'static str], slow: Duration) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let searched = Arc::new(AtomicUsize::new(0));
        let shelf = Shelf {
            name,
            titles: titles.to_vec(),
            slow,
            searched: searched.clone(),
        };
        let router = Router::new()
            .route("/api", get(answer))
            .with_state(Arc::new(shelf));
        let tasks = TaskTracker::new();
        tasks.spawn(async move { axum::serve(listener, router).await });
        Self {
            name,
            address,
            searched,
        }
    }

    /// How often it was searched.
    pub(crate) fn searched(&self) -> usize {
        self.searched.load(Ordering::Relaxed)
    }

    fn config(&self) -> Indexer {
        let url = SecretUrl::parse(&format!("http://{}/api", self.address)).unwrap();
        Indexer {
            min_request_interval: Some(Duration::ZERO),
            limits: Limits {
                per_hour: NonZeroU32::new(100),
                ..Limits::default()
            },
            timeout: Duration::from_secs(5),
            ..Indexer::new(self.name, url)
        }
    }
}

async fn answer(
    State(shelf): State<Arc<Shelf>>,
    Query(asked): Query<HashMap<String, String>>,
) -> Response {
    if asked.get("t").is_some_and(|t| t == "caps") {
        let caps = r#"<caps><limits max="100" default="100"/><searching><search available="yes" supportedParams="q"/></searching><categories><category id="4000" name="PC"><subcat id="4020" name="ISO"/></category></categories></caps>"#;
        return caps.into_response();
    }
    shelf.searched.fetch_add(1, Ordering::Relaxed);
    tokio::time::sleep(shelf.slow).await;
    let items = shelf.titles.iter().enumerate().map(|(number, title)| {
        let hash = blake3::hash(title.as_bytes()).to_hex();
        let (hash, size) = (&hash[..40], (number + 1) * 1_000_000);
        format!(
            "<item><title>{title}</title><guid>{}-{number}</guid><link>http://files.example/{number}?key=secret</link>\
             <pubDate>Mon, 16 Nov 2026 0{number}:00:00 +0000</pubDate><category>4020</category><size>{size}</size>\
             <torznab:attr name=\"infohash\" value=\"{hash}\"/><torznab:attr name=\"seeders\" value=\"{number}\"/>\
             <torznab:attr name=\"peers\" value=\"9\"/></item>",
            shelf.name
        )
    });
    let items: String = items.collect();
    let space = "xmlns:torznab=\"http://torznab.com/schemas/2015/feed\"";
    format!("<rss version=\"2.0\" {space}><channel>{items}</channel></rss>").into_response()
}

impl Rig {
    pub(crate) async fn new(indexers: &[Small]) -> Self {
        let config = Config {
            indexers: indexers.iter().map(Small::config).collect(),
            deadline: Duration::from_secs(2),
            ..Config::default()
        };
        let directory = tempfile::tempdir().unwrap();
        let state = File::open(directory.path().join("state.db")).unwrap();
        let options = Options::new(
            Timeline::starting_at(UNIX_EPOCH + TODAY),
            Weather::default(),
        );
        let outward = Outward {
            engine: Engine::new(
                "search",
                crate::policy(weir_testkit::policy::general(), &config),
                options,
            ),
            rows: None,
            restored: Restored::default(),
            ground: Arc::new(weir_net::System::new()),
        };
        let files = Storage {
            state: state.clone(),
            cache: None,
        };
        let front = Front::start(&config, outward, files).unwrap();
        let web = weir_web::Config {
            api_key: Some(Secret::new(KEY)),
            ..weir_web::Config::default()
        };
        let contributions = vec![front.contribution(&Requests::default()).unwrap()];
        let app = App::open(
            web,
            &state,
            Arc::new(System),
            Requests::default(),
            contributions,
        )
        .unwrap();
        Self {
            front,
            router: app.router(),
            state,
            _directory: directory,
        }
    }

    /// A request with the key, and its answer as it begins.
    pub(crate) async fn send(&self, method: Method, path: &str, body: &str) -> Response {
        use tower::ServiceExt;
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("x-api-key", KEY)
            .header("host", "weir.example:7070")
            .header("user-agent", "Sample/1.0")
            .body(Body::from(body.to_owned()))
            .unwrap();
        let peer: SocketAddr = "198.51.100.7:4000".parse().unwrap();
        request.extensions_mut().insert(ConnectInfo(peer));
        self.router.clone().oneshot(request).await.unwrap()
    }

    pub(crate) async fn text(
        &self,
        method: Method,
        path: &str,
        body: &str,
    ) -> (StatusCode, String) {
        let (parts, body) = self.send(method, path, body).await.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        let text = match parts.headers.get("location") {
            Some(place) if parts.status.is_redirection() => place.to_str().unwrap().to_owned(),
            _ => String::from_utf8(body.into()).unwrap(),
        };
        (parts.status, text)
    }

    pub(crate) async fn page(&self, path: &str) -> String {
        let (status, text) = self.text(Method::GET, path, "").await;
        assert_eq!(status, StatusCode::OK, "{path}: {text}");
        text
    }

    pub(crate) async fn json(&self, path: &str) -> serde_json::Value {
        serde_json::from_str(&self.page(path).await).unwrap()
    }

    /// Begins a search by the API and gives its id.
    pub(crate) async fn begin(&self, body: &str) -> String {
        let (status, text) = self.text(Method::POST, "/api/v1/searches", body).await;
        assert_eq!(status, StatusCode::ACCEPTED, "{text}");
        let body: serde_json::Value = serde_json::from_str(&text).unwrap();
        body["id"].as_str().unwrap().to_owned()
    }

    /// Waits until a search is over.
    pub(crate) async fn finished(&self, id: &str) -> serde_json::Value {
        loop {
            let body = self.json(&format!("/api/v1/searches/{id}")).await;
            if body["finished"] == true {
                return body;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) async fn end(self) {
        self.front.stop(Duration::from_secs(1)).await;
        self.front.close();
        self.state.close();
    }
}
