//! Reader and table cannot drift, and keys can look at each other.

use std::time::Duration;

use weir_config::{
    Field, Fields, FileFormat, Item, Layers, Mistakes, Report, Row, Section, Table, defaults, read,
    read_text, sample, section, to_table,
};

const AGE: Field<Duration> = Field::new("age", "3h", "How old.");
const SIZE: Field<u32> = Field::new("size", "5", "How large.");

struct Unread;

impl Section for Unread {
    const TABLE: &'static Table = &Table {
        key: "",
        doc: "",
        at_start: false,
        rows: &[AGE.row(), SIZE.row()],
        gone: &[],
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
        at_start: false,
        rows: &[AGE.row()],
        gone: &[],
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
    gone {
        dept: "remove this key: a shelf is as deep as its books";
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
        at_start: false,
        rows: &[TITLE.row()],
        gone: &[],
    };

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        Some(Self {
            title: fields.need(&TITLE)?,
        })
    }
}

fn shelf(text: &str) -> (Shelf, Report) {
    let mut mistakes = Mistakes::default();
    let tree = read_text(text, FileFormat::Yaml, "shelf.yaml", &mut mistakes);
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
fn a_key_that_is_gone_says_what_to_do_rather_than_what_looks_alike() {
    assert_eq!(
        told("dept: 3\n"),
        "shelf.yaml:1:1: dept: remove this key: a shelf is as deep as its books"
    );
}

#[test]
fn a_key_without_default_is_missed() {
    assert!(
        told("books: [{}]\n")
            .starts_with("shelf.yaml:1:9: books[0].title: this key is required; write")
    );
}

#[test]
fn the_macro_lists_what_it_reads() {
    let keys: Vec<&str> = Shelf::TABLE.rows.iter().map(Row::key).collect();
    assert_eq!(keys, ["width", "depth", "books"]);
}

section! {
    /// A library.
    struct Library in "" {
        /// Its name.
        name: String = "one";
        /// Its door.
        door: u32 = "1", at start;
    }
    sections {
        /// Its cellar.
        cellar: Cellar;
    }
    lists |fields| {
        /// Its books.
        books: Vec<Book> = fields.list();
    }
}

section! {
    /// A cellar.
    struct Cellar in "cellar", at start {
        /// How deep.
        depth: u32 = "3";
    }
    sections {
        /// A box in it.
        chest: Chest;
    }
}

section! {
    /// A box.
    struct Chest in "chest" {
        /// How heavy.
        weight: u32 = "3";
    }
}

#[test]
fn a_value_knows_whether_it_or_what_is_around_it_is_read_at_start() {
    let mut mistakes = Mistakes::default();
    let text = "books: [{ title: a }]";
    let tree = read_text(text, FileFormat::Yaml, "library.yaml", &mut mistakes);
    let (_, report) = read::<Library>(tree, &Layers::new(Library::TABLE));
    let rows = report.resolved.iter();
    let rows: Vec<(&str, bool)> = rows.map(|row| (&*row.path, row.at_start)).collect();
    assert_eq!(
        rows,
        [
            ("name", false),
            ("door", true),
            ("cellar.depth", true),
            ("cellar.chest.weight", true),
            ("books[0].title", false),
        ]
    );
}

#[test]
fn sample_and_explanation_say_what_is_read_at_start() {
    let sample = sample(Library::TABLE);
    for line in [
        "# Its door. Read at start.\n",
        "# A cellar. All of it is read at start.\n",
        "  # How deep.\n",
        "# Its name.\n",
    ] {
        assert!(sample.contains(line), "{sample}");
    }
    let (_, report) = read::<Library>(None, &Layers::new(Library::TABLE));
    let table = to_table(&report.resolved);
    let says = |key: &str| {
        let line = table.lines().find(|line| line.starts_with(key));
        line.is_some_and(|line| line.ends_with("default (read at start)"))
    };
    assert!(
        says("door") && says("cellar.depth") && !says("name"),
        "{table}"
    );
}
