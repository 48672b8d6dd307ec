//! Headers that lie, and threads of a size that nobody reads.

use super::*;

#[test]
fn self_reference_is_no_reference() {
    let table = table(&["a < a", "b < a b", "c < c a"]);
    assert_eq!(drawn(&table, "a"), ["a", ".b", ".c"]);
    let mut draft = Draft::new("d", 9);
    draft.in_reply_to = Some(id("d"));
    let mut table = ThreadTable::new();
    table.insert(&draft.headline());
    check(&table);
    assert_eq!(drawn(&table, "d"), ["d"]);
}

#[test]
fn repeated_id_counts_where_it_is_named_first() {
    let table = table(&["d < a b b a c b"]);
    assert_eq!(drawn(&table, "d"), ["[c 3]", ".d"]);
    let references: Vec<&str> = table
        .article(&id("d"))
        .expect("d")
        .references()
        .map(name)
        .collect();
    assert_eq!(references, ["a", "b", "c"]);
}

#[test]
fn two_that_answer_each_other_are_one_thread() {
    for order in [["a < b", "b < a"], ["b < a", "a < b"]] {
        assert_eq!(drawn(&table(&order), "a"), ["a", ".b"], "{order:?}");
    }
}

#[test]
fn circle_through_the_root_is_opened_at_the_same_place_in_any_order() {
    let lines = ["b < c", "c < d", "d < b", "e < d"];
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]] {
        let drawn = drawn(&table(&order.map(|at| lines[at])), "e");
        let names: Vec<&str> = drawn
            .iter()
            .map(|row| row.trim_start_matches('.'))
            .collect();
        assert_eq!((drawn[0].as_str(), drawn.len()), ("b", 4), "{order:?}");
        assert!(names.contains(&"e"));
    }
}

#[test]
fn circle_is_opened_where_it_rests_on_hearsay() {
    // Article a answers b; only c says that b answers a.
    for order in [["a < b", "c < a b"], ["c < a b", "a < b"]] {
        let table = table(&order);
        assert_eq!(
            table.thread(&id("a")).expect("a").root(),
            "<b@x>",
            "{order:?}"
        );
        assert_eq!(drawn(&table, "a").len(), 3);
    }
}

#[test]
fn circle_goes_when_a_member_says_otherwise() {
    // Others say that a answers b, b answers c and c answers a.
    let mut table = table(&["x < b a", "y < c b", "z < a c"]);
    assert_eq!(listed(&table), ["a"]);
    table.insert(&Draft::new("c < r", 9).headline());
    check(&table);
    let expected = ["[r 1]", ".c", "..[b 1]", "...[a 1]", "....x", "...y", "..z"];
    assert_eq!(drawn(&table, "x"), expected);
}

#[test]
fn chain_of_3_000_is_walked_without_recursion_and_quickly() {
    for backwards in [false, true] {
        let mut table = ThreadTable::new();
        for step in 0..3_000 {
            let at = if backwards { 2_999 - step } else { step };
            let parents = (at.max(20) - 20..at)
                .map(|at| format!("n{at}"))
                .collect::<Vec<_>>();
            let draft = Draft::new(&format!("n{at} < {}", parents.join(" ")), at.into());
            assert_eq!(table.insert(&draft.headline()), Inserted::New);
        }
        let tree = table.tree(&id("n1500")).expect("it is there");
        assert_eq!((tree.len(), tree.pages()), (3_000, 60));
        let last = tree.row(2_999).expect("the last row");
        assert_eq!(
            (last.depth, last.parent, last.id),
            (2_999, Some(2_998), "<n2999@x>")
        );
    }
}

#[test]
fn article_with_10_000_replies_has_them_all_by_date() {
    let mut table = table(&["root"]);
    for reply in 0..10_000 {
        table.insert(&Draft::new(&format!("r{reply} < root"), 20_000 - reply).headline());
    }
    let tree = table.tree(&id("root")).expect("it is there");
    assert_eq!((tree.len(), tree.pages()), (10_001, 201));
    assert_eq!(tree.page(0).nth(1).map(|row| row.id), Some("<r9999@x>"));
    assert_eq!(tree.page(200).last().map(|row| row.id), Some("<r0@x>"));
    let gone: Vec<MessageId> = (0..10_000).map(|reply| id(&format!("r{reply}"))).collect();
    assert_eq!(table.remove(&gone), 10_000);
    assert_eq!(drawn(&table, "root"), ["root"]);
    check(&table);
}

#[test]
fn of_1_000_references_the_first_and_the_nearest_are_kept() {
    let names: Vec<String> = (0..1_000).map(|at| format!("n{at}")).collect();
    let table = table(&[&format!("a < {}", names.join(" "))]);
    let article = table.article(&id("a")).expect("it is there");
    let references: Vec<&str> = article.references().map(name).collect();
    assert_eq!(references.len(), MAX_REFERENCES);
    assert_eq!((references[0], references[1]), ("n0", "n873"));
    assert_eq!(references.last(), Some(&"n999"));
    assert_eq!(table.containers.all().len(), MAX_REFERENCES + 1);
    assert_eq!(drawn(&table, "a"), ["[n999 128]", ".a"]);
}

#[test]
fn id_of_250_octets_is_held_and_a_longer_one_cannot_be_made() {
    let longest = "x".repeat(246);
    let table = table(&[&longest, &format!("b < {longest}")]);
    assert_eq!(
        table.thread(&id("b")).expect("b").root().len(),
        MessageId::MAX
    );
    assert!(MessageId::from_bare(&"x".repeat(249)).is_err());
}

#[test]
fn long_texts_are_cut_at_a_character() {
    let mut draft = Draft::new("a", 1);
    draft.subject = "ü".repeat(5_000);
    draft.author = format!("x{}", "ü".repeat(5_000));
    let mut table = ThreadTable::new();
    table.insert(&draft.headline());
    let article = table.article(&draft.id).expect("it is there");
    assert_eq!(article.subject(), "ü".repeat(499));
    assert_eq!(article.author(), format!("x{}", "ü".repeat(498)));
}
