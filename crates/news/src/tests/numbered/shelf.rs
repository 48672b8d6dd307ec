//! Articles that have left the memory: the file says whose number is whose.

use weir_news_proto::OverviewLine;
use weir_store::sqlite::File;

use super::super::restart::{Machine, stop};
use super::*;
use crate::lines::SentLine;
use crate::newsgroup::{HeldNewsgroup, OpenNewsgroup, WindowSize};
use crate::numbers::{Marks, Numbering, ServerId};
use crate::outbound::SelectedNumbers;
use crate::store::{Kept, KeptLine, NewsFile, ReadLine};

const SERVER: ServerId = ServerId(1);

/// A line that a server sends.
fn sent(theirs: u64, article: u64) -> SentLine {
    let id = id(article).to_string();
    let line = OverviewLine {
        number: theirs,
        subject: b"A subject",
        message_id: id.as_bytes(),
        ..OverviewLine::default()
    };
    SentLine::of(&line).expect("a line")
}

#[test]
fn an_article_that_is_in_the_file_alone_keeps_its_number_and_its_number_keeps_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = NewsFile::open(Some(directory.path().join("news.db")), 64 << 20);
    let name = group("misc.test");
    let line = |number: u64| KeptLine {
        number: Some(number),
        line: sent(0, number).kept.into(),
    };
    let kept = Kept {
        lines: [1, 2]
            .into_iter()
            .map(line)
            .filter_map(ReadLine::of)
            .collect(),
        ..Kept::default()
    };
    file.keep(&name, kept);
    file.flush();
    let held = HeldNewsgroup {
        beyond: true,
        ..HeldNewsgroup::default()
    };
    let open = OpenNewsgroup::new(name, held);
    let said = SelectedNumbers {
        count: 2,
        numbers: Some((1, 2)),
    };
    let size = WindowSize {
        lines: 500,
        single: false,
    };
    open.seen(SERVER, said, (&[], Marks::default()), size);
    // By its numbers the server means other articles than before: one that nobody has seen, and the first one.
    let taken = open.take_in(SERVER, &(1..=2), &[sent(1, 9), sent(2, 1)], (&file, 0));
    assert_eq!(taken.numbering, Numbering::New);
    assert_eq!(taken.numbers, [Some(3), Some(1)]);
    file.close();
}

#[tokio::test]
async fn a_server_that_counts_anew_gives_nobody_another_number() {
    let machine = Machine::new(400).await;
    machine.server.renumber("misc.test", 1001);
    let name = group("misc.test");
    // So little memory that few lines are held; and each look asks the server.
    let model = machine.start(|config| {
        config.cache.memory = (100 << 10).into();
        config.cache.threads = std::time::Duration::ZERO;
    });
    let marks = async || {
        let marks = model.numbered(&name, READER).await.expect("marks");
        (marks.low, marks.high)
    };
    assert_eq!(marks().await, (1001, 1400));
    let read = lines(&model, "misc.test", 1001..=1400).await;
    let read = read.expect("lines");
    let numbers = (1..=400).map(|n| (1000 + n, id(n)));
    assert_eq!(named(&read), numbers.collect::<Vec<_>>());
    let open = model.open(&name).await;
    let held = open.with(|state| state.table.articles());
    assert!(held < 100, "{held} are held");
    machine.server.renumber("misc.test", 1);
    assert_eq!(marks().await, (1001, 1400));
    let again = lines(&model, "misc.test", 1001..=1400).await;
    assert_eq!(again, Ok(read));
    for number in [1, 200, 400] {
        let known = model.number_of(&name, &id(number)).await;
        assert_eq!(known, Some(1000 + number));
    }
    stop(model).await;
}

#[tokio::test]
async fn lines_that_the_file_has_lost_are_fetched_again_and_not_taken_for_holes() {
    let machine = Machine::new(100).await;
    let name = group("misc.test");
    let model = machine.start(|config| config.cache.memory = (100 << 10).into());
    model.numbered(&name, READER).await.expect("marks");
    let read = lines(&model, "misc.test", 1..=100).await.expect("lines");
    assert_eq!(named(&read), same(1..=100));
    let open = model.open(&name).await;
    let held = open.with(|state| state.table.articles());
    assert!(held < 100, "{held} are held");
    model.file.flush();
    let lost = File::amend(&machine.file, |news| {
        news.execute("DELETE FROM news_line", [])
    });
    assert!(lost.expect("a file") >= 100);
    let again = lines(&model, "misc.test", 1..=100).await;
    assert_eq!(again, Ok(read.clone()), "the file knows the numbers");
    model.file.close();
    let again = lines(&model, "misc.test", 1..=100).await;
    assert_eq!(again, Ok(read), "nothing can be read");
    stop(model).await;
}
