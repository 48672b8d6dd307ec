//! `weir status`: how the running Weir, its fronts and its upstreams are doing, on a page of 80 columns.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use serde_json::Value;
use weir_engine::words;

use crate::cli::Status;
use crate::remote::Remote;

/// Columns of a terminal.
const WIDTH: usize = 80;
/// Upstreams that are shown; the page has the others.
const ROWS: usize = 20;

/// Runs the command.
///
/// # Errors
/// If Weir cannot be reached.
pub fn run(args: Status, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start")?;
    let remote = Remote::running(args.remote)?;
    let text = runtime.block_on(async {
        let status = remote.get("/api/v1/status").await?;
        if args.json {
            let mut text = serde_json::to_string_pretty(&status)?;
            text.push('\n');
            return anyhow::Ok(text);
        }
        let path = format!("/api/v1/upstreams?state=attention&limit={ROWS}");
        let upstreams = remote.get(&path).await?;
        Ok(page(&status, &upstreams, remote.base()))
    })?;
    out.write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn page(status: &Value, upstreams: &Value, base: &str) -> String {
    let uptime = Duration::from_secs(status["uptime_seconds"].as_u64().unwrap_or(0));
    let version = text(&status["version"]);
    let mut page = match status["demo"].as_bool() {
        Some(true) => wrapped(weir_web::DEMO, ""),
        _ => String::new(),
    };
    page += &wrapped(&text(&status["sentence"]), "");
    page += &wrapped(
        &format!(
            "Weir {version} at {base}, running for {}.",
            words::age(uptime)
        ),
        "",
    );
    let fronts: Vec<&Value> = list(&status["fronts"]).collect();
    if !fronts.is_empty() {
        page.push('\n');
        page += &table(&fronts);
    }
    for front in fronts {
        if !["answering", "off", "not_set_up"].contains(&text(&front["state"]).as_str()) {
            let told = format!("{}: {}", text(&front["title"]), text(&front["sentence"]));
            page.push('\n');
            page += &wrapped(&told, "  ");
        }
    }
    page.push('\n');
    page += &attention(upstreams, base);
    page
}

/// One line for each front.
fn table(fronts: &[&Value]) -> String {
    let head = [
        "FRONT", "STATE", "REQUESTS", "", "CALLS", "QUEUED", "WORKERS",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(fronts.iter().map(|front| {
        let (counters, queue) = (&front["counters"], &front["queue"]);
        [
            text(&front["title"]),
            words::capital(&text(&front["state"]).replace('_', " ")),
            number(&counters["asked"]),
            "→".to_owned(),
            number(&counters["sent"]),
            match queue["capacity"].is_u64() {
                true => format!(
                    "{} of {}",
                    number(&queue["depth"]),
                    number(&queue["capacity"])
                ),
                false => "–".to_owned(),
            },
            number(&queue["workers"]),
        ]
    }));
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, &width))| match column {
            0 | 1 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// The upstreams that need attention, each with who, why and until when.
fn attention(upstreams: &Value, base: &str) -> String {
    let total = upstreams["total"].as_u64().unwrap_or(0);
    let matching = upstreams["matching"].as_u64().unwrap_or(0);
    if matching == 0 {
        return match total {
            0 => "No upstreams are configured.\n".to_owned(),
            _ => {
                let summary = sentence(&upstreams["summary"]);
                wrapped(&format!("No upstream needs attention. {summary}"), "")
            }
        };
    }
    let of = words::counted(total, "upstream", "upstreams");
    let needs = if matching == 1 { "needs" } else { "need" };
    let mut page = format!("{} of {of} {needs} attention:\n", words::grouped(matching));
    let rows: Vec<&Value> = list(&upstreams["upstreams"]).collect();
    for row in &rows {
        let front = words::capital(&text(&row["front"]));
        let (name, sentence) = (text(&row["name"]), text(&row["sentence"]));
        // Nearly every sentence begins with the name.
        let told = match sentence.starts_with(&name) {
            true => format!("{front}: {sentence}"),
            false => format!("{front}: {name}: {sentence}"),
        };
        page += &wrapped(&told, "  ");
    }
    let more = matching.saturating_sub(rows.len() as u64);
    if more > 0 {
        let more = words::grouped(more);
        page += &wrapped(
            &format!("{more} more at {base}/upstreams?state=attention"),
            "  ",
        );
    }
    page
}

/// Breaks a text into lines of at most 80 columns. All begin with the indent, and those after the first with two more spaces. A
/// word that is too long stays whole.
fn wrapped(text: &str, indent: &str) -> String {
    let mut page = String::new();
    let mut line = indent.to_owned();
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            page += &line;
            page.push('\n');
            line = format!("{indent}  ");
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line += word;
        is_empty = false;
    }
    page + &line + "\n"
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn number(value: &Value) -> String {
    value.as_u64().map_or("–".to_owned(), words::grouped)
}

/// A text with a full stop.
fn sentence(value: &Value) -> String {
    let text = text(value);
    match text.is_empty() || text.ends_with('.') {
        true => text,
        false => text + ".",
    }
}

/// A value as plain text. Control characters are dropped, so that the words of an upstream cannot move the cursor.
fn text(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default();
    text.chars().filter(|letter| !letter.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status() -> Value {
        let queue = |depth: u64| json!({ "depth": depth, "capacity": 10_000, "workers": 12 });
        json!({
            "version": "0.1.0", "uptime_seconds": 11_520,
            "sentence": "Tracker is overloaded: 1,204 first announces refused in the last minute.",
            "fronts": [
                { "name": "tracker", "title": "Tracker", "state": "overloaded", "sentence": "The queue is full.",
                  "queue": queue(9_876), "counters": { "asked": 1_234_567, "sent": 45_678 } },
                { "name": "search", "title": "Search", "state": "answering", "sentence": "Fine.",
                  "queue": queue(0), "counters": { "asked": 12, "sent": 3 } },
                { "name": "news", "title": "News", "state": "not_set_up", "sentence": "Add servers.",
                  "queue": null, "counters": null },
            ],
        })
    }

    #[test]
    fn a_page_has_sentence_fronts_and_who_needs_attention() {
        let upstreams = json!({
            "total": 17, "matching": 3, "summary": "15 open",
            "upstreams": [
                { "front": "search", "name": "har\u{1b}[2Jbor",
                  "sentence": "har\u{1b}[2Jbor is cooling down until 13:48, in 5 min: it answered 503 (at 13:40)." },
                { "front": "news", "name": "main", "sentence": "It is switched off." },
            ],
        });
        let expected = "\
Tracker is overloaded: 1,204 first announces refused in the last minute.
Weir 0.1.0 at http://127.0.0.1:7070, running for 3 h.

FRONT    STATE        REQUESTS      CALLS           QUEUED  WORKERS
Tracker  Overloaded  1,234,567  →  45,678  9,876 of 10,000       12
Search   Answering          12  →       3      0 of 10,000       12
News     Not set up          –  →       –                –        –

  Tracker: The queue is full.

3 of 17 upstreams need attention:
  Search: har[2Jbor is cooling down until 13:48, in 5 min: it answered 503 (at
    13:40).
  News: main: It is switched off.
  1 more at http://127.0.0.1:7070/upstreams?state=attention
";
        assert_eq!(
            page(&status(), &upstreams, "http://127.0.0.1:7070"),
            expected
        );
    }

    #[test]
    fn nobody_needs_attention() {
        let upstreams = json!({ "total": 3, "matching": 0, "summary": "3 open", "upstreams": [] });
        assert!(attention(&upstreams, "x").contains("No upstream needs attention. 3 open."));
        let none = json!({ "total": 0, "matching": 0 });
        assert_eq!(attention(&none, "x"), "No upstreams are configured.\n");
    }

    #[test]
    fn no_line_is_longer_than_a_terminal() {
        let words = "word ".repeat(100) + &"x".repeat(99);
        let page = wrapped(&words, "  ");
        let long = page.lines().filter(|line| line.chars().count() > WIDTH);
        assert_eq!(long.count(), 1, "only the one word\n{page}");
        assert_eq!(page.matches("word").count(), 100);
    }
}
