//! The same tests, as one story, for every implementation of [`State`].

use std::{sync::Arc, time::Duration};

use super::*;
use crate::sqlite::File;

pub(super) const SECOND: i64 = 1_000_000_000;
pub(super) const HOUR: i64 = 3600 * SECOND;
pub(super) const DAY: Window = Window(24 * 60 * 60);
/// Some day in 2026.
pub(super) const NOW: Wall = Wall(1_780_000_000 * SECOND + 1);

pub(super) fn after(nanoseconds: i64) -> Wall {
    Wall(NOW.0 + nanoseconds)
}

pub(super) fn up(name: &str, row: UpstreamRow) -> Change {
    let name = name.into();
    Change::Upstream { name, row }
}

pub(super) fn failures(failures: u32) -> UpstreamRow {
    UpstreamRow {
        failures,
        ..UpstreamRow::default()
    }
}

pub(super) fn start(at: Wall, times: u32) -> Start {
    Start {
        ledger: Ledger::Query,
        window: DAY,
        at,
        times,
    }
}

pub(super) fn started(upstream: &str, start: Start) -> Change {
    let upstream = upstream.into();
    Change::Started { upstream, start }
}

pub(super) fn entry(id: u64, upstream: &str, due: Wall) -> AgendaRow {
    AgendaRow {
        id,
        upstream: upstream.into(),
        class: 2,
        budget: Budget::Side,
        due,
        attempts: 3,
        payload: Payload::new(*b"\x00front's own\xff").unwrap(),
    }
}

fn names(kept: &Kept) -> Vec<&str> {
    kept.upstreams.iter().map(|kept| &*kept.name).collect()
}

fn ids(kept: &Kept) -> Vec<u64> {
    kept.agenda.iter().map(|row| row.id).collect()
}

#[test]
fn memory_tells_the_story() {
    let state = Arc::new(MemoryState::new());
    story(|| Arc::clone(&state));
}

#[test]
fn sqlite_tells_the_story() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    // Each chapter finds the file as the previous one left it, without a flush.
    story(|| Arc::new(SqliteState::open(File::open(&path).unwrap()).unwrap()));
}

/// `reopen` acts as a restart. The handles of the previous run are dropped by then.
fn story<S: State>(reopen: impl Fn() -> Arc<S>) {
    nothing_is_kept_at_first(&*reopen());
    rows_come_back_whole(&reopen);
    later_changes_replace_earlier_ones(&reopen);
    the_agenda_is_put_and_taken(&reopen);
    starts_add_up_and_end(&reopen);
    limits_are_learned_and_unlearned(&reopen);
    fronts_are_apart(&reopen);
    upstreams_long_gone_are_forgotten(&reopen);
    names_change_hands(&reopen);
    a_clock_set_back_moves_the_past_to_now(&reopen);
    what_is_written_about_the_past_comes_back(&reopen);
    payloads_are_bounded();
}

fn nothing_is_kept_at_first(state: &dyn State) {
    assert_eq!(state.load("search", NOW).unwrap(), Kept::default());
    state.flush().unwrap();
    assert_eq!(state.forget(NOW).unwrap(), 0);
}

fn rows_come_back_whole<S: State>(reopen: &impl Fn() -> Arc<S>) {
    let row = UpstreamRow {
        off: Some(Off {
            since: after(-5),
            by: "operator".into(),
            reason: "account renewal".into(),
        }),
        on: Some(after(-9)),
        rest: Some(Rest {
            since: after(-7),
            began: after(-6),
            until: after(HOUR + 1),
            cause: Cause::FailedOften,
            reason: "no such host".into(),
        }),
        rung: 9,
        failures: u32::MAX,
        answered: true,
        last_start: Some(after(-3)),
        last_call: Some(after(-2)),
        last_error: Some((after(-4), "it answered 503".into())),
        own: vec![1, 2, 3],
        gone: Some(after(-2)),
    };
    reopen().save("whole", vec![up("a", row.clone())]).unwrap();
    for cause in [Cause::Throttled, Cause::Failed, Cause::Rejected] {
        let mut row = row.clone();
        row.rest.as_mut().unwrap().cause = cause;
        let state = reopen();
        state.save("whole", vec![up("b", row.clone())]).unwrap();
        assert_eq!(state.load("whole", NOW).unwrap().upstreams[1].row, row);
    }
    let state = reopen();
    let kept = state.load("whole", NOW).unwrap();
    assert_eq!(kept.upstreams[0].row, row);
    state.save("whole", vec![up("a", failures(0))]).unwrap();
    let kept = state.load("whole", NOW).unwrap();
    assert_eq!(kept.upstreams[0].row, UpstreamRow::default());
}

