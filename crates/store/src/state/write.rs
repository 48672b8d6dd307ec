//! Changes as SQL; runs inside a transaction of the writer thread.

use std::{collections::HashMap, sync::Arc};

use rusqlite::{OptionalExtension, Params, Transaction, named_params};

use super::{
    batch::{Batch, FrontBatch},
    row::{AgendaRow, UpstreamRow, is_upstream},
    value::Wall,
};

/// Old starts that a transaction may delete besides two for each that it inserts, so that deleting keeps up and
/// never takes long.
const PRUNE: u32 = 64;

/// Writes all changes of a batch.
pub(super) fn apply(transaction: &Transaction<'_>, batch: &Batch) -> rusqlite::Result<()> {
    let (mut newest, mut inserted) = (None, 0u32);
    for (front, changes) in &batch.0 {
        let mut writer = Writer {
            transaction,
            front,
            ids: HashMap::new(),
        };
        writer.apply(changes)?;
        for (_, start) in changes.starts() {
            newest = newest.max(Some(start.at));
            inserted += 1;
        }
    }
    match newest {
        Some(now) => prune(transaction, now, PRUNE + 2 * inserted),
        None => Ok(()),
    }
}

/// Moves past events of a front that lie in the future to `now`.
pub(super) fn settle(
    transaction: &Transaction<'_>,
    front: &str,
    now: Wall,
) -> rusqlite::Result<()> {
    transaction.execute(
        "UPDATE engine_upstream
         SET last_start = min(last_start, ?2), last_call = min(last_call, ?2), gone = min(gone, ?2),
             error_at = min(error_at, ?2), off_since = min(off_since, ?2), on_since = min(on_since, ?2),
             rest_since = min(rest_since, ?2), rest_began = min(rest_began, ?2)
         WHERE front = ?1 AND (last_start > ?2 OR last_call > ?2 OR gone > ?2 OR error_at > ?2
             OR off_since > ?2 OR on_since > ?2 OR rest_since > ?2 OR rest_began > ?2)",
        (front, now.0),
    )?;
    transaction.execute(
        "INSERT INTO engine_start (upstream, ledger, window, at, times)
         SELECT upstream, ledger, window, ?2, sum(times) FROM engine_start
         WHERE at > ?2 AND upstream IN (SELECT id FROM engine_upstream WHERE front = ?1)
         GROUP BY upstream, ledger, window
         ON CONFLICT DO UPDATE SET times = times + excluded.times",
        (front, now.0),
    )?;
    transaction.execute(
        "DELETE FROM engine_start
         WHERE at > ?2 AND upstream IN (SELECT id FROM engine_upstream WHERE front = ?1)",
        (front, now.0),
    )?;
    Ok(())
}

/// Deletes at most `most` upstreams that were gone before that time, with everything stored about them.
pub(super) fn forget(
    transaction: &Transaction<'_>,
    before: Wall,
    most: u32,
) -> rusqlite::Result<usize> {
    let gone: Vec<(i64, String, String)> = transaction
        .prepare_cached("SELECT id, front, name FROM engine_upstream WHERE gone < ?1 LIMIT ?2")?
        .query_map((before.0, most), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?
        .collect::<Result<_, _>>()?;
    for (id, front, name) in &gone {
        transaction
            .prepare_cached("DELETE FROM engine_agenda WHERE front = ?1 AND upstream = ?2")?
            .execute((front, name))?;
        transaction
            .prepare_cached("DELETE FROM engine_past WHERE front = ?1 AND upstream = ?2")?
            .execute((front, name))?;
        transaction
            .prepare_cached("DELETE FROM engine_upstream WHERE id = ?1")?
            .execute([id])?;
    }
    Ok(gone.len())
}

/// Deletes at most `most` starts that no longer count.
fn prune(transaction: &Transaction<'_>, now: Wall, most: u32) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "DELETE FROM engine_start WHERE (upstream, ledger, window, at) IN
             (SELECT upstream, ledger, window, at FROM engine_start
              WHERE at + window * 1000000000 <= ?1 ORDER BY at + window * 1000000000 LIMIT ?2)",
        )?
        .execute((now.0, most))?;
    Ok(())
}

struct Writer<'a> {
    transaction: &'a Transaction<'a>,
    front: &'a str,
    /// Row numbers of the upstreams seen in this batch.
    ids: HashMap<Arc<str>, i64>,
}

