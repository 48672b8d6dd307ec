//! The section `store`: how state is kept, and what several nodes share.

use std::time::Duration;

use weir_config::{Node, Secret, Setting, Value, Wrong, check, section};
use weir_store::shared::RedisAddress;

section! {
    /// How state is kept in the data directory, and what several nodes share.
    pub struct Config in "store", at start {
        /// A Valkey or Redis (6.2 or newer) that several nodes share: redis://[user:password@]host:port, rediss:// for TLS;
        /// several hosts, separated by commas, are servers of one cluster. See docs/several-nodes.md.
        redis: Option<StoreAddress> = "null";
        /// The same long random text on all nodes that share a store: what they put there is sealed with it.
        secret: Option<Secret> = "null", check |secret| long_enough(secret);
        /// How often changed rows are written; a crash loses at most what changed in this time.
        write_every: Duration = "1s", check check::some_time;
        /// How often decisions and past states are written; a crash loses at most this time of them, a stop nothing.
        records_every: Duration = "1m", check check::some_time;
    }
    gone {
        swarm_every: "remove this key: swarms are written every tracker.snapshot_every";
    }
}

/// Characters of a secret at least: it must not be found by trying.
const SECRET: usize = 16;

fn long_enough(secret: &Option<Secret>) -> Result<(), &'static str> {
    match secret {
        Some(secret) if secret.expose().chars().count() < SECRET => {
            Err("a text of at least 16 characters, such as the output of: openssl rand -hex 24")
        }
        _ => Ok(()),
    }
}

/// Where the shared store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreAddress(pub RedisAddress);

impl Setting for StoreAddress {
    const SECRET: bool = true;

    fn wanted() -> String {
        "an address such as redis://:password@192.0.2.1:6379".to_owned()
    }

    fn read(node: &Node) -> Result<Self, Vec<Wrong>> {
        let (Value::Text(text) | Value::Raw(text)) = &node.value else {
            return Err(Wrong::kind::<Self>(node));
        };
        match RedisAddress::parse(text.trim()) {
            Ok(address) => Ok(Self(address)),
            Err(why) => Err(vec![Wrong {
                origin: node.origin.clone(),
                text: format!("write {}: {why}", Self::wanted()),
            }]),
        }
    }

    fn show(&self) -> String {
        format!("\"{}\"", self.0)
    }
}
