//! Connections that a front's listener accepted, on real sockets.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{Router, routing::get};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, mpsc},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;
use weir_web::{Guest, ListenerEnd, run_guests};

use crate::support::{Rig, rig};

/// Longer than any test runs: a bound that must not be reached.
const NEVER: Duration = Duration::from_secs(3600);

struct Served {
    rig: Rig,
    listener: TcpListener,
    send: mpsc::Sender<Guest>,
    stop: CancellationToken,
    ended: JoinHandle<ListenerEnd>,
    /// A message for each request to `/held` that begins.
    begun: mpsc::Receiver<()>,
    /// A permit lets one of them finish.
    release: Arc<Semaphore>,
    /// Requests to `/held` under way, and the most there were.
    held: Arc<[AtomicUsize; 2]>,
}

#[expect(
    clippy::disallowed_methods,
    reason = "the test holds the handle and waits for it"
)]
async fn serve(drain: Duration) -> Served {
    let rig = rig();
    let (begin, begun) = mpsc::channel(1000);
    let release = Arc::new(Semaphore::new(0));
    let held = Arc::new([const { AtomicUsize::new(0) }; 2]);
    let handler = {
        let (release, held) = (Arc::clone(&release), Arc::clone(&held));
        get(async move || {
            let now = held[0].fetch_add(1, Ordering::SeqCst) + 1;
            held[1].fetch_max(now, Ordering::SeqCst);
            begin.send(()).await.unwrap();
            release.acquire().await.unwrap().forget();
            held[0].fetch_sub(1, Ordering::SeqCst);
            "held"
        })
    };
    let rest = Router::new().route("/held", handler);
    let router = rig.app.figures("sample", rest);
    let (send, guests) = mpsc::channel(256);
    let stop = CancellationToken::new();
    let ended = {
        let (app, stop) = (rig.app.clone(), stop.clone());
        tokio::spawn(async move { run_guests(guests, &app, router, stop, drain).await })
    };
    Served {
        rig,
        listener: TcpListener::bind("127.0.0.1:0").await.unwrap(),
        send,
        stop,
        ended,
        begun,
        release,
        held,
    }
}

impl Served {
    /// A client whose connection is a guest, from which `read` has already been read.
    async fn guest(&self, read: &str) -> TcpStream {
        let address = self.listener.local_addr().unwrap();
        let (client, accepted) = tokio::join!(TcpStream::connect(address), self.listener.accept());
        let (stream, peer) = accepted.unwrap();
        let guest = Guest {
            stream: stream.into_std().unwrap(),
            read: read.into(),
            peer,
        };
        self.send.send(guest).await.unwrap();
        client.unwrap()
    }
}

async fn all(mut client: TcpStream) -> String {
    let mut answer = String::new();
    let read = client.read_to_string(&mut answer);
    let read = tokio::time::timeout(Duration::from_secs(30), read).await;
    read.expect("the connection never ended").unwrap();
    answer
}

#[tokio::test]
async fn a_guest_goes_on_where_it_was_read_and_asks_once() {
    let served = serve(NEVER).await;
    let mut client = served.guest("GET /stats?format=json HT").await;
    client
        .write_all(
            b"TP/1.1\r\nHost: localhost\r\n\r\nGET /stats HTTP/1.1\r\nHost: localhost\r\n\r\n",
        )
        .await
        .unwrap();
    let answer = all(client).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("\"queue_depth\":3"), "{answer}");
    assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
    let near = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n";
    let counted = all(served.guest(&format!("{near}\r\n")).await).await;
    let line = "weir_requests_total{front=\"sample\",kind=\"stats\"} 2\n";
    assert!(counted.contains(line), "{counted}");
    let behind = format!("{near}X-Forwarded-For: 198.51.100.7\r\n\r\n");
    let refused = all(served.guest(&behind).await).await;
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    for path in ["/", "/page", "/sign-in", "/healthz"] {
        let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let nothing = all(served.guest(&head).await).await;
        assert!(nothing.starts_with("HTTP/1.1 404"), "{path}: {nothing}");
    }
    served.stop.cancel();
    assert_eq!(served.ended.await.unwrap(), ListenerEnd { cut: 0 });
    drop(served.rig);
}

#[tokio::test]
async fn only_so_many_guests_are_served_at_once() {
    let mut served = serve(NEVER).await;
    let head = "GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut clients = Vec::new();
    for _ in 0..64 {
        clients.push(served.guest(head).await);
    }
    for _ in 0..64 {
        served.begun.recv().await.unwrap();
    }
    for _ in 0..16 {
        assert_eq!(all(served.guest(head).await).await, "", "turned away");
    }
    served.release.add_permits(64);
    for client in clients {
        assert!(all(client).await.ends_with("held"));
    }
    assert_eq!(served.held[1].load(Ordering::SeqCst), 64);
}

#[tokio::test]
async fn guests_that_only_sit_there_shut_nobody_out() {
    let served = serve(NEVER).await;
    let mut sitters = Vec::new();
    for _ in 0..100 {
        let slow = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nslow";
        sitters.push(served.guest(slow).await);
        sitters.push(served.guest("GET /stats HT").await);
    }
    let head = "GET /stats HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let answer = all(served.guest(head).await).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let metrics = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let metrics = all(served.guest(metrics).await).await;
    let line = "weir_web_connections_ended_total{listener=\"guests\",reason=\"room\"} ";
    assert!(metrics.contains(line), "{metrics}");
}

#[tokio::test]
async fn guests_that_do_not_end_are_cut_at_the_end() {
    let mut served = serve(Duration::from_millis(10)).await;
    let client = served
        .guest("GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await;
    served.begun.recv().await.unwrap();
    served.stop.cancel();
    assert_eq!(served.ended.await.unwrap(), ListenerEnd { cut: 1 });
    assert_eq!(all(client).await, "");
}
