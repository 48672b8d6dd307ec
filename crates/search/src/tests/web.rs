//! Pages and API as the web part serves them, before indexers on this machine.

use axum::http::Method;
use axum::response::Response;

use super::*;

/// Who asks here.
const SAMPLE: [(&str, &str); 2] = [("x-api-key", KEY), ("user-agent", "Sample/1.0")];

/// An indexer on this machine with releases of these titles. The same title is the same release everywhere.
pub(super) async fn library(titles: &[&str]) -> Indexer {
    let items = titles.iter().zip(1_u32..).map(|(title, number)| Item {
        title: (*title).to_owned(),
        size: u64::from(number) * 1_000_000,
        published: BEGINS as i64 - 3600 * i64::from(number),
        category: 4020,
        info_hash: Some(blake3::hash(title.as_bytes()).to_hex()[..40].to_owned()),
        ..Item::numbered(number)
    });
    let setup = Setup {
        items: items.collect(),
        caps: Caps {
            searching: vec![("search", "q")],
            categories: vec![(4000, "PC", vec![(4020, "ISO")])],
            ..Caps::default()
        },
        secret: "secret".to_owned(),
        ..Setup::default()
    };
    let started = Indexer::start(Place::Loopback, setup).await;
    started.expect("a port")
}

/// The same, which answers only after so long.
pub(super) async fn slow_library(titles: &[&str], slow: Duration) -> Indexer {
    let indexer = library(titles).await;
    indexer.set(Behaviour::Slow(slow));
    indexer
}

impl World {
    /// A front before these on loopback, which answers within two seconds.
    pub(super) fn on_loopback<'a>(
        indexers: impl IntoIterator<Item = (&'a str, &'a Indexer)>,
    ) -> Self {
        let config = Config {
            min_request_interval: Some(Duration::ZERO),
            deadline: 2 * SECOND,
            ..config(indexers)
        };
        let ground = weir_net::System::with_name_servers(Vec::new());
        Self::fleeting(Arc::new(ground), &config)
    }

    pub(super) async fn open(&self, method: Method, path: &str, body: &str) -> Response {
        self.respond(method, path, &SAMPLE, body).await
    }

    /// The status, and the text or where it leads to.
    pub(super) async fn text(&self, method: Method, path: &str, body: &str) -> (u16, String) {
        let reply = self.submit(method, path, &SAMPLE, body).await;
        let redirects = (300..400).contains(&reply.status);
        let text = reply.location.filter(|_| redirects).unwrap_or(reply.body);
        (reply.status, text)
    }

    pub(super) async fn page(&self, path: &str) -> String {
        let (status, text) = self.text(Method::GET, path, "").await;
        assert_eq!(status, 200, "{path}: {text}");
        text
    }

    pub(super) async fn json(&self, path: &str) -> serde_json::Value {
        serde_json::from_str(&self.page(path).await).expect("JSON")
    }

    /// Begins a search by the API and gives its id.
    pub(super) async fn begin_by_api(&self, body: &str) -> String {
        let (status, text) = self.text(Method::POST, "/api/v1/searches", body).await;
        assert_eq!(status, 202, "{text}");
        let body: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        body["id"].as_str().expect("an id").to_owned()
    }

    /// Waits until a search is over.
    pub(super) async fn finished(&self, id: &str) -> serde_json::Value {
        loop {
            let body = self.json(&format!("/api/v1/searches/{id}")).await;
            if body["finished"] == true {
                return body;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
