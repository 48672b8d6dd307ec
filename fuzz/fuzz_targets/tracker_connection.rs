//! Any bytes in any pieces: see `connection_properties::tracker_connection`.

#![no_main]

#[path = "../connection_properties.rs"]
mod connection_properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| connection_properties::tracker_connection(bytes));
