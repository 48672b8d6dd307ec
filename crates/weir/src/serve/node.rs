//! This node among others: built where `store.redis` is set, and kept over restarts.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::Context;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rusqlite::OptionalExtension;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use weir_engine::dispatch::Moment;
use weir_engine::{KeptNode, Node, NodeKeeper, NodeOptions, Timeline, Vitals};
use weir_net::{Roots, Tls};
use weir_store::rusqlite;
use weir_store::shared::{Epoch, NodeId, RedisStore, Seal, Share, UpstreamKey};
use weir_store::sqlite::{File, Migrations};
use weir_store::state::{Ledger, Window};

use crate::config::Config;
use crate::serve::notify::host;

/// No answer of the store within this time: this node is alone.
const TIME_OUT: Duration = Duration::from_secs(1);

/// What must be on the disk before a goodbye is there by then, or there is no goodbye.
const WRITE: Duration = Duration::from_secs(1);

/// A stop waits for the store no longer than this: for a beat that has begun, and the goodbye.
const LEAVE: Duration = Duration::from_secs(3);

const MIGRATIONS: Migrations = Migrations {
    owner: "node",
    steps: &["CREATE TABLE node (id INTEGER PRIMARY KEY, kept TEXT NOT NULL);"],
};

/// This node, if there is a store to share. It has yet to beat: the fronts must be there first.
pub(super) fn build(
    config: &Config,
    state: &File,
    timeline: Timeline,
) -> anyhow::Result<Option<Node>> {
    let (Some(address), Some(secret)) = (&config.store.redis, &config.store.secret) else {
        return Ok(None);
    };
    state.migrate(MIGRATIONS)?;
    let disk = Disk {
        file: state.clone(),
        timeline,
        place: place(state.path()),
    };
    let kept = disk
        .load()
        .context("cannot read what is kept of this node")?;
    let seal = Seal::new(secret.expose());
    let tls = Tls::new(&Roots::System, None)?.config();
    let store = RedisStore::open(address.0.clone(), &seal, tls.ok(), TIME_OUT);
    Ok(Some(Node::new(NodeOptions {
        name: config.node.name.clone().unwrap_or_else(host),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        store: Arc::new(store),
        seal,
        timeline,
        kept,
        keeper: Box::new(disk),
    })))
}

/// The beat of a node.
pub(super) struct Beating {
    stop: CancellationToken,
    beat: JoinHandle<()>,
}

impl Beating {
    /// Starts it. All fronts have been started before: with the first beat the store hears what they know, and takes back
    /// the shares that none of them wishes for.
    pub(super) fn start(node: Node, vitals: &Vitals) -> Self {
        let stop = CancellationToken::new();
        let vital = vitals.add("node", "beat");
        let beat = vital.drive((node, stop.clone()), |(node, stop)| {
            Box::pin(node.run(stop.clone()))
        });
        let beat = TaskTracker::new().spawn(beat);
        Self { stop, beat }
    }

    /// Says goodbye to the others, if they can hear it.
    pub(super) async fn stop(mut self) {
        self.stop.cancel();
        if tokio::time::timeout(LEAVE, &mut self.beat).await.is_err() {
            // Nothing can be kept any more from here on, so nothing may be given back either.
            self.beat.abort();
        }
    }
}

/// What is written of a node.
#[derive(Default, Serialize, Deserialize)]
struct Written {
    id: u64,
    runs: u32,
    epoch: u64,
    known: Vec<(u64, u64)>,
    shares: Vec<([u8; 16], bool, u32, u32)>,
    heard: Option<u64>,
    /// How long this machine had been up then.
    #[serde(default)]
    up: Option<u64>,
    /// Which run of this machine that was, and which file.
    #[serde(default)]
    place: String,
}

/// How long this machine has slept since it was started.
pub(super) fn slept() -> Duration {
    since_start(ClockId::Boottime).saturating_sub(since_start(ClockId::Monotonic))
}

fn since_start(clock: ClockId) -> Duration {
    // Both clocks are always there, and neither is ever below zero.
    clock_gettime(clock).try_into().unwrap_or_default()
}

/// What is the same as long as this machine runs and the file was not put in its place from a backup or a copy: a share that
/// was kept is spent only then. The wall clock of a machine that has just started may be wrong, and of what was true when a backup
/// was made nobody knows how much is.
fn place(file: &Path) -> String {
    let run = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let about = std::fs::metadata(file).ok();
    let made = about.as_ref().and_then(|about| about.created().ok());
    let made = made.and_then(|made| made.duration_since(UNIX_EPOCH).ok());
    let number = about.map_or(0, |about| about.ino());
    format!(
        "{} {number} {}",
        run.trim(),
        made.unwrap_or_default().as_nanos()
    )
}

/// Where it is written.
struct Disk {
    file: File,
    timeline: Timeline,
    place: String,
}

impl Disk {
    fn load(&self) -> anyhow::Result<KeptNode> {
        let text: Option<String> = self.file.read(|connection| {
            let sql = "SELECT kept FROM node WHERE id = 1";
            connection.query_row(sql, [], |row| row.get(0)).optional()
        })?;
        let written: Written = match text {
            Some(text) => serde_json::from_str(&text)?,
            None => Written::default(),
        };
        let share = |&(upstream, grab, window, starts): &([u8; 16], bool, u32, u32)| Share {
            upstream: UpstreamKey(upstream),
            ledger: if grab { Ledger::Grab } else { Ledger::Query },
            window: Window(window),
            starts,
        };
        let known = written.known.iter();
        // By the time that this machine has been up: its wall clock may have been set meanwhile.
        let up = written.up.filter(|_| written.place == self.place);
        let ago =
            up.map(|up| since_start(ClockId::Boottime).saturating_sub(Duration::from_nanos(up)));
        Ok(KeptNode {
            id: NodeId(written.id),
            runs: written.runs,
            epoch: Epoch(written.epoch),
            known: known.map(|&(id, at)| (NodeId(id), Moment(at))).collect(),
            shares: written.shares.iter().map(share).collect(),
            heard: ago.map(|ago| self.timeline.now() - ago),
        })
    }

