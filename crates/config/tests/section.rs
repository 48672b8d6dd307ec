//! Reader and table cannot drift, and keys can look at each other.

use std::time::Duration;

use weir_config::{
    Field, Fields, FileFormat, Layers, Mistakes, Report, Row, Section, Table, defaults, item, read,
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
        example: "",
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
        example: "",
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

item! {
    /// A book.
    struct Book in "books", example "{ title: t }" {
        needed {
            /// What it is called.
            title: String;
        }
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

section! {
    /// A hall.
    struct Hall in "" {}
    lists |fields| {
        /// The ways in.
        doors: Vec<Door> = fields.list();
    }
}

item! {
    /// A door.
    struct Door in "doors", example "{}" {
        needed {
            /// How wide.
            width: u32, check |width| if *width == 0 { Err("1 or more") } else { Ok(()) };
        }
        settled {
            /// How tall; null for twice the width.
            height: u32 = width * 2;
        }
        /// Whether it can be locked.
        lock: bool = "false";
        /// Whether it has a key.
        key: bool = "false";
    }
    then |fields| {
        if key && !lock {
            fields.refuse("key", "write lock too");
        }
    }
}

fn hall(text: &str) -> (Hall, Report) {
    let mut mistakes = Mistakes::default();
    let tree = read_text(text, FileFormat::Yaml, "hall.yaml", &mut mistakes);
    read(tree, &Layers::new(Hall::TABLE))
}

#[test]
fn a_settled_key_of_an_entry_follows_from_the_others_unless_it_is_written() {
    let (hall, report) = hall("doors: [{ width: 3 }, { width: 3, height: 5, lock: true }]");
    assert!(report.mistakes.is_empty());
    let door = |height, lock| Door {
        width: 3,
        height,
        lock,
        key: false,
    };
    assert_eq!(hall.doors, [door(6, false), door(5, true)]);
    let shown = report.resolved.iter().map(|row| (&*row.path, &*row.shown));
    let shown: Vec<(&str, &str)> = shown.collect();
    assert!(shown.contains(&("doors[0].height", "6")), "{shown:?}");
}

#[test]
fn all_mistakes_of_an_entry_are_reported_even_if_a_needed_key_is_missing() {
    let (hall, report) = hall("doors: [{ key: true }, { width: 0 }]");
    assert_eq!(hall.doors, []);
    let told = report.mistakes.or(()).expect_err("mistakes").to_string();
    let lines: Vec<&str> = told.lines().collect();
    let expected = [
        "hall.yaml:1:9: doors[0].width: this key is required; write a whole number from 0 to 4294967295",
        "hall.yaml:1:16: doors[0].key: write lock too",
        "hall.yaml:1:33: doors[1].width: write 1 or more, not 0",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn the_sample_has_the_documentation_of_a_list_and_of_the_keys_of_its_entries() {
    let sample = sample(Hall::TABLE);
    for line in [
        "# The ways in.\n",
        "# - width (required): How wide.\n",
        "# - height (default null): How tall; null for twice the width.\n",
        "# - lock (default false): Whether it can be locked.\n",
    ] {
        assert!(sample.contains(line), "{sample}");
    }
}
