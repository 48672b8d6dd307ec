//! What announces cost with and without other nodes, in CPU time; under valgrind, in instructions:
//!
//! ```sh
//! cargo build --release -p weir-tracker --features bench --example sharing
//! for count in 100000 200000; do
//!   valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/sharing again alone $count
//! done
//! ```
//!
//! The difference of two counts is what the announces between them cost. `again` are announces of known peers, which change
//! nothing; `told` are of known peers that others have to hear of; `came` are all of peers that are new. `day` is what a
//! tracker hears in a day: of ten announces one peer comes, one goes, four are told of again, four are not. `alone` is one
//! node; `shared` leaves each change for the others and packs it five times a second, at 50,000 announces a second; `heard`
//! is the same and a second node, which takes it in. A fourth word is how many swarms of ten there are: with many of them,
//! most of what an announce takes is waiting for memory, which shows in time only.

use std::hint::black_box;
use std::time::Instant;

use weir_store::shared::Seal;
use weir_tracker::bench::Listeners;

/// Announces between two packings: 50,000 a second.
const PACKED: u32 = 10_000;

/// What an announce is to the other nodes.
enum Kind {
    Came,
    Left,
    Told,
    Again,
}

#[expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program that measures and prints"
)]
fn main() {
    let mut args = std::env::args().skip(1);
    let mut next = |usual: &str| args.next().unwrap_or_else(|| usual.to_owned());
    let (what, who, count) = (next("again"), next("alone"), next("1000000"));
    let count: u32 = count.parse().expect("a number of announces");
    let swarms: u32 = next("1000").parse().expect("a number of swarms");
    // Every peer of every swarm, and all over again.
    let packets = PACKED.max(swarms * 10);
    let mut listeners = match who.as_str() {
        "shared" | "heard" => Listeners::shared(swarms, 10, 1),
        _ => Listeners::with(swarms, 10),
    };
    let seal = Seal::new("a secret");
    let mut other = (who == "heard").then(|| Listeners::shared(swarms, 10, 2));
    let packets_of: Vec<_> = (0..packets)
        .map(|number| listeners.packet(number % swarms, number / swarms))
        .collect();
    let began = Instant::now();
    let (mut bytes, mut heard) = (0, 0);
    for number in 0..count {
        let mut packet = packets_of[(number % packets) as usize];
        // The swarm goes by the first digits, so that each has some of all.
        let kind = match (what.as_str(), number / swarms % 10) {
            ("came", _) | ("day", 0) => Kind::Came,
            ("day", 1) => Kind::Left,
            ("told", _) | ("day", 2..=5) => Kind::Told,
            _ => Kind::Again,
        };
        match kind {
            // Another address each time, and of who left the one that came before.
            Kind::Came => packet[84..88].copy_from_slice(&(0x0b00_0000 + number).to_be_bytes()),
            Kind::Left => {
                packet[80..84].copy_from_slice(&3_u32.to_be_bytes());
                packet[84..88].copy_from_slice(&(0x0b00_0000 + number - swarms).to_be_bytes());
            }
            // It has all of it, and has not.
            Kind::Told => packet[71] = u8::from((number / packets).is_multiple_of(2)),
            Kind::Again => {}
        }
        black_box(listeners.udp(&packet));
        if (number + 1) % PACKED == 0 {
            for packed in listeners.pack(&seal) {
                bytes += packed.len();
                if let Some(other) = &mut other {
                    heard += other.take_in(&seal, &packed);
                }
            }
        }
    }
    let took = began.elapsed();
    let each = took.as_nanos() as f64 / f64::from(count);
    println!(
        "{what} {who} announces={count} ns_per_announce={each:.0} bytes_for_others={bytes} heard={heard}"
    );
}
