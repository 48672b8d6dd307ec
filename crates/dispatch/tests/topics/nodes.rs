//! Several nodes: jobs of a shared upstream ask before they start, and what the others answer.

use std::time::Duration;

use weir_dispatch::{
    Admission, Asker, Availability, Budget, Cause, Cooldown, DropReason, End, Finish, FullWindow,
    Job, JobId, Next, Policy, Quota, Refused, Usage, Wait, What, Window, Windows,
};

use crate::front::*;

/// Three calls in an hour, no gaps.
fn hourly() -> Quota {
    Quota {
        query: Windows::from([(Window::HOUR, 3)]),
        ..in_flight(4)
    }
}

/// Gaps, and several calls at a time.
fn spaced() -> Quota {
    Quota {
        gaps: GAPS.map(secs),
        ..in_flight(4)
    }
}

/// A front with one upstream that other nodes call too.
fn shared(policy: Policy, quota: Quota) -> (Front, weir_dispatch::UpstreamId) {
    let (mut front, up) = Front::with(policy, quota);
    front.both.share(front.now, up, true);
    (front, up)
}

fn of(budget: Budget, job: Job) -> Job {
    Job { budget, ..job }
}

/// What waits and whether it is in line after all: cancelled without a start.
fn is_queued(front: &mut Front, id: JobId) -> bool {
    let before = front.queued();
    front.cancel(id) && front.queued() + 1 == before
}

/// The answer is no until then, in a window as the others see it.
fn refuse(front: &mut Front, id: JobId, (reason, until): (Wait, u64), full: Option<FullWindow>) {
    let refused = Refused {
        until: at(until),
        reason,
        full,
    };
    front.both.refuse(front.now, id, refused);
}

// Rules 56 and 57: who asks.

#[test]
fn a_limited_job_asks_only_where_other_nodes_call_its_upstream_too() {
    let (mut front, up) = Front::with(search(), hourly());
    front.call(job(up, RSS), Finish::Done);
    front.both.share(front.now, up, true);
    let id = front.queue(Job {
        asker: Asker(7),
        ..job(up, RSS)
    });
    let ask = front.ask();
    assert_eq!((ask.job, ask.upstream, ask.class), (id, up, RSS));
    assert_eq!((ask.budget, ask.gap), (Budget::Query, Some(secs(0))));
    assert_eq!((ask.attempt, ask.asker), (1, Asker(7)));
    assert_eq!(ask.since, at(0));
    front.grant(id);
    front.finish(id, Finish::Done);
    front.both.share(front.now, up, false);
    front.call(job(up, RSS), Finish::Done);
}

#[test]
fn what_is_neither_limited_nor_a_question_of_others_starts_unasked() {
    let (mut front, up) = shared(search(), in_flight(4));
    front.begin(job(up, RSS));
    let question = Job {
        claims: true,
        ..job(up, RSS)
    };
    let id = front.queue(question);
    assert_eq!(front.ask().job, id);
}

#[test]
fn each_budget_asks_for_its_own_limits() {
    let quota = Quota {
        grab: Windows::from([(Window::DAY, 5)]),
        ..in_flight(4)
    };
    let (mut front, up) = shared(search(), quota);
    front.begin(job(up, RSS));
    front.begin(of(Budget::Side, job(up, RSS)));
    let grab = front.queue(of(Budget::Grab, job(up, RSS)));
    let ask = front.ask();
    assert_eq!((ask.job, ask.gap), (grab, None), "a grab keeps no distance");
}

#[test]
fn where_any_class_has_a_gap_every_query_asks_and_side_calls_do_not() {
    let mut quota = in_flight(4);
    quota.gaps[3] = secs(5);
    let (mut front, up) = shared(search(), quota);
    front.begin(of(Budget::Side, job(up, INTERACTIVE)));
    // Its own gap is nothing, but it starts the clock that others wait for.
    let urgent = front.queue(job(up, INTERACTIVE));
    let ask = front.ask();
    assert_eq!((ask.job, ask.gap), (urgent, Some(secs(0))));
    front.grant(urgent);
    front.pass(5);
    front.queue(job(up, BACKGROUND));
    assert_eq!(front.ask().gap, Some(secs(5)));
}

#[test]
fn a_limit_that_the_upstream_told_makes_jobs_ask() {
    let (mut front, up) = shared(search(), in_flight(4));
    let told = Usage {
        budget: Budget::Query,
        window: Window::HOUR,
        limit: 10,
        used: None,
    };
    front.observe(up, told);
    let id = front.queue(job(up, RSS));
    assert_eq!(front.ask().job, id);
}

