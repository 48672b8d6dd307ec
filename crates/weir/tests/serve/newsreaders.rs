//! Newsreaders at the running program: they read, with and without TLS, and are told when it stops.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Runtime;
use weir_net::{Roots, Tls};
use weir_testkit::inn::Certificate;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::news::{News, Newsgroup};

use super::tracker::{KEY, Rig, text};
use super::{PATIENCE, Weir, ask, config};

fn zoo(runtime: &Runtime) -> News {
    let shelf = vec![Newsgroup::new("misc.test").with(1..=9)];
    runtime
        .block_on(News::start(Place::Loopback, shelf))
        .unwrap()
}

fn section(server: SocketAddr, rest: &str) -> String {
    let (host, port) = (server.ip(), server.port());
    format!(
        "news: {{ path_host: weir.example, servers: [{{ name: main, host: {host}, port: {port}, tls: off }}]{rest} }}"
    )
}

/// Where it says that it listens.
fn listening(weir: &mut Weir, protocol: &str) -> SocketAddr {
    let word = format!("protocol=\"{protocol}\"");
    let seen = weir.seen.iter().find(|line| line.contains(&word)).cloned();
    let line = seen.unwrap_or_else(|| weir.line(&word));
    let address = line.split("address=").nth(1).unwrap();
    address.split_whitespace().next().unwrap().parse().unwrap()
}

struct Newsreader(BufReader<TcpStream>);

impl Newsreader {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut newsreader = Self(BufReader::new(stream));
        assert!(newsreader.line().starts_with("200 "));
        newsreader
    }

    /// The greeting of a server.
    fn greeting(address: SocketAddr) -> String {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(BufReader::new(stream)).line()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn ask(&mut self, command: &str) -> String {
        let stream = self.0.get_mut();
        stream
            .write_all(format!("{command}\r\n").as_bytes())
            .unwrap();
        self.line()
    }

    fn sign_in(&mut self) {
        assert!(self.ask("AUTHINFO USER me").starts_with("381 "));
        let pass = format!("AUTHINFO PASS {KEY}");
        assert!(self.ask(&pass).starts_with("281 "));
    }

    fn block(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            match self.line() {
                dot if dot == "." => return lines,
                line => lines.push(line),
            }
        }
    }
}

#[test]
fn a_newsreader_reads_and_posts_and_is_told_when_weir_stops() {
    let runtime = Runtime::new().unwrap();
    let server = zoo(&runtime);
    let mut rig = Rig::start(&section(server.address(), ""));
    let address = listening(&mut rig.weir, "nntp");
    let mut reader = Newsreader::connect(address);
    assert_eq!(reader.ask("GROUP misc.test"), "211 9 1 9 misc.test");
    assert!(reader.ask("OVER 2-4").starts_with("224 "));
    let lines = reader.block();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].starts_with("2\tSubject 2\t"), "{lines:?}");
    assert!(lines[0].ends_with("\tXref: weir.example misc.test:2"));
    assert_eq!(reader.ask("ARTICLE 3"), "220 3 <3@zoo.example>");
    let article = reader.block();
    assert!(article.contains(&"Path: weir.example!not-for-mail".to_owned()));
    assert!(
        article.contains(&"Body of article 3.".to_owned()),
        "{article:?}"
    );
    assert!(reader.ask("LIST ACTIVE").starts_with("215 "));
    assert_eq!(reader.block(), ["misc.test 0000000009 0000000001 y"]);
    assert!(reader.ask("POST").starts_with("480 "));
    assert!(reader.ask("AUTHINFO USER me").starts_with("381 "));
    assert!(reader.ask("AUTHINFO PASS no").starts_with("481 "));
    assert!(reader.ask("AUTHINFO USER me").starts_with("381 "));
    assert!(
        reader
            .ask(&format!("AUTHINFO PASS {KEY}"))
            .starts_with("281 ")
    );
    assert!(reader.ask("POST").starts_with("340 "));
    let article =
        "From: a@example.com\r\nNewsgroups: misc.test\r\nSubject: hello\r\n\r\nHello.\r\n.";
    assert!(reader.ask(article).starts_with("240 "));
    assert_eq!(server.posted().len(), 1);

    assert!(
        reader
            .ask("NEWNEWS misc.* 20200101 000000 GMT")
            .starts_with("230 ")
    );
    reader.block();

    let metrics = ask(rig.web, "GET /metrics", "");
    for line in [
        "weir_nntp_connections 1",
        "weir_nntp_connections_accepted_total 1",
        "weir_nntp_wrong_keys_total 1",
        "weir_requests_total{front=\"news\",kind=\"nntp_article\"} 1",
        "weir_requests_total{front=\"news\",kind=\"nntp_post\"} 2",
        "weir_nntp_connections_ended_total{listener=\"nntp\",reason=\"share\"} 0",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    let connect = ask(rig.web, "GET /connect", KEY);
    assert!(connect.contains("Newsreaders"), "{connect}");
    assert!(connect.contains(&format!("nntp://{address}")), "{connect}");

    rig.weir.signal("TERM");
    assert!(reader.line().starts_with("400 "));
    assert_eq!(reader.line(), "", "and the connection ends");
    let (status, log) = rig.weir.end();
    assert_eq!(status.code(), Some(0), "{log}");
}

