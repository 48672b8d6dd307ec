//! Each kind of record has its sentence.

use super::*;
use crate::record::{About, CallEnd};

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn at(secs: u64) -> Moment {
    Moment(0) + self::secs(secs)
}

/// 14:17, as the clock below tells it.
const NOW: u64 = 14 * 3600 + 17 * 60;

fn clock(moment: Moment, precise: bool) -> String {
    let secs = Moment(0).until(moment).as_secs();
    let (hours, minutes) = (secs / 3600 % 24, secs / 60 % 60);
    if precise {
        format!("{hours:02}:{minutes:02}:{:02}", secs % 60)
    } else {
        format!("{hours:02}:{minutes:02}")
    }
}

fn class(class: Class) -> &'static str {
    ["interactive", "RSS", "completion", "background"][usize::from(class.0)]
}

fn asker(asker: Asker) -> Option<String> {
    let name = [None, Some("Sonarr"), Some("Radarr"), Some("anna on birch")][asker.0 as usize];
    name.map(str::to_owned)
}

/// A record about a background job of Sonarr's, without anything that came from outside.
fn record(what: What) -> Record {
    Record {
        number: 1,
        at: at(NOW),
        class: Some(Class(3)),
        asker: match what {
            What::SwitchedOff => Asker::OPERATOR,
            What::SwitchedOn => Asker::NOBODY,
            _ => Asker(1),
        },
        about: About::Nothing,
        what,
        cause: None,
        end: None,
        got: None,
        job: None,
    }
}

fn tell(record: &Record) -> String {
    let scene = Scene {
        upstream: "harbor",
        class: &|it| class(it),
        asker: &|it| asker(it),
        clock: &clock,
    };
    sentence(record, &scene)
}

fn say(what: What) -> String {
    tell(&record(what))
}

fn cooling_down(cause: Cause, secs: u64, failures: u32, next: u64) -> What {
    let until = at(NOW + secs);
    What::CooldownBegan {
        cooldown: Cooldown { until, cause },
        rung: 3,
        failures,
        next: self::secs(next),
        probe: until,
    }
}

/// One of each kind. A new kind does not compile here until it has a number, and the test below
/// fails until it has a sample.
fn kind(what: &What) -> usize {
    match what {
        What::Started { .. } => 0,
        What::Waits { .. } => 1,
        What::CooldownBegan { .. } => 2,
        What::Healed => 3,
        What::Skipped(_) => 4,
        What::Shared { .. } => 5,
        What::Duplicate => 6,
        What::Dropped { .. } => 7,
        What::Raised { .. } => 8,
        What::Retried { .. } => 9,
        What::Cleared => 10,
        What::SwitchedOff => 11,
        What::SwitchedOn => 12,
        What::Missed(_) => 13,
        What::PutOff { .. } => 14,
        What::Kept { .. } => 15,
    }
}

