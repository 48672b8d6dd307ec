//! Large threads and lists stay within what a page may weigh.

use std::io::Write;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::thread::balanced;
use super::world::{Samples, World};
use crate::pages::samples::{self, row};
use crate::pages::{groups, thread, threads};
use crate::reading::OutlineRow;

/// Bytes of a page at worst, packed.
const WORST: usize = 150_000;

fn packed(body: &str) -> usize {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body.as_bytes()).unwrap();
    encoder.finish().unwrap().len()
}

/// Pages of fifty, as the model makes them.
fn paged(mut rows: Vec<OutlineRow>) -> Vec<OutlineRow> {
    for (index, row) in rows.iter_mut().enumerate() {
        row.page = index / 50;
    }
    rows
}

#[test]
fn a_thread_three_thousand_deep_is_read_by_pages() {
    let rows =
        (0..3_000).map(|number: usize| row(number, number, number.checked_sub(1), "Mira Holt"));
    let view = samples::thread(paged(rows.collect()), |_| {
        "A few words, and a few more of them.\n".repeat(20)
    });
    let body = thread::write(&view).unwrap().body;
    balanced(&body);
    assert!(packed(&body) < WORST / 2, "{}", packed(&body));
    assert!(body.contains("Page 1 of 60") && body.contains("3,000 messages by 1 person"));
    let deepest = body.matches("<ol").count();
    assert!(deepest < 20, "{deepest} lists for seven levels");
}

#[test]
fn a_thread_ten_thousand_wide_is_read_by_pages() {
    let rows = (0..10_000).map(|number: usize| {
        row(
            number,
            usize::from(number > 0),
            (number > 0).then_some(0),
            "Jonas Petri",
        )
    });
    let view = samples::thread(paged(rows.collect()), |_| "Me too.\n".to_owned());
    let body = thread::write(&view).unwrap().body;
    balanced(&body);
    assert!(body.len() < WORST, "{}", body.len());
}

#[test]
fn long_messages_share_a_page_and_lead_to_the_rest() {
    let rows: Vec<OutlineRow> = (0..50)
        .map(|number: usize| row(number, 0, None, "Mira Holt"))
        .collect();
    let long =
        "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod.\n".repeat(10_000);
    let view = samples::thread(rows, |index| match index {
        0..5 => long.clone(),
        _ => "Short, and whole.\n".to_owned(),
    });
    let body = thread::write(&view).unwrap().body;
    assert!(
        packed(&body) < WORST && body.len() < 400_000,
        "{} {}",
        packed(&body),
        body.len()
    );
    assert_eq!(body.matches("Read the rest").count(), 5);
    assert_eq!(body.matches("Short, and whole.").count(), 45);
}

#[tokio::test]
async fn what_is_long_is_written_away_from_the_thread_that_serves_everybody() {
    let long = "Lorem ipsum dolor sit amet.\n".repeat(20_000);
    let world = |text: &str| {
        let view = samples::thread(vec![row(0, 0, None, "Mira")], |_| text.to_owned());
        let read = samples::article(&samples::id("1@x"), &format!("Subject: a\n\n{text}"));
        World::new(Samples {
            thread: vec![Ok(Arc::new(view))],
            article: Ok(read),
            ..Samples::default()
        })
    };
    // All places for long work are taken, so whoever needs one waits.
    let (end, busy) = std::sync::mpsc::sync_channel::<()>(0);
    let busy = Arc::new(parking_lot::Mutex::new(busy));
    let work = || {
        let busy = busy.clone();
        weir_net::aside(move || busy.lock().recv().is_ok())
    };
    let mut taken = std::pin::pin!(futures_util::future::join(work(), work()));
    assert!(futures_util::poll!(&mut taken).is_pending());
    let (short, long) = (world("Short.\n"), world(&long));
    for path in [
        "/news/article/1@x?rot13=1",
        "/api/v1/news/articles/1@x",
        "/api/v1/news/groups/a.b/threads/0@x.example",
    ] {
        assert_eq!(short.get(path).await.status, 200, "{path}");
        let mut waits = Box::pin(long.get(path));
        assert!(futures_util::poll!(&mut waits).is_pending(), "{path}");
    }
    drop(end);
    taken.await;
    for path in ["/news/article/1@x?rot13=1", "/api/v1/news/articles/1@x"] {
        assert_eq!(long.get(path).await.status, 200, "{path}");
    }
}

#[test]
fn fifty_thousand_newsgroups_are_a_short_page() {
    let mut names: Vec<String> = (0..50_000)
        .map(|number| format!("h{}.s{}.g{number}", number % 40, number % 700))
        .collect();
    names.sort_unstable();
    let list = samples::list(names.iter().map(|name| samples::newsgroup(name)).collect());
    let view = |q: &str, under: &str| {
        serde_json::from_value(serde_json::json!({ "q": q, "under": under })).unwrap()
    };
    for (q, under) in [
        ("", ""),
        ("", "h7"),
        ("", "h7.s7"),
        ("g4", ""),
        ("none of them", ""),
    ] {
        let body = groups::write(&list, &view(q, under), 0).unwrap().body;
        balanced(&body);
        assert!(body.len() < WORST, "{q:?} {under:?}: {}", body.len());
    }
    let found = groups::write(&list, &view("g49", ""), 1).unwrap().body;
    assert!(found.contains("101–200 of "), "{found}");
    let first = groups::write(&list, &view("", ""), 0).unwrap().body;
    assert!(
        first.contains("50,000 newsgroups.") && first.contains("/news?under=h39"),
        "{first}"
    );
}

#[test]
fn fifty_threads_are_a_light_page() {
    let mut page = samples::threads((0..50).map(samples::thread_row).collect());
    for row in &mut page.threads {
        row.subject = "A subject as long as most of them are, or a little longer".to_owned();
    }
    let body = threads::write(&page).unwrap().body;
    assert!(body.len() < 60_000, "{}", body.len());
}
