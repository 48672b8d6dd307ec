use proptest::prelude::*;
use weir_news_proto::article::{Article, Part, Text};

use super::*;

fn draft() -> Draft {
    Draft {
        name: "Jörg Example".to_owned(),
        address: "j@b.example".to_owned(),
        newsgroups: "misc.test, misc.other".to_owned(),
        subject: "Grüße".to_owned(),
        text: "Text\n".to_owned(),
        ..Draft::default()
    }
}

fn read(draft: &Draft) -> Article {
    let raw = draft.article().expect("an article");
    assert!(
        raw.split(|byte| *byte == b'\n')
            .all(|line| line.len() <= LONGEST + 1)
    );
    Article::parse(&raw)
}

fn shown(article: &Article) -> String {
    let texts = article.parts.iter().filter_map(Part::text);
    texts.map(Text::plain).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_draft_becomes_an_article_that_says_what_was_typed() {
    let draft = Draft {
        followup: "poster".to_owned(),
        references: "<1@x> junk <2@x>".to_owned(),
        replaces: "<old@x>".to_owned(),
        ..draft()
    };
    assert_eq!(draft.mistakes(1000, 3), []);
    let article = read(&draft);
    assert_eq!(article.head.from.name, "Jörg Example");
    assert_eq!(article.head.from.address, "j@b.example");
    assert_eq!(article.head.subject, "Grüße");
    assert_eq!(article.head.newsgroups.len(), 2);
    assert_eq!(article.head.header("References"), Some("<1@x> <2@x>"));
    assert_eq!(article.head.header("Supersedes"), Some("<old@x>"));
    assert_eq!(article.head.header("Followup-To"), Some("poster"));
    assert_eq!(shown(&article).trim(), "Text");
    assert_eq!(article.damage, []);
}

#[test]
fn nothing_typed_into_any_field_becomes_a_header() {
    let odd = "x@y.example\r\nApproved: me\r\n\r\nBody";
    let change: [fn(&mut Draft, String); 8] = [
        |draft, odd| draft.name = odd,
        |draft, odd| draft.address = odd,
        |draft, odd| draft.newsgroups = odd,
        |draft, odd| draft.subject = odd,
        |draft, odd| draft.followup = odd,
        |draft, odd| draft.references = odd,
        |draft, odd| draft.replaces = odd,
        |draft, odd| draft.id = odd,
    ];
    for (place, change) in change.into_iter().enumerate() {
        for odd in [
            odd.to_owned(),
            odd.replace("\r\n", "\n"),
            odd.replace("\r\n", "\r"),
            odd.replace("\r\n", "\0"),
        ] {
            let mut draft = draft();
            change(&mut draft, odd);
            let refused = !draft.mistakes(1000, 3).is_empty();
            let Ok(raw) = draft.article() else { continue };
            let article = Article::parse(&raw);
            assert!(article.head.header("Approved").is_none(), "{place}");
            assert!(refused || shown(&article).trim() == "Text", "{place}");
        }
    }
}

#[test]
fn mistakes_are_named_by_their_fields() {
    let empty = Draft::default().mistakes(1000, 3);
    let fields: Vec<DraftField> = empty.iter().map(|(field, _)| *field).collect();
    use DraftField::{Address, Followup, Name, Newsgroups, Subject, Text};
    assert_eq!(fields, [Address, Subject, Text, Newsgroups]);
    let bad = Draft {
        name: "x".repeat(300),
        address: "a b@c".to_owned(),
        newsgroups: "a.a b.b,c.c;d.d".to_owned(),
        followup: "a*".to_owned(),
        text: "x".repeat(1001),
        ..draft()
    };
    let bad = bad.mistakes(1000, 3);
    let fields: Vec<DraftField> = bad.iter().map(|(field, _)| *field).collect();
    assert_eq!(fields, [Name, Address, Text, Newsgroups, Followup]);
    assert!(
        bad[2].1.contains("news.post_bytes") && bad[3].1.contains("news.post_groups"),
        "{bad:?}"
    );
}

#[test]
fn long_paragraphs_are_folded_and_quotes_are_not() {
    let words = "word ".repeat(60);
    let quote = format!("> {}", "q".repeat(200));
    let draft = Draft {
        text: format!("{words}\n\n{quote}\n From here\nFrom there\n.\n-- \nme"),
        ..draft()
    };
    let raw = String::from_utf8(draft.article().expect("an article")).expect("text");
    let body = raw.split_once("\r\n\r\n").expect("a body").1;
    assert!(
        body.lines()
            .filter(|line| !line.starts_with('>'))
            .all(|line| line.len() <= 74),
        "{body}"
    );
    assert!(
        body.contains(&quote) && body.contains("\r\n-- \r\nme"),
        "{body}"
    );
    let text = shown(&read(&draft));
    assert!(text.contains(words.trim_end()), "{text}");
    assert!(text.contains("\n From here\nFrom there\n.\n"), "{text}");
}

#[test]
fn a_word_that_fits_no_line_is_encoded() {
    let word = "ä".repeat(2_000);
    let draft = Draft {
        text: format!("Before\n{word}\nafter = \n"),
        ..draft()
    };
    let article = read(&draft);
    assert!(shown(&article).contains(&word));
    assert!(shown(&article).contains("after ="));
}

#[tokio::test]
async fn drafts_are_kept_under_names_that_only_we_give() {
    let drafts = Drafts::open(None, &LockSecret([1; 32])).expect("drafts");
    let name = drafts.name().expect("a name");
    assert_eq!(drafts.read_name(name.as_str()), Some(name.clone()));
    let other = Drafts::open(None, &LockSecret([2; 32])).expect("drafts");
    assert_eq!(other.read_name(name.as_str()), None);
    for odd in [
        "",
        "-",
        "abc",
        &name.as_str()[1..],
        &format!("{}x", name.as_str()),
    ] {
        assert_eq!(drafts.read_name(odd), None, "{odd}");
    }
    drafts.keep(&name, &draft(), 1).await.expect("it is kept");
    assert_eq!(drafts.find(&name).expect("a look"), Some(draft()));
    for at in 0..100 {
        let name = drafts.name().expect("a name");
        drafts
            .keep(&name, &draft(), 10 + at)
            .await
            .expect("it is kept");
    }
    let all = drafts.all().expect("a look");
    assert_eq!((all.len(), all[0].at), (MOST as usize, 109));
    assert_eq!(drafts.find(&name).expect("a look"), None, "the oldest went");
}

proptest! {
    #[test]
    fn any_text_comes_out_as_it_went_in(text in "([a-zé >.=-]{0,90}\n){0,6}") {
        let draft = Draft { text: format!("Start\n{text}end"), ..draft() };
        let raw = draft.article().expect("an article");
        let body = String::from_utf8(raw).expect("text");
        let body = body.split_once("\r\n\r\n").expect("a body").1;
        let lines: Vec<&str> = body.split("\r\n").collect();
        // Undone as RFC 3676 has it: a space in front goes, and a line that ends with one goes on.
        let mut undone = String::new();
        for line in lines {
            let quote = line.starts_with('>');
            let line = if quote { line } else { line.strip_prefix(' ').unwrap_or(line) };
            undone.push_str(line);
            if !line.ends_with(' ') || line == "-- " {
                undone.push('\n');
            }
        }
        let typed: Vec<&str> = draft.text.trim_end().split('\n').map(|line| match line {
            "-- " => line,
            line => line.trim_end_matches(' '),
        }).collect();
        let typed = typed.join("\n");
        prop_assert_eq!(undone.trim_end(), typed.trim_end());
    }
}
