//! What an overview line costs: counted where memory is asked for, so it is the same on every machine.

#![expect(unsafe_code, reason = "an allocator that counts has to be one")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

#[path = "../benches/sample/mod.rs"]
mod sample;

use sample::Sample;

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: every call is handed to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

// One test, since the counter is the whole program's.
#[test]
fn an_overview_line_costs_at_most_300_bytes_and_the_table_knows_it() {
    for count in [50, 500, 5_000, 20_000] {
        let sample = Sample::of(count);
        let wire = sample.wire_length() / count;
        assert!(
            count != 5_000 || (410..=450).contains(&wire),
            "{wire} octets"
        );
        let before = HELD.load(Ordering::Relaxed);
        let mut table = sample.table();
        let held = HELD.load(Ordering::Relaxed) - before;
        let per_line = held / count;
        println!(
            "{count} lines of {wire} octets: {per_line} bytes each, in {} threads",
            table.thread_count()
        );
        assert!(per_line <= 300, "{per_line} bytes per line of {count}");
        // The test harness may take a little at the same time.
        let slack = held.abs_diff(table.bytes());
        assert!(
            slack <= 2_048,
            "{} bytes claimed, {held} held",
            table.bytes()
        );

        // With most of them gone, most of the memory for texts is given back.
        let (full, headlines) = (table.bytes(), sample.headlines());
        let gone = headlines.take(count * 9 / 10).map(|headline| headline.id);
        table.remove(gone);
        let held = HELD.load(Ordering::Relaxed) - before;
        let slack = held.abs_diff(table.bytes());
        assert!(
            slack <= 2_048,
            "{} bytes claimed, {held} held",
            table.bytes()
        );
        assert!(held < full * 3 / 4 || count < 500, "{held} of {full} held");
    }
}
