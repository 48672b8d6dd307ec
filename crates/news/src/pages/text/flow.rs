//! Lines become paragraphs: lines that a program broke flow again, and what the author placed stays in its place.

use super::{Paragraph, Phrase, Words};

/// Lines that are longer were never broken by the author's program.
const BROKEN: usize = 90;
/// Shorter paragraphs say nothing about where their author breaks lines.
const NARROW: usize = 44;

/// Splits lines where one is blank.
pub(super) fn paragraphs(lines: Vec<Words>) -> Vec<Paragraph> {
    let mut paragraphs = Vec::new();
    let mut current = Vec::new();
    for line in lines {
        if is_blank(&line) {
            paragraphs.extend(paragraph(std::mem::take(&mut current)));
        } else {
            current.push(line);
        }
    }
    paragraphs.extend(paragraph(current));
    // A drawing with a blank line in it is one drawing.
    paragraphs.dedup_by(|next, before| match (before, next) {
        (Paragraph::Fixed(before), Paragraph::Fixed(next)) => {
            before.extend([Phrase::Break, Phrase::Break]);
            before.append(next);
            true
        }
        _ => false,
    });
    paragraphs
}

fn paragraph(lines: Vec<Words>) -> Option<Paragraph> {
    match lines.is_empty() {
        true => None,
        false if is_drawn(&lines) => Some(Paragraph::Fixed(joined(lines))),
        false => Some(Paragraph::Flow(flowing(lines))),
    }
}

/// Whether places of characters matter: lines that are indented, or have wide gaps within.
fn is_drawn(lines: &[Words]) -> bool {
    let odd = |line: &Words| {
        let text = text_of(line);
        let inside = text.trim();
        text.starts_with("  ") || text.contains('\t') || has_gap(inside)
    };
    // One such line in many is a list or a typing habit.
    let count = lines.iter().filter(|line| odd(line)).count();
    count * 2 >= lines.len() && count > 0
}

/// Three spaces in a row that are not between sentences.
fn has_gap(text: &str) -> bool {
    let gap = text.match_indices("   ").next();
    gap.is_some_and(|(at, _)| !text[..at].ends_with(['.', '!', '?', ':']))
}

/// Joins lines, and keeps ends that the author meant.
fn flowing(lines: Vec<Words>) -> Vec<Phrase> {
    let lengths: Vec<usize> = lines
        .iter()
        .map(|line| text_of(line).trim_end().chars().count())
        .collect();
    let widest = lengths.iter().copied().max().unwrap_or_default();
    let mut phrases = Vec::new();
    let mut lines = lines.into_iter().zip(lengths).peekable();
    while let Some((line, length)) = lines.next() {
        phrases.extend(line);
        let Some((next, _)) = lines.peek() else {
            break;
        };
        let next = text_of(next);
        let word = next.split_whitespace().next().unwrap_or_default();
        let would_fit = length + 1 + word.chars().count() <= widest;
        let is_meant = !(NARROW..=BROKEN).contains(&widest) || would_fit || is_item(word);
        match is_meant {
            true => phrases.push(Phrase::Break),
            false => phrases.push(Phrase::Words(" ".to_owned())),
        }
    }
    phrases
}

/// Whether a line that begins with this word is an item of a list.
fn is_item(word: &str) -> bool {
    let number = word.trim_end_matches(['.', ')']);
    let is_number = number.len() < word.len()
        && number.len() < 3
        && number.bytes().all(|byte| byte.is_ascii_alphanumeric());
    matches!(word, "-" | "*" | "•" | "+" | "–" | "o") || (is_number && !number.is_empty())
}

pub(super) fn joined(lines: Vec<Words>) -> Vec<Phrase> {
    let mut phrases = Vec::new();
    for (index, line) in lines.into_iter().enumerate() {
        if index > 0 {
            phrases.push(Phrase::Break);
        }
        phrases.extend(line);
    }
    phrases
}

fn is_blank(line: &Words) -> bool {
    line.iter().all(|phrase| phrase.text().trim().is_empty())
}

fn text_of(line: &Words) -> String {
    line.iter().map(Phrase::text).collect()
}
