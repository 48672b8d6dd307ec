//! Places and tokens taken by many threads at once.

use std::sync::Arc;

use shuttle::sync::Mutex;
use shuttle::thread;
use weir_engine::dispatch::Moment;

use crate::gate::{Gate, Rate};

const ROUNDS: usize = 2_000;

#[test]
fn no_two_threads_get_the_same_place() {
    shuttle::check_random(
        || {
            let rate = Rate {
                per_second: 1,
                burst: 1,
            };
            let gate = Arc::new(Gate::new(5, rate));
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    let gate = gate.clone();
                    thread::spawn(move || {
                        let got = gate.reserve(3);
                        assert!(gate.queued() <= 5);
                        if got == 3 {
                            gate.release(1);
                            return got - 1;
                        }
                        got
                    })
                })
                .collect();
            let got: u32 = threads
                .into_iter()
                .map(|thread| thread.join().expect("it does not panic"))
                .sum();
            assert_eq!(gate.queued(), got);
            assert!(got <= 5);
        },
        ROUNDS,
    );
}

#[test]
fn the_engine_and_listener_threads_count_together() {
    shuttle::check_random(
        || {
            let rate = Rate {
                per_second: 1,
                burst: 1,
            };
            let gate = Arc::new(Gate::new(4, rate));
            // What the engine's lock protects: how many it last reported as queued.
            let queued = Arc::new(Mutex::new(0));
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    let (gate, queued) = (gate.clone(), queued.clone());
                    thread::spawn(move || {
                        let got = gate.reserve(2);
                        {
                            let mut queued = queued.lock().expect("nobody panics");
                            gate.settle(*queued, *queued + got, got);
                            *queued += got;
                        }
                        assert!(gate.queued() <= 4);
                        let mut queued = queued.lock().expect("nobody panics");
                        gate.settle(*queued, *queued - got, 0);
                        *queued -= got;
                    })
                })
                .collect();
            for thread in threads {
                thread.join().expect("it does not panic");
            }
            assert_eq!(gate.queued(), 0);
        },
        ROUNDS,
    );
}

#[test]
fn no_token_is_taken_twice() {
    shuttle::check_random(
        || {
            let rate = Rate {
                per_second: 10,
                burst: 3,
            };
            let gate = Arc::new(Gate::new(1, rate));
            let threads: Vec<_> = (0..5)
                .map(|_| {
                    let gate = gate.clone();
                    thread::spawn(move || gate.take_token(Moment(1_000_000_000)))
                })
                .collect();
            let taken = threads
                .into_iter()
                .map(|thread| thread.join().expect("it does not panic"))
                .filter(|taken| *taken)
                .count();
            assert_eq!(taken, 3);
            assert_eq!(gate.refusals()[1], 2);
        },
        ROUNDS,
    );
}
