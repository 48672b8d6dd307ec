//! When articles became known, and newsgroups were first seen.
//!
//! Rows of articles ascend as they become known, so a row for each minute in which some did is enough.

use rusqlite::{Connection, Transaction, params};
use weir_news_proto::{MessageId, Newsgroup};

/// Minutes are remembered for this many days.
const DAYS: i64 = 30;

/// Articles that were written longer than this before, in seconds, are not new, though they became known only now.
const LATE: i64 = 14 * 86_400;

/// Whether an article that became known since a time was written about then; of some it is not known when they were.
pub(super) fn is_new(date: i64, since: i64) -> bool {
    date == 0 || date >= since.saturating_sub(LATE)
}

/// What is about to be kept becomes known now.
pub(super) fn note(transaction: &Transaction<'_>, now: i64) -> rusqlite::Result<()> {
    let sql =
        "INSERT OR IGNORE INTO news_arrival SELECT ?1, COALESCE(MAX(row), 0) FROM news_number";
    transaction.prepare_cached(sql)?.execute([now / 60])?;
    Ok(())
}

/// Forgets minutes that are long over.
pub(super) fn forget(transaction: &Transaction<'_>, now: i64) -> rusqlite::Result<()> {
    let sql = "DELETE FROM news_arrival WHERE minute < ?1";
    transaction
        .prepare_cached(sql)?
        .execute([now / 60 - DAYS * 24 * 60])?;
    Ok(())
}

/// The row above which everything became known since a time; `None` if nothing did.
pub(super) fn row_since(connection: &Connection, since: i64) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT MIN(row) FROM news_arrival WHERE minute >= ?1";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_row([since / 60], |row| row.get(0))
}

/// Articles above a row, with their rows and newsgroups; those that are not new have no newsgroup.
pub(super) fn after(
    connection: &Connection,
    after: i64,
    since: i64,
    rows: usize,
) -> rusqlite::Result<Option<Vec<(i64, String, MessageId)>>> {
    let sql = "SELECT n.row, g.name, n.id, n.date FROM news_number n JOIN news_newsgroup g ON g.id = n.newsgroup
        WHERE n.row > ?1 AND g.name IS NOT NULL ORDER BY n.row LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query(params![after, rows as i64])?;
    let mut articles = Vec::new();
    while let Some(row) = found.next()? {
        let name = match is_new(row.get(3)?, since) {
            true => row.get(1)?,
            false => String::new(),
        };
        if let Ok(id) = MessageId::from_bytes(row.get_ref(2)?.as_bytes()?) {
            articles.push((row.get(0)?, name, id));
        }
    }
    Ok(Some(articles))
}

/// Keeps when newsgroups were first seen.
pub(super) fn keep_seen(
    transaction: &Transaction<'_>,
    names: &[Newsgroup],
    at: i64,
) -> rusqlite::Result<()> {
    let sql = "INSERT OR IGNORE INTO news_first_seen (name, at) VALUES (?1, ?2)";
    let mut insert = transaction.prepare_cached(sql)?;
    for name in names {
        insert.execute(params![name.as_str(), at])?;
    }
    Ok(())
}

/// All newsgroups, with when each was first seen.
pub(super) fn seen(connection: &Connection) -> rusqlite::Result<Vec<(Newsgroup, i64)>> {
    let mut statement = connection.prepare("SELECT name, at FROM news_first_seen")?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        if let Ok(name) = row.get_ref(0)?.as_str()?.parse() {
            all.push((name, row.get(1)?));
        }
    }
    Ok(all)
}
