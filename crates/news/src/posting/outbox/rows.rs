//! Posts as rows of their table.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use weir_news_proto::{MessageId, Newsgroup};
use weir_store::sqlite::Migrations;

use super::{Post, PostNote, PostState, TakenBack};
use crate::posting::lock::LockSecret;
use crate::posting::{Poster, Taken};

pub(super) const MIGRATIONS: Migrations = Migrations {
    owner: "news_post",
    steps: &["
        CREATE TABLE news_post (
            id TEXT PRIMARY KEY, poster TEXT NOT NULL, newsgroups TEXT NOT NULL, subject TEXT NOT NULL,
            cancels TEXT, supersedes TEXT, state INTEGER NOT NULL, at INTEGER NOT NULL, changed INTEGER NOT NULL,
            server TEXT, words TEXT NOT NULL, left_out TEXT NOT NULL, taken_at INTEGER, taken_by TEXT,
            raw BLOB -- until a server lists it
        ) WITHOUT ROWID;
        CREATE INDEX news_post_at ON news_post (at);
        CREATE TABLE news_post_word (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
        CREATE TABLE news_post_draft (
            id TEXT PRIMARY KEY, at INTEGER NOT NULL, fields TEXT NOT NULL
        ) WITHOUT ROWID;
        CREATE INDEX news_post_draft_at ON news_post_draft (at);
    "],
};

const STATES: [PostState; 6] = [
    PostState::Sending,
    PostState::Unsure,
    PostState::Sent,
    PostState::Seen,
    PostState::Refused,
    PostState::Lost,
];

/// The secret of all locks; `made` if there is none yet.
pub(super) fn secret(tx: &Transaction<'_>, made: &LockSecret) -> rusqlite::Result<LockSecret> {
    let sql = "SELECT value FROM news_post_word WHERE name = 'lock'";
    let kept: Option<Vec<u8>> = tx.query_row(sql, [], |row| row.get(0)).optional()?;
    if let Some(kept) = kept.and_then(|kept| kept.try_into().ok()) {
        return Ok(LockSecret(kept));
    }
    let sql = "INSERT OR REPLACE INTO news_post_word (name, value) VALUES ('lock', ?1)";
    tx.execute(sql, [made.0.as_slice()])?;
    Ok(made.clone())
}

pub(super) fn all(connection: &Connection) -> rusqlite::Result<Vec<Post>> {
    let sql = "SELECT id, poster, newsgroups, subject, cancels, supersedes, state, at, changed, server, words, \
               left_out, taken_at, taken_by, raw FROM news_post";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], post)?;
    // A row that somebody else has written is no reason not to start.
    let read = rows.filter_map(|row| row.transpose());
    read.collect()
}

pub(super) fn put(tx: &Transaction<'_>, post: &Post) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO news_post (id, poster, newsgroups, subject, cancels, supersedes, state, at, changed, \
               server, words, left_out, taken_at, taken_by, raw) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";
    let (cancels, supersedes) = match &post.takes_back {
        Some(Taken::Cancelled(id)) => (Some(id.as_str()), None),
        Some(Taken::Superseded(id)) => (None, Some(id.as_str())),
        None => (None, None),
    };
    let note = &post.note;
    let state = (0u8..).zip(STATES).find(|(_, state)| *state == note.state);
    tx.prepare_cached(sql)?.execute(params![
        post.id.as_str(),
        post.poster.name(),
        joined(&post.newsgroups),
        post.subject,
        cancels,
        supersedes,
        state.map_or(0, |(number, _)| number),
        note.at,
        note.changed,
        note.server.as_deref(),
        note.words,
        joined(&note.left_out),
        note.taken_back.as_ref().map(|back| back.at),
        note.taken_back
            .as_ref()
            .and_then(|back| back.by.as_ref().map(MessageId::as_str)),
        post.raw.as_deref(),
    ])?;
    Ok(())
}

pub(super) fn remove(tx: &Transaction<'_>, id: &MessageId) -> rusqlite::Result<()> {
    tx.execute("DELETE FROM news_post WHERE id = ?1", [id.as_str()])?;
    Ok(())
}

/// Removes the oldest rows beyond this number, and the oldest articles beyond so many bytes, but for those that may have to
/// be sent again.
pub(super) fn bound(tx: &Transaction<'_>, most: u32, bytes: usize) -> rusqlite::Result<()> {
    let sql = "DELETE FROM news_post WHERE id IN (SELECT id FROM news_post ORDER BY at DESC LIMIT -1 OFFSET ?1)";
    tx.prepare_cached(sql)?.execute([most])?;
    let kept: i64 = tx
        .prepare_cached("SELECT coalesce(sum(length(raw)), 0) FROM news_post")?
        .query_row([], |row| row.get(0))?;
    let mut surplus = kept - i64::try_from(bytes).unwrap_or(i64::MAX);
    while surplus > 0 {
        let sql = "SELECT id, length(raw) FROM news_post WHERE raw IS NOT NULL AND state > 1 ORDER BY at LIMIT 1";
        let oldest: Option<(String, i64)> = tx
            .prepare_cached(sql)?
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((id, length)) = oldest else { break };
        tx.execute("UPDATE news_post SET raw = NULL WHERE id = ?1", [id])?;
        surplus -= length;
    }
    Ok(())
}

fn post(row: &Row<'_>) -> rusqlite::Result<Option<Post>> {
    let id = |place: usize| -> rusqlite::Result<Option<MessageId>> {
        let text: Option<String> = row.get(place)?;
        Ok(text.and_then(|text| text.parse().ok()))
    };
    let Some(own) = id(0)? else {
        return Ok(None);
    };
    let poster: String = row.get(1)?;
    let state: u8 = row.get(6)?;
    let server: Option<String> = row.get(9)?;
    let taken_at: Option<i64> = row.get(12)?;
    let raw: Option<Vec<u8>> = row.get(14)?;
    let taken_by = id(13)?;
    Ok(Some(Post {
        id: own,
        poster: Poster::named(&poster),
        newsgroups: names(row.get(2)?),
        subject: row.get(3)?,
        takes_back: match (id(4)?, id(5)?) {
            (Some(id), _) => Some(Taken::Cancelled(id)),
            (None, Some(id)) => Some(Taken::Superseded(id)),
            (None, None) => None,
        },
        note: PostNote {
            state: STATES
                .get(usize::from(state))
                .copied()
                .unwrap_or(PostState::Lost),
            at: row.get(7)?,
            changed: row.get(8)?,
            server: server.map(Arc::from),
            words: row.get(10)?,
            left_out: names(row.get(11)?),
            taken_back: taken_at.map(|at| TakenBack { at, by: taken_by }),
        },
        raw: raw.map(Into::into),
    }))
}

/// Names have no commas.
fn joined(names: &[Newsgroup]) -> String {
    let names: Vec<&str> = names.iter().map(Newsgroup::as_str).collect();
    names.join(",")
}

fn names(text: String) -> Vec<Newsgroup> {
    text.split(',')
        .filter_map(|name| name.parse().ok())
        .collect()
}
