//! Keeps `news.db` within its limit, in slices of some milliseconds each.
//!
//! First go the articles that were not read for longest, then lines of the newsgroups that were not opened for longest,
//! from the lowest number up: their numbers and IDs stay, so that a number keeps its meaning. Only when nothing else is
//! left, whole newsgroups go.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::arrivals;

/// Rows of one slice.
const ROWS: usize = 512;
/// Bytes of one slice: freeing the pages of large articles takes time.
const BYTES: u64 = 4 << 20;
/// Rows and their bytes that are deleted even if fewer seem to do, since a page is free only when all of its rows are gone.
const FEWEST: usize = 32;
const LEAST: u64 = 32 << 10;
/// Sweeping goes on until one part of so many is free, so that not each write has to.
const ROOM: u64 = 16;

/// Bytes in pages that are in use.
pub(super) fn used(connection: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT (page_count - freelist_count) * page_size
        FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
    let used: i64 = connection
        .prepare_cached(sql)?
        .query_row([], |row| row.get(0))?;
    Ok(used.max(0) as u64)
}

/// Deletes what should go next, if anything should. Says whether it did.
pub(super) fn slice(transaction: &Transaction<'_>, limit: u64) -> rusqlite::Result<bool> {
    let surplus = used(transaction)?.saturating_sub(limit - limit / ROOM);
    if surplus == 0 {
        return Ok(false);
    }
    Ok(finish_newsgroup(transaction)?
        || drop_articles(transaction, surplus)?
        || drop_lines(transaction, surplus)?
        || drop_newsgroup(transaction)?)
}

/// Times in the future, from a clock that was wrong, would keep things for ever.
pub(super) fn pull_to(transaction: &Transaction<'_>, now: i64) -> rusqlite::Result<()> {
    for (table, column) in [("news_article", "read"), ("news_newsgroup", "opened")] {
        let sql = format!("UPDATE {table} SET {column} = ?1 WHERE {column} > ?1");
        transaction.prepare_cached(&sql)?.execute([now])?;
    }
    arrivals::forget(transaction, now)
}

pub(super) fn delete_article(transaction: &Transaction<'_>, row: i64) -> rusqlite::Result<()> {
    let sql = "DELETE FROM news_body WHERE row = ?1";
    transaction.prepare_cached(sql)?.execute([row])?;
    let sql = "DELETE FROM news_article WHERE row = ?1";
    transaction.prepare_cached(sql)?.execute([row])?;
    Ok(())
}

/// The first rows of a query (row, bytes and number) that together have as many bytes as there are too many.
fn oldest(
    transaction: &Transaction<'_>,
    sql: &str,
    about: &[i64],
    surplus: u64,
) -> rusqlite::Result<Vec<(i64, i64, i64)>> {
    let mut statement = transaction.prepare_cached(sql)?;
    let mut rows = statement.query(rusqlite::params_from_iter(about))?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    while found.len() < ROWS
        && bytes < BYTES
        && (bytes < surplus || (found.len() < FEWEST && bytes < LEAST))
        && let Some(row) = rows.next()?
    {
        let size: i64 = row.get(1)?;
        bytes += size.max(0) as u64;
        found.push((row.get(0)?, size, row.get(2)?));
    }
    Ok(found)
}

fn drop_articles(transaction: &Transaction<'_>, surplus: u64) -> rusqlite::Result<bool> {
    let sql = "SELECT row, size, 0 FROM news_article ORDER BY read, row";
    let oldest = oldest(transaction, sql, &[], surplus)?;
    for (row, _, _) in &oldest {
        delete_article(transaction, *row)?;
    }
    Ok(!oldest.is_empty())
}

