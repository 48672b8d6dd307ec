//! One step of indexing, on the index's own writer thread: make room, take in what has changed, then walk on.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use weir_news_proto::MessageId;
use weir_store::sqlite::File;

use super::super::pack::{ArticleKey, key};
use super::super::sweep::used;
use super::gather::{self, Stored, gather};
use super::schema::{IndexState, row_of};
use crate::text::inquiry::newsgroup_word;
use crate::text::words::indexed;

/// Notes and rows that a step looks at.
const BATCH: usize = 256;
/// Bytes that it reads at most, but for the last article.
const BYTES: usize = 2 << 20;
/// Rows that a step throws out.
const THROWN: i64 = 256;
/// Pages that a step merges.
const PAGES: i64 = 128;
/// When there is too little room, one article of so many goes.
const SHARE: i64 = 8;

/// What a step has done.
#[derive(Debug, Default)]
pub(super) struct Step {
    /// Notes up to this one are done with.
    pub(super) noted: Option<i64>,
    /// Whether there is more to do at once.
    pub(super) more: bool,
}

/// Starts noting what changes in `news.db`. What has changed before is not known, so everything has to be walked through.
pub(super) fn begin_noting(news: &Transaction<'_>) -> rusqlite::Result<()> {
    news.execute("UPDATE news_journal SET kept = 1, token = random()", [])
        .map(drop)
}

/// The index is gone, or nobody wants one.
pub(super) fn stop_noting(news: &Transaction<'_>) -> rusqlite::Result<()> {
    news.execute("UPDATE news_journal SET kept = 0 WHERE kept", [])?;
    news.execute("DELETE FROM news_change", []).map(drop)
}

/// Deletes notes that the index has taken in.
pub(super) fn forget_notes(news: &Transaction<'_>, place: i64) -> rusqlite::Result<()> {
    let sql = "DELETE FROM news_change WHERE place <= ?1";
    news.prepare_cached(sql)?.execute([place]).map(drop)
}

/// Does a step. Trouble with `news.db` is not the index's: it is as if there were nothing to do.
///
/// # Errors
/// [`rusqlite::Error::QueryReturnedNoRows`] if nothing is being noted; otherwise what is wrong with the index.
pub(super) fn step(
    index: &Transaction<'_>,
    news: &Path,
    limit: u64,
    now: i64,
) -> rusqlite::Result<Step> {
    let mut state = IndexState::read(index)?;
    if make_room(index, &mut state, limit)? {
        state.write(index)?;
        return Ok(Step {
            noted: None,
            more: true,
        });
    }
    let mut fault = None;
    let read = File::peek(news, |news| {
        let noting: Option<i64> = news
            .query_row("SELECT token FROM news_journal WHERE kept", [], |row| {
                row.get(0)
            })
            .optional()?;
        let Some(token) = noting else {
            return Ok(None);
        };
        if state.token != Some(token) {
            let begun = begin(index, news, &mut state, token);
            fault = begun.err();
        }
        let mut work = Work::read(news, &state)?;
        match work.gather(index, news, &mut fault) {
            Err(error) if fault.is_none() => Err(error),
            _ => Ok(Some(work)),
        }
    });
    if let Some(fault) = fault {
        return Err(fault);
    }
    let work = match read {
        Ok(Some(work)) => work,
        Ok(None) => return Err(rusqlite::Error::QueryReturnedNoRows),
        Err(error) => {
            tracing::debug!(front = "news", %error, "news.db cannot be indexed for now");
            return Ok(Step::default());
        }
    };
    for (key, found) in &work.gathered {
        match found {
            Some(found) => put(index, &mut state, key, found, now)?,
            None => remove(index, &mut state, key)?,
        }
    }
    work.walked(&mut state);
    state.write(index)?;
    Ok(Step {
        noted: work.noted(),
        more: work.more || work.done < work.items.len() || state.line > 0 || state.article > 0,
    })
}

/// Forgets everything and begins to walk through what is stored.
fn begin(
    index: &Transaction<'_>,
    news: &Connection,
    state: &mut IndexState,
    token: i64,
) -> rusqlite::Result<()> {
    index.execute(
        "INSERT INTO text_word (text_word) VALUES ('delete-all')",
        [],
    )?;
    index.execute("DELETE FROM text_article", [])?;
    index.execute("DELETE FROM text_place", [])?;
    let sql = "SELECT (SELECT COALESCE(SUM(lines), 0) FROM news_newsgroup) + (SELECT COUNT(*) FROM news_article)";
    *state = IndexState {
        token: Some(token),
        line: i64::MAX,
        article: i64::MAX,
        // How many there are is for people; that it cannot be read will be noticed where it matters.
        unseen: news.query_row(sql, [], |row| row.get(0)).unwrap_or(0),
        ..IndexState::default()
    };
    Ok(())
}

/// Where the articles of a step come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Notes,
    /// The walk through lines, then through articles, of which some have no line.
    Lines,
    Articles,
}

