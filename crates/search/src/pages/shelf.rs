//! The list of releases on the search page, which script also fetches by itself.

use askama::Template;
use weir_web::Shown;
use weir_web::kit::{self, ColumnHead, Pager, Sorted};

use super::search::SearchPageQuery;
use crate::merge::{Merged, ReleaseList, ReleaseSource};
use crate::releases::{self, Order, Selection, SortColumn};
use crate::reply;
use crate::search::Search;
use crate::views::Views;
use crate::words::{UNKNOWN, age, counted, grouped, second, size};

/// Releases on a page.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "search_releases.html")]
pub(super) struct ReleaseShelf {
    id: String,
    /// Some indexers are still asked.
    running: bool,
    /// All of the search.
    total: usize,
    headline: String,
    /// `24 duplicates merged`.
    merged: String,
    filter: String,
    sort: String,
    heads: [ColumnHead; SortColumn::ALL.len()],
    rows: Vec<ReleaseRow>,
    pager: Pager,
    all: String,
    /// The view is as it comes, so that what arrives may come in by itself.
    plain: bool,
}

struct ReleaseRow {
    title: String,
    free: bool,
    files: String,
    /// Short and whole.
    hash: Option<(String, String)>,
    kind: String,
    age: String,
    published: String,
    size: String,
    bytes: String,
    seeders: String,
    leechers: String,
    download: Option<String>,
    magnet: Option<String>,
    /// Whose release it is: that of the best source.
    indexer: String,
    /// ` and 2 more`, where others have it too.
    more: String,
    sources: Vec<SourceRow>,
}

/// One source of a release.
struct SourceRow {
    indexer: String,
    seeders: String,
    age: String,
    /// Fresh, with the time it was asked.
    asked: Option<Shown>,
    /// From the cache, this old.
    cached: String,
    download: String,
}

impl ReleaseShelf {
    pub(super) fn new(
        views: &Views,
        search: &Search,
        list: &ReleaseList,
        view: &SearchPageQuery,
    ) -> Self {
        let order = Order::parse(&view.sort).unwrap_or_default();
        let number = view.page.parse::<usize>().unwrap_or(1).max(1);
        let mut wanted = Selection {
            filter: view.filter.clone(),
            order,
            offset: (number - 1).saturating_mul(PAGE),
            limit: PAGE,
        };
        let (mut part, matching) = releases::part(list, &wanted);
        let mut number = number;
        if part.is_empty() && matching > 0 {
            (number, wanted.offset) = (1, 0);
            part = releases::part(list, &wanted).0;
        }
        let now = views.model.wall();
        let rows: Vec<ReleaseRow> = part
            .into_iter()
            .map(|merged| ReleaseRow::new(views, list, merged, now))
            .collect();
        let results: usize = list
            .releases
            .iter()
            .map(|merged| merged.sources.len())
            .sum();
        let duplicates = results - list.releases.len();
        let total = list.releases.len();
        let end = wanted.offset + rows.len();
        let link = |sort: &str, page: usize| address(search, view, sort, page);
        Self {
            id: search.id.to_string(),
            running: search.is_running(),
            total,
            headline: match view.filter.trim().is_empty() {
                true => counted(total, "release", "releases"),
                false => format!(
                    "{} of {}",
                    grouped(matching),
                    counted(total, "release", "releases")
                ),
            },
            merged: match duplicates {
                0 => String::new(),
                some => format!("{} merged", counted(some, "duplicate", "duplicates")),
            },
            filter: view.filter.clone(),
            sort: view.sort.clone(),
            heads: SortColumn::ALL.map(|column| head(column, order, &link)),
            pager: Pager::new(
                "releases",
                kit::range(wanted.offset, rows.len(), matching),
                (number > 1).then(|| link(&view.sort, number - 1)),
                (end < matching).then(|| link(&view.sort, number + 1)),
            ),
            all: format!("/search?id={}", search.id),
            plain: view.sort.is_empty() && view.filter.is_empty() && number == 1,
            rows,
        }
    }
}

