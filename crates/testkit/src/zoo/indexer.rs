//! A Torznab or Newznab indexer and everything that indexers have been seen to do.

mod document;
mod script;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::flood::Flood;
use super::serve::{Acts, Plays, accept};
use super::{Book, Door, Place, Seen};

pub use super::http::RetryAfter;
pub use document::date;

/// How the indexer answers every search from now on; with [`Indexer::set_all`] also what it can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// As it should.
    Good,
    /// As it should, after this time.
    Slow(Duration),
    /// With a status and a short text.
    Status(u16, RetryAfter),
    /// As it should, but for what is more than so many requests in a time: 429.
    BurstLimit {
        /// Requests of any kind.
        calls: usize,
        /// In this time.
        window: Duration,
        /// What it says then.
        retry_after: RetryAfter,
    },
    /// An error document with this code and description, with status 200.
    Error(u16, String),
    /// The same with another status.
    ErrorStatus(u16, u16, String),
    /// A feed that breaks off within an element.
    InvalidXml,
    /// A page that wants to know whether we are a person.
    Html,
    /// Status 200 and no body.
    Empty,
    /// Accepts and never answers.
    Hang,
    /// A good answer, one byte at a time with a pause after each.
    Drip(Duration),
    /// Reads the request and closes without a word.
    CloseAfterRequest,
    /// A feed of so many bytes, without saying so before.
    HugeBody(usize),
    /// A packed feed that unpacks to so many bytes.
    GzipBomb(usize),
    /// An answer that does not end, up to so many bytes.
    Flood(Flood, usize),
    /// Entities that stand for entities that stand for entities.
    EntityBomb,
    /// An entity that is to be fetched from `/external`; see [`Indexer::was_lured`].
    ExternalEntity,
    /// To itself, for ever.
    RedirectLoop,
    /// Every so manieth search fails with status 500.
    Flaky(usize),
    /// As it should, in ISO 8859-1, with `é` at the end of each title.
    Latin1,
    /// As it should, packed.
    Gzip,
    /// All releases whatever page was asked for, and a total that is not true.
    WrongPaging,
    /// As it should, and what of an account's allowance is used. Made requests are added to the first number.
    Limits {
        /// Requests made before, and allowed.
        calls: (usize, usize),
        /// Downloads made and allowed.
        grabs: (usize, usize),
    },
}

/// How `/file/` answers.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Files {
    /// With a torrent or an NZB, whichever it has.
    #[default]
    Good,
    /// With a page for people.
    Html,
    /// It is gone.
    Missing,
    /// Sends on to a magnet link.
    Magnet,
    /// With a status.
    Status(u16, RetryAfter),
    /// With an error document, with status 200.
    Error(u16, String),
}

/// A release that it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its title; words of a query are looked for in it.
    pub title: String,
    /// What the indexer calls it.
    pub guid: String,
    /// Bytes.
    pub size: u64,
    /// Seconds since 1970.
    pub published: i64,
    /// One category.
    pub category: u32,
    /// Forty hexadecimal digits, if it tells.
    pub info_hash: Option<String>,
    /// Who has it.
    pub seeders: u32,
    /// The number of its file.
    pub file: u32,
    /// More elements.
    pub more: String,
}

impl Item {
    /// One of a series; a higher number is newer.
    pub fn numbered(number: u32) -> Self {
        Self {
            title: format!("Some.Show.S01E{number:02}.1080p"),
            guid: format!("item-{number}"),
            size: 1_000_000 + u64::from(number),
            published: 1_700_000_000 + i64::from(number) * 60,
            category: 5040,
            info_hash: Some(format!("{:040x}", 0xabc_0000 + number)),
            seeders: 5,
            file: number,
            more: String::new(),
        }
    }

    /// The same without an info hash.
    pub fn bare(self) -> Self {
        Self {
            info_hash: None,
            ..self
        }
    }
}

/// A category: number, name and those below.
pub type Top = (u32, &'static str, Vec<(u32, &'static str)>);

/// What it says it can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Releases in one answer at most.
    pub limit: u32,
    /// Elements of `searching` with their `supportedParams`.
    pub searching: Vec<(&'static str, &'static str)>,
    /// Top categories with those below.
    pub categories: Vec<Top>,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            limit: 100,
            searching: vec![
                ("search", "q"),
                ("tv-search", "q,season,ep,tvdbid"),
                ("movie-search", "q,imdbid"),
            ],
            categories: vec![
                (2000, "Movies", vec![(2040, "HD")]),
                (5000, "TV", vec![(5030, "SD"), (5040, "HD")]),
            ],
        }
    }
}