fn samples() -> Vec<(What, &'static str)> {
    let started = |waited, reason| What::Started {
        waited,
        reason,
        attempt: 1,
    };
    let skip = |reason, wait: Option<u64>, limit: Option<u64>| {
        What::Skipped(Skip {
            reason,
            wait: wait.map(secs),
            limit: limit.map(secs),
        })
    };
    let dropped = |reason, limit| What::Dropped { reason, limit };
    let shared = |with| What::Shared {
        with: Asker(with),
        after: secs(2),
    };
    let waits = |reason, until| What::Waits {
        reason,
        until: at(NOW + until),
        full: None,
    };
    vec![
        (
            started(secs(0), None),
            "harbor was called at once for Sonarr.",
        ),
        (
            started(secs(4), Some(Wait::Gap)),
            "harbor was called for Sonarr after 4 s of spacing.",
        ),
        (
            started(secs(3), None),
            "harbor was called for Sonarr after 3 s in the queue.",
        ),
        (
            waits(Wait::Window, 1440),
            "harbor waits: its quota is used up, next slot 14:41.",
        ),
        (
            waits(Wait::Gap, 7),
            "harbor waits for spacing, next slot 14:17:07.",
        ),
        (
            waits(Wait::Cooldown, 7),
            "harbor cannot be called for Sonarr before 14:17:07.",
        ),
        (
            cooling_down(Cause::Throttled, 900, 0, 60),
            "harbor is cooling down for 15 min, until 14:32: it did not answer.",
        ),
        (
            cooling_down(Cause::Failed, 900, 3, 1800),
            "harbor is cooling down for 15 min, until 14:32: it did not answer (failure 3; the next pause would be 30 min).",
        ),
        (
            cooling_down(Cause::Failed, 86_400, 12, 86_400),
            "harbor is cooling down for 24 h, until 14:17: it did not answer (failure 12; pauses no longer grow).",
        ),
        (
            cooling_down(Cause::Rejected, 21_600, 7, 43_200),
            "harbor was disabled: it failed too often. Next automatic probe at 20:17; if that fails, 12 h later.",
        ),
        (What::Healed, "harbor answered and is open again."),
        (
            skip(Wait::Gap, Some(0), Some(4)),
            "harbor was skipped for Sonarr: the request was still queued after 4 s.",
        ),
        (
            skip(Wait::Gap, Some(3), Some(4)),
            "harbor was skipped for Sonarr: it had not been called after 4 s; next free slot in 3 s (14:17:03).",
        ),
        (
            skip(Wait::Gap, Some(74), Some(60)),
            "harbor was skipped for Sonarr: the next free slot is in 74 s (14:18:14), and background requests wait at most 60 s.",
        ),
        (
            skip(Wait::Cooldown, Some(900), None),
            "harbor was skipped for Sonarr: it is cooling down until 14:32.",
        ),
        (
            skip(Wait::Off, None, None),
            "harbor was skipped for Sonarr: an operator switched it off.",
        ),
        (
            shared(2),
            "harbor: Sonarr got the answer to the same question that Radarr asked 2 s earlier.",
        ),
        (
            shared(0),
            "harbor: Sonarr got the answer to the same question that another program asked 2 s earlier.",
        ),
        (
            What::Duplicate,
            "harbor: the same request is already scheduled, queued or under way.",
        ),
        (
            dropped(DropReason::QueueFull, 10_000),
            "harbor: the request from Sonarr was dropped: queue full (10,000).",
        ),
        (
            dropped(DropReason::Backlog, 32),
            "harbor: the request from Sonarr was dropped: its share of the queue (32) is used up.",
        ),
        (
            dropped(DropReason::AgendaFull, 100_000),
            "harbor: the request from Sonarr was dropped: too many requests are scheduled (100,000).",
        ),
        (
            dropped(DropReason::Scheduled, 0),
            "harbor: the request from Sonarr was dropped: the same request is already scheduled.",
        ),
        (
            dropped(DropReason::Gone, 0),
            "harbor: the request from Sonarr was dropped: it is no longer configured.",
        ),
        (
            What::Raised { from: Class(3) },
            "harbor: a queued request was moved up from background to background for Sonarr.",
        ),
        (
            What::Retried { due: at(NOW + 2) },
            "harbor: next try planned for 14:17:02, because it did not answer.",
        ),
        (
            What::PutOff {
                due: at(NOW + 10),
                reason: DropReason::QueueFull,
                limit: 10_000,
            },
            "harbor: the request from Sonarr was put off to 14:17:10: queue full (10,000).",
        ),
        (What::Cleared, "harbor: cooldown cleared by an operator."),
        (
            What::Kept { by: Asker(2) },
            "harbor: Sonarr got the answer that Radarr had cached.",
        ),
        (What::SwitchedOff, "harbor was switched off by an operator."),
        (What::SwitchedOn, "harbor was switched on by an operator."),
        (
            What::Missed(Skip {
                reason: Wait::Gap,
                wait: Some(secs(74)),
                limit: None,
            }),
            "harbor was skipped for Sonarr: the next free slot is in 74 s (14:18:14), after the deadline. The request stays queued.",
        ),
    ]
}

