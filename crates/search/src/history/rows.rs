//! The rows of the history as plain values, and how they are read.

use rusqlite::Row;
use weir_engine::dispatch::Class;

use crate::search::Stage;

/// One search as it is remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Searched {
    pub(crate) id: i64,
    pub(crate) at: i64,
    pub(crate) program: String,
    pub(crate) address: String,
    #[serde(serialize_with = "class_name")]
    pub(crate) class: u8,
    /// The question in words.
    pub(crate) query: String,
    /// The question as it can be asked again; empty in rows of an older Weir.
    pub(crate) question: String,
    pub(crate) scope: String,
    pub(crate) asked: u32,
    pub(crate) answered: u32,
    pub(crate) results: u32,
    pub(crate) took_ms: u32,
    /// Calls that were made for it.
    pub(crate) calls: u32,
    /// Indexers whose call another program had made.
    pub(crate) shared: u32,
    /// Those programs, each once; read from what its indexers did.
    pub(crate) shared_with: Vec<String>,
    pub(crate) indexers: Vec<PartOutcome>,
}

/// What one indexer had to do with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct PartOutcome {
    pub(crate) indexer: String,
    pub(crate) what: Stage,
    pub(crate) reason: String,
    pub(crate) releases: u32,
    /// Releases that nobody else had.
    pub(crate) alone: u32,
    pub(crate) took_ms: u32,
    /// Calls that were made for this search.
    pub(crate) calls: u32,
    /// The program whose call it was.
    pub(crate) shared_with: Option<String>,
}

/// One download as it is remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Grabbed {
    pub(crate) id: i64,
    pub(crate) at: i64,
    pub(crate) program: String,
    pub(crate) address: String,
    pub(crate) indexer: String,
    pub(crate) title: String,
    pub(crate) what: GrabKind,
    pub(crate) reason: String,
    pub(crate) bytes: i64,
    pub(crate) took_ms: u32,
}

/// What came of a download.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum GrabKind {
    #[default]
    File,
    Cached,
    Magnet,
    Redirect,
    Failed,
}

/// Which rows are wanted, newest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) before: Option<i64>,
    pub(crate) program: String,
    pub(crate) indexer: String,
    pub(crate) what: String,
    /// Rows of this day and later: its first second and the first of the next.
    pub(crate) day: Option<(i64, i64)>,
    pub(crate) page: u32,
}

/// What an indexer did since some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Yield {
    pub(crate) searches: i64,
    pub(crate) releases: i64,
    pub(crate) alone: i64,
    pub(crate) grabs: i64,
}

fn class_name<S: serde::Serializer>(class: &u8, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(crate::policy::class_name(Class(*class)))
}

impl GrabKind {
    /// All of them, in the order in which a form offers them.
    pub(crate) const ALL: [Self; 5] = [
        Self::File,
        Self::Cached,
        Self::Magnet,
        Self::Redirect,
        Self::Failed,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Cached => "cached",
            Self::Magnet => "magnet",
            Self::Redirect => "redirect",
            Self::Failed => "failed",
        }
    }
}

pub(super) fn searched(row: &Row<'_>) -> rusqlite::Result<Searched> {
    Ok(Searched {
        id: row.get(0)?,
        at: row.get(1)?,
        program: row.get(2)?,
        address: row.get(3)?,
        class: row.get(4)?,
        query: row.get(5)?,
        scope: row.get(6)?,
        asked: row.get(7)?,
        answered: row.get(8)?,
        results: row.get(9)?,
        took_ms: row.get(10)?,
        calls: row.get(11)?,
        shared: row.get(12)?,
        question: row.get(13)?,
        shared_with: Vec::new(),
        indexers: Vec::new(),
    })
}

pub(super) fn outcome(row: &Row<'_>) -> rusqlite::Result<PartOutcome> {
    Ok(PartOutcome {
        indexer: row.get(0)?,
        what: stage(row, 1)?,
        reason: row.get(2)?,
        releases: row.get(3)?,
        alone: row.get(4)?,
        took_ms: row.get(5)?,
        calls: row.get(6)?,
        shared_with: row.get(7)?,
    })
}

/// A word that a newer Weir wrote and this one does not know is taken for a failure.
fn stage(row: &Row<'_>, at: usize) -> rusqlite::Result<Stage> {
    let word: String = row.get(at)?;
    let known = Stage::ALL.into_iter().find(|stage| stage.name() == word);
    Ok(known.unwrap_or(Stage::Failed))
}

/// As with [`stage`].
fn kind(row: &Row<'_>, at: usize) -> rusqlite::Result<GrabKind> {
    let word: String = row.get(at)?;
    let known = GrabKind::ALL.into_iter().find(|kind| kind.name() == word);
    Ok(known.unwrap_or(GrabKind::Failed))
}

pub(super) fn grabbed(row: &Row<'_>) -> rusqlite::Result<Grabbed> {
    Ok(Grabbed {
        id: row.get(0)?,
        at: row.get(1)?,
        program: row.get(2)?,
        address: row.get(3)?,
        indexer: row.get(4)?,
        title: row.get(5)?,
        what: kind(row, 6)?,
        reason: row.get(7)?,
        bytes: row.get(8)?,
        took_ms: row.get(9)?,
    })
}
