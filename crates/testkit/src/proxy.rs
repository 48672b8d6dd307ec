//! A proxy on the way to a store that makes trouble: it cuts, delays, holds back, swallows (half-open connections, as behind a
//! firewall that forgot them), refuses, and says everything once more.
//!
//! It understands nothing of what passes; for conversations with news servers there is [`tap`](crate::tap).

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

/// Pieces under way in each direction; who sends more has to wait.
const UNDER_WAY: usize = 1024;

/// Bytes of a piece at most.
const PIECE: usize = 64 << 10;

/// Bytes of a conversation that are remembered from its beginning; one that is longer is not said again.
const REMEMBERED: usize = 4 << 20;

/// Conversations that are remembered.
const CONVERSATIONS: usize = 16;

/// How long a server may take to answer what it hears again.
const PATIENCE: Duration = Duration::from_secs(10);

/// What happens to everything that passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Open,
    /// Nothing passes; it does later.
    Held,
    /// Nothing passes, now or later, and nobody is told.
    Swallowed,
}

/// What a client said in one conversation; `None` where that was too much.
type Said = Arc<Mutex<Option<Vec<u8>>>>;

struct Shared {
    to: Mutex<SocketAddr>,
    delay: Mutex<Duration>,
    refuse: Mutex<bool>,
    way: watch::Sender<Way>,
    /// Changes when all connections are to end.
    cut: watch::Sender<()>,
    /// What clients said, in their last conversations.
    said: Mutex<VecDeque<Said>>,
    opened: Mutex<usize>,
    swallowed: Mutex<usize>,
}

/// A running proxy; it ends when dropped, and its connections with it.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