#[test]
fn an_operators_probe_never_asks() {
    let (mut front, up) = shared(search(), hourly());
    let asks = front.queue(job(up, RSS));
    assert_eq!(front.ask().job, asks);
    front.begin(probe(up));
}

#[test]
fn an_aged_query_asks_with_the_gap_of_the_slot_that_it_takes() {
    let (mut front, up) = shared(search(), spaced());
    let old = front.queue(Job {
        max_wait: Some(secs(HOUR)),
        ..job(up, BACKGROUND)
    });
    // Another one starts every ten seconds, so the gap of the old one's class never ends.
    for second in [0, 10, 20, 30, 40, 50, 60] {
        front.now = at(second);
        let id = front.queue(job(up, INTERACTIVE));
        let ask = front.ask();
        assert_eq!((ask.job, ask.gap), (id, Some(secs(6))));
        front.grant(id);
        front.finish(id, Finish::Done);
    }
    front.now = at(70);
    let next = front.queue(job(up, INTERACTIVE));
    let ask = front.ask();
    assert_eq!((ask.job, ask.class), (old, BACKGROUND));
    assert_eq!(
        ask.gap,
        Some(secs(6)),
        "the smallest that waits, not its own"
    );
    // Refused for that gap, the clock moves as far as that gap says: nobody asks again before.
    assert!(front.refuse(old, Wait::Gap, 73));
    assert_eq!(front.wake(), Some(at(73)));
    front.now = at(73);
    assert_eq!(front.ask().job, old);
    assert!(front.grant(old).is_some());
    assert_eq!(front.wait(up, INTERACTIVE, Budget::Query).0, secs(6));
    front.cancel(next);
}

// Rules 58 and 59: while it asks.

#[test]
fn of_each_upstream_one_job_asks_at_a_time() {
    let (mut front, up) = shared(search(), hourly());
    let other = front.add(hourly());
    front.both.share(front.now, other, true);
    let ids = [0; 2].map(|_| front.queue(job(up, RSS)));
    let elsewhere = front.queue(job(other, RSS));
    assert_eq!(front.ask().job, ids[0]);
    assert_eq!(front.ask().job, elsewhere);
    assert!(front.is_still());
    front.grant(ids[0]);
    assert_eq!(front.ask().job, ids[1], "in the order of submission");
}

#[test]
fn a_job_that_asks_holds_a_worker_and_a_place_in_flight_and_is_no_start() {
    let (mut front, up) = shared(of_crew(1, search()), hourly());
    let id = front.queue(job(up, RSS));
    front.ask();
    assert_eq!(front.counts(), (1, 0));
    assert_eq!(front.queued(), 0);
    let view = front.view(up);
    assert_eq!((view.in_flight, view.last_start), (1, None));
    assert_eq!(view.query[0].used, 0);
    let elsewhere = front.add(in_flight(1));
    let waits = front.queue(job(elsewhere, RSS));
    assert!(front.is_still(), "the one worker is held");
    // However long the answer takes, it keeps its worker.
    front.pass(5);
    assert_eq!(front.counts(), (1, 0));
    assert!(front.is_still());
    let start = front.grant(id).expect("nothing speaks against it");
    assert_eq!((start.attempt, start.since), (1, at(0)));
    assert_eq!(front.view(up).query[0].used, 1);
    assert_eq!(front.view(up).last_start, Some(at(5)));
    // As a call it is as old as its start, not as its question.
    front.pass_ms(999);
    assert_eq!(front.counts(), (1, 0));
    front.pass_ms(1);
    assert_eq!(front.counts(), (0, 1), "it gave its worker back");
    assert_eq!(front.starts(), [waits]);
}

#[test]
fn a_job_that_asks_fills_the_in_flight_limit() {
    let quota = Quota {
        in_flight: 1,
        ..hourly()
    };
    let (mut front, up) = shared(search(), quota);
    let id = front.queue(job(up, RSS));
    front.ask();
    front.queue(probe(up));
    assert!(front.is_still(), "a probe needs a place as well");
    front.cancel(id);
    assert_eq!(front.starts().len(), 1);
}

#[test]
fn calls_with_one_order_key_do_not_overlap_while_one_of_them_asks() {
    let (mut front, up) = shared(search(), hourly());
    let other = front.add(in_flight(4));
    let ordered = |up| Job {
        order: key(9),
        ..job(up, RSS)
    };
    let asks = front.queue(ordered(up));
    front.ask();
    let aside = front.queue(ordered(other));
    assert!(front.is_still());
    // Granted, the call under way keeps it aside; it comes back when that ends.
    front.grant(asks);
    assert!(front.is_still());
    front.finish(asks, Finish::Done);
    assert_eq!(front.starts(), [aside]);
    front.finish(aside, Finish::Done);
    // Refused, the key is free.
    let asks = front.queue(ordered(up));
    front.ask();
    let aside = front.queue(ordered(other));
    assert!(front.is_still());
    front.refuse(asks, Wait::Window, 10);
    assert_eq!(front.starts(), [aside]);
}

