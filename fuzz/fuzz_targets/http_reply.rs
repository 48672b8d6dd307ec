//! Any bytes: see `properties::http_reply`.

#![no_main]

#[path = "../properties.rs"]
#[allow(dead_code, reason = "each target uses one of them")]
mod properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| properties::http_reply(bytes));
