//! What is known before anything is fetched, and how the marks move.

use super::*;

#[test]
fn one_server_gives_its_own_numbers() {
    let numbers = ArticleNumbers::first_sight(&[(ONE, carried(101, 1_000))]);
    assert_eq!(
        (numbers.low(), numbers.high(), numbers.count()),
        (101, 1_000, 900)
    );
    assert_eq!(numbers.own(ONE, 555), Some(555));
    assert_eq!(numbers.places(555).collect::<Vec<_>>(), [(ONE, 555)]);
    assert_eq!(numbers.own(ONE, 100), None);
    assert_eq!(numbers.own(TWO, 555), None);
}

#[test]
fn first_server_is_shifted_by_what_the_largest_other_claims_more() {
    let servers = [
        (ONE, carried(11, 20)),
        (TWO, carried(500, 503)),
        (THREE, carried(1, 17)),
    ];
    let numbers = ArticleNumbers::first_sight(&servers);
    assert_eq!((numbers.low(), numbers.high()), (11, 27));
    assert_eq!(
        (numbers.own(ONE, 11), numbers.own(ONE, 20)),
        (Some(18), Some(27))
    );
    assert_eq!(numbers.count(), 10);
}

#[test]
fn claims_count_as_articles_and_not_as_numbers() {
    let sparse = Carried {
        low: 1,
        high: 9_000,
        count: 12,
    };
    let numbers = ArticleNumbers::first_sight(&[(ONE, carried(11, 20)), (TWO, sparse)]);
    assert_eq!((numbers.low(), numbers.high()), (11, 22));
    let numbers = ArticleNumbers::first_sight(&[(TWO, sparse)]);
    assert_eq!((numbers.high(), numbers.count()), (9_000, 12));
    let boast = Carried {
        count: u64::MAX,
        ..carried(1, 12)
    };
    let numbers = ArticleNumbers::first_sight(&[(ONE, carried(11, 20)), (TWO, boast)]);
    assert_eq!(numbers.high(), 22);
}

#[test]
fn empty_newsgroups_are_empty_in_every_spelling() {
    for (low, high) in [(1, 0), (0, 0), (1_001, 1_000), (7, 3)] {
        let numbers = ArticleNumbers::first_sight(&[(
            ONE,
            Carried {
                low,
                high,
                count: 0,
            },
        )]);
        assert_eq!(
            (numbers.high() + 1, numbers.count()),
            (numbers.low(), 0),
            "{low} {high}"
        );
    }
    let numbers = ArticleNumbers::first_sight(&[]);
    assert_eq!((numbers.low(), numbers.high(), numbers.count()), (1, 0, 0));
}

#[test]
fn empty_first_server_leaves_the_lead_to_the_next() {
    let numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 0)), (TWO, carried(5, 9))]);
    assert_eq!((numbers.low(), numbers.high()), (5, 9));
    assert_eq!(numbers.own(TWO, 7), Some(7));
}

#[test]
fn numbers_stay_where_newsreaders_can_read_them() {
    let top = 2_147_483_647;
    let servers = [(ONE, carried(top - 9, top - 5)), (TWO, carried(1, 1_000))];
    let numbers = ArticleNumbers::first_sight(&servers);
    assert_eq!((numbers.low(), numbers.high()), (top - 9, top));
    let absurd =
        ArticleNumbers::first_sight(&[(ONE, carried(1, u64::MAX - 1)), (TWO, carried(1, 2))]);
    assert_eq!((absurd.low(), absurd.high()), (1, 2));
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 2))]);
    assert_eq!(numbers.seen(ONE, carried(1, u64::MAX - 1)), Numbering::Same);
    assert_eq!(numbers.high(), 2);
}

