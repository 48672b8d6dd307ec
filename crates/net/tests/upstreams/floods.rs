//! Upstreams that never stop sending: an answer is limited in bytes and in pieces, independently of
//! the time that the caller allows.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;
use weir_net::http::{Client, Limits, Request, Roots};
use weir_net::{BoxFuture, Datagrams, Error, Family, Ground, Reach, Stream, System};
use weir_testkit::memory::Network;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::flood::Flood;
use weir_testkit::zoo::http::{Behaviour, Tracker};

use crate::{PUBLIC, Scripted, answer, at, client, get, head, url};

/// More than any buffer on the way holds.
const FLOOD: usize = 256 << 20;

/// For what would never end without limits; no passing test waits for it.
const HANG: Duration = Duration::from_secs(120);

/// A client's result for a flood of 256 MiB, and how much of it was read.
async fn meet(ground: Arc<dyn Ground>, place: Place<'_>, flood: Flood) -> (Error, usize) {
    let tracker = Tracker::start(place, Behaviour::Flood(flood, FLOOD));
    let tracker = tracker.await.expect("a tracker");
    let client = Client::new(ground, Roots::System, Limits::default()).expect("a client");
    let url = url(&tracker.url());
    let request = Request {
        reach: Reach::Everywhere,
        ..Request::new(&url)
    };
    let error = timeout(HANG, client.get(&request)).await;
    let error = error.expect("it ends").expect_err("no answer");
    drop(client);
    (error, tracker.written())
}

fn meant(flood: Flood) -> Error {
    let head = Limits::default().head;
    let limit = 1 << 20;
    match flood {
        Flood::Informational => Error::TooMany("preliminary replies"),
        Flood::Headers => Error::TooLarge { limit: head },
        Flood::Chunks => Error::TooMany("small pieces"),
        Flood::ChunkSize => Error::TooLarge { limit },
        Flood::ChunkExtension | Flood::Trailers => Error::Unreadable,
        // Without a length, the number of bytes is what is refused.
        Flood::GzipMembers => Error::TooLarge { limit },
    }
}

#[tokio::test(start_paused = true)]
async fn floods_are_left_after_a_bounded_number_of_bytes() {
    for flood in Flood::ALL {
        let network = Network::new();
        let place = Place::Memory(&network, at(PUBLIC));
        let (error, taken) = meet(network.ground(), place, flood).await;
        assert_eq!(error, meant(flood), "{flood:?}");
        assert!(taken < 4 << 20, "{flood:?}: {taken} bytes were taken");
    }
}

#[tokio::test]
async fn floods_through_the_kernel_are_left_too() {
    for flood in Flood::ALL {
        let (error, taken) = meet(Arc::new(System::new()), Place::Loopback, flood).await;
        assert_eq!(error, meant(flood), "{flood:?}");
        // The kernel's buffers hold some more.
        assert!(taken < 64 << 20, "{flood:?}: {taken} bytes were taken");
    }
}

#[tokio::test(start_paused = true)]
async fn a_few_preliminary_replies_are_passed_over() {
    let early = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n";
    for (count, expected) in [
        (8, Ok(200)),
        (9, Err(Error::TooMany("preliminary replies"))),
    ] {
        let network = Network::new();
        let bytes = [early.repeat(count), answer("200 OK", b"hello")].concat();
        let _server = Scripted::start(network.listen(at(PUBLIC)), vec![vec![bytes]]);
        let status = get(&client(&network), "http://192.0.2.1/").await;
        assert_eq!(status.map(|answer| answer.status), expected, "{count}");
    }
}

#[tokio::test(start_paused = true)]
async fn chunks_of_a_few_bytes_are_no_flood() {
    let chunk = b"10\r\n<item>a</item>\r\n\r\n";
    let count = 60_000;
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let bytes = [&chunked[..], &chunk.repeat(count), b"0\r\n\r\n"].concat();
    let network = Network::new();
    let _server = Scripted::start(network.listen(at(PUBLIC)), vec![vec![bytes]]);
    let answer = get(&client(&network), "http://192.0.2.1/").await;
    assert_eq!(answer.expect("an answer").body.len(), 16 * count);
}

