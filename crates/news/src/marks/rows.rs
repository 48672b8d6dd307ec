//! Marks as rows of their tables. Each change gets the next version, so that a browser asks only for what it has not seen.

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::{MarkChanges, MarkSet, NewsgroupMark, ThreadFlag, ThreadMark};

/// Rows of each table that one answer has.
const AT_ONCE: u32 = 1_000;

const THREADS: &str =
    "SELECT root, upto, count, read, flag, flag_at, at, version FROM news_thread_mark";
const NEWSGROUPS: &str =
    "SELECT name, articles, upto, subscribed, subscribed_at, at, version FROM news_newsgroup_mark";

/// What changed since a version.
pub(super) fn since(connection: &Connection, version: i64) -> rusqlite::Result<MarkChanges> {
    let mut marks = MarkSet::default();
    let mut ends = Vec::new();
    let mut last = version;
    let sql = format!("{THREADS} WHERE version > ?1 ORDER BY version LIMIT ?2");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query(params![version, AT_ONCE])?;
    while let Some(row) = found.next()? {
        last = last.max(row.get(7)?);
        marks.threads.insert(row.get(0)?, thread(row)?);
    }
    if marks.threads.len() == AT_ONCE as usize {
        ends.push(last);
    }
    let sql = format!("{NEWSGROUPS} WHERE version > ?1 ORDER BY version LIMIT ?2");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query(params![version, AT_ONCE])?;
    let mut newest = version;
    while let Some(row) = found.next()? {
        newest = newest.max(row.get(6)?);
        marks.newsgroups.insert(row.get(0)?, newsgroup(row)?);
    }
    if marks.newsgroups.len() == AT_ONCE as usize {
        ends.push(newest);
    }
    // Of a list that was cut, no later version is known to be whole.
    let whole = ends.iter().copied().min();
    Ok(MarkChanges {
        version: whole.unwrap_or(last.max(newest)),
        more: whole.is_some(),
        marks,
    })
}

/// Merges marks into the tables.
pub(super) fn merge(transaction: &Transaction<'_>, changed: &MarkSet) -> rusqlite::Result<()> {
    let mut version = latest(transaction)?;
    for (root, mark) in &changed.threads {
        let sql = format!("{THREADS} WHERE root = ?1");
        let kept = transaction
            .prepare_cached(&sql)?
            .query_row([root], thread)
            .optional()?;
        let mut merged = kept.clone().unwrap_or_default();
        merged.absorb(mark);
        if kept.as_ref() == Some(&merged) {
            continue;
        }
        version += 1;
        let sql = "INSERT OR REPLACE INTO news_thread_mark (root, upto, count, read, flag, flag_at, at, version) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        transaction.prepare_cached(sql)?.execute(params![
            root,
            merged.upto,
            merged.count,
            merged.read.join(" "),
            flag_number(merged.flag),
            merged.flag_at,
            merged.at,
            version,
        ])?;
    }
    for (name, mark) in &changed.newsgroups {
        let sql = format!("{NEWSGROUPS} WHERE name = ?1");
        let kept = transaction
            .prepare_cached(&sql)?
            .query_row([name], newsgroup)
            .optional()?;
        let mut merged = kept.clone().unwrap_or_default();
        merged.absorb(mark);
        if kept.as_ref() == Some(&merged) {
            continue;
        }
        version += 1;
        let sql = "INSERT OR REPLACE INTO news_newsgroup_mark (name, articles, upto, subscribed, subscribed_at, at, version) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        transaction.prepare_cached(sql)?.execute(params![
            name,
            i64::try_from(merged.articles).unwrap_or(i64::MAX),
            merged.upto,
            merged.subscribed,
            merged.subscribed_at,
            merged.at,
            version,
        ])?;
    }
    Ok(())
}

/// Removes the oldest rows beyond these numbers.
pub(super) fn bound(
    transaction: &Transaction<'_>,
    threads: u32,
    newsgroups: u32,
) -> rusqlite::Result<()> {
    let tables = [
        ("news_thread_mark", "root", "flag <> 0", threads),
        ("news_newsgroup_mark", "name", "subscribed", newsgroups),
    ];
    for (table, key, chosen, most) in tables {
        let count: u32 =
            transaction.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| {
                row.get(0)
            })?;
        if count > most {
            let sql = format!(
                "DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM {table} ORDER BY {chosen}, at LIMIT ?1)"
            );
            transaction.execute(&sql, [count - most])?;
        }
    }
    Ok(())
}

fn latest(connection: &Connection) -> rusqlite::Result<i64> {
    let sql = "SELECT max(coalesce((SELECT max(version) FROM news_thread_mark), 0), \
               coalesce((SELECT max(version) FROM news_newsgroup_mark), 0))";
    connection.query_row(sql, [], |row| row.get(0))
}

fn thread(row: &Row<'_>) -> rusqlite::Result<ThreadMark> {
    let read: String = row.get(3)?;
    Ok(ThreadMark {
        upto: row.get(1)?,
        count: row.get(2)?,
        read: read.split_whitespace().map(ToOwned::to_owned).collect(),
        flag: match row.get(4)? {
            1 => ThreadFlag::Watched,
            2 => ThreadFlag::Ignored,
            _ => ThreadFlag::None,
        },
        flag_at: row.get(5)?,
        at: row.get(6)?,
    })
}

fn flag_number(flag: ThreadFlag) -> i64 {
    match flag {
        ThreadFlag::None => 0,
        ThreadFlag::Watched => 1,
        ThreadFlag::Ignored => 2,
    }
}

fn newsgroup(row: &Row<'_>) -> rusqlite::Result<NewsgroupMark> {
    let articles: i64 = row.get(1)?;
    Ok(NewsgroupMark {
        articles: u64::try_from(articles).unwrap_or_default(),
        upto: row.get(2)?,
        subscribed: row.get(3)?,
        subscribed_at: row.get(4)?,
        at: row.get(5)?,
    })
}