#[test]
fn an_answer_that_comes_too_late_says_how_far_its_call_was() {
    let missed = |wait: Option<u64>| {
        say(What::Missed(Skip {
            reason: Wait::Gap,
            wait: wait.map(secs),
            limit: None,
        }))
    };
    assert_eq!(
        missed(Some(0)),
        "harbor was skipped for Sonarr: the request was still queued at the deadline, and stays queued."
    );
    assert_eq!(
        missed(None),
        "harbor was skipped for Sonarr: it had not answered by the deadline."
    );
}

#[test]
fn whoever_shares_a_call_in_vain_says_what_it_got() {
    let shared = |got| {
        let what = What::Shared {
            with: Asker(2),
            after: secs(2),
        };
        tell(&Record {
            got: Some(got),
            ..record(what)
        })
    };
    assert_eq!(
        shared(Got::Nothing),
        "harbor: Sonarr waited for the call that Radarr had asked for 2 s earlier, and got no answer either."
    );
    let age = secs(660);
    assert_eq!(
        shared(Got::Cached { age }),
        "harbor: Sonarr waited for the call that Radarr had asked for 2 s earlier, which brought no answer. Sonarr got the cached answer, 11 min old."
    );
}

#[test]
fn every_kind_of_record_has_its_sentence() {
    let mut seen = [false; 16];
    for (what, words) in samples() {
        assert_eq!(say(what), words);
        seen[kind(&what)] = true;
    }
    assert_eq!(seen, [true; 16], "a kind without a sample");
}

#[test]
fn a_full_window_is_told_with_its_numbers() {
    let until = at(NOW + 1440);
    let waits = |window, used| What::Waits {
        reason: Wait::Window,
        until,
        full: Some(FullWindow {
            window,
            used,
            limit: used,
            kept: 0,
        }),
    };
    let seconds = Window::of_seconds;
    for (window, said) in [
        (Window::MINUTE, "this minute"),
        (Window::HOUR, "this hour"),
        (Window::DAY, "today"),
        (seconds(90), "in the last 90 s"),
        (seconds(300), "in the last 5 min"),
        (seconds(7200), "in the last 2 h"),
        (seconds(30 * 86_400), "in the last 30 days"),
    ] {
        assert_eq!(
            say(waits(window, 1000)),
            format!("harbor waits: 1,000 of 1,000 calls used {said}, next slot 14:41.")
        );
    }
    assert_eq!(
        say(waits(Window::DAY, 0)),
        "harbor waits: no calls are allowed today."
    );
}

#[test]
fn what_several_nodes_wait_for_is_told_as_it_is() {
    let waits = |reason, full| {
        say(What::Waits {
            reason,
            until: at(NOW + 1440),
            full,
        })
    };
    let full = |used, limit, kept| {
        Some(FullWindow {
            window: Window::HOUR,
            used,
            limit,
            kept,
        })
    };
    assert_eq!(
        waits(Wait::Agreeing, None),
        "harbor waits: the nodes are agreeing on what was used."
    );
    assert_eq!(
        waits(Wait::Share, full(5, 100, 5)),
        "harbor waits: the shared store does not answer, and this node has used its share (5 of 100 calls per hour). Next slot 14:41."
    );
    assert_eq!(
        waits(Wait::Share, full(0, 4, 0)),
        "harbor waits: the shared store does not answer, and this node has no share of 4 calls per hour. Tried again when the store is back."
    );
    assert_eq!(
        waits(Wait::Window, full(85, 100, 15)),
        "harbor waits: 85 of 100 calls used this hour (15 reserved for nodes without the store), next slot 14:41."
    );
    let claimed = Record {
        cause: Some("birch".into()),
        about: About::Text("linux".into()),
        ..record(What::Waits {
            reason: Wait::Claimed,
            until: at(NOW + 1),
            full: None,
        })
    };
    assert_eq!(
        tell(&claimed),
        "harbor waits for birch, which is asking the same (linux)."
    );
    let kept = Record {
        got: Some(Got::Cached { age: secs(3000) }),
        ..record(What::Kept { by: Asker(2) })
    };
    assert_eq!(
        tell(&kept),
        "harbor: Sonarr got the answer that Radarr had cached, 50 min old."
    );
}

