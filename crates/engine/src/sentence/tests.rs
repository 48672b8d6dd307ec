//! Each kind of record has its sentence.

use super::*;

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

fn say(what: What) -> String {
    say_with(what, |_| ())
}

static LADDER: [Duration; 9] = [
    secs(60),
    secs(300),
    secs(900),
    secs(1800),
    secs(3600),
    secs(10_800),
    secs(21_600),
    secs(43_200),
    secs(86_400),
];

fn class(class: Class) -> &'static str {
    ["interactive", "RSS", "completion", "background"][usize::from(class.0)]
}

fn asker(asker: Asker) -> Option<&'static str> {
    [None, Some("Sonarr"), Some("Radarr")][asker.0 as usize]
}

fn say_with<'a>(what: What, change: impl FnOnce(&mut Scene<'a>)) -> String {
    let mut scene = Scene {
        upstream: "harbor",
        now: at(NOW),
        class: &|it| class(it),
        asker: &|it| asker(it),
        clock: &clock,
        ladder: &LADDER,
        last_error: None,
        windows: &[],
        off: None,
        capacity: 10_000,
    };
    change(&mut scene);
    let decision = Decision {
        number: 1,
        at: at(NOW),
        class: Some(Class(3)),
        asker: Asker(1),
        what,
    };
    sentence(&decision, &scene)
}

fn cooling_down(cause: Cause, secs: u64, rung: u8) -> What {
    let until = at(NOW + secs);
    What::CooldownBegan {
        cooldown: Cooldown { until, cause },
        rung,
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
        What::Dropped(_) => 7,
        What::Raised { .. } => 8,
        What::Retried { .. } => 9,
        What::Cleared => 10,
        What::SwitchedOff => 11,
        What::SwitchedOn => 12,
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
    let waits = |reason, until| What::Waits {
        reason,
        until: at(NOW + until),
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
            "harbor waits for its cooldown to end, next slot 14:17:07.",
        ),
        (
            cooling_down(Cause::Throttled, 900, 0),
            "harbor is cooling down until 14:32, in 15 min: it was overloaded (at 14:17), so it is left alone for 15 min.",
        ),
        (
            cooling_down(Cause::Failed, 900, 3),
            "harbor is cooling down until 14:32, in 15 min: it did not answer (failure 3; the next pause would be 30 min).",
        ),
        (
            cooling_down(Cause::Failed, 86_400, 9),
            "harbor is cooling down until 14:17: it did not answer (pauses no longer grow).",
        ),
        (
            cooling_down(Cause::Rejected, 21_600, 7),
            "harbor has been disabled since 14:17: it failed too often. Next automatic probe at 20:17; if that fails, 12 h later.",
        ),
        (What::Healed, "harbor answered and is open again."),
        (
            skip(Wait::Gap, Some(74), Some(60)),
            "harbor skipped: the next free slot is in 74 s (14:18:14), and background jobs wait at most 60 s.",
        ),
        (
            skip(Wait::Cooldown, Some(900), None),
            "harbor skipped: it is cooling down until 14:32, in 15 min.",
        ),
        (
            skip(Wait::Off, None, None),
            "harbor skipped: an operator switched it off.",
        ),
        (
            What::Shared { with: Asker(2) },
            "harbor: Sonarr got the answer to the same question that Radarr asked.",
        ),
        (
            What::Shared { with: Asker(0) },
            "harbor: Sonarr got the answer to the same question that another program asked.",
        ),
        (What::Duplicate, "harbor: the same job is already queued."),
        (
            What::Dropped(DropReason::QueueFull),
            "harbor dropped: queue full (10,000).",
        ),
        (
            What::Dropped(DropReason::Backlog),
            "harbor dropped: its share of the queue is used up.",
        ),
        (
            What::Dropped(DropReason::AgendaFull),
            "harbor dropped: too many jobs are scheduled.",
        ),
        (
            What::Dropped(DropReason::Scheduled),
            "harbor dropped: the same job is already scheduled.",
        ),
        (
            What::Dropped(DropReason::Gone),
            "harbor dropped: the upstream was removed.",
        ),
        (
            What::Raised { from: Class(3) },
            "harbor: a job was raised from background to background for Sonarr.",
        ),
        (
            What::Retried { due: at(NOW + 2) },
            "harbor did not answer. Next try at 14:17:02.",
        ),
        (
            What::Cleared,
            "harbor is open: an operator cleared its cooldown.",
        ),
        (What::SwitchedOff, "harbor was switched off at 14:17."),
        (What::SwitchedOn, "harbor was switched on."),
    ]
}

#[test]
fn every_kind_of_record_has_its_sentence() {
    let mut seen = [false; 13];
    for (what, words) in samples() {
        assert_eq!(say(what), words);
        seen[kind(&what)] = true;
    }
    assert_eq!(seen, [true; 13], "a kind without a sample");
}

#[test]
fn a_full_window_is_told_with_its_numbers() {
    let until = at(NOW + 1440);
    let window = WindowUse {
        window: Window::Hour,
        used: 100,
        limit: 100,
        learned: false,
        next: until,
    };
    let waits = What::Waits {
        reason: Wait::Window,
        until,
    };
    assert_eq!(
        say_with(waits, |scene| scene.windows = std::slice::from_ref(&window)),
        "harbor waits: 100 of 100 calls this hour used, next slot 14:41."
    );
}

#[test]
fn what_went_wrong_is_said_where_it_belongs() {
    let cooldown = cooling_down(Cause::Throttled, 900, 0);
    let told = |at| {
        say_with(cooldown, |scene| {
            scene.last_error = Some((at, "it answered 429"))
        })
    };
    assert_eq!(
        told(at(NOW)),
        "harbor is cooling down until 14:32, in 15 min: it answered 429 (at 14:17), so it is left alone for 15 min."
    );
    assert!(told(at(NOW - 3600)).contains("overloaded"));
    assert!(told(at(NOW + 5)).contains("overloaded"));
}

#[test]
fn an_operators_reason_is_quoted() {
    let off = Off {
        reason: "account renewal".to_owned(),
        who: "operator".to_owned(),
        at: at(NOW),
    };
    assert_eq!(
        say_with(What::SwitchedOff, |scene| scene.off = Some(&off)),
        "harbor is off, by operator at 14:17: “account renewal”. Stays off until switched on."
    );
}

#[test]
fn our_own_network_is_one_sentence_for_all() {
    let words = {
        let scene = Scene {
            upstream: "",
            now: at(NOW),
            class: &|_| "",
            asker: &|_| None,
            clock: &clock,
            ladder: &[],
            last_error: None,
            windows: &[],
            off: None,
            capacity: 0,
        };
        our_network(17, at(NOW + 960), &scene)
    };
    assert_eq!(
        words,
        "All 17 upstreams fail at once, so this is our network: nobody was disabled. Next try 14:33."
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