#[test]
fn a_port_that_is_taken_says_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let dir = TempDir::new().unwrap();
    config(dir.path(), "");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_weir"));
    command
        .args(["--web", "127.0.0.1:0", "--data", "data"])
        .args(["-l", "127.0.0.1:0", "-u", "127.0.0.1:0"])
        .current_dir(dir.path())
        .env_clear()
        .env(
            "WEIR_NEWS__NNTP_LISTEN",
            taken.local_addr().unwrap().to_string(),
        );
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("is taken by another program"), "{text}");
    assert!(text.contains("`news.nntp_listen`"), "{text}");
}

fn write(dir: &Path, certificate: &Certificate) {
    std::fs::write(dir.join("cert.pem"), &certificate.certificate).unwrap();
    std::fs::write(dir.join("key.pem"), &certificate.key).unwrap();
}

/// What the server says first to a client that trusts this certificate alone; nothing if there is no handshake.
async fn greeting(address: SocketAddr, trusted: &Certificate) -> Option<String> {
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let roots = Roots::Pem(trusted.certificate.clone().into_bytes());
    let tls = Tls::new(&roots, None).unwrap();
    let mut stream = tls.secure(Box::new(stream), "localhost").await.ok()?;
    stream.write_all(b"QUIT\r\n").await.unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).await.unwrap();
    Some(String::from_utf8(all).unwrap())
}

#[test]
fn newsreaders_come_with_tls_and_a_reload_takes_a_renewed_certificate() {
    let runtime = Runtime::new().unwrap();
    let server = zoo(&runtime);
    let dir = TempDir::new().unwrap();
    let first = Certificate::new(&["localhost"]).unwrap();
    write(dir.path(), &first);
    let tls = ", nntps_listen: '127.0.0.1:0', tls_cert: cert.pem, tls_key: key.pem";
    config(dir.path(), &text(&section(server.address(), tls)));
    let mut rig = Rig::run(dir);
    let address = listening(&mut rig.weir, "nntps");
    let greeted = |trusted: &Certificate| runtime.block_on(greeting(address, trusted));
    let said = greeted(&first).unwrap();
    assert!(
        said.starts_with("200 weir.example ") && said.ends_with("205 Goodbye\r\n"),
        "{said}"
    );

    let second = Certificate::new(&["localhost"]).unwrap();
    assert_eq!(greeted(&second), None, "another one is not shown");
    write(rig.dir.path(), &second);
    let answer = ask(rig.web, "POST /api/v1/reload", KEY);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(greeted(&second).is_some(), "the renewed one is");

    std::fs::write(rig.dir.path().join("key.pem"), "nonsense").unwrap();
    let answer = ask(rig.web, "POST /api/v1/reload", KEY);
    assert!(answer.starts_with("HTTP/1.1 422"), "{answer}");
    assert!(answer.contains("news.tls_key"), "{answer}");
    assert!(greeted(&second).is_some(), "and nothing has changed");
}

