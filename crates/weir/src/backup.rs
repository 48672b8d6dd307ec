//! `weir backup`: copies all state into a new directory, through the running Weir or, if none is running, from the data
//! directory itself.

pub(crate) mod contents;
mod fetch;
pub(crate) mod manifest;
mod place;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use tokio::signal::unix::{SignalKind, signal};
use weir_engine::words;
use weir_web::{Clock, System};

use self::contents::Way;
use self::manifest::Manifest;
use self::place::NewBackup;
use crate::cli::Backup;
use crate::config::load;
use crate::remote::{Remote, is_elsewhere};
use crate::serve::Data;

/// Runs the command.
///
/// # Errors
/// If the directory cannot be used, or the state cannot be had. Then nothing is left behind.
pub fn run(args: Backup, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let Backup {
        directory,
        text_index,
        remote,
    } = args;
    let place = NewBackup::begin(&directory)?;
    let idle = match is_elsewhere(&remote) {
        true => None,
        false => idle(&load(&remote.place.clone().sources())?.config.data)?,
    };
    let manifest = match idle {
        Some(data) => copied(&data, &place, text_index)?,
        None => {
            let remote = Remote::running(remote)?;
            match fetched(&remote, &place, text_index)? {
                Ok(manifest) => manifest,
                Err(signal) => return Ok(ExitCode::from(signal)),
            }
        }
    };
    place.finish(&manifest)?;
    let (files, size) = (manifest.files.len() as u64, words::size(manifest.size()));
    let files = words::counted(files, "file", "files");
    let shown = directory.display();
    writeln!(out, "Backed up {files} ({size}) to {shown}.")?;
    // Not the command: Weir would go on writing in the backup.
    writeln!(
        out,
        "To restore it, stop Weir, replace the data directory with a copy of it, and start Weir as usual."
    )?;
    Ok(ExitCode::SUCCESS)
}

/// The data directory, if no Weir uses it. One that may not be opened is asked for through the Weir that runs.
fn idle(data: &Path) -> anyhow::Result<Option<Data>> {
    if !data.join("state.db").exists() && std::fs::read_dir(data).is_ok() || !data.exists() {
        bail!(
            "there is no state in {}. Give the right directory with --data DIR or -c FILE, or the address of the running Weir with --url",
            data.display()
        );
    }
    Data::lock_idle(data)
}

/// Copies the state of a Weir that is not running.
fn copied(data: &Data, place: &NewBackup, text_index: bool) -> anyhow::Result<Manifest> {
    let to = place.path();
    let names = contents::copy(data.path(), to, text_index, Way::Copy, &|| true)?;
    Manifest::of(to, names, System.now().to_string()).context("cannot read the copies")
}

/// Fetches the state of a Weir that is running. A signal ends it early; its exit code is that of shells, and what was fetched
/// is removed.
fn fetched(
    remote: &Remote,
    place: &NewBackup,
    text_index: bool,
) -> anyhow::Result<Result<Manifest, u8>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start")?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            manifest = fetch::fetch(remote, place, text_index) => manifest.map(Ok),
            _ = tokio::signal::ctrl_c() => Ok(Err(130)),
            _ = terminate.recv() => Ok(Err(143)),
        }
    })
}
