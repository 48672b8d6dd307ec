//! What programs asked and fetched, what became of it, and two things that must stay: the key of links and the
//! numbers of indexers. All of it in `state.db`.

mod rows;

use std::sync::atomic::{AtomicI64, Ordering};

use rusqlite::{Connection, OptionalExtension, Row, params};
use weir_store::Error;
use weir_store::sqlite::{File, Migrations};

use crate::bill::Cost;
use crate::links::LinkKey;
use crate::nodes::{GivenNumber, NumberBook};

pub(crate) use self::rows::{Filter, GrabKind, Grabbed, PartOutcome, Searched, Yield};
use self::rows::{grabbed, outcome, searched};

const MIGRATIONS: Migrations = Migrations {
    owner: "search",
    steps: &["
        CREATE TABLE search_key (id INTEGER PRIMARY KEY CHECK (id = 1), key BLOB NOT NULL);
        CREATE TABLE search_indexer (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
        CREATE TABLE search_search (
            id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, program TEXT NOT NULL, address TEXT NOT NULL,
            class INTEGER NOT NULL, query TEXT NOT NULL, scope TEXT NOT NULL, asked INTEGER NOT NULL,
            answered INTEGER NOT NULL, results INTEGER NOT NULL, took_ms INTEGER NOT NULL, calls INTEGER NOT NULL,
            shared INTEGER NOT NULL
        );
        CREATE TABLE search_outcome (
            search INTEGER NOT NULL, indexer TEXT NOT NULL, what TEXT NOT NULL, reason TEXT NOT NULL,
            releases INTEGER NOT NULL, alone INTEGER NOT NULL, took_ms INTEGER NOT NULL,
            PRIMARY KEY (search, indexer)
        ) WITHOUT ROWID;
        CREATE TABLE search_grab (
            id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, program TEXT NOT NULL, address TEXT NOT NULL,
            indexer TEXT NOT NULL, title TEXT NOT NULL, what TEXT NOT NULL, reason TEXT NOT NULL,
            bytes INTEGER NOT NULL, took_ms INTEGER NOT NULL
        );
    ", "
        UPDATE search_outcome SET what = 'asking' WHERE what = 'running';
    ", "
        ALTER TABLE search_search ADD COLUMN question TEXT NOT NULL DEFAULT '';
        ALTER TABLE search_outcome ADD COLUMN calls INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE search_outcome ADD COLUMN shared_with TEXT;
        UPDATE search_outcome SET calls = 1 WHERE what IN ('answered', 'failed');
    ", "
        -- When the key was made; 0 for one from before. And what other nodes make links with.
        ALTER TABLE search_key ADD COLUMN made INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE search_link (key BLOB PRIMARY KEY, made INTEGER NOT NULL) WITHOUT ROWID;
        -- The numbers on which several nodes agree.
        CREATE TABLE search_number (
            name TEXT PRIMARY KEY, number INTEGER NOT NULL, made INTEGER NOT NULL
        ) WITHOUT ROWID;
    "],
};

/// What is remembered. Reads are made where they are asked for, writes on the thread of the file and in order.
pub(crate) struct History {
    file: File,
    /// The last numbers that were given. Given here and not by the tables, so that rows are in the order in which things
    /// began, and a search can be corrected that is not written yet.
    last_search: AtomicI64,
    last_grab: AtomicI64,
}

impl History {
    pub(crate) fn open(file: File) -> Result<Self, Error> {
        file.migrate(MIGRATIONS)?;
        let last = |table: &str| {
            let last = file.read(|connection| {
                let sql = "SELECT seq FROM sqlite_sequence WHERE name = ?1";
                connection
                    .query_row(sql, [table], |row| row.get(0))
                    .optional()
            })?;
            Ok::<_, Error>(AtomicI64::new(last.unwrap_or_default()))
        };
        Ok(Self {
            last_search: last("search_search")?,
            last_grab: last("search_grab")?,
            file,
        })
    }

    /// The file that all of it is in.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// The keys that seal links: one made at the first start, and those of other nodes.
    pub(crate) fn link_keys(&self, now: i64) -> Result<Vec<LinkKey>, crate::Error> {
        let mut fresh = [0; 32];
        getrandom::fill(&mut fresh)?;
        let keys = self.file.write_blocking(move |transaction| {
            transaction.execute(
                "INSERT OR IGNORE INTO search_key (id, key, made) VALUES (1, ?1, ?2)",
                (fresh, now),
            )?;
            let sql = "SELECT made, key FROM search_key UNION SELECT made, key FROM search_link";
            let mut keys = transaction.prepare(sql)?;
            let keys = keys.query_map([], |row| Ok(LinkKey::new(row.get(0)?, row.get(1)?)))?;
            keys.collect()
        })?;
        Ok(keys)
    }

    /// The numbers on which several nodes agree. Those that this node gave when it was the only one are the oldest.
    pub(crate) fn shared_numbers(&self) -> Result<NumberBook, Error> {
        let rows = self.file.write_blocking(|transaction| {
            transaction.execute(
                "INSERT OR IGNORE INTO search_number (name, number, made) SELECT name, number, 0 FROM search_indexer",
                [],
            )?;
            let mut rows = transaction.prepare("SELECT name, number, made FROM search_number")?;
            let rows = rows.query_map([], |row| {
                let (number, made) = (row.get(1)?, row.get(2)?);
                Ok((row.get(0)?, GivenNumber { made, number }))
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        Ok(NumberBook::new(rows))
    }

    /// Keeps a number that was given just now, before it is used.
    pub(crate) fn keep_number(&self, name: &str, given: GivenNumber) -> Result<(), Error> {
        let row = [(name.to_owned(), given)];
        self.file
            .write_blocking(move |transaction| crate::nodes::keep(transaction, &row))
    }

    /// The number of an indexer, which stays with its name.
    pub(crate) fn number(&self, name: &str) -> Result<u32, Error> {
        let sql = "SELECT number FROM search_indexer WHERE name = ?1";
        let known = self.file.read(|connection| {
            connection
                .query_row(sql, [name], |row| row.get(0))
                .optional()
        })?;
        if let Some(number) = known {
            return Ok(number);
        }
        // On the disk before it is used: programs keep this number, and another indexer must never get it.
        let name = name.to_owned();
        self.file.write_blocking(move |transaction| {
            transaction.execute("INSERT INTO search_indexer (name) VALUES (?1)", [&name])?;
            Ok(u32::try_from(transaction.last_insert_rowid()).unwrap_or(u32::MAX))
        })
    }

    /// The number of a search that begins now. Later ones are listed before it, whichever ends first.
    pub(crate) fn begin_search(&self) -> i64 {
        self.last_search.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The number of a download that begins now, as with searches.
    pub(crate) fn begin_grab(&self) -> i64 {
        self.last_grab.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Keeps a search.
    pub(crate) fn note_search(&self, searched: Searched) {
        let id = searched.id;
        self.write(move |transaction| {
            let sql = "INSERT INTO search_search (id, at, program, address, class, query, scope, asked, answered, results, \
                       took_ms, calls, shared, question) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, \
                       ?13, ?14)";
            transaction.prepare_cached(sql)?.execute(params![
                id,
                searched.at,
                searched.program,
                searched.address,
                searched.class,
                searched.query,
                searched.scope,
                searched.asked,
                searched.answered,
                searched.results,
                searched.took_ms,
                searched.calls,
                searched.shared,
                searched.question,
            ])?;
            let sql = "INSERT OR REPLACE INTO search_outcome (search, indexer, what, reason, releases, alone, took_ms, \
                       calls, shared_with) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
            let mut insert = transaction.prepare_cached(sql)?;
            for outcome in &searched.indexers {
                insert.execute(params![
                    id,
                    outcome.indexer,
                    outcome.what.name(),
                    outcome.reason,
                    outcome.releases,
                    outcome.alone,
                    outcome.took_ms,
                    outcome.calls,
                    outcome.shared_with,
                ])?;
            }
            Ok(())
        });
    }

    /// Corrects what a search cost, by indexer: calls may be made when its asker is gone. Writes are made in order, so
    /// the search itself is there.
    pub(crate) fn note_cost(&self, id: i64, costs: Vec<(String, Cost)>) {
        self.write(move |transaction| {
            let sql = "UPDATE search_outcome SET calls = ?3, shared_with = ?4 WHERE search = ?1 AND indexer = ?2";
            let mut update = transaction.prepare_cached(sql)?;
            for (indexer, cost) in &costs {
                update.execute(params![id, indexer, cost.calls, cost.shared_with])?;
            }
            let sql = "UPDATE search_search SET \
                       calls = (SELECT SUM(calls) FROM search_outcome WHERE search = ?1), \
                       shared = (SELECT COUNT(shared_with) FROM search_outcome WHERE search = ?1) WHERE id = ?1";
            transaction.execute(sql, [id])?;
            Ok(())
        });
    }

    pub(crate) fn note_grab(&self, grabbed: Grabbed) {
        self.write(move |transaction| {
            let sql = "INSERT INTO search_grab (id, at, program, address, indexer, title, what, reason, bytes, took_ms) \
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
            transaction.prepare_cached(sql)?.execute(params![
                grabbed.id,
                grabbed.at,
                grabbed.program,
                grabbed.address,
                grabbed.indexer,
                grabbed.title,
                grabbed.what.name(),
                grabbed.reason,
                grabbed.bytes,
                grabbed.took_ms,
            ])?;
            Ok(())
        });
    }

    /// A page of searches, the last begun first, each with what its indexers did.
    pub(crate) fn searches(&self, filter: &Filter) -> Result<Vec<Searched>, Error> {
        self.file.read(|connection| {
            let sql = "SELECT id, at, program, address, class, query, scope, asked, answered, results, took_ms, calls, \
                       shared, question FROM search_search WHERE id < ?1 AND (?2 = '' OR program = ?2) \
                       AND ((?3 = '' AND ?4 = '') OR EXISTS (SELECT 1 FROM search_outcome WHERE search = id \
                       AND (?3 = '' OR indexer = ?3) AND (?4 = '' OR what = ?4))) AND at >= ?5 AND at < ?6 \
                       ORDER BY id DESC LIMIT ?7";
            let mut found = rows(connection, sql, filter, searched)?;
            let sql = "SELECT indexer, what, reason, releases, alone, took_ms, calls, shared_with FROM search_outcome \
                       WHERE search = ?1";
            let mut outcomes = connection.prepare_cached(sql)?;
            for search in &mut found {
                let rows = outcomes.query_map([search.id], outcome)?;
                search.indexers = rows.collect::<rusqlite::Result<_>>()?;
                let programs = search.indexers.iter();
                let programs = programs.filter_map(|part| part.shared_with.clone());
                for program in programs {
                    if !search.shared_with.contains(&program) {
                        search.shared_with.push(program);
                    }
                }
            }
            Ok(found)
        })
    }

    /// A page of downloads, the last begun first.
    pub(crate) fn grabs(&self, filter: &Filter) -> Result<Vec<Grabbed>, Error> {
        self.file.read(|connection| {
            let sql = "SELECT id, at, program, address, indexer, title, what, reason, bytes, took_ms FROM search_grab \
                       WHERE id < ?1 AND (?2 = '' OR program = ?2) AND (?3 = '' OR indexer = ?3) \
                       AND (?4 = '' OR what = ?4) AND at >= ?5 AND at < ?6 ORDER BY id DESC LIMIT ?7";
            rows(connection, sql, filter, grabbed)
        })
    }

    /// The last different questions that a person asked, in words and as they can be asked again.
    pub(crate) fn last_queries(
        &self,
        program: &str,
        most: u32,
    ) -> Result<Vec<(String, String)>, Error> {
        self.file.read(|connection| {
            let sql = "SELECT query, question, MAX(id) AS last FROM search_search WHERE program = ?1 GROUP BY query \
                       ORDER BY last DESC LIMIT ?2";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map(params![program, most], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
            rows.collect()
        })
    }

    /// Programs that have asked, by name.
    pub(crate) fn programs(&self) -> Result<Vec<String>, Error> {
        self.file.read(|connection| {
            let sql = "SELECT DISTINCT program FROM search_search ORDER BY program LIMIT 200";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([], |row| row.get(0))?;
            rows.collect()
        })
    }

    /// When each of the last so many programs asked something, oldest first. Downloads tell nothing: strangers make them.
    pub(crate) fn heard(&self, most: usize) -> Result<Vec<(String, i64)>, Error> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut heard: Vec<(String, i64)> = self.file.read(|connection| {
            let sql = "SELECT program, MAX(at) AS last FROM search_search \
                       GROUP BY program ORDER BY last DESC LIMIT ?1";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([most], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        })?;
        heard.reverse();
        Ok(heard)
    }

    /// What came of an indexer since then.
    pub(crate) fn yield_of(&self, indexer: &str, since: i64) -> Result<Yield, Error> {
        self.file.read(|connection| {
            let sql = "SELECT COUNT(*), COALESCE(SUM(releases), 0), COALESCE(SUM(alone), 0) FROM search_outcome \
                       JOIN search_search ON id = search WHERE indexer = ?1 AND at >= ?2 \
                       AND what IN ('answered', 'shared')";
            let mut found = connection
                .prepare_cached(sql)?
                .query_row(params![indexer, since], |row| {
                    Ok(Yield {
                        searches: row.get(0)?,
                        releases: row.get(1)?,
                        alone: row.get(2)?,
                        grabs: 0,
                    })
                })?;
            let sql = "SELECT COUNT(*) FROM search_grab WHERE indexer = ?1 AND at >= ?2 AND what <> 'failed'";
            found.grabs = connection
                .prepare_cached(sql)?
                .query_row(params![indexer, since], |row| row.get(0))?;
            Ok(found)
        })
    }

    /// Forgets all but the last so many of each.
    pub(crate) fn trim(&self, most: u32) {
        self.write(move |transaction| {
            // By number and not by count, which would have to read the whole table each minute.
            for table in ["search_search", "search_grab"] {
                let sql = format!(
                    "DELETE FROM {table} WHERE id <= (SELECT COALESCE(MAX(id), 0) FROM {table}) - ?1"
                );
                transaction.execute(&sql, [most])?;
            }
            let sql = "DELETE FROM search_outcome WHERE search < (SELECT COALESCE(MIN(id), 0) FROM search_search)";
            transaction.execute(sql, [])?;
            Ok(())
        });
    }

    fn write(
        &self,
        work: impl FnOnce(&rusqlite::Transaction<'_>) -> rusqlite::Result<()> + Send + 'static,
    ) {
        if let Err(error) = self.file.write_later(work) {
            tracing::warn!(front = "search", %error, "the history has a gap");
        }
    }
}

/// The rows that a filter lets through; all such queries number their parameters alike.
fn rows<T>(
    connection: &Connection,
    sql: &str,
    filter: &Filter,
    read: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    let (from, to) = filter.day.unwrap_or((i64::MIN, i64::MAX));
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(
        params![
            filter.before.unwrap_or(i64::MAX),
            filter.program,
            filter.indexer,
            filter.what,
            from,
            to,
            filter.page
        ],
        read,
    )?;
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_has_its_number_before_it_is_written_and_nobody_else_gets_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = File::open(directory.path().join("state.db")).unwrap();
        let note = || {
            let history = History::open(file.clone()).unwrap();
            let id = history.begin_search();
            history.note_search(Searched {
                id,
                indexers: vec![PartOutcome::default()],
                ..Searched::default()
            });
            let cost = Cost {
                calls: 2,
                shared_with: None,
            };
            history.note_cost(id, vec![(String::new(), cost)]);
            file.write_blocking(|_| Ok(())).unwrap();
            let filter = Filter {
                page: 9,
                ..Filter::default()
            };
            let newest = history.searches(&filter).unwrap().remove(0);
            assert_eq!((newest.id, newest.calls), (id, 2));
            id
        };
        assert_eq!((note(), note()), (1, 2));
        let forget = "DELETE FROM search_search";
        file.write_blocking(move |transaction| transaction.execute(forget, []))
            .unwrap();
        assert_eq!(note(), 3, "not again the number of one that is forgotten");
    }

    #[test]
    fn rows_are_in_the_order_in_which_things_began() {
        let directory = tempfile::tempdir().unwrap();
        let file = File::open(directory.path().join("state.db")).unwrap();
        let history = History::open(file.clone()).unwrap();
        let filter = Filter {
            page: 9,
            ..Filter::default()
        };
        let [slow, quick] = [history.begin_search(), history.begin_search()];
        let [long, short] = [history.begin_grab(), history.begin_grab()];
        for id in [quick, slow] {
            history.note_search(Searched {
                id,
                ..Searched::default()
            });
        }
        for id in [short, long] {
            history.note_grab(Grabbed {
                id,
                ..Grabbed::default()
            });
        }
        file.write_blocking(|_| Ok(())).unwrap();
        let searches = history.searches(&filter).unwrap();
        let searches: Vec<i64> = searches.iter().map(|row| row.id).collect();
        assert_eq!(searches, [quick, slow]);
        let grabs = history.grabs(&filter).unwrap();
        let grabs: Vec<i64> = grabs.iter().map(|row| row.id).collect();
        assert_eq!(grabs, [short, long]);
        let again = History::open(file).unwrap();
        assert_eq!(again.begin_search(), quick + 1);
        assert_eq!(again.begin_grab(), short + 1);
    }

    #[test]
    fn rows_of_an_older_weir_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let file = File::open(directory.path().join("state.db")).unwrap();
        let first = Migrations {
            owner: MIGRATIONS.owner,
            steps: &MIGRATIONS.steps[..1],
        };
        file.migrate(first).unwrap();
        let rows = "
            INSERT INTO search_search VALUES (1, 5, 'Sonarr', '', 2, '\"some\"', 'all torrent indexers', 2, 1, 3, 9, 1, 0);
            INSERT INTO search_outcome VALUES (1, 'a', 'answered', '', 3, 3, 9), (1, 'b', 'running', '', 0, 0, 0);
        ";
        file.write_blocking(|transaction| transaction.execute_batch(rows))
            .unwrap();
        let history = History::open(file).unwrap();
        let filter = Filter {
            page: 9,
            what: "asking".to_owned(),
            ..Filter::default()
        };
        let rows = history.searches(&filter).unwrap();
        let words = rows[0].indexers.iter().map(|part| part.what.name());
        assert_eq!(words.collect::<Vec<_>>(), ["answered", "asking"]);
    }
}
