//! Metrics for operators: their documentation, and whether dashboard and alert rules fit them. A real Prometheus scrapes the
//! running program and evaluates every expression.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::tracker::{KEY, Rig, announce};
use super::{PATIENCE, ask};

/// Upstreams of every front, so that each family has samples. Nobody listens there.
const UPSTREAMS: &str = r#"
tracker: { forwarders: [{ uri: "http://127.0.0.1:9/announce", name: harbor }] }
search: { indexers: [{ name: meadow, url: "http://127.0.0.1:9/api" }] }
news: { servers: [{ name: main, host: 127.0.0.1, port: 9 }] }"#;

/// What each label means. A label that is not here must not be used.
const LABELS: &[(&str, &str)] = &[
    ("event", "`completed`, `stopped`: which event of a client"),
    ("family", "`ipv4`, `ipv6`"),
    (
        "front",
        "`tracker`, `search`, `news`; `web` for requests to the web listener itself",
    ),
    (
        "kind",
        "What was asked: `page`, `api`, `feed`, `stats`, `open`; announces and scrapes by protocol (`udp_announce`, …); commands of newsreaders (`nntp_article`, …)",
    ),
    ("le", "The upper end of a bucket, in seconds"),
    (
        "listener",
        "Which listener: `web`, `guests`, `http`, `nntp`",
    ),
    (
        "outcome",
        "How a call ended: `done` (answered), `no` (a healthy no, such as nothing found), `again` (come back later), `throttled`, `unavailable`, `broken` (an answer that cannot be read), `rejected`, `our_network`, `panicked`, `timed_out`, `cut` (ended by a stop), `redirected` (the client was sent to make it itself)",
    ),
    ("part", "Which thread or task"),
    ("reason", "Why a connection had to go"),
    (
        "state",
        "`untried`, `open`, `cooldown`, `probing`, `disabled`, `manual` (switched off)",
    ),
    ("upstream", "The configured name of an upstream"),
    ("version", "The version of Weir"),
];

struct MetricFamily {
    kind: String,
    meaning: String,
    labels: BTreeSet<String>,
}

/// A Weir that has been announced to and searched.
fn busy() -> Rig {
    let rig = Rig::start(UPSTREAMS);
    work(&rig);
    rig
}

fn work(rig: &Rig) {
    assert!(announce(rig.tracker, 1).contains("8:interval"));
    let searched = ask(rig.web, "GET /torznab/api?t=search&q=some", KEY);
    assert!(searched.starts_with("HTTP/1.1 "), "{searched}");
    let page = ask(rig.web, "GET /", KEY);
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
}

