//! What a queued job costs: counted where memory is asked for, so it is the same on every machine.

#![expect(unsafe_code, reason = "an allocator that counts has to be one")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

#[path = "../benches/load/mod.rs"]
mod load;

use load::Load;

struct Counting;

static HELD: AtomicIsize = AtomicIsize::new(0);

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: every call is handed to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size().cast_signed(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size().cast_signed(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Bytes per job of a front in which so many wait.
fn bytes_per_job(mut load: Load) -> f64 {
    let before = HELD.load(Ordering::Relaxed);
    load.submit_all();
    let held = HELD.load(Ordering::Relaxed) - before;
    assert_eq!(
        load.dispatcher.status(load.now).queued as usize,
        load.jobs.len()
    );
    held as f64 / load.jobs.len() as f64
}

// One test, since the counter is the whole program's.
#[test]
fn a_queued_job_costs_at_most_130_bytes_and_one_with_keys_somewhat_more() {
    let plain = bytes_per_job(Load::new(1_000_000, 5_000));
    let mut keyed = Load::new(1_000_000, 5_000);
    keyed.give_keys();
    let keyed = bytes_per_job(keyed);
    assert!(plain <= 130.0, "{plain:.1} bytes per job");
    assert!(keyed <= 180.0, "{keyed:.1} bytes per job with keys");
}
