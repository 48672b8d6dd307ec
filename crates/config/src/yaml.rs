//! Reads YAML 1.2 into a tree. Anchors, aliases and tags are refused, so that a small file cannot grow large in memory.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use granit_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag};

use crate::file::DEPTH;
use crate::{Mistakes, Node, Origin, TreeEntry, Value, unknown};

/// Reads one document. Only a duplicate key lets reading continue; any other mistake ends it.
pub(crate) fn parse(text: &str, file: &Arc<str>, mistakes: &mut Mistakes) -> Option<Node> {
    let mut builder = YamlBuilder {
        events: Parser::new_from_str(text),
        text,
        file,
        mistakes,
    };
    builder.document().ok()
}

/// Reads a default of a field table.
pub(crate) fn parse_default(text: &str) -> Option<Node> {
    let mut mistakes = Mistakes::default();
    let mut node = parse(text, &Arc::from("default"), &mut mistakes)?;
    forget_places(&mut node);
    mistakes.is_empty().then_some(node)
}

fn forget_places(node: &mut Node) {
    node.origin = Origin::Default;
    if let Value::List(items) = &mut node.value {
        items.iter_mut().for_each(forget_places);
    }
}

/// The line and column of a tab that indents this line, or the next one that is not empty: a scanner stops where the text
/// before it ends.
fn tab_in_indent(text: &str, line: usize) -> Option<(usize, usize)> {
    let lines = text.lines().enumerate().skip(line.saturating_sub(1));
    let written = lines.filter(|(_, line)| !line.trim().is_empty());
    written.take(2).find_map(|(before, line)| {
        let indent = line.len() - line.trim_start().len();
        let column = line[..indent].find('\t')?;
        Some((before + 1, column))
    })
}

/// Reading ends; the mistake is already in the collector.
struct Stop;

struct YamlBuilder<'a> {
    events: Parser<'a, StrInput<'a>>,
    text: &'a str,
    file: &'a Arc<str>,
    mistakes: &'a mut Mistakes,
}

type YamlStep<'a> = (Event<'a>, Span);

