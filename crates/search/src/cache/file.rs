//! What is in `search.db`, which may be deleted at any time: without it, answers are kept in memory alone.

use rusqlite::{Connection, OptionalExtension};
use weir_store::sqlite::{Expendable, Migrations};

pub(super) const CACHE_FILE: Expendable = Expendable {
    front: "search",
    noun: "the cache",
    otherwise: "answers are kept in memory only",
    migrations: MIGRATIONS,
    check: look,
};

const MIGRATIONS: Migrations = Migrations {
    owner: "search",
    steps: &["
        CREATE TABLE search_part (
            key BLOB PRIMARY KEY, indexer TEXT NOT NULL, at INTEGER NOT NULL,
            charset TEXT, size INTEGER NOT NULL, body BLOB NOT NULL
        ) WITHOUT ROWID;
        CREATE INDEX search_part_at ON search_part (at);
        CREATE TABLE search_caps (
            indexer TEXT PRIMARY KEY, place TEXT NOT NULL, at INTEGER NOT NULL, body BLOB NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE search_file (
            key BLOB PRIMARY KEY, at INTEGER NOT NULL, size INTEGER NOT NULL, body BLOB NOT NULL
        ) WITHOUT ROWID;
        CREATE INDEX search_file_at ON search_file (at);
    "],
};

/// Reads both ends of each table and index: a few pages, however large the file is. Damage in between is found when it
/// is met.
fn look(connection: &Connection) -> rusqlite::Result<()> {
    for (table, column) in [
        ("search_part", "key"),
        ("search_part", "at"),
        ("search_caps", "indexer"),
        ("search_file", "key"),
        ("search_file", "at"),
    ] {
        for order in ["ASC", "DESC"] {
            let sql = format!("SELECT at FROM {table} ORDER BY {column} {order} LIMIT 1");
            let row = connection.query_row(&sql, [], |row| row.get::<_, i64>(0));
            row.optional()?;
        }
    }
    Ok(())
}
