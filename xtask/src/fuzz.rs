//! `cargo xtask fuzz`: lets the fuzzer try every parser for a bounded time.
//!
//! The targets are a workspace of their own, `fuzz`, built by cargo-fuzz without a sanitizer, so
//! that the project's compiler will do. Each starts from the bytes kept with the project; what the
//! fuzzer learns goes to `fuzz/corpus`, what crashes to `fuzz/artifacts`, and git ignores both.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::shell::{self, Project};

/// Where each target is a file.
const TARGETS: &str = "fuzz/fuzz_targets";

/// Where the bytes to start from are, one directory per target in each.
const SEEDS: &[&str] = &[
    "fuzz/seeds",
    "crates/tracker-proto/tests/recorded",
    "crates/search-proto/tests/recorded",
    "crates/news-proto/tests/recorded",
];

/// A single input that takes longer than this many seconds is a failure.
const PATIENCE: u32 = 5;

/// Runs one target or all of them, `seconds` each; a crash does not hide the next one.
pub(crate) fn run(project: &Project, seconds: u32, only: Option<&str>) -> Result<()> {
    let mut targets = targets(&project.path(TARGETS))?;
    if let Some(only) = only {
        ensure!(
            targets.iter().any(|target| target == only),
            "no fuzz target {only}; there are: {}",
            targets.join(", ")
        );
        targets.retain(|target| target == only);
    }
    if !shell::on_path("cargo-fuzz") {
        shell::run(&mut project.cargo(&["install", "cargo-fuzz", "--locked"]))?;
    }
    let mut failed = Vec::new();
    for target in &targets {
        println!("\n== {target}: {seconds} s ==");
        if let Err(error) = fuzz(project, target, seconds) {
            eprintln!("error: {error:#}");
            failed.push(target.as_str());
        }
    }
    if !failed.is_empty() {
        bail!(
            "these failed: {}; keep the bytes from fuzz/artifacts in fuzz/seeds with the fix",
            failed.join(", ")
        );
    }
    Ok(())
}

fn fuzz(project: &Project, target: &str, seconds: u32) -> Result<()> {
    let corpus = project.path("fuzz/corpus").join(target);
    fs::create_dir_all(&corpus).with_context(|| format!("cannot make {}", corpus.display()))?;
    let mut command = project.cargo(&["fuzz", "run", "--sanitizer", "none", target]);
    command.arg(&corpus).args(seeds(project, target)).arg("--");
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-timeout={PATIENCE}"));
    shell::run(&mut command)
}

/// The directories of kept bytes that this target has.
fn seeds(project: &Project, target: &str) -> Vec<PathBuf> {
    let places = SEEDS.iter().map(|place| project.path(place).join(target));
    places.filter(|place| place.is_dir()).collect()
}

/// The names of all targets, sorted.
fn targets(directory: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(directory).with_context(|| format!("no {}", directory.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.file_stem().unwrap_or_default();
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_found_and_has_bytes_to_start_from() {
        let project = Project::find().unwrap();
        let targets = targets(&project.path(TARGETS)).unwrap();
        assert!(targets.contains(&"bencode".to_owned()), "{targets:?}");
        for target in targets {
            assert!(!seeds(&project, &target).is_empty(), "{target}");
        }
    }

    #[test]
    fn unknown_target_is_refused_with_a_list() {
        let project = Project::find().unwrap();
        let error = run(&project, 1, Some("nonsense")).unwrap_err().to_string();
        assert!(error.starts_with("no fuzz target nonsense; there are: "));
        assert!(error.contains(" bencode, "), "{error}");
    }
}
