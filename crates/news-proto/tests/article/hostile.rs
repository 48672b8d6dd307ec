//! Articles that were made to hurt: what is cut, what is said about it, and that each is read at all.
//!
//! No clock decides here. What grows with the square of these sizes runs into the time that a test
//! has, and what they do to memory is seen in the limits that they are checked against.

use weir_news_proto::article::{Article, Damage, Part, decode_header};

use super::kept::{article, texts};

/// Enough for a square of it to be noticed.
const MUCH: usize = 64 * 1024;

/// More than is shown of any text.
const TOO_MUCH: usize = 1_100_000;

fn multipart(parts: &str) -> String {
    format!("Content-Type: multipart/mixed; boundary=x\r\n\r\n{parts}")
}

#[test]
fn script_in_every_field_is_only_text() {
    let article = article("hostile-fields");
    let script = "\"><script>alert(1)</script>";
    let head = &article.head;
    assert_eq!(head.path, script);
    assert_eq!(
        head.subject,
        format!("Set-Cookie: x=1 {script} gpj.exe[31m")
    );
    assert_eq!(texts(&head.newsgroups), ["example.ok"]);
    assert_eq!(
        texts(&head.references),
        ["<\">", "<script>", "</script>", "<ok1@river.example>"]
    );
    assert_eq!((&head.message_id, head.date.seconds), (&None, None));
    assert_eq!(article.damage, [Damage::BrokenHeader]);
}

#[test]
fn ten_thousand_parts() {
    let article = Article::parse(multipart(&"--x\r\n\r\nhello\r\n".repeat(10_000)).as_bytes());
    assert_eq!(article.parts.len(), 249);
    assert_eq!(article.damage, [Damage::TooManyParts]);
}

#[test]
fn a_thousand_levels() {
    let deep: String = (0..1_000)
        .map(|level| {
            format!("Content-Type: multipart/mixed; boundary=b{level}\r\n\r\n--b{level}\r\n")
        })
        .collect();
    let article = Article::parse(deep.as_bytes());
    assert_eq!(article.damage, [Damage::TooDeep, Damage::MissingEnd]);
    assert_eq!(article.parts.len(), 1);
    let messages = "Content-Type: message/rfc822\r\n\r\n".repeat(200_000);
    assert_eq!(Article::parse(messages.as_bytes()).attachments().count(), 1);
}

#[test]
fn headers_beyond_any_length_and_number() {
    for filler in [
        "x",
        "=?utf-8?q?",
        "=?",
        "=?utf-8?q?=41?= ",
        "<",
        "(",
        "\\\"",
        ",@",
        "<a@b> ",
        "\u{e4}",
        " \r\n ",
    ] {
        let long = format!(
            "From: {0}\r\nSubject: {0}\r\nReferences: {0}\r\n\r\n",
            filler.repeat(2 * MUCH / filler.len())
        );
        let article = Article::parse(long.as_bytes());
        assert!(article.head.subject.len() <= 128 * 1024);
    }
    let many = format!(
        "{}Subject: late\r\n\r\ntext",
        "X-Header: some value\r\n".repeat(20_000)
    );
    let article = Article::parse(many.as_bytes());
    assert_eq!(
        (article.head.headers.len(), article.head.subject.as_str()),
        (400, "")
    );
    assert_eq!(article.damage, [Damage::TooManyHeaders]);
    assert_eq!(article.plain_text(), "text");
}

#[test]
fn twenty_thousand_parameters() {
    let parameters: String = (0..20_000)
        .map(|number| format!("; name*{number}*=x"))
        .collect();
    let raw = format!("Content-Type: text/plain{parameters}\r\n\r\ntext");
    assert_eq!(Article::parse(raw.as_bytes()).plain_text(), "text");
}

#[test]
fn long_texts_of_anything() {
    let fillers = [
        "x",
        ">",
        "> ",
        "<",
        "http://a",
        "http://a.b/ ",
        "mailto:",
        "<a$b@c>",
        "<1234@x",
        "M",
        "begin 644 x\n",
        "=ybegin ",
        "wrote:\n>",
        "-- \n",
        "\n",
        "\r",
        "\u{202E}",
        "\0",
        "a@b: \n> x\n",
        " ",
        ")",
        "http://(((",
        "MMM\n",
        "\u{e4}",
        "=ybegin line=1 size=1 name=\n",
    ];
    let read = |kind: &str, filler: &str, length: usize| {
        let raw = format!(
            "Content-Type: text/plain{kind}\r\n\r\n{}",
            filler.repeat(length / filler.len())
        );
        let article = Article::parse(raw.as_bytes());
        assert!(article.blocks().count() <= 50_000);
        article.damage
    };
    for filler in fillers {
        read("", filler, MUCH);
        for kind in [
            "; format=flowed",
            "; format=flowed; delsp=yes",
            "; charset=utf-8",
            "; charset=utf-16",
            "; charset=big5",
        ] {
            read(kind, filler, MUCH / 8);
        }
    }
    assert_eq!(read("", "wrote:\n>", TOO_MUCH), [Damage::LongText]);
    for filler in ["x", "> \n", "> a \n>> b \n"] {
        read("; format=flowed", filler, MUCH);
    }
}

#[test]
fn html_that_is_slow_for_browsers() {
    let numbered = |start: &str, end: &str| -> String {
        (0..5_000).map(|n| format!("{start}{n}{end}")).collect()
    };
    let mut pages = vec![
        numbered("<b a=", ">"),
        numbered("<x", ">"),
        format!("<a {}>", numbered("b", " ")),
    ];
    for filler in [
        "<b>",
        "<div><p>",
        "<div></p>",
        "<table><a>",
        "<",
        "&",
        "&amp;",
        "<!--",
        "</",
        "<a href=",
        "<script>",
        "<p",
        "<b><p>",
        "<a href='http://a.example/'>",
        "<img alt=x>",
        "<blockquote>",
        "<li>",
        "<pre>\n",
    ] {
        pages.push(filler.repeat(MUCH / 2 / filler.len()));
    }
    // Longer than what is shown.
    pages.push("<div></p>".repeat(3 * MUCH / 9));
    for page in pages {
        let article = Article::parse(format!("Content-Type: text/html\r\n\r\n{page}").as_bytes());
        let [Part::Html { html, .. }] = &article.parts[..] else {
            panic!("{:?}", article.parts.len());
        };
        assert!(html.as_str().len() < 1_000_000);
    }
}

#[test]
fn base64_is_never_more_than_its_article() {
    let body = "QUJD".repeat(350_000);
    let raw =
        format!("Content-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\n{body}");
    let article = Article::parse(raw.as_bytes());
    assert_eq!(article.damage, [Damage::LongText]);
    assert_eq!(article.plain_text().len(), 1024 * 1024);
    let raw = format!("Content-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n\r\n{body}");
    let article = Article::parse(raw.as_bytes());
    assert_eq!(
        article.attachments().next().expect("a file").size,
        1_050_000
    );
}

#[test]
fn text_is_cut_over_all_parts_together() {
    let part = format!("--x\r\n\r\n{}\r\n", "word ".repeat(50_000));
    let article = Article::parse(multipart(&part.repeat(5)).as_bytes());
    assert!(article.damage.contains(&Damage::LongText));
    assert!(article.plain_text().len() <= 1024 * 1024 + 100);
}

#[test]
fn headers_cannot_be_split_by_what_they_encode() {
    let raw = b"=?utf-8?Q?a=0D=0AX-Evil:_1=0A=0Dbody=00?=";
    assert_eq!(decode_header(raw), "a X-Evil: 1 body");
}
