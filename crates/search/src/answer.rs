//! One indexer's answer to one question.

use std::sync::Arc;

use weir_engine::dispatch::UpstreamId;
use weir_search_proto::{Query, Release};

use crate::indexer::Indexer;
use crate::judge::IndexerFault;

/// What one indexer is asked; equal questions share an answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AnswerKey {
    pub(crate) upstream: UpstreamId,
    pub(crate) indexer: Arc<str>,
    /// [`Indexer::source`](crate::indexer::Indexer::source).
    pub(crate) source: Arc<str>,
    pub(crate) query: Arc<Query>,
}

/// A key in the cache.
pub(crate) type Digest = [u8; 16];

/// What came of a call.
pub(crate) type SearchAnswer = Result<Arc<IndexerAnswer>, IndexerFault>;

/// What an indexer answered. Shared by the cache, searches and pages, which never change it.
#[derive(Debug)]
pub(crate) struct IndexerAnswer {
    pub(crate) releases: Vec<Release>,
    /// When it was given, in seconds since 1970.
    pub(crate) at: i64,
    /// Bytes that it holds in memory, about.
    pub(crate) weight: usize,
}

/// How long what an indexer said is served, in seconds.
pub(crate) struct AnswerLives {
    /// Answers with recent releases.
    pub(crate) rss: i64,
    pub(crate) search: i64,
    /// Answers without releases.
    pub(crate) nothing: i64,
    pub(crate) caps: i64,
    pub(crate) files: i64,
    /// Whatever is older is never served.
    pub(crate) stale: i64,
}

impl AnswerKey {
    pub(crate) fn new(indexer: &Indexer, query: Arc<Query>) -> Self {
        Self {
            upstream: indexer.upstream,
            indexer: indexer.name().into(),
            source: indexer.source.clone(),
            query,
        }
    }

    /// What is asked, in words that are the same on every node: the indexer is known by other means there.
    pub(crate) fn text(&self, limit: u32) -> Vec<u8> {
        let mut text = limit.to_le_bytes().to_vec();
        for (name, value) in self.query.parameters() {
            text.extend_from_slice(name.as_bytes());
            text.push(0);
            text.extend_from_slice(value.as_bytes());
            text.push(1);
        }
        text
    }

    /// The same as a number that outlives the process: the cache is a file, and hashes of the standard library change.
    pub(crate) fn digest(&self) -> Digest {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.indexer.as_bytes());
        hasher.update(&[2]).update(self.source.as_bytes());
        for (name, value) in self.query.parameters() {
            hasher.update(&[0]).update(name.as_bytes());
            hasher.update(&[1]).update(value.as_bytes());
        }
        let mut digest = Digest::default();
        digest.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        digest
    }
}

impl IndexerAnswer {
    pub(crate) fn new(releases: Vec<Release>, at: i64) -> Self {
        let weight = releases.iter().map(weight).sum::<usize>() + 128;
        Self {
            releases,
            at,
            weight,
        }
    }

    /// How long this answer to this question is served without asking again, in seconds.
    pub(crate) fn life(&self, query: &Query, lives: &AnswerLives) -> i64 {
        match (query.recent(), self.releases.is_empty()) {
            (true, false) => lives.rss,
            (true, true) => lives.rss.min(lives.nothing),
            (false, true) => lives.nothing,
            (false, false) => lives.search,
        }
    }

    /// Its age in seconds.
    pub(crate) fn age(&self, now: i64) -> i64 {
        now.saturating_sub(self.at).max(0)
    }
}

fn weight(release: &Release) -> usize {
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let attributes = release.attributes.iter();
    size_of::<Release>()
        + release.title.len()
        + release.guid.len()
        + text(&release.details)
        + text(&release.download)
        + text(&release.magnet)
        + release.categories.len() * 4
        + attributes
            .map(|(name, value)| name.len() + value.len() + 48)
            .sum::<usize>()
}
