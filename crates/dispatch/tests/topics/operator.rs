//! What an operator does: clear, switch off and on, probe now.

use weir_dispatch::{Admission, Availability, Budget, Class, End, Finish, Job, Skip, Wait};

use crate::front::*;

const OFF: End = End::Skipped(Skip {
    reason: Wait::Off,
    wait: None,
    limit: None,
});

#[test]
fn clear_ends_a_cooldown_and_forgets_the_ladder() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    front.call(job(up, INTERACTIVE), Finish::Unavailable);
    front.pass(60);
    front.call(job(up, INTERACTIVE), Finish::Unavailable);
    assert_eq!(front.rung(up), 2);
    let id = front.queue(job(up, INTERACTIVE));
    front.clear(up);
    assert_eq!(
        (front.state(up), front.rung(up)),
        (Availability::Untried, 0)
    );
    assert_eq!(front.starts(), [id]);
}

#[test]
fn switched_off_ends_queued_jobs_and_refuses_new_ones_until_switched_on() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    front.hold(true);
    let id = front.queue(job(up, INTERACTIVE));
    front.switch_off(up);
    assert_eq!(front.ended(), [(id, OFF)]);
    assert_eq!(front.state(up), Availability::Off);
    assert_eq!(front.entry(job(up, INTERACTIVE)), Admission::Ended(OFF));
    front.pass(365 * DAY);
    assert_eq!(front.state(up), Availability::Off, "until an operator acts");
    front.switch_on(up);
    front.hold(false);
    front.call(job(up, INTERACTIVE), Finish::Done);
}

#[test]
fn a_cooldown_goes_on_while_switched_off() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    front.call(job(up, INTERACTIVE), throttled(100));
    front.switch_off(up);
    front.pass(40);
    front.switch_on(up);
    assert_eq!(front.state(up), Availability::Cooldown { until: at(100) });
}

#[test]
fn a_probe_starts_during_a_cooldown_before_all_others_and_heals() {
    let (mut front, up) = Front::with(search(), indexer());
    front.call(job(up, INTERACTIVE), Finish::Rejected { at_least: None });
    let waiting = front.queue(job(up, INTERACTIVE));
    let probed = front.queue(probe(up));
    assert_eq!(
        front.starts(),
        [probed],
        "neither cooldown nor gap holds it"
    );
    front.finish(probed, Finish::Done);
    assert_eq!(front.state(up), Availability::Open);
    front.pass(6);
    assert_eq!(front.starts(), [waiting]);
}

#[test]
fn a_probe_that_fails_during_a_cooldown_changes_nothing_unless_a_later_end_is_named() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    front.call(job(up, INTERACTIVE), Finish::Unavailable);
    for outcome in [
        Finish::Unavailable,
        Finish::Rejected { at_least: None },
        Finish::Panicked,
    ] {
        front.call(probe(up), outcome);
        assert_eq!(front.state(up), Availability::Cooldown { until: at(60) });
        assert_eq!(front.rung(up), 1);
    }
    front.call(probe(up), throttled(200));
    assert_eq!(front.state(up), Availability::Cooldown { until: at(200) });
}

#[test]
fn a_probe_starts_although_switched_off() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    front.switch_off(up);
    front.call(probe(up), Finish::Done);
    assert_eq!(front.state(up), Availability::Off);
}

#[test]
fn only_the_limit_of_calls_in_flight_holds_a_probe() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    let call = front.begin(job(up, INTERACTIVE));
    let probed = front.queue(probe(up));
    assert!(front.starts().is_empty());
    front.finish(call, Finish::Done);
    assert_eq!(front.starts(), [probed]);
}

#[test]
fn a_probe_stays_when_its_upstream_is_switched_off_or_begins_to_cool_down() {
    let (mut front, up) = Front::with(tracker(), in_flight(1));
    let call = front.begin(job(up, INITIAL));
    let probed = front.queue(Job {
        class: Class(3),
        ..probe(up)
    });
    front.switch_off(up);
    front.finish(call, throttled(100));
    assert_eq!(front.starts(), [probed]);
}

#[test]
fn the_wait_of_an_upstream_that_is_off_has_no_end() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    front.switch_off(up);
    let (_, reason) = front.wait(up, RSS, Budget::Query);
    assert_eq!(reason, Some(Wait::Off));
}
