//! Secrets of the web part in `state.db`: how they are made, compared and stored.

use weir_store::{
    rusqlite::{self, Connection, OptionalExtension, Transaction},
    sqlite::{File, Migrations},
};

use crate::Error;

/// The tables of the web part.
pub(crate) const MIGRATIONS: Migrations = Migrations {
    owner: "web",
    steps: &["
    -- name: 'key' (text, made on the first start), 'form' (bytes, binds form tokens), 'link' (hash of a link token), 'used' (when
    -- the first key was last sent)
    CREATE TABLE web_secret (name TEXT PRIMARY KEY, value BLOB NOT NULL, made INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE web_session (
        id      BLOB PRIMARY KEY,   -- hash of what the cookie holds
        key     BLOB NOT NULL,      -- print of the key in force at sign-in; another key ends the session
        created INTEGER NOT NULL,
        seen    INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        agent   TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX web_session_expires ON web_session (expires);
    ", "
    -- Keys beside the first one.
    CREATE TABLE web_key (
        id     INTEGER PRIMARY KEY AUTOINCREMENT,
        name   TEXT NOT NULL,
        allows TEXT NOT NULL,         -- its right
        print  BLOB NOT NULL UNIQUE,  -- hash of the key
        made   INTEGER NOT NULL,
        used   INTEGER NOT NULL       -- when it was last sent, to the minute; 0 for never
    );
    ALTER TABLE web_session ADD COLUMN address TEXT NOT NULL DEFAULT '';  -- from where somebody signed in
    ", "
    -- Sessions and keys that were ended: another node that has not heard of it must not bring them back.
    CREATE TABLE web_gone (kind TEXT NOT NULL, id BLOB NOT NULL, until INTEGER NOT NULL, PRIMARY KEY (kind, id)) WITHOUT ROWID;
    -- The first keys of all nodes.
    CREATE TABLE web_first (
        node    INTEGER PRIMARY KEY,
        name    TEXT NOT NULL,
        print   BLOB NOT NULL,
        strong  INTEGER NOT NULL,    -- made by Weir
        changes INTEGER NOT NULL,    -- counted by its node
        revoked INTEGER NOT NULL
    );
    -- What other nodes bind form tokens with.
    CREATE TABLE web_form (secret BLOB PRIMARY KEY, made INTEGER NOT NULL) WITHOUT ROWID;
    "],
};

/// The row of the table that holds where Weir last listened, as text.
pub(crate) const ADDRESS: &str = "address";
/// The row whose time is when the first key was last sent.
pub(crate) const USED: &str = "used";

/// A blake3 hash, as stored in tables.
pub(crate) type Hash = [u8; 32];

/// Random bytes from the operating system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(Error::Random)?;
    Ok(bytes)
}

/// A fresh token of 160 bits, in 32 characters that can be read aloud.
pub(crate) fn token() -> Result<String, Error> {
    Ok(data_encoding::BASE32_NOPAD
        .encode(&random::<20>()?)
        .to_ascii_lowercase())
}

/// What is stored of a token. Tokens are random, so a fast hash is enough.
pub(crate) fn hash(token: &str) -> Hash {
    *blake3::hash(token.as_bytes()).as_bytes()
}

/// Reads a secret, or stores `made` if there is none; true if it was stored now.
pub(crate) fn kept(
    file: &File,
    name: &'static str,
    made: Vec<u8>,
    now: i64,
) -> Result<(Vec<u8>, bool), Error> {
    let kept = file.write_blocking(move |tx| {
        if let Some(value) = read(tx, name)? {
            return Ok((value, false));
        }
        put(tx, name, &made, now)?;
        Ok((made, true))
    })?;
    Ok(kept)
}

pub(crate) fn read(connection: &Connection, name: &str) -> rusqlite::Result<Option<Vec<u8>>> {
    connection
        .query_row(
            "SELECT value FROM web_secret WHERE name = ?1",
            [name],
            |row| row.get(0),
        )
        .optional()
}

/// When a row was written; 0 if there is none.
pub(crate) fn made(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    let sql = "SELECT made FROM web_secret WHERE name = ?1";
    let made = connection.query_row(sql, [name], |row| row.get(0));
    Ok(made.optional()?.unwrap_or(0))
}

/// Stores a secret in place of the previous one.
pub(crate) fn put(
    tx: &Transaction<'_>,
    name: &str,
    value: &[u8],
    now: i64,
) -> rusqlite::Result<()> {
    tx.execute(
        "INSERT OR REPLACE INTO web_secret (name, value, made) VALUES (?1, ?2, ?3)",
        (name, value, now),
    )?;
    Ok(())
}
