use super::*;
use crate::field::FieldName;

fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).expect("text")
}

#[test]
fn active_lines_have_padded_numbers() {
    let text = "comp.lang.c 0000003000 0000000012 m";
    let active = Active::parse(text.as_bytes()).unwrap();
    let expected = Active {
        newsgroup: "comp.lang.c",
        high: 3_000,
        low: 12,
        status: PostingStatus::Moderated,
    };
    assert_eq!(active, expected);
    assert_eq!(active.numbers(), Some(12..=3_000));
    assert_eq!(written(|out| active.write(out)), text);
}

#[test]
fn every_status_reads_back() {
    for (word, status) in [
        ("y", PostingStatus::Allowed),
        ("n", PostingStatus::Refused),
        ("m", PostingStatus::Moderated),
        ("x", PostingStatus::Closed),
        ("j", PostingStatus::Junked),
        ("=other.group", PostingStatus::Alias("other.group")),
        ("=", PostingStatus::Unknown("=")),
        ("=a*", PostingStatus::Unknown("=a*")),
        ("Y", PostingStatus::Unknown("Y")),
    ] {
        let line = format!("a 0000000002 0000000001 {word}");
        let active = Active::parse(line.as_bytes()).unwrap();
        assert_eq!(active.status, status);
        assert_eq!(written(|out| active.write(out)), line);
    }
    let without = Active::parse(b"a 2 1").unwrap();
    assert_eq!(without.status, PostingStatus::Allowed);
}

#[test]
fn empty_newsgroups_have_no_numbers() {
    let numbers = |line: &str| Active::parse(line.as_bytes()).unwrap().numbers();
    for line in [
        "a 0 1 y",
        "a 0 0 y",
        "a 11 12 y",
        "a 0000000000 0000000001 y",
    ] {
        assert_eq!(numbers(line), None, "{line}");
    }
    assert_eq!(numbers("a 1 1 y"), Some(1..=1));
    assert_eq!(numbers("a 5 0 y"), Some(0..=5));
}

#[test]
fn counts_come_before_the_status() {
    let text = "misc.test 0003002322 0003000234 1234 y";
    let counted = Counted::parse(text.as_bytes()).unwrap();
    assert_eq!(
        (counted.count, counted.active.high, counted.active.low),
        (1_234, 3_002_322, 3_000_234)
    );
    assert_eq!(counted.active.status, PostingStatus::Allowed);
    assert_eq!(
        written(|out| counted.write(out)),
        "misc.test 3002322 3000234 1234 y"
    );
}

#[test]
fn times_and_descriptions_may_have_blanks() {
    let text = "misc.test 930445408 <creatme@isc.org> by hand";
    let created = Created::parse(text.as_bytes()).unwrap();
    assert_eq!((created.newsgroup, created.at), ("misc.test", 930_445_408));
    assert_eq!(created.creator, b"<creatme@isc.org> by hand");
    assert_eq!(written(|out| created.write(out)), text);
    assert_eq!(Created::parse(b"a 1").unwrap().creator, b"");

    let described = Described::parse(b"misc.test\t\tGeneral  Usenet testing \xfc").unwrap();
    assert_eq!(
        (described.newsgroup, described.text),
        ("misc.test", &b"General  Usenet testing \xfc"[..])
    );
    assert_eq!(Described::parse(b"a").unwrap().text, b"");
    let text = written(|out| {
        Described {
            newsgroup: "a",
            text: b"b\r\n.\r\n",
        }
        .write(out)
    });
    assert_eq!(text, "a\tb  .  ");
}

#[test]
fn lines_without_a_name_or_number_are_refused() {
    for line in [
        "",
        "a",
        "a 1",
        "a x 1 y",
        "a 1 x y",
        "a* 1 1 y",
        "a 99999999999999999999 1 y",
        "a -1 0 y",
    ] {
        assert!(Active::parse(line.as_bytes()).is_err(), "{line}");
        assert!(Counted::parse(line.as_bytes()).is_err(), "{line}");
    }
    assert!(Active::parse(b"\xff 1 1 y").is_err() && Active::parse(b"a 1 1 \xff").is_err());
    assert_eq!(Active::parse(b"a 1 1 y\0"), Err(Error::ListLine));
    assert_eq!(Counted::parse(b"a 2 1 y"), Err(Error::Number));
    assert!(Created::parse(b"a b").is_err() && Described::parse(b" ").is_err());
}

#[test]
fn headers_may_be_any() {
    let listed = ListedHeaders::parse([&b"Subject"[..], b"Xref:", b":bytes", b"odd name", b"\xff"]);
    let name = |name: &str| name.parse::<FieldName>().unwrap();
    assert_eq!(listed.names, ["Subject", "Xref", ":bytes"].map(name));
    assert!(listed.has(&name("subject")) && listed.has(&name(":bytes")));
    assert!(!listed.has(&name("Path")) && !listed.any);
    let any = ListedHeaders::parse([&b":"[..], b":bytes"]);
    assert!(any.has(&name("Path")) && any.has(&name(":bytes")) && !any.has(&name(":lines")));
    assert_eq!(written(|out| any.write(out)), ":\r\n:bytes\r\n");
    let many = vec![&b"A"[..]; 5_000];
    assert_eq!(ListedHeaders::parse(many).names.len(), 1_000);
}

#[test]
fn numbers_of_listgroup() {
    assert_eq!(parse_number(b" 0042 "), Ok(42));
    for line in ["", "x", "-1"] {
        assert_eq!(parse_number(line.as_bytes()), Err(Error::Number), "{line}");
    }
}
