//! `/news`: which newsgroups are there, and what is new in them?

use askama::Template;
use weir_engine::words::{counted, grouped};
use weir_news_proto::Newsgroup;
use weir_web::Failure;
use weir_web::kit::{self, Pager};

use super::address::{self, NEWS, NewsView};
use super::currency::{StaleNotice, listed};
use super::tree::{Branch, ROWS, branches, grow, join_chain, within};
use super::when::{Times, When};
use super::written;
use crate::reading::{NewsgroupList, NewsgroupRow, Posting, Written};

/// Matches of a filter on one page.
pub(crate) const MATCHES: usize = 100;
/// A tree of fewer newsgroups is open from the start.
const SMALL: usize = 60;

#[derive(Template)]
#[template(path = "news_groups.html")]
struct NewsgroupsBody {
    q: String,
    under: String,
    /// The levels above, with their addresses.
    above: Vec<(String, String)>,
    opening: String,
    /// Whether stored articles can be searched.
    has_index: bool,
    /// Which page to fetch again; empty for the first.
    again: String,
    checked: Option<When>,
    notice: String,
    tree: String,
    empty: bool,
    pager: Option<Pager>,
}

/// A list within the tree; branches write theirs with the same template.
#[derive(Template)]
#[template(path = "news_tree.html")]
struct TreeList {
    lines: Vec<TreeLine>,
}

struct TreeLine {
    label: String,
    /// The newsgroup's page, if there is one of just this name.
    newsgroup: Option<NewsgroupLine>,
    /// How many are below, and where.
    more: Option<(String, String)>,
    /// What is below, if it is on this page.
    below: Option<String>,
    open: bool,
}

struct NewsgroupLine {
    name: String,
    href: String,
    description: String,
    articles: u64,
    count: String,
    posting: Option<&'static str>,
    newest: Option<When>,
    servers: String,
}

/// Whether an address asks for the page that all visitors see first.
pub(crate) fn is_first(view: &NewsView, page: usize) -> bool {
    view.q.trim().is_empty() && view.under.is_empty() && page == 0
}

/// Newsgroups that the page shows, as far as that is worth a look: the first ones, and where there are few.
pub(crate) fn shown<'a>(list: &'a NewsgroupList, view: &NewsView) -> Vec<&'a Newsgroup> {
    let rows = within(&list.newsgroups, &view.under);
    let few = rows.len() < SMALL || !view.under.is_empty();
    let q = view.q.trim().to_lowercase();
    let named = |row: &&NewsgroupRow| row.name.as_str().to_lowercase().contains(&q);
    let shown = rows.iter().filter(|_| few || !q.is_empty()).filter(named);
    shown.take(SMALL).map(|row| &row.name).collect()
}

/// The title of the page.
pub(crate) fn title(view: &NewsView) -> String {
    match (view.q.trim(), view.under.as_str()) {
        ("", "") => "News".to_owned(),
        ("", under) => format!("{under} · News"),
        (q, _) => format!("“{q}” · News"),
    }
}

/// Writes the page.
pub(crate) fn write(
    list: &NewsgroupList,
    view: &NewsView,
    page: usize,
    has_index: bool,
) -> Result<Written, Failure> {
    let times = Times::new(list.currency.checked);
    let q = view.q.trim();
    let (all, tree, shown, size) = match q {
        "" => tree(list, &view.under, page, &times)?,
        q => matches(list, q, page, &times)?,
    };
    let opening = match (q, view.under.as_str()) {
        ("", "") => format!(
            "{}.",
            counted(list.newsgroups.len() as u64, "newsgroup", "newsgroups")
        ),
        ("", under) => {
            let count = within(&list.newsgroups, under).len() as u64;
            format!(
                "{} below {under}.",
                counted(count, "newsgroup", "newsgroups")
            )
        }
        (q, _) => format!(
            "{} matching “{q}”.",
            counted(all as u64, "newsgroup", "newsgroups")
        ),
    };
    let body = NewsgroupsBody {
        q: q.to_owned(),
        under: view.under.clone(),
        above: above(&view.under),
        opening,
        has_index,
        again: address::page_number(page),
        checked: list.currency.checked.map(|seconds| times.full(seconds)),
        notice: kit::render(&StaleNotice::new(&list.currency, &times))?,
        empty: shown == 0,
        tree,
        pager: (all > size).then(|| pager(view, page, shown, all, size)),
    };
    Ok(written(kit::render(&body)?))
}

/// How many there are, what is shown of them, how many rows that are, and how many fit on a page.
type Shelved = (usize, String, usize, usize);

