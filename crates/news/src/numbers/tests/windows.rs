//! From ranges to windows.

use super::*;

fn window(server: ServerId, first: u64, last: u64) -> LineWindow {
    LineWindow {
        server,
        theirs: first..=last,
    }
}

#[test]
fn range_not_yet_fetched_is_windows_of_500_lines_either_way_round() {
    let numbers =
        ArticleNumbers::first_sight(&[(ONE, carried(1, 1_200)), (TWO, carried(1, 1_300))]);
    let ascending: Vec<Stretch> = numbers.ascending(1..=u64::MAX, &[ONE]).collect();
    let expected = [(101, 600), (601, 1_100), (1_101, 1_300)];
    let stretches = expected.map(|(first, last)| Stretch {
        numbers: first..=last,
        windows: vec![window(ONE, first - 100, last - 100)],
    });
    assert_eq!(ascending, stretches);
    let newest = numbers
        .descending(0..=u64::MAX, &[ONE])
        .map(|stretch| stretch.numbers);
    assert_eq!(
        newest.collect::<Vec<_>>(),
        [801..=1_300, 301..=800, 1..=300]
    );
}

#[test]
fn range_is_cut_to_what_is_asked() {
    let numbers = ArticleNumbers::first_sight(&[(ONE, carried(10, 99))]);
    let windows = |range| {
        numbers
            .ascending(range, &[ONE])
            .flat_map(|stretch| stretch.windows)
            .collect::<Vec<_>>()
    };
    assert_eq!(windows(20..=25), [window(ONE, 20, 25)]);
    assert_eq!(windows(98..=200), [window(ONE, 98, 99)]);
    assert_eq!(windows(0..=10), [window(ONE, 10, 10)]);
    #[expect(clippy::reversed_empty_ranges, reason = "newsreaders may ask for one")]
    let reversed = windows(30..=20);
    assert_eq!((windows(100..=200), reversed), (vec![], vec![]));
    assert_eq!(numbers.descending(1..=9, &[ONE]).count(), 0);
}

#[test]
fn each_number_is_asked_of_the_first_server_that_has_it() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 4)), (TWO, carried(31, 34))]);
    let mut kept = Kept::default();
    kept.note(&mut numbers, ONE, &lines(1, "a b c d"));
    kept.note(&mut numbers, TWO, &lines(31, "a b c d e"));
    let ask = |servers: &[ServerId]| {
        let stretches: Vec<Stretch> = numbers.ascending(1..=9, servers).collect();
        stretches
            .into_iter()
            .flat_map(|stretch| stretch.windows)
            .collect::<Vec<_>>()
    };
    assert_eq!(ask(&[ONE, TWO]), [window(ONE, 1, 4), window(TWO, 35, 35)]);
    assert_eq!(ask(&[TWO, ONE]), [window(TWO, 31, 35)]);
    assert_eq!(ask(&[ONE]), [window(ONE, 1, 4)]);
    assert_eq!(ask(&[THREE]), []);
}

#[test]
fn pieces_that_lie_close_together_are_one_window() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 0)), (TWO, carried(1, 0))]);
    let mut kept = Kept::default();
    // Articles arrive at both servers in turn, so neither has two in a row.
    for article in 1..=20_u64 {
        let server = if article % 2 == 0 { ONE } else { TWO };
        kept.note(
            &mut numbers,
            server,
            &lines(article.div_ceil(2), &format!("n{article}")),
        );
    }
    let stretches: Vec<Stretch> = numbers.ascending(1..=20, &[ONE, TWO]).collect();
    assert_eq!(stretches.len(), 1);
    assert_eq!(
        stretches[0].windows,
        [window(ONE, 1, 10), window(TWO, 1, 10)]
    );
}

#[test]
fn pieces_that_lie_far_apart_are_windows_of_their_own() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 0))]);
    let mut kept = Kept::default();
    for theirs in [1, 52, 104] {
        kept.note(&mut numbers, ONE, &lines(theirs, &format!("n{theirs}")));
    }
    let stretches: Vec<Stretch> = numbers.descending(1..=3, &[ONE]).collect();
    assert_eq!(stretches.len(), 1);
    assert_eq!(
        stretches[0].windows,
        [window(ONE, 1, 52), window(ONE, 104, 104)]
    );
}

#[test]
fn wide_holes_cost_nothing() {
    let rows = NumberRows {
        marks: NumberMarks {
            low: 1,
            high: 4_000_000_000,
            room_end: 1,
            lead: None,
        },
        servers: vec![ServerMarks {
            server: ONE,
            carried: carried(1, 2),
            mark: 2,
            earlier: 2,
            renewed: 0,
        }],
        runs: [1, 4_000_000_000]
            .map(|at| NumberRun {
                our_start: at,
                length: 1,
                server: ONE,
                their_start: at.min(2),
            })
            .to_vec(),
    };
    let numbers = ArticleNumbers::from_rows(&rows);
    assert_eq!(numbers.ascending(1..=u64::MAX, &[ONE]).count(), 2);
    assert_eq!(numbers.descending(1..=u64::MAX, &[ONE]).count(), 2);
}

#[test]
fn window_over_scattered_pieces_is_never_longer_than_500_lines() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 0))]);
    let mut kept = Kept::default();
    let odd: Vec<_> = (0..500)
        .map(|n| (2 * n + 1, id(&format!("n{n}"))))
        .collect();
    kept.note(&mut numbers, ONE, &odd);
    let stretches: Vec<Stretch> = numbers.ascending(1..=500, &[ONE]).collect();
    assert_eq!(stretches.len(), 1);
    assert_eq!(
        stretches[0].windows,
        [window(ONE, 1, 499), window(ONE, 501, 999)]
    );
}
