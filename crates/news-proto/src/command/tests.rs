use super::*;
use crate::error::Error;

fn parse(line: &str) -> Result<Command, Error> {
    Command::parse(line.as_bytes())
}

fn written(command: &Command) -> Result<String, Error> {
    let mut out = Vec::new();
    let result = command.write(&mut out);
    assert!(result.is_ok() || out.is_empty(), "half a line");
    result.map(|()| String::from_utf8(out).expect("text"))
}

/// Every command in the form in which it is written.
const LINES: &[&str] = &[
    "ARTICLE",
    "ARTICLE 12",
    "ARTICLE <1@x>",
    "HEAD 12",
    "BODY <1@x>",
    "STAT",
    "GROUP comp.lang.c",
    "LISTGROUP",
    "LISTGROUP a.b",
    "LISTGROUP a.b 1-",
    "NEXT",
    "LAST",
    "OVER",
    "OVER 1-5",
    "OVER <1@x>",
    "XOVER 7-",
    "HDR Subject 1-5",
    "HDR :bytes",
    "XHDR Path",
    "XHDR Xref <1@x>",
    "XPAT Subject 1- *[Ww]eir and more*",
    "LIST ACTIVE",
    "LIST ACTIVE comp.*,!comp.sys.*",
    "LIST ACTIVE.TIMES",
    "LIST COUNTS a,b,c",
    "LIST DISTRIB.PATS",
    "LIST DISTRIBUTIONS",
    "LIST HEADERS",
    "LIST HEADERS MSGID",
    "LIST HEADERS RANGE",
    "LIST MODERATORS",
    "LIST MOTD",
    "LIST NEWSGROUPS новости.*",
    "LIST OVERVIEW.FMT",
    "LIST SUBSCRIPTIONS",
    "NEWGROUPS 20261115 100000 GMT",
    "NEWNEWS a.*,!a.b 20261115 100000 GMT",
    "DATE",
    "HELP",
    "CAPABILITIES",
    "CAPABILITIES AUTOUPDATE",
    "MODE READER",
    "AUTHINFO USER some one",
    "AUTHINFO PASS pass  word ",
    "AUTHINFO SASL PLAIN",
    "AUTHINFO SASL PLAIN AHRlc3QAcGFzcw==",
    "AUTHINFO SASL EXTERNAL =",
    "STARTTLS",
    "COMPRESS DEFLATE",
    "POST",
    "IHAVE <1@x>",
    "QUIT",
];

#[test]
fn every_command_is_written_as_it_was_read() {
    for line in LINES {
        let command = parse(line).expect(line);
        assert_eq!(written(&command), Ok(format!("{line}\r\n")));
        assert_eq!(parse(&format!("{line}\r\n")), Ok(command.clone()));
        assert_eq!(parse(&format!("{line}\n")), Ok(command));
    }
}

#[test]
fn verbs_are_read_in_any_case_and_blanks_in_any_number() {
    let id: MessageId = "<A@x>".parse().unwrap();
    assert_eq!(
        parse("  aRtIcLe \t <A@x>  "),
        Ok(Command::Article(Which::Id(id)))
    );
    assert_eq!(parse("list overview.fmt"), parse("LIST OVERVIEW.FMT"));
    assert_eq!(parse("mode reader"), Ok(Command::ModeReader));
    assert_eq!(parse("compress deflate"), Ok(Command::CompressDeflate));
    assert_eq!(
        parse("authinfo user Me"),
        Ok(Command::AuthUser("Me".into()))
    );
    assert_eq!(parse("list headers msgid"), parse("LIST HEADERS MSGID"));
    assert_eq!(parse("LIST"), parse("LIST ACTIVE"));
    assert_eq!(
        parse("NEWGROUPS 261115 100000"),
        parse("NEWGROUPS 20261115 100000 gmt")
    );
    let pattern = "a b".parse().unwrap();
    let range = Articles::Range(ArticleRange::One(1));
    assert_eq!(
        parse("XPAT From 1  a   b"),
        Ok(Command::Xpat("From".parse().unwrap(), range, pattern))
    );
}

#[test]
fn errors_say_which_code_answers_them() {
    for (line, code) in [
        ("", 500),
        ("MAIL", 500),
        ("ARTICLE<1@x>", 500),
        ("GET / HTTP/1.1", 500),
        ("XFOO bar", 500),
        ("MODE POSTER", 501),
        ("MODE", 501),
        ("ARTICLE a.message.id@no.angle.brackets", 501),
        ("ARTICLE <a b>", 501),
        ("ARTICLE -1", 501),
        ("ARTICLE 99999999999999999999", 501),
        ("HEAD 53 54 55", 501),
        ("GROUP", 501),
        ("GROUP a,b", 501),
        ("LISTGROUP a b", 501),
        ("LISTGROUP a 1 2", 501),
        ("OVER 5-a", 501),
        ("HDR", 501),
        ("HDR a:b 1", 501),
        ("XPAT Subject 1", 501),
        ("XPAT Subject 1 [", 501),
        ("LIST ACTIVE [", 501),
        ("LIST FOO", 501),
        ("LIST MOTD x", 501),
        ("LIST HEADERS x", 501),
        ("NEWGROUPS 20261115", 501),
        ("NEWGROUPS 20261115 100000 CET", 501),
        ("NEWNEWS * 20261315 100000", 501),
        ("DATE now", 501),
        ("POST it", 501),
        ("IHAVE", 501),
        ("AUTHINFO", 501),
        ("AUTHINFO USER", 501),
        ("AUTHINFO PASS \t", 501),
        ("AUTHINFO GENERIC a", 501),
        ("AUTHINFO SASL PLAIN a b", 504),
        ("AUTHINFO SASL PLAIN =", 200),
        ("AUTHINFO SASL PLAIN AA==x", 504),
        ("AUTHINFO SASL PLAIN AA?=", 504),
        ("AUTHINFO SASL PLAIN AAAA AAAA", 501),
        ("COMPRESS SHRINK", 503),
        ("COMPRESS", 501),
        ("CAPABILITIES é", 501),
    ] {
        assert_eq!(
            parse(line).map_or_else(Error::code, |_| 200),
            code,
            "{line}"
        );
    }
    assert_eq!(Command::parse(b"GROUP \xff").unwrap_err().code(), 501);
    assert_eq!(Command::parse(b"\xff\xfb\x01").unwrap_err().code(), 500);
    assert_eq!(Command::parse(b"AUTHINFO PASS a\0b"), Err(Error::Text));
    assert_eq!(Command::parse(b"AUTHINFO PASS a\rb\r\n"), Err(Error::Text));
    assert_eq!(
        Command::parse(b"AUTHINFO PASS a\nQUIT\r\n"),
        Err(Error::Text)
    );
}

