//! The `weir` binary.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use weir::cli::{Cli, Command, Usage};
use weir::serve::Manner;
use weir::{backup, check, config, demo, import, search, serve, sign_in, status};
use weir_config::Mistakes;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => report(&error),
    }
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let (mut out, mut notes) = (io::stdout().lock(), io::stderr());
    match cli.chosen()? {
        Command::Serve(settings) => {
            drop(out);
            let sources = settings.sources();
            return serve::run(config::load(&sources)?, sources, Manner::Service);
        }
        Command::Demo => {
            drop(out);
            return demo::run();
        }
        Command::Search(args) => {
            drop(out);
            return search::run(args);
        }
        Command::Status(args) => return status::run(args, &mut out),
        Command::Backup(args) => return backup::run(args, &mut out),
        Command::SignIn(place) => sign_in::run(place, &mut out, &mut notes)?,
        Command::Import { from, url, key } => import::run(from, &url, &key, &mut out, &mut notes)?,
        Command::Check(args) => check::check(args, &mut out, &mut notes)?,
        Command::Completions { shell } => check::completions(shell, &mut out)?,
        Command::Man { dir: None } => check::man(&mut out)?,
        Command::Man { dir: Some(dir) } => check::manual(&dir)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether the reader of our output has closed the pipe, as in `weir man | head`; that is not an error.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    kind == Some(io::ErrorKind::BrokenPipe)
}

/// Exit code 2 for mistakes in the configuration or the command line, 1 for everything else. Errors of writing to standard error are
/// ignored: there is nobody left to tell.
fn report(error: &anyhow::Error) -> ExitCode {
    let mut notes = io::stderr().lock();
    let Some(mistakes) = error.downcast_ref::<Mistakes>() else {
        let _ = writeln!(notes, "weir: {error:#}");
        return ExitCode::from(if error.is::<Usage>() { 2 } else { 1 });
    };
    let count = match mistakes.len() {
        1 => "one mistake".to_owned(),
        n => format!("{n} mistakes"),
    };
    let _ = writeln!(notes, "weir: {count} in the configuration\n{mistakes}");
    ExitCode::from(2)
}
