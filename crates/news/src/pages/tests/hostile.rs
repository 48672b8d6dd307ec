//! Script in every field runs nowhere.

use std::sync::Arc;

use weir_news_proto::article::{Head, Header};

use super::thread::balanced;
use super::world::{Samples, World};
use crate::pages::samples::{self, NOV, row};
use crate::pages::{article, currency, groups, thread, threads};
use crate::reading::{Absence, Content, NewsgroupRow, ReadArticle, SilentServer, Unread};

const SCRIPT: &str = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>";

fn silent() -> SilentServer {
    SilentServer {
        name: SCRIPT.into(),
        reason: SCRIPT.to_owned(),
        retry_at: None,
    }
}

fn newsgroup() -> NewsgroupRow {
    NewsgroupRow {
        description: SCRIPT.to_owned(),
        servers: vec![SCRIPT.into()],
        ..samples::newsgroup("a.b'&c")
    }
}

fn harmless(body: &str) {
    let lower = body.to_lowercase();
    for bad in [
        "<script",
        "<img",
        "onerror=alert(1)>",
        "style=",
        "\"javascript:",
    ] {
        assert!(!lower.contains(bad), "{bad} in {body}");
    }
    balanced(body);
}

/// An article with script wherever an author can put it.
fn article_of(id: &str) -> Arc<ReadArticle> {
    let raw = format!(
        "From: =?utf-8?Q?=3Cscript=3Ealert(1)=3C/script=3E?= <\"><script>@x>\nSubject: {SCRIPT}\nNewsgroups: a.b'&c\n\
         Organization: {SCRIPT}\nUser-Agent: {SCRIPT}\nX-Odd: {SCRIPT}\nFollowup-To: poster\nDate: {SCRIPT}\n\
         References: <a\"b@x>\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n\
         --b\nContent-Type: text/plain\n\n{SCRIPT}\n> {SCRIPT}\nhttps://x.example/\"><script>\n\
         javascript:alert(1)\n-- \n{SCRIPT}\n\
         --b\nContent-Type: text/html\n\n<p onclick=alert(1)>{SCRIPT}<a href=\"javascript:alert(1)\">a</a>\n\
         --b\nContent-Type: text/x-{SCRIPT}\nContent-Disposition: attachment; filename=\"a<script>.txt\"\n\nx\n--b--\n"
    );
    let mut read = Arc::into_inner(samples::article(&samples::id(id), &raw)).unwrap();
    read.server = SCRIPT.into();
    // Beyond what the parser lets through.
    read.article.head.headers.push(Header {
        name: SCRIPT.to_owned(),
        value: SCRIPT.to_owned(),
    });
    Arc::new(read)
}

#[test]
fn lists_show_script_as_text() {
    let mut list = samples::list(vec![newsgroup()]);
    list.currency.silent.push(silent());
    for q in ["", SCRIPT] {
        let view = serde_json::from_value(
            serde_json::json!({ "q": q, "under": if q.is_empty() { SCRIPT } else { "" } }),
        )
        .unwrap();
        harmless(&groups::write(&list, &view, 0, true).unwrap().body);
    }
    harmless(
        &groups::write(&list, &Default::default(), 0, true)
            .unwrap()
            .body,
    );
    let mut hostile = samples::thread_row(1);
    hostile.subject = SCRIPT.to_owned();
    hostile.author = SCRIPT.to_owned();
    hostile.last_author = SCRIPT.to_owned();
    hostile.root = samples::id("\"'&@x");
    hostile.last_id = samples::id("\"'</b@x");
    let mut page = samples::threads(vec![hostile]);
    page.newsgroup = newsgroup();
    page.currency.silent.push(silent());
    let body = threads::write(&page, None, true).unwrap().body;
    harmless(&body);
    assert!(body.contains("&#60;script&#62;alert(1)"), "{body}");
}

#[test]
fn threads_and_articles_show_script_as_text() {
    let mut rows = vec![
        row(0, 0, None, SCRIPT),
        row(1, 1, Some(0), SCRIPT),
        row(2, 1, Some(0), SCRIPT),
        row(3, 1, Some(0), SCRIPT),
    ];
    for row in &mut rows {
        row.subject = SCRIPT.to_owned();
    }
    let mut view = samples::thread(rows, |_| SCRIPT.to_owned());
    view.newsgroup = newsgroup();
    view.subject = SCRIPT.to_owned();
    view.currency.silent.push(silent());
    view.messages[1].content = Content::Read(article_of("\"'<b@x"));
    view.messages[2].content = Content::Unreachable(vec![silent()]);
    view.messages[3].content = Content::Nowhere(Arc::new(Absence {
        servers: vec![SCRIPT.into()],
        at: NOV,
    }));
    harmless(&thread::write(&view).unwrap().body);
    for rot13 in [false, true] {
        let body = article::write(&article_of("\"'<b@x"), rot13).unwrap().body;
        harmless(&body);
        assert!(body.contains("a_script_.txt"), "{body}");
    }
    assert_ne!(Head::default(), article_of("1@x").article.head);
}

#[tokio::test]
async fn trouble_and_titles_show_script_as_text() {
    let near = vec![SCRIPT.to_owned()];
    let world = World::new(Samples::failing(&Unread::NoNewsgroup { near }));
    let answer = world.get("/news/a.b'&c").await;
    assert!(!answer.body.contains("<script>alert"), "{}", answer.body);
    let world = World::new(Samples::failing(&Unread::Unreachable(vec![silent()])));
    let answer = world.get("/news/article/%22'%3Cb@x").await;
    assert!(!answer.body.contains("<script>alert"), "{}", answer.body);
    let world = World::new(Samples {
        article: Ok(article_of("\"'<b@x")),
        ..Samples::default()
    });
    let answer = world.get("/news/article/1@x").await;
    assert_eq!(answer.status, 200);
    assert!(!answer.body.contains("<script>alert"), "{}", answer.body);
    let html = world.get("/news/article/1@x/html").await;
    assert_eq!(html.status, 200);
    for bad in ["<script", "<img", "onclick", "javascript:"] {
        assert!(!html.body.contains(bad), "{bad} in {}", html.body);
    }
    assert!(
        html.header("content-security-policy")
            .starts_with("sandbox ")
    );
}

#[test]
fn names_of_servers_cannot_open_an_element() {
    assert_eq!(
        currency::listed(&[SCRIPT]),
        SCRIPT,
        "templates escape it, nobody else"
    );
}
