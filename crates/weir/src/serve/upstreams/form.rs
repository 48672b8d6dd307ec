//! The form of one upstream: its fields in the order and with the words in which people read them.

use std::collections::BTreeMap;

use askama::Template;
use weir_config::About;
use weir_web::FieldMistake;

use super::TriedOut;
use crate::added::{Draft, Kind, SavedValue, is_password};

/// One field.
#[derive(Template)]
#[template(path = "upstream_field.html")]
pub(super) struct FormField {
    pub(super) key: &'static str,
    label: &'static str,
    hint: String,
    value: String,
    password: bool,
    required: bool,
    words: Vec<FieldWord>,
    /// What may be shown of a saved secret.
    saved: Option<String>,
    /// Whether the secret that is saved or remembered can be dropped, and whether that was ticked.
    forgettable: bool,
    forgets: bool,
    /// What is saved now, if that is not what was typed: somebody else has changed it.
    now: Option<String>,
    mistake: Option<String>,
    /// Filled in by what the upstream told.
    told: bool,
    /// Not empty: a secret that was typed and is remembered.
    remembered: bool,
}

/// One word of a choice.
struct FieldWord {
    value: &'static str,
    label: String,
    chosen: bool,
}

/// What the form is filled with.
pub(super) struct Filled<'a> {
    pub(super) draft: &'a Draft,
    /// What is saved, if this is a change.
    pub(super) saved: Option<BTreeMap<&'static str, SavedValue>>,
    /// Whether somebody else has changed it since it was shown.
    pub(super) changed: bool,
    pub(super) mistakes: &'a [FieldMistake],
    pub(super) tried: Option<TriedOut>,
}

#[derive(Template)]
#[template(path = "upstream_form.html")]
pub(super) struct FormPage<'a> {
    pub(super) form_token: &'a str,
    pub(super) title: String,
    pub(super) action: String,
    /// The page of the upstream, if it is there.
    pub(super) upstream: Option<(String, String)>,
    /// The kinds to choose from; none for a change.
    pub(super) kinds: Vec<KindLink>,
    pub(super) usual: Vec<FormField>,
    pub(super) more: Vec<FormField>,
    pub(super) revision: String,
    pub(super) kept: String,
    /// What is wrong besides fields.
    pub(super) trouble: Option<String>,
    pub(super) details: Vec<String>,
    pub(super) tried: Option<(bool, String)>,
    /// What *Try it* does, and how long it may take.
    pub(super) tries: &'static str,
    pub(super) longest: String,
    pub(super) file: String,
}

/// A kind to choose.
pub(super) struct KindLink {
    href: String,
    label: &'static str,
    chosen: bool,
}

impl FormPage<'_> {
    fn wrong(&self) -> Vec<&FormField> {
        let fields = self.usual.iter().chain(&self.more);
        fields.filter(|field| field.mistake.is_some()).collect()
    }

    /// Whether *More settings* is unfolded: nothing that is set or wrong hides.
    fn open(&self) -> bool {
        self.more.iter().any(FormField::is_to_be_seen)
    }
}

impl FormField {
    /// Its label within a sentence.
    fn thing(&self) -> String {
        match self.label {
            "API key" => self.label.to_owned(),
            label => label.to_lowercase(),
        }
    }

    fn is_to_be_seen(&self) -> bool {
        let set = !self.value.is_empty() || self.saved.is_some() || self.remembered;
        set || self.mistake.is_some() || self.now.is_some()
    }
}

/// Links to the forms of all kinds.
pub(super) fn kinds(chosen: Kind) -> Vec<KindLink> {
    let all = Kind::ALL.into_iter();
    all.map(|kind| KindLink {
        href: format!("/upstreams/add?front={}", kind.front()),
        label: match kind {
            Kind::Tracker => "Tracker",
            Kind::Indexer => "Indexer",
            Kind::NewsServer => "News server",
        },
        chosen: kind == chosen,
    })
    .collect()
}

