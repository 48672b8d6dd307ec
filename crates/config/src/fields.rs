//! A section being read, key by key, each by the [`Field`] that defines it.

use std::collections::BTreeMap;

use crate::field::{About, join};
use crate::{
    Field, Item, Layers, Node, Origin, Report, Resolved, Row, Section, Setting, Table, TreeEntry,
    Value, Wrong, unknown, yaml,
};

/// A section being read. Each key of its table must be taken once.
pub struct Fields<'a> {
    table: &'static Table,
    pub(crate) path: String,
    pub(crate) origin: Origin,
    pub(crate) written: BTreeMap<String, Node>,
    taken: Vec<&'static str>,
    /// Whether this is a map at all; if not, that is the mistake, and missing keys are not reported.
    readable: bool,
    /// Whether the section or list around these keys is read only at start.
    at_start: bool,
    pub(crate) layers: &'a Layers,
    pub(crate) report: &'a mut Report,
}

impl<'a> Fields<'a> {
    pub(crate) fn open(
        table: &'static Table,
        path: String,
        node: Option<Node>,
        layers: &'a Layers,
        report: &'a mut Report,
    ) -> Self {
        let origin = node
            .as_ref()
            .map_or(Origin::Default, |node| node.origin.clone());
        let mut fields = Self {
            table,
            path,
            origin,
            written: BTreeMap::new(),
            taken: Vec::new(),
            readable: true,
            at_start: table.at_start,
            layers,
            report,
        };
        match node.map(|node| node.value) {
            None | Some(Value::Null) => {}
            Some(Value::Map(entries)) => entries.into_iter().for_each(|entry| fields.accept(entry)),
            Some(_) => {
                let (origin, path) = (fields.origin.clone(), fields.path.clone());
                let text = format!("write keys and values; {}", unknown::known(table));
                fields.readable = false;
                fields.report.mistakes.push(origin, path, text);
            }
        }
        fields
    }

    fn accept(&mut self, entry: TreeEntry) {
        if self.knows(&entry.key) {
            self.written.insert(entry.key, entry.node);
            return;
        }
        let text = unknown::explain(&entry.key, self.table, self.layers.root());
        self.report.mistakes.push(
            entry.origin,
            join(&self.path, &unknown::shown(&entry.key)),
            text,
        );
    }

    fn known(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.table.rows.iter().map(Row::key)
    }

    /// Takes a key that has a default.
    pub fn get<T: Setting>(&mut self, field: &Field<T>) -> T {
        let written = self.take(field.about());
        if let Some(value) = written.as_ref().and_then(|node| self.resolve(field, node)) {
            return value;
        }
        let default = field.about().default.and_then(yaml::parse_default);
        let default = default.expect("a key read by `get` has a default in YAML");
        match written {
            None => self
                .resolve(field, &default)
                .expect("the default of a key is good"),
            Some(_) => T::read(&default).expect("the default of a key has the key's type"),
        }
    }

    /// Takes a required key; `None` after a mistake.
    pub fn need<T: Setting>(&mut self, field: &Field<T>) -> Option<T> {
        let node = self.take(field.about());
        if node.is_none() && self.readable {
            let text = format!("this key is required; write {}", T::wanted());
            self.report
                .mistakes
                .push(self.origin.clone(), join(&self.path, field.key()), text);
        }
        self.resolve(field, &node?)
    }

    /// Takes a section inside this one.
    pub fn section<S: Section>(&mut self) -> S {
        let key = S::TABLE.key;
        self.mark(key);
        let node = self.written.remove(key);
        let path = join(&self.path, key);
        let mut fields = Fields::open(S::TABLE, path, node, self.layers, self.report);
        fields.at_start |= self.at_start;
        let value = S::read(&mut fields);
        fields.close();
        value
    }

    /// Takes a list of sections.
    pub fn list<I: Item>(&mut self) -> Vec<I> {
        let node = self.written.remove(I::TABLE.key);
        self.list_from(node)
    }

    /// Takes a list of sections that was read from elsewhere, instead of the one written here.
    pub fn list_from<I: Item>(&mut self, node: Option<Node>) -> Vec<I> {
        self.mark(I::TABLE.key);
        self.written.remove(I::TABLE.key);
        let path = join(&self.path, I::TABLE.key);
        let origin = node
            .as_ref()
            .map_or(Origin::Default, |node| node.origin.clone());
        let mut items = match node.map(|node| node.value) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::List(items)) => items,
            Some(_) => {
                self.report.mistakes.push(
                    origin.clone(),
                    path.as_str(),
                    "write a list; each entry begins with a dash",
                );
                return Vec::new();
            }
        };
        items.extend_from_slice(self.layers.appended(&path));
        let at_start = self.at_start || I::TABLE.at_start;
        if items.is_empty() {
            let none = Resolved::new(path.clone(), "[]".to_owned(), origin, at_start);
            self.report.resolved.push(none);
        }
        let items = items.into_iter().enumerate().filter_map(|(i, item)| {
            let path = format!("{path}[{i}]");
            let mut fields = Fields::open(I::TABLE, path, Some(item), self.layers, self.report);
            fields.at_start = at_start;
            let value = I::read(&mut fields);
            fields.close();
            value
        });
        items.collect()
    }

    pub(crate) fn knows(&self, key: &str) -> bool {
        self.known().any(|known| known == key)
    }

    fn take(&mut self, about: &About) -> Option<Node> {
        self.mark(about.key);
        let written = self.written.remove(about.key);
        let over = self.layers.value(&join(&self.path, about.key));
        over.cloned().or(written)
    }

    fn resolve<T: Setting>(&mut self, field: &Field<T>, node: &Node) -> Option<T> {
        let path = join(&self.path, field.key());
        let checked = T::read(node).and_then(|value| {
            let refused = field.condition().and_then(|check| check(&value).err());
            match refused {
                None => Ok(value),
                Some(wanted) => Err(vec![Wrong {
                    origin: node.origin.clone(),
                    text: format!("write {wanted}, not {}", value.show()),
                }]),
            }
        });
        match checked {
            Ok(value) => {
                let at_start = self.at_start || field.about().at_start;
                let row = Resolved::of(path, &value, node, at_start);
                self.report.resolved.push(row);
                Some(value)
            }
            Err(wrong) => {
                for Wrong { origin, text } in wrong {
                    self.report.mistakes.push(origin, path.as_str(), text);
                }
                None
            }
        }
    }

    fn mark(&mut self, key: &'static str) {
        debug_assert!(
            self.knows(key),
            "{key} is missing from the table of {:?}",
            self.table.key
        );
        debug_assert!(
            !self.taken.contains(&key),
            "{key} is read twice in {:?}",
            self.table.key
        );
        self.taken.push(key);
    }

    /// Keeps reader and table in step: any test fails here if a key of the table is never read.
    pub(crate) fn close(self) {
        let unread = self.known().find(|key| !self.taken.contains(key));
        debug_assert!(
            unread.is_none(),
            "{unread:?} is in the table of {:?} but is never read",
            self.table.key
        );
    }
}
