//! Behaviour of one file, on real files in a temporary directory.

use std::{fs, os::unix::fs::PermissionsExt, sync::mpsc::sync_channel};

use super::*;

const ONE: Migrations = Migrations {
    owner: "one",
    steps: &["CREATE TABLE one_row (n INTEGER PRIMARY KEY)"],
};

fn opened() -> (tempfile::TempDir, File) {
    let directory = tempfile::tempdir().unwrap();
    let file = File::open(directory.path().join("state.db")).unwrap();
    file.migrate(ONE).unwrap();
    (directory, file)
}

fn insert(n: i64) -> impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()> + Send + 'static {
    move |tx| {
        tx.execute("INSERT INTO one_row VALUES (?1)", [n])
            .map(|_| ())
    }
}

fn rows(file: &File) -> Vec<i64> {
    file.read(|c| {
        c.prepare("SELECT n FROM one_row ORDER BY n")?
            .query_map([], |row| row.get(0))?
            .collect()
    })
    .unwrap()
}

/// Keeps the writer thread busy until the returned sender is dropped, so that what comes next forms one group.
fn hold(file: &File) -> std::sync::mpsc::SyncSender<()> {
    let (release, released) = sync_channel::<()>(0);
    let work: Exclusive = Box::new(move |_| {
        let _ = released.recv();
    });
    file.enqueue(Job::Exclusive(work)).unwrap();
    release
}

fn wait<T>(told: oneshot::Receiver<Result<T, Error>>) -> Result<T, Error> {
    told.blocking_recv().unwrap()
}

#[test]
fn what_was_written_is_there_after_reopening() {
    let (directory, file) = opened();
    file.write_blocking(insert(7)).unwrap();
    file.close();
    assert!(matches!(file.write_blocking(insert(8)), Err(Error::Closed)));
    assert!(
        !directory.path().join("state.db-wal").exists(),
        "the log is folded in"
    );
    let file = File::open(directory.path().join("state.db")).unwrap();
    assert_eq!(rows(&file), [7]);
}

#[test]
fn files_are_readable_by_their_owner_alone() {
    let (directory, file) = opened();
    file.write_blocking(insert(1)).unwrap();
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        let mode = fs::metadata(directory.path().join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn a_failing_write_undoes_itself_alone() {
    let (_directory, file) = opened();
    let held = hold(&file);
    let before = file.submit(false, insert(1)).unwrap();
    let twice = file
        .submit(false, |tx| {
            tx.execute("INSERT INTO one_row VALUES (2)", [])?;
            tx.execute("INSERT INTO one_row VALUES (1)", []).map(|_| ())
        })
        .unwrap();
    let panics = file
        .submit(false, |tx| -> rusqlite::Result<()> {
            tx.execute("INSERT INTO one_row VALUES (3)", [])?;
            panic!("on purpose")
        })
        .unwrap();
    let after = file.submit(true, insert(4)).unwrap();
    drop(held);
    wait(before).unwrap();
    assert!(matches!(wait(twice), Err(Error::Sqlite(_))));
    assert!(matches!(wait(panics), Err(Error::Panicked(text)) if text == "on purpose"));
    wait(after).unwrap();
    assert_eq!(rows(&file), [1, 4]);
}

#[test]
fn an_answer_that_panics_does_not_end_the_writer() {
    let (_directory, file) = opened();
    let held = hold(&file);
    file.post(insert(1), |_| panic!("on purpose")).unwrap();
    let same_group = file.submit(false, insert(2)).unwrap();
    drop(held);
    wait(same_group).unwrap();
    file.write_blocking(insert(3)).unwrap();
    assert_eq!(rows(&file), [1, 2, 3], "the commit came before the answers");
    assert!(file.is_writable());
    file.close();
    assert!(!file.is_writable());
}

#[test]
fn writes_that_wait_together_share_one_commit() {
    let (_directory, file) = opened();
    let commits = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counted = Arc::clone(&commits);
    file.exclusive(move |connection| {
        connection.commit_hook(Some(move || {
            counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            false
        }))
    })
    .unwrap()
    .unwrap();
    let held = hold(&file);
    let told: Vec<_> = (0..50)
        .map(|n| file.submit(false, insert(n)).unwrap())
        .collect();
    drop(held);
    told.into_iter().for_each(|told| wait(told).unwrap());
    assert_eq!(commits.load(std::sync::atomic::Ordering::SeqCst), 1);
    assert_eq!(rows(&file).len(), 50);
}

#[test]
fn a_commit_that_is_refused_is_told_to_all_its_writers() {
    let (_directory, file) = opened();
    file.exclusive(|connection| connection.commit_hook(Some(|| true)))
        .unwrap()
        .unwrap();
    assert!(matches!(
        file.write_blocking(insert(1)),
        Err(Error::Commit(_))
    ));
    file.exclusive(|connection| connection.commit_hook(None::<fn() -> bool>))
        .unwrap()
        .unwrap();
    file.write_blocking(insert(2)).unwrap();
    assert_eq!(rows(&file), [2]);
}

#[test]
fn nothing_of_a_group_is_kept_once_its_transaction_is_gone() {
    let (_directory, file) = opened();
    let held = hold(&file);
    let before = file.submit(false, insert(1)).unwrap();
    let ends = file
        .submit(false, |tx| tx.execute_batch("ROLLBACK"))
        .unwrap();
    let after = file.submit(false, insert(2)).unwrap();
    drop(held);
    assert!(matches!(wait(before), Err(Error::Commit(_))));
    assert!(wait(ends).is_err());
    assert!(matches!(wait(after), Err(Error::GivenUp)));
    file.write_blocking(insert(3)).unwrap();
    assert_eq!(rows(&file), [3]);
}

#[test]
fn a_full_queue_answers_at_once() {
    let (_directory, file) = opened();
    let held = hold(&file);
    let refused = (0..=QUEUE as i64 + 1)
        .map(|n| file.submit(false, insert(n)))
        .find_map(Result::err);
    assert!(matches!(refused, Some(Error::Full)));
    drop(held);
    file.close();
}

#[test]
fn async_callers_are_answered() {
    let (_directory, file) = opened();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        file.write(insert(1)).await.unwrap();
        file.write_durable(insert(2)).await.unwrap();
        file.write_blocking(insert(3)).unwrap();
    });
    assert_eq!(rows(&file), [1, 2, 3]);
}

