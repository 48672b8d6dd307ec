//! Writes caps, alone and in a list of indexers.

use serde_json::{Map, Value, json};

use super::{Caps, Category};
use crate::query::Function;
use crate::xml::{Writer, document};

/// The version of the protocol that programs expect to see.
const VERSION: &str = "1.3";

/// An indexer in a list: its id, its title, its kind, whether it is configured, what it can do.
pub type WrittenIndexer<'a> = (&'a str, &'a str, &'a str, bool, &'a Caps);

/// Writes Jackett's list of indexers (`t=indexers`) with their caps.
pub fn write_indexers(list: &[WrittenIndexer<'_>]) -> String {
    let mut writer = Writer::new(document());
    writer.open("indexers", &[]);
    writer.line();
    for (id, title, kind, configured, caps) in list {
        let configured = configured.to_string();
        writer.open("indexer", &[("id", id), ("configured", &configured)]);
        writer.line();
        writer.element("title", title);
        writer.element("description", title);
        writer.element("link", "");
        writer.element("language", "en-US");
        writer.element("type", kind);
        write_caps(&mut writer, caps);
        writer.close("indexer");
    }
    writer.close("indexers");
    writer.finish()
}

pub(super) fn xml(caps: &Caps) -> String {
    let mut writer = Writer::new(document());
    write_caps(&mut writer, caps);
    writer.finish()
}

fn write_caps(writer: &mut Writer, caps: &Caps) {
    writer.open("caps", &[]);
    writer.line();
    writer.empty("server", &[("version", VERSION), ("title", &caps.title)]);
    // Sonarr reads both as integers.
    let (default, max) = (caps.default_limit.to_string(), caps.max_limit.to_string());
    writer.empty("limits", &[("default", &default), ("max", &max)]);
    writer.empty("registration", &[("available", "no"), ("open", "no")]);
    writer.open("searching", &[]);
    writer.line();
    for (element, available, terms) in searching(caps) {
        let attributes = [("available", available), ("supportedParams", &terms)];
        writer.empty(element, &attributes);
    }
    writer.close("searching");
    writer.open("categories", &[]);
    writer.line();
    for category in &caps.categories {
        write_category(writer, category);
    }
    writer.close("categories");
    writer.open("tags", &[]);
    writer.line();
    for (name, description) in &caps.tags {
        writer.empty("tag", &[("name", name), ("description", description)]);
    }
    writer.close("tags");
    writer.close("caps");
}

fn write_category(writer: &mut Writer, category: &Category) {
    let id = category.id.to_string();
    let attributes = [("id", id.as_str()), ("name", &category.name)];
    if category.subcategories.is_empty() {
        writer.empty("category", &attributes);
        return;
    }
    writer.open("category", &attributes);
    writer.line();
    for child in &category.subcategories {
        let id = child.id.to_string();
        writer.empty("subcat", &[("id", &id), ("name", &child.name)]);
    }
    writer.close("category");
}

/// The elements of `searching`: name, whether it is there, and what it takes.
///
/// Music comes twice, since some programs look for music-search and some for audio-search. What is
/// not there has parameters all the same, which FlexGet and Sonarr insist on.
fn searching(caps: &Caps) -> Vec<(&'static str, &'static str, String)> {
    let elements = Function::ALL.into_iter().flat_map(|function| {
        let audio = (function == Function::Music).then_some("audio-search");
        let names = [Some(function.element()), audio].into_iter().flatten();
        names.map(move |name| (name, function))
    });
    let written = elements.map(|(name, function)| match caps.functions.get(&function) {
        None => (name, "no", "q".to_owned()),
        Some(terms) => {
            let words = caps.text.contains(&function).then_some("q");
            let names = words
                .into_iter()
                .chain(terms.iter().map(|term| term.name()));
            (name, "yes", names.collect::<Vec<_>>().join(","))
        }
    });
    written.collect()
}

pub(super) fn json(caps: &Caps) -> String {
    let (default, max) = (caps.default_limit.to_string(), caps.max_limit.to_string());
    let searching = searching(caps)
        .into_iter()
        .map(|(element, available, terms)| {
            let attributes = json!({"available": available, "supportedParams": terms});
            (element.to_owned(), json!({ "@attributes": attributes }))
        });
    let categories = caps.categories.iter().map(|category| {
        let below = category.subcategories.iter().map(named);
        let mut written = named(category);
        written["subcat"] = below.collect();
        written
    });
    let tags = caps.tags.iter().map(
        |(name, description)| json!({"@attributes": {"name": name, "description": description}}),
    );
    json!({
        "server": {"@attributes": {"version": VERSION, "title": caps.title}},
        "limits": {"@attributes": {"default": default, "max": max}},
        "registration": {"@attributes": {"available": "no", "open": "no"}},
        "searching": searching.collect::<Map<String, Value>>(),
        "categories": {"category": categories.collect::<Vec<Value>>()},
        "tags": {"tag": tags.collect::<Vec<Value>>()},
    })
    .to_string()
}

fn named(category: &Category) -> Value {
    json!({"@attributes": {"id": category.id.to_string(), "name": category.name}})
}
