//! Each kind of mistake and the message that the operator gets.

use crate::Setup;

macro_rules! told {
    ($name:literal, $setup:expr) => {
        insta::assert_snapshot!($name, $setup.mistakes())
    };
}

#[test]
fn unknown_keys_name_the_nearest() {
    told!(
        "unknown_keys",
        Setup::yaml(
            "tracker:\n  agee: 1m\n  colour: red\n  workers: 5\nwebb: {}\nweb:\n  limits: { header: 1 }\n  deadline: 1s\n"
        )
    );
}

#[test]
fn keys_that_are_gone_say_what_to_do() {
    told!(
        "gone_keys",
        Setup::yaml("engine: { series_points: 100 }\nstore: { swarm_every: 5m }\n")
    );
}

#[test]
fn old_top_level_keys_name_their_section() {
    told!(
        "old_top_level_keys",
        Setup::yaml("forwarder_queue_size: 5\nage: 3m\nretry_period: 3\n")
    );
}

#[test]
fn keys_of_two_sections_that_contradict_each_other() {
    told!(
        "across_sections",
        Setup::yaml("web:\n  limits: { request_timeout: 10s }\nsearch:\n  workers: auto\n")
    );
    told!(
        "across_sections_written",
        Setup::yaml("search:\n  deadline: 90s\n")
    );
}

#[test]
fn wrong_types() {
    told!(
        "wrong_types",
        Setup::yaml(
            "data: [a]\nweb:\n  listen: 7070\n  trusted: 10.0.0.1\n  auth: true\ntracker: 5\nsearch:\n  indexers: { name: x }\nnews:\n  public: \"true\"\n  servers: [main]\nlog:\n  level: 7\n"
        )
    );
}

#[test]
fn values_that_cannot_be_read() {
    told!(
        "unreadable_values",
        Setup::yaml(
            r#"
web:
  listen: localhost
  trusted: [10.0.0.0/8, home, 300.1.1.1]
  limits: { body_bytes: 3 pounds, header_timeout: 0s, header_bytes: 1KiB }
tracker:
  http_listen: "[::1]"
  age: soon
  announce_interval: 1500ms
  overload_reply: maybe
  forwarder_queue_size: 1.5
search:
  workers: many
  spacing: { rss: -1 }
engine:
  ladder: [5m, 1m]
log:
  level: loud
"#
        )
    );
}

