//! The section `store`: how state is kept.

use std::time::Duration;

use weir_config::{SecretUrl, check, section};

section! {
    /// How state is kept in the data directory.
    pub struct Config in "store", at start {
        /// Reserved for several nodes that share one Valkey or Redis. Not built yet: it has no effect.
        redis: Option<SecretUrl> = "null";
        /// How often changed rows are written; a crash loses at most what changed in this time.
        write_every: Duration = "1s", check check::some_time;
        /// How often decisions and past states are written; a crash loses at most this time of them, a stop nothing.
        records_every: Duration = "1m", check check::some_time;
    }
    gone {
        swarm_every: "remove this key: swarms are written every tracker.snapshot_every";
    }
}
