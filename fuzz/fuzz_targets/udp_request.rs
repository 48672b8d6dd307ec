//! Any bytes: see `properties::udp_request`.

#![no_main]

#[path = "../properties.rs"]
#[allow(dead_code, reason = "each target uses one of them")]
mod properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| properties::udp_request(bytes));
