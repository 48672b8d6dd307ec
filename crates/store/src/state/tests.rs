//! What only the state in a file can do: wait, fail, contain strange rows, come from an older Weir.

use std::{fs, path::PathBuf, sync::mpsc};

use rusqlite::{Connection, OpenFlags};

use super::{
    batch::{ENTRIES, STARTS},
    story::{DAY, HOUR, NOW, SECOND, after, entry, failures, start, started, up},
    *,
};
use crate::sqlite::File;

struct Opened {
    file: File,
    state: SqliteState,
    path: PathBuf,
    _directory: tempfile::TempDir,
}

fn opened() -> Opened {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let file = File::open(&path).unwrap();
    Opened {
        state: SqliteState::open(file.clone()).unwrap(),
        file,
        path,
        _directory: directory,
    }
}

impl Opened {
    /// Keeps the writer thread busy until the answer is dropped.
    fn hold(&self) -> mpsc::SyncSender<()> {
        let (release, released) = mpsc::sync_channel::<()>(0);
        let busy = move |_: &rusqlite::Transaction<'_>| {
            let _ = released.recv();
            Ok(())
        };
        self.file.post(busy, |_| {}).unwrap();
        release
    }

    fn sql(&self, sql: &str) {
        let sql = sql.to_owned();
        self.file
            .write_blocking(move |tx| tx.execute_batch(&sql))
            .unwrap();
    }

    fn count(&self, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        self.file
            .read(|c| c.query_row(&sql, [], |row| row.get(0)))
            .unwrap()
    }

    fn load(&self) -> Kept {
        self.state.load("search", after(HOUR)).unwrap()
    }

    fn save(&self, changes: Vec<Change>) {
        self.state.save("search", changes).unwrap();
    }
}

#[test]
fn rows_that_cannot_be_read_are_left_out_and_counted() {
    let opened = opened();
    for name in ["bad cause", "bad rung", "bad starts", "good"] {
        opened.save(vec![up(name, failures(1)), started(name, start(NOW, 1))]);
    }
    let entries = (0..5).map(|id| Change::Scheduled(entry(id, "good", NOW)));
    opened.save(entries.collect());
    opened.state.flush().unwrap();
    opened.sql(
        "UPDATE engine_upstream SET rest_until = 1, rest_since = 1, rest_cause = 'sunspots', rest_reason = ''
         WHERE name = 'bad cause';
         UPDATE engine_upstream SET rung = 1000 WHERE name = 'bad rung';
         INSERT INTO engine_start SELECT id, 'alms', 60, 1, 1 FROM engine_upstream WHERE name = 'bad starts';
         INSERT INTO engine_start SELECT id, 'query', -1, 1, 1 FROM engine_upstream WHERE name = 'bad starts';
         INSERT INTO engine_start SELECT id, 'query', 60, 1, -1 FROM engine_upstream WHERE name = 'bad starts';
         INSERT INTO engine_limit SELECT id, 'query', -1, 1 FROM engine_upstream WHERE name = 'bad starts';
         INSERT INTO engine_limit SELECT id, 'query', 60, -1 FROM engine_upstream WHERE name = 'bad starts';
         UPDATE engine_agenda SET payload = zeroblob(257) WHERE id = 0;
         UPDATE engine_agenda SET class = -1 WHERE id = 1;
         UPDATE engine_agenda SET budget = '' WHERE id = 2;
         UPDATE engine_agenda SET upstream = CAST(x'ff' AS TEXT) WHERE id = 3;
         INSERT INTO engine_upstream (front, name) VALUES ('search', CAST(x'ff' AS TEXT));",
    );
    let kept = opened.load();
    assert_eq!(kept.unreadable, 12);
    assert_eq!(kept.agenda.len(), 1);
    assert_eq!(kept.upstreams.len(), 4);
    for upstream in &kept.upstreams {
        assert_eq!(upstream.starts, [start(NOW, 1)], "{}", upstream.name);
        let readable = ["bad starts", "good"].contains(&&*upstream.name);
        assert_eq!(upstream.row, failures(readable.into()), "{}", upstream.name);
    }
}

