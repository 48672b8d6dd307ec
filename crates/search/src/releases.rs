//! The releases of a search as page and API show them: sorted, filtered, a part at a time, each with its sources.

use std::cmp::{Ordering, Reverse};

use serde_json::{Value, json};
use weir_search_proto::{InfoHash, Protocol, Release, category};

use crate::links::Links;
use crate::merge::{Merged, ReleaseList, ReleaseSource};
use crate::reply;
use crate::search::ours;
use crate::words::second;

/// Which releases are wanted, and in which order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    /// Words that a title or an indexer's name has.
    pub(crate) filter: String,
    pub(crate) order: Order,
    pub(crate) offset: usize,
    pub(crate) limit: usize,
}

/// An order of releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Order {
    pub(crate) column: SortColumn,
    /// The other way round than one looks for first.
    pub(crate) back: bool,
}

/// What releases are ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum SortColumn {
    Title,
    Category,
    /// Youngest first.
    #[default]
    Age,
    /// Largest first.
    Size,
    /// Most first.
    Seeds,
}

impl SortColumn {
    pub(crate) const ALL: [Self; 5] = [
        Self::Title,
        Self::Category,
        Self::Age,
        Self::Size,
        Self::Seeds,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Category => "category",
            Self::Age => "age",
            Self::Size => "size",
            Self::Seeds => "seeds",
        }
    }
}

impl Order {
    /// Reads `size` or `-size`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (name, back) = match text.strip_prefix('-') {
            Some(name) => (name, true),
            None => (text, false),
        };
        let mut all = SortColumn::ALL.into_iter();
        let column = all.find(|column| column.name() == name)?;
        Some(Self { column, back })
    }

    /// As it is read.
    pub(crate) fn name(self) -> String {
        let minus = if self.back { "-" } else { "" };
        format!("{minus}{}", self.column.name())
    }

    /// Whether what is less comes first.
    pub(crate) fn ascending(self) -> bool {
        matches!(
            self.column,
            SortColumn::Title | SortColumn::Category | SortColumn::Age
        ) != self.back
    }
}

/// The wanted part of a list, and how many match.
pub(crate) fn part<'a>(list: &'a ReleaseList, wanted: &Selection) -> (Vec<&'a Merged>, usize) {
    let words: Vec<String> = wanted
        .filter
        .split_whitespace()
        .map(str::to_lowercase)
        .collect();
    let mut all: Vec<&Merged> = list
        .releases
        .iter()
        .filter(|merged| fits(list, merged, &words))
        .collect();
    let Order { column, back } = wanted.order;
    match column {
        // As it is.
        SortColumn::Age if !back => {}
        // Those without a date stay at the end.
        SortColumn::Age => all.sort_by_key(|merged| (merged.published == 0, merged.published)),
        SortColumn::Title => sort(&mut all, back, |merged| {
            list.at(merged.sources[0]).title.to_lowercase()
        }),
        SortColumn::Category => sort(&mut all, back, |merged| kind(list, merged)),
        SortColumn::Size => sort(&mut all, back, |merged| {
            Reverse(list.at(merged.sources[0]).size)
        }),
        SortColumn::Seeds => sort(&mut all, back, |merged| Reverse(seeders(list, merged))),
    }
    let matching = all.len();
    let part = all.into_iter().skip(wanted.offset).take(wanted.limit);
    (part.collect(), matching)
}

fn sort<K: Ord>(all: &mut [&Merged], back: bool, key: impl Fn(&Merged) -> K) {
    all.sort_by_cached_key(|merged| Turned(key(merged), back));
}

/// A key that is compared the other way round on demand.
#[derive(PartialEq, Eq)]
struct Turned<K>(K, bool);

impl<K: Ord> Ord for Turned<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = self.0.cmp(&other.0);
        if self.1 { order.reverse() } else { order }
    }
}

impl<K: Ord> PartialOrd for Turned<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn fits(list: &ReleaseList, merged: &Merged, words: &[String]) -> bool {
    words.iter().all(|word| {
        merged.sources.iter().any(|source| {
            list.at(*source).title.to_lowercase().contains(word)
                || list.indexer(*source).name().to_lowercase().contains(word)
        })
    })
}

/// What it is, such as `TV / HD`; empty if nobody says.
pub(crate) fn kind(list: &ReleaseList, merged: &Merged) -> String {
    let ids: Vec<u32> = merged
        .sources
        .iter()
        .flat_map(|source| ours(list.indexer(*source), list.at(*source)))
        .collect();
    let fine = ids.iter().find(|id| category::parent(**id) != **id);
    let all = fine.into_iter().chain(&ids);
    let name = all.copied().find_map(category::name);
    name.map_or_else(String::new, |name| name.replace('/', " / "))
}

