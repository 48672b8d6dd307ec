//! Quota: spacing by class, windows, calls in flight, limits that an upstream told.

use weir_dispatch::{Budget, Class, Finish, Job, Moment, Quota, Usage, Wait, Window, Windows};

use crate::front::*;

fn windows(windows: Windows) -> Quota {
    Quota {
        query: windows,
        ..in_flight(100)
    }
}

#[test]
fn each_class_keeps_the_gap_that_the_quota_gives_it() {
    let classes = [INTERACTIVE, RSS, COMPLETION, BACKGROUND];
    let gaps = [GAPS, [1, 2, 2, 25], [9, 3, 7, 1]];
    let cases = gaps.map(|gaps| classes.map(|class| (gaps, class)));
    for (gaps, class) in cases.into_iter().flatten() {
        let gap = gaps[usize::from(class.0)];
        let quota = Quota {
            gaps: gaps.map(secs),
            ..in_flight(1)
        };
        let (mut front, up) = Front::with(search(), quota);
        front.call(job(up, BACKGROUND), Finish::Done);
        let id = front.queue(Job {
            max_wait: Some(secs(HOUR)),
            ..job(up, class)
        });
        let opens = at(gap);
        assert_eq!(front.wake(), Some(opens), "{class:?}");
        front.now = Moment(opens.0 - 1);
        assert!(front.starts().is_empty());
        front.now = opens;
        assert_eq!(front.starts(), [id]);
    }
}

#[test]
fn the_gap_counts_from_the_last_start_of_whatever_class() {
    let (mut front, up) = Front::with(search(), indexer());
    front.call(job(up, BACKGROUND), Finish::Done);
    let background = front.queue(job(up, BACKGROUND));
    let interactive = front.queue(job(up, INTERACTIVE));
    let wait = front.wait(up, BACKGROUND, Budget::Query);
    assert_eq!(wait, (secs(60), Some(Wait::Gap)));
    assert_eq!(front.earliest_start(), Some(at(6)));
    front.now = at(6);
    assert_eq!(front.starts(), [interactive]);
    front.finish(interactive, Finish::Done);
    front.now = at(65);
    assert!(front.starts().is_empty());
    front.now = at(66);
    assert_eq!(front.starts(), [background]);
}

#[test]
fn no_window_is_ever_over_its_limit() {
    let limits = Windows::from([(Window::MINUTE, 3), (Window::HOUR, 20), (Window::DAY, 100)]);
    let (mut front, up) = Front::with(search(), windows(limits));
    let mut starts: Vec<Moment> = Vec::new();
    for _ in 0..20_000 {
        while front.queued() < 5 {
            front.queue(job(up, COMPLETION));
        }
        for id in front.starts() {
            starts.push(front.now);
            front.finish(id, Finish::Done);
        }
        front.pass(7);
    }
    for (length, limit) in [(MINUTE, 3), (HOUR, 20), (DAY, 100)] {
        let most = (0..starts.len())
            .map(|i| {
                starts[i..]
                    .iter()
                    .take_while(|&&start| start < starts[i] + secs(length))
                    .count()
            })
            .max();
        assert_eq!(most, Some(limit), "in {length} s");
    }
}

#[test]
fn windows_of_any_length_hold_side_by_side() {
    let [minutes, month] = [5 * MINUTE, 30 * DAY].map(|length| Window::of_seconds(length as u32));
    let limits = Windows::from([(month, 700), (minutes, 3), (Window::DAY, 40)]);
    let lengths: Vec<Window> = limits.iter().map(|(window, _)| window).collect();
    assert_eq!(lengths, [minutes, Window::DAY, month], "shortest first");
    let (mut front, up) = Front::with(search(), windows(limits));
    let mut starts: Vec<Moment> = Vec::new();
    while front.now < at(65 * DAY) {
        while front.queued() < 5 {
            front.queue(job(up, COMPLETION));
        }
        for id in front.starts() {
            starts.push(front.now);
            front.finish(id, Finish::Done);
        }
        front.now = front.wake().expect("a window opens");
    }
    for (length, limit) in [(5 * MINUTE, 3), (DAY, 40), (30 * DAY, 700)] {
        let most = (0..starts.len())
            .map(|first| {
                let end = starts[first] + secs(length);
                starts[first..].partition_point(|&start| start < end)
            })
            .max();
        assert_eq!(most, Some(limit), "in {length} s");
    }
}

