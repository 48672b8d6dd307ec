//! No output of any kind shows a secret.

use weir_config::{to_table, to_yaml};

use crate::Setup;

const FILE: &str = r#"
web: { api_key: "k3y-web-of-16-letters" }
store: { redis: "redis://me:k3y-redis@host", secret: "k3y-of-all-the-nodes" }
tracker:
  forwarders:
    - { uri: "http://user:k3y@a.example/k3y/announce?passkey=k3y", proxy: "socks5://u:k3y@p.example:1080" }
search:
  indexers:
    - { name: one, url: "http://b.example/k3y/api?apikey=k3y", api_key: "k3y" }
news:
  servers:
    - { name: main, host: c.example, username: me, password: "k3y" }
notify:
  hooks:
    - { name: hook, url: "https://d.example/k3y?token=k3y", secret: "k3y-of-sixteen-letters" }
    - { name: phone, kind: ntfy, url: "https://e.example/k3y", token: "k3y" }
"#;

#[test]
fn nothing_printed_shows_a_secret() {
    let loaded = Setup::yaml(FILE).load();
    for text in [
        to_yaml(&loaded.resolved),
        to_table(&loaded.resolved),
        format!("{loaded:?}"),
        format!("{loaded:#?}"),
    ] {
        assert!(!text.contains("k3y"), "{text}");
        assert!(text.contains("a.example"), "what is no secret is shown");
    }
    assert_eq!(
        loaded.config.web.api_key.expect("set").expose(),
        "k3y-web-of-16-letters"
    );
    assert!(
        loaded.config.tracker.forwarders[0]
            .uri
            .expose()
            .ends_with("?passkey=k3y")
    );
}

#[test]
fn mistakes_about_secrets_show_no_secret() {
    let setup = Setup::yaml(
        r#"
web: { api_key: [k3y] }
tracker:
  forwarders:
    - { uri: "k3y", proxy: "ftp://u:k3y@p.example" }
    - { uri: "http://a.example/k3y", name: a }
    - { uri: "http://a.example/k3y", name: a }
search: { indexers: [{ name: a, url: "ftp://x/k3y", api_key: 8734523 }] }
"#,
    )
    .env("WEIR_STORE__REDIS", "k3y");
    let told = setup.mistakes();
    assert!(!told.contains("k3y") && !told.contains("8734523"), "{told}");
    insta::assert_snapshot!("mistakes_about_secrets", told);
}

#[test]
fn a_slip_that_makes_a_key_of_a_secret_shows_no_secret() {
    let setup = Setup::yaml(
        r#"
web: { api_key:k3y }
tracker: { forwarders: [{ "uri http://a.example/k3y": 1, uri "http://b.example/k3y": 2 }] }
news: { servers: [{ name: a, host: b, password:k3y, password:k3y }] }
"#,
    );
    let told = setup.mistakes();
    assert!(!told.contains("k3y"), "{told}");
    insta::assert_snapshot!("secrets_as_keys", told);
}
