//! A proxy that listens in on a conversation with a news server and disturbs it.
//!
//! It remembers the commands of clients, packed or not; after `STARTTLS` there is nothing to understand. Real servers
//! keep no record of what they were asked, are always near and never half-open: this is for all three. Its own kernel
//! acknowledges at once, so that a delay is the one asked for.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use socket2::SockRef;
use tokio::io::AsyncReadExt;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::zoo::news::{Command, Lines};

/// Pieces under way in each direction; who sends more has to wait.
const UNDER_WAY: usize = 1024;

/// Bytes of a piece at most.
const PIECE: usize = 64 << 10;

/// What passes through, and how.
struct Shared {
    to: Mutex<SocketAddr>,
    log: Mutex<Log>,
    /// From one side to the other.
    way: Mutex<Duration>,
    refuse: Mutex<bool>,
    held: watch::Sender<bool>,
    /// The beginning of a command after which nothing passes any more.
    hold_at: Mutex<Option<String>>,
    /// Changes when all connections are to end.
    cut: watch::Sender<()>,
}

#[derive(Default)]
struct Log {
    commands: Vec<Command>,
    opened: usize,
    open: usize,
    most_open: usize,
    up: u64,
    down: u64,
}

/// A running proxy; it ends when dropped, and its connections with it.
pub struct Tap {
    address: SocketAddr,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

impl Tap {
    /// Starts a proxy on a free port of this machine that passes everything on to a server.
    pub async fn start(to: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            to: Mutex::new(to),
            log: Mutex::default(),
            way: Mutex::default(),
            refuse: Mutex::default(),
            held: watch::Sender::new(false),
            hold_at: Mutex::default(),
            cut: watch::Sender::new(()),
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

    /// What passes takes this time there and back.
    pub fn round_trip(&self, time: Duration) {
        *self.shared.way.lock() = time / 2;
    }

    /// Nothing passes in either direction, not even an end, while this is so; nothing is lost.
    pub fn hold(&self, held: bool) {
        self.shared.held.send_replace(held);
    }

    /// The same from the next command on that begins so, which itself does not reach the server.
    pub fn hold_at(&self, command: &str) {
        *self.shared.hold_at.lock() = Some(command.to_owned());
    }

    /// New connections end at once while this is so.
    pub fn refuse(&self, refuse: bool) {
        *self.shared.refuse.lock() = refuse;
    }

    /// Ends all connections, on both sides with an error; new ones are welcome.
    pub fn cut(&self) {
        self.shared.cut.send_replace(());
    }

    /// All commands that have passed, oldest first; the text of posted articles is none.
    pub fn commands(&self) -> Vec<Command> {
        self.shared.log.lock().commands.clone()
    }

    /// How many commands began so, letter for letter: `"ARTICLE"`.
    pub fn count(&self, command: &str) -> usize {
        let log = self.shared.log.lock();
        let lines = log.commands.iter().map(|command| &command.line);
        lines.filter(|line| line.starts_with(command)).count()
    }

    /// Forgets the commands and the bytes.
    pub fn forget(&self) {
        let mut log = self.shared.log.lock();
        log.commands.clear();
        (log.up, log.down) = (0, 0);
    }

    /// How many connections were made.
    pub fn connections(&self) -> usize {
        self.shared.log.lock().opened
    }

    /// How many connections are open.
    pub fn open(&self) -> usize {
        self.shared.log.lock().open
    }

    /// How many were open at once, at most, since the beginning.
    pub fn most_open(&self) -> usize {
        self.shared.log.lock().most_open
    }

    /// Bytes from clients and to clients, as they went over the wire.
    pub fn bytes(&self) -> (u64, u64) {
        let log = self.shared.log.lock();
        (log.up, log.down)
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
    let to = *shared.to.lock();
    let Ok(server) = TcpStream::connect(to).await else {
        return reset(&client);
    };
    let number = {
        let mut log = shared.log.lock();
        log.opened += 1;
        log.open += 1;
        log.most_open = log.most_open.max(log.open);
        log.opened - 1
    };
    for stream in [&client, &server] {
        let _ = stream.set_nodelay(true);
    }
    let ear = Mutex::new(Ear::default());
    let mut cut = shared.cut.subscribe();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let up = async {
        let heard = |bytes: &[u8]| {
            shared.log.lock().up += bytes.len() as u64;
            let lines = ear.lock().commands(bytes);
            let mut hold_at = shared.hold_at.lock();
            let reached =
                |command: &mut String| lines.iter().any(|line| line.starts_with(command.as_str()));
            if hold_at.take_if(reached).is_some() {
                shared.held.send_replace(true);
            }
            let at = Instant::now();
            let connection = number;
            let commands = lines.into_iter().map(|line| Command {
                at,
                connection,
                line,
            });
            shared.log.lock().commands.extend(commands);
        };
        carry(from_client, &to_server, &shared, heard).await
    };
    let down = async {
        let heard = |bytes: &[u8]| {
            shared.log.lock().down += bytes.len() as u64;
            ear.lock().answer(bytes);
        };
        carry(from_server, &to_client, &shared, heard).await
    };
    let broken = tokio::select! {
        (up, down) = async { tokio::join!(up, down) } => up.is_err() || down.is_err(),
        _ = cut.changed() => true,
    };
    if broken {
        reset(to_client.as_ref());
        reset(to_server.as_ref());
    }
    shared.log.lock().open -= 1;
}

/// Carries bytes one way, each piece after its time; then the end.
async fn carry(
    mut from: OwnedReadHalf,
    to: &OwnedWriteHalf,
    shared: &Shared,
    heard: impl Fn(&[u8]),
) -> io::Result<()> {
    let (pieces, mut arriving) = mpsc::channel::<(Instant, Vec<u8>)>(UNDER_WAY);
    let take = async move {
        loop {
            let mut piece = Vec::with_capacity(PIECE);
            let _ = SockRef::from(from.as_ref()).set_tcp_quickack(true);
            let end = from.read_buf(&mut piece).await? == 0;
            heard(&piece);
            let due = Instant::now() + *shared.way.lock();
            // An empty piece is the end.
            if pieces.send((due, piece)).await.is_err() || end {
                return Ok(());
            }
        }
    };
    let give = async move {
        let mut held = shared.held.subscribe();
        while let Some((due, piece)) = arriving.recv().await {
            sleep_until(due).await;
            let _ = held.wait_for(|held| !held).await;
            if piece.is_empty() {
                return SockRef::from(to.as_ref()).shutdown(std::net::Shutdown::Write);
            }
            write(to, &piece).await?;
        }
        Ok(())
    };
    tokio::try_join!(take, give).map(|_| ())
}

async fn write(to: &OwnedWriteHalf, mut piece: &[u8]) -> io::Result<()> {
    while !piece.is_empty() {
        to.writable().await?;
        match to.try_write(piece) {
            Ok(written) => piece = &piece[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Makes that closing sends a reset instead of an end.
fn reset(stream: &TcpStream) {
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

/// Understands as much of a conversation as it takes to tell commands from everything else.
#[derive(Default)]
struct Ear {
    lines: Lines,
    /// The answer to this one decides what the client sends next.
    waits: Option<Verb>,
    /// An article is being sent.
    article: bool,
    /// Nothing more can be understood.
    deaf: bool,
}

enum Verb {
    Post,
    Compress,
    StartTls,
}

impl Ear {
    /// The commands in what a client sent.
    fn commands(&mut self, bytes: &[u8]) -> Vec<String> {
        if self.deaf {
            return Vec::new();
        }
        self.lines.push(bytes);
        let mut commands = Vec::new();
        // A client has to wait for these answers, so what lies there after the command is understood later.
        while self.waits.is_none() {
            let Some(line) = self.lines.next() else { break };
            if self.article {
                self.article = line != b".";
                continue;
            }
            let line = String::from_utf8_lossy(&line).into_owned();
            let verb = line.split(' ').next().unwrap_or_default();
            self.waits = match verb.to_ascii_uppercase().as_str() {
                "POST" | "IHAVE" => Some(Verb::Post),
                "COMPRESS" => Some(Verb::Compress),
                "STARTTLS" => Some(Verb::StartTls),
                _ => None,
            };
            commands.push(line);
        }
        commands
    }

    /// Answers pass. A client may have sent other commands before the one that makes it wait, so only a line with
    /// the right number counts, and that is the last one.
    fn answer(&mut self, bytes: &[u8]) {
        let lines = bytes.strip_suffix(b"\r\n").unwrap_or(bytes);
        let Some(last) = lines.rsplit(|byte| *byte == b'\n').next() else {
            return;
        };
        let begins = |codes: &[&str]| codes.iter().any(|code| last.starts_with(code.as_bytes()));
        match &self.waits {
            Some(Verb::Post) if begins(&["340", "335"]) => self.article = true,
            Some(Verb::Compress) if begins(&["206"]) => self.lines.unpack(),
            Some(Verb::StartTls) if begins(&["382"]) => self.deaf = true,
            Some(_) if begins(&["4", "5"]) => {}
            _ => return,
        }
        self.waits = None;
    }
}
