//! Rows out and in.

use super::*;

fn busy() -> (ArticleNumbers, Kept) {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 10)), (TWO, carried(1, 14))]);
    let mut kept = Kept::default();
    kept.note(&mut numbers, ONE, &lines(9, "a b c"));
    kept.note(&mut numbers, TWO, &lines(12, "a x b y"));
    (numbers, kept)
}

#[test]
fn newsgroup_of_one_server_is_one_run_however_it_was_read() {
    let mut numbers = ArticleNumbers::first_sight(&[(ONE, carried(1, 10))]);
    let mut kept = Kept::default();
    for theirs in [3, 1, 11, 12, 7, 13] {
        kept.note(&mut numbers, ONE, &lines(theirs, &format!("n{theirs}")));
    }
    let run = NumberRun {
        our_start: 1,
        length: 13,
        server: ONE,
        their_start: 1,
    };
    assert_eq!(numbers.rows().runs, [run]);
}

#[test]
fn rows_read_back_are_the_same_newsgroup() {
    let (numbers, mut kept) = busy();
    let mut again = ArticleNumbers::from_rows(&numbers.rows());
    assert_eq!(again.rows(), numbers.rows());
    assert_eq!(
        (again.low(), again.high(), again.count()),
        (numbers.low(), numbers.high(), numbers.count())
    );
    assert_eq!(again.take_changes().runs, []);
    let noted = kept.note(&mut again, TWO, &lines(11, "z a x b y new"));
    let (last, before) = noted.numbers.split_last().expect("six lines");
    assert_eq!(*last, Some(numbers.high() + 1));
    assert!(before.iter().all(Option::is_some));
}

#[test]
fn changes_say_what_rows_say() {
    let (mut numbers, _) = busy();
    let first = numbers.take_changes();
    let sorted = |mut runs: Vec<NumberRun>| {
        runs.sort_by_key(|run| (run.server, run.our_start));
        runs
    };
    assert_eq!(sorted(first.runs), sorted(numbers.rows().runs));
    assert_eq!(first.marks, numbers.rows().marks);
    let second = numbers.take_changes();
    assert_eq!((second.runs, second.gone), (vec![], vec![]));
    let rows = numbers.rows().runs;
    numbers.forget(TWO);
    let gone = numbers.take_changes().gone;
    let of_two = rows
        .iter()
        .filter(|run| run.server == TWO)
        .map(|run| (TWO, run.our_start));
    assert_eq!(gone, of_two.collect::<Vec<_>>());
}

#[test]
fn rows_that_contradict_each_other_give_no_number_twice() {
    let (numbers, _) = busy();
    let mut rows = numbers.rows();
    let run = rows.runs[0];
    rows.runs.push(NumberRun {
        our_start: run.our_start + 1,
        their_start: 900,
        ..run
    });
    rows.runs.push(NumberRun {
        our_start: 5_000,
        ..run
    });
    rows.runs.push(NumberRun {
        length: u64::MAX,
        ..run
    });
    rows.runs.push(NumberRun {
        our_start: 6_000,
        their_start: 800,
        length: 3,
        server: ONE,
    });
    rows.runs.push(NumberRun {
        server: THREE,
        ..run
    });
    rows.marks.high = 3;
    let again = ArticleNumbers::from_rows(&rows);
    assert_eq!(again.high(), 6_002);
    assert_eq!(again.rows().runs.len(), numbers.rows().runs.len() + 1);
}
