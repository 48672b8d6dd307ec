//! Who gets which number.

use super::*;

#[test]
fn promised_numbers_hold_when_the_lines_come() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 10)), (TWO, carried(1, 14))]);
    let mut kept = Kept::default();
    let noted = kept.note(&mut numbers, ONE, &lines(3, "a b c"));
    assert_eq!(noted.numbers, [Some(7), Some(8), Some(9)]);
    assert_eq!(noted.numbering, Numbering::Same);
    assert_eq!(
        kept.note(&mut numbers, ONE, &lines(3, "a b c")).numbers,
        noted.numbers
    );
}

#[test]
fn what_is_found_above_gets_the_next_number_in_order_of_discovery() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 10)), (TWO, carried(1, 10))]);
    let mut kept = Kept::default();
    assert_eq!(
        kept.note(&mut numbers, TWO, &lines(11, "a b")).numbers,
        [Some(11), Some(12)]
    );
    assert_eq!(
        kept.note(&mut numbers, ONE, &lines(11, "c a d")).numbers,
        [Some(13), Some(11), Some(14)]
    );
    assert_eq!(
        kept.note(&mut numbers, TWO, &lines(13, "d e")).numbers,
        [Some(14), Some(15)]
    );
    assert_eq!(numbers.high(), 15);
    assert_eq!(
        numbers.places(11).collect::<Vec<_>>(),
        [(ONE, 12), (TWO, 11)]
    );
}

#[test]
fn lines_in_any_order_are_numbered_by_the_servers_order() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 10))]);
    let mut kept = Kept::default();
    let mixed = vec![(13, id("c")), (11, id("a")), (12, id("b"))];
    assert_eq!(
        kept.note(&mut numbers, ONE, &mixed).numbers,
        [Some(13), Some(11), Some(12)]
    );
}

#[test]
fn article_of_a_second_server_has_the_number_of_the_first() {
    let mut numbers =
        ArticleNumbers::first_sight(&[(ONE, carried(1, 10)), (TWO, carried(901, 910))]);
    let mut kept = Kept::default();
    kept.note(&mut numbers, ONE, &lines(5, "a b"));
    assert_eq!(
        kept.note(&mut numbers, TWO, &lines(908, "b a")).numbers,
        [Some(6), Some(5)]
    );
    assert_eq!(numbers.own(TWO, 909), Some(5));
    assert_eq!((numbers.low(), numbers.high()), (1, 10));
}

#[test]
fn what_others_hold_from_earlier_fills_the_room_below() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 3)), (TWO, carried(1, 8))]);
    let mut kept = Kept::default();
    kept.note(&mut numbers, ONE, &lines(1, "x y z"));
    let newest = kept.note(&mut numbers, TWO, &lines(5, "d x y z"));
    assert_eq!(newest.numbers, [Some(5), Some(6), Some(7), Some(8)]);
    let older = kept.note(&mut numbers, TWO, &lines(1, "o p q r"));
    assert_eq!(older.numbers, [Some(1), Some(2), Some(3), Some(4)]);
    assert_eq!((numbers.low(), numbers.high(), numbers.count()), (1, 8, 8));
}

#[test]
fn without_room_the_newest_are_numbered_and_the_others_not() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 3)), (TWO, carried(1, 5))]);
    let mut kept = Kept::default();
    let noted = kept.note(&mut numbers, TWO, &lines(1, "a b c d"));
    assert_eq!(noted.numbers, [None, None, Some(1), Some(2)]);
    assert_eq!(
        kept.note(&mut numbers, TWO, &lines(1, "a b")).numbers,
        [None, None]
    );
    assert_eq!(numbers.low(), 1);
}

#[test]
fn promised_number_of_an_article_that_has_one_stays_empty() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 10)), (TWO, carried(1, 12))]);
    let mut kept = Kept::default();
    assert_eq!(
        kept.note(&mut numbers, TWO, &lines(12, "a")).numbers,
        [Some(2)]
    );
    assert_eq!(
        kept.note(&mut numbers, ONE, &lines(4, "z a b")).numbers,
        [Some(6), Some(2), Some(8)]
    );
    assert_eq!(numbers.places(7).count(), 0);
    assert_eq!(numbers.own(ONE, 5), Some(2));
    let windows: Vec<_> = numbers.ascending(7..=7, &[ONE, TWO]).collect();
    assert_eq!(windows, []);
}

