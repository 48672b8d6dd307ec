//! What is read from `news.db`.

use std::sync::Arc;

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};
use weir_news_proto::{MessageId, Newsgroup};

use super::kept::{
    KeptArticle, KeptLine, KeptList, KeptMarks, KeptNewsgroup, ListKind, NewsSizes, NumberedRow,
    Reached,
};
use super::pack::{hash, key, unpack};
use super::write::{held, newsgroup};
use crate::numbers::{Carried, NumberMarks, NumberRun, ServerId, ServerMarks};

/// A packed article with its length, to be unpacked by whoever has the time.
pub(super) struct PackedArticle {
    pub(super) body: Vec<u8>,
    length: usize,
    server: Arc<str>,
    fetched: i64,
}

impl PackedArticle {
    pub(super) fn unpacked(self) -> Option<KeptArticle> {
        Some(KeptArticle {
            raw: unpack(self.body, self.length)?,
            server: self.server,
            fetched: self.fetched,
        })
    }
}

/// Where reading goes on: number, date and row of the last line.
pub(super) type Place = (i64, i64, i64);

/// Lines of a slice, and where the next one begins; `None` if there is none.
pub(super) type Slice = (Vec<KeptLine>, Option<Place>);

pub(super) fn servers(connection: &Connection) -> rusqlite::Result<Vec<(String, ServerId)>> {
    let mut statement = connection.prepare("SELECT place, id FROM news_server")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, ServerId(row.get(1)?))))?;
    rows.collect()
}

/// The latest version of a list that has begun to be written.
pub(super) fn list_version(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    connection.query_row("SELECT MAX(version) FROM news_list", [], |row| row.get(0))
}

/// The lists that are there as a whole.
pub(super) fn lists(connection: &Connection) -> rusqlite::Result<Vec<KeptList>> {
    let sql = "SELECT server, kind, version, at FROM news_list WHERE last ORDER BY server, kind, version DESC";
    let mut statement = connection.prepare(sql)?;
    let whole = statement.query_map([], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    })?;
    let whole: Vec<(u32, u8, i64, i64)> = whole.collect::<rusqlite::Result<_>>()?;
    let mut lists: Vec<KeptList> = Vec::new();
    for (server, kind, version, at) in whole {
        let Some(&kind) = ListKind::ALL.get(usize::from(kind)) else {
            continue;
        };
        let server = ServerId(server);
        let known = lists
            .last()
            .is_some_and(|last| (last.server, last.kind) == (server, kind));
        if !known && let Some(block) = list(connection, server, kind, version)? {
            lists.push(KeptList {
                server,
                kind,
                at,
                block,
            });
        }
    }
    Ok(lists)
}

fn list(
    connection: &Connection,
    server: ServerId,
    kind: ListKind,
    version: i64,
) -> rusqlite::Result<Option<Bytes>> {
    let sql = "SELECT length, block FROM news_list WHERE server = ?1 AND kind = ?2 AND version = ?3 ORDER BY part";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![server.0, kind as i64, version])?;
    let mut block = Vec::new();
    while let Some(row) = rows.next()? {
        let Some(part) = unpack(row.get(1)?, number(row, 0)? as usize) else {
            return Ok(None);
        };
        block.extend_from_slice(&part);
    }
    Ok(Some(block.into()))
}

