//! Any bytes: see `properties::header_words`.

#![no_main]

#[path = "../article_properties.rs"]
#[allow(dead_code, reason = "each target uses one of them")]
mod properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| properties::header_words(bytes));