pub(super) fn drop_lines(transaction: &Transaction<'_>, surplus: u64) -> rusqlite::Result<bool> {
    let sql = "SELECT id, swept FROM news_newsgroup WHERE lines > 0 ORDER BY opened, id LIMIT 1";
    let next: Option<(i64, i64)> = transaction
        .prepare_cached(sql)?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((newsgroup, swept)) = next else {
        return Ok(false);
    };
    let sql = "SELECT n.row, length(l.line), n.number FROM news_number n CROSS JOIN news_line l ON l.row = n.row
        WHERE n.newsgroup = ?1 AND n.number > ?2 ORDER BY n.number, n.date, n.row";
    let oldest = oldest(transaction, sql, &[newsgroup, swept], surplus)?;
    let Some(&(_, _, highest)) = oldest.last() else {
        // Nothing above: from the start again, and if nothing is there either, its count is wrong.
        let sql = "UPDATE news_newsgroup SET swept = -1, lines = CASE swept WHEN -1 THEN 0 ELSE lines END,
            bytes = CASE swept WHEN -1 THEN 0 ELSE bytes END WHERE id = ?1";
        transaction.prepare_cached(sql)?.execute([newsgroup])?;
        return Ok(true);
    };
    let mut bytes = 0;
    for (row, size, number) in &oldest {
        bytes += size;
        let sql = "DELETE FROM news_line WHERE row = ?1";
        transaction.prepare_cached(sql)?.execute([row])?;
        if *number == 0 {
            // Without a number there is no meaning to keep.
            let sql = "DELETE FROM news_number WHERE row = ?1";
            transaction.prepare_cached(sql)?.execute([row])?;
        }
    }
    let sql = "UPDATE news_newsgroup SET lines = MAX(lines - ?2, 0), bytes = MAX(bytes - ?3, 0), swept = ?4
        WHERE id = ?1";
    // Others may have the same number only if it is none.
    let swept = if highest == 0 { -1 } else { highest };
    transaction.prepare_cached(sql)?.execute(params![
        newsgroup,
        oldest.len() as i64,
        bytes,
        swept
    ])?;
    Ok(true)
}

/// Takes the name of the newsgroup that was not opened for longest: from here on nobody finds it.
fn drop_newsgroup(transaction: &Transaction<'_>) -> rusqlite::Result<bool> {
    let sql = "SELECT id FROM news_newsgroup WHERE name IS NOT NULL ORDER BY opened, id LIMIT 1";
    let next: Option<i64> = transaction
        .prepare_cached(sql)?
        .query_row([], |row| row.get(0))
        .optional()?;
    let Some(newsgroup) = next else {
        return Ok(false);
    };
    let sql = "UPDATE news_newsgroup SET name = NULL WHERE id = ?1";
    transaction.prepare_cached(sql)?.execute([newsgroup])?;
    for table in ["news_run", "news_carried", "news_checked"] {
        let sql = format!("DELETE FROM {table} WHERE newsgroup = ?1");
        transaction.prepare_cached(&sql)?.execute([newsgroup])?;
    }
    Ok(true)
}

/// Goes on with a newsgroup that has lost its name.
fn finish_newsgroup(transaction: &Transaction<'_>) -> rusqlite::Result<bool> {
    let sql = "SELECT id FROM news_newsgroup WHERE name IS NULL LIMIT 1";
    let next: Option<i64> = transaction
        .prepare_cached(sql)?
        .query_row([], |row| row.get(0))
        .optional()?;
    let Some(newsgroup) = next else {
        return Ok(false);
    };
    let sql = "SELECT row, 0, 0 FROM news_number WHERE newsgroup = ?1 ORDER BY number, date, row";
    let rows = oldest(transaction, sql, &[newsgroup], u64::MAX)?;
    for (row, _, _) in &rows {
        for table in ["news_line", "news_number"] {
            let sql = format!("DELETE FROM {table} WHERE row = ?1");
            transaction.prepare_cached(&sql)?.execute([row])?;
        }
    }
    if rows.len() < ROWS {
        let sql = "DELETE FROM news_newsgroup WHERE id = ?1";
        transaction.prepare_cached(sql)?.execute([newsgroup])?;
    }
    Ok(true)
}
