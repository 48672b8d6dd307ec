//! A news server and everything that news servers have been seen to do.
//!
//! It speaks NNTP as a reader knows it (RFC 3977, 4643, 6048, 8054) without TLS, and is written apart from our own
//! protocol code, so that neither hides a mistake of the other.

mod answer;
mod article;
mod behaviour;
mod listing;
mod reading;
mod session;
mod shelf;
mod wire;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{Door, Guest, Place, REMEMBERED};

pub use article::{Article, id};
pub use behaviour::{Behaviour, EmptyRange, Greeting, Nature, Rows};
pub use shelf::Newsgroup;
pub(crate) use wire::Lines;

/// One command as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// When its line was complete.
    pub at: Instant,
    /// The connection it came on; the first has number 0.
    pub connection: usize,
    /// Without its end.
    pub line: String,
}

/// A connection so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// When it was accepted.
    pub opened: Instant,
    /// When it ended, whoever ended it.
    pub closed: Option<Instant>,
    /// Commands that had arrived and were not answered, at the most. A server that answers at once sees few:
    /// make it [`Behaviour::Slow`] or [`Behaviour::Far`].
    pub depth: usize,
    unanswered: usize,
}

/// What it has, is and does; behind one lock that is held for one answer at a time.
struct State {
    shelf: shelf::Shelf,
    nature: Nature,
    rules: behaviour::Rules,
    posted: Vec<Article>,
}

#[derive(Default)]
struct Log {
    commands: Vec<Command>,
    connections: Vec<Connection>,
}

/// Shared between its handle and its tasks.
struct Shared {
    state: Mutex<State>,
    log: Mutex<Log>,
    /// Bytes that the system, or the other side in memory, has taken from it.
    written: Arc<AtomicUsize>,
    /// Changes when all connections are to end.
    cut: watch::Sender<()>,
}

/// A running news server; it ends when dropped.
pub struct News {
    address: SocketAddr,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

impl News {
    /// Starts a good server with these newsgroups.
    pub async fn start(place: Place<'_>, newsgroups: Vec<Newsgroup>) -> io::Result<Self> {
        let (door, address) = Door::open(place).await?;
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                shelf: shelf::Shelf::new(newsgroups),
                nature: Nature::default(),
                rules: behaviour::Rules::default(),
                posted: Vec::new(),
            }),
            log: Mutex::default(),
            written: Arc::default(),
            cut: watch::Sender::new(()),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(door, shared.clone()));
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

    /// Changes how it answers all commands for which nothing else was said, from the next one on; a connection that
    /// hangs goes on hanging.
    pub fn set(&self, behaviour: Behaviour) {
        self.set_for("", behaviour);
    }

    /// Changes how it answers commands that begin so: `"ARTICLE"`, `"GROUP misc.test"`. The longest beginning wins.
    pub fn set_for(&self, command: &str, behaviour: Behaviour) {
        let rules = &mut self.shared.state.lock().rules;
        rules.set(command, behaviour, None);
    }

    /// The same for the next so many such commands.
    pub fn set_next(&self, command: &str, times: usize, behaviour: Behaviour) {
        let rules = &mut self.shared.state.lock().rules;
        rules.set(command, behaviour, Some(times));
    }

    /// Changes what it is like: `news.be(|nature| nature.posting = false)`.
    pub fn be(&self, change: impl FnOnce(&mut Nature)) {
        change(&mut self.shared.state.lock().nature);
    }

    /// It does not know these commands any more, and does not list them: `&["OVER", "XOVER", "LIST COUNTS"]`.
    pub fn without(&self, commands: &[&str]) {
        let commands = commands.iter().copied().map(str::to_owned);
        self.be(|nature| nature.unknown.extend(commands));
    }

    /// Adds an article to newsgroups, at the next number of each; tells the numbers.
    pub fn add(&self, newsgroups: &[&str], article: Article) -> Vec<u64> {
        self.shared.state.lock().shelf.add(newsgroups, article)
    }

    /// Takes an article away, as expiry or a cancel does.
    pub fn remove(&self, id: &str) {
        self.shared.state.lock().shelf.remove(id);
    }

    /// From now on an article is listed, but fetching it is answered with `451`.
    pub fn take_down(&self, id: &str) {
        self.shared.state.lock().shelf.take_down(id);
    }

    /// Gives the articles of a newsgroup numbers from `first` on, in the order they had.
    pub fn renumber(&self, newsgroup: &str, first: u64) {
        self.shared.state.lock().shelf.renumber(newsgroup, first);
    }

    /// Puts a newsgroup in the place of the one of the same name, or adds it.
    pub fn put(&self, newsgroup: Newsgroup) {
        self.shared.state.lock().shelf.set(newsgroup);
    }

    /// What was posted or offered and kept, oldest first.
    pub fn posted(&self) -> Vec<Article> {
        self.shared.state.lock().posted.clone()
    }

    /// All that it was asked, oldest first.
    pub fn commands(&self) -> Vec<Command> {
        self.shared.log.lock().commands.clone()
    }

    /// How many commands began so: `"ARTICLE"`, `"ARTICLE <1@zoo.example>"`.
    pub fn count(&self, command: &str) -> usize {
        let log = self.shared.log.lock();
        let lines = log.commands.iter().map(|command| &command.line);
        lines.filter(|line| begins(&upper(line), command)).count()
    }

    /// Forgets what it was asked; connections are kept.
    pub fn forget(&self) {
        self.shared.log.lock().commands.clear();
    }

    /// All connections so far, oldest first.
    pub fn connections(&self) -> Vec<Connection> {
        self.shared.log.lock().connections.clone()
    }

    /// How many connections are open.
    pub fn open(&self) -> usize {
        self.shared.log.lock().open()
    }

    /// The most commands that were unanswered on one connection; see [`Connection::depth`].
    pub fn depth(&self) -> usize {
        let log = self.shared.log.lock();
        let depths = log.connections.iter().map(|connection| connection.depth);
        depths.max().unwrap_or(0)
    }

    /// How many bytes were taken from it, as they went over the wire.
    pub fn written(&self) -> usize {
        self.shared.written.load(Ordering::Relaxed)
    }

    /// Ends all connections with an error for the clients; new ones are welcome.
    pub fn cut(&self) {
        self.shared.cut.send_replace(());
    }
}

