//! `cargo xtask check`: all that must pass before a change lands, in one command.
//!
//! Every cargo command here selects the whole workspace with its tests: what a selection leaves out
//! changes the features of shared crates, and each such set is built anew. A step that fails does
//! not hide the next one; the end names every step that failed.

use std::num::NonZero;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::shell::{self, Project};
use crate::{assets, browser, policy, setup, tidy};

/// What is built for the tests and for the browser: the binary is the same in both.
pub(crate) const BUILD: [&str; 4] = ["--locked", "--workspace", "--bins", "--tests"];

/// One part of the check.
struct Step {
    name: &'static str,
    run: fn(&Project) -> Result<()>,
}

const SETUP: Step = Step {
    name: "setup",
    run: setup::run,
};

const FULL: &[Step] = &[
    Step {
        name: "tidy",
        run: tidy::run,
    },
    Step {
        name: "deny",
        run: policy::run,
    },
    Step {
        name: "assets",
        run: |project| assets::run(project, true),
    },
    Step {
        name: "fmt",
        run: fmt,
    },
    Step {
        name: "clippy",
        run: clippy,
    },
    Step {
        name: "doc",
        run: doc,
    },
    Step {
        name: "doctest",
        run: doctest,
    },
    Step {
        name: "test",
        run: test,
    },
    Step {
        name: "browser",
        run: |project| browser::run(project, None, false),
    },
];

const QUICK: &[Step] = &[
    Step {
        name: "fmt",
        run: fmt,
    },
    Step {
        name: "clippy",
        run: clippy,
    },
    Step {
        name: "unit tests",
        run: unit,
    },
];

/// Runs the whole check, or the quick one.
pub(crate) fn run(project: &Project, quick: bool) -> Result<()> {
    let mut times = Vec::new();
    let mut failed = Vec::new();
    if !quick {
        // Without what it installs, the other steps would fail for reasons that mislead.
        let (time, result) = timed(&SETUP, project);
        times.push((SETUP.name, time, result.is_ok()));
        result?;
    }
    for step in if quick { QUICK } else { FULL } {
        let (time, result) = timed(step, project);
        times.push((step.name, time, result.is_ok()));
        if let Err(error) = result {
            eprintln!("error: {error:#}");
            failed.push(step.name);
        }
    }
    println!("\n{}", table(&times));
    if !failed.is_empty() {
        bail!("the check failed at: {}", failed.join(", "));
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "it measures real time")]
fn timed(step: &Step, project: &Project) -> (Duration, Result<()>) {
    println!("\n== {} ==", step.name);
    let start = Instant::now();
    let result = (step.run)(project);
    let time = start.elapsed();
    println!("== {}: {} ==", step.name, seconds(time));
    (time, result)
}

/// The times of all steps, aligned, with their sum.
fn table(times: &[(&str, Duration, bool)]) -> String {
    let total = times.iter().map(|(_, time, _)| *time).sum();
    let row = |name: &str, time, end: &str| format!("{name:<12}{:>9}{end}", seconds(time));
    let rows = times
        .iter()
        .map(|(name, time, passed)| row(name, *time, if *passed { "" } else { "  failed" }));
    let mut rows: Vec<String> = rows.collect();
    rows.push(row("all", total, ""));
    rows.join("\n")
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn fmt(project: &Project) -> Result<()> {
    shell::run(&mut project.cargo(&["fmt", "--all", "--check"]))
}

fn clippy(project: &Project) -> Result<()> {
    let mut command = project.cargo(&["clippy", "--locked", "--workspace", "--all-targets"]);
    shell::run(command.args(["--", "--deny", "warnings"]))
}

fn doc(project: &Project) -> Result<()> {
    let mut command = project.cargo(&["doc", "--locked", "--workspace", "--no-deps"]);
    // Asking for examples brings the features that tests need, and with them what clippy has
    // checked already; without it every async crate is checked a second time.
    command.args(["--lib", "--bin", "xtask", "--examples"]);
    command.arg("--document-private-items");
    shell::run(command.env("RUSTDOCFLAGS", "--deny warnings"))
}

fn doctest(project: &Project) -> Result<()> {
    shell::run(&mut project.cargo(&["test", "--locked", "--workspace", "--doc", "--quiet"]))
}

fn test(project: &Project) -> Result<()> {
    run_tests(project, &BUILD)
}

fn unit(project: &Project) -> Result<()> {
    run_tests(project, &["--locked", "--workspace", "--lib", "--bins"])
}

/// Runs tests with nextest where it is installed, for it ends tests that hang.
fn run_tests(project: &Project, selection: &[&str]) -> Result<()> {
    if !shell::on_path("cargo-nextest") {
        return shell::run(project.cargo(&["test"]).args(selection));
    }
    // Tests of the whole program wait for real servers and clients much of the time: twice as many keep all cores busy.
    let cores = thread::available_parallelism().map_or(2, NonZero::get);
    let threads = (cores * 2).to_string();
    let mut command = project.cargo(&["nextest", "run", "--test-threads", &threads]);
    shell::run(command.args(selection))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lines_up_and_names_what_failed() {
        let times = [
            ("fmt", Duration::from_millis(1_240), true),
            ("clippy", Duration::from_secs(100), false),
        ];
        assert_eq!(
            table(&times),
            "fmt             1.2 s\nclippy        100.0 s  failed\nall           101.2 s"
        );
    }
}