#[test]
fn low_mark_follows_expiry_and_never_falls() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 100))]);
    numbers.seen(ONE, carried(41, 100));
    numbers.raise_low(None);
    assert_eq!(
        (numbers.low(), numbers.high(), numbers.count()),
        (41, 100, 60)
    );
    assert_eq!(
        (numbers.own(ONE, 40), numbers.own(ONE, 41)),
        (None, Some(41))
    );
    assert_eq!(numbers.seen(ONE, carried(1, 100)), Numbering::Same);
    numbers.raise_low(Some(3));
    assert_eq!(numbers.low(), 41);
    numbers.seen(ONE, carried(101, 100));
    numbers.raise_low(None);
    assert_eq!(
        (numbers.low(), numbers.high(), numbers.count()),
        (101, 100, 0)
    );
}

#[test]
fn low_mark_waits_for_the_store_and_for_other_servers() {
    let mut numbers =
        ArticleNumbers::first_sight(&[(ONE, carried(1, 100)), (TWO, carried(1, 100))]);
    let mut kept = Kept::default();
    kept.note(&mut numbers, ONE, &lines(10, "a"));
    kept.note(&mut numbers, TWO, &lines(70, "a"));
    numbers.seen(ONE, carried(41, 100));
    numbers.raise_low(Some(7));
    assert_eq!(numbers.low(), 7);
    numbers.raise_low(None);
    assert_eq!(numbers.low(), 10);
    numbers.seen(TWO, carried(71, 100));
    numbers.raise_low(None);
    assert_eq!(numbers.low(), 41);
}

#[test]
fn room_is_given_up_when_nobody_can_fill_it() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 10)), (TWO, carried(1, 30))]);
    numbers.raise_low(None);
    assert_eq!((numbers.low(), numbers.high()), (1, 30));
    numbers.seen(TWO, carried(26, 30));
    numbers.raise_low(None);
    assert_eq!(numbers.low(), 16);
    numbers.seen(TWO, carried(31, 30));
    numbers.raise_low(None);
    assert_eq!(numbers.low(), 21);
}

#[test]
fn empty_answer_of_a_full_server_changes_nothing() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(51, 100))]);
    assert_eq!(numbers.seen(ONE, Carried::default()), Numbering::Same);
    numbers.raise_low(None);
    assert_eq!(
        (numbers.low(), numbers.high(), numbers.own(ONE, 60)),
        (51, 100, Some(60))
    );
}

#[test]
fn marks_that_were_told_before_the_first_sight_do_not_fall() {
    let servers = [(ONE, carried(11, 20)), (TWO, carried(1, 30))];
    let (told, count) = ArticleNumbers::marks_at_first_sight(&servers);
    let numbers = ArticleNumbers::first_sight(&servers);
    assert_eq!((told.low, told.high), (numbers.low(), numbers.high()));
    assert_eq!(count, numbers.count());
    // The first server is down, or has begun again, when somebody opens the newsgroup.
    for servers in [&[(TWO, carried(1, 30))][..], &[(ONE, carried(1, 3))], &[]] {
        let numbers = ArticleNumbers::first_sight_above(servers, told);
        assert_eq!((numbers.low(), numbers.high()), (told.low, told.high));
    }
    let numbers = ArticleNumbers::first_sight_above(&[(TWO, carried(1, 30))], told);
    assert_eq!(numbers.theirs(TWO, told.high), Some(30));
    let numbers = ArticleNumbers::first_sight_above(&[(ONE, carried(40, 50))], told);
    assert_eq!((numbers.low(), numbers.high()), (40, 50));
}

#[test]
fn a_high_mark_that_was_told_is_not_given_to_what_comes_later() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 10))]);
    numbers.raise_high(14);
    numbers.raise_high(12);
    assert_eq!(numbers.high(), 14);
    numbers.seen(ONE, carried(1, 11));
    let noted = numbers.note(ONE, 11..=11, &[(11, id("new"))], &Kept::default());
    assert_eq!(noted.numbers, [Some(15)]);
    numbers.raise_high(u64::MAX);
    assert_eq!(numbers.high(), 15, "newsreaders could not read it");
}
