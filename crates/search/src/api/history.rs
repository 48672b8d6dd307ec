//! `GET /api/v1/history`: what programs asked and fetched.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use weir_web::Failure;

use super::wrong;
use crate::history::Filter;
use crate::views::Views;
use crate::words::second;

/// Rows of a page.
pub(crate) const PAGE: u32 = 50;
/// Rows that a request may ask for; each search brings the rows of all its indexers.
pub(super) const MOST: u32 = 500;

/// What an address asks for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct HistoryView {
    /// `searches` or `grabs`.
    pub(crate) kind: String,
    pub(crate) before: String,
    pub(crate) program: String,
    pub(crate) indexer: String,
    /// What became of it.
    pub(crate) outcome: String,
    /// `2026-11-16`, in the server's zone.
    pub(crate) day: String,
    limit: String,
}

impl HistoryView {
    /// Whether downloads are wanted.
    pub(crate) fn grabs(&self) -> bool {
        self.kind == "grabs"
    }

    /// # Errors
    /// With a sentence that says what is wrong.
    pub(crate) fn filter(&self) -> Result<Filter, String> {
        if !["", "searches", "grabs"].contains(&self.kind.as_str()) {
            return Err(format!("There is no history of {:?}.", self.kind));
        }
        let before = match self.before.as_str() {
            "" => None,
            text => Some(
                text.parse()
                    .map_err(|_| "That page is not one of this list.")?,
            ),
        };
        let day = match self.day.trim() {
            "" => None,
            text => Some(day(text).ok_or("A day is written as 2026-11-16.")?),
        };
        let limit = match self.limit.as_str() {
            "" => PAGE,
            text => text
                .parse()
                .map_err(|_| format!("limit is a number of rows, not {text:?}."))?,
        };
        Ok(Filter {
            before,
            program: self.program.clone(),
            indexer: self.indexer.clone(),
            what: self.outcome.clone(),
            day,
            page: limit.clamp(1, MOST),
        })
    }
}

/// Its first second and the first of the next.
fn day(text: &str) -> Option<(i64, i64)> {
    let date: Date = text.parse().ok()?;
    let begin = |date: Date| {
        let begin = date.to_zoned(TimeZone::system()).ok()?;
        Some(begin.timestamp().as_second())
    };
    Some((begin(date)?, begin(date.tomorrow().ok()?)?))
}

/// `GET /api/v1/history`.
pub(super) async fn list(
    State(views): State<Arc<Views>>,
    Query(view): Query<HistoryView>,
) -> Result<Json<Value>, Failure> {
    let filter = view.filter().map_err(|mistake| {
        wrong(
            mistake,
            "Send kind=searches or grabs, before= as an answer gave it, day=YYYY-MM-DD.",
        )
    })?;
    let failed = |error: weir_store::Error| {
        tracing::error!(front = "search", %error, "the history cannot be read");
        Failure::internal()
    };
    let history = &views.model.history;
    let (name, rows): (_, Vec<Value>) = match view.grabs() {
        true => {
            let rows = history.grabs(&filter).map_err(failed)?;
            ("grabs", rows.iter().map(|row| dated(row, row.at)).collect())
        }
        false => {
            let rows = history.searches(&filter).map_err(failed)?;
            (
                "searches",
                rows.iter().map(|row| dated(row, row.at)).collect(),
            )
        }
    };
    let full = u32::try_from(rows.len()).is_ok_and(|rows| rows == filter.page);
    let next = rows.last().filter(|_| full).map(|row| row["id"].clone());
    Ok(Json(json!({ name: rows, "next": next })))
}

fn dated(row: &impl Serialize, at: i64) -> Value {
    let mut row = serde_json::to_value(row).unwrap_or_default();
    row["at"] = second(at).to_string().into();
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_its_seconds() {
        let (from, to) = day("2026-11-16").unwrap();
        assert_eq!(to - from, 86_400);
        for text in ["", "16.11.2026", "2026-13-01"] {
            assert_eq!(day(text), None, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_gets_a_sentence() {
        let view = |before: &str, kind: &str| HistoryView {
            before: before.to_owned(),
            kind: kind.to_owned(),
            ..HistoryView::default()
        };
        assert!(view("x", "").filter().is_err());
        assert!(view("", "news").filter().is_err());
        assert_eq!(view("7", "grabs").filter().unwrap().before, Some(7));
    }
}
