//! `cargo xtask chaos`: three real Weirs on real stores while things go wrong, and a soak with random faults at the end.
//!
//! The tests are those of `crates/weir/tests/chaos`, and those of `crates/weir/tests/serve` that the ordinary test command leaves
//! out as well because each takes minutes.
//! They run one after the other: several at once would mostly show how a machine behaves that has too much to do.

use anyhow::Result;

use crate::setup;
use crate::shell::{self, Project};

/// Runs all of them, or those whose name contains `filter`.
pub(crate) fn run(
    project: &Project,
    minutes: u32,
    seed: Option<u64>,
    filter: Option<&str>,
) -> Result<()> {
    setup::run(project)?;
    for (tests, which) in [("serve", "--ignored"), ("chaos", "--include-ignored")] {
        // The binaries come along, and with the whole workspace they are the same as in the check.
        let mut test = project.cargo(&["test", "--locked", "--workspace"]);
        test.args(["--bin", "weir", "--test", tests, "--"])
            .args(filter)
            .args([which, "--nocapture", "--test-threads=1"])
            .env("WEIR_MINUTES", minutes.to_string());
        if let Some(seed) = seed {
            test.env("WEIR_SEED", seed.to_string());
        }
        shell::run(&mut test)?;
    }
    Ok(())
}
