//! Random histories against a simple model of what should be there.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    /// Lines of these articles; those with a number get the next ones.
    Keep {
        newsgroup: usize,
        articles: Vec<(u64, bool)>,
    },
    /// An article gets the next number, or loses its own.
    Renumber {
        newsgroup: usize,
        article: u64,
        give: bool,
    },
    Sweep,
    /// Throws away the text of lines, as a full file would.
    Forget,
    Reopen,
}

#[derive(Default)]
struct Simple {
    high: u64,
    numbers: BTreeMap<u64, u64>,
    lines: BTreeMap<u64, ()>,
}

fn step() -> impl Strategy<Value = Step> {
    let articles = prop::collection::vec((0..40_u64, any::<bool>()), 0..12);
    prop_oneof![
        5 => (0..3_usize, articles).prop_map(|(newsgroup, articles)| Step::Keep { newsgroup, articles }),
        3 => (0..3_usize, 0..40_u64, any::<bool>())
            .prop_map(|(newsgroup, article, give)| Step::Renumber { newsgroup, article, give }),
        1 => Just(Step::Sweep),
        1 => Just(Step::Forget),
        1 => Just(Step::Reopen),
    ]
}

fn take(simple: &mut Simple, step: &Step) -> Kept {
    let mut kept = Kept::default();
    match step {
        Step::Keep { articles, .. } => {
            for (article, number) in articles {
                if *number && !simple.numbers.contains_key(article) {
                    simple.high += 1;
                    simple.numbers.insert(*article, simple.high);
                }
                let number = simple.numbers.get(article).copied().filter(|_| *number);
                simple.lines.insert(*article, ());
                let line = line(&id(*article), number, *article as i64);
                kept.lines.extend(ReadLine::of(line));
            }
        }
        Step::Renumber {
            article,
            give: true,
            ..
        } if !simple.numbers.contains_key(article) => {
            simple.high += 1;
            simple.numbers.insert(*article, simple.high);
            kept.renumbered.push((id(*article), Some(simple.high)));
        }
        Step::Renumber {
            article,
            give: false,
            ..
        } => {
            simple.numbers.remove(article);
            kept.renumbered.push((id(*article), None));
        }
        _ => {}
    }
    kept.changes = changes(simple.high.max(1));
    kept
}

async fn check(file: &NewsFile, name: &Newsgroup, simple: &Simple) {
    for article in 0..40 {
        let number = simple.numbers.get(&article).copied();
        assert_eq!(
            file.number_of(name, &id(article)),
            number,
            "{name} {article}"
        );
    }
    for number in 1..=simple.high {
        let holder = simple.numbers.iter().find(|(_, other)| **other == number);
        assert_eq!(
            file.id_of(name, number),
            holder.map(|(article, _)| id(*article)),
            "{name} {number}"
        );
    }
    let mut wanted: Vec<(u64, u64)> = simple
        .lines
        .keys()
        .map(|article| (simple.numbers.get(article).copied().unwrap_or(0), *article))
        .collect();
    wanted.sort_by(|one, other| other.cmp(one));
    let wanted: Vec<KeptLine> = wanted
        .into_iter()
        .map(|(number, article)| {
            line(
                &id(article),
                Some(number).filter(|n| *n > 0),
                article as i64,
            )
        })
        .collect();
    assert_eq!(file.lines(name, 1000).await, wanted, "{name}");
    let half = wanted.len() / 2;
    assert_eq!(file.lines(name, half).await, wanted[..half], "{name}");
    let mut between: Vec<KeptLine> = wanted
        .into_iter()
        .filter(|line| line.number.is_some())
        .collect();
    between.reverse();
    assert_eq!(
        file.lines_between(name, 1..=u64::MAX, 1000).await,
        between,
        "{name}"
    );
}

async fn run(steps: Vec<Step>) {
    let directory = tempfile::tempdir().unwrap();
    let mut file = open(directory.path(), ROOMY);
    let names = [group("a.a"), group("a.b"), group("a.c")];
    let mut simple: [Simple; 3] = Default::default();
    for step in steps {
        match &step {
            Step::Keep { newsgroup, .. } | Step::Renumber { newsgroup, .. } => {
                let kept = take(&mut simple[*newsgroup], &step);
                file.keep(&names[*newsgroup], kept);
            }
            Step::Sweep => file.sweep(1).await,
            Step::Forget => {
                quiet(&file).await;
                // A limit of nothing, for lines only.
                let forget = |transaction: &Transaction<'_>| {
                    while sweep::drop_lines(transaction, u64::MAX)? {}
                    Ok(true)
                };
                assert!(file.swept(forget).await);
                simple.iter_mut().for_each(|simple| simple.lines.clear());
            }
            Step::Reopen => {
                file.close();
                file = open(directory.path(), ROOMY);
            }
        }
        for (name, simple) in names.iter().zip(&simple) {
            check(&file, name, simple).await;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_numbers_and_lines_are_as_they_should_be(steps in prop::collection::vec(step(), 1..25)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(run(steps));
    }
}
