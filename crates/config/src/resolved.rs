//! Each value with its source, and all of them as a file that can be read back.

use crate::{Node, Origin, Secret, Setting, Value};

/// One value that is in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The key's path.
    pub path: String,
    /// The value as YAML; secrets are masked.
    pub shown: String,
    /// The text behind the mask, so that a reload notices a change.
    pub secret: Option<Secret>,
    /// Where it came from.
    pub origin: Origin,
    /// Whether it is printed as a comment: a secret, or a key whose effect is printed elsewhere.
    pub aside: bool,
    /// Whether it is read only at start, so that a reload does not apply a change.
    pub at_start: bool,
}

impl Resolved {
    pub(crate) fn new(path: String, shown: String, origin: Origin, at_start: bool) -> Self {
        let aside = shown.contains("(secret)");
        Self {
            path,
            shown,
            secret: None,
            origin,
            aside,
            at_start,
        }
    }

    /// The row of a value that was read from `node`.
    pub(crate) fn of<T: Setting>(path: String, value: &T, node: &Node, at_start: bool) -> Self {
        let mut row = Self::new(path, value.show(), node.origin.clone(), at_start);
        row.secret = match &node.value {
            Value::Text(text) | Value::Raw(text) if T::SECRET => Some(Secret::new(text.as_str())),
            _ => None,
        };
        row
    }

    /// Whether both have the same value, whatever their sources.
    pub fn same_value(&self, other: &Self) -> bool {
        self.shown == other.shown && self.secret == other.secret
    }
}

/// The values as a YAML file that can be read back, except for secrets.
pub fn to_yaml(rows: &[Resolved]) -> String {
    let mut out = String::from("# Secrets are left out, and URLs are cut off after the host.\n");
    let mut open: Vec<&str> = Vec::new();
    for row in rows {
        let steps: Vec<&str> = row.path.split(['.', '[']).collect();
        let (key, above) = steps.split_last().unwrap_or((&"", &[]));
        let same = open.iter().zip(above).take_while(|(a, b)| a == b).count();
        let mut indent = same;
        let mut dash = false;
        for step in &above[same..] {
            dash = step.ends_with(']');
            if !dash {
                out += &format!("{}{step}:\n", "  ".repeat(indent));
            }
            indent += 1;
        }
        let start = if dash {
            "  ".repeat(indent - 1) + "- "
        } else {
            "  ".repeat(indent)
        };
        let mark = if row.aside { "#" } else { "" };
        out += &format!("{start}{mark}{key}: {}\n", row.shown);
        open = above.to_vec();
    }
    out
}

/// The values as a table of path, value and source; those that a reload does not apply are marked.
pub fn to_table(rows: &[Resolved]) -> String {
    let width = |of: fn(&Resolved) -> &str| {
        rows.iter()
            .map(|row| of(row).chars().count().min(60))
            .max()
            .unwrap_or(0)
    };
    let path = width(|row| &row.path);
    let shown = width(|row| &row.shown);
    let lines = rows.iter().map(|row| {
        let when = if row.at_start { " (read at start)" } else { "" };
        format!(
            "{:path$}  {:shown$}  {}{when}\n",
            row.path, row.shown, row.origin
        )
    });
    lines.collect()
}
