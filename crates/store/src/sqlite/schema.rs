//! Versions of tables, per owner, and the steps between them. The parent module says why.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::{Migrations, health::in_words};
use crate::Error;

/// Version of the bookkeeping itself, in `user_version`.
const LAYOUT: u32 = 1;

/// Creates the bookkeeping table, or refuses a file whose bookkeeping is newer.
pub(super) fn begin(connection: &Connection, path: &Path) -> Result<(), Error> {
    let explain = |source| in_words(path, source);
    let found: u32 = connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .map_err(explain)?;
    if found > LAYOUT {
        return Err(newer(path, "schema", found, LAYOUT));
    }
    connection
        .execute_batch(
            "BEGIN IMMEDIATE;
             CREATE TABLE IF NOT EXISTS schema (owner TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
             PRAGMA user_version = 1;
             COMMIT;",
        )
        .map_err(explain)
}

/// Runs the steps that are still missing in the owner's tables.
pub(super) fn migrate(
    connection: &mut Connection,
    path: &Path,
    migrations: Migrations,
) -> Result<(), Error> {
    let Migrations { owner, steps } = migrations;
    let found = version(connection, owner).map_err(|source| in_words(path, source))?;
    let known = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    if found > known {
        return Err(newer(path, owner, found, known));
    }
    for (version, sql) in (1u32..).zip(steps).skip(found as usize) {
        step(connection, owner, version, sql).map_err(|source| match in_words(path, source) {
            Error::Sqlite(source) => Error::Migration {
                path: path.to_owned(),
                owner: owner.to_owned(),
                version,
                source,
            },
            damaged => damaged,
        })?;
        tracing::debug!(owner, version, path = %path.display(), "tables migrated");
    }
    Ok(())
}

fn version(connection: &Connection, owner: &str) -> rusqlite::Result<u32> {
    let found = connection
        .query_row(
            "SELECT version FROM schema WHERE owner = ?1",
            [owner],
            |row| row.get(0),
        )
        .optional()?;
    Ok(found.unwrap_or(0))
}

fn step(connection: &mut Connection, owner: &str, version: u32, sql: &str) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(sql)?;
    transaction.execute(
        "INSERT INTO schema (owner, version) VALUES (?1, ?2)
         ON CONFLICT (owner) DO UPDATE SET version = excluded.version",
        (owner, version),
    )?;
    transaction.commit()
}

fn newer(path: &Path, owner: &str, found: u32, known: u32) -> Error {
    Error::Newer {
        path: path.to_owned(),
        owner: owner.to_owned(),
        found,
        known,
    }
}