#[test]
fn a_start_after_a_wait_for_other_nodes_says_so() {
    for (reason, words) in [
        (Wait::Agreeing, "waiting for the nodes to agree"),
        (Wait::Share, "waiting for the shared store"),
        (Wait::Claimed, "waiting for another node"),
        (Wait::Network, "waiting for our own network"),
    ] {
        let started = What::Started {
            waited: secs(4),
            reason: Some(reason),
            attempt: 1,
        };
        assert_eq!(
            say(started),
            format!("harbor was called for Sonarr after 4 s of {words}.")
        );
    }
}

#[test]
fn who_waits_for_our_own_network_is_told_so() {
    let told = |what: What| {
        tell(&Record {
            cause: Some("our own network is down".into()),
            ..record(what)
        })
    };
    let waits = What::Waits {
        reason: Wait::Network,
        until: at(NOW + 30),
        full: None,
    };
    assert_eq!(
        told(waits),
        "harbor waits: our own network is down, next try 14:17:30."
    );
    let skip = |limit| Skip {
        reason: Wait::Network,
        wait: Some(secs(30)),
        limit,
    };
    assert_eq!(
        told(What::Skipped(skip(Some(secs(15))))),
        "harbor was skipped for Sonarr: the next free slot is in 30 s (14:17:30), because our own network is down, \
         and background requests wait at most 15 s."
    );
    assert_eq!(
        told(What::Missed(skip(None))),
        "harbor was skipped for Sonarr: the next free slot is in 30 s (14:17:30), because our own network is down, \
         after the deadline. The request stays queued."
    );
}

#[test]
fn no_slot_is_promised_where_only_the_others_know_it() {
    for (reason, why) in [
        (Wait::Agreeing, "the nodes are agreeing on what was used"),
        (
            Wait::Share,
            "the shared store does not answer and this node has used its share",
        ),
        (Wait::Claimed, "another node is asking the same"),
    ] {
        let skip = Skip {
            reason,
            wait: Some(secs(30)),
            limit: Some(secs(15)),
        };
        assert_eq!(
            say(What::Skipped(skip)),
            format!(
                "harbor was skipped for Sonarr: {why}, and background requests wait at most 15 s."
            )
        );
        assert_eq!(
            say(What::Missed(skip)),
            format!("harbor was skipped for Sonarr: {why}. The request stays queued.")
        );
    }
}

#[test]
fn what_came_from_outside_is_said_where_it_belongs() {
    let told = |what: What, cause: &str| {
        tell(&Record {
            cause: Some(cause.into()),
            ..record(what)
        })
    };
    assert_eq!(
        told(
            cooling_down(Cause::Throttled, 900, 0, 60),
            "it says we ask too often"
        ),
        "harbor is cooling down for 15 min, until 14:32: it says we ask too often."
    );
    assert_eq!(
        told(What::SwitchedOff, "account renewal"),
        "harbor was switched off by an operator: “account renewal”."
    );
    let elsewhere = |what: What| {
        tell(&Record {
            asker: Asker(3),
            ..record(what)
        })
    };
    assert_eq!(
        elsewhere(What::SwitchedOff),
        "harbor was switched off by anna on birch."
    );
    assert_eq!(
        elsewhere(What::SwitchedOn),
        "harbor was switched on by anna on birch."
    );
    let skip = What::Skipped(Skip {
        reason: Wait::Cooldown,
        wait: Some(secs(900)),
        limit: None,
    });
    assert_eq!(
        told(skip, "it answered 503"),
        "harbor was skipped for Sonarr: it is cooling down until 14:32, because it answered 503."
    );
}