/// The fields that everybody fills in, and the others.
pub(super) fn fields(filled: &Filled<'_>) -> (Vec<FormField>, Vec<FormField>) {
    let kind = filled.draft.kind;
    let usual: &[&str] = match kind {
        Kind::Tracker => &["name", "uri"],
        Kind::Indexer => &[
            "name",
            "url",
            "api_key",
            "kind",
            "limits",
            "grab_limits",
            "priority",
        ],
        Kind::NewsServer => &[
            "name",
            "host",
            "port",
            "tls",
            "username",
            "password",
            "connections",
        ],
    };
    let mut more: Vec<FormField> = kind.keys().map(|about| field(about, filled)).collect();
    let usual = usual.iter().filter_map(|key| {
        let at = more.iter().position(|field| field.key == *key)?;
        Some(more.remove(at))
    });
    let usual: Vec<FormField> = usual.collect();
    (usual, more)
}

fn field(about: &'static About, filled: &Filled<'_>) -> FormField {
    let (key, password) = (about.key, is_password(about));
    let draft = filled.draft;
    let saved = filled.saved.as_ref().and_then(|saved| saved.get(key));
    let hidden = match saved {
        Some(SavedValue::Hidden(left)) => Some(left.clone()),
        _ => None,
    };
    let told = filled.tried.as_ref().and_then(|tried| {
        let free = draft.value(key).is_empty() && has_no_limits(draft, key);
        let mut all = tried.told.iter().filter(|_| free);
        all.find(|(told, _)| *told == key).map(|(_, value)| value)
    });
    let default = about.default.unwrap_or_default();
    let written = told.map_or(draft.value(key), String::as_str);
    let value = match written == default && !about.words.is_empty() {
        true => "",
        false => written,
    };
    let remembered = password && !value.is_empty();
    let words = about.words.iter().map(|word| FieldWord {
        value: if *word == default { "" } else { word },
        label: match *word == default {
            true => format!("{word} (default)"),
            false => (*word).to_owned(),
        },
        chosen: *word == value || value.is_empty() && *word == default,
    });
    let now = match saved {
        _ if !filled.changed => None,
        Some(SavedValue::Shown(now)) => (now != draft.value(key)).then(|| now.clone()),
        Some(SavedValue::Unset) | None => {
            (!draft.value(key).is_empty()).then(|| "nothing".to_owned())
        }
        Some(SavedValue::Hidden(_)) => None,
    };
    let mut mistakes = filled.mistakes.iter();
    let mistake = mistakes.find(|mistake| mistake.field == key);
    let tried = filled.tried.as_ref();
    let tried = tried.filter(|tried| !tried.answered && tried.field == Some(key));
    FormField {
        key,
        label: label(draft.kind, key),
        hint: hint(draft.kind, about),
        password,
        required: about.default.is_none() && hidden.is_none(),
        words: words.collect(),
        forgettable: (hidden.is_some() || remembered) && about.default.is_some(),
        forgets: draft.forgets(key),
        saved: hidden,
        now,
        mistake: mistake
            .map(|mistake| mistake.detail.clone())
            .or_else(|| tried.map(|tried| tried.sentence.clone())),
        told: told.is_some(),
        remembered,
        // Never back to the page: it is remembered here until the form is saved.
        value: if password {
            String::new()
        } else {
            value.to_owned()
        },
    }
}

/// Whether nothing else limits what this key limits.
fn has_no_limits(draft: &Draft, key: &str) -> bool {
    let same: &[&str] = match key {
        "limits" => &["limits", "per_minute", "per_hour", "per_day"],
        "grab_limits" => &["grab_limits", "grabs_per_hour", "grabs_per_day"],
        _ => &[],
    };
    same.iter().all(|key| draft.value(key).is_empty())
}

/// What to write, with the default. Whoever fills in a form sees no keys and no `null`: an empty field is their default.
fn hint(kind: Kind, about: &About) -> String {
    let doc = match in_a_form(kind, about.key) {
        Some(hint) => hint.to_owned(),
        None => about.doc.trim().replace("null for", "leave empty for"),
    };
    match about.default {
        Some("[]") => format!("{doc} Separate several with commas."),
        Some(default) if about.words.is_empty() && default != "null" => {
            format!("{doc} Default: {default}.")
        }
        _ => doc,
    }
}

