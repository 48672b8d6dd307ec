//! HTTP: keep-alive, pipelining, limits, refusals.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroU32;
use std::time::Duration;

use weir_tracker::config::Config;
use weir_tracker_proto::InfoHash;
use weir_tracker_proto::http::{Answer, read_announce_reply, read_scrape_reply};

use super::{PATIENCE, Tracker, config, proxies};

struct Client {
    stream: TcpStream,
    /// What was read beyond the last reply.
    read: Vec<u8>,
}

struct Reply {
    head: String,
    body: Vec<u8>,
}

impl Client {
    fn new(at: SocketAddr) -> Self {
        let stream = TcpStream::connect(at).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        Self {
            stream,
            read: Vec::new(),
        }
    }

    fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).expect("it is sent");
    }

    fn more(&mut self) -> usize {
        let mut piece = [0; 4096];
        let count = self.stream.read(&mut piece).expect("something");
        self.read.extend_from_slice(&piece[..count]);
        count
    }

    fn reply(&mut self) -> Reply {
        let end = loop {
            let end = self.read.windows(4).position(|four| four == b"\r\n\r\n");
            match end {
                Some(end) => break end + 4,
                None => assert!(self.more() > 0, "closed before a reply: {:?}", self.read),
            }
        };
        let head = String::from_utf8(self.read.drain(..end).collect()).expect("text");
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("Content-Length: "))
            .and_then(|length| length.parse().ok())
            .expect("a length");
        while self.read.len() < length {
            assert!(self.more() > 0, "closed within a reply");
        }
        let body = self.read.drain(..length).collect();
        Reply { head, body }
    }

    fn get(&mut self, target: &str) -> Reply {
        self.send(&format!("GET {target} HTTP/1.1\r\nHost: tracker\r\n\r\n"));
        self.reply()
    }

    /// Whether the other side ended it, however rudely.
    fn is_gone(&mut self) -> bool {
        match self.stream.read(&mut [0; 1]) {
            Ok(count) => count == 0,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }

    fn is_closed(&mut self) -> bool {
        matches!(self.stream.read(&mut [0; 1]), Ok(0))
    }
}

fn target(swarm: u8, port: u16, rest: &str) -> String {
    let hash: String = [swarm; 20]
        .iter()
        .map(|byte| format!("%{byte:02X}"))
        .collect();
    format!("/announce?info_hash={hash}&peer_id=-AB1234-0123456789ab&port={port}{rest}")
}

fn peers(reply: &Reply) -> Vec<String> {
    match read_announce_reply(&reply.body) {
        Ok(Answer::Given(answer)) => answer
            .peers
            .addresses()
            .map(|peer| peer.to_string())
            .collect(),
        other => panic!("{other:?}"),
    }
}