#[test]
fn limits_that_cannot_be_kept() {
    told!(
        "limits",
        Setup::yaml(
            r"
search:
  first_asks_per_hour: 30
  indexers:
    - { name: a, url: http://a.example, limits: [300/5x, 0/5m, 300, 300/, /5m, -1/5m, 5/0s, 5/1500ms, many/5m] }
    - { name: b, url: http://b.example, per_hour: 100, limits: [90/60m, 300/5m, 200/300s], grab_limits: [5/12h, 4/12h] }
    - { name: c, url: http://c.example, grabs_per_day: 5, grab_limits: [25/24h], limits: 300/5m }
    - { name: d, url: http://d.example, limits: [1/1m, 1/2m, 1/3m, 1/4m, 1/5m, 1/6m, 1/7m, 1/8m, 1/9m] }
"
        )
    );
}

#[test]
fn impossible_values() {
    told!(
        "impossible_values",
        Setup::yaml(
            r"
tracker:
  forwarder_workers: 0
  forwarder_queue_size: 0
  queue_throttle_threshold: 101
  queue_rate_limit_threshold: -1
  max_forwarders_per_announce: 0
  udp_connection_life: 2m
search:
  workers: 0
  workers_min: 300
  page_default: 2000
engine: { scale_down_pct: 70, retry_after_max: 25h }
news:
  tls_cert: cert.pem
  nntps_listen: 127.0.0.1:1563
  servers:
    - { name: a, host: a.example, connections: 0 }
    - { name: b, host: b.example, tls: off, username: me, password: word }
    - { name: c, host: c.example, password: word, port: 70000 }
"
        )
    );
}

#[test]
fn keys_that_can_be_guessed() {
    told!("short_key", Setup::yaml("web: { api_key: 'a' }\n"));
    told!(
        "short_key_in_the_environment",
        Setup::new().env("WEIR_WEB__API_KEY", "fifteen-letters")
    );
    told!(
        "short_key_with_spaces",
        Setup::yaml("web: { api_key: '  fifteen-letters  ' }\n")
    );
}

#[test]
fn maximum_below_base() {
    told!(
        "maximum_below_base",
        Setup::yaml("tracker:\n  forwarder_workers: 30\n  max_forwarder_workers: 20\n")
    );
    told!(
        "maximum_below_base_by_flag",
        Setup::new().flag("-w", "30").flag("-W", "20")
    );
}

#[test]
fn a_large_file_is_read_in_a_moment() {
    let entry = "[[tracker.forwarders]]\nuri = 'http://a.example/announce'\nname = 'a'\n";
    let told = Setup::toml(&entry.repeat(8_000)).mistakes();
    assert_eq!(told.lines().count(), 7_999);
}

#[test]
fn duplicate_names() {
    told!(
        "duplicate_names",
        Setup::yaml(
            r"
tracker:
  forwarders:
    - { uri: 'http://a.example/announce', name: a }
    - { uri: 'http://b.example/announce' }
    - { uri: 'http://c.example/announce', name: a }
    - { uri: 'http://b.example/other' }
search:
  indexers:
    - { name: one, url: 'http://a.example/api' }
    - { name: one, url: 'http://b.example/api' }
news:
  servers:
    - { name: main, host: a.example }
    - { name: main, host: b.example }
"
        )
    );
}

#[test]
fn entries_of_lists() {
    told!(
        "entries_of_lists",
        Setup::yaml(
            r#"
tracker:
  forwarders:
    - { name: a }
    - { uri: "ftp://b.example/announce" }
    - { uri: "udp://c.example/announce" }
    - { uri: "not a url with k3y", ip: nowhere, family: ipx }
    - { url: "http://d.example/announce" }
    - { uri: "udp://e.example:1/announce", proxy: "socks5://p.example:1080" }
search:
  indexers:
    - { name: "a b", url: "udp://a.example", reset_hour: 24, tags: [x/y], proxy: "ftp://p.example" }
"#
        )
    );
}

#[test]
fn hooks() {
    told!(
        "hooks",
        Setup::yaml(
            r#"
notify:
  interval: 0s
  events_per_message: 1000
  link: weir.example
  hooks:
    - { name: a, kind: pager, url: "https://a.example/hook" }
    - { name: b, url: "ftp://b.example/hook", secret: short }
    - { name: c, kind: ntfy, url: "https://ntfy.example/", priority: 9, tags: [two words] }
    - { name: d, kind: slack, url: "https://d.example/x", secret: "sixteen letters.", token: t, tags: [x] }
    - { name: d, url: "https://d.example/y", events: [], timeout: 2m }
    - { name: e, url: "https://e.example/z", events: [down, up] }
    - { kind: discord }
"#
        )
    );
    let many: String = (0..33)
        .map(|number| format!("    - {{ name: n{number}, url: \"https://a.example/{number}\" }}\n"))
        .collect();
    told!(
        "too_many_hooks",
        Setup::yaml(&format!("notify:\n  hooks:\n{many}"))
    );
}

#[test]
fn duplicate_keys() {
    told!(
        "duplicate_keys_yaml",
        Setup::yaml("tracker:\n  age: 1m\n  agee: 2m\n  age: 2m\ntracker: {}\n")
    );
    told!(
        "duplicate_keys_toml",
        Setup::toml("[tracker]\nage = '1m'\nage = '2m'\n")
    );
}

#[test]
fn syntax() {
    told!(
        "syntax_yaml",
        Setup::yaml("tracker:\n  age: [1m\nweb: {}\n")
    );
    told!(
        "syntax_yaml_indent",
        Setup::yaml("tracker:\n    age: 1m\n  numwant: 5\n")
    );
    told!(
        "syntax_toml",
        Setup::toml("[tracker\nage = '1m'\n[web]\nlisten = \n")
    );
}

#[test]
fn what_yaml_can_do_and_we_do_not() {
    told!("anchors", Setup::yaml("web: &a {}\ntracker: *a\n"));
    told!("tags", Setup::yaml("web: !thing {}\n"));
    told!("two_documents", Setup::yaml("web: {}\n---\nweb: {}\n"));
    told!("list_at_the_top", Setup::yaml("- web\n"));
    told!(
        "too_deep",
        Setup::yaml(&("[".repeat(200) + &"]".repeat(200)))
    );
    told!("key_is_a_list", Setup::yaml("[a]: 1\n"));
}

#[test]
fn files_that_cannot_be_read() {
    let mut missing = Setup::new();
    missing.file = Some(missing.dir.path().join("weir.yaml"));
    told!("missing_file", missing);
    told!("unknown_ending", Setup::new().file("weir.json", "{}"));
    told!("too_large", Setup::yaml(&"# padding\n".repeat(420_000)));
    let mut both = Setup::yaml("web: {}\n").file("weir.toml", "");
    both.file = None;
    told!("two_files", both);
    let latin = Setup::yaml("");
    std::fs::write(latin.dir.path().join("weir.yaml"), b"data: \xe4\n").expect("a file");
    told!("not_utf8", latin);
}

#[test]
fn toml_has_places_too() {
    told!(
        "toml_places",
        Setup::toml(
            "web = { auth = 'ä', listen = 5 }\ntracker.age = 'x'\n[[tracker.forwarders]]\nname = 'ä'\n[search]\ncolour = 2020-01-01\n"
        )
    );
}

#[test]
fn environment() {
    told!(
        "environment",
        Setup::yaml("tracker:\n  age: never\n")
            .env("WEIR_TRACKER__AGEE", "1m")
            .env("WEIR_TRACKER__FIRST_WAIT", "soon")
            .env("FORWARDER_WORKERS", "0")
            .env("WEIR_WEB__TRUSTED", "10.0.0.1,here")
            .env("WEIR_TRACKER__FORWARDERS", "http://a.example/announce")
            .env("WEIR_COMPLETELY_UNKNOWN", "1")
            .env("WEIR_KEY", "k")
            .env("WEIR_URL", "http://127.0.0.1:7070")
            .env("HOME", "/root")
    );
}

#[test]
fn a_variable_of_a_known_section_is_looked_for_there() {
    for (name, meant) in [
        ("WEIR_NEWS__LISTEN", "did you mean WEIR_NEWS__NNTP_LISTEN?"),
        (
            "WEIR_NEWS__NNTP_LISTN",
            "did you mean WEIR_NEWS__NNTP_LISTEN?",
        ),
        ("WEIR_NEWS__COLOUR", "unset it"),
        (
            "WEIR_NEW__NNTP_LISTEN",
            "did you mean WEIR_NEWS__NNTP_LISTEN?",
        ),
    ] {
        let told = Setup::new().env(name, "127.0.0.1:0").mistakes();
        let wanted = format!("environment {name}: there is no such variable; {meant}");
        assert_eq!(told.trim(), wanted);
    }
}

#[test]
fn a_tab_is_named_with_its_line() {
    for (text, place) in [
        ("web:\n\tlisten: 127.0.0.1:7070\n", "weir.yaml:2:1"),
        (
            "web:\n  auth: true\n\n\tlisten: 127.0.0.1:7070\n",
            "weir.yaml:4:1",
        ),
        ("search:\n  indexers:\n  \t- name: a\n", "weir.yaml:3:3"),
    ] {
        let told = Setup::yaml(text).mistakes();
        let wanted = format!("{place}: indent with spaces; YAML takes no tab here");
        assert_eq!(told.trim(), wanted, "{text:?}");
    }
}

#[test]
fn flags() {
    told!(
        "flags",
        Setup::new()
            .flag("-w", "0")
            .flag("--web", "here")
            .flag("--queue-scale-threshold", "101")
            .flag("-Q", "many")
    );
}

#[test]
fn forwarders_files() {
    told!(
        "forwarders_file",
        Setup::new()
            .file(
                "list.yaml",
                "- uri: http://a.example/announce\n  nme: a\n- name: b\n"
            )
            .file("weir.yaml", "tracker:\n  age: x\n")
            .flag("-f", "{dir}/list.yaml")
    );
    told!(
        "forwarders_twice",
        Setup::new()
            .file(
                "list.toml",
                "forwarders = [{ uri = 'http://a.example/announce' }]\n"
            )
            .file(
                "weir.yaml",
                "tracker:\n  forwarders: []\n  forwarders_file: '{dir}/list.toml'\n"
            )
    );
    told!(
        "forwarders_file_missing",
        Setup::new().flag("-f", "{dir}/none.yaml")
    );
}

#[test]
fn several_at_once_come_in_order_of_line() {
    told!(
        "several_at_once",
        Setup::yaml(
            "news: { overview: x }\nweb:\n  listen: x\n  lisen: y\ntracker:\n  age: x\ndata: 5\n"
        )
        .flag("-Q", "0")
        .env("WEIR_SEARCH__DEADLINE", "0")
    );
}
