//! Reads TOML into the same tree as YAML.

use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use crate::file::DEPTH;
use crate::{Mistakes, Node, Origin, TreeEntry, Value};

/// Reads the document; the parser continues after a mistake, so several may be reported.
pub(crate) fn parse(text: &str, file: &Arc<str>, mistakes: &mut Mistakes) -> Option<Node> {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut builder = TomlBuilder {
        text,
        lines: line_starts(text),
        file,
        mistakes,
    };
    for error in &errors {
        let at = builder.origin(error.span().unwrap_or_default());
        let text = format!("this cannot be read as TOML: {}", error.message());
        builder.mistakes.push(at, "", text);
    }
    if !errors.is_empty() {
        return None;
    }
    Some(Node {
        value: builder.map(table.into_inner(), 0),
        origin: builder.origin(0..0),
    })
}

struct TomlBuilder<'a> {
    text: &'a str,
    lines: Vec<usize>,
    file: &'a Arc<str>,
    mistakes: &'a mut Mistakes,
}

impl TomlBuilder<'_> {
    fn node(&mut self, value: Spanned<DeValue<'_>>, depth: usize) -> Node {
        let origin = self.origin(value.span());
        let value = match value.into_inner() {
            _ if depth > DEPTH => {
                self.refuse(&origin, &format!("nest at most {DEPTH} levels deep"))
            }
            DeValue::String(text) => Value::Text(text.into_owned()),
            DeValue::Integer(number) => whole(&number),
            DeValue::Float(number) => number.as_str().parse().map_or(Value::Null, Value::Float),
            DeValue::Boolean(value) => Value::Bool(value),
            DeValue::Datetime(_) => {
                self.refuse(&origin, "no key takes a date; write text in quotes")
            }
            DeValue::Array(items) => Value::List(
                items
                    .into_iter()
                    .map(|item| self.node(item, depth + 1))
                    .collect(),
            ),
            DeValue::Table(table) => self.map(table, depth),
        };
        Node { value, origin }
    }

    fn map(&mut self, table: DeTable<'_>, depth: usize) -> Value {
        let entries = table.into_iter().map(|(key, value)| TreeEntry {
            origin: self.origin(key.span()),
            key: key.into_inner().into_owned(),
            node: self.node(value, depth + 1),
        });
        Value::Map(entries.collect())
    }

    fn refuse(&mut self, origin: &Origin, text: &str) -> Value {
        self.mistakes.push(origin.clone(), "", text);
        Value::Null
    }

    fn origin(&self, span: Range<usize>) -> Origin {
        let line = self.lines.partition_point(|start| *start <= span.start);
        let start = line.checked_sub(1).map_or(0, |before| self.lines[before]);
        let before = self.text.get(start..span.start).unwrap_or_default();
        Origin::File {
            file: Arc::clone(self.file),
            line,
            column: before.chars().count() + 1,
        }
    }
}

/// Where each line begins. Counting lines from the top for every key would be quadratic in a large file.
fn line_starts(text: &str) -> Vec<usize> {
    let newlines = text.match_indices('\n').map(|(newline, _)| newline + 1);
    std::iter::once(0).chain(newlines).collect()
}

fn whole(number: &DeInteger<'_>) -> Value {
    match i64::from_str_radix(number.as_str(), number.radix()) {
        Ok(value) => Value::Int(value),
        Err(_) => Value::Float(number.as_str().parse().unwrap_or(f64::MAX)),
    }
}
