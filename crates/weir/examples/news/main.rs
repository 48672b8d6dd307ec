//! The news front with figures: Weir before a real INN on this machine, measured against the bars that it has to meet.
//!
//!     cargo run --release -p weir --example news -- [RUNS] [list] [cold] [warm] [readers] [memory]
//!
//! Needs INN and wrk (`cargo xtask setup`). Without a word all parts are measured; `list` is the first of `cold`. Runs of what is compared take turns, and
//! each is compared with what was measured beside it, because machines are noisy. A bar is missed, and the exit code says
//! so, if three quarters of the runs miss it.

#![expect(clippy::print_stdout, reason = "a program for people who measure")]
#![expect(
    clippy::unwrap_used,
    reason = "a measurement that cannot go on says where it stopped"
)]

mod bars;
mod cold;
mod corpus;
mod memory;
mod readers;
mod rig;
mod warm;

use std::process::ExitCode;

use clap::Parser;
use tokio::runtime::Runtime;
use weir::cli::{Cli, Command};
use weir_testkit::inn::{Inn, Options};

use self::bars::Bars;
use self::corpus::{Corpus, LARGE, LIST, SMALL, THREADS};

/// Runs of each measurement.
const RUNS: usize = 9;

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().collect();
    if words.get(1).is_some_and(|word| word == rig::SERVE) {
        words.remove(1);
        return serve(words);
    }
    words.remove(0);
    let runs = words.iter().find_map(|word| word.parse().ok());
    let part = |name: &str| {
        let mut parts = words.iter().filter(|word| word.parse::<usize>().is_err());
        parts.clone().next().is_none() || parts.any(|word| word == name)
    };
    let runtime = Runtime::new().unwrap();
    let mut bars = Bars::new(runs.unwrap_or(RUNS));
    let many = memory::newsgroups();
    let mut names = vec![LIST, SMALL, LARGE, THREADS];
    names.extend(many.iter().map(String::as_str));
    let inn = runtime.block_on(Inn::start(Options::with(&names))).unwrap();
    let feed = |corpus: &Corpus| runtime.block_on(inn.feed(corpus.articles())).unwrap();
    if part("list") || part("cold") || part("warm") || part("readers") {
        let [list, threads] = [Corpus::new(LIST, 5_000), Corpus::threads(THREADS, 12, 20)];
        feed(&list);
        feed(&threads);
        if part("list") || part("cold") {
            cold::whole_list(&mut bars, &inn, &list);
        }
        if part("cold") {
            let [small, large] = [Corpus::new(SMALL, 1_000), Corpus::new(LARGE, 100_000)];
            feed(&small);
            feed(&large);
            cold::first_page(&mut bars, &runtime, &inn);
            cold::one_thread(&mut bars, &runtime, &inn, &threads);
        }
        if part("warm") {
            warm::pages(&mut bars, &inn, &threads);
        }
        if part("readers") {
            readers::overviews(&mut bars, &inn, &list);
            readers::at_rest(&bars, &inn);
        }
    }
    if part("memory") {
        let corpus = Corpus::new(&many.join(","), memory::LINES);
        feed(&corpus);
        memory::lines(&mut bars, &runtime, &inn, &many, &corpus);
    }
    bars.end()
}

/// This program is Weir, too: so there is one binary to build, and it is the one that is measured.
fn serve(words: Vec<String>) -> ExitCode {
    match Cli::parse_from(words).chosen().unwrap() {
        Command::Serve(settings) => {
            let sources = settings.sources();
            let config = weir::config::load(&sources).unwrap();
            weir::serve::run(config, sources, weir::serve::Manner::Service).unwrap()
        }
        _ => ExitCode::FAILURE,
    }
}
