//! Articles that go.

use super::*;

fn gone(table: &mut ThreadTable, names: &[&str]) -> usize {
    let ids: Vec<MessageId> = names.iter().map(|name| id(name)).collect();
    let removed = table.remove(&ids);
    check(table);
    removed
}

#[test]
fn article_with_replies_becomes_a_ghost_in_its_place() {
    let mut table = table(&["a", "b < a", "c < a b", "d < a"]);
    assert_eq!(gone(&mut table, &["b"]), 1);
    assert_eq!(drawn(&table, "a"), ["a", ".[b 1]", "..c", ".d"]);
    assert!(table.article(&id("b")).is_none());
    assert_eq!(
        table
            .threads(0)
            .map(KnownThread::articles)
            .collect::<Vec<_>>(),
        [3]
    );
}

#[test]
fn article_without_replies_is_forgotten_with_the_ghosts_above_it() {
    let mut table = table(&["a", "d < b c"]);
    gone(&mut table, &["d"]);
    assert_eq!(links(&table).into_keys().collect::<Vec<_>>(), ["a"]);
    gone(&mut table, &["a"]);
    assert_eq!((table.articles(), table.thread_count()), (0, 0));
    assert_eq!((table.containers.all().len(), table.threads.len()), (0, 0));
}

#[test]
fn ghost_stays_while_a_line_mentions_it() {
    let mut table = table(&["a", "b < a", "c < a b"]);
    gone(&mut table, &["a", "b"]);
    assert_eq!(drawn(&table, "c"), ["[b 2]", ".c"]);
    gone(&mut table, &["c"]);
    assert!(table.containers.all().is_empty());
}

#[test]
fn removed_article_may_come_back() {
    let mut table = table(&["a", "b < a", "c < a b"]);
    let before = table.thread(&id("a")).expect("a").version();
    gone(&mut table, &["b"]);
    assert_eq!(
        table.insert(&Draft::new("b < a", 1).headline()),
        Inserted::New
    );
    assert_eq!(drawn(&table, "a"), ["a", ".b", "..c"]);
    assert_eq!(table.thread(&id("a")).expect("a").version(), before);
}

#[test]
fn list_and_ends_follow_what_is_left() {
    let mut table = table(&["a", "x", "b < a", "c < a"]);
    assert_eq!(listed(&table), ["a", "x"]);
    gone(&mut table, &["c", "b"]);
    assert_eq!(listed(&table), ["x", "a"]);
    let thread = table.thread(&id("a")).expect("a");
    assert_eq!(
        (thread.last().id(), thread.first().id()),
        ("<a@x>", "<a@x>")
    );
}

#[test]
fn unknown_and_repeated_ids_remove_nothing_twice() {
    let mut table = table(&["a", "b < a g"]);
    assert_eq!(gone(&mut table, &["nobody", "g", "b", "b"]), 1);
    assert_eq!(drawn(&table, "a"), ["a"]);
}

#[test]
fn members_of_a_circle_can_go_in_any_order() {
    for order in [
        ["a", "b", "c"],
        ["c", "a", "b"],
        ["b", "c", "a"],
        ["c", "b", "a"],
    ] {
        let mut table = table(&["a < b", "b < c", "c < a"]);
        for name in order {
            gone(&mut table, &[name]);
        }
        assert!(table.containers.all().is_empty(), "{order:?}");
    }
}

#[test]
fn memory_of_removed_articles_is_used_again() {
    let mut table = ThreadTable::new();
    let mut most = 0;
    for round in 0..40 {
        let names: Vec<String> = (0..200)
            .map(|at| format!("round{round}number{at}"))
            .collect();
        for name in &names {
            table.insert(&Draft::new(&format!("{name} < round{round}root"), round).headline());
        }
        if round == 1 {
            most = table.bytes();
        }
        if round > 0 {
            let old: Vec<String> = (0..200)
                .map(|at| format!("round{}number{at}", round - 1))
                .collect();
            gone(
                &mut table,
                &old.iter().map(String::as_str).collect::<Vec<_>>(),
            );
        }
    }
    assert_eq!(table.articles(), 200);
    assert!(table.bytes() < 2 * most, "{} after {most}", table.bytes());
    let article = table.article(&id("round39number7")).expect("it is there");
    assert_eq!(article.subject(), "about round39number7");
    assert_eq!(
        article.references().map(name).collect::<Vec<_>>(),
        ["round39root"]
    );
}