#[test]
fn the_greeting_promises_posting_only_to_those_who_may() {
    let runtime = Runtime::new().unwrap();
    let server = zoo(&runtime);
    let mut rig = Rig::start(&section(server.address(), ""));
    let address = listening(&mut rig.weir, "nntp");
    let greeting = Newsreader::greeting(address);
    assert!(
        greeting.starts_with("200 ") && greeting.ends_with(" ready, posting after sign-in"),
        "{greeting}"
    );
    let mut newsreader = Newsreader::connect(address);
    assert!(newsreader.ask("AUTHINFO USER me").starts_with("381 "));
    assert!(
        newsreader
            .ask(&format!("AUTHINFO PASS {KEY}"))
            .starts_with("281 ")
    );
    let mode = newsreader.ask("MODE READER");
    assert!(
        mode.starts_with("200 ") && mode.ends_with(", posting allowed"),
        "{mode}"
    );
}

#[test]
fn what_is_refused_is_not_said_to_work() {
    let runtime = Runtime::new().unwrap();
    let server = zoo(&runtime);
    let mut rig =
        Rig::start(&(section(server.address(), "") + "\ntracker: { max_peers_per_ip: 1 }"));
    let heard = |rig: &Rig, anchor: &str| {
        let page = ask(rig.web, "GET /connect", KEY);
        let (_, rest) = page
            .split_once(&format!("data-heard=\"{anchor}\">"))
            .unwrap();
        rest.split_once('<').unwrap().0.to_owned()
    };
    let mut reader = Newsreader::connect(listening(&mut rig.weir, "nntp"));
    assert!(reader.ask("AUTHINFO USER me").starts_with("381 "));
    assert!(reader.ask("AUTHINFO PASS wrong").starts_with("481 "));
    assert_eq!(
        heard(&rig, "newsreaders"),
        "Not heard from Newsreaders yet."
    );
    reader.sign_in();
    assert!(heard(&rig, "newsreaders").ends_with(". It works."));

    let announce = |id: &str, hash: &str| {
        let hash = hash.repeat(20);
        let line = format!("GET /announce?info_hash={hash}&peer_id={id}&port=6881&left=0");
        ask(rig.tracker, &line, "")
    };
    let taken = announce("A2-1-37-0-0123456789", "%07");
    assert!(taken.contains("8:interval"), "{taken}");
    let refused = announce("-DE2110-0123456789ab", "%08");
    assert!(refused.contains("failure reason"), "{refused}");
    assert!(heard(&rig, "aria2").ends_with(". It works."));
    assert_eq!(heard(&rig, "deluge"), "Not heard from Deluge yet.");
}

#[test]
fn when_newsreaders_and_clients_were_heard_is_known_after_a_restart() {
    let heard = |rig: &Rig, anchor: &str| {
        let page = ask(rig.web, "GET /connect", KEY);
        let (_, rest) = page
            .split_once(&format!("data-heard=\"{anchor}\">"))
            .unwrap();
        rest.split_once('<').unwrap().0.to_owned()
    };
    let runtime = Runtime::new().unwrap();
    let server = zoo(&runtime);
    let mut rig = Rig::start(&section(server.address(), ""));
    assert_eq!(heard(&rig, "aria2"), "Not heard from aria2 yet.");
    let mut reader = Newsreader::connect(listening(&mut rig.weir, "nntp"));
    reader.sign_in();
    let announce = |id: &str| {
        let hash = "%07".repeat(20);
        let line = format!("GET /announce?info_hash={hash}&peer_id={id}&port=6881&left=0");
        ask(rig.tracker, &line, "")
    };
    assert!(announce("A2-1-37-0-0123456789").contains("8:interval"));
    let Rig { weir, dir, .. } = rig;
    weir.signal("TERM");
    assert!(weir.end().0.success());
    let rig = Rig::run(dir);
    for (anchor, name) in [("aria2", "aria2"), ("newsreaders", "Newsreaders")] {
        let said = heard(&rig, anchor);
        assert!(
            said.starts_with(&format!("Weir heard from {name} ")),
            "{said}"
        );
    }
    assert_eq!(heard(&rig, "deluge"), "Not heard from Deluge yet.");
}