#[test]
fn owners_migrate_side_by_side_and_only_once() {
    let (_directory, file) = opened();
    let two = |steps| Migrations {
        owner: "two",
        steps,
    };
    file.migrate(two(&["CREATE TABLE two_row (n)"])).unwrap();
    file.migrate(two(&[
        "CREATE TABLE two_row (n)",
        "INSERT INTO two_row VALUES (1)",
    ]))
    .unwrap();
    file.migrate(ONE).unwrap();
    let refused = file
        .migrate(two(&["CREATE TABLE two_row (n)"]))
        .unwrap_err();
    assert!(
        matches!(&refused, Error::Newer { owner, found: 2, known: 1, .. } if owner == "two"),
        "{refused}"
    );
    let count: i64 = file
        .read(|c| c.query_row("SELECT count(*) FROM two_row", [], |r| r.get(0)))
        .unwrap();
    assert_eq!(count, 1);
}

#[test]
fn a_step_that_does_not_run_leaves_the_version_before() {
    let (_directory, file) = opened();
    let two = |steps| Migrations {
        owner: "two",
        steps,
    };
    let broken = file.migrate(two(&[
        "CREATE TABLE two_row (n)",
        "INSERT INTO two_row VALUES (1); NONSENSE",
    ]));
    assert!(matches!(broken, Err(Error::Migration { version: 2, .. })));
    file.migrate(two(&[
        "CREATE TABLE two_row (n)",
        "INSERT INTO two_row VALUES (2)",
    ]))
    .unwrap();
    let found: i64 = file
        .read(|c| c.query_row("SELECT n FROM two_row", [], |r| r.get(0)))
        .unwrap();
    assert_eq!(found, 2);
}

#[test]
fn files_that_are_not_ours_are_refused_with_advice() {
    let directory = tempfile::tempdir().unwrap();
    let garbage = directory.path().join("garbage.db");
    fs::write(&garbage, vec![b'x'; 4096]).unwrap();
    let refused = File::open(&garbage).unwrap_err();
    assert!(
        matches!(refused, Error::NotADatabase { .. }) && refused.to_string().contains("backup"),
        "{refused}"
    );
    assert_eq!(
        fs::read(&garbage).unwrap(),
        vec![b'x'; 4096],
        "left as it was"
    );

    let foreign = directory.path().join("foreign.db");
    Connection::open(&foreign)
        .unwrap()
        .execute_batch("CREATE TABLE t (n)")
        .unwrap();
    assert!(matches!(
        File::open(&foreign).unwrap_err(),
        Error::Foreign { .. }
    ));

    let missing = File::open(directory.path().join("no/such/state.db")).unwrap_err();
    assert!(matches!(missing, Error::Refused { .. }), "{missing}");
}

