//! Answers and commands that are kept: in the style of real programs, and what the fuzzer once
//! tripped over.

use std::fs;
use std::path::{Path, PathBuf};

use weir_news_proto::list::{Active, Counted, Created, Described, ListedHeaders, PostingStatus};
use weir_news_proto::overview::parse_value_line;
use weir_news_proto::{
    ArticleRange, Articles, BlockReader, Capabilities, Command, Error, OverviewFormat,
    OverviewLine, Reply, Verb, Xref, date, id,
};

#[path = "../../../../fuzz/news_properties.rs"]
mod properties;

type Property = fn(&[u8]);

/// 2026-11-15 10:00:00 UTC, the time of all samples.
const TIME: i64 = 1_794_736_800;

#[test]
fn kept_bytes_keep_the_fuzzers_properties() {
    let properties: [(&str, Property); 4] = [
        ("nntp_command", properties::nntp_command),
        ("nntp_answer", properties::nntp_answer),
        ("nntp_overview", properties::nntp_overview),
        ("nntp_wildmat", properties::nntp_wildmat),
    ];
    for (name, property) in properties {
        let mut kept = files(&recorded().join(name));
        kept.extend(files(&root().join("../../fuzz/seeds").join(name)));
        assert!(!kept.is_empty(), "nothing kept for {name}");
        for path in kept {
            property(&fs::read(&path).expect("a file"));
        }
    }
}

#[test]
fn greetings() {
    let posting = |name| Reply::parse(&kept(name)).expect(name).posting();
    assert_eq!(posting("inn-greeting"), Ok(true));
    assert_eq!(
        posting("inn-greeting-full"),
        Err(Error::UnexpectedReply(502))
    );
}

#[test]
fn inns_capabilities() {
    let lines = answer("inn-capabilities", Verb::Capabilities);
    let capabilities = Capabilities::parse(lines.iter().map(Vec::as_slice));
    for label in ["READER", "OVER", "HDR", "POST", "STARTTLS", "XPAT"] {
        assert!(capabilities.has(label), "{label}");
    }
    assert!(capabilities.offers("COMPRESS", "DEFLATE"));
    assert!(capabilities.offers("LIST", "COUNTS") && capabilities.offers("AUTHINFO", "USER"));
    assert!(!capabilities.offers("OVER", "MSGID") && !capabilities.needs_mode_reader());
    assert!(
        capabilities
            .arguments("IMPLEMENTATION")
            .eq(["INN", "2.7.1"])
    );
}

#[test]
fn inns_newsgroups() {
    let lines = answer("inn-list-active", Verb::List);
    let active: Vec<Active<'_>> = lines
        .iter()
        .map(|line| Active::parse(line).expect("a line"))
        .collect();
    assert_eq!(active.len(), 8);
    assert_eq!(
        (active[0].newsgroup, active[0].numbers()),
        ("control", None)
    );
    assert_eq!(active[3].status, PostingStatus::Moderated);
    assert_eq!(active[4].numbers(), Some(1..=5_000));
    assert_eq!(
        (active[5].status, active[5].numbers()),
        (PostingStatus::Closed, None)
    );
    assert_eq!(active[7].status, PostingStatus::Alias("local.test"));

    let lines = answer("inn-list-counts", Verb::List);
    let counted = Counted::parse(&lines[2]).expect("a line");
    assert_eq!(
        (counted.active.newsgroup, counted.count),
        ("local.general", 4_987)
    );
    assert_eq!(counted.active.numbers(), Some(1..=5_000));
    assert!(lines.iter().all(|line| Counted::parse(line).is_ok()));

    let lines = answer("inn-list-newsgroups", Verb::List);
    let described = Described::parse(&lines[3]).expect("a line");
    assert_eq!(described.text, b"For testing only; gr\xfc\xdfe.");

    let lines = answer("inn-list-active-times", Verb::List);
    let created = Created::parse(&lines[2]).expect("a line");
    assert_eq!(
        (created.at, created.creator),
        (1_790_003_600, &b"Some One <one@example.net>"[..])
    );
}

#[test]
fn inns_overview() {
    let lines = answer("inn-overview-fmt", Verb::List);
    let format = OverviewFormat::parse(lines.iter().map(Vec::as_slice)).expect("a format");
    assert_eq!(format, OverviewFormat::with_xref());
    let lines = answer("inn-over", Verb::Over);
    let rows: Vec<OverviewLine<'_>> = lines
        .iter()
        .map(|line| OverviewLine::parse(line).expect("a line"))
        .collect();
    assert_eq!(
        rows.iter().map(|row| row.number).collect::<Vec<_>>(),
        [1, 2, 4, 5]
    );
    assert_eq!(rows[1].subject, b"Re: First post");
    assert_eq!(rows[1].id().expect("an ID").bare(), "second.2@example.org");
    assert_eq!((rows[1].bytes, rows[1].lines), (Some(845), Some(14)));
    assert_eq!((rows[3].bytes, rows[3].lines), (Some(399), None));
    let ids = id::references(rows[2].references);
    assert_eq!(ids[1], rows[1].id().expect("an ID"));
    let dates: Vec<_> = rows.iter().map(|row| date::parse(row.date)).collect();
    assert_eq!(
        dates,
        [0, 733, 1_800, 2_700].map(|later| Some(TIME + later))
    );
    let xref = Xref::parse(format.value(&rows[1], "Xref").expect("an Xref")).expect("places");
    assert_eq!(xref.server, b"news.example.net");
    assert!(xref.places().eq([("local.general", 2), ("local.test", 40)]));
    let empty = kept("inn-over-empty");
    let empty = Reply::parse(&empty).expect("a reply");
    assert!(empty.code == 423 && !Verb::Over.carries_block(empty.code));
}

