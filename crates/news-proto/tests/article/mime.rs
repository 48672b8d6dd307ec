//! Parts of recorded articles: alternatives, attachments, HTML, files in the text.

use weir_news_proto::article::{Article, Damage, Part};

use super::kept::{article, raw};
use super::text::blocks;

fn names(article: &Article) -> Vec<String> {
    let names = article.attachments().map(|found| {
        let kind = if found.is_alternative {
            " (other form)"
        } else {
            ""
        };
        format!("{} {} {}{kind}", found.name, found.content_type, found.size)
    });
    names.collect()
}

fn html(article: &Article) -> &str {
    let html = article.parts.iter().find_map(|part| match part {
        Part::Html { html, .. } => Some(html.as_str()),
        _ => None,
    });
    html.expect("it has HTML")
}

#[test]
fn parts_come_in_order_and_files_are_named_safely() {
    let article = article("mixed");
    let expected = [
        "text 0: The picture of the gauge, and the message it was in. Grüße",
        "text 0: --- a/gauge\n+++ b/gauge\n@@ -1 +1 @@\n-240\n+255",
    ];
    assert_eq!(blocks(&article), expected);
    let expected = [
        "Pegel Mühle.png image/png 70",
        "part-2.eml message/rfc822 142",
        "Meßwerte Nov.pdf application/pdf 5",
    ];
    assert_eq!(names(&article), expected);
    assert!(
        matches!(article.parts[3], Part::Text(_)),
        "the patch is fourth"
    );
    assert_eq!(article.damage, []);
}

#[test]
fn files_are_decoded_by_number() {
    let (raw, article) = (raw("mixed"), article("mixed"));
    let (_, picture) = article.attachment(0, &raw).expect("the picture");
    assert!(picture.starts_with(b"\x89PNG\r\n"));
    let (_, message) = article.attachment(1, &raw).expect("the message");
    assert!(message.ends_with(b"--inner--"));
    assert_eq!(Article::parse(&message).head.subject, "The first one");
    assert_eq!(
        article.attachment(2, &raw).expect("the file").1.as_ref(),
        b"%PDF-"
    );
    assert_eq!(article.attachment(3, &raw), None);
}

#[test]
fn plain_text_is_preferred_and_the_rest_is_still_offered() {
    let article = article("alternative");
    assert_eq!(blocks(&article), ["text 0: Plain text of the article."]);
    let expected = [
        "part-1.html text/html 50 (other form)",
        "part-2.png image/png 8 (other form)",
    ];
    assert_eq!(names(&article), expected);
}

#[test]
fn an_empty_text_is_no_alternative() {
    let article = article("alternative-empty-text");
    assert_eq!(html(&article), "<p>The text.</p>");
    assert_eq!(blocks(&article), ["text 0: The text."]);
}

#[test]
fn html_is_shown_without_what_it_loads() {
    let article = article("html-only");
    let page = html(&article);
    for gone in [
        "script",
        "style",
        "class",
        "src",
        "http://",
        "onload",
        "bad",
        "Not shown",
        "target",
        "refresh",
    ] {
        assert!(!page.contains(gone), "{gone} in {page}");
    }
    let link = "<a href=\"https://gauge.example/?a=1&amp;b=2\" rel=\"nofollow noopener noreferrer\">the page</a>";
    for kept in [
        link,
        "<h1>Gauge report</h1>",
        "<b>2.55&nbsp;m</b>",
        "[a chart]",
        "<td>2.40</td>",
    ] {
        assert!(page.contains(kept), "{kept} in {page}");
    }
    let expected = [
        "text 0: Gauge report\n\nThe gauge stands at 2.55\u{A0}m; see the page <https://gauge.example/?a=1&b=2>.\n\n\
         [a chart]",
        "text 1: Is that usual?",
        "text 0: Mon 2.40\nTue 2.55\n\nBye",
    ];
    assert_eq!(blocks(&article), expected);
}

#[test]
fn hostile_html_is_only_text() {
    let article = article("hostile-html");
    let page = html(&article);
    for gone in [
        "onerror",
        "onload",
        "onclick",
        "style",
        "javascript",
        "data:",
        "<img",
        "<form",
        "<svg",
        "\u{202E}",
        "evil",
    ] {
        let is_text = page.replace("&lt;", "").contains(&format!("<{gone}"));
        assert!(
            !is_text && (!page.contains(gone) || gone == "onclick"),
            "{gone} in {page}"
        );
    }
    assert_eq!(article.head.subject, "\"><script>alert(1)</script>");
}

#[test]
fn files_in_text_are_named_and_not_shown() {
    let expected = [
        "text 0: The second piece of the photo.",
        "file \"gauge photo.jpg\" Some(1500) Some(2)/Some(3) 0: ",
        "text 0: Bye",
    ];
    assert_eq!(blocks(&article("yenc")), expected);
    assert_eq!(article("yenc").damage, []);
    let expected = [
        "text 0: The readings:",
        "file \"gauge.dat\" Some(512) None/None 0: ",
        "text 0: begin at the weekend, they said.",
    ];
    assert_eq!(blocks(&article("uuencode")), expected);
    let cut = article("uuencode-cut");
    assert_eq!(cut.damage, [Damage::IncompleteFile("gauge.dat".into())]);
}

#[test]
fn a_detached_signature_is_a_file() {
    let article = article("pgp-mime");
    assert_eq!(blocks(&article), ["text 0: The gauge stands at 2.55 m."]);
    assert_eq!(
        names(&article),
        ["signature.asc application/pgp-signature 64"]
    );
}

#[test]
fn damage_is_said_and_the_rest_is_shown() {
    let cut = article("truncated");
    assert_eq!(blocks(&cut), ["text 0: The first part is whole."]);
    assert_eq!(names(&cut), ["a.zip application/zip 9"]);
    assert_eq!(cut.damage, [Damage::MissingEnd]);
    let bad = article("bad-base64");
    assert!(blocks(&bad)[0].starts_with("text 0: The gauge stands at 2.55 m."));
    assert_eq!(bad.damage[0], Damage::Base64);
}
