//! What clients get: feeds, caps and errors, each in the form they asked for.

use std::sync::Arc;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use weir_search_proto::error::code;
use weir_search_proto::{
    Caps, Category, Channel, ErrorDocument, Format, Function, Item, Protocol, Skipped, Term,
    WrittenIndexer, category, write_feed, write_feed_json, write_indexers,
};
use weir_web::Refusal;

use crate::config::Config;
use crate::config::indexer::Download;
use crate::inbound::Scope;
use crate::indexer::Indexer;
use crate::links::{Links, file_name};
use crate::merge::{Merged, ReleaseList, ReleaseSource};
use crate::search::ours;
use crate::session::Frozen;

/// Seconds after which a request may be tried again that cannot be served, where nothing else says when.
pub(crate) const LATER: u64 = 300;

/// Which part of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeedPage {
    pub(crate) offset: u32,
    pub(crate) limit: u32,
}

/// Turns someone away whose key is missing or wrong.
pub(crate) fn refusal(refusal: &Refusal) -> Response {
    let (text, wait) = match refusal {
        Refusal::NoKey => (
            "This needs the API key: send apikey=KEY. Weir printed it at its first start."
                .to_owned(),
            None,
        ),
        Refusal::WrongKey => (
            "That is not the API key. web.api_key sets another.".to_owned(),
            None,
        ),
        Refusal::Throttled { seconds, .. } => (
            format!("Too many wrong API keys; next try in {seconds} s."),
            Some(*seconds),
        ),
    };
    let error = ErrorDocument::new(code::BAD_CREDENTIALS, text);
    match wait {
        None => with_status(StatusCode::UNAUTHORIZED, &error, Format::Xml),
        Some(seconds) => later(seconds, &error, Format::Xml),
    }
}

/// A request that cannot be served as it is.
pub(crate) fn error(error: &ErrorDocument, format: Format) -> Response {
    let status = match error.code {
        code::NO_SUCH_ITEM => StatusCode::NOT_FOUND,
        code::UNKNOWN => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::BAD_REQUEST,
    };
    with_status(status, error, format)
}

/// An address that stands for nothing.
pub(crate) fn not_there(error: &ErrorDocument, format: Format) -> Response {
    with_status(StatusCode::NOT_FOUND, error, format)
}

/// Nobody could answer, and there is no older answer: when to come back.
pub(crate) fn busy(seconds: u64, skipped: &[Skipped], format: Format) -> Response {
    let who: Vec<String> = skipped
        .iter()
        .map(|skipped| format!("{}: {}", skipped.indexer, skipped.reason))
        .collect();
    let text = format!(
        "No indexer can answer now; come back in {seconds} s. {}",
        who.join(". ")
    );
    let error = ErrorDocument::new(code::UNKNOWN, text.trim());
    later(seconds, &error, format)
}

fn later(seconds: u64, error: &ErrorDocument, format: Format) -> Response {
    let mut response = with_status(StatusCode::TOO_MANY_REQUESTS, error, format);
    retry_after(&mut response, seconds);
    response
}

/// Always whole seconds: programs read a date as something else, and nothing as *at once*.
pub(crate) fn retry_after(response: &mut Response, seconds: u64) {
    response
        .headers_mut()
        .insert(header::RETRY_AFTER, seconds.into());
}

fn with_status(status: StatusCode, error: &ErrorDocument, format: Format) -> Response {
    let text = document(format, || error.xml(), || error.json());
    let mut response = (status, text).into_response();
    retry_after(&mut response, LATER);
    response
}

/// What the indexers of a scope can do together.
pub(crate) fn caps(scope: &Scope, config: &Config, format: Format) -> Response {
    let caps = caps_of(scope, config);
    document(format, || caps.xml(), || caps.json())
}

fn caps_of(scope: &Scope, config: &Config) -> Caps {
    let known: Vec<_> = scope
        .indexers
        .iter()
        .filter_map(|indexer| indexer.known.load_full())
        .collect();
    let title = format!("Weir: {}", scope.name);
    let mut caps = Caps::union(&title, known.iter().map(|known| &known.caps));
    // Whoever has not been heard yet can do something too, and clients keep this for a week.
    let text = Function::ALL.map(|function| (function, Default::default()));
    for (function, terms) in text {
        let terms: std::collections::BTreeSet<Term> = terms;
        caps.functions.entry(function).or_insert(terms);
        caps.text.insert(function);
    }
    for term in [Term::Season, Term::Episode] {
        caps.functions.entry(Function::Tv).or_default().insert(term);
    }
    if caps.categories.is_empty() {
        caps.categories = standard();
    }
    if let ([_], [known], true) = (&scope.indexers[..], &known[..], scope.in_detail) {
        // Its own numbers mean something where nobody else answers.
        let own = known.caps.categories.iter();
        let own = own.flat_map(|top| std::iter::once(top).chain(&top.subcategories));
        let own = own.flat_map(|category| {
            let ids = known.mapping.ours(category.id).into_iter();
            let ids = ids.filter(|id| *id >= category::SITE);
            ids.map(|id| Category::leaf(id, &category.name))
        });
        caps.categories.extend(own);
    }
    caps.default_limit = config.page_default.get();
    caps.max_limit = config.page_max.get();
    caps
}

