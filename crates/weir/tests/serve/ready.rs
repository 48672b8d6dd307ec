//! `/readyz` in every state: while Weir starts, while it serves, with a full disk, and while it stops.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::tracker::KEY;
use super::{PATIENCE, Weir, ask, ask_with, config};

fn readyz(address: SocketAddr) -> String {
    ask(address, "GET /readyz", "")
}

/// Waits until `/readyz` answers so.
#[expect(clippy::disallowed_methods, reason = "the binary keeps its own time")]
fn wait_for(address: SocketAddr, status: &str, text: &str) -> String {
    let begun = Instant::now();
    loop {
        let answer = readyz(address);
        if answer.starts_with(&format!("HTTP/1.1 {status}")) && answer.contains(text) {
            return answer;
        }
        assert!(begun.elapsed() < PATIENCE, "never {status}: {answer}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Where a process listens by TCP: its only such socket.
#[expect(clippy::disallowed_methods, reason = "the binary keeps its own time")]
fn listening(pid: u32) -> SocketAddr {
    let begun = Instant::now();
    loop {
        let links = fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten();
        let own: Vec<String> = links
            .filter_map(|link| {
                let to = fs::read_link(link.ok()?.path()).ok()?;
                let to = to.to_str()?.strip_prefix("socket:[")?;
                Some(to.trim_end_matches(']').to_owned())
            })
            .collect();
        let table = fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap_or_default();
        let found = table.lines().skip(1).find_map(|line| {
            let parts: Vec<&str> = line.split_whitespace().collect();
            let (address, port) = parts.get(1)?.split_once(':')?;
            let listens = parts.get(3) == Some(&"0A") && address == "0100007F";
            let ours = own
                .iter()
                .any(|inode| parts.get(9) == Some(&inode.as_str()));
            (listens && ours).then(|| u16::from_str_radix(port, 16).ok())?
        });
        if let Some(port) = found {
            return ([127, 0, 0, 1], port).into();
        }
        assert!(begun.elapsed() < PATIENCE, "it never listens");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn while_it_starts_it_is_alive_and_not_ready() {
    let dir = TempDir::new().unwrap();
    let text = format!(
        "web: {{ api_key: {KEY} }}\ntracker: {{ http_listen: null }}\nnews: {{ nntp_listen: null }}\n"
    );
    config(dir.path(), &text);
    let command = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command
            .args([
                "--web",
                "127.0.0.1:0",
                "--data",
                "data",
                "-u",
                "127.0.0.1:0",
            ])
            .current_dir(dir.path())
            .env_clear();
        command
    };
    let mut first = Weir::run(&mut command()).unwrap();
    first.line("http://");
    first.signal("TERM");
    assert!(first.end().0.success());
    // A file of swarms that does not end until somebody writes it: reading it takes as long as we like.
    let pipe = dir.path().join("data/swarm/00.swarm");
    let names = fs::read_dir(dir.path().join("data/swarm")).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    let _ = fs::remove_file(&pipe);
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success(), "{names:?}");
    let mut weir = Weir::run(&mut command()).unwrap();
    let address = listening(weir.child.id());
    let answer = readyz(address);
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(
        answer.ends_with("not ready\nWeir is starting.\n"),
        "{answer}"
    );
    let answer = ask_with(address, "GET /readyz", "", "Accept: application/json\r\n");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(
        (&body["ready"], &body["missing"][0]),
        (&false.into(), &"Weir is starting.".into())
    );
    assert!(ask(address, "GET /healthz", "").starts_with("HTTP/1.1 200"));
    let api = ask(address, "GET /api/v1/status", KEY);
    assert!(
        api.starts_with("HTTP/1.1 503") && api.contains("application/problem+json"),
        "{api}"
    );
    assert!(api.to_lowercase().contains("retry-after: 2"), "{api}");
    fs::write(&pipe, "").unwrap();
    weir.line("http://");
    wait_for(address, "200", "ready");
    assert!(ask(address, "GET /api/v1/status", KEY).starts_with("HTTP/1.1 200"));
}

#[test]
fn while_it_stops_it_says_so() {
    let dir = TempDir::new().unwrap();
    config(
        dir.path(),
        "drain: 1h\nweb: { limits: { request_timeout: 2h } }\n",
    );
    let (mut weir, address) = Weir::start(dir.path(), &[]);
    assert!(readyz(address).ends_with("ready\n"));
    // A request that goes on until we say so.
    let mut held = TcpStream::connect(address).unwrap();
    let head = "POST /sign-in HTTP/1.1\r\nHost: weir\r\nExpect: 100-continue\r\n\
                Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\n";
    write!(held, "{head}").unwrap();
    let mut answer = [0; 12];
    held.set_read_timeout(Some(PATIENCE)).unwrap();
    held.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100");
    weir.signal("TERM");
    weir.line("stopping");
    let answer = wait_for(address, "503", "Weir is stopping.");
    assert!(answer.contains("not ready"), "{answer}");
    let page = ask(address, "GET /", KEY);
    assert!(page.starts_with("HTTP/1.1 503"), "{page}");
    held.write_all(b"key=wrong").unwrap();
    let (status, text) = weir.end();
    assert!(status.success(), "{text}");
}

#[test]
fn with_a_full_disk_it_is_not_ready_and_recovers() {
    let dir = TempDir::new().unwrap();
    config(dir.path(), &format!("web: {{ api_key: {KEY} }}\n"));
    let (weir, address) = Weir::start_on_full_disk(dir.path());
    assert!(readyz(address).ends_with("ready\n"));
    weir.limit_files("1024");
    let answer = wait_for(
        address,
        "503",
        "state.db cannot be written. Is the disk full?",
    );
    assert!(answer.contains("not ready"), "{answer}");
    let status = ask(address, "GET /api/v1/status", KEY);
    assert!(
        status.starts_with("HTTP/1.1 200"),
        "it serves what it can: {status}"
    );
    assert!(status.contains("\"ready\":false"), "{status}");
    weir.limit_files("unlimited");
    wait_for(address, "200", "ready");
    weir.signal("TERM");
    assert!(weir.end().0.success());
}
