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
    let name = match asker {
        Asker(1) => "Sonarr",
        Asker(2) => "Radarr",
        Asker(3) => "anna on birch",
        Asker(4) => "birch",
        Asker::WEIR => "Weir’s own test",
        Asker::OPERATOR => "an operator",
        _ => return None,
    };
    Some(name.to_owned())
}

/// A record about a background job of Sonarr's, without anything that came from outside.
fn record(what: What) -> Record {
    Record {
        number: 1,
        at: at(NOW),
        class: Some(Class(3)),
        asker: match what {
            What::SwitchedOff | What::Cleared | What::Forgiven => Asker::OPERATOR,
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
        What::Forgiven => 16,
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
            "harbor went into cooldown for 15 min, until 14:32: it did not answer.",
        ),
        (
            cooling_down(Cause::Failed, 900, 3, 1800),
            "harbor went into cooldown for 15 min, until 14:32: it did not answer (failure 3 in a row; if it fails again, the next pause is 30 min).",
        ),
        (
            cooling_down(Cause::Failed, 86_400, 12, 86_400),
            "harbor went into cooldown for 24 h, until 14:17: it did not answer (failure 12 in a row; this is the longest pause).",
        ),
        (
            cooling_down(Cause::Rejected, 21_600, 7, 43_200),
            "harbor was disabled: it failed too often. Next automatic probe at 20:17; if that fails, another 12 h later.",
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
            "harbor was skipped for Sonarr: it is switched off by an operator.",
        ),
        (
            shared(2),
            "harbor: Sonarr shared the answer to the same question, which Radarr had asked 2 s earlier.",
        ),
        (
            shared(0),
            "harbor: Sonarr shared the answer to the same question, which another program had asked 2 s earlier.",
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
            "harbor: the request from Sonarr was dropped: 32 requests for this upstream are already queued.",
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
            What::Raised { from: Class(2) },
            "harbor: a queued request was raised from completion to background because Sonarr asked for it.",
        ),
        (
            What::Retried { due: at(NOW + 2) },
            "harbor did not answer; next try planned for 14:17:02.",
        ),
        (
            What::PutOff {
                due: at(NOW + 10),
                reason: DropReason::QueueFull,
                limit: 10_000,
            },
            "harbor: the request from Sonarr was put off until 14:17:10: queue full (10,000).",
        ),
        (What::Cleared, "harbor: cooldown cleared by an operator."),
        (
            What::Forgiven,
            "harbor: its failures were cleared by an operator.",
        ),
        (
            What::Kept { by: Asker(4) },
            "harbor: Sonarr got the answer cached on node birch.",
        ),
        (What::SwitchedOff, "harbor was switched off by an operator."),
        (What::SwitchedOn, "harbor was switched on by an operator."),
        (
            What::Missed(Skip {
                reason: Wait::Gap,
                wait: Some(secs(74)),
                limit: None,
            }),
            "harbor was skipped for Sonarr: the next free slot is in 74 s (14:18:14), too late for this request. It stays queued for the next asker.",
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
        "harbor was skipped for Sonarr: the request was still queued when the deadline passed, and stays queued."
    );
    assert_eq!(
        missed(None),
        "harbor did not answer Sonarr by the deadline. The call goes on."
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
        "harbor: Sonarr waited for the call made for Radarr 2 s earlier; neither got an answer."
    );
    let age = secs(660);
    assert_eq!(
        shared(Got::Cached { age }),
        "harbor: Sonarr waited for the call made for Radarr 2 s earlier, which brought no answer. Sonarr got the cached answer, 11 min old."
    );
}

#[test]
fn every_kind_of_record_has_its_sentence() {
    let mut seen = [false; 17];
    for (what, words) in samples() {
        assert_eq!(say(what), words);
        seen[kind(&what)] = true;
    }
    assert_eq!(seen, [true; 17], "a kind without a sample");
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
        (Window::MINUTE, "in the last minute"),
        (Window::HOUR, "in the last hour"),
        (Window::DAY, "in the last 24 h"),
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
    for (window, said) in [
        (Window::MINUTE, "a minute"),
        (Window::HOUR, "an hour"),
        (Window::DAY, "a day"),
        (seconds(300), "in 5 min"),
    ] {
        assert_eq!(
            say(waits(window, 0)),
            format!("harbor waits: its limit is 0 calls {said}.")
        );
    }
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
        "harbor waits while the nodes agree on how many calls were used."
    );
    assert_eq!(
        waits(Wait::Share, full(5, 100, 5)),
        "harbor waits: the shared store does not answer, and this node has used its share (5 of 100 calls per hour). Next slot 14:41."
    );
    assert_eq!(
        waits(Wait::Share, full(0, 4, 0)),
        "harbor waits: the shared store does not answer, and this node's share of the 4 calls per hour is zero. It tries again when the store is back."
    );
    assert_eq!(
        waits(Wait::Window, full(85, 100, 15)),
        "harbor waits: 85 of 100 calls used in the last hour (15 reserved for nodes without the store), next slot 14:41."
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
        ..record(What::Kept { by: Asker(4) })
    };
    assert_eq!(
        tell(&kept),
        "harbor: Sonarr got the answer cached on node birch, 50 min old."
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
        "harbor was skipped for Sonarr: the next free slot is in 30 s (14:17:30; our own network is down), \
         and background requests wait at most 15 s."
    );
    assert_eq!(
        told(What::Missed(skip(None))),
        "harbor was skipped for Sonarr: the next free slot is in 30 s (14:17:30; our own network is down), \
         too late for this request. It stays queued for the next asker."
    );
}

