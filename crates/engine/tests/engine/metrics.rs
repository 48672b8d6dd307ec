//! What Prometheus sees.

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use weir_engine::{Metrics, Outcome};

use crate::kit::*;

fn scrape(desk: &Desk) -> String {
    let mut registry = Registry::default();
    let metrics = Metrics::new(vec![desk.engine.clone()]);
    registry
        .sub_registry_with_prefix("weir")
        .register_collector(Box::new(metrics));
    let mut text = String::new();
    encode(&mut text, &registry).expect("text takes everything");
    text
}

#[tokio::test(start_paused = true)]
async fn the_names_of_the_contract_hold_what_happened() {
    let mut policy = policy();
    policy.capacity = 2;
    let desk = Desk::new(policy);
    let one = desk.upstream("one", secs(0), 1);
    let two = desk.upstream("two", secs(0), 1);
    desk.engine
        .submit(job(one, INTERACTIVE), desk.done("a"))
        .await;
    let call = desk.ready("b", Step::Outcome(Outcome::Unavailable));
    desk.engine.submit(job(two, INTERACTIVE), call).await;
    let stuck = desk.ready("stuck", Step::Never);
    for _ in 0..4 {
        desk.engine
            .submit_detached(job(one, INTERACTIVE), stuck.clone());
    }
    pass(millis(1)).await;
    let text = scrape(&desk);
    for line in [
        "weir_queue_depth{front=\"test\"} 2",
        "weir_queue_capacity{front=\"test\"} 2",
        "weir_queue_fill_pct{front=\"test\"} 100",
        "weir_queue_dropped_full_total{front=\"test\"} 1",
        "weir_queue_rate_limited_total{front=\"test\"} 0",
        "weir_queue_throttled_forwarders_total{front=\"test\"} 0",
        "weir_forwarder_workers{front=\"test\"} 10",
        "weir_flights_shared_total{front=\"test\"} 0",
        "weir_upstream_state{front=\"test\",upstream=\"one\",state=\"open\"} 1",
        "weir_upstream_state{front=\"test\",upstream=\"two\",state=\"open\"} 0",
        "weir_upstream_state{front=\"test\",upstream=\"two\",state=\"cooldown\"} 1",
        "weir_upstream_requests_total{front=\"test\",upstream=\"one\",outcome=\"done\"} 1",
        "weir_upstream_requests_total{front=\"test\",upstream=\"two\",outcome=\"unavailable\"} 1",
        "weir_upstream_request_seconds_count{front=\"test\",upstream=\"one\"} 1",
        "weir_upstream_request_seconds_bucket{le=\"+Inf\",front=\"test\",upstream=\"two\"} 1",
    ] {
        assert!(
            text.lines().any(|other| other == line),
            "{line} is not in\n{text}"
        );
    }
}
