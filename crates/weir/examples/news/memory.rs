//! What overview lines cost the whole process, while more pass through than it holds.

use tokio::runtime::Runtime;
use weir_testkit::inn::Inn;
use weir_testkit::tap::Tap;

use crate::bars::{Bars, Side};
use crate::cold::{PAGE, settled};
use crate::corpus::Corpus;
use crate::rig::Rig;

/// Lines of each newsgroup; a little under what is held of one.
pub(crate) const LINES: usize = 50_000;

/// Newsgroups: together a million lines.
const NEWSGROUPS: usize = 20;

/// Steps to the deepest page of each; each step fetches some of what is missing.
const STEPS: usize = 5;

/// Their names.
pub(crate) fn newsgroups() -> Vec<String> {
    (0..NEWSGROUPS)
        .map(|number| format!("example.many.n{number}"))
        .collect()
}

/// Pages down to the end of all of them.
pub(crate) fn lines(
    bars: &mut Bars,
    runtime: &Runtime,
    inn: &Inn,
    newsgroups: &[String],
    corpus: &Corpus,
) {
    let tap = runtime.block_on(Tap::start(inn.address())).unwrap();
    let rig = Rig::start(tap.address());
    rig.fetch("/news");
    let (start, _) = rig.memory();
    let deepest = corpus.roots.len().div_ceil(PAGE);
    for (number, name) in newsgroups.iter().enumerate() {
        for step in 1..=STEPS {
            rig.fetch(&format!("/news/{name}?page={}", deepest * step / STEPS));
        }
        if number == 0 {
            let (now, _) = rig.memory();
            let per_line = (now - start) / LINES as f64;
            bars.tell("one newsgroup read: process, bytes per line", &[per_line]);
        }
    }
    let fetched: u64 = settled(&tap).iter().map(|(_, numbers)| numbers).sum();
    let (now, peak) = rig.memory();
    bars.tell(
        "lines that passed through, millions",
        &[fetched as f64 / 1e6],
    );
    bars.tell("process after them, MB", &[now / 1e6]);
    bars.hold(
        "process at the most, MB",
        Side::AtMost,
        200.0,
        &[peak / 1e6],
    );
}
