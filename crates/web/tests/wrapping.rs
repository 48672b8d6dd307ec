//! What it costs to put a rendered body into the shell: counted where memory is asked for, so it is the same on every
//! machine.

#![expect(unsafe_code, reason = "an allocator that counts has to be one")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::{HeaderMap, Request};
use axum::{Router, body::Body, routing::get};
use tower::ServiceExt;
use weir_store::sqlite::File;
use weir_web::{Access, App, Config, Contribution, Icon, Requests, Visitor};

const BODY: usize = 40_000;

struct Counting;

/// Pieces of memory in which the body would fit.
static LARGE: AtomicUsize = AtomicUsize::new(0);
/// All others.
static SMALL: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static COUNTING: Counting = Counting;

fn count(bytes: usize) {
    let counter = if bytes >= BODY { &LARGE } else { &SMALL };
    counter.fetch_add(1, Ordering::Relaxed);
}

fn counted() -> (usize, usize) {
    (LARGE.load(Ordering::Relaxed), SMALL.load(Ordering::Relaxed))
}

// SAFETY: every call is handed to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: the caller keeps the contract.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

// One test, since the counters are the whole program's.
#[tokio::test]
async fn a_body_is_copied_for_its_first_reader_alone() {
    let body: &'static str = "x".repeat(BODY).leak();
    let page = async move |visitor: Visitor, headers: HeaderMap| {
        let before = counted();
        let response = visitor.tagged(&headers, "News", body, 7);
        let after = counted();
        let cost = format!("{} {}", after.0 - before.0, after.1 - before.1);
        ([("x-cost", cost)], response)
    };
    let routes = Router::new().route("/news", get(page));
    let news = Contribution::new("news", "News", Icon::News)
        .router_for(Access::Reading, weir_web::Right::Read, routes)
        .public("/news");
    let directory = tempfile::tempdir().unwrap();
    let state = File::open(directory.path().join("state.db")).unwrap();
    let clock = Arc::new(weir_web::System);
    let requests = Requests::default();
    let app = App::open(Config::default(), &state, clock, requests, vec![news]).unwrap();
    let router = app.router();
    let mut etag = String::new();
    for (what, large, small) in [("first", 9, 99), ("next", 0, 12), ("known", 0, 8)] {
        let mut request = Request::builder().uri("/news");
        if what == "known" {
            request = request.header("if-none-match", &etag);
        }
        let request = request.body(Body::empty()).unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        let text = |name| response.headers()[name].to_str().unwrap().to_owned();
        etag = text("etag");
        let cost = text("x-cost");
        let (larges, smalls) = cost.split_once(' ').unwrap();
        let [larges, smalls] = [larges, smalls].map(|number| number.parse::<usize>().unwrap());
        assert!(
            larges <= large && smalls <= small,
            "{what}: {larges} large, {smalls} small"
        );
    }
}
