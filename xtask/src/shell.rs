//! Running other programs: where the project is, how a command is started, how cargo is asked.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The checked-out project.
pub(crate) struct Project {
    root: PathBuf,
}

impl Project {
    /// Finds the project from where cargo started this program, so that a moved checkout works.
    pub(crate) fn find() -> Result<Self> {
        let own = env::var_os("CARGO_MANIFEST_DIR")
            .context("start this through cargo: `cargo xtask …`")?;
        let root = Path::new(&own)
            .parent()
            .context("xtask lies in the project's root directory")?;
        Ok(Self {
            root: root.to_owned(),
        })
    }

    /// A path inside the project.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// A command that starts in the project's root.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).stdin(Stdio::null());
        command
    }

    /// The cargo that started this program, with the arguments given.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(arguments);
        command
    }
}

/// Runs a command whose output goes to the terminal; a failure names it.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = line(command);
    let status = command
        .status()
        .with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}

/// Runs a command and gives back what it printed.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let line = line(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{line}`"))?;
    if !output.status.success() {
        bail!("`{line}` ended with {}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` printed something odd"))
}

/// Whether a program of this name can be started.
pub(crate) fn on_path(program: &str) -> bool {
    let Some(path) = env::var_os("PATH") else {
        return false;
    };
    env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// The command as a person would type it, without the directory of the program.
fn line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut words = vec![program.file_name().unwrap_or(program.as_os_str())];
    words.extend(command.get_args());
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failing_command_is_named_without_its_directory() {
        let error = run(Command::new("/bin/sh").args(["-c", "exit 3"])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`sh -c exit 3` ended with exit status: 3"
        );
    }

    #[test]
    fn missing_program_is_an_error_that_names_it() {
        let error = read(&mut Command::new("no-such-program-here")).unwrap_err();
        assert_eq!(error.to_string(), "cannot start `no-such-program-here`");
        assert!(!on_path("no-such-program-here"));
        assert!(on_path("sh"));
    }
}
