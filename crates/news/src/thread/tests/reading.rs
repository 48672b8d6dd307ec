//! A thread as a page shows it.

use super::*;

#[test]
fn siblings_are_read_by_date_and_a_ghost_by_what_is_below_it() {
    let mut table = ThreadTable::new();
    for (line, date) in [
        ("a", 1),
        ("late < a", 9),
        ("x < a g", 5),
        ("y < a g", 2),
        ("early < a", 3),
    ] {
        table.insert(&Draft::new(line, date).headline());
    }
    assert_eq!(
        drawn(&table, "a"),
        ["a", ".[g 1]", "..y", "..x", ".early", ".late"]
    );
}

#[test]
fn of_one_second_the_ids_decide() {
    let mut table = ThreadTable::new();
    for line in ["c < a", "b < a", "a"] {
        table.insert(&Draft::new(line, 1).headline());
    }
    assert_eq!(drawn(&table, "a"), ["a", ".b", ".c"]);
}

#[test]
fn ghosts_in_a_row_are_one_row() {
    let table = table(&["x < a b c", "y < a b c d e", "z < a q"]);
    assert_eq!(
        drawn(&table, "x"),
        ["[a 1]", ".[c 2]", "..x", "..[e 2]", "...y", ".[q 1]", "..z"]
    );
    let tree = table.tree(&id("y")).expect("known");
    assert_eq!(tree.row(5).map(|row| row.parent), Some(Some(0)));
    assert_eq!(tree.row(4).and_then(|row| row.parent), Some(3));
    assert_eq!(
        (tree.position(&id("y")), tree.position(&id("a"))),
        (Some(4), Some(0))
    );
    assert_eq!(tree.position(&id("nobody")), None);
}

#[test]
fn thread_of_up_to_100_rows_is_one_page_and_longer_ones_have_pages_of_50() {
    let mut table = table(&["a"]);
    for reply in 1..100 {
        table.insert(&Draft::new(&format!("r{reply} < a"), reply).headline());
    }
    let tree = table.tree(&id("a")).expect("a");
    assert_eq!(
        (tree.pages(), tree.page(0).count(), tree.page(1).count()),
        (1, 100, 0)
    );
    assert_eq!(tree.page_of(99), 0);
    table.insert(&Draft::new("r100 < a", 100).headline());
    let tree = table.tree(&id("a")).expect("a");
    let sizes = [0, 1, 2, 3].map(|page| tree.page(page).count());
    assert_eq!((tree.pages(), sizes), (3, [50, 50, 1, 0]));
    assert_eq!([49, 50, 100].map(|row| tree.page_of(row)), [0, 1, 2]);
    assert_eq!(tree.page(usize::MAX).count(), 0);
    assert_eq!(tree.page(2).next().map(|row| row.id), Some("<r100@x>"));
}

#[test]
fn unknown_id_has_no_thread() {
    let table = table(&["a"]);
    assert!(table.thread(&id("b")).is_none());
    assert!(table.tree(&id("b")).is_none());
    assert!(ThreadTable::new().threads(0).next().is_none());
}
