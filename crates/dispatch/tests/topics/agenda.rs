//! The agenda: exact times, nothing lost, a visible end.

use weir_dispatch::{Admission, DropReason, End, Finish, Job, JobId, Moment, Policy, Wait, What};

use crate::front::*;

#[test]
fn a_job_never_starts_before_its_time_and_starts_exactly_then() {
    let (mut front, up) = Front::with(tracker(), in_flight(1));
    let due = Moment(at(7).0 + 123_456_789);
    let id = front.schedule(Job {
        not_before: due,
        ..job(up, RETRY)
    });
    assert_eq!(front.wake(), Some(due));
    front.now = Moment(due.0 - 1);
    assert!(front.starts().is_empty());
    front.now = due;
    assert_eq!(front.starts(), [id]);
}

#[test]
fn a_time_that_has_come_already_is_no_reason_to_wait() {
    let (mut front, up) = Front::with(tracker(), in_flight(1));
    front.queue(Job {
        not_before: front.now,
        ..job(up, RETRY)
    });
}

#[test]
fn jobs_fall_due_in_the_order_of_their_times_however_late_one_looks() {
    let (mut front, up) = Front::with(tracker(), in_flight(10));
    let at_time = |seconds| Job {
        not_before: at(seconds),
        ..job(up, RETRY)
    };
    let [third, first, second] = [30, 10, 20].map(|seconds| front.schedule(at_time(seconds)));
    let same = front.schedule(at_time(30));
    front.now = at(HOUR);
    assert_eq!(front.starts(), [first, second, third, same]);
}

#[test]
fn a_due_job_that_finds_the_queue_full_is_put_off_ten_seconds_and_never_lost() {
    let policy = Policy {
        capacity: 3,
        ..tracker()
    };
    let (mut front, up) = Front::with(policy, in_flight(1));
    front.hold(true);
    let ids: Vec<JobId> = (0..6)
        .map(|_| {
            front.schedule(Job {
                not_before: at(5),
                ..job(up, REANNOUNCE)
            })
        })
        .collect();
    front.now = at(5);
    let status = front.status();
    assert_eq!((status.queued, status.scheduled), (3, 3));
    for &id in &ids[3..] {
        let row = front.both.real.agenda_row(id).expect("it was put off");
        assert_eq!(row.due, at(15));
        let put_off = What::PutOff {
            due: at(15),
            reason: DropReason::QueueFull,
            limit: 3,
        };
        let told = front.decisions(up);
        let told = told.iter().find(|one| one.job == Some(id));
        let told = told.map(|one| (one.at, one.what));
        assert_eq!(told, Some((at(5), put_off)));
    }
    front.now = at(100);
    assert_eq!(front.status().scheduled, 3, "again and again");
    front.hold(false);
    let mut done = Vec::new();
    while front.now < at(200) {
        for id in front.starts() {
            front.finish(id, Finish::Done);
            done.push(id);
        }
        front.pass(1);
    }
    assert_eq!(done, ids);
}

#[test]
fn a_job_that_is_put_off_again_and_again_never_starts_by_itself() {
    let policy = Policy {
        capacity: 1,
        ..of_crew(10, tracker())
    };
    let mut front = Front::new(policy);
    let [up, other] = [0; 2].map(|_| front.add(in_flight(1)));
    front.begin(job(up, INITIAL));
    front.queue(job(up, INITIAL));
    front.schedule(job(other, EVENT));
    assert_eq!(front.wake(), Some(at(10)));
    assert_eq!(front.earliest_start(), None, "the queue stays full");
}

#[test]
fn the_agenda_has_an_end_and_says_so() {
    let policy = Policy {
        agenda_capacity: 2,
        ..tracker()
    };
    let (mut front, up) = Front::with(policy, in_flight(1));
    let later = Job {
        not_before: at(5),
        ..job(up, RETRY)
    };
    front.schedule(later);
    front.schedule(later);
    let full = Admission::Ended(End::Dropped(DropReason::AgendaFull));
    assert_eq!(front.entry(later), full);
}

#[test]
fn the_agenda_does_not_count_as_fill() {
    let (mut front, up) = Front::with(tracker(), in_flight(1));
    for _ in 0..100 {
        front.schedule(Job {
            not_before: at(5),
            ..job(up, RETRY)
        });
    }
    let status = front.status();
    assert_eq!((status.queued, status.scheduled), (0, 100));
}

#[test]
fn a_due_job_whose_upstream_cools_down_ends_where_its_class_ends_with_a_cooldown() {
    let (mut front, up) = Front::with(tracker(), in_flight(1));
    let id = front.schedule(Job {
        not_before: at(50),
        ..job(up, RETRY)
    });
    front.call(job(up, INITIAL), throttled(300));
    front.ended();
    front.now = at(50);
    assert!(front.starts().is_empty());
    assert_eq!(front.ended(), [(id, skipped(Wait::Cooldown, 250, None))]);
}

#[test]
fn every_change_of_the_agenda_is_told() {
    let (mut front, up) = Front::with(tracker(), in_flight(1));
    let id = front.schedule(Job {
        not_before: at(5),
        ..job(up, RETRY)
    });
    assert_eq!(front.both.real.take_agenda_changes(), [id]);
    assert!(front.both.real.take_agenda_changes().is_empty());
    front.now = at(5);
    assert_eq!(front.starts(), [id]);
    assert_eq!(front.both.real.take_agenda_changes(), [id]);
    assert_eq!(front.both.real.agenda_row(id), None);
}

#[test]
fn the_next_jobs_of_one_upstream_are_seen_without_those_of_others() {
    let (mut front, up) = Front::with(tracker(), in_flight(1));
    let other = front.add(in_flight(1));
    let at_time = |up, seconds| Job {
        not_before: at(seconds),
        ..job(up, RETRY)
    };
    let ids = [40, 10, 30, 20].map(|seconds| front.schedule(at_time(up, seconds)));
    for seconds in 1..50 {
        front.schedule(at_time(other, seconds));
    }
    let seen = |front: &mut Front, most| {
        let now = front.now;
        let (count, next) = front.both.real.agenda_of(now, up, most);
        let next: Vec<_> = next.iter().map(|row| (row.job, row.due)).collect();
        (count, next)
    };
    assert_eq!(seen(&mut front, 0), (4, vec![]));
    let first = vec![(ids[1], at(10)), (ids[3], at(20))];
    assert_eq!(seen(&mut front, 2), (4, first));
    front.now = at(20);
    assert_eq!(
        seen(&mut front, 9),
        (2, vec![(ids[2], at(30)), (ids[0], at(40))]),
        "what is due is not on the agenda any more"
    );
    front.remove(up);
    assert_eq!(seen(&mut front, 9), (0, vec![]));
}
