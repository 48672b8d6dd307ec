//! What a listener thread sees.

use std::time::Duration;

use weir_dispatch::Moment;

use crate::gate::{Gate, Rate};

const START: Moment = Moment(1_700_000_000_000_000_000);

fn gate(capacity: u32, per_second: u32, burst: u32) -> Gate {
    Gate::new(capacity, Rate { per_second, burst })
}

fn tokens(gate: &Gate, now: Moment) -> usize {
    std::iter::from_fn(|| gate.take_token(now).then_some(())).count()
}

#[test]
fn as_many_places_are_reserved_as_fit() {
    let gate = gate(10, 1, 1);
    assert_eq!(gate.reserve(7), 7);
    assert_eq!(gate.reserve(7), 3);
    assert_eq!(gate.reserve(7), 0);
    assert_eq!(gate.fill_percent(), 100);
    gate.release(4);
    assert_eq!((gate.queued(), gate.reserve(7)), (6, 4));
    assert_eq!(gate.refusals(), [1, 0, 0]);
}

#[test]
fn a_reserved_place_becomes_a_queued_one_and_is_given_back() {
    let gate = gate(10, 1, 1);
    assert_eq!(gate.reserve(3), 3);
    gate.settle(0, 2, 3); // one of the three started at once
    assert_eq!(gate.queued(), 2);
    gate.settle(2, 0, 0);
    assert_eq!((gate.queued(), gate.reserve(20)), (0, 10));
}

#[test]
fn a_bucket_starts_full_and_is_never_above_its_burst() {
    let gate = gate(1, 10, 200);
    assert_eq!(tokens(&gate, START), 200);
    assert_eq!(tokens(&gate, START + Duration::from_secs(1)), 10);
    assert_eq!(tokens(&gate, START + Duration::from_secs(3600)), 200);
    assert_eq!(gate.refusals(), [0, 3, 0]);
}

#[test]
fn fractions_of_a_token_are_kept() {
    let gate = gate(1, 10, 2);
    assert_eq!(tokens(&gate, START), 2);
    assert_eq!(tokens(&gate, START + Duration::from_millis(99)), 0);
    assert_eq!(tokens(&gate, START + Duration::from_millis(150)), 1);
    assert_eq!(tokens(&gate, START + Duration::from_millis(199)), 0);
    assert_eq!(tokens(&gate, START + Duration::from_millis(200)), 1);
}

#[test]
fn without_a_rate_there_is_the_burst_and_nothing_after_it() {
    let gate = gate(1, 0, 3);
    assert_eq!(tokens(&gate, START), 3);
    assert_eq!(tokens(&gate, START + Duration::from_secs(86_400)), 0);
}

#[test]
fn a_clock_that_goes_back_gives_nothing_away() {
    let gate = gate(1, 10, 2);
    assert_eq!(tokens(&gate, START), 2);
    assert_eq!(tokens(&gate, Moment(START.0 - 1_000_000_000)), 0);
}

#[test]
fn a_bucket_that_is_never_refilled_gives_its_burst_and_no_more() {
    let gate = Gate::new(
        10,
        Rate {
            per_second: 0,
            burst: 200,
        },
    );
    let given =
        (0..1_000_u64).filter(|&second| gate.take_token(Moment(second * 1_000_000_000_000)));
    assert_eq!(given.count(), 200);
}
