//! The reference model's own tests: the rules of the dispatcher, each as a small example.

#[path = "model/reference.rs"]
mod reference;

use std::num::NonZeroU64;
use std::time::Duration;

use weir_dispatch::job::{
    After, Drop, End, Entry, Finish, Job, JobId, Key, Next, Skip, State, UpstreamId, Wait,
};
use weir_dispatch::moment::Moment;
use weir_dispatch::policy::{
    Budget, Class, ClassPolicy, CrewPolicy, FailurePolicy, OnRest, Overflow, Policy, Quota, Usage,
    Window, Windows,
};

use reference::{Model, Rest, RestKind};

const A: UpstreamId = UpstreamId(0);
const B: UpstreamId = UpstreamId(1);

/// The classes of the examples: urgent jobs wait for ever, events go to the agenda when there is no
/// room, feeds accept a wait of 15 s, slow jobs end when their upstream rests.
const URGENT: Class = Class(0);
const EVENT: Class = Class(1);
const FEED: Class = Class(2);
const SLOW: Class = Class(3);

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// `seconds` after the start.
fn at(seconds: u64) -> Moment {
    Moment(0) + secs(seconds)
}

fn key(number: u64) -> Option<Key> {
    NonZeroU64::new(number).map(Key)
}

fn policy() -> Policy {
    let class = |gap_permille, max_wait, on_rest, overflow| ClassPolicy {
        gap_permille,
        max_wait,
        on_rest,
        overflow,
    };
    Policy {
        classes: vec![
            class(100, None, OnRest::Hold, Overflow::Drop),
            class(200, None, OnRest::Hold, Overflow::Agenda),
            class(500, Some(secs(15)), OnRest::Hold, Overflow::Drop),
            class(1000, None, OnRest::End, Overflow::Drop),
        ],
        capacity: 100,
        agenda_capacity: 1000,
        backlog_floor: 32,
        aging: secs(10),
        put_off: secs(10),
        crew: CrewPolicy {
            base: 10,
            max: 20,
            grow_at: 60,
            shrink_below: 40,
            step: secs(1),
            slot_time: secs(1),
            waiting_max: 1000,
        },
        failure: FailurePolicy {
            ladder: vec![secs(60), secs(300), secs(900)],
            threshold: 1,
            threshold_disables: false,
            throttled: Some(secs(300)),
            longest: secs(86_400),
        },
        again_class: None,
        attempts: 1,
        retry_base: Duration::from_millis(500),
        records: 0,
    }
}

fn quota() -> Quota {
    Quota {
        spacing: Duration::ZERO,
        in_flight: 4,
        query: Windows::default(),
        grab: Windows::default(),
    }
}

fn spaced(seconds: u64) -> Quota {
    Quota {
        spacing: secs(seconds),
        ..quota()
    }
}

fn job(upstream: UpstreamId, class: Class) -> Job {
    Job {
        upstream,
        class,
        budget: Budget::Query,
        not_before: Moment(0),
        max_wait: None,
        pending: None,
        scheduled: None,
        order: None,
        probe: false,
        asker: weir_dispatch::Asker(0),
        attempts_made: 0,
    }
}

/// A model with upstreams A and B of this quota.
fn model_of(policy: Policy, quota: Quota) -> Model {
    let mut model = Model::new(policy, at(0));
    model.add_upstream(at(0), quota.clone());
    model.add_upstream(at(0), quota);
    model
}

fn model() -> Model {
    model_of(policy(), quota())
}

/// Queues a job and says which it is.
fn queue(model: &mut Model, now: Moment, job: Job) -> JobId {
    match model.submit(now, job) {
        Entry::Queued(id) => id,
        other => panic!("not queued: {other:?}"),
    }
}

/// Starts all that can start.
fn starts(model: &mut Model, now: Moment) -> Vec<JobId> {
    let mut started = Vec::new();
    while let Next::Start(start) = model.next(now) {
        started.push(start.job);
    }
    started
}

/// Queues a job that starts at once.
fn call(model: &mut Model, now: Moment, job: Job) -> JobId {
    let id = queue(model, now, job);
    assert!(starts(model, now).contains(&id), "did not start");
    id
}

/// Makes a whole call that ends like this.
fn called(model: &mut Model, now: Moment, job: Job, finish: Finish) -> After {
    let id = call(model, now, job);
    model.finish(now, id, finish, 0)
}

fn throttled(seconds: u64) -> Finish {
    Finish::Throttled {
        retry_after: Some(secs(seconds)),
    }
}

fn skipped(reason: Wait, wait: u64, limit: Option<u64>) -> End {
    End::Skipped(Skip {
        reason,
        wait: Some(secs(wait)),
        limit: limit.map(secs),
    })
}

// Queue, keys.

#[test]
fn the_most_urgent_class_starts_first_and_each_class_in_order() {
    let mut model = model();
    let slow = queue(&mut model, at(0), job(A, SLOW));
    let first = queue(&mut model, at(0), job(A, URGENT));
    let second = queue(&mut model, at(0), job(B, URGENT));
    assert_eq!(starts(&mut model, at(0)), [first, second, slow]);
    assert_eq!(model.next(at(0)), Next::Wait(at(1)));
}

#[test]
fn a_full_queue_answers_at_once_and_events_go_to_the_agenda() {
    let mut rules = policy();
    rules.capacity = 1;
    let mut model = model_of(rules, quota());
    queue(&mut model, at(0), job(A, URGENT));
    assert_eq!(model.fill_percent(), 100);
    assert_eq!(
        model.submit(at(0), job(B, URGENT)),
        Entry::Ended(End::Dropped(Drop::QueueFull))
    );
    assert_eq!(
        model.submit(at(0), job(B, EVENT)),
        Entry::Scheduled(JobId(2))
    );
    // Still full when due: put off again, and never lost.
    model.hold(at(10), true);
    assert_eq!((model.queued(), model.scheduled()), (1, 1));
    model.hold(at(15), false);
    assert_eq!(starts(&mut model, at(15)), [JobId(1)]);
    assert_eq!(starts(&mut model, at(20)), [JobId(2)]);
}