impl<'a> YamlBuilder<'a> {
    fn document(&mut self) -> Result<Node, Stop> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
                Event::StreamEnd => break,
                _ if root.is_some() => {
                    return Err(self.stop(
                        &span,
                        "keep one document in this file; a second one begins here",
                    ));
                }
                event => root = Some(self.node((event, span), 0)?),
            }
        }
        Ok(root.unwrap_or(Node {
            value: Value::Null,
            origin: self.origin_at(1, 0),
        }))
    }

    fn node(&mut self, (event, span): YamlStep<'a>, depth: usize) -> Result<Node, Stop> {
        if depth > DEPTH {
            return Err(self.stop(&span, &format!("nest at most {DEPTH} levels deep")));
        }
        let (anchor, tag) = match &event {
            Event::Scalar(_, _, anchor, tag) => (*anchor, tag),
            Event::SequenceStart(_, anchor, tag) => (*anchor, tag),
            Event::MappingStart(_, anchor, tag) => (*anchor, tag),
            _ => return Err(self.stop(&span, ALIASES)),
        };
        if anchor != 0 {
            return Err(self.stop(&span, ALIASES));
        }
        let as_text = self.tag(tag.as_deref(), &span)?;
        let origin = self.origin(&span);
        let value = match event {
            Event::Scalar(text, ScalarStyle::Plain, ..) if !as_text => plain(text),
            Event::Scalar(text, ..) => Value::Text(text.into_owned()),
            Event::SequenceStart(..) => self.list(depth)?,
            _ => self.map(depth)?,
        };
        Ok(Node { value, origin })
    }

    fn list(&mut self, depth: usize) -> Result<Value, Stop> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Value::List(items)),
                step => items.push(self.node(step, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Value, Stop> {
        let mut entries: Vec<TreeEntry> = Vec::new();
        let mut places: BTreeMap<String, Origin> = BTreeMap::new();
        loop {
            let (key, span) = match self.next()? {
                (Event::MappingEnd, _) => return Ok(Value::Map(entries)),
                (Event::Scalar(key, _, 0, None), span) => (key.into_owned(), span),
                (_, span) => return Err(self.stop(&span, "use a plain word as the key")),
            };
            let step = self.next()?;
            let node = self.node(step, depth + 1)?;
            let origin = self.origin(&span);
            if let Some(first) = places.insert(key.clone(), origin.clone()) {
                let text = format!("this key is already set at {first}; keep one of them");
                self.mistakes.push(origin, unknown::shown(&key), text);
                continue;
            }
            entries.push(TreeEntry { key, origin, node });
        }
    }

    /// Whether a tag marks this scalar as text.
    fn tag(&mut self, tag: Option<&Tag>, span: &Span) -> Result<bool, Stop> {
        match tag {
            None => Ok(false),
            Some(tag) if tag.core_suffix() == Some("str") => Ok(true),
            Some(_) => Err(self.stop(span, "remove the tag; only !!str is supported here")),
        }
    }

    fn next(&mut self) -> Result<YamlStep<'a>, Stop> {
        match self.events.next() {
            Some(Ok(step)) => Ok(step),
            Some(Err(error)) => {
                let line = error.marker().line();
                if let Some((line, column)) = tab_in_indent(self.text, line) {
                    let at = self.origin_at(line, column);
                    self.mistakes
                        .push(at, "", "indent with spaces; YAML takes no tab here");
                    return Err(Stop);
                }
                let at = self.origin_at(line, error.marker().col());
                let text = format!("this cannot be read as YAML: {}", error.info());
                self.mistakes.push(at, "", text);
                Err(Stop)
            }
            None => {
                let at = self.origin_at(1, 0);
                self.mistakes.push(at, "", "this file ends too early");
                Err(Stop)
            }
        }
    }

    fn stop(&mut self, span: &Span, text: &str) -> Stop {
        let at = self.origin(span);
        self.mistakes.push(at, "", text);
        Stop
    }

    fn origin(&self, span: &Span) -> Origin {
        self.origin_at(span.start.line(), span.start.col())
    }

    fn origin_at(&self, line: usize, column_from_0: usize) -> Origin {
        Origin::File {
            file: Arc::clone(self.file),
            line,
            column: column_from_0 + 1,
        }
    }
}

const ALIASES: &str = "write the value out; anchors and aliases are not supported here";

/// The core schema of YAML 1.2.
fn plain(text: Cow<'_, str>) -> Value {
    match text.as_ref() {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    if let Some(value) = whole(&text) {
        return Value::Int(value);
    }
    let numeric = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
        && text.contains(|c: char| c.is_ascii_digit());
    match text.parse::<f64>() {
        Ok(value) if numeric => Value::Float(value),
        _ => Value::Text(text.into_owned()),
    }
}

fn whole(text: &str) -> Option<i64> {
    match text.get(..2) {
        Some("0o") => i64::from_str_radix(text.get(2..)?, 8).ok(),
        Some("0x") => i64::from_str_radix(text.get(2..)?, 16).ok(),
        _ => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        parse_default(text).expect("readable").value
    }

    #[test]
    fn words_of_old_yaml_stay_text() {
        for word in [
            "no", "yes", "on", "off", "y", "0o", "1:30", "1_000", ".inf", "inf", "nan",
        ] {
            assert_eq!(value(word), Value::Text(word.to_owned()), "{word}");
        }
    }

    #[test]
    fn scalars_follow_the_core_schema() {
        assert_eq!(value("~"), Value::Null);
        assert_eq!(value("True"), Value::Bool(true));
        assert_eq!(value("-12"), Value::Int(-12));
        assert_eq!(value("0x10"), Value::Int(16));
        assert_eq!(value("1.5e3"), Value::Float(1500.0));
        assert_eq!(value("\"12\""), Value::Text("12".to_owned()));
        assert_eq!(value("!!str 12"), Value::Text("12".to_owned()));
    }
}
