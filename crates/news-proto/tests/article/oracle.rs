//! A second opinion: mail-parser on what an article says, ammonia on what HTML is left.

use std::collections::{HashMap, HashSet};

use mail_parser::{MessageParser, MimeHeaders};
use weir_news_proto::article::{Article, Part};

use super::kept::all;

/// Recorded articles that mail-parser reads otherwise, and why.
const OTHERWISE: [(&str, &str); 12] = [
    ("utf-7", "it decodes UTF-7"),
    ("unknown-charset", "it does not guess"),
    ("unlabelled-8bit", "it does not guess"),
    ("mislabelled-ascii", "it believes the label"),
    ("mislabelled-utf-8", "it believes the label"),
    ("koi8-r-raw-headers", "it does not guess"),
    ("iso-2022-jp-unlabelled", "it does not guess"),
    ("utf-16", "it does not guess the order of bytes"),
    ("hostile-fields", "control characters are removed here"),
    ("alternative-empty-text", "it shows the empty text"),
    ("bad-base64", "it shows the Base64"),
    ("yenc", "it knows no yEnc"),
];

#[test]
fn mail_parser_reads_the_same() {
    let squeeze = |text: &str| {
        text.chars()
            .filter(|c| c.is_alphanumeric())
            .collect::<String>()
    };
    for (name, raw) in all() {
        if OTHERWISE.iter().any(|(other, _)| *other == name) {
            continue;
        }
        let ours = Article::parse(&raw);
        let theirs = MessageParser::default().parse(&raw).expect("a message");
        assert_eq!(
            ours.head.subject,
            theirs.subject().unwrap_or_default(),
            "{name}"
        );
        let from = theirs
            .from()
            .and_then(|from| from.first())
            .expect("an author");
        assert_eq!(
            ours.head.from.name,
            from.name().unwrap_or_default(),
            "{name}"
        );
        assert_eq!(
            ours.head.from.address,
            from.address().unwrap_or_default(),
            "{name}"
        );
        let date = theirs.date().map(mail_parser::DateTime::to_timestamp);
        assert_eq!(ours.head.date.seconds, date, "{name}");
        if let Some(Part::Text(text)) = ours.parts.first()
            && !matches!(name.as_str(), "uuencode" | "uuencode-cut" | "pgp-inline")
        {
            let body = theirs.body_text(0).unwrap_or_default();
            assert_eq!(squeeze(&text.plain()), squeeze(&body), "{name}");
        }
        for (index, theirs) in theirs.attachments().enumerate().filter(|_| name == "mixed") {
            let Some((ours, content)) = ours.attachment(index, &raw) else {
                continue;
            };
            if let Some(kind) = theirs.content_type().filter(|kind| kind.ctype() != "text") {
                assert_eq!(
                    ours.content_type.split('/').next(),
                    Some(kind.ctype()),
                    "{name}"
                );
                assert!(
                    theirs.is_message() || content.as_ref() == theirs.contents(),
                    "{name}"
                );
            }
        }
    }
}

/// HTML that a browser would read otherwise than we wrote it would change here.
#[test]
fn ammonia_finds_nothing_to_remove() {
    let mut seen = 0;
    for (name, raw) in all() {
        for part in &Article::parse(&raw).parts {
            let Part::Html { html, .. } = part else {
                continue;
            };
            seen += 1;
            assert_eq!(strict(html.as_str()), html.as_str(), "{name}");
        }
    }
    assert!(seen >= 3);
}

/// A sanitiser set up here and not taken from the crate.
pub(super) fn strict(html: &str) -> String {
    let tags = "a b blockquote br center cite code dd del div dl dt em h1 h2 h3 h4 h5 h6 hr i ins kbd li ol p pre q s \
                samp strong sub sup table tbody td th tr tt ul";
    let mut builder = ammonia::Builder::empty();
    builder
        .tags(tags.split_whitespace().collect())
        .tag_attributes(HashMap::from([("a", HashSet::from(["href", "rel"]))]))
        .url_schemes(
            ["http", "https", "ftp", "mailto", "news", "nntp"]
                .into_iter()
                .collect(),
        )
        .link_rel(None);
    builder.clean(html).to_string()
}