#[test]
fn a_job_that_asks_can_be_cancelled_and_its_grant_comes_too_late() {
    let (mut front, up) = shared(search(), hourly());
    let id = front.queue(job(up, RSS));
    front.ask();
    assert!(front.cancel(id));
    assert_eq!(front.ended(), [(id, End::Cancelled)]);
    assert_eq!((front.counts(), front.view(up).in_flight), ((0, 0), 0));
    assert_eq!(front.grant(id), None);
    assert!(!front.refuse(id, Wait::Window, 10));
    assert!(front.wait(up, RSS, Budget::Query).0.is_zero());
}

#[test]
fn a_job_that_is_raised_while_it_asks_starts_in_its_new_class() {
    let (mut front, up) = shared(search(), spaced());
    let id = front.queue(job(up, BACKGROUND));
    assert_eq!(front.ask().gap, Some(secs(60)));
    assert!(front.raise(id, INTERACTIVE));
    assert!(front.is_still(), "it does not ask twice");
    assert_eq!(
        front.clone().grant(id).map(|start| start.class),
        Some(INTERACTIVE)
    );
    // Refused until the 60 s of its old class are over, its new class has to wait for 6 s of them.
    front.pass(10);
    assert!(front.refuse(id, Wait::Gap, 40));
    assert_eq!(front.view(up).last_start, Some(at(0) - secs(20)));
    assert_eq!(front.ask().gap, Some(secs(6)));
}

#[test]
fn two_answers_to_one_question_start_one_call() {
    let (mut front, up) = shared(search(), hourly());
    let id = front.queue(job(up, RSS));
    front.ask();
    assert!(front.grant(id).is_some());
    assert_eq!(front.grant(id), None);
    assert!(!front.refuse(id, Wait::Window, 10));
    assert!(!front.both.defer(front.now, id, at(10)));
    assert!(!front.both.answered(front.now, id));
    assert_eq!(front.view(up).query[0].used, 1);
}

// Rule 60: what comes between question and answer.

#[test]
fn a_cooldown_that_begins_meanwhile_ends_or_holds_the_job_as_a_queued_one() {
    for (policy, ends) in [(tracker(), true), (search(), false)] {
        let (mut front, up) = shared(policy, hourly());
        let call = front.queue(job(up, INITIAL));
        front.ask();
        front.grant(call);
        let id = front.queue(job(up, EVENT));
        front.ask();
        front.finish(call, throttled(100));
        let gone = front.ended().iter().any(|&(ended, _)| ended == id);
        assert_eq!(gone, ends);
        assert_eq!(front.grant(id), None);
        assert_eq!(front.counts(), (0, 0));
        if !ends {
            front.now = at(100);
            assert_eq!(front.ask().job, id, "it asks when the cooldown is over");
        }
    }
}

#[test]
fn a_job_whose_upstream_is_switched_off_or_removed_meanwhile_ends() {
    let off = End::Skipped(weir_dispatch::Skip {
        reason: Wait::Off,
        wait: None,
        limit: None,
    });
    let gone = End::Dropped(DropReason::Gone);
    type Act = fn(&mut Front, weir_dispatch::UpstreamId);
    let acts: [(Act, End); 3] = [
        (Front::switch_off, off),
        (Front::remove, gone),
        (|front, _| front.shutdown(), End::Shutdown),
    ];
    for (act, end) in acts {
        let (mut front, up) = shared(search(), hourly());
        let id = front.queue(job(up, RSS));
        front.ask();
        act(&mut front, up);
        assert_eq!(front.ended(), [(id, end)]);
        assert_eq!(front.grant(id), None);
        assert_eq!(front.counts(), (0, 0));
    }
}

#[test]
fn another_quota_makes_a_job_ask_again() {
    let (mut front, up) = shared(search(), spaced());
    let id = front.queue(job(up, RSS));
    assert_eq!(front.ask().gap, Some(secs(30)));
    let mut quota = spaced();
    quota.gaps[1] = secs(90);
    front.set_quota(up, quota);
    assert_eq!(front.grant(id), None);
    let ask = front.ask();
    assert_eq!((ask.job, ask.gap), (id, Some(secs(90))));
}

