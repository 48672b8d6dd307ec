//! Sign-in links: when they are printed, and `weir sign-in`, next to a running Weir and without one.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use super::{Weir, ask, config};

fn sign_in(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_weir"))
        .arg("sign-in")
        .args(args)
        .current_dir(dir)
        .env_clear()
        .env("WEIR_NEWS__NNTP_LISTEN", "127.0.0.1:0")
        .output()
        .expect("the binary runs")
}

/// The path of the link that it prints; nothing else goes to standard output.
fn new_link(dir: &Path, at: Option<SocketAddr>) -> String {
    let output = sign_in(dir, &["--data", "data"]);
    let notes = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{notes}");
    assert!(notes.contains("once, within an hour"), "{notes}");
    let text = String::from_utf8(output.stdout).unwrap();
    let url = text.trim_end().strip_prefix("http://").unwrap();
    let (address, path) = url.split_once('/').unwrap();
    if let Some(at) = at {
        assert_eq!(address, at.to_string(), "where it listens");
    }
    assert!(
        path.starts_with("sign-in?link=") && !path.contains('\n'),
        "{text}"
    );
    format!("/{path}")
}

/// Whether a link signs in.
fn opens(address: SocketAddr, link: &str) -> bool {
    let answer = ask(address, &format!("GET {link}"), "");
    let is_in = answer.starts_with("HTTP/1.1 303");
    assert_eq!(
        answer.contains("set-cookie: weir_session="),
        is_in,
        "{answer}"
    );
    assert_eq!(answer.contains("weir sign-in"), !is_in, "{answer}");
    is_in
}

/// The address and link that a start prints, with all its output.
fn greeting(dir: &Path) -> (SocketAddr, Option<String>, String) {
    let (weir, address) = Weir::start(dir, &[]);
    weir.signal("TERM");
    let (status, text) = weir.end();
    assert!(status.success(), "{text}");
    let link = text
        .lines()
        .find_map(|line| line.split_once("/sign-in?link="));
    (address, link.map(|(_, token)| token.to_owned()), text)
}

#[test]
fn the_first_start_prints_a_link_and_the_next_one_into_no_log() {
    for settings in ["{}\n", "web: { api_key: the-first-key-of-all }\n"] {
        let dir = TempDir::new().unwrap();
        config(dir.path(), settings);
        let (_, link, text) = greeting(dir.path());
        assert!(link.is_some(), "{text}");
        let (_, link, text) = greeting(dir.path());
        assert_eq!(link, None, "{text}");
        assert!(text.contains("`weir sign-in`"), "{text}");
    }
}

#[test]
fn a_terminal_shows_a_link_at_each_start() {
    let dir = TempDir::new().unwrap();
    greeting(dir.path());
    let weir = env!("CARGO_BIN_EXE_weir");
    let serve = format!(
        "echo pid $$; exec {weir} --web 127.0.0.1:0 --data data -l 127.0.0.1:0 -u 127.0.0.1:0"
    );
    let mut script = Command::new("script");
    let path = std::env::var_os("PATH").unwrap();
    let script = script
        .args(["-qfec", &serve, "/dev/null"])
        .current_dir(dir.path())
        .env_clear()
        .env("WEIR_NEWS__NNTP_LISTEN", "127.0.0.1:0")
        .env("PATH", path);
    let mut weir = Weir::run(script).expect("`script`, which makes a terminal");
    let pid = weir.line("pid ").trim_start_matches("pid ").to_owned();
    let first = weir.line("http://");
    // Stopped by its own process ID: `script` would only hang up, which makes Weir reload.
    let kill = Command::new("kill").arg(pid.trim()).status().unwrap();
    assert!(kill.success() && weir.end().0.success());
    assert!(first.contains("/sign-in?link="), "{first}");
}

#[test]
fn a_link_made_beside_a_running_weir_signs_in_once() {
    let dir = TempDir::new().unwrap();
    let (mut weir, address) = Weir::start(dir.path(), &[]);
    let first = weir
        .seen
        .iter()
        .find_map(|line| line.split_once("/sign-in"));
    let first = format!("/sign-in{}", first.unwrap().1);
    let link = new_link(dir.path(), Some(address));
    assert!(!opens(address, &first), "a newer one replaces it");
    assert!(opens(address, &link));
    assert!(!opens(address, &link), "once");
    // Weir itself continues to write to the same file.
    weir.signal("HUP");
    weir.line("reload: done");
    let other = new_link(dir.path(), Some(address));
    assert!(opens(address, &other));
}

#[test]
fn a_link_made_while_weir_is_stopped_signs_in_at_its_next_start() {
    let dir = TempDir::new().unwrap();
    greeting(dir.path());
    let link = new_link(dir.path(), None);
    let (weir, address) = Weir::start(dir.path(), &[]);
    assert!(opens(address, &link));
    assert!(!opens(address, &link));
    weir.signal("KILL");
    weir.end();
    // The write-ahead log of a killed Weir is not in the file yet.
    let link = new_link(dir.path(), None);
    let (_weir, address) = Weir::start(dir.path(), &[]);
    assert!(opens(address, &link));
}

#[test]
fn where_there_is_no_weir_it_says_so_and_makes_nothing() {
    let dir = TempDir::new().unwrap();
    let output = sign_in(dir.path(), &[]);
    let notes = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{notes}");
    assert!(output.stdout.is_empty());
    assert!(
        notes.contains("weir-data/state.db") && notes.contains("--data DIR"),
        "{notes}"
    );
    assert!(!dir.path().join("weir-data").exists());
    config(dir.path(), "web: { listne: 1 }\n");
    assert_eq!(sign_in(dir.path(), &[]).status.code(), Some(2));
    assert_eq!(sign_in(dir.path(), &["--nonsense"]).status.code(), Some(2));
}
