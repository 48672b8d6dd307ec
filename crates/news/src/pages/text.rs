//! The text of an article as it is read on a screen of any width: paragraphs that flow, tables and drawings as they were
//! typed, quotes by level, signatures apart.
//!
//! Articles are broken at 72 columns. On a phone that would break every line twice, so lines are joined again, except where
//! the author ended one early: the next word would have fitted.

mod flow;

use weir_engine::words::{counted, size};
use weir_news_proto::article::{
    Article, Block, Embedded, Encoding, Part, Role, Span, Target, Text, rot13,
};

use self::flow::{joined, paragraphs};
use super::address;

/// Quotes of more lines are folded.
const FOLDED: usize = 3;
/// Levels of quotes that look different.
const LEVELS: u8 = 4;
/// A piece of an article's text for a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// The author's own words.
    Own(Vec<Paragraph>),
    /// Somebody else's.
    Quote(Quote),
    /// What comes after `-- `.
    Signature(Paragraph),
    /// What PGP adds to a text.
    Pgp(Paragraph),
    /// A file in the text, which is named only.
    File(String),
}

/// Quoted text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quote {
    /// How many lines, if they are folded.
    pub(crate) folded: Option<String>,
    /// The words with their level, from 1; 0 says who is quoted.
    pub(crate) blocks: Vec<(u8, Vec<Paragraph>)>,
}

/// Lines that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Paragraph {
    /// Words that flow.
    Flow(Vec<Phrase>),
    /// Characters at their places.
    Fixed(Vec<Phrase>),
}

/// A few words, or the end of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Phrase {
    /// Words.
    Words(String),
    /// The line ends here.
    Break,
    /// Words that lead somewhere else on our pages.
    Inner(String, String),
    /// Words that lead out.
    Outer(String, String),
}

/// How a text is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// Bytes of text that are shown.
    pub(crate) most: usize,
    /// Letters are turned by 13.
    pub(crate) rot13: bool,
}

impl Reading {
    /// All of it, as it is.
    pub(crate) const WHOLE: Self = Self {
        most: usize::MAX,
        rot13: false,
    };
}

/// The text of an article, and how many of its lines were left out.
pub(crate) fn passages(article: &Article, reading: Reading) -> (Vec<Passage>, usize) {
    let texts = article.parts.iter().filter_map(Part::text);
    let mut left = reading.most;
    let mut cut = 0;
    let mut passages = Vec::new();
    for text in texts {
        passages.extend(of_text(text, reading.rot13, &mut left, &mut cut));
    }
    (passages, cut)
}

/// Bytes of text in an article.
pub(crate) fn length(article: &Article) -> usize {
    let blocks = article.blocks();
    blocks.map(block_length).sum()
}

/// As many bytes for each of these as all can have together, so that short ones are whole and long ones are cut alike.
pub(crate) fn fair_share(lengths: &[usize], budget: usize) -> usize {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable();
    let (mut left, mut waiting) = (budget, sorted.len());
    for length in sorted {
        let share = left / waiting;
        if length > share {
            return share;
        }
        left -= length;
        waiting -= 1;
    }
    usize::MAX
}

fn block_length(block: &Block) -> usize {
    block.spans.iter().map(|span| span.text().len()).sum()
}

fn of_text(text: &Text, rot13: bool, left: &mut usize, cut: &mut usize) -> Vec<Passage> {
    let mut passages = Vec::new();
    let mut blocks = text.blocks.iter().peekable();
    while let Some(block) = blocks.next() {
        let Some(lines) = taken(block, rot13, left, cut) else {
            continue;
        };
        let one = |lines| Paragraph::Fixed(joined(lines));
        match &block.role {
            Role::File(file) => passages.push(Passage::File(name_of(file))),
            Role::Signature => passages.push(Passage::Signature(one(lines))),
            Role::Pgp => passages.push(Passage::Pgp(one(lines))),
            Role::Text if block.quote == 0 => passages.push(Passage::Own(paragraphs(lines))),
            Role::Text | Role::Attribution => {
                let mut quoted = vec![(level(block), paragraphs(lines))];
                let mut count = if block.quote > 0 { block.lines } else { 0 };
                while let Some(next) = blocks.next_if(|next| is_quote(next)) {
                    count += if next.quote > 0 { next.lines } else { 0 };
                    if let Some(lines) = taken(next, rot13, left, cut) {
                        quoted.push((level(next), paragraphs(lines)));
                    }
                }
                let folded =
                    (count > FOLDED).then(|| counted(count as u64, "quoted line", "quoted lines"));
                let blocks = quoted;
                passages.push(Passage::Quote(Quote { folded, blocks }));
            }
        }
    }
    passages
}