// Rule 61: a grant that is not used.

#[test]
fn a_grant_that_meets_a_held_front_puts_the_job_back() {
    let (mut front, up) = shared(search(), hourly());
    let id = front.queue(job(up, RSS));
    front.ask();
    front.hold(true);
    assert_eq!(front.grant(id), None);
    assert_eq!((front.queued(), front.counts()), (1, (0, 0)));
    front.hold(false);
    assert_eq!(front.ask().job, id);
}

#[test]
fn a_grant_that_meets_a_pause_puts_the_job_back() {
    let (mut front, up) = shared(search(), hourly());
    let other = front.add(in_flight(1));
    let call = front.begin(job(other, RSS));
    let id = front.queue(job(up, RSS));
    front.ask();
    let pause = secs(30);
    front.finish(call, Finish::OurNetwork { pause });
    assert_eq!(front.grant(id), None);
    front.now = at(30);
    assert_eq!(front.ask().job, id);
}

#[test]
fn a_grant_for_a_window_that_a_probe_filled_meanwhile_is_not_used() {
    let quota = Quota {
        query: Windows::from([(Window::HOUR, 1)]),
        ..in_flight(4)
    };
    let (mut front, up) = shared(search(), quota);
    let id = front.queue(job(up, INTERACTIVE));
    front.ask();
    front.begin(probe(up));
    assert_eq!(front.grant(id), None);
    assert_eq!(front.wake(), Some(at(HOUR)));
    assert!(is_queued(&mut front, id));
}

#[test]
fn a_grant_for_a_gap_that_a_probe_began_meanwhile_is_not_used() {
    let (mut front, up) = shared(search(), spaced());
    let id = front.queue(job(up, INTERACTIVE));
    front.ask();
    front.begin(probe(up));
    assert_eq!(front.grant(id), None);
    front.now = at(6);
    assert_eq!(front.ask().job, id);
}

#[test]
fn while_probing_a_job_that_asks_is_the_one_try() {
    let (mut front, up) = shared(search(), hourly());
    let failing = front.queue(job(up, INTERACTIVE));
    front.ask();
    front.grant(failing);
    front.finish(failing, Finish::Unavailable);
    front.now = at(MINUTE);
    assert_eq!(front.state(up), Availability::Probing);
    let id = front.queue(job(up, INTERACTIVE));
    front.ask();
    // An operator's probe was faster: the try waits for its end.
    let faster = front.begin(probe(up));
    assert_eq!(front.grant(id), None);
    assert!(front.is_still());
    front.finish(faster, Finish::Done);
    assert_eq!(front.ask().job, id);
}

#[test]
fn a_granted_try_of_an_upstream_that_is_probing_starts() {
    let (mut front, up) = shared(search(), hourly());
    let failing = front.queue(job(up, INTERACTIVE));
    front.ask();
    front.grant(failing);
    front.finish(failing, Finish::Unavailable);
    front.now = at(MINUTE);
    let id = front.queue(job(up, INTERACTIVE));
    front.ask();
    assert_eq!(front.grant(id).map(|start| start.job), Some(id));
    assert!(front.is_still());
}

#[test]
fn a_grant_at_the_end_of_a_pause_is_used() {
    let (mut front, up) = shared(search(), hourly());
    let other = front.add(in_flight(1));
    let call = front.begin(job(other, INTERACTIVE));
    let id = front.queue(job(up, INTERACTIVE));
    front.ask();
    let pause = secs(30);
    front.finish(call, Finish::OurNetwork { pause });
    front.now = at(30);
    assert_eq!(front.grant(id).map(|start| start.job), Some(id));
}

// Rules 62 to 65: refusals.

#[test]
fn a_refused_job_goes_back_by_its_number_and_has_waited_since_its_submission() {
    let (mut front, up) = shared(search(), hourly());
    let first = front.queue(job(up, INTERACTIVE));
    front.ask();
    front.pass(2);
    let second = front.queue(job(up, INTERACTIVE));
    assert!(front.refuse(first, Wait::Window, 5));
    assert_eq!(front.queued(), 2);
    front.now = at(5);
    let ask = front.ask();
    assert_eq!((ask.job, ask.since), (first, at(0)));
    front.grant(first);
    assert_eq!(front.ask().job, second);
}

#[test]
fn a_refused_job_goes_back_although_the_queue_is_full() {
    let mut policy = search();
    policy.capacity = 1;
    let (mut front, up) = shared(policy, hourly());
    let first = front.queue(job(up, INTERACTIVE));
    front.ask();
    front.queue(job(up, INTERACTIVE));
    front.refuse(first, Wait::Window, 5);
    assert_eq!(front.queued(), 2);
    let full = Admission::Ended(End::Dropped(DropReason::QueueFull));
    assert_eq!(front.entry(job(up, INTERACTIVE)), full);
}

