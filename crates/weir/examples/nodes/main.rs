//! Several Weirs on one store, with figures: how soon one tells of what another heard, what that costs, and how much a
//! million peers take.
//!
//!     cargo build --release -p weir
//!     cargo run --release -p weir --example nodes -- target/release/weir lag|cost|fill|search [options]
//!
//! Needs `redis-server`. Everything runs on this machine, in directories that are removed afterwards. Costs are
//! processor time of the nodes, by turns with nodes that have no store, because machines are noisy.

#![expect(clippy::print_stdout, reason = "a program for people who measure")]
#![expect(
    clippy::unwrap_used,
    reason = "a measurement that cannot go on says where it stopped"
)]

mod announces;
mod cost;
mod fill;
mod lag;
mod rig;
mod search;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "usage: nodes WEIR lag|cost|fill|search [options]
  lag       how long until a peer that announced at one node is given out by another, under load
  cost      announces per second of processor time, with a store against without
  fill      memory of nodes and store with so many peers, and traffic until all have them
  search    what a search asks of the store
  --nodes N      nodes (3)
  --rate N       announces a second at all nodes together, for lag (5000)
  --new N        percent of announces that are of new peers, for lag (100)
  --torrents N   info hashes (10000; 100000 for fill)
  --peers N      peers of each (10)
  --seconds N    how long, for cost in each turn (30; 4 for cost)
  --rounds N     turns (7)
  --mix NAME     only this mix of announces, for cost: again, day, half or new";

/// All that was asked for.
struct Plan {
    weir: PathBuf,
    nodes: usize,
    rate: u32,
    new: u32,
    torrents: u32,
    peers: u32,
    time: Duration,
    rounds: usize,
    /// The only mix of announces, if not all are wanted.
    mix: Option<String>,
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let (Some(weir), Some(what)) = (words.next(), words.next()) else {
        println!("{USAGE}");
        return ExitCode::from(2);
    };
    let mut plan = Plan {
        weir: PathBuf::from(weir)
            .canonicalize()
            .expect("the binary of Weir"),
        nodes: 3,
        rate: 5000,
        new: 100,
        torrents: if what == "fill" { 100_000 } else { 10_000 },
        peers: 10,
        time: Duration::from_secs(if what == "cost" { 4 } else { 30 }),
        rounds: 7,
        mix: None,
    };
    while let Some(word) = words.next() {
        if word == "--mix" {
            plan.mix = words.next();
            continue;
        }
        let number = words.next().and_then(|word| word.parse::<u32>().ok());
        let Some(number) = number.filter(|number| *number > 0 || word == "--new") else {
            println!("{word} wants a number\n{USAGE}");
            return ExitCode::from(2);
        };
        match word.as_str() {
            "--nodes" => plan.nodes = number as usize,
            "--rate" => plan.rate = number,
            "--new" => plan.new = number.min(100),
            "--torrents" => plan.torrents = number,
            "--peers" => plan.peers = number,
            "--seconds" => plan.time = Duration::from_secs(number.into()),
            "--rounds" => plan.rounds = number as usize,
            _ => {
                println!("there is no option {word}\n{USAGE}");
                return ExitCode::from(2);
            }
        }
    }
    match what.as_str() {
        "lag" => lag::run(&plan),
        "cost" => cost::run(&plan),
        "fill" => fill::run(&plan),
        "search" => search::run(&plan),
        _ => {
            println!("{USAGE}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