#[test]
fn a_call_is_told_with_its_question_its_end_and_what_the_asker_got() {
    let called = record(What::Started {
        waited: secs(0),
        reason: None,
        attempt: 1,
    });
    let end = |kind| {
        Some(CallEnd {
            kind,
            took: Duration::from_millis(400),
        })
    };
    let called = Record {
        about: About::Text("\"linux\"".into()),
        end: end(Kind::Done),
        ..called
    };
    assert_eq!(
        tell(&called),
        "harbor was called at once for Sonarr (\"linux\") and answered in 0.4 s."
    );
    let failed = Record {
        end: end(Kind::Unavailable),
        cause: Some("it answered 503".into()),
        got: Some(Got::Cached { age: secs(660) }),
        ..called
    };
    assert_eq!(
        tell(&failed),
        "harbor was called at once for Sonarr (\"linux\"): it answered 503. Sonarr got the cached answer, 11 min old."
    );
    let told = |got| {
        let words = tell(&Record {
            got: Some(got),
            ..failed.clone()
        });
        words.rsplit(". ").next().map(str::to_owned)
    };
    assert_eq!(
        told(Got::Nothing).as_deref(),
        Some("Sonarr got nothing; nothing was cached for this question.")
    );
    assert_eq!(
        told(Got::Elsewhere).as_deref(),
        Some("Sonarr got it from another server.")
    );
    let after = secs(300);
    assert_eq!(
        told(Got::Retry { after }).as_deref(),
        Some("Sonarr was told to retry in 5 min.")
    );
}

#[test]
fn of_an_upstream_that_is_off_nothing_is_said_about_the_cache() {
    let skip = Skip {
        reason: Wait::Off,
        wait: None,
        limit: None,
    };
    let skipped = Record {
        got: Some(Got::Nothing),
        ..record(What::Skipped(skip))
    };
    assert_eq!(
        tell(&skipped),
        "harbor was skipped for Sonarr: an operator switched it off. Sonarr got nothing."
    );
}

#[test]
fn a_call_that_a_stop_cut_off_says_so() {
    let cut = Record {
        end: Some(CallEnd {
            kind: Kind::Cut,
            took: secs(1),
        }),
        ..record(What::Started {
            waited: secs(0),
            reason: None,
            attempt: 1,
        })
    };
    assert_eq!(
        tell(&cut),
        "harbor was called at once for Sonarr; Weir stopped before it answered."
    );
}

#[test]
fn our_own_network_is_one_sentence_for_all() {
    let say = |failed, paused| {
        let scene = Scene {
            upstream: "",
            class: &|_| "",
            asker: &|_| None,
            clock: &clock,
        };
        our_network(failed, paused, &scene)
    };
    assert_eq!(
        say(17, Some(at(NOW + 960))),
        "17 upstreams failed at once, so the fault is in our own network. None was disabled. \
         Calls pause until 14:33:00."
    );
    assert_eq!(
        say(2, None),
        "2 upstreams failed at once, so the fault is in our own network. None was disabled. \
         The next call will show whether it is back."
    );
    assert_eq!(
        say(0, None),
        "The fault is in our own network. Nothing was disabled. The next call will show whether it is back."
    );
}

#[test]
fn times_are_said_as_people_say_them() {
    let said = [58, 700, 4_000, 9_990, 74_000, 360_000, 43_200_000]
        .map(|millis| span(Duration::from_millis(millis)));
    assert_eq!(
        said,
        ["58 ms", "0.7 s", "4 s", "10 s", "74 s", "6 min", "12 h"]
    );
}
