//! `cargo xtask assets`: builds the pages' script and style into the files the binary embeds.
//!
//! What people write is in `crates/web/ui` (TypeScript and CSS; a name that begins with `_` is a
//! part of others). What is built from it lies beside it in `crates/web/assets` and is committed,
//! so that building Weir needs no node; `--check` builds again and compares. Files of other kinds
//! there, such as the icon, are written by hand.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::graph;
use crate::shell::{self, Project};

/// The node project with the builders.
pub(crate) const TOOLS: &str = "xtask/node";

const SOURCE: &str = "crates/web/ui";
const BUILT: &str = "crates/web/assets";

/// Builds the assets, or with `check` only compares what a build would give with what is there.
pub(crate) fn run(project: &Project, check: bool) -> Result<()> {
    let entries = entries(&project.path(SOURCE))?;
    ensure!(!entries.is_empty(), "nothing to build in {SOURCE}");
    let tools = project.path(TOOLS).join("node_modules/.bin");
    shell::run(
        project
            .command(tools.join("tsc"))
            .args(["--project", TOOLS]),
    )?;

    let fresh = fresh_directory(project)?;
    let mut esbuild = project.command(tools.join("esbuild"));
    esbuild.args(&entries).args([
        "--bundle",
        "--minify",
        "--format=iife",
        "--target=es2022,chrome109,firefox115,safari16",
        "--charset=utf8",
        "--legal-comments=none",
        "--log-level=warning",
    ]);
    shell::run(esbuild.arg(format!("--outdir={}", fresh.display())))?;

    let wanted = contents(&fresh)?;
    let present = contents(&project.path(BUILT))?;
    if check {
        let findings = differences(&wanted, &present);
        for finding in &findings {
            eprintln!("{BUILT}/{finding}");
        }
        ensure!(
            findings.is_empty(),
            "assets are stale: run `cargo xtask assets`"
        );
        println!("{} assets are fresh", wanted.len());
        return Ok(());
    }
    write(&project.path(BUILT), &wanted, &present)
}

/// The files from which one asset each is built.
fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut entries = files(directory)?;
    entries.retain(|path| is_entry(&name(path)));
    Ok(entries)
}

fn is_entry(name: &str) -> bool {
    let source = name.ends_with(".ts") || name.ends_with(".css");
    source && !name.starts_with('_') && !name.ends_with(".d.ts")
}

/// An empty directory among what cargo builds.
fn fresh_directory(project: &Project) -> Result<PathBuf> {
    let directory = graph::target_directory(project)?.join("assets");
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir_all(&directory)?;
    Ok(directory)
}

/// Scripts and styles in a directory, by name.
fn contents(directory: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut contents = BTreeMap::new();
    for path in files(directory)? {
        let name = name(&path);
        if name.ends_with(".js") || name.ends_with(".css") {
            contents.insert(name, fs::read(&path)?);
        }
    }
    Ok(contents)
}

/// How what is there differs from what a build gives, one line each: `name what`.
fn differences(
    wanted: &BTreeMap<String, Vec<u8>>,
    present: &BTreeMap<String, Vec<u8>>,
) -> Vec<String> {
    let mut differences = Vec::new();
    for (name, bytes) in wanted {
        match present.get(name) {
            None => differences.push(format!("{name} is missing")),
            Some(old) if old != bytes => differences.push(format!("{name} is stale")),
            Some(_) => {}
        }
    }
    let orphans = present.keys().filter(|name| !wanted.contains_key(*name));
    differences.extend(orphans.map(|name| format!("{name} has no source")));
    differences
}

fn write(
    directory: &Path,
    wanted: &BTreeMap<String, Vec<u8>>,
    present: &BTreeMap<String, Vec<u8>>,
) -> Result<()> {
    if let Some(name) = present.keys().find(|name| !wanted.contains_key(*name)) {
        bail!("{BUILT}/{name} has no source in {SOURCE}: remove it or write one");
    }
    for (name, bytes) in wanted {
        // What is the same keeps its time, so that cargo does not build the crate again.
        if present.get(name) != Some(bytes) {
            fs::write(directory.join(name), bytes)?;
            println!("{BUILT}/{name}: {} bytes", bytes.len());
        }
    }
    Ok(())
}

fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory)
        .with_context(|| format!("cannot look into {}", directory.display()))?;
    let mut files = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    files.retain(|path| path.is_file());
    files.sort();
    Ok(files)
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(files: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
        let files = files.iter();
        files
            .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
            .collect()
    }

    #[test]
    fn a_fresh_build_has_no_difference() {
        let files = made(&[("app.js", "1"), ("app.css", "2")]);
        assert_eq!(differences(&files, &files), [""; 0]);
    }

    #[test]
    fn stale_missing_and_orphaned_files_are_named() {
        let wanted = made(&[("app.css", "new"), ("app.js", "1")]);
        let present = made(&[("app.css", "old"), ("gone.js", "1")]);
        assert_eq!(
            differences(&wanted, &present),
            [
                "app.css is stale",
                "app.js is missing",
                "gone.js has no source"
            ]
        );
    }

    #[test]
    fn parts_and_declarations_are_no_entries() {
        assert!(is_entry("app.ts"));
        assert!(is_entry("app.css"));
        for name in ["_table.css", "uplot.d.ts", "icon.svg", "_live.ts"] {
            assert!(!is_entry(name), "{name}");
        }
    }
}