#[test]
fn a_file_of_the_previous_schema_opens() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let dump = include_str!("../../testdata/engine-1.sql");
    Connection::open(&path)
        .unwrap()
        .execute_batch(dump)
        .unwrap();
    let state = SqliteState::open(File::open(&path).unwrap()).unwrap();
    let kept = state.load("search", NOW).unwrap();
    assert_eq!(kept.unreadable, 0);
    let [harbor, orchard] = &kept.upstreams[..] else {
        panic!("{kept:?}")
    };
    let rest = harbor.row.rest.as_ref().unwrap();
    assert_eq!(
        (rest.cause, rest.until),
        (Cause::Throttled, Wall(1_780_000_900 * SECOND))
    );
    assert_eq!(
        (harbor.row.rung, harbor.row.failures, harbor.row.gone),
        (3, 4, None)
    );
    let limit = Limit {
        ledger: Ledger::Query,
        window: DAY,
        calls: 100,
    };
    assert_eq!(harbor.limits, [limit]);
    let starts: Vec<_> = harbor
        .starts
        .iter()
        .map(|start| (start.ledger, start.window.0, start.times))
        .collect();
    let query = |seconds| (Ledger::Query, seconds, 2);
    let counted = [
        (Ledger::Grab, 86_400, 1),
        query(60),
        query(3600),
        query(86_400),
    ];
    assert_eq!(starts, counted, "a row for each window of its set");
    assert_eq!(orchard.row.off.as_ref().unwrap().by, "operator");
    assert_eq!(kept.agenda[0].payload.bytes(), [0, 0xff]);
    let gone = UpstreamRow {
        gone: Some(NOW),
        ..harbor.row.clone()
    };
    state.save("search", vec![up("harbor", gone)]).unwrap();
    assert_eq!(state.forget(after(1)).unwrap(), 1);
}

#[test]
fn a_full_file_queue_refuses_no_reservation() {
    let opened = opened();
    let held = opened.hold();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let refused = runtime.block_on(async {
        for _ in 0..10_000 {
            let write = std::pin::pin!(opened.file.write(|_| Ok(())));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            if let std::task::Poll::Ready(Err(error)) =
                std::future::Future::poll(write, &mut context)
            {
                return Some(error);
            }
        }
        None
    });
    assert!(matches!(refused, Some(Error::Full)));
    for n in 0..100 {
        opened.save(vec![started("a", start(after(n), 1))]);
    }
    drop(held);
    opened.state.flush().unwrap();
    assert_eq!(opened.count("engine_start"), 100);
}

#[test]
fn starts_beyond_what_may_wait_are_folded_and_never_lost() {
    let opened = opened();
    let held = opened.hold();
    let surplus = 1000;
    let all = STARTS as i64 + surplus;
    for n in 0..all {
        opened.save(vec![started("a", start(after(n), 1))]);
    }
    drop(held);
    let starts = opened.load().upstreams.remove(0).starts;
    assert_eq!(starts.len(), STARTS + 1);
    assert_eq!(
        starts
            .iter()
            .map(|start| i64::from(start.times))
            .sum::<i64>(),
        all
    );
    assert_eq!(starts.last(), Some(&start(after(all - 1), surplus as u32)));
}

#[test]
fn too_many_agenda_changes_are_refused_alone() {
    let opened = opened();
    let held = opened.hold();
    let most = ENTRIES as u64;
    opened.save((1..most).map(Change::Taken).collect());
    opened.save(vec![Change::Taken(0)]);
    let refused = opened.state.save(
        "search",
        vec![
            Change::Scheduled(entry(u64::MAX, "a", NOW)),
            started("a", start(NOW, 1)),
        ],
    );
    assert!(matches!(refused, Err(Error::Full)));
    drop(held);
    let kept = opened.load();
    assert_eq!(kept.agenda, []);
    assert_eq!(kept.upstreams[0].starts, [start(NOW, 1)]);
}

#[test]
fn all_agenda_changes_of_one_call_fit_while_there_is_room() {
    let opened = opened();
    let held = opened.hold();
    let most = ENTRIES as u64;
    opened.save((1..most).map(Change::Taken).collect());
    opened.save((0..2 * most).map(Change::Taken).collect());
    drop(held);
}

#[test]
fn a_commit_that_fails_loses_nothing() {
    let opened = opened();
    opened
        .file
        .exclusive(|connection| connection.commit_hook(Some(|| true)))
        .unwrap()
        .unwrap();
    opened.save(vec![
        up("a", failures(1)),
        up("b", failures(1)),
        started("a", start(NOW, 1)),
        Change::Scheduled(entry(1, "a", NOW)),
        Change::Scheduled(entry(2, "a", NOW)),
    ]);
    assert!(matches!(opened.state.flush(), Err(Error::Unsaved(_))));
    opened.save(vec![
        up("a", failures(2)),
        started("a", start(NOW, 1)),
        Change::Taken(1),
    ]);
    assert!(matches!(opened.state.flush(), Err(Error::Unsaved(_))));
    opened
        .file
        .exclusive(|connection| connection.commit_hook(None::<fn() -> bool>))
        .unwrap()
        .unwrap();
    opened.state.flush().unwrap();
    let kept = opened.load();
    let rows: Vec<_> = kept
        .upstreams
        .iter()
        .map(|kept| kept.row.failures)
        .collect();
    assert_eq!(rows, [2, 1], "the later change won");
    assert_eq!(kept.upstreams[0].starts, [start(NOW, 2)]);
    assert_eq!(kept.agenda, [entry(2, "a", NOW)]);
}

