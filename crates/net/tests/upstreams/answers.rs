//! What is sent, and how answers are read.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use weir_net::http::{Client, Limits, Request, Roots};
use weir_net::{Error, Family};
use weir_testkit::memory::Network;

use crate::{PUBLIC, Scripted, answer, at, client, get, url};

/// Serves one answer and asks for it.
async fn one(bytes: Vec<u8>) -> Result<weir_net::http::Response, Error> {
    let network = Network::new();
    let _server = Scripted::start(network.listen(at(PUBLIC)), vec![vec![bytes]]);
    get(&client(&network), "http://192.0.2.1/").await
}

#[tokio::test(start_paused = true)]
async fn the_request_says_what_it_was_told() {
    let network = Network::new();
    network.resolves("tracker.example", &["192.0.2.1"]);
    let listener = network.listen(at("192.0.2.1:6969"));
    let server = Scripted::start(listener, vec![vec![answer("200 OK", b"hello")]]);
    let url = url("http://me:w%3Ard@Tracker.example:6969/k3y/announce?passkey=%7e");
    let request = Request {
        query: "info_hash=%00%ff",
        accept: "text/plain",
        user_agent: "Weir/test",
        ..Request::new(&url)
    };
    let response = client(&network).get(&request).await.expect("an answer");
    assert_eq!(response.status, 200);
    assert_eq!(&response.body[..], b"hello");
    assert_eq!(
        server.heads(),
        [concat!(
            "GET /k3y/announce?passkey=%7e&info_hash=%00%ff HTTP/1.1\r\n",
            "Host: tracker.example:6969\r\nUser-Agent: Weir/test\r\nAccept: text/plain\r\n",
            "Accept-Encoding: gzip, deflate\r\nAuthorization: Basic bWU6dzpyZA==\r\n\r\n"
        )]
    );
}

#[tokio::test(start_paused = true)]
async fn the_host_can_be_overridden() {
    let network = Network::new();
    let server = Scripted::start(
        network.listen(at(PUBLIC)),
        vec![vec![answer("200 OK", b"")]],
    );
    let url = url("http://192.0.2.1/");
    let request = Request {
        host: Some("tracker.example"),
        ..Request::new(&url)
    };
    client(&network).get(&request).await.expect("an answer");
    assert!(server.heads()[0].contains("\r\nHost: tracker.example\r\n"));
    let request = Request {
        host: Some("a\r\nX-Evil: 1"),
        ..Request::new(&url)
    };
    let error = client(&network).get(&request).await.expect_err("no answer");
    assert_eq!(error, Error::Unsendable("the host"));
}

#[tokio::test(start_paused = true)]
async fn bodies_come_in_every_framing() {
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let until_close = b"HTTP/1.0 200 OK\r\n\r\nhello";
    let sloppy = b"HTTP/1.1 200\r\nServer : x\r\nbad\xffname: 1\r\nContent-Length: 5\r\n\r\nhello";
    for bytes in [&chunked[..], until_close, sloppy] {
        let response = one(bytes.to_vec()).await.expect("an answer");
        assert_eq!(&response.body[..], b"hello");
    }
}

#[tokio::test(start_paused = true)]
async fn headers_can_be_read() {
    let response = one(answer(
        "404 Gone\r\nContent-Type: text/plain\r\nX-Left: 3",
        b"",
    ));
    let response = response.await.expect("an answer");
    assert_eq!(response.status, 404);
    assert_eq!(response.content_type.as_deref(), Some("text/plain"));
    assert_eq!(response.header("x-left"), Some("3"));
    assert_eq!(response.header("x-right"), None);
}

