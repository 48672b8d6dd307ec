//! Bytes that were made to do harm, and bytes that end too early. What would be slow here for a
//! reader that looks at something twice would not end within anyone's patience.

use weir_news_proto::list::Active;
use weir_news_proto::{
    BlockReader, Capabilities, Command, Error, OverviewFormat, OverviewLine, Reply, Xref, date, id,
};

use crate::recorded::{files, recorded};

const MEGABYTE: usize = 1024 * 1024;

/// Enough for a square of it to be noticed.
const MUCH: usize = MEGABYTE / 4;

#[test]
fn many_small_things_take_no_longer_than_few_large_ones() {
    for unit in [
        "<",
        ">",
        "<>",
        "<a@b>",
        "<a@b",
        "< ",
        "\t",
        "\t<a>",
        "<a>\t\t1\t1\t",
    ] {
        let many = unit.repeat(MUCH / unit.len());
        assert!(id::references(many.as_bytes()).len() <= id::MAX_REFERENCES);
        let line = format!("1\t{many}");
        OverviewLine::parse(line.as_bytes()).expect("a number");
        assert!(date::parse(many.as_bytes()).is_none());
    }
    for unit in ["a:1 ", ":", " ", "a:99999999999999999999 "] {
        let many = format!("h {}x:1", unit.repeat(MUCH / unit.len()));
        assert!(
            Xref::parse(many.as_bytes())
                .expect("a place")
                .places()
                .count()
                <= MUCH
        );
    }
    for unit in ["A: b\r\n", "A:\r\n ", ":\r\n", "\r\r\r\n", "a\n"] {
        let head = unit.repeat(MUCH / unit.len());
        let mut out = Vec::new();
        OverviewFormat::with_xref().write_from_head(1, head.as_bytes(), (None, None), &mut out);
        assert!(out.len() <= head.len() + 20);
    }
}

#[test]
fn lines_without_end_are_refused_or_cut() {
    let long = "9".repeat(MEGABYTE);
    assert_eq!(
        Reply::parse(format!("200 {long}").as_bytes()),
        Err(Error::LineTooLong)
    );
    assert_eq!(
        Command::parse(format!("GROUP {long}").as_bytes()),
        Err(Error::LineTooLong)
    );
    assert!(Active::parse(format!("a {long} 1 y").as_bytes()).is_err());
    assert!(Active::parse(format!("{long} 1 1 y").as_bytes()).is_err());
    assert!(OverviewLine::parse(long.as_bytes()).is_err());
    let line = format!("LIST {}", "A ".repeat(MEGABYTE));
    let capabilities = Capabilities::parse([line.as_bytes()]);
    assert!(capabilities.offers("LIST", "A"));
}

#[test]
fn no_beginning_of_an_answer_is_taken_for_the_whole() {
    for path in files(&recorded().join("nntp_answer")) {
        let answer = std::fs::read(&path).expect("a file");
        let first = answer
            .iter()
            .position(|byte| *byte == b'\n')
            .expect("a line")
            + 1;
        let block = &answer[first..];
        for length in 0..block.len() {
            let mut reader = BlockReader::new(MEGABYTE);
            let fed = reader.feed(&block[..length]);
            assert!(
                !fed.done && fed.used == length,
                "{}: {length}",
                path.display()
            );
            assert_eq!(reader.finish(), Err(Error::Incomplete));
        }
    }
}

#[test]
fn numbers_beyond_64_bits_are_no_numbers() {
    let huge = "18446744073709551616";
    assert!(
        Reply::parse(format!("211 {huge} 1 1 a").as_bytes())
            .expect("a reply")
            .selected()
            .is_err()
    );
    assert!(
        Reply::parse(format!("223 {huge} <a@b>").as_bytes())
            .expect("a reply")
            .located()
            .is_err()
    );
    assert!(Command::parse(format!("OVER 1-{huge}").as_bytes()).is_err());
    let line = format!("1\t\t\t\t<a@b>\t\t{huge}\t{huge}");
    let line = OverviewLine::parse(line.as_bytes()).expect("a line");
    assert_eq!((line.bytes, line.lines), (None, None));
}