fn later_changes_replace_earlier_ones<S: State>(reopen: &impl Fn() -> Arc<S>) {
    let state = reopen();
    let changes = [3, 1, 2].map(|n| up("a", failures(n))).to_vec();
    state.save("order", changes).unwrap();
    for n in 0..300 {
        state.save("order", vec![up("b", failures(n))]).unwrap();
    }
    drop(state);
    let kept = reopen().load("order", NOW).unwrap();
    assert_eq!(names(&kept), ["a", "b"]);
    assert_eq!(kept.upstreams[0].row.failures, 2);
    assert_eq!(kept.upstreams[1].row.failures, 299);
}

fn the_agenda_is_put_and_taken<S: State>(reopen: &impl Fn() -> Arc<S>) {
    let state = reopen();
    let one = entry(u64::MAX, "a", after(9));
    let put = |id, due| Change::Scheduled(entry(id, "a", after(due)));
    let changes = vec![Change::Scheduled(one.clone()), put(1, 9), put(2, 5)];
    state.save("agenda", changes).unwrap();
    state.save("agenda", vec![put(3, 1)]).unwrap();
    drop(state);

    let state = reopen();
    let kept = state.load("agenda", NOW).unwrap();
    assert_eq!(ids(&kept), [3, 2, 1, u64::MAX], "by due time, then number");
    assert_eq!(kept.agenda[3], one);
    // A restart gives new numbers, in one save: what was 3 is now 1.
    let taken = ids(&kept).into_iter().map(Change::Taken);
    state
        .save("agenda", taken.chain([put(1, 1)]).collect())
        .unwrap();
    state
        .save("agenda", vec![put(7, 8), Change::Taken(7)])
        .unwrap();
    state.save("agenda", vec![Change::Taken(99)]).unwrap();
    drop(state);
    let kept = reopen().load("agenda", NOW).unwrap();
    assert_eq!(kept.agenda, [entry(1, "a", after(1))]);
    assert_eq!(names(&kept), [""; 0], "an entry alone makes no upstream");
}

fn starts_add_up_and_end<S: State>(reopen: &impl Fn() -> Arc<S>) {
    let minute = |times| Start {
        window: Window(60),
        ..start(after(1), times)
    };
    let month = |at| Start {
        window: Window(30 * 86_400),
        ..start(at, 5)
    };
    let grab = Start {
        ledger: Ledger::Grab,
        ..start(after(2), 1)
    };
    let state = reopen();
    state
        .save("starts", vec![started("a", start(after(2), 1))])
        .unwrap();
    let changes = vec![
        started("a", start(after(2), 2)),
        started("a", start(NOW, 1)),
        started("a", grab),
        started("a", minute(4)),
        started("a", month(after(1))),
    ];
    state.save("starts", changes).unwrap();
    drop(state);

    let state = reopen();
    let (minute, month_ago) = (minute(4), month(after(1)));
    let day = [start(NOW, 1), start(after(2), 3), grab];
    let at = |now| {
        state.load("starts", now).unwrap().upstreams[0]
            .starts
            .clone()
    };
    assert_eq!(at(after(2)), [day[0], minute, month_ago, day[1], day[2]]);
    assert_eq!(at(after(60 * SECOND)).len(), 5, "a minute less a bit");
    let left = [day[0], month_ago, day[1], day[2]];
    assert_eq!(at(after(60 * SECOND + 1)), left);
    assert_eq!(at(after(24 * HOUR)), left[1..]);
    assert_eq!(at(after(24 * HOUR + 2)), [month_ago]);
    // A later start deletes those that have left their windows, and no others.
    let later = after(29 * 24 * HOUR);
    let changes = vec![started("a", start(later, 1)), started("a", month(later))];
    state.save("starts", changes).unwrap();
    assert_eq!(at(later), [month_ago, start(later, 1), month(later)]);
    let month_later = after(30 * 24 * HOUR + 1);
    assert_eq!(at(month_later), [month(later)]);
}

