//! Real INNs, started, fed and read in plain NNTP; and a tap between them and their readers.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use flate2::write::{DeflateDecoder, DeflateEncoder};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use weir_testkit::inn::{Certificate, Inn, Newsgroup, Options};
use weir_testkit::tap::Tap;

const PATIENCE: Duration = Duration::from_secs(40);

fn article(number: usize, newsgroups: &str) -> Vec<u8> {
    let head = "From: Ann <ann@example.com>\r\nDate: Mon, 01 Jan 2024 00:00:00 +0000\r\n";
    let body = ".A line that begins with a dot.\r\n";
    format!(
        "{head}Newsgroups: {newsgroups}\r\nSubject: Number {number}\r\nMessage-ID: <{number}@example.com>\r\n\r\n{body}"
    )
    .into_bytes()
}

/// A raw reader.
struct Reader<S>(BufReader<S>);

impl Reader<TcpStream> {
    async fn connect(to: std::net::SocketAddr) -> Self {
        let stream = TcpStream::connect(to).await.expect("a connection");
        let mut reader = Self(BufReader::new(stream));
        let greeting = reader.line().await;
        assert!(greeting.starts_with("200 "), "{greeting}");
        reader
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Reader<S> {
    async fn line(&mut self) -> String {
        let mut line = String::new();
        let read = timeout(PATIENCE, self.0.read_line(&mut line)).await;
        read.expect("in time").expect("readable");
        line.trim_end().to_owned()
    }

    async fn ask(&mut self, command: &str) -> String {
        let command = format!("{command}\r\n");
        self.0.write_all(command.as_bytes()).await.expect("sent");
        self.line().await
    }

    /// The answer and the block after it.
    async fn list(&mut self, command: &str) -> Vec<String> {
        let mut lines = vec![self.ask(command).await];
        loop {
            match self.line().await {
                end if end == "." => return lines,
                line => lines.push(line),
            }
        }
    }
}

fn connector(certificate: &Certificate) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    let der = CertificateDer::from_pem_slice(certificate.certificate.as_bytes());
    roots.add(der.expect("PEM")).expect("a certificate");
    let config = ClientConfig::builder().with_root_certificates(roots);
    TlsConnector::from(Arc::new(config.with_no_client_auth()))
}

async fn secured(
    certificate: &Certificate,
    stream: TcpStream,
) -> Reader<tokio_rustls::client::TlsStream<TcpStream>> {
    let name = ServerName::try_from("localhost").expect("a name");
    let stream = timeout(PATIENCE, connector(certificate).connect(name, stream)).await;
    Reader(BufReader::new(stream.expect("in time").expect("TLS")))
}

#[tokio::test]
async fn two_servers_have_their_own_articles_and_numbers() {
    let newsgroups = ["misc.test", "misc.other"];
    let mut other = Options::with(&newsgroups);
    other.newsgroups[0].first = 500;
    other.newsgroups.push(Newsgroup {
        flag: 'm',
        ..Newsgroup::new("misc.moderated")
    });
    let (a, b) = tokio::join!(Inn::start(Options::with(&newsgroups)), Inn::start(other));
    let (a, b) = (a.expect("INN"), b.expect("INN"));
    let fed = a.feed((1..=20).map(|number| article(number, "misc.test,misc.other")));
    assert_eq!(fed.await.unwrap(), 20);
    b.feed((5..=6).map(|number| article(number, "misc.test")))
        .await
        .unwrap();
    assert!(b.feed([article(5, "misc.test")]).await.is_err());

    let mut reader = Reader::connect(a.address()).await;
    assert_eq!(reader.ask("GROUP misc.test").await, "211 20 1 20 misc.test");
    let over = reader.list("OVER 5-6").await;
    assert_eq!(over.len(), 3, "{over:?}");
    assert!(
        over[1].starts_with("5\tNumber 5\tAnn <ann@example.com>\t"),
        "{over:?}"
    );
    assert!(over[1].contains(" misc.test:5 misc.other:5"), "{over:?}");
    let subjects = reader.list("HDR Subject 19-").await;
    assert_eq!(subjects[1..], ["19 Number 19", "20 Number 20"]);
    let text = reader.list("ARTICLE <7@example.com>").await;
    assert_eq!(text.last().unwrap(), "..A line that begins with a dot.");

    a.cancel("<1@example.com>").await.unwrap();
    assert_eq!(
        reader.ask("STAT <1@example.com>").await,
        "430 No such article"
    );
    a.tidy().await.unwrap();
    let mut reader = Reader::connect(a.address()).await;
    assert_eq!(reader.ask("GROUP misc.test").await, "211 19 2 20 misc.test");

    let mut reader = Reader::connect(b.address()).await;
    let counts = reader.list("LIST COUNTS misc.*").await;
    let expected = [
        "misc.test 501 500 2 y",
        "misc.other 0 1 0 y",
        "misc.moderated 0 1 0 m",
    ];
    assert_eq!(counts[1..], expected);
}

#[tokio::test]
async fn tls_and_an_account_are_asked_for() {
    let certificate = Certificate::new(&["localhost"]).unwrap();
    let options = Options {
        account: Some(("ann".to_owned(), "it's secret".replace(' ', "-"))),
        tls: Some(certificate.clone()),
        ..Options::with(&["misc.test"])
    };
    let inn = Inn::start(options).await.expect("INN");
    inn.feed([article(1, "misc.test")]).await.unwrap();

    let mut reader = Reader::connect(inn.address()).await;
    let refused = reader.ask("GROUP misc.test").await;
    assert!(refused.starts_with("480 "), "{refused}");
    assert!(
        reader
            .list("CAPABILITIES")
            .await
            .contains(&"STARTTLS".to_owned())
    );
    let go = reader.ask("STARTTLS").await;
    assert!(go.starts_with("382 "), "{go}");
    let mut reader = secured(&certificate, reader.0.into_inner()).await;
    assert!(reader.ask("AUTHINFO USER ann").await.starts_with("381 "));
    assert!(reader.ask("AUTHINFO PASS wrong").await.starts_with("481 "));
    assert!(reader.ask("AUTHINFO USER ann").await.starts_with("381 "));
    assert!(
        reader
            .ask("AUTHINFO PASS it's-secret")
            .await
            .starts_with("281 ")
    );
    assert_eq!(reader.ask("GROUP misc.test").await, "211 1 1 1 misc.test");

    let stream = TcpStream::connect(inn.tls_address().unwrap())
        .await
        .unwrap();
    let mut reader = secured(&certificate, stream).await;
    let greeting = reader.line().await;
    assert!(greeting.starts_with("200 "), "{greeting}");
    assert!(reader.ask("AUTHINFO USER ann").await.starts_with("381 "));
}

#[tokio::test]
async fn it_can_be_stopped_killed_frozen_and_started_again() {
    let mut inn = Inn::start(Options::with(&["misc.test"]))
        .await
        .expect("INN");
    let start = Instant::now();
    let fed = inn
        .feed((1..=2000).map(|number| article(number, "misc.test")))
        .await;
    assert_eq!(fed.unwrap(), 2000);
    println!("2,000 articles in {:?}", start.elapsed());

    let mut reader = Reader::connect(inn.address()).await;
    assert_eq!(
        reader.ask("GROUP misc.test").await,
        "211 2000 1 2000 misc.test"
    );
    inn.freeze();
    reader.0.write_all(b"DATE\r\n").await.unwrap();
    let silence = timeout(Duration::from_millis(300), reader.0.read_u8()).await;
    assert!(silence.is_err(), "{silence:?}");
    inn.thaw();
    assert!(reader.line().await.starts_with("111 "));

    inn.kill();
    assert_eq!(reader.line().await, "");
    assert!(TcpStream::connect(inn.address()).await.is_err());
    inn.restart().await.unwrap();
    inn.feed([article(2001, "misc.test")]).await.unwrap();
    let start = Instant::now();
    inn.stop().await.unwrap();
    println!("stopped in {:?}", start.elapsed());
    let start = Instant::now();
    inn.restart().await.unwrap();
    println!("started in {:?}", start.elapsed());
    let mut reader = Reader::connect(inn.address()).await;
    assert_eq!(
        reader.ask("GROUP misc.test").await,
        "211 2001 1 2001 misc.test"
    );
}

#[tokio::test]
async fn a_tap_hears_delays_holds_and_cuts() {
    let inn = Inn::start(Options::with(&["misc.test"]))
        .await
        .expect("INN");
    let tap = Tap::start(inn.address()).await.unwrap();
    let mut reader = Reader::connect(tap.address()).await;
    assert!(reader.ask("POST").await.starts_with("340 "));
    let mut post = article(1, "misc.test");
    post.splice(post.len() - 33..post.len() - 32, *b"..");
    reader.0.write_all(&post).await.unwrap();
    assert!(reader.ask(".").await.starts_with("240 "));

    tap.round_trip(Duration::from_millis(80));
    let start = Instant::now();
    let many = "STAT <1@example.com>\r\n".repeat(20);
    reader.0.write_all(many.as_bytes()).await.unwrap();
    for _ in 0..20 {
        assert!(reader.line().await.starts_with("223 "));
    }
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(80), "{took:?}");
    tap.round_trip(Duration::ZERO);

