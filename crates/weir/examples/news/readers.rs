//! Newsreaders over NNTP: overviews that are known, and many who only sit there.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use tokio::time::Instant;
use weir_testkit::inn::Inn;

use crate::bars::{Bars, Side};
use crate::cold::overview;
use crate::corpus::{Corpus, LIST};
use crate::rig::{Rig, millis};

/// Newsreaders at rest.
const SITTING: usize = 1000;

/// How long they are watched.
const REST: Duration = Duration::from_secs(10);

/// The overview of a whole newsgroup, which Weir knows already, against what INN takes to send the same.
pub(crate) fn overviews(bars: &mut Bars, inn: &Inn, corpus: &Corpus) {
    let rig = Rig::start(inn.address());
    // The first one fetches the lines.
    overview(rig.nntp, corpus.len());
    let (mut own, mut weir, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bars.runs {
        let inn_took = overview(inn.address(), corpus.len());
        let took = overview(rig.nntp, corpus.len());
        own.push(inn_took);
        weir.push(took);
        ratios.push(inn_took / took);
    }
    bars.tell("OVER of 5,000: INN, ms", &own);
    bars.tell("OVER of 5,000: Weir, lines known, ms", &weir);
    bars.hold("  Weir's rate / INN's", Side::AtLeast, 0.5, &ratios);
}

/// Memory and processor time of newsreaders that have selected a newsgroup and do nothing.
#[expect(clippy::disallowed_methods, reason = "nothing is to happen meanwhile")]
pub(crate) fn at_rest(bars: &Bars, inn: &Inn) {
    let rig = Rig::start(inn.address());
    drop(sit(rig.nntp));
    let (before, _) = rig.memory();
    let sitting: Vec<TcpStream> = (0..SITTING).map(|_| sit(rig.nntp)).collect();
    let (after, _) = rig.memory();
    let each = (after - before) / SITTING as f64 / 1024.0;
    bars.tell("1,000 newsreaders at rest: kB each", &[each]);
    let (start, used) = (Instant::now(), rig.processor());
    std::thread::sleep(REST);
    let share = (rig.processor() - used) / millis(start) * 100.0;
    bars.tell("  processor time, % of one core", &[share]);
    let mut first = &sitting[0];
    first.write_all(b"DATE\r\n").unwrap();
    assert!(answer(first).starts_with("111"), "they are still there");
}

/// A newsreader that selects a newsgroup.
fn sit(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    assert!(answer(&stream).starts_with("20"));
    write!(stream, "GROUP {LIST}\r\n").unwrap();
    assert!(answer(&stream).starts_with("211"));
    stream
}

/// The line that a server sends next.
fn answer(mut stream: &TcpStream) -> String {
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        let mut byte = [0];
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "it went away");
        line.push(byte[0]);
    }
    String::from_utf8_lossy(&line).into_owned()
}