fn limits_are_learned_and_unlearned<S: State>(reopen: &impl Fn() -> Arc<S>) {
    let limit = |ledger, window, calls| Limit {
        ledger,
        window,
        calls,
    };
    let learned = |limit| Change::Learned {
        upstream: "a".into(),
        limit,
    };
    let state = reopen();
    let changes = vec![
        learned(limit(Ledger::Grab, DAY, 5)),
        learned(limit(Ledger::Query, DAY, 100)),
        learned(limit(Ledger::Query, Window(300), 10)),
        learned(limit(Ledger::Query, Window(7 * 86_400), 30)),
        learned(limit(Ledger::Query, DAY, 90)),
    ];
    state.save("limits", changes).unwrap();
    let unlearned = |window| Change::Unlearned {
        upstream: "a".into(),
        ledger: Ledger::Query,
        window,
    };
    state
        .save(
            "limits",
            vec![unlearned(Window(300)), unlearned(Window(60))],
        )
        .unwrap();
    drop(state);
    let kept = reopen().load("limits", NOW).unwrap();
    let left = [
        limit(Ledger::Query, DAY, 90),
        limit(Ledger::Query, Window(7 * 86_400), 30),
        limit(Ledger::Grab, DAY, 5),
    ];
    assert_eq!(kept.upstreams[0].limits, left);
}

fn what_is_written_about_the_past_comes_back<S: State>(reopen: &impl Fn() -> Arc<S>) {
    let written = |name: &str, text: &str| Change::Past {
        name: name.into(),
        past: Past {
            skew: 7,
            text: text.into(),
        },
    };
    let state = reopen();
    let changes = vec![
        up("told", failures(0)),
        written("told", "first"),
        written("", "the front"),
        written(SERIES, "its series"),
        written("told", "then"),
        written("never called", "dropped"),
    ];
    state.save("told", changes).unwrap();
    drop(state);
    let kept = reopen().load("told", NOW).unwrap();
    let text = |past: &Option<Past>| past.as_ref().map(|past| (past.skew, past.text.clone()));
    assert_eq!(text(&kept.past), Some((7, "the front".to_owned())));
    assert_eq!(text(&kept.series), Some((7, "its series".to_owned())));
    let told = ["never called", "told"];
    assert_eq!(names(&kept), told, "a series is no upstream");
    let past = |kept: &Kept, place: usize| text(&kept.upstreams[place].past);
    let dropped = Some((7, "dropped".to_owned()));
    assert_eq!(past(&kept, 0), dropped);
    assert_eq!(past(&kept, 1), Some((7, "then".to_owned())));
    assert_eq!(kept.upstreams[0].row, UpstreamRow::default());
    // Without a row of its own it would never be forgotten.
    let gone = UpstreamRow {
        gone: Some(NOW),
        ..UpstreamRow::default()
    };
    let state = reopen();
    state.save("told", vec![up("never called", gone)]).unwrap();
    assert_eq!(past(&state.load("told", NOW).unwrap(), 0), dropped);
    state.flush().unwrap();
    state.forget(after(1)).unwrap();
    assert_eq!(names(&state.load("told", NOW).unwrap()), ["told"]);
    state
        .save("told", vec![written("told", "at last")])
        .unwrap();
    assert_eq!(names(&state.load("told", NOW).unwrap()), ["told"]);
}

/// Nothing of who had a name before is left under it, whether it was written long ago or just now; the agenda has rows of
/// its own.
fn names_change_hands<S: State>(reopen: &impl Fn() -> Arc<S>) {
    let limit = |calls| Change::Learned {
        upstream: "a".into(),
        limit: Limit {
            ledger: Ledger::Query,
            window: DAY,
            calls,
        },
    };
    let past = |text: &str| Change::Past {
        name: "a".into(),
        past: Past {
            skew: 0,
            text: text.into(),
        },
    };
    let before = || {
        vec![
            up("a", failures(3)),
            started("a", start(NOW, 5)),
            limit(9),
            past("before"),
            Change::Scheduled(entry(1, "a", NOW)),
        ]
    };
    reopen().save("hands", before()).unwrap();
    let state = reopen();
    state.save("hands", before()).unwrap();
    let taken = vec![
        Change::Cleared("a".into()),
        Change::Cleared("b".into()),
        started("a", start(NOW, 1)),
        up("a", failures(1)),
    ];
    state.save("hands", taken).unwrap();
    let kept = state.load("hands", NOW).unwrap();
    assert_eq!((names(&kept), ids(&kept)), (vec!["a"], vec![1]));
    let one = &kept.upstreams[0];
    assert_eq!(one.row, failures(1));
    assert_eq!(
        (&*one.starts, &*one.limits),
        (&[start(NOW, 1)][..], &[][..])
    );
    assert_eq!(one.past, None);
    let gone = vec![Change::Cleared("a".into()), Change::Taken(1)];
    state.save("hands", gone).unwrap();
    drop(state);
    assert_eq!(reopen().load("hands", NOW).unwrap(), Kept::default());
}

