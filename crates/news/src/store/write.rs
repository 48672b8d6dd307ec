//! Entries of the backlog, written in one transaction.

use std::sync::Arc;

use rusqlite::{OptionalExtension, Transaction, params};
use weir_news_proto::{MessageId, Newsgroup};

use super::arrivals;
use super::backlog::{Batch, Keep, ListPart, Reads, Work};
use super::kept::{KeptArticle, ReadLine};
use super::pack::{hash, key, pack};
use super::sweep;
use crate::numbers::{NumberMarks, NumberRows, NumberRun, ServerId, ServerMarks};

/// Slices of sweeping that a transaction takes along at most.
const SLICES: usize = 4;

/// Writes them, and makes room if there is too little. Gives the newsgroups that the file has lost.
pub(super) fn write(
    transaction: &Transaction<'_>,
    servers: &[(String, ServerId)],
    batch: &Batch,
    limit: u64,
) -> rusqlite::Result<Vec<Newsgroup>> {
    // Each time, since the file may be a new one.
    for (place, id) in servers {
        let sql = "INSERT OR IGNORE INTO news_server (id, place) VALUES (?1, ?2)";
        transaction
            .prepare_cached(sql)?
            .execute(params![id.0, place])?;
    }
    let mut lost = Vec::new();
    for (entry, based) in batch {
        match &entry.work {
            Work::Keep(name, keep) => match newsgroup(transaction, name)? {
                None if *based => lost.push(name.clone()),
                None => self::keep(transaction, new_newsgroup(transaction, name)?, keep)?,
                Some(newsgroup) => self::keep(transaction, newsgroup, keep)?,
            },
            Work::Rows(name, rows) => {
                let newsgroup = match newsgroup(transaction, name)? {
                    Some(newsgroup) => newsgroup,
                    None => new_newsgroup(transaction, name)?,
                };
                replace_rows(transaction, newsgroup, rows)?;
            }
            Work::Article(id, article) => keep_article(transaction, id, article)?,
            Work::List(part) => keep_part(transaction, part)?,
            Work::Reads(reads) => note_reads(transaction, reads)?,
            Work::Seen(names, at) => arrivals::keep_seen(transaction, names, *at)?,
            Work::Log(name, from, entries) => keep_log(transaction, name, *from, entries)?,
            Work::Forget(name) => {
                if let Some(newsgroup) = newsgroup(transaction, name)? {
                    forget(transaction, newsgroup)?;
                }
            }
        }
    }
    if sweep::used(transaction)? > limit {
        for _ in 0..SLICES {
            if !sweep::slice(transaction, limit)? {
                break;
            }
        }
    }
    Ok(lost)
}

pub(super) fn newsgroup(
    connection: &rusqlite::Connection,
    name: &Newsgroup,
) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT id FROM news_newsgroup WHERE name = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    statement
        .query_row([name.as_str()], |row| row.get(0))
        .optional()
}

/// A number as SQLite holds it.
pub(super) fn held(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn new_newsgroup(transaction: &Transaction<'_>, name: &Newsgroup) -> rusqlite::Result<i64> {
    let sql = "INSERT INTO news_newsgroup (name, opened) VALUES (?1, 0)";
    transaction.prepare_cached(sql)?.execute([name.as_str()])?;
    Ok(transaction.last_insert_rowid())
}

fn keep(transaction: &Transaction<'_>, newsgroup: i64, keep: &Keep) -> rusqlite::Result<()> {
    if let Some(changes) = &keep.changes {
        keep_marks(transaction, newsgroup, &changes.marks, &changes.servers)?;
        let sql = "DELETE FROM news_run WHERE newsgroup = ?1 AND server = ?2 AND our_start = ?3";
        let mut delete = transaction.prepare_cached(sql)?;
        for (server, start) in &changes.gone {
            delete.execute(params![newsgroup, server.0, held(*start)])?;
        }
        keep_runs(transaction, newsgroup, &changes.runs)?;
    }
    for (server, reached) in &keep.checked {
        let sql = "INSERT OR REPLACE INTO news_checked VALUES (?1, ?2, ?3, ?4)";
        transaction.prepare_cached(sql)?.execute(params![
            newsgroup,
            server.0,
            reached.at,
            reached.write()
        ])?;
    }
    if let Some(at) = keep.arrived.filter(|_| !keep.lines.is_empty()) {
        arrivals::note(transaction, at)?;
    }
    if let Some(at) = keep.checked.iter().map(|(_, reached)| reached.at).max() {
        // Somebody wanted to read it, when it was new.
        let sql = "UPDATE news_newsgroup SET opened = ?2 WHERE id = ?1 AND opened = 0";
        transaction
            .prepare_cached(sql)?
            .execute(params![newsgroup, at])?;
    }
    for (id, number) in &keep.renumbered {
        match number {
            Some(number) => drop(place(transaction, newsgroup, id, Some(held(*number)), 0)?),
            None => unplace(transaction, newsgroup, id)?,
        }
    }
    keep_lines(transaction, newsgroup, &keep.lines)
}

fn keep_marks(
    transaction: &Transaction<'_>,
    newsgroup: i64,
    marks: &NumberMarks,
    servers: &[ServerMarks],
) -> rusqlite::Result<()> {
    let sql =
        "UPDATE news_newsgroup SET low = ?2, high = ?3, room_end = ?4, lead = ?5 WHERE id = ?1";
    transaction.prepare_cached(sql)?.execute(params![
        newsgroup,
        held(marks.low),
        held(marks.high),
        held(marks.room_end),
        marks.lead.map(|lead| lead.0)
    ])?;
    let sql = "DELETE FROM news_carried WHERE newsgroup = ?1";
    transaction.prepare_cached(sql)?.execute([newsgroup])?;
    for server in servers {
        let sql = "INSERT OR REPLACE INTO news_carried VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        transaction.prepare_cached(sql)?.execute(params![
            newsgroup,
            server.server.0,
            held(server.carried.low),
            held(server.carried.high),
            held(server.carried.count),
            held(server.mark),
            held(server.earlier),
            held(server.renewed)
        ])?;
    }
    Ok(())
}

