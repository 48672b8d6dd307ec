//! `/api/v1/backups`: copies of all state, made while Weir runs and fetched piece by piece.
//!
//! Weir writes copies only below its own data directory, and whoever asked for them fetches them: no request can name a
//! place to write to. There is at most one backup at a time; one that nobody asks for any more is removed, and so is what a
//! kill left behind.

mod described;

use std::io::SeekFrom;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path as At, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use rustix::fs::statvfs;
use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio::time::Instant;
use weir_engine::words;
use weir_store::rusqlite::OptionalExtension;
use weir_store::sqlite::{File, Migrations};
use weir_web::openapi::ApiRoutes;
use weir_web::{Clock, Contribution, Failure, System};

use crate::backup::contents::{self, Way};
use crate::backup::manifest::Manifest;

/// Where copies are, in the data directory.
const PLACE: &str = "backup.part";
/// Bytes of a file that one answer holds at most.
const PIECE: u64 = 4 << 20;
/// What must stay free on the disk beside the copies, so that Weir itself can go on writing.
const SPARE: u64 = 64 << 20;
/// A backup that was not asked for in this time may be replaced by the next one.
const STALE: Duration = Duration::from_secs(10);
/// A backup that was not asked for in this time is removed.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// Writes what is not yet written, so that the copies are new.
type Save = Box<dyn Fn() -> anyhow::Result<()> + Send + Sync>;

/// The backups of this Weir; clones share them.
#[derive(Clone)]
pub(super) struct Backups(Arc<Inner>);

struct Inner {
    data: PathBuf,
    save: Save,
    now: Mutex<Now>,
    /// Where it is noted when the last one was fetched.
    kept: Option<File>,
}

/// The tables of backups.
const MIGRATIONS: Migrations = Migrations {
    owner: "backup",
    steps: &[
        "CREATE TABLE backup_fetched (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, bytes INTEGER NOT NULL);",
    ],
};

/// A backup that was fetched whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FetchedBackup {
    /// In seconds since 1970.
    pub(super) at: i64,
    pub(super) bytes: u64,
}

#[derive(Default)]
struct Now {
    /// Number of the last one.
    last: u64,
    taken: Option<Taken>,
}

struct Taken {
    id: String,
    directory: PathBuf,
    progress: Making,
    /// When it was last asked for.
    asked: Instant,
}

enum Making {
    /// A thread is at work.
    Copying,
    Ready(Arc<Manifest>),
    Failed(String),
}

impl Backups {
    /// Removes what a kill left behind.
    pub(super) fn open(
        data: &Path,
        save: impl Fn() -> anyhow::Result<()> + Send + Sync + 'static,
    ) -> Self {
        remove(&data.join(PLACE));
        Self(Arc::new(Inner {
            data: data.to_owned(),
            save: Box::new(save),
            now: Mutex::default(),
            kept: None,
        }))
    }

