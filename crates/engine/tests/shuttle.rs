//! `Gate` and the board of `Flights` under shuttle, which tries many orders of events.
//!
//! The crate's own files are compiled here again, with shuttle's lock and atomics.
#![expect(
    dead_code,
    unreachable_pub,
    reason = "those files are parts of a library, and not all of them is needed here"
)]

#[path = "../src/flight/board.rs"]
mod board;
#[path = "../src/gate.rs"]
mod gate;

#[path = "shuttle/flights.rs"]
mod flights;
#[path = "shuttle/places.rs"]
mod places;

mod call {
    pub(crate) use weir_engine::Ended;
}

/// What the crate's own `sync` provides, from shuttle.
mod sync {
    pub(crate) use shuttle::sync::atomic::{AtomicU64, Ordering};

    pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(shuttle::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> shuttle::sync::MutexGuard<'_, T> {
            self.0.lock().expect("nobody panics while holding it")
        }
    }
}
