//! One item of a feed while it is being read.

use super::{OWN, is_http, is_magnet};
use crate::error::Unreadable;
use crate::release::{Protocol, Release, magnet_hash};
use crate::text::{clean, cleaned, cut};
use crate::xml::{Nodes, Tag, value_of};
use crate::{date, number};

/// Attributes of an item that are kept.
const ATTRIBUTES: usize = 64;

/// Characters of an attribute's name and of its value that are kept.
const NAME: usize = 100;
const VALUE: usize = 1_000;

/// Categories of an item that are kept.
const CATEGORIES: usize = 64;

/// What is known of an item so far.
#[derive(Default)]
pub(super) struct Draft {
    release: Release,
    link: Option<String>,
    comments: Option<String>,
    /// The guid is a name only, no page.
    bare_guid: bool,
    /// The size as an element says it, which stands back behind the attribute.
    stated: Option<u64>,
    /// The length of the enclosure, which is the size if nothing else says it.
    length: Option<u64>,
    /// What the enclosure says it is.
    enclosed: Option<Protocol>,
    leechers: Option<u32>,
    /// A date that is used if there is no `pubDate`.
    other_date: Option<i64>,
}

impl Draft {
    /// Takes in one child of the item and reads on to its end.
    pub(super) fn element(
        &mut self,
        tag: &Tag<'_>,
        nodes: &mut Nodes<'_>,
        scratch: &mut String,
    ) -> Result<(), Unreadable> {
        match (tag.prefix(), tag.name()) {
            (_, "attr") => {
                self.attribute(tag)?;
                return nodes.skip();
            }
            ("", "enclosure") => {
                self.enclosure(tag)?;
                return nodes.skip();
            }
            ("", "guid") => {
                let permanent = tag.attribute("isPermaLink")?;
                self.bare_guid = permanent.is_some_and(|value| value.eq_ignore_ascii_case("false"));
            }
            ("", "title" | "link" | "comments" | "pubDate" | "pubdate" | "category") => {}
            ("", "size" | "files" | "grabs" | "seeders" | "peers") => {}
            ("dc", "date") | (_, "contentLength" | "infoHash" | "magnetURI") => {}
            _ => return nodes.skip(),
        }
        nodes.text(scratch)?;
        self.text(tag.name(), scratch.trim());
        Ok(())
    }

    /// The release, if the item had a title and a way to be downloaded.
    pub(super) fn finish(self) -> Option<Release> {
        let mut release = self.release;
        let link = self.link.filter(|link| is_http(link));
        if release.download.is_none() {
            release.download = link.clone();
        }
        if is_magnet(&release.guid) {
            release.magnet.get_or_insert_with(|| release.guid.clone());
        }
        let file = release.download.as_deref();
        if release.title.is_empty() || (file.is_none() && release.magnet.is_none()) {
            return None;
        }
        if release.info_hash.is_none() {
            release.info_hash = release.magnet.as_deref().and_then(magnet_hash);
        }
        let guid = Some(&release.guid).filter(|guid| !self.bare_guid && is_http(guid));
        let pages = [self.comments, guid.cloned(), link];
        let mut pages = pages.into_iter().flatten();
        release.details = pages.find(|page| Some(page.as_str()) != file);
        if release.guid.is_empty() {
            let names = [&release.download, &release.details, &release.magnet];
            let name = names.into_iter().flatten().next();
            release.guid = name.unwrap_or(&release.title).clone();
        }
        release.size = release.size.or(self.stated).or(self.length);
        release.published = release.published.or(self.other_date);
        if release.peers.is_none() {
            let sum = self.leechers.zip(release.seeders);
            release.peers = sum.map(|(leechers, seeders)| leechers.saturating_add(seeders));
        }
        release.protocol = self.enclosed.or_else(|| guess(&release));
        Some(release)
    }

    /// The text of a child; the first one that says something counts.
    fn text(&mut self, name: &str, text: &str) {
        let release = &mut self.release;
        match name {
            _ if text.is_empty() => {}
            "title" if release.title.is_empty() => release.title = clean(text),
            "guid" if release.guid.is_empty() => release.guid = clean(text),
            "link" if is_magnet(text) => set(&mut release.magnet, || Some(clean(text))),
            "link" => set(&mut self.link, || Some(clean(text))),
            "comments" if is_http(text) => set(&mut self.comments, || Some(clean(text))),
            "pubDate" | "pubdate" => set(&mut release.published, || moment(text)),
            "date" => set(&mut self.other_date, || moment(text)),
            "category" => self.category(text),
            "infoHash" => self.own("infohash", text),
            "magnetURI" => self.own("magneturl", text),
            "size" | "contentLength" => set(&mut self.stated, || number::size(text)),
            _ => self.own(name, text),
        }
    }

