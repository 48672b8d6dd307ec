//! The lock and the atomics of what shuttle looks at; its tests bring their own in this place.

pub(crate) use parking_lot::Mutex;
pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
