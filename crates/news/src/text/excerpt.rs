//! The passage of a text that is shown of what was found, with the words marked.

use std::ops::Range;

use weir_news_proto::article::cut_bytes;

use super::inquiry::{Field, Term};
use super::words::{self, Placed};

/// Bytes of a passage, more or less.
const LENGTH: usize = 260;
/// Bytes of it before the first marked word.
const LEAD: usize = 60;
/// Places in a text that are looked at.
const PLACES: usize = 400;
/// Bytes of a text that are looked through.
const LOOKED: usize = 64 << 10;

/// A piece of a passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// On one line.
    pub text: String,
    /// Whether it was looked for.
    pub marked: bool,
}

/// A short text as a whole with what was looked for in it.
pub(crate) fn marked(text: &str, terms: &[Term], field: Field) -> Vec<Piece> {
    let found = places(text, terms, field);
    let found: Vec<_> = found.into_iter().map(|(at, _)| at).collect();
    pieces(text, 0..text.len(), &found)
}

/// The passage with most of what was looked for; the beginning if nothing is in it.
pub(crate) fn passage(text: &str, terms: &[Term]) -> Vec<Piece> {
    let text = cut_bytes(text, LOOKED);
    let found = places(text, terms, Field::Anywhere);
    let worth = |first: usize| {
        let end = found[first].0.start + LENGTH - LEAD;
        let within = found[first..].iter().take_while(|(at, _)| at.end <= end);
        let mut which: Vec<usize> = within.map(|(_, term)| *term).collect();
        which.sort_unstable();
        which.dedup();
        which.len()
    };
    // The first of the best ones.
    let best = (0..found.len()).max_by_key(|first| (worth(*first), std::cmp::Reverse(*first)));
    let start = best.map_or(0, |best| found[best].0.start.saturating_sub(LEAD));
    let window = window(text, start);
    let found: Vec<_> = found.into_iter().map(|(at, _)| at).collect();
    let mut pieces = pieces(text, window.clone(), &found);
    let dots = |text: &str| Piece {
        text: text.to_owned(),
        marked: false,
    };
    if !pieces.is_empty() && window.start > 0 {
        pieces.insert(0, dots("… "));
    }
    if !pieces.is_empty() && window.end < text.len() {
        pieces.push(dots(" …"));
    }
    pieces
}

/// From about here on, and not from the middle of a word.
fn window(text: &str, start: usize) -> Range<usize> {
    let start = text.floor_char_boundary(start);
    let start = match start {
        0 => 0,
        start => {
            let head = cut_bytes(&text[start..], LEAD / 2);
            let space = head.find(char::is_whitespace);
            start + space.unwrap_or(0)
        }
    };
    let end = text.floor_char_boundary(start + LENGTH);
    let end = match end < text.len() {
        false => end,
        true => {
            let tail = text[start..end].rfind(char::is_whitespace);
            tail.filter(|tail| *tail > LENGTH / 2)
                .map_or(end, |tail| start + tail)
        }
    };
    start..end
}

/// Where in a text something stands that was looked for, in order, and which term it is.
fn places(text: &str, terms: &[Term], field: Field) -> Vec<(Range<usize>, usize)> {
    let all = words::terms(text);
    let meant: Vec<(usize, &Term)> = terms
        .iter()
        .enumerate()
        .filter(|(_, term)| term.field == Field::Anywhere || term.field == field)
        .collect();
    let mut places = Vec::new();
    for first in 0..all.len() {
        for (index, term) in &meant {
            if let Some(at) = stands(&all[first..], term) {
                places.push((at, *index));
            }
        }
        if places.len() >= PLACES {
            break;
        }
    }
    places
}

/// Where a term ends that begins with the first of these words.
fn stands(words: &[Placed], term: &Term) -> Option<Range<usize>> {
    let (last, before) = term.words.split_last()?;
    let same = before.iter().zip(words).all(|(want, (_, is))| want == is);
    let (end, word) = words.get(before.len())?;
    let fits = match term.open {
        true => word.starts_with(last.as_str()),
        false => word == last,
    };
    (same && fits).then(|| words[0].0.start..end.end)
}

/// The text within a window, on one line, cut where marked words begin and end.
fn pieces(text: &str, window: Range<usize>, found: &[Range<usize>]) -> Vec<Piece> {
    let (mut pieces, mut at) = (Vec::new(), window.start);
    let mut push = |range: Range<usize>, marked: bool| {
        let Some(piece) = text.get(range).filter(|piece| !piece.is_empty()) else {
            return;
        };
        let mut line = String::with_capacity(piece.len());
        for letter in piece.chars() {
            match letter.is_whitespace() {
                true if line.ends_with(' ') => {}
                true => line.push(' '),
                false => line.push(letter),
            }
        }
        match pieces.last_mut() {
            Some(Piece { text, marked: same }) if *same == marked => text.push_str(&line),
            _ => pieces.push(Piece { text: line, marked }),
        }
    };
    for place in found {
        let (start, end) = (place.start.max(at), place.end.min(window.end));
        if place.start >= window.end {
            break;
        }
        if start < end {
            push(at..start, false);
            push(start..end, true);
            at = end;
        }
    }
    push(at..window.end, false);
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::Inquiry;

    fn shown(text: &str, inquiry: &str) -> String {
        let pieces = passage(text, &Inquiry::read(inquiry).wanted);
        let shown = pieces.iter().map(|piece| match piece.marked {
            true => format!("[{}]", piece.text),
            false => piece.text.clone(),
        });
        shown.collect()
    }

    #[test]
    fn words_are_marked_as_they_are_written() {
        assert_eq!(
            shown("The Gauge\r\n  at the old mill", "gauge \"old mill\""),
            "The [Gauge] at the [old mill]"
        );
        assert_eq!(
            shown("Über die Straße", "uber strasse"),
            "[Über] die [Straße]"
        );
        assert_eq!(shown("gauging gauges", "gaug*"), "[gauging] [gauges]");
        assert_eq!(shown("我在東京都住", "京都"), "我在東[京都]住");
        assert_eq!(
            shown("an old, old mill", "\"old mill\""),
            "an old, [old mill]"
        );
        assert_eq!(shown("words", "author:words"), "words");
    }

    #[test]
    fn the_passage_with_most_of_it_is_shown() {
        let filler = "one two three four five ".repeat(40);
        let text = format!("mill {filler} the old mill {filler}");
        let shown = shown(&text, "old mill");
        assert!(shown.starts_with("… ") && shown.ends_with(" …"), "{shown}");
        assert!(shown.contains("the [old] [mill] one"), "{shown}");
        assert!(shown.len() < LENGTH + 40, "{shown}");
    }

    #[test]
    fn without_a_match_the_beginning_is_shown() {
        assert_eq!(shown("Some words", "other"), "Some words");
        assert_eq!(shown("", "other"), "");
    }

    proptest! {
        #[test]
        fn no_text_and_no_question_breaks_it(text in "\\PC{0,400}", inquiry in "\\PC{0,30}") {
            let inquiry = Inquiry::read(&inquiry);
            let all: String = passage(&text, &inquiry.wanted).into_iter().map(|piece| piece.text).collect();
            prop_assert!(all.len() <= LENGTH + 16);
            marked(&text, &inquiry.wanted, Field::Subject);
        }
    }
}
