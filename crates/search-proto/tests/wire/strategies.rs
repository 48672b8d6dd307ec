//! Random values in the form in which they are read.

use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use weir_search_proto::{
    ApiLimits, Caps, Category, Function, InfoHash, Protocol, Query, Release, Term,
};

/// Text on one line: no control characters, no space around it, and every kind of character.
pub(crate) fn line() -> impl Strategy<Value = String> {
    let line = "[ -~é€\u{1F980}&<>\"'\\]\\[;#]{1,40}";
    line.prop_map(|line| line.trim().to_owned())
        .prop_filter("not empty", |line| !line.is_empty())
}

fn url() -> impl Strategy<Value = String> {
    line().prop_map(|path| format!("https://indexer.example/{path}"))
}

pub(crate) fn release() -> impl Strategy<Value = Release> {
    let names = (line(), line(), option::of(url()), url());
    let hash = option::of(any::<[u8; 20]>().prop_map(InfoHash));
    let size = (option::of(1..u64::MAX), option::of(1..253_402_300_800_i64));
    let numbers = [(); 4].map(|()| option::of(any::<u32>()));
    // A name that no attribute with a field of its own has.
    let attributes = vec(("x[a-z]{1,8}", line()), 0..5);
    let categories = btree_set(0..200_000_u32, 1..5);
    let ways = (0..3_u8, hash, any::<bool>());
    (names, size, numbers, attributes, categories, ways).prop_map(
        |(
            (title, guid, details, download),
            (size, published),
            numbers,
            attributes,
            categories,
            (way, hash, nzb),
        )| {
            let magnet = hash.map(|hash| format!("magnet:?xt=urn:btih:{hash}&dn=a%20b"));
            let magnet = magnet.filter(|_| way != 0);
            let [seeders, peers, grabs, files] = numbers;
            Release {
                title,
                guid,
                details: details.filter(|details| *details != download),
                download: Some(download).filter(|_| magnet.is_none() || way == 1),
                magnet,
                info_hash: hash,
                size,
                published,
                categories: categories.into_iter().collect(),
                seeders,
                peers,
                grabs,
                files,
                attributes,
                protocol: Some(if nzb {
                    Protocol::Nzb
                } else {
                    Protocol::Torrent
                }),
            }
        },
    )
}

pub(crate) fn limits() -> impl Strategy<Value = ApiLimits> {
    [(); 4]
        .map(|()| option::of(any::<u32>()))
        .prop_map(|[a, b, c, d]| ApiLimits {
            calls_made: a,
            calls_allowed: b,
            grabs_made: c,
            grabs_allowed: d,
        })
}

pub(crate) fn caps() -> impl Strategy<Value = Caps> {
    let terms = btree_set(prop::sample::select(&Term::ALL[..]), 0..6);
    let functions = btree_map(
        prop::sample::select(&Function::ALL[..]),
        (terms, any::<bool>()),
        0..6,
    );
    let category = || (any::<u32>(), line());
    let categories = vec((category(), vec(category(), 0..4)), 0..5);
    let limits = (1..1_000_u32, 0..1_000_u32);
    (
        line(),
        limits,
        functions,
        categories,
        vec((line(), line()), 0..3),
    )
        .prop_map(
            |(title, (default_limit, more), functions, categories, tags)| Caps {
                title,
                default_limit,
                max_limit: default_limit + more,
                text: functions
                    .iter()
                    .filter(|(_, (_, q))| *q)
                    .map(|(f, _)| *f)
                    .collect(),
                functions: functions
                    .into_iter()
                    .map(|(f, (terms, _))| (f, terms))
                    .collect(),
                categories: categories
                    .into_iter()
                    .map(|((id, name), below)| Category {
                        subcategories: below
                            .iter()
                            .map(|(id, name)| Category::leaf(*id, name))
                            .collect(),
                        ..Category::leaf(id, &name)
                    })
                    .collect(),
                tags,
            },
        )
}

pub(crate) fn query() -> impl Strategy<Value = Query> {
    let words = "[a-zA-Z0-9é&+%=#/:'\"]{1,8}( [a-zA-Z0-9é&+%=#.]{1,8}){0,3}";
    let q = option::of(words).prop_map(Option::unwrap_or_default);
    let terms = btree_map(
        prop::sample::select(&Term::ALL[..]),
        (1..10_000_u32, words),
        0..5,
    );
    let terms = terms.prop_map(|terms| {
        let value = |term: &Term, number: u32, text: String| match term {
            Term::ImdbId => format!("{number:07}"),
            Term::Artist | Term::Album | Term::Label | Term::Track => text,
            Term::Author | Term::Title | Term::Publisher | Term::Genre => text,
            _ => number.to_string(),
        };
        let terms = terms.into_iter();
        terms
            .map(|(term, (number, text))| (term, value(&term, number, text)))
            .collect::<std::collections::BTreeMap<Term, String>>()
    });
    let bounds = (
        option::of(1..u32::MAX),
        option::of(1..u32::MAX),
        option::of(1..u64::MAX),
        option::of(1..u64::MAX),
    );
    let function = prop::sample::select(&Function::ALL[..]);
    (function, q, btree_set(any::<u32>(), 0..5), terms, bounds).prop_map(
        |(function, q, categories, mut terms, (max_age, min_age, min_size, max_size))| {
            if function == Function::Search {
                terms.retain(|term, _| term.function().is_none());
            }
            Query {
                q,
                categories: categories.into_iter().collect(),
                terms,
                max_age_days: max_age,
                min_age_days: min_age,
                min_size,
                max_size,
                ..Query::new(function)
            }
        },
    )
}