#[test]
fn of_two_limits_for_one_length_the_lower_one_holds() {
    let limits = Windows::from([(Window::HOUR, 3), (Window::of_seconds(3600), 2)]);
    let all: Vec<(Window, u32)> = limits.iter().collect();
    assert_eq!(all, [(Window::HOUR, 2)]);
}

#[test]
fn a_window_is_its_length_in_whole_seconds_and_at_least_one() {
    for (given, seconds) in [(0, 1), (1, 1), (300, 300)] {
        let window = Window::of_seconds(given);
        assert_eq!(window.seconds(), seconds);
        assert_eq!(window.length(), secs(seconds.into()));
    }
}

#[test]
fn an_upstream_may_tell_a_limit_for_any_length() {
    let (mut front, up) = Front::with(search(), in_flight(100));
    let usage = Usage {
        budget: Budget::Query,
        window: Window::of_seconds(300),
        limit: 4,
        used: Some(3),
    };
    front.observe(up, usage);
    for _ in 0..3 {
        front.queue(job(up, INTERACTIVE));
    }
    assert_eq!(front.starts().len(), 1);
    assert_eq!(front.view(up).query[0].window.length(), secs(300));
    assert_eq!(front.wake(), Some(at(300)));
}

#[test]
fn a_call_is_counted_before_it_ends() {
    let limit = Windows::from([(Window::HOUR, 1)]);
    let (mut front, up) = Front::with(search(), windows(limit));
    front.begin(job(up, INTERACTIVE));
    front.queue(job(up, INTERACTIVE));
    assert!(front.starts().is_empty());
    assert_eq!(
        front.both.real.take_changed(),
        [up],
        "the row is to be kept before the call"
    );
    let row = front.both.real.row(up).expect("it is there");
    assert_eq!(row.query[0].starts, [(front.now, 1)]);
}

#[test]
fn a_second_request_of_one_call_counts_like_a_start() {
    let limit = Windows::from([(Window::HOUR, 3)]);
    let mut front = Front::alone(search());
    let up = front.add(windows(limit));
    let id = front.begin(job(up, INTERACTIVE));
    front.both.real.take_changed();
    front.both.real.count(front.now, up, Budget::Query);
    assert_eq!(front.both.real.take_changed(), [up], "a row to keep");
    front.finish(id, Finish::Done);
    assert_eq!(front.view(up).query[0].used, 2);
    front.pass(1);
    let [third, waits] = [0; 2].map(|_| front.queue(job(up, INTERACTIVE)));
    assert_eq!(front.starts(), [third]);
    assert_eq!(front.wake(), Some(at(HOUR)));
    front.now = at(HOUR);
    assert_eq!(front.starts(), [waits]);
}

#[test]
fn a_day_that_resets_is_empty_from_the_reset_on() {
    // Whichever of them is given.
    for reset in [at(HOUR), at(HOUR + 3 * DAY), at(HOUR) - secs(2 * DAY)] {
        let limit = Windows::from([(Window::DAY, 2)]).resetting(reset);
        let (mut front, up) = Front::with(search(), windows(limit));
        for _ in 0..4 {
            front.queue(job(up, INTERACTIVE));
        }
        assert_eq!(front.starts().len(), 2);
        assert_eq!(front.wake(), Some(at(HOUR)));
        front.now = Moment(at(HOUR).0 - 1);
        assert_eq!(front.view(up).query[0].used, 2);
        front.now = at(HOUR);
        assert_eq!(front.view(up).query[0].used, 0);
        assert_eq!(front.starts().len(), 2);
        front.queue(job(up, INTERACTIVE));
        assert_eq!(front.wake(), Some(at(HOUR + DAY)));
    }
}

#[test]
fn a_start_leaves_a_sliding_window_exactly_its_length_after_it() {
    let limit = Windows::from([(Window::MINUTE, 2)]);
    let (mut front, up) = Front::with(search(), windows(limit));
    let side = Job {
        budget: Budget::Side,
        ..job(up, INTERACTIVE)
    };
    front.call(side, Finish::Done);
    front.pass(10);
    front.call(job(up, INTERACTIVE), Finish::Done);
    let third = front.queue(job(up, INTERACTIVE));
    let full = (secs(50), Some(Wait::Window));
    assert_eq!(front.wait(up, INTERACTIVE, Budget::Side), full);
    assert_eq!(front.wait(up, INTERACTIVE, Budget::Grab), (secs(0), None));
    front.now = Moment(at(60).0 - 1);
    assert!(front.starts().is_empty());
    front.now = at(60);
    assert_eq!(front.starts(), [third]);
}

