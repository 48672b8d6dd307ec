//! Reader and table cannot drift, and keys can look at each other.

use std::time::Duration;

use weir_config::{
    Field, Fields, Format, Item, Layers, Mistakes, Report, Row, Section, Table, defaults, read,
    read_text, section,
};

const AGE: Field<Duration> = Field::new("age", "3h", "How old.");
const SIZE: Field<u32> = Field::new("size", "5", "How large.");

struct Unread;

impl Section for Unread {
    const TABLE: &'static Table = &Table {
        key: "",
        doc: "",
        rows: &[AGE.row(), SIZE.row()],
    };

    fn read(fields: &mut Fields<'_>) -> Self {
        fields.get(&AGE);
        Self
    }
}

struct Unlisted;

impl Section for Unlisted {
    const TABLE: &'static Table = &Table {
        key: "",
        doc: "",
        rows: &[AGE.row()],
    };

    fn read(fields: &mut Fields<'_>) -> Self {
        fields.get(&AGE);
        fields.get(&SIZE);
        Self
    }
}

#[test]
#[should_panic(expected = "never read")]
fn a_listed_key_that_is_never_read_is_found() {
    defaults::<Unread>();
}

#[test]
#[should_panic(expected = "missing from the table")]
fn a_read_key_that_is_not_listed_is_found() {
    defaults::<Unlisted>();
}

section! {
    /// A shelf.
    struct Shelf in "" {
        /// Its width.
        width: u32 = "2";
        /// Its depth.
        depth: Option<u32> = "null";
    }
    lists |fields| {
        /// What stands on it.
        books: Vec<Book> = { let list = fields.list(); fields.distinct::<Book>("title"); list };
    }
    then |shelf, fields| {
        if shelf.depth.is_some_and(|depth| depth > shelf.width) {
            fields.refuse("depth", "make it no deeper than wide");
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Book {
    title: String,
}

const TITLE: Field<String> = Field::needed("title", "What it is called.");

impl Item for Book {
    const TABLE: &'static Table = &Table {
        key: "books",
        doc: "Books.",
        rows: &[TITLE.row()],
    };

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        Some(Self {
            title: fields.need(&TITLE)?,
        })
    }
}

fn shelf(text: &str) -> (Shelf, Report) {
    let mut mistakes = Mistakes::default();
    let tree = read_text(text, Format::Yaml, "shelf.yaml", &mut mistakes);
    assert!(mistakes.is_empty(), "{mistakes}");
    read(tree, &Layers::new(Shelf::TABLE))
}

fn told(text: &str) -> String {
    shelf(text)
        .1
        .mistakes
        .or(())
        .expect_err("a mistake")
        .to_string()
}

#[test]
fn keys_are_read_into_the_struct() {
    let (shelf, report) = shelf("width: 7\nbooks: [{ title: a }, { title: b }]\n");
    assert!(report.mistakes.is_empty());
    assert_eq!((shelf.width, shelf.depth), (7, None));
    assert_eq!(
        shelf.books,
        [
            Book {
                title: "a".to_owned()
            },
            Book {
                title: "b".to_owned()
            }
        ]
    );
}

#[test]
fn keys_are_compared() {
    assert_eq!(
        told("depth: 3\n"),
        "shelf.yaml:1:8: depth: make it no deeper than wide"
    );
    assert_eq!(
        told("books: [{ title: a }, { title: a }]\n"),
        "shelf.yaml:1:32: books[1].title: choose another title; a is taken by shelf.yaml:1:18"
    );
}

#[test]
fn a_key_without_default_is_missed() {
    assert!(
        told("books: [{}]\n").starts_with("shelf.yaml:1:9: books[0].title: write this key too")
    );
}

#[test]
fn the_macro_lists_what_it_reads() {
    let keys: Vec<&str> = Shelf::TABLE.rows.iter().map(Row::key).collect();
    assert_eq!(keys, ["width", "depth", "books"]);
}
