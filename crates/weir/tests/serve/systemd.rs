//! What a service manager hears, over a real socket.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use tempfile::TempDir;

use super::{PATIENCE, Weir, ask, config};

const KEY: &str = "the-first-key-of-all";

/// The next message that has a line which begins like this.
fn heard(socket: &UnixDatagram, begins: &str) -> String {
    let mut before = Vec::new();
    loop {
        let mut bytes = [0; 4096];
        let length = socket
            .recv(&mut bytes)
            .unwrap_or_else(|error| panic!("no {begins} after {before:?}: {error}"));
        let text = String::from_utf8(bytes[..length].to_vec()).unwrap();
        if text.lines().any(|line| line.starts_with(begins)) {
            return text;
        }
        before.push(text);
        // Signs of life come for ever.
        assert!(before.len() < 1000, "no {begins} after {before:?}");
    }
}

fn lines<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let lines = text.lines().filter_map(|line| line.strip_prefix(name));
    lines.collect()
}

#[test]
fn a_service_manager_hears_of_every_turn_in_the_life_of_weir() {
    let dir = TempDir::new().unwrap();
    config(dir.path(), &format!("web: {{ api_key: {KEY} }}\n"));
    let place = dir.path().join("notify");
    let socket = UnixDatagram::bind(&place).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut command = Weir::command(dir.path(), &[]);
    command
        .env("NOTIFY_SOCKET", &place)
        .env("WATCHDOG_USEC", "30000");
    let mut weir = Weir::run(&mut command).unwrap();
    let url = weir.line("http://");
    let address = url.split("http://").nth(1).unwrap();
    let address = address.split('/').next().unwrap().parse().unwrap();
    let ready = heard(&socket, "READY=1");
    let sentence = lines(&ready, "STATUS=");
    assert_eq!(sentence.len(), 1, "{ready}");
    let status = ask(address, "GET /api/v1/status", KEY);
    assert!(status.contains(sentence[0]), "{ready}\n{status}");
    heard(&socket, "WATCHDOG=1");
    heard(&socket, "WATCHDOG=1");
    // A signal, a good reload by the API, and one that is refused: each ends as it began.
    weir.signal("HUP");
    let mut before = 0;
    for round in 0..3 {
        match round {
            0 => {}
            1 => assert!(ask(address, "POST /api/v1/reload", KEY).starts_with("HTTP/1.1 200")),
            _ => {
                config(dir.path(), "no_such_key: 1\n");
                assert!(ask(address, "POST /api/v1/reload", KEY).starts_with("HTTP/1.1 422"));
            }
        }
        let reloading = heard(&socket, "RELOADING=1");
        let time: u64 = lines(&reloading, "MONOTONIC_USEC=")[0].parse().unwrap();
        assert!(time > before, "{reloading}");
        before = time;
        heard(&socket, "READY=1");
    }
    weir.signal("TERM");
    heard(&socket, "STOPPING=1");
    assert!(weir.end().0.success());
}

#[test]
fn a_socket_without_a_file_is_told_too() {
    let dir = TempDir::new().unwrap();
    let name = format!("weir-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let socket = UnixDatagram::bind_addr(&address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut command = Weir::command(dir.path(), &[]);
    let weir = Weir::run(command.env("NOTIFY_SOCKET", format!("@{name}"))).unwrap();
    heard(&socket, "READY=1");
    weir.signal("TERM");
    let stopping = heard(&socket, "STOPPING=1");
    assert!(!stopping.contains("WATCHDOG"), "{stopping}");
    assert!(weir.end().0.success());
}

#[test]
fn a_manager_that_is_gone_harms_nobody() {
    let dir = TempDir::new().unwrap();
    for place in ["/no/such/socket", "relative", "@", &"x".repeat(500)] {
        let mut command = Weir::command(dir.path(), &[]);
        command
            .env("NOTIFY_SOCKET", place)
            .env("WATCHDOG_USEC", "9");
        let mut weir = Weir::run(&mut command).unwrap();
        weir.line("http://");
        weir.signal("TERM");
        assert!(weir.end().0.success(), "{place}");
    }
}