    fn write(
        &self,
        kept: &KeptNode,
    ) -> impl FnOnce(&rusqlite::Transaction<'_>) -> rusqlite::Result<()> + Send + use<> {
        let share = |share: &Share| {
            let is_grab = share.ledger == Ledger::Grab;
            (share.upstream.0, is_grab, share.window.0, share.starts)
        };
        let up = |heard: Moment| {
            let ago = heard.until(self.timeline.now());
            nanos(since_start(ClockId::Boottime).saturating_sub(ago))
        };
        let written = Written {
            id: kept.id.0,
            runs: kept.runs,
            epoch: kept.epoch.0,
            known: kept.known.iter().map(|(id, at)| (id.0, at.0)).collect(),
            shares: kept.shares.iter().map(share).collect(),
            heard: kept.heard.map(|at| at.0),
            up: kept.heard.map(up),
            place: self.place.clone(),
        };
        let text = serde_json::to_string(&written).unwrap_or_default();
        move |tx| {
            let sql = "INSERT OR REPLACE INTO node (id, kept) VALUES (1, ?1)";
            tx.execute(sql, [text]).map(|_| ())
        }
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

impl NodeKeeper for Disk {
    fn keep(&self, kept: &KeptNode) {
        if let Err(error) = self.file.write_later(self.write(kept)) {
            tracing::warn!(%error, "what this node knows of the others is not kept");
        }
    }

    fn keep_safe(&self, kept: &KeptNode) -> BoxFuture<'static, bool> {
        let (file, write) = (self.file.clone(), self.write(kept));
        async move {
            let kept = tokio::time::timeout(WRITE, file.write_durable(write)).await;
            let kept = matches!(kept, Ok(Ok(())));
            if !kept {
                tracing::warn!("this node keeps its share: that it has none could not be written");
            }
            kept
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A node that forgot its shares would have none while it is alone; one that forgot the others could not name them.
    #[test]
    fn nothing_is_forgotten_over_a_restart() {
        let home = tempfile::TempDir::new().unwrap();
        let state = File::open(home.path().join("state.db")).unwrap();
        state.migrate(MIGRATIONS).unwrap();
        let timeline = Timeline::starting_at(UNIX_EPOCH + Duration::from_secs(1_800_000_000));
        let disk = |place: &str| Disk {
            file: state.clone(),
            timeline,
            place: place.to_owned(),
        };
        assert_eq!(disk("here").load().unwrap(), KeptNode::default());
        let share = |ledger, window, starts| Share {
            upstream: UpstreamKey([200; 16]),
            ledger,
            window: Window(window),
            starts,
        };
        let minute = Duration::from_secs(60);
        let kept = KeptNode {
            id: NodeId(u64::MAX),
            runs: 7,
            epoch: Epoch(u64::MAX - 1),
            known: vec![(NodeId(3), Moment(5)), (NodeId(4), Moment(u64::MAX))],
            shares: vec![share(Ledger::Query, 60, 5), share(Ledger::Grab, 86_400, 1)],
            heard: Some(timeline.now() - minute),
        };
        disk("here").keep(&kept);
        // What was handed over before is written before.
        state.write_blocking(|_| Ok(())).unwrap();
        let heard = kept.heard.unwrap();
        let about = |kept: KeptNode| KeptNode {
            // Within what the test takes.
            heard: kept
                .heard
                .filter(|at| at.until(heard + minute) <= minute * 2),
            ..kept
        };
        assert_eq!(disk("here").load().unwrap().known, kept.known);
        let read = about(disk("here").load().unwrap());
        assert!(read.heard.is_some(), "{read:?}");
        assert_eq!(
            KeptNode {
                heard: kept.heard,
                ..read
            },
            kept
        );
        // After a start of the machine, or from a backup, nobody knows whether the share is still its own.
        let elsewhere = disk("there").load().unwrap();
        assert_eq!(
            elsewhere,
            KeptNode {
                heard: None,
                ..kept
            }
        );
    }

    #[test]
    fn a_copy_of_the_file_is_another_place() {
        let home = tempfile::TempDir::new().unwrap();
        let (one, two) = (home.path().join("one"), home.path().join("two"));
        std::fs::write(&one, "x").unwrap();
        std::fs::copy(&one, &two).unwrap();
        assert_eq!(place(&one), place(&one));
        assert_ne!(place(&one), place(&two));
        assert!(slept() < since_start(ClockId::Boottime) || slept().is_zero());
    }

    #[tokio::test]
    async fn a_share_that_is_given_up_is_off_the_disk() {
        let home = tempfile::TempDir::new().unwrap();
        let state = File::open(home.path().join("state.db")).unwrap();
        state.migrate(MIGRATIONS).unwrap();
        let disk = Disk {
            timeline: Timeline::starting_at(UNIX_EPOCH),
            place: String::new(),
            file: state.clone(),
        };
        let kept = KeptNode {
            id: NodeId(7),
            ..KeptNode::default()
        };
        assert!(disk.keep_safe(&kept).await);
        assert_eq!(disk.load().unwrap().id, NodeId(7));
        let broken = state.write_blocking(|tx| tx.execute_batch("DROP TABLE node"));
        broken.unwrap();
        assert!(!disk.keep_safe(&kept).await);
    }
}
