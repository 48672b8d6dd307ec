//! What overrides the file: the environment, which flags override in turn.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::nearest::{near_or_longer, nearest};
use crate::{Mistakes, Node, Origin, Row, Table};

/// A source of environment variables; tests pass a map.
pub trait Environment {
    /// All variables; a value that is not UTF-8 is `None`.
    fn variables(&self) -> Vec<(String, Option<String>)>;
}

/// The variables of this process.
#[derive(Clone, Copy, Debug)]
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    fn variables(&self) -> Vec<(String, Option<String>)> {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok())))
            .collect()
    }
}

impl Environment for BTreeMap<String, String> {
    fn variables(&self) -> Vec<(String, Option<String>)> {
        self.iter()
            .map(|(name, value)| (name.clone(), Some(value.clone())))
            .collect()
    }
}

/// Values by path that override the file, and entries that are added to its lists.
#[derive(Debug)]
pub struct Layers {
    root: &'static Table,
    values: BTreeMap<String, Node>,
    entries: BTreeMap<String, Vec<Node>>,
}

impl Layers {
    /// No overrides yet; `root` is the table of the whole configuration.
    pub fn new(root: &'static Table) -> Self {
        Self {
            root,
            values: BTreeMap::new(),
            entries: BTreeMap::new(),
        }
    }

    /// Adds the environment. A variable that begins with `WEIR_` must belong to a key or be one of `others`;
    /// an empty variable counts as not set.
    pub fn environment(
        &mut self,
        environment: &dyn Environment,
        others: &[&str],
        mistakes: &mut Mistakes,
    ) {
        let names = VariableNames::of(self.root);
        let mut variables = environment.variables();
        // A key's second name comes first, so that the name made from its path overwrites it.
        variables.sort_by_key(|(name, _)| {
            (
                names
                    .paths
                    .get(name)
                    .is_some_and(|path| variable(path) == *name),
                name.clone(),
            )
        });
        for (name, value) in variables {
            let origin = Origin::Environment(Arc::from(name.as_str()));
            match (names.paths.get(&name), value) {
                (_, Some(value)) if value.is_empty() => {}
                (Some(path), None) => mistakes.push(origin, path, "set this variable in UTF-8"),
                (Some(path), Some(value)) => {
                    self.values.insert(path.clone(), Node::raw(value, origin));
                }
                (None, _) if !name.starts_with("WEIR_") || others.contains(&name.as_str()) => {}
                (None, _) => mistakes.push(origin, "", names.explain(&name, others)),
            }
        }
    }

    /// Adds a flag, which overrides the environment too, so it must come after it; `flag` is how the operator
    /// wrote it, such as `--web`.
    pub fn flag(&mut self, path: &str, flag: &str, value: &str) {
        let node = Node::raw(value, Origin::Flag(flag.into()));
        self.values.insert(path.to_owned(), node);
    }

    /// Adds entries to the list at a path, after those that it has already, wherever they come from.
    pub fn append(&mut self, path: &str, entries: Vec<Node>) {
        self.entries
            .entry(path.to_owned())
            .or_default()
            .extend(entries);
    }

    /// What overrides the value at a path.
    pub fn value(&self, path: &str) -> Option<&Node> {
        self.values.get(path)
    }

    pub(crate) fn appended(&self, path: &str) -> &[Node] {
        self.entries.get(path).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn root(&self) -> &'static Table {
        self.root
    }
}

/// The environment variable of a path.
fn variable(path: &str) -> String {
    format!("WEIR_{}", path.replace('.', "__").to_uppercase())
}

/// All environment variables of a table.
struct VariableNames {
    paths: BTreeMap<String, String>,
    files_only: Vec<String>,
}

impl VariableNames {
    fn of(root: &Table) -> Self {
        let mut names = Self {
            paths: BTreeMap::new(),
            files_only: Vec::new(),
        };
        root.walk(&mut |path, row| match row {
            Row::Field(about) => {
                names.paths.insert(variable(path), path.to_owned());
                if let Some(second) = about.variable {
                    names.paths.insert(second.to_owned(), path.to_owned());
                }
            }
            Row::Section(_) | Row::List(..) => names.files_only.push(variable(path)),
        });
        names
    }

    fn explain(&self, name: &str, others: &[&str]) -> String {
        if self.files_only.iter().any(|section| section == name) {
            return "set this in the file; the environment takes only single values and lists of words"
                .to_owned();
        }
        let known = self.paths.keys().map(String::as_str);
        let known = known.filter(|name| name.starts_with("WEIR_"));
        // Whoever has written the section right means one of its keys, as in a file.
        if let Some((section, key)) = name.rsplit_once("__") {
            let of_section = known.clone().filter_map(|other| other.rsplit_once("__"));
            let keys: Vec<&str> = of_section
                .filter(|(other, _)| *other == section)
                .map(|(_, key)| key)
                .collect();
            if !keys.is_empty() {
                return match near_or_longer(key, &keys) {
                    Some(near) => {
                        format!("there is no such variable; did you mean {section}__{near}?")
                    }
                    None => "there is no such variable; unset it".to_owned(),
                };
            }
        }
        match nearest(name, known.chain(others.iter().copied())) {
            Some(near) => format!("there is no such variable; did you mean {near}?"),
            None => "there is no such variable; unset it".to_owned(),
        }
    }
}
