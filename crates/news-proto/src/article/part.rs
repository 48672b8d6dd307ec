//! The tree of parts as a list to be shown: which form of a text, and what is only offered.

use super::attachment::Attachment;
use super::block::{Block, Blocks};
use super::charset::Choice;
use super::damage::{Damage, Report};
use super::embedded::{self, Stretch};
use super::html::{self, SafeHtml};
use super::media::DelSp;
use super::transfer::Transfer;
use super::tree::{Entity, Leaf};
use super::{characters, limits, line};

/// A piece of an article's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Plain text.
    Text(Text),
    /// Text in HTML, where there is no plain text.
    Html {
        /// The markup, made harmless.
        html: SafeHtml,
        /// The same as plain text.
        text: Text,
    },
    /// A file that is offered, not shown.
    Attachment(Attachment),
}

/// Plain text.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Text {
    /// The text in blocks.
    pub blocks: Vec<Block>,
    /// The character set that it was read with.
    pub charset: &'static str,
    /// Whether that was a guess.
    pub is_guessed: bool,
}

impl Part {
    /// The text of this part, whichever form it has.
    #[must_use]
    pub fn text(&self) -> Option<&Text> {
        match self {
            Self::Text(text) | Self::Html { text, .. } => Some(text),
            Self::Attachment(_) => None,
        }
    }
}

impl Text {
    /// The text with its quote marks, as for an answer.
    #[must_use]
    pub fn plain(&self) -> String {
        plain(self.blocks.iter())
    }
}

