//! What a reader looks for, as it is typed: words, "phrases", `-without`, `begin*`, `group:`, `author:`, `subject:`, `after:` and
//! `before:`. Everything that can be typed means something; what cannot be used is named in a note, never an error.
//!
//! What comes out is an expression of FTS5 in which each word stands in quotation marks and consists of letters and digits
//! alone (`words`), so nothing that is typed is ever read as its syntax.

use std::fmt::Write;

use jiff::civil::Date;
use weir_news_proto::article::cut;

use super::words::{self, Unit};

/// Characters of a question that are read.
pub const LONGEST: usize = 500;
/// Words that are looked for at once; each is looked up by itself.
const MOST_WORDS: usize = 24;
/// Patterns of newsgroups that are read.
const MOST_PATTERNS: usize = 16;
/// Letters before a `*`. Fewer begin most words there are.
const FEWEST: usize = 2;

/// The order of what is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Those first in which the words weigh most.
    #[default]
    Best,
    /// The latest first.
    Newest,
}

impl Order {
    /// Reads the name in an address; what is none is the default.
    pub fn named(name: &str) -> Self {
        match name {
            "newest" => Self::Newest,
            _ => Self::Best,
        }
    }

    /// The name in an address; none for the default.
    pub fn name(self) -> &'static str {
        match self {
            Self::Best => "",
            Self::Newest => "newest",
        }
    }
}

/// Which part of an article is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Anywhere,
    Subject,
    Author,
}

/// A word, or several in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) field: Field,
    pub(crate) words: Vec<String>,
    /// Whether the last word is only its beginning.
    pub(crate) open: bool,
}

/// What a reader looks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inquiry {
    pub(crate) wanted: Vec<Term>,
    pub(crate) unwanted: Vec<Term>,
    /// Patterns of newsgroups, one of which must fit.
    pub(crate) newsgroups: Vec<String>,
    /// Unix seconds of the first moment that counts, and of the first that does not any more.
    pub(crate) after: Option<i64>,
    pub(crate) before: Option<i64>,
    /// What could not be used, in sentences.
    pub(crate) notes: Vec<String>,
    /// Words read so far.
    count: usize,
}

impl Inquiry {
    /// Reads what was typed.
    pub fn read(text: &str) -> Self {
        let mut inquiry = Self::default();
        inquiry.words(text);
        inquiry
    }

    /// Reads more of what was typed: everything must fit.
    fn words(&mut self, text: &str) {
        let short = cut(text, LONGEST);
        if short.len() < text.len() {
            self.note(format!("Only the first {LONGEST} characters were read."));
        }
        let mut rest = short.trim_start();
        while let Some(first) = rest.chars().next() {
            let (negated, after) = match first {
                '-' | '−' | '–' => (true, &rest[first.len_utf8()..]),
                '+' => (false, &rest[1..]),
                _ => (false, rest),
            };
            let (name, after) = named(after);
            let (value, quoted, end) = value(after);
            self.take(name, value, quoted, negated);
            rest = end.trim_start();
        }
    }

    /// Only what was posted to a newsgroup that fits one of these patterns.
    pub fn in_newsgroups(&mut self, patterns: &str) {
        for pattern in patterns.split([',', ' ']).filter(|one| !one.is_empty()) {
            if self.newsgroups.len() < MOST_PATTERNS {
                self.newsgroups.push(cut(pattern, LONGEST).to_owned());
            } else {
                self.note(format!("Only the first {MOST_PATTERNS} newsgroups count."));
            }
        }
    }

    /// Only what somebody of this name has written.
    pub fn by(&mut self, author: &str) {
        for word in cut(author, LONGEST).split_whitespace() {
            self.take(Some(Name::Author), word, false, false);
        }
    }

    /// Only from this day on.
    pub fn after(&mut self, day: &str) {
        self.day(Name::After, day);
    }

    /// Only before this day.
    pub fn before(&mut self, day: &str) {
        self.day(Name::Before, day);
    }

    /// Whether there is something to look for: a word, or a newsgroup to look through.
    pub fn is_answerable(&self) -> bool {
        !self.wanted.is_empty() || !self.newsgroups.is_empty()
    }

    fn take(&mut self, name: Option<Name>, value: &str, quoted: bool, negated: bool) {
        let field = match name {
            None => Field::Anywhere,
            Some(Name::Subject) => Field::Subject,
            Some(Name::Author) => Field::Author,
            Some(Name::Newsgroup) if negated => {
                return self.note(format!(
                    "-group:{value} was left out: name the newsgroups to look in, as in group:comp.*."
                ));
            }
            Some(Name::Newsgroup) => return self.in_newsgroups(value),
            Some(name @ (Name::After | Name::Before)) => return self.day(name, value),
        };
        let open = !quoted && value.ends_with('*');
        let Some(mut term) = Term::of(field, value, open) else {
            return;
        };
        let left = MOST_WORDS.saturating_sub(self.count);
        if term.words.len() > left {
            self.note(format!("Only the first {MOST_WORDS} words count."));
            term.words.truncate(left);
            term.open = false;
        }
        self.count += term.words.len();
        match term.words.is_empty() {
            true => {}
            false if negated => self.unwanted.push(term),
            false => self.wanted.push(term),
        }
    }

