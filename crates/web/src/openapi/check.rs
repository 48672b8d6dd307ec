//! Whether a value has the shape that was described: what clients send is checked before a handler sees it, and in tests
//! what is answered too.

use serde_json::Value;

use super::schema::{Kind, Schema, TextForm};
use crate::{failure::FieldMistake, kit};

/// Mistakes that are told at once; a body may hold thousands.
const TOLD: usize = 20;

impl Schema {
    /// All mistakes of a value, each with the field it is in; at most a few.
    pub(crate) fn mistakes(&self, value: &Value) -> Vec<FieldMistake> {
        let mut mistakes = Vec::new();
        self.check(value, "", &mut mistakes);
        mistakes
    }

    /// The mistake of a query parameter, which is always sent as text.
    pub(super) fn mistake_of_text(&self, name: &str, text: &str) -> Option<FieldMistake> {
        let value = match &self.kind {
            Kind::Integer { .. } => whole(text),
            Kind::Boolean => match text {
                "true" | "false" => Value::Bool(text == "true"),
                _ => Value::Null,
            },
            _ => Value::String(text.to_owned()),
        };
        let mut mistakes = Vec::new();
        self.check(&value, name, &mut mistakes);
        mistakes.into_iter().next()
    }

    fn check(&self, value: &Value, at: &str, mistakes: &mut Vec<FieldMistake>) {
        if mistakes.len() >= TOLD || value.is_null() && self.nullable {
            return;
        }
        let mut wrong = |detail: String| {
            mistakes.push(FieldMistake {
                field: at.to_owned(),
                detail,
            });
        };
        match (&self.kind, value) {
            (Kind::Any, _) | (Kind::Boolean, Value::Bool(_)) | (Kind::Number, Value::Number(_)) => {
            }
            (Kind::Integer { least, most }, Value::Number(number)) => {
                let whole = number
                    .as_i64()
                    .map(i128::from)
                    .or(number.as_u64().map(i128::from));
                let least = least.map_or(i128::MIN, i128::from);
                let most = most.map_or(i128::MAX, i128::from);
                if !whole.is_some_and(|whole| (least..=most).contains(&whole)) {
                    wrong(self.wanted());
                }
            }
            (Kind::Text { least, most, form }, Value::String(text)) => {
                let length = text.chars().count();
                let fits = match form {
                    Some(TextForm::Pattern(_, fits)) => fits(text),
                    Some(TextForm::Format("date-time")) => text.parse::<jiff::Timestamp>().is_ok(),
                    Some(TextForm::Format("date")) => {
                        text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
                    }
                    Some(TextForm::Format(_)) | None => true,
                };
                if !(*least..=*most).contains(&length) || !fits {
                    wrong(self.wanted());
                }
            }
            (Kind::Choice(words), Value::String(text)) => {
                if !words.contains(text) {
                    let near = kit::nearest(text, words.clone());
                    let meant = match near.first() {
                        Some(near) => format!("Did you mean {near}? "),
                        None => String::new(),
                    };
                    wrong(format!("{meant}{}", self.wanted()));
                }
            }
            (Kind::List { of, most }, Value::Array(items)) => {
                if items.len() > *most {
                    wrong(self.wanted());
                    return;
                }
                for (index, item) in items.iter().enumerate() {
                    of.check(item, &format!("{at}[{index}]"), mistakes);
                }
            }
            (Kind::Map { of, most }, Value::Object(fields)) => {
                if fields.len() > *most {
                    wrong(self.wanted());
                    return;
                }
                for (name, field) in fields {
                    of.check(field, &below(at, name), mistakes);
                }
            }
            (Kind::Object(known), Value::Object(fields)) => {
                check_object(known, fields, at, mistakes);
            }
            (Kind::Either(shapes), value) => {
                let fits = |shape: &Self| shape.mistakes(value).is_empty();
                if !shapes.iter().any(fits) {
                    wrong(self.wanted());
                }
            }
            _ => wrong(self.wanted()),
        }
    }

    /// What it should have been, as a sentence.
    fn wanted(&self) -> String {
        match &self.kind {
            Kind::Any => "Any value.".to_owned(),
            Kind::Boolean => "Send true or false.".to_owned(),
            Kind::Number => "Send a number.".to_owned(),
            Kind::Integer { least, most } => match (least, most) {
                (Some(least), Some(most)) => {
                    format!("Send a whole number from {least} to {most}.")
                }
                (Some(least), None) => format!("Send a whole number, {least} or more."),
                (None, Some(most)) => format!("Send a whole number up to {most}."),
                (None, None) => "Send a whole number.".to_owned(),
            },
            Kind::Text { least, most, form } => {
                let what = match form {
                    Some(TextForm::Format("date-time")) => {
                        "a time such as 2026-11-17T14:26:08Z".to_owned()
                    }
                    Some(TextForm::Format("date")) => "a day such as 2026-11-17".to_owned(),
                    Some(TextForm::Format(name)) => format!("a text in the format {name}"),
                    Some(TextForm::Pattern(expression, _)) => {
                        format!("a text that matches {expression}")
                    }
                    None => "a text".to_owned(),
                };
                match (least, most) {
                    (0, &usize::MAX) => format!("Send {what}."),
                    (0, most) => format!("Send {what} of at most {most} characters."),
                    (least, &usize::MAX) => format!("Send {what} of {least} or more characters."),
                    (least, most) => format!("Send {what} of {least} to {most} characters."),
                }
            }
            Kind::Choice(words) => format!("Send one of: {}.", words.join(", ")),
            Kind::List { most, .. } => match *most {
                usize::MAX => "Send a list.".to_owned(),
                most => format!("Send a list of at most {most}."),
            },
            Kind::Map { most, .. } => match *most {
                usize::MAX => "Send an object.".to_owned(),
                most => format!("Send an object with at most {most} fields."),
            },
            Kind::Object(_) => "Send an object.".to_owned(),
            Kind::Either(shapes) => {
                let wanted: Vec<String> = shapes.iter().map(Self::wanted).collect();
                wanted.join(" Or: ")
            }
        }
    }
}