    /// Notes in this file when the last one was fetched.
    pub(super) fn noting(mut self, file: &File) -> Result<Self, weir_store::Error> {
        file.migrate(MIGRATIONS)?;
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.kept = Some(file.clone());
        }
        Ok(self)
    }

    /// The directory of which copies are made.
    pub(super) fn data(&self) -> &Path {
        &self.0.data
    }

    /// The last one that was fetched whole, also by an earlier run.
    pub(super) fn last_fetched(&self) -> Option<FetchedBackup> {
        let read = self.0.kept.as_ref()?.read(|connection| {
            let sql = "SELECT at, bytes FROM backup_fetched WHERE id = 1";
            let row = connection.query_row(sql, [], |row| {
                let bytes: i64 = row.get(1)?;
                Ok(FetchedBackup {
                    at: row.get(0)?,
                    bytes: u64::try_from(bytes).unwrap_or(0),
                })
            });
            row.optional()
        });
        read.ok().flatten()
    }

    fn note(&self, bytes: u64) {
        let Some(file) = &self.0.kept else { return };
        let (at, bytes) = (
            System.now().as_second(),
            i64::try_from(bytes).unwrap_or(i64::MAX),
        );
        let noted = file.write_later(move |tx| {
            let sql = "INSERT OR REPLACE INTO backup_fetched (id, at, bytes) VALUES (1, ?1, ?2)";
            tx.execute(sql, (at, bytes)).map(|_| ())
        });
        if let Err(error) = noted {
            tracing::warn!(%error, "it is not noted that a backup was fetched");
        }
    }

    /// Adds the routes.
    pub(super) fn contribute(&self, contribution: Contribution) -> Contribution {
        let routes = ApiRoutes::new()
            .route(described::begin(), begin)
            .route(described::look(), look)
            .route(described::piece(), piece)
            .route(described::done(), done)
            .with_state(self.clone());
        contribution.api(routes)
    }

    /// Removes a backup that nobody asks for any more.
    pub(super) fn sweep(&self) {
        let mut now = self.0.now.lock();
        let forgotten = now.taken.take_if(|taken| {
            taken.asked.elapsed() >= FORGOTTEN && !matches!(taken.progress, Making::Copying)
        });
        drop(now);
        if let Some(taken) = forgotten {
            tracing::info!(id = taken.id, "a backup that nobody fetched was removed");
            taken.remove();
        }
    }

    /// Removes all of it: Weir is about to end.
    pub(super) fn close(&self) {
        remove(&self.0.data.join(PLACE));
    }

    /// Starts one; its ID.
    fn begin(&self, text_index: bool) -> Result<String, Failure> {
        let mut now = self.0.now.lock();
        let old = now.taken.take_if(|taken| {
            taken.asked.elapsed() >= STALE && !matches!(taken.progress, Making::Copying)
        });
        if now.taken.is_some() {
            let busy = "Another backup is being taken.";
            return Err(
                Failure::new(StatusCode::CONFLICT, busy, "Try again when it is done.")
                    .retry_after(10),
            );
        }
        if let Some(old) = old {
            old.remove();
        }
        self.check_space(text_index)?;
        now.last += 1;
        let id = format!("{}-{}", System.now().as_second(), now.last);
        let directory = self.0.data.join(PLACE).join(&id);
        let (backups, making) = (self.clone(), (id.clone(), directory.clone()));
        let thread = std::thread::Builder::new().name("weir-backup".into());
        let thread = thread.spawn(move || backups.make(&making.0, &making.1, text_index));
        thread.map_err(|error| {
            tracing::error!(%error, "cannot start a thread for a backup");
            Failure::internal()
        })?;
        now.taken = Some(Taken {
            id: id.clone(),
            directory,
            progress: Making::Copying,
            asked: Instant::now(),
        });
        tracing::info!(id, text_index, "a backup is being made");
        Ok(id)
    }

    /// Refuses a backup whose copies would leave no room for Weir itself.
    fn check_space(&self, text_index: bool) -> Result<(), Failure> {
        let free = statvfs(&self.0.data).map(|fs| fs.f_bavail.saturating_mul(fs.f_frsize));
        let needed = contents::needed(&self.0.data, text_index).saturating_add(SPARE);
        match free {
            Ok(free) if free < needed => Err(Failure::new(
                StatusCode::INSUFFICIENT_STORAGE,
                format!(
                    "The disk with the data directory has {} free; a backup needs {} there for a moment.",
                    words::size(free),
                    words::size(needed)
                ),
                "Free some space. Or stop Weir and run `weir backup` then: it copies directly.",
            )),
            _ => Ok(()),
        }
    }

    /// Makes the copies, on a thread of its own.
    fn make(&self, id: &str, directory: &Path, text_index: bool) {
        let made = catch_unwind(AssertUnwindSafe(|| self.copies(id, directory, text_index)));
        let made = made.unwrap_or_else(|_| Err(anyhow::anyhow!("making it panicked")));
        let mut now = self.0.now.lock();
        let ours = now.taken.as_mut().filter(|taken| taken.id == id);
        let Some(taken) = ours else {
            drop(now);
            return remove(directory);
        };
        taken.progress = match made {
            Ok(manifest) => {
                tracing::info!(
                    id,
                    bytes = manifest.size(),
                    "a backup is ready to be fetched"
                );
                Making::Ready(Arc::new(manifest))
            }
            Err(error) => {
                tracing::error!(
                    id,
                    error = format!("{error:#}"),
                    "a backup could not be made"
                );
                remove(directory);
                Making::Failed(format!("{error:#}"))
            }
        };
    }

    fn copies(&self, id: &str, directory: &Path, text_index: bool) -> anyhow::Result<Manifest> {
        (self.0.save)()?;
        let place = self.0.data.join(PLACE);
        if !place.is_dir() {
            contents::make_directory(&place)?;
        }
        contents::make_directory(directory)?;
        let made = System.now().to_string();
        let goes_on = || self.is_wanted(id);
        let names = contents::copy(&self.0.data, directory, text_index, Way::Link, &goes_on)?;
        Manifest::of(directory, names, made).context("cannot read the copies")
    }

    /// Whether somebody still waits for it.
    fn is_wanted(&self, id: &str) -> bool {
        let now = self.0.now.lock();
        let taken = now.taken.as_ref().filter(|taken| taken.id == id);
        taken.is_some_and(|taken| taken.asked.elapsed() < FORGOTTEN)
    }

    /// Looks at the backup with this ID, and notes that it was asked for.
    fn with<T>(
        &self,
        id: &str,
        look: impl FnOnce(&Taken) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut now = self.0.now.lock();
        let Some(taken) = now.taken.as_mut().filter(|taken| taken.id == id) else {
            return Err(Failure::unknown(
                "There is no such backup, or no longer.",
                "Begin another one: POST /api/v1/backups.",
            ));
        };
        taken.asked = Instant::now();
        look(taken)
    }

    fn end(&self, id: &str) {
        let mut now = self.0.now.lock();
        let taken = now.taken.take_if(|taken| taken.id == id);
        drop(now);
        if let Some(taken) = taken {
            tracing::info!(id, "a backup is done");
            if let Making::Ready(manifest) = &taken.progress {
                self.note(manifest.size());
            }
            taken.remove();
        }
    }
}

