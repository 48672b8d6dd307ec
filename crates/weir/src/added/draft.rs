//! What somebody wrote for an upstream, on a page or through the API, and how it becomes an entry.
//!
//! Saved secrets are never shown again. A field that is left empty keeps its secret, but only for the server that it was
//! saved for: otherwise whoever changes the address could have it sent to themselves.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};
use weir_config::{About, Node, Origin, SecretUrl, TreeEntry, Value};
use weir_web::FieldMistake;

use super::Kind;

/// The longest value, in characters.
const LONGEST: usize = 2000;

/// A text for each key, as it was written.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) kind: Kind,
    values: BTreeMap<&'static str, String>,
    /// Keys whose saved secrets are to be forgotten.
    forget: BTreeSet<&'static str>,
}

/// A saved value, as it may be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SavedValue {
    /// There is none.
    Unset,
    /// The value itself.
    Shown(String),
    /// A secret; what of it may be shown.
    Hidden(String),
}

impl Draft {
    /// Nothing yet.
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            kind,
            values: BTreeMap::new(),
            forget: BTreeSet::new(),
        }
    }

    /// The fields of a form; others are ignored. `forget-KEY` forgets a secret.
    pub(crate) fn of_form(kind: Kind, fields: &[(String, String)]) -> Self {
        let mut draft = Self::new(kind);
        for about in kind.keys() {
            let value = |name: &str| {
                let mut all = fields.iter();
                all.find(|(field, _)| field == name).map(|(_, value)| value)
            };
            if let Some(value) = value(about.key) {
                draft.set(about.key, value);
            }
            if value(&format!("forget-{}", about.key)).is_some() {
                draft.forget.insert(about.key);
            }
        }
        draft
    }

    /// The fields of a JSON object; `null` forgets a secret and leaves any other key at its default.
    pub(crate) fn of_json(
        kind: Kind,
        fields: &Map<String, Json>,
    ) -> Result<Self, Vec<FieldMistake>> {
        let mut draft = Self::new(kind);
        let mut mistakes = Vec::new();
        for (name, value) in fields {
            let Some(about) = kind.keys().find(|about| about.key == name) else {
                let keys: Vec<&str> = kind.keys().map(|about| about.key).collect();
                mistakes.push(FieldMistake {
                    field: name.chars().take(64).collect(),
                    detail: format!("There is no such key; the keys are {}.", keys.join(", ")),
                });
                continue;
            };
            match text_of_json(value) {
                Some(text) => draft.set(about.key, &text),
                None if value.is_null() => drop(draft.forget.insert(about.key)),
                None => mistakes.push(FieldMistake {
                    field: name.clone(),
                    detail: format!("Write {}.", (about.wanted)()),
                }),
            }
        }
        match mistakes.is_empty() {
            true => Ok(draft),
            false => Err(mistakes),
        }
    }

    /// Writes a value, without what a paste leaves around it; but spaces can be part of a password.
    pub(crate) fn set(&mut self, key: &'static str, value: &str) {
        let mut keys = self.kind.keys();
        let password = keys.any(|about| about.key == key && is_password(about));
        let value = if password { value } else { value.trim() };
        self.values.insert(key, value.to_owned());
    }

    /// What was written for a key; empty if nothing was.
    pub(crate) fn value(&self, key: &str) -> &str {
        self.values.get(key).map_or("", String::as_str)
    }

    /// Whether a key's saved secret is to be forgotten.
    pub(crate) fn forgets(&self, key: &str) -> bool {
        self.forget.contains(key)
    }

    /// The secrets that were written.
    pub(crate) fn secrets(&self) -> BTreeMap<&'static str, String> {
        let secrets = self.kind.keys().filter(|about| is_password(about));
        let written = secrets.map(|about| (about.key, self.value(about.key).to_owned()));
        written.filter(|(_, value)| !value.is_empty()).collect()
    }

    /// Fills in secrets that were written before.
    pub(crate) fn fill(&mut self, secrets: &BTreeMap<&'static str, String>) {
        for (key, secret) in secrets {
            if self.value(key).is_empty() && !self.forgets(key) {
                self.set(key, secret);
            }
        }
    }

    /// The entry, with what it keeps of the one that was there `before`. Its values are not checked yet.
    ///
    /// # Errors
    /// The fields that cannot be part of any entry.
    pub(crate) fn entry(&self, before: Option<&Node>) -> Result<Node, Vec<FieldMistake>> {
        let origin = Origin::Flag("form".into());
        let mut mistakes = Vec::new();
        let (mut entries, mut kept) = (Vec::new(), Vec::new());
        for about in self.kind.keys() {
            let (key, written) = (about.key, self.value(about.key));
            let old = before.and_then(|before| child(before, key));
            let node = if !written.is_empty() {
                let dots = key == "name" && matches!(written, "." | "..");
                let dots = dots.then_some("Choose a name that can be part of an address.");
                if let Some(detail) = unfit(written).or(dots) {
                    mistakes.push(FieldMistake {
                        field: key.to_owned(),
                        detail: detail.to_owned(),
                    });
                }
                Node::raw(written, origin.clone())
            } else if let (Some(old), false) = (old, self.forgets(key))
                && matches!(shown(about, &text_of(old)), SavedValue::Hidden(_))
            {
                kept.push(key);
                old.clone()
            } else {
                continue;
            };
            entries.push(TreeEntry {
                key: key.to_owned(),
                origin: origin.clone(),
                node,
            });
        }
        let entry = Node {
            value: Value::Map(entries),
            origin,
        };
        if before.is_some_and(|before| leads_elsewhere(self.kind, before, &entry)) {
            mistakes.extend(kept.into_iter().map(|key| FieldMistake {
                field: key.to_owned(),
                detail: "Enter it again: the address or proxy has changed, and a saved secret is never sent to another server."
                    .to_owned(),
            }));
        }
        match mistakes.is_empty() {
            true => Ok(entry),
            false => Err(mistakes),
        }
    }
}

