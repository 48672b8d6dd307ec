//! What must hold for any bytes at all that an upstream sends in reply to one request.
//!
//! The target calls this with made-up bytes; a test of `weir-net` calls it with the kept ones.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::Runtime;
use weir_config::SecretUrl;
use weir_net::http::{Client, Limits, Request, Roots};
use weir_net::{BoxFuture, Datagrams, Error, Family, Ground, Stream};

/// Bytes of a head and of a body.
const HEAD: usize = 8 << 10;
const BODY: usize = 16 << 10;

/// Bytes on the wire at most, whatever they are: heads, bodies, their framing, and what is read ahead.
const WIRE: usize = 1 << 20;

/// Polls of one call at most: each reads something or ends it.
const POLLS: usize = 100_000;

/// The client ends with an answer or an error after a bounded number of bytes, and takes no more than it
/// was told to, whether they come at once or in pieces, and whether they end or go on for ever.
pub(crate) fn upstream_reply(bytes: &[u8]) {
    let whole = ask(bytes, usize::MAX, false);
    let pieces = ask(bytes, 3, false);
    if let (Ok(whole), Ok(pieces)) = (&whole, &pieces) {
        assert_eq!(whole, pieces, "pieces change nothing");
    }
    if !bytes.is_empty() {
        let _ = ask(bytes, usize::MAX, true);
    }
}

/// Status and body.
type Answer = Result<(u16, Vec<u8>), Error>;

/// The bytes are sent in pieces of a size; if they are endless, their last quarter again and again.
fn ask(bytes: &[u8], piece: usize, endless: bool) -> Answer {
    WORLD.with_borrow(|world| {
        let _context = world.runtime.enter();
        *world.ground.reply.lock().expect("no panic holds it") = Reply {
            bytes: bytes.into(),
            piece,
            endless,
        };
        world.ground.read.store(0, Ordering::Relaxed);
        let request = Request {
            body_limit: BODY,
            ..Request::new(&world.url)
        };
        let answer = finish(pin!(world.client.get(&request)));
        let read = world.ground.read.load(Ordering::Relaxed);
        assert!(read <= WIRE, "{read} bytes were read");
        let answer = answer?;
        assert!(answer.body.len() <= BODY, "{} bytes", answer.body.len());
        Ok((answer.status, answer.body.to_vec()))
    })
}

/// Polls until there is an end. A call that waits though everything is there would wait for ever.
fn finish<T>(mut call: Pin<&mut impl Future<Output = T>>) -> T {
    let woken = Arc::new(Woken(AtomicBool::new(false)));
    let waker = Waker::from(woken.clone());
    let mut context = Context::from_waker(&waker);
    for _ in 0..POLLS {
        if let Poll::Ready(done) = call.as_mut().poll(&mut context) {
            return done;
        }
        assert!(woken.0.swap(false, Ordering::Relaxed), "it waits in vain");
    }
    panic!("it has no end");
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What is made once: certificates alone take longer than a thousand calls.
struct World {
    runtime: Runtime,
    ground: Arc<Replies>,
    client: Client,
    url: SecretUrl,
}

thread_local! {
    static WORLD: RefCell<World> = RefCell::new(World::new());
}

impl World {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        let ground = Arc::new(Replies::default());
        let limits = Limits {
            head: HEAD,
            idle: 0,
            ..Limits::default()
        };
        let client = Client::new(ground.clone(), Roots::System, limits);
        Self {
            runtime: runtime.expect("a runtime"),
            ground,
            client: client.expect("a client"),
            url: SecretUrl::parse("http://192.0.2.1/").expect("a URL"),
        }
    }
}

/// Every connection gives the same reply.
#[derive(Default)]
struct Replies {
    reply: Mutex<Reply>,
    read: Arc<AtomicUsize>,
}

#[derive(Clone, Default)]
struct Reply {
    bytes: Arc<[u8]>,
    piece: usize,
    endless: bool,
}

impl Ground for Replies {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Error>> {
        Box::pin(async { Err(Error::NoSuchHost) })
    }

    fn connect(&self, _: SocketAddr) -> BoxFuture<'_, Result<Box<dyn Stream>, Error>> {
        let connection = Connection {
            reply: self.reply.lock().expect("no panic holds it").clone(),
            at: 0,
            asked: false,
            reader: None,
            read: self.read.clone(),
        };
        Box::pin(async { Ok(Box::new(connection) as Box<dyn Stream>) })
    }

    fn bind(&self, _: Family) -> BoxFuture<'_, Result<Arc<dyn Datagrams>, Error>> {
        Box::pin(async { Err(Error::Unreachable) })
    }
}

/// Gives the reply once it is asked, and never lets its reader wait.
struct Connection {
    reply: Reply,
    at: usize,
    asked: bool,
    reader: Option<Waker>,
    read: Arc<AtomicUsize>,
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.asked {
            self.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let Reply {
            bytes,
            piece,
            endless,
        } = self.reply.clone();
        let most = into.remaining().min(piece);
        let mut given = 0;
        while given < most {
            if self.at == bytes.len() {
                // An end for whoever reads beyond the bound, so that it is seen and not waited for.
                if !endless || self.read.load(Ordering::Relaxed) > WIRE {
                    break;
                }
                self.at -= bytes.len().div_ceil(4);
            }
            let next = &bytes[self.at..];
            let next = &next[..next.len().min(most - given)];
            into.put_slice(next);
            given += next.len();
            self.at += next.len();
        }
        self.read.fetch_add(given, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Connection {
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