fn keep_runs(
    transaction: &Transaction<'_>,
    newsgroup: i64,
    runs: &[NumberRun],
) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO news_run VALUES (?1, ?2, ?3, ?4, ?5)";
    let mut insert = transaction.prepare_cached(sql)?;
    for run in runs {
        insert.execute(params![
            newsgroup,
            run.server.0,
            held(run.our_start),
            held(run.length),
            held(run.their_start)
        ])?;
    }
    Ok(())
}

fn replace_rows(
    transaction: &Transaction<'_>,
    newsgroup: i64,
    rows: &NumberRows,
) -> rusqlite::Result<()> {
    keep_marks(transaction, newsgroup, &rows.marks, &rows.servers)?;
    let sql = "DELETE FROM news_run WHERE newsgroup = ?1";
    transaction.prepare_cached(sql)?.execute([newsgroup])?;
    keep_runs(transaction, newsgroup, &rows.runs)
}

fn keep_log(
    transaction: &Transaction<'_>,
    name: &Newsgroup,
    from: u64,
    entries: &[Arc<[u8]>],
) -> rusqlite::Result<()> {
    let sql = "DELETE FROM news_log WHERE name = ?1 AND place >= ?2";
    let mut delete = transaction.prepare_cached(sql)?;
    delete.execute(params![name.as_str(), held(from)])?;
    let sql = "INSERT INTO news_log VALUES (?1, ?2, ?3)";
    let mut insert = transaction.prepare_cached(sql)?;
    for (place, entry) in (from..).zip(entries) {
        insert.execute(params![name.as_str(), held(place), &entry[..]])?;
    }
    Ok(())
}

/// Takes the numbers of all articles away; their lines stay, and are fetched again for their numbers.
fn forget(transaction: &Transaction<'_>, newsgroup: i64) -> rusqlite::Result<()> {
    for sql in [
        "UPDATE news_number SET number = 0 WHERE newsgroup = ?1 AND number <> 0",
        "DELETE FROM news_run WHERE newsgroup = ?1",
        "DELETE FROM news_checked WHERE newsgroup = ?1",
        "UPDATE news_newsgroup SET swept = -1 WHERE id = ?1",
    ] {
        transaction.prepare_cached(sql)?.execute([newsgroup])?;
    }
    Ok(())
}

fn keep_lines(
    transaction: &Transaction<'_>,
    newsgroup: i64,
    lines: &[ReadLine],
) -> rusqlite::Result<()> {
    let (mut count, mut bytes, mut lowest) = (0_i64, 0_i64, i64::MAX);
    let sql = "INSERT OR IGNORE INTO news_line (row, line) VALUES (?1, ?2)";
    let mut insert = transaction.prepare_cached(sql)?;
    for line in lines {
        let number = line.number.map(held);
        let (row, number) = place(transaction, newsgroup, &line.id, number, line.date)?;
        if insert.execute(params![row, &line.line[..]])? > 0 {
            // Its number may have been known before its date.
            let sql = "UPDATE news_number SET date = ?2 WHERE row = ?1 AND date <> ?2";
            transaction.prepare_cached(sql)?.execute([row, line.date])?;
            count += 1;
            bytes += line.line.len() as i64;
            lowest = lowest.min(number);
        }
    }
    if count > 0 {
        let sql = "UPDATE news_newsgroup SET lines = lines + ?2, bytes = bytes + ?3,
            swept = MIN(swept, ?4 - 1) WHERE id = ?1";
        let mut update = transaction.prepare_cached(sql)?;
        update.execute(params![newsgroup, count, bytes, lowest])?;
    }
    Ok(())
}