#[test]
fn a_file_of_a_newer_layout_is_refused() {
    let (directory, file) = opened();
    file.exclusive(|connection| connection.pragma_update(None, "user_version", 9))
        .unwrap()
        .unwrap();
    file.close();
    let refused = File::open(directory.path().join("state.db")).unwrap_err();
    assert!(
        matches!(refused, Error::Newer { found: 9, .. }),
        "{refused}"
    );
}

#[test]
fn readers_cannot_write() {
    let (_directory, file) = opened();
    assert!(file.read(|c| c.execute("DELETE FROM one_row", [])).is_err());
}

#[test]
fn a_backup_to_a_name_that_is_not_text_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let (directory, file) = opened();
    let to = directory
        .path()
        .join(std::ffi::OsStr::from_bytes(b"copy\xff.db"));
    assert!(matches!(file.backup(&to), Err(Error::Refused { .. })));
    assert!(!to.exists());
}

#[test]
fn a_backup_opens_as_a_file_of_its_own() {
    let (directory, file) = opened();
    file.write_blocking(insert(5)).unwrap();
    let to = directory.path().join("copy.db");
    file.backup(&to).unwrap();
    assert!(
        matches!(file.backup(&to), Err(Error::Refused { .. })),
        "an older backup is never overwritten"
    );
    assert_eq!(
        fs::metadata(&to).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(rows(&File::open(&to).unwrap()), [5]);
}

#[test]
fn another_process_may_amend_a_file_that_is_open() {
    let (directory, file) = opened();
    let path = directory.path().join("state.db");
    file.write_blocking(insert(1)).unwrap();
    File::amend(&path, insert(2)).unwrap();
    assert_eq!(rows(&file), [1, 2]);
    file.write_blocking(insert(3)).unwrap();
    file.close();
    File::amend(&path, insert(4)).unwrap();
    assert_eq!(rows(&File::open(&path).unwrap()), [1, 2, 3, 4]);
}

#[test]
fn a_failed_amendment_changes_nothing_and_makes_no_file() {
    let (directory, file) = opened();
    let path = directory.path().join("state.db");
    let twice = File::amend(&path, |tx| {
        insert(1)(tx)?;
        insert(1)(tx)
    });
    assert!(matches!(twice, Err(Error::Sqlite(_))));
    assert!(rows(&file).is_empty());
    let missing = directory.path().join("other.db");
    assert!(matches!(
        File::amend(&missing, insert(1)),
        Err(Error::Refused { .. })
    ));
    assert!(!missing.exists());
}

fn first_row(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("SELECT count(*) FROM one_row", [], |_| Ok(()))
}

/// A closed file with this many rows on several pages, and its bytes.
fn filled(path: &Path) -> Vec<u8> {
    let (file, aside) = File::open_expendable(path, ONE, first_row).unwrap();
    assert!(aside.is_none(), "{aside:?}");
    file.write_blocking(|tx| (0..5000).try_for_each(|n| insert(n)(tx)))
        .unwrap();
    file.close();
    fs::read(path).unwrap()
}

#[test]
fn a_damaged_file_that_may_be_lost_is_set_aside_and_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cache.db");
    let good = filled(&path);
    assert!(good.len() > 8 * 4096, "{}", good.len());
    let mut ways: Vec<(String, Vec<u8>)> = Vec::new();
    for start in (0..good.len()).step_by(4096) {
        let mut bad = good.clone();
        bad[start..start + 4096].fill(0xA5);
        ways.push((format!("page at {start}"), bad));
    }
    for start in [16, 60, 68, 100] {
        let mut bad = good.clone();
        bad[start..start + 30].fill(0xA5);
        ways.push((format!("head at {start}"), bad));
    }
    for length in [1, 99, 4095, 4096, 5000, good.len() - 4096, good.len() - 1] {
        ways.push((format!("cut to {length}"), good[..length].to_vec()));
    }
    let bad_name = directory.path().join("cache.db.bad");
    for (what, bytes) in ways {
        let _ = fs::remove_file(&bad_name);
        fs::write(&path, &bytes).unwrap();
        let (file, aside) = File::open_expendable(&path, ONE, first_row)
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        match aside {
            Some(aside) => {
                assert_eq!(aside.to, bad_name);
                let kept = fs::read(&bad_name).unwrap();
                assert_eq!(kept.len(), bytes.len(), "{what}");
                // Opening the file changes a counter in its header.
                let rest = 100.min(bytes.len());
                assert!(kept[rest..] == bytes[rest..], "{what}");
                assert!(rows(&file).is_empty(), "{what}");
                file.write_blocking(insert(-1)).unwrap();
                assert_eq!(rows(&file), [-1], "{what}");
            }
            None => {
                // Damage goes unnoticed where nothing is read, and SQLite takes a file of a few bytes for a new one.
                let unseen = what.starts_with("head") || bytes.len() + 1 == good.len();
                assert!(unseen || bytes.len() < 512, "{what}");
                file.write_blocking(insert(-1)).unwrap();
                assert_eq!(rows(&file)[0], -1, "{what}");
            }
        }
        file.close();
    }
}

