//! `weir search`: searches the indexers of a running Weir and shows the progress.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use tokio::time::Instant;
use weir_engine::words;

use crate::cli::Search;
use crate::remote::Remote;

/// How often a running search is polled.
const LOOK: Duration = Duration::from_millis(250);
/// A search ends at its own deadline; this is in case that never happens.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
/// Cells of a bar.
const BAR: u64 = 20;
/// Characters of a title in the table.
const TITLE: usize = 70;

/// Runs the command. The exit code is 1 if no indexer answered, not even from the cache.
///
/// # Errors
/// If Weir cannot be reached or refuses the search.
pub fn run(args: Search) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start")?;
    runtime.block_on(search(args))
}

async fn search(args: Search) -> anyhow::Result<ExitCode> {
    let question = json!({
        "query": args.query,
        "categories": args.categories,
        "indexers": args.indexers,
        "no_cache": args.no_cache,
    });
    let remote = Remote::running(args.remote)?;
    let begun = remote.post("/api/v1/searches", &question).await?;
    let id = begun["id"]
        .as_str()
        .context("the answer has no search ID")?;
    let path = format!("/api/v1/searches/{id}?limit={}", args.limit);
    let mut notes = Notes::new(args.json);
    let until = Instant::now() + PATIENCE;
    let last = loop {
        let state = remote.get(&path).await?;
        notes.show(&state)?;
        if state["finished"] == true || Instant::now() > until {
            break state;
        }
        tokio::time::sleep(LOOK).await;
    };
    notes.end()?;
    let mut out = io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &last)?;
        writeln!(out)?;
    } else {
        out.write_all(table(&last).as_bytes())?;
    }
    out.flush()?;
    Ok(code(&last))
}

/// Success if any indexer answered, now or from the cache.
fn code(state: &Value) -> ExitCode {
    let given = indexers(state).any(|indexer| {
        let state = indexer["state"].as_str().unwrap_or_default();
        ["answered", "shared", "cached"].contains(&state) || !indexer["cached_seconds"].is_null()
    });
    match given {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(1),
    }
}

fn indexers(state: &Value) -> impl Iterator<Item = &Value> {
    let list = state["indexers"].as_array();
    list.into_iter().flatten()
}

/// The progress on standard error: bars on a terminal, otherwise a line for each indexer that is done.
struct Notes {
    quiet: bool,
    terminal: bool,
    /// Lines drawn so far, which the next ones overwrite.
    drawn: usize,
    /// Indexers that already have a line.
    told: Vec<String>,
}

impl Notes {
    fn new(json: bool) -> Self {
        let terminal = io::stderr().is_terminal();
        Self {
            quiet: json && !terminal,
            terminal,
            drawn: 0,
            told: Vec::new(),
        }
    }

    fn show(&mut self, state: &Value) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        let mut err = io::stderr().lock();
        if !self.terminal {
            for line in self.news(state) {
                writeln!(err, "{line}")?;
            }
            return Ok(());
        }
        if self.drawn > 0 {
            write!(err, "\x1b[{}A", self.drawn)?;
        }
        let lines: Vec<String> = indexers(state).map(|indexer| bar(indexer, state)).collect();
        for line in &lines {
            writeln!(err, "\r\x1b[2K{line}")?;
        }
        self.drawn = lines.len();
        err.flush()
    }

    /// A line for each indexer that is newly done.
    fn news(&mut self, state: &Value) -> Vec<String> {
        let finished = state["finished"] == true;
        let done = indexers(state).filter(|indexer| finished || indexer["state"] != "asking");
        let mut lines = Vec::new();
        for indexer in done {
            let name = text(&indexer["name"]);
            if !self.told.contains(&name) {
                lines.push(format!("{name}: {}", said(indexer)));
                self.told.push(name);
            }
        }
        lines
    }

    fn end(&self) -> io::Result<()> {
        match self.quiet {
            true => Ok(()),
            false => writeln!(io::stderr().lock()),
        }
    }
}

/// `meadow  ████████████████████  46 results · 0.8 s`
fn bar(indexer: &Value, state: &Value) -> String {
    let allowed = state["deadline_ms"].as_u64().unwrap_or(1).max(1);
    let full = match (text(&indexer["state"]).as_str(), indexer["full"] == true) {
        (_, true) => BAR,
        ("asking", _) => {
            let taken = state["took_ms"].as_u64().unwrap_or(0).min(allowed);
            taken * BAR / allowed
        }
        _ => 0,
    };
    let cells = "█".repeat(full as usize) + &"░".repeat((BAR - full) as usize);
    format!("{:<20} {cells} {}", text(&indexer["name"]), said(indexer))
}

