//! The listener on real sockets. Nothing here is decided by how long something takes: tests wait for events.

use std::{net::SocketAddr, num::NonZeroU32, sync::Arc, time::Duration};

use axum::{
    Extension, Router,
    extract::Request,
    http::{HeaderMap, StatusCode},
    routing::{get, post},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Notify, Semaphore},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;
use weir_store::sqlite::File;
use weir_web::openapi::{ApiRoutes, Operation};
use weir_web::{
    Access, App, Config, Contribution, Icon, ListenerEnd, Requests, System, Visitor, WebLimits,
};

use crate::proxies;

/// Longer than any test runs: a bound that must not be reached.
const NEVER: Duration = Duration::from_secs(3600);

/// Turns waiting in vain into a failure. Far longer than a right answer needs, so it decides nothing.
async fn in_time<T>(event: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), event)
        .await
        .expect("what the test waits for never came")
}

struct Served {
    address: SocketAddr,
    stop: CancellationToken,
    ended: JoinHandle<ListenerEnd>,
    /// Told when a request to `/held` has begun.
    begun: Arc<Notify>,
    /// A permit lets one request to `/held` finish.
    release: Arc<Semaphore>,
    _directory: tempfile::TempDir,
}

async fn serve(limits: WebLimits, drain: Duration) -> Served {
    let config = Config {
        limits,
        ..Config::default()
    };
    serve_with(config, drain).await
}

#[expect(
    clippy::disallowed_methods,
    reason = "the test holds the handle and waits for it"
)]
async fn serve_with(config: Config, drain: Duration) -> Served {
    let directory = tempfile::tempdir().unwrap();
    let state = File::open(directory.path().join("state.db")).unwrap();
    let (begun, release) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)));
    let held = {
        let (begun, release) = (Arc::clone(&begun), Arc::clone(&release));
        get(async move || {
            begun.notify_one();
            release.acquire().await.unwrap().forget();
            "held"
        })
    };
    let large = get(async || vec![b'x'; 64 << 20]);
    let who = get(
        async |Extension(visitor): Extension<Visitor>, headers: HeaderMap| {
            let origin = visitor.client.origin(&headers);
            let near = visitor.client.near();
            format!("{} from {origin} near {near}", visitor.client.address)
        },
    );
    let known = {
        let begun = Arc::clone(&begun);
        async move |request: Request| {
            begun.notify_one();
            let read = axum::body::to_bytes(request.into_body(), 1000).await;
            String::from_utf8(read.unwrap().into()).unwrap()
        }
    };
    let routes = Router::new()
        .route("/body", post(async |body: String| body))
        .route("/held", held)
        .route("/large", large)
        .route("/who", who);
    let sample = Contribution::new("sample", "Sample", Icon::News)
        .router_for(Access::Open, weir_web::Right::Read, routes)
        .api(ApiRoutes::new().route(
            Operation::post("/known", "A sample").answers_text(StatusCode::OK, "What was sent."),
            known,
        ));
    let app = App::open(
        config,
        &state,
        Arc::new(System),
        Requests::default(),
        vec![sample],
    )
    .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let ended = tokio::spawn(weir_web::run(listener, app, stop.clone(), drain));
    Served {
        address,
        stop,
        ended,
        begun,
        release,
        _directory: directory,
    }
}

impl Served {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    async fn stopped(self) -> ListenerEnd {
        self.stop.cancel();
        in_time(self.ended).await.unwrap()
    }
}

async fn ask(stream: &mut TcpStream, path: &str) {
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nHost: weir\r\n\r\n").as_bytes())
        .await
        .unwrap();
}

/// Reads one answer, whose length is declared.
async fn answer(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .unwrap_or("0");
            if body.len() >= length.parse().unwrap() {
                return text;
            }
        }
        assert_ne!(
            in_time(stream.read_buf(&mut bytes)).await.unwrap(),
            0,
            "closed after {text:?}"
        );
    }
}

/// Reads until the other side closes, even by a reset.
async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let _ = in_time(stream.read_to_end(&mut bytes)).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test]
async fn a_slow_head_is_cut_while_others_are_served() {
    let limits = WebLimits {
        header_timeout: Duration::from_millis(50),
        idle_timeout: NEVER,
        ..WebLimits::default()
    };
    let served = serve(limits, NEVER).await;
    let mut quiet = served.connect().await;
    ask(&mut quiet, "/healthz").await;
    assert!(answer(&mut quiet).await.contains("alive"));
    let (mut slow, mut mute) = (served.connect().await, served.connect().await);
    slow.write_all(b"GET / HTTP/1.1\r\nHost: we").await.unwrap();
    assert_eq!(rest(&mut slow).await, "");
    assert_eq!(rest(&mut mute).await, "");
    ask(&mut quiet, "/healthz").await;
    assert!(
        answer(&mut quiet).await.contains("alive"),
        "a quiet connection is not a slow one"
    );
    quiet.write_all(b"GET /hea").await.unwrap();
    assert_eq!(
        rest(&mut quiet).await,
        "",
        "a second head may be slow no more than the first"
    );
    assert_eq!(served.stopped().await, ListenerEnd { cut: 0 });
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let limits = WebLimits {
        idle_timeout: Duration::from_millis(50),
        ..WebLimits::default()
    };
    let served = serve(limits, NEVER).await;
    let mut idle = served.connect().await;
    ask(&mut idle, "/healthz").await;
    assert!(answer(&mut idle).await.contains("alive"));
    assert_eq!(rest(&mut idle).await, "");
    served.stopped().await;
}

