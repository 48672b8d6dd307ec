//! Any bytes: see `properties::nntp_command`.

#![no_main]

#[path = "../news_properties.rs"]
#[allow(dead_code, reason = "each target uses one of them")]
mod properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| properties::nntp_command(bytes));
