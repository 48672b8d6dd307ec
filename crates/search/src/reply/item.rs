//! One release of a feed: what several sources say as one, with a link of ours.

use std::borrow::Cow;

use weir_search_proto::{Item, Protocol, Release};

use crate::config::indexer::Download;
use crate::links::{Links, file_name};
use crate::merge::{Merged, ReleaseList, ReleaseSource};
use crate::search::ours;

/// What an item is written from.
pub(super) struct FeedItem<'a> {
    release: Cow<'a, Release>,
    guid: String,
    download: String,
    categories: Vec<u32>,
    number: String,
    indexer: &'a str,
    also: Vec<&'a str>,
}

impl<'a> FeedItem<'a> {
    pub(super) fn new(links: &Links, list: &'a ReleaseList, merged: &Merged, origin: &str) -> Self {
        let first = merged.sources[0];
        let (release, indexer) = (list.at(first), list.indexer(first));
        let mut also: Vec<&str> = merged.sources[1..]
            .iter()
            .map(|source| list.indexer(*source).name())
            .collect();
        also.dedup();
        let mut release = Cow::Borrowed(release);
        if merged.sources[1..]
            .iter()
            .any(|other| adds(list.at(*other), &release))
        {
            complete(release.to_mut(), list, merged);
        }
        Self {
            guid: guid(list, merged),
            download: link(links, list, first, origin),
            categories: ours(indexer, &release),
            number: indexer.number.get().to_string(),
            indexer: indexer.name(),
            also,
            release,
        }
    }

    pub(super) fn item(&self, protocol: Protocol) -> Item<'_> {
        Item {
            release: &self.release,
            guid: &self.guid,
            download: &self.download,
            categories: &self.categories,
            protocol,
            indexer: (&self.number, self.indexer),
            also: &self.also,
        }
    }
}

/// Whether another source says something that this one does not.
fn adds(other: &Release, release: &Release) -> bool {
    (release.published.is_none() && other.published.is_some())
        || (release.info_hash.is_none() && other.info_hash.is_some())
        || (release.magnet.is_none() && other.magnet.is_some())
}

/// What the preferred source does not say and another does.
fn complete(release: &mut Release, list: &ReleaseList, merged: &Merged) {
    for source in &merged.sources {
        let other = list.at(*source);
        release.published = release.published.or(other.published);
        release.info_hash = release.info_hash.or(other.info_hash);
        if release.magnet.is_none() {
            release.magnet.clone_from(&other.magnet);
        }
    }
}

/// What clients know a release by: its info hash, else what its source calls it.
pub(crate) fn guid(list: &ReleaseList, merged: &Merged) -> String {
    let hash = merged
        .sources
        .iter()
        .find_map(|source| list.at(*source).info_hash);
    if let Some(hash) = hash {
        return format!("weir:{hash}");
    }
    // Not the preferred source, which changes with the indexers' health.
    let rank = |source: &&ReleaseSource| {
        let indexer = list.indexer(**source);
        (indexer.terms.priority, indexer.number.get())
    };
    let source = *merged
        .sources
        .iter()
        .min_by_key(rank)
        .unwrap_or(&merged.sources[0]);
    let mut hasher = blake3::Hasher::new();
    hasher.update(list.indexer(source).name().as_bytes());
    hasher.update(&[0]).update(list.at(source).guid.as_bytes());
    format!("weir:{}", &hasher.finalize().to_hex()[..32])
}

/// Our link to a source's file, or its magnet link where there is no file or the operator prefers that.
pub(crate) fn link(
    links: &Links,
    list: &ReleaseList,
    source: ReleaseSource,
    origin: &str,
) -> String {
    let (release, indexer) = (list.at(source), list.indexer(source));
    let magnet = release.magnet.as_deref();
    let prefers_magnet = indexer.terms.download == Download::Magnet;
    let file = release.download.as_deref();
    let target = match (file, magnet) {
        (Some(_), Some(magnet)) if prefers_magnet => return magnet.to_owned(),
        (Some(file), _) => file,
        (None, Some(magnet)) => return magnet.to_owned(),
        (None, None) => "",
    };
    let ending = match indexer.protocol() {
        Protocol::Torrent => "torrent",
        Protocol::Nzb => "nzb",
    };
    let token = links.seal(indexer.name(), target);
    let name = file_name(&release.title, ending);
    format!("{origin}/dl/{token}/{name}")
}
