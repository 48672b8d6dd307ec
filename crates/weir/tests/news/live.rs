//! What those who follow `/api/v1/events` are told of newsgroups.

use super::articles::Posted;
use super::weir::Ears;
use super::{ALWAYS_CHECK, Town, articles_of, wait};

/// Reads the topic `news` until it has told of this newsgroup so many new articles in all. Two servers may bring them in
/// two events.
fn hear(ears: &mut Ears, newsgroup: &str, count: u64) {
    let mut heard = 0;
    while heard < count {
        let told = wait("there is news", || {
            let (name, told) = ears.event();
            (name == "news").then_some(told)
        });
        assert_eq!(told["more"], 0, "{told}");
        for one in told["news"].as_array().unwrap() {
            assert_eq!(one["newsgroup"], newsgroup, "{told}");
            let new = one["new"].as_u64().unwrap();
            assert!(new > 0, "nothing new is no news: {told}");
            heard += new;
        }
    }
    assert_eq!(heard, count, "no more than have arrived");
}

#[test]
fn arrivals_in_a_newsgroup_are_told_once_to_those_who_listen() {
    let known = [Posted::plain("known", "misc.test", 10, &[])];
    let newsgroups = ["misc.test", "example.rivers"];
    let town = Town::new([(&newsgroups, &known), (&newsgroups, &[])], ALWAYS_CHECK);
    let arrive = |shop: usize, articles: &[Posted]| {
        let bytes = articles.iter().map(|posted| posted.bytes.clone());
        let fed = town.shops[shop].inn.feed(bytes);
        town.runtime.block_on(fed).unwrap();
    };
    let read = |newsgroup: &str, count| {
        wait("all of them are known", || {
            (articles_of(&town.threads(newsgroup)) == count).then_some(())
        });
    };
    read("misc.test", 1);

    // The first figures say that the listener is known; what was read before is no news to it.
    let mut ears = town.weir.follow("figures,news");
    while ears.event().0 != "figures" {}
    let both = Posted::plain("both", "misc.test", 20, &[]);
    let reply = Posted::plain("reply", "misc.test", 21, &["known"]);
    arrive(0, &[both.clone(), reply]);
    arrive(1, &[both, Posted::plain("other", "misc.test", 22, &[])]);
    read("misc.test", 4);
    hear(&mut ears, "misc.test", 3);

    // Looking again brings nothing new, so the next news is of the other newsgroup.
    read("misc.test", 4);
    arrive(0, &[Posted::plain("river", "example.rivers", 30, &[])]);
    read("example.rivers", 1);
    hear(&mut ears, "example.rivers", 1);
}
