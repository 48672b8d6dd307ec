//! Merging without a front around it, for the benches.

use std::sync::Arc;

use weir_config::SecretUrl;
use weir_engine::dispatch::UpstreamId;
use weir_search_proto::{InfoHash, Release};

use crate::answer::IndexerAnswer;
use crate::config::indexer as entries;
use crate::indexer::Indexer;
use crate::merge::{MergeInput, ReleaseList};

/// Answers of many indexers to one question.
pub struct Answers(Vec<(Arc<Indexer>, Arc<IndexerAnswer>)>);

impl Answers {
    /// So many releases of each of so many indexers: a third that several have, a third of one each, and a third
    /// without an info hash.
    pub fn of(indexers: u32, releases: u32) -> Self {
        let all = (0..indexers).map(|number| {
            let releases = (0..releases).map(|at| release(number, at)).collect();
            (indexer(number), Arc::new(IndexerAnswer::new(releases, 0)))
        });
        Self(all.collect())
    }

    /// Makes one list of them; gives how many releases that has.
    pub fn merge(&self) -> usize {
        let contributions = self.0.iter().map(|(indexer, answer)| MergeInput {
            indexer: indexer.clone(),
            answer: answer.clone(),
            cached: false,
            healthy: true,
        });
        ReleaseList::of(contributions.collect(), |_, _| true)
            .releases
            .len()
    }
}

fn release(indexer: u32, at: u32) -> Release {
    let (number, hashed) = match at % 3 {
        0 => (at, true),
        1 => (indexer * 10_000 + at, true),
        _ => (at, false),
    };
    let mut hash = [0; 20];
    hash[..4].copy_from_slice(&number.to_be_bytes());
    Release {
        title: format!(
            "Some.Show.S{:02}E{:02}.{number}.1080p.WEB-DL",
            at / 20,
            at % 20
        ),
        guid: format!("https://indexer{indexer}.example/details/{number}"),
        download: Some(format!("https://indexer{indexer}.example/get/{number}")),
        size: Some(1_000_000_000 + u64::from(number)),
        published: Some(1_700_000_000 + i64::from(number % 5_000)),
        info_hash: hashed.then_some(InfoHash(hash)),
        seeders: Some(at),
        categories: vec![5040],
        ..Release::default()
    }
}

fn indexer(number: u32) -> Arc<Indexer> {
    let url = SecretUrl::parse("http://indexer.example/api").expect("a URL");
    let config = entries::IndexerEntry::new(&format!("indexer{number}"), url);
    Arc::new(Indexer::new(config, number, UpstreamId(number), None))
}
