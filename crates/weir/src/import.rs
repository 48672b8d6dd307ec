//! `weir import`: prints the indexers of Prowlarr or Jackett as lines of configuration.

use std::fmt::Write as _;
use std::io::Write;

use anyhow::{Context, anyhow, bail};
use serde_json::Value;
use weir_config::Secret;
use weir_search_proto::error::code;
use weir_search_proto::{ListedIndexer, Unreadable, read_indexers};

use crate::cli::From;
use crate::remote::Remote;

/// One indexer, as it will be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ImportedIndexer {
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) usenet: bool,
    pub(crate) priority: Option<u64>,
    /// The keys and values of its limits.
    pub(crate) limits: Vec<(&'static str, u64)>,
    pub(crate) tags: Vec<String>,
    pub(crate) enabled: bool,
}

/// Asks the program and prints its indexers as configuration.
///
/// # Errors
/// If it cannot be reached, or has no indexers.
pub fn run(
    from: From,
    url: &str,
    key: &str,
    out: &mut dyn Write,
    notes: &mut dyn Write,
) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start")?;
    let remote = Remote::new(url, Secret::new(key), from.about_key())?;
    let entries = runtime.block_on(list(from, &remote, key))?;
    out.write_all(text(&entries, key).as_bytes())?;
    let count = match entries.len() {
        1 => "1 indexer".to_owned(),
        count => format!("{count} indexers"),
    };
    let off = entries.iter().filter(|entry| !entry.enabled).count();
    let off = match off {
        0 => String::new(),
        off => format!("; {off} disabled there, commented out here"),
    };
    writeln!(
        notes,
        "weir: {count}{off}. Add the lines to weir.yaml, then run `weir check`"
    )?;
    Ok(())
}

/// The indexers that a program has.
///
/// # Errors
/// If it cannot be reached, or has none.
pub(crate) async fn list(
    from: From,
    remote: &Remote,
    key: &str,
) -> anyhow::Result<Vec<ImportedIndexer>> {
    let entries = match from {
        From::Prowlarr => prowlarr(remote).await?,
        From::Jackett => jackett(remote, key).await?,
    };
    if entries.is_empty() {
        bail!("{} has no configured indexers", remote.base());
    }
    Ok(entries)
}

async fn prowlarr(remote: &Remote) -> anyhow::Result<Vec<ImportedIndexer>> {
    let list = remote.get("/api/v1/indexer").await?;
    let list = list
        .as_array()
        .ok_or_else(|| From::Prowlarr.is_not_at(remote))?;
    // Older versions have no tags, and indexers work without them.
    let tags = remote.get("/api/v1/tag").await.unwrap_or_default();
    let entries = list.iter().filter_map(|indexer| {
        let id = indexer["id"].as_u64()?;
        Some(ImportedIndexer {
            name: word(indexer["name"].as_str()?),
            url: format!("{}/{id}/api", remote.base()),
            usenet: indexer["protocol"] == "usenet",
            priority: indexer["priority"].as_u64(),
            limits: limits(&indexer["fields"]),
            tags: tags_of(&indexer["tags"], &tags),
            enabled: indexer["enable"].as_bool().unwrap_or(true),
        })
    });
    Ok(distinct(entries.collect()))
}

/// The limits its owner set, per day or per hour.
fn limits(fields: &Value) -> Vec<(&'static str, u64)> {
    let field = |name: &str| {
        let all = fields.as_array()?;
        let field = all.iter().find(|field| field["name"] == name)?;
        field["value"].as_u64()
    };
    let windows = match field("baseSettings.limitsUnit") {
        Some(1) => ["per_hour", "grabs_per_hour"],
        _ => ["per_day", "grabs_per_day"],
    };
    let calls = ["baseSettings.queryLimit", "baseSettings.grabLimit"].map(field);
    let limits = windows.into_iter().zip(calls);
    limits
        .filter_map(|(window, calls)| Some((window, calls.filter(|calls| *calls > 0)?)))
        .collect()
}

fn tags_of(ids: &Value, all: &Value) -> Vec<String> {
    let label = |id: &Value| {
        let mut all = all.as_array()?.iter();
        all.find(|tag| tag["id"] == *id)?["label"]
            .as_str()
            .map(word)
    };
    let ids = ids.as_array().map(Vec::as_slice).unwrap_or_default();
    ids.iter().filter_map(label).collect()
}

async fn jackett(remote: &Remote, key: &str) -> anyhow::Result<Vec<ImportedIndexer>> {
    let key: String = url::form_urlencoded::byte_serialize(key.as_bytes()).collect();
    let path = format!(
        "/api/v2.0/indexers/all/results/torznab/api?t=indexers&configured=true&apikey={key}"
    );
    let body = remote.bytes(&path).await?;
    let list = read_indexers(&body).map_err(|error| match error {
        Unreadable::Error(error) if error.code == code::BAD_CREDENTIALS => remote.rejected_key(),
        Unreadable::Error(error) => anyhow!("{} answered: {error}", remote.base()),
        _ => From::Jackett.is_not_at(remote),
    })?;
    let set_up = list.into_iter().filter(|indexer| indexer.configured);
    let entries = set_up.map(|ListedIndexer { id, title, .. }| ImportedIndexer {
        url: format!(
            "{}/api/v2.0/indexers/{id}/results/torznab/api",
            remote.base()
        ),
        name: word(if title.is_empty() { &id } else { &title }),
        enabled: true,
        ..ImportedIndexer::default()
    });
    Ok(distinct(entries.collect()))
}

