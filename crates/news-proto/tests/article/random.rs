//! Articles made up by chance: from bytes, from pieces of articles and from pieces of HTML.

use proptest::prelude::*;
use weir_news_proto::article::{Article, Part, decode_header, write_mbox};

use super::kept::properties;
use super::oracle::strict;

/// Pieces that hostile HTML is made of.
const MARKUP: [&str; 34] = [
    "<p>",
    "</p>",
    "<b>",
    "</b>",
    "<table>",
    "</table>",
    "<tr>",
    "<td>",
    "</td>",
    "<a href=http://a.example/>",
    "</a>",
    "<a href='java\tscript:x'>",
    "<svg>",
    "</svg>",
    "<math>",
    "<style>",
    "</style>",
    "<script>",
    "</script>",
    "<!--",
    "-->",
    "<li>",
    "<ul>",
    "</ul>",
    "<blockquote>",
    "<img alt='<b>' src=x onerror=y>",
    "\"",
    "'",
    ">",
    "<",
    "&lt;",
    "&#x202E;",
    "x",
    "<pre>",
];

/// Pieces that articles are made of.
const PIECES: [&str; 26] = [
    "Content-Type: multipart/mixed; boundary=x\r\n",
    "Content-Type: multipart/alternative; boundary=y\n",
    "Content-Type: text/html\n",
    "Content-Type: text/plain; format=flowed\n",
    "Content-Type: message/rfc822\n",
    "Content-Transfer-Encoding: base64\n",
    "Content-Transfer-Encoding: quoted-printable\n",
    "Subject: =?utf-8?q?a=00?=\n",
    "Content-Disposition: attachment; filename*=utf-8''%2e%2e%2f\n",
    "\r\n",
    "\n",
    "--x\n",
    "--x--\n",
    "--y\r\n",
    "--y--\n",
    "> quote\n",
    "-- \n",
    "M said wrote:\n",
    "=ybegin line=128 size=9 name=a/b\n",
    "=yend\n",
    "begin 644 x\n",
    "M1234\n",
    "end\n",
    "<p>text</p>\n",
    "YWJj=\n",
    "\u{202E}http://a.example/x) \n",
];

proptest! {
    #[test]
    fn any_bytes_are_an_article(raw in prop::collection::vec(any::<u8>(), 0..2_000)) {
        properties::article(&raw);
        properties::header_words(&raw);
    }

    #[test]
    fn any_pieces_are_an_article(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60)) {
        properties::article(pieces.concat().as_bytes());
    }

    #[test]
    fn any_html_is_harmless(pieces in prop::collection::vec(prop::sample::select(&MARKUP[..]), 0..60)) {
        let raw = format!("Content-Type: text/html\n\n{}", pieces.concat());
        properties::article(raw.as_bytes());
        for part in &Article::parse(raw.as_bytes()).parts {
            let Part::Html { html, .. } = part else { continue };
            // A browser may move misplaced elements once more, but finds none that are new.
            let again = strict(html.as_str());
            properties::article(format!("Content-Type: text/html\n\n{again}").as_bytes());
            let letters = |html: &str| html.matches('x').count();
            prop_assert_eq!(letters(&again), letters(html.as_str()));
        }
    }

    #[test]
    fn words_that_we_encode_are_decoded(text in "[ -~äöüß€日本]{0,40}") {
        let encoded: String = text.bytes().map(|byte| format!("={byte:02X}")).collect();
        let expected = text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        prop_assert_eq!(decode_header(format!("=?utf-8?Q?{encoded}?=").as_bytes()), expected);
    }

    #[test]
    fn mailboxes_keep_every_article(lines in prop::collection::vec("(>{0,3}From .{0,5}|.{0,8})", 0..8)) {
        let raw = lines.join("\n");
        properties::article(raw.as_bytes());
        let mut mailbox = Vec::new();
        write_mbox(&mut mailbox, raw.as_bytes(), "a", 0);
        let envelopes = mailbox.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"From "));
        prop_assert_eq!(envelopes.count(), 1);
    }
}