    tap.hold(true);
    reader.0.write_all(b"DATE\r\n").await.unwrap();
    let silence = timeout(Duration::from_millis(300), reader.0.read_u8()).await;
    assert!(silence.is_err(), "{silence:?}");
    tap.hold(false);
    assert!(reader.line().await.starts_with("111 "));

    assert!(reader.ask("COMPRESS DEFLATE").await.starts_with("206 "));
    let mut pack = DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    pack.write_all(b"GROUP misc.test\r\n").unwrap();
    pack.flush().unwrap();
    reader.0.write_all(pack.get_ref()).await.unwrap();
    let mut unpack = DeflateDecoder::new(Vec::new());
    while !unpack.get_ref().ends_with(b"\r\n") {
        let mut bytes = Vec::new();
        let read = timeout(PATIENCE, reader.0.read_buf(&mut bytes)).await;
        assert!(read.expect("in time").unwrap() > 0);
        unpack.write_all(&bytes).unwrap();
        unpack.flush().unwrap();
    }
    assert_eq!(unpack.get_ref().as_slice(), b"211 1 1 1 misc.test\r\n");

    let lines: Vec<String> = tap.commands().into_iter().map(|one| one.line).collect();
    assert_eq!((lines.len(), tap.count("STAT")), (24, 20), "{lines:?}");
    assert_eq!(lines[0], "POST");
    assert_eq!(lines[21..], ["DATE", "COMPRESS DEFLATE", "GROUP misc.test"]);
    assert_eq!((tap.connections(), tap.open()), (1, 1));

    tap.cut();
    let cut = timeout(PATIENCE, reader.0.read_u8()).await;
    assert!(cut.expect("in time").is_err());
    tap.refuse(true);
    let mut refused = TcpStream::connect(tap.address()).await.unwrap();
    let refused = timeout(PATIENCE, refused.read_u8()).await;
    assert!(refused.expect("in time").is_err());
}