#[test]
fn a_refusal_for_a_window_holds_its_budget_and_skips_who_waits_too_long() {
    let quota = Quota {
        grab: Windows::from([(Window::DAY, 5)]),
        ..hourly()
    };
    let (mut front, up) = shared(search(), quota);
    let id = front.queue(job(up, RSS));
    front.ask();
    front.refuse(id, Wait::Window, 100);
    assert_eq!(front.ended(), [(id, skipped(Wait::Window, 100, Some(15)))]);
    let wait = (secs(100), Some(Wait::Window));
    assert_eq!(front.wait(up, INTERACTIVE, Budget::Query), wait);
    assert_eq!(front.wait(up, INTERACTIVE, Budget::Side), wait);
    assert_eq!(front.wait(up, INTERACTIVE, Budget::Grab), (secs(0), None));
    front.now = at(85);
    let patient = front.queue(job(up, RSS));
    assert_eq!(front.wake(), Some(at(100)));
    front.now = at(100);
    assert_eq!(front.ask().job, patient);
}

#[test]
fn what_the_others_found_full_is_what_pages_and_records_say() {
    let (mut front, up) = shared(search(), hourly());
    let id = front.queue(job(up, INTERACTIVE));
    front.ask();
    let full = FullWindow {
        window: Window::HOUR,
        used: 90,
        limit: 100,
        kept: 10,
    };
    let refused = |until| Refused {
        until: at(until),
        reason: Wait::Window,
        full: Some(full),
    };
    front.both.refuse(front.now, id, refused(40));
    let shown = front.view(up).query[0];
    assert_eq!((shown.used, shown.limit, shown.next), (90, 3, at(40)));
    let waits = |until| What::Waits {
        reason: Wait::Window,
        until: at(until),
        full: Some(full),
    };
    assert_eq!(front.decisions(up)[0].what, waits(40));
    // Refused again, it is another wait with another end.
    front.now = at(40);
    front.ask();
    front.both.refuse(front.now, id, refused(70));
    assert_eq!(front.decisions(up)[0].what, waits(70));
    front.now = at(70);
    let shown = front.view(up).query[0];
    assert_eq!(
        (shown.used, shown.limit),
        (0, 3),
        "what this node knows itself"
    );
    front.ask();
    let start = front.grant(id).expect("there is room");
    assert_eq!(
        start.reason,
        Some(Wait::Window),
        "the wait explains the start"
    );
}

#[test]
fn a_refusal_without_a_window_holds_all_of_them() {
    let quota = Quota {
        query: Windows::from([(Window::MINUTE, 3), (Window::HOUR, 3)]),
        ..in_flight(4)
    };
    let (mut front, up) = shared(search(), quota);
    let id = front.queue(job(up, INTERACTIVE));
    front.ask();
    front.refuse(id, Wait::Window, 9);
    let next = front.view(up).query.into_iter().map(|window| window.next);
    assert_eq!(next.collect::<Vec<_>>(), [at(9), at(9)]);
    let waits = What::Waits {
        reason: Wait::Window,
        until: at(9),
        full: None,
    };
    assert_eq!(front.decisions(up)[0].what, waits);
}

#[test]
fn a_wait_has_the_reason_of_its_refusal_and_no_slot_is_shown_where_none_is_known() {
    for reason in [Wait::Off, Wait::Agreeing, Wait::Share] {
        let (mut front, up) = shared(search(), hourly());
        let id = front.queue(job(up, INTERACTIVE));
        front.ask();
        front.refuse(id, reason, 9);
        assert_eq!(
            front.wait(up, INTERACTIVE, Budget::Query),
            (secs(9), Some(reason))
        );
        assert!(front.view(up).query[0].next <= front.now, "{reason:?}");
        let waits = What::Waits {
            reason,
            until: at(9),
            full: None,
        };
        assert_eq!(front.decisions(up)[0].what, waits);
    }
}

#[test]
fn the_next_slot_of_a_share_is_shown_and_none_where_there_is_no_share() {
    for (kept, next, used) in [(2, at(9), 2), (0, at(0), 0)] {
        let (mut front, up) = shared(search(), hourly());
        let id = front.queue(job(up, INTERACTIVE));
        front.ask();
        let full = FullWindow {
            window: Window::HOUR,
            used: 2,
            limit: 4,
            kept,
        };
        refuse(&mut front, id, (Wait::Share, 9), Some(full));
        let shown = front.view(up).query[0];
        assert_eq!((shown.next.max(front.now), shown.used), (next, used));
    }
}