fn failure(reply: &Reply) -> String {
    assert!(
        reply.head.starts_with("HTTP/1.1 200 OK\r\n"),
        "{}",
        reply.head
    );
    match read_announce_reply(&reply.body) {
        Ok(Answer::Refused(failure)) => failure.reason.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn clients_meet_over_kept_connections() {
    let tracker = Tracker::start(config());
    let (mut one, mut other) = (
        Client::new(tracker.at("http")),
        Client::new(tracker.at("http")),
    );
    assert_eq!(
        peers(&one.get(&target(1, 1000, "&left=0&compact=1"))),
        [""; 0]
    );
    for _ in 0..3 {
        let reply = other.get(&target(1, 2000, "&left=7&compact=1&event=started"));
        assert_eq!(peers(&reply), ["127.0.0.1:1000"]);
        assert!(!reply.head.contains("Connection"), "{}", reply.head);
    }
    let body = one.get(&target(1, 1000, "&left=0")).body;
    let expected = b"d8:completei1e10:downloadedi0e11:external ip4:\x7f\0\0\x0110:incompletei1e8:intervali1800e5:peers6:\x7f\0\0\x01\x07\xd0e";
    assert_eq!(
        body.escape_ascii().to_string(),
        expected.escape_ascii().to_string()
    );
    assert_eq!(
        peers(&one.get(&target(1, 1000, "&left=0&event=stopped"))),
        [""; 0]
    );
    assert_eq!(
        peers(&other.get(&target(1, 2000, "&left=7"))),
        [""; 0],
        "it left"
    );
}

#[test]
fn dictionaries_are_given_to_who_wants_them() {
    let tracker = Tracker::start(config());
    let mut client = Client::new(tracker.at("http"));
    client.get(&target(1, 1000, "&left=0"));
    let reply = client.get(&target(1, 2000, "&left=7&compact=0"));
    let text = reply.body.escape_ascii().to_string();
    assert!(
        text.contains("5:peersld2:ip9:127.0.0.14:porti1000eee"),
        "{text}"
    );
}

#[test]
fn requests_in_one_piece_or_many_are_answered_in_order() {
    let tracker = Tracker::start(config());
    let mut client = Client::new(tracker.at("http"));
    let requests: String = (1..=50)
        .map(|port| {
            format!(
                "GET {} HTTP/1.1\r\nHost: t\r\n\r\n",
                target(port, 1, "&left=0&numwant=0")
            )
        })
        .collect();
    client.send(&requests);
    for _ in 0..50 {
        assert!(peers(&client.reply()).is_empty());
    }
    assert_eq!(tracker.front().totals().swarms, 50);
    for piece in requests.as_bytes()[..600].chunks(7) {
        client.stream.set_nodelay(true).expect("an option");
        client.stream.write_all(piece).expect("it is sent");
    }
    client.send(&requests[600..]);
    for _ in 0..50 {
        assert!(peers(&client.reply()).is_empty());
    }
}

#[test]
fn a_client_that_asks_much_and_reads_late_gets_all_of_it() {
    let tracker = Tracker::start(config());
    let mut client = Client::new(tracker.at("http"));
    for port in 1..=200 {
        client.get(&target(1, port, "&left=1"));
    }
    let request = format!(
        "GET {} HTTP/1.1\r\n\r\n",
        target(1, 1, "&left=1&numwant=200")
    );
    // Each reply is ten times as long as its request.
    let mut asking = client.stream.try_clone().expect("the same connection");
    let asks = std::thread::spawn(move || asking.write_all(request.repeat(5_000).as_bytes()));
    for _ in 0..5_000 {
        assert_eq!(peers(&client.reply()).len(), 199);
    }
    asks.join().expect("it ends").expect("it is sent");
}

#[test]
fn connections_close_when_the_client_says_so() {
    let tracker = Tracker::start(config());
    let line = target(1, 1, "");
    for (request, closes) in [
        (format!("GET {line} HTTP/1.0\r\n\r\n"), true),
        (
            format!("GET {line} HTTP/1.1\r\nConnection: close\r\n\r\n"),
            true,
        ),
        (
            format!("GET {line} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
            false,
        ),
    ] {
        let mut client = Client::new(tracker.at("http"));
        client.send(&request);
        let reply = client.reply();
        let said = if closes {
            "Connection: close"
        } else {
            "Connection: keep-alive"
        };
        assert!(reply.head.contains(said), "{}", reply.head);
        if closes {
            assert!(client.is_closed());
        } else {
            client.get(&line);
        }
    }
}

#[test]
fn malformed_announces_are_told_what_is_wrong() {
    let tracker = Tracker::start(config());
    let mut client = Client::new(tracker.at("http"));
    for (target, reason) in [
        ("/announce", "info_hash is missing"),
        ("/announce?info_hash=short", "info_hash must be 20 bytes"),
        (&target(1, 0, ""), "port must be 1 to 65535"),
        ("/scrape", "info_hash is missing"),
    ] {
        assert_eq!(failure(&client.get(target)), reason, "{target}");
    }
}

#[test]
fn what_is_no_http_or_too_long_is_refused() {
    let tracker = Tracker::start(config());
    for (sent, status) in [
        ("\x16\x03\x01 hello".to_owned(), "400 Bad Request"),
        (
            format!("GET /announce?{} HTTP/1.1\r\n\r\n", "x".repeat(20_000)),
            "431 ",
        ),
        (
            format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(100)),
            "431 ",
        ),
    ] {
        let mut client = Client::new(tracker.at("http"));
        client.send(&sent);
        let reply = client.reply();
        assert!(reply.head.contains(status), "{}", reply.head);
        assert!(reply.head.contains("Connection: close"));
        assert!(String::from_utf8_lossy(&reply.body).ends_with(".\n"));
    }
}

#[test]
fn slow_and_silent_connections_are_cut_while_others_are_served() {
    let tracker = Tracker::start(Config {
        http_idle_timeout: Duration::from_secs(1),
        http_request_timeout: Duration::from_secs(1),
        ..config()
    });
    let mut silent = Client::new(tracker.at("http"));
    let mut slow = Client::new(tracker.at("http"));
    let mut idle = Client::new(tracker.at("http"));
    idle.get(&target(1, 1, ""));
    let mut dripping = slow.stream.try_clone().expect("the same connection");
    let drips = std::thread::spawn(move || {
        let request = format!("GET {} HTTP/1.1\r\n", target(1, 1, ""));
        let bytes = request.as_bytes().iter().cycle();
        // Until the connection is gone.
        for byte in bytes {
            if dripping.write_all(&[*byte]).is_err() {
                return;
            }
            std::thread::park_timeout(Duration::from_millis(50));
        }
    });
    let mut busy = Client::new(tracker.at("http"));
    for client in [&mut silent, &mut idle, &mut slow] {
        client
            .stream
            .set_read_timeout(Some(Duration::from_millis(20)))
            .expect("a time");
        let mut closed = false;
        while !closed {
            busy.get(&target(1, 2, ""));
            closed = match client.stream.read(&mut [0; 16]) {
                Ok(0) => true,
                Ok(_) => false,
                Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
            };
        }
    }
    drips.join().expect("it ends");
}

#[test]
fn whoever_waits_longest_makes_room_in_either_family() {
    let tracker = Tracker::start(Config {
        http_listen: Some("[::]:0".parse().expect("all addresses")),
        http_connections: NonZeroU32::new(3).expect("three"),
        listener_threads: NonZeroU32::new(2),
        http_idle_timeout: Duration::from_secs(3600),
        http_request_timeout: Duration::from_secs(3600),
        ..config()
    });
    let port = tracker.at("http").port();
    let client = |here: &str| Client::new(SocketAddr::new(here.parse().expect("an address"), port));
    let mut sitters = [client("127.0.0.1"), client("::1"), client("::1")];
    for (sitter, rest) in sitters.iter_mut().zip(["GET /ann", "", "GET"]) {
        sitter.get(&target(1, 1, ""));
        // The half of a request is still waiting for one.
        sitter.send(rest);
    }
    // Three of them fit. Each newcomer is answered, and stays for the next ones.
    let mut kept = Vec::new();
    for newcomer in 0..50 {
        let mut client = client(["127.0.0.1", "::1"][newcomer % 2]);
        for _ in 0..3 {
            client.get(&target(1, 2, ""));
        }
        kept.push(client);
    }
    for sitter in &mut sitters {
        assert!(sitter.is_gone(), "it only sat there");
    }
}

#[test]
fn connections_that_are_closed_after_their_reply_need_no_place() {
    let tracker = Tracker::start(Config {
        http_connections: NonZeroU32::MIN,
        listener_threads: NonZeroU32::new(1),
        ..config()
    });
    let mut kept = Client::new(tracker.at("http"));
    kept.get(&target(1, 1, ""));
    for _ in 0..20 {
        let mut client = Client::new(tracker.at("http"));
        let once = format!("GET {} HTTP/1.0\r\n\r\n", target(1, 2, ""));
        client.send(&once);
        client.reply();
    }
    kept.get(&target(1, 1, ""));
}

#[test]
fn scrapes_tell_the_counts_of_all_hashes_asked_for() {
    let tracker = Tracker::start(config());
    let mut client = Client::new(tracker.at("http"));
    client.get(&target(1, 1, "&left=0"));
    client.get(&target(2, 1, "&left=5"));
    client.get(&target(2, 1, "&left=0&event=completed"));
    let hash = |swarm: u8| [swarm; 20].map(|byte| format!("%{byte:02x}")).concat();
    let target = format!(
        "/scrape?info_hash={}&info_hash={}&info_hash={}",
        hash(2),
        hash(1),
        hash(9)
    );
    let reply = client.get(&target);
    let Ok(Answer::Given(scraped)) = read_scrape_reply(&reply.body) else {
        panic!("no scrape reply");
    };
    let counts = [1, 2, 9].map(|swarm| {
        let counts = scraped
            .files
            .counts(InfoHash([swarm; 20]))
            .expect("it was asked for");
        (counts.complete, counts.downloaded, counts.incomplete)
    });
    assert_eq!(counts, [(1, 0, 0), (1, 1, 0), (0, 0, 0)]);
}

#[test]
fn proxies_we_trust_name_the_client_by_header_or_protocol() {
    let tracker = Tracker::start_trusting(config(), &["127.0.0.0/8"]);
    let announce = |preamble: &str, header: &str, port: u16| {
        let mut client = Client::new(tracker.at("http"));
        client.send(&format!(
            "{preamble}GET {} HTTP/1.1\r\n{header}\r\n",
            target(1, port, "&left=1")
        ));
        peers(&client.reply())
    };
    assert_eq!(
        announce("", "X-Forwarded-For: 198.51.100.7\r\n", 1),
        [""; 0]
    );
    let line = "PROXY TCP4 198.51.100.8 127.0.0.1 1 2\r\n";
    assert_eq!(announce(line, "", 2), ["198.51.100.7:1"]);
    let mut all = announce("", "", 3);
    all.sort();
    assert_eq!(all, ["198.51.100.7:1", "198.51.100.8:2"]);
}

#[test]
fn strangers_cannot_speak_for_others() {
    let tracker = Tracker::start(config());
    let mut client = Client::new(tracker.at("http"));
    let forged = format!(
        "GET {} HTTP/1.1\r\nX-Forwarded-For: 198.51.100.7\r\n\r\n",
        target(1, 1, "")
    );
    client.send(&forged);
    client.reply();
    assert_eq!(peers(&client.get(&target(1, 2, ""))), ["127.0.0.1:1"]);
    let mut line = Client::new(tracker.at("http"));
    line.send("PROXY TCP4 198.51.100.8 127.0.0.1 1 2\r\n");
    assert!(line.reply().head.contains("400 Bad Request"));
}

#[test]
fn the_headers_of_a_proxy_are_read_as_on_the_web_listener() {
    let tracker = Tracker::start_trusting(config(), &[proxies::TRUSTED]);
    let mut proxy = Client::new(tracker.at("http"));
    for (swarm, (lines, client)) in (1..).zip(proxies::BEHIND) {
        let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
        let announce = target(swarm, 1000, "&left=0");
        proxy.send(&format!("GET {announce} HTTP/1.1\r\n{lines}\r\n"));
        proxy.reply();
        // Whose other family is named is given both.
        let all = proxy.get(&target(swarm, 2000, "&left=1&ipv6=2001:db8::99"));
        let ip: std::net::IpAddr = client.parse().expect("an address");
        let expected = SocketAddr::new(ip, 1000).to_string();
        assert_eq!(peers(&all), [expected], "{lines}");
    }
}

#[test]
fn announces_in_absolute_form_are_answered() {
    let tracker = Tracker::start(config());
    let mut client = Client::new(tracker.at("http"));
    client.get(&format!(
        "http://tracker.example{}",
        target(1, 1000, "&left=0")
    ));
    let reply = client.get(&format!("HTTP://other:6969{}", target(1, 2000, "&left=1")));
    assert_eq!(peers(&reply), ["127.0.0.1:1000"]);
    let scrape = client.get("http://tracker.example/scrape");
    assert_eq!(failure(&scrape), "info_hash is missing");
    client.send("GET http://me@tracker.example/announce HTTP/1.1\r\n\r\n");
    assert!(client.reply().head.contains("400 Bad Request"));
}
