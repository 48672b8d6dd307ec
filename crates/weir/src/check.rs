//! `weir check`, `weir completions` and `weir man`: commands that only print.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;
use weir_config::{Section, sample, to_table, to_yaml};

use crate::cli::{Check, Cli};
use crate::config::{Config, Loaded, load};

/// Prints the configuration in use, each value with its source, or the sample to `out`, and the verdict to `notes`.
pub fn check(check: Check, out: &mut dyn Write, notes: &mut dyn Write) -> anyhow::Result<()> {
    if check.sample {
        out.write_all(sample(Config::TABLE).as_bytes())?;
        return Ok(());
    }
    let Loaded {
        config: _,
        resolved,
        file,
        added,
    } = load(&check.settings.sources())?;
    let text = if check.explain {
        to_table(&resolved)
    } else {
        to_yaml(&resolved)
    };
    out.write_all(text.as_bytes())?;
    if added.denied {
        let path = added.path.display();
        writeln!(
            notes,
            "weir: warning: {path} may not be read by this user, so its upstreams were not checked"
        )?;
    }
    let file = file.map(|file| file.display().to_string());
    let file = file.as_deref().unwrap_or("no file; defaults");
    writeln!(notes, "weir: the configuration is correct ({file})")?;
    Ok(())
}

/// Prints the completion script of a shell.
pub fn completions(shell: clap_complete::Shell, out: &mut dyn Write) -> io::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "weir", &mut script);
    out.write_all(&script)
}

/// Prints the manual page.
pub fn man(out: &mut dyn Write) -> io::Result<()> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page)?;
    out.write_all(&page)
}

/// Writes a manual page for each command into an existing directory.
pub fn manual(directory: &Path) -> anyhow::Result<()> {
    let mut cli = Cli::command().disable_help_subcommand(true);
    // Names become whole, `weir-search`, and what commands have in common is passed down.
    cli.build();
    clap_mangen::generate_to(cli, directory)
        .with_context(|| format!("cannot write manual pages into {}", directory.display()))
}
