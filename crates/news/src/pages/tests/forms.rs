//! An article for programs: source, file, attachment, mailbox.

use std::sync::Arc;

use super::world::{Samples, World};
use crate::pages::samples::{self, row};
use crate::reading::{Content, Unread};

const RAW: &str = "From: Mira Holt <mira@x.example>\nSubject: Réadings / 3\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n\
                   --b\nContent-Type: text/plain\n\nThe readings.\nFrom here on it is flat.\n--b\nContent-Type: text/html; name=\"../ev\\\"il.html\"\n\
                   Content-Disposition: attachment\nContent-Transfer-Encoding: base64\n\nPHNjcmlwdD4=\n--b--\n";

fn world() -> World {
    let read = samples::article(&samples::id("1@x"), RAW);
    World::new(Samples {
        article: Ok(read),
        ..Samples::default()
    })
}

#[tokio::test]
async fn the_source_is_text_and_nothing_else() {
    let answer = world().get("/news/article/1@x/source").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    assert!(
        answer
            .header("content-security-policy")
            .starts_with("sandbox;")
    );
    assert_eq!(answer.body, RAW.replace('\n', "\r\n"));
}

#[tokio::test]
async fn a_file_is_never_shown_by_the_browser() {
    let world = world();
    let answer = world.get("/news/article/1@x/part/0").await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "<script>"));
    assert_eq!(answer.header("content-type"), "application/octet-stream");
    assert!(
        answer
            .header("content-disposition")
            .starts_with("attachment; filename=\""),
        "{}",
        answer.header("content-disposition")
    );
    assert!(!answer.header("content-disposition").contains(".."));
    assert!(
        answer
            .header("content-security-policy")
            .starts_with("sandbox;")
    );
    for part in ["1", "99999999999999999999999", "x", "-1"] {
        assert_eq!(
            world
                .get(&format!("/news/article/1@x/part/{part}"))
                .await
                .status,
            404,
            "{part}"
        );
    }
    let eml = world.get("/news/article/1@x/eml").await;
    assert_eq!(eml.header("content-type"), "message/rfc822");
    assert!(
        eml.header("content-disposition").contains(".eml\""),
        "{}",
        eml.header("content-disposition")
    );
}

#[tokio::test]
async fn the_text_alone_is_text() {
    let answer = world().get("/news/article/1@x?view=plain").await;
    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    assert!(
        answer.body.contains("By Mira Holt") && answer.body.contains("The readings."),
        "{}",
        answer.body
    );
    assert_eq!(
        world().get("/news/article/1@x/html").await.status,
        404,
        "it has plain text"
    );
}

#[tokio::test]
async fn rot13_is_another_page_of_the_same_article() {
    let answer = world().get("/news/article/1@x?rot13=1").await;
    assert!(answer.body.contains("Gur ernqvatf."), "{}", answer.body);
}

#[tokio::test]
async fn a_thread_is_a_mailbox_of_all_its_pages() {
    let page = |number: usize| {
        let mut view = samples::thread(vec![row(number, 0, None, "Mira")], |_| {
            "From me\n".to_owned()
        });
        view.pages = 2;
        view.page = number;
        Ok(Arc::new(view))
    };
    let world = World::new(Samples {
        thread: vec![page(0), page(1)],
        ..Samples::default()
    });
    let answer = world
        .get("/news/example.rivers.gauges/0@x.example/mbox")
        .await;
    assert_eq!(answer.header("content-type"), "application/mbox");
    assert_eq!(
        answer.body.matches("From someone@x.example ").count(),
        2,
        "{}",
        answer.body
    );
    assert_eq!(
        answer.body.matches("\n>From me\n").count(),
        2,
        "{}",
        answer.body
    );
    assert!(
        answer
            .header("content-disposition")
            .contains("Gauge at the old mill")
    );
}

#[tokio::test]
async fn to_a_stranger_a_mailbox_counts_as_all_pages_of_its_thread() {
    let pages = |pages: usize| {
        let mut view = samples::thread(vec![row(0, 0, None, "Mira")], |_| "x\n".to_owned());
        view.pages = pages;
        Samples {
            thread: vec![Ok(Arc::new(view))],
            ..Samples::default()
        }
    };
    let (mailbox, page) = ("/news/a.b/0@x.example/mbox", "/news/a.b/0@x.example");
    let world = World::public(pages(7), 10);
    for _ in 0..3 {
        assert_eq!(world.get_as_stranger(page).await.status, 200);
    }
    assert_eq!(world.get_as_stranger(mailbox).await.status, 200);
    let refused = world.get_as_stranger(page).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "60"));
    assert_eq!(world.get(mailbox).await.status, 200, "whoever has a key");

    let world = World::public(pages(12), 10);
    let refused = world.get_as_stranger(mailbox).await;
    assert_eq!(refused.status, 429);
    assert!(refused.body.contains("Sign in"), "{}", refused.body);
    assert_eq!(world.get_as_stranger(page).await.status, 200, "it cost one");
}

#[tokio::test]
async fn a_mailbox_with_a_hole_is_not_taken_for_whole() {
    let mut first = samples::thread(vec![row(0, 0, None, "Mira")], |_| "x".to_owned());
    first.pages = 2;
    let world = World::new(Samples {
        thread: vec![Ok(Arc::new(first)), Err(Unread::Busy { retry_after: 1 })],
        ..Samples::default()
    });
    let answer = world.get("/news/a.b/0@x.example/mbox").await;
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (200, ""),
        "the body ends with an error"
    );
}

#[tokio::test]
async fn a_mailbox_without_an_article_that_could_not_be_fetched_is_not_taken_for_whole() {
    let rows = vec![row(0, 0, None, "Mira"), row(1, 1, Some(0), "Jonas")];
    let mut view = samples::thread(rows, |_| "x".to_owned());
    view.messages[1].content = Content::Unreachable(Vec::new());
    let world = World::new(Samples {
        thread: vec![Ok(Arc::new(view))],
        ..Samples::default()
    });
    let answer = world.get("/news/a.b/0@x.example/mbox").await;
    assert_eq!(answer.body, "", "the body ends with an error");
}