#[tokio::test(start_paused = true)]
async fn a_connection_may_be_used_for_longer_than_one_answer_is_bounded() {
    let network = Network::new();
    let large = answer("200 OK", &vec![b'x'; 1 << 20]);
    let server = Scripted::start(network.listen(at(PUBLIC)), vec![vec![large; 8]]);
    let client = client(&network);
    for _ in 0..8 {
        let answer = get(&client, "http://192.0.2.1/").await.expect("an answer");
        assert_eq!(answer.body.len(), 1 << 20);
    }
    assert_eq!(
        (server.heads().len(), network.connections(at(PUBLIC))),
        (8, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn a_slow_drip_ends_with_the_callers_time() {
    let network = Network::new();
    let place = Place::Memory(&network, at(PUBLIC));
    let drip = Behaviour::Drip(Duration::from_secs(1));
    let tracker = Tracker::start(place, drip).await.expect("a tracker");
    let client = client(&network);
    let asked = get(&client, "http://192.0.2.1/");
    let answer = timeout(Duration::from_secs(10), asked).await;
    assert!(answer.is_err(), "{answer:?}");
    assert!(tracker.written() < 20);
}

/// A stream that always has something to read after a request, and never makes its reader wait.
struct Spring {
    asked: bool,
    reader: Option<Waker>,
    beginning: VecDeque<u8>,
    refrain: Vec<u8>,
    read: Arc<AtomicUsize>,
}

impl AsyncRead for Spring {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.asked {
            self.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let before = into.filled().len();
        // Ends at some point, so that the test of a reader without limits ends too.
        let dry = self.read.load(Ordering::Relaxed) > FLOOD;
        while into.remaining() >= self.refrain.len() && !dry {
            match self.beginning.pop_front() {
                Some(byte) => into.put_slice(&[byte]),
                None => into.put_slice(&self.refrain),
            }
        }
        let read = into.filled().len() - before;
        self.read.fetch_add(read, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Spring {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.asked = true;
        self.reader.take().into_iter().for_each(Waker::wake);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A network where every connection leads to a flood.
struct Springs(Flood, Arc<AtomicUsize>);

impl Ground for Springs {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Error>> {
        Box::pin(async { Err(Error::NoSuchHost) })
    }

    fn connect(&self, _: SocketAddr) -> BoxFuture<'_, Result<Box<dyn Stream>, Error>> {
        let spring = Spring {
            asked: false,
            reader: None,
            beginning: self.0.beginning().into(),
            refrain: self.0.refrain(),
            read: self.1.clone(),
        };
        Box::pin(async { Ok(Box::new(spring) as Box<dyn Stream>) })
    }

    fn bind(&self, _: Family) -> BoxFuture<'_, Result<Arc<dyn Datagrams>, Error>> {
        Box::pin(async { Err(Error::Unreachable) })
    }
}

/// A poll returns even if no read ever waits: otherwise nobody could end the call in time.
#[tokio::test]
async fn every_poll_of_a_flood_reads_a_bounded_number_of_bytes() {
    for flood in Flood::ALL {
        let read = Arc::new(AtomicUsize::new(0));
        let ground = Arc::new(Springs(flood, read.clone()));
        let client = Client::new(ground, Roots::System, Limits::default()).expect("a client");
        let url = url("http://192.0.2.1/");
        let request = Request {
            body_limit: 8 << 20,
            ..Request::new(&url)
        };
        // Tokio's own budget does not help here, because the stream is not tokio's.
        let mut asked = pin!(tokio::task::unconstrained(client.get(&request)));
        let mut most = 0;
        let ended = poll_fn(|cx| {
            let before = read.load(Ordering::Relaxed);
            let poll = asked.as_mut().poll(cx);
            most = most.max(read.load(Ordering::Relaxed) - before);
            poll
        });
        let ended = ended.await.expect_err("no answer");
        assert!(most <= 2 << 20, "{flood:?}: {most} bytes in one poll");
        let read = read.load(Ordering::Relaxed);
        assert!(read <= 17 << 20, "{flood:?}: {read} bytes, {ended}");
    }
}

#[tokio::test]
async fn a_tls_handshake_is_bounded_too() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.expect("a listener");
    let port = listener.local_addr().expect("an address").port();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let Ok((mut stream, _)) = listener.accept().await else {
            return;
        };
        // A long handshake message, in records of one byte.
        let _ = stream.write_all(b"\x16\x03\x03\0\x04\x02\0\xff\xff").await;
        let piece = b"\x16\x03\x03\0\x01x".repeat(10_000);
        for _ in 0..FLOOD / piece.len() {
            if stream.write_all(&piece).await.is_err() {
                return;
            }
        }
    });
    let client = Client::new(Arc::new(System::new()), Roots::System, Limits::default());
    let url = url(&format!("https://127.0.0.1:{port}/"));
    let request = Request {
        reach: Reach::Everywhere,
        ..Request::new(&url)
    };
    let answer = timeout(HANG, client.expect("a client").get(&request)).await;
    assert!(answer.expect("it ends").is_err());
}

#[tokio::test(start_paused = true)]
async fn a_proxy_that_never_ends_its_head_is_left() {
    let network = Network::new();
    let mut listener = network.listen(at("10.0.0.9:3128"));
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut stream = listener.accept().await?;
        head(&mut stream).await?;
        stream.write_all(b"HTTP/1.1 200 OK\r\n").await.ok()?;
        loop {
            stream.write_all(&b"X: y\r\n".repeat(1000)).await.ok()?;
        }
        #[allow(unreachable_code, reason = "says what the block gives")]
        Some(())
    });
    let (url, proxy) = (url("https://192.0.2.1/"), url("http://10.0.0.9:3128/"));
    let request = Request {
        proxy: Some(&proxy),
        ..Request::new(&url)
    };
    let error = client(&network).get(&request).await.expect_err("no answer");
    assert_eq!(error, Error::Proxy("its answer is too long".to_owned()));
}
