//! Texts as people write them, and as they are to be read.

use super::*;

fn read(body: &str) -> Vec<Passage> {
    passages(&parsed(body), Reading::WHOLE).0
}

fn parsed(body: &str) -> Article {
    let raw =
        format!("From: A <a@x.example>\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{body}");
    Article::parse(raw.as_bytes())
}

/// Breaks as `|`, links in brackets.
fn plain(paragraph: &Paragraph) -> String {
    let (Paragraph::Flow(phrases) | Paragraph::Fixed(phrases)) = paragraph;
    let text = phrases.iter().map(|phrase| match phrase {
        Phrase::Words(words) => words.clone(),
        Phrase::Break => "|".to_owned(),
        Phrase::Inner(text, href) => format!("[{text}]({href})"),
        Phrase::Outer(text, href) => format!("[{text}]({href})"),
    });
    text.collect()
}

fn own(passage: &Passage) -> Vec<String> {
    match passage {
        Passage::Own(paragraphs) => paragraphs.iter().map(plain).collect(),
        other => panic!("{other:?} is not the author's own"),
    }
}

#[test]
fn lines_that_a_program_broke_flow_again() {
    let text = "The gauge below the old mill has read the same height for three weeks.\n\
                Either the river has become very polite or the float is stuck. Has\n\
                anyone with access looked at it since the storm?\n\nI attach the readings.\n";
    let passages = read(text);
    let paragraphs = own(&passages[0]);
    assert_eq!(paragraphs.len(), 2, "{paragraphs:?}");
    assert!(
        paragraphs[0].contains("three weeks. Either"),
        "{paragraphs:?}"
    );
    assert!(!paragraphs[0].contains('|'), "{paragraphs:?}");
}

#[test]
fn lines_that_the_author_ended_early_stay() {
    let text = "Shopping for the weekend, which will be a long one this time round:\n\
                - a brush\n- two pairs of waders\nRoses are red\n";
    let paragraphs = own(&read(text)[0]);
    assert_eq!(
        paragraphs,
        [
            "Shopping for the weekend, which will be a long one this time round:|- a brush|- two pairs of waders|Roses are red"
        ]
    );
}

#[test]
fn tables_keep_their_places() {
    let passages = read(
        "The readings:\n\n  19 Oct   upstream 1.42 m   mill 0.87 m\n  26 Oct   upstream 1.53 m   mill 0.87 m\n\n   2 Nov   upstream 1.47 m   mill 0.87 m\n\nThat is all.\n",
    );
    let Passage::Own(paragraphs) = &passages[0] else {
        panic!("{passages:?}");
    };
    assert!(matches!(paragraphs[0], Paragraph::Flow(_)));
    assert!(
        matches!(paragraphs[1], Paragraph::Fixed(_)),
        "{paragraphs:?}"
    );
    assert_eq!(
        paragraphs.len(),
        3,
        "a blank line in a table does not end it"
    );
    assert!(plain(&paragraphs[1]).starts_with("  19 Oct   upstream"));
}

#[test]
fn quotes_of_more_than_three_lines_are_folded() {
    let three = read("Mira wrote:\n> one\n> two\n> three\n\nYes.\n");
    let four = read("Mira wrote:\n> one\n> two\n>> three\n> four\n\nYes.\n");
    let quote = |passages: &[Passage]| match &passages[0] {
        Passage::Quote(quote) => quote.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(quote(&three).folded, None);
    let four = quote(&four);
    assert_eq!(four.folded.as_deref(), Some("4 quoted lines"));
    let levels: Vec<u8> = four.blocks.iter().map(|(level, _)| *level).collect();
    assert_eq!(levels, [0, 1, 2, 1]);
    assert!(matches!(three[1], Passage::Own(_)));
}

#[test]
fn signatures_links_and_files_are_told_apart() {
    let body = "See https://x.example/a?b=1&c and news:comp.lang.c++ and <news:1234@x.example>.\n\n\
                begin 644 a.txt\n#86)C\n`\nend\n-- \nMira\n";
    let passages = read(body);
    let text = own(&passages[0]).concat();
    assert!(
        text.contains("[https://x.example/a?b=1&c](https://x.example/a?b=1&c)"),
        "{text}"
    );
    assert!(text.contains("(/news/comp.lang.c%2B%2B)"), "{text}");
    assert!(text.contains("(/news/article/1234%40x.example)"), "{text}");
    assert!(
        passages
            .iter()
            .any(|passage| matches!(passage, Passage::File(name) if name.contains("a.txt"))),
        "{passages:?}"
    );
    assert!(
        matches!(passages.last(), Some(Passage::Signature(_))),
        "{passages:?}"
    );
}

#[test]
fn rot13_turns_letters_and_leaves_no_links() {
    let turned = Reading {
        rot13: true,
        ..Reading::WHOLE
    };
    let (passages, _) = passages(&parsed("Uryyb, uggc://k.rknzcyr/\n"), turned);
    assert_eq!(own(&passages[0]), ["Hello, http://x.example/"]);
}

#[test]
fn a_long_text_is_cut_at_a_line_and_says_so() {
    let body = "0123456789\n".repeat(100);
    let short = Reading {
        most: 115,
        rot13: false,
    };
    let (passages, cut) = passages(&parsed(&body), short);
    assert_eq!(own(&passages[0]).concat().matches("0123456789").count(), 10);
    assert_eq!(cut, 90);
}

#[test]
fn short_texts_are_whole_and_long_ones_share_what_is_left() {
    assert_eq!(fair_share(&[10, 20, 30], 100), usize::MAX);
    assert_eq!(fair_share(&[10, 1000, 1000], 100), 45);
    assert_eq!(fair_share(&[], 100), usize::MAX);
}