#[test]
fn a_refusal_with_a_known_end_leaves_a_record_each_time() {
    let share = FullWindow {
        window: Window::HOUR,
        used: 2,
        limit: 4,
        kept: 2,
    };
    for (reason, full) in [(Wait::Share, Some(share)), (Wait::Window, None)] {
        let (mut front, up) = shared(search(), hourly());
        let id = front.queue(job(up, INTERACTIVE));
        for second in 0..3 {
            front.now = at(second);
            front.ask();
            refuse(&mut front, id, (reason, second + 1), full);
        }
        assert_eq!(front.decisions(up).len(), 3, "{reason:?}");
    }
}

#[test]
fn a_window_that_others_found_full_is_shown_so_and_its_neighbour_is_not() {
    let quota = Quota {
        query: Windows::from([(Window::MINUTE, 3), (Window::HOUR, 4)]),
        ..in_flight(4)
    };
    let (mut front, up) = shared(search(), quota);
    let id = front.queue(job(up, INTERACTIVE));
    front.ask();
    let full = FullWindow {
        window: Window::HOUR,
        used: 4,
        limit: 4,
        kept: 0,
    };
    refuse(&mut front, id, (Wait::Window, 9), Some(full));
    let shown = front.view(up).query.into_iter();
    let shown = shown.map(|window| (window.used, window.next.max(front.now)));
    assert_eq!(shown.collect::<Vec<_>>(), [(0, at(0)), (4, at(9))]);
}

#[test]
fn what_was_refused_once_makes_nothing_limited_that_is_not() {
    let (mut front, up) = shared(search(), in_flight(4));
    let id = front.queue(Job {
        claims: true,
        ..job(up, RSS)
    });
    front.ask();
    front.refuse(id, Wait::Agreeing, 9);
    front.cancel(id);
    let plain = front.queue(job(up, RSS));
    assert!(front.is_still());
    assert!(!front.both.real.is_limited(up, Budget::Query));
    front.now = at(9);
    assert_eq!(front.start().job, plain, "it does not ask");
}

#[test]
fn a_probe_that_starts_during_a_refusal_does_not_end_it() {
    let (mut front, up) = shared(search(), hourly());
    let id = front.queue(job(up, INTERACTIVE));
    front.ask();
    front.refuse(id, Wait::Agreeing, 9);
    front.pass(3);
    let tried = front.begin(probe(up));
    front.finish(tried, Finish::Done);
    let wait = front.wait(up, INTERACTIVE, Budget::Query);
    assert_eq!(wait, (secs(6), Some(Wait::Agreeing)));
    assert!(front.is_still());
}

#[test]
fn a_wait_without_a_known_end_leaves_one_record() {
    let none = FullWindow {
        window: Window::HOUR,
        used: 0,
        limit: 4,
        kept: 0,
    };
    for (reason, full) in [(Wait::Agreeing, None), (Wait::Share, Some(none))] {
        let (mut front, up) = shared(search(), hourly());
        let id = front.queue(job(up, INTERACTIVE));
        for second in 0..5 {
            front.now = at(second);
            front.ask();
            refuse(&mut front, id, (reason, second + 1), full);
        }
        assert_eq!(front.decisions(up).len(), 1, "{reason:?}");
        front.now = at(5);
        front.ask();
        let start = front.grant(id).expect("there is room");
        assert_eq!((start.reason, start.since), (Some(reason), at(0)));
    }
}

#[test]
fn a_job_that_is_put_back_asks_again_and_leaves_no_record() {
    let (mut front, up) = shared(search(), hourly());
    let id = front.queue(job(up, INTERACTIVE));
    let next = front.queue(job(up, INTERACTIVE));
    front.ask();
    assert!(front.both.put_back(front.now, id));
    assert!(!front.both.put_back(front.now, id), "it asks no longer");
    assert_eq!(front.decisions(up), []);
    assert_eq!(front.ask().job, id, "before the one behind it");
    front.grant(id);
    assert_ne!(front.ask().job, id);
    assert!(front.both.put_back(front.now, next));
}

