use super::*;
use crate::xref::Xref;

const LINE: &[u8] = b"3000234\tI am just a test article\t\"Demo User\" <nobody@example.com>\t\
6 Oct 1998 04:38:40 -0500\t<45223423@example.com>\t<45454@example.net>\t1234\t17\t\
Xref: news.example.com misc.test:3000363";

fn line(text: &[u8]) -> OverviewLine<'_> {
    OverviewLine::parse(text).expect("a line")
}

fn format(lines: &[&str]) -> Result<OverviewFormat, Error> {
    OverviewFormat::parse(lines.iter().map(|line| line.as_bytes()))
}

fn inn() -> Vec<&'static str> {
    let mut lines = vec![
        "Subject:",
        "From:",
        "Date:",
        "Message-ID:",
        "References:",
        "Bytes:",
        "Lines:",
    ];
    lines.push("Xref:full");
    lines
}

/// The example of RFC 3977 §8.3.3, with an Xref of the full kind.
#[test]
fn fields_of_a_line_are_found() {
    let line = line(LINE);
    assert_eq!(line.number, 3_000_234);
    assert_eq!(line.subject, b"I am just a test article");
    assert_eq!(line.from, b"\"Demo User\" <nobody@example.com>");
    assert_eq!(line.date, b"6 Oct 1998 04:38:40 -0500");
    assert_eq!(line.id().unwrap().as_str(), "<45223423@example.com>");
    assert_eq!(line.references, b"<45454@example.net>");
    assert_eq!((line.bytes, line.lines), (Some(1_234), Some(17)));
    let format = OverviewFormat::with_xref();
    let xref = Xref::parse(format.value(&line, "XREF").unwrap()).unwrap();
    assert!(xref.places().eq([("misc.test", 3_000_363)]));
    assert_eq!(format.value(&line, "Newsgroups"), None);
    let mut again = Vec::new();
    line.write(&mut again);
    assert_eq!(again, LINE);
}

#[test]
fn missing_fields_are_empty() {
    for text in [
        "7",
        "7\t",
        "7\t\t\t\t\t\t\t\t",
        "7\ta\tb",
        "7\t\t\t\tno id\t\tmany\t-1",
    ] {
        let line = line(text.as_bytes());
        assert_eq!(
            (line.number, line.bytes, line.lines),
            (7, None, None),
            "{text}"
        );
        assert_eq!(line.id(), None);
        assert_eq!(OverviewFormat::with_xref().value(&line, "Xref"), None);
    }
    for text in ["", "\ta", "a\tb", "-1\t", "99999999999999999999\t"] {
        assert_eq!(
            OverviewLine::parse(text.as_bytes()),
            Err(Error::Number),
            "{text}"
        );
    }
}

#[test]
fn tabs_within_a_subject_do_not_move_the_other_fields() {
    let line = line(b"7\ta\tb\t\tc\tme\ttoday\t<1@x>\t<0@x>\t10\t\tXref: h g:7");
    assert_eq!(line.subject, b"a\tb\t\tc");
    assert_eq!((line.from, line.date), (&b"me"[..], &b"today"[..]));
    assert_eq!(line.id().unwrap().as_str(), "<1@x>");
    assert_eq!(
        (line.references, line.bytes, line.lines),
        (&b"<0@x>"[..], Some(10), None)
    );
    assert_eq!(line.extra, b"Xref: h g:7");
}

#[test]
fn reference_is_not_taken_for_a_missing_id() {
    let line = line(b"7\ta\tme\ttoday\t\t<0@x>\t10\t3");
    assert_eq!(
        (line.message_id, line.references),
        (&b""[..], &b"<0@x>"[..])
    );
    assert_eq!((line.bytes, line.lines), (Some(10), Some(3)));
}