/// What a step looks at.
struct Work {
    source: Source,
    /// Whether there is more after these.
    more: bool,
    /// In order: where it stands, which article, and a newsgroup in which its line may be.
    items: Vec<(i64, Option<ArticleKey>, i64)>,
    gathered: Vec<(ArticleKey, Option<Stored>)>,
    /// Items that were looked at.
    done: usize,
}

impl Work {
    /// The next notes, or the next part of the walk if there are none.
    fn read(news: &Connection, state: &IndexState) -> rusqlite::Result<Self> {
        let notes = Self::items(news, Source::Notes, i64::MAX)?;
        match (state.line, state.article) {
            _ if !notes.items.is_empty() => Ok(notes),
            (0, 0) => Ok(notes),
            (0, article) => Self::items(news, Source::Articles, article),
            (line, _) => Self::items(news, Source::Lines, line),
        }
    }

    fn items(news: &Connection, source: Source, below: i64) -> rusqlite::Result<Self> {
        let sql = match source {
            Source::Notes => {
                "SELECT place, key, id, newsgroup FROM news_change WHERE place <= ?1 ORDER BY place LIMIT ?2"
            }
            // Rows without a line have been thrown away; the walk passes over them.
            Source::Lines => {
                "SELECT n.row, NULL, CASE WHEN l.row IS NULL THEN NULL ELSE n.id END, n.newsgroup FROM news_number n
                LEFT JOIN news_line l ON l.row = n.row WHERE n.row < ?1 ORDER BY n.row DESC LIMIT ?2"
            }
            Source::Articles => {
                "SELECT row, key, NULL, 0 FROM news_article WHERE row < ?1 ORDER BY row DESC LIMIT ?2"
            }
        };
        let mut statement = news.prepare_cached(sql)?;
        let items = statement.query_map(params![below, BATCH as i64], |row| {
            let id: Option<String> = row.get(2)?;
            let named = id.and_then(|id| id.parse().ok());
            let named = named.map(|id: MessageId| key(&id));
            Ok((
                row.get(0)?,
                row.get::<_, Option<_>>(1)?.or(named),
                row.get(3)?,
            ))
        })?;
        let items: Vec<_> = items.collect::<rusqlite::Result<_>>()?;
        Ok(Self {
            source,
            more: items.len() == BATCH,
            items,
            gathered: Vec::new(),
            done: 0,
        })
    }

    /// Reads the articles, as many as are not too long together. Faults of the index go to `fault`.
    fn gather(
        &mut self,
        index: &Connection,
        news: &Connection,
        fault: &mut Option<rusqlite::Error>,
    ) -> rusqlite::Result<()> {
        let mut newsgroups: HashMap<ArticleKey, Vec<i64>> = HashMap::new();
        for (_, key, newsgroup) in &self.items {
            if let Some(key) = key {
                newsgroups.entry(*key).or_default().push(*newsgroup);
            }
        }
        let mut bytes = 0;
        for (_, key, _) in &self.items {
            if fault.is_some() || bytes >= BYTES {
                break;
            }
            self.done += 1;
            let Some(key) = key else { continue };
            // What comes several times is looked at once.
            let Some(places) = newsgroups.remove(key) else {
                continue;
            };
            let (known, has_body) = match known(index, key) {
                Ok(known) => known,
                Err(error) => {
                    *fault = Some(error);
                    break;
                }
            };
            if self.source == Source::Articles && has_body {
                continue;
            }
            let found = gather(news, key, places.into_iter().chain(known))?;
            bytes += found.as_ref().map_or(0, |found| found.read);
            self.gathered.push((*key, found));
        }
        Ok(())
    }

    /// The last note that was looked at.
    fn noted(&self) -> Option<i64> {
        let last = self.items[..self.done].last().map(|item| item.0);
        last.filter(|_| self.source == Source::Notes)
    }

    /// Notes where the walk has come to.
    fn walked(&self, state: &mut IndexState) {
        let is_over = self.done == self.items.len() && !self.more;
        let reached = match self.items[..self.done].last() {
            _ if is_over => 0,
            Some((at, ..)) => *at,
            None => return,
        };
        match self.source {
            Source::Notes => return,
            Source::Lines => state.line = reached,
            Source::Articles => state.article = reached,
        }
        let seen = self.items[..self.done].iter();
        let seen = seen.filter(|(_, key, _)| key.is_some()).count();
        state.unseen = (state.unseen - seen as i64).max(0);
        if (state.line, state.article) == (0, 0) {
            state.unseen = 0;
        }
    }
}

/// Newsgroups in which an article was found before, and whether its text was read.
fn known(index: &Connection, key: &ArticleKey) -> rusqlite::Result<(Vec<i64>, bool)> {
    let sql = "SELECT row, body FROM text_article WHERE key = ?1";
    let found = index
        .prepare_cached(sql)?
        .query_row([key], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)));
    let Some((row, has_body)) = found.optional()? else {
        return Ok((Vec::new(), false));
    };
    Ok((places(index, row)?, has_body))
}