/// The most that a source has.
pub(crate) fn seeders(list: &ReleaseList, merged: &Merged) -> Option<u32> {
    let sources = merged.sources.iter();
    sources.filter_map(|source| list.at(*source).seeders).max()
}

/// Those who have a part only, as the source with the most seeders says.
pub(crate) fn leechers(list: &ReleaseList, merged: &Merged) -> Option<u32> {
    let best = merged.sources.iter().map(|source| list.at(*source));
    let best = best.max_by_key(|release| release.seeders)?;
    Some(best.peers?.saturating_sub(best.seeders?))
}

pub(crate) fn info_hash(list: &ReleaseList, merged: &Merged) -> Option<InfoHash> {
    let mut sources = merged.sources.iter();
    sources.find_map(|source| list.at(*source).info_hash)
}

pub(crate) fn files(list: &ReleaseList, merged: &Merged) -> Option<u32> {
    let mut sources = merged.sources.iter();
    sources.find_map(|source| list.at(*source).files)
}

/// A magnet link that a source gives, or one made of the info hash.
pub(crate) fn magnet(list: &ReleaseList, merged: &Merged) -> Option<String> {
    let mut sources = merged.sources.iter();
    let given = sources.find_map(|source| list.at(*source).magnet.clone());
    given.or_else(|| {
        let hash = info_hash(list, merged)?;
        let title = &list.at(merged.sources[0]).title;
        let name = percent_encoding::utf8_percent_encode(title, percent_encoding::NON_ALPHANUMERIC);
        Some(format!("magnet:?xt=urn:btih:{hash}&dn={name}"))
    })
}

/// Nothing of it counts against what its user may download.
pub(crate) fn is_free(release: &Release) -> bool {
    release.attributes.iter().any(|(name, value)| {
        name.eq_ignore_ascii_case("downloadvolumefactor")
            && value
                .trim()
                .parse::<f64>()
                .is_ok_and(|factor| factor == 0.0)
    })
}

/// A release for programs; links begin with `origin`.
pub(crate) fn json(links: &Links, list: &ReleaseList, merged: &Merged, origin: &str) -> Value {
    let first = merged.sources[0];
    let release = list.at(first);
    let sources = merged.sources.iter();
    let sources: Vec<Value> = sources
        .map(|source| source_json(links, list, *source, origin))
        .collect();
    json!({
        "title": release.title,
        "guid": reply::guid(list, merged),
        "info_hash": info_hash(list, merged).map(|hash| hash.to_string()),
        "protocol": protocol(list, first),
        "size": release.size,
        "files": files(list, merged),
        "published": (merged.published != 0).then(|| second(merged.published).to_string()),
        "category": Some(kind(list, merged)).filter(|kind| !kind.is_empty()),
        "categories": ours(list.indexer(first), release),
        "seeders": seeders(list, merged),
        "leechers": leechers(list, merged),
        "grabs": release.grabs,
        "freeleech": is_free(release),
        "download": reply::link(links, list, first, origin),
        "magnet": magnet(list, merged),
        "sources": sources,
    })
}

fn source_json(links: &Links, list: &ReleaseList, source: ReleaseSource, origin: &str) -> Value {
    let (release, of) = (list.at(source), &list.contributions[usize::from(source.of)]);
    json!({
        "indexer": of.indexer.name(),
        "title": release.title,
        "size": release.size,
        "published": release.published.map(|at| second(at).to_string()),
        "seeders": release.seeders,
        "peers": release.peers,
        "cached": of.cached,
        "asked": second(of.answer.at).to_string(),
        "download": reply::link(links, list, source, origin),
        "magnet": release.magnet,
    })
}

fn protocol(list: &ReleaseList, source: ReleaseSource) -> &'static str {
    match list.indexer(source).protocol() {
        Protocol::Torrent => "torrent",
        Protocol::Nzb => "usenet",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_back() {
        for column in SortColumn::ALL {
            for back in [false, true] {
                let order = Order { column, back };
                assert_eq!(Order::parse(&order.name()), Some(order));
            }
        }
        assert_eq!(Order::parse("weight"), None);
        let young = Order::default();
        assert!(young.ascending());
        assert!(!Order::parse("size").unwrap().ascending());
    }
}
