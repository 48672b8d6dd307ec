//! Answers a question: which articles have these words, which are shown of them, and what of each.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};
use tokio::time::Instant;
use weir_news_proto::{MessageId, Newsgroup, Wildmat};
use weir_store::sqlite::File;

use super::build::places;
use super::gather::{Stored, gather};
use super::schema::{IndexState, row_of, second_of};
use crate::text::excerpt::{marked, passage};
use crate::text::inquiry::{Field, newsgroup_word};
use crate::text::{Inquiry, Order, Piece};

/// Matches that are looked at, newest first. Whoever finds more has asked for too little.
pub(crate) const MOST: usize = 10_000;
/// Newsgroups that patterns with stars in them may come to.
const NEWSGROUPS: usize = 200;
/// How long matches are looked at.
const TIME: Duration = Duration::from_millis(1500);
/// Matches between two looks at the clock.
const OFTEN: usize = 64;

/// A question.
#[derive(Clone, Debug)]
pub(crate) struct Looking {
    pub(crate) inquiry: Inquiry,
    pub(crate) order: Order,
    /// The hits that are wanted: so many are passed over, so many taken.
    pub(crate) skip: usize,
    pub(crate) take: usize,
}

/// The answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Looked {
    pub(crate) hits: Vec<Hit>,
    /// How many were found.
    pub(crate) found: usize,
    /// Whether these are all; otherwise the newest.
    pub(crate) is_all: bool,
    pub(crate) notes: Vec<String>,
    pub(crate) coverage: Coverage,
}

/// How much is in the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Articles that can be found.
    pub articles: u64,
    /// Those of them whose text is known; of others it is subject and author.
    pub texts: u64,
    /// What is stored and not yet indexed.
    pub waiting: u64,
    /// Older articles had no room.
    pub since: Option<i64>,
}

/// An article that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Its ID.
    pub id: MessageId,
    /// Its subject, with what was looked for.
    pub subject: Vec<Piece>,
    /// Who wrote it.
    pub author: String,
    /// When, in Unix seconds.
    pub date: i64,
    /// The newsgroups that it is in.
    pub newsgroups: Vec<Newsgroup>,
    /// A passage of its text; empty if only its overview line is stored.
    pub passage: Vec<Piece>,
}

pub(super) fn look(index: &Connection, news: &Path, looking: &Looking) -> rusqlite::Result<Looked> {
    let state = IndexState::read(index)?;
    let mut looked = Looked {
        is_all: true,
        ..Looked::default()
    };
    // What `news.db` cannot say now is missing from the answer; the index can still be read.
    let resolved = File::peek(news, |news| {
        let sql = "SELECT COUNT(*) FROM (SELECT 1 FROM news_change LIMIT 1000000)";
        let waiting: i64 = news.query_row(sql, [], |row| row.get(0))?;
        Ok((waiting, resolve(news, &looking.inquiry, &mut looked.notes)?))
    });
    let (waiting, newsgroups) = resolved.unwrap_or((0, None));
    looked.coverage = Coverage {
        articles: state.articles.unsigned_abs(),
        texts: state.bodies.unsigned_abs(),
        waiting: (state.unseen + waiting).unsigned_abs(),
        since: (state.horizon > 0).then(|| second_of(state.horizon)),
    };
    let Some(newsgroups) = newsgroups else {
        return Ok(looked);
    };
    let Some(expression) = looking.inquiry.expression(&newsgroups) else {
        return Ok(looked);
    };
    let until = Instant::now() + TIME;
    let rows = matches(index, &expression, looking, until, &mut looked)?;
    let mut shown = Vec::new();
    for row in rows {
        let sql = "SELECT key FROM text_article WHERE row = ?1";
        let key = index
            .prepare_cached(sql)?
            .query_row([row], |row| row.get(0))
            .optional()?;
        if let Some(key) = key {
            shown.push((row, key, places(index, row)?));
        }
    }
    let hits = File::peek(news, |news| {
        let mut hits = Vec::new();
        for (row, key, places) in shown {
            // What has been thrown away since is on its way out of the index.
            if let Some(stored) = gather(news, &key, places)? {
                hits.push(Hit::of(stored, second_of(row), &looking.inquiry));
            }
        }
        Ok(hits)
    });
    looked.hits = hits.unwrap_or_default();
    Ok(looked)
}

