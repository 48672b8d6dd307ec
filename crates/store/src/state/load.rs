//! Reads rows back. One that cannot be read is skipped and counted; only a file that cannot be read at all is an error.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, Error, Result, Row, types::Type};

use super::{
    row::{AgendaRow, Kept, KeptUpstream, Limit, Off, Past, Rest, SERIES, Start, UpstreamRow},
    value::{Budget, Cause, Ledger, Payload, Wall, Window},
};

/// Everything stored for one front.
pub(super) fn kept(connection: &Connection, front: &str, now: Wall) -> Result<Kept> {
    let mut reader = Reader {
        connection,
        front,
        unreadable: 0,
    };
    let mut upstreams = reader.upstreams(now)?;
    let agenda = reader.agenda()?;
    let mut pasts = reader.pasts()?;
    for kept in &mut upstreams {
        kept.past = pasts.remove(&*kept.name);
    }
    Ok(Kept {
        upstreams,
        agenda,
        past: pasts.remove(""),
        series: pasts.remove(SERIES),
        unreadable: reader.unreadable,
    })
}

struct Reader<'a> {
    connection: &'a Connection,
    front: &'a str,
    unreadable: u64,
}

impl Reader<'_> {
    fn upstreams(&mut self, now: Wall) -> Result<Vec<KeptUpstream>> {
        let mut upstreams: BTreeMap<i64, KeptUpstream> = BTreeMap::new();
        let sql = "SELECT * FROM engine_upstream WHERE front = ?1";
        self.each("engine_upstream", sql, |row| {
            let kept = KeptUpstream {
                name: row.get("name")?,
                row: UpstreamRow::default(),
                limits: Vec::new(),
                starts: Vec::new(),
                past: None,
            };
            // Inserted before the other columns are read: its starts count even if those cannot be read.
            let kept = upstreams.entry(row.get("id")?).or_insert(kept);
            kept.row = upstream(row)?;
            Ok(())
        })?;
        let sql = "SELECT l.* FROM engine_limit l JOIN engine_upstream u ON u.id = l.upstream WHERE u.front = ?1";
        self.each("engine_limit", sql, |row| {
            if let Some(kept) = upstreams.get_mut(&row.get("upstream")?) {
                kept.limits.push(limit(row)?);
            }
            Ok(())
        })?;
        let sql = "SELECT s.* FROM engine_start s JOIN engine_upstream u ON u.id = s.upstream WHERE u.front = ?1";
        self.each("engine_start", sql, |row| {
            if let Some(kept) = upstreams.get_mut(&row.get("upstream")?) {
                kept.starts.push(start(row)?);
            }
            Ok(())
        })?;
        let mut upstreams: Vec<KeptUpstream> = upstreams.into_values().collect();
        upstreams.sort_by(|one, other| one.name.cmp(&other.name));
        for KeptUpstream { limits, starts, .. } in &mut upstreams {
            limits.sort_by_key(|limit| (limit.ledger, limit.window));
            starts.retain(|start| !start.is_over(now));
            starts.sort_by_key(|start| (start.at, start.ledger, start.window));
        }
        Ok(upstreams)
    }

    fn agenda(&mut self) -> Result<Vec<AgendaRow>> {
        let mut agenda = Vec::new();
        let sql = "SELECT * FROM engine_agenda WHERE front = ?1";
        self.each("engine_agenda", sql, |row| {
            agenda.push(entry(row)?);
            Ok(())
        })?;
        agenda.sort_by_key(|row: &AgendaRow| (row.due, row.id));
        Ok(agenda)
    }

    /// What is written about the latest past, by upstream.
    fn pasts(&mut self) -> Result<HashMap<String, Past>> {
        let mut pasts = HashMap::new();
        let sql = "SELECT upstream, skew, text FROM engine_past WHERE front = ?1";
        self.each("engine_past", sql, |row| {
            let past = Past {
                skew: row.get("skew")?,
                text: row.get("text")?,
            };
            pasts.insert(row.get("upstream")?, past);
            Ok(())
        })?;
        Ok(pasts)
    }

    /// Reads each row of a query; those that cannot be read are counted, and logged once per table.
    fn each(
        &mut self,
        table: &str,
        sql: &str,
        mut read: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([self.front])?;
        let (mut skipped, mut first) = (0, None);
        while let Some(row) = rows.next()? {
            if let Err(error) = read(row) {
                skipped += 1;
                first.get_or_insert(error);
            }
        }
        if let Some(error) = first {
            tracing::warn!(front = self.front, table, skipped, %error, "rows that cannot be read were skipped");
        }
        self.unreadable += skipped;
        Ok(())
    }
}

fn upstream(row: &Row<'_>) -> Result<UpstreamRow> {
    let rest = match row.get("rest_until")? {
        None => None,
        Some(until) => Some(Rest {
            since: Wall(row.get("rest_since")?),
            began: match row.get("rest_began")? {
                Some(began) => Wall(began),
                None => Wall(row.get("rest_since")?),
            },
            until: Wall(until),
            cause: word(row, "rest_cause", Cause::from_word)?,
            reason: row.get("rest_reason")?,
        }),
    };
    let off = match row.get("off_since")? {
        None => None,
        Some(since) => Some(Off {
            since: Wall(since),
            by: row.get("off_by")?,
            reason: row.get("off_reason")?,
        }),
    };
    Ok(UpstreamRow {
        off,
        on: row.get::<_, Option<i64>>("on_since")?.map(Wall),
        rest,
        rung: row.get("rung")?,
        failures: row.get("failures")?,
        answered: row.get("answered")?,
        last_start: row.get::<_, Option<i64>>("last_start")?.map(Wall),
        last_call: row.get::<_, Option<i64>>("last_call")?.map(Wall),
        last_error: match row.get("error_at")? {
            None => None,
            Some(at) => Some((Wall(at), row.get("error_words")?)),
        },
        own: row.get("own")?,
        gone: row.get::<_, Option<i64>>("gone")?.map(Wall),
    })
}

fn limit(row: &Row<'_>) -> Result<Limit> {
    Ok(Limit {
        ledger: word(row, "ledger", Ledger::from_word)?,
        window: Window(row.get("window")?),
        calls: row.get("calls")?,
    })
}

fn start(row: &Row<'_>) -> Result<Start> {
    let times: i64 = row.get("times")?;
    Ok(Start {
        ledger: word(row, "ledger", Ledger::from_word)?,
        window: Window(row.get("window")?),
        at: Wall(row.get("at")?),
        times: u32::try_from(times.min(u32::MAX.into())).map_err(|_| unknown("times", &times))?,
    })
}

fn entry(row: &Row<'_>) -> Result<AgendaRow> {
    let payload: Vec<u8> = row.get("payload")?;
    Ok(AgendaRow {
        id: row.get::<_, i64>("id")?.cast_unsigned(),
        upstream: row.get("upstream")?,
        class: row.get("class")?,
        budget: word(row, "budget", Budget::from_word)?,
        due: Wall(row.get("due")?),
        attempts: row.get("attempts")?,
        payload: Payload::new(payload).map_err(|error| unknown("payload", &error))?,
    })
}

fn word<T>(row: &Row<'_>, column: &str, known: impl Fn(&str) -> Option<T>) -> Result<T> {
    let word: String = row.get(column)?;
    known(&word).ok_or_else(|| unknown(column, &word))
}

fn unknown(column: &str, value: &dyn std::fmt::Display) -> Error {
    let text = format!("{column} is {value}");
    Error::FromSqlConversionFailure(0, Type::Text, text.into())
}