/// Finds the row of an article, or makes one, and notes its number if there is one to note. Gives row and number.
fn place(
    transaction: &Transaction<'_>,
    newsgroup: i64,
    id: &MessageId,
    number: Option<i64>,
    date: i64,
) -> rusqlite::Result<(i64, i64)> {
    let hash = hash(id);
    let sql = "SELECT row, number FROM news_number WHERE newsgroup = ?1 AND hash = ?2 AND id = ?3";
    let known: Option<(i64, i64)> = transaction
        .prepare_cached(sql)?
        .query_row(params![newsgroup, hash, id.as_str()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let before = known.map_or(0, |(_, before)| before);
    let number = match number {
        None => before,
        Some(number) if number == before => before,
        // A number once given never gets another article.
        Some(number) if number > 0 && is_taken(transaction, newsgroup, number)? => before,
        Some(number) => number,
    };
    let Some((row, _)) = known else {
        let sql = "INSERT INTO news_number (newsgroup, number, date, hash, id) VALUES (?1, ?2, ?3, ?4, ?5)";
        let mut insert = transaction.prepare_cached(sql)?;
        insert.execute(params![newsgroup, number, date, hash, id.as_str()])?;
        return Ok((transaction.last_insert_rowid(), number));
    };
    if number != before {
        let sql = "UPDATE news_number SET number = ?2 WHERE row = ?1";
        transaction.prepare_cached(sql)?.execute([row, number])?;
        // It may have come to where nobody looks for lines to throw away.
        let sql = "UPDATE news_newsgroup SET swept = MIN(swept, ?2 - 1) WHERE id = ?1";
        transaction
            .prepare_cached(sql)?
            .execute([newsgroup, number])?;
    }
    Ok((row, number))
}

/// Takes the number of an article away; without a line, nothing is left of it.
fn unplace(transaction: &Transaction<'_>, newsgroup: i64, id: &MessageId) -> rusqlite::Result<()> {
    let about = params![newsgroup, hash(id), id.as_str()];
    let sql = "DELETE FROM news_number WHERE newsgroup = ?1 AND hash = ?2 AND id = ?3
        AND NOT EXISTS (SELECT 1 FROM news_line WHERE news_line.row = news_number.row)";
    transaction.prepare_cached(sql)?.execute(about)?;
    let sql = "UPDATE news_number SET number = 0 WHERE newsgroup = ?1 AND hash = ?2 AND id = ?3";
    transaction.prepare_cached(sql)?.execute(about)?;
    let sql = "UPDATE news_newsgroup SET swept = -1 WHERE id = ?1";
    transaction.prepare_cached(sql)?.execute([newsgroup])?;
    Ok(())
}

fn is_taken(transaction: &Transaction<'_>, newsgroup: i64, number: i64) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM news_number WHERE newsgroup = ?1 AND number = ?2";
    transaction.prepare_cached(sql)?.exists([newsgroup, number])
}

fn keep_article(
    transaction: &Transaction<'_>,
    id: &MessageId,
    article: &KeptArticle,
) -> rusqlite::Result<()> {
    let key = key(id);
    let sql = "SELECT row FROM news_article WHERE key = ?1";
    let known: Option<i64> = transaction
        .prepare_cached(sql)?
        .query_row([key], |row| row.get(0))
        .optional()?;
    if let Some(row) = known {
        sweep::delete_article(transaction, row)?;
    }
    let body = pack(&article.raw);
    let sql = "INSERT INTO news_article (key, read, size, server, fetched, length)
        VALUES (?1, ?2, ?3, ?4, ?2, ?5)";
    transaction.prepare_cached(sql)?.execute(params![
        key,
        article.fetched,
        body.len() as i64,
        &*article.server,
        article.raw.len() as i64
    ])?;
    let row = transaction.last_insert_rowid();
    let sql = "INSERT OR REPLACE INTO news_body (row, body) VALUES (?1, ?2)";
    transaction
        .prepare_cached(sql)?
        .execute(params![row, body])?;
    Ok(())
}

fn keep_part(transaction: &Transaction<'_>, part: &ListPart) -> rusqlite::Result<()> {
    let kind = part.kind as i64;
    let sql = "INSERT OR REPLACE INTO news_list VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    transaction.prepare_cached(sql)?.execute(params![
        part.server.0,
        kind,
        part.version,
        part.part as i64,
        part.last,
        part.at,
        part.block.len() as i64,
        pack(&part.block)
    ])?;
    if part.last {
        let sql = "DELETE FROM news_list WHERE server = ?1 AND kind = ?2 AND version <> ?3";
        let mut delete = transaction.prepare_cached(sql)?;
        delete.execute(params![part.server.0, kind, part.version])?;
    }
    Ok(())
}

fn note_reads(transaction: &Transaction<'_>, reads: &Reads) -> rusqlite::Result<()> {
    for (key, at) in &reads.articles {
        let sql = "UPDATE news_article SET read = ?2 WHERE key = ?1";
        transaction.prepare_cached(sql)?.execute(params![key, at])?;
    }
    for (name, at) in &reads.newsgroups {
        let sql = "UPDATE news_newsgroup SET opened = ?2 WHERE name = ?1";
        transaction
            .prepare_cached(sql)?
            .execute(params![name.as_str(), at])?;
    }
    Ok(())
}