/// All that there may be.
fn standard() -> Vec<Category> {
    let tops = category::TABLE.iter();
    tops.map(|(id, name, below)| Category {
        subcategories: below
            .iter()
            .map(|(id, name)| Category::leaf(*id, name))
            .collect(),
        ..Category::leaf(*id, name)
    })
    .collect()
}

/// Jackett's list of indexers with their caps.
pub(crate) fn indexers(indexers: &[Arc<Indexer>]) -> Response {
    let known: Vec<_> = indexers
        .iter()
        .map(|indexer| (indexer, indexer.known.load_full()))
        .collect();
    let nothing = Caps::default();
    let listed: Vec<WrittenIndexer<'_>> = known
        .iter()
        .map(|(indexer, known)| {
            let caps = known.as_ref().map_or(&nothing, |known| &known.caps);
            (indexer.name(), indexer.name(), "private", true, caps)
        })
        .collect();
    document(Format::Xml, || write_indexers(&listed), String::new)
}

/// A page of a list.
pub(crate) fn feed(
    links: &Links,
    scope: &Scope,
    frozen: &Frozen,
    page: FeedPage,
    origin: &str,
    path: &str,
    format: Format,
) -> Response {
    let list = &frozen.list;
    let title = format!("Weir: {}", scope.name);
    let (link, self_url) = (format!("{origin}/search"), format!("{origin}{path}"));
    let channel = Channel {
        title: &title,
        description: "Releases of several indexers as one feed",
        link: &link,
        self_url: &self_url,
        offset: page.offset.into(),
        total: list.releases.len() as u64,
        skipped: &frozen.skipped,
        limits: None,
    };
    let shown = list
        .releases
        .iter()
        .skip(page.offset as usize)
        .take(page.limit as usize);
    let shown: Vec<FeedItem<'_>> = shown
        .map(|merged| FeedItem::new(links, list, merged, origin))
        .collect();
    let items = || shown.iter().map(|shown| shown.item(scope.protocol));
    let mut response = document(
        format,
        || write_feed(&channel, items()),
        || write_feed_json(&channel, items()),
    );
    if format == Format::Xml {
        let kind = header::HeaderValue::from_static("application/rss+xml; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    response
}

/// What an item is written from.
struct FeedItem<'a> {
    release: std::borrow::Cow<'a, weir_search_proto::Release>,
    guid: String,
    download: String,
    categories: Vec<u32>,
    number: String,
    indexer: &'a str,
    also: Vec<&'a str>,
}

impl<'a> FeedItem<'a> {
    fn new(links: &Links, list: &'a ReleaseList, merged: &Merged, origin: &str) -> Self {
        let first = merged.sources[0];
        let (release, indexer) = (list.at(first), list.indexer(first));
        let mut also: Vec<&str> = merged.sources[1..]
            .iter()
            .map(|source| list.indexer(*source).name())
            .collect();
        also.dedup();
        let mut release = std::borrow::Cow::Borrowed(release);
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
            number: indexer.number.to_string(),
            indexer: indexer.name(),
            also,
            release,
        }
    }

    fn item(&self, protocol: Protocol) -> Item<'_> {
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
fn adds(other: &weir_search_proto::Release, release: &weir_search_proto::Release) -> bool {
    (release.published.is_none() && other.published.is_some())
        || (release.info_hash.is_none() && other.info_hash.is_some())
        || (release.magnet.is_none() && other.magnet.is_some())
}

/// What the preferred source does not say and another does.
fn complete(release: &mut weir_search_proto::Release, list: &ReleaseList, merged: &Merged) {
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
        (indexer.config.priority, indexer.number)
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
    let prefers_magnet = indexer.config.download == Download::Magnet;
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

fn document(
    format: Format,
    xml: impl FnOnce() -> String,
    json: impl FnOnce() -> String,
) -> Response {
    match format {
        Format::Xml => {
            let kind = [(header::CONTENT_TYPE, "application/xml; charset=utf-8")];
            (kind, xml()).into_response()
        }
        Format::Json => {
            let kind = [(header::CONTENT_TYPE, "application/json")];
            (kind, json()).into_response()
        }
    }
}
