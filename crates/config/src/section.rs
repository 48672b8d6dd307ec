//! A part of the configuration: its table, its struct, and how a whole is read from parts.

use crate::{Fields, Layers, Mistakes, Node, Resolved, Table};

/// A part of the configuration with its own struct.
pub trait Section: Sized {
    /// Its keys.
    const TABLE: &'static Table;

    /// Takes every key of the table once. Reading goes on after a mistake with the default in its place.
    fn read(fields: &mut Fields<'_>) -> Self;
}

/// An entry of a list of sections. Unlike a section it may have keys that must be written.
pub trait Item: Sized {
    /// Its keys, and the key of the list.
    const TABLE: &'static Table;

    /// Takes every key of the table once; `None` after a mistake in a key that has no default.
    fn read(fields: &mut Fields<'_>) -> Option<Self>;
}

/// What a reading brought besides the struct.
#[derive(Debug, Default)]
pub struct Report {
    /// Everything the operator has to change.
    pub mistakes: Mistakes,
    /// Each value with its source, in the order of the tables.
    pub resolved: Vec<Resolved>,
}

/// Reads a whole configuration: `file` with `layers` over it.
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

/// A section with nothing written: what `Default` of a section's struct is.
pub fn defaults<S: Section>() -> S {
    read(None, &Layers::new(S::TABLE)).0
}
