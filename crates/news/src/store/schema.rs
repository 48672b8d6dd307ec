//! The tables of `news.db`.
//!
//! An article of a newsgroup is a row of `news_number`: its ID, its number and its date. The text of its line stands apart,
//! so that it can go while the number keeps its meaning. Numbers are 0 for articles without one, which puts those behind
//! all others in the one index by which lists are read, newest first.
//!
//! The file is not vacuumed: pages that are freed are used again, so that it stays at about its limit, and the pointer maps
//! of `auto_vacuum` would cost more writes on each page than they give back. A file that is to become smaller is deleted.

use rusqlite::{Connection, OptionalExtension};
use weir_store::sqlite::{Expendable, Migrations};

pub(super) const NEWS_FILE: Expendable = Expendable {
    front: "news",
    noun: "the store of articles",
    otherwise: "articles and overviews are kept in memory only",
    migrations: Migrations {
        owner: "news",
        steps: &[TABLES, ARRIVALS, JOURNAL, LOGS],
    },
    check,
};

const TABLES: &str = "
    CREATE TABLE news_server (id INTEGER PRIMARY KEY, place TEXT NOT NULL UNIQUE);
    CREATE TABLE news_list (
        server INTEGER NOT NULL, kind INTEGER NOT NULL, version INTEGER NOT NULL, part INTEGER NOT NULL,
        last INTEGER NOT NULL, at INTEGER NOT NULL, length INTEGER NOT NULL, block BLOB NOT NULL,
        PRIMARY KEY (server, kind, version, part)
    );
    -- Without a name: it is being deleted. AUTOINCREMENT, so that what is left of it never belongs to another.
    CREATE TABLE news_newsgroup (
        id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, opened INTEGER NOT NULL,
        low INTEGER NOT NULL DEFAULT 0, high INTEGER NOT NULL DEFAULT 0,
        room_end INTEGER NOT NULL DEFAULT 0, lead INTEGER,
        lines INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0,
        swept INTEGER NOT NULL DEFAULT -1
    );
    CREATE INDEX news_newsgroup_opened ON news_newsgroup (opened);
    CREATE TABLE news_carried (
        newsgroup INTEGER NOT NULL, server INTEGER NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL,
        count INTEGER NOT NULL, mark INTEGER NOT NULL, earlier INTEGER NOT NULL, renewed INTEGER NOT NULL,
        PRIMARY KEY (newsgroup, server)
    ) WITHOUT ROWID;
    CREATE TABLE news_checked (
        newsgroup INTEGER NOT NULL, server INTEGER NOT NULL, at INTEGER NOT NULL,
        covered BLOB NOT NULL,
        PRIMARY KEY (newsgroup, server)
    ) WITHOUT ROWID;
    CREATE TABLE news_run (
        newsgroup INTEGER NOT NULL, server INTEGER NOT NULL, our_start INTEGER NOT NULL,
        length INTEGER NOT NULL, their_start INTEGER NOT NULL,
        PRIMARY KEY (newsgroup, server, our_start)
    ) WITHOUT ROWID;
    CREATE TABLE news_number (
        row INTEGER PRIMARY KEY, newsgroup INTEGER NOT NULL, number INTEGER NOT NULL,
        date INTEGER NOT NULL, hash INTEGER NOT NULL, id TEXT NOT NULL
    );
    CREATE INDEX news_number_number ON news_number (newsgroup, number, date);
    CREATE INDEX news_number_hash ON news_number (newsgroup, hash);
    CREATE TABLE news_line (row INTEGER PRIMARY KEY, line BLOB NOT NULL);
    CREATE TABLE news_article (
        row INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, read INTEGER NOT NULL, size INTEGER NOT NULL,
        server TEXT NOT NULL, fetched INTEGER NOT NULL, length INTEGER NOT NULL
    );
    CREATE INDEX news_article_read ON news_article (read);
    -- Apart, so that noting that an article was read does not touch its bytes.
    CREATE TABLE news_body (row INTEGER PRIMARY KEY, body BLOB NOT NULL);
    CREATE TABLE news_total (articles INTEGER NOT NULL);
    INSERT INTO news_total VALUES (0);
    CREATE TRIGGER news_article_more AFTER INSERT ON news_article
        BEGIN UPDATE news_total SET articles = articles + new.size; END;
    CREATE TRIGGER news_article_less AFTER DELETE ON news_article
        BEGIN UPDATE news_total SET articles = articles - old.size; END;
