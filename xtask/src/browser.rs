//! `cargo xtask browser`: builds Weir and tries its pages in a browser.
//!
//! The tests themselves are a small node project, `tests/browser`; they learn from the environment
//! which binary to start and where to put their pictures.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::check::BUILD;
use crate::graph;
use crate::shell::{self, Project};

/// The node project of the tests.
pub(crate) const TESTS: &str = "tests/browser";

/// Runs the browser tests, all of them or those whose name matches `filter`, and saves pictures of what they saw.
pub(crate) fn run(project: &Project, filter: Option<&str>, pictures: bool) -> Result<()> {
    // The example shows upstreams in every state.
    let mut build = project.cargo(&["build"]);
    shell::run(build.args(BUILD).args(["--example", "preview"]))?;
    let target = graph::target_directory(project)?;
    let mut node = project.command("node");
    node.args(["--test", "--test-reporter=spec"]);
    // Three files side by side: each has a browser of its own, and waits for it or for a Weir some of the time. A test that
    // hangs fails.
    node.args(["--test-concurrency=3", "--test-timeout=300000"]);
    if let Some(filter) = filter {
        node.arg(format!("--test-name-pattern={filter}"));
    }
    node.args(files(&project.path(TESTS))?)
        .env("WEIR_BIN", target.join("debug/weir"));
    // Each costs as much as a visit, and only people look at them.
    let place = target.join("browser");
    if pictures {
        fs::create_dir_all(&place).with_context(|| format!("cannot make {}", place.display()))?;
        node.env("WEIR_PICTURES", &place);
    }
    shell::run(&mut node)?;
    if pictures {
        println!("pictures: {}", place.display());
    }
    Ok(())
}

/// Follows the overview of a busy Weir in a browser for so long, and fails if the tab's memory grows.
pub(crate) fn watch_tab(project: &Project, minutes: u32) -> Result<()> {
    let mut build = project.cargo(&["build"]);
    shell::run(build.args(BUILD))?;
    let target = graph::target_directory(project)?;
    let mut node = project.command("node");
    node.args(["--test", "--test-reporter=spec"])
        .arg(project.path(TESTS).join("tab.js"))
        .env("WEIR_BIN", target.join("debug/weir"))
        .env("WEIR_MINUTES", minutes.to_string());
    shell::run(&mut node)
}

/// The test files in a directory; which of them node would find by itself depends on its version. The longest come first, so
/// that none of them is left to run alone at the end.
fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).with_context(|| format!("no {}", directory.display()))?;
    let mut files = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    files.retain(|path| path.to_string_lossy().ends_with(".test.js"));
    ensure!(
        !files.is_empty(),
        "no browser test in {}",
        directory.display()
    );
    files.sort_by_key(|path| {
        let bytes = fs::metadata(path).map_or(0, |found| found.len());
        (Reverse(bytes), path.clone())
    });
    Ok(files)
}