/// What may be shown of a saved entry, by key.
pub(crate) fn saved(kind: Kind, entry: &Node) -> BTreeMap<&'static str, SavedValue> {
    let all = kind.keys().map(|about| {
        let value = child(entry, about.key).map(text_of).unwrap_or_default();
        (about.key, shown(about, &value))
    });
    all.collect()
}

/// Whether a key is a password rather than an address that may hold one.
pub(crate) fn is_password(about: &About) -> bool {
    about.secret && !matches!(about.key, "uri" | "url" | "proxy")
}

fn shown(about: &About, value: &str) -> SavedValue {
    if value.is_empty() {
        return SavedValue::Unset;
    }
    match SecretUrl::parse(value) {
        _ if !about.secret => SavedValue::Shown(value.to_owned()),
        _ if is_password(about) => SavedValue::Hidden("saved".to_owned()),
        Some(url) if holds_no_secret(&url) => SavedValue::Shown(value.to_owned()),
        Some(url) => SavedValue::Hidden(url.to_string()),
        None => SavedValue::Hidden("saved".to_owned()),
    }
}

/// Whether nothing in an address can be a passkey: only what trackers and the usual programs have in their paths.
fn holds_no_secret(url: &SecretUrl) -> bool {
    const USUAL: [&str; 12] = [
        "", "announce", "scrape", "api", "torznab", "newznab", "v1", "v2.0", "indexers", "results",
        "prowlarr", "jackett",
    ];
    let url = url.expose_url();
    let bare = url.username().is_empty() && url.password().is_none();
    let parts: Vec<&str> = url.path().split('/').collect();
    let usual = parts.iter().enumerate().all(|(at, part)| {
        let number = part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit());
        // Jackett's name of an indexer.
        let site = at > 0 && parts[at - 1] == "indexers" && part.len() <= 30;
        number || site || USUAL.contains(part)
    });
    bare && usual && url.query().is_none() && url.fragment().is_none()
}

/// Whether two entries of an upstream call different servers, or the same one by another way.
fn leads_elsewhere(kind: Kind, before: &Node, now: &Node) -> bool {
    let place = |entry: &Node, key: &str| {
        let text = child(entry, key).map(text_of).unwrap_or_default();
        match SecretUrl::parse(&text) {
            Some(url) => url.place(),
            None => text.to_ascii_lowercase(),
        }
    };
    let mut way = kind.way().iter();
    way.any(|key| place(before, key) != place(now, key))
}

fn child<'a>(entry: &'a Node, key: &str) -> Option<&'a Node> {
    let Value::Map(entries) = &entry.value else {
        return None;
    };
    let found = entries.iter().find(|entry| entry.key == key);
    found.map(|entry| &entry.node)
}

/// A value as it is written in a form.
fn text_of(node: &Node) -> String {
    match &node.value {
        Value::Null | Value::Map(_) => String::new(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Text(text) | Value::Raw(text) => text.clone(),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(text_of).collect();
            items.join(", ")
        }
    }
}

fn text_of_json(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        Json::Bool(value) => Some(value.to_string()),
        Json::Array(items) => {
            let items: Option<Vec<String>> = items.iter().map(text_of_json).collect();
            Some(items?.join(", "))
        }
        Json::Null | Json::Object(_) => None,
    }
}