#[test]
fn inns_headers() {
    let lines = answer("inn-list-headers", Verb::List);
    let listed = ListedHeaders::parse(lines.iter().map(Vec::as_slice));
    assert!(listed.any && listed.names.len() == 2);
    for (name, verb) in [("inn-hdr", Verb::Hdr), ("inn-xhdr", Verb::Xhdr)] {
        let lines = answer(name, verb);
        let numbers: Vec<u64> = lines
            .iter()
            .map(|line| parse_value_line(line).expect("a value").0)
            .collect();
        assert_eq!(numbers[..2], [1, 2], "{name}");
    }
}

#[test]
fn inns_selected_newsgroups_and_found_articles() {
    let selected = |name| {
        let line = kept(name);
        Reply::parse(&line)
            .expect("a reply")
            .selected()
            .map(|selected| selected.numbers())
    };
    assert_eq!(selected("inn-group"), Ok(Some(1..=5_000)));
    assert_eq!(selected("inn-group-empty"), Ok(None));
    assert_eq!(
        selected("inn-group-unknown"),
        Err(Error::UnexpectedReply(411))
    );
    assert_eq!(
        answer("inn-listgroup", Verb::ListGroup),
        [&b"7"[..], b"8", b"42"]
    );
    assert_eq!(
        Reply::parse(&kept("inn-date")).expect("a reply").date(),
        Ok(TIME)
    );
    let located = Reply::parse(&kept("inn-stat")).expect("a reply").located();
    assert_eq!(located.expect("an article").number, 2);
    let failed = kept("inn-post-failed");
    let failed = Reply::parse(&failed).expect("a reply");
    assert_eq!(
        (failed.code, failed.message().as_str()),
        (441, "437 Missing required From header field")
    );
}

#[test]
fn inns_article() {
    let lines = answer("inn-article", Verb::Article);
    assert_eq!(
        lines[lines.len() - 2..],
        [&b"."[..], b"..and a line that begins with dots."]
    );
    let article = lines.join(&b"\r\n"[..]);
    let mut line = Vec::new();
    OverviewFormat::with_xref().write_from_head(2, &article, (Some(845), None), &mut line);
    let row = OverviewLine::parse(&line).expect("we wrote it");
    let over = answer("inn-over", Verb::Over);
    let inns = OverviewLine::parse(&over[1]).expect("a line");
    // INN counted the lines itself; here the header says.
    assert_eq!(
        OverviewLine {
            lines: inns.lines,
            ..row
        },
        inns
    );
    assert_eq!(row.lines, Some(6));
}

#[test]
fn newsreaders_commands() {
    let commands = |name: &str| -> Vec<Result<Command, Error>> {
        let session = fs::read(recorded().join("nntp_command").join(name)).expect(name);
        let lines = session.split_inclusive(|byte| *byte == b'\n');
        lines.map(Command::parse).collect()
    };
    assert!(commands("tin-2.6.2").iter().all(Result::is_ok));
    let slrn = commands("slrn-1.0.3");
    assert!(slrn.iter().all(Result::is_ok));
    assert_eq!(slrn[1], Ok(Command::Xover(Articles::Current)));
    let range = ArticleRange::Between(1, 5_000);
    assert_eq!(slrn[5], Ok(Command::Xover(Articles::Range(range))));
    let thunderbird = commands("thunderbird");
    // A list from before RFC 3977, which servers answer with 501 or 503.
    assert_eq!(thunderbird[1], Err(Error::UnknownVariant));
    assert_eq!(
        thunderbird
            .iter()
            .filter(|command| command.is_err())
            .count(),
        1
    );
    let Ok(Command::AuthPass(password)) = &thunderbird[5] else {
        panic!("{thunderbird:?}");
    };
    assert_eq!(password.reveal(), "some password");
    assert!(commands("everything").iter().all(Result::is_ok));
}

pub(crate) fn recorded() -> PathBuf {
    root().join("tests/recorded")
}

/// The files of a directory, sorted.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    files
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn kept(name: &str) -> Vec<u8> {
    fs::read(recorded().join("nntp_answer").join(name)).expect(name)
}

/// The lines of a kept block, which must be what this command is answered with.
fn answer(name: &str, verb: Verb) -> Vec<Vec<u8>> {
    let answer = kept(name);
    let first = answer
        .iter()
        .position(|byte| *byte == b'\n')
        .expect("a line")
        + 1;
    let reply = Reply::parse(&answer[..first]).expect("a reply");
    assert!(verb.carries_block(reply.code), "{name}: {}", reply.code);
    let mut reader = BlockReader::new(answer.len());
    let fed = reader.feed(&answer[first..]);
    assert!(fed.done && fed.used == answer.len() - first, "{name}");
    let mut lines = Vec::new();
    while let Some(line) = reader.next_line() {
        lines.push(line.to_vec());
    }
    lines
}