    fn day(&mut self, name: Name, text: &str) {
        let (text, what) = (cut(text.trim(), LONGEST), name.word());
        if text.is_empty() {
            return;
        }
        let Some(seconds) = day(text) else {
            return self.note(format!(
                "“{text}” was left out: a day looks like {what}:2025-01-31, a year like {what}:2025."
            ));
        };
        let place = match name {
            Name::Before => &mut self.before,
            _ => &mut self.after,
        };
        // If there are several, all of them hold.
        *place = Some(match (*place, name) {
            (None, _) => seconds,
            (Some(other), Name::Before) => other.min(seconds),
            (Some(other), _) => other.max(seconds),
        });
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) && self.notes.len() < MOST_PATTERNS {
            self.notes.push(note);
        }
    }

    /// The expression that finds it; `newsgroups` is what the patterns came to, in the words of [`newsgroup_word`].
    /// Nothing if there is no word to look up.
    pub(crate) fn expression(&self, newsgroups: &[(String, bool)]) -> Option<String> {
        let mut all: Vec<String> = self.wanted.iter().map(Term::expression).collect();
        if !newsgroups.is_empty() {
            let each = newsgroups.iter().map(|(word, open)| {
                let star = if *open { " *" } else { "" };
                format!("newsgroups : \"{word}\"{star}")
            });
            all.push(format!("({})", each.collect::<Vec<_>>().join(" OR ")));
        }
        let mut out = match all.is_empty() {
            true => return None,
            false => format!("({})", all.join(" AND ")),
        };
        if !self.unwanted.is_empty() {
            let without: Vec<String> = self.unwanted.iter().map(Term::expression).collect();
            let _ = write!(out, " NOT ({})", without.join(" OR "));
        }
        Some(out)
    }
}

impl Term {
    fn of(field: Field, text: &str, open: bool) -> Option<Self> {
        let units = words::units(text);
        let last = units.len().checked_sub(1)?;
        let (mut words, mut ends_open) = (Vec::new(), false);
        for (index, unit) in units.into_iter().enumerate() {
            match unit {
                Unit::Word(_, word) => {
                    ends_open = open && word.chars().count() >= FEWEST;
                    words.push(word);
                }
                Unit::Run(run) => {
                    // Where a run ends, text may go on: the last character alone is only there if it does not.
                    let alone = index < last || run.len() == 1;
                    words.extend(words::pairs(&run, alone).map(|(_, pair)| pair));
                    ends_open = run.len() == 1;
                }
            }
        }
        Some(Self {
            field,
            words,
            open: ends_open,
        })
    }

    fn expression(&self) -> String {
        let column = match self.field {
            Field::Anywhere => "{subject author body quoted}",
            Field::Subject => "subject",
            Field::Author => "author",
        };
        let star = if self.open { " *" } else { "" };
        format!("{column} : \"{}\"{star}", self.words.join(" "))
    }
}

/// The name of a newsgroup as one word of the index, which knows letters and digits alone.
pub(crate) fn newsgroup_word(name: &str) -> String {
    let letter = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() || !letter.is_ascii() => letter,
        other => char::from_u32(0x1_0000 | u32::from(other)).unwrap_or('\u{1_0000}'),
    };
    name.chars().map(letter).collect()
}

/// What may stand before a colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Newsgroup,
    Author,
    Subject,
    After,
    Before,
}

impl Name {
    fn word(self) -> &'static str {
        match self {
            Self::Newsgroup => "group",
            Self::Author => "author",
            Self::Subject => "subject",
            Self::After => "after",
            Self::Before => "before",
        }
    }
}

/// Takes a name and its colon off, if there is one.
fn named(text: &str) -> (Option<Name>, &str) {
    let Some((name, rest)) = text.split_once(':') else {
        return (None, text);
    };
    let name = match name.to_ascii_lowercase().as_str() {
        "group" | "newsgroup" | "newsgroups" => Name::Newsgroup,
        "author" | "from" => Name::Author,
        "subject" => Name::Subject,
        "after" | "since" => Name::After,
        "before" | "until" => Name::Before,
        _ => return (None, text),
    };
    (Some(name), rest)
}

/// The value at the start of a text, whether it was in quotation marks, and what comes after it.
fn value(text: &str) -> (&str, bool, &str) {
    let mark = |letter: char| matches!(letter, '"' | '“' | '”' | '„' | '«' | '»');
    let mut letters = text.char_indices();
    match letters.next() {
        Some((_, first)) if mark(first) => {
            let inner = &text[first.len_utf8()..];
            // A phrase that nobody has ended goes on to the end.
            let end = inner.find(mark).unwrap_or(inner.len());
            let after = inner[end..].trim_start_matches(mark);
            (&inner[..end], true, after)
        }
        _ => {
            let end = text.find(|letter: char| letter.is_whitespace() || mark(letter));
            let (value, rest) = text.split_at(end.unwrap_or(text.len()));
            (value, false, rest)
        }
    }
}

