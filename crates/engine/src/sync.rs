//! The lock and the atomics of the code that shuttle tests, which replace this module with their own.

pub(crate) use parking_lot::Mutex;
pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