/// What `/metrics` says about itself.
fn families(rig: &Rig) -> BTreeMap<String, MetricFamily> {
    let answer = ask(rig.web, "GET /metrics", KEY);
    let (_, text) = answer.split_once("\r\n\r\n").unwrap();
    let mut all: BTreeMap<String, MetricFamily> = BTreeMap::new();
    let mut meaning = String::new();
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (_, help) = help.split_once(' ').unwrap();
            meaning = help.trim_end_matches('.').to_owned();
        } else if let Some(line) = line.strip_prefix("# TYPE ") {
            let (name, kind) = line.split_once(' ').unwrap();
            let family = MetricFamily {
                kind: kind.to_owned(),
                meaning: meaning.clone(),
                labels: BTreeSet::new(),
            };
            assert!(
                all.insert(name.to_owned(), family).is_none(),
                "{name} twice"
            );
        } else if let Some((name, rest)) = line.split_once('{') {
            let labels = rest
                .split("=\"")
                .map(|part| part.rsplit(['{', ',', '"']).next().unwrap());
            let labels: BTreeSet<String> = labels
                .map(str::to_owned)
                .filter(|label| is_name(label))
                .collect();
            let family = family_of(name, &all).unwrap_or_else(|| panic!("{line}"));
            all.get_mut(&family).unwrap().labels.extend(labels);
        }
    }
    all
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// The family that a sample belongs to.
fn family_of(name: &str, all: &BTreeMap<String, MetricFamily>) -> Option<String> {
    let ends = ["", "_bucket", "_sum", "_count"];
    let mut names = ends.iter().filter_map(|end| name.strip_suffix(end));
    names
        .find(|name| all.contains_key(*name))
        .map(str::to_owned)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_list_of_metrics_is_fresh() {
    let rig = busy();
    let mut text = "# Metrics\n\n\
        What `/metrics` shows, in the Prometheus text format or as OpenMetrics. This page is made from the running program:\n\
        `WEIR_TEST_UPDATE=1 cargo nextest run -p weir the_list_of_metrics_is_fresh` writes it anew.\n\n\
        A dashboard for Grafana is in `contrib/grafana`, alert rules are in `contrib/prometheus`. Names that begin with `process_`\n\
        are those of other programs too. Counters begin at 0 when Weir starts.\n\n\
        | metric | type | labels | meaning |\n|---|---|---|---|\n"
        .to_owned();
    let mut used = BTreeSet::new();
    for (name, family) in families(&rig) {
        let labels: Vec<String> = family
            .labels
            .iter()
            .filter(|label| *label != "le")
            .map(|label| format!("`{label}`"))
            .collect();
        used.extend(family.labels);
        text += &format!(
            "| `{name}` | {} | {} | {} |\n",
            family.kind,
            labels.join(", "),
            family.meaning
        );
    }
    text += "\n## Labels\n\n| label | values |\n|---|---|\n";
    for (label, meaning) in LABELS {
        text += &format!("| `{label}` | {meaning} |\n");
    }
    let known: BTreeSet<String> = LABELS
        .iter()
        .map(|(label, _)| (*label).to_owned())
        .collect();
    assert_eq!(
        used, known,
        "each label has a meaning in the table of this test"
    );
    let path = root().join("docs/metrics.md");
    if std::env::var_os("WEIR_TEST_UPDATE").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "run `WEIR_TEST_UPDATE=1 cargo nextest run -p weir the_list_of_metrics_is_fresh`"
    );
}

/// All expressions of the dashboard, with what Grafana would put in.
fn dashboard() -> Vec<String> {
    let text = fs::read_to_string(root().join("contrib/grafana/weir.json")).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    let mut found = Vec::new();
    for panel in json["panels"].as_array().unwrap() {
        let targets = panel["targets"].as_array();
        for target in targets.into_iter().flatten() {
            found.push(target["expr"].as_str().unwrap());
        }
    }
    assert!(found.len() > 30, "{found:#?}");
    let filled = found.into_iter().map(|expression| {
        let filled = expression
            .replace("$instance", ".+")
            .replace("$__rate_interval", "10s");
        assert!(!filled.contains('$'), "{expression}");
        filled
    });
    filled.collect()
}

/// The words in a text that look like names of our metrics.
fn metrics_in(text: &str) -> BTreeSet<&str> {
    let words = text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
    words
        .filter(|word| word.starts_with("weir_") || word.starts_with("process_"))
        .collect()
}

#[test]
fn dashboard_and_alerts_use_only_metrics_that_exist() {
    let rig = busy();
    let all = families(&rig);
    let rules = fs::read_to_string(root().join("contrib/prometheus/weir.rules.yml")).unwrap();
    let board = fs::read_to_string(root().join("contrib/grafana/weir.json")).unwrap();
    for (file, text) in [("rules", rules), ("dashboard", board)] {
        let used = metrics_in(&text);
        assert!(used.len() > 8, "{file}: {used:?}");
        for name in used {
            assert!(
                family_of(name, &all).is_some(),
                "{file}: there is no {name}"
            );
        }
    }
}

#[test]
fn alert_rules_fire_when_they_should() {
    for (what, file) in [("check", "weir.rules.yml"), ("test", "weir.tests.yml")] {
        let output = Command::new("promtool")
            .args([what, "rules", file])
            .current_dir(root().join("contrib/prometheus"))
            .output()
            .expect("promtool is there; `cargo xtask setup` installs it");
        let said = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }
    // Each alert is tried.
    let rules = fs::read_to_string(root().join("contrib/prometheus/weir.rules.yml")).unwrap();
    let tests = fs::read_to_string(root().join("contrib/prometheus/weir.tests.yml")).unwrap();
    let alerts: Vec<&str> = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "))
        .collect();
    assert!(alerts.len() > 10, "{alerts:?}");
    for alert in alerts {
        let fires = tests.split("eval_time").any(|part| {
            part.contains(&format!("alertname: {alert}\n")) && part.contains("exp_labels")
        });
        assert!(fires, "no test in which {alert} fires");
    }
}