/// Blocks as text again, quoted as in plain text.
pub(super) fn plain<'a>(blocks: impl Iterator<Item = &'a Block>) -> String {
    let mut out = String::new();
    for block in blocks {
        let marks = ">".repeat(block.quote.into());
        for line in block.text().lines() {
            out.push_str(&marks);
            if block.quote > 0 && !line.is_empty() {
                out.push(' ');
            }
            out.push_str(line);
            out.push('\n');
        }
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out
}

/// Makes the list of parts.
pub(super) fn read(raw: &[u8], root: &Entity, report: &mut Report) -> Vec<Part> {
    let mut reader = Reader {
        raw,
        parts: Vec::new(),
        attachments: 0,
        text: limits::TEXT_BYTES,
        html: limits::HTML_BYTES,
        report,
    };
    reader.entity(root, false);
    reader.parts
}

struct Reader<'a, 'r> {
    raw: &'a [u8],
    parts: Vec<Part>,
    attachments: usize,
    /// Bytes of text and of HTML that may still be shown.
    text: usize,
    html: usize,
    report: &'r mut Report,
}

impl Reader<'_, '_> {
    /// Calls itself for parts within parts; their depth is limited.
    fn entity(&mut self, entity: &Entity, is_alternative: bool) {
        match entity {
            Entity::Leaf(leaf) if is_alternative => self.offer(leaf, true),
            Entity::Leaf(leaf) => self.leaf(leaf),
            Entity::Multipart { subtype, children } => {
                let chosen = (subtype == "alternative").then(|| self.choose(children));
                for (index, child) in children.iter().enumerate() {
                    let is_other = chosen.is_some_and(|chosen| chosen != index);
                    self.entity(child, is_alternative || is_other);
                }
            }
        }
    }

    /// Plain text if there is any, else HTML, else the last form, which is the sender's best.
    fn choose(&self, children: &[Entity]) -> usize {
        let has = |is: fn(&Leaf) -> bool| {
            children
                .iter()
                .position(|child| any(child, &|leaf| is(leaf) && !self.is_blank(leaf)))
        };
        let plain = has(|leaf| leaf.media.is_plain_text());
        let html = || has(|leaf| leaf.media.is("text", "html"));
        plain.or_else(html).unwrap_or(children.len() - 1)
    }

    /// Whether nothing would be shown: some programs send an empty text beside their HTML.
    fn is_blank(&self, leaf: &Leaf) -> bool {
        let body = self.raw.get(leaf.body.clone()).unwrap_or_default();
        body.iter().all(|byte| byte.is_ascii_whitespace())
    }

    fn leaf(&mut self, leaf: &Leaf) {
        let media = &leaf.media;
        let transfer = media.transfer.filter(|_| !media.is_attachment);
        match transfer {
            Some(transfer) if media.is_plain_text() => self.plain_text(leaf, transfer),
            Some(transfer) if media.is("text", "html") => self.html(leaf, transfer),
            _ => self.offer(leaf, false),
        }
    }

    fn offer(&mut self, leaf: &Leaf, is_alternative: bool) {
        let attachment = Attachment::of(
            leaf,
            self.raw,
            self.attachments,
            is_alternative,
            self.report,
        );
        self.attachments += 1;
        self.parts.push(Part::Attachment(attachment));
    }

    fn plain_text(&mut self, leaf: &Leaf, transfer: Transfer) {
        let most = self.text;
        let body = self.body(leaf, transfer, most, Damage::LongText);
        self.text -= body.len();
        let label = leaf.media.charset.as_deref();
        self.parts.push(Part::Text(read_text(
            &body,
            label,
            leaf.media.flowed,
            self.report,
        )));
    }

    fn html(&mut self, leaf: &Leaf, transfer: Transfer) {
        let most = self.html;
        let body = self.body(leaf, transfer, most, Damage::LongHtml);
        self.html -= body.len();
        let label = leaf.media.charset.clone().or_else(|| html::charset(&body));
        let choice = Choice::of(&body, label.as_deref());
        let source = decode(&choice, &body, self.report);
        let html = html::sanitise(&source, self.report);
        let source = characters::many_lines(&html::to_text(&source));
        let mut blocks = Blocks::default();
        blocks.lines(line::fixed(&source), self.report);
        let text = Text {
            blocks: blocks.finish(),
            charset: choice.name(),
            is_guessed: choice.guessed,
        };
        self.parts.push(Part::Html { html, text });
    }

    /// The bytes of a part, at most this many.
    fn body(&mut self, leaf: &Leaf, transfer: Transfer, most: usize, cut: Damage) -> Vec<u8> {
        let body = self.raw.get(leaf.body.clone()).unwrap_or_default();
        let (bytes, damage) = transfer.decode(body, most.saturating_add(1));
        if let Some(damage) = damage {
            self.report.add(damage);
        }
        let mut bytes = bytes.into_owned();
        if bytes.len() > most {
            self.report.add(cut);
            bytes.truncate(most);
        }
        bytes
    }
}

/// Makes blocks of a text: files in it are set apart, then a character set is chosen for the rest.
fn read_text(body: &[u8], label: Option<&str>, flowed: Option<DelSp>, report: &mut Report) -> Text {
    // Of a character set in which letters have two bytes, no line can be found before it is decoded.
    let is_wide =
        label.is_some_and(|label| label.trim().to_ascii_lowercase().starts_with("utf-16"));
    let stretches = match is_wide {
        true => vec![Stretch::Text(0..body.len())],
        false => embedded::split(body),
    };
    let text = |stretch: &Stretch| match stretch {
        Stretch::Text(range) => body.get(range.clone()).unwrap_or_default().to_vec(),
        Stretch::File(_) => Vec::new(),
    };
    let all: Vec<u8> = stretches.iter().flat_map(text).collect();
    let choice = Choice::of(&all, label);
    let sources: Vec<String> = stretches
        .iter()
        .map(|stretch| decode(&choice, &text(stretch), report))
        .collect();
    let sources: Vec<String> = sources
        .iter()
        .map(|source| characters::many_lines(source))
        .collect();
    let mut blocks = Blocks::default();
    for (stretch, source) in stretches.into_iter().zip(&sources) {
        match (stretch, flowed) {
            (Stretch::File(file), _) => blocks.file(file, report),
            (Stretch::Text(_), Some(del_sp)) => blocks.lines(line::flowed(source, del_sp), report),
            (Stretch::Text(_), None) => blocks.lines(line::fixed(source), report),
        }
    }
    Text {
        blocks: blocks.finish(),
        charset: choice.name(),
        is_guessed: choice.guessed,
    }
}

fn decode(choice: &Choice, bytes: &[u8], report: &mut Report) -> String {
    let (text, is_whole) = choice.decode(bytes);
    if let Some(label) = &choice.unknown {
        report.add(Damage::UnknownCharset(label.clone()));
    }
    if !is_whole {
        report.add(Damage::Characters(choice.name()));
    }
    text
}

fn any(entity: &Entity, is: &dyn Fn(&Leaf) -> bool) -> bool {
    match entity {
        Entity::Leaf(leaf) => !leaf.media.is_attachment && is(leaf),
        Entity::Multipart { children, .. } => children.iter().any(|child| any(child, is)),
    }
}