#[test]
fn what_a_failed_commit_left_is_written_at_the_end() {
    let opened = opened();
    let refuse = |refuse: bool| {
        let hook =
            move |connection: &mut Connection| connection.commit_hook(refuse.then_some(|| true));
        opened.file.exclusive(hook).unwrap().unwrap();
    };
    refuse(true);
    opened.save(vec![started("a", start(NOW, 1))]);
    assert!(matches!(opened.state.flush(), Err(Error::Unsaved(_))));
    refuse(false);
    drop(opened.state);
    opened.file.close();
    let state = SqliteState::open(File::open(&opened.path).unwrap()).unwrap();
    let kept = state.load("search", NOW).unwrap();
    assert_eq!(kept.upstreams[0].starts, [start(NOW, 1)]);
}

#[test]
fn a_transaction_that_does_not_begin_loses_nothing() {
    let opened = opened();
    let run = |sql: &'static str| {
        let run = move |connection: &mut Connection| connection.execute_batch(sql);
        opened.file.exclusive(run).unwrap().unwrap();
    };
    run("BEGIN");
    opened.save(vec![started("a", start(NOW, 1))]);
    assert!(matches!(opened.state.flush(), Err(Error::Unsaved(_))));
    run("ROLLBACK");
    opened.save(vec![started("a", start(NOW, 1))]);
    assert_eq!(opened.load().upstreams[0].starts, [start(NOW, 2)]);
}

#[test]
fn old_starts_are_deleted_in_slices() {
    let opened = opened();
    let old = |n: i64| started("a", start(after(n), 1));
    opened.save((0..1000).map(old).collect());
    let hour = Start {
        window: Window(3600),
        ..start(after(22 * HOUR), 1)
    };
    opened.save(vec![started("a", hour)]);
    opened.state.flush().unwrap();
    assert_eq!(opened.count("engine_start"), 1001);
    let mut left = Vec::new();
    for n in 0..20 {
        opened.save(vec![started("a", start(after(25 * HOUR + n), 1))]);
        opened.state.flush().unwrap();
        left.push(opened.count("engine_start") - (n + 1));
    }
    assert_eq!(left[0], 1001 - 66, "a slice");
    assert!(left.is_sorted_by(|one, next| one >= next));
    assert_eq!(left[19], 0, "also the one that counted for an hour");
}

#[test]
fn a_closed_file_takes_no_more() {
    let opened = opened();
    opened.save(vec![up("a", failures(1))]);
    opened.file.close();
    assert!(matches!(
        opened.state.save("search", vec![]),
        Err(Error::Closed)
    ));
    assert!(matches!(opened.state.flush(), Err(Error::Closed)));
    let state = SqliteState::open(File::open(&opened.path).unwrap()).unwrap();
    let kept = state.load("search", NOW).unwrap();
    assert_eq!(
        kept.upstreams[0].row,
        failures(1),
        "written at the close, without a flush"
    );
}

#[test]
fn a_backup_under_load_is_a_state_that_there_was() {
    let opened = opened();
    let done = std::sync::atomic::AtomicBool::new(false);
    let order = std::sync::atomic::Ordering::Relaxed;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in (1..).take_while(|_| !done.load(order)) {
                let start = start(after(n.into()), 1);
                let row = Change::Scheduled(entry(n.into(), "a", NOW));
                opened.save(vec![up("a", failures(n)), started("a", start), row]);
                // As fast as the disk, so that the copy contains many small commits and not one large one.
                opened.state.flush().unwrap();
            }
        });
        for n in 0..10 {
            let to = opened.path.with_file_name(format!("copy {n}.db"));
            opened.state.flush().unwrap();
            opened.file.backup(&to).unwrap();
            let copy = SqliteState::open(File::open(&to).unwrap()).unwrap();
            let kept = copy.load("search", after(HOUR)).unwrap();
            let Some(upstream) = kept.upstreams.first() else {
                continue;
            };
            let n = upstream.row.failures as usize;
            assert_eq!((upstream.starts.len(), kept.agenda.len()), (n, n));
            drop(copy);
            fs::remove_file(to).unwrap();
        }
        done.store(true, order);
    });
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let checked: String = Connection::open_with_flags(&opened.path, flags)
        .unwrap()
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(checked, "ok");
}
