//! Any bytes: see `properties::upstream_reply`.

#![no_main]

#[path = "../net_properties.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| properties::upstream_reply(bytes));