/// The rows that are wanted, of those that are found by this time, and in `looked` how many there are.
pub(super) fn matches(
    index: &Connection,
    expression: &str,
    looking: &Looking,
    until: Instant,
    looked: &mut Looked,
) -> rusqlite::Result<Vec<i64>> {
    let first = looking.inquiry.after.map_or(0, row_of);
    let end = looking.inquiry.before.map_or(i64::MAX, row_of);
    let weight = match looking.order {
        // Subject, author, what the author says, what is quoted; being in a newsgroup says nothing.
        Order::Best => "bm25(text_word, 10.0, 6.0, 2.0, 0.7, 0.0)",
        Order::Newest => "0.0",
    };
    let sql = format!(
        "SELECT rowid, {weight} FROM text_word WHERE text_word MATCH ?1 AND rowid >= ?2 AND rowid < ?3
        ORDER BY rowid DESC"
    );
    let mut statement = index.prepare_cached(&sql)?;
    let mut rows = statement.query(params![expression, first, end])?;
    let mut found: Vec<(f64, i64)> = Vec::new();
    while let Some(row) = rows.next()? {
        let is_late = found.len().is_multiple_of(OFTEN) && Instant::now() >= until;
        if found.len() == MOST || is_late {
            looked.is_all = false;
            break;
        }
        found.push((row.get(1)?, row.get(0)?));
    }
    looked.found = found.len();
    if looking.order == Order::Best {
        // Less is better; of equals the newer one.
        found.sort_by(|(one, row), (other, after)| one.total_cmp(other).then(after.cmp(row)));
    }
    let wanted = found.into_iter().skip(looking.skip).take(looking.take);
    Ok(wanted.map(|(_, row)| row).collect())
}

/// What the patterns of an inquiry come to, as words of the index and whether these are only beginnings. `None` if no newsgroup
/// fits; nothing if all do.
fn resolve(
    news: &Connection,
    inquiry: &Inquiry,
    notes: &mut Vec<String>,
) -> rusqlite::Result<Option<Vec<(String, bool)>>> {
    let mut words = Vec::new();
    for pattern in &inquiry.newsgroups {
        let special = |letter: char| matches!(letter, '*' | '?' | '[' | ']' | '\\' | '!');
        match pattern.strip_suffix('*') {
            Some("") => return Ok(Some(Vec::new())),
            Some(start) if !start.contains(special) => words.push((newsgroup_word(start), true)),
            None if !pattern.contains(special) => words.push((newsgroup_word(pattern), false)),
            _ => fitting(news, pattern, &mut words, notes)?,
        }
    }
    let none = words.is_empty() && !inquiry.newsgroups.is_empty();
    Ok((!none).then_some(words))
}

fn fitting(
    news: &Connection,
    pattern: &str,
    words: &mut Vec<(String, bool)>,
    notes: &mut Vec<String>,
) -> rusqlite::Result<()> {
    let Ok(wildmat) = pattern.parse::<Wildmat>() else {
        notes.push(format!(
            "“{pattern}” was left out: a pattern looks like comp.* or *.rivers."
        ));
        return Ok(());
    };
    let sql = "SELECT name FROM news_newsgroup WHERE name IS NOT NULL ORDER BY name";
    let mut statement = news.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let name: String = row.get(0)?;
        if !wildmat.matches(&name) {
            continue;
        }
        if words.len() >= NEWSGROUPS {
            notes.push(format!(
                "Only the first {NEWSGROUPS} newsgroups that fit “{pattern}” were looked in."
            ));
            break;
        }
        words.push((newsgroup_word(&name), false));
    }
    Ok(())
}

impl Hit {
    fn of(stored: Stored, date: i64, inquiry: &Inquiry) -> Self {
        let text = stored.text.map(|(own, quoted)| [own, quoted].concat());
        Self {
            id: stored.id,
            subject: marked(&stored.subject, &inquiry.wanted, Field::Subject),
            author: stored.author.shown().to_owned(),
            date,
            newsgroups: stored
                .newsgroups
                .iter()
                .filter_map(|name| name.parse().ok())
                .collect(),
            passage: text.map_or_else(Vec::new, |text| passage(&text, &inquiry.wanted)),
        }
    }
}
