//! `/metrics` as Prometheus reads it, on both listeners of the running program.

use std::io::Write;
use std::process::{Command, Stdio};

use super::tracker::{KEY, Rig, announce};
use super::{ask, ask_with};

/// Upstreams of every front, so that each family has samples. Nobody listens there.
const UPSTREAMS: &str = r#"
tracker: { forwarders: [{ uri: "http://127.0.0.1:9/announce", name: 'a "quoted\ name' }] }
search: { indexers: [{ name: one, url: "http://127.0.0.1:9/api" }] }
news: { servers: [{ name: a, host: 127.0.0.1, port: 9 }] }"#;

/// Head and body of an answer.
fn parts(answer: &str) -> (&str, &str) {
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    answer.split_once("\r\n\r\n").unwrap()
}

/// What `promtool check metrics` has to say, which is nothing if all is well.
fn lint(metrics: &str) -> String {
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool is there; `cargo xtask setup` installs it");
    let mut stdin = promtool.stdin.take().unwrap();
    stdin.write_all(metrics.as_bytes()).unwrap();
    drop(stdin);
    let output = promtool.wait_with_output().unwrap();
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    said += &String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        said += &output.status.to_string();
    }
    said
}

#[test]
fn prometheus_finds_nothing_wrong_with_the_metrics_of_either_listener() {
    let rig = Rig::start(UPSTREAMS);
    announce(rig.tracker, 1);
    let searched = ask(rig.web, "GET /torznab/api?t=search&q=some", KEY);
    assert!(searched.starts_with("HTTP/1.1 "), "{searched}");
    for (listener, family) in [
        (rig.web, "weir_upstream_request_seconds_bucket"),
        (rig.tracker, "weir_tracker_swarms"),
    ] {
        let answer = ask(listener, "GET /metrics", KEY);
        let (head, metrics) = parts(&answer);
        let kind = "content-type: text/plain; version=0.0.4; charset=utf-8\r\n";
        assert!(head.contains(kind), "{head}");
        assert!(metrics.contains(family), "{metrics}");
        assert_eq!(lint(metrics), "", "in\n{metrics}");
    }
    assert_ne!(
        lint("nonsense here\n"),
        "",
        "promtool reads what it is given"
    );
}

#[test]
fn whoever_prefers_open_metrics_gets_it() {
    let rig = Rig::start(UPSTREAMS);
    let prometheus = "Accept: application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1\r\n";
    for listener in [rig.web, rig.tracker] {
        let answer = ask_with(listener, "GET /metrics", KEY, prometheus);
        let (head, metrics) = parts(&answer);
        let kind = "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n";
        assert!(head.contains(kind), "{head}");
        assert!(
            metrics.contains("# TYPE weir_requests counter\n"),
            "{metrics}"
        );
        assert!(metrics.ends_with("\n# EOF\n"), "{metrics}");
    }
}
