//! Upstreams of every kind, in memory where time matters and on loopback where the kernel does.

mod answers;
mod connections;
mod datagrams;
mod floods;
mod homes;
mod kept;
mod lookups;
mod proxies;
mod redirects;
mod trust;

use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use weir_config::SecretUrl;
use weir_net::http::{Client, Limits, Request, Response, Roots};
use weir_net::{Error, Stream};
use weir_testkit::memory::{Listener, Network};

/// A public address that nobody has.
const PUBLIC: &str = "192.0.2.1:80";

fn at(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn url(text: &str) -> SecretUrl {
    SecretUrl::parse(text).expect("a URL")
}

fn client(network: &Network) -> Client {
    Client::new(network.ground(), Roots::System, Limits::default()).expect("a client")
}

async fn get(client: &Client, text: &str) -> Result<Response, Error> {
    let url = url(text);
    let request = Request {
        redirects: 5,
        ..Request::new(&url)
    };
    client.get(&request).await
}

/// Requests that a scripted server has read.
type Heads = Arc<Mutex<Vec<String>>>;

/// A server whose n-th connection sends the n-th list of answers, one per request, and then closes.
struct Scripted {
    heads: Heads,
    _tasks: JoinSet<()>,
}

impl Scripted {
    fn start(mut listener: Listener, script: Vec<Vec<Vec<u8>>>) -> Self {
        let heads = Heads::default();
        let noted = heads.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            for answers in script {
                let Some(mut stream) = listener.accept().await else {
                    return;
                };
                for answer in answers {
                    let Some(head) = head(&mut stream).await else {
                        break;
                    };
                    noted.lock().push(head);
                    let _ = stream.write_all(&answer).await;
                }
            }
        });
        Self {
            heads,
            _tasks: tasks,
        }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().clone()
    }
}

/// The head of one request, byte by byte.
async fn head(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}

/// A complete answer with a length.
fn answer(head: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// Copies both ways until one side ends.
async fn join(mut one: impl Stream, mut other: impl Stream) {
    let _ = tokio::io::copy_bidirectional(&mut one, &mut other).await;
}
