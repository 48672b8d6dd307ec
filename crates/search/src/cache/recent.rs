//! Answers that were read, for those who ask the same soon.

use std::collections::HashMap;
use std::sync::Arc;

use crate::answer::{Digest, IndexerAnswer};

/// Read answers, the least used of which go first.
pub(super) struct RecentAnswers {
    answers: HashMap<Digest, (Arc<IndexerAnswer>, u64)>,
    weight: usize,
    limit: usize,
    /// Counts uses, which tell what was used last.
    uses: u64,
}

impl RecentAnswers {
    /// Room for so many bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            answers: HashMap::new(),
            weight: 0,
            limit,
            uses: 0,
        }
    }

    /// Answers and bytes.
    pub(super) fn held(&self) -> (usize, usize) {
        (self.answers.len(), self.weight)
    }

    pub(super) fn get(&mut self, key: &Digest) -> Option<Arc<IndexerAnswer>> {
        self.uses += 1;
        let (answer, used) = self.answers.get_mut(key)?;
        *used = self.uses;
        Some(answer.clone())
    }

    pub(super) fn put(&mut self, key: Digest, answer: &Arc<IndexerAnswer>) {
        self.uses += 1;
        self.weight += answer.weight;
        if let Some((old, _)) = self.answers.insert(key, (answer.clone(), self.uses)) {
            self.weight -= old.weight;
        }
        if self.weight > self.limit {
            self.shrink();
        }
    }

    /// Lets the least used go until a tenth is free, so that this is seldom done.
    fn shrink(&mut self) {
        let mut uses: Vec<(u64, Digest)> = self
            .answers
            .iter()
            .map(|(key, (_, used))| (*used, *key))
            .collect();
        uses.sort_unstable();
        for (_, key) in uses {
            if self.weight <= self.limit / 10 * 9 {
                break;
            }
            if let Some((answer, _)) = self.answers.remove(&key) {
                self.weight -= answer.weight;
            }
        }
    }
}
