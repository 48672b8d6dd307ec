//! *Send a test* for people and programs, through the router; hooks on loopback.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::{Method, Request};
use tower::ServiceExt;
use weir_store::sqlite::File;
use weir_web::Front as _;

use super::*;
use crate::front::Storage;

const KEY: &str = "the-right-key-of-all";

struct Site {
    router: Router,
    front: Front,
    _directory: tempfile::TempDir,
}

impl Site {
    fn new(config: &Config) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let state = File::open(directory.path().join("state.db")).expect("a file");
        let timeline = Timeline::starting_at(UNIX_EPOCH + Duration::from_secs(BEGINS));
        let options = Options::new(timeline, Weather::default());
        let general = weir_testkit::policy::general();
        let engine = Engine::new("notify", policy(general, config), options);
        let ground = Arc::new(weir_net::System::with_name_servers(Vec::new()));
        let outward = Outward::without_rows(engine, ground);
        let storage = Storage {
            state: state.clone(),
            clock: Arc::new(weir_web::System),
            host: "mill".to_owned(),
        };
        let front = Front::start(config, outward, Weather::default(), storage).expect("a front");
        let requests = weir_web::Requests::default();
        let contribution = front.contribution(&requests).expect("a contribution");
        let web = weir_web::Config {
            api_key: Some(Secret::new(KEY)),
            ..weir_web::Config::default()
        };
        let clock = Arc::new(weir_web::System);
        let app = weir_web::App::open(web, &state, clock, requests, vec![contribution]);
        Self {
            router: app.expect("a web part").router(),
            front,
            _directory: directory,
        }
    }

    async fn send(&self, method: Method, path: &str, key: bool, body: &str) -> (u16, String) {
        let request = Request::builder().method(method).uri(path);
        let mut request = request.header("host", "weir:7070");
        if key {
            request = request.header("x-api-key", KEY);
        }
        let mut request = request
            .body(Body::from(body.to_owned()))
            .expect("a request");
        let peer = SocketAddr::from(([127, 0, 0, 1], 4000));
        request.extensions_mut().insert(ConnectInfo(peer));
        let answer = self
            .router
            .clone()
            .oneshot(request)
            .await
            .expect("an answer");
        let status = answer.status().as_u16();
        let body = to_bytes(answer.into_body(), 1 << 20).await.expect("a body");
        (status, String::from_utf8_lossy(&body).into_owned())
    }

    async fn post(&self, body: &str) -> (u16, Value) {
        let (status, body) = self
            .send(Method::POST, "/api/v1/notify/test", true, body)
            .await;
        (status, serde_json::from_str(&body).unwrap_or_default())
    }
}

async fn loopback(behaviour: Behaviour) -> Hook {
    Hook::start(Place::Loopback, behaviour)
        .await
        .expect("a port")
}

#[tokio::test]
async fn a_test_says_what_each_hook_answered() {
    let good = loopback(Behaviour::good()).await;
    let bad = loopback(Behaviour::Says(404, "Unknown Webhook".to_owned())).await;
    let site = Site::new(&config(vec![
        entry("good", &good, HookKind::Webhook),
        entry("bad", &bad, HookKind::Slack),
    ]));
    let (status, body) = site.post("").await;
    assert_eq!(status, 200);
    assert_eq!(
        body["results"],
        serde_json::json!([
            { "hook": "good", "arrived": true, "sentence": "The message arrived: it answered 200." },
            { "hook": "bad", "arrived": false, "sentence": "The message did not arrive: it answered 404: Unknown Webhook." },
        ])
    );
    let sent: Value = serde_json::from_str(&good.received()[0].body).expect("JSON");
    assert_eq!(
        (&sent["test"], &sent["title"]),
        (&true.into(), &"Test message".into())
    );
    // One of them, which is tried although it cools down.
    bad.set(Behaviour::good());
    let (status, body) = site.post("{\"hook\": \"bad\"}").await;
    assert_eq!(
        (status, &body["results"][0]["arrived"]),
        (200, &true.into())
    );
    assert_eq!((good.received().len(), bad.received().len()), (1, 2));
    let rows = site.front.desk().hooks();
    assert_eq!(
        (rows[0].kind, &*rows[0].href),
        ("Webhook", "/upstreams/notify/good")
    );
    let (_, arrived, sentence) = rows[1].last_test.as_ref().expect("a test");
    assert!(*arrived && sentence == "The message arrived: it answered 200.");
    assert!(!rows[0].place.contains("s3cr3t"));
}

#[tokio::test]
async fn a_wrong_request_says_what_is_wrong_and_sends_nothing() {
    let hook = loopback(Behaviour::good()).await;
    let site = Site::new(&config(vec![entry("phone", &hook, HookKind::Discord)]));
    let (status, body) = site.post("{\"hook\": \"fone\"}").await;
    assert_eq!(
        (status, &body["advice"]),
        (404, &"The hooks are phone.".into())
    );
    let (status, body) = site.post("{\"hok\": \"phone\"}").await;
    assert_eq!(status, 422);
    assert!(
        body["error"].as_str().expect("words").contains("hok"),
        "{body}"
    );
    let (status, _) = site
        .send(Method::POST, "/api/v1/notify/test", false, "")
        .await;
    assert_eq!(status, 401, "nobody without a key");
    let (status, _) = site
        .send(Method::GET, "/api/v1/notify/test", true, "")
        .await;
    assert_eq!(status, 405);
    let (status, _) = site
        .send(Method::POST, "/settings/notify/test", false, "hook=phone")
        .await;
    assert!(status == 303 || status == 401 || status == 403, "{status}");
    assert_eq!(hook.received().len(), 0);
    let none = Site::new(&config(Vec::new()));
    let (status, body) = none.post("").await;
    assert_eq!(
        (status, &body["error"]),
        (404, &"No hook is configured.".into())
    );
}

#[tokio::test]
async fn hooks_are_upstreams_like_any_other() {
    let hook = loopback(Behaviour::Says(410, "gone".to_owned())).await;
    let site = Site::new(&config(vec![entry("phone", &hook, HookKind::Discord)]));
    site.post("").await;
    let (status, body) = site
        .send(Method::GET, "/api/v1/upstreams/notify/phone", true, "")
        .await;
    assert_eq!(status, 200);
    assert!(body.contains("it answered 410: gone"), "{body}");
    assert!(!body.contains("s3cr3t"), "{body}");
    let (status, page) = site
        .send(Method::GET, "/upstreams/notify/phone", true, "")
        .await;
    assert_eq!(status, 200);
    assert!(
        page.contains("Last test") && page.contains("Discord"),
        "{page}"
    );
    assert!(!page.contains("Weir itself at"), "it is not tried unasked");
    let (_, metrics) = site.send(Method::GET, "/metrics", true, "").await;
    assert!(
        metrics.contains("front=\"notify\",upstream=\"phone\""),
        "{metrics}"
    );
}