#[tokio::test(start_paused = true)]
async fn bodies_over_the_limit_are_refused() {
    let limit = 1 << 20;
    let too_large = Error::TooLarge { limit };
    // The length alone is enough: the body never comes, and nobody waits for it.
    let announced = b"HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\n".to_vec();
    assert_eq!(one(announced).await.expect_err("too large"), too_large);
    let mut unannounced = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    unannounced.resize(unannounced.len() + limit + 1, b'x');
    assert_eq!(one(unannounced).await.expect_err("too large"), too_large);
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    bomb.write_all(&vec![0; limit + 1]).expect("memory");
    let bomb = answer(
        "200 OK\r\nContent-Encoding: gzip",
        &bomb.finish().expect("memory"),
    );
    assert!(bomb.len() < 10_000);
    assert_eq!(one(bomb).await.expect_err("too large"), too_large);
    let mut fits = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    fits.resize(fits.len() + limit, b'x');
    assert_eq!(one(fits).await.expect("an answer").body.len(), limit);
}

#[tokio::test(start_paused = true)]
async fn heads_over_the_limit_are_refused() {
    let mut head = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
    head.resize(200_000, b'x');
    let limit = Limits::default().head;
    assert_eq!(
        one(head).await.expect_err("too large"),
        Error::TooLarge { limit }
    );
}

#[tokio::test(start_paused = true)]
async fn broken_answers_are_told_apart() {
    for (bytes, expected) in [
        (&b""[..], Error::Cut),
        (b"HTT", Error::Cut),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
            Error::Cut,
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
            Error::Cut,
        ),
        (b"\x13BitTorrent protocol\r\n\r\n", Error::Unreadable),
        (b"d8:intervali1800ee\r\n\r\n", Error::Unreadable),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
            Error::Unreadable,
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            Error::Unreadable,
        ),
    ] {
        let error = one(bytes.to_vec()).await.expect_err("broken");
        let text = String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(error, expected, "{text:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_read_against_the_given_clock() {
    let network = Network::new();
    let date = "503 Busy\r\nRetry-After: Sun, 06 Nov 1994 08:50:37 GMT";
    let answers = vec![
        answer("429 Slow\r\nRetry-After: 120", b""),
        answer(date, b""),
        answer("503 Busy", b""),
    ];
    let _server = Scripted::start(network.listen(at(PUBLIC)), vec![answers]);
    let clock = Arc::new(|| Timestamp::from_second(784_111_777).expect("a time"));
    let limits = Limits::default();
    let client = Client::with_clock(network.ground(), Roots::System, limits, clock);
    let client = client.expect("a client");
    for (status, seconds) in [(429, Some(120)), (503, Some(60)), (503, None)] {
        let response = get(&client, "http://192.0.2.1/").await.expect("an answer");
        let retry_after = seconds.map(Duration::from_secs);
        assert_eq!(
            (response.status, response.retry_after),
            (status, retry_after)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn errors_hold_no_secret() {
    let network = Network::new();
    let client = client(&network);
    for text in [
        "http://me:word@192.0.2.1/k3y?passkey=k3y",
        "http://k3y.example/k3y",
        "https://me:word@192.0.2.1/k3y",
        "http://127.0.0.1/k3y",
    ] {
        let error = get(&client, text).await.expect_err("nobody is there");
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("k3y") && !shown.contains("word"), "{shown}");
    }
    let url = url("udp://192.0.2.1/k3y");
    let error = client.get(&Request::new(&url)).await.expect_err("not HTTP");
    assert!(matches!(error, Error::Unsendable(_)));
}

#[tokio::test(start_paused = true)]
async fn the_family_is_kept() {
    let network = Network::new();
    network.resolves("a.example", &["192.0.2.1", "2001:db8::1"]);
    network.resolves("b.example", &["192.0.2.1"]);
    let _server = Scripted::start(
        network.listen(at("[2001:db8::1]:80")),
        vec![vec![answer("200 OK", b"six")]],
    );
    let client = client(&network);
    for (text, expected) in [
        ("http://a.example/", Ok(&b"six"[..])),
        ("http://b.example/", Err(Error::NoAddress)),
        ("http://192.0.2.1/", Err(Error::NoAddress)),
    ] {
        let url = url(text);
        let request = Request {
            family: Family::V6,
            ..Request::new(&url)
        };
        let body = client.get(&request).await.map(|response| response.body);
        assert_eq!(body.as_deref().map_err(Clone::clone), expected, "{text}");
    }
    assert_eq!(network.connections(at(PUBLIC)), 0);
}
