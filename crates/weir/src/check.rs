//! `weir check`, `weir completions` and `weir man`: commands that only print.

use std::io::{self, Write};

use clap::CommandFactory;
use weir_config::{Section, sample, to_table, to_yaml};

use crate::cli::{Check, Cli};
use crate::config::{Config, Loaded, load};

/// Prints the resolved configuration, its explanation or the sample to `out`, and the verdict to `notes`.
pub fn check(check: Check, out: &mut dyn Write, notes: &mut dyn Write) -> anyhow::Result<()> {
    if check.sample {
        out.write_all(sample(Config::TABLE).as_bytes())?;
        return Ok(());
    }
    let Loaded { resolved, file, .. } = load(&check.settings.sources())?;
    let text = if check.explain {
        to_table(&resolved)
    } else {
        to_yaml(&resolved)
    };
    out.write_all(text.as_bytes())?;
    match file {
        Some(file) => writeln!(
            notes,
            "weir: the configuration is good ({})",
            file.display()
        )?,
        None => writeln!(notes, "weir: the configuration is good (no file; defaults)")?,
    }
    Ok(())
}

/// Prints the completion script of a shell.
pub fn completions(shell: clap_complete::Shell, out: &mut dyn Write) {
    clap_complete::generate(shell, &mut Cli::command(), "weir", &mut Unbroken(out));
}

/// Prints the manual page.
pub fn man(out: &mut dyn Write) -> io::Result<()> {
    clap_mangen::Man::new(Cli::command()).render(&mut Unbroken(out))
}

/// Lets a reader that went away (`weir man | head`) end the output instead of the program.
struct Unbroken<'a>(&'a mut dyn Write);

impl Write for Unbroken<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(bytes.len()),
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
