//! What is told about the whole: figures, and whether there is something to fetch.

use std::time::Duration;

use weir_dispatch::{Asker, Availability, DropReason, End, Finish, Job, Policy, What};

use crate::front::*;

#[test]
fn fill_is_what_is_queued_in_percent_of_the_capacity() {
    let policy = Policy {
        capacity: 8,
        ..search()
    };
    let (mut front, up) = Front::with(policy, in_flight(1));
    let fill = |front: &mut Front| front.status().fill_percent();
    assert_eq!(fill(&mut front), 0);
    for percent in [12, 25, 37] {
        front.queue(job(up, COMPLETION));
        assert_eq!(fill(&mut front), percent);
    }
}

#[test]
fn the_limits_of_the_crew_are_those_that_were_set_last() {
    let (mut front, _) = Front::with(tracker(), in_flight(1));
    assert_eq!(front.both.real.crew_limits(), (20, 60));
    front.set_crew(6, 9);
    assert_eq!(front.both.real.crew_limits(), (9, 60));
}

#[test]
fn who_asked_for_a_job_is_known_until_it_ends() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    let id = front.begin(Job {
        asker: Asker(7),
        ..job(up, RSS)
    });
    let asked = |front: &Front| front.both.real.asked_by(id);
    assert_eq!(asked(&front), Some((RSS, Asker(7))));
    front.finish(id, Finish::Done);
    assert_eq!(asked(&front), None);
}

#[test]
fn a_pause_is_told_until_it_is_over() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    let pause = Duration::from_secs(30);
    front.call(job(up, INTERACTIVE), Finish::OurNetwork { pause });
    let paused = |front: &mut Front, seconds| {
        front.now = at(seconds);
        front.status().paused_until
    };
    assert_eq!(paused(&mut front, 0), Some(at(30)));
    assert_eq!(paused(&mut front, 29), Some(at(30)));
    assert_eq!(paused(&mut front, 30), None);
}

#[test]
fn changes_are_there_until_they_are_taken() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    front.both.real.take_changed();
    assert!(!front.both.real.has_changes());
    front.call(job(up, INTERACTIVE), Finish::Done);
    assert!(front.both.real.has_changes(), "a start");
    assert_eq!(front.both.real.take_changed(), [up]);
    assert!(!front.both.real.has_changes());
    front.schedule(Job {
        not_before: at(60),
        ..job(up, INTERACTIVE)
    });
    assert!(front.both.real.has_changes(), "the agenda alone");
    front.both.real.take_agenda_changes();
    assert!(!front.both.real.has_changes());
}

#[test]
fn ends_can_be_drained_once() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    let first = front.queue(job(up, INTERACTIVE));
    let mut dispatcher = front.both.real;
    dispatcher.remove_upstream(front.now, up);
    let ended: Vec<_> = dispatcher.take_ended();
    assert_eq!(ended, [(first, End::Dropped(DropReason::Gone))]);
    assert_eq!(dispatcher.take_ended().len(), 0);
}

#[test]
fn jobs_that_a_cooldown_ends_leave_their_records() {
    let (mut front, up) = Front::with(tracker(), in_flight(1));
    let first = front.queue(job(up, INITIAL));
    front.queue(job(up, INITIAL));
    assert_eq!(front.starts(), [first]);
    front.finish(first, throttled(100));
    let decisions = front.decisions(up);
    let skipped = decisions
        .iter()
        .filter(|decision| matches!(decision.what, What::Skipped(_)));
    assert_eq!(skipped.count(), 1);
}

#[test]
fn a_call_that_says_something_new_about_its_upstream_changes_its_row() {
    for (finish, changes) in [
        (Finish::Done, false),
        (Finish::Panicked, false),
        (Finish::Unavailable, true),
        (throttled(60), true),
    ] {
        let (mut front, up) = Front::with(search(), in_flight(1));
        front.call(job(up, INTERACTIVE), Finish::Done);
        let id = front.begin(job(up, INTERACTIVE));
        front.both.real.take_changed();
        front.finish(id, finish);
        assert_eq!(front.both.real.has_changes(), changes, "{finish:?}");
    }
}

#[test]
fn whether_an_upstream_is_called_is_told_also_without_its_other_figures() {
    let (mut front, up) = Front::with(search(), in_flight(1));
    let told = |front: &Front| front.both.real.state(front.now, up);
    assert_eq!(told(&front), Some(Availability::Untried));
    front.call(job(up, INTERACTIVE), throttled(60));
    let until = at(60);
    assert_eq!(told(&front), Some(Availability::Cooldown { until }));
    front.now = until;
    assert_eq!(told(&front), Some(Availability::Probing));
    front.remove(up);
    assert_eq!(told(&front), None);
}
