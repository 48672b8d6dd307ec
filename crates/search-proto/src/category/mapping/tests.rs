use super::*;

fn category(id: u32, name: &str, subcategories: &[(u32, &str)]) -> Category {
    let below = subcategories
        .iter()
        .map(|(id, name)| category(*id, name, &[]));
    Category {
        id,
        name: name.to_owned(),
        subcategories: below.collect(),
    }
}

fn mapping(categories: Vec<Category>) -> Mapping {
    let caps = Caps {
        categories,
        ..Caps::default()
    };
    Mapping::of(&caps)
}

/// A Newznab site with standard numbers, its own below them, and other ids for some names.
fn usual() -> Mapping {
    mapping(vec![
        category(2_000, "Movies", &[(2_040, "HD"), (2_999, "Trailers")]),
        category(
            5_000,
            "TV",
            &[
                (5_030, "SD"),
                (5_040, "HD"),
                (5_080, "WEB-DL"),
                (5_999, "Soap"),
            ],
        ),
        category(23, "Knitting", &[(24, "Wool")]),
        category(100_123, "TV/Anime", &[]),
        category(100_124, "Weird", &[]),
    ])
}

#[test]
fn names_decide_before_numbers() {
    let mapping = usual();
    assert_eq!(mapping.ours(5_000), [5_000]);
    assert_eq!(mapping.ours(5_040), [5_040]);
    // Their WEB-DL is our 5010; our 5080 is something else.
    assert_eq!(mapping.ours(5_080), [5_010]);
}

#[test]
fn unknown_children_are_their_parents_other() {
    let mapping = usual();
    assert_eq!(mapping.ours(5_999), [5_050, 105_999]);
    assert_eq!(mapping.ours(2_999), [2_020, 102_999]);
    assert_eq!(mapping.ours(23), [8_000, 100_023]);
    assert_eq!(mapping.ours(24), [8_000, 100_024]);
}

#[test]
fn ids_that_caps_do_not_list_are_taken_by_number() {
    let mapping = usual();
    assert_eq!(mapping.ours(5_070), [5_070]);
    assert_eq!(mapping.ours(5_777), [5_050, 105_777]);
    assert_eq!(mapping.ours(4_777), [4_000, 104_777]);
    assert_eq!(mapping.ours(9_500), [8_000, 109_500]);
    assert_eq!(mapping.ours(u32::MAX), [u32::MAX]);
}

#[test]
fn a_sites_own_ids_stay_and_get_a_standard_one_by_name() {
    let mapping = usual();
    assert_eq!(mapping.ours(100_123), [5_070, 100_123]);
    assert_eq!(mapping.ours(100_124), [100_124]);
}

#[test]
fn a_parent_is_asked_for_by_its_id_with_the_sites_own_below_it() {
    let mapping = usual();
    assert_eq!(mapping.theirs(&[5_000]), [5_000, 100_123]);
    assert_eq!(mapping.theirs(&[2_000]), [2_000]);
    assert_eq!(mapping.theirs(&[8_000]), [23]);
    assert_eq!(mapping.theirs(&[0]), [23]);
    let no_parent = [
        category(100_001, "TV/HD", &[]),
        category(100_002, "TV/SD", &[]),
    ];
    assert_eq!(
        self::mapping(no_parent.into()).theirs(&[5_000]),
        [100_001, 100_002]
    );
}

#[test]
fn a_child_is_asked_for_by_all_ids_that_are_it() {
    let mapping = usual();
    assert_eq!(mapping.theirs(&[5_040, 5_030, 5_040]), [5_030, 5_040]);
    assert_eq!(mapping.theirs(&[5_010]), [5_080]);
    assert_eq!(mapping.theirs(&[5_050]), [5_999]);
    assert_eq!(mapping.theirs(&[5_070]), [100_123]);
    assert_eq!(mapping.theirs(&[5_060]), [0; 0]);
    assert_eq!(
        mapping.theirs(&[100_124, 105_999, 100_777]),
        [5_999, 100_124]
    );
}

#[test]
fn an_indexer_with_parents_alone_is_asked_for_those() {
    let mapping = mapping(vec![
        category(5_000, "TV", &[]),
        category(2_000, "Movies", &[]),
    ]);
    assert_eq!(mapping.theirs(&[5_030, 5_040]), [5_000]);
    assert_eq!(mapping.theirs(&[3_000]), [0; 0]);
}

#[test]
fn nothing_asked_is_nothing_to_ask() {
    assert_eq!(usual().theirs(&[]), [0; 0]);
}

#[test]
fn an_indexer_without_categories_is_asked_as_it_is() {
    let mapping = Mapping::default();
    assert_eq!(mapping.theirs(&[5_000, 2_040]), [5_000, 2_040]);
    assert_eq!(mapping.ours(5_040), [5_040]);
}

#[test]
fn a_parent_asked_for_includes_its_children() {
    for (asked, release, wanted) in [
        (&[5_000][..], &[5_040][..], true),
        (&[5_040], &[5_040], true),
        (&[5_040], &[5_030], false),
        (&[2_000], &[5_040], false),
        (&[], &[5_040], true),
        (&[5_000], &[], false),
        (&[5_000, 2_000], &[2_045, 100_001], true),
        (&[100_001], &[2_045, 100_001], true),
        (&[8_000], &[10], true),
        (&[0], &[8_020], true),
        // In the parent alone: it may be any of the children.
        (&[5_040], &[5_000], true),
        (&[5_040], &[5_000, 5_030], false),
        (&[2_040], &[5_000], false),
    ] {
        assert_eq!(
            Mapping::wants(asked, release),
            wanted,
            "{asked:?} {release:?}"
        );
    }
}