#[test]
fn what_would_break_a_line_is_written_as_spaces() {
    let line = OverviewLine {
        number: 1,
        subject: b"a\tb\r\nc\0",
        extra: b"X: 1\tY: \r2",
        ..OverviewLine::default()
    };
    let mut out = Vec::new();
    line.write(&mut out);
    assert_eq!(out, b"1\ta b  c \t\t\t\t\t\t\tX: 1\tY:  2");
}

#[test]
fn both_spellings_of_metadata_are_the_same() {
    let old = format(&inn()).unwrap();
    let mut lines = inn();
    (lines[5], lines[6]) = (":bytes", ":lines");
    assert_eq!(format(&lines).unwrap(), old);
    assert_eq!(old, OverviewFormat::with_xref());
    let mut out = Vec::new();
    old.write(&mut out);
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().collect::<Vec<_>>(), lines);
}

#[test]
fn formats_that_differ_in_the_first_seven_are_refused() {
    let mut swapped = inn();
    swapped.swap(0, 1);
    let mut odd = inn();
    odd.push("no name:full");
    for lines in [&swapped[..], &inn()[..6], &[], &odd] {
        assert!(format(lines).is_err(), "{lines:?}");
    }
    assert!(format(&inn()[..7]).is_ok());
}

#[test]
fn further_fields_have_their_places() {
    let mut lines = inn();
    lines.extend(["Newsgroups:full", ":score", "Distribution:"]);
    let format = format(&lines).unwrap();
    let line = line(b"1\ts\tf\td\t<1@x>\t\t1\t1\t\tnewsgroups: a,b\t42\tworld\tnot listed");
    assert_eq!(format.value(&line, "Xref"), None);
    assert_eq!(format.value(&line, "Newsgroups"), Some(&b"a,b"[..]));
    assert_eq!(format.value(&line, ":score"), Some(&b"42"[..]));
    assert_eq!(format.value(&line, "Distribution"), Some(&b"world"[..]));
    let names: Vec<_> = format.extra().map(|name| name.as_str()).collect();
    assert_eq!(names, ["Xref", "Newsgroups", ":score", "Distribution"]);
    let mut extra = Vec::new();
    format.write_extra(|name| (!name.is("Xref")).then_some(b"v"), &mut extra);
    assert_eq!(extra, b"\tNewsgroups: v\tv\tv");
    let mut written = Vec::new();
    format.write(&mut written);
    assert!(written.ends_with(b"Xref:full\r\nNewsgroups:full\r\n:score\r\nDistribution:\r\n"));
}

#[test]
fn number_of_further_fields_is_bounded() {
    let mut lines = inn();
    lines.extend(["X-A:full"; 1_000]);
    assert_eq!(format(&lines).unwrap().extra().count(), 32);
}

#[test]
fn heads_become_lines() {
    let head = b"Path: a!b\r\nSUBJECT: one\r\n two\r\nFrom: me\t<me@x>\r\nSubject: second\r\n\
Message-ID: <1@x>\r\nLines: 12\r\nBytes: 5\r\nXref: h g:7\r\n\r\nReferences: <body@x>\r\n";
    let format = OverviewFormat::with_xref();
    let mut out = Vec::new();
    format.write_from_head(7, head, (Some(900), None), &mut out);
    assert_eq!(
        out,
        b"7\tone two\tme <me@x>\t\t<1@x>\t\t900\t12\tXref: h g:7"
    );
    out.clear();
    format.write_from_head(7, b"", (None, Some(3)), &mut out);
    assert_eq!(out, b"7\t\t\t\t\t\t\t3\t");
}

#[test]
fn values_are_numbered() {
    assert_eq!(
        parse_value_line(b"12 a  value\t"),
        Ok((12, &b"a  value"[..]))
    );
    assert_eq!(parse_value_line(b"12"), Ok((12, &b""[..])));
    assert_eq!(parse_value_line(b"<1@x> value"), Ok((0, &b"value"[..])));
    assert_eq!(parse_value_line(b"value"), Err(Error::Number));
    let mut out = Vec::new();
    write_value_line(12, b"a\r\nb", &mut out);
    assert_eq!(out, b"12 a  b");
}