pub(super) fn kept_newsgroup(
    connection: &Connection,
    name: &Newsgroup,
) -> rusqlite::Result<Option<KeptNewsgroup>> {
    let sql = "SELECT id, low, high, room_end, lead, lines FROM news_newsgroup WHERE name = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row([name.as_str()], |row| {
        let marks = NumberMarks {
            low: number(row, 1)?,
            high: number(row, 2)?,
            room_end: number(row, 3)?,
            lead: row.get::<_, Option<u32>>(4)?.map(ServerId),
        };
        Ok((row.get::<_, i64>(0)?, marks, number(row, 5)?))
    });
    let Some((newsgroup, marks, lines)) = found.optional()? else {
        return Ok(None);
    };
    let mut kept = KeptNewsgroup {
        lines,
        ..KeptNewsgroup::default()
    };
    kept.rows.marks = marks;
    let sql = "SELECT COUNT(*) FROM news_number WHERE newsgroup = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    kept.articles = statement.query_row([newsgroup], |row| number(row, 0))?;
    kept.rows.servers = carried(connection, newsgroup)?;
    kept.rows.runs = runs(connection, newsgroup)?;
    let sql = "SELECT server, at, covered FROM news_checked WHERE newsgroup = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let checked = statement.query_map([newsgroup], |row| {
        let reached = Reached::read(row.get(1)?, &row.get::<_, Vec<u8>>(2)?);
        Ok((ServerId(row.get(0)?), reached))
    })?;
    kept.checked = checked.collect::<rusqlite::Result<_>>()?;
    Ok(Some(kept))
}

fn carried(connection: &Connection, newsgroup: i64) -> rusqlite::Result<Vec<ServerMarks>> {
    let sql = "SELECT server, low, high, count, mark, earlier, renewed FROM news_carried WHERE newsgroup = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([newsgroup], |row| {
        Ok(ServerMarks {
            server: ServerId(row.get(0)?),
            carried: Carried {
                low: number(row, 1)?,
                high: number(row, 2)?,
                count: number(row, 3)?,
            },
            mark: number(row, 4)?,
            earlier: number(row, 5)?,
            renewed: number(row, 6)?,
        })
    })?;
    rows.collect()
}

fn runs(connection: &Connection, newsgroup: i64) -> rusqlite::Result<Vec<NumberRun>> {
    let sql = "SELECT server, our_start, length, their_start FROM news_run WHERE newsgroup = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([newsgroup], |row| {
        Ok(NumberRun {
            server: ServerId(row.get(0)?),
            our_start: number(row, 1)?,
            length: number(row, 2)?,
            their_start: number(row, 3)?,
        })
    })?;
    rows.collect()
}

fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(column)?.max(0) as u64)
}

/// How many lines a newsgroup has.
pub(super) fn count(connection: &Connection, name: &Newsgroup) -> rusqlite::Result<Option<usize>> {
    let sql = "SELECT lines FROM news_newsgroup WHERE name = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    statement
        .query_row([name.as_str()], |row| Ok(number(row, 0)? as usize))
        .optional()
}

/// A slice of a newsgroup's lines, newest first: `rows` articles before a place, with or without lines.
pub(super) fn newest(
    connection: &Connection,
    name: &Newsgroup,
    before: Place,
    rows: usize,
) -> rusqlite::Result<Option<Slice>> {
    let sql = "SELECT n.number, n.date, n.row, l.line FROM news_number n LEFT JOIN news_line l ON l.row = n.row
        WHERE n.newsgroup = ?1 AND (n.number, n.date, n.row) < (?2, ?3, ?4)
        ORDER BY n.number DESC, n.date DESC, n.row DESC LIMIT ?5";
    slice(
        connection,
        sql,
        name,
        &[before.0, before.1, before.2, rows as i64],
    )
}

#[cfg(test)]
/// A slice of the lines with numbers in a range, ascending.
pub(super) fn between(
    connection: &Connection,
    name: &Newsgroup,
    numbers: &std::ops::RangeInclusive<u64>,
    rows: usize,
) -> rusqlite::Result<Option<Slice>> {
    let sql = "SELECT n.number, n.date, n.row, l.line FROM news_number n LEFT JOIN news_line l ON l.row = n.row
        WHERE n.newsgroup = ?1 AND n.number BETWEEN ?2 AND ?3
        ORDER BY n.number, n.date, n.row LIMIT ?4";
    // Numbers below 1 stand for none.
    let (first, last) = (held(*numbers.start()).max(1), held(*numbers.end()));
    slice(connection, sql, name, &[first, last, rows as i64])
}

