//! A process that is killed while it writes: its file still opens, contains everything reported as committed, and is the
//! state after some number of saves, never a mixture.
//!
//! The process is this test program itself, started again with [`FILE`] set.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{
    collections::BTreeMap,
    env, fs,
    hash::{BuildHasher, RandomState},
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
        mpsc::{RecvTimeoutError, sync_channel},
    },
    thread,
    time::Duration,
};

use tokio::time::Instant;
use weir_store::{
    Error,
    sqlite::File,
    state::{
        AgendaRow, Budget, Change, Ledger, Payload, SqliteState, Start, State, UpstreamRow, Wall,
        Window,
    },
};

/// The file to write; if set, this program is the one that is killed.
const FILE: &str = "WEIR_KILL_FILE";
/// What else it does: "flush", "backup", both or nothing.
const ALSO: &str = "WEIR_KILL_ALSO";
/// Repeats the timing of an earlier run, as far as that is possible.
const SEED: &str = "WEIR_KILL_SEED";

const KILLS: u64 = 100;
/// Every kill of this number comes after more than a second, and is the last for its file.
const LONG: u64 = 16;
const UPSTREAMS: u64 = 7;
/// One in this many saves changes the agenda.
const SCHEDULES: u64 = 8;
/// An entry stays on the agenda for this many saves.
const AGENDA: u64 = 500 * SCHEDULES;
const NOW: i64 = 1_780_000_000_000_000_000;
const HOUR: i64 = 3_600_000_000_000;

fn name(n: u64) -> Arc<str> {
    format!("upstream {}", n % UPSTREAMS).into()
}

/// The n-th save: a start, its upstream's row, and sometimes a new agenda entry and the removal of an old one.
fn change(n: u64) -> Vec<Change> {
    let upstream = name(n);
    let start = Start {
        ledger: Ledger::Query,
        window: Window(24 * 60 * 60),
        at: Wall(NOW + n.cast_signed()),
        times: 1,
    };
    let row = UpstreamRow {
        failures: u32::try_from(n).unwrap(),
        ..UpstreamRow::default()
    };
    let name = Arc::clone(&upstream);
    let mut changes = agenda(n);
    changes.push(Change::Started { upstream, start });
    changes.push(Change::Upstream { name, row });
    changes
}

fn agenda(n: u64) -> Vec<Change> {
    if !n.is_multiple_of(SCHEDULES) {
        return Vec::new();
    }
    let entry = AgendaRow {
        id: n,
        upstream: name(n),
        class: 0,
        budget: Budget::Query,
        due: Wall(NOW + n.cast_signed()),
        attempts: 0,
        payload: Payload::new(n.to_le_bytes()).unwrap(),
    };
    vec![
        Change::Scheduled(entry),
        Change::Taken(n.saturating_sub(AGENDA)),
    ]
}

/// How many saves the file contains, after checking that it contains exactly those.
fn saves(path: &Path) -> u64 {
    let state = SqliteState::open(File::open(path).unwrap()).unwrap();
    let kept = state.load("search", Wall(NOW + HOUR)).unwrap();
    assert_eq!(kept.unreadable, 0);
    let rows = kept.upstreams.iter();
    let saves = rows.map(|kept| kept.row.failures.into()).max().unwrap_or(0);
    let ids: Vec<u64> = kept.agenda.iter().map(|row| row.id).collect();
    let last = saves - saves % SCHEDULES;
    let expected = (1..=last).filter(|n| n.is_multiple_of(SCHEDULES) && n + AGENDA > last);
    assert_eq!(
        ids,
        expected.collect::<Vec<_>>(),
        "the agenda of {saves} saves"
    );
    for row in &kept.agenda {
        assert_eq!(row.payload.bytes(), row.id.to_le_bytes());
    }
    let mut expected = BTreeMap::new();
    for n in 1..=saves {
        let (calls, last) = expected.entry(name(n)).or_default();
        (*calls, *last) = (*calls + 1, n);
    }
    let counted = kept.upstreams.into_iter().map(|kept| {
        let calls = kept.starts.iter().map(|start| u64::from(start.times));
        (kept.name, (calls.sum(), u64::from(kept.row.failures)))
    });
    let counted: BTreeMap<Arc<str>, (u64, u64)> = counted.collect();
    assert_eq!(counted, expected, "the windows and rows of {saves} saves");
    saves
}

/// The process that is killed. Prints each save once it is accepted, with its time, and how many saves it knows to be
/// committed.
#[test]
#[ignore = "started and killed by the test below"]
fn victim() {
    let Ok(path) = env::var(FILE) else { return };
    let also = env::var(ALSO).unwrap_or_default();
    let file = File::open(&path).unwrap();
    let state = SqliteState::open(file.clone()).unwrap();
    let kept = state.load("search", Wall(NOW + HOUR)).unwrap();
    let rows = kept.upstreams.iter();
    let first = 1 + rows.map(|kept| kept.row.failures.into()).max().unwrap_or(0);
    let begun = Instant::now();
    let taken_in = AtomicU64::new(first - 1);
    thread::scope(|scope| {
        if also.contains("flush") {
            scope.spawn(|| {
                loop {
                    let saves = taken_in.load(SeqCst);
                    state.flush().unwrap();
                    println!("committed {saves}");
                }
            });
        }
        if also.contains("backup") {
            scope.spawn(|| {
                for n in 0.. {
                    file.backup(&copy(Path::new(&path), n)).unwrap();
                }
            });
        }
        for n in first.. {
            match state.save("search", change(n)) {
                Err(Error::Full) => {
                    // The machine stalled for seconds. Only the agenda's part was refused.
                    state.flush().unwrap();
                    state.save("search", agenda(n)).unwrap();
                }
                done => done.unwrap(),
            }
            taken_in.store(n, SeqCst);
            println!("saved {n} {}", begun.elapsed().as_micros());
        }
    });
}