    /// `<torznab:attr name="…" value="…"/>`, whatever its prefix.
    fn attribute(&mut self, tag: &Tag<'_>) -> Result<(), Unreadable> {
        let (mut name, mut value) = ("", "");
        for (key, raw) in tag.attributes() {
            match key {
                "name" => name = raw,
                "value" => value = raw,
                _ => {}
            }
        }
        let (name, value) = (value_of(name)?, value_of(value)?);
        let (name, value) = (cleaned(cut(&name, NAME)), value.trim());
        if name.is_empty() || value.is_empty() {
            return Ok(());
        }
        if let Some(own) = OWN.iter().find(|own| own.eq_ignore_ascii_case(&name)) {
            self.own(own, value);
            return Ok(());
        }
        // It is understood as it is kept, or whoever reads what we write would understand more than we did.
        let value = clean(cut(value, VALUE));
        match name.as_ref() {
            "leechers" => set(&mut self.leechers, || number::count(&value)),
            "usenetdate" => set(&mut self.other_date, || moment(&value)),
            _ => {}
        }
        if self.release.attributes.len() < ATTRIBUTES && !value.is_empty() {
            self.release.attributes.push((name.into_owned(), value));
        }
        Ok(())
    }

    /// An attribute that has a field of its own, or an element of the same name.
    fn own(&mut self, name: &str, value: &str) {
        let release = &mut self.release;
        match name {
            "size" => set(&mut release.size, || number::size(value)),
            "files" => set(&mut release.files, || number::count(value)),
            "grabs" => set(&mut release.grabs, || number::count(value)),
            "seeders" => set(&mut release.seeders, || number::count(value)),
            "peers" => set(&mut release.peers, || number::count(value)),
            "category" => self.category(value),
            "infohash" => set(&mut release.info_hash, || value.parse().ok()),
            "magneturl" if is_magnet(value) => set(&mut release.magnet, || Some(clean(value))),
            _ => {}
        }
    }

    fn category(&mut self, value: &str) {
        let Ok(id) = value.parse() else {
            return;
        };
        let categories = &mut self.release.categories;
        if categories.len() < CATEGORIES && !categories.contains(&id) {
            categories.push(id);
        }
    }

    fn enclosure(&mut self, tag: &Tag<'_>) -> Result<(), Unreadable> {
        let url = tag.attribute("url")?.unwrap_or_default();
        let url = url.trim();
        if is_magnet(url) {
            set(&mut self.release.magnet, || Some(clean(url)));
        } else if is_http(url) {
            set(&mut self.release.download, || Some(clean(url)));
        }
        if let Some(length) = tag.attribute("length")? {
            set(&mut self.length, || number::size(&length));
        }
        if let Some(kind) = tag.attribute("type")? {
            set(&mut self.enclosed, || protocol(&kind));
        }
        Ok(())
    }
}

/// Fills a field that is still empty.
fn set<T>(field: &mut Option<T>, value: impl FnOnce() -> Option<T>) {
    if field.is_none() {
        *field = value();
    }
}

/// A date; the very beginning of time is what programs write when they know none.
fn moment(text: &str) -> Option<i64> {
    date::parse(text).filter(|seconds| *seconds != 0)
}

/// What a media type stands for.
fn protocol(media_type: &str) -> Option<Protocol> {
    let media_type = media_type.to_ascii_lowercase();
    match media_type.as_str() {
        _ if media_type.contains("nzb") => Some(Protocol::Nzb),
        _ if media_type.contains("bittorrent") => Some(Protocol::Torrent),
        _ => None,
    }
}

/// How a release is downloaded, by everything but its enclosure's type.
fn guess(release: &Release) -> Option<Protocol> {
    if release.magnet.is_some() || release.info_hash.is_some() {
        return Some(Protocol::Torrent);
    }
    let path = release.download.as_deref()?.split(['?', '#']).next()?;
    match path.rsplit_once('.')?.1 {
        end if end.eq_ignore_ascii_case("nzb") => Some(Protocol::Nzb),
        end if end.eq_ignore_ascii_case("torrent") => Some(Protocol::Torrent),
        _ if release.seeders.is_some() => Some(Protocol::Torrent),
        _ => None,
    }
}
