//! The beginning of an answer: what it is, before anything of it is read.

use serde_json::Value;

use super::{Node, Nodes, Tag, trim_start};
use crate::error::{ErrorDocument, Unreadable, code};
use crate::text::{clean, cut};

/// Elements that begin a page for people, or what a broken program prints before its answer.
const PAGE: [&str; 10] = [
    "html", "head", "body", "title", "script", "center", "br", "b", "div", "p",
];

/// Errors in JSON longer than this are no errors.
const LONGEST_JSON: usize = 64 * 1024;

/// Opens a document whose root is called `name`; the walk stands inside of the root.
///
/// An error document is an error here, and so is everything else that is not what was asked for.
pub(crate) fn open<'a>(text: &'a str, name: &str) -> Result<Nodes<'a>, Unreadable> {
    let start = trim_start(text);
    match start.as_bytes().first() {
        None => return Err(Unreadable::Empty),
        Some(b'<') => {}
        Some(_) => return Err(not_xml(start)),
    }
    let mut nodes = Nodes::new(start);
    loop {
        match nodes.next()? {
            Node::Open(tag) if tag.name().eq_ignore_ascii_case(name) => return Ok(nodes),
            Node::Open(tag) if tag.name().eq_ignore_ascii_case("error") => {
                return Err(error(&mut nodes, &tag));
            }
            Node::Open(tag)
                if PAGE
                    .iter()
                    .any(|page| tag.name().eq_ignore_ascii_case(page)) =>
            {
                return Err(Unreadable::Html);
            }
            Node::Open(tag) => {
                return Err(Unreadable::NotAFeed(clean(cut(tag.name(), 100))));
            }
            Node::End => return Err(Unreadable::Empty),
            _ => {}
        }
    }
}

/// Reads an error document from its opened element, in any of the shapes that are about:
/// attributes, text, or elements for code and description.
pub(crate) fn error(nodes: &mut Nodes<'_>, tag: &Tag<'_>) -> Unreadable {
    match read_error(nodes, tag) {
        Ok(document) => Unreadable::Error(document),
        Err(unreadable) => unreadable,
    }
}

fn read_error(nodes: &mut Nodes<'_>, tag: &Tag<'_>) -> Result<ErrorDocument, Unreadable> {
    let mut code = tag.attribute("code")?.map(|code| code.into_owned());
    let mut description = None;
    for name in ["description", "message", "msg"] {
        let value = tag.attribute(name)?.map(|value| value.into_owned());
        description = description.or(value);
    }
    let (mut loose, mut inner) = (String::new(), String::new());
    let outside = nodes.depth() - 1;
    while nodes.depth() > outside {
        match nodes.next()? {
            Node::Open(tag) => {
                let name = tag.name().to_ascii_lowercase();
                nodes.text(&mut inner)?;
                match name.as_str() {
                    "code" => code = Some(inner.clone()),
                    "description" | "message" => description = Some(inner.clone()),
                    _ => {}
                }
            }
            Node::Text(piece) if loose.len() < LONGEST_JSON => loose.push_str(piece),
            Node::Character(character) => loose.push(character),
            Node::End => break,
            _ => {}
        }
    }
    let description = description.unwrap_or(loose);
    Ok(document(code.as_deref(), &description))
}

fn document(code: Option<&str>, description: &str) -> ErrorDocument {
    let code = code.and_then(|code| code.trim().parse().ok());
    let description = clean(cut(description.trim(), 1_000));
    ErrorDocument {
        code: code.unwrap_or(code::UNKNOWN),
        description,
    }
}

/// What begins with something other than a tag: an error in JSON, Cloudflare's one line, or text.
fn not_xml(text: &str) -> Unreadable {
    if text.starts_with("error code: 1") {
        return Unreadable::Html;
    }
    if let Some(document) = json_error(text) {
        return Unreadable::Error(document);
    }
    let cause = format!("it begins with \"{}\"", clean(cut(text, 100)));
    Unreadable::NotXml { at: 0, cause }
}

fn json_error(text: &str) -> Option<ErrorDocument> {
    if !text.starts_with('{') || text.len() > LONGEST_JSON {
        return None;
    }
    let value: Value = serde_json::from_str(text).ok()?;
    let error = value.get("error")?;
    let error = error.get("@attributes").unwrap_or(error);
    let as_text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let field = |names: &[&str]| {
        let beside = [error, &value];
        let found = beside
            .iter()
            .flat_map(|place| names.iter().map(|name| place.get(*name)));
        found.flatten().find_map(as_text)
    };
    let description = field(&["description", "message"]).or_else(|| as_text(error));
    Some(document(field(&["code"]).as_deref(), &description?))
}
