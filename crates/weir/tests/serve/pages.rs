//! What pages of the running program tell an operator: which file to edit, where to announce.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::tracker::{KEY, Rig, announce};
use super::{Weir, ask, config};

/// The full path of a file in a directory, as Weir names it.
fn full(dir: &Path, name: &str) -> String {
    let dir = dir.canonicalize().unwrap();
    dir.join(name).display().to_string()
}

/// All pages that tell the operator to edit the configuration, and a few words of how each does.
const TELLING: [(&str, &str); 6] = [
    ("/", "or write in"),
    ("/upstreams", "You can also write them in"),
    ("/search", "You can also write lines like these in"),
    ("/connect", "<code>search.indexers</code> in"),
    ("/connect", "<code>web.api_key</code> in"),
    ("/settings", "<code>notify.hooks</code> in"),
];

fn assert_named(address: std::net::SocketAddr, key: &str, file: &str) {
    for (path, words) in TELLING {
        let page = ask(address, &format!("GET {path}"), key);
        let told = format!("{words} <code>{file}</code>");
        assert!(page.contains(&told), "{told} on {path}: {page}");
    }
}

#[test]
fn pages_that_say_what_to_write_name_the_file_in_full() {
    let dir = TempDir::new().unwrap();
    let (mut weir, address) = Weir::start(dir.path(), &[]);
    let key = weir.line("key: ").trim_start_matches("  key: ").to_owned();
    let file = full(dir.path(), "weir.yaml");
    // Where it would be read, as long as there is none.
    assert_named(address, &key, &file);
    let page = ask(address, "GET /settings", &key);
    assert!(
        page.contains(&format!("To change them, write <code>{file}</code>")),
        "{page}"
    );

    // The one that a reload has found.
    let found = full(dir.path(), "weir.toml");
    std::fs::write(&found, "[tracker]\nnumwant = 20\n").unwrap();
    ask(address, "POST /api/v1/reload", &key);
    assert_named(address, &key, &found);
    let page = ask(address, "GET /settings", &key);
    assert!(
        page.contains(&format!("Values come from <code>{found}</code>")),
        "{page}"
    );
}

