//! A web part with a clock set by hand, and a visitor that keeps cookies.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::ConnectInfo,
    http::{HeaderMap, Method, Request, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use jiff::Timestamp;
use tower::ServiceExt;
use weir_config::Secret;
use weir_engine::Node;
use weir_store::sqlite::File;
use weir_web::openapi::{ApiRoutes, Operation};
use weir_web::{
    Access, App, Clock, Config, Contribution, Icon, Refusal, Requests, Right, Section, Stats,
};

pub(crate) const KEY: &str = "the-right-key";
pub(crate) const FAR: &str = "198.51.100.7";

pub(crate) struct Hand(AtomicI64);

impl Hand {
    pub(crate) fn advance(&self, time: Duration) {
        self.0.fetch_add(time.as_secs() as i64, Ordering::SeqCst);
    }
}

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::SeqCst)).unwrap()
    }
}

pub(crate) struct Rig {
    pub(crate) app: App,
    pub(crate) clock: Arc<Hand>,
    pub(crate) state: File,
    pub(crate) router: Router,
    pub(crate) directory: Arc<tempfile::TempDir>,
    /// Which of several nodes it is.
    pub(crate) node: Option<Node>,
}

pub(crate) fn config() -> Config {
    Config {
        api_key: Some(Secret::new(KEY)),
        ..Config::default()
    }
}

pub(crate) fn rig() -> Rig {
    rig_with(config())
}

pub(crate) fn rig_with(config: Config) -> Rig {
    let clock = Arc::new(Hand(AtomicI64::new(1_794_700_000)));
    open(config, Arc::new(tempfile::tempdir().unwrap()), clock)
}

/// With these fronts instead of the sample.
pub(crate) fn rig_of(config: Config, contributions: Vec<Contribution>) -> Rig {
    let clock = Arc::new(Hand(AtomicI64::new(1_794_700_000)));
    let directory = Arc::new(tempfile::tempdir().unwrap());
    open_with(None, config, directory, clock, contributions)
}

/// One of several nodes.
pub(crate) fn rig_at(node: Node, config: Config, clock: &Arc<Hand>) -> Rig {
    let directory = Arc::new(tempfile::tempdir().unwrap());
    open_with(Some(node), config, directory, clock.clone(), vec![sample()])
}

pub(crate) fn hand() -> Arc<Hand> {
    Arc::new(Hand(AtomicI64::new(1_794_700_000)))
}

pub(crate) fn open(config: Config, directory: Arc<tempfile::TempDir>, clock: Arc<Hand>) -> Rig {
    open_with(None, config, directory, clock, vec![sample()])
}

fn open_with(
    node: Option<Node>,
    config: Config,
    directory: Arc<tempfile::TempDir>,
    clock: Arc<Hand>,
    contributions: Vec<Contribution>,
) -> Rig {
    let state = File::open(directory.path().join("state.db")).unwrap();
    let app = App::open_at(
        node.clone(),
        config,
        &state,
        clock.clone(),
        Requests::default(),
        contributions,
    )
    .unwrap();
    let router = app.router();
    Rig {
        app,
        clock,
        state,
        router,
        directory,
        node,
    }
}

impl Rig {
    /// The same data directory, opened again as after a restart.
    pub(crate) fn restarted(self, config: Config) -> Self {
        let node = self.node.clone();
        self.restarted_at(node, config)
    }

    /// The same with another run of its node.
    pub(crate) fn restarted_at(self, node: Option<Node>, config: Config) -> Self {
        let Self {
            app,
            clock,
            state,
            router,
            directory,
            ..
        } = self;
        state.close();
        drop((app, router, state));
        open_with(node, config, directory, clock, vec![sample()])
    }

    pub(crate) fn visitor(&self) -> Visitor<'_> {
        self.visitor_from(FAR)
    }

    pub(crate) fn visitor_from(&self, address: &str) -> Visitor<'_> {
        Visitor {
            rig: self,
            address: address.parse().unwrap(),
            cookies: Vec::new(),
        }
    }

    pub(crate) async fn send(&self, address: IpAddr, mut request: Request<Body>) -> Reply {
        request
            .extensions_mut()
            .insert(ConnectInfo(SocketAddr::from((address, 4000))));
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        Reply {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8_lossy(&bytes).into_owned(),
        }
    }
}

