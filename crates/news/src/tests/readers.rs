//! Many requests at once through the router. No sockets; the clock runs, because marks are kept in a file.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use futures_util::future::join_all;
use tempfile::TempDir;
use tower::ServiceExt;
use weir_store::sqlite::File;

use super::world::*;
use crate::api;
use crate::marks::Marks;
use crate::reader::Reader;

/// What programs may ask, before a model.
fn router(world: &NewsWorld, directory: &TempDir) -> Router {
    let state = File::open(directory.path().join("state.db")).expect("a file");
    let marks = Marks::open(state).expect("tables");
    let reader = Reader::new(world.model.clone(), marks, Arc::new(weir_web::System));
    api::router(&reader).bare()
}

/// Asks for the same so many times at once; everybody gets it.
async fn all_at_once(router: &Router, times: usize, path: &str) {
    let request = || Request::get(path).body(Body::empty()).expect("a request");
    let asked = (0..times).map(|_| router.clone().oneshot(request()));
    for answer in join_all(asked).await {
        assert_eq!(answer.expect("an answer").status(), StatusCode::OK);
    }
}

#[tokio::test]
async fn ten_thousand_requests_for_one_article_cause_one_command() {
    let directory = TempDir::new().expect("a directory");
    let world = NewsWorld::of(1..=3).await;
    let router = router(&world, &directory);
    all_at_once(&router, 10_000, "/api/v1/news/articles/2@zoo.example").await;
    assert_eq!(world.servers[0].count("ARTICLE"), 1);
}

#[tokio::test]
async fn two_hundred_requests_for_a_cold_page_and_thread_cause_one_set_of_commands() {
    let directory = TempDir::new().expect("a directory");
    let world = NewsWorld::of(1..=30).await;
    let router = router(&world, &directory);
    all_at_once(&router, 200, "/api/v1/news/groups/misc.test").await;
    let thread = "/api/v1/news/groups/misc.test/threads/7@zoo.example";
    all_at_once(&router, 200, thread).await;
    for (command, times) in [
        ("LIST COUNTS", 1),
        ("GROUP", 1),
        ("OVER", 1),
        ("ARTICLE", 1),
    ] {
        assert_eq!(world.servers[0].count(command), times, "{command}");
    }
}