#[test]
fn one_upstream_holds_at_most_its_share_and_a_single_one_all() {
    let mut model = model();
    model.add_upstream(at(0), quota());
    for _ in 0..50 {
        queue(&mut model, at(0), job(A, URGENT));
    }
    assert_eq!(
        model.submit(at(0), job(A, URGENT)),
        Entry::Ended(End::Dropped(Drop::Backlog))
    );
    queue(&mut model, at(0), job(B, URGENT));
    model.remove_upstream(at(0), B);
    model.remove_upstream(at(0), UpstreamId(2));
    for _ in 0..50 {
        queue(&mut model, at(0), job(A, URGENT));
    }
    assert_eq!(
        model.submit(at(0), job(A, URGENT)),
        Entry::Ended(End::Dropped(Drop::QueueFull))
    );
}

#[test]
fn a_pending_key_is_free_again_after_execution() {
    let mut model = model();
    let keyed = Job {
        pending: key(7),
        ..job(A, URGENT)
    };
    let id = call(&mut model, at(0), keyed);
    assert_eq!(model.submit(at(0), keyed), Entry::Duplicate(id));
    assert_eq!(model.finish(at(1), id, Finish::Done, 0), After::Ended);
    assert_eq!(model.submit(at(1), keyed), Entry::Queued(JobId(2)));
}

#[test]
fn the_agenda_takes_each_scheduled_key_once_and_has_an_end() {
    let mut rules = policy();
    rules.agenda_capacity = 2;
    let mut model = model_of(rules, quota());
    let later = |scheduled| Job {
        not_before: at(5),
        scheduled,
        ..job(A, URGENT)
    };
    assert_eq!(
        model.submit(at(0), later(key(1))),
        Entry::Scheduled(JobId(1))
    );
    assert_eq!(
        model.submit(at(0), later(key(1))),
        Entry::Ended(End::Dropped(Drop::Scheduled))
    );
    assert_eq!(model.submit(at(0), later(None)), Entry::Scheduled(JobId(2)));
    assert_eq!(
        model.submit(at(0), later(None)),
        Entry::Ended(End::Dropped(Drop::AgendaFull))
    );
    assert_eq!(model.next(at(0)), Next::Wait(at(5)));
    assert_eq!(model.earliest_start(at(0)), Some(at(5)));
    assert_eq!(starts(&mut model, at(5)), [JobId(1), JobId(2)]);
}

#[test]
fn queued_and_scheduled_jobs_can_be_cancelled_and_calls_cannot() {
    let mut model = model();
    let running = call(&mut model, at(0), job(A, URGENT));
    let queued = queue(&mut model, at(0), job(A, URGENT));
    let later = Job {
        not_before: at(9),
        ..job(A, URGENT)
    };
    assert_eq!(model.submit(at(0), later), Entry::Scheduled(JobId(3)));
    assert!(!model.cancel(at(0), running));
    assert!(model.cancel(at(0), queued));
    assert!(model.cancel(at(0), JobId(3)));
    assert!(!model.cancel(at(0), JobId(3)));
    assert_eq!(model.take_ended().len(), 2);
}

#[test]
fn a_raised_job_keeps_its_submit_number() {
    let mut rules = policy();
    rules.crew.base = 1;
    let mut model = model_of(rules, quota());
    let raised = queue(&mut model, at(0), job(A, SLOW));
    let urgent = queue(&mut model, at(0), job(A, URGENT));
    assert!(!model.raise(at(0), urgent, SLOW));
    assert!(model.raise(at(0), raised, URGENT));
    assert_eq!(starts(&mut model, at(0)), [raised]);
    assert!(!model.raise(at(0), raised, URGENT));
}

#[test]
fn calls_with_the_same_order_key_never_overlap() {
    let mut model = model();
    let ordered = Job {
        order: key(3),
        ..job(A, URGENT)
    };
    let first = call(&mut model, at(0), ordered);
    let aside = queue(&mut model, at(0), ordered);
    let passing = queue(&mut model, at(0), job(A, URGENT));
    assert_eq!(starts(&mut model, at(0)), [passing]);
    assert_eq!(model.queued(), 1);
    model.finish(at(1), first, Finish::Done, 0);
    assert_eq!(starts(&mut model, at(1)), [aside]);
}

// Quota.

#[test]
fn calls_in_flight_are_limited() {
    let mut one = quota();
    one.in_flight = 1;
    let mut model = model_of(policy(), one);
    let first = queue(&mut model, at(0), job(A, URGENT));
    let second = queue(&mut model, at(0), job(A, URGENT));
    assert_eq!(starts(&mut model, at(5)), [first]);
    assert_eq!(model.earliest_start(at(5)), None);
    model.finish(at(6), first, Finish::Done, 0);
    assert_eq!(starts(&mut model, at(6)), [second]);
}

#[test]
fn the_gap_depends_on_the_class_that_starts_next() {
    let mut model = model_of(policy(), spaced(60));
    call(&mut model, at(0), job(A, SLOW));
    let slow = queue(&mut model, at(0), job(A, SLOW));
    let urgent = queue(&mut model, at(0), job(A, URGENT));
    assert_eq!(
        model.next_wait(at(0), A, SLOW, Budget::Query),
        (secs(60), Some(Wait::Gap))
    );
    assert_eq!(model.earliest_start(at(0)), Some(at(6)));
    assert_eq!(starts(&mut model, at(6)), [urgent]);
    assert_eq!(starts(&mut model, at(65)), []);
    assert_eq!(starts(&mut model, at(66)), [slow]);
}

#[test]
fn grabs_neither_wait_for_nor_start_the_spacing_clock() {
    let mut model = model_of(policy(), spaced(60));
    let grab = Job {
        budget: Budget::Grab,
        ..job(A, URGENT)
    };
    call(&mut model, at(0), grab);
    call(&mut model, at(0), job(A, URGENT));
    let query = queue(&mut model, at(1), job(A, URGENT));
    // Behind a query that waits, but not in its queue.
    call(&mut model, at(1), grab);
    assert_eq!(starts(&mut model, at(6)), [query]);
}

