//! Pages that nobody has asked for before.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::time::Instant;
use weir_testkit::inn::Inn;
use weir_testkit::tap::Tap;

use crate::bars::{Bars, Side};
use crate::corpus::{Corpus, LARGE, LIST, SMALL, THREADS};
use crate::rig::{Rig, millis};

/// Threads on a page of a newsgroup.
pub(crate) const PAGE: usize = 50;

/// Time that may be added to what INN takes.
const ADDED: f64 = 30.0;

/// A newsgroup's deepest page, for which all of it is fetched, against what INN takes to send the same.
pub(crate) fn whole_list(bars: &mut Bars, inn: &Inn, corpus: &Corpus) {
    let deepest = corpus.roots.len().div_ceil(PAGE);
    let (mut own, mut weir, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bars.runs {
        let inn_took = overview(inn.address(), corpus.len());
        let rig = Rig::start(inn.address());
        // So there is a connection.
        rig.fetch("/news");
        let (took, page) = rig.fetch(&format!("/news/{LIST}?page={deepest}"));
        assert!(
            page.contains(&format!("{} threads", corpus.roots.len())),
            "not all: {page}"
        );
        own.push(inn_took);
        weir.push(took);
        ratios.push((took - ADDED) / inn_took);
    }
    bars.tell("5,000 articles: INN's OVER, ms", &own);
    bars.tell("5,000 articles: deepest page cold, ms", &weir);
    bars.hold("  (that - 30 ms) / INN", Side::AtMost, 2.0, &ratios);
}

/// How long a server takes to send an overview, from the command to the last byte. The newsgroup is selected in the same
/// breath: INN writes an answer in two pieces, and between them would wait for an acknowledgement that the kernel delays.
pub(crate) fn overview(address: SocketAddr, count: usize) -> f64 {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut piece = vec![0; 256 << 10];
    for command in ["", "MODE READER\r\n"] {
        stream.write_all(command.as_bytes()).unwrap();
        let read = stream.read(&mut piece).unwrap();
        assert!(piece[..read].starts_with(b"20"), "it does not greet");
    }
    let commands = format!("GROUP {LIST}\r\nOVER 1-{count}\r\n");
    let start = Instant::now();
    stream.write_all(commands.as_bytes()).unwrap();
    let mut all = Vec::new();
    while !all.ends_with(b"\r\n.\r\n") {
        let read = stream.read(&mut piece).unwrap();
        assert!(read > 0, "it went away");
        all.extend_from_slice(&piece[..read]);
    }
    let took = millis(start);
    // Beside the lines themselves: two that begin an answer, and one that ends it.
    let sent = all.iter().filter(|byte| **byte == b'\n').count() - 3;
    assert_eq!(sent, count, "lines sent");
    took
}

/// The first page of a large newsgroup against that of a small one.
pub(crate) fn first_page(bars: &mut Bars, runtime: &Runtime, inn: &Inn) {
    let tap = runtime.block_on(Tap::start(inn.address())).unwrap();
    let (mut small, mut large, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for run in 0..bars.runs {
        let rig = Rig::start(tap.address());
        // So there is a connection, and the format of overviews is known.
        rig.fetch(&format!("/news/{THREADS}"));
        let mut pair = [(SMALL, 0.0, Vec::new()), (LARGE, 0.0, Vec::new())];
        if run % 2 == 1 {
            pair.reverse();
        }
        for (name, took, asked) in &mut pair {
            settled(&tap);
            tap.forget();
            *took = rig.fetch(&format!("/news/{name}")).0;
            *asked = settled(&tap);
        }
        pair.sort_by_key(|(name, ..)| *name != SMALL);
        let [(_, one, asked), (_, other, asked_too)] = pair;
        assert_eq!(asked, asked_too, "the same commands for the same lines");
        small.push(one);
        large.push(other);
        ratios.push(other / one);
    }
    bars.tell("first page of 1,000 articles cold, ms", &small);
    bars.tell("first page of 100,000 articles cold, ms", &large);
    bars.hold(
        "  large / small, same commands and lines",
        Side::AtMost,
        1.5,
        &ratios,
    );
}

/// What was asked, once nothing more is: commands, and of ranges how many numbers they have.
#[expect(
    clippy::disallowed_methods,
    reason = "nothing tells that no command will come"
)]
pub(crate) fn settled(tap: &Tap) -> Vec<(String, u64)> {
    let mut known = usize::MAX;
    while known != tap.commands().len() {
        known = tap.commands().len();
        std::thread::sleep(Duration::from_millis(250));
    }
    let mut asked: Vec<(String, u64)> = tap
        .commands()
        .iter()
        .map(|command| {
            let mut words = command.line.split(' ');
            let verb = words.next().unwrap_or_default().to_owned();
            let range = words.next().and_then(|range| range.split_once('-'));
            let numbers = range.and_then(|(low, high)| {
                Some(high.parse::<u64>().ok()? + 1 - low.parse::<u64>().ok()?)
            });
            (verb, numbers.unwrap_or(0))
        })
        .collect();
    asked.sort();
    asked
}

/// A thread of 20 articles from a server that is 80 ms away.
pub(crate) fn one_thread(bars: &mut Bars, runtime: &Runtime, inn: &Inn, corpus: &Corpus) {
    let tap = runtime.block_on(Tap::start(inn.address())).unwrap();
    let mut times = Vec::new();
    for run in 0..bars.runs {
        let rig = Rig::start(tap.address());
        rig.fetch(&format!("/news/{THREADS}"));
        settled(&tap);
        tap.round_trip(Duration::from_millis(80));
        let root = &corpus.roots[run % corpus.roots.len()];
        let (took, page) = rig.fetch(&format!("/news/{THREADS}/{}", root.replace('$', "%24")));
        assert!(
            page.matches("as in the last survey").count() >= 20,
            "not all: {page}"
        );
        times.push(took);
        tap.round_trip(Duration::ZERO);
    }
    bars.hold(
        "thread of 20 cold at 80 ms round trip, ms",
        Side::AtMost,
        250.0,
        &times,
    );
}