#[test]
fn lines_of_512_octets_are_read_and_written() {
    let name = "a".repeat(510 - "LIST ACTIVE ".len());
    let line = format!("LIST ACTIVE {name}\r\n");
    assert_eq!(line.len(), 512);
    let command = parse(&line).unwrap();
    assert_eq!(written(&command), Ok(line));
    assert_eq!(
        parse(&format!("LIST ACTIVE {name}a")),
        Err(Error::LineTooLong)
    );
    let longer = Command::List(Listing::Active(Some(format!("{name}a").parse().unwrap())));
    assert_eq!(written(&longer), Err(Error::LineTooLong));
    assert_eq!(Error::LineTooLong.code(), 501);
    assert_eq!(parse(&"x".repeat(100_000)), Err(Error::LineTooLong));
}

#[test]
fn free_text_cannot_become_a_second_command() {
    for text in ["a\r\nQUIT", "a\nb", "a\0b", "", " a"] {
        assert_eq!(
            written(&Command::AuthUser(text.into())),
            Err(Error::Text),
            "{text:?}"
        );
        assert_eq!(
            written(&Command::AuthPass(Password::new(text))),
            Err(Error::Text),
            "{text:?}"
        );
        assert_eq!(
            written(&Command::Capabilities(Some(text.into()))),
            Err(Error::Text)
        );
        assert_eq!(
            written(&Command::AuthSasl(text.into(), None)),
            Err(Error::Text)
        );
        let sasl = Command::AuthSasl("PLAIN".into(), Some(Password::new(text)));
        assert_eq!(written(&sasl), Err(Error::Base64));
    }
    let pattern = "x".parse().unwrap();
    let xpat = Command::Xpat("From".parse().unwrap(), Articles::Current, pattern);
    assert_eq!(written(&xpat), Err(Error::MissingArgument));
}

#[test]
fn passwords_show_nothing() {
    for line in ["AUTHINFO PASS hunter2", "AUTHINFO SASL PLAIN aHVudGVyMg=="] {
        let shown = format!("{:?}", parse(line).unwrap());
        assert!(
            !shown.contains("hunter2") && !shown.contains("aHVu"),
            "{shown}"
        );
        assert!(shown.contains("Password(…)"));
    }
}

#[test]
fn block_after_a_reply_depends_on_the_command() {
    let with = [
        ("ARTICLE", 220),
        ("HEAD", 221),
        ("BODY", 222),
        ("LISTGROUP", 211),
        ("OVER", 224),
        ("XOVER", 224),
        ("HDR Subject", 225),
        ("XHDR Subject", 221),
        ("XHDR Subject", 225),
        ("XPAT Subject 1 a", 221),
        ("LIST", 215),
        ("NEWGROUPS 20261115 100000", 231),
        ("NEWNEWS * 20261115 100000", 230),
        ("HELP", 100),
        ("CAPABILITIES", 101),
    ];
    for (line, code) in with {
        let verb = parse(line).unwrap().verb();
        assert!(verb.carries_block(code), "{line} {code}");
        for other in [200, 205, 223, 240, 400, 411, 412, 423, 430, 480, 500, 503] {
            assert!(!verb.carries_block(other), "{line} {other}");
        }
    }
    for line in LINES {
        let verb = parse(line).unwrap().verb();
        let carrying = (100..600).filter(|code| verb.carries_block(*code)).count();
        let listed = with
            .iter()
            .any(|(line, _)| parse(line).unwrap().verb() == verb);
        assert_eq!(carrying > 0, listed, "{line}");
    }
    assert!(!Verb::Group.carries_block(211) && !Verb::Stat.carries_block(223));
    assert!(!Verb::Date.carries_block(111));
}

#[test]
fn commands_that_change_the_connection_go_alone() {
    for line in LINES {
        let alone = ["MODE", "AUTHINFO", "STARTTLS", "COMPRESS", "POST", "IHAVE"];
        let expected = match line.split(' ').next().unwrap() {
            "QUIT" => Pipelining::Last,
            verb if alone.contains(&verb) => Pipelining::Alone,
            _ => Pipelining::Free,
        };
        assert_eq!(parse(line).unwrap().verb().pipelining(), expected, "{line}");
    }
}