#[test]
fn a_start_leaves_a_sliding_window_exactly_its_length_after_it() {
    let mut limited = quota();
    limited.query.minute = Some(2);
    let mut model = model_of(policy(), limited);
    let side = Job {
        budget: Budget::Side,
        ..job(A, URGENT)
    };
    call(&mut model, at(0), side);
    call(&mut model, at(10), job(A, URGENT));
    let third = queue(&mut model, at(10), job(A, URGENT));
    assert_eq!(
        model.next_wait(at(10), A, URGENT, Budget::Side),
        (secs(50), Some(Wait::Window))
    );
    assert_eq!(
        model.next_wait(at(10), A, URGENT, Budget::Grab),
        (Duration::ZERO, None)
    );
    assert_eq!(starts(&mut model, Moment(at(60).0 - 1)), []);
    assert_eq!(starts(&mut model, at(60)), [third]);
}

#[test]
fn a_day_with_a_reset_empties_there() {
    let mut limited = quota();
    limited.query.day = Some(1);
    limited.query.day_reset = Some(at(86_400 * 3 + 100));
    let mut model = model_of(policy(), limited);
    call(&mut model, at(40), job(A, URGENT));
    let second = queue(&mut model, at(40), job(A, URGENT));
    assert_eq!(model.earliest_start(at(40)), Some(at(100)));
    assert_eq!(starts(&mut model, at(100)), [second]);
    assert_eq!(
        model.next_wait(at(100), A, URGENT, Budget::Query).0,
        secs(86_400)
    );
}

#[test]
fn a_limit_is_learned_where_none_is_configured() {
    let mut limited = quota();
    limited.query.hour = Some(5);
    let mut model = model_of(policy(), limited);
    let said = |window| Usage {
        budget: Budget::Query,
        window,
        limit: 3,
        used: Some(3),
    };
    model.observe(at(0), A, said(Window::Hour));
    assert!(model.next_wait(at(0), A, URGENT, Budget::Query).0.is_zero());
    model.observe(at(0), A, said(Window::Day));
    assert_eq!(
        model.next_wait(at(1), A, URGENT, Budget::Query),
        (secs(86_399), Some(Wait::Window))
    );
}

// Aging.

#[test]
fn an_aged_class_takes_a_slot_that_opened_for_another_and_adds_none() {
    let mut rules = policy();
    rules.classes[3].on_rest = OnRest::Hold;
    let mut model = model_of(rules, spaced(60));
    let mut order = Vec::new();
    let slow = queue(&mut model, at(0), job(A, SLOW));
    for second in 0..90 {
        // There is always an urgent job, and its gap is 6 s; SLOW is aged at 10 + 60 s.
        if model.queued() < 2 {
            queue(&mut model, at(second), job(A, URGENT));
        }
        for id in starts(&mut model, at(second)) {
            order.push((second, id == slow));
            model.finish(at(second), id, Finish::Done, 0);
        }
    }
    let times: Vec<u64> = order.iter().map(|&(second, _)| second).collect();
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 6));
    let aged: Vec<u64> = order.iter().filter(|o| o.1).map(|o| o.0).collect();
    assert_eq!(aged, [72]);
}

#[test]
fn an_aged_query_does_not_take_the_slot_of_a_grab() {
    let mut model = model_of(policy(), spaced(600));
    call(&mut model, at(0), job(A, URGENT));
    let query = queue(&mut model, at(0), job(A, URGENT));
    let grab = Job {
        budget: Budget::Grab,
        ..job(A, URGENT)
    };
    let grab = queue(&mut model, at(50), grab);
    assert_eq!(starts(&mut model, at(59)), [grab]);
    assert_eq!(starts(&mut model, at(60)), [query]);
}

#[test]
fn a_free_worker_goes_to_a_class_that_has_waited_for_the_aging_time() {
    let mut rules = policy();
    rules.crew.base = 1;
    rules.crew.slot_time = secs(3600);
    let mut model = model_of(rules, quota());
    let first = call(&mut model, at(0), job(A, URGENT));
    let slow = queue(&mut model, at(0), job(A, SLOW));
    let urgent = queue(&mut model, at(0), job(B, URGENT));
    let later = queue(&mut model, at(1), job(B, URGENT));
    model.finish(at(9), first, Finish::Done, 0);
    assert_eq!(starts(&mut model, at(9)), [urgent]);
    model.finish(at(10), urgent, Finish::Done, 0);
    assert_eq!(starts(&mut model, at(10)), [slow]);
    model.finish(at(11), slow, Finish::Done, 0);
    assert_eq!(starts(&mut model, at(11)), [later]);
}

// Max-wait.

#[test]
fn a_job_whose_upstream_waits_too_long_is_skipped_at_submit() {
    let mut model = model_of(policy(), spaced(60));
    call(&mut model, at(0), job(A, URGENT));
    assert_eq!(
        model.submit(at(14), job(A, FEED)),
        Entry::Ended(skipped(Wait::Gap, 16, Some(15)))
    );
    queue(&mut model, at(15), job(A, FEED));
    let patient = Job {
        max_wait: Some(secs(5)),
        ..job(A, URGENT)
    };
    assert_eq!(
        model.submit(at(0), patient),
        Entry::Queued(JobId(3)),
        "a smaller moment counts as the last one"
    );
}

#[test]
fn a_head_is_skipped_as_soon_as_its_next_wait_grows_too_long() {
    let mut model = model_of(policy(), spaced(60));
    let first = queue(&mut model, at(0), job(A, FEED));
    let second = queue(&mut model, at(0), job(A, FEED));
    let third = queue(&mut model, at(0), job(A, FEED));
    assert_eq!(starts(&mut model, at(0)), [first]);
    let too_late = skipped(Wait::Gap, 30, Some(15));
    assert_eq!(model.take_ended(), [(second, too_late), (third, too_late)]);
}