#[test]
fn never_more_calls_in_flight_than_allowed() {
    let mut front = Front::new(search());
    let ups = [1, 2, 4].map(|limit| (front.add(in_flight(limit)), limit));
    for (up, _) in ups {
        for _ in 0..10 {
            front.queue(job(up, INTERACTIVE));
        }
    }
    let started = front.starts();
    assert_eq!(started.len(), 7);
    for (up, limit) in ups {
        let status = front.view(up);
        assert_eq!(status.in_flight, limit);
    }
    front.finish(started[0], Finish::Done);
    assert_eq!(front.starts().len(), 1);
}

#[test]
fn queries_and_grabs_have_separate_budgets() {
    let quota = Quota {
        query: Windows::from([(Window::DAY, 1)]),
        grab: Windows::from([(Window::DAY, 2)]),
        ..in_flight(10)
    };
    let (mut front, up) = Front::with(search(), quota);
    for budget in [
        Budget::Query,
        Budget::Side,
        Budget::Grab,
        Budget::Grab,
        Budget::Grab,
    ] {
        front.queue(Job {
            budget,
            ..job(up, INTERACTIVE)
        });
    }
    assert_eq!(front.starts().len(), 3, "one query, two grabs");
    for budget in [Budget::Side, Budget::Grab] {
        let wait = front.wait(up, INTERACTIVE, budget);
        assert_eq!(wait, (secs(DAY), Some(Wait::Window)));
    }
}

#[test]
fn side_calls_and_grabs_neither_wait_for_nor_start_the_spacing_clock() {
    for budget in [Budget::Side, Budget::Grab] {
        let (mut front, up) = Front::with(search(), indexer());
        let unspaced = Job {
            budget,
            ..job(up, BACKGROUND)
        };
        front.call(unspaced, Finish::Done);
        front.call(job(up, BACKGROUND), Finish::Done);
        front.pass(1);
        front.call(unspaced, Finish::Done);
        let wait = front.wait(up, BACKGROUND, Budget::Query);
        assert_eq!(wait, (secs(59), Some(Wait::Gap)));
    }
}

#[test]
fn a_limit_that_the_upstream_told_holds_where_none_is_configured() {
    let (mut front, up) = Front::with(search(), in_flight(100));
    let usage = Usage {
        budget: Budget::Query,
        window: Window::DAY,
        limit: 10,
        used: Some(8),
    };
    front.observe(up, usage);
    for _ in 0..5 {
        front.queue(job(up, INTERACTIVE));
    }
    assert_eq!(front.starts().len(), 2, "8 of 10 were used elsewhere");
    let status = front.view(up);
    assert_eq!((status.query[0].used, status.query[0].limit), (10, 10));
    assert!(status.query[0].learned);
    front.pass(DAY);
    assert_eq!(front.starts().len(), 3);
}

#[test]
fn a_limit_that_is_not_told_again_is_forgotten_after_two_windows() {
    let usage = Usage {
        budget: Budget::Query,
        window: Window::HOUR,
        limit: 1,
        used: Some(1),
    };
    for (told_again, cleared) in [(false, false), (true, false), (false, true)] {
        let (mut front, up) = Front::with(search(), in_flight(100));
        front.observe(up, usage);
        front.pass(3599);
        if told_again {
            front.observe(up, usage);
        }
        if cleared {
            front.clear(up);
        }
        for _ in 0..5 {
            front.queue(job(up, INTERACTIVE));
        }
        // It is forgotten with the first start after two hours, unless it was told later.
        let expected = match (told_again, cleared) {
            (_, true) => [5, 0, 0],
            (true, _) => [0, 1, 1],
            _ => [0, 1, 4],
        };
        let mut starts = [front.starts().len(), 0, 0];
        front.pass(1);
        starts[1] = front.starts().len();
        front.pass(3600);
        starts[2] = front.starts().len();
        assert_eq!(starts, expected, "{told_again} {cleared}");
    }
}

#[test]
fn a_told_limit_does_not_replace_a_configured_one() {
    let limit = Windows::from([(Window::DAY, 2)]);
    let (mut front, up) = Front::with(search(), windows(limit));
    let usage = Usage {
        budget: Budget::Query,
        window: Window::DAY,
        limit: 100,
        used: Some(100),
    };
    front.observe(up, usage);
    for _ in 0..5 {
        front.queue(job(up, INTERACTIVE));
    }
    assert_eq!(front.starts().len(), 2);
}