struct Figures;

impl Stats for Figures {
    fn section(&self) -> Section {
        let json = serde_json::json!({ "queue_depth": 3, "version": "lies" });
        Section {
            json: json.as_object().unwrap().clone(),
            text: vec!["queue_depth 3".into()],
            top_level: true,
        }
    }
}

fn refuse(refusal: &Refusal) -> Response {
    match refusal {
        Refusal::Throttled { seconds, .. } => (
            StatusCode::TOO_MANY_REQUESTS,
            [(header::RETRY_AFTER, seconds.to_string())],
            "feed",
        )
            .into_response(),
        Refusal::TooLittle { needs, has } => {
            let text = format!("needs {}, has {}", needs.words(), has.words());
            (StatusCode::FORBIDDEN, text).into_response()
        }
        _ => (StatusCode::UNAUTHORIZED, "<error code=\"100\"/>").into_response(),
    }
}

/// One route of each kind, for GET and POST.
fn sample() -> Contribution {
    let both = |path: &str, text: &'static str| {
        Router::new().route(path, get(async move || text).post(async move || text))
    };
    Contribution::new("sample", "Sample", Icon::Tracker)
        .router(Right::Read, both("/page", "page"))
        .router(
            Right::Read,
            Router::new()
                .route(
                    "/panics",
                    get(async || -> &'static str { panic!("on purpose") }),
                )
                .route(
                    "/slow",
                    get(async || std::future::pending::<&'static str>().await),
                )
                .route("/takes", post(async |body: String| body)),
        )
        .router(Right::Post, both("/writes", "writes"))
        .api(sample_api())
        .router_for(Access::Feed(refuse), Right::Search, both("/feed", "feed"))
        .router_for(Access::Open, Right::Everything, both("/open", "open"))
        .stats(Arc::new(Figures))
        .metrics(|registry| {
            registry.register(
                "queue_depth",
                "Jobs that wait",
                prometheus_client::metrics::gauge::ConstGauge::new(3i64),
            );
        })
}

fn sample_api() -> ApiRoutes {
    let get = Operation::get("/api/v1/sample", "A sample")
        .needs(Right::Read)
        .answers_text(StatusCode::OK, "api");
    let post = Operation::post("/api/v1/sample", "A sample").answers_text(StatusCode::OK, "api");
    ApiRoutes::new()
        .route(get, async || "api")
        .route(post, async || "api")
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    /// The token in the page's form.
    pub(crate) fn token(&self) -> String {
        let (_, rest) = self
            .body
            .split_once("name=\"csrf\" value=\"")
            .expect("a form");
        rest.split_once('"').unwrap().0.to_owned()
    }
}

pub(crate) struct Visitor<'a> {
    rig: &'a Rig,
    address: IpAddr,
    pub(crate) cookies: Vec<(String, String)>,
}

impl Visitor<'_> {
    pub(crate) async fn get(&mut self, path: &str) -> Reply {
        self.ask(Method::GET, path, &[], None).await
    }

    pub(crate) async fn post(&mut self, path: &str, form: &str) -> Reply {
        let kind = ("content-type", "application/x-www-form-urlencoded");
        self.ask(Method::POST, path, &[kind], Some(form)).await
    }

    pub(crate) async fn ask(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> Reply {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if !self.cookies.is_empty() {
            let pairs: Vec<String> = self
                .cookies
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            request = request.header("cookie", pairs.join("; "));
        }
        let body = body.map_or_else(Body::empty, |text| Body::from(text.to_owned()));
        let reply = self
            .rig
            .send(self.address, request.body(body).unwrap())
            .await;
        for set in reply.headers.get_all("set-cookie") {
            let (name, rest) = set.to_str().unwrap().split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            self.cookies.retain(|(known, _)| known != name);
            if !value.is_empty() {
                self.cookies.push((name.to_owned(), value.to_owned()));
            }
        }
        reply
    }

    /// Fills in the form.
    pub(crate) async fn sign_in(&mut self, key: &str) -> Reply {
        let token = self.get("/sign-in").await.token();
        self.post("/sign-in", &format!("csrf={token}&key={key}"))
            .await
    }

    pub(crate) fn signed_in(&self) -> bool {
        self.cookies.iter().any(|(name, _)| name == "weir_session")
    }
}