/// Whether a block goes on a quote. Who is quoted within a quote belongs to it; at the author's own level it begins another.
fn is_quote(block: &Block) -> bool {
    block.quote > 0 && matches!(block.role, Role::Text | Role::Attribution)
}

fn level(block: &Block) -> u8 {
    block.quote.min(LEVELS)
}

/// One line as it is shown.
type Words = Vec<Phrase>;

/// The lines of a block that there is room for; none if it is left out altogether.
fn taken(block: &Block, rot13: bool, left: &mut usize, cut: &mut usize) -> Option<Vec<Words>> {
    if matches!(block.role, Role::File(_)) {
        return Some(Vec::new());
    }
    let mut lines = lines(block, rot13, *left);
    let mut kept = 0;
    for line in &lines {
        let length: usize = line.iter().map(|phrase| phrase.text().len()).sum();
        let length = length + 1;
        if length > *left {
            *left = 0;
            break;
        }
        *left -= length;
        kept += 1;
    }
    *cut += block.lines.saturating_sub(kept);
    lines.truncate(kept);
    (kept > 0).then_some(lines)
}

/// The lines of a block, and none after this many bytes: a long text is not read for its first lines.
fn lines(block: &Block, rotated: bool, most: usize) -> Vec<Words> {
    let turn = |text: &str| match rotated {
        true => rot13(text),
        false => text.to_owned(),
    };
    let mut lines = vec![Words::new()];
    let mut length = 0;
    for span in &block.spans {
        if length > most {
            break;
        }
        match span {
            Span::Text(text) => {
                for (index, piece) in text.split('\n').enumerate() {
                    if length > most {
                        break;
                    }
                    length += piece.len();
                    if index > 0 {
                        lines.push(Words::new());
                    }
                    if let (Some(line), false) = (lines.last_mut(), piece.is_empty()) {
                        line.push(Phrase::Words(turn(piece)));
                    }
                }
            }
            Span::Link { text, target } => {
                let phrase = match (rotated, target) {
                    // What was an address before is none now.
                    (true, _) => Phrase::Words(turn(text)),
                    (false, target) => Phrase::link(text, target),
                };
                if let Some(line) = lines.last_mut() {
                    line.push(phrase);
                }
            }
        }
    }
    lines
}

impl Phrase {
    fn link(text: &str, target: &Target) -> Self {
        let text = text.to_owned();
        match target {
            Target::Url(url) => Self::Outer(text, url.clone()),
            Target::Newsgroup(name) => Self::Inner(text, address::newsgroup(name.as_str())),
            Target::Article(id) => Self::Inner(text, address::article(id)),
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Words(text) | Self::Inner(text, _) | Self::Outer(text, _) => text,
            Self::Break => "\n",
        }
    }
}

fn name_of(file: &Embedded) -> String {
    let how = match file.encoding {
        Encoding::Uuencode => "uuencoded",
        Encoding::Yenc => "yEnc",
    };
    let name = match file.name.as_str() {
        "" => "A file".to_owned(),
        name => format!("“{name}”"),
    };
    let part = match (file.part, file.total) {
        (Some(part), Some(total)) => format!(", part {part} of {total}"),
        (Some(part), None) => format!(", part {part}"),
        _ => String::new(),
    };
    let size = file.size.map(|bytes| format!(", {}", size(bytes)));
    format!("{name} ({how}{part}{})", size.unwrap_or_default())
}

#[cfg(test)]
mod tests;
