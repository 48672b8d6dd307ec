//! The tables of `news-text.db`.
//!
//! The row of an article is its date, in seconds, and twenty bits to tell those of one second apart. So the newest come first
//! by walking down the rows, a span of time is a span of rows, and the oldest are the lowest: nothing has to be sorted.

use rusqlite::{Connection, OptionalExtension};
use weir_store::sqlite::{Expendable, Migrations};

pub(super) const TEXT_FILE: Expendable = Expendable {
    front: "news",
    noun: "the full-text index",
    otherwise: "stored articles cannot be searched",
    migrations: Migrations {
        owner: "text",
        steps: &[TABLES],
    },
    check,
};

/// Bits of a row that tell articles of one second apart.
const WITHIN: u32 = 20;
/// Seconds that fit into the rest, some thirty thousand years.
const LATEST: i64 = 1 << 40;

/// The first row of a second.
pub(super) fn row_of(seconds: i64) -> i64 {
    seconds.clamp(0, LATEST) << WITHIN
}

/// The second of a row.
pub(super) fn second_of(row: i64) -> i64 {
    row >> WITHIN
}

/// Words come in as `text::words` folds them, so the tokenizer has only to part them at spaces. Nothing of the text is kept,
/// and rows can be deleted without it.
const TABLES: &str = "
    CREATE TABLE text_article (row INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, body INTEGER NOT NULL);
    CREATE TABLE text_place (
        row INTEGER NOT NULL, newsgroup INTEGER NOT NULL, PRIMARY KEY (row, newsgroup)
    ) WITHOUT ROWID;
    CREATE VIRTUAL TABLE text_word USING fts5(
        subject, author, body, quoted, newsgroups,
        content='', contentless_delete=1, tokenize='ascii'
    );
    -- token: the state of news.db that this is in step with. line, article: the walk has still to see the rows below. unseen: how
    -- many these are. horizon: older rows had no room. owed: rows that have to go. merging: what has gone is still on disk.
    CREATE TABLE text_state (
        token INTEGER, line INTEGER NOT NULL, article INTEGER NOT NULL, unseen INTEGER NOT NULL,
        articles INTEGER NOT NULL, bodies INTEGER NOT NULL, horizon INTEGER NOT NULL, owed INTEGER NOT NULL,
        merging INTEGER NOT NULL
    );
    INSERT INTO text_state VALUES (NULL, 0, 0, 0, 0, 0, 0, 0, 0);
";

/// Where the index stands; one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct IndexState {
    pub(super) token: Option<i64>,
    pub(super) line: i64,
    pub(super) article: i64,
    pub(super) unseen: i64,
    pub(super) articles: i64,
    pub(super) bodies: i64,
    pub(super) horizon: i64,
    pub(super) owed: i64,
    pub(super) merging: bool,
}

impl IndexState {
    pub(super) fn read(index: &Connection) -> rusqlite::Result<Self> {
        let sql = "SELECT token, line, article, unseen, articles, bodies, horizon, owed, merging FROM text_state";
        index.prepare_cached(sql)?.query_row([], |row| {
            Ok(Self {
                token: row.get(0)?,
                line: row.get(1)?,
                article: row.get(2)?,
                unseen: row.get(3)?,
                articles: row.get(4)?,
                bodies: row.get(5)?,
                horizon: row.get(6)?,
                owed: row.get(7)?,
                merging: row.get(8)?,
            })
        })
    }

    pub(super) fn write(&self, index: &Connection) -> rusqlite::Result<()> {
        let sql = "UPDATE text_state SET token = ?1, line = ?2, article = ?3, unseen = ?4, articles = ?5, bodies = ?6,
            horizon = ?7, owed = ?8, merging = ?9";
        index.prepare_cached(sql)?.execute(rusqlite::params![
            self.token,
            self.line,
            self.article,
            self.unseen,
            self.articles,
            self.bodies,
            self.horizon,
            self.owed,
            self.merging
        ])?;
        Ok(())
    }
}

fn check(index: &Connection) -> rusqlite::Result<()> {
    IndexState::read(index)?;
    for (table, key) in [
        ("text_article", "row"),
        ("text_article", "key"),
        ("text_place", "row"),
    ] {
        for order in ["ASC", "DESC"] {
            let sql = format!("SELECT {key} IS NULL FROM {table} ORDER BY {key} {order} LIMIT 1");
            let row = index.query_row(&sql, [], |row| row.get::<_, i64>(0));
            row.optional()?;
        }
    }
    let sql = "SELECT rowid FROM text_word WHERE text_word MATCH '\"a\"' LIMIT 1";
    let found = index.query_row(sql, [], |row| row.get::<_, i64>(0));
    found.optional()?;
    Ok(())
}
