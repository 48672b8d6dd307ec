//! What keys say about each other: refusals across keys, and values that follow from other keys.

use crate::field::join;
use crate::{Field, Fields, Item, Mistakes, Origin, Resolved, Setting};

impl Fields<'_> {
    /// Refuses entries of a list that show the same value for a key, such as two of one name.
    pub fn distinct<I: Item, T: Setting>(&mut self, field: &Field<T>) {
        let list = join(&self.path, I::TABLE.key) + "[";
        let end = format!("].{}", field.key());
        let mut seen: Vec<&Resolved> = Vec::new();
        for row in &self.report.resolved {
            if !row.path.starts_with(&list) || !row.path.ends_with(&end) {
                continue;
            }
            match seen.iter().find(|first| first.shown == row.shown) {
                Some(first) => {
                    let text = format!(
                        "choose another one; {} at {} is taken",
                        row.shown, first.origin
                    );
                    self.report
                        .mistakes
                        .push(row.origin.clone(), row.path.clone(), text);
                }
                None => seen.push(row),
            }
        }
    }

    /// Whether somebody wrote this key. Ask before taking it.
    pub fn is_written(&self, key: &str) -> bool {
        self.origin_of(key).is_some()
    }

    /// Where a key that was not taken yet is written: over the file, else in the file.
    pub fn origin_of(&self, key: &str) -> Option<Origin> {
        let over = self.layers.value(&join(&self.path, key));
        over.or_else(|| self.written.get(key))
            .map(|node| node.origin.clone())
    }

    /// Refuses the value of a key that was taken, because of what another key says.
    pub fn refuse<T: Setting>(&mut self, field: &Field<T>, text: impl Into<String>) {
        let path = join(&self.path, field.key());
        let origin = self.row(&path).map(|row| row.origin.clone());
        let origin = origin.unwrap_or_else(|| self.origin.clone());
        self.report.mistakes.push(origin, path, text);
    }

    /// Shows `value` for a key that was taken, when other keys decide what its default is.
    pub fn settle<T: Setting, U: Setting>(&mut self, field: &Field<T>, value: &U) {
        let path = join(&self.path, field.key());
        if let Some(row) = self.row(&path) {
            row.shown = value.show();
        }
    }

    /// Keeps a key that was taken out of the printed configuration, because what it led to is printed.
    pub fn set_aside<T: Setting>(&mut self, field: &Field<T>) {
        let path = join(&self.path, field.key());
        if let Some(row) = self.row(&path) {
            row.aside = true;
        }
    }

    /// The collector, for mistakes in a file that this section names.
    pub fn mistakes(&mut self) -> &mut Mistakes {
        &mut self.report.mistakes
    }
}