/// Newsgroups in which the line of an article was stored.
pub(super) fn places(index: &Connection, row: i64) -> rusqlite::Result<Vec<i64>> {
    let sql = "SELECT newsgroup FROM text_place WHERE row = ?1";
    let mut statement = index.prepare_cached(sql)?;
    statement.query_map([row], |row| row.get(0))?.collect()
}

fn put(
    index: &Transaction<'_>,
    state: &mut IndexState,
    key: &ArticleKey,
    found: &Stored,
    now: i64,
) -> rusqlite::Result<()> {
    remove(index, state, key)?;
    let mut row = row_of(found.date.min(now)) | gather::within(&found.id);
    if row < state.horizon {
        return Ok(());
    }
    let sql = "SELECT 1 FROM text_article WHERE row = ?1";
    let mut taken = index.prepare_cached(sql)?;
    while taken.exists([row])? {
        row += 1;
    }
    let has_body = found.text.is_some();
    let sql = "INSERT INTO text_article VALUES (?1, ?2, ?3)";
    index
        .prepare_cached(sql)?
        .execute(params![row, key, has_body])?;
    for place in &found.places {
        let sql = "INSERT INTO text_place VALUES (?1, ?2)";
        index.prepare_cached(sql)?.execute([row, *place])?;
    }
    let (own, quoted) = found
        .text
        .as_ref()
        .map_or(("", ""), |(own, quoted)| (own, quoted));
    let author = format!("{} {}", found.author.name, found.author.address);
    let newsgroups: Vec<String> = found
        .newsgroups
        .iter()
        .map(|name| newsgroup_word(name))
        .collect();
    let sql = "INSERT INTO text_word (rowid, subject, author, body, quoted, newsgroups) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    index.prepare_cached(sql)?.execute(params![
        row,
        indexed(&found.subject),
        indexed(&author),
        indexed(own),
        indexed(quoted),
        newsgroups.join(" ")
    ])?;
    state.articles += 1;
    state.bodies += i64::from(has_body);
    Ok(())
}

fn remove(
    index: &Transaction<'_>,
    state: &mut IndexState,
    key: &ArticleKey,
) -> rusqlite::Result<()> {
    let sql = "SELECT row, body FROM text_article WHERE key = ?1";
    let found = index
        .prepare_cached(sql)?
        .query_row([key], |row| Ok((row.get(0)?, row.get(1)?)));
    match found.optional()? {
        Some((row, has_body)) => remove_row(index, state, row, has_body),
        None => Ok(()),
    }
}

fn remove_row(
    index: &Transaction<'_>,
    state: &mut IndexState,
    row: i64,
    has_body: bool,
) -> rusqlite::Result<()> {
    for sql in [
        "DELETE FROM text_word WHERE rowid = ?1",
        "DELETE FROM text_place WHERE row = ?1",
        "DELETE FROM text_article WHERE row = ?1",
    ] {
        index.prepare_cached(sql)?.execute([row])?;
    }
    state.articles = (state.articles - 1).max(0);
    state.bodies = (state.bodies - i64::from(has_body)).max(0);
    Ok(())
}

/// Throws out the oldest if there is too much, in small portions. Says whether it did something.
///
/// FTS5 only marks what is deleted; pages come back when it merges. So each round first deletes a share of all articles, then
/// merges until that changes nothing, and only then looks at the size again.
fn make_room(
    index: &Transaction<'_>,
    state: &mut IndexState,
    limit: u64,
) -> rusqlite::Result<bool> {
    if state.owed == 0 && !state.merging {
        if used(index)? <= limit {
            return Ok(false);
        }
        state.owed = (state.articles / SHARE).max(1);
    }
    if state.owed > 0 {
        let sql = "SELECT row, body FROM text_article ORDER BY row LIMIT ?1";
        let mut statement = index.prepare_cached(sql)?;
        let oldest = statement.query_map([state.owed.min(THROWN)], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        let oldest: Vec<(i64, bool)> = oldest.collect::<rusqlite::Result<_>>()?;
        state.owed = match oldest.is_empty() {
            true => 0,
            false => (state.owed - oldest.len() as i64).max(0),
        };
        for (row, has_body) in oldest {
            remove_row(index, state, row, has_body)?;
            state.horizon = state.horizon.max(row + 1);
        }
        state.merging = true;
        return Ok(true);
    }
    let before = index.total_changes();
    let sql = "INSERT INTO text_word (text_word, rank) VALUES ('merge', ?1)";
    index.prepare_cached(sql)?.execute([PAGES])?;
    // One change is the command itself.
    state.merging = index.total_changes() - before >= 2;
    if state.articles == 0 {
        index.execute(
            "INSERT INTO text_word (text_word) VALUES ('delete-all')",
            [],
        )?;
        state.merging = false;
    }
    Ok(true)
}