fn slice(
    connection: &Connection,
    sql: &str,
    name: &Newsgroup,
    about: &[i64],
) -> rusqlite::Result<Option<Slice>> {
    let Some(newsgroup) = newsgroup(connection, name)? else {
        return Ok(None);
    };
    let mut statement = connection.prepare_cached(sql)?;
    let about = std::iter::once(&newsgroup).chain(about);
    let mut rows = statement.query(params_from_iter(about))?;
    let (mut lines, mut last) = (Vec::new(), None);
    while let Some(row) = rows.next()? {
        last = Some((row.get(0)?, row.get(1)?, row.get(2)?));
        if let Some(line) = row.get_ref(3)?.as_blob_or_null()? {
            lines.push(KeptLine {
                number: Some(number(row, 0)?).filter(|number| *number > 0),
                line: Bytes::copy_from_slice(line),
            });
        }
    }
    Ok(Some((lines, last)))
}

/// All articles with numbers in a range, ascending, at most so many.
pub(super) fn numbered(
    connection: &Connection,
    name: &Newsgroup,
    numbers: &std::ops::RangeInclusive<u64>,
    rows: usize,
) -> rusqlite::Result<Option<Vec<NumberedRow>>> {
    let Some(newsgroup) = newsgroup(connection, name)? else {
        return Ok(Some(Vec::new()));
    };
    let sql =
        "SELECT n.number, n.id, l.line FROM news_number n LEFT JOIN news_line l ON l.row = n.row
        WHERE n.newsgroup = ?1 AND n.number BETWEEN ?2 AND ?3 ORDER BY n.number LIMIT ?4";
    let mut statement = connection.prepare_cached(sql)?;
    // Numbers below 1 stand for none.
    let (first, last) = (held(*numbers.start()).max(1), held(*numbers.end()));
    let mut found = statement.query(params![newsgroup, first, last, rows as i64])?;
    let mut numbered = Vec::new();
    while let Some(row) = found.next()? {
        let Ok(id) = MessageId::from_bytes(row.get_ref(1)?.as_bytes()?) else {
            continue;
        };
        let line = row.get_ref(2)?.as_blob_or_null()?;
        numbered.push(NumberedRow {
            number: number(row, 0)?,
            id,
            line: line.map(<[u8]>::to_vec),
        });
    }
    Ok(Some(numbered))
}

/// The nearest number that an article has, from this one on up or down.
pub(super) fn nearest(
    connection: &Connection,
    name: &Newsgroup,
    from: u64,
    up: bool,
) -> rusqlite::Result<Option<u64>> {
    let sql = match up {
        true => {
            "SELECT MIN(number) FROM news_number WHERE number >= MAX(?2, 1)
            AND newsgroup = (SELECT id FROM news_newsgroup WHERE name = ?1)"
        }
        false => {
            "SELECT MAX(number) FROM news_number WHERE number BETWEEN 1 AND ?2
            AND newsgroup = (SELECT id FROM news_newsgroup WHERE name = ?1)"
        }
    };
    let mut statement = connection.prepare_cached(sql)?;
    let nearest: Option<i64> =
        statement.query_row(params![name.as_str(), held(from)], |row| row.get(0))?;
    Ok(nearest.map(i64::unsigned_abs))
}

/// The marks of all newsgroups that have any.
pub(super) fn marks(connection: &Connection) -> rusqlite::Result<Vec<KeptMarks>> {
    let sql = "SELECT n.id, n.name, n.low, n.high, n.room_end,
        (SELECT SUM(length) FROM news_run r WHERE r.newsgroup = n.id AND r.server = n.lead),
        (SELECT MIN(count, MAX(high - low + 1, 0)) FROM news_carried c WHERE c.newsgroup = n.id AND c.server = n.lead)
        FROM news_newsgroup n WHERE n.name IS NOT NULL AND n.low > 0";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let sql = "SELECT server, mark FROM news_carried WHERE newsgroup = ?1";
    let mut reached = connection.prepare(sql)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let Ok(name) = row.get_ref(1)?.as_str()?.parse() else {
            continue;
        };
        let marks = NumberMarks {
            low: number(row, 2)?,
            high: number(row, 3)?,
            room_end: number(row, 4)?,
            lead: None,
        };
        let some = |column: usize| -> rusqlite::Result<Option<u64>> {
            Ok(row
                .get::<_, Option<i64>>(column)?
                .map(|some| some.max(0).unsigned_abs()))
        };
        let lead = some(5)?.zip(some(6)?);
        let newsgroup: i64 = row.get(0)?;
        let reached = reached.query_map([newsgroup], |row| {
            Ok((ServerId(row.get(0)?), number(row, 1)?))
        })?;
        all.push(KeptMarks {
            name,
            marks,
            lead,
            reached: reached.collect::<rusqlite::Result<_>>()?,
        });
    }
    Ok(all)
}

