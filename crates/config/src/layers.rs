//! What lies over the file: environment, and flags over that.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::nearest::nearest;
use crate::{Mistakes, Node, Origin, Row, Table};

/// Where environment variables come from; tests pass a map.
pub trait Environment {
    /// All variables; `None` is a value that is not UTF-8.
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

/// Values by path that take precedence over the file.
#[derive(Debug)]
pub struct Layers {
    root: &'static Table,
    values: BTreeMap<String, Node>,
}

impl Layers {
    /// Nothing over the file yet.
    pub fn new(root: &'static Table) -> Self {
        let values = BTreeMap::new();
        Self { root, values }
    }

    /// Lays the environment over the file. Every `WEIR_…` name must be a key's or one of `others`;
    /// an empty variable counts as not set.
    pub fn environment(
        &mut self,
        environment: &dyn Environment,
        others: &[&str],
        mistakes: &mut Mistakes,
    ) {
        let names = Names::of(self.root);
        let mut variables = environment.variables();
        // A key's second name first, so that the name with `WEIR_` and the path wins.
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
                (Some(path), None) => mistakes.push(origin, path, "write this variable in UTF-8"),
                (Some(path), Some(value)) => {
                    self.values.insert(path.clone(), Node::raw(value, origin));
                }
                (None, _) if !name.starts_with("WEIR_") || others.contains(&name.as_str()) => {}
                (None, _) => mistakes.push(origin, "", names.explain(&name, others)),
            }
        }
    }

    /// Lays a flag over everything; `flag` is how the operator wrote it, such as `--web`.
    pub fn flag(&mut self, path: &str, flag: &str, value: &str) {
        let node = Node::raw(value, Origin::Flag(flag.into()));
        self.values.insert(path.to_owned(), node);
    }

    pub(crate) fn value(&self, path: &str) -> Option<&Node> {
        self.values.get(path)
    }

    pub(crate) fn root(&self) -> &'static Table {
        self.root
    }
}

/// The environment name of a path.
fn variable(path: &str) -> String {
    format!("WEIR_{}", path.replace('.', "__").to_uppercase())
}

/// All environment names of a table.
struct Names {
    paths: BTreeMap<String, String>,
    files_only: Vec<String>,
}

impl Names {
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
            Row::Section(_) | Row::List(_) => names.files_only.push(variable(path)),
        });
        names
    }

    fn explain(&self, name: &str, others: &[&str]) -> String {
        if self.files_only.iter().any(|section| section == name) {
            return "write this in the file; the environment sets single values and lists of words"
                .to_owned();
        }
        let known = self
            .paths
            .keys()
            .map(String::as_str)
            .filter(|name| name.starts_with("WEIR_"));
        match nearest(name, known.chain(others.iter().copied())) {
            Some(near) => format!("there is no such variable; did you mean {near}?"),
            None => "there is no such variable; unset it".to_owned(),
        }
    }
}
