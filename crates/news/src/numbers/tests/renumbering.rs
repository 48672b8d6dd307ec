//! Servers that begin again, come and go.

use super::*;

#[test]
fn server_that_falls_below_its_low_mark_has_begun_again() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(501, 600))]);
    let mut kept = Kept::default();
    kept.note(&mut numbers, ONE, &lines(599, "a b"));
    assert_eq!(numbers.seen(ONE, carried(1, 40)), Numbering::New);
    assert_eq!(numbers.own(ONE, 599), None);
    let noted = kept.note(&mut numbers, ONE, &lines(38, "x b y"));
    assert_eq!(noted.numbers, [Some(601), Some(600), Some(602)]);
    assert_eq!(noted.numbering, Numbering::Same);
    assert_eq!((numbers.low(), numbers.high()), (501, 602));
}

#[test]
fn other_article_at_a_known_number_shows_a_new_beginning() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 10))]);
    let mut kept = Kept::default();
    kept.note(&mut numbers, ONE, &lines(1, "a b c"));
    let noted = kept.note(&mut numbers, ONE, &lines(2, "c d"));
    assert_eq!(noted.numbering, Numbering::New);
    assert_eq!(noted.numbers, [Some(3), Some(11)]);
    assert_eq!(numbers.places(3).collect::<Vec<_>>(), [(ONE, 2)]);
    assert_eq!(numbers.own(ONE, 7), None);
}

#[test]
fn other_servers_keep_their_runs() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 10)), (TWO, carried(51, 60))]);
    let mut kept = Kept::default();
    kept.note(&mut numbers, ONE, &lines(9, "a b"));
    kept.note(&mut numbers, TWO, &lines(59, "a b"));
    assert_eq!(numbers.seen(TWO, carried(1, 5)), Numbering::New);
    assert_eq!(numbers.places(9).collect::<Vec<_>>(), [(ONE, 9)]);
    assert_eq!(numbers.own(ONE, 3), Some(3));
}

#[test]
fn high_mark_that_falls_a_little_is_checked_by_ids() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 100))]);
    let mut kept = Kept::default();
    kept.note(&mut numbers, ONE, &lines(99, "a b"));
    assert_eq!(numbers.seen(ONE, carried(1, 98)), Numbering::Same);
    assert_eq!(numbers.own(ONE, 99), Some(99));
    // The same machine again: nothing happened.
    assert_eq!(numbers.seen(ONE, carried(1, 101)), Numbering::Same);
    let noted = kept.note(&mut numbers, ONE, &lines(99, "a b c"));
    assert_eq!(noted.numbers, [Some(99), Some(100), Some(101)]);
    // Another one: the IDs show it.
    assert_eq!(numbers.seen(ONE, carried(1, 98)), Numbering::Same);
    let noted = kept.note(&mut numbers, ONE, &lines(99, "n b"));
    assert_eq!(
        (noted.numbering, noted.numbers),
        (Numbering::New, vec![Some(102), Some(100)])
    );
}

#[test]
fn low_mark_stays_until_a_renumbered_server_is_read_again() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(501, 510))]);
    let mut kept = Kept::default();
    kept.note(&mut numbers, ONE, &lines(505, "a"));
    numbers.seen(ONE, carried(1, 10));
    numbers.raise_low(None);
    assert_eq!(numbers.low(), 501);
    assert_eq!(
        kept.note(&mut numbers, ONE, &lines(5, "a")).numbers,
        [Some(505)]
    );
    numbers.seen(ONE, carried(11, 12));
    numbers.raise_low(None);
    assert_eq!((numbers.low(), numbers.high()), (511, 510));
}

#[test]
fn server_added_later_brings_new_articles_and_no_old_numbers() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 10))]);
    let mut kept = Kept::default();
    kept.note(&mut numbers, ONE, &lines(10, "a"));
    numbers.seen(TWO, carried(1, 50));
    assert_eq!((numbers.low(), numbers.high()), (1, 10));
    let noted = kept.note(&mut numbers, TWO, &lines(49, "old a new"));
    assert_eq!(noted.numbers, [None, Some(10), Some(11)]);
}

#[test]
fn numbers_survive_the_server_they_came_from() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 10)), (TWO, carried(1, 10))]);
    let mut kept = Kept::default();
    kept.note(&mut numbers, ONE, &lines(9, "a b"));
    numbers.forget(ONE);
    assert_eq!(numbers.places(9).count(), 0);
    assert_eq!(
        kept.note(&mut numbers, TWO, &lines(5, "b a")).numbers,
        [Some(10), Some(9)]
    );
    numbers.raise_low(None);
    assert_eq!((numbers.low(), numbers.high()), (9, 10));
    assert_eq!(
        kept.note(&mut numbers, TWO, &lines(11, "c")).numbers,
        [Some(11)]
    );
}

#[test]
fn server_that_replaces_the_only_one_has_all_its_articles_numbered() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 10))]);
    let mut kept = Kept::default();
    kept.note(&mut numbers, ONE, &lines(9, "a b"));
    numbers.forget(ONE);
    numbers.seen(TWO, carried(701, 703));
    assert_eq!(
        kept.note(&mut numbers, TWO, &lines(701, "old a b")).numbers,
        [Some(11), Some(9), Some(10)]
    );
    assert_eq!(numbers.low(), 1);
}

#[test]
fn article_above_a_mark_that_fell_is_new() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 10)), (TWO, carried(1, 10))]);
    let mut kept = Kept::default();
    numbers.seen(TWO, carried(1, 8));
    let noted = kept.note(&mut numbers, TWO, &lines(8, "old new"));
    assert_eq!(noted.numbers, [None, Some(11)]);
}
