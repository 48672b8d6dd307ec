//! What must hold for any bytes at all, one function per group of news parsers, each named as its
//! fuzz target.
//!
//! The targets call these with made-up bytes; a test of `weir-news-proto` calls them with the
//! recorded and kept ones.

use weir_news_proto::list::{Active, Counted, Created, Described, ListedHeaders};
use weir_news_proto::overview::{parse_value_line, write_value_line};
use weir_news_proto::{
    BlockReader, Capabilities, Command, Error, MessageId, OverviewFormat, OverviewLine, Reply,
    Wildmat, Xref, block, date, id, reply, xref,
};

/// Each line that is a command is read again from what we would send a server; each other one has a
/// code that answers it.
pub(crate) fn nntp_command(bytes: &[u8]) {
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let command = match Command::parse(line) {
            Ok(command) => command,
            Err(error) => {
                assert!((500..=504).contains(&error.code()), "{error:?}");
                continue;
            }
        };
        let mut out = Vec::new();
        match command.write(&mut out) {
            Ok(()) => {
                assert!(out.len() <= 512);
                assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), 1);
                assert_eq!(Command::parse(&out), Ok(command));
            }
            // What was abbreviated is written in full.
            Err(error) => assert_eq!(error, Error::LineTooLong),
        }
    }
}

/// A first line and a block are the same however they arrive, and are read again from what we would
/// answer a client; so is each line of the block that means something.
pub(crate) fn nntp_answer(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let (first, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
    first_line(first);
    let (whole, used, lines) = read(rest, rest.len().max(1), usize::MAX);
    for size in [1, 2, 3, 7] {
        let (content, same, same_lines) = read(rest, size, usize::MAX);
        assert_eq!(
            (&content, same, &same_lines),
            (&whole, used, &lines),
            "{size}"
        );
        let (_, skipped, fewer) = read(rest, size, rest.len() / 2);
        assert_eq!(skipped, used, "{size}");
        assert!(lines.starts_with(&fewer), "{size}");
    }
    if let Ok(content) = whole {
        let mut out = Vec::new();
        block::write_block(&content, &mut out);
        let (again, length, same_lines) = read(&out, 5, usize::MAX);
        assert_eq!((length, &same_lines), (out.len(), &lines));
        assert_eq!(again, Ok(with_crlf(&content)));
    }
    lists(&lines);
}

/// A line of an overview is read again from what we would write, and so is what is in it.
pub(crate) fn nntp_overview(bytes: &[u8]) {
    let format = OverviewFormat::with_xref();
    let mut out = Vec::new();
    format.write_from_head(7, bytes, (Some(1), None), &mut out);
    assert!(!out.contains(&b'\n') && !out.contains(&b'\r') && !out.contains(&0));
    assert_eq!(OverviewLine::parse(&out).expect("we wrote it").number, 7);
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(line) = OverviewLine::parse(line) else {
            continue;
        };
        let mut out = Vec::new();
        line.write(&mut out);
        let again = OverviewLine::parse(&out).expect("we wrote it");
        assert_eq!(again.number, line.number);
        // Without an ID, one may be found in another place of the cleaned line.
        if line.id().is_some() {
            assert_eq!(
                (again.id(), again.bytes, again.lines),
                (line.id(), line.bytes, line.lines)
            );
            assert_eq!(again.subject, cleaned(line.subject));
            assert_eq!(again.references, cleaned(line.references));
        }
        references(line.references);
        if let Some(seconds) = date::parse(line.date) {
            assert_eq!(date::parse(date::write(seconds).as_bytes()), Some(seconds));
        }
        if let Some(value) = format.value(&line, "Xref").and_then(Xref::parse) {
            places(&value);
        }
    }
}

/// The first line is a wildmat and the others are names; a slow and simple matcher has the same
/// opinion of each.
pub(crate) fn nntp_wildmat(bytes: &[u8]) {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let Ok(text) = std::str::from_utf8(&first[..first.len().min(200)]) else {
        return;
    };
    let Ok(wildmat) = text.parse::<Wildmat>() else {
        return;
    };
    assert_eq!(wildmat.to_string(), text);
    for name in lines.map(|name| &name[..name.len().min(200)]) {
        let matches = wildmat.matches(name);
        if let Ok(name) = std::str::from_utf8(name)
            && !text.contains(['[', '\\'])
        {
            assert_eq!(matches, slowly(text, name), "{text} {name}");
        }
    }
}

fn first_line(line: &[u8]) {
    let Ok(reply) = Reply::parse(line) else {
        return;
    };
    assert!(!reply.message().contains(char::is_control));
    let mut out = Vec::new();
    reply.write(&mut out);
    assert!(out.len() <= 512);
    let again = Reply::parse(&out).expect("we wrote it");
    assert_eq!(again.code, reply.code);
    assert!(cleaned(reply.text).starts_with(again.text));
    let _ = (reply.posting(), reply.date());
    if let Ok(selected) = reply.selected() {
        let mut out = Vec::new();
        selected.write(&mut out);
        let again = Reply::parse(&out).expect("we wrote it");
        assert_eq!(
            again.selected().map(|again| again.numbers()),
            Ok(selected.numbers())
        );
    }
    if let Ok(located) = reply.located() {
        let mut out = Vec::new();
        located.write(reply.code, &mut out);
        let again = Reply::parse(&out).expect("we wrote it").located();
        let again = again.expect("we wrote it");
        assert_eq!(again.number, located.number);
        assert!(located.id.is_none() || again.id == located.id);
    }
    reply::write(reply.code, &reply.message(), &mut out);
}

