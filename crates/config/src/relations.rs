//! Checks across keys, and values that follow from other keys.

use std::collections::BTreeMap;

use crate::field::join;
use crate::{Fields, Item, Mistakes, Origin, Resolved, Setting};

impl Fields<'_> {
    /// Refuses entries of a list that have the same value for a key, such as two with one name.
    pub fn distinct<I: Item>(&mut self, key: &str) {
        let list = join(&self.path, I::TABLE.key) + "[";
        let end = format!("].{key}");
        let named = |row: &&Resolved| {
            row.path.starts_with(&list) && row.path.ends_with(&end) && row.shown != "null"
        };
        let rows = &self.report.resolved;
        let mut seen: BTreeMap<&str, &Resolved> = BTreeMap::new();
        for row in rows.iter().filter(named) {
            let Some(first) = seen.insert(&row.shown, row) else {
                continue;
            };
            let text = format!(
                "choose another {key}; {} is taken by {}",
                row.shown,
                place(rows, first)
            );
            self.report
                .mistakes
                .push(place(rows, row), row.path.clone(), text);
        }
    }

    /// Where a key that was not taken yet is written: in a layer over the file, else in the file.
    pub fn origin_of(&self, key: &str) -> Option<Origin> {
        let over = self.layers.value(&join(&self.path, key));
        over.or_else(|| self.written.get(key))
            .map(|node| node.origin.clone())
    }

    /// Where the value of a key that was taken came from.
    pub fn source(&mut self, key: &str) -> Option<Origin> {
        self.row(key).map(|row| row.origin.clone())
    }

    /// Refuses the value of a key that was taken, because of another key.
    pub fn refuse(&mut self, key: &str, text: impl Into<String>) {
        let written = self.source(key).filter(|origin| *origin != Origin::Default);
        let origin = written.unwrap_or_else(|| self.origin.clone());
        self.report
            .mistakes
            .push(origin, join(&self.path, key), text);
    }

    /// Shows `value` for a key that was taken, because other keys decide its default.
    pub fn settle<T: Setting>(&mut self, key: &str, value: &T) {
        let shown = value.show();
        if let Some(row) = self.row(key) {
            row.shown = shown;
        }
    }

    /// Prints a key that was taken as a comment only, because its effect is printed elsewhere.
    pub fn set_aside(&mut self, key: &str) {
        if let Some(row) = self.row(key) {
            row.aside = true;
        }
    }

    /// The collector, for mistakes in a file that this section names.
    pub fn mistakes(&mut self) -> &mut Mistakes {
        &mut self.report.mistakes
    }

    /// The row of a key that was taken, in this section or (given as a path) in one inside it; `None` after a mistake.
    fn row(&mut self, key: &str) -> Option<&mut Resolved> {
        let first = key.split_once('.').map_or(key, |(section, _)| section);
        debug_assert!(self.knows(first), "{key} is missing from the table");
        let path = join(&self.path, key);
        self.report
            .resolved
            .iter_mut()
            .rev()
            .find(|row| row.path == path)
    }
}

/// Where a row's value was written, or its entry if the value follows from other keys.
fn place(rows: &[Resolved], row: &Resolved) -> Origin {
    let entry = row.path.rfind('.').map_or("", |dot| &row.path[..=dot]);
    let written = rows
        .iter()
        .filter(|other| other.path.starts_with(entry) && other.origin != Origin::Default);
    match row.origin {
        Origin::Default => written
            .map(|other| other.origin.clone())
            .next()
            .unwrap_or(Origin::Default),
        _ => row.origin.clone(),
    }
}