#[test]
fn when_a_rest_begins_each_class_holds_or_ends() {
    let mut model = model();
    let running = call(&mut model, at(0), job(A, URGENT));
    model.hold(at(0), true);
    let held = queue(&mut model, at(0), job(A, URGENT));
    let feed = queue(&mut model, at(0), job(A, FEED));
    let slow = queue(&mut model, at(0), job(A, SLOW));
    model.finish(at(0), running, throttled(100), 0);
    assert_eq!(
        model.take_ended(),
        [
            (running, End::Finished(throttled(100))),
            (feed, skipped(Wait::Rest, 100, Some(15))),
            (slow, skipped(Wait::Rest, 100, None)),
        ]
    );
    assert_eq!(
        model.submit(at(40), job(A, SLOW)),
        Entry::Ended(skipped(Wait::Rest, 60, None))
    );
    model.hold(at(40), false);
    assert_eq!(model.earliest_start(at(40)), Some(at(100)));
    assert_eq!(starts(&mut model, at(100)), [held]);
}

#[test]
fn a_due_job_that_meets_a_rest_is_skipped_like_a_new_one() {
    let mut model = model();
    let later = Job {
        not_before: at(20),
        ..job(A, SLOW)
    };
    called(&mut model, at(0), job(A, URGENT), throttled(100));
    assert_eq!(model.submit(at(0), later), Entry::Scheduled(JobId(2)));
    model.take_ended();
    assert_eq!(model.next(at(50)), Next::Idle);
    assert_eq!(
        model.take_ended(),
        [(JobId(2), skipped(Wait::Rest, 80, None))]
    );
}

// Rests.

#[test]
fn failures_climb_the_ladder_and_a_success_heals() {
    let mut model = model();
    called(&mut model, at(0), job(A, URGENT), Finish::Unavailable);
    assert_eq!(model.state(at(0), A), State::Cooldown { until: at(60) });
    for (now, until, rung) in [(60, 360, 2), (360, 1260, 3), (1260, 2160, 3)] {
        assert_eq!(model.state(at(now), A), State::Probing);
        called(&mut model, at(now), job(A, URGENT), Finish::Unavailable);
        assert_eq!(
            model.state(at(now), A),
            State::Cooldown { until: at(until) }
        );
        assert_eq!(model.rung(A), rung);
    }
    called(&mut model, at(2160), job(A, URGENT), Finish::No);
    assert_eq!((model.state(at(2160), A), model.rung(A)), (State::Open, 0));
}

#[test]
fn the_threshold_counts_used_up_jobs_in_a_row() {
    let mut rules = policy();
    rules.failure.threshold = 2;
    rules.failure.threshold_disables = true;
    let mut model = model_of(rules, quota());
    for finish in [
        Finish::Unavailable,
        Finish::Done,
        Finish::Unavailable,
        Finish::Panicked,
    ] {
        called(&mut model, at(0), job(A, URGENT), finish);
        assert_eq!(model.state(at(0), A), State::Open);
    }
    called(&mut model, at(0), job(A, URGENT), Finish::Unavailable);
    assert_eq!(model.state(at(0), A), State::Disabled { until: at(60) });
}

#[test]
fn while_probing_one_call_is_in_flight_and_its_failure_ends_its_job() {
    let mut rules = policy();
    rules.attempts = 5;
    let mut model = model_of(rules, quota());
    called(&mut model, at(0), job(A, URGENT), throttled(10));
    let probe = queue(&mut model, at(10), job(A, URGENT));
    let other = queue(&mut model, at(10), job(A, URGENT));
    assert_eq!(starts(&mut model, at(10)), [probe]);
    assert_eq!(
        model.finish(at(11), probe, Finish::Unavailable, 0),
        After::Ended
    );
    assert_eq!(model.rung(A), 1);
    assert_eq!(model.state(at(11), A), State::Cooldown { until: at(71) });
    assert_eq!(starts(&mut model, at(71)), [other]);
}

#[test]
fn calls_that_started_before_a_rest_count_neither_way() {
    let mut model = model();
    let ids: Vec<JobId> = (0..4)
        .map(|_| call(&mut model, at(0), job(A, URGENT)))
        .collect();
    model.finish(at(0), ids[0], throttled(100), 0);
    model.finish(at(1), ids[1], Finish::Unavailable, 0);
    model.finish(at(1), ids[2], Finish::Done, 0);
    assert_eq!(model.state(at(1), A), State::Cooldown { until: at(100) });
    assert_eq!(model.rung(A), 0);
    // But a longer time that the upstream names holds.
    model.finish(at(1), ids[3], throttled(200), 0);
    assert_eq!(model.state(at(1), A), State::Cooldown { until: at(201) });
}

#[test]
fn a_shorter_rest_never_replaces_a_longer_one() {
    let mut model = model();
    let first = call(&mut model, at(0), job(A, URGENT));
    let second = call(&mut model, at(0), job(A, URGENT));
    model.finish(at(0), first, throttled(100), 0);
    model.finish(at(0), second, throttled(50), 0);
    assert_eq!(model.state(at(0), A), State::Cooldown { until: at(100) });
}

#[test]
fn a_named_time_is_cut_and_a_missing_one_is_the_fronts_own() {
    let mut model = model();
    called(&mut model, at(0), job(A, URGENT), throttled(1_000_000));
    assert_eq!(model.state(at(0), A), State::Cooldown { until: at(86_400) });
    let unnamed = Finish::Throttled { retry_after: None };
    called(&mut model, at(0), job(B, URGENT), unnamed);
    assert_eq!(model.state(at(0), B), State::Cooldown { until: at(300) });
    assert_eq!(model.rung(B), 0);
}

#[test]
fn what_is_rejected_disables_at_once_for_the_longer_time() {
    let mut rules = policy();
    rules.failure.threshold = 10;
    let mut model = model_of(rules, quota());
    let rejected = |at_least| Finish::Rejected { at_least };
    called(&mut model, at(0), job(A, URGENT), rejected(None));
    assert_eq!(model.state(at(0), A), State::Disabled { until: at(60) });
    called(
        &mut model,
        at(0),
        job(B, URGENT),
        rejected(Some(secs(3600))),
    );
    assert_eq!(model.state(at(0), B), State::Disabled { until: at(3600) });
    assert_eq!((model.rung(A), model.rung(B)), (1, 1));
}

