//! Notifications of the running program: a real receiver, which checks signatures by the recipe of the manual.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use serde_json::Value;
use tempfile::TempDir;

use super::{PATIENCE, Weir, ask, ask_with, config};

const KEY: &str = "the-first-key-of-all";
const SECRET: &str = "shared by Weir and receiver";

/// A message as it arrived.
struct Arrived {
    headers: Vec<(String, String)>,
    body: String,
}

impl Arrived {
    fn header(&self, name: &str) -> &str {
        let mut headers = self.headers.iter();
        let found = headers.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// What happened to whom.
    fn events(&self) -> Vec<String> {
        let json = self.json();
        let events = json["events"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        events
            .map(|event| format!("{} {}", text(&event["event"]), text(&event["upstream"])))
            .collect()
    }
}

/// Serves whoever comes with what `answer` says; ends with the process.
fn serve(listener: TcpListener, answer: impl Fn(Arrived, &str) -> String + Send + 'static) {
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Some((line, arrived)) = stream.ok().as_ref().and_then(read) else {
                continue;
            };
            let (stream, arrived) = arrived;
            let body = answer(arrived, &line);
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}");
            let _ = write!(&stream, "{head}\r\n\r\n{body}");
        }
    });
}

fn read(stream: &TcpStream) -> Option<(String, (TcpStream, Arrived))> {
    let stream = stream.try_clone().ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((key, value)) = header.trim().split_once(':') else {
            break;
        };
        headers.push((key.to_owned(), value.trim().to_owned()));
    }
    let length = headers
        .iter()
        .find(|(key, _)| key.eq_ignore_ascii_case("content-length"));
    let length = length.map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).ok()?;
    Some((line, (stream, Arrived { headers, body })))
}

/// A receiver of messages.
fn receiver() -> (SocketAddr, Receiver<Arrived>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (send, arrived) = sync_channel(1000);
    serve(listener, move |message, _| {
        let _ = send.send(message);
        "ok".to_owned()
    });
    (address, arrived)
}

/// An indexer without releases.
fn indexer(listener: TcpListener) {
    serve(listener, |_, line| {
        let caps = "<?xml version=\"1.0\"?><caps><server title=\"x\"/><limits max=\"100\" default=\"100\"/>\
                    <searching><search available=\"yes\" supportedParams=\"q\"/></searching></caps>";
        let feed = "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel></channel></rss>";
        if line.contains("t=caps") { caps } else { feed }.to_owned()
    });
}