fn copy(path: &Path, n: u64) -> PathBuf {
    path.with_file_name(format!("copy-{n}.db"))
}

/// What a victim printed before it died.
#[derive(Debug, Default)]
struct Told {
    /// Number of each save and when it was accepted, in microseconds.
    saved: Vec<(u64, u64)>,
    committed: u64,
}

impl Told {
    fn line(&mut self, line: &str) {
        let mut words = line.split(' ');
        let (what, n, at) = (words.next(), words.next(), words.next());
        let number = |word: Option<&str>| word.and_then(|word| word.parse().ok());
        match (what, number(n), number(at)) {
            (Some("saved"), Some(n), Some(at)) => self.saved.push((n, at)),
            (Some("committed"), Some(n), None) => self.committed = n,
            _ => {}
        }
    }

    /// How long before the end the oldest missing save was accepted.
    fn lost(&self, saves: u64) -> Duration {
        let missing = self.saved.iter().find(|(n, _)| *n > saves);
        let last = self.saved.last();
        let micros = missing
            .zip(last)
            .map_or(0, |(missing, last)| last.1 - missing.1);
        Duration::from_micros(micros)
    }
}

fn started(path: &Path, also: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "victim", "--ignored", "--nocapture"])
        .env(FILE, path)
        .env(ALSO, also)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Lets a victim write, kills it `after` its first line (or its start) and returns what it printed.
fn killed(path: &Path, also: &str, speaks_first: bool, after: Duration) -> Told {
    let mut victim = started(path, also);
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let (speaks, spoken) = sync_channel(1);
    let (ends, ended) = sync_channel::<()>(1);
    let listener = thread::spawn(move || {
        let mut told = Told::default();
        // The last line may be incomplete.
        for line in lines.map_while(Result::ok) {
            told.line(&line);
            if told.saved.len() == 1 {
                let _ = speaks.try_send(());
            }
        }
        drop(ends);
        told
    });
    if speaks_first {
        spoken.recv().expect("the victim came to write");
    }
    let over = ended.recv_timeout(after);
    assert!(
        matches!(over, Err(RecvTimeoutError::Timeout)),
        "the victim ended by itself"
    );
    victim.kill().unwrap();
    victim.wait().unwrap();
    listener.join().unwrap()
}

#[test]
fn a_hundred_kills_leave_a_file_that_opens_and_lacks_nothing_committed() {
    let seed = env::var(SEED).ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| RandomState::new().hash_one(0));
    println!("{SEED}={seed}");
    let mut random = Random(seed);
    let mut directory = tempfile::tempdir().unwrap();
    let (mut late, mut most_lost, mut total) = (0, Duration::ZERO, 0);
    for kill in 0..KILLS {
        if kill % LONG == 0 {
            directory = tempfile::tempdir().unwrap();
        }
        let path = directory.path().join("state.db");
        let long = kill % LONG == LONG - 1;
        // A long run tests commits that nobody waits for; a flush would speed them up.
        let also = &["", "backup", "flush", "flush backup"][..if long { 2 } else { 4 }];
        let also = also[random.below(also.len() as u64) as usize];
        let (speaks_first, after) = match random.below(8) {
            _ if long => (true, 1_200_000 + random.below(500_000)),
            0 => (false, random.below(30_000)),
            _ => (true, random.below(100_000)),
        };
        let after = Duration::from_micros(after);
        let told = killed(&path, also, speaks_first, after);
        let saves = saves(&path);
        let lost = told.lost(saves);
        println!("kill {kill}, also {also:?}, after {after:?}: {saves} saves, {lost:?} lost");
        assert!(saves >= told.committed, "{} were committed", told.committed);
        late += u64::from(lost > Duration::from_secs(1));
        most_lost = most_lost.max(lost);
        total += told.saved.len();
        copies_are_whole(&path, saves);
    }
    println!("{total} saves; at most {most_lost:?} before the end were lost");
    assert!(total > 0);
    // A store that commits too rarely is late at every long kill; a busy machine may delay the writer a few times.
    assert!(
        late <= KILLS / LONG / 2,
        "{late} times more than a second was lost"
    );
}

/// Checks the finished backups, and deletes them.
fn copies_are_whole(path: &Path, saves: u64) {
    let copies: Vec<PathBuf> = (0..)
        .map(|n| copy(path, n))
        .take_while(|copy| copy.exists())
        .collect();
    if let Some(last) = copies.last() {
        assert!(
            self::saves(last) <= saves,
            "a copy holds what its original lost"
        );
    }
    for copy in copies {
        fs::remove_file(copy).unwrap();
    }
}

/// SplitMix64: the same seed gives the same timing.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}