/// A Prometheus that scrapes one Weir; killed when dropped.
struct Prometheus {
    child: Child,
    address: SocketAddr,
    _dir: TempDir,
}

impl Prometheus {
    fn start(weir: SocketAddr) -> Self {
        let dir = TempDir::new().unwrap();
        let rules = root()
            .join("contrib/prometheus/weir.rules.yml")
            .canonicalize()
            .unwrap();
        let config = format!(
            "global: {{ scrape_interval: 250ms, scrape_timeout: 250ms, evaluation_interval: 250ms }}\n\
             rule_files: [\"{}\"]\n\
             scrape_configs: [{{ job_name: weir, static_configs: [{{ targets: [\"{weir}\"] }}] }}]\n",
            rules.display()
        );
        fs::write(dir.path().join("prometheus.yml"), config).unwrap();
        // It cannot choose a port itself. Nobody takes a port that was just used, unless all others are.
        let address = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let log = fs::File::create(dir.path().join("log")).unwrap();
        let child = Command::new("prometheus")
            .arg(format!("--web.listen-address={address}"))
            .args([
                "--config.file=prometheus.yml",
                "--storage.tsdb.path=data",
                "--log.level=warn",
            ])
            .current_dir(dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("prometheus is there; `cargo xtask setup` installs it");
        Self {
            child,
            address,
            _dir: dir,
        }
    }

    /// The JSON at a path, once it answers.
    fn get(&self, path: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(self.address).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // The old version knows no pieces.
        write!(stream, "GET {path} HTTP/1.0\r\nHost: prometheus\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
    }

    fn query(&self, expression: &str) -> Value {
        let bytes = expression.bytes();
        let query: String = bytes.map(|byte| format!("%{byte:02x}")).collect();
        self.get(&format!("/api/v1/query?query={query}")).unwrap()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_real_prometheus_evaluates_every_expression() {
    let rig = busy();
    let prometheus = Prometheus::start(rig.web);
    let scraped = "count_over_time(up{job=\"weir\"}[1m])";
    super::forwarder::until("it has scraped some times", || {
        work(&rig);
        let count = prometheus
            .get("/api/v1/status/config")
            .map(|_| prometheus.query(scraped));
        let count = count.and_then(|count| {
            count["data"]["result"][0]["value"][1]
                .as_str()?
                .parse()
                .ok()
        });
        count.is_some_and(|count: u32| count >= 4)
    });
    assert_eq!(prometheus.query("up")["data"]["result"][0]["value"][1], "1");
    let groups = || prometheus.get("/api/v1/rules").unwrap()["data"]["groups"].take();
    let rules = || {
        let groups = groups();
        let rules = groups
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|group| group["rules"].as_array().unwrap().clone());
        rules.collect::<Vec<Value>>()
    };
    super::forwarder::until("all rules were evaluated", || {
        rules().iter().all(|rule| rule["health"] != "unknown")
    });
    let rules = rules();
    assert!(rules.len() > 10, "{rules:?}");
    for rule in &rules {
        assert_eq!(rule["health"], "ok", "{rule}");
        let answer = prometheus.query(rule["query"].as_str().unwrap());
        assert_eq!(answer["status"], "success", "{rule} {answer}");
    }
    for expression in dashboard() {
        let answer = prometheus.query(&expression);
        assert_eq!(answer["status"], "success", "{expression}: {answer}");
        let result = answer["data"]["result"].as_array().unwrap();
        assert!(!result.is_empty(), "nothing for {expression}");
    }
    let wrong = prometheus.query("sum(rate(weir_requests_total))");
    assert_eq!(wrong["status"], "error", "it would say so: {wrong}");
}
