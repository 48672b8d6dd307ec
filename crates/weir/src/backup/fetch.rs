//! Takes a backup of a running Weir: that one makes the copies, and they are fetched piece by piece.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use weir_engine::words;

use super::manifest::{Checksum, CopiedFile, Manifest};
use super::place::NewBackup;
use crate::remote::Remote;

/// How often Weir is asked whether the copies are made.
const LOOK: Duration = Duration::from_millis(200);

/// Fetches everything into `place`. The copies that Weir made for it are removed there, whatever happens here.
pub(super) async fn fetch(
    remote: &Remote,
    place: &NewBackup,
    text_index: bool,
) -> anyhow::Result<Manifest> {
    let question = json!({ "text_index": text_index });
    let begun = remote.post("/api/v1/backups", &question).await?;
    let id = begun["id"].as_str().context("the answer has no ID")?;
    let path = format!("/api/v1/backups/{id}");
    let taken = take(remote, place, &path).await;
    // If this does not arrive, Weir removes them after a minute.
    let done = remote.post(&format!("{path}/done"), &json!({})).await;
    drop(done);
    taken
}

async fn take(remote: &Remote, place: &NewBackup, path: &str) -> anyhow::Result<Manifest> {
    let manifest = loop {
        let mut told = remote.get(path).await?;
        match told["state"].as_str() {
            Some("making") => tokio::time::sleep(LOOK).await,
            Some("ready") => {
                let manifest = serde_json::from_value::<Manifest>(told["manifest"].take());
                break manifest.context(
                    "Weir describes the backup in a way that this version does not know",
                )?;
            }
            _ => bail!("Weir could not make the backup: {}", plain(&told["error"])),
        }
    };
    if let Some(fault) = manifest.fault() {
        bail!("what Weir sent is not a backup: {fault}");
    }
    let mut progress = Progress::new(manifest.size());
    for file in &manifest.files {
        one(remote, place, path, file, &mut progress).await?;
    }
    progress.end();
    Ok(manifest)
}

async fn one(
    remote: &Remote,
    place: &NewBackup,
    path: &str,
    wanted: &CopiedFile,
    progress: &mut Progress,
) -> anyhow::Result<()> {
    let CopiedFile { name, size, sha256 } = wanted;
    let mut file = place.create(name)?;
    let mut sum = Checksum::default();
    let mut from = 0;
    while from < *size {
        let piece = format!("{path}/file?name={name}&from={from}");
        let piece = remote.bytes(&piece).await?;
        from += piece.len() as u64;
        if piece.is_empty() || from > *size {
            bail!("Weir sent another number of bytes of {name} than it said");
        }
        sum.add(&piece);
        file.write_all(&piece)
            .with_context(|| format!("cannot write {name}"))?;
        progress.add(piece.len());
    }
    file.sync_all()
        .with_context(|| format!("cannot write {name}"))?;
    if sum.end() != (*size, sha256.clone()) {
        bail!("{name} arrived damaged");
    }
    Ok(())
}

/// How far it is, on a terminal.
struct Progress {
    all: u64,
    done: u64,
    shown: bool,
}

impl Progress {
    fn new(all: u64) -> Self {
        let shown = std::io::stderr().is_terminal();
        Self {
            all,
            done: 0,
            shown,
        }
    }

    fn add(&mut self, bytes: usize) {
        self.done += bytes as u64;
        if self.shown {
            let (done, all) = (words::size(self.done), words::size(self.all));
            let mut err = std::io::stderr().lock();
            let _ = write!(err, "\r\x1b[2K{done} of {all}").and_then(|()| err.flush());
        }
    }

    fn end(&self) {
        if self.shown {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K");
        }
    }
}

/// Words of the other side, without control characters.
fn plain(value: &Value) -> String {
    let text = value.as_str().unwrap_or("it did not say why");
    text.chars().filter(|letter| !letter.is_control()).collect()
}
