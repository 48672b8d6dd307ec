//! Writes our feed so that Sonarr, Radarr, Prowlarr, cross-seed, FlexGet, autobrr and qui read it.

use super::{ApiLimits, Channel, Item};
use crate::date;
use crate::release::Protocol;
use crate::xml::{Writer, document};

/// The namespaces of a feed; those of the two protocols are known to clients by these very words.
const NAMESPACES: [(&str, &str); 5] = [
    ("version", "2.0"),
    ("xmlns:atom", "http://www.w3.org/2005/Atom"),
    ("xmlns:torznab", "http://torznab.com/schemas/2015/feed"),
    (
        "xmlns:newznab",
        "http://www.newznab.com/DTD/2010/feeds/attributes/",
    ),
    ("xmlns:weir", "urn:weir:feed"),
];

/// About what an item takes.
const ITEM: usize = 2_048;

/// Writes a feed as XML.
pub fn write_feed<'a>(channel: &Channel<'_>, items: impl IntoIterator<Item = Item<'a>>) -> String {
    let items = items.into_iter();
    let mut writer = Writer::new(document());
    writer.reserve(ITEM * (items.size_hint().0 + 1));
    writer.open("rss", &NAMESPACES);
    writer.line();
    writer.open("channel", &[]);
    writer.line();
    head(&mut writer, channel);
    for item in items {
        write_item(&mut writer, &item);
    }
    writer.close("channel");
    writer.close("rss");
    writer.finish()
}

fn head(writer: &mut Writer, channel: &Channel<'_>) {
    writer.element("title", channel.title);
    writer.element("description", channel.description);
    writer.element("link", channel.link);
    let own = [
        ("href", channel.self_url),
        ("rel", "self"),
        ("type", "application/rss+xml"),
    ];
    writer.empty("atom:link", &own);
    let (offset, total) = (channel.offset.to_string(), channel.total.to_string());
    writer.empty(
        "newznab:response",
        &[("offset", &offset), ("total", &total)],
    );
    if let Some(limits) = &channel.limits {
        write_limits(writer, limits);
    }
    for skipped in channel.skipped {
        let until = skipped.until.map(date::iso_form);
        let mut attributes = vec![
            ("indexer", skipped.indexer.as_str()),
            ("reason", &skipped.reason),
        ];
        attributes.extend(until.as_deref().map(|until| ("until", until)));
        writer.empty("weir:skipped", &attributes);
    }
}

fn write_limits(writer: &mut Writer, limits: &ApiLimits) {
    let limits: Vec<(&str, String)> = named(limits).collect();
    let limits: Vec<(&str, &str)> = limits.iter().map(|(k, v)| (*k, v.as_str())).collect();
    writer.empty("newznab:apilimits", &limits);
}

/// The limits that are known, by their names in the protocol.
pub(super) fn named(limits: &ApiLimits) -> impl Iterator<Item = (&'static str, String)> + use<> {
    let limits = [
        ("apicurrent", limits.calls_made),
        ("apimax", limits.calls_allowed),
        ("grabcurrent", limits.grabs_made),
        ("grabmax", limits.grabs_allowed),
    ];
    let known = limits.into_iter();
    known.filter_map(|(name, limit)| Some((name, limit?.to_string())))
}

fn write_item(writer: &mut Writer, item: &Item<'_>) {
    let release = item.release;
    let size = release.size.unwrap_or(0).to_string();
    writer.open("item", &[]);
    writer.line();
    writer.element("title", &release.title);
    writer.open("guid", &[("isPermaLink", "false")]);
    writer.text(item.guid);
    writer.close("guid");
    let (id, name) = item.indexer;
    writer.open("indexer", &[("id", id)]);
    writer.text(name);
    writer.close("indexer");
    for other in item.also {
        writer.element("weir:also", other);
    }
    if let Some(details) = &release.details {
        writer.element("comments", details);
    }
    // Clients cannot do without a date; the beginning of time is read as none by ourselves.
    writer.open("pubDate", &[]);
    writer.raw(|out| date::write(release.published.unwrap_or(0), out));
    writer.close("pubDate");
    writer.element("size", &size);
    writer.element("link", item.download);
    for category in item.some_categories() {
        writer.element("category", &category.to_string());
    }
    let enclosure = [
        ("url", item.download),
        ("length", &size),
        ("type", item.media_type()),
    ];
    writer.empty("enclosure", &enclosure);
    let attribute = match item.protocol {
        Protocol::Torrent => "torznab:attr",
        Protocol::Nzb => "newznab:attr",
    };
    item.each_attribute(|name, value| {
        writer.empty(attribute, &[("name", name), ("value", value)]);
    });
    writer.close("item");
}
