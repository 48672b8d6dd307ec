//! `cargo xtask browser`: builds Weir and tries its pages in a browser.
//!
//! The tests themselves are a small node project, `tests/browser`; they learn from the environment
//! which binary to start and where to put their pictures.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::check::BUILD;
use crate::graph;
use crate::shell::{self, Project};

/// The node project of the tests.
pub(crate) const TESTS: &str = "tests/browser";

/// Runs the browser tests, all of them or those whose name matches `filter`.
pub(crate) fn run(project: &Project, filter: Option<&str>) -> Result<()> {
    // The example shows upstreams in every state.
    let mut build = project.cargo(&["build"]);
    shell::run(build.args(BUILD).args(["--example", "preview"]))?;
    let target = graph::target_directory(project)?;
    let pictures = target.join("browser");
    fs::create_dir_all(&pictures).with_context(|| format!("cannot make {}", pictures.display()))?;

    let mut node = project.command("node");
    node.args(["--test", "--test-reporter=spec"]);
    // Two files side by side: each has a browser of its own, and waits for it or for a Weir much of the time. A test that
    // hangs fails.
    node.args(["--test-concurrency=2", "--test-timeout=300000"]);
    if let Some(filter) = filter {
        node.arg(format!("--test-name-pattern={filter}"));
    }
    node.args(files(&project.path(TESTS))?)
        .env("WEIR_BIN", target.join("debug/weir"))
        .env("WEIR_PICTURES", &pictures);
    shell::run(&mut node)?;
    println!("pictures: {}", pictures.display());
    Ok(())
}

/// The test files in a directory; which of them node would find by itself depends on its version.
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
    files.sort();
    Ok(files)
}
