//! Pages of upstreams while somebody watches: what is sent is what the page would say.

use std::{collections::BTreeMap, net::IpAddr, time::Duration};

use axum::{
    body::{Body, BodyDataStream},
    extract::ConnectInfo,
    http::{Request, StatusCode},
};
use futures_util::StreamExt;
use serde_json::Value;
use tower::ServiceExt;
use weir_engine::Outcome;

use super::front::{ODD, Sample, Says, secs, town};
use crate::support::{self, FAR, KEY, Rig};

/// A stream of events; each is its name and its data.
struct Watch {
    body: BodyDataStream,
    read: String,
}

impl Watch {
    async fn open(rig: &Rig, topics: &str) -> Self {
        let mut request = Request::builder()
            .uri(format!("/api/v1/events?topics={topics}"))
            .header("x-api-key", KEY)
            .body(Body::empty())
            .unwrap();
        let peer: IpAddr = FAR.parse().unwrap();
        request
            .extensions_mut()
            .insert(ConnectInfo(std::net::SocketAddr::from((peer, 4000))));
        let response = rig.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        Self {
            body: response.into_body().into_data_stream(),
            read: String::new(),
        }
    }

    /// The next event of this name; others are passed over.
    async fn next(&mut self, name: &str) -> Value {
        loop {
            while let Some((event, rest)) = self.read.split_once("\n\n") {
                let event = event.to_owned();
                self.read = rest.to_owned();
                let field = |field: &str| {
                    let lines = event.lines();
                    let mut found = lines.filter_map(|line| line.strip_prefix(field));
                    found.next().map(str::trim_start)
                };
                if field("event:") == Some(name) {
                    return serde_json::from_str(field("data:").unwrap()).unwrap();
                }
            }
            let more = tokio::time::timeout(Duration::from_secs(20), self.body.next());
            let bytes = more.await.expect("an event").unwrap().unwrap();
            self.read.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    async fn parts(&mut self) -> BTreeMap<String, String> {
        let event = self.next("parts").await;
        let parts = event["parts"].as_object().unwrap().iter();
        parts
            .map(|(id, html)| (id.clone(), html.as_str().unwrap().to_owned()))
            .collect()
    }
}

/// Without what differs between two looks: milliseconds of times that are counted from now.
fn steady(html: &str) -> String {
    let mut steady = html.to_owned();
    for field in ["datetime=\"", "data-until=\""] {
        let mut pieces = steady.split(field);
        let mut shorter = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let (time, after) = piece.split_once('"').unwrap();
            shorter.push_str(&time[..16.min(time.len())]);
            shorter.push_str(after);
        }
        steady = shorter;
    }
    steady
}

#[tokio::test]
async fn what_is_sent_is_what_the_page_says() {
    let town = town().await;
    let mut visitor = town.signed_in().await;
    let odd = "tracker/a%252Fb%2520%25C3%25BC%253F%253Ci%253E";
    for (page, topic, least) in [
        ("/upstreams/search/harbor", "page:upstream:search/harbor", 9),
        (
            "/upstreams/search/orchard",
            "page:upstream:search/orchard",
            9,
        ),
        ("/upstreams", "page:row:search/harbor", 5),
        ("/upstreams", &format!("page:row:{odd}"), 5),
        ("/upstreams", "page:upstreams", 1),
    ] {
        let parts = Watch::open(&town.rig, topic).await.parts().await;
        let page = visitor.get(page).await.body;
        assert!(parts.len() >= least, "{topic}: {:?}", parts.keys());
        let shown = steady(&page);
        for (id, html) in parts {
            assert!(html.contains(&format!("id=\"{id}\"")), "{id}: {html}");
            assert!(html.contains("data-live"), "{id}: {html}");
            assert!(
                shown.contains(&steady(&html)),
                "{topic} {id}: {html}\nin {page}"
            );
            assert!(!html.contains("csrf"), "nothing of one visitor: {html}");
        }
    }
    let page = visitor.get("/upstreams").await.body;
    assert!(
        page.contains("data-topics=\"page:row:tracker/a%2Fb%20%C3%BC%3F%3Ci%3E\""),
        "{ODD}"
    );
}

#[tokio::test]
async fn a_change_is_sent_alone_and_new_decisions_come_as_rows() {
    let sample = Sample::new("tracker", "tracker");
    let one = sample.add("one");
    for _ in 0..3 {
        sample.call(one, Says(Outcome::Done, "")).await;
    }
    let rig = support::rig_of(support::config(), vec![sample.contribution()]);
    let mut rows = Watch::open(&rig, "page:decisions:tracker/one").await;
    let mut parts = Watch::open(&rig, "page:row:tracker/one").await;
    // From here on both have seen the first look; those decisions are on the page already.
    parts.parts().await;
    sample.call(one, Says(Outcome::Done, "")).await;
    let after = Some(secs(900));
    let refused = Outcome::Throttled { retry_after: after };
    sample.call(one, Says(refused, "it answered 429")).await;
    loop {
        let changed = parts.parts().await;
        let why = changed.get("tracker/one-why");
        if why.is_some_and(|why| why.contains("It answered 429")) {
            assert!(
                !changed.contains_key("tracker/one-quota"),
                "it is as it was"
            );
            break;
        }
    }
    let mut numbers = Vec::new();
    while !numbers.iter().any(|id| id == "d-6") {
        let event = rows.next("rows").await;
        assert_eq!(event["list"], "decision-rows");
        for row in event["rows"].as_array().unwrap() {
            let id = row["id"].as_str().unwrap().to_owned();
            let html = row["html"].as_str().unwrap();
            assert!(html.starts_with(&format!("<tr id=\"{id}\"")), "{html}");
            assert!(!html.contains("one was"), "{html}");
            numbers.push(id);
        }
    }
    assert_eq!(numbers, ["d-1", "d-4", "d-5", "d-6"], "newest last");
}