#[test]
fn an_operators_probe_starts_during_a_rest_and_can_only_help() {
    let mut model = model_of(policy(), spaced(60));
    called(&mut model, at(0), job(A, URGENT), throttled(100));
    let probe = Job {
        probe: true,
        ..job(A, URGENT)
    };
    called(&mut model, at(1), probe, Finish::Unavailable);
    assert_eq!(model.state(at(1), A), State::Cooldown { until: at(100) });
    called(&mut model, at(2), probe, throttled(200));
    assert_eq!(model.state(at(2), A), State::Cooldown { until: at(202) });
    called(&mut model, at(3), probe, Finish::Done);
    assert_eq!(model.state(at(3), A), State::Open);
}

#[test]
fn an_operator_clears_a_rest_and_switches_off_and_on() {
    let mut model = model();
    called(&mut model, at(0), job(A, URGENT), Finish::Unavailable);
    let held = queue(&mut model, at(0), job(A, URGENT));
    model.take_ended();
    model.switch_off(at(1), A);
    let off = End::Skipped(Skip {
        reason: Wait::Off,
        wait: None,
        limit: None,
    });
    assert_eq!(model.take_ended(), [(held, off)]);
    assert_eq!(model.submit(at(1), job(A, URGENT)), Entry::Ended(off));
    assert_eq!(model.state(at(1), A), State::Off);
    model.switch_on(at(2), A);
    assert_eq!(model.state(at(2), A), State::Cooldown { until: at(60) });
    model.clear(at(3), A);
    assert_eq!((model.state(at(3), A), model.rung(A)), (State::Open, 0));
}

// Attempts.

#[test]
fn waits_between_attempts_double_and_only_the_last_is_a_failure() {
    let mut rules = policy();
    rules.attempts = 3;
    rules.again_class = Some(SLOW);
    let mut model = model_of(rules, quota());
    let id = call(&mut model, at(0), job(A, URGENT));
    let due = at(0) + Duration::from_millis(500);
    assert_eq!(
        model.finish(at(0), id, Finish::Unavailable, 0),
        After::Scheduled(due)
    );
    let Next::Start(start) = model.next(due) else {
        panic!("did not start");
    };
    assert_eq!((start.job, start.class, start.attempt), (id, SLOW, 2));
    let due = at(1) + Duration::from_millis(1500);
    assert_eq!(
        model.finish(at(1), id, Finish::Unavailable, 500),
        After::Scheduled(due)
    );
    assert_eq!(model.state(at(1), A), State::Open);
    assert_eq!(starts(&mut model, due), [id]);
    assert_eq!(model.finish(due, id, Finish::Unavailable, 0), After::Ended);
    assert_eq!(
        model.take_ended(),
        [(id, End::Finished(Finish::Unavailable))]
    );
    assert_eq!(model.rung(A), 1);
}

#[test]
fn a_wish_to_be_asked_again_uses_up_no_attempt() {
    let mut model = model();
    let again = Finish::Again { after: secs(30) };
    let id = call(&mut model, at(0), job(A, URGENT));
    assert_eq!(
        model.finish(at(0), id, again, 500),
        After::Scheduled(at(30))
    );
    let Next::Start(start) = model.next(at(30)) else {
        panic!("did not start");
    };
    assert_eq!((start.job, start.attempt), (id, 1));
}

#[test]
fn our_own_network_is_nobodys_fault_and_pauses_the_front() {
    let mut rules = policy();
    rules.attempts = 2;
    let mut model = model_of(rules, quota());
    let down = Finish::OurNetwork { pause: secs(30) };
    let id = call(&mut model, at(0), job(A, URGENT));
    assert_eq!(model.finish(at(0), id, down, 0), After::Scheduled(at(30)));
    let other = queue(&mut model, at(1), job(B, URGENT));
    assert_eq!(model.next(at(1)), Next::Wait(at(30)));
    assert_eq!(model.earliest_start(at(1)), Some(at(30)));
    assert_eq!(starts(&mut model, at(30)), [other, id]);
    assert_eq!(model.finish(at(31), id, down, 0), After::Ended);
    assert_eq!(model.state(at(31), A), State::Open);
}

#[test]
fn an_upstream_that_is_gone_takes_its_jobs_along_but_not_its_calls() {
    let mut rules = policy();
    rules.attempts = 5;
    let mut model = model_of(rules, quota());
    let running = call(&mut model, at(0), job(A, URGENT));
    model.hold(at(0), true);
    let queued = queue(&mut model, at(0), job(A, URGENT));
    model.remove_upstream(at(1), A);
    assert_eq!(model.take_ended(), [(queued, End::Dropped(Drop::Gone))]);
    assert_eq!(model.running() + model.waiting(), 1);
    assert_eq!(
        model.finish(at(2), running, Finish::Unavailable, 0),
        After::Ended
    );
    assert_eq!(model.take_ended(), [(running, End::Dropped(Drop::Gone))]);
}

#[test]
fn shutdown_ends_every_job_exactly_once() {
    let mut rules = policy();
    rules.attempts = 5;
    let mut model = model_of(rules, quota());
    let again = call(&mut model, at(0), job(A, URGENT));
    let done = call(&mut model, at(0), job(A, URGENT));
    model.hold(at(0), true);
    let queued = queue(&mut model, at(0), job(A, URGENT));
    model.shutdown(at(1));
    assert_eq!(
        model.submit(at(1), job(A, URGENT)),
        Entry::Ended(End::Shutdown)
    );
    model.finish(at(2), again, Finish::Unavailable, 0);
    model.finish(at(2), done, Finish::Done, 0);
    assert_eq!(
        model.take_ended(),
        [
            (queued, End::Shutdown),
            (again, End::Shutdown),
            (done, End::Finished(Finish::Done)),
        ]
    );
    assert_eq!(model.next(at(3)), Next::Idle);
}

// Crew.

