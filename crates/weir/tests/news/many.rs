//! Many readers at once.

use std::sync::{Arc, Barrier};

use super::Town;
use super::articles::{id, series};

/// Asks for a page as so many readers at the same time.
fn all_at_once(town: &Town, readers: usize, path: &str) {
    let start = Arc::new(Barrier::new(readers));
    let threads: Vec<_> = (0..readers)
        .map(|_| {
            let (ask, start, path) = (town.weir.asker(), start.clone(), path.to_owned());
            std::thread::spawn(move || {
                start.wait();
                ask(&path)
            })
        })
        .collect();
    let answers: Vec<_> = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    for (status, body) in &answers {
        assert_eq!(*status, 200, "{}", String::from_utf8_lossy(body));
    }
    // Descriptions of newsgroups may come in between; what was asked for is the same for all.
    let told = |body: &[u8]| -> serde_json::Value {
        let mut told: serde_json::Value = serde_json::from_slice(body).unwrap();
        for key in ["group", "description", "currency"] {
            told.as_object_mut().unwrap().remove(key);
        }
        told
    };
    for (_, body) in &answers {
        assert_eq!(told(body), told(&answers[0].1));
    }
}

#[test]
fn two_hundred_readers_of_a_cold_page_cause_one_set_of_commands() {
    let stock = series("misc.test", 120);
    let town = Town::new([(&["misc.test"], &stock), (&["misc.test"], &[])], "");
    // What comes later does not come before all have asked.
    let tap = &town.shops[0].tap;
    tap.round_trip(std::time::Duration::from_millis(300));
    all_at_once(&town, 200, "/api/v1/news/groups/misc.test");
    for (command, times) in [
        ("LIST COUNTS", 1),
        ("GROUP", 1),
        ("OVER", 1),
        ("ARTICLE", 0),
    ] {
        assert_eq!(tap.count(command), times, "{command}: {:?}", tap.commands());
    }
    all_at_once(&town, 200, &format!("/api/v1/news/articles/{}", id("t3")));
    assert_eq!(tap.count("ARTICLE"), 1);
}
