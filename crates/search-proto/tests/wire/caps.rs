//! Caps that we write, and what several indexers can do together.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;
use weir_search_proto::{Caps, Category, Function, Term, category, write_indexers};

use crate::strategies::caps;

proptest! {
    #[test]
    fn what_is_written_is_read_again(caps in caps()) {
        prop_assert_eq!(Caps::read(caps.xml().as_bytes(), None), Ok(caps));
    }

    #[test]
    fn together_they_can_what_any_of_them_can(all in vec(caps(), 0..4)) {
        let union = Caps::union("all", &all);
        for caps in &all {
            for (function, terms) in &caps.functions {
                let mut words = terms.iter().filter(|term| !term.is_id());
                prop_assert!(words.all(|term| union.allows(*function, *term)));
            }
            prop_assert!(caps.text.is_subset(&union.text));
            prop_assert!(union.max_limit >= caps.max_limit);
        }
        for top in &union.categories {
            prop_assert!(category::is_standard(top.id));
            prop_assert!(top.subcategories.iter().all(|below| category::parent(below.id) == top.id));
        }
        prop_assert_eq!(Caps::read(union.xml().as_bytes(), None), Ok(union));
    }
}

fn sample() -> Caps {
    Caps {
        title: "A & B".to_owned(),
        functions: [
            (Function::Search, [].into()),
            (
                Function::Tv,
                [Term::TvdbId, Term::Season, Term::Episode].into(),
            ),
            (Function::Music, [Term::Artist].into()),
        ]
        .into(),
        text: [Function::Search, Function::Tv].into(),
        categories: vec![
            Category {
                subcategories: vec![Category::leaf(5040, "HD"), Category::leaf(5999, "Soap")],
                ..Category::leaf(5000, "TV")
            },
            Category::leaf(100_007, "Books/Comics"),
        ],
        tags: vec![("freeleech".to_owned(), "costs nothing".to_owned())],
        ..Caps::default()
    }
}

#[test]
fn caps_have_everything_that_clients_look_for() {
    let xml = sample().xml();
    for part in [
        "<server version=\"1.3\" title=\"A &amp; B\"/>",
        "<limits default=\"100\" max=\"100\"/>",
        "<registration available=\"no\" open=\"no\"/>",
        "<search available=\"yes\" supportedParams=\"q\"/>",
        "<tv-search available=\"yes\" supportedParams=\"q,season,ep,tvdbid\"/>",
        "<movie-search available=\"no\" supportedParams=\"q\"/>",
        // Some look for one of these, some for the other.
        "<music-search available=\"yes\" supportedParams=\"artist\"/>",
        "<audio-search available=\"yes\" supportedParams=\"artist\"/>",
        "<book-search available=\"no\" supportedParams=\"q\"/>",
        "<category id=\"5000\" name=\"TV\">",
        "<subcat id=\"5040\" name=\"HD\"/>",
        "<tag name=\"freeleech\" description=\"costs nothing\"/>",
    ] {
        assert!(xml.contains(part), "no {part} in {xml}");
    }
}

/// A program that may ask by an id does so without words, and one that does not know the id is left out.
#[test]
fn an_id_is_offered_where_all_know_it_who_have_such_releases() {
    let tv = |terms: &[Term], category| Caps {
        functions: [(Function::Tv, terms.iter().copied().collect())].into(),
        categories: vec![Category::leaf(category, "some")],
        ..Caps::default()
    };
    let both = tv(&[Term::TvdbId, Term::ImdbId, Term::Season], 5000);
    let one = tv(&[Term::TvdbId], 5040);
    let words = tv(&[Term::Season], 5030);
    let music = tv(&[], 3000);
    let offers = |all: &[&Caps]| {
        let union = Caps::union("all", all.iter().copied());
        let ids = [Term::TvdbId, Term::ImdbId];
        ids.map(|term| union.allows(Function::Tv, term))
    };
    assert_eq!(offers(&[&both]), [true, true]);
    assert_eq!(offers(&[&both, &one]), [true, false]);
    assert_eq!(offers(&[&both, &one, &words]), [false, false]);
    assert_eq!(offers(&[&both, &music]), [true, true]);
    let unknown = Caps {
        categories: Vec::new(),
        ..music
    };
    assert_eq!(offers(&[&both, &unknown]), [false, false]);
    assert!(Caps::union("all", [&both, &words]).allows(Function::Tv, Term::Season));
}

