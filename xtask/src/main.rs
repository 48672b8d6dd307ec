//! The one door: `cargo xtask` sets a machine up, checks the project and makes its generated files.
//!
//! Continuous integration runs `cargo xtask check` and nothing else. Each door has its own file;
//! what they share (running a program, asking cargo) is in `shell`.

#![expect(clippy::print_stdout, reason = "a command that talks to a person")]
#![expect(clippy::print_stderr, reason = "a command that talks to a person")]

mod assets;
mod browser;
mod chaos;
mod check;
mod dist;
mod fuzz;
mod graph;
mod layers;
mod licence;
mod policy;
mod setup;
mod shell;
mod tidy;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::shell::Project;

/// The one door to set-up, checks and generated files.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    door: Door,
}

#[derive(Subcommand)]
enum Door {
    /// Install what the tests need on this machine; fast when it is all there.
    Setup,
    /// Run everything that must pass before a change lands.
    Check {
        /// Only format, lints and unit tests.
        #[arg(long)]
        quick: bool,
    },
    /// Build the script and style of the pages into the files that the binary embeds.
    Assets {
        /// Change nothing; fail if a build would.
        #[arg(long)]
        check: bool,
    },
    /// Check licences, sources, banned and duplicate crates, and who depends on whom.
    Deny,
    /// Look for leftovers: marks of unfinished work, machine paths, over-long files.
    Tidy,
    /// Build Weir and try its pages in a browser.
    Browser {
        /// Save pictures of the pages in `target/browser`.
        #[arg(long)]
        pictures: bool,
        /// Only tests whose name matches this pattern.
        filter: Option<String>,
    },
    /// Follow a busy Weir in an open tab, and note each minute what the tab holds; fails if that grows.
    Tab {
        /// How long; a third of it decides.
        #[arg(default_value_t = 30, value_parser = clap::value_parser!(u32).range(3..))]
        minutes: u32,
    },
    /// Run three Weirs on one store while store, nodes, clocks and the ways between them fail; takes about an hour.
    Chaos {
        /// How long the soak with random faults takes.
        #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
        minutes: u32,
        /// Which random faults; a failed soak prints its seed.
        #[arg(long)]
        seed: Option<u64>,
        /// Only tests whose name contains this.
        filter: Option<String>,
    },
    /// Build the packages that people install, `tar.gz` and `.deb`, into `target/dist`.
    Dist,
    /// Build the packages and try them in an empty Debian with its own systemd: install, start, upgrade, restore a backup, remove.
    DistTest,
    /// Let the fuzzer try every parser, or one of them, for a bounded time.
    Fuzz {
        /// How long each is tried.
        #[arg(long, default_value_t = 60)]
        seconds: u32,
        /// Only this one.
        target: Option<String>,
    },
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<()> {
    let project = Project::find()?;
    match &cli.door {
        Door::Setup => setup::run(&project),
        Door::Check { quick } => check::run(&project, *quick),
        Door::Assets { check } => assets::run(&project, *check),
        Door::Deny => policy::run(&project),
        Door::Tidy => tidy::run(&project),
        Door::Browser { filter, pictures } => browser::run(&project, filter.as_deref(), *pictures),
        Door::Tab { minutes } => browser::watch_tab(&project, *minutes),
        Door::Chaos {
            minutes,
            seed,
            filter,
        } => chaos::run(&project, *minutes, *seed, filter.as_deref()),
        Door::Dist => dist::run(&project),
        Door::DistTest => dist::trial::run(&project),
        Door::Fuzz { seconds, target } => fuzz::run(&project, *seconds, target.as_deref()),
    }
}