/// Content, bytes used and lines of a block that arrives in pieces of this size.
#[allow(clippy::type_complexity, reason = "used here only")]
fn read(input: &[u8], size: usize, limit: usize) -> (Result<Vec<u8>, Error>, usize, Vec<Vec<u8>>) {
    let mut whole = BlockReader::new(limit);
    let mut by_line = BlockReader::new(limit);
    let mut used = 0;
    let mut lines = Vec::new();
    for piece in input.chunks(size) {
        let fed = whole.feed(piece);
        assert_eq!(by_line.feed(piece), fed);
        assert!(fed.done || fed.used == piece.len());
        used += fed.used;
        while let Some(line) = by_line.next_line() {
            lines.push(line.to_vec());
        }
        if fed.done {
            break;
        }
    }
    let content = whole.into_bytes();
    assert_eq!(
        by_line.finish(),
        content.as_ref().map(|_| ()).map_err(|error| *error)
    );
    (content, used, lines)
}

/// Content with every line ended by CRLF.
fn with_crlf(content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        out.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
        out.extend_from_slice(b"\r\n");
    }
    out
}

fn lists(lines: &[Vec<u8>]) {
    let lines = || lines.iter().map(Vec::as_slice);
    for line in lines() {
        if let Ok(active) = Active::parse(line) {
            let out = written(|out| active.write(out));
            assert_eq!(Active::parse(&out), Ok(active));
        }
        if let Ok(counted) = Counted::parse(line) {
            let out = written(|out| counted.write(out));
            assert_eq!(Counted::parse(&out), Ok(counted));
        }
        if let Ok(created) = Created::parse(line) {
            let out = written(|out| created.write(out));
            let again = Created::parse(&out).expect("we wrote it");
            assert_eq!((again.newsgroup, again.at), (created.newsgroup, created.at));
        }
        if let Ok(described) = Described::parse(line) {
            let out = written(|out| described.write(out));
            let again = Described::parse(&out).expect("we wrote it");
            assert_eq!(again.newsgroup, described.newsgroup);
        }
        if let Ok((number, value)) = parse_value_line(line) {
            let out = written(|out| write_value_line(number, value, out));
            assert_eq!(parse_value_line(&out).map(|(number, _)| number), Ok(number));
        }
    }
    let capabilities = Capabilities::parse(lines());
    let out = written(|out| capabilities.write(out));
    assert_eq!(Capabilities::parse(split(&out)), capabilities);
    let headers = ListedHeaders::parse(lines());
    let out = written(|out| headers.write(out));
    assert_eq!(
        ListedHeaders::parse(split(&out)).names,
        headers.names[..headers.names.len().min(999)]
    );
    if let Ok(format) = OverviewFormat::parse(lines()) {
        let out = written(|out| format.write(out));
        assert_eq!(OverviewFormat::parse(split(&out)), Ok(format));
    }
}

fn references(header: &[u8]) {
    let ids = id::references(header);
    assert!(ids.len() <= id::MAX_REFERENCES);
    assert_eq!(id::in_reply_to(header).as_ref(), ids.first());
    for id in &ids {
        assert_eq!(MessageId::from_bare(id.bare()).as_ref(), Ok(id));
    }
}

fn places(value: &Xref<'_>) {
    let places: Vec<_> = value
        .places()
        .map(|(name, number)| (name.parse().expect("a name"), number))
        .collect();
    let out = written(|out| {
        xref::write_xref(
            "h",
            places.iter().map(|(name, number)| (name, *number)),
            out,
        )
    });
    let again = Xref::parse(&out);
    assert_eq!(again.is_none(), places.is_empty());
    if let Some(again) = again {
        assert!(
            again
                .places()
                .eq(places.iter().map(|(name, number)| (name.as_str(), *number)))
        );
    }
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

fn split(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = lines.strip_suffix(b"\r\n").unwrap_or(lines);
    lines.split(|byte| *byte == b'\n')
}

fn cleaned(value: &[u8]) -> Vec<u8> {
    let spaced = |byte: &u8| {
        if matches!(byte, b'\t' | b'\r' | b'\n' | 0) {
            b' '
        } else {
            *byte
        }
    };
    value.iter().map(spaced).collect()
}

/// RFC 3977 §4.2 by a table of all beginnings of pattern and name.
fn slowly(wildmat: &str, name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let mut accepted = false;
    for part in wildmat.split(',') {
        let pattern = part.strip_prefix('!').unwrap_or(part);
        let mut row = vec![false; name.len() + 1];
        row[0] = true;
        for item in pattern.chars() {
            let mut next = vec![false; name.len() + 1];
            next[0] = item == '*' && row[0];
            for (at, c) in name.iter().enumerate() {
                next[at + 1] = match item {
                    '*' => row[at + 1] || next[at],
                    '?' => row[at],
                    item => row[at] && item == *c,
                };
            }
            row = next;
        }
        if row[name.len()] {
            accepted = !part.starts_with('!');
        }
    }
    accepted
}
