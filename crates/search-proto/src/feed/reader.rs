//! Reads an indexer's feed.

use super::draft::Draft;
use super::{ApiLimits, Feed};
use crate::error::Unreadable;
use crate::number;
use crate::xml::{self, Node, Nodes, Tag};

/// Items of a feed that are read.
const ITEMS: usize = 10_000;

/// Reads a feed; `charset` is that of the answer's `Content-Type`, or the whole header.
///
/// Tolerant in form, strict in size: see [`Unreadable`] for what is refused. Time and memory are
/// proportional to the body, which the caller bounds.
pub fn read_feed(body: &[u8], charset: Option<&str>) -> Result<Feed, Unreadable> {
    let text = xml::decode(body, charset)?;
    let mut nodes = xml::open(&text, "rss")?;
    let mut feed = Feed::default();
    let mut scratch = String::new();
    let mut channel = false;
    // What comes after the root, such as a warning of PHP, is of no interest.
    while nodes.depth() > 0 {
        let Node::Open(tag) = nodes.next()? else {
            continue;
        };
        match tag.name() {
            "channel" => channel = true,
            "item" => {
                if feed.releases.len() + feed.odd as usize >= ITEMS {
                    return Err(Unreadable::TooMany);
                }
                match read_item(&mut nodes, &mut scratch)? {
                    Some(release) => feed.releases.push(release),
                    None => feed.odd += 1,
                }
            }
            "error" => return Err(xml::error(&mut nodes, &tag)),
            "response" => {
                feed.offset = number_of(&tag, "offset")?;
                feed.total = number_of(&tag, "total")?;
                nodes.skip()?;
            }
            "apilimits" | "apiLimits" => {
                feed.limits = Some(limits(&tag)?);
                nodes.skip()?;
            }
            _ => nodes.skip()?,
        }
    }
    match channel {
        true => Ok(feed),
        false => Err(Unreadable::NotAFeed("rss".to_owned())),
    }
}

fn read_item(
    nodes: &mut Nodes<'_>,
    scratch: &mut String,
) -> Result<Option<crate::Release>, Unreadable> {
    let mut draft = Draft::default();
    let outside = nodes.depth() - 1;
    while nodes.depth() > outside {
        if let Node::Open(tag) = nodes.next()? {
            draft.element(&tag, nodes, scratch)?;
        }
    }
    Ok(draft.finish())
}

fn number_of(tag: &Tag<'_>, name: &str) -> Result<Option<u64>, Unreadable> {
    let value = tag.attribute(name)?;
    Ok(value.and_then(|value| value.trim().parse().ok()))
}

fn limits(tag: &Tag<'_>) -> Result<ApiLimits, Unreadable> {
    let count = |name| {
        let value = tag.attribute(name)?;
        Ok(value.and_then(|value| number::count(&value)))
    };
    Ok(ApiLimits {
        calls_made: count("apicurrent")?,
        calls_allowed: count("apimax")?,
        grabs_made: count("grabcurrent")?,
        grabs_allowed: count("grabmax")?,
    })
}
