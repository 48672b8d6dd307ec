//! Tests of merging.

use std::time::Duration;

use proptest::prelude::*;
use weir_config::SecretUrl;
use weir_engine::dispatch::UpstreamId;
use weir_search_proto::Query;

use super::*;
use crate::config::indexer as entries;
use crate::program::Program;
use crate::search::SearchQuestion;

/// An indexer by number, of a priority.
pub(crate) fn indexer(number: u32, priority: u32) -> Arc<Indexer> {
    let url = SecretUrl::parse("http://indexer.example/api").expect("a URL");
    let config = entries::IndexerEntry {
        priority,
        ..entries::IndexerEntry::new(&format!("indexer{number}"), url)
    };
    Arc::new(Indexer::new(config, number, UpstreamId(number), None))
}

/// A question of a person.
pub(crate) fn question(query: Query, scope: Vec<Arc<Indexer>>) -> SearchQuestion {
    SearchQuestion {
        query,
        scope,
        class: crate::policy::INTERACTIVE,
        max_wait: None,
        no_cache: false,
        program: Program {
            name: "a test".into(),
            asker: Default::default(),
        },
        address: String::new(),
        deadline: Duration::from_secs(15),
    }
}

pub(crate) fn input(number: u32, releases: Vec<Release>) -> MergeInput {
    MergeInput {
        indexer: indexer(number, 25),
        answer: Arc::new(IndexerAnswer::new(releases, 0)),
        cached: false,
        healthy: true,
    }
}

pub(crate) fn release(title: &str, size: u64, hash: Option<u8>) -> Release {
    Release {
        title: title.to_owned(),
        guid: format!("{title} {size} {hash:?}"),
        size: Some(size),
        published: Some(100),
        info_hash: hash.map(|hash| InfoHash([hash; 20])),
        download: Some("http://indexer.example/1".to_owned()),
        ..Release::default()
    }
}

/// The sources of each release as (indexer, position), in the order of the list.
fn merged(contributions: Vec<MergeInput>) -> Vec<Vec<(u16, u32)>> {
    let list = ReleaseList::of(contributions, |_, _| true);
    let sources = |merged: &Merged| {
        let sources = merged.sources.iter();
        sources.map(|source| (source.of, source.at)).collect()
    };
    list.releases.iter().map(sources).collect()
}

/// The same without the order.
fn groups(contributions: Vec<MergeInput>) -> Vec<Vec<(u16, u32)>> {
    let mut groups = merged(contributions);
    for group in &mut groups {
        group.sort_unstable();
    }
    groups.sort();
    groups
}

#[test]
fn the_same_info_hash_is_one_release_with_all_its_sources() {
    let all = vec![
        input(1, vec![release("One", 1, Some(1))]),
        input(
            2,
            vec![release("Uno", 2, Some(1)), release("Two", 2, Some(2))],
        ),
        input(3, vec![release("Eins", 0, Some(1))]),
    ];
    assert_eq!(groups(all), [vec![(0, 0), (1, 0), (2, 0)], vec![(1, 1)]]);
}

#[test]
fn two_info_hashes_are_two_releases_however_alike_the_rest_is() {
    let all = vec![
        input(1, vec![release("One", 1, Some(1))]),
        input(2, vec![release("One", 1, Some(2))]),
    ];
    assert_eq!(groups(all), [[(0, 0)], [(1, 0)]]);
}

#[test]
fn title_and_size_decide_only_where_one_has_no_info_hash() {
    let bare = |title, size| input(2, vec![release(title, size, None)]);
    let with = || input(1, vec![release("Some.Show.S01E02-GRP", 7, Some(1))]);
    // Case and punctuation are written differently everywhere.
    let one = [vec![(0, 0), (1, 0)]];
    let two = [vec![(0, 0)], vec![(1, 0)]];
    assert_eq!(groups(vec![with(), bare("some show s01e02 grp", 7)]), one);
    assert_eq!(groups(vec![with(), bare("Some.Show.S01E02-GRP", 8)]), two);
    assert_eq!(groups(vec![with(), bare("Some.Show.S01E03-GRP", 7)]), two);
    let both = vec![bare("Some Show", 7), bare("some.show", 7)];
    assert_eq!(groups(both), one, "neither has one");
    let first = vec![bare("some show s01e02 grp", 7), with()];
    assert_eq!(groups(first), one, "the order does not matter");
}

#[test]
fn without_a_size_a_title_is_not_enough() {
    for size in [None, Some(0)] {
        let sized = |hash| Release {
            size,
            ..release("One", 1, hash)
        };
        let all = vec![input(1, vec![sized(Some(1))]), input(2, vec![sized(None)])];
        assert_eq!(groups(all), [[(0, 0)], [(1, 0)]], "{size:?}");
    }
}

#[test]
fn what_may_be_either_of_two_stays_apart() {
    let all = vec![
        input(1, vec![release("One", 1, Some(1))]),
        input(2, vec![release("One", 1, Some(2))]),
        input(3, vec![release("One", 1, None)]),
        input(4, vec![release("One", 1, None)]),
    ];
    assert_eq!(groups(all).len(), 4);
}

#[test]
fn an_indexers_own_are_never_the_same_by_title() {
    let twice = || vec![release("One", 1, None), release("One", 1, None)];
    assert_eq!(groups(vec![input(1, twice())]), [[(0, 0)], [(0, 1)]]);
    let own = vec![release("One", 1, Some(1)), release("One", 1, None)];
    assert_eq!(groups(vec![input(1, own)]), [[(0, 0)], [(0, 1)]]);
    let same = vec![release("One", 1, Some(1)), release("Uno", 1, Some(1))];
    assert_eq!(
        groups(vec![input(1, same)]),
        [[(0, 0), (0, 1)]],
        "by hash they are"
    );
}

