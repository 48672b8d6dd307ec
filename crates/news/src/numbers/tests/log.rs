//! The log of numbers that nodes share: bytes from anywhere, and what is made of them.

use std::sync::Arc;

use proptest::prelude::*;
use weir_store::shared::UpstreamKey;

use super::super::{ArticleNumbers, Carried, LogEntry, MOST_ARTICLES, NumberLog, ServerId};

const ONE: UpstreamKey = UpstreamKey([1; 16]);
const TWO: UpstreamKey = UpstreamKey([2; 16]);

fn entry() -> impl Strategy<Value = LogEntry> {
    let number = || prop_oneof![0..40_u64, any::<u64>()];
    let key = || {
        prop_oneof![
            Just(ONE),
            Just(TWO),
            any::<[u8; 16]>().prop_map(UpstreamKey)
        ]
    };
    prop_oneof![
        (number(), number(), number(), prop::option::of(key())).prop_map(
            |(low, high, room_end, lead)| LogEntry::Open {
                low,
                high,
                room_end,
                lead
            }
        ),
        number().prop_map(|high| LogEntry::Raise { high }),
        (key(), number(), number(), number()).prop_map(|(server, ours, theirs, length)| {
            LogEntry::Promise {
                server,
                ours,
                theirs,
                length,
            }
        }),
        (
            key(),
            prop::collection::vec((number(), number(), 0..30_u64), 0..8)
        )
            .prop_map(|(server, articles)| LogEntry::Bind { server, articles }),
        (key(), prop_oneof![0..4_u64, any::<u64>()])
            .prop_map(|(server, times)| LogEntry::Renew { server, times }),
    ]
}

fn log(entries: &[LogEntry]) -> NumberLog {
    NumberLog::of(entries.iter().map(|entry| Arc::from(entry.write())))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_entry_is_read_as_it_was_written(entry in entry()) {
        prop_assert_eq!(LogEntry::read(&entry.write()), Some(entry));
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0..7_u8) {
        let _ = LogEntry::read(&bytes);
        let bytes = [&[1, kind][..], &bytes].concat();
        if let Some(entry) = LogEntry::read(&bytes) {
            prop_assert_eq!(LogEntry::read(&entry.write()), Some(entry));
        }
    }

    #[test]
    fn whatever_follows_a_number_keeps_its_article(
        entries in prop::collection::vec(entry(), 0..20),
        later in prop::collection::vec(entry(), 0..20),
    ) {
        let before = log(&entries);
        let all: Vec<LogEntry> = entries.into_iter().chain(later).collect();
        let after = log(&all);
        for number in 0..40 {
            if let Some(id) = before.id_of(number) {
                prop_assert_eq!(after.id_of(number), Some(id));
                prop_assert_eq!(after.number_of(id), Some(number));
                prop_assert!(after.high() >= number);
            }
        }
        prop_assert!(after.high() >= before.high());
        // And numbers made of it are fit to be used.
        let servers = [(ONE, ServerId(1)), (TWO, ServerId(2))];
        let mut numbers = ArticleNumbers::from_log(&after, &servers);
        for &(key, server) in &servers {
            let carried = Carried { low: 1, high: 50, count: 50 };
            numbers.seen_with(server, carried, false, true);
            numbers.take_runs(server, key, &after);
            numbers.seen_with(server, carried, false, true);
        }
        for entry in &all {
            numbers.adopt(entry, &servers, &after);
        }
        numbers.follow(&after);
        prop_assert!(numbers.high() >= after.high());
        let _ = (numbers.rows(), numbers.count());
    }
}

#[test]
fn entries_that_are_too_long_are_none() {
    let articles = vec![(1, 1, 1); MOST_ARTICLES + 1];
    let long = LogEntry::Bind {
        server: ONE,
        articles,
    };
    assert_eq!(LogEntry::read(&long.write()), None);
    assert_eq!(LogEntry::read(&[1; 64 * 1024]), None);
}

#[test]
fn a_newer_weir_is_noticed_and_what_it_wrote_is_kept() {
    let mut log = NumberLog::default();
    assert!(log.is_writable());
    assert_eq!(log.append(Arc::from(&b"\x01\x63what"[..])), None);
    assert!(log.is_writable(), "that is nonsense");
    assert_eq!(log.append(Arc::from(&b"\x02\x01what"[..])), None);
    assert!(!log.is_writable());
    assert_eq!(log.len(), 2);
}

#[test]
fn the_first_to_name_a_number_or_an_article_counts() {
    let bind = |articles: &[(u64, u64, u64)]| LogEntry::Bind {
        server: ONE,
        articles: articles.to_vec(),
    };
    let log = log(&[
        bind(&[(7, 1, 70), (8, 2, 80)]),
        bind(&[(7, 1, 71), (9, 3, 80)]),
        bind(&[(9, 3, 90)]),
    ]);
    assert_eq!(
        [7, 8, 9].map(|n| log.id_of(n)),
        [Some(70), Some(80), Some(90)]
    );
    assert_eq!(log.number_of(71), None);
}

#[test]
fn a_server_that_counts_anew_loses_its_runs_and_no_article_its_number() {
    let bind = |articles: &[(u64, u64, u64)]| LogEntry::Bind {
        server: ONE,
        articles: articles.to_vec(),
    };
    let renew = |times| LogEntry::Renew { server: ONE, times };
    let seen = |log: &NumberLog| {
        let mut numbers = ArticleNumbers::from_log(log, &[(ONE, ServerId(1))]);
        let carried = Carried {
            low: 1,
            high: 9,
            count: 9,
        };
        numbers.seen_with(ServerId(1), carried, false, true);
        numbers.take_runs(ServerId(1), ONE, log);
        [7, 8].map(|ours| numbers.theirs(ServerId(1), ours))
    };
    let mut entries = vec![bind(&[(7, 1, 70), (8, 2, 80)])];
    assert_eq!(seen(&log(&entries)), [Some(1), Some(2)]);
    assert!(!log(&entries).lacks(ONE, 9), "it never began again");
    // Not the first one.
    entries.push(renew(2));
    assert_eq!(seen(&log(&entries)), [Some(1), Some(2)]);
    entries.push(renew(1));
    assert_eq!(seen(&log(&entries)), [None, None]);
    // One of them is found again; who hands in the same once more changes nothing.
    entries.extend([bind(&[(8, 1, 80)]), renew(1)]);
    let log = log(&entries);
    assert_eq!(seen(&log), [None, Some(1)]);
    assert_eq!([7, 8].map(|n| log.id_of(n)), [Some(70), Some(80)]);
    assert_eq!([7, 8].map(|n| log.lacks(ONE, n)), [true, false]);
    assert_eq!((log.renewals(ONE), log.renewals(TWO)), (1, 0));
}
