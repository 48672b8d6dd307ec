//! A thread as it is read.

use std::sync::Arc;

use crate::pages::samples::{self, NOV, row};
use crate::pages::{groups, thread};
use crate::reading::{Absence, Content, OutlineRow, SilentServer};

/// Eight messages and a gap, as in the picture of the look.
pub(super) fn mill() -> Vec<OutlineRow> {
    let mut gap = row(4, 1, Some(0), "");
    gap.missing = 1;
    vec![
        row(0, 0, None, "Mira Holt"),
        row(1, 1, Some(0), "Jonas Petri"),
        row(2, 2, Some(1), "Mira Holt"),
        row(3, 3, Some(2), "A. Oduya"),
        gap,
        row(5, 2, Some(4), "Lena Brandt"),
        row(6, 2, Some(4), "T. Marsh"),
        row(7, 1, Some(0), "Sakari V."),
        row(8, 2, Some(7), "Mira Holt"),
    ]
}

#[test]
fn a_thread_opens_with_its_sentence_and_shows_gaps_in_place() {
    let mut view = samples::thread(mill(), |index| format!("Words {index}\n"));
    view.messages[4].content = Content::Nowhere(Arc::new(Absence {
        servers: vec!["news-one".into(), "news-two".into()],
        at: NOV,
    }));
    view.messages[6].content = Content::Unreachable(vec![SilentServer {
        name: "news-two".into(),
        reason: "it hung up".to_owned(),
        retry_at: None,
    }]);
    let body = thread::write(&view).unwrap().body;
    for text in [
        "8 messages by 6 people",
        ", 1 more is missing.",
        "<i>not available</i>",
        "A message is missing here. Neither server has it.",
        "Asked news-one and news-two on",
        "This message could not be fetched.",
        "No answer from <b>news-two</b>: it hung up.",
        "to <a href=\"#",
        "class=\"d3\"",
        "2 replies",
    ] {
        assert!(body.contains(text), "{text} in {body}");
    }
    balanced(&body);
    let place = |text: &str| {
        body.find(text)
            .unwrap_or_else(|| panic!("{text} in {body}"))
    };
    assert!(
        place("Words 3") < place("is missing here") && place("is missing here") < place("Words 5")
    );
}

#[test]
fn an_answer_on_another_page_is_led_to() {
    let mut rows = vec![row(0, 0, None, "Mira"), row(1, 1, Some(0), "Jonas")];
    rows[1].page = 1;
    let mut view = samples::thread(rows, |_| "x".to_owned());
    view.page = 1;
    view.pages = 2;
    view.messages = samples::thread(
        vec![row(0, 0, None, "Mira"), row(1, 1, Some(0), "Jonas")],
        |_| "x".to_owned(),
    )
    .messages
    .split_off(1);
    let body = thread::write(&view).unwrap().body;
    let parent = crate::pages::address::anchor(&view.outline[0].id);
    for text in [
        format!("to <a href=\"/news/example.rivers.gauges/0%40x.example#{parent}\""),
        "Page 2 of 2".to_owned(),
        "rel=\"prev\"".to_owned(),
    ] {
        assert!(body.contains(&text), "{text} in {body}");
    }
    balanced(&body);
}

#[test]
fn nothing_on_a_page_depends_on_who_reads_it() {
    let view = samples::thread(mill(), |_| "x".to_owned());
    let one = thread::write(&view).unwrap();
    let other = thread::write(&view).unwrap();
    assert_eq!((one.tag, &one.body), (other.tag, &other.body));
    assert!(!one.body.contains("csrf"));
    assert!(!one.body.contains("style="), "the policy forbids it");
}

#[test]
fn newsgroups_stand_by_their_dots_with_what_is_known_of_them() {
    let mut gauges = samples::newsgroup("example.rivers.gauges");
    gauges.description = "Water levels".to_owned();
    gauges.newest = Some(NOV);
    let list = samples::list(vec![
        gauges,
        samples::newsgroup("example.rivers.ice"),
        samples::newsgroup("misc"),
    ]);
    let body = groups::write(&list, &Default::default(), 0, true)
        .unwrap()
        .body;
    for text in [
        "3 newsgroups.",
        "<summary><bdi>example.rivers</bdi>",
        "Water levels",
        "214 articles",
        "news-one and news-two",
        "newest <time",
    ] {
        assert!(body.contains(text), "{text} in {body}");
    }
    balanced(&body);
}

/// Every element that is opened is closed, in order.
pub(super) fn balanced(html: &str) {
    let mut open: Vec<&str> = Vec::new();
    for piece in html.split('<').skip(1) {
        let end = piece.find([' ', '>', '\n', '/']).unwrap_or(piece.len());
        if let Some(name) = piece.strip_prefix('/') {
            let name = &name[..name.find('>').expect("an end")];
            assert_eq!(
                open.pop(),
                Some(name),
                "at …<{}",
                &piece[..piece.len().min(80)]
            );
        } else if !["br", "input", "meta", "link"].contains(&&piece[..end])
            && !piece.split('>').next().unwrap_or("").ends_with('/')
        {
            open.push(&piece[..end]);
        }
    }
    assert_eq!(open, [""; 0]);
}