#[test]
fn a_job_that_waits_for_another_node_says_so_once_and_since_when() {
    let (mut front, up) = shared(search(), in_flight(1));
    let claims = Job {
        claims: true,
        ..job(up, INTERACTIVE)
    };
    let id = front.queue(claims);
    for turn in 0..5 {
        front.now = at(turn);
        front.ask();
        assert!(front.both.defer(front.now, id, at(turn + 1)));
    }
    let waits = What::Waits {
        reason: Wait::Claimed,
        until: at(1),
        full: None,
    };
    let decisions = front.decisions(up);
    assert_eq!(decisions.len(), 1);
    assert_eq!((decisions[0].what, decisions[0].job), (waits, Some(id)));
    // One that came later is behind it.
    let later = front.queue(claims);
    front.now = at(5);
    assert_eq!(front.ask().job, id);
    let start = front.grant(id).expect("it may");
    assert_eq!((start.reason, start.since), (Some(Wait::Claimed), at(0)));
    front.both.cancel(front.now, later);
}

#[test]
fn a_held_window_opens_with_another_quota_a_clear_an_end_of_sharing_and_a_restart() {
    type Act = fn(&mut Front, weir_dispatch::UpstreamId);
    let acts: [Act; 4] = [
        |front, up| front.set_quota(up, hourly()),
        Front::clear,
        |front, up| front.both.share(front.now, up, false),
        |front, _| drop(front.restart(at(1))),
    ];
    for act in acts {
        let (mut front, up) = shared(search(), hourly());
        let id = front.queue(job(up, INTERACTIVE));
        front.ask();
        front.refuse(id, Wait::Window, 100);
        assert_eq!(front.wait(up, RSS, Budget::Query).1, Some(Wait::Window));
        act(&mut front, up);
        assert_eq!(front.wait(up, RSS, Budget::Query), (secs(0), None));
    }
}

#[test]
fn a_claim_may_be_refused_for_a_window_that_only_others_know() {
    let (mut front, up) = shared(search(), in_flight(1));
    let id = front.queue(Job {
        claims: true,
        ..job(up, INTERACTIVE)
    });
    front.ask();
    front.refuse(id, Wait::Window, 100);
    assert_eq!(front.wake(), Some(at(100)));
    front.now = at(100);
    front.ask();
    front.grant(id);
    assert_eq!(front.wait(up, INTERACTIVE, Budget::Query), (secs(0), None));
}

#[test]
fn a_refusal_for_the_gap_moves_the_spacing_clock_and_never_back() {
    let (mut front, up) = shared(search(), spaced());
    let id = front.queue(job(up, INTERACTIVE));
    front.ask();
    front.refuse(id, Wait::Gap, 4);
    // Another node called two seconds ago; all classes count from there.
    assert_eq!(front.view(up).last_start, Some(at(0) - secs(2)));
    assert_eq!(
        front.wait(up, RSS, Budget::Query),
        (secs(28), Some(Wait::Gap))
    );
    assert_eq!(front.wait(up, RSS, Budget::Side), (secs(0), None));
    assert_eq!(front.wake(), Some(at(4)));
    front.now = at(4);
    front.ask();
    // A node that keeps more distance than its gap: the clock stands in the future, and is shown as now.
    front.refuse(id, Wait::Gap, 20);
    assert_eq!(front.view(up).last_start, Some(at(4)));
    assert_eq!(front.wake(), Some(at(20)));
    // Neither a probe nor an earlier answer moves it back.
    front.begin(probe(up));
    assert_eq!(front.wait(up, INTERACTIVE, Budget::Query).0, secs(16));
    front.now = at(20);
    assert_eq!(front.ask().job, id);
    front.begin(probe(up));
    front.refuse(id, Wait::Gap, 22);
    assert_eq!(front.wait(up, INTERACTIVE, Budget::Query).0, secs(6));
}

#[test]
fn a_gap_that_a_side_call_is_refused_for_holds_its_windows() {
    let (mut front, up) = shared(search(), hourly());
    let id = front.queue(of(Budget::Side, job(up, INTERACTIVE)));
    assert_eq!(front.ask().gap, None);
    front.refuse(id, Wait::Gap, 7);
    let wait = (secs(7), Some(Wait::Gap));
    assert_eq!(front.wait(up, INTERACTIVE, Budget::Side), wait);
}

#[test]
fn throttling_that_another_node_was_told_of_begins_a_cooldown() {
    for asked in [true, false] {
        let (mut front, up) = shared(tracker(), hourly());
        let id = front.queue(job(up, INITIAL));
        let behind = front.queue(job(up, INITIAL));
        front.ask();
        if asked {
            front.refuse(id, Wait::Cooldown, 50);
        } else {
            front.both.throttle(front.now, up, at(50));
        }
        assert_eq!(front.state(up), Availability::Cooldown { until: at(50) });
        let mut ended = front.ended();
        ended.sort_by_key(|&(id, _)| id);
        let skip = skipped(Wait::Cooldown, 50, None);
        assert_eq!(ended, [(id, skip), (behind, skip)]);
        let began = |what| {
            matches!(what, What::CooldownBegan { cooldown, rung: 0, .. }
            if cooldown == Cooldown { until: at(50), cause: Cause::Throttled })
        };
        let decisions = front.decisions(up);
        assert_eq!(decisions.iter().filter(|one| began(one.what)).count(), 1);
        assert_eq!(front.both.real.take_changed(), [up], "and is kept");
    }
}

