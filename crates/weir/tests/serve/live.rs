//! The stream of events of the running program, read from a socket as any client would.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use super::tracker::{KEY, Rig};
use super::{PATIENCE, ask};

/// Nobody listens there.
const INDEXER: &str = r#"search: { indexers: [{ name: one, url: "http://127.0.0.1:9/api" }] }"#;

struct Ears(BufReader<TcpStream>);

impl Ears {
    fn open(rig: &Rig, headers: &str) -> Self {
        let mut stream = TcpStream::connect(rig.web).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!("GET /api/v1/events HTTP/1.1\r\nHost: weir\r\n{headers}\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut ears = Self(BufReader::new(stream));
        let status = ears.line().unwrap();
        assert!(status.starts_with("HTTP/1.1 200"), "{status}");
        ears
    }

    /// The next line, also of the sizes of chunks; `None` at the end.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line).unwrap();
        (read > 0).then(|| line.trim_end().to_owned())
    }

    /// Reads until an event of this name; returns its id and data.
    fn event(&mut self, name: &str) -> (String, serde_json::Value) {
        let (mut id, mut is_wanted) = (String::new(), false);
        loop {
            let line = self.line().expect("the stream goes on");
            if let Some(given) = line.strip_prefix("id: ") {
                id = given.to_owned();
            } else if let Some(event) = line.strip_prefix("event: ") {
                is_wanted = event == name;
            } else if let Some(data) = line.strip_prefix("data: ").filter(|_| is_wanted) {
                return (id, serde_json::from_str(data).unwrap());
            }
        }
    }
}

#[test]
fn a_client_follows_what_happens_comes_back_and_is_let_go_at_the_end() {
    let rig = Rig::start(INDEXER);
    let key = format!("X-Api-Key: {KEY}\r\n");
    let refused = ask(rig.web, "GET /api/v1/events", "wrong");
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    let mut ears = Ears::open(&rig, &key);
    let (first, figures) = ears.event("figures");
    let fronts = figures["fronts"].as_array().unwrap();
    let names: Vec<&str> = fronts
        .iter()
        .filter_map(|front| front["name"].as_str())
        .collect();
    assert_eq!(names, ["tracker", "search", "news"]);
    ask(rig.web, "GET /torznab/api?t=search&q=some", KEY);
    let (_, states) = ears.event("states");
    assert_eq!(states["states"][0]["name"], "one");
    let (_, decisions) = ears.event("decisions");
    assert_eq!(decisions["decisions"][0]["upstream"], "one");
    let (_, searches) = ears.event("searches");
    let search = &searches["searches"][0];
    assert_eq!(
        (&search["query"], &search["asked"]),
        (&"\"some\"".into(), &1.into())
    );
    drop(ears);
    let mut back = Ears::open(&rig, &format!("{key}Last-Event-ID: {first}\r\n"));
    assert_eq!(back.event("states").1, states);
    assert_eq!(back.event("decisions").1, decisions);
    rig.weir.signal("TERM");
    while back.line().is_some() {}
    let (status, log) = rig.weir.end();
    assert!(status.success());
    assert!(
        log.contains("the web listener is closed") && log.contains("cut=0"),
        "{log}"
    );
}