/// The state of an indexer, with the reason.
fn said(indexer: &Value) -> String {
    let (says, reason) = (text(&indexer["says"]), text(&indexer["reason"]));
    let until = match &indexer["until"] {
        Value::String(until) => format!(" (until {until})"),
        _ => String::new(),
    };
    match reason.is_empty() {
        true => says,
        false => format!("{says}: {reason}{until}"),
    }
}

/// The releases, one per line, and the closing sentence.
fn table(state: &Value) -> String {
    let releases = state["releases"].as_array();
    let mut rows = vec![["TITLE", "SIZE", "SEEDS", "DATE", "FROM"].map(str::to_owned)];
    rows.extend(releases.into_iter().flatten().map(row));
    let mut text = String::new();
    if rows.len() > 1 {
        let widths: Vec<usize> = (0..5)
            .map(|column| {
                rows.iter()
                    .map(|row| width(&row[column]))
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        for [title, size, seeds, age, from] in &rows {
            let pad =
                |text: &str, width: usize| " ".repeat(width.saturating_sub(self::width(text)));
            text += &format!(
                "{title}{}  {}{size}  {}{seeds}  {}{age}  {from}\n",
                pad(title, widths[0]),
                pad(size, widths[1]),
                pad(seeds, widths[2]),
                pad(age, widths[3]),
            );
        }
        text.push('\n');
    }
    text += &self::text(&state["sentence"]);
    let (shown, all) = (rows.len() - 1, state["count"].as_u64().unwrap_or(0));
    if (shown as u64) < all {
        text += &format!(" Showing {shown} of {all} releases; --limit shows more.");
    }
    text.push('\n');
    text
}

fn row(release: &Value) -> [String; 5] {
    let sources = release["sources"].as_array();
    let names: Vec<String> = sources
        .into_iter()
        .flatten()
        .map(|source| text(&source["indexer"]))
        .collect();
    let number = |value: &Value| {
        value
            .as_u64()
            .map_or("–".to_owned(), |number| number.to_string())
    };
    let date: String = text(&release["published"]).chars().take(10).collect();
    [
        text(&release["title"]).chars().take(TITLE).collect(),
        release["size"].as_u64().map_or("–".to_owned(), words::size),
        number(&release["seeders"]),
        match date.is_empty() {
            true => "–".to_owned(),
            false => date,
        },
        names.join(", "),
    ]
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// A value as plain text. Control characters are dropped, so that an indexer cannot move the cursor.
fn text(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default();
    text.chars().filter(|letter| !letter.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> Value {
        json!({
            "finished": true, "deadline_ms": 15000, "took_ms": 3000, "count": 3,
            "sentence": "2 results from 1 of 2 indexers. 1 skipped. Finished in 0.8 s.",
            "indexers": [
                { "name": "one", "state": "answered", "says": "2 results · 0.8 s", "reason": null, "full": true,
                  "until": null, "cached_seconds": null },
                { "name": "two", "state": "skipped", "says": "skipped", "reason": "it is cooling down: it answered 500",
                  "until": "2026-11-16T07:00:00Z", "full": false, "cached_seconds": null },
            ],
            "releases": [
                { "title": "A\u{1b}[2Jb", "size": 658_000_000, "seeders": 7, "published": "2026-11-15T10:00:00Z",
                  "sources": [{ "indexer": "one" }] },
                { "title": "Longer title", "size": null, "seeders": null, "published": null,
                  "sources": [{ "indexer": "one" }, { "indexer": "two" }] },
            ],
        })
    }

    #[test]
    fn the_table_lines_up_and_says_what_is_missing() {
        let expected = "\
TITLE           SIZE  SEEDS        DATE  FROM
A[2Jb         658 MB      7  2026-11-15  one
Longer title       –      –           –  one, two

2 results from 1 of 2 indexers. 1 skipped. Finished in 0.8 s. Showing 2 of 3 releases; --limit shows more.
";
        assert_eq!(table(&state()), expected);
    }

    #[test]
    fn each_indexer_is_told_once_with_its_reason() {
        let mut notes = Notes::new(false);
        let lines = notes.news(&state());
        assert_eq!(lines[0], "one: 2 results · 0.8 s");
        assert!(
            lines[1].starts_with("two: skipped: it is cooling down"),
            "{}",
            lines[1]
        );
        assert!(lines[1].contains("until 2026"), "{}", lines[1]);
        assert!(notes.news(&state()).is_empty());
    }

    #[test]
    fn bars_are_as_long_as_the_time_that_passed() {
        let mut state = state();
        state["indexers"][1]["state"] = "asking".into();
        let bar = bar(&state["indexers"][1], &state);
        assert_eq!(bar.matches('█').count(), 4, "{bar}");
    }

    #[test]
    fn nobody_could_be_asked_is_a_failure() {
        let mut state = state();
        assert_eq!(code(&state), ExitCode::SUCCESS);
        state["indexers"].as_array_mut().unwrap().remove(0);
        assert_eq!(code(&state), ExitCode::from(1));
    }
}
