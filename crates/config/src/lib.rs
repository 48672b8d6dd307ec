//! Reads configuration files into checked values that remember where they came from.

mod secret;

pub use secret::Secret;