#[test]
fn damage_that_is_met_while_running_is_noticed_and_names_the_file() {
    for write in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cache.db");
        let good = filled(&path);
        let (file, _) = File::open_expendable(&path, ONE, |_| Ok(())).unwrap();
        let mut bad = good.clone();
        bad[4096 * 2..].fill(0xA5);
        fs::write(&path, &bad).unwrap();
        assert!(!file.is_damaged());
        let error = match write {
            true => file
                .write_blocking(|tx| tx.execute("DELETE FROM one_row", []))
                .unwrap_err(),
            false => file.read(first_row).unwrap_err(),
        };
        assert!(matches!(error, Error::NotADatabase { .. }), "{error}");
        assert!(error.to_string().contains("cache.db is damaged"), "{error}");
        assert!(file.is_damaged());
        let to = file.set_aside().unwrap();
        assert!(to.exists() && !path.exists());
        assert!(!directory.path().join("cache.db-wal").exists());
        let (file, aside) = File::open_expendable(&path, ONE, first_row).unwrap();
        assert!(aside.is_none() && rows(&file).is_empty());
    }
}

#[test]
fn one_file_at_most_is_kept_aside() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cache.db");
    for text in ["first", "second"] {
        fs::write(&path, text.repeat(1000)).unwrap();
        fs::write(directory.path().join("cache.db-wal"), "log").unwrap();
        let (_, aside) = File::open_expendable(&path, ONE, first_row).unwrap();
        let kept = fs::read_to_string(aside.unwrap().to).unwrap();
        assert!(kept.starts_with(text), "{kept}");
    }
    let mut names: Vec<_> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("bad"))
        .collect();
    names.sort();
    assert!(names.len() <= 2 && names[0] == "cache.db.bad", "{names:?}");
}

#[test]
fn tables_of_a_newer_program_are_set_aside_where_they_may_be_lost() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cache.db");
    let newer = Migrations {
        owner: "one",
        steps: &["CREATE TABLE one_row (n)", "CREATE TABLE one_more (n)"],
    };
    File::open_expendable(&path, newer, |_| Ok(())).unwrap();
    let (file, aside) = File::open_expendable(&path, ONE, first_row).unwrap();
    assert!(matches!(aside.unwrap().why, Error::Newer { .. }));
    assert!(rows(&file).is_empty());
}

#[test]
fn what_is_no_file_says_why_it_cannot_be_opened() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cache.db");
    fs::create_dir(&path).unwrap();
    let refused = File::open_expendable(&path, ONE, first_row).unwrap_err();
    assert!(refused.to_string().contains("Is a directory"), "{refused}");
    assert!(path.is_dir(), "left alone");
}

#[test]
fn a_file_that_is_not_for_us_to_read_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cache.db");
    filled(&path);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&path).is_ok() {
        return; // Root may read everything.
    }
    let refused = File::open_expendable(&path, ONE, first_row).unwrap_err();
    assert!(
        refused.to_string().contains("Permission denied"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_file_that_cannot_be_written_says_so_and_heals() {
    let directory = tempfile::tempdir().unwrap();
    let file = File::open(directory.path().join("state.db")).unwrap();
    file.try_write().await.unwrap();
    let log = || {
        let log = directory.path().join("state.db-wal");
        std::fs::metadata(log).unwrap().len()
    };
    let before = log();
    file.try_write().await.unwrap();
    assert!(log() > before, "it reaches the disk");
    let refuse = |on: bool| {
        let set = move |connection: &mut Connection| {
            connection.pragma_update(None, "query_only", on).unwrap();
        };
        file.exclusive(set).unwrap();
    };
    refuse(true);
    assert!(file.try_write().await.is_err());
    refuse(false);
    file.try_write().await.unwrap();
    let owners: i64 = file
        .read(|connection| {
            connection.query_row("SELECT count(*) FROM schema", [], |row| row.get(0))
        })
        .unwrap();
    assert_eq!(owners, 0, "nothing is left of it");
}