async fn accept(mut door: Door, shared: Arc<Shared>) {
    let mut guests = JoinSet::new();
    loop {
        tokio::select! {
            guest = door.accept() => {
                let Some(guest) = guest else { return };
                let number = shared.opened();
                guests.spawn(session::serve(guest, shared.clone(), number));
            }
            Some(_) = guests.join_next() => {}
        }
    }
}

impl Shared {
    fn opened(&self) -> usize {
        let connections = &mut self.log.lock().connections;
        connections.push(Connection {
            opened: Instant::now(),
            closed: None,
            depth: 0,
            unanswered: 0,
        });
        connections.len() - 1
    }

    fn closed(&self, number: usize) {
        self.log.lock().connections[number].closed = Some(Instant::now());
    }

    fn asked(&self, number: usize, line: &str) -> Instant {
        let at = Instant::now();
        let mut log = self.log.lock();
        let connection = &mut log.connections[number];
        connection.unanswered += 1;
        connection.depth = connection.depth.max(connection.unanswered);
        if log.commands.len() < REMEMBERED {
            log.commands.push(Command {
                at,
                connection: number,
                line: line.to_owned(),
            });
        }
        at
    }

    fn answered(&self, number: usize) {
        self.log.lock().connections[number].unanswered -= 1;
    }

    /// How a connection begins, and its line if that is a good one.
    fn greeting(&self) -> (Greeting, &'static str) {
        let open = self.log.lock().open();
        let nature = &self.state.lock().nature;
        let greeting = match nature.connections {
            Some(most) if open > most => Greeting::Goodbye("502 Too many connections".to_owned()),
            _ => nature.greeting.clone(),
        };
        (greeting, answer::greeting(nature))
    }

    fn behaviour(&self, line: &str, command: usize) -> Behaviour {
        self.state.lock().rules.take(&upper(line), command)
    }
}

impl Log {
    fn open(&self) -> usize {
        let connections = self.connections.iter();
        connections.filter(|one| one.closed.is_none()).count()
    }
}

/// A line with its verb in upper case: clients may write it as they like.
fn upper(line: &str) -> String {
    let (verb, rest) = line.split_at(line.find(' ').unwrap_or(line.len()));
    verb.to_ascii_uppercase() + rest
}

/// Whether a line begins with these words.
fn begins(line: &str, with: &str) -> bool {
    let rest = line.strip_prefix(with);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}
