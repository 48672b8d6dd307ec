//! How a value of a type is read from a node and shown again.
//!
//! A new type in a `Config` struct only needs to implement [`Setting`].

use crate::{Node, Origin, Value};

/// A type that a key of a section can have.
pub trait Setting: Sized {
    /// Whether messages must not quote what was written.
    const SECRET: bool = false;

    /// The words to choose from, if there are no others.
    const WORDS: &'static [&'static str] = &[];

    /// What to write, to follow the word "write", such as `a duration such as 30m`.
    fn wanted() -> String;

    /// Reads the value, or returns everything that is wrong with it.
    fn read(node: &Node) -> Result<Self, Vec<Wrong>>;

    /// The value as YAML on one line; a secret shows a mask.
    fn show(&self) -> String;
}

/// A value that its key cannot take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Where it was written.
    pub origin: Origin,
    /// A sentence that says what to do.
    pub text: String,
}

impl Wrong {
    /// The usual sentence: "write (what the type wants), not (what is there)".
    pub fn kind<T: Setting>(node: &Node) -> Vec<Self> {
        let found = if T::SECRET {
            node.describe_kind().to_owned()
        } else {
            node.describe()
        };
        vec![Self {
            origin: node.origin.clone(),
            text: format!("write {}, not {found}", T::wanted()),
        }]
    }
}

/// Reads text with `parse`, whether it comes from a file, the environment or a flag.
pub fn from_text<T: Setting>(
    node: &Node,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<T, Vec<Wrong>> {
    let text = match &node.value {
        Value::Text(text) | Value::Raw(text) => Some(text.as_str()),
        _ => None,
    };
    text.map(str::trim)
        .and_then(parse)
        .ok_or_else(|| Wrong::kind::<T>(node))
}

/// Text as a YAML scalar, quoted only if necessary.
pub fn show_text(text: &str) -> String {
    // Fewer characters than YAML allows, so that the text can also be part of a list on one line.
    let safe = |c: char| {
        c.is_ascii_alphanumeric() || "-_./: ".contains(c) || !c.is_ascii() && c.is_alphabetic()
    };
    let plain = text.starts_with(|c: char| c.is_alphanumeric() || "./".contains(c))
        && text.chars().all(safe)
        && !text.contains("::");
    let read_back = crate::yaml::parse_default(text).map(|node| node.value);
    if plain && read_back == Some(Value::Text(text.to_owned())) {
        return text.to_owned();
    }
    // JSON's escapes are valid in YAML too.
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// `null` is `None`, and so is the word `null`, because TOML, the environment and flags have no null.
impl<T: Setting> Setting for Option<T> {
    const SECRET: bool = T::SECRET;
    const WORDS: &'static [&'static str] = T::WORDS;

    fn wanted() -> String {
        format!("{} or null", T::wanted())
    }

    fn read(node: &Node) -> Result<Self, Vec<Wrong>> {
        match &node.value {
            Value::Null => Ok(None),
            Value::Text(text) | Value::Raw(text) if text == "null" => Ok(None),
            _ => T::read(node).map(Some),
        }
    }

    fn show(&self) -> String {
        self.as_ref().map_or_else(|| "null".to_owned(), T::show)
    }
}

/// A list in a file; words separated by commas in the environment and in flags.
impl<T: Setting> Setting for Vec<T> {
    const SECRET: bool = T::SECRET;

    fn wanted() -> String {
        format!("a list, each entry {}", T::wanted())
    }

    fn read(node: &Node) -> Result<Self, Vec<Wrong>> {
        let split: Vec<Node>;
        let items = match &node.value {
            Value::List(items) => items,
            Value::Raw(text) => {
                let words = text
                    .split(',')
                    .map(str::trim)
                    .filter(|word| !word.is_empty());
                split = words
                    .map(|word| Node::raw(word, node.origin.clone()))
                    .collect();
                &split
            }
            _ => return Err(Wrong::kind::<Self>(node)),
        };
        let mut wrong = Vec::new();
        let mut values = Self::new();
        for item in items {
            match T::read(item) {
                Ok(value) => values.push(value),
                Err(more) => wrong.extend(more),
            }
        }
        if wrong.is_empty() {
            Ok(values)
        } else {
            Err(wrong)
        }
    }

    fn show(&self) -> String {
        let items: Vec<String> = self.iter().map(T::show).collect();
        format!("[{}]", items.join(", "))
    }
}
