//! YAML and TOML say the same; what `check` prints can be read back.

use weir::config::Config;
use weir_config::{FileFormat, Layers, Mistakes, Section, read, read_text, to_yaml};

use crate::Setup;

const YAML: &str = r#"
data: ./here
web: { listen: "[::1]:0", auth: none, trusted: [10.0.0.0/8, 192.0.2.1], limits: { body_bytes: 2MiB } }
tracker:
  http_listen: null
  age: 90
  overload_reply: peers
  forwarders:
    - { uri: "http://a.example/announce?passkey=k3y", name: no, ip: 192.0.2.1 }
    - { uri: "udp://b.example:1337" }
search:
  workers: 5
  spacing: { interactive: 500ms, rss: 3 }
  indexers:
    - name: one
      url: http://127.0.0.1:9117/api
      api_key: k3y
      per_hour: 100
      limits: [300/5m, 1000/1d]
      grab_limits: [25/30d]
      tags: [a, b]
news:
  public: true
  servers: [{ name: main, host: news.example, username: me, password: k3y }]
"#;

const TOML: &str = r#"
data = "./here"
[web]
listen = "[::1]:0"
auth = "none"
trusted = ["10.0.0.0/8", "192.0.2.1"]
limits.body_bytes = "2MiB"
[tracker]
http_listen = "null"
age = 90
overload_reply = "peers"
[[tracker.forwarders]]
uri = "http://a.example/announce?passkey=k3y"
name = "no"
ip = "192.0.2.1"
[[tracker.forwarders]]
uri = "udp://b.example:1337"
[search]
workers = 5
spacing = { interactive = "500ms", rss = 3 }
[[search.indexers]]
name = "one"
url = "http://127.0.0.1:9117/api"
api_key = "k3y"
per_hour = 100
limits = ["300/5m", "1000/1d"]
grab_limits = ["25/30d"]
tags = ["a", "b"]
[news]
public = true
servers = [{ name = "main", host = "news.example", username = "me", password = "k3y" }]
"#;

#[test]
fn yaml_and_toml_give_the_same() {
    let yaml = Setup::yaml(YAML).load().config;
    assert_eq!(yaml, Setup::toml(TOML).load().config);
    assert_ne!(yaml, Setup::new().load().config);
}

#[test]
fn no_is_a_name_like_any_other() {
    assert_eq!(
        Setup::yaml(YAML).load().config.tracker.forwarders[0].name,
        "no"
    );
}

#[test]
fn the_printed_configuration_is_read_back() {
    let first = Setup::yaml(YAML).load();
    let printed = to_yaml(&first.resolved);
    let second = Setup::yaml(&printed).load();
    // The first output has secrets as comments, so in the second they are null.
    let mut shown = first.resolved.clone();
    for row in shown.iter_mut().filter(|row| row.aside) {
        row.aside = false;
        row.shown = "null".to_owned();
    }
    assert_eq!(to_yaml(&second.resolved), to_yaml(&shown));
    insta::assert_snapshot!("printed", printed);
}

#[test]
fn half_a_file_never_panics() {
    for (format, text) in [(FileFormat::Yaml, YAML), (FileFormat::Toml, TOML)] {
        for (end, _) in text.char_indices().step_by(5) {
            let mut mistakes = Mistakes::default();
            let tree = read_text(&text[..end], format, "weir", &mut mistakes);
            assert!(tree.is_some() || !mistakes.is_empty());
            let _ = read::<Config>(tree, &Layers::new(Config::TABLE));
        }
    }
}

#[test]
fn a_printed_forwarders_file_is_read_back() {
    let setup = Setup::new()
        .file(
            "list.yml",
            "- { uri: 'http://a.example/announce', name: a }\n",
        )
        .file(
            "weir.yaml",
            "tracker: { forwarders_file: '{dir}/list.yml' }\n",
        );
    let printed = to_yaml(&setup.load().resolved);
    let forwarders = Setup::yaml(&printed).load().config.tracker.forwarders;
    assert_eq!(forwarders[0].name, "a");
}

#[test]
fn the_contract_of_the_design_is_good() {
    let contract = include_str!("contract.yaml");
    let config = Setup::yaml(contract).load().config;
    let mut plain = config.clone();
    plain.tracker.forwarders.clear();
    plain.tracker.max_forwarder_workers = None;
    plain.search.indexers.clear();
    plain.news.servers.clear();
    assert_eq!(
        plain,
        Setup::new().load().config,
        "what the contract shows are the defaults"
    );
    assert_eq!(
        (
            config.tracker.forwarders.len(),
            config.search.indexers.len(),
            config.news.servers.len()
        ),
        (1, 1, 1)
    );
}
