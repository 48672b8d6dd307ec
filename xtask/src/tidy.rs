//! `cargo xtask tidy`: what should not be in the project's files.
//!
//! Marks of unfinished work, home directories of somebody's machine and download addresses in lock
//! files fail the check; a file over the length limit is reported, for length is a matter of
//! judgement.

use std::fs;

use anyhow::{Result, bail};

use crate::shell::{self, Project};

/// Lines above which a file wants splitting.
const LONG: usize = 700;

/// Files whose length nobody chose.
const LENGTH_FREE: &[&str] = &["Cargo.lock", "package-lock.json", "LICENSE-APACHE"];

/// Marks of unfinished work, in two halves so that this file passes its own check.
const MARKS: &[(&str, &str)] = &[("TO", "DO"), ("FIX", "ME")];

/// Directories under which home directories live, in two halves for the same reason.
const HOMES: &[(&str, &str)] = &[("/ro", "ot/"), ("/ho", "me/"), ("/Us", "ers/")];

/// Looks through every file that git knows or would add.
pub(crate) fn run(project: &Project) -> Result<()> {
    let listing = shell::read(project.command("git").args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]))?;
    let rules = Rules::new();
    let mut findings = Vec::new();
    let mut files = 0;
    for name in listing.split('\0').filter(|name| !name.is_empty()) {
        // Binary files and files just deleted have no lines to look at.
        let Ok(text) = fs::read_to_string(project.path(name)) else {
            continue;
        };
        files += 1;
        findings.extend(rules.findings(name, &text));
        if let Some(lines) = too_long(name, &text) {
            println!("note: {name} has {lines} lines, more than {LONG}");
        }
    }
    for finding in &findings {
        eprintln!("{finding}");
    }
    if !findings.is_empty() {
        bail!("{} leftovers in the project's files", findings.len());
    }
    println!("{files} files are tidy");
    Ok(())
}

struct Rules {
    marks: Vec<String>,
    homes: Vec<String>,
}

impl Rules {
    fn new() -> Self {
        let join =
            |halves: &[(&str, &str)]| halves.iter().map(|(a, b)| [*a, *b].concat()).collect();
        Self {
            marks: join(MARKS),
            homes: join(HOMES),
        }
    }

    /// What is wrong with a file, one line each: `name:line: what`.
    fn findings(&self, name: &str, text: &str) -> Vec<String> {
        let mut findings = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(what) = self.finding(name, line) {
                findings.push(format!("{name}:{number}: {what}"));
            }
        }
        findings
    }

    fn finding(&self, name: &str, line: &str) -> Option<String> {
        if let Some(mark) = self.marks.iter().find(|mark| has_word(line, mark)) {
            return Some(format!("{mark} (finish it, or file an issue)"));
        }
        if self.homes.iter().any(|home| has_path(line, home)) {
            return Some("a path of somebody's machine".to_owned());
        }
        if name.ends_with("package-lock.json") && line.trim_start().starts_with("\"resolved\":") {
            return Some("a download address in a lock file".to_owned());
        }
        None
    }
}

/// Whether `word` stands in the line on its own, not as part of a longer word.
fn has_word(line: &str, word: &str) -> bool {
    let joins = |c: char| c.is_ascii_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(joins) && !line[at + word.len()..].starts_with(joins))
}

/// Whether an absolute path under `directory` stands in the line; `a/home/b` is none.
fn has_path(line: &str, directory: &str) -> bool {
    let before = |c: char| c.is_ascii_alphanumeric() || ".-_}*".contains(c);
    line.match_indices(directory).any(|(at, _)| {
        !line[..at].ends_with(before)
            && line[at + directory.len()..]
                .starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.')
    })
}

fn too_long(name: &str, text: &str) -> Option<usize> {
    let base = name.rsplit('/').next().unwrap_or(name);
    let lines = text.lines().count();
    (lines > LONG && !LENGTH_FREE.contains(&base)).then_some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_unfinished_work_are_found_with_their_line() {
        let rules = Rules::new();
        let mark = &rules.marks[0];
        let text = format!("fn a() {{}}\n// {mark}: later\n");
        assert_eq!(
            rules.findings("a.rs", &text),
            [format!("a.rs:2: {mark} (finish it, or file an issue)")]
        );
        assert!(
            rules
                .findings("a.rs", &format!("{mark}S and a{mark}"))
                .is_empty()
        );
    }

    #[test]
    fn home_directories_are_found_and_other_paths_are_not() {
        let rules = Rules::new();
        for home in &rules.homes {
            assert_eq!(rules.findings("a", &format!("see `{home}ann/x`")).len(), 1);
            assert!(rules.findings("a", &format!("pages{home}x")).is_empty());
            assert!(rules.findings("a", &format!("{home} alone")).is_empty());
        }
    }

    #[test]
    fn download_addresses_are_found_in_lock_files_only() {
        let rules = Rules::new();
        let line = "      \"resolved\": \"https://registry.example/a.tgz\",";
        assert_eq!(rules.findings("x/package-lock.json", line).len(), 1);
        assert!(rules.findings("x/other.json", line).is_empty());
    }

    #[test]
    fn long_files_are_reported_unless_nobody_chose_their_length() {
        let text = "\n".repeat(LONG + 1);
        assert_eq!(too_long("src/a.rs", &text), Some(LONG + 1));
        assert_eq!(too_long("src/a.rs", &text[1..]), None);
        assert_eq!(too_long("x/package-lock.json", &text), None);
    }
}
