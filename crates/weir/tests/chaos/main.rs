//! Three real Weirs on real stores while things go wrong: `cargo xtask chaos` runs these, one after the other.
//!
//! The indexers write down when they were asked; [`checker`] reads that and nothing else. Clients search all the time, and
//! none of them may see an error: every reply is 200, or 429 with a time.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where it stopped"
)]
#![expect(
    clippy::print_stdout,
    reason = "somebody waits for it for most of an hour"
)]

mod checker;
mod clients;
mod cluster;
mod nodes;
mod process;
mod promises;
mod soak;
mod store;
mod trouble;

use std::thread;
use std::time::Duration;

use tokio::time::Instant;

/// Far longer than anything here takes: only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until this holds; nothing but a hang takes so long.
fn wait_until(what: &str, is_so: impl FnMut() -> bool) {
    wait(what, Duration::from_millis(100), is_so);
}

/// The same, for what has to be noticed as soon as it is so.
fn wait_until_soon(what: &str, is_so: impl FnMut() -> bool) {
    wait(what, Duration::from_millis(1), is_so);
}

fn wait(what: &str, look: Duration, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "not within {PATIENCE:?}: {what}");
        thread::park_timeout(look);
    }
}

/// Lets this time pass; a thread may be woken early.
fn pass(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        thread::park_timeout(end - Instant::now());
    }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
