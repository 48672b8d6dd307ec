//! The engines' part of `/stats` and `/metrics`.

use weir_engine::Outcome;
use weir_engine::dispatch::{Budget, Usage, Window, Windows};

use super::front::{Says, town};

#[tokio::test]
async fn stats_have_the_fields_of_each_front() {
    let town = town().await;
    let mut near = town.rig.visitor_from("127.0.0.1");
    let body = near.get("/stats?format=json").await.body;
    let json: serde_json::Value = serde_json::from_str(&body).unwrap();
    for place in [&json, &json["fronts"]["tracker"], &json["fronts"]["search"]] {
        for (field, value) in [
            ("queue_depth", 0),
            ("queue_capacity", 10_000),
            ("queue_fill_pct", 0),
            ("active_workers", 10),
            ("max_workers", 20),
            ("dropped_full", 0),
            ("rate_limited", 0),
            ("throttled_forwarders", 0),
            ("swarms", 7),
        ] {
            assert_eq!(place[field], value, "{field}");
        }
    }
    let four = &json["forwarders"][0];
    assert_eq!(four["name"], "tracker-four");
    assert_eq!(four["state"], "disabled");
    assert_eq!(four["reason"], "no such host");
    assert_eq!(four["last_error"], "no such host");
    assert_eq!(four["announces"], 1);
    assert_eq!(four["last_interval"], 1800);
    assert!(four["until"].is_string() && four["response_ms"].is_null());
    let orchard = &json["fronts"]["search"]["upstreams"][3];
    assert_eq!(
        (&orchard["state"], &orchard["reason"]),
        (&"manual".into(), &"account renewal".into())
    );
    assert_eq!(orchard["calls"], 0);
    let text = near.get("/stats").await.body;
    for part in [
        "\n[tracker]\nswarms 7\nqueue_depth 0\n",
        "\nforwarder tracker-four: disabled, reason no such host, until 2026-",
        "\nupstream orchard: manual, reason account renewal, calls 0",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[tokio::test]
async fn each_window_has_its_meter_on_pages_in_the_api_and_in_stats() {
    let town = town().await;
    let seconds = Window::of_seconds;
    let grabs = Windows::from([(Window::DAY, 5), (seconds(30 * 86_400), 25)]);
    let queries = Windows::from([(seconds(300), 300), (Window::DAY, 1000)]);
    let upstream = town.search.add_with("meadow", queries, grabs);
    town.search.call(upstream, Says(Outcome::Done, "")).await;
    let told = Usage {
        budget: Budget::Query,
        window: Window::HOUR,
        limit: 60,
        used: Some(41),
    };
    town.search.engine.observe(upstream, told);

    let said = [
        ("5 min", "1 of 300 calls in the last 5 min"),
        ("hour", "41 of 60 calls in the last hour"),
        ("day", "1 of 1,000 calls in the last 24 h"),
        ("files", "0 of 5 downloads in the last 24 h"),
        ("files 30 d", "0 of 25 downloads in the last 30 days"),
    ];
    let mut operator = town.signed_in().await;
    for path in ["/upstreams", "/upstreams/search/meadow"] {
        let page = operator.get(path).await.body;
        for (label, words) in said {
            assert!(page.contains(&format!("aria-label=\"{words}\"")), "{words}");
            assert!(page.contains(&format!("<span>{label}</span>")), "{label}");
        }
    }
    let mut near = town.rig.visitor_from("127.0.0.1");
    let text = near.get("/stats").await.body;
    let words = said.map(|(_, words)| words).join(", ");
    let line = text.lines().find(|line| line.contains("meadow"));
    assert!(line.is_some_and(|line| line.ends_with(&words)), "{line:?}");
    let body = near.get("/stats?format=json").await.body;
    let stats: serde_json::Value = serde_json::from_str(&body).unwrap();
    let rows = stats["fronts"]["search"]["upstreams"].as_array().unwrap();
    let row = rows.iter().find(|row| row["name"] == "meadow").unwrap();
    let body = operator.get("/api/v1/upstreams/search/meadow").await.body;
    let api: serde_json::Value = serde_json::from_str(&body).unwrap();
    for quota in [&row["quota"], &api["quota"]] {
        let quota = quota.as_array().unwrap().iter();
        let quota: Vec<_> = quota
            .map(|one| {
                let name = one["window"].as_str().unwrap();
                let number = |field: &str| one[field].as_u64().unwrap();
                let learned = one["learned"].as_bool().unwrap();
                (name, number("window_seconds"), number("used"), learned)
            })
            .collect();
        let expected = [
            ("5 min", 300, 1, false),
            ("hour", 3600, 41, true),
            ("day", 86_400, 1, false),
            ("day", 86_400, 0, false),
            ("30 days", 2_592_000, 0, false),
        ];
        assert_eq!(quota, expected);
    }
}

#[tokio::test]
async fn metrics_of_all_engines_stand_together() {
    let town = town().await;
    let text = town
        .rig
        .visitor_from("127.0.0.1")
        .get("/metrics")
        .await
        .body;
    for line in [
        "weir_queue_depth{front=\"tracker\"} 0",
        "weir_queue_depth{front=\"search\"} 0",
        "weir_queue_capacity{front=\"search\"} 10000",
        "weir_forwarder_workers{front=\"tracker\"} 10",
        "weir_upstream_state{front=\"search\",upstream=\"harbor\",state=\"cooldown\"} 1",
        "weir_upstream_state{front=\"search\",upstream=\"harbor\",state=\"open\"} 0",
        "weir_upstream_requests_total{front=\"search\",upstream=\"harbor\",outcome=\"throttled\"} 1",
        "weir_upstream_request_seconds_count{front=\"search\",upstream=\"harbor\"} 2",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
    }
    assert_eq!(text.matches("# TYPE weir_queue_depth ").count(), 1);
}