/// The first second of a day, a month or a year, in UTC as the dates of articles.
/// Whether this is a day, a month or a year.
pub fn is_day(text: &str) -> bool {
    day(text).is_some()
}

fn day(text: &str) -> Option<i64> {
    let mut parts = text.split(['-', '/', '.']);
    let year = parts.next()?;
    let year: i16 = year.parse().ok().filter(|_| year.len() == 4)?;
    let mut part = || match parts.next() {
        None => Some(1),
        Some(part) => part.parse::<i8>().ok(),
    };
    let (month, day) = (part()?, part()?);
    if parts.next().is_some() {
        return None;
    }
    let date = Date::new(year, month, day).ok()?;
    let zoned = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(zoned.timestamp().as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(text: &str) -> String {
        Inquiry::read(text).expression(&[]).unwrap_or_default()
    }

    const ALL: &str = "{subject author body quoted} : ";

    #[test]
    fn words_phrases_and_what_is_not_wanted() {
        assert_eq!(
            expression("Old mill"),
            format!("({ALL}\"old\" AND {ALL}\"mill\")")
        );
        assert_eq!(expression("\"old mill\""), format!("({ALL}\"old mill\")"));
        assert_eq!(
            expression("mill -frost -\"very cold\""),
            format!("({ALL}\"mill\") NOT ({ALL}\"frost\" OR {ALL}\"very cold\")")
        );
        assert_eq!(expression("gaug*"), format!("({ALL}\"gaug\" *)"));
        assert_eq!(expression("don't"), format!("({ALL}\"don t\")"));
        assert_eq!(
            expression("subject:mill author:\"Mira Holt\""),
            "(subject : \"mill\" AND author : \"mira holt\")"
        );
    }

    #[test]
    fn a_run_is_a_phrase_of_its_pairs() {
        assert_eq!(expression("東京都"), format!("({ALL}\"東京 京都\")"));
        assert_eq!(expression("都"), format!("({ALL}\"都\" *)"));
        assert_eq!(
            expression("言語 rust言語"),
            format!("({ALL}\"言語\" AND {ALL}\"rust 言語\")")
        );
        assert_eq!(
            expression("\"言語 rust\""),
            format!("({ALL}\"言語 語 rust\")")
        );
    }

    #[test]
    fn days_are_read_and_all_of_them_hold() {
        let inquiry =
            Inquiry::read("x after:2025 before:2025-02 after:2025-01-03 before:2026-01-01");
        assert_eq!(inquiry.after, Some(1_735_862_400));
        assert_eq!(inquiry.before, Some(1_738_368_000));
        for odd in [
            "after:soon",
            "before:2025-13",
            "after:2025-02-30",
            "after:25-1-1",
            "after:2025-1-1-1",
        ] {
            let inquiry = Inquiry::read(odd);
            assert_eq!((inquiry.after, inquiry.before), (None, None), "{odd}");
            assert!(inquiry.notes[0].contains("was left out"), "{odd}");
        }
    }

    #[test]
    fn newsgroups_are_patterns_and_other_colons_are_none() {
        let inquiry = Inquiry::read("group:comp.*,de.test http://x.example/a");
        assert_eq!(inquiry.newsgroups, ["comp.*", "de.test"]);
        assert_eq!(inquiry.wanted[0].words, ["http", "x", "example", "a"]);
        assert!(Inquiry::read("group:a.b").is_answerable());
        assert!(!Inquiry::read("-a after:2025").is_answerable());
        assert!(!Inquiry::read("-group:a x").notes.is_empty());
        assert_ne!(newsgroup_word("a.b"), newsgroup_word("a-b"));
        assert!(!newsgroup_word("a.b+c_d").contains(|c: char| c.is_ascii_punctuation()));
    }

    #[test]
    fn more_than_can_be_asked_is_said_and_left_out() {
        let inquiry = Inquiry::read(&"word ".repeat(90));
        assert_eq!(inquiry.wanted.len(), MOST_WORDS);
        assert_eq!(inquiry.notes, ["Only the first 24 words count."]);
        let inquiry = Inquiry::read(&"x".repeat(600));
        assert_eq!(inquiry.notes, ["Only the first 500 characters were read."]);
        let inquiry = Inquiry::read(&format!("\"{}\"*", "東".repeat(100)));
        assert_eq!(inquiry.wanted[0].words.len(), MOST_WORDS);
        let inquiry = Inquiry::read(&"group:a.* ".repeat(20));
        assert_eq!(inquiry.newsgroups.len(), MOST_PATTERNS);
        assert_eq!(inquiry.notes, ["Only the first 16 newsgroups count."]);
    }

    #[test]
    fn a_star_after_too_little_is_no_star() {
        assert!(!Inquiry::read("a*").wanted[0].open);
        assert!(Inquiry::read("ab*").wanted[0].open);
        assert!(!Inquiry::read("\"ab*\"").wanted[0].open);
    }
}
