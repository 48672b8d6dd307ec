//! How long the first page takes, with figures: a Weir with 500 upstreams and 10,000 decisions, asked for its overview and its
//! list of upstreams right after a start and again and again.
//!
//!     cargo build --release -p weir
//!     cargo run --release -p weir --example first_page -- target/release/weir [STARTS]
//!
//! Each time is that of a whole visit: connection, request, and the last byte of the page. The exit code says whether the median
//! of each page is within a tenth of a second, cold and warm.

#![expect(clippy::print_stdout, reason = "a program for people who measure")]

#[path = "measured/field.rs"]
mod field;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::Instant;

use self::field::{Field, Upstreams};

const DECISIONS: usize = 10_000;
/// Visits of each page after the first.
const VISITS: usize = 100;
const PAGES: [&str; 2] = ["/", "/upstreams"];
/// How long a page may take.
const BAR: Duration = Duration::from_millis(100);

#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let Some(weir) = words.next().map(PathBuf::from) else {
        println!("usage: first_page WEIR [STARTS]");
        return ExitCode::from(2);
    };
    let starts = words
        .next()
        .map_or(9, |word| word.parse().expect("a number"));
    let upstreams = Upstreams::start().await;
    let directory = TempDir::new().expect("a directory");
    upstreams.configure(directory.path());
    let measured = thread::spawn(move || measure(&weir, directory.path(), starts));
    // The upstreams answer on this thread meanwhile.
    while !measured.is_finished() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    match measured.join().expect("it measures") {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn measure(weir: &Path, directory: &Path, starts: usize) -> bool {
    fill(&Field::start(weir, directory));
    let [mut cold, mut warm] = [(); 2].map(|()| PAGES.map(|_| Vec::new()));
    let mut spent = Duration::ZERO;
    for _ in 0..starts {
        let field = Field::start(weir, directory);
        for (page, cold) in PAGES.iter().zip(&mut cold) {
            cold.push(visit(&field, page));
        }
        let known = count_decisions(&field);
        assert!(known >= DECISIONS, "{known} decisions after a start");
        let before = field.cpu();
        for (page, warm) in PAGES.iter().zip(&mut warm) {
            warm.extend((0..VISITS).map(|_| visit(&field, page)));
        }
        spent += field.cpu() - before;
    }
    let each = spent / u32::try_from(starts * VISITS * PAGES.len()).expect("few");
    println!("{starts} starts, processor time of a warm page {each:.1?}");
    let mut good = true;
    for (place, page) in PAGES.iter().enumerate() {
        for (name, times) in [("cold", &mut cold[place]), ("warm", &mut warm[place])] {
            times.sort();
            let (median, worst) = (times[times.len() / 2], times[times.len() - 1]);
            println!("{page} {name}: median {median:.1?}, worst {worst:.1?}");
            good &= median <= BAR;
        }
    }
    good
}

/// Announces new torrents until there are enough decisions; each goes to a hundred trackers.
fn fill(field: &Field) {
    field.search();
    let begin = Instant::now();
    while count_decisions(field) < DECISIONS {
        assert!(begin.elapsed() < Duration::from_secs(300), "too few");
        (0..10).for_each(|_| field.announces(1, 1));
        thread::park_timeout(Duration::from_millis(500));
    }
    let announced = field.hashes.load(Ordering::Relaxed);
    println!("filled by {announced} announces");
}

/// The time of a whole visit.
fn visit(field: &Field, page: &str) -> Duration {
    let begin = Instant::now();
    let answer = field.get(page);
    let took = begin.elapsed();
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{page} is there");
    assert!(answer.ends_with(b"</html>\n") || answer.ends_with(b"</html>"));
    took
}

/// How many decisions all upstreams together remember.
fn count_decisions(field: &Field) -> usize {
    let (mut count, mut before) = (0, String::new());
    loop {
        let answer = field.get(&format!("/api/v1/decisions?limit=500&before={before}"));
        let body = answer.windows(4).position(|four| four == b"\r\n\r\n");
        let body = &answer[body.expect("a head") + 4..];
        let page: serde_json::Value = serde_json::from_slice(body).expect("JSON");
        count += page["decisions"].as_array().map_or(0, Vec::len);
        match page["before"].as_str() {
            Some(cursor) if count < DECISIONS => before = cursor.to_owned(),
            _ => return count,
        }
    }
}
