//! Writes our feed as JSON in the shape of Newznab: XML's attributes are under `@attributes`.

use serde_json::{Map, Value, json};

use super::writer::named;
use super::{Channel, Item};
use crate::date;

/// Writes a feed as JSON, for those who asked with `o=json`.
pub fn write_feed_json<'a>(
    channel: &Channel<'_>,
    items: impl IntoIterator<Item = Item<'a>>,
) -> String {
    let items: Vec<Value> = items.into_iter().map(|item| write_item(&item)).collect();
    let (offset, total) = (channel.offset.to_string(), channel.total.to_string());
    let skipped = channel.skipped.iter().map(|skipped| {
        let until = skipped.until.map(date::iso_form);
        json!({"@attributes": {"indexer": skipped.indexer, "reason": skipped.reason, "until": until}})
    });
    let mut written = json!({
        "title": channel.title,
        "description": channel.description,
        "link": channel.link,
        "response": {"@attributes": {"offset": offset, "total": total}},
        "skipped": skipped.collect::<Vec<Value>>(),
        "item": items,
    });
    if let Some(limits) = &channel.limits {
        let limits: Map<String, Value> = named(limits)
            .map(|(name, limit)| (name.to_owned(), limit.into()))
            .collect();
        written["apilimits"] = json!({ "@attributes": limits });
    }
    json!({"@attributes": {"version": "2.0"}, "channel": written}).to_string()
}

fn write_item(item: &Item<'_>) -> Value {
    let release = item.release;
    let mut published = String::new();
    date::write(release.published.unwrap_or(0), &mut published);
    let size = release.size.unwrap_or(0).to_string();
    let categories = item.some_categories().iter().map(u32::to_string);
    let mut attributes = Vec::new();
    item.each_attribute(|name, value| {
        attributes.push(json!({"@attributes": {"name": name, "value": value}}));
    });
    let enclosure = json!({"url": item.download, "length": size, "type": item.media_type()});
    json!({
        "title": release.title,
        "guid": item.guid,
        "link": item.download,
        "comments": release.details,
        "pubDate": published,
        "size": size,
        "category": categories.collect::<Vec<String>>(),
        "indexer": {"@attributes": {"id": item.indexer.0}, "#text": item.indexer.1},
        "also": item.also,
        "enclosure": {"@attributes": enclosure},
        "attr": attributes,
    })
}