/// What no value may have, whatever its key.
fn unfit(value: &str) -> Option<&'static str> {
    if value.chars().count() > LONGEST {
        return Some("Write at most 2,000 characters.");
    }
    let control = value.chars().any(char::is_control);
    control.then_some("Remove line breaks and other control characters.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved_entry(kind: Kind, fields: &[(&'static str, &str)]) -> Node {
        draft(kind, fields).entry(None).unwrap()
    }

    fn draft(kind: Kind, fields: &[(&'static str, &str)]) -> Draft {
        let mut draft = Draft::new(kind);
        fields.iter().for_each(|(key, value)| draft.set(key, value));
        draft
    }

    #[test]
    fn an_empty_field_keeps_a_secret_and_nothing_else() {
        let before = saved_entry(
            Kind::Indexer,
            &[
                ("name", "a"),
                ("url", "http://i.example/api"),
                ("api_key", "k3y"),
                ("priority", "7"),
            ],
        );
        let now = draft(
            Kind::Indexer,
            &[("name", "a"), ("url", "http://i.example/api")],
        );
        let entry = now.entry(Some(&before)).unwrap();
        assert_eq!(
            child(&entry, "api_key").map(text_of).as_deref(),
            Some("k3y")
        );
        assert_eq!(child(&entry, "priority"), None, "its field was emptied");
        let mut now = now;
        now.forget.insert("api_key");
        assert_eq!(child(&now.entry(Some(&before)).unwrap(), "api_key"), None);
    }

    #[test]
    fn a_saved_secret_goes_to_no_other_server() {
        let before = saved_entry(
            Kind::Indexer,
            &[
                ("name", "a"),
                ("url", "http://i.example/api"),
                ("api_key", "k3y"),
            ],
        );
        for (key, value) in [
            ("url", "http://evil.example/api"),
            ("url", "https://i.example/api"),
            ("proxy", "http://evil.example"),
        ] {
            let mut now = draft(
                Kind::Indexer,
                &[("name", "a"), ("url", "http://i.example/api")],
            );
            now.set(key, value);
            let mistakes = now.entry(Some(&before)).unwrap_err();
            assert_eq!(mistakes[0].field, "api_key", "{key}: {value}");
            now.set("api_key", "another");
            assert!(now.entry(Some(&before)).is_ok(), "{key}: {value}");
        }
        let path = draft(
            Kind::Indexer,
            &[("name", "a"), ("url", "http://i.example/torznab/api")],
        );
        assert!(path.entry(Some(&before)).is_ok(), "the same server");
        let news = saved_entry(
            Kind::NewsServer,
            &[
                ("name", "n"),
                ("host", "n.example"),
                ("username", "me"),
                ("password", "w0rd"),
            ],
        );
        let moved = draft(
            Kind::NewsServer,
            &[("name", "n"), ("host", "evil.example"), ("username", "me")],
        );
        assert_eq!(moved.entry(Some(&news)).unwrap_err()[0].field, "password");
    }

    #[test]
    fn spaces_around_a_password_are_part_of_it() {
        let fields = [
            ("name", " n "),
            ("host", " n.example\t"),
            ("username", " me "),
            ("password", "  w0rd "),
        ];
        let entry = saved_entry(Kind::NewsServer, &fields);
        let values = fields.map(|(key, _)| child(&entry, key).map(text_of).unwrap());
        assert_eq!(values, ["n", "n.example", "me", "  w0rd "]);
    }

    #[test]
    fn addresses_with_passkeys_are_not_shown() {
        let about = |key: &str| Kind::Tracker.keys().find(|about| about.key == key).unwrap();
        for hidden in [
            "http://t.example/s3cr3tkey/announce",
            "http://t.example/announce?passkey=s3cr3tkey",
            "http://me:s3cr3tkey@t.example/announce",
            "http://t.example/12345678/announce",
        ] {
            let SavedValue::Hidden(left) = shown(about("uri"), hidden) else {
                panic!("{hidden} is shown");
            };
            assert_eq!(left, "http://t.example/…");
        }
        for open in [
            "udp://t.example:1337/announce",
            "http://127.0.0.1:9696/12/api",
            "http://127.0.0.1:9117/api/v2.0/indexers/some-site/results/torznab/api",
        ] {
            assert_eq!(
                shown(about("uri"), open),
                SavedValue::Shown(open.to_owned())
            );
        }
    }

    #[test]
    fn no_value_holds_control_characters_or_a_book() {
        for value in ["a\nb", "a\u{1b}[0m", "..", &"x".repeat(2001)] {
            let mistakes = draft(Kind::Tracker, &[("name", value)])
                .entry(None)
                .unwrap_err();
            assert_eq!(mistakes[0].field, "name");
        }
    }
}
