//! What somebody at a desk sees of a world: pages, API and figures, through the router and without a socket.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Method, Request, StatusCode};
use serde_json::Value;
use tokio::task::JoinSet;
use tower::ServiceExt;
use weir_config::Secret;
use weir_store::sqlite::File;
pub(super) use weir_testkit::html::{between, parts, text, times};
use weir_web::{App, Requests};

use super::super::*;
use crate::catalogue::Catalogue;
use crate::inbound::start::Answering;
use crate::look::Look;

const KEY: &str = "the-right-key";

/// A reader of pages. It ends with its world.
pub(super) struct Desk {
    router: Router,
    _walker: JoinSet<()>,
}

/// What somebody sees who looks everywhere at once.
pub(super) struct Everything {
    pub(super) overview: String,
    pub(super) list: String,
    pub(super) rows: Value,
    /// `/stats` in both forms.
    pub(super) stats: Value,
    pub(super) lines: String,
    pub(super) status: Value,
    pub(super) metrics: BTreeMap<String, u64>,
    pub(super) decisions: Vec<Value>,
}

/// The web part's clock is the world's.
struct WorldClock(Timeline);

impl weir_web::Clock for WorldClock {
    fn now(&self) -> jiff::Timestamp {
        let wall = self.0.wall(self.0.now());
        jiff::Timestamp::try_from(wall).expect("a time that can be written")
    }
}

impl Desk {
    pub(super) fn new(world: &World, state: &File) -> Self {
        let stop = world.forwarders.stop.clone();
        let swarms = Arc::clone(&world.tracker.swarms);
        let (catalogue, mut walker) = Catalogue::new(swarms, world.clock, stop);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { walker.run().await });
        let answering = Answering {
            tracker: Arc::clone(&world.tracker),
            clock: world.clock,
            tallies: world.tallies.clone(),
        };
        let listening = vec![("udp", at("192.0.2.200:6969"))];
        let look = Look::new(answering, listening, catalogue, world.forwarders.clone());
        let requests = Requests::default();
        let contribution = look
            .contribution(world.forwarders.clone(), &requests)
            .metrics(move |registry| crate::metrics::register(look, registry));
        let web = weir_web::Config {
            api_key: Some(Secret::new(KEY)),
            ..weir_web::Config::default()
        };
        let clock = Arc::new(WorldClock(world.timeline));
        let app = App::open(web, state, clock, requests, vec![contribution]);
        Self {
            router: app.expect("its tables are there").router(),
            _walker: tasks,
        }
    }

    pub(super) async fn everything(&self) -> Everything {
        Everything {
            overview: self.page("/").await,
            list: self.page("/upstreams").await,
            rows: self.json("/api/v1/upstreams").await,
            stats: self.json("/stats?format=json").await,
            lines: self.page("/stats").await,
            status: self.json("/api/v1/status").await,
            metrics: self.metrics().await,
            decisions: self.decisions().await,
        }
    }

    async fn ask(&self, method: Method, path: &str, body: String) -> (StatusCode, String) {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("x-api-key", KEY)
            .header("host", "weir:7070")
            .header("content-type", "application/json")
            .body(Body::from(body))
            .expect("a request");
        let from = ConnectInfo(at("198.51.100.200:4000"));
        request.extensions_mut().insert(from);
        let response = self.router.clone().oneshot(request).await;
        let (parts, body) = response.expect("it always answers").into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await;
        let body = body.expect("it is all there");
        let text = String::from_utf8(body.into()).expect("text");
        (parts.status, text)
    }

    pub(super) async fn page(&self, path: &str) -> String {
        let (status, text) = self.ask(Method::GET, path, String::new()).await;
        assert_eq!(status, StatusCode::OK, "{path}: {text}");
        text
    }

    pub(super) async fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.page(path).await).expect("JSON")
    }

    /// An operator acts on a forwarder. Returns what the API says of it then.
    pub(super) async fn act(&self, name: &str, action: &str) -> Value {
        let path = format!("/api/v1/upstreams/tracker/{name}/{action}");
        let body = r#"{"reason":"its account is renewed"}"#.to_owned();
        let (status, text) = self.ask(Method::POST, &path, body).await;
        assert_eq!(status, StatusCode::OK, "{path}: {text}");
        serde_json::from_str(&text).expect("JSON")
    }

    /// `/metrics`, by name with labels.
    async fn metrics(&self) -> BTreeMap<String, u64> {
        let text = self.page("/metrics").await;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines
            .filter_map(|line| {
                let (name, value) = line.rsplit_once(' ')?;
                let name = name.strip_prefix("weir_")?;
                Some((name.to_owned(), value.parse().ok()?))
            })
            .collect()
    }

    /// All decisions that a page lists, with those on the pages behind it: number, time and words.
    pub(super) async fn listed(&self, path: &str) -> Vec<(u64, String, String)> {
        let (mut all, mut path) = (Vec::new(), path.to_owned());
        loop {
            let page = self.page(&path).await;
            all.extend(parts(&page, "<tr id=\"d-").map(|row| {
                let (number, _) = row.split_once('"').expect("a number");
                let words = row.rsplit_once("<td>").map_or("", |(_, last)| last);
                let (words, _) = words.split_once("</td>").expect("a cell");
                let number = number.parse().expect("a number");
                (number, times(row)[0].to_owned(), text(words))
            }));
            let Some((before, _)) = page.split_once("\" rel=\"next\">") else {
                return all;
            };
            let (_, next) = before.rsplit_once("<a href=\"").expect("a link");
            path = next.replace("&#38;", "&");
        }
    }

    /// All decisions that the API knows, newest first.
    pub(super) async fn decisions(&self) -> Vec<Value> {
        let (mut all, mut before) = (Vec::new(), String::new());
        loop {
            let path = format!("/api/v1/decisions?limit=500&before={before}");
            let page = self.json(&path).await;
            all.extend(page["decisions"].as_array().expect("a list").clone());
            match page["before"].as_str() {
                Some(next) => before = next.to_owned(),
                None => return all,
            }
        }
    }
}
