use super::*;

fn reply(line: &str) -> Reply<'_> {
    Reply::parse(line.as_bytes()).expect(line)
}

#[test]
fn line_is_a_code_and_words() {
    for line in [
        "200 hello there",
        "200 hello there\r\n",
        "200\thello there\n",
    ] {
        assert_eq!(
            reply(line),
            Reply {
                code: 200,
                text: b"hello there"
            }
        );
    }
    assert_eq!(
        reply("205\r\n"),
        Reply {
            code: 205,
            text: b""
        }
    );
    for line in [
        "", "20", "099 a", "600 a", "2000 a", "200-a", "abc d", "+20 a", " 200 a",
    ] {
        assert_eq!(
            Reply::parse(line.as_bytes()),
            Err(Error::NotAReply),
            "{line}"
        );
    }
}

#[test]
fn long_lines_are_read_up_to_a_bound() {
    let line = format!("200 {}", "x".repeat(4_092));
    assert_eq!(reply(&line).text.len(), 4_092);
    assert_eq!(
        Reply::parse(format!("{line}x").as_bytes()),
        Err(Error::LineTooLong)
    );
}

#[test]
fn words_cannot_forge_a_log() {
    let reply = Reply {
        code: 441,
        text: b" a\rb\x1b[0m \xff",
    };
    assert_eq!(reply.message(), "a\u{fffd}b\u{fffd}[0m \u{fffd}");
}

#[test]
fn greeting_says_whether_posting_is_allowed() {
    assert_eq!(reply("200 ok").posting(), Ok(true));
    assert_eq!(reply("201 ok").posting(), Ok(false));
    assert_eq!(
        reply("502 too many connections").posting(),
        Err(Error::UnexpectedReply(502))
    );
}

#[test]
fn selected_newsgroup_may_be_empty_in_several_ways() {
    let selected = reply("211 1234 3000234 3002322 misc.test")
        .selected()
        .unwrap();
    assert_eq!(
        (selected.count, selected.newsgroup),
        (1_234, Some("misc.test"))
    );
    assert_eq!(selected.numbers(), Some(3_000_234..=3_002_322));
    for line in [
        "211 0 1 0 a",
        "211 0 0 0 a",
        "211 0 4000 3999 a",
        "211 0 4000 4000 a",
        "211 5 9 8 a",
    ] {
        assert_eq!(reply(line).selected().unwrap().numbers(), None, "{line}");
    }
    assert_eq!(reply("211 2 1 2").selected().unwrap().newsgroup, None);
    for line in ["211", "211 1 2", "211 a b c d", "211 -1 1 1 a"] {
        assert_eq!(
            reply(line).selected(),
            Err(Error::UnexpectedReply(211)),
            "{line}"
        );
    }
    assert_eq!(
        reply("411 1 2 3 a").selected(),
        Err(Error::UnexpectedReply(411))
    );
    let mut out = Vec::new();
    selected.write(&mut out);
    assert_eq!(out, b"211 1234 3000234 3002322 misc.test\r\n");
}

#[test]
fn located_article_has_a_number_and_an_id() {
    let located = reply("220 12 <1@x> article follows").located().unwrap();
    assert_eq!(
        (located.number, located.id.as_ref().unwrap().as_str()),
        (12, "<1@x>")
    );
    let mut out = Vec::new();
    located.write(223, &mut out);
    assert_eq!(out, b"223 12 <1@x>\r\n");
    let without = reply("223 0 broken").located().unwrap();
    assert_eq!(
        without,
        Located {
            number: 0,
            id: None
        }
    );
    assert_eq!(
        reply("223 <1@x>").located(),
        Err(Error::UnexpectedReply(223))
    );
    assert_eq!(
        reply("430 12 <1@x>").located(),
        Err(Error::UnexpectedReply(430))
    );
    assert_eq!(
        reply("224 12 <1@x>").located(),
        Err(Error::UnexpectedReply(224))
    );
    assert!(reply("222 12 <1@x>").located().is_ok());
}

#[test]
fn date_is_fourteen_digits() {
    assert_eq!(reply("111 20261115100000 GMT").date(), Ok(1_794_736_800));
    assert_eq!(reply("111 soon").date(), Err(Error::Date));
    assert_eq!(
        reply("200 20261115100000").date(),
        Err(Error::UnexpectedReply(200))
    );
}

#[test]
fn written_lines_stay_on_one_line_and_under_512_octets() {
    let mut out = Vec::new();
    write(441, "no\r\n.\r\n200 fine", &mut out);
    assert_eq!(out, b"441 no  .  200 fine\r\n");
    for shift in 0..4 {
        out.clear();
        write(
            200,
            &format!("{}{}", "x".repeat(shift), "€".repeat(300)),
            &mut out,
        );
        assert!((509..=512).contains(&out.len()), "{}", out.len());
        assert!(std::str::from_utf8(&out).is_ok());
    }
    out.clear();
    Reply {
        code: 200,
        text: &[0x80; 600],
    }
    .write(&mut out);
    assert_eq!(out.len(), 512);
}
