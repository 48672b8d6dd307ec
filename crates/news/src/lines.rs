//! Overview lines as a server sent them, read for threads and for the store.

use weir_news_proto::article::{Author, Head, decode_header};
use weir_news_proto::{MessageId, OverviewLine, Xref, date, id};

use crate::outbound::Window;
use crate::thread::Headline;

/// What names the newsgroups of a line that was posted to several; their numbers are left to each newsgroup.
pub(crate) const CROSSPOSTED: &[u8] = b"Newsgroups: ";

/// Newsgroups of a line that are kept, and their bytes.
const PLACES: usize = 16;
const PLACES_BYTES: usize = 512;

/// One article of a window.
#[derive(Clone, Debug)]
pub(crate) struct SentLine {
    /// The server's number for it.
    pub(crate) theirs: u64,
    pub(crate) id: MessageId,
    references: Vec<MessageId>,
    subject: String,
    author: String,
    /// When its author says that it was written, if that makes sense.
    pub(crate) written: Option<i64>,
    bytes: u64,
    lines: u64,
    /// The line for the store: without a number, which each newsgroup gives itself, and without what only this server
    /// means by it (Xref); of that, the names of the newsgroups are kept if there are several.
    pub(crate) kept: Vec<u8>,
}

impl SentLine {
    /// Reads a line, if it names an article.
    pub(crate) fn of(line: &OverviewLine<'_>) -> Option<Self> {
        let id = line.id()?;
        let places = crossposted(line.extra);
        let kept = OverviewLine {
            number: 0,
            extra: &places,
            ..*line
        };
        let texts = [line.subject, line.from, line.date, line.references];
        let length: usize = texts.iter().map(|text| text.len()).sum();
        // Besides: the ID, two numbers and the tabs.
        let mut text = Vec::with_capacity(length + line.message_id.len() + places.len() + 32);
        kept.write(&mut text);
        // The number of nobody, and its tab.
        text.drain(..2);
        let author = Author::parse(line.from);
        Some(Self {
            theirs: line.number,
            references: id::references(line.references),
            subject: decode_header(line.subject),
            author: author.shown().to_owned(),
            written: date::parse(line.date),
            bytes: line.bytes.unwrap_or(0),
            lines: line.lines.unwrap_or(0),
            kept: text,
            id,
        })
    }

    /// Reads an article that no list has brought.
    pub(crate) fn of_article(id: &MessageId, head: &Head, bytes: usize) -> Option<Self> {
        let raw = |name: &str| head.header(name).unwrap_or_default().as_bytes().to_vec();
        let (subject, from, date) = (raw("Subject"), raw("From"), raw("Date"));
        let mut references = raw("References");
        if references.is_empty() {
            // Only the first of them is the parent; the rest is often prose.
            references = id::in_reply_to(&raw("In-Reply-To"))
                .map(|id| id.as_str().as_bytes().to_vec())
                .unwrap_or_default();
        }
        let line = OverviewLine {
            subject: &subject,
            from: &from,
            date: &date,
            message_id: id.as_str().as_bytes(),
            references: &references,
            bytes: Some(bytes as u64),
            ..OverviewLine::default()
        };
        Self::of(&line)
    }

    /// What threads are made of, with the date that [`Dates`] gives it.
    pub(crate) fn headline(&self, number: Option<u64>, date: i64) -> Headline<'_> {
        Headline {
            number,
            id: &self.id,
            references: &self.references,
            in_reply_to: None,
            subject: &self.subject,
            author: &self.author,
            date,
            bytes: self.bytes,
            lines: self.lines,
        }
    }
}

/// The newsgroups of an article that is in several, as a field of its line; else nothing.
fn crossposted(extra: &[u8]) -> Vec<u8> {
    const NAME: &[u8] = b"xref:";
    let mut fields = extra.split(|byte| *byte == b'\t');
    let value = fields.find_map(|field| {
        let (name, value) = field.trim_ascii().split_at_checked(NAME.len())?;
        name.eq_ignore_ascii_case(NAME)
            .then_some(value.trim_ascii())
    });
    let Some(xref) = value.and_then(Xref::parse) else {
        return Vec::new();
    };
    let mut written = CROSSPOSTED.to_vec();
    let mut names = 0;
    for (name, _) in xref.places().take(PLACES) {
        // A comma would be read as the end of a name.
        if written.len() + name.len() >= PLACES_BYTES || name.contains(',') {
            break;
        }
        if names > 0 {
            written.push(b',');
        }
        written.extend_from_slice(name.as_bytes());
        names += 1;
    }
    if names < 2 { Vec::new() } else { written }
}

/// Dates of lines that follow each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dates {
    before: i64,
    now: i64,
}

impl Dates {
    /// For the first of some lines, which stand after one with this date.
    pub(crate) fn after(before: i64, now: i64) -> Self {
        Self { before, now }
    }

    /// The date of the next line. An article whose date makes no sense was at least sent between its neighbours. No date is
    /// later than now, or it would keep its thread on top of the list.
    pub(crate) fn next(&mut self, line: &SentLine) -> i64 {
        self.before = line.written.unwrap_or(self.before).min(self.now);
        self.before
    }

    /// The dates of all lines of a window.
    pub(crate) fn of(lines: &[SentLine], now: i64) -> Vec<i64> {
        let mut dates = Self::after(now, now);
        lines.iter().map(|line| dates.next(line)).collect()
    }
}

/// A window as it was read.
#[derive(Clone, Debug)]
pub struct SentLines {
    /// All lines that name an article.
    pub(crate) lines: Vec<SentLine>,
}

impl SentLines {
    pub(crate) fn of(window: &Window) -> Self {
        let lines = window.lines().filter_map(|line| SentLine::of(&line));
        Self {
            lines: lines.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newsgroups_are_kept_of_what_was_posted_to_several() {
        let kept = |extra: &str| String::from_utf8(crossposted(extra.as_bytes())).expect("text");
        assert_eq!(
            kept("Keywords: x\tXREF: host a.b:12 c.d:3"),
            "Newsgroups: a.b,c.d"
        );
        for one in [
            "",
            "Xref: host a.b:12",
            "Xref: host",
            "Xref:",
            "xref host a:1 b:2",
        ] {
            assert_eq!(kept(one), "", "{one}");
        }
        let many: Vec<String> = (0..10_000).map(|n| format!("newsgroup{n}:1")).collect();
        let many = kept(&format!("Xref: host {}", many.join(" ")));
        assert!(many.len() < PLACES_BYTES && many.split(',').count() <= PLACES);
    }
}
