//! The list of threads, and when a version changes.

use super::*;

#[test]
fn threads_are_listed_by_their_last_article() {
    let mut table = table(&["a", "b", "c", "b2 < b"]);
    assert_eq!(listed(&table), ["b", "c", "a"]);
    table.insert(&Draft::new("a2 < a", 9).headline());
    assert_eq!(listed(&table), ["a", "b", "c"]);
    let skipped: Vec<&str> = table
        .threads(1)
        .take(1)
        .map(|thread| name(thread.root()))
        .collect();
    assert_eq!(skipped, ["b"]);
    assert_eq!(table.threads(3).count(), 0);
}

#[test]
fn thread_knows_its_ends_and_who_had_the_last_word() {
    let table = table(&["a", "c < a b", "b < a"]);
    let thread = table.threads(0).next().expect("one thread");
    assert_eq!((thread.articles(), thread.first().id()), (3, "<a@x>"));
    assert_eq!(
        (thread.last().date(), thread.last().author()),
        (2, "author of b")
    );
    assert_eq!(thread.opening().subject(), "about a");
}

#[test]
fn thread_without_its_root_has_the_subject_of_its_oldest_article() {
    let mut table = ThreadTable::new();
    for (line, date) in [("c < a", 7), ("b < a", 3)] {
        table.insert(&Draft::new(line, date).headline());
    }
    let thread = table.threads(0).next().expect("one thread");
    assert_eq!(
        (thread.root(), thread.opening().subject()),
        ("<a@x>", "about b")
    );
}

#[test]
fn threads_that_turn_out_to_be_one_are_listed_once() {
    let mut table = table(&["a", "c < b", "d < b"]);
    assert_eq!(listed(&table), ["b", "a"]);
    table.insert(&Draft::new("b < a", 9).headline());
    assert_eq!(listed(&table), ["a"]);
    check(&table);
}

#[test]
fn thread_that_turns_out_to_be_two_is_listed_twice() {
    let mut table = table(&["a", "d < a b"]);
    assert_eq!(listed(&table), ["a"]);
    table.insert(&Draft::new("b", 9).headline());
    assert_eq!(listed(&table), ["b", "a"]);
    assert_eq!(
        table
            .threads(0)
            .map(KnownThread::articles)
            .collect::<Vec<_>>(),
        [2, 1]
    );
    check(&table);
}

#[test]
fn version_changes_with_what_is_shown_and_with_nothing_else() {
    let version = |table: &ThreadTable, of: &str| table.thread(&id(of)).expect("known").version();
    let mut table = table(&["a", "b < a", "x"]);
    let mut versions = vec![version(&table, "a")];
    for line in ["d < a c", "c < b", "e < a f"] {
        table.insert(&Draft::new(line, 50).headline());
        versions.push(version(&table, "a"));
    }
    table.remove([&id("b")]);
    versions.push(version(&table, "a"));
    let count = versions.len();
    versions.sort_unstable();
    versions.dedup();
    assert_eq!(versions.len(), count);

    let before = version(&table, "a");
    table.insert(&Draft::new("y < x", 60).headline());
    table.insert(&Draft::new("d < z", 60).headline());
    table.set_number(&id("a"), Some(7));
    assert_eq!(version(&table, "a"), before);
}

#[test]
fn version_depends_on_every_text_and_date() {
    let version = |change: &dyn Fn(&mut Draft)| {
        let mut draft = Draft::new("a", 1);
        change(&mut draft);
        let mut table = ThreadTable::new();
        table.insert(&draft.headline());
        table.thread(&id("a")).expect("a").version()
    };
    let plain = version(&|_| {});
    assert_eq!(plain, version(&|_| {}));
    assert_ne!(plain, version(&|draft| draft.date = 2));
    assert_ne!(plain, version(&|draft| draft.author.push('!')));
    let moved = version(&|draft| {
        let last = draft.subject.pop().expect("a subject");
        draft.author.insert(0, last);
    });
    assert_ne!(plain, moved);
}