#[test]
fn another_quota_counts_from_now_on_and_keeps_what_was_counted() {
    let limit = |hour| Windows::from([(Window::HOUR, hour)]);
    let (mut front, up) = Front::with(search(), windows(limit(2)));
    for _ in 0..6 {
        front.queue(job(up, INTERACTIVE));
    }
    assert_eq!(front.starts().len(), 2);
    front.set_quota(up, windows(limit(3)));
    assert_eq!(front.starts().len(), 1);
    front.set_quota(up, windows(Windows::default()));
    assert_eq!(front.starts().len(), 3);
}

#[test]
fn two_starts_are_never_closer_than_the_smallest_gap_that_waits() {
    let (mut front, up) = Front::with(search(), indexer());
    let mut last: Option<Moment> = None;
    for _ in 0..2_000 {
        while front.queued() < 8 {
            for class in [INTERACTIVE, COMPLETION] {
                front.queue(job(up, class));
            }
        }
        for id in front.starts() {
            if let Some(last) = last {
                assert!(last.until(front.now) >= secs(6));
            }
            last = Some(front.now);
            front.finish(id, Finish::Done);
        }
        front.pass_ms(700);
    }
}

#[test]
fn an_interactive_job_behind_a_queued_backlog_starts_within_its_own_gap() {
    let (mut front, up) = Front::with(search(), indexer());
    front.call(job(up, BACKGROUND), Finish::Done);
    for _ in 0..100 {
        front.queue(Job {
            max_wait: Some(secs(DAY)),
            ..job(up, Class(3))
        });
    }
    let id = front.queue(job(up, INTERACTIVE));
    assert_eq!(front.wake(), Some(at(6)));
    front.now = at(6);
    assert_eq!(front.starts(), [id]);
}

#[test]
fn what_left_its_window_is_neither_shown_nor_kept_for_long() {
    let limit = Windows::from([(Window::MINUTE, 2)]);
    let (mut front, up) = Front::with(search(), windows(limit));
    let used = |front: &mut Front| front.view(up).query[0].used;
    let kept = |front: &Front| {
        let row = front.both.real.row(up).expect("it is there");
        row.query[0].starts.clone()
    };
    for _ in 0..2 {
        front.call(job(up, INTERACTIVE), Finish::Done);
    }
    front.now = Moment(at(60).0 - 1);
    assert_eq!(used(&mut front), 2);
    assert_eq!(kept(&front), [(at(0), 2)], "made at the same moment");
    front.now = at(60);
    assert_eq!(used(&mut front), 0);
    front.pass(1);
    front.call(job(up, INTERACTIVE), Finish::Done);
    assert_eq!(used(&mut front), 1);
    assert_eq!(kept(&front), [(at(61), 1)]);
    front.pass(1);
    front.call(job(up, INTERACTIVE), Finish::Done);
    assert_eq!(kept(&front), [(at(61), 1), (at(62), 1)]);
    front.queue(job(up, INTERACTIVE));
    assert_eq!(front.wake(), Some(at(61 + 60)));
}

#[test]
fn when_a_limit_is_lowered_as_many_must_leave_as_are_too_many() {
    let limit = |minute| Windows::from([(Window::MINUTE, minute)]);
    let (mut front, up) = Front::with(search(), windows(limit(5)));
    for second in [0, 30, 31, 32] {
        front.now = at(second);
        front.call(job(up, INTERACTIVE), Finish::Done);
    }
    front.now = at(70);
    for (lowered, opens) in [(3, 90), (2, 91), (1, 92)] {
        front.set_quota(up, windows(limit(lowered)));
        let wait = front.wait(up, INTERACTIVE, Budget::Query);
        assert_eq!(wait, (secs(opens - 70), Some(Wait::Window)));
    }
}

#[test]
fn a_told_use_counts_what_we_made_in_the_window_and_adds_only_the_rest() {
    let (mut front, up) = Front::with(search(), in_flight(100));
    let mut tell = |seconds, used| {
        front.now = at(seconds);
        let usage = Usage {
            budget: Budget::Query,
            window: Window::HOUR,
            limit: 10,
            used,
        };
        front.observe(up, usage);
        let row = front.both.real.row(up).expect("it is there");
        row.query[0].starts.clone()
    };
    assert_eq!(tell(0, None), [], "nothing is made up");
    assert_eq!(tell(0, Some(0)), []);
    assert_eq!(tell(1, Some(3)), [(at(1), 3)]);
    assert_eq!(tell(2, Some(3)), [(at(1), 3)]);
    assert_eq!(tell(3, Some(4)), [(at(1), 3), (at(3), 1)]);
    let all = [(at(1), 3), (at(3), 1), (at(HOUR + 2), 2)];
    assert_eq!(tell(HOUR + 2, Some(3)), all, "three had left");
}
