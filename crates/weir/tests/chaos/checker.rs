//! Reads what the indexers wrote down, and nothing else: no window may be exceeded, wherever it is laid.

use std::time::Duration;

use tokio::time::Instant;
use weir_testkit::zoo::indexer::Indexer;

/// One request, as an indexer saw it: how long after the test began, and what was asked.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) at: Duration,
    pub(crate) what: String,
}

/// What each indexer was asked, whatever it was, oldest first.
pub(crate) fn calls(indexers: &[Indexer], began: Instant) -> Vec<Vec<Call>> {
    let of = |indexer: &Indexer| {
        let mut calls: Vec<Call> = indexer
            .asked()
            .iter()
            .map(|asked| Call {
                at: asked.at.saturating_duration_since(began),
                what: asked
                    .value("q")
                    .or(asked.value("t"))
                    .unwrap_or("?")
                    .to_owned(),
            })
            .collect();
        calls.sort_by_key(|call| call.at);
        calls
    };
    indexers.iter().map(of).collect()
}

/// The places at which more than `limit` calls lie within a window.
pub(crate) fn exceeded(calls: &[Call], limit: usize, window: Duration) -> Vec<String> {
    let pairs = calls.iter().zip(calls.iter().skip(limit));
    let close = pairs
        .enumerate()
        .filter(|(_, (first, last))| last.at - first.at < window);
    close
        .map(|(place, _)| {
            format!(
                "more than {limit} in {window:?}: {:?}",
                &calls[place..=place + limit]
            )
        })
        .collect()
}

/// The shortest time between two calls.
pub(crate) fn closest(calls: &[Call]) -> Duration {
    let gaps = calls.windows(2).map(|two| two[1].at - two[0].at);
    gaps.min().unwrap_or(Duration::MAX)
}

#[test]
fn a_window_that_is_exceeded_anywhere_is_found() {
    let calls = |at: &[u64]| -> Vec<Call> {
        let call = |at: &u64| Call {
            at: Duration::from_secs(*at),
            what: "debian".to_owned(),
        };
        at.iter().map(call).collect()
    };
    let window = Duration::from_secs(10);
    assert!(exceeded(&calls(&[0, 5, 10, 15, 20]), 2, window).is_empty());
    assert_eq!(exceeded(&calls(&[0, 5, 9, 15, 20]), 2, window).len(), 1);
    assert_eq!(
        exceeded(&calls(&[0, 5, 10, 15, 19, 24]), 2, window).len(),
        2
    );
    assert_eq!(exceeded(&calls(&[7, 7, 7]), 2, window).len(), 1);
    assert!(exceeded(&calls(&[]), 2, window).is_empty());
    assert_eq!(closest(&calls(&[0, 5, 9, 15])), Duration::from_secs(4));
}