/// The hint of a key whose documentation speaks of other keys, or of values as a file has them.
fn in_a_form(kind: Kind, key: &str) -> Option<&'static str> {
    Some(match (kind, key) {
        (Kind::Indexer, "limits") => {
            "How many calls it allows in a length of time: 300/5m is 300 in any five minutes, 1000/1d is 1,000 in any day."
        }
        (Kind::Indexer, "grab_limits") => {
            "How many downloads it allows in a length of time, such as 25/30d."
        }
        (Kind::Indexer, "min_request_interval") => {
            "Minimum time between two calls; for urgent calls, Weir waits only part of it. Leave empty for the time that all indexers share."
        }
        (Kind::Indexer, "reset_hour") => {
            "Hour of the day (UTC, 0 to 23) when its daily counts start again at 0. Leave empty to count the last 24 hours."
        }
        (Kind::Indexer, "kind") => "Torznab for torrents, Newznab for Usenet.",
        (Kind::Tracker, "timeout") => {
            "Timeout of one attempt. Leave empty for the timeout that all trackers share."
        }
        (Kind::NewsServer, "port") => {
            "Leave empty for the usual port: 119 without encryption or with starttls, else 563. With auto, 119 is tried after 563."
        }
        (Kind::NewsServer, "tls") => {
            "auto uses TLS if possible and never sends a password unencrypted; tls encrypts from the first byte, starttls after a command; off never does."
        }
        _ => return None,
    })
}

fn label(kind: Kind, key: &'static str) -> &'static str {
    match (kind, key) {
        (_, "name") => "Name",
        (_, "uri") => "Announce URL",
        (_, "url") => "Address",
        (Kind::Tracker, "host") => "Host header",
        (_, "host") => "Host",
        (_, "api_key") => "API key",
        (_, "kind") => "Protocol",
        (_, "priority") => "Priority",
        (_, "limits") => "Call limits",
        (_, "grab_limits") => "Download limits",
        (_, "min_request_interval") => "Time between calls",
        (_, "per_minute") => "Calls per minute",
        (_, "per_hour") => "Calls per hour",
        (_, "per_day") => "Calls per day",
        (_, "grabs_per_hour") => "Downloads per hour",
        (_, "grabs_per_day") => "Downloads per day",
        (_, "reset_hour") => "Reset hour",
        (_, "categories") => "Categories",
        (_, "tags") => "Tags",
        (_, "timeout") => "Timeout",
        (_, "proxy") => "Proxy",
        (_, "download") => "Downloads",
        (_, "ip") => "Address to announce",
        (_, "family") => "Address family",
        (_, "port") => "Port",
        (_, "tls") => "Encryption",
        (_, "username") => "User name",
        (_, "password") => "Password",
        (_, "connections") => "Connections",
        (_, key) => key,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_hint_speaks_of_the_file() {
        for kind in Kind::ALL {
            for about in kind.keys() {
                let hint = hint(kind, about);
                let of_a_file = |word: &str| hint.contains(word);
                assert!(
                    !["null", "_", "Further"].into_iter().any(of_a_file),
                    "{hint}"
                );
            }
        }
    }

    #[test]
    fn what_is_set_does_not_hide() {
        let seen = |kind: Kind, key: &'static str, value: &str| {
            let mut draft = Draft::new(kind);
            draft.set(key, value);
            let filled = Filled {
                draft: &draft,
                saved: None,
                changed: false,
                mistakes: &[],
                tried: None,
            };
            let (_, more) = fields(&filled);
            more.iter().any(FormField::is_to_be_seen)
        };
        assert!(
            seen(Kind::Indexer, "per_day", "100"),
            "a limit of Prowlarr's"
        );
        assert!(seen(Kind::Indexer, "download", "magnet"));
        assert!(seen(Kind::Tracker, "host", "h.example"));
        assert!(!seen(Kind::Indexer, "download", "proxy"), "the default");
        assert!(!seen(Kind::Indexer, "limits", "100/1d"), "it is above");
        let draft = Draft::new(Kind::Tracker);
        let hidden = SavedValue::Hidden("http://p.example/…".to_owned());
        let filled = Filled {
            draft: &draft,
            saved: Some(BTreeMap::from([("proxy", hidden)])),
            changed: false,
            mistakes: &[],
            tried: None,
        };
        let (_, more) = fields(&filled);
        assert!(more.iter().any(FormField::is_to_be_seen), "a saved secret");
    }

    #[test]
    fn every_key_has_a_label_of_its_own() {
        for kind in Kind::ALL {
            let mut labels: Vec<&str> = kind.keys().map(|about| label(kind, about.key)).collect();
            assert!(
                labels
                    .iter()
                    .all(|label| label.starts_with(char::is_uppercase)),
                "{labels:?}"
            );
            labels.sort_unstable();
            labels.dedup();
            assert_eq!(labels.len(), kind.keys().count());
        }
    }
}
