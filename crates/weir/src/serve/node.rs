//! This node among others: built where `store.redis` is set, and kept over restarts.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use rusqlite::OptionalExtension;
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use weir_engine::dispatch::Moment;
use weir_engine::{KeptNode, Node, NodeOptions, Timeline, Vitals};
use weir_net::{Roots, Tls};
use weir_store::rusqlite;
use weir_store::shared::{Epoch, NodeId, RedisStore, Seal, Share, UpstreamKey};
use weir_store::sqlite::{File, Migrations};
use weir_store::state::{Ledger, Window};

use crate::config::Config;
use crate::serve::notify::host;

/// No answer of the store within this time: this node is alone.
const TIME_OUT: Duration = Duration::from_secs(1);

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
    let kept = load(state).context("cannot read what is kept of this node")?;
    let seal = Seal::new(secret.expose());
    let tls = Tls::new(&Roots::System, None)?.config();
    let store = RedisStore::open(address.0.clone(), &seal, tls.ok(), TIME_OUT);
    let file = state.clone();
    Ok(Some(Node::new(NodeOptions {
        name: config.node.name.clone().unwrap_or_else(host),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        store: Arc::new(store),
        seal,
        timeline,
        kept,
        keeper: Box::new(move |kept: &KeptNode| save(&file, kept)),
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
}

fn load(state: &File) -> anyhow::Result<KeptNode> {
    let text: Option<String> = state.read(|connection| {
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
    Ok(KeptNode {
        id: NodeId(written.id),
        runs: written.runs,
        epoch: Epoch(written.epoch),
        known: known.map(|&(id, at)| (NodeId(id), Moment(at))).collect(),
        shares: written.shares.iter().map(share).collect(),
        heard: written.heard.map(Moment),
    })
}

fn save(state: &File, kept: &KeptNode) {
    let share = |share: &Share| {
        let is_grab = share.ledger == Ledger::Grab;
        (share.upstream.0, is_grab, share.window.0, share.starts)
    };
    let written = Written {
        id: kept.id.0,
        runs: kept.runs,
        epoch: kept.epoch.0,
        known: kept.known.iter().map(|(id, at)| (id.0, at.0)).collect(),
        shares: kept.shares.iter().map(share).collect(),
        heard: kept.heard.map(|at| at.0),
    };
    let text = serde_json::to_string(&written).unwrap_or_default();
    let saved = state.write_later(move |tx| {
        let sql = "INSERT OR REPLACE INTO node (id, kept) VALUES (1, ?1)";
        tx.execute(sql, [text]).map(|_| ())
    });
    if let Err(error) = saved {
        tracing::warn!(%error, "what this node knows of the others is not kept");
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
        assert_eq!(load(&state).unwrap(), KeptNode::default());
        let share = |ledger, window, starts| Share {
            upstream: UpstreamKey([200; 16]),
            ledger,
            window: Window(window),
            starts,
        };
        let kept = KeptNode {
            id: NodeId(u64::MAX),
            runs: 7,
            epoch: Epoch(u64::MAX - 1),
            known: vec![(NodeId(3), Moment(5)), (NodeId(4), Moment(u64::MAX))],
            shares: vec![share(Ledger::Query, 60, 5), share(Ledger::Grab, 86_400, 1)],
            heard: Some(Moment(9)),
        };
        save(&state, &kept);
        // What was handed over before is written before.
        state.write_blocking(|_| Ok(())).unwrap();
        assert_eq!(load(&state).unwrap(), kept);
    }
}
