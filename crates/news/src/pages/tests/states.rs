//! Empty, stale, down, unknown and damaged: each says what is so and what to do.

use std::sync::Arc;

use axum::http::Method;

use super::world::{Samples, World};
use crate::pages::samples::{self, NOV};
use crate::reading::{Absence, Posting, SilentServer, ThreadPage, Unread};

const EVERY: [&str; 4] = [
    "/news",
    "/news/example.a",
    "/news/example.a/1@x.example",
    "/news/article/1@x.example",
];

fn silent() -> Vec<SilentServer> {
    vec![SilentServer {
        name: "news-two".into(),
        reason: "it timed out after 30 s".to_owned(),
        retry_at: Some(NOV + 690),
    }]
}

#[tokio::test]
async fn without_a_server_the_lines_to_add_are_shown() {
    let world = World::new(Samples::default());
    for (path, status) in EVERY.into_iter().zip([200, 404, 404, 404]) {
        let answer = world.get(path).await;
        assert_eq!(answer.status, status, "{path}");
        for text in [
            "No news server is configured",
            "news:\n  servers:",
            "weir.yaml",
        ] {
            assert!(answer.body.contains(text), "{text} at {path}");
        }
    }
    assert_eq!(world.get("/api/v1/news/groups").await.status, 404);
}

#[tokio::test]
async fn an_unknown_newsgroup_names_similar_ones() {
    let near = vec!["example.rivers".to_owned()];
    let world = World::new(Samples::failing(&Unread::NoNewsgroup { near }));
    let answer = world.get("/news/example.river").await;
    assert_eq!(answer.status, 404);
    for text in [
        "No server carries example.river.",
        "href=\"/news/example.rivers\"",
    ] {
        assert!(answer.body.contains(text), "{text} in {}", answer.body);
    }
    let json = world.get("/api/v1/news/groups/example.river").await;
    assert_eq!(json.status, 404);
    assert!(
        json.body.contains("Did you mean example.rivers?"),
        "{}",
        json.body
    );
}

#[tokio::test]
async fn a_busy_weir_says_when_to_come_back() {
    let world = World::new(Samples::failing(&Unread::Busy { retry_after: 7 }));
    for path in EVERY {
        let answer = world.get(path).await;
        assert_eq!(
            (answer.status, answer.header("retry-after")),
            (503, "7"),
            "{path}"
        );
        assert!(answer.body.contains("Try again in 7 seconds."), "{path}");
    }
    let json = world.get("/api/v1/news/articles/1@x").await;
    assert_eq!((json.status, json.header("retry-after")), (503, "7"));
}

#[tokio::test]
async fn what_is_stored_is_shown_while_weir_is_busy() {
    let mut page = samples::threads(vec![samples::thread_row(1)]);
    page.currency.busy = Some(7);
    let world = World::new(Samples {
        threads: Ok(Arc::new(page)),
        ..Samples::default()
    });
    let answer = world.get("/news/example.rivers.gauges").await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, "7"));
    for text in ["Thread 1", "only what is stored"] {
        assert!(answer.body.contains(text), "{text}");
    }
    let tag = [("if-none-match", answer.header("etag"))];
    let again = world
        .ask(Method::GET, "/news/example.rivers.gauges", &tag, "")
        .await;
    assert_eq!(again.status, 304, "what the reader has stays");
}

#[tokio::test]
async fn when_no_server_answers_each_is_named_with_its_reason_and_next_try() {
    let world = World::new(Samples::failing(&Unread::Unreachable(silent())));
    for path in EVERY {
        let answer = world.get(path).await;
        assert_eq!(
            (answer.status, answer.header("retry-after")),
            (503, "90"),
            "{path}"
        );
        for text in ["<b>news-two</b>", "it timed out after 30 s.", "Next try"] {
            assert!(answer.body.contains(text), "{text} at {path}");
        }
    }
}

#[tokio::test]
async fn newsgroups_stand_beside_the_threads_of_one_and_nobody_is_asked_for_them() {
    let names = ["example.rivers.gauges", "example.rivers.ice"];
    let list = samples::list(names.map(samples::newsgroup).into());
    let threads = || Ok(Arc::new(samples::threads(vec![samples::thread_row(1)])));
    let world = World::new(Samples {
        newsgroups: Ok(Arc::new(list)),
        threads: threads(),
        ..Samples::default()
    });
    let answer = world.get("/news/example.rivers.gauges").await;
    for text in [
        "<nav class=\"side\" aria-label=\"Newsgroups\">",
        "aria-current=\"page\"><bdi>gauges</bdi>",
        "href=\"/news/example.rivers.ice\"",
    ] {
        assert!(answer.body.contains(text), "{text} in {}", answer.body);
    }
    assert_eq!(world.asked(), ["example.rivers.gauges 0"]);
    let world = World::new(Samples {
        threads: threads(),
        ..Samples::default()
    });
    let answer = world.get("/news/example.rivers.gauges").await;
    assert_eq!(answer.status, 200);
    assert!(!answer.body.contains("class=\"side\""), "nothing is known");
}

