//! A search front before scripted indexers, asked through its router as programs do.
//!
//! The tests of the crate and those of its whole (`tests/zoo`) compile this file; what is above it says whose front it is.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::{Method, Request};
use axum::response::Response;
use tokio::time::Instant;
use tower::ServiceExt;
use weir_config::{Secret, SecretUrl};
use weir_engine::dispatch::Availability;
use weir_engine::{
    Engine, Options, Outward, Restored, Rows, Timeline, UpstreamView, WallClock, Weather,
};
use weir_net::Ground;
use weir_store::sqlite::File;
use weir_store::state::SqliteState;
use weir_testkit::zoo::indexer::Indexer;

use weir_web::Front as _;

use super::{Config, Front, Storage, entries, policy};

pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const MINUTE: Duration = Duration::from_secs(60);
pub(super) const HOUR: Duration = Duration::from_secs(60 * 60);
pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The key of the web part.
pub(super) const KEY: &str = "the-right-key";
/// The wall time at which worlds begin: midnight.
pub(super) const BEGINS: u64 = 20_000 * 86_400;

/// The web part's clock, which stands still with the engine's.
struct Follows(Timeline);

impl weir_web::Clock for Follows {
    fn now(&self) -> jiff::Timestamp {
        let wall = self.0.wall(self.0.now());
        jiff::Timestamp::try_from(wall).expect("a time of this century")
    }
}

/// A running front.
pub(super) struct World {
    pub(super) front: Front,
    pub(super) engine: Engine,
    pub(super) router: Router,
    pub(super) timeline: Timeline,
    pub(super) began: Instant,
    pub(super) state: File,
    pub(super) directory: Arc<tempfile::TempDir>,
}

/// What a client was told.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) retry_after: Option<String>,
    pub(super) location: Option<String>,
    pub(super) body: String,
    pub(super) took: Duration,
}

impl World {
    pub(super) fn new(ground: Arc<dyn Ground>, config: &Config) -> Self {
        let directory = Arc::new(directory());
        Self::after(ground, config, directory, Duration::ZERO)
    }

    /// A world that finds what another left in a directory, so long after the beginning of that one.
    pub(super) fn after(
        ground: Arc<dyn Ground>,
        config: &Config,
        directory: Arc<tempfile::TempDir>,
        later: Duration,
    ) -> Self {
        let wall = UNIX_EPOCH + Duration::from_secs(BEGINS) + later;
        let timeline = Timeline::starting_at(wall);
        let state = File::open(directory.path().join("state.db")).expect("a file");
        let kept = Arc::new(SqliteState::open(state.clone()).expect("tables"));
        let wall: WallClock = Arc::new(move || timeline.wall(timeline.now()));
        let (rows, restored) = Rows::load("search", kept, timeline, wall).expect("rows");
        let options = Options {
            keeper: Some(rows.clone() as _),
            seed: Some(7),
            ..Options::new(timeline, Weather::default())
        };
        let engine = Engine::new(
            "search",
            policy(weir_testkit::policy::general(), config),
            options,
        );
        if let Some(past) = &restored.past {
            engine.restore_own(past);
        }
        let outward = Outward {
            engine: engine.clone(),
            rows: Some(rows),
            restored,
            ground,
            node: None,
        };
        let storage = Storage {
            state,
            cache: Some(directory.path().join("search.db")),
        };
        Self::of(config, outward, storage, timeline, directory)
    }

    /// A world that keeps nothing but its history.
    pub(super) fn fleeting(ground: Arc<dyn Ground>, config: &Config) -> Self {
        let directory = Arc::new(directory());
        let timeline = Timeline::starting_at(UNIX_EPOCH + Duration::from_secs(BEGINS));
        let options = Options {
            seed: Some(7),
            ..Options::new(timeline, Weather::default())
        };
        let engine = Engine::new(
            "search",
            policy(weir_testkit::policy::general(), config),
            options,
        );
        let outward = Outward {
            engine,
            rows: None,
            restored: Restored::default(),
            ground,
            node: None,
        };
        let storage = Storage {
            state: File::open(directory.path().join("state.db")).expect("a file"),
            cache: None,
        };
        Self::of(config, outward, storage, timeline, directory)
    }

