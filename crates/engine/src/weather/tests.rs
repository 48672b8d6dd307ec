//! Who is blamed for what.

use super::*;

const A: Whom = (1, 0);
const B: Whom = (1, 1);
const OTHER_FRONT: Whom = (2, 0);

fn weather(upstreams: u32) -> (Weather, impl Fn(u64) -> Instant) {
    let weather = Weather::default();
    for _ in 0..upstreams {
        weather.add_upstream();
    }
    let start = weather.0.origin;
    (weather, move |secs| start + Duration::from_secs(secs))
}

#[test]
fn a_lone_upstream_is_judged_at_once() {
    let (weather, at) = weather(1);
    assert_eq!(weather.trouble(A, at(0)), Verdict::Theirs);
}

#[test]
fn two_in_trouble_after_half_a_minute_of_silence_are_our_own_network() {
    let (weather, at) = weather(3);
    weather.success(A, at(1));
    assert_eq!(weather.trouble(A, at(10)), Verdict::Unclear);
    assert_eq!(weather.trouble(B, at(11)), Verdict::Unclear);
    assert_eq!(weather.trouble(A, at(30)), Verdict::Unclear);
    assert_eq!(weather.trouble(A, at(31)), Verdict::Ours);
    assert!(weather.is_down());
    assert_eq!(weather.pause(), Duration::from_secs(30));
}

#[test]
fn as_many_must_be_in_trouble_as_are_configured() {
    let quiet = Duration::from_secs(30);
    let of = |troubled: u32, upstreams: u32| {
        let weather = Weather::new(troubled, quiet, quiet);
        for _ in 0..upstreams {
            weather.add_upstream();
        }
        let at = weather.0.origin + 2 * quiet;
        [A, B, OTHER_FRONT].map(|whom| weather.trouble(whom, at))
    };
    assert_eq!(
        of(3, 4),
        [Verdict::Unclear, Verdict::Unclear, Verdict::Ours]
    );
    assert_eq!(of(1, 4), [Verdict::Ours; 3]);
    assert_eq!(of(4, 3), [Verdict::Theirs; 3], "never so many");
}

#[test]
fn trouble_on_two_fronts_counts_together() {
    let (weather, at) = weather(2);
    assert_eq!(weather.trouble(A, at(40)), Verdict::Unclear);
    assert_eq!(weather.trouble(OTHER_FRONT, at(41)), Verdict::Ours);
}

#[test]
fn a_success_elsewhere_proves_the_upstream_guilty() {
    let (weather, at) = weather(2);
    weather.success(B, at(0));
    assert_eq!(weather.trouble(A, at(1)), Verdict::Unclear);
    weather.success(B, at(2));
    assert_eq!(weather.trouble(A, at(3)), Verdict::Theirs);
    // Also when the others go on answering all the time.
    weather.success(B, at(4));
    assert_eq!(weather.trouble(A, at(5)), Verdict::Theirs);
}

#[test]
fn a_guilty_upstream_is_not_blamed_again_once_others_fail_too() {
    let (weather, at) = weather(3);
    assert_eq!(weather.trouble(A, at(1)), Verdict::Unclear);
    weather.success(B, at(2));
    assert_eq!(weather.trouble(A, at(3)), Verdict::Theirs);
    assert_eq!(weather.trouble(B, at(4)), Verdict::Unclear);
    assert_eq!(weather.trouble(A, at(5)), Verdict::Unclear);
    assert_eq!(weather.trouble(A, at(40)), Verdict::Ours);
}

#[test]
fn trouble_of_one_alone_is_its_own_after_half_a_minute() {
    let (weather, at) = weather(2);
    assert_eq!(weather.trouble(A, at(100)), Verdict::Unclear);
    assert_eq!(weather.trouble(A, at(129)), Verdict::Unclear);
    assert_eq!(weather.trouble(A, at(130)), Verdict::Theirs);
}

#[test]
fn a_success_ends_the_outage() {
    let (weather, at) = weather(2);
    weather.trouble(A, at(50));
    assert_eq!(weather.trouble(B, at(51)), Verdict::Ours);
    weather.success(A, at(52));
    assert_eq!(weather.pause(), Duration::ZERO);
    assert_eq!(weather.trouble(B, at(53)), Verdict::Theirs);
}

#[test]
fn who_succeeds_is_in_trouble_no_longer() {
    let (weather, at) = weather(2);
    weather.trouble(A, at(50));
    weather.success(A, at(51));
    assert_eq!(weather.trouble(A, at(52)), Verdict::Unclear);
    assert!(!weather.0.sky.lock().troubled.contains_key(&B));
}

#[test]
fn an_upstream_that_was_taken_away_is_no_witness() {
    let (weather, at) = weather(3);
    weather.trouble(A, at(50));
    weather.remove_upstream(A);
    assert_eq!(weather.trouble(B, at(51)), Verdict::Unclear);
}