#[test]
fn the_crew_grows_and_shrinks_on_whole_steps() {
    let mut rules = policy();
    rules.crew.base = 1;
    rules.crew.max = 3;
    let mut model = model_of(rules, quota());
    model.hold(at(0), true);
    let ids: Vec<JobId> = (0..60)
        .map(|n| queue(&mut model, at(0), job(UpstreamId(n % 2), URGENT)))
        .collect();
    assert_eq!(model.next(at(0)), Next::Wait(at(1)));
    model.hold(at(1), true);
    assert_eq!(model.crew(), 2);
    model.hold(at(9), true);
    assert_eq!(model.crew(), 3);
    // 40 % is neither here nor there; 39 % is below.
    for &id in &ids[..20] {
        model.cancel(at(9), id);
    }
    model.hold(at(20), true);
    assert_eq!(model.crew(), 3);
    model.cancel(at(20), ids[20]);
    model.hold(at(21), true);
    assert_eq!(model.crew(), 2);
    model.set_crew(at(21), 5, 9);
    assert_eq!(model.crew(), 5);
}

#[test]
fn a_step_comes_before_the_jobs_that_are_due_with_it() {
    let mut rules = policy();
    rules.capacity = 1;
    let mut model = model_of(rules, quota());
    model.hold(at(0), true);
    let later = Job {
        not_before: at(1),
        ..job(A, URGENT)
    };
    model.submit(at(0), later);
    model.hold(at(1), true);
    assert_eq!((model.queued(), model.crew()), (1, 10));
    model.hold(at(2), true);
    assert_eq!(model.crew(), 11);
}

#[test]
fn an_old_call_gives_its_worker_back_while_there_is_room_to_wait() {
    let mut rules = policy();
    rules.crew.base = 1;
    rules.crew.waiting_max = 1;
    let mut model = model_of(rules, quota());
    let first = call(&mut model, at(0), job(A, URGENT));
    let second = queue(&mut model, at(0), job(A, URGENT));
    let third = queue(&mut model, at(0), job(A, URGENT));
    assert_eq!(model.earliest_start(at(0)), Some(at(1)));
    assert_eq!(starts(&mut model, at(1)), [second]);
    assert_eq!((model.running(), model.waiting()), (1, 1));
    assert_eq!(starts(&mut model, at(5)), []);
    model.finish(at(6), first, Finish::Done, 0);
    assert_eq!((model.running(), model.waiting()), (0, 1));
    assert_eq!(starts(&mut model, at(6)), [third]);
}

/// Milliseconds after the start.
fn at_ms(millis: u64) -> Moment {
    Moment(0) + Duration::from_millis(millis)
}

fn crew_of(base: u32, waiting_max: u32) -> Policy {
    let mut rules = policy();
    rules.crew.base = base;
    rules.crew.waiting_max = waiting_max;
    rules
}

/// Calls that hold a worker, and those that do not.
fn crew(model: &Model) -> (usize, usize) {
    (model.running(), model.waiting())
}

#[test]
fn calls_at_a_slow_upstream_wait_from_their_start_up_to_the_in_flight_limit() {
    let mut model = model_of(crew_of(1, 1000), quota());
    let ids: Vec<JobId> = (0..5)
        .map(|_| queue(&mut model, at(0), job(A, URGENT)))
        .collect();
    assert_eq!(starts(&mut model, at(0)), ids[..1]);
    // Given back at 1 s, and from that moment on three more need no worker.
    assert_eq!(starts(&mut model, at(1)), ids[1..4]);
    assert_eq!(crew(&model), (0, 4));
    assert_eq!(model.earliest_start(at(1)), None);
    // The other upstream is not slow.
    call(&mut model, at(1), job(B, URGENT));
    assert_eq!(crew(&model), (1, 4));
    model.finish(at(9), ids[0], Finish::Done, 0);
    assert_eq!(starts(&mut model, at(9)), ids[4..]);
}

#[test]
fn a_call_at_a_slow_upstream_needs_a_free_worker_to_start() {
    let mut model = model_of(crew_of(1, 1000), quota());
    call(&mut model, at(0), job(A, URGENT));
    let other = call(&mut model, at(1), job(B, URGENT));
    let slow = queue(&mut model, at(1), job(A, URGENT));
    assert_eq!(starts(&mut model, at(1)), []);
    assert_eq!(model.earliest_start(at(1)), Some(at(2)));
    model.finish(at_ms(1500), other, Finish::Done, 0);
    assert_eq!(starts(&mut model, at_ms(1500)), [slow]);
    assert_eq!(crew(&model), (0, 2));
}

#[test]
fn without_room_to_wait_a_call_at_a_slow_upstream_holds_its_worker_until_it_is_old() {
    let mut model = model_of(crew_of(2, 1), quota());
    let first = call(&mut model, at(0), job(A, URGENT));
    call(&mut model, at(1), job(A, URGENT));
    assert_eq!(crew(&model), (1, 1));
    model.finish(at_ms(1500), first, Finish::Unavailable, 0);
    // Room alone does not take its worker; age does.
    assert_eq!(crew(&model), (1, 0));
    assert_eq!(model.next(at_ms(1500)), Next::Wait(at(2)));
    assert_eq!(model.next(at(2)), Next::Idle);
    assert_eq!(crew(&model), (0, 1));
}

#[test]
fn any_early_end_makes_an_upstream_quick_again() {
    for finish in [
        Finish::Done,
        Finish::No,
        Finish::Again { after: secs(60) },
        Finish::Panicked,
        Finish::OurNetwork {
            pause: Duration::ZERO,
        },
    ] {
        let mut model = model_of(crew_of(5, 1000), quota());
        call(&mut model, at(0), job(A, URGENT));
        let early = call(&mut model, at(1), job(A, URGENT));
        assert_eq!(crew(&model), (0, 2));
        model.finish(Moment(at(2).0 - 1), early, finish, 0);
        // The first call still waits, and changes nothing.
        call(&mut model, at(2), job(A, URGENT));
        assert_eq!(crew(&model), (1, 1), "{finish:?}");
    }
}