/// What the recipe in the manual says of a message.
fn python_says(arrived: &Arrived, secret: &str, body: &str) -> String {
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/notifications.md");
    let manual = std::fs::read_to_string(manual).unwrap();
    let recipe = manual.split("```python\n").nth(1).unwrap();
    let recipe = recipe.split("```").next().unwrap();
    let call = "import sys, json\nasked = json.load(sys.stdin)\n\
                print(is_from_weir(asked['secret'], asked['headers'], asked['body'].encode()))\n";
    let headers = serde_json::json!({
        "X-Weir-Timestamp": arrived.header("x-weir-timestamp"),
        "X-Weir-Signature": arrived.header("x-weir-signature"),
    });
    let asked = serde_json::json!({ "secret": secret, "headers": headers, "body": body });
    let mut python = Command::new("python3")
        .args(["-c", &format!("{recipe}\n{call}")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = python.stdin.take().unwrap();
    input.write_all(asked.to_string().as_bytes()).unwrap();
    drop(input);
    let output = python.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn an_outage_is_told_once_over_a_kill_and_signed() {
    let (hook, arrived) = receiver();
    // A free port where nothing listens yet.
    let dead = TcpListener::bind("127.0.0.1:0").unwrap();
    let site = dead.local_addr().unwrap();
    drop(dead);
    let dir = TempDir::new().unwrap();
    config(
        dir.path(),
        &format!(
            "web: {{ api_key: {KEY} }}
engine: {{ try_within: 1s, probe_after: 1s, ladder: [1s, 2s] }}
search: {{ indexers: [{{ name: harbor, url: \"http://{site}/api\" }}] }}
notify:
  down_after: 2s
  back_after: 1s
  interval: 1s
  look_every: 1s
  hooks: [{{ name: home, url: \"http://{hook}/s3cr3t-part\", secret: \"{SECRET}\" }}]
"
        ),
    );
    let (mut weir, _) = Weir::start(dir.path(), &[]);
    let down = arrived.recv_timeout(PATIENCE).unwrap();
    assert_eq!(down.events(), ["down harbor"]);
    let json = down.json();
    let sentence = json["events"][0]["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("Search: harbor "), "{sentence}");
    assert!(sentence.contains("refused"), "{sentence}");
    assert!(
        json["text"].as_str().unwrap().contains("\nWeir on "),
        "{json}"
    );
    assert_eq!(python_says(&down, SECRET, &down.body), "True");
    assert_eq!(
        python_says(&down, SECRET, &down.body.replace("down", "back")),
        "False"
    );
    assert_eq!(
        python_says(&down, "another secret of ours", &down.body),
        "False"
    );

    // Killed; it must not tell the same again, and must tell the end.
    weir.child.kill().unwrap();
    weir.child.wait().unwrap();
    let (weir, address) = Weir::start(dir.path(), &[]);
    let tested = ask(address, "POST /api/v1/notify/test", KEY);
    assert!(
        tested.contains("The message arrived: it answered 200."),
        "{tested}"
    );
    let test = arrived.recv_timeout(PATIENCE).unwrap();
    assert_eq!(
        (&test.json()["test"], test.events().len()),
        (&true.into(), 0)
    );
    assert_eq!(python_says(&test, SECRET, &test.body), "True");
    indexer(TcpListener::bind(site).unwrap());
    let back = arrived.recv_timeout(PATIENCE).unwrap();
    assert_eq!(back.events(), ["back harbor"]);
    weir.signal("TERM");
    let (status, text) = weir.end();
    assert!(status.success(), "{text}");
    assert!(!text.contains("s3cr3t") && !text.contains(SECRET), "{text}");
}

#[test]
fn the_settings_page_sends_a_test_and_says_what_came_of_it() {
    let (hook, arrived) = receiver();
    let dir = TempDir::new().unwrap();
    config(dir.path(), &format!("web: {{ api_key: {KEY} }}\n"));
    let (_weir, address) = Weir::start(dir.path(), &[]);
    let page = ask(address, "GET /settings", KEY);
    assert!(page.contains("No hook is set up"), "{page}");
    // A reload brings one, and another that is dead.
    config(
        dir.path(),
        &format!(
            "web: {{ api_key: {KEY} }}
notify:
  hooks:
    - {{ name: home, kind: slack, url: \"http://{hook}/s3cr3t-part\" }}
    - {{ name: gone, kind: discord, url: \"http://127.0.0.1:1/s3cr3t-part\" }}
"
        ),
    );
    let reloaded = ask(address, "POST /api/v1/reload", KEY);
    assert!(reloaded.starts_with("HTTP/1.1 200"), "{reloaded}");
    let page = ask(address, "GET /settings", KEY);
    assert!(page.contains("action=\"/settings/notify/test\""), "{page}");
    assert!(page.contains("Not tested since Weir started"), "{page}");
    assert!(!page.contains("s3cr3t"), "{page}");
    let test = |name: &str| {
        let body = format!("hook={name}");
        let headers = format!(
            "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        ask_with(address, "POST /settings/notify/test", KEY, &headers)
    };
    let done = test("home");
    assert!(
        done.contains("location: /settings?tested=home\r\n"),
        "{done}"
    );
    let message = arrived.recv_timeout(PATIENCE).unwrap();
    assert!(
        message.json()["text"]
            .as_str()
            .unwrap()
            .starts_with("Test message\n")
    );
    let page = ask(address, "GET /settings?tested=home", KEY);
    let notice = "role=\"status\">Test of home: The message arrived: it answered 200.";
    assert!(page.contains(notice), "{page}");
    test("gone");
    let page = ask(address, "GET /settings?tested=gone", KEY);
    let notice = "role=\"alert\">Test of gone: The message did not arrive: ";
    assert!(page.contains(notice), "{page}");
    let upstream = ask(address, "GET /api/v1/upstreams/notify/gone", KEY);
    assert!(upstream.contains("refused"), "{upstream}");
}
