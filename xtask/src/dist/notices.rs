//! The licences of everything that is linked into the binary or embedded in it, in one text.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::assets;
use crate::graph::{Graph, Package};
use crate::shell::{self, Project};

/// What the files of a licence are called.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

/// Puts the text together.
pub(super) fn write(project: &Project) -> Result<String> {
    let graph = linked(project)?;
    let mut parts = Vec::new();
    for package in graph.all().filter(|package| package.source.is_some()) {
        parts.push(part(package)?);
    }
    parts.push(script(project)?);
    Ok(text(&parts))
}

/// The packages whose code is in the binary. Macros and build scripts only help to make it.
fn linked(project: &Project) -> Result<Graph> {
    let host = shell::read(project.command("rustc").arg("-vV"))?;
    let host = host.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.context("rustc does not say what machine this is")?;
    let mut metadata = project.cargo(&["metadata", "--format-version", "1", "--locked"]);
    let mut tree = project.cargo(&["tree", "--locked", "--package", "weir"]);
    tree.args(["--edges", "normal,no-proc-macro", "--prefix", "none"]);
    tree.args(["--format", "{p}", "--target", host]);
    let json = shell::read(metadata.args(["--filter-platform", host]))?;
    let mut graph = Graph::parse(&json)?;
    graph.keep(&shell::read(&mut tree)?);
    Ok(graph)
}

/// Something that is in the binary.
struct Part {
    /// Name and version.
    title: String,
    licence: String,
    /// What its licence files say.
    files: Vec<String>,
}

fn part(package: &Package) -> Result<Part> {
    let title = format!("{} {}", package.name, package.version);
    let directory = package.manifest_path.parent();
    let files = files(directory.context("a manifest is in a directory")?)?;
    ensure!(!files.is_empty(), "{title} comes without its licence");
    Ok(Part {
        licence: package.license.clone().unwrap_or_default(),
        files,
        title,
    })
}

/// What the script of the pages has from others.
fn script(project: &Project) -> Result<Part> {
    let place = project.path(assets::SOURCE).join("node_modules/uplot");
    let manifest = fs::read_to_string(place.join("package.json"))
        .context("uPlot's licence is not here: run `cargo xtask setup`")?;
    let manifest: serde_json::Value = serde_json::from_str(&manifest)?;
    let field = |name: &str| manifest[name].as_str().unwrap_or_default().to_owned();
    Ok(Part {
        title: format!("uPlot {}", field("version")),
        licence: field("license"),
        files: files(&place)?,
    })
}

fn files(directory: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let is_one = NAMES.iter().any(|known| name.contains(known));
        if is_one && entry.file_type()?.is_file() {
            found.push((name, fs::read_to_string(entry.path())?));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, text)| text).collect())
}

/// All parts with their licences, then each text once with those who use it.
fn text(parts: &[Part]) -> String {
    let mut out = String::from(
        "What is linked into Weir or embedded in it, and under which licences. Weir itself is under\n\
         MIT OR Apache-2.0; so is the standard library of Rust, which is also linked in. The database\n\
         engine within libsqlite3-sys, SQLite, is in the public domain.\n\n",
    );
    let mut texts: BTreeMap<String, (Vec<&str>, &str)> = BTreeMap::new();
    for part in parts {
        let _ = writeln!(out, "{}: {}", part.title, part.licence);
        for file in &part.files {
            let same: Vec<&str> = file.split_whitespace().collect();
            let entry = texts.entry(same.join(" ")).or_insert((Vec::new(), file));
            entry.0.push(&part.title);
        }
    }
    for (titles, file) in texts.values() {
        let line = "=".repeat(80);
        let _ = write!(
            out,
            "\n{line}\n{}\n{line}\n\n{}\n",
            titles.join(", "),
            file.trim()
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_several_share_appears_once() {
        let part = |title: &str, file: &str| Part {
            title: title.to_owned(),
            licence: "MIT".to_owned(),
            files: vec![file.to_owned()],
        };
        let out = text(&[
            part("one 1.0", "Do as\nyou like."),
            part("two 2.0", "Do as you like.\n"),
            part("three 3.0", "Ask first."),
        ]);
        assert!(
            out.contains("\none 1.0: MIT\ntwo 2.0: MIT\nthree 3.0: MIT\n"),
            "{out}"
        );
        assert!(out.contains("\none 1.0, two 2.0\n"), "{out}");
        assert_eq!(out.matches("you like.").count(), 1, "{out}");
        assert_eq!(out.matches("Ask first.").count(), 1, "{out}");
    }
}