    /// A world with this way out.
    pub(super) fn of(
        config: &Config,
        outward: Outward,
        storage: Storage,
        timeline: Timeline,
        directory: Arc<tempfile::TempDir>,
    ) -> Self {
        let (engine, state) = (outward.engine.clone(), storage.state.clone());
        let node = outward.node.clone();
        let front = Front::start(config, outward, storage).expect("a front");
        let web = weir_web::Config {
            api_key: Some(Secret::new(KEY)),
            ..weir_web::Config::default()
        };
        let app = weir_web::App::open_at(
            node,
            web,
            &state,
            Arc::new(Follows(timeline)),
            weir_web::Requests::default(),
            vec![
                front
                    .contribution(&weir_web::Requests::default())
                    .expect("a contribution"),
            ],
        );
        Self {
            front,
            engine,
            router: app.expect("a web part").router(),
            timeline,
            began: Instant::now(),
            state,
            directory,
        }
    }

    /// What Sonarr gets.
    pub(super) async fn get(&self, target: &str) -> Reply {
        self.ask(target, &[]).await
    }

    /// What somebody else gets, or Sonarr with more headers.
    pub(super) async fn ask(&self, target: &str, headers: &[(&str, &str)]) -> Reply {
        let mut all = vec![("x-api-key", KEY)];
        if !headers.iter().any(|(name, _)| *name == "user-agent") {
            all.push(("user-agent", "Sonarr/4.0.1 (linux)"));
        }
        all.extend_from_slice(headers);
        self.send(target, &all).await
    }

    /// What comes of exactly these headers, and of a host.
    pub(super) async fn send(&self, target: &str, headers: &[(&str, &str)]) -> Reply {
        self.submit(Method::GET, target, headers, "").await
    }