#[test]
fn fronts_that_listen_nowhere_say_what_to_set_in_which_file() {
    let dir = TempDir::new().unwrap();
    config(
        dir.path(),
        &format!(
            "web: {{ api_key: {KEY}, listen: '127.0.0.1:0' }}\n\
             tracker: {{ http_listen: null, udp_listen: null }}\nnews: {{ nntp_listen: null }}\n"
        ),
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.args(["serve", "--data", "data"]);
    command.current_dir(dir.path()).env_clear();
    let mut weir = Weir::run(&mut command).unwrap();
    let line = weir.line("http://");
    let (_, url) = line.split_once("http://").unwrap();
    let address = url.split('/').next().unwrap().parse().unwrap();
    let page = ask(address, "GET /connect", KEY);
    let file = full(dir.path(), "weir.yaml");
    for (server, keys) in [
        (
            "The tracker",
            "<code>tracker.http_listen</code> or <code>tracker.udp_listen</code>",
        ),
        ("The news server", "<code>news.nntp_listen</code>"),
    ] {
        let told = format!("{server} is off. Set {keys} in <code>{file}</code>");
        assert!(page.contains(&told), "{told}: {page}");
    }
}

#[test]
fn settings_say_how_a_backup_is_restored() {
    let dir = TempDir::new().unwrap();
    config(dir.path(), &format!("web: {{ api_key: {KEY} }}\n"));
    let (_weir, address) = Weir::start(dir.path(), &[]);
    let page = ask(address, "GET /settings", KEY);
    for words in ["To restore it, stop Weir", "In Docker, only the volume"] {
        assert!(page.contains(words), "{words}: {page}");
    }
}

#[test]
fn settings_say_how_large_each_file_is_and_which_versions_run() {
    let dir = TempDir::new().unwrap();
    config(dir.path(), &format!("web: {{ api_key: {KEY} }}\n"));
    let (_weir, address) = Weir::start(dir.path(), &[]);
    let page = ask(address, "GET /settings", KEY);
    let (_, sizes) = page.split_once("<h2 id=\"sizes\">").unwrap();
    let (sizes, versions) = sizes.split_once("<h2 id=\"versions\">").unwrap();
    for name in ["state.db", "search.db", "news.db", "news-text.db", "swarm/"] {
        let row = format!("<dt><code>{name}</code></dt><dd title=\"");
        let (_, row) = sizes
            .split_once(&row)
            .unwrap_or_else(|| panic!("no {name} in {sizes}"));
        let bytes = row.split(' ').next().unwrap();
        let bytes: u64 = bytes.parse().unwrap();
        assert!(bytes > 0, "{name}: {row}");
    }
    for (name, version) in [
        ("Weir", env!("CARGO_PKG_VERSION")),
        ("SQLite", weir_store::rusqlite::version()),
        ("Built with Rust", "1."),
        ("System", std::env::consts::OS),
    ] {
        let row = format!("<dt>{name}</dt><dd>{version}");
        assert!(versions.contains(&row), "{row} in {versions}");
    }
}

#[test]
fn pages_without_upstreams_lead_to_the_form_and_name_the_file_that_it_writes() {
    let rig = Rig::start("");
    let file = full(rig.dir.path(), "data/upstreams.yaml");
    for (path, form) in [
        ("/", "/upstreams/add?front=search"),
        ("/", "/upstreams/add?front=news"),
        ("/upstreams", "/upstreams/add"),
        ("/upstreams", "/upstreams/import"),
        ("/search", "/upstreams/add?front=search"),
        ("/search", "/upstreams/import"),
        ("/news", "/upstreams/add?front=news"),
    ] {
        let page = ask(rig.web, &format!("GET {path}"), KEY);
        let link = format!("href=\"{form}\"");
        assert!(page.contains(&link), "{form} on {path}: {page}");
        let named = format!("<code>{file}</code>");
        assert!(page.contains(&named), "{named} on {path}: {page}");
    }
}

#[test]
fn a_file_given_by_a_relative_path_is_named_in_full() {
    let dir = TempDir::new().unwrap();
    std::fs::create_dir(dir.path().join("etc")).unwrap();
    let text = format!("web: {{ api_key: {KEY} }}\n");
    std::fs::write(dir.path().join("etc/mine.yaml"), text).unwrap();
    let (mut weir, address) = Weir::start(dir.path(), &["-c", "etc/mine.yaml"]);
    let file = full(dir.path(), "etc/mine.yaml");
    weir.line(&format!("Configuration: {file}."));
    assert_named(address, KEY, &file);
}

#[test]
fn a_tracker_without_listeners_says_where_to_set_them() {
    let dir = TempDir::new().unwrap();
    config(
        dir.path(),
        &format!("web: {{ api_key: {KEY} }}\ntracker: {{ http_listen: null, udp_listen: null }}\n"),
    );
    // The flags of the other tests would open them.
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_weir"));
    command
        .args(["--web", "127.0.0.1:0", "--data", "data"])
        .current_dir(dir.path())
        .env_clear()
        .env("WEIR_NEWS__NNTP_LISTEN", "127.0.0.1:0");
    let mut weir = Weir::run(&mut command).unwrap();
    let url = weir.line("http://");
    let rest = url.split("http://").nth(1).unwrap();
    let address = rest.split('/').next().unwrap().parse().unwrap();
    let file = full(dir.path(), "weir.yaml");
    let page = ask(address, "GET /swarms", KEY);
    let told = format!("<code>tracker.udp_listen</code> in <code>{file}</code> and restart");
    assert!(page.contains(&told), "{page}");
    let page = ask(address, "GET /", KEY);
    assert!(page.contains("  udp_listen: &#34;[::]:6969&#34;"), "{page}");
    let page = ask(address, "GET /connect", KEY);
    assert!(!page.contains("BitTorrent clients"), "{page}");
}

#[test]
fn announce_addresses_are_shown_though_swarms_exist() {
    let rig = Rig::start("");
    for swarms in [0, 1] {
        if swarms > 0 {
            assert!(announce(rig.tracker, 1).contains("8:interval"));
        }
        for path in ["/swarms", "/connect"] {
            let page = ask(rig.web, &format!("GET {path}"), KEY);
            let http = format!("value=\"http://{}/announce\"", rig.tracker);
            assert!(page.contains(&http), "{path} with {swarms} swarms: {page}");
            assert!(page.contains("value=\"udp://127.0.0.1:"), "{path}: {page}");
        }
    }
}
