//! What values of the API look like: a small part of JSON Schema, which can be written and checked.

use std::sync::Arc;

use serde_json::{Map, Value, json};

/// The shape of a value.
#[derive(Clone, Debug)]
pub struct Schema {
    pub(super) kind: Kind,
    pub(super) nullable: bool,
    /// Whether an object may lack this field.
    pub(super) optional: bool,
    about: &'static str,
    name: Option<&'static str>,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Any,
    Boolean,
    Integer {
        least: Option<i64>,
        most: Option<i64>,
    },
    Number,
    Text {
        least: usize,
        most: usize,
        form: Option<TextForm>,
    },
    Choice(Vec<String>),
    List {
        of: Arc<Schema>,
        most: usize,
    },
    Object(Vec<(&'static str, Schema)>),
    /// Any names, one kind of value.
    Map {
        of: Arc<Schema>,
        most: usize,
    },
    Either(Vec<Schema>),
}

/// Which texts are meant.
#[derive(Clone, Copy, Debug)]
pub(super) enum TextForm {
    /// A name that JSON Schema knows.
    Format(&'static str),
    /// A regular expression for others, and the same for us.
    Pattern(&'static str, fn(&str) -> bool),
}

fn of(kind: Kind) -> Schema {
    Schema {
        kind,
        nullable: false,
        optional: false,
        about: "",
        name: None,
    }
}

/// Any value.
pub fn any() -> Schema {
    of(Kind::Any)
}

/// `true` or `false`.
pub fn flag() -> Schema {
    of(Kind::Boolean)
}

/// A whole number.
pub fn integer() -> Schema {
    of(Kind::Integer {
        least: None,
        most: None,
    })
}

/// A whole number from 0.
pub fn count() -> Schema {
    integer().least(0)
}

/// A number.
pub fn number() -> Schema {
    of(Kind::Number)
}

/// A text.
pub fn text() -> Schema {
    of(Kind::Text {
        least: 0,
        most: usize::MAX,
        form: None,
    })
}

/// A text that fits a regular expression; `fits` must say the same.
pub fn pattern(expression: &'static str, fits: fn(&str) -> bool) -> Schema {
    of(Kind::Text {
        least: 0,
        most: usize::MAX,
        form: Some(TextForm::Pattern(expression, fits)),
    })
}

/// A time, as in `2026-11-17T14:26:08Z`.
pub fn time() -> Schema {
    of(Kind::Text {
        least: 0,
        most: usize::MAX,
        form: Some(TextForm::Format("date-time")),
    })
}

/// A day, as in `2026-11-17`.
pub fn day() -> Schema {
    of(Kind::Text {
        least: 0,
        most: usize::MAX,
        form: Some(TextForm::Format("date")),
    })
}

/// One of these words.
pub fn choice<T: Into<String>>(words: impl IntoIterator<Item = T>) -> Schema {
    of(Kind::Choice(words.into_iter().map(Into::into).collect()))
}

/// A list.
pub fn list(item: Schema) -> Schema {
    of(Kind::List {
        of: Arc::new(item),
        most: usize::MAX,
    })
}

/// An object with these fields and no others.
pub fn object(fields: impl IntoIterator<Item = (&'static str, Schema)>) -> Schema {
    of(Kind::Object(fields.into_iter().collect()))
}

/// An object whose names are not known beforehand.
pub fn map(value: Schema) -> Schema {
    of(Kind::Map {
        of: Arc::new(value),
        most: usize::MAX,
    })
}

/// A value of one of these shapes.
pub fn either(shapes: impl IntoIterator<Item = Schema>) -> Schema {
    of(Kind::Either(shapes.into_iter().collect()))
}

impl Schema {
    /// What it means.
    #[must_use]
    pub fn about(mut self, text: &'static str) -> Self {
        self.about = text;
        self
    }

    /// Describes it once in the document, under this name.
    #[must_use]
    pub fn named(mut self, name: &'static str) -> Self {
        self.name = Some(name);
        self
    }

    /// It may be `null`.
    #[must_use]
    pub fn or_null(mut self) -> Self {
        self.nullable = true;
        self
    }

    /// An object may lack it.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// The smallest number, or the shortest text in characters.
    #[must_use]
    pub fn least(mut self, bound: i64) -> Self {
        match &mut self.kind {
            Kind::Integer { least, .. } => *least = Some(bound),
            Kind::Text { least, .. } => *least = usize::try_from(bound).unwrap_or(0),
            _ => {}
        }
        self
    }

    /// The largest number, the longest text in characters, or the longest list.
    #[must_use]
    pub fn most(mut self, bound: i64) -> Self {
        let length = usize::try_from(bound).unwrap_or(0);
        match &mut self.kind {
            Kind::Integer { most, .. } => *most = Some(bound),
            Kind::Text { most, .. } | Kind::List { most, .. } | Kind::Map { most, .. } => {
                *most = length;
            }
            _ => {}
        }
        self
    }

    /// The same object with further fields.
    #[must_use]
    pub fn with(mut self, more: impl IntoIterator<Item = (&'static str, Self)>) -> Self {
        if let Kind::Object(fields) = &mut self.kind {
            fields.extend(more);
        }
        self
    }

    /// As JSON Schema. Named ones are put into `components` and referred to. What clients send is `closed`: unknown fields
    /// are refused. Answers may get further fields in a later version, so the document leaves them open.
    pub(super) fn json(&self, components: &mut Map<String, Value>, closed: bool) -> Value {
        let Some(name) = self.name.filter(|_| !closed) else {
            return self.shape(components, closed);
        };
        if !components.contains_key(name) {
            let plain = Self {
                name: None,
                nullable: false,
                ..self.clone()
            };
            let shape = plain.shape(components, closed);
            components.insert(name.to_owned(), shape);
        }
        let reference = json!({ "$ref": format!("#/components/schemas/{name}") });
        match self.nullable {
            true => json!({ "anyOf": [reference, { "type": "null" }] }),
            false => reference,
        }
    }

    fn shape(&self, components: &mut Map<String, Value>, closed: bool) -> Value {
        let mut shape = match &self.kind {
            Kind::Any => json!({}),
            Kind::Boolean => json!({ "type": "boolean" }),
            Kind::Number => json!({ "type": "number" }),
            Kind::Integer { least, most } => {
                let mut shape = json!({ "type": "integer" });
                set(&mut shape, "minimum", least.map(Value::from));
                set(&mut shape, "maximum", most.map(Value::from));
                shape
            }
            Kind::Text { least, most, form } => {
                let mut shape = json!({ "type": "string" });
                set(
                    &mut shape,
                    "minLength",
                    (*least > 0).then(|| (*least).into()),
                );
                set(&mut shape, "maxLength", bounded(*most));
                match form {
                    Some(TextForm::Format(name)) => shape["format"] = (*name).into(),
                    Some(TextForm::Pattern(expression, _)) => {
                        shape["pattern"] = (*expression).into();
                    }
                    None => {}
                }
                shape
            }
            Kind::Choice(words) => json!({ "type": "string", "enum": words }),
            Kind::List { of, most } => {
                let mut shape = json!({ "type": "array", "items": of.json(components, closed) });
                set(&mut shape, "maxItems", bounded(*most));
                shape
            }
            Kind::Map { of, most } => {
                let values = of.json(components, closed);
                let mut shape = json!({ "type": "object", "additionalProperties": values });
                set(&mut shape, "maxProperties", bounded(*most));
                shape
            }
            Kind::Object(fields) => {
                let required = fields.iter().filter(|(_, field)| !field.optional);
                let required: Vec<&str> = required.map(|(name, _)| *name).collect();
                let properties: Map<String, Value> = fields
                    .iter()
                    .map(|(name, field)| ((*name).to_owned(), field.json(components, closed)))
                    .collect();
                let mut shape = json!({ "type": "object", "properties": properties });
                set(
                    &mut shape,
                    "required",
                    (!required.is_empty()).then(|| required.into()),
                );
                set(
                    &mut shape,
                    "additionalProperties",
                    closed.then_some(false.into()),
                );
                shape
            }
            Kind::Either(shapes) => {
                let shapes = shapes.iter().map(|shape| shape.json(components, closed));
                json!({ "anyOf": shapes.collect::<Vec<_>>() })
            }
        };
        if self.nullable {
            nullable(&mut shape);
        }
        set(
            &mut shape,
            "description",
            (!self.about.is_empty()).then(|| self.about.into()),
        );
        shape
    }
}

fn nullable(shape: &mut Value) {
    if let Some(shapes) = shape.get_mut("anyOf").and_then(Value::as_array_mut) {
        shapes.push(json!({ "type": "null" }));
    } else if let Some(kind) = shape.get("type").cloned() {
        shape["type"] = json!([kind, "null"]);
        if let Some(words) = shape.get_mut("enum").and_then(Value::as_array_mut) {
            words.push(Value::Null);
        }
    }
}

fn bounded(length: usize) -> Option<Value> {
    (length < usize::MAX).then(|| length.into())
}

fn set(shape: &mut Value, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        shape[key] = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_written_as_json_schema() {
        let row = object([
            ("name", text().least(1).most(9).about("Its name.")),
            ("at", time().or_null()),
            ("state", choice(["open", "off"]).or_null().optional()),
        ])
        .named("Row");
        let mut components = Map::new();
        let written = list(row).json(&mut components, false);
        assert_eq!(
            written,
            json!({ "type": "array", "items": { "$ref": "#/components/schemas/Row" } })
        );
        assert_eq!(
            components["Row"],
            json!({
                "type": "object",
                "required": ["name", "at"],
                "properties": {
                    "name": { "type": "string", "minLength": 1, "maxLength": 9, "description": "Its name." },
                    "at": { "type": ["string", "null"], "format": "date-time" },
                    "state": { "type": ["string", "null"], "enum": ["open", "off", null] },
                },
            })
        );
    }

    #[test]
    fn what_is_sent_is_closed_and_written_in_place() {
        let body = object([("limit", integer().least(1).most(500).optional())]).named("Body");
        let mut components = Map::new();
        let written = body.json(&mut components, true);
        assert_eq!(written["additionalProperties"], false);
        assert_eq!(written["properties"]["limit"]["maximum"], 500);
        assert!(components.is_empty() && written.get("required").is_none());
    }
}
