//! The tree that YAML, TOML, environment and flags are all read into.

use crate::Origin;

/// A value and the place where it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What was written.
    pub value: Value,
    /// Where it was written.
    pub origin: Origin,
}

/// A value as its source wrote it, before any key has given it a type.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// YAML's `null`, or a key without a value.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// Text; in YAML 1.2 that includes `no` and `on`.
    Text(String),
    /// Text from a flag or the environment, which have no types: the field decides what it is.
    Raw(String),
    /// A list.
    List(Vec<Node>),
    /// Keys and values in the order of the file; no key occurs twice.
    Map(Vec<TreeEntry>),
}

/// One key of a map with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeEntry {
    /// The key.
    pub key: String,
    /// Where the key was written.
    pub origin: Origin,
    /// Its value.
    pub node: Node,
}

impl Node {
    /// A value from a source without types.
    pub fn raw(text: impl Into<String>, origin: Origin) -> Self {
        Self {
            value: Value::Raw(text.into()),
            origin,
        }
    }

    /// What was written here, for a message; cut if it is long.
    pub(crate) fn describe(&self) -> String {
        match &self.value {
            Value::Null => "nothing".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Float(value) => value.to_string(),
            Value::Text(text) | Value::Raw(text) => quoted(text),
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a section".to_owned(),
        }
    }

    /// The same without the value itself, for secrets.
    pub(crate) fn describe_kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Int(_) | Value::Float(_) => "a number",
            Value::Text(_) | Value::Raw(_) => "this text",
            Value::List(_) => "a list",
            Value::Map(_) => "a section",
        }
    }
}

fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    if text.chars().count() <= LONGEST {
        return format!("{text:?}");
    }
    let start: String = text.chars().take(LONGEST).collect();
    format!("{:?}", start + "…")
}