#[tokio::test]
async fn a_client_that_does_not_take_its_answer_is_cut() {
    let limits = WebLimits {
        idle_timeout: Duration::from_millis(50),
        ..WebLimits::default()
    };
    let served = serve(limits, NEVER).await;
    let mut stuck = served.connect().await;
    ask(&mut stuck, "/large").await;
    stuck.readable().await.unwrap();
    assert_eq!(
        served.stopped().await,
        ListenerEnd { cut: 0 },
        "gone before the drain time"
    );
    drop(stuck);
}

#[tokio::test]
async fn a_head_beyond_the_limits_is_refused() {
    let served = serve(
        WebLimits {
            header_bytes: 8192.into(),
            headers: NonZeroU32::new(10).unwrap(),
            ..WebLimits::default()
        },
        NEVER,
    )
    .await;
    let mut long = served.connect().await;
    let _ = long
        .write_all(format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(20_000)).as_bytes())
        .await;
    assert!(rest(&mut long).await.starts_with("HTTP/1.1 431"));
    let mut many = served.connect().await;
    let lines: String = (0..11).map(|n| format!("X-{n}: 1\r\n")).collect();
    many.write_all(format!("GET / HTTP/1.1\r\n{lines}\r\n").as_bytes())
        .await
        .unwrap();
    assert!(rest(&mut many).await.starts_with("HTTP/1.1 431"));
    served.stopped().await;
}

#[tokio::test]
async fn idle_connections_do_not_hold_up_the_end() {
    let served = serve(
        WebLimits {
            header_timeout: NEVER,
            idle_timeout: NEVER,
            ..WebLimits::default()
        },
        NEVER,
    )
    .await;
    let (mut begun, mut fresh) = (served.connect().await, served.connect().await);
    begun.write_all(b"GET /healthz HT").await.unwrap();
    // Once a later connection has been served twice, the server has seen the earlier ones and what they sent.
    let mut kept = served.connect().await;
    for _ in 0..2 {
        ask(&mut kept, "/healthz").await;
        assert!(answer(&mut kept).await.contains("alive"));
    }
    assert_eq!(served.stopped().await, ListenerEnd { cut: 0 });
    for stream in [&mut kept, &mut fresh, &mut begun] {
        assert_eq!(rest(stream).await, "");
    }
}