/// The address of another look at the same search.
fn address(search: &Search, view: &SearchPageQuery, sort: &str, page: usize) -> String {
    let page = if page > 1 {
        page.to_string()
    } else {
        String::new()
    };
    let kept = [
        ("id", search.id.to_string()),
        ("sort", sort.to_owned()),
        ("filter", view.filter.clone()),
        ("page", page),
    ];
    let kept = kept.each_ref().map(|(name, value)| (*name, value.as_str()));
    kit::address("/search", &kept, &[])
}

fn head(column: SortColumn, order: Order, link: &impl Fn(&str, usize) -> String) -> ColumnHead {
    let here = order.column == column;
    let next = Order {
        column,
        back: here && !order.back,
    };
    let label = match column {
        SortColumn::Title => "Title",
        SortColumn::Category => "Category",
        SortColumn::Age => "Age",
        SortColumn::Size => "Size",
        SortColumn::Seeds => "Seeds / leech",
    };
    ColumnHead::new(label)
        .number(matches!(
            column,
            SortColumn::Age | SortColumn::Size | SortColumn::Seeds
        ))
        .leads_to(link(&next.name(), 1))
        .sorted(here.then(|| match order.ascending() {
            true => Sorted::Ascending,
            false => Sorted::Descending,
        }))
}

impl ReleaseRow {
    fn new(views: &Views, list: &ReleaseList, merged: &Merged, now: i64) -> Self {
        let first = merged.sources[0];
        let release = list.at(first);
        let known = |number: Option<u32>| {
            number.map_or_else(|| UNKNOWN.to_owned(), |number| grouped(number as usize))
        };
        let magnet = releases::magnet(list, merged);
        let download = reply::link(&views.model.links, list, first, "");
        let hash = releases::info_hash(list, merged).map(|hash| hash.to_string());
        Self {
            title: release.title.clone(),
            free: releases::is_free(release),
            files: releases::files(list, merged).map_or_else(String::new, |files| {
                counted(files as usize, "file", "files")
            }),
            hash: hash.map(|hash| (format!("{}…{}", &hash[..8], &hash[36..]), hash)),
            kind: match releases::kind(list, merged) {
                kind if kind.is_empty() => UNKNOWN.to_owned(),
                kind => kind,
            },
            age: match merged.published {
                0 => UNKNOWN.to_owned(),
                at => age(now - at),
            },
            published: match merged.published {
                0 => String::new(),
                at => second(at).to_string(),
            },
            size: release.size.map_or_else(|| UNKNOWN.to_owned(), size),
            bytes: release
                .size
                .and_then(|bytes| usize::try_from(bytes).ok())
                .map_or_else(String::new, |bytes| format!("{} bytes", grouped(bytes))),
            seeders: known(releases::seeders(list, merged)),
            leechers: known(releases::leechers(list, merged)),
            download: (!download.starts_with("magnet:")).then_some(download),
            magnet,
            indexer: list.contributions[usize::from(first.of)]
                .indexer
                .name()
                .to_owned(),
            more: match merged.sources.len() - 1 {
                0 => String::new(),
                more => format!(" and {} more", grouped(more)),
            },
            sources: merged
                .sources
                .iter()
                .map(|source| SourceRow::new(views, list, *source, now))
                .collect(),
        }
    }
}

impl SourceRow {
    fn new(views: &Views, list: &ReleaseList, source: ReleaseSource, now: i64) -> Self {
        let release = list.at(source);
        let of = &list.contributions[usize::from(source.of)];
        let zone = jiff::tz::TimeZone::system();
        Self {
            indexer: of.indexer.name().to_owned(),
            seeders: match release.seeders {
                Some(seeders) => format!("seeds {}", grouped(seeders as usize)),
                None => String::new(),
            },
            age: match release.published {
                Some(at) => format!("{} old", age(now - at)),
                None => String::new(),
            },
            asked: (!of.cached).then(|| Shown::exactly(second(of.answer.at), &zone)),
            cached: format!("from cache, {} old", age(of.answer.age(now))),
            download: reply::link(&views.model.links, list, source, ""),
        }
    }
}
