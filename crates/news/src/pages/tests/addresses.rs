//! Which address asks the library for what, and which never does.

use super::world::{Samples, World};
use crate::pages::samples;

#[tokio::test]
async fn what_is_malformed_never_reaches_the_library() {
    let world = World::new(Samples::default());
    let long = format!("/news/article/{}", "x".repeat(300));
    for path in [
        "/news/a%20b",
        "/news/%3Cscript%3E",
        "/news/a%0D%0AQUIT",
        "/news/a.b/no%20id",
        "/news/a.b/1%0D%0A2@x",
        "/news/article/a%3Eb@x",
        &long,
        "/news/article/%C3%A9@x/source",
        "/api/v1/news/groups/a%20b",
        "/api/v1/news/articles/a%20b",
    ] {
        let answer = world.get(path).await;
        assert_eq!(answer.status, 404, "{path}: {}", answer.body);
        assert!(!answer.body.contains("<script>"), "{path}");
    }
    for path in ["/news/a.b?page=0", "/news?page=x", "/news/a.b/1@x?page=-1"] {
        assert_eq!(world.get(path).await.status, 400, "{path}");
    }
    for path in ["/api/v1/news/marks?since=x", "/api/v1/news/groups?page=0"] {
        assert_eq!(world.get(path).await.status, 422, "{path}");
    }
    assert_eq!(world.get("/news/a.b/1@x?article=a%20b").await.status, 404);
    assert_eq!(world.asked(), [""; 0]);
}

#[tokio::test]
async fn names_and_ids_arrive_as_they_are() {
    let world = World::new(Samples::default());
    for path in [
        "/news",
        "/news/comp.lang.c%2B%2B?page=3",
        "/news/a.b/x%2Fy%25z@x",
        "/news/a.b/1@x?page=2",
        "/news/a.b/1@x?article=2@x",
        "/news/article/x%2Fy@x/eml",
        "/news/article/%3C7@x%3E",
    ] {
        world.get(path).await;
    }
    assert_eq!(
        world.asked(),
        [
            "newsgroups",
            "comp.lang.c++ 2",
            "a.b <x/y%z@x> Page(0)",
            "a.b <1@x> Page(1)",
            "a.b <1@x> Article(MessageId(<2@x>))",
            "<x/y@x>",
            "<7@x>",
        ]
    );
}

#[tokio::test]
async fn a_page_is_written_once() {
    let page = std::sync::Arc::new(samples::threads(vec![samples::thread_row(1)]));
    let world = World::new(Samples {
        threads: Ok(page.clone()),
        ..Samples::default()
    });
    let first = world.get("/news/example.rivers.gauges").await;
    assert_eq!(first.status, 200);
    let written = page
        .rendered
        .get_or_write(|| panic!("it was written before"));
    assert!(first.body.contains(&written.body));
    let second = world.get("/news/example.rivers.gauges").await;
    assert!(second.body.contains(&written.body));
}
