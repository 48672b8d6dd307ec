//! Any bytes: see `properties::article`.

#![no_main]

#[path = "../article_properties.rs"]
#[allow(dead_code, reason = "each target uses one of them")]
mod properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| properties::article(bytes));