impl Proxy {
    /// Starts a proxy on a free port of this machine that passes everything on to a server.
    pub async fn start(to: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            to: Mutex::new(to),
            delay: Mutex::default(),
            refuse: Mutex::default(),
            way: watch::Sender::new(Way::Open),
            cut: watch::Sender::new(()),
            said: Mutex::default(),
            opened: Mutex::default(),
            swallowed: Mutex::default(),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, shared.clone()));
        Ok(Self {
            address,
            shared,
            _tasks: tasks,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// New connections go to another server.
    pub fn point(&self, to: SocketAddr) {
        *self.shared.to.lock() = to;
    }

    /// What passes takes this long, each way.
    pub fn delay(&self, delay: Duration) {
        *self.shared.delay.lock() = delay;
    }

    /// New connections end at once while this is so.
    pub fn refuse(&self, refuse: bool) {
        *self.shared.refuse.lock() = refuse;
    }

    /// Nothing passes in either direction while this is so. Afterwards everything does, also what came from a client that
    /// has gone in the meantime.
    pub fn hold(&self, held: bool) {
        let way = if held { Way::Held } else { Way::Open };
        self.shared.way.send_replace(way);
    }

    /// Connections stay open and new ones are taken, and whatever is sent is swallowed, while this is so. Afterwards those
    /// that lost something end.
    pub fn half_open(&self, swallow: bool) {
        let way = if swallow { Way::Swallowed } else { Way::Open };
        let before = self.shared.way.send_replace(way);
        if before == Way::Swallowed && !swallow {
            self.cut();
        }
    }

    /// Ends all connections, on both sides with an error; new ones are welcome.
    pub fn cut(&self) {
        self.shared.cut.send_replace(());
    }

    /// How many connections were made.
    pub fn connections(&self) -> usize {
        *self.shared.opened.lock()
    }

    /// How many bytes were swallowed.
    pub fn swallowed(&self) -> usize {
        *self.shared.swallowed.lock()
    }

    /// Says everything to the server once more that clients have said in their last conversations, each on a connection of
    /// its own, and gives how many those were. Answers are read and thrown away.
    ///
    /// # Errors
    /// If the server cannot be reached, or does not answer.
    pub async fn repeat(&self) -> io::Result<usize> {
        let said: Vec<_> = self.shared.said.lock().iter().cloned().collect();
        let mut count = 0;
        for said in said {
            let Some(said) = said.lock().clone() else {
                continue;
            };
            let to = *self.shared.to.lock();
            let again = async {
                let mut server = TcpStream::connect(to).await?;
                server.write_all(&said).await?;
                server.shutdown().await?;
                let mut answer = [0; 4096];
                while server.read(&mut answer).await? > 0 {}
                io::Result::Ok(())
            };
            timeout(PATIENCE, again).await??;
            count += 1;
        }
        Ok(count)
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut guests = JoinSet::new();
    loop {
        tokio::select! {
            guest = listener.accept() => {
                let Ok((guest, _)) = guest else { return };
                if *shared.refuse.lock() {
                    reset(&guest);
                    continue;
                }
                guests.spawn(pass(guest, shared.clone()));
            }
            Some(_) = guests.join_next() => {}
        }
    }
}

async fn pass(client: TcpStream, shared: Arc<Shared>) {
    *shared.opened.lock() += 1;
    let mut cut = shared.cut.subscribe();
    let mut way = shared.way.subscribe();
    // Taken while everything is swallowed, a connection leads nowhere.
    let swallowed = *way.borrow_and_update() == Way::Swallowed;
    if swallowed {
        let _ = cut.changed().await;
        return reset(&client);
    }
    let to = *shared.to.lock();
    let Ok(server) = TcpStream::connect(to).await else {
        return reset(&client);
    };
    for stream in [&client, &server] {
        let _ = stream.set_nodelay(true);
    }
    let said: Said = Arc::new(Mutex::new(Some(Vec::new())));
    {
        let mut all = shared.said.lock();
        if all.len() >= CONVERSATIONS {
            all.pop_front();
        }
        all.push_back(said.clone());
    }
    let (from_client, mut to_client) = client.into_split();
    let (from_server, mut to_server) = server.into_split();
    let both = async {
        let heard = |bytes: &[u8]| {
            let mut said = said.lock();
            if let Some(text) = said.as_mut() {
                text.extend_from_slice(bytes);
            }
            said.take_if(|text| text.len() > REMEMBERED);
        };
        let up = carry(from_client, &mut to_server, &shared, heard);
        let down = carry(from_server, &mut to_client, &shared, |_| {});
        tokio::join!(up, down)
    };
    let broken = tokio::select! {
        (up, down) = both => up.is_err() || down.is_err(),
        _ = cut.changed() => true,
    };
    if broken {
        reset(to_client.as_ref());
        reset(to_server.as_ref());
    }
}

/// Carries bytes one way, each piece after its time; then the end. What was taken arrives even if the sender is gone.
async fn carry(
    mut from: OwnedReadHalf,
    to: &mut OwnedWriteHalf,
    shared: &Shared,
    heard: impl Fn(&[u8]),
) -> io::Result<()> {
    let (pieces, mut arriving) = mpsc::channel::<(Instant, Vec<u8>)>(UNDER_WAY);
    let take = async move {
        loop {
            let mut piece = Vec::with_capacity(PIECE);
            // A reset is an end like any other here.
            let end = from.read_buf(&mut piece).await.unwrap_or(0) == 0;
            heard(&piece);
            let due = Instant::now() + *shared.delay.lock();
            if pieces.send((due, piece)).await.is_err() || end {
                return;
            }
        }
    };
    let give = async move {
        let mut way = shared.way.subscribe();
        while let Some((due, piece)) = arriving.recv().await {
            sleep_until(due).await;
            let open = way.wait_for(|way| *way != Way::Held).await;
            if open.is_ok_and(|way| *way == Way::Swallowed) {
                *shared.swallowed.lock() += piece.len();
                continue;
            }
            // An empty piece is the end.
            if piece.is_empty() {
                return to.shutdown().await;
            }
            to.write_all(&piece).await?;
        }
        Ok(())
    };
    let ((), given) = tokio::join!(take, give);
    given
}

/// Makes that closing sends a reset instead of an end.
fn reset(stream: &TcpStream) {
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt, BufReader};

    use super::*;

    /// A server that answers each line with the line, and keeps all lines.
    struct Echo {
        address: SocketAddr,
        lines: watch::Receiver<Vec<String>>,
        _tasks: JoinSet<()>,
    }

    impl Echo {
        async fn start() -> Self {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            let address = listener.local_addr().unwrap();
            let (tell, lines) = watch::channel(Vec::new());
            let tell = Arc::new(tell);
            let mut tasks = JoinSet::new();
            tasks.spawn(async move {
                let mut guests = JoinSet::new();
                while let Ok((guest, _)) = listener.accept().await {
                    let tell = tell.clone();
                    guests.spawn(async move {
                        let (from, mut to) = guest.into_split();
                        let mut lines = BufReader::new(from).lines();
                        while let Ok(Some(line)) = lines.next_line().await {
                            tell.send_modify(|lines| lines.push(line.clone()));
                            let _ = to.write_all(format!("{line}\n").as_bytes()).await;
                        }
                    });
                }
            });
            Self {
                address,
                lines,
                _tasks: tasks,
            }
        }

        async fn hears(&mut self, lines: &[&str]) {
            let heard = self.lines.wait_for(|heard| heard == lines);
            timeout(PATIENCE, heard).await.unwrap().unwrap();
        }
    }

    struct Client(BufReader<TcpStream>);

    impl Client {
        async fn new(proxy: &Proxy) -> Self {
            let stream = TcpStream::connect(proxy.address()).await.unwrap();
            Self(BufReader::new(stream))
        }

        async fn say(&mut self, line: &str) {
            let line = format!("{line}\n");
            self.0.write_all(line.as_bytes()).await.unwrap();
        }

        /// The next line; empty at the end, an error after a cut.
        async fn hear(&mut self) -> io::Result<String> {
            let mut line = String::new();
            let heard = timeout(PATIENCE, self.0.read_line(&mut line)).await;
            heard.unwrap().map(|_| line.trim().to_owned())
        }
    }

    #[tokio::test]
    async fn what_is_held_arrives_later_even_from_the_dead() {
        let mut echo = Echo::start().await;
        let proxy = Proxy::start(echo.address).await.unwrap();
        let mut client = Client::new(&proxy).await;
        client.say("one").await;
        assert_eq!(client.hear().await.unwrap(), "one");
        proxy.hold(true);
        client.say("two").await;
        drop(client);
        let mut second = Client::new(&proxy).await;
        second.say("three").await;
        assert_eq!(echo.lines.borrow().len(), 1);
        proxy.hold(false);
        assert_eq!(second.hear().await.unwrap(), "three");
        let both = echo.lines.wait_for(|lines| lines.len() == 3);
        let mut lines = timeout(PATIENCE, both).await.unwrap().unwrap().clone();
        lines.sort();
        assert_eq!(lines, ["one", "three", "two"]);
        assert_eq!(proxy.connections(), 2);
    }

    #[tokio::test]
    async fn what_is_swallowed_never_arrives() {
        let mut echo = Echo::start().await;
        let proxy = Proxy::start(echo.address).await.unwrap();
        let mut client = Client::new(&proxy).await;
        client.say("one").await;
        assert_eq!(client.hear().await.unwrap(), "one");
        proxy.half_open(true);
        client.say("two").await;
        let mut second = Client::new(&proxy).await;
        second.say("three").await;
        let gone = async {
            while proxy.swallowed() < 4 || proxy.connections() < 2 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(PATIENCE, gone).await.unwrap();
        proxy.half_open(false);
        assert!(!matches!(&*client.hear().await.unwrap_or_default(), "two"));
        assert!(!matches!(
            &*second.hear().await.unwrap_or_default(),
            "three"
        ));
        let mut third = Client::new(&proxy).await;
        third.say("four").await;
        assert_eq!(third.hear().await.unwrap(), "four");
        echo.hears(&["one", "four"]).await;
    }

    #[tokio::test]
    async fn cuts_refuses_delays_and_points_elsewhere() {
        let (echo, other) = (Echo::start().await, Echo::start().await);
        let proxy = Proxy::start(echo.address).await.unwrap();
        let mut client = Client::new(&proxy).await;
        proxy.delay(Duration::from_millis(30));
        let began = Instant::now();
        client.say("one").await;
        assert_eq!(client.hear().await.unwrap(), "one");
        assert!(began.elapsed() >= Duration::from_millis(60));
        proxy.cut();
        // Closed or broken off, as the moment has it.
        assert_eq!(client.hear().await.unwrap_or_default(), "");
        proxy.refuse(true);
        let mut refused = Client::new(&proxy).await;
        assert_eq!(refused.hear().await.unwrap_or_default(), "");
        proxy.refuse(false);
        proxy.point(other.address);
        let mut client = Client::new(&proxy).await;
        client.say("two").await;
        assert_eq!(client.hear().await.unwrap(), "two");
        assert_eq!(other.lines.borrow().len(), 1);
    }

    #[tokio::test]
    async fn everything_is_said_once_more() {
        let mut echo = Echo::start().await;
        let proxy = Proxy::start(echo.address).await.unwrap();
        let mut client = Client::new(&proxy).await;
        for line in ["one", "two"] {
            client.say(line).await;
            assert_eq!(client.hear().await.unwrap(), line);
        }
        assert_eq!(proxy.repeat().await.unwrap(), 1);
        echo.hears(&["one", "two", "one", "two"]).await;
    }
}
