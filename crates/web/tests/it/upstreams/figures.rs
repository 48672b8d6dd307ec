//! The engines' part of `/stats` and `/metrics`.

use super::front::town;

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