    /// The same by another method, with a body.
    pub(super) async fn submit(
        &self,
        method: Method,
        target: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Reply {
        let began = Instant::now();
        let answer = self.respond(method, target, headers, body).await;
        let (status, retry_after, location) = {
            let header = |name: &str| {
                let value = answer.headers().get(name)?;
                Some(value.to_str().expect("text").to_owned())
            };
            (
                answer.status().as_u16(),
                header("retry-after"),
                header("location"),
            )
        };
        let bytes = to_bytes(answer.into_body(), usize::MAX).await;
        let bytes = bytes.expect("a body");
        let took = began.elapsed();
        Reply {
            status,
            retry_after,
            location,
            body: String::from_utf8_lossy(&bytes).into_owned(),
            took,
        }
    }

    /// An answer as it begins.
    pub(super) async fn respond(
        &self,
        method: Method,
        target: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response {
        let request = Request::builder().method(method).uri(target);
        let mut request = request.header("host", "weir:7070");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = Body::from(body.to_owned());
        let mut request = request.body(body).expect("a request");
        let peer = SocketAddr::from(([127, 0, 0, 1], 4000));
        request.extensions_mut().insert(ConnectInfo(peer));
        let answer = self.router.clone().oneshot(request).await;
        answer.expect("an answer")
    }

    /// Time since the beginning.
    pub(super) fn time(&self) -> Duration {
        self.began.elapsed()
    }

    /// Sleeps until so much time has passed since the beginning.
    pub(super) async fn until(&self, time: Duration) {
        let wait = time.saturating_sub(self.time());
        if wait > 3 * HOUR {
            // Not minute by minute, in which nothing happens.
            tokio::time::advance(wait - HOUR).await;
            turn().await;
        }
        tokio::time::sleep_until(self.began + time).await;
        turn().await;
    }

    pub(super) fn view(&self, name: &str) -> UpstreamView {
        let all = self.engine.upstreams(0, usize::MAX);
        let found = all.iter().find(|figures| &*figures.name == name);
        let upstream = found.expect("it is configured").upstream;
        self.engine.upstream(upstream).expect("it is there")
    }

    /// `open`, `cooldown 300`: with the seconds that are left, rounded up.
    pub(super) fn state_of(&self, name: &str) -> String {
        let now = self.timeline.now();
        let left = |until| now.until(until).as_millis().div_ceil(1000);
        match self.view(name).status.state {
            Availability::Untried => "untried".to_owned(),
            Availability::Open => "open".to_owned(),
            Availability::Cooldown { until } => format!("cooldown {}", left(until)),
            Availability::Disabled { until } => format!("disabled {}", left(until)),
            Availability::Probing => "probing".to_owned(),
            Availability::Off => "off".to_owned(),
        }
    }

    /// Jobs that wait for their turn.
    pub(super) fn queued(&self) -> u32 {
        self.engine.status().counts.queued
    }

    /// Stops, and gives what is left.
    pub(super) async fn stop(self) -> Arc<tempfile::TempDir> {
        self.front.stop(SECOND).await;
        self.front.close();
        self.state.close();
        self.directory
    }
}

impl Reply {
    /// The titles of its releases, in their order.
    pub(super) fn titles(&self) -> Vec<String> {
        self.items()
            .iter()
            .map(|item| within(item, "title"))
            .collect()
    }

    /// The download links of its releases.
    pub(super) fn links(&self) -> Vec<String> {
        self.items()
            .iter()
            .map(|item| within(item, "link"))
            .collect()
    }

    pub(super) fn items(&self) -> Vec<&str> {
        let items = self.body.split("<item>").skip(1);
        items
            .map(|item| item.split("</item>").next().unwrap_or_default())
            .collect()
    }

    /// Who was skipped: indexer, reason, until.
    pub(super) fn skipped(&self) -> Vec<(String, String, Option<String>)> {
        let elements = self.body.split("<weir:skipped ").skip(1);
        elements
            .map(|element| {
                let element = element.split("/>").next().unwrap_or_default();
                let attribute = |name: &str| {
                    let (_, rest) = element.split_once(&format!("{name}=\""))?;
                    Some(rest.split('"').next().unwrap_or_default().to_owned())
                };
                let text = |name| attribute(name).unwrap_or_default();
                (text("indexer"), text("reason"), attribute("until"))
            })
            .collect()
    }

    /// Why this indexer was skipped; empty if it was not.
    pub(super) fn reason(&self, indexer: &str) -> String {
        let mut skipped = self.skipped().into_iter();
        let found = skipped.find(|(name, ..)| name == indexer);
        found.map_or_else(String::new, |(_, reason, _)| reason)
    }

    /// `offset` and `total` of the feed.
    pub(super) fn response(&self) -> (u64, u64) {
        let (_, rest) = self.body.split_once("<newznab:response ").expect("a feed");
        let number = |name: &str| {
            let (_, rest) = rest.split_once(&format!("{name}=\"")).expect("a number");
            let text = rest.split('"').next().expect("a number");
            text.parse().expect("a number")
        };
        (number("offset"), number("total"))
    }
}

/// A directory in memory where there is such a place: nothing here has to survive the machine.
fn directory() -> tempfile::TempDir {
    let memory = tempfile::tempdir_in("/dev/shm");
    memory
        .or_else(|_| tempfile::tempdir())
        .expect("a directory")
}

fn within(item: &str, name: &str) -> String {
    let (_, rest) = item.split_once(&format!("<{name}>")).expect("an element");
    rest.split("</").next().unwrap_or_default().to_owned()
}

/// A configuration with these indexers, by name.
pub(super) fn config<'a>(indexers: impl IntoIterator<Item = (&'a str, &'a Indexer)>) -> Config {
    let indexers = indexers
        .into_iter()
        .map(|(name, indexer)| entry(name, &indexer.url()));
    Config {
        indexers: indexers.collect(),
        ..Config::default()
    }
}

/// An indexer in a configuration.
pub(super) fn entry(name: &str, url: &str) -> entries::IndexerEntry {
    let url = SecretUrl::parse(url).expect("a URL");
    entries::IndexerEntry {
        api_key: Some(Secret::new("indexer-key-of-ours")),
        ..entries::IndexerEntry::new(name, url)
    }
}

/// Everything happens that needs no time.
pub(super) async fn turn() {
    for _ in 0..300 {
        tokio::task::yield_now().await;
    }
}