#[test]
fn article_that_a_server_lists_twice_has_one_number() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 3)), (TWO, carried(1, 9))]);
    let mut kept = Kept::default();
    assert_eq!(
        kept.note(&mut numbers, ONE, &lines(2, "a a")).numbers,
        [Some(8), Some(8)]
    );
    assert_eq!(
        kept.note(&mut numbers, ONE, &lines(4, "b b")).numbers,
        [Some(10), Some(10)]
    );
    assert_eq!(
        kept.note(&mut numbers, TWO, &lines(5, "c c")).numbers,
        [Some(6), Some(6)]
    );
    assert_eq!(
        kept.note(&mut numbers, TWO, &lines(9, "d d")).numbers,
        [Some(11), Some(11)]
    );
}

#[test]
fn line_without_a_number_and_unknown_server_get_none() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 3))]);
    let mut kept = Kept::default();
    let odd = vec![(0, id("a")), (u64::MAX, id("b"))];
    assert_eq!(kept.note(&mut numbers, ONE, &odd).numbers, [None, None]);
    assert_eq!(
        kept.note(&mut numbers, THREE, &lines(9, "a")).numbers,
        [None]
    );
    assert_eq!(numbers.high(), 3);
}

#[test]
fn expired_number_is_not_given_again_nor_taken_up_again() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 10)), (TWO, carried(1, 10))]);
    let mut kept = Kept::default();
    kept.note(&mut numbers, ONE, &lines(1, "a b"));
    numbers.seen(ONE, carried(6, 10));
    numbers.raise_low(None);
    assert_eq!(numbers.low(), 6);
    assert_eq!(kept.note(&mut numbers, TWO, &lines(1, "a")).numbers, [None]);
    assert_eq!(
        kept.note(&mut numbers, ONE, &lines(11, "c")).numbers,
        [Some(11)]
    );
    assert_eq!(numbers.places(1).count(), 0);
}

#[test]
fn backlog_of_more_than_a_window_is_promised_to_the_first_server() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 10)), (TWO, carried(1, 10))]);
    let mut kept = Kept::default();
    numbers.seen(ONE, carried(1, 510));
    numbers.seen(TWO, carried(1, 2_000));
    assert_eq!(numbers.high(), 10);
    numbers.seen(ONE, carried(1, 1_510));
    assert_eq!(numbers.high(), 1_510);
    // The newest window comes first, and its numbers are already right.
    assert_eq!(
        kept.note(&mut numbers, ONE, &lines(1_509, "y z")).numbers,
        [Some(1_509), Some(1_510)]
    );
    assert_eq!(
        kept.note(&mut numbers, ONE, &lines(11, "a")).numbers,
        [Some(11)]
    );
    assert_eq!(
        kept.note(&mut numbers, ONE, &lines(1_511, "b")).numbers,
        [Some(1_511)]
    );
}

#[test]
fn what_is_above_the_mark_is_known_until_it_was_asked_for_without_a_gap() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 10)), (TWO, carried(1, 10))]);
    let kept = Kept::default();
    assert_eq!((numbers.above(ONE), numbers.above(TWO)), (None, None));
    numbers.seen(TWO, carried(1, 30));
    assert_eq!(numbers.above(TWO), Some(11..=30));
    numbers.note(TWO, 21..=30, &lines(21, "x"), &kept);
    assert_eq!(numbers.above(TWO), Some(11..=30));
    // Nothing is left of these, which is an answer as well.
    numbers.note(TWO, 11..=20, &[], &kept);
    assert_eq!(numbers.above(TWO), Some(21..=30));
    numbers.note(TWO, 21..=500, &lines(21, "x"), &kept);
    assert_eq!((numbers.above(TWO), numbers.above(THREE)), (None, None));
    // A fall within its range has the part above looked at again.
    numbers.seen(TWO, carried(1, 25));
    numbers.seen(TWO, carried(1, 31));
    assert_eq!(numbers.above(TWO), Some(26..=31));
}