#[test]
fn health_then_priority_then_freshness_prefer_a_source() {
    let of = |number: u32, healthy, priority, cached| MergeInput {
        indexer: indexer(number, priority),
        cached,
        healthy,
        ..input(number, vec![release("One", 1, Some(1))])
    };
    let first = |all: Vec<MergeInput>| merged(all)[0][0].0;
    let (ill, well) = (of(1, false, 1, false), of(2, true, 50, true));
    assert_eq!(first(vec![ill, well]), 1, "health comes first");
    let (low, high) = (of(1, true, 30, false), of(2, true, 10, true));
    assert_eq!(first(vec![low, high]), 1, "then priority");
    let (old, fresh) = (of(1, true, 25, true), of(2, true, 25, false));
    assert_eq!(first(vec![old, fresh]), 1, "then freshness");
    let (one, other) = (of(1, true, 25, false), of(2, true, 25, false));
    assert_eq!(
        first(vec![one, other]),
        0,
        "then the order of the configuration"
    );
}

#[test]
fn the_newest_come_first_and_what_is_as_old_always_in_one_order() {
    let dated = |title: &str, published, hash| Release {
        published,
        ..release(title, 1, Some(hash))
    };
    let one = || {
        input(
            1,
            vec![
                dated("b", Some(5), 1),
                dated("undated", None, 2),
                dated("newest", Some(9), 3),
            ],
        )
    };
    // It has one of them, and had it earlier.
    let two = || input(2, vec![dated("a", Some(5), 4), dated("newest", Some(7), 3)]);
    let titles = |all: Vec<MergeInput>| -> Vec<String> {
        let list = ReleaseList::of(all, |_, _| true);
        let title = |merged: &Merged| list.at(merged.sources[0]).title.clone();
        list.releases.iter().map(title).collect()
    };
    assert_eq!(titles(vec![one(), two()]), ["newest", "a", "b", "undated"]);
    assert_eq!(titles(vec![two(), one()]), ["newest", "a", "b", "undated"]);
    let list = ReleaseList::of(vec![one(), two()], |_, _| true);
    assert_eq!(
        list.releases[0].published, 7,
        "when it was really published"
    );
}

#[test]
fn what_nobody_wants_is_left_out_and_what_one_alone_has_is_counted() {
    let all = vec![
        input(
            1,
            vec![release("One", 1, Some(1)), release("Two", 2, Some(2))],
        ),
        input(
            2,
            vec![release("One", 1, Some(1)), release("Three", 3, None)],
        ),
    ];
    let list = ReleaseList::of(all, |_, release| release.title != "Three");
    assert_eq!(list.releases.len(), 2);
    let counts = |of: usize| list.counts_of(&list.contributions[of].indexer);
    assert_eq!((counts(0), counts(1)), ((2, 1), (1, 0)));
    assert_eq!(list.counts_of(&indexer(9, 25)), (0, 0));
}

/// Few titles, sizes and hashes, so that much is the same.
fn any_release() -> impl Strategy<Value = Release> {
    let (titles, hashes) = (0..3_u8, proptest::option::of(0..4_u8));
    (titles, 0..3_u64, hashes, proptest::option::of(0..3_i64)).prop_map(
        |(title, size, hash, published)| Release {
            published,
            ..release(["One", "o.n.e", "Two"][usize::from(title)], size, hash)
        },
    )
}

proptest! {
    #[test]
    fn every_release_is_in_exactly_one_place_and_hashes_never_mix(
        parts in proptest::collection::vec(proptest::collection::vec(any_release(), 0..8), 0..6)
    ) {
        let contributions = || parts.iter().zip(1..).map(|(releases, number)| input(number, releases.clone())).collect();
        let list = ReleaseList::of(contributions(), |_, _| true);
        let mut all: Vec<(u16, u32)> = Vec::new();
        for merged in &list.releases {
            let hashes: std::collections::BTreeSet<_> = merged
                .sources
                .iter()
                .filter_map(|source| list.at(*source).info_hash.map(|hash| hash.0))
                .collect();
            prop_assert!(hashes.len() <= 1, "{hashes:?}");
            all.extend(merged.sources.iter().map(|source| (source.of, source.at)));
        }
        all.sort_unstable();
        let expected: Vec<(u16, u32)> = parts
            .iter()
            .zip(0..)
            .flat_map(|(releases, of)| (0..releases.len() as u32).map(move |at| (of, at)))
            .collect();
        prop_assert_eq!(all, expected);
        let dates: Vec<i64> = list.releases.iter().map(|merged| merged.published).collect();
        prop_assert!(dates.is_sorted_by(|one, other| one >= other));
        let again = ReleaseList::of(contributions(), |_, _| true);
        let places = |list: &ReleaseList| -> Vec<Vec<ReleaseSource>> {
            list.releases.iter().map(|merged| merged.sources.to_vec()).collect()
        };
        prop_assert_eq!(places(&again), places(&list));
        // One info hash is one release.
        let mut seen = std::collections::BTreeSet::new();
        for merged in &list.releases {
            let hash = merged.sources.iter().find_map(|source| list.at(*source).info_hash);
            prop_assert!(hash.is_none_or(|hash| seen.insert(hash.0)));
        }
    }
}

#[test]
fn titles_are_hashed_with_a_secret_of_each_merge() {
    let [one, other] = [Groups::default(), Groups::default()];
    let key = |of: &Groups, title| title_key(&of.secret, title);
    assert_eq!(key(&one, "A.Film 2020"), key(&one, "a film (2020)"));
    assert_ne!(key(&one, "A Film 2020"), key(&other, "A Film 2020"));
}
