//! The kinds of upstreams that can be added, and the list that each belongs to.

use weir_config::{About, Item, Node, Report, Row, Table, read_entry};
use weir_news::config::server::ServerEntry;
use weir_search::config::indexer::IndexerEntry;
use weir_tracker::config::forwarder::ForwarderEntry;

/// What an upstream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An entry of `tracker.forwarders`.
    Tracker,
    /// An entry of `search.indexers`.
    Indexer,
    /// An entry of `news.servers`.
    NewsServer,
}

/// An entry, read by the checks of its list.
pub struct CheckedEntry {
    /// Its name; `None` if it has mistakes without which it would have one.
    pub name: Option<String>,
    /// Mistakes and values; their paths are the entry's keys.
    pub report: Report,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tracker, Self::Indexer, Self::NewsServer];

    /// The kind of a front's upstreams.
    pub fn of_front(front: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|kind| kind.front() == front)
    }

    /// The front that calls them, as in addresses.
    pub fn front(self) -> &'static str {
        self.section().0
    }

    /// The section and the list in it.
    pub fn section(self) -> (&'static str, &'static str) {
        match self {
            Self::Tracker => ("tracker", "forwarders"),
            Self::Indexer => ("search", "indexers"),
            Self::NewsServer => ("news", "servers"),
        }
    }

    /// The path of the list.
    pub fn list(self) -> String {
        let (section, list) = self.section();
        format!("{section}.{list}")
    }

    /// What people call one.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Tracker => "tracker",
            Self::Indexer => "indexer",
            Self::NewsServer => "news server",
        }
    }

    /// The same with its article.
    pub fn a_noun(self) -> &'static str {
        match self {
            Self::Tracker => "a tracker",
            Self::Indexer => "an indexer",
            Self::NewsServer => "a news server",
        }
    }

    /// The key of its address.
    pub fn address(self) -> &'static str {
        match self {
            Self::Tracker => "uri",
            Self::Indexer => "url",
            Self::NewsServer => "host",
        }
    }

    /// The keys that say which server is called and how; a saved secret is never sent by another way.
    pub fn way(self) -> &'static [&'static str] {
        match self {
            Self::Tracker => &["uri", "proxy"],
            Self::Indexer => &["url", "proxy"],
            Self::NewsServer => &["host", "port"],
        }
    }

    /// The table of its keys.
    pub fn table(self) -> &'static Table {
        match self {
            Self::Tracker => ForwarderEntry::TABLE,
            Self::Indexer => IndexerEntry::TABLE,
            Self::NewsServer => ServerEntry::TABLE,
        }
    }

    /// Its keys.
    pub fn keys(self) -> impl Iterator<Item = &'static About> {
        self.table().rows.iter().filter_map(|row| match row {
            Row::Field(about) => Some(about),
            Row::Section(_) | Row::List(..) => None,
        })
    }

    /// Reads an entry.
    pub fn read(self, entry: Node) -> CheckedEntry {
        match self {
            Self::Tracker => checked(entry, |entry: ForwarderEntry| entry.name),
            Self::Indexer => checked(entry, |entry: IndexerEntry| entry.name),
            Self::NewsServer => checked(entry, |entry: ServerEntry| entry.name),
        }
    }
}

fn checked<I: Item>(entry: Node, name: impl FnOnce(I) -> String) -> CheckedEntry {
    let (entry, report) = read_entry::<I>(entry);
    CheckedEntry {
        name: entry.map(name),
        report,
    }
}