#[tokio::test]
async fn a_request_under_way_is_finished_before_the_end() {
    let served = serve(WebLimits::default(), NEVER).await;
    let mut busy = served.connect().await;
    ask(&mut busy, "/held").await;
    in_time(served.begun.notified()).await;
    served.stop.cancel();
    // No new connection is accepted once the listener is gone.
    while TcpStream::connect(served.address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(!served.ended.is_finished());
    served.release.add_permits(1);
    assert!(rest(&mut busy).await.ends_with("held"));
    assert_eq!(served.stopped().await, ListenerEnd { cut: 0 });
}

#[tokio::test]
async fn what_does_not_finish_is_cut_at_the_end_of_the_drain_time() {
    let served = serve(WebLimits::default(), Duration::from_millis(20)).await;
    let mut busy = served.connect().await;
    ask(&mut busy, "/held").await;
    in_time(served.begun.notified()).await;
    assert_eq!(served.stopped().await, ListenerEnd { cut: 1 });
    assert_eq!(rest(&mut busy).await, "");
}

/// Connections of one address, this machine's, which has no share.
fn with_places(connections: u32) -> WebLimits {
    WebLimits {
        connections: NonZeroU32::new(connections).unwrap(),
        header_timeout: NEVER,
        idle_timeout: NEVER,
        ..WebLimits::default()
    }
}

#[tokio::test]
async fn whoever_only_sits_there_makes_room_for_whoever_asks() {
    let served = serve(with_places(4), NEVER).await;
    let mut sitters = Vec::new();
    for sent in [
        "",
        "GET / HTTP/1.1\r\nHost: we",
        "POST /body HTTP/1.1\r\nHost: weir\r\nContent-Length: 9\r\n\r\nslow",
        "GET /healthz HTTP/1.1\r\nHost: weir\r\n\r\n",
    ] {
        let mut sitter = served.connect().await;
        sitter.write_all(sent.as_bytes()).await.unwrap();
        sitters.push(sitter);
        // The accept order is the connect order; a little more may have to be read.
        tokio::task::yield_now().await;
    }
    assert!(answer(&mut sitters[3]).await.contains("alive"));
    let mut kept = Vec::new();
    for (gone, mut sitter) in sitters.into_iter().enumerate() {
        let mut client = served.connect().await;
        ask(&mut client, "/held").await;
        in_time(served.begun.notified()).await;
        assert_eq!(rest(&mut sitter).await, "", "the {gone}th waited longest");
        kept.push(client);
    }
    // All are being answered, so none of them goes.
    let mut late = served.connect().await;
    let _ = late.write_all(b"GET /healthz HTTP/1.1\r\n\r\n").await;
    assert_eq!(rest(&mut late).await, "");
    served.release.add_permits(4);
    for mut client in kept {
        assert!(answer(&mut client).await.ends_with("held"));
    }
    served.stopped().await;
}

#[tokio::test]
async fn a_client_that_does_not_take_its_answer_makes_room() {
    let served = serve(with_places(1), NEVER).await;
    let mut stuck = served.connect().await;
    ask(&mut stuck, "/large").await;
    stuck.readable().await.unwrap();
    // Until its buffers are full it is being answered, and others are turned away.
    in_time(async {
        loop {
            let mut client = served.connect().await;
            let _ = client
                .write_all(b"GET /healthz HTTP/1.1\r\nHost: weir\r\nConnection: close\r\n\r\n")
                .await;
            if rest(&mut client).await.contains("alive") {
                break;
            }
        }
    })
    .await;
    served.stopped().await;
}

#[tokio::test]
async fn a_body_comes_quickly_unless_its_sender_is_known() {
    let config = Config {
        api_key: Some(weir_config::Secret::new("the-right-key")),
        limits: WebLimits {
            // Long enough for the head of the signed-in client, however busy the machine is.
            header_timeout: Duration::from_secs(2),
            request_timeout: NEVER,
            ..WebLimits::default()
        },
        ..Config::default()
    };
    let served = serve_with(config, NEVER).await;
    let post = |path: &str, more: &str| {
        format!("POST {path} HTTP/1.1\r\nHost: weir\r\n{more}Content-Length: 8\r\n\r\nslow")
    };
    let mut known = served.connect().await;
    known
        .write_all(post("/known", "X-Api-Key: the-right-key\r\n").as_bytes())
        .await
        .unwrap();
    in_time(served.begun.notified()).await;
    let mut stranger = served.connect().await;
    let opened = post("/body", "");
    stranger.write_all(opened.as_bytes()).await.unwrap();
    assert_eq!(rest(&mut stranger).await, "", "cut before it is whole");
    known.write_all(b"body").await.unwrap();
    assert!(answer(&mut known).await.ends_with("slowbody"));
    served.stopped().await;
}

#[tokio::test]
async fn a_proxy_we_trust_names_the_client() {
    let config = Config {
        trusted_proxies: vec![proxies::TRUSTED.parse().unwrap()],
        ..Config::default()
    };
    let served = serve_with(config, NEVER).await;
    let mut proxy = served.connect().await;
    for (lines, client) in proxies::BEHIND {
        let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
        let request = format!("GET /who HTTP/1.1\r\nHost: weir\r\n{lines}\r\n");
        proxy.write_all(request.as_bytes()).await.unwrap();
        let answer = answer(&mut proxy).await;
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        assert!(
            body.starts_with(&format!("{client} from")),
            "{lines} {body}"
        );
    }
}

#[tokio::test]
async fn a_target_in_absolute_form_names_the_host() {
    let served = serve(WebLimits::default(), NEVER).await;
    let mut client = served.connect().await;
    for (target, host, said) in [
        (
            "http://weir:7070/who",
            "weir",
            "from http://weir:7070 near true",
        ),
        // The header is not what was asked for, so it opens nothing.
        (
            "http://evil.example/who",
            "weir",
            "from http://evil.example near false",
        ),
        (
            "http://weir@evil.example/who",
            "weir",
            "from http://evil.example near false",
        ),
        (
            "http://weir/who",
            "evil.example",
            "from http://weir near true",
        ),
        ("HTTPS://weir/who?a=b", "weir", "from http://weir near true"),
    ] {
        let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        let answer = answer(&mut client).await;
        assert!(answer.ends_with(said), "{target}: {answer}");
    }
    let request = "GET http://weir HTTP/1.1\r\nHost: weir\r\n\r\n";
    client.write_all(request.as_bytes()).await.unwrap();
    let answer = answer(&mut client).await;
    assert!(answer.starts_with("HTTP/1.1 303"), "the overview: {answer}");
}
