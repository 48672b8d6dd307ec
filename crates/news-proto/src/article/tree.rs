//! The parts of an article as a tree (RFC 2046), found in one walk over its lines.
//!
//! Our own walk and not a library's: each line is compared with the boundaries that are open, of
//! which there are few, so that parts without an end, parts within parts and boundaries that never
//! come cost no more than the length of the article.

use std::ops::Range;

use super::damage::{Damage, Report};
use super::field::{Section, line_at};
use super::limits;
use super::media::Media;

/// One part: either content, or a list of other parts.
#[derive(Debug)]
pub(super) enum Entity {
    Leaf(Leaf),
    Multipart {
        /// `mixed`, `alternative` and so on.
        subtype: String,
        children: Vec<Self>,
    },
}

/// A part with content.
#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) media: Media,
    /// Where its content is in the article.
    pub(super) body: Range<usize>,
}

/// Finds all parts of an article whose headers were read already.
pub(super) fn read(raw: &[u8], body: usize, media: Media, report: &mut Report) -> Entity {
    let mut walk = Walk {
        raw,
        open: Vec::new(),
        leaf: None,
        root: None,
        parts: 0,
        report,
    };
    walk.begin(body, media);
    let mut at = body;
    while let Some(delimiter) = walk.next_delimiter(at) {
        match walk.pass(&delimiter) {
            Some(next) => at = next,
            None => break,
        }
    }
    walk.finish()
}

/// A multipart that has not ended yet.
struct Open {
    boundary: Vec<u8>,
    media: Media,
    /// Where it starts.
    body: usize,
    children: Vec<Entity>,
}

/// A line that separates parts.
struct Delimiter {
    /// Which of the open multiparts it belongs to.
    level: usize,
    /// Whether that multipart ends here.
    is_last: bool,
    /// Where the content before it ends.
    end: usize,
    /// Where the next line starts.
    next: usize,
}

struct Walk<'a, 'r> {
    raw: &'a [u8],
    /// From the outermost to the innermost.
    open: Vec<Open>,
    /// The part whose end is being looked for. There is none before the first part of a multipart
    /// and after its last one: what is there is for programs without MIME, and is not shown.
    leaf: Option<(Media, usize)>,
    /// The article, once it has ended.
    root: Option<Entity>,
    parts: usize,
    report: &'r mut Report,
}

impl Walk<'_, '_> {
    /// Begins a part whose headers were read.
    fn begin(&mut self, body: usize, media: Media) {
        self.parts += 1;
        if media.kind != "multipart" {
            self.leaf = Some((media, body));
        } else if self.open.len() == limits::DEPTH {
            self.report.add(Damage::TooDeep);
            self.leaf = Some((media, body));
        } else if let Some(boundary) = media.boundary.clone() {
            self.open.push(Open {
                boundary,
                media,
                body,
                children: Vec::new(),
            });
        } else {
            self.report.add(Damage::NoBoundary);
            self.leaf = Some((as_text(media), body));
        }
    }

    /// The next line that separates parts; nothing if all multiparts have ended.
    fn next_delimiter(&self, mut at: usize) -> Option<Delimiter> {
        while at < self.raw.len() && !self.open.is_empty() {
            let (line, next) = line_at(self.raw, at);
            if let Some((level, is_last)) = level_of(&self.open, line) {
                // The line end before a delimiter belongs to it.
                let before = &self.raw[..at];
                let before = before.strip_suffix(b"\n").unwrap_or(before);
                let end = before.strip_suffix(b"\r").unwrap_or(before).len();
                return Some(Delimiter {
                    level,
                    is_last,
                    end,
                    next,
                });
            }
            at = next;
        }
        None
    }

    /// Goes past a delimiter to the content after it; nothing if no more parts are read.
    fn pass(&mut self, delimiter: &Delimiter) -> Option<usize> {
        self.end_leaf(delimiter.end);
        if self.open.len() > delimiter.level + 1 {
            self.report.add(Damage::MissingEnd);
            self.close_to(delimiter.level + 1, delimiter.end);
        }
        if delimiter.is_last {
            self.close_to(delimiter.level, delimiter.end);
            return Some(delimiter.next);
        }
        if self.parts >= limits::PARTS {
            self.report.add(Damage::TooManyParts);
            self.close_to(0, delimiter.end);
            return None;
        }
        let open = &self.open;
        let is_end = |line: &[u8]| level_of(open, line).is_some();
        let most = limits::PART_HEADERS;
        let section = Section::read(self.raw, delimiter.next, most, is_end, self.report);
        let media = Media::of(&section, self.report);
        self.begin(section.body, media);
        Some(section.body)
    }

    fn finish(mut self) -> Entity {
        let end = self.raw.len();
        self.end_leaf(end);
        // One in which no part was found is reported as such when it is closed.
        if self.open.iter().any(|open| !open.children.is_empty()) {
            self.report.add(Damage::MissingEnd);
        }
        self.close_to(0, end);
        let nothing = || Entity::Multipart {
            subtype: String::new(),
            children: Vec::new(),
        };
        self.root.unwrap_or_else(nothing)
    }

    fn end_leaf(&mut self, end: usize) {
        if let Some((media, body)) = self.leaf.take() {
            self.put(Entity::Leaf(Leaf {
                media,
                body: body..end.max(body),
            }));
        }
    }

    /// Closes the innermost multiparts until this many are left.
    fn close_to(&mut self, level: usize, end: usize) {
        while self.open.len() > level
            && let Some(Open {
                media,
                body,
                children,
                ..
            }) = self.open.pop()
        {
            if children.is_empty() {
                self.report.add(Damage::NoBoundary);
                let body = body..end.max(body);
                self.put(Entity::Leaf(Leaf {
                    media: as_text(media),
                    body,
                }));
            } else {
                self.put(Entity::Multipart {
                    subtype: media.subtype,
                    children,
                });
            }
        }
    }

    fn put(&mut self, entity: Entity) {
        match self.open.last_mut() {
            Some(open) => open.children.push(entity),
            None => self.root = Some(entity),
        }
    }
}

/// Which open multipart a line separates, and whether it ends it. The innermost is asked first.
fn level_of(open: &[Open], line: &[u8]) -> Option<(usize, bool)> {
    let line = line.strip_prefix(b"--")?;
    open.iter().enumerate().rev().find_map(|(level, open)| {
        match line
            .strip_prefix(open.boundary.as_slice())?
            .trim_ascii_end()
        {
            b"" => Some((level, false)),
            b"--" => Some((level, true)),
            _ => None,
        }
    })
}

/// A multipart in which no parts can be found, to be shown as it is.
fn as_text(media: Media) -> Media {
    Media {
        kind: "text".to_owned(),
        subtype: "plain".to_owned(),
        ..media
    }
}

#[cfg(test)]
mod tests;
