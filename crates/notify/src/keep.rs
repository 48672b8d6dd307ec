//! What must survive a restart, so that nothing is told twice and nothing is forgotten: what each hook was told, and what
//! it still has to be told. Bounded by the number of upstreams and hooks.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Transaction, params};
use weir_store::Error;
use weir_store::sqlite::{File, Migrations};

use crate::hook::Unwritten;
use crate::outbox::Outbox;
use crate::subject::Subject;
use crate::watch::KeptCourse;

const MIGRATIONS: Migrations = Migrations {
    owner: "notify",
    steps: &["
        CREATE TABLE notify_told (
            hook TEXT NOT NULL, subject TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (hook, subject)
        ) WITHOUT ROWID;
        CREATE TABLE notify_outbox (hook TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
    "],
};

/// What was kept of one hook.
#[derive(Debug, Default)]
pub(crate) struct KeptHook {
    pub(crate) told: Vec<(Subject, KeptCourse)>,
    pub(crate) outbox: Outbox,
}

/// Where it is kept.
pub(crate) enum Keep {
    /// `state.db`.
    File(File),
    /// For tests that pause time.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "tests that pause time keep no file")
    )]
    Memory(std::sync::Arc<parking_lot::Mutex<KeptRows>>),
}

/// The rows of both tables.
#[derive(Debug, Default)]
pub(crate) struct KeptRows {
    told: BTreeMap<(String, String), String>,
    outbox: BTreeMap<String, String>,
}

/// One row to write; without a body it is removed.
#[derive(Debug)]
enum Row {
    Told(String, String, Option<String>),
    Outbox(String, Option<String>),
}

impl Keep {
    pub(crate) fn open(file: File) -> Result<Self, Error> {
        file.migrate(MIGRATIONS)?;
        Ok(Self::File(file))
    }

    /// All that was kept, by hook. Rows that cannot be read, such as those of a later Weir, are left out.
    pub(crate) fn load(&self) -> Result<HashMap<String, KeptHook>, Error> {
        let rows = match self {
            Self::File(file) => file.read(|connection| {
                let mut all = KeptRows::default();
                let mut told = connection.prepare("SELECT hook, subject, body FROM notify_told")?;
                let mut rows = told.query([])?;
                while let Some(row) = rows.next()? {
                    all.told.insert((row.get(0)?, row.get(1)?), row.get(2)?);
                }
                let mut outbox = connection.prepare("SELECT hook, body FROM notify_outbox")?;
                let mut rows = outbox.query([])?;
                while let Some(row) = rows.next()? {
                    all.outbox.insert(row.get(0)?, row.get(1)?);
                }
                Ok(all)
            })?,
            Self::Memory(rows) => {
                let rows = rows.lock();
                KeptRows {
                    told: rows.told.clone(),
                    outbox: rows.outbox.clone(),
                }
            }
        };
        let mut all: HashMap<String, KeptHook> = HashMap::new();
        for ((hook, subject), body) in rows.told {
            let subject = Subject::read(&subject);
            if let (Some(subject), Ok(kept)) = (subject, serde_json::from_str(&body)) {
                all.entry(hook).or_default().told.push((subject, kept));
            }
        }
        for (hook, body) in rows.outbox {
            if let Ok(outbox) = serde_json::from_str(&body) {
                all.entry(hook).or_default().outbox = outbox;
            }
        }
        Ok(all)
    }

    /// Writes what has changed, all or nothing.
    pub(crate) async fn write(&self, changes: &[(String, Unwritten)]) -> Result<(), Error> {
        let rows: Vec<Row> = changes
            .iter()
            .flat_map(|(hook, one)| rows(hook, one))
            .collect();
        match self {
            Self::File(file) => {
                let write = move |transaction: &Transaction<'_>| {
                    rows.iter().try_for_each(|row| write(transaction, row))
                };
                file.write(write).await
            }
            Self::Memory(kept) => {
                let mut kept = kept.lock();
                for row in rows {
                    match row {
                        Row::Told(hook, subject, Some(body)) => {
                            kept.told.insert((hook, subject), body);
                        }
                        Row::Told(hook, subject, None) => {
                            kept.told.remove(&(hook, subject));
                        }
                        Row::Outbox(hook, Some(body)) => {
                            kept.outbox.insert(hook, body);
                        }
                        Row::Outbox(hook, None) => {
                            kept.outbox.remove(&hook);
                        }
                    }
                }
                Ok(())
            }
        }
    }

    /// Forgets hooks that are no longer there. If it cannot be written, the next start does it.
    pub(crate) fn forget_others(&self, names: Vec<String>) {
        match self {
            Self::File(file) => {
                let forgotten = file.write_later(move |transaction| {
                    for (table, column) in [("notify_told", "hook"), ("notify_outbox", "hook")] {
                        let sql = format!("SELECT DISTINCT {column} FROM {table}");
                        let mut there = transaction.prepare(&sql)?;
                        let there = there.query_map([], |row| row.get::<_, String>(0))?;
                        let there: Vec<String> = there.collect::<rusqlite::Result<_>>()?;
                        for hook in there.iter().filter(|hook| !names.contains(hook)) {
                            let sql = format!("DELETE FROM {table} WHERE {column} = ?1");
                            transaction.execute(&sql, [hook])?;
                        }
                    }
                    Ok(())
                });
                if let Err(error) = forgotten {
                    tracing::debug!(%error, "rows of former hooks stay for now");
                }
            }
            Self::Memory(kept) => {
                let mut kept = kept.lock();
                kept.told.retain(|(hook, _), _| names.contains(hook));
                kept.outbox.retain(|hook, _| names.contains(hook));
            }
        }
    }
}

fn rows(hook: &str, changed: &Unwritten) -> Vec<Row> {
    let told = changed.told.iter().map(|(subject, kept)| {
        let body = kept.map(|kept| json(&kept));
        Row::Told(hook.to_owned(), subject.to_string(), body)
    });
    let outbox = changed.outbox.iter().map(|outbox| {
        let body = (!outbox.is_empty()).then(|| json(outbox));
        Row::Outbox(hook.to_owned(), body)
    });
    told.chain(outbox).collect()
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("plain numbers and texts")
}

fn write(transaction: &Transaction<'_>, row: &Row) -> rusqlite::Result<()> {
    let changed = match row {
        Row::Told(hook, subject, Some(body)) => {
            let sql =
                "INSERT OR REPLACE INTO notify_told (hook, subject, body) VALUES (?1, ?2, ?3)";
            let mut insert = transaction.prepare_cached(sql)?;
            insert.execute(params![hook, subject, body])
        }
        Row::Told(hook, subject, None) => transaction
            .prepare_cached("DELETE FROM notify_told WHERE hook = ?1 AND subject = ?2")?
            .execute(params![hook, subject]),
        Row::Outbox(hook, Some(body)) => transaction
            .prepare_cached("INSERT OR REPLACE INTO notify_outbox (hook, body) VALUES (?1, ?2)")?
            .execute(params![hook, body]),
        Row::Outbox(hook, None) => transaction
            .prepare_cached("DELETE FROM notify_outbox WHERE hook = ?1")?
            .execute(params![hook]),
    };
    changed.map(drop)
}
