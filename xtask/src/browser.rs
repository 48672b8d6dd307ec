//! `cargo xtask browser`: builds Weir and tries its pages in a browser.
//!
//! The tests themselves are a small node project, `tests/browser`; they learn from the environment
//! which binary to start and where to put their pictures.

use std::fs;

use anyhow::{Context, Result};

use crate::check::ALL;
use crate::graph::Graph;
use crate::setup::BROWSER;
use crate::shell::{self, Project};

/// Runs the browser tests, all of them or those whose name matches `filter`.
pub(crate) fn run(project: &Project, filter: Option<&str>) -> Result<()> {
    shell::run(project.cargo(&["build"]).args(ALL))?;
    let mut metadata = project.cargo(&["metadata", "--format-version", "1", "--locked"]);
    let target = Graph::parse(&shell::read(&mut metadata)?)?.target_directory;
    let pictures = format!("{target}/browser");
    fs::create_dir_all(&pictures).with_context(|| format!("cannot make {pictures}"))?;

    let mut node = project.command("node");
    node.args(["--test", "--test-concurrency=1", "--test-reporter=spec"]);
    if let Some(filter) = filter {
        node.arg(format!("--test-name-pattern={filter}"));
    }
    node.arg(project.path(BROWSER))
        .env("WEIR_BIN", format!("{target}/debug/weir"))
        .env("WEIR_PICTURES", &pictures);
    shell::run(&mut node)?;
    println!("pictures: {pictures}");
    Ok(())
}