#[test]
fn a_cooldown_told_again_by_another_clock_is_the_same() {
    let (mut front, up) = shared(search(), hourly());
    front.both.throttle(front.now, up, at(50));
    front.both.throttle(front.now, up, at(51));
    front.both.throttle(front.now, up, at(20));
    assert_eq!(front.state(up), Availability::Cooldown { until: at(50) });
    front.both.throttle(front.now, up, at(52));
    assert_eq!(front.state(up), Availability::Cooldown { until: at(52) });
    front.now = at(52);
    front.both.throttle(front.now, up, at(52));
    assert_eq!(front.state(up), Availability::Probing, "it has passed");
    front.both.throttle(front.now, up, at(30 * DAY));
    let until = at(52 + DAY);
    assert_eq!(
        front.state(up),
        Availability::Cooldown { until },
        "the longest"
    );
}

#[test]
fn a_refusal_holds_for_a_millisecond_at_least_and_a_day_at_most() {
    for reason in [Wait::Window, Wait::Gap, Wait::Off, Wait::Cooldown] {
        for (until, wait) in [(0, Duration::from_millis(1)), (9 * DAY, secs(DAY))] {
            let (mut front, up) = shared(search(), spaced());
            front.pass(1);
            let id = front.queue(job(up, INTERACTIVE));
            front.ask();
            front.refuse(id, reason, until);
            assert!(
                front.is_still(),
                "{reason:?} is not asked about again at once"
            );
            let (held, _) = front.wait(up, INTERACTIVE, Budget::Query);
            assert_eq!(held, wait, "{reason:?} until {until}");
        }
    }
}

// Rule 66: answers of others.

#[test]
fn a_deferred_job_waits_on_the_agenda_and_asks_again() {
    let (mut front, up) = shared(search(), hourly());
    let id = front.queue(job(up, RSS));
    front.ask();
    assert!(front.both.defer(front.now, id, at(30)));
    assert_eq!(front.counts(), (0, 0));
    assert_eq!((front.queued(), front.status().scheduled), (0, 1));
    assert_eq!(front.wake(), Some(at(30)));
    // The other node failed: sooner than that.
    assert!(front.both.defer(front.now, id, at(20)));
    front.now = at(20);
    let ask = front.ask();
    assert_eq!((ask.job, ask.attempt, ask.since), (id, 1, at(0)));
}

#[test]
fn a_job_that_waits_in_its_queue_is_not_deferred() {
    let (mut front, up) = shared(search(), hourly());
    let id = front.queue(job(up, RSS));
    assert!(!front.both.defer(front.now, id, at(30)));
    assert_eq!(front.ask().job, id);
}

#[test]
fn a_deferred_job_that_the_agenda_has_no_room_for_is_dropped() {
    let mut policy = search();
    policy.agenda_capacity = 0;
    let (mut front, up) = shared(policy, hourly());
    let id = front.queue(job(up, RSS));
    let next = front.queue(job(up, RSS));
    front.ask();
    assert!(front.both.defer(front.now, id, at(30)));
    let full = DropReason::AgendaFull;
    assert_eq!(front.ended(), [(id, End::Dropped(full))]);
    let dropped = What::Dropped {
        reason: full,
        limit: 0,
    };
    assert_eq!(front.decisions(up)[0].what, dropped);
    assert_eq!(front.ask().job, next);
}

#[test]
fn a_job_that_another_node_answered_ends_without_a_call_wherever_it_is() {
    let (mut front, up) = shared(search(), hourly());
    let pending = Job {
        pending: key(5),
        ..job(up, RSS)
    };
    for place in ["queued", "asking", "deferred"] {
        let id = front.queue(pending);
        if place != "queued" {
            assert_eq!(front.ask().job, id);
        }
        if place == "deferred" {
            front.both.defer(front.now, id, at(30));
        }
        assert!(front.both.answered(front.now, id), "{place}");
        assert_eq!(front.ended(), [(id, End::Answered)], "{place}");
        assert_eq!((front.queued(), front.counts()), (0, (0, 0)), "{place}");
    }
    assert_eq!(front.view(up).query[0].used, 0);
    assert!(matches!(front.next(), Next::Idle));
}
