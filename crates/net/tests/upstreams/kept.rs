//! Recorded replies: one of each kind, and those that the fuzzer found problems with.

use std::fs;
use std::path::Path;

#[path = "../../../../fuzz/net_properties.rs"]
mod properties;

#[test]
fn kept_replies_keep_the_fuzzers_properties() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/upstream_reply");
    let mut count = 0;
    for entry in fs::read_dir(kept).expect("a directory") {
        let path = entry.expect("an entry").path();
        properties::upstream_reply(&fs::read(&path).expect("a file"));
        count += 1;
    }
    assert!(count > 10, "{count} kept");
}