impl Taken {
    /// Removes its copies, unless the thread that makes them is to do that. Deleting long files takes a while.
    fn remove(self) {
        if matches!(self.progress, Making::Copying) {
            return;
        }
        let thread = std::thread::Builder::new().name("weir-backup".into());
        let removing = thread.spawn(move || remove(&self.directory));
        if let Err(error) = removing {
            tracing::warn!(%error, "the copies of a backup stay until the next start");
        }
    }
}

fn remove(directory: &Path) {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::warn!(%error, path = %directory.display(), "cannot remove the copies of a backup");
        }
        _ => {}
    }
}

/// What a backup should hold beside the state.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wanted {
    text_index: bool,
}

/// `POST /api/v1/backups`. The body may be missing.
async fn begin(State(backups): State<Backups>, body: Bytes) -> Result<Response, Failure> {
    let wanted = match body.is_empty() {
        true => Wanted::default(),
        false => serde_json::from_slice(&body).map_err(|error| {
            Failure::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                format!("The body cannot be read: {error}."),
                "Send {\"text_index\": true} to include the full-text index, or nothing.",
            )
        })?,
    };
    let id = backups.begin(wanted.text_index)?;
    let body = json!({ "id": id, "state": "making" });
    Ok((StatusCode::ACCEPTED, Json(body)).into_response())
}

