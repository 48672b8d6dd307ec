//! What last went wrong at an upstream, in its own words.

use std::collections::VecDeque;
use std::sync::Arc;

use weir_dispatch::{Moment, What};

use crate::record::Record;

/// How many different ones are kept of an upstream.
const MOST: usize = 5;

/// One error, as often as it came without another between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastError {
    /// When it first came.
    pub first: Moment,
    /// When it last came.
    pub last: Moment,
    /// How often.
    pub count: u64,
    /// What a call explained; secrets are not in it.
    pub words: Arc<str>,
}

/// The last few of an upstream. Equal ones in a row take one place, so that a long outage does not push out what was before.
#[derive(Debug, Default)]
pub(crate) struct PastErrors(VecDeque<PastError>);

impl PastErrors {
    /// Something went wrong.
    pub(crate) fn push(&mut self, at: Moment, words: &Arc<str>) {
        if let Some(newest) = self.0.back_mut()
            && newest.words == *words
        {
            (newest.last, newest.count) = (at, newest.count + 1);
            return;
        }
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(PastError {
            first: at,
            last: at,
            count: 1,
            words: words.clone(),
        });
    }

    /// Newest first.
    pub(crate) fn newest(&self) -> Vec<PastError> {
        self.0.iter().rev().cloned().collect()
    }

    /// What an earlier run leaves of them: those of the calls that are still recorded, newest first, and the last one, which
    /// is kept for longer than records are.
    pub(crate) fn restored(
        records: impl Iterator<Item = Record>,
        last: Option<&(Moment, Arc<str>)>,
    ) -> Self {
        let failed = |record: &Record| {
            let started = matches!(record.what, What::Started { .. });
            started && record.end.is_some_and(|end| end.kind.is_failure())
        };
        let mut known: Vec<(Moment, Arc<str>)> = records
            .filter(failed)
            .filter_map(|record| {
                let took = record.end.map_or_else(Default::default, |end| end.took);
                Some((record.at + took, record.cause?))
            })
            .collect();
        known.reverse();
        let newest = known.last().map(|(at, _)| *at);
        // The record of the last one ends at the same moment, but for what a restart rounds.
        let apart = std::time::Duration::from_secs(2);
        let is_other = |(at, _): &&(Moment, Arc<str>)| newest.is_none_or(|one| *at > one + apart);
        known.extend(last.filter(is_other).cloned());
        let mut errors = Self::default();
        for (at, words) in &known {
            errors.push(*at, words);
        }
        errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(errors: &PastErrors) -> Vec<(u64, u64, u64, String)> {
        let newest = errors.newest().into_iter();
        let plain = |one: PastError| (one.first.0, one.last.0, one.count, one.words.to_string());
        newest.map(plain).collect()
    }

    #[test]
    fn equal_errors_in_a_row_take_one_place_and_the_oldest_goes() {
        let mut errors = PastErrors::default();
        for at in 1..=1000 {
            errors.push(Moment(at), &"it answered 503".into());
        }
        errors.push(Moment(1001), &"it answered 429".into());
        errors.push(Moment(1002), &"it answered 503".into());
        assert_eq!(
            words(&errors),
            [
                (1002, 1002, 1, "it answered 503".to_owned()),
                (1001, 1001, 1, "it answered 429".to_owned()),
                (1, 1000, 1000, "it answered 503".to_owned()),
            ]
        );
        for at in 0..100 {
            errors.push(Moment(2000 + at), &format!("{at}").into());
        }
        assert_eq!(errors.newest().len(), MOST);
        assert_eq!(words(&errors)[0].3, "99");
    }

    #[test]
    fn the_last_one_outlives_its_record() {
        let last = (Moment(7), Arc::from("no such host"));
        let errors = PastErrors::restored(std::iter::empty(), Some(&last));
        assert_eq!(words(&errors), [(7, 7, 1, "no such host".to_owned())]);
    }
}