fn check_object(
    known: &[(&'static str, Schema)],
    fields: &serde_json::Map<String, Value>,
    at: &str,
    mistakes: &mut Vec<FieldMistake>,
) {
    for (name, field) in fields {
        let Some((_, shape)) = known.iter().find(|(known, _)| known == name) else {
            let names = known.iter().map(|(name, _)| (*name).to_owned());
            mistakes.push(unknown(&below(at, name), name, names.collect()));
            if mistakes.len() >= TOLD {
                return;
            }
            continue;
        };
        shape.check(field, &below(at, name), mistakes);
    }
    for (name, _) in known.iter().filter(|(_, shape)| !shape.optional) {
        if !fields.contains_key(*name) {
            mistakes.push(FieldMistake {
                field: below(at, name),
                detail: "This field is required.".to_owned(),
            });
        }
    }
}

/// A name that nobody knows, and the nearest that somebody does.
pub(super) fn unknown(field: &str, name: &str, known: Vec<String>) -> FieldMistake {
    let all = known.join(", ");
    let detail = match (&kit::nearest(name, known)[..], all.is_empty()) {
        (_, true) => "There is no such name here, nor any other.".to_owned(),
        ([], false) => format!("There is no such name here. There are: {all}."),
        ([near, ..], false) => format!("There is no such name here. Did you mean {near}?"),
    };
    FieldMistake {
        field: field.chars().take(100).collect(),
        detail,
    }
}

fn below(at: &str, name: &str) -> String {
    match at {
        "" => name.to_owned(),
        at => format!("{at}.{name}"),
    }
}

/// A whole number as JSON, or something that is none. JSON has no `+5` and no `007`; neither do we.
fn whole(text: &str) -> Value {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    match value.is_i64() || value.is_u64() {
        true => value,
        false => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::schema::{
        choice, count, either, flag, integer, list, map, object, text, time,
    };
    use super::*;

    fn told(schema: &Schema, value: Value) -> Vec<(String, String)> {
        let mistakes = schema.mistakes(&value).into_iter();
        mistakes.map(|one| (one.field, one.detail)).collect()
    }

    #[test]
    fn each_mistake_names_its_field() {
        let schema = object([
            ("query", text().most(5).optional()),
            ("categories", list(count()).most(3).optional()),
            ("terms", map(either([text(), integer()])).optional()),
            ("fresh", flag()),
            ("state", choice(["open", "off"]).optional()),
            ("at", time().or_null().optional()),
        ]);
        let fine = json!({ "query": "words", "categories": [1], "terms": { "a": 1, "b": "c" }, "fresh": true, "at": null });
        assert_eq!(told(&schema, fine), []);
        let wrong = json!({
            "query": "too long", "categories": [1, -1, "x"], "terms": { "a": [] }, "state": "opne",
            "at": "today", "fersh": true,
        });
        let mistakes = told(&schema, wrong);
        let fields: Vec<&str> = mistakes.iter().map(|(field, _)| field.as_str()).collect();
        assert_eq!(
            fields,
            [
                "at",
                "categories[1]",
                "categories[2]",
                "fersh",
                "query",
                "state",
                "terms.a",
                "fresh"
            ]
        );
        assert_eq!(
            mistakes[3].1,
            "There is no such name here. Did you mean fresh?"
        );
        assert_eq!(mistakes[5].1, "Did you mean open? Send one of: open, off.");
        assert_eq!(mistakes[7].1, "This field is required.");
        assert_eq!(told(&schema, json!([]))[0].1, "Send an object.");
        let many: Vec<i64> = vec![-1; 1000];
        assert_eq!(told(&list(count()), json!(many)).len(), TOLD);
    }

    #[test]
    fn numbers_in_a_query_are_whole_and_within_bounds() {
        let limit = integer().least(1).most(500);
        for fine in ["1", "500"] {
            assert!(limit.mistake_of_text("limit", fine).is_none(), "{fine}");
        }
        for odd in [
            "",
            "0",
            "501",
            "-1",
            "+5",
            "007",
            "1.0",
            "x",
            "1e2",
            "99999999999999999999",
        ] {
            let mistake = limit.mistake_of_text("limit", odd).unwrap();
            assert_eq!(mistake.field, "limit");
            assert_eq!(
                mistake.detail, "Send a whole number from 1 to 500.",
                "{odd}"
            );
        }
    }
}