#[test]
fn no_slot_is_promised_where_only_the_others_know_it() {
    for (reason, why) in [
        (
            Wait::Agreeing,
            "the nodes are agreeing on how many calls were used",
        ),
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
            format!(
                "harbor was skipped for Sonarr: {why}. The request stays queued for the next asker."
            )
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
        "harbor went into cooldown for 15 min, until 14:32: it says we ask too often."
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
    assert_eq!(
        elsewhere(What::Cleared),
        "harbor: cooldown cleared by anna on birch."
    );
    assert_eq!(
        elsewhere(What::Forgiven),
        "harbor: its failures were cleared by anna on birch."
    );
    let skip = What::Skipped(Skip {
        reason: Wait::Cooldown,
        wait: Some(secs(900)),
        limit: None,
    });
    assert_eq!(
        told(skip, "it answered 503"),
        "harbor was skipped for Sonarr: it is cooling down until 14:32 (it answered 503)."
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
        Some("Sonarr got nothing: no cached answer.")
    );
    assert_eq!(
        told(Got::Elsewhere).as_deref(),
        Some("Another server answered Sonarr.")
    );
    let after = secs(300);
    assert_eq!(
        told(Got::Retry { after }).as_deref(),
        Some("Sonarr was told to retry in 5 min.")
    );
}

#[test]
fn every_end_of_a_call_is_told() {
    let what = What::Started {
        waited: secs(0),
        reason: None,
        attempt: 1,
    };
    let told = |asker, kind, cause: Option<&str>| {
        tell(&Record {
            asker,
            about: About::Text("caps".into()),
            end: Some(CallEnd {
                kind,
                took: Duration::from_millis(400),
            }),
            cause: cause.map(Into::into),
            ..record(what)
        })
    };
    let (sonarr, weir) = (Asker(1), Asker::WEIR);
    for (kind, cause, after) in [
        (Kind::Done, None, " and answered in 0.4 s."),
        (Kind::No, None, " and said no in 0.4 s."),
        (Kind::Again, None, " and said no in 0.4 s."),
        (Kind::Broken, Some("it answered 503"), ": it answered 503."),
        (Kind::Unavailable, None, " and did not answer."),
        (Kind::Cut, None, "; Weir stopped before it answered."),
        (
            Kind::Lost,
            None,
            "; how it ended is not known, because Weir was killed.",
        ),
    ] {
        let called = format!("harbor was called at once for Sonarr (caps){after}");
        assert_eq!(told(sonarr, kind, cause), called);
        // Pages put a link in place of the name, so each sentence begins with it.
        let tested = format!("harbor was tested by Weir (caps){after}");
        assert_eq!(told(weir, kind, cause), tested);
    }
    let under_way = Record {
        asker: weir,
        ..record(what)
    };
    assert_eq!(tell(&under_way), "harbor was tested by Weir.");
    let by_operator = Record {
        asker: Asker::OPERATOR,
        ..record(what)
    };
    assert_eq!(
        tell(&by_operator),
        "harbor was called at once for an operator."
    );
    let late = What::Started {
        waited: secs(4),
        reason: Some(Wait::Gap),
        attempt: 1,
    };
    let redirected = |what, asker| {
        tell(&Record {
            asker,
            about: About::File,
            end: Some(CallEnd {
                kind: Kind::Redirected,
                took: secs(0),
            }),
            ..record(what)
        })
    };
    assert_eq!(
        redirected(what, sonarr),
        "harbor: Sonarr was redirected to fetch the file itself; counted as one call."
    );
    assert_eq!(
        redirected(late, Asker::NOBODY),
        "harbor: the program was redirected to fetch the file itself after 4 s of spacing; counted as one call."
    );
}

#[test]
fn without_an_asker_the_sentence_is_whole() {
    let skip = Skip {
        reason: Wait::Gap,
        wait: None,
        limit: None,
    };
    let started = What::Started {
        waited: secs(0),
        reason: None,
        attempt: 1,
    };
    let dropped = What::Dropped {
        reason: DropReason::QueueFull,
        limit: 9,
    };
    let after = secs(300);
    for (what, got, words) in [
        (
            started,
            Some(Got::Nothing),
            "harbor was called at once. The program got nothing: no cached answer.",
        ),
        (
            started,
            Some(Got::Cached { age: secs(660) }),
            "harbor was called at once. The program got the cached answer, 11 min old.",
        ),
        (
            started,
            Some(Got::Elsewhere),
            "harbor was called at once. Another server answered the program.",
        ),
        (
            started,
            Some(Got::Retry { after }),
            "harbor was called at once. The program was told to retry in 5 min.",
        ),
        (started, Some(Got::Fresh), "harbor was called at once."),
        (
            What::Missed(skip),
            None,
            "harbor did not answer by the deadline. The call goes on.",
        ),
        (
            What::Kept { by: Asker::NOBODY },
            None,
            "harbor: a program got the answer cached on another node.",
        ),
        (
            What::Raised { from: Class(2) },
            None,
            "harbor: a queued request was raised from completion to background.",
        ),
        (
            dropped,
            None,
            "harbor: the request was dropped: queue full (9).",
        ),
    ] {
        let told = tell(&Record {
            asker: Asker::NOBODY,
            got,
            ..record(what)
        });
        assert_eq!(told, words);
    }
}

#[test]
fn what_a_request_was_for_is_told() {
    let skipped = Skip {
        reason: Wait::Off,
        wait: None,
        limit: None,
    };
    let file = Record {
        about: About::File,
        got: Some(Got::Nothing),
        ..record(What::Skipped(skipped))
    };
    assert_eq!(
        tell(&file),
        "harbor was skipped for Sonarr (a file): it is switched off by an operator. Sonarr got no file."
    );
    let retried = Record {
        cause: Some("it answered 503".into()),
        about: About::Torrent([0x4b, 0xe1, 0x9c, 0x07, 0x90, 0xc2]),
        ..record(What::Retried { due: at(NOW + 2) })
    };
    assert_eq!(
        tell(&retried),
        "harbor: it answered 503 (4be19c07…90c2); next try planned for 14:17:02."
    );
    let waits = What::Waits {
        reason: Wait::Off,
        until: at(NOW),
        full: None,
    };
    assert_eq!(
        say(waits),
        "harbor waits: it is switched off by an operator."
    );
    assert_eq!(
        drop_reason(DropReason::Backlog, None),
        "too many requests for this upstream are already queued"
    );
    assert_eq!(
        failure(1, Some(secs(300))),
        "first failure; if it fails again, the next pause is 5 min"
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
        "harbor was skipped for Sonarr: it is switched off by an operator. Sonarr got nothing."
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
    for (millis, said) in [
        (58, "58 ms"),
        (700, "0.7 s"),
        (4_000, "4 s"),
        (9_990, "10 s"),
        (91_000, "91 s"),
        (119_000, "119 s"),
        (120_000, "2 min"),
        (151_000, "2 min 31 s"),
        (299_999, "5 min"),
        (360_000, "6 min"),
        (601_000, "11 min"),
        (7_200_000, "2 h"),
        (7_201_000, "2 h 1 min"),
        (35_999_000, "10 h"),
        (43_200_000, "12 h"),
    ] {
        assert_eq!(span(Duration::from_millis(millis)), said);
    }
}