/// `GET /api/v1/backups/{id}`.
async fn look(State(backups): State<Backups>, At(id): At<String>) -> Result<Response, Failure> {
    let body = backups.with(&id, |taken| {
        Ok(match &taken.progress {
            Making::Copying => json!({ "id": id, "state": "making" }),
            Making::Ready(manifest) => {
                json!({ "id": id, "state": "ready", "manifest": **manifest })
            }
            Making::Failed(error) => json!({ "id": id, "state": "failed", "error": error }),
        })
    })?;
    Ok(Json(body).into_response())
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WantedPiece {
    name: String,
    from: u64,
}

/// `GET /api/v1/backups/{id}/file?name=…&from=…`: at most [`PIECE`] bytes.
async fn piece(
    State(backups): State<Backups>,
    At(id): At<String>,
    Query(WantedPiece { name, from }): Query<WantedPiece>,
) -> Result<Response, Failure> {
    let path = backups.with(&id, |taken| {
        let Making::Ready(manifest) = &taken.progress else {
            let early = "The copies are not made yet.";
            let advice = "Ask for the backup until its state is ready.";
            return Err(Failure::new(StatusCode::CONFLICT, early, advice).retry_after(1));
        };
        // Only what is listed: the name never becomes a path by itself.
        let listed = manifest.files.iter().find(|file| file.name == name);
        let listed = listed.ok_or_else(|| {
            Failure::unknown("This backup has no such file.", "The manifest lists them.")
        })?;
        Ok(taken.directory.join(&listed.name))
    })?;
    let bytes = read(&path, from).await.map_err(|error| {
        tracing::error!(%error, path = %path.display(), "cannot read a copy");
        Failure::internal()
    })?;
    let kind = [(header::CONTENT_TYPE, "application/octet-stream")];
    Ok((kind, bytes).into_response())
}

async fn read(path: &Path, from: u64) -> std::io::Result<Vec<u8>> {
    let mut file = tokio::fs::File::open(path).await?;
    file.seek(SeekFrom::Start(from)).await?;
    let mut bytes = Vec::new();
    file.take(PIECE).read_to_end(&mut bytes).await?;
    Ok(bytes)
}

/// `POST /api/v1/backups/{id}/done`: the copies may go.
async fn done(State(backups): State<Backups>, At(id): At<String>) -> Result<Response, Failure> {
    backups.with(&id, |_| Ok(()))?;
    backups.end(&id);
    Ok(Json(json!({ "id": id, "state": "done" })).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stale(backups: &Backups, by: Duration) {
        let mut now = backups.0.now.lock();
        let taken = now.taken.as_mut().unwrap();
        taken.asked = taken.asked.checked_sub(by).unwrap();
    }

    fn ready(backups: &Backups, id: &str) -> Arc<Manifest> {
        loop {
            let found = backups.with(id, |taken| {
                Ok(match &taken.progress {
                    Making::Copying => None,
                    Making::Ready(manifest) => Some(Ok(manifest.clone())),
                    Making::Failed(error) => Some(Err(error.clone())),
                })
            });
            if let Some(found) = found.unwrap() {
                return found.unwrap();
            }
            std::thread::yield_now();
        }
    }

    fn data() -> tempfile::TempDir {
        let data = tempfile::tempdir().unwrap();
        let state = weir_store::sqlite::File::open(data.path().join("state.db")).unwrap();
        state.close();
        data
    }

    #[test]
    fn one_backup_at_a_time_and_a_forgotten_one_makes_room() {
        let data = data();
        let backups = Backups::open(data.path(), || Ok(()));
        let first = backups.begin(false).unwrap();
        ready(&backups, &first);
        assert!(backups.begin(false).is_err(), "it is being fetched");
        stale(&backups, STALE);
        let second = backups.begin(false).unwrap();
        assert!(backups.with(&first, |_| Ok(())).is_err());
        ready(&backups, &second);
        backups.sweep();
        assert!(backups.with(&second, |_| Ok(())).is_ok());
        stale(&backups, FORGOTTEN);
        backups.sweep();
        assert!(backups.with(&second, |_| Ok(())).is_err());
    }

    #[test]
    fn what_a_kill_left_behind_is_removed_at_the_next_start() {
        let data = data();
        let left = data.path().join(PLACE).join("1-1");
        std::fs::create_dir_all(&left).unwrap();
        std::fs::write(left.join("state.db"), "half").unwrap();
        drop(Backups::open(data.path(), || Ok(())));
        assert!(!data.path().join(PLACE).exists());
        assert!(data.path().join("state.db").exists());
    }

    #[test]
    fn a_backup_that_cannot_be_made_says_why_and_leaves_nothing() {
        let data = data();
        let backups = Backups::open(data.path(), || anyhow::bail!("the disk is full"));
        let id = backups.begin(false).unwrap();
        let why = loop {
            let told = backups.with(&id, |taken| {
                Ok(match &taken.progress {
                    Making::Failed(error) => Some(error.clone()),
                    _ => None,
                })
            });
            if let Some(why) = told.unwrap() {
                break why;
            }
            std::thread::yield_now();
        };
        assert_eq!(why, "the disk is full");
        assert!(!data.path().join(PLACE).join(id).exists());
    }
}