impl From {
    /// The program, as its makers write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Prowlarr => "Prowlarr",
            Self::Jackett => "Jackett",
        }
    }

    /// What to do in the terminal if the key is rejected.
    pub(crate) fn about_key(self) -> &'static str {
        match self {
            Self::Prowlarr => {
                "give Prowlarr's own after its address: in Prowlarr, Settings, General, API key"
            }
            Self::Jackett => {
                "give Jackett's own after its address: in Jackett, at the top of the dashboard"
            }
        }
    }

    /// Something else answered.
    fn is_not_at(self, remote: &Remote) -> anyhow::Error {
        let example = match self {
            Self::Prowlarr => "http://127.0.0.1:9696",
            Self::Jackett => "http://127.0.0.1:9117",
        };
        anyhow!(
            "{} answered, but not as {} does; give the address that you open in a browser, such as {example}",
            remote.base(),
            self.name()
        )
    }
}

/// A name that `check::path_word` accepts.
fn word(name: &str) -> String {
    let mut word = String::new();
    for letter in name.trim().chars().take(60) {
        match letter {
            letter if letter.is_alphanumeric() || "._-".contains(letter) => word.push(letter),
            _ if word.ends_with('-') => {}
            _ => word.push('-'),
        }
    }
    match word.trim_matches('-') {
        "" => "indexer".to_owned(),
        word => word.to_owned(),
    }
}

/// Makes the names distinct.
fn distinct(mut entries: Vec<ImportedIndexer>) -> Vec<ImportedIndexer> {
    for place in 0..entries.len() {
        let (before, rest) = entries.split_at_mut(place);
        let name = &mut rest[0].name;
        let base = name.clone();
        let mut number = 2;
        while before.iter().any(|other| other.name == *name) {
            *name = format!("{base}-{number}");
            number += 1;
        }
    }
    entries
}

/// The lines of configuration.
fn text(entries: &[ImportedIndexer], key: &str) -> String {
    let mut text = "search:\n  indexers:\n".to_owned();
    for entry in entries {
        let quoted = |text: &str| serde_json::to_string(text).unwrap_or_default();
        let kind = if entry.usenet { "newznab" } else { "torznab" };
        let mut line = format!(
            "{{ name: {}, url: {}, api_key: {}, kind: {kind}",
            quoted(&entry.name),
            quoted(&entry.url),
            quoted(key)
        );
        if let Some(priority) = entry.priority {
            let _ = write!(line, ", priority: {priority}");
        }
        for (limit, count) in &entry.limits {
            let _ = write!(line, ", {limit}: {count}");
        }
        if !entry.tags.is_empty() {
            let tags: Vec<String> = entry.tags.iter().map(|tag| quoted(tag)).collect();
            let _ = write!(line, ", tags: [{}]", tags.join(", "));
        }
        let off = if entry.enabled { "" } else { "# " };
        let _ = writeln!(text, "    {off}- {line} }}");
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_become_words_and_stay_apart() {
        assert_eq!(word("My Indexer (API)"), "My-Indexer-API");
        assert_eq!(word("  "), "indexer");
        let entry = |name: &str| ImportedIndexer {
            name: name.into(),
            ..ImportedIndexer::default()
        };
        let entries = distinct(vec![entry("a"), entry("a"), entry("a")]);
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["a", "a-2", "a-3"]);
    }

    #[test]
    fn limits_keep_their_unit() {
        let fields = |unit: u64| {
            json!([
                { "name": "baseSettings.queryLimit", "value": 100 },
                { "name": "baseSettings.grabLimit", "value": 5 },
                { "name": "baseSettings.limitsUnit", "value": unit },
                { "name": "other" },
            ])
        };
        assert_eq!(limits(&fields(0)), [("per_day", 100), ("grabs_per_day", 5)]);
        assert_eq!(
            limits(&fields(1)),
            [("per_hour", 100), ("grabs_per_hour", 5)]
        );
        assert_eq!(limits(&json!([])), []);
    }

    #[test]
    fn the_lines_are_good_configuration() {
        let entries = [
            ImportedIndexer {
                name: "one".into(),
                url: "http://127.0.0.1:9696/1/api".into(),
                priority: Some(7),
                limits: vec![("per_day", 3)],
                tags: vec!["tv".into()],
                enabled: true,
                ..ImportedIndexer::default()
            },
            ImportedIndexer {
                name: "two".into(),
                usenet: true,
                ..ImportedIndexer::default()
            },
        ];
        let text = text(&entries, "k\"ey");
        assert_eq!(
            text,
            "search:\n  indexers:\n    - { name: \"one\", url: \"http://127.0.0.1:9696/1/api\", api_key: \"k\\\"ey\", kind: torznab, priority: 7, per_day: 3, tags: [\"tv\"] }\n    # - { name: \"two\", url: \"\", api_key: \"k\\\"ey\", kind: newznab }\n"
        );
    }
}
