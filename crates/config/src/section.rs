//! A section of the configuration: its table of keys, its struct, and how a whole configuration is read.

use crate::{Fields, Layers, Mistakes, Node, Resolved, Table};

/// A section of the configuration with its own struct, usually made by [`section!`](macro@crate::section).
pub trait Section: Sized {
    /// Its keys, in the order of the sample file.
    const TABLE: &'static Table;

    /// Takes every key of the table exactly once. After a mistake, reading continues with the default.
    fn read(fields: &mut Fields<'_>) -> Self;
}

/// An entry in a list of sections. Unlike a section, it may have required keys.
pub trait Item: Sized {
    /// Its keys; `key` is the key of the list.
    const TABLE: &'static Table;

    /// Takes every key of the table exactly once; `None` after a mistake in a required key.
    fn read(fields: &mut Fields<'_>) -> Option<Self>;
}

/// What [`read()`] returns besides the struct.
#[derive(Debug, Default)]
pub struct Report {
    /// Everything the operator has to fix.
    pub mistakes: Mistakes,
    /// Each value with its source, in the order of the tables.
    pub resolved: Vec<Resolved>,
}

/// Reads a whole configuration: `file`, overridden by `layers`.
pub fn read<S: Section>(file: Option<Node>, layers: &Layers) -> (S, Report) {
    let mut report = Report::default();
    let value = {
        let mut fields = Fields::open(S::TABLE, String::new(), file, layers, &mut report);
        let value = S::read(&mut fields);
        fields.close();
        value
    };
    (value, report)
}

/// Reads one entry of a list by itself, as it is read within the list. Paths in the report begin with its keys.
pub fn read_entry<I: Item>(entry: Node) -> (Option<I>, Report) {
    let mut report = Report::default();
    let layers = Layers::new(I::TABLE);
    let mut fields = Fields::open(I::TABLE, String::new(), Some(entry), &layers, &mut report);
    let value = I::read(&mut fields);
    fields.close();
    (value, report)
}

/// A section with every key at its default; `Default` of its struct calls this.
pub fn defaults<S: Section>() -> S {
    read(None, &Layers::new(S::TABLE)).0
}