#[test]
fn union_has_standard_categories_only() {
    let union = Caps::union("all", [&sample(), &sample()]);
    let tree: Vec<(u32, Vec<u32>)> = union
        .categories
        .iter()
        .map(|top| {
            (
                top.id,
                top.subcategories.iter().map(|below| below.id).collect(),
            )
        })
        .collect();
    assert_eq!(tree, [(5000, vec![5040, 5050]), (7000, vec![7030])]);
    assert_eq!(union.categories[1].name, "Books");
    assert_eq!(union.tags, sample().tags, "each tag once");
    assert_eq!(
        Caps::union("none", []),
        Caps {
            title: "none".to_owned(),
            ..Caps::default()
        }
    );
}

#[test]
fn json_has_newznabs_shape() {
    let json: Value = serde_json::from_str(&sample().json()).expect("JSON");
    let tv = &json["searching"]["tv-search"]["@attributes"];
    assert_eq!(
        (&tv["available"], &tv["supportedParams"]),
        (&"yes".into(), &"q,season,ep,tvdbid".into())
    );
    assert_eq!(
        json["searching"]["book-search"]["@attributes"]["available"],
        "no"
    );
    assert_eq!(json["limits"]["@attributes"]["max"], "100");
    let tv = &json["categories"]["category"][0];
    assert_eq!(tv["@attributes"]["id"], "5000");
    assert_eq!(tv["subcat"][0]["@attributes"]["name"], "HD");
}

#[test]
fn list_of_indexers_has_their_caps_inside() {
    let caps = sample();
    let xml = write_indexers(&[
        ("one", "One & only", "private", true, &caps),
        ("two", "Two", "public", false, &Caps::default()),
    ]);
    for part in [
        "<indexers>",
        "<indexer id=\"one\" configured=\"true\">",
        "<title>One &amp; only</title>",
        "<type>private</type>",
        "<indexer id=\"two\" configured=\"false\">",
        "<tv-search available=\"yes\" supportedParams=\"q,season,ep,tvdbid\"/>",
    ] {
        assert!(xml.contains(part), "no {part} in {xml}");
    }
    assert_eq!(xml.matches("<caps>").count(), 2);
    assert_eq!(xml.matches("<?xml").count(), 1);
}

#[test]
fn limits_that_cannot_be_are_put_right() {
    for (limits, expected) in [
        ("", (100, 100)),
        ("<limits/>", (100, 100)),
        ("<limits default='50' max='200'/>", (50, 200)),
        ("<limits default='500' max='200'/>", (200, 200)),
        ("<limits max='50'/>", (50, 50)),
        ("<limits default='75'/>", (75, 75)),
        ("<limits default='0' max='0'/>", (100, 100)),
        ("<limits default='many' max='-1'/>", (100, 100)),
    ] {
        let caps = format!("<caps>{limits}<searching/></caps>");
        let caps = Caps::read(caps.as_bytes(), None).expect(limits);
        assert_eq!((caps.default_limit, caps.max_limit), expected, "{limits}");
    }
}

#[test]
fn only_a_yes_is_available() {
    let searching = "<search available='YES' supportedParams=' Q , season '/>\
        <tv-search available='true' supportedParams='season'/>\
        <movie-search available='no' supportedParams='q'/><book-search supportedParams='q'/>\
        <unknown-search available='yes' supportedParams='q'/>";
    let caps = format!("<caps><searching>{searching}</searching></caps>");
    let caps = Caps::read(caps.as_bytes(), None).expect("caps");
    assert_eq!(
        caps.functions.keys().copied().collect::<Vec<_>>(),
        [Function::Search, Function::Tv]
    );
    assert_eq!(caps.text, [Function::Search].into());
    assert!(caps.allows(Function::Search, Term::Season));
}