";

const ARRIVALS: &str = "
    -- Articles that became known in a minute or later have rows above this one.
    CREATE TABLE news_arrival (minute INTEGER PRIMARY KEY, row INTEGER NOT NULL);
    CREATE TABLE news_first_seen (name TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
";

/// What the index of the full text has still to look at: the articles about which something was written or deleted. In the
/// same transaction, so that neither is ever known without the other. The token changes whenever something may have been missed.
const JOURNAL: &str = "
    CREATE TABLE news_change (
        place INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB, id TEXT, newsgroup INTEGER NOT NULL
    );
    CREATE TABLE news_journal (token INTEGER NOT NULL, kept INTEGER NOT NULL);
    INSERT INTO news_journal VALUES (random(), 0);
    CREATE TRIGGER news_article_new AFTER INSERT ON news_article
        BEGIN INSERT INTO news_change (key, newsgroup) SELECT new.key, 0 FROM news_journal WHERE kept; END;
    CREATE TRIGGER news_article_gone AFTER DELETE ON news_article
        BEGIN INSERT INTO news_change (key, newsgroup) SELECT old.key, 0 FROM news_journal WHERE kept; END;
    CREATE TRIGGER news_line_new AFTER INSERT ON news_line
        BEGIN INSERT INTO news_change (id, newsgroup) SELECT id, newsgroup
            FROM news_number JOIN news_journal ON kept WHERE row = new.row; END;
    -- A line goes before its number does.
    CREATE TRIGGER news_line_gone AFTER DELETE ON news_line
        BEGIN INSERT INTO news_change (id, newsgroup) SELECT id, newsgroup
            FROM news_number JOIN news_journal ON kept WHERE row = old.row; END;
";

/// The article numbers that nodes have agreed on, as they stand in the store that they share. Apart from the rest, so that they
/// stay when a newsgroup's lines are thrown away.
const LOGS: &str = "
    CREATE TABLE news_log (
        name TEXT NOT NULL, place INTEGER NOT NULL, entry BLOB NOT NULL, PRIMARY KEY (name, place)
    ) WITHOUT ROWID;
";

/// Reads both ends of each table and index: a few pages, however large the file is. Damage in between is found when it
/// is met.
fn check(connection: &Connection) -> rusqlite::Result<()> {
    for (table, key) in [
        ("news_server", "id"),
        ("news_list", "rowid"),
        ("news_newsgroup", "id"),
        ("news_newsgroup", "name"),
        ("news_newsgroup", "opened"),
        ("news_carried", "newsgroup"),
        ("news_checked", "newsgroup"),
        ("news_run", "newsgroup"),
        ("news_number", "row"),
        ("news_number", "newsgroup"),
        ("news_line", "row"),
        ("news_article", "row"),
        ("news_article", "key"),
        ("news_article", "read"),
        ("news_body", "row"),
        ("news_total", "articles"),
        ("news_arrival", "minute"),
        ("news_first_seen", "name"),
        ("news_change", "place"),
        ("news_journal", "token"),
        ("news_log", "name"),
    ] {
        for order in ["ASC", "DESC"] {
            let sql = format!("SELECT {key} IS NULL FROM {table} ORDER BY {key} {order} LIMIT 1");
            let row = connection.query_row(&sql, [], |row| row.get::<_, i64>(0));
            row.optional()?;
        }
    }
    Ok(())
}