#[test]
fn a_failure_that_ends_early_makes_an_upstream_quick_again() {
    let mut rules = crew_of(5, 1000);
    rules.failure.threshold = 9;
    for (end, after) in [(at_ms(1999), (1, 1)), (at(2), (0, 2))] {
        let mut model = model_of(rules.clone(), quota());
        call(&mut model, at(0), job(A, URGENT));
        let second = call(&mut model, at(1), job(A, URGENT));
        model.finish(end, second, Finish::Unavailable, 0);
        call(&mut model, at(2), job(A, URGENT));
        assert_eq!(crew(&model), after);
    }
}

#[test]
fn a_call_that_started_before_its_upstream_was_slow_keeps_its_worker_and_may_end_early() {
    let mut model = model_of(crew_of(5, 1000), quota());
    call(&mut model, at(0), job(A, URGENT));
    let second = call(&mut model, at_ms(500), job(A, URGENT));
    model.hold(at(1), false);
    assert_eq!(crew(&model), (1, 1));
    model.finish(at_ms(1400), second, Finish::Done, 0);
    call(&mut model, at_ms(1400), job(A, URGENT));
    assert_eq!(crew(&model), (1, 1));
}

#[test]
fn an_end_at_exactly_the_slot_time_leaves_the_upstream_slow() {
    let mut model = model_of(crew_of(5, 1000), quota());
    let first = call(&mut model, at(0), job(A, URGENT));
    model.finish(at(1), first, Finish::Done, 0);
    let second = call(&mut model, at(1), job(A, URGENT));
    assert_eq!(crew(&model), (0, 1));
    model.finish(at(2), second, Finish::Done, 0);
    call(&mut model, at(9), job(A, URGENT));
    assert_eq!(crew(&model), (0, 1));
}

#[test]
fn a_call_that_waits_from_its_start_makes_no_upstream_slow_by_its_age() {
    let mut model = model_of(crew_of(5, 1000), quota());
    let first = call(&mut model, at(0), job(A, URGENT));
    call(&mut model, at(1), job(A, URGENT));
    let early = call(&mut model, at(1), job(A, URGENT));
    model.finish(at_ms(1500), first, Finish::Done, 0);
    model.finish(at_ms(1500), early, Finish::Done, 0);
    // The second is older than the slot time by now, but has no worker to give back.
    call(&mut model, at(3), job(A, URGENT));
    assert_eq!(crew(&model), (1, 1));
}

#[test]
fn an_old_call_that_keeps_its_worker_makes_no_upstream_slow() {
    let mut model = model_of(crew_of(5, 1), quota());
    let waiting = call(&mut model, at(0), job(B, URGENT));
    let old = call(&mut model, at(1), job(A, URGENT));
    let older = call(&mut model, at(1), job(A, URGENT));
    model.finish(at(5), old, Finish::Done, 0);
    assert_eq!(crew(&model), (1, 1));
    // Room: the other one takes it, and A is slow from now on.
    model.finish(at(6), waiting, Finish::Done, 0);
    assert_eq!(crew(&model), (0, 1));
    model.finish(at(7), older, Finish::Done, 0);
    call(&mut model, at(7), job(A, URGENT));
    assert_eq!(crew(&model), (0, 1));
}

#[test]
fn the_room_that_an_early_end_leaves_goes_to_an_old_call_and_its_upstream_is_slow_again() {
    let mut model = model_of(crew_of(5, 1), quota());
    let first = call(&mut model, at(0), job(A, URGENT));
    let old = call(&mut model, at(1), job(A, URGENT));
    model.finish(at_ms(1500), first, Finish::Done, 0);
    let early = call(&mut model, at_ms(1500), job(A, URGENT));
    assert_eq!(crew(&model), (1, 1));
    model.finish(at_ms(2200), early, Finish::Done, 0);
    assert_eq!(crew(&model), (0, 1));
    call(&mut model, at_ms(2200), job(A, URGENT));
    assert_eq!(crew(&model), (1, 1));
    model.finish(at_ms(2300), old, Finish::Done, 0);
    call(&mut model, at_ms(2300), job(A, URGENT));
    assert_eq!(crew(&model), (1, 1));
}

#[test]
fn an_operator_does_not_change_what_is_slow_and_a_restart_forgets_it() {
    let mut model = model_of(crew_of(5, 1000), quota());
    call(&mut model, at(0), job(A, URGENT));
    model.switch_off(at(1), A);
    model.switch_on(at(1), A);
    model.clear(at(1), A);
    model.set_quota(at(1), A, quota());
    let probe = Job {
        probe: true,
        ..job(A, URGENT)
    };
    call(&mut model, at(1), probe);
    assert_eq!(crew(&model), (0, 2));

    let rules = crew_of(5, 1000);
    let mut model = Model::restore(rules, model.rows(), model.agenda(), at(2));
    call(&mut model, at(2), job(A, URGENT));
    assert_eq!(crew(&model), (1, 0));
}

#[test]
fn nothing_starts_later_by_itself_while_a_full_queue_is_stuck() {
    let mut rules = policy();
    rules.capacity = 1;
    let mut one = quota();
    one.in_flight = 1;
    let mut model = model_of(rules, one);
    call(&mut model, at(0), job(A, URGENT));
    queue(&mut model, at(0), job(A, URGENT));
    model.submit(at(0), job(B, EVENT));
    assert_eq!(model.scheduled(), 1);
    assert_eq!(model.earliest_start(at(0)), None);
}

// Restart.

#[test]
fn a_restart_keeps_what_upstreams_counted_and_what_is_planned() {
    let mut limited = quota();
    limited.query.hour = Some(1);
    let mut rules = policy();
    rules.attempts = 3;
    let mut model = model_of(rules.clone(), limited);
    let id = call(&mut model, at(0), job(A, URGENT));
    queue(&mut model, at(0), job(A, URGENT));
    model.finish(at(0), id, Finish::Again { after: secs(30) }, 0);
    called(&mut model, at(0), job(B, URGENT), throttled(900));

    let mut model = Model::restore(rules, model.rows(), model.agenda(), at(10));
    assert_eq!((model.queued(), model.scheduled()), (0, 1));
    assert_eq!(model.state(at(10), B), State::Cooldown { until: at(900) });
    assert_eq!(
        model.next_wait(at(10), A, URGENT, Budget::Query),
        (secs(3590), Some(Wait::Window))
    );
    assert_eq!(starts(&mut model, at(30)), []);
    assert_eq!(model.queued(), 1);
    assert_eq!(model.earliest_start(at(30)), Some(at(3600)));
}

