//! Any bytes: see `properties::peer_events`.

#![no_main]

#[path = "../properties.rs"]
#[allow(dead_code, reason = "each target uses one of them")]
mod properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| properties::peer_events(bytes));
