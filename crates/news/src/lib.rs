//! The news front: several news servers read as one.

#![forbid(unsafe_code)]

pub mod numbers;
pub mod thread;