/// What it is asked with, plays and has.
#[derive(Clone)]
struct Play {
    behaviour: Behaviour,
    /// Not only searches.
    all: bool,
    files: Files,
    shelf: Arc<Shelf>,
}

#[derive(Clone)]
struct Shelf {
    items: Vec<Item>,
    caps: Caps,
    newznab: bool,
    /// Where it can be reached.
    base: String,
    /// Goes along with every link, as passkeys do.
    secret: String,
}

/// What an indexer begins with.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Newest first or not; it answers newest first.
    pub items: Vec<Item>,
    /// What it says it can do.
    pub caps: Caps,
    /// NZB files instead of torrents.
    pub newznab: bool,
    /// Goes along with every link, as passkeys do.
    pub secret: String,
}

impl Setup {
    /// Releases of these numbers.
    pub fn with(numbers: impl IntoIterator<Item = u32>) -> Self {
        Self {
            items: numbers.into_iter().map(Item::numbered).collect(),
            ..Self::default()
        }
    }
}

/// One request to its API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// When it was complete.
    pub at: Instant,
    /// Path and query.
    pub target: String,
}

impl Asked {
    /// The value of a parameter, as it came.
    pub fn value(&self, name: &str) -> Option<&str> {
        script::value(&self.target, name)
    }
}

/// A running indexer; it ends when dropped.
pub struct Indexer {
    address: SocketAddr,
    book: Arc<Book<Play>>,
    connections: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Indexer {
    /// Starts a good indexer.
    pub async fn start(place: Place<'_>, setup: Setup) -> io::Result<Self> {
        let (door, address) = Door::open(place).await?;
        let Setup {
            mut items,
            caps,
            newznab,
            secret,
        } = setup;
        items.sort_by_key(|item| std::cmp::Reverse(item.published));
        let shelf = Arc::new(Shelf {
            items,
            caps,
            newznab,
            base: format!("http://{address}"),
            secret,
        });
        let book = Book::new(Play {
            behaviour: Behaviour::Good,
            all: false,
            files: Files::Good,
            shelf,
        });
        let connections = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(door, book.clone(), connections.clone()));
        Ok(Self {
            address,
            book,
            connections,
            _tasks: tasks,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where its API is.
    pub fn url(&self) -> String {
        format!("http://{}/api", self.address)
    }

    /// Changes how it answers searches, from the next request on; what it can do is told as it should be.
    pub fn set(&self, behaviour: Behaviour) {
        self.change(|play| (play.behaviour, play.all) = (behaviour, false));
    }

    /// Changes how it answers searches and what it can do.
    pub fn set_all(&self, behaviour: Behaviour) {
        self.change(|play| (play.behaviour, play.all) = (behaviour, true));
    }

    /// Changes how it answers for files.
    pub fn set_files(&self, files: Files) {
        self.change(|play| play.files = files);
    }

    /// It has one more from the next request on.
    pub fn add(&self, item: Item) {
        self.change(|play| {
            let mut shelf = Shelf::clone(&play.shelf);
            shelf.items.push(item);
            shelf
                .items
                .sort_by_key(|item| std::cmp::Reverse(item.published));
            play.shelf = Arc::new(shelf);
        });
    }

    fn change(&self, change: impl FnOnce(&mut Play)) {
        let mut play = self.book.behaviour();
        change(&mut play);
        self.book.set(play);
    }

    /// All that it was asked, oldest first.
    pub fn seen(&self) -> Vec<Seen> {
        self.book.seen()
    }

    /// The requests to its API, oldest first.
    pub fn asked(&self) -> Vec<Asked> {
        self.requests("/api")
    }

    /// Those of them that were searches.
    pub fn searches(&self) -> Vec<Asked> {
        let mut asked = self.asked();
        asked.retain(|asked| asked.value("t") != Some("caps"));
        asked
    }

    /// Those of them that asked what it can do.
    pub fn introductions(&self) -> usize {
        self.asked().len() - self.searches().len()
    }

    /// The requests for files.
    pub fn grabs(&self) -> Vec<Asked> {
        self.requests("/file/")
    }

    /// Whether somebody fetched its external entity.
    pub fn was_lured(&self) -> bool {
        !self.requests("/external").is_empty()
    }

    /// How many bytes of answers were taken from it.
    pub fn written(&self) -> usize {
        self.book.written()
    }

    /// How many connections it has accepted.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    fn requests(&self, path: &str) -> Vec<Asked> {
        script::requests(&self.seen(), path)
    }
}

impl Plays for Play {
    fn turns_away(&self) -> bool {
        false
    }

    fn acts(&self, book: &Book<Self>, head: &[u8]) -> Acts {
        script::of(self, book, head)
    }
}