impl Writer<'_> {
    fn apply(&mut self, changes: &FrontBatch) -> rusqlite::Result<()> {
        for name in &changes.cleared {
            self.clear(name)?;
        }
        for (name, row) in &changes.upstreams {
            self.upstream(name, row)?;
        }
        for ((name, ledger, window), calls) in &changes.limits {
            let key = (self.id(name)?, ledger.word(), window.0);
            match calls {
                Some(calls) => self.execute(
                    "INSERT INTO engine_limit (upstream, ledger, window, calls) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT DO UPDATE SET calls = excluded.calls",
                    (key.0, key.1, key.2, calls),
                )?,
                None => self.execute(
                    "DELETE FROM engine_limit WHERE upstream = ?1 AND ledger = ?2 AND window = ?3",
                    key,
                )?,
            }
        }
        for (name, start) in changes.starts() {
            let id = self.id(name)?;
            self.execute(
                "INSERT INTO engine_start (upstream, ledger, window, at, times) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT DO UPDATE SET times = times + excluded.times",
                (id, start.ledger.word(), start.window.0, start.at.0, start.times),
            )?;
        }
        for (name, past) in &changes.pasts {
            if is_upstream(name) {
                self.id(name)?;
            }
            self.execute(
                "INSERT OR REPLACE INTO engine_past (front, upstream, skew, text) VALUES (?1, ?2, ?3, ?4)",
                (self.front, &**name, past.skew, &past.text),
            )?;
        }
        for (id, entry) in &changes.agenda {
            match entry {
                Some(row) => self.schedule(row)?,
                None => self.execute(
                    "DELETE FROM engine_agenda WHERE front = ?1 AND id = ?2",
                    (self.front, id.cast_signed()),
                )?,
            }
        }
        Ok(())
    }

    fn upstream(&self, name: &str, row: &UpstreamRow) -> rusqlite::Result<()> {
        let (rest, off) = (row.rest.as_ref(), row.off.as_ref());
        self.execute(
            "INSERT INTO engine_upstream
             (front, name, rung, failures, answered, last_start, last_call, error_at, error_words, own,
              rest_since, rest_began, rest_until, rest_cause, rest_reason, off_since, off_by, off_reason, on_since, gone)
             VALUES (:front, :name, :rung, :failures, :answered, :last_start, :last_call, :error_at, :error_words,
              :own, :rest_since, :rest_began, :rest_until, :rest_cause, :rest_reason, :off_since, :off_by,
              :off_reason, :on_since, :gone)
             ON CONFLICT DO UPDATE SET
              rung = excluded.rung, failures = excluded.failures, answered = excluded.answered,
              last_start = excluded.last_start, last_call = excluded.last_call, error_at = excluded.error_at,
              error_words = excluded.error_words, own = excluded.own,
              rest_since = excluded.rest_since, rest_began = excluded.rest_began, rest_until = excluded.rest_until,
              rest_cause = excluded.rest_cause, rest_reason = excluded.rest_reason,
              off_since = excluded.off_since, off_by = excluded.off_by, off_reason = excluded.off_reason,
              on_since = excluded.on_since, gone = excluded.gone",
            named_params! {
                ":front": self.front,
                ":name": name,
                ":rung": row.rung,
                ":failures": row.failures,
                ":answered": row.answered,
                ":last_start": row.last_start.map(|at| at.0),
                ":last_call": row.last_call.map(|at| at.0),
                ":error_at": row.last_error.as_ref().map(|(at, _)| at.0),
                ":error_words": row.last_error.as_ref().map(|(_, words)| words),
                ":own": &row.own,
                ":rest_since": rest.map(|rest| rest.since.0),
                ":rest_began": rest.map(|rest| rest.began.0),
                ":rest_until": rest.map(|rest| rest.until.0),
                ":rest_cause": rest.map(|rest| rest.cause.word()),
                ":rest_reason": rest.map(|rest| &rest.reason),
                ":off_since": off.map(|off| off.since.0),
                ":off_by": off.map(|off| &off.by),
                ":off_reason": off.map(|off| &off.reason),
                ":on_since": row.on.map(|at| at.0),
                ":gone": row.gone.map(|at| at.0),
            },
        )
    }

    /// Starts and limits go with the row.
    fn clear(&self, name: &str) -> rusqlite::Result<()> {
        let key = (self.front, name);
        self.execute(
            "DELETE FROM engine_past WHERE front = ?1 AND upstream = ?2",
            key,
        )?;
        self.execute(
            "DELETE FROM engine_upstream WHERE front = ?1 AND name = ?2",
            key,
        )
    }

    fn schedule(&self, row: &AgendaRow) -> rusqlite::Result<()> {
        self.execute(
            "INSERT OR REPLACE INTO engine_agenda
             (front, id, upstream, class, budget, due, attempts, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            (
                self.front,
                row.id.cast_signed(),
                &*row.upstream,
                row.class,
                row.budget.word(),
                row.due.0,
                row.attempts,
                row.payload.bytes(),
            ),
        )
    }

    fn execute(&self, sql: &str, values: impl Params) -> rusqlite::Result<()> {
        self.transaction.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    /// The upstream's row number; a row is inserted if there is none yet.
    fn id(&mut self, name: &Arc<str>) -> rusqlite::Result<i64> {
        if let Some(id) = self.ids.get(name) {
            return Ok(*id);
        }
        let key = (self.front, &**name);
        let found = self
            .transaction
            .prepare_cached("SELECT id FROM engine_upstream WHERE front = ?1 AND name = ?2")?
            .query_row(key, |row| row.get(0))
            .optional()?;
        let id = match found {
            Some(id) => id,
            None => self
                .transaction
                .prepare_cached(
                    "INSERT INTO engine_upstream (front, name) VALUES (?1, ?2) RETURNING id",
                )?
                .query_row(key, |row| row.get(0))?,
        };
        self.ids.insert(Arc::clone(name), id);
        Ok(id)
    }
}