fn tree(list: &NewsgroupList, under: &str, page: usize, times: &Times) -> Result<Shelved, Failure> {
    let rows = &list.newsgroups;
    let all = branches(within(rows, under), under);
    let count = all.len();
    let mut shown: Vec<Branch<'_>> = all
        .into_iter()
        .skip(page.saturating_mul(ROWS))
        .take(ROWS)
        .collect();
    grow(&mut shown, rows);
    for branch in &mut shown {
        join_chain(branch, under);
    }
    let total: usize = shown.iter().map(|branch| branch.count).sum();
    let lines = shown.len();
    let text = lines_of(&shown, times, total <= SMALL)?;
    Ok((count, text, lines, ROWS))
}

fn matches(list: &NewsgroupList, q: &str, page: usize, times: &Times) -> Result<Shelved, Failure> {
    let found = matching(list, q);
    let all = found.len();
    let shown: Vec<&NewsgroupRow> = found
        .into_iter()
        .skip(page.saturating_mul(MATCHES))
        .take(MATCHES)
        .collect();
    let count = shown.len();
    let line = |row: &&NewsgroupRow| TreeLine {
        label: row.name.to_string(),
        newsgroup: Some(NewsgroupLine::new(row, times)),
        more: None,
        below: None,
        open: false,
    };
    let lines = shown.iter().map(line).collect();
    Ok((all, kit::render(&TreeList { lines })?, count, MATCHES))
}

/// Newsgroups whose name or description has all these words; those with all of them in the name first.
pub(crate) fn matching<'a>(list: &'a NewsgroupList, q: &str) -> Vec<&'a NewsgroupRow> {
    let q = q.to_lowercase();
    let words: Vec<&str> = q.split_whitespace().collect();
    let has = |text: &str| {
        let text = text.to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let (mut names, mut others) = (Vec::new(), Vec::new());
    for row in &list.newsgroups {
        if has(row.name.as_str()) {
            names.push(row);
        } else if !row.description.is_empty() && has(&format!("{} {}", row.name, row.description)) {
            others.push(row);
        }
    }
    names.append(&mut others);
    names
}

fn lines_of(branches: &[Branch<'_>], times: &Times, open: bool) -> Result<String, Failure> {
    let line = |branch: &Branch<'_>| {
        let more = (branch.count > 0).then(|| {
            let count = counted(branch.count as u64, "newsgroup", "newsgroups");
            (count, kit::address(NEWS, &[("under", branch.name)], &[]))
        });
        let below = match branch.below.is_empty() {
            true => None,
            false => Some(lines_of(&branch.below, times, open)?),
        };
        Ok(TreeLine {
            label: branch.label.to_owned(),
            newsgroup: branch.newsgroup.map(|row| NewsgroupLine::new(row, times)),
            more,
            below,
            open,
        })
    };
    let lines: Result<Vec<TreeLine>, Failure> = branches.iter().map(line).collect();
    kit::render(&TreeList { lines: lines? })
}

fn above(under: &str) -> Vec<(String, String)> {
    let ends = under.match_indices('.').map(|(at, _)| at);
    let levels = ends.map(|at| &under[..at]);
    levels
        .map(|level| {
            (
                level.to_owned(),
                kit::address(NEWS, &[("under", level)], &[]),
            )
        })
        .collect()
}

fn pager(view: &NewsView, page: usize, shown: usize, all: usize, size: usize) -> Pager {
    let at = |page: usize| {
        let number = (page + 1).to_string();
        let number = if page == 0 { "" } else { &number };
        let kept = [
            ("q", view.q.trim()),
            ("under", &view.under),
            ("page", number),
        ];
        kit::address(NEWS, &kept, &[])
    };
    let before = page.saturating_mul(size);
    let says = match shown {
        0 => format!(
            "Page {} of {}",
            grouped(page as u64 + 1),
            grouped(all.div_ceil(size) as u64)
        ),
        shown => kit::range(before, shown, all),
    };
    let next = (before + size < all).then(|| at(page + 1));
    Pager::new("newsgroups", says, page.checked_sub(1).map(at), next)
}

impl NewsgroupLine {
    fn new(row: &NewsgroupRow, times: &Times) -> Self {
        Self {
            name: row.name.to_string(),
            href: address::newsgroup(row.name.as_str()),
            description: row.description.clone(),
            articles: row.articles,
            count: grouped(row.articles),
            posting: match row.posting {
                Posting::Open => None,
                Posting::Moderated => Some("moderated"),
                Posting::Closed => Some("closed"),
            },
            newest: row.newest.map(|seconds| times.day(seconds)),
            servers: match row.servers.as_slice() {
                [] => String::new(),
                servers => listed(servers),
            },
        }
    }
}
