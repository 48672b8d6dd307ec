//! Text to nodes: a walk through a document that knows how far it may go.
//!
//! Nodes borrow from the text. Of everything that makes XML dangerous nothing is left: a document
//! that declares entities is refused, nothing is ever fetched, and depth is bounded.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::attribute::Attributes;
use super::entity::{self, Meaning};
use super::{DEPTH, LONGEST};
use crate::error::Unreadable;

/// A piece of a document.
#[derive(Debug)]
pub(crate) enum Node<'a> {
    /// An element begins.
    Open(Tag<'a>),
    /// The innermost element ends.
    Close,
    /// Text; an element's text can come in several pieces.
    Text(&'a str),
    /// A character of the text that was written as a number.
    Character(char),
    /// A reference that means nothing, without its `&` and `;`.
    Reference(&'a str),
    /// The document is over.
    End,
}

/// The beginning of an element.
#[derive(Debug)]
pub(crate) struct Tag<'a> {
    start: BytesStart<'a>,
    /// Where the name ends, and where its part without the prefix begins.
    name: usize,
    local: usize,
}

/// A walk through a document, node by node.
pub(crate) struct Nodes<'a> {
    reader: Reader<&'a [u8]>,
    depth: usize,
    /// An element without content was opened and is closed next.
    closing: bool,
}

impl<'a> Nodes<'a> {
    /// Starts before the first node.
    pub(crate) fn new(text: &'a str) -> Self {
        let mut reader = Reader::from_str(text);
        reader.config_mut().allow_dangling_amp = true;
        Self {
            reader,
            depth: 0,
            closing: false,
        }
    }

    /// The next node.
    pub(crate) fn next(&mut self) -> Result<Node<'a>, Unreadable> {
        if self.closing {
            self.closing = false;
            return self.close();
        }
        loop {
            let event = self.reader.read_event();
            return match event.map_err(|error| self.broken(&error.to_string()))? {
                Event::Start(start) => self.open(start),
                Event::Empty(start) => {
                    self.closing = true;
                    self.open(start)
                }
                Event::End(_) => self.close(),
                Event::Text(text) => Ok(borrowed(text.into_inner())),
                Event::CData(text) => Ok(borrowed(text.into_inner())),
                Event::GeneralRef(name) => Ok(reference(name.into_inner())),
                Event::DocType(doctype) => {
                    refuse_entities(&doctype)?;
                    continue;
                }
                Event::Decl(_) | Event::PI(_) | Event::Comment(_) => continue,
                Event::Eof if self.depth > 0 => Err(self.broken("the end is missing")),
                Event::Eof => Ok(Node::End),
            };
        }
    }

    /// How many elements are open.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Reads on to the end of the innermost element, whatever is in it.
    pub(crate) fn skip(&mut self) -> Result<(), Unreadable> {
        let outside = self.depth.saturating_sub(1);
        while self.depth > outside {
            if let Node::End = self.next()? {
                break;
            }
        }
        Ok(())
    }

    /// Reads the text of the innermost element to its end; that of elements in it counts as well.
    pub(crate) fn text(&mut self, text: &mut String) -> Result<(), Unreadable> {
        text.clear();
        let outside = self.depth.saturating_sub(1);
        loop {
            match self.next()? {
                Node::Text(piece) => text.push_str(piece),
                Node::Character(character) => text.push(character),
                Node::Reference(name) => text.extend(["&", name, ";"]),
                Node::Close if self.depth == outside => return Ok(()),
                Node::Open(_) | Node::Close => {}
                Node::End => return Ok(()),
            }
            if text.len() > LONGEST {
                return Err(Unreadable::TooLong);
            }
        }
    }

    fn open(&mut self, start: BytesStart<'a>) -> Result<Node<'a>, Unreadable> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(Unreadable::TooDeep);
        }
        Ok(Node::Open(Tag::new(start)))
    }

    fn close(&mut self) -> Result<Node<'a>, Unreadable> {
        self.depth -= 1;
        Ok(Node::Close)
    }

    fn broken(&self, cause: &str) -> Unreadable {
        Unreadable::NotXml {
            at: self
                .reader
                .error_position()
                .max(self.reader.buffer_position()),
            cause: crate::text::cut(cause, 200).to_owned(),
        }
    }
}

impl<'a> Tag<'a> {
    fn new(start: BytesStart<'a>) -> Self {
        let name = start.name().into_inner();
        let colon = name.bytes().position(|byte| byte == b':');
        Self {
            name: name.len(),
            local: colon.map_or(0, |colon| colon + 1),
            start,
        }
    }

    /// Its name without the prefix.
    pub(crate) fn name(&self) -> &str {
        &self.start[self.local..self.name]
    }

    /// Its prefix, or nothing.
    pub(crate) fn prefix(&self) -> &str {
        &self.start[..self.local.saturating_sub(1)]
    }

    /// Names and values of its attributes; broken ones are passed over.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        Attributes::new(&self.start[self.name..])
    }

    /// The value of one attribute, whatever the case of its name.
    pub(crate) fn attribute(&self, name: &str) -> Result<Option<Cow<'_, str>>, Unreadable> {
        let mut attributes = self.attributes();
        let found = attributes.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value_of(value)).transpose()
    }
}

/// An attribute's value as it is meant.
pub(crate) fn value_of(raw: &str) -> Result<Cow<'_, str>, Unreadable> {
    if raw.len() > LONGEST {
        return Err(Unreadable::TooLong);
    }
    Ok(entity::unescape(raw))
}

/// The reader borrows from its text always.
fn borrowed(text: Cow<'_, str>) -> Node<'_> {
    match text {
        Cow::Borrowed(text) => Node::Text(text),
        Cow::Owned(_) => Node::Text(""),
    }
}

fn reference(name: Cow<'_, str>) -> Node<'_> {
    let Cow::Borrowed(name) = name else {
        return Node::Text("");
    };
    match entity::resolve(name) {
        Meaning::Text(text) => Node::Text(text),
        Meaning::Character(character) => Node::Character(character),
        Meaning::Unknown => Node::Reference(name),
    }
}

/// A page of HTML is none of ours, and nobody who means well declares entities.
fn refuse_entities(doctype: &str) -> Result<(), Unreadable> {
    let name = doctype.trim_start().get(..4).unwrap_or_default();
    if name.eq_ignore_ascii_case("html") {
        return Err(Unreadable::Html);
    }
    let declares = |subset: &str| subset.to_ascii_uppercase().contains("<!ENTITY");
    match doctype.split_once('[') {
        Some((_, subset)) if declares(subset) => Err(Unreadable::Entity),
        _ => Ok(()),
    }
}