#[test]
fn a_stored_start_in_the_future_is_now_and_a_stored_end_is_cut() {
    let mut model = model_of(policy(), spaced(60));
    call(&mut model, at(5000), job(A, SLOW));
    let mut rows = model.rows();
    rows[1].rest = Some(Rest {
        kind: RestKind::Cooldown,
        until: at(10_000_000),
    });
    let model = Model::restore(policy(), rows, Vec::new(), at(100));
    assert_eq!(
        model.next_wait(at(100), A, SLOW, Budget::Query),
        (secs(60), Some(Wait::Gap))
    );
    assert_eq!(
        model.state(at(100), B),
        State::Cooldown {
            until: at(100 + 86_400)
        }
    );
}

// All together.

/// A small generator of numbers, the same for every run of a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

fn any_job(numbers: &mut Numbers, now: Moment) -> Job {
    let any_key = |number| if number < 3 { key(number + 1) } else { None };
    Job {
        upstream: UpstreamId(numbers.below(4) as u32),
        class: Class(numbers.below(4) as u8),
        budget: [Budget::Query, Budget::Side, Budget::Grab][numbers.below(3) as usize],
        not_before: now - secs(10) + secs(numbers.below(20)),
        max_wait: (numbers.below(4) == 0).then(|| secs(numbers.below(40))),
        pending: any_key(numbers.below(9)),
        scheduled: any_key(numbers.below(9)),
        order: any_key(numbers.below(9)),
        probe: numbers.below(12) == 0,
        asker: weir_dispatch::Asker(0),
        attempts_made: 0,
    }
}

fn any_finish(numbers: &mut Numbers) -> Finish {
    let time = secs(numbers.below(200));
    match numbers.below(10) {
        0 => Finish::No,
        1 => Finish::Again { after: time },
        2 => throttled(numbers.below(90)),
        3 => Finish::Throttled { retry_after: None },
        4 | 5 => Finish::Unavailable,
        6 => Finish::Rejected {
            at_least: Some(time),
        },
        7 => Finish::OurNetwork { pause: time / 10 },
        8 => Finish::Panicked,
        _ => Finish::Done,
    }
}

#[test]
fn in_any_life_every_job_ends_once_and_no_call_comes_early() {
    for seed in 0..40 {
        one_life(seed);
    }
}

fn one_life(seed: u64) {
    let mut numbers = Numbers(seed);
    let mut rules = policy();
    rules.capacity = 12;
    rules.agenda_capacity = 8;
    rules.backlog_floor = 4;
    rules.attempts = 3;
    rules.crew.base = 2;
    rules.crew.max = 4;
    let mut strict = spaced(20);
    strict.in_flight = 2;
    strict.query.minute = Some(6);
    strict.grab.hour = Some(9);
    let mut model = model_of(rules, strict.clone());
    model.add_upstream(at(0), strict);

    let mut now = at(0);
    let mut under_way: Vec<JobId> = Vec::new();
    let mut last_query = [None; 3];
    let mut queries: Vec<(JobId, bool)> = Vec::new();
    let mut accepted = 0;
    let mut ended: Vec<JobId> = Vec::new();
    for _ in 0..300 {
        now = now + Duration::from_millis(numbers.below(4000));
        match numbers.below(16) {
            0 => model.clear(now, UpstreamId(numbers.below(4) as u32)),
            1 => model.switch_off(now, UpstreamId(numbers.below(4) as u32)),
            2 => model.switch_on(now, UpstreamId(numbers.below(4) as u32)),
            3 => drop(model.cancel(now, JobId(numbers.below(accepted + 1)))),
            4 => drop(model.raise(now, JobId(numbers.below(accepted + 1)), URGENT)),
            5..=8 if !under_way.is_empty() => {
                let index = numbers.below(under_way.len() as u64) as usize;
                let finish = any_finish(&mut numbers);
                model.finish(now, under_way.swap_remove(index), finish, 250);
            }
            _ => {
                let job = any_job(&mut numbers, now);
                let entry = model.submit(now, job);
                if let Entry::Queued(id) | Entry::Scheduled(id) = entry {
                    accepted += 1;
                    assert_eq!(id, JobId(accepted));
                    queries.push((id, job.budget == Budget::Query && !job.probe));
                }
            }
        }
        let promised = model.earliest_start(now);
        let mut next = model.next(now);
        assert_eq!(matches!(next, Next::Start(_)), promised == Some(now));
        while let Next::Start(start) = next {
            under_way.push(start.job);
            let upstream = start.upstream.0 as usize;
            if queries.contains(&(start.job, true)) {
                let gap_over = last_query[upstream].is_none_or(|last| last + secs(2) <= now);
                assert!(gap_over, "closer than the smallest gap");
                last_query[upstream] = Some(now);
            }
            next = model.next(now);
        }
        match (next, model.earliest_start(now)) {
            (Next::Wait(wake), Some(start)) => assert!(now < wake && wake <= start),
            (Next::Idle, start) => assert_eq!(start, None),
            _ => {}
        }
        assert_eq!(model.running() + model.waiting(), under_way.len());
        assert!(model.queued() <= 12);
        ended.extend(model.take_ended().into_iter().map(|(id, _)| id));
    }
    model.shutdown(now);
    for id in under_way {
        model.finish(now, id, Finish::Unavailable, 0);
    }
    ended.extend(model.take_ended().into_iter().map(|(id, _)| id));
    ended.sort();
    let all: Vec<JobId> = (1..=accepted).map(JobId).collect();
    assert_eq!(ended, all);
}
