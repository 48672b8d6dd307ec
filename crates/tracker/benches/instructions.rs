//! What one announce costs in instructions, which a busy machine does not change:
//!
//! ```sh
//! cargo install gungraun-runner --version 0.20.0   # once; takes some minutes
//! cargo bench -p weir-tracker --features bench --bench instructions
//! ```
//!
//! It needs valgrind. Each bench answers a hundred announces of peers that are known already, without the system
//! calls around them, and is compared with the run before. A change of more than 3 % wants a reason. It is not part of
//! the daily check.

use std::hint::black_box;

use gungraun::prelude::*;
use weir_tracker::bench::{Listeners, Others};

/// Announces per bench.
const ANNOUNCES: u32 = 100;

/// Listeners and what they are sent. A bench gives both back, so that freeing them is not counted.
type Prepared = (Listeners, Vec<Vec<u8>>);

fn packets((swarms, peers, others): (u32, u32, Others)) -> Prepared {
    let mut listeners = Listeners::beside(others, swarms, peers);
    let packets =
        (0..ANNOUNCES).map(|number| listeners.packet(number % swarms, number % peers).to_vec());
    let packets = packets.collect();
    (listeners, packets)
}

fn requests((swarms, peers, others): (u32, u32, Others)) -> Prepared {
    let listeners = Listeners::beside(others, swarms, peers);
    let requests = (0..ANNOUNCES).map(|number| listeners.request(number % swarms, number % peers));
    let requests = requests.collect();
    (listeners, requests)
}

#[library_benchmark(setup = packets)]
#[bench::swarms_of_10((1_000, 10, Others::None))]
#[bench::put_off((1_000, 10, Others::Busy))]
#[bench::pending((1_000, 10, Others::Asked))]
#[bench::swarms_of_51((100, 51, Others::None))]
#[bench::swarms_of_1_000((10, 1_000, Others::None))]
#[bench::one_swarm_of_1_000_000((1, 1_000_000, Others::None))]
fn udp((mut listeners, packets): Prepared) -> Prepared {
    for packet in &packets {
        black_box(listeners.udp(packet));
    }
    (listeners, packets)
}

#[library_benchmark(setup = requests)]
#[bench::swarms_of_10((1_000, 10, Others::None))]
#[bench::put_off((1_000, 10, Others::Busy))]
#[bench::pending((1_000, 10, Others::Asked))]
#[bench::one_swarm_of_1_000_000((1, 1_000_000, Others::None))]
fn http((listeners, requests): Prepared) -> Prepared {
    for request in &requests {
        black_box(listeners.http(request));
    }
    (listeners, requests)
}

library_benchmark_group!(name = announces, benchmarks = [udp, http]);
main!(library_benchmark_groups = announces);