/// The sign keeps SQLite from going through all numbers of the newsgroup by the other index.
pub(super) const NUMBER_OF: &str =
    "SELECT number FROM news_number WHERE +number > 0 AND hash = ?2 AND id = ?3
    AND newsgroup = (SELECT id FROM news_newsgroup WHERE name = ?1)";

pub(super) fn number_of(
    connection: &Connection,
    name: &Newsgroup,
    id: &MessageId,
) -> rusqlite::Result<Option<u64>> {
    let mut statement = connection.prepare_cached(NUMBER_OF)?;
    let about = params![name.as_str(), hash(id), id.as_str()];
    statement.query_row(about, |row| number(row, 0)).optional()
}

pub(super) fn id_of(
    connection: &Connection,
    name: &Newsgroup,
    number: u64,
) -> rusqlite::Result<Option<MessageId>> {
    let sql = "SELECT id FROM news_number WHERE number = ?2
        AND newsgroup = (SELECT id FROM news_newsgroup WHERE name = ?1)";
    let mut statement = connection.prepare_cached(sql)?;
    let about = params![name.as_str(), held(number)];
    let id: Option<String> = statement.query_row(about, |row| row.get(0)).optional()?;
    Ok(id.and_then(|id| id.parse().ok()))
}

pub(super) fn article(
    connection: &Connection,
    id: &MessageId,
) -> rusqlite::Result<Option<PackedArticle>> {
    let sql = "SELECT body, length, server, fetched FROM news_article
        JOIN news_body ON news_body.row = news_article.row WHERE key = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row([key(id)], |row| {
        Ok(PackedArticle {
            body: row.get(0)?,
            length: number(row, 1)? as usize,
            server: row.get::<_, String>(2)?.into(),
            fetched: row.get(3)?,
        })
    });
    found.optional()
}

pub(super) fn sizes(connection: &Connection) -> rusqlite::Result<NewsSizes> {
    let sql = "SELECT (SELECT articles FROM news_total), (SELECT COALESCE(SUM(bytes), 0) FROM news_newsgroup),
        page_count * page_size FROM pragma_page_count, pragma_page_size";
    connection.prepare_cached(sql)?.query_row([], |row| {
        Ok(NewsSizes {
            articles: number(row, 0)?,
            lines: number(row, 1)?,
            file: number(row, 2)?,
        })
    })
}

/// The log of a newsgroup's numbers, up to the first entry that is missing.
pub(super) fn log(
    connection: &Connection,
    name: &Newsgroup,
) -> rusqlite::Result<Option<Vec<Arc<[u8]>>>> {
    let sql = "SELECT place, entry FROM news_log WHERE name = ?1 ORDER BY place";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([name.as_str()])?;
    let mut entries: Vec<Arc<[u8]>> = Vec::new();
    while let Some(row) = rows.next()? {
        if number(row, 0)? != entries.len() as u64 {
            break;
        }
        entries.push(row.get_ref(1)?.as_blob()?.into());
    }
    Ok(Some(entries))
}

/// The newsgroups that have such a log.
pub(super) fn logged(connection: &Connection) -> rusqlite::Result<Option<Vec<Newsgroup>>> {
    let sql = "SELECT name FROM news_log WHERE place = 0";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut names = Vec::new();
    while let Some(row) = rows.next()? {
        names.extend(row.get_ref(0)?.as_str()?.parse::<Newsgroup>().ok());
    }
    Ok(Some(names))
}