fn a_clock_set_back_moves_the_past_to_now<S: State>(reopen: &impl Fn() -> Arc<S>) {
    let mut row = UpstreamRow {
        off: Some(Off {
            since: after(HOUR),
            ..Off::default()
        }),
        rest: Some(Rest {
            since: after(HOUR),
            began: after(HOUR),
            until: after(2 * HOUR),
            cause: Cause::Throttled,
            reason: String::new(),
        }),
        last_start: Some(after(HOUR)),
        gone: Some(after(HOUR)),
        ..failures(1)
    };
    let ahead = [1, 2].map(|n| started("a", start(after(n * HOUR), 2)));
    let state = reopen();
    state
        .save(
            "clock",
            [vec![up("a", row.clone())], ahead.to_vec()].concat(),
        )
        .unwrap();
    state
        .save(
            "clock",
            vec![
                started("a", start(NOW, 1)),
                started("a", start(after(-1), 1)),
            ],
        )
        .unwrap();
    row.settle(NOW);
    assert_eq!(row.gone, Some(NOW));
    let settled = |state: &S, now| {
        let kept = state.load("clock", now).unwrap().upstreams.remove(0);
        assert_eq!(kept.row, row, "the end of a rest is not ours to cut");
        assert_eq!(kept.starts, [start(after(-1), 1), start(NOW, 5)]);
    };
    settled(&state, NOW);
    drop(state);
    settled(&reopen(), after(SECOND));
}

fn fronts_are_apart<S: State>(reopen: &impl Fn() -> Arc<S>) {
    let state = reopen();
    for (front, n) in [("news", 1), ("tracker", 2)] {
        let changes = vec![
            up("same", failures(n)),
            started("same", start(NOW, n)),
            Change::Scheduled(entry(1, "same", after(n.into()))),
        ];
        state.save(front, changes).unwrap();
    }
    state.save("news", vec![Change::Taken(1)]).unwrap();
    drop(state);
    let state = reopen();
    let (news, tracker) = (
        state.load("news", NOW).unwrap(),
        state.load("tracker", NOW).unwrap(),
    );
    assert_eq!(news.upstreams[0].row.failures, 1);
    assert_eq!(tracker.upstreams[0].row.failures, 2);
    assert_eq!(tracker.upstreams[0].starts, [start(NOW, 2)]);
    assert_eq!((news.agenda.len(), tracker.agenda.len()), (0, 1));
}

fn upstreams_long_gone_are_forgotten<S: State>(reopen: &impl Fn() -> Arc<S>) {
    let month = Duration::from_secs(30 * 24 * 60 * 60);
    let gone = |at| UpstreamRow {
        gone: Some(at),
        ..failures(1)
    };
    let changes = vec![
        up("here", failures(1)),
        up("gone", gone(after(0))),
        started("gone", start(NOW, 1)),
        Change::Scheduled(entry(1, "gone", NOW)),
        Change::Scheduled(entry(2, "here", NOW)),
        up("lately", gone(after(1))),
        up("back", gone(after(0))),
    ];
    let state = reopen();
    state.save("gone", changes).unwrap();
    let many = (0..150).map(|n| up(&format!("many {n}"), gone(after(0))));
    state.save("many", many.collect()).unwrap();
    state.save("gone", vec![up("back", failures(0))]).unwrap();
    // Earlier chapters may have left other upstreams that are gone.
    state.forget(NOW).unwrap();
    let later = after(1 + i64::try_from(month.as_nanos()).unwrap());
    assert_eq!(state.forget(later.before(month)).unwrap(), 151);
    drop(state);
    let state = reopen();
    let kept = state.load("gone", NOW).unwrap();
    assert_eq!(names(&kept), ["back", "here", "lately"]);
    assert_eq!(ids(&kept), [2]);
    // It comes back without its past.
    state.save("gone", vec![up("gone", failures(0))]).unwrap();
    assert_eq!(state.load("gone", NOW).unwrap().upstreams[1].starts, []);
}

fn payloads_are_bounded() {
    let bytes = |length: usize| vec![7u8; length];
    assert_eq!(Payload::new(bytes(256)).unwrap().bytes().len(), 256);
    let refused = Payload::new(bytes(257)).unwrap_err();
    assert!(matches!(
        refused,
        Error::PayloadTooLong {
            length: 257,
            most: 256
        }
    ));
}
