//! What is kept of an article, and how: forty bytes and its texts.

use super::containers::{mix, steady_hash};
use super::slab::NONE;
use super::{Arena, Headline, MAX_TEXT, ThreadTable};

/// An article's line. Its ID is in its container.
pub(super) struct Line {
    pub(super) date: i64,
    /// 0 is none.
    pub(super) number: u64,
    /// Subject and author, one after the other.
    text: u32,
    references: u32,
    pub(super) bytes: u32,
    pub(super) lines: u32,
    subject: u16,
    author: u16,
    reference_count: u8,
}

impl Line {
    fn text_length(&self) -> usize {
        usize::from(self.subject) + usize::from(self.author)
    }
}

impl ThreadTable {
    /// Writes an article's line into its container.
    pub(super) fn hold(&mut self, at: u32, headline: &Headline<'_>, references: &[u32]) {
        let (subject, author) = (cut(headline.subject), cut(headline.author));
        for &reference in references {
            self.containers[reference].mentions += 1;
        }
        let arena = &mut self.containers.arena;
        let text = arena.add_text(subject);
        arena.add_text(author);
        let small = |length: usize| u16::try_from(length).expect("texts are cut at MAX_TEXT");
        let line = Line {
            date: headline.date,
            number: 0,
            text,
            references: arena.add_list(references),
            bytes: u32::try_from(headline.bytes).unwrap_or(u32::MAX),
            lines: u32::try_from(headline.lines).unwrap_or(u32::MAX),
            subject: small(subject.len()),
            author: small(author.len()),
            reference_count: u8::try_from(references.len())
                .expect("references are cut at MAX_REFERENCES"),
        };
        self.containers[at].line = self.lines.insert(line);
        self.renumber(at, headline.number.unwrap_or(0));
    }

    /// Gives an article's line back; the container is a ghost then. What it mentioned is returned.
    pub(super) fn let_go(&mut self, at: u32) -> Vec<u32> {
        let mentioned = self.references(at).to_vec();
        for &reference in &mentioned {
            self.containers[reference].mentions -= 1;
        }
        self.unnumber(at);
        let text = self.line(at).text_length();
        self.containers.arena.give_back(text, mentioned.len());
        self.lines.remove(self.containers[at].line);
        self.containers[at].line = NONE;
        mentioned
    }

    pub(super) fn line(&self, at: u32) -> &Line {
        &self.lines[self.containers[at].line]
    }

    pub(super) fn subject(&self, at: u32) -> &str {
        let line = self.line(at);
        let length = usize::from(line.subject);
        self.containers.arena.text(line.text, length)
    }

    pub(super) fn author(&self, at: u32) -> &str {
        let line = self.line(at);
        let both = self.containers.arena.text(line.text, line.text_length());
        &both[usize::from(line.subject)..]
    }

    pub(super) fn references(&self, at: u32) -> &[u32] {
        let line = self.line(at);
        let count = usize::from(line.reference_count);
        self.containers.arena.list(line.references, count)
    }

    /// What an article's line adds to the version of its thread.
    pub(super) fn content(&self, at: u32) -> u64 {
        let line = self.line(at);
        let texts = self.containers.arena.text(line.text, line.text_length());
        let sizes = u64::from(line.bytes) << 32 | u64::from(line.lines);
        let numbers = mix(mix(line.date as u64, sizes), u64::from(line.subject));
        mix(self.containers[at].hash, mix(steady_hash(texts), numbers))
    }

    /// Writes all texts anew, without those that nobody needs any more.
    pub(super) fn tidy(&mut self) {
        let mut arena = Arena::successor(&self.containers.arena);
        for at in self.containers.all() {
            if self.containers.is_ghost(at) {
                continue;
            }
            let text = arena.add_text(self.subject(at));
            arena.add_text(self.author(at));
            let references = arena.add_list(self.references(at));
            let line = &mut self.lines[self.containers[at].line];
            (line.text, line.references) = (text, references);
        }
        self.containers.move_ids(&mut arena);
        self.containers.arena = arena;
    }
}

/// The part of a text that is kept.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT)]
}