#[test]
fn a_page_is_fetched_again_by_a_button() {
    let button = |body: &str, fields: &str| {
        let form = body.split("<form class=\"tool\"").nth(1).expect("a form");
        let form = &form[..form.find("</form>").expect("an end")];
        assert!(
            form.ends_with(&format!("\">{fields}<button>Refresh</button>")),
            "{form}"
        );
    };
    let mut threads = samples::threads(vec![samples::thread_row(1)]);
    let write = |page: &ThreadPage| crate::pages::threads::write(page, None, true).unwrap().body;
    button(&write(&threads), "");
    threads.page = 2;
    let page = "<input type=\"hidden\" name=\"page\" value=\"3\">";
    button(&write(&threads), page);
    let mut thread = samples::thread(vec![samples::row(0, 0, None, "Mira")], |_| "x".to_owned());
    thread.page = 2;
    button(&crate::pages::thread::write(&thread).unwrap().body, page);
    let list = samples::list(vec![samples::newsgroup("a.b")]);
    let view = serde_json::from_value(serde_json::json!({ "q": "a", "under": "" })).unwrap();
    button(
        &crate::pages::groups::write(&list, &view, 0, true)
            .unwrap()
            .body,
        "<input type=\"hidden\" name=\"q\" value=\"a\">",
    );
}

#[tokio::test]
async fn a_stale_page_is_whole_and_says_so() {
    let mut page = samples::threads(vec![samples::thread_row(1)]);
    page.currency.silent = silent();
    let mut thread = samples::thread(vec![samples::row(0, 0, None, "Mira")], |_| {
        "Hello".to_owned()
    });
    thread.currency.silent = silent();
    let mut list = samples::list(vec![samples::newsgroup("a.b")]);
    list.currency.silent = silent();
    let world = World::new(Samples {
        newsgroups: Ok(Arc::new(list)),
        threads: Ok(Arc::new(page)),
        thread: vec![Ok(Arc::new(thread))],
        ..Samples::default()
    });
    for path in &EVERY[..3] {
        let answer = world.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        for text in [
            "No answer from <b>news-two</b>: it timed out after 30 s.",
            "Last checked on <time",
        ] {
            assert!(
                answer.body.contains(text),
                "{text} at {path}: {}",
                answer.body
            );
        }
    }
}

#[tokio::test]
async fn an_article_that_nobody_has_names_who_was_asked_and_when() {
    let absence = Arc::new(Absence {
        servers: vec!["news-one".into(), "news-two".into()],
        at: NOV,
    });
    let world = World::new(Samples::failing(&Unread::NoArticle(absence)));
    let answer = world.get("/news/article/1@x").await;
    assert_eq!(answer.status, 404);
    for text in ["news-one and news-two", "2026-11-10T09:12:00Z"] {
        assert!(answer.body.contains(text), "{text}");
    }
}

#[tokio::test]
async fn a_page_past_the_end_leads_to_the_last_one() {
    let world = World::new(Samples::failing(&Unread::NoPage { pages: 3 }));
    let answer = world.get("/news/example.a?page=9").await;
    assert_eq!(answer.status, 404);
    for text in ["There are only 3 pages.", "href=\"/news/example.a?page=3\""] {
        assert!(answer.body.contains(text), "{text}");
    }
}

#[test]
fn an_empty_newsgroup_is_a_page() {
    let body = crate::pages::threads::write(&samples::threads(Vec::new()), None, true)
        .unwrap()
        .body;
    for text in [
        "There are no articles here.",
        "No server has an article",
        "atom.xml",
    ] {
        assert!(body.contains(text), "{text} in {body}");
    }
}

#[test]
fn what_is_not_known_is_not_counted() {
    let mut page = samples::threads((0..50).map(samples::thread_row).collect());
    page.known = 500;
    (page.complete, page.has_more) = (false, true);
    page.page = 9;
    page.newsgroup.posting = Posting::Moderated;
    let body = crate::pages::threads::write(&page, None, true)
        .unwrap()
        .body;
    for text in [
        "500 newest threads known; older ones are fetched as you page.",
        "451–500 of 500 so far",
        "?page=9\" rel=\"prev\"",
        "?page=11\" rel=\"next\"",
        "Moderated:",
    ] {
        assert!(body.contains(text), "{text} in {body}");
    }
}

#[test]
fn a_list_that_ends_before_the_newsgroup_does_says_how_to_read_on() {
    let written = |change: fn(&mut crate::reading::ThreadPage)| {
        let mut page = samples::threads((0..50).map(samples::thread_row).collect());
        (page.known, page.page) = (500, 9);
        (page.complete, page.has_more) = (false, false);
        change(&mut page);
        crate::pages::threads::write(&page, None, true)
            .unwrap()
            .body
    };
    let says = "The list ends here.";
    let last = written(|_| {});
    assert!(last.contains(says) && last.contains("Message-ID"), "{last}");
    let others: [fn(&mut crate::reading::ThreadPage); 4] = [
        |page| page.page = 8,
        |page| page.has_more = true,
        |page| page.complete = true,
        |page| page.currency.silent = silent(),
    ];
    for (index, other) in others.into_iter().enumerate() {
        assert!(!written(other).contains(says), "{index}");
    }
}

#[test]
fn a_damaged_article_says_which_parts_and_where_the_rest_is() {
    let id = samples::id("1@x");
    let read = samples::article(
        &id,
        "From: a@x\nContent-Type: multipart/mixed\nSubject: Broken\n\nSome text\n",
    );
    assert!(!read.article.damage.is_empty());
    let body = crate::pages::article::write(&read, false).unwrap().body;
    let sentence = read.article.damage[0].to_string();
    for text in [
        "Parts of this message could not be read.",
        sentence.as_str(),
        "/news/article/1%40x/source",
        "Some text",
    ] {
        assert!(body.contains(text), "{text} in {body}");
    }
}
