//! Weir under siege, with figures: one address, then twenty, hold thousands of connections (idle, with slow
//! heads, with slow bodies), while eight clients at other addresses call both listeners.
//!
//!     cargo build --release -p weir
//!     cargo run --release -p weir --example siege -- target/release/weir [CONNECTIONS] [SECONDS]
//!
//! Needs root, because it makes its own network namespaces. Each attack is compared with the same clients without it,
//! in turns; the exit code says whether at least 99 % of their requests were answered and they made at least 0.8 times
//! as many.

#![expect(clippy::print_stdout, reason = "a program for people who measure")]

#[path = "../tests/clients/network.rs"]
#[expect(dead_code, reason = "tests use the rest")]
mod network;
#[path = "../tests/clients/siege.rs"]
#[expect(dead_code, reason = "tests use the rest")]
mod siege;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use self::siege::{Attack, Field, Sits, Until};

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let Some(weir) = words.next().map(PathBuf::from) else {
        println!("usage: siege WEIR [CONNECTIONS] [SECONDS]");
        return ExitCode::from(2);
    };
    let weir = weir.canonicalize().expect("the binary of Weir");
    let connections = words
        .next()
        .map_or(5000, |word| word.parse().expect("a number"));
    let seconds = words
        .next()
        .map_or(4, |word| word.parse().expect("a number"));
    allow_files();
    let field = Field::new(&weir, None);
    let mut good = true;
    println!("sitters              from   alone/s  under/s  ratio  answered  reopened");
    for sits in Sits::ALL {
        for addresses in [1, 20] {
            let attack = Attack {
                sits,
                addresses,
                connections,
            };
            good &= measure(&field, attack, Duration::from_secs(seconds));
        }
    }
    for (name, count) in field.ended() {
        println!("{name} {count}");
    }
    match good {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Alternates between runs alone and under attack: machines are noisy, and a median of several is less so.
const TURNS: usize = 3;

fn measure(field: &Field, attack: Attack, time: Duration) -> bool {
    let (mut right_of, mut all_of, mut reopened) = (0, 0, 0);
    let mut rates = [Vec::new(), Vec::new()];
    for _ in 0..TURNS {
        for (attack, rates) in [None, Some(attack)].into_iter().zip(&mut rates) {
            let (asked, took) = field.run(attack, Until::Over(time));
            let right = asked.right.load(Ordering::Relaxed);
            rates.push(right as f64 / took.as_secs_f64());
            if attack.is_some() {
                right_of += right;
                all_of += right + asked.wrong.load(Ordering::Relaxed);
                reopened += asked.reopened.load(Ordering::Relaxed);
            }
        }
    }
    let [alone, under] = rates.map(|mut rates| {
        rates.sort_by(f64::total_cmp);
        rates[TURNS / 2]
    });
    let answered = right_of as f64 / all_of as f64;
    let ratio = under / alone;
    println!(
        "{:20} {:4} {alone:9.0} {under:8.0} {ratio:6.2} {:8.2}% {reopened:9}",
        format!("{} {:?}", attack.connections, attack.sits),
        attack.addresses,
        answered * 100.0,
    );
    answered >= 0.99 && ratio >= 0.8
}

/// Each connection is an open file in this process too.
fn allow_files() {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, most).expect("up to its maximum, anybody may");
}
