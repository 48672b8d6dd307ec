//! Articles: headers, text and attachments of one message, made readable.
//!
//! [`Article::parse`] takes any bytes and never fails: what cannot be read is left out and named in
//! [`Article::damage`]. Time and memory are proportional to the bytes, and what is kept is bounded
//! by `limits`. Nothing in an article is trusted. Text comes out without control characters and
//! must be escaped like any other; the one piece of markup is [`SafeHtml`].
//!
//! An article for download is the bytes that were received; a thread is a mailbox of such
//! ([`write_mbox`]). Fetching, threading and pages are the news front's.

mod attachment;
mod author;
mod block;
mod characters;
mod charset;
mod damage;
mod embedded;
mod field;
mod head;
mod html;
mod limits;
mod line;
mod link;
mod mbox;
mod media;
mod part;
mod transfer;
mod tree;
mod words;

use std::borrow::Cow;

pub use attachment::{Attachment, safe_name};
pub use author::Author;
pub use block::{Block, Role};
pub use characters::{cut, cut_bytes, rot13, snippet};
pub use damage::Damage;
pub use embedded::{Embedded, Encoding};
pub use head::{Date, Followup, Head, Header};
pub use html::SafeHtml;
pub use link::{Span, Target};
pub use mbox::write_mbox;
pub use part::{Part, Text};
pub use words::decode_header;

use damage::Report;
use field::Section;
use media::Media;

/// One article, read for people.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Article {
    /// What its headers say.
    pub head: Head,
    /// Its content in order.
    pub parts: Vec<Part>,
    /// What could not be read, each kind once.
    pub damage: Vec<Damage>,
}

impl Article {
    /// Reads an article as a server sends it, with dots at line starts already undone.
    #[must_use]
    pub fn parse(raw: &[u8]) -> Self {
        let mut report = Report::default();
        let section = Section::read(raw, 0, limits::HEADERS, |_| false, &mut report);
        let media = Media::of(&section, &mut report);
        let head = Head::of(&section, media.charset.as_deref(), &mut report);
        let root = tree::read(raw, section.body, media, &mut report);
        let parts = part::read(raw, &root, &mut report);
        Self {
            head,
            parts,
            damage: report.into_list(),
        }
    }

    /// All attachments, in order.
    pub fn attachments(&self) -> impl Iterator<Item = &Attachment> {
        self.parts.iter().filter_map(|part| match part {
            Part::Attachment(attachment) => Some(attachment),
            _ => None,
        })
    }

    /// The attachment of this number and its bytes; `raw` is what the article was parsed from.
    #[must_use]
    pub fn attachment<'a>(
        &self,
        index: usize,
        raw: &'a [u8],
    ) -> Option<(&Attachment, Cow<'a, [u8]>)> {
        let found = self
            .attachments()
            .find(|attachment| attachment.index == index)?;
        Some((found, found.content(raw)))
    }

    /// All blocks of text, in order; those of HTML in its text form.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.parts
            .iter()
            .filter_map(Part::text)
            .flat_map(|text| &text.blocks)
    }

    /// The text of the article for a search index: quotes with their marks, no signature.
    #[must_use]
    pub fn plain_text(&self) -> String {
        part::plain(
            self.blocks()
                .filter(|block| matches!(block.role, Role::Text | Role::Attribution)),
        )
    }

    /// The first words of the author, at most this many characters, on one line.
    #[must_use]
    pub fn snippet(&self, characters: usize) -> String {
        let own = self
            .blocks()
            .find(|block| block.role == Role::Text && block.quote == 0);
        own.map(|block| snippet(&block.text(), characters))
            .unwrap_or_default()
    }
}
