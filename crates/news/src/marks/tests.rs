//! Marks that are kept, merged and bounded.

use super::*;

const NOW: i64 = 1_000_000;

struct Kept {
    marks: Marks,
    _directory: tempfile::TempDir,
}

fn open() -> Kept {
    let directory = tempfile::tempdir().unwrap();
    let file = File::open(directory.path().join("state.db")).unwrap();
    Kept {
        marks: Marks::open(file).unwrap(),
        _directory: directory,
    }
}

fn threads<const N: usize>(marks: [(&str, ThreadMark); N]) -> MarkSet {
    MarkSet {
        threads: marks
            .into_iter()
            .map(|(root, mark)| (root.to_owned(), mark))
            .collect(),
        ..MarkSet::default()
    }
}

fn read(upto: i64, count: u32, places: &[&str]) -> ThreadMark {
    ThreadMark {
        upto,
        count,
        read: places.iter().map(|place| (*place).to_owned()).collect(),
        at: upto,
        ..ThreadMark::default()
    }
}

#[tokio::test]
async fn what_two_browsers_read_is_read_in_both() {
    let kept = open();
    kept.marks
        .merge(threads([("<1@x>", read(10, 3, &["m0000000001"]))]), NOW)
        .await
        .unwrap();
    kept.marks
        .merge(threads([("<1@x>", read(10, 3, &["m0000000002"]))]), NOW)
        .await
        .unwrap();
    kept.marks
        .merge(threads([("<1@x>", read(5, 1, &["m0000000003"]))]), NOW)
        .await
        .unwrap();
    let mark = kept.marks.since(0).unwrap().marks.threads["<1@x>"].clone();
    assert_eq!((mark.upto, mark.count), (10, 3));
    assert_eq!(mark.read, ["m0000000001", "m0000000002"]);
    kept.marks
        .merge(threads([("<1@x>", read(20, 6, &[]))]), NOW)
        .await
        .unwrap();
    let mark = kept.marks.since(0).unwrap().marks.threads["<1@x>"].clone();
    assert_eq!((mark.upto, mark.count, mark.read.len()), (20, 6, 0));
}

#[tokio::test]
async fn only_what_changed_is_told_again() {
    let kept = open();
    kept.marks
        .merge(
            threads([("<1@x>", read(1, 1, &[])), ("<2@x>", read(1, 1, &[]))]),
            NOW,
        )
        .await
        .unwrap();
    let first = kept.marks.since(0).unwrap();
    assert_eq!(
        (first.version, first.marks.threads.len(), first.more),
        (2, 2, false)
    );
    // The same once more changes nothing.
    kept.marks
        .merge(threads([("<1@x>", read(1, 1, &[]))]), NOW)
        .await
        .unwrap();
    assert_eq!(kept.marks.since(2).unwrap().marks, MarkSet::default());
    kept.marks
        .merge(threads([("<2@x>", read(9, 2, &[]))]), NOW)
        .await
        .unwrap();
    let changed = kept.marks.since(2).unwrap();
    assert_eq!((changed.version, changed.marks.threads.len()), (3, 1));
}

#[tokio::test]
async fn the_latest_choice_counts_and_a_wrong_clock_does_not_win_for_years() {
    let kept = open();
    let flagged = |flag, flag_at| ThreadMark {
        flag,
        flag_at,
        ..ThreadMark::default()
    };
    let far = flagged(ThreadFlag::Ignored, NOW * 1000);
    kept.marks
        .merge(threads([("<1@x>", far)]), NOW)
        .await
        .unwrap();
    let later = flagged(ThreadFlag::Watched, NOW + 60);
    kept.marks
        .merge(threads([("<1@x>", later)]), NOW + 60)
        .await
        .unwrap();
    let older = flagged(ThreadFlag::None, NOW - 5);
    kept.marks
        .merge(threads([("<1@x>", older)]), NOW + 60)
        .await
        .unwrap();
    let mark = kept.marks.since(0).unwrap().marks.threads["<1@x>"].clone();
    assert_eq!(mark.flag, ThreadFlag::Watched);
}

#[tokio::test]
async fn what_cannot_be_a_mark_is_dropped() {
    let kept = open();
    let mut set = threads([
        ("no id", read(1, 1, &[])),
        ("<1@x>", read(1, 1, &["<script>", "m00000000zz"])),
    ]);
    set.newsgroups
        .insert("a b".to_owned(), NewsgroupMark::default());
    kept.marks.merge(set, NOW).await.unwrap();
    let marks = kept.marks.since(0).unwrap().marks;
    assert_eq!(marks.threads.keys().collect::<Vec<_>>(), ["<1@x>"]);
    assert_eq!(marks.threads["<1@x>"].read, [""; 0]);
    assert!(marks.newsgroups.is_empty());
}

#[tokio::test]
async fn the_oldest_go_first_and_choices_last() {
    let kept = open();
    let mut set = MarkSet::default();
    for number in 0..10 {
        let mark = ThreadMark {
            at: number,
            flag: if number == 0 {
                ThreadFlag::Ignored
            } else {
                ThreadFlag::None
            },
            ..ThreadMark::default()
        };
        set.threads.insert(format!("<{number}@x>"), mark);
        let mark = NewsgroupMark {
            at: number,
            subscribed: number == 1,
            ..NewsgroupMark::default()
        };
        set.newsgroups.insert(format!("g{number}"), mark);
    }
    kept.marks.merge(set, NOW).await.unwrap();
    let bounded = kept
        .marks
        .file
        .write(|transaction| rows::bound(transaction, 3, 2));
    bounded.await.unwrap();
    let marks = kept.marks.since(0).unwrap().marks;
    assert_eq!(
        marks.threads.keys().collect::<Vec<_>>(),
        ["<0@x>", "<8@x>", "<9@x>"]
    );
    assert_eq!(marks.newsgroups.keys().collect::<Vec<_>>(), ["g1", "g9"]);
}

#[tokio::test]
async fn a_long_list_comes_in_pieces() {
    let kept = open();
    for half in 0..6 {
        let mut set = MarkSet::default();
        for number in 0..400 {
            set.threads
                .insert(format!("<{half}.{number}@x>"), read(1, 1, &[]));
        }
        kept.marks.merge(set, NOW).await.unwrap();
    }
    let (mut version, mut seen, mut rounds) = (0, 0, 0);
    loop {
        let part = kept.marks.since(version).unwrap();
        version = part.version;
        seen += part.marks.threads.len();
        rounds += 1;
        if !part.more {
            break;
        }
    }
    assert_eq!((seen, rounds), (2_400, 3));
}

#[test]
fn single_marks_of_a_thread_are_bounded() {
    let places: Vec<String> = (0..300).map(|number| format!("m{number:010x}")).collect();
    let mut mark = ThreadMark {
        read: places,
        ..ThreadMark::default()
    };
    mark.bound_read();
    assert_eq!(mark.read.len(), MOST_READ);
    assert_eq!(mark.read.last().map(String::as_str), Some("m000000012b"));
}
