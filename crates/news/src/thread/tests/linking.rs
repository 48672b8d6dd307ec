//! Who becomes whose child.

use super::*;

#[test]
fn replies_go_below_what_they_answer() {
    let table = table(&["a", "b < a", "c < a b", "d < a"]);
    assert_eq!(drawn(&table, "a"), ["a", ".b", "..c", ".d"]);
    assert_eq!(listed(&table), ["a"]);
}

#[test]
fn same_subject_makes_no_thread() {
    let mut table = ThreadTable::new();
    for name in ["a", "b"] {
        let mut draft = Draft::new(name, 1);
        draft.subject = "test".into();
        table.insert(&draft.headline());
    }
    assert_eq!(table.thread_count(), 2);
}

#[test]
fn in_reply_to_counts_only_without_references() {
    let mut table = table(&["a", "b"]);
    let mut reply = Draft::new("c", 5);
    reply.in_reply_to = Some(id("a"));
    table.insert(&reply.headline());
    assert_eq!(drawn(&table, "a"), ["a", ".c"]);

    let mut both = Draft::new("d < b", 6);
    both.in_reply_to = Some(id("a"));
    table.insert(&both.headline());
    assert_eq!(drawn(&table, "b"), ["b", ".d"]);
    check(&table);
}

#[test]
fn missing_parents_keep_their_place() {
    let table = table(&["a", "c < a b", "d < a b", "e < a b c"]);
    assert_eq!(drawn(&table, "a"), ["a", ".[b 1]", "..c", "...e", "..d"]);
    let thread = table.thread(&id("b")).expect("ghosts find their thread");
    assert_eq!((thread.root(), thread.articles()), ("<a@x>", 4));
}

#[test]
fn article_that_comes_later_fills_its_ghost() {
    let mut table = table(&["c < a b"]);
    assert_eq!(drawn(&table, "c"), ["[b 2]", ".c"]);
    table.insert(&Draft::new("b < a", 5).headline());
    assert_eq!(drawn(&table, "c"), ["[a 1]", ".b", "..c"]);
    table.insert(&Draft::new("a", 6).headline());
    assert_eq!(drawn(&table, "c"), ["a", ".b", "..c"]);
    assert_eq!(listed(&table), ["a"]);
    check(&table);
}

#[test]
fn siblings_under_a_missing_root_stay_one_thread() {
    let table = table(&["b < a", "c < a"]);
    assert_eq!(drawn(&table, "b"), ["[a 1]", ".b", ".c"]);
    assert_eq!(listed(&table), ["a"]);
}

#[test]
fn ghost_that_nothing_below_it_needs_is_not_shown() {
    // Ghost g is only mentioned: its child b says itself that it answers a.
    let table = table(&["a", "b < a", "c < g b"]);
    assert_eq!(drawn(&table, "a"), ["a", ".b", "..c"]);
    assert_eq!(table.thread_count(), 1);
    assert!(table.thread(&id("g")).is_none() && table.tree(&id("g")).is_none());
}

#[test]
fn what_an_article_says_of_itself_beats_what_others_say() {
    let table = table(&["c < a b", "b < z", "d < a b"]);
    assert_eq!(drawn(&table, "b"), ["[z 1]", ".b", "..c", "..d"]);
}

#[test]
fn nobody_can_move_an_article_that_starts_a_thread() {
    let mut table = table(&["victim", "reply < evil victim"]);
    assert_eq!(drawn(&table, "victim"), ["victim", ".reply"]);
    table.insert(&Draft::new("evil", 9).headline());
    assert_eq!(drawn(&table, "evil"), ["evil"]);
}

#[test]
fn claim_that_knows_more_ancestors_wins_over_a_trimmed_one() {
    // The header of x left out b, c and d, which makes e look like a reply to a.
    for order in [["x < a e", "y < a b c d e"], ["y < a b c d e", "x < a e"]] {
        let table = table(&order);
        let links = links(&table);
        assert_eq!(links["e"].0.as_deref(), Some("d"), "{order:?}");
        assert_eq!(links["x"].0.as_deref(), Some("e"), "{order:?}");
    }
}

#[test]
fn moves_within_a_thread_change_nothing_else() {
    // A trimmed header puts d below a until d comes and says that it answers c.
    let mut table = table(&["a", "b < a", "c < a b", "e < a d"]);
    assert_eq!(drawn(&table, "a"), ["a", ".b", "..c", ".[d 1]", "..e"]);
    table.insert(&Draft::new("d < a b c", 7).headline());
    assert_eq!(drawn(&table, "a"), ["a", ".b", "..c", "...d", "....e"]);
    check(&table);
}

#[test]
fn first_of_two_articles_with_one_id_stays() {
    let mut table = table(&["a", "b < a"]);
    let mut other = Draft::new("b < z", 99);
    other.subject = "another content".into();
    let before = (
        table.bytes(),
        table.thread(&id("b")).map(KnownThread::version),
    );
    assert_eq!(table.insert(&other.headline()), Inserted::Known);
    let kept = table.article(&id("b")).expect("still there");
    assert_eq!((kept.subject(), kept.date()), ("about b", 1));
    assert_eq!((table.articles(), table.thread_count()), (2, 1));
    assert_eq!(
        before,
        (
            table.bytes(),
            table.thread(&id("b")).map(KnownThread::version)
        )
    );
    assert!(table.thread(&id("z")).is_none());
    check(&table);
}

#[test]
fn articles_are_held_as_they_came() {
    let mut table = ThreadTable::new();
    let mut draft = Draft::new("c < a b", 1_700_000_000);
    draft.subject = "Grüße aus der Mühle".into();
    table.insert(&Headline {
        number: Some(4_711),
        bytes: u64::MAX,
        ..draft.headline()
    });
    let article = table.article(&draft.id).expect("it was inserted");
    assert_eq!(article.id(), "<c@x>");
    assert_eq!(article.number(), Some(4_711));
    assert_eq!(
        (article.subject(), article.author()),
        ("Grüße aus der Mühle", "author of c")
    );
    assert_eq!(
        (article.date(), article.bytes(), article.lines()),
        (1_700_000_000, u32::MAX, 20)
    );
    let references: Vec<&str> = article.references().collect();
    assert_eq!(references, ["<a@x>", "<b@x>"]);
    table.set_number(&draft.id, None);
    assert_eq!(
        table.article(&draft.id).and_then(KnownArticle::number),
        None
    );
    table.set_number(&id("a"), Some(1));
    assert!(table.article(&id("a")).is_none());
}
