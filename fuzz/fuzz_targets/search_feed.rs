//! Any bytes: see `properties::search_feed`.

#![no_main]

#[path = "../search_properties.rs"]
#[allow(dead_code, reason = "each target uses one of them")]
mod properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| properties::search_feed(bytes));
