//! Any articles in any order, against the rules worked out the slow way.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// An article by number: what it refers to, and its date.
#[derive(Clone, Debug)]
struct Sketch {
    article: u8,
    references: Vec<u8>,
    date: i64,
}

fn sketches() -> impl Strategy<Value = Vec<Sketch>> {
    // Few IDs, so that headers contradict each other all the time.
    let sketch = (0..12_u8, prop::collection::vec(0..14_u8, 0..6), 0..20_i64);
    prop::collection::vec(sketch, 1..14).prop_map(|all| {
        let mut taken = BTreeSet::new();
        let all = all.into_iter().map(|(article, references, date)| Sketch {
            article,
            references,
            date,
        });
        all.filter(|sketch| taken.insert(sketch.article)).collect()
    })
}

fn in_some_order() -> impl Strategy<Value = (Vec<Sketch>, Vec<Sketch>)> {
    sketches().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle()))
}

fn called(number: u8) -> String {
    format!("n{number:02}")
}

fn draft(sketch: &Sketch) -> Draft {
    let references: Vec<String> = sketch.references.iter().map(|&at| called(at)).collect();
    let line = format!("{} < {}", called(sketch.article), references.join(" "));
    Draft::new(&line, sketch.date)
}

fn built(sketches: &[Sketch]) -> ThreadTable {
    let mut table = ThreadTable::new();
    for sketch in sketches {
        table.insert(&draft(sketch).headline());
        check(&table);
    }
    table
}

/// What an article refers to: not itself, and each ID once.
fn chain(sketch: &Sketch) -> Vec<u8> {
    let mut chain = Vec::new();
    for &reference in &sketch.references {
        if reference != sketch.article && !chain.contains(&reference) {
            chain.push(reference);
        }
    }
    chain
}

/// Everybody's parent by the rules of `claims`, from all headers at once.
fn by_the_rules(sketches: &[Sketch]) -> BTreeMap<String, (Option<String>, bool)> {
    let mut claims: BTreeMap<u8, (usize, Option<u8>)> = BTreeMap::new();
    for chain in sketches.iter().map(chain) {
        for (known, &at) in chain.iter().enumerate() {
            let parent = known.checked_sub(1).map(|before| chain[before]);
            let best = claims.entry(at).or_insert((known, parent));
            if known > best.0 || known == best.0 && parent < best.1 {
                *best = (known, parent);
            }
        }
    }
    // Its own word is worth more than any header can know.
    let own = |sketch: &Sketch| (sketch.article, (usize::MAX, chain(sketch).last().copied()));
    claims.extend(sketches.iter().map(own));
    let parents = claims.iter().map(|(&at, claim)| (at, claim.1));
    let mut parents: BTreeMap<u8, Option<u8>> = parents.collect();
    for &at in claims.keys() {
        let mut circle = vec![at];
        while let Some(parent) = parents[&circle[circle.len() - 1]] {
            if parent == at {
                let order = |member: &&u8| (claims[*member].0 == usize::MAX, **member);
                let opened = circle.iter().min_by_key(order).copied();
                parents.insert(opened.expect("a circle has members"), None);
                break;
            }
            if circle.contains(&parent) {
                break;
            }
            circle.push(parent);
        }
    }
    let is_article = |at: u8| sketches.iter().any(|sketch| sketch.article == at);
    let all = parents.into_iter();
    all.map(|(at, parent)| (called(at), (parent.map(called), is_article(at))))
        .collect()
}

fn versions(table: &ThreadTable) -> Vec<(String, usize, u64)> {
    let threads = table.threads(0);
    threads
        .map(|thread| {
            (
                thread.root().to_owned(),
                thread.articles(),
                thread.version(),
            )
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_order_of_arrival_gives_the_tree_of_the_rules((first, second) in in_some_order()) {
        let (one, other) = (built(&first), built(&second));
        prop_assert_eq!(links(&one), by_the_rules(&first));
        prop_assert_eq!(links(&other), by_the_rules(&first));
        prop_assert_eq!(versions(&one), versions(&other));
        for sketch in &first {
            let name = called(sketch.article);
            prop_assert_eq!(drawn(&one, &name), drawn(&other, &name));
        }
    }

    #[test]
    fn removing_loses_nothing_else(
        (articles, order) in in_some_order(),
        kept in 0..14_usize,
        batch in 1..4_usize,
    ) {
        let mut table = built(&articles);
        let (stay, go) = order.split_at(kept.min(order.len()));
        for some in go.chunks(batch) {
            let ids: Vec<MessageId> = some.iter().map(|sketch| draft(sketch).id).collect();
            prop_assert_eq!(table.remove(&ids), ids.len());
            check(&table);
        }
        prop_assert_eq!(table.articles(), stay.len());
        for sketch in stay {
            let article = table.article(&draft(sketch).id);
            prop_assert_eq!(article.map(KnownArticle::date), Some(sketch.date));
        }
        // Once all are gone, so is everything that was known of them.
        let ids: Vec<MessageId> = stay.iter().map(|sketch| draft(sketch).id).collect();
        table.remove(&ids);
        prop_assert!(table.containers.all().is_empty());
        prop_assert_eq!(table.threads.len(), 0);
    }

    #[test]
    fn articles_that_come_back_make_the_same_tree((articles, order) in in_some_order()) {
        let mut table = built(&articles);
        let before = (links(&table), versions(&table));
        for sketch in &order {
            table.remove([&draft(sketch).id]);
            table.insert(&draft(sketch).headline());
            check(&table);
        }
        prop_assert_eq!(before, (links(&table), versions(&table)));
    }
}
