//! The words of a text, folded so that one finds another: without case, without accents, in one form of Unicode.
//!
//! Scripts that put no spaces between words (Chinese, Japanese, Thai and their neighbours), and Korean, whose words carry their
//! particles with them, are read as a *run* of characters and indexed as overlapping pairs: 東京都 is 東京, 京都 and 都. A run
//! that is looked for is a phrase of its pairs, so that any piece of a text is found, and nothing else. The lone last character
//! lets a single one be found as the beginning of some pair.

use std::ops::Range;

use icu_normalizer::properties::{CanonicalCombiningClassMap, CanonicalCombiningClassMapBorrowed};
use icu_normalizer::{DecomposingNormalizer, DecomposingNormalizerBorrowed};

/// Bytes of a word that count. Longer ones are no words, and each costs its length in the index.
const LONGEST: usize = 64;

const NORMAL: DecomposingNormalizerBorrowed<'static> = DecomposingNormalizer::new_nfkd();
const CLASSES: CanonicalCombiningClassMapBorrowed<'static> = CanonicalCombiningClassMap::new();

/// Where something stands in a text, and its folded form. There is no space and no ASCII but letters and digits in that.
pub(crate) type Placed = (Range<usize>, String);

/// A piece of a text that has words in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A word between spaces or other marks.
    Word(Range<usize>, String),
    /// Characters of a script without spaces.
    Run(Vec<Placed>),
}

/// The units of a text in their order.
pub(crate) fn units(text: &str) -> Vec<Unit> {
    let mut reader = UnitReader::default();
    for (at, character) in text.char_indices() {
        reader.take(at..at + character.len_utf8(), character);
    }
    reader.end();
    reader.units
}

/// The words of a text as the index has them, in their order. Those of a run overlap.
pub(crate) fn terms(text: &str) -> Vec<Placed> {
    let mut terms = Vec::new();
    for unit in units(text) {
        match unit {
            Unit::Word(at, word) => terms.push((at, word)),
            Unit::Run(run) => terms.extend(pairs(&run, true)),
        }
    }
    terms
}

/// The same as one text for the index.
pub(crate) fn indexed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (_, term) in terms(text) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&term);
    }
    out
}

/// The overlapping pairs of a run; with the lone last character, or without.
pub(crate) fn pairs(run: &[Placed], last: bool) -> impl Iterator<Item = Placed> + '_ {
    let pair = |two: &[Placed]| {
        let [(first, one), (second, other)] = two else {
            return (0..0, String::new());
        };
        (first.start..second.end, [one.as_str(), other].concat())
    };
    let end = run.last().filter(|_| last).cloned();
    run.windows(2).map(pair).chain(end)
}

#[derive(Default)]
struct UnitReader {
    units: Vec<Unit>,
    /// The unit that is being read.
    open: Option<Unit>,
}

impl UnitReader {
    fn take(&mut self, at: Range<usize>, character: char) {
        if character.is_ascii() {
            return match character.is_ascii_alphanumeric() {
                true => self.letter(at, character.to_ascii_lowercase()),
                false => self.end(),
            };
        }
        let whole = match character {
            // A letter of its own, not one with an accent.
            'й' | 'Й' => return self.letter(at, 'й'),
            _ => NORMAL.normalize_iter(std::iter::once(character)),
        };
        for part in whole {
            self.part(at.clone(), part);
        }
    }

    fn part(&mut self, at: Range<usize>, part: char) {
        let class = CLASSES.get_u8(part);
        match part {
            '\u{306}' if self.ends_with('и') => return self.replace_last(&at, 'й'),
            // Soft hyphen, joiners, direction marks, tatweel, variants: they are in words but no part of them.
            '\u{ad}' | '\u{200c}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{640}' => return,
            '\u{fe00}'..='\u{fe0f}' => return,
            _ => {}
        }
        match class {
            // Accents, and the vowel points of Hebrew and Arabic.
            1 | 10..=36 | 200.. => {}
            0 if !part.is_alphanumeric() => self.end(),
            0 => folded(part, |letter| self.letter(at.clone(), letter)),
            // Marks without which a word of India or South-East Asia is another one.
            _ => self.mark(at, part),
        }
    }

    fn letter(&mut self, at: Range<usize>, letter: char) {
        if !is_unspaced(letter) {
            return match &mut self.open {
                Some(Unit::Word(place, word)) => {
                    place.end = at.end;
                    push(word, letter);
                }
                _ => {
                    self.end();
                    self.open = Some(Unit::Word(at, letter.into()));
                }
            };
        }
        match &mut self.open {
            Some(Unit::Run(run)) => match run.last_mut() {
                Some((place, last)) if is_medial(letter) => {
                    place.end = at.end;
                    push(last, letter);
                }
                _ => run.push((at, letter.into())),
            },
            _ => {
                self.end();
                self.open = Some(Unit::Run(vec![(at, letter.into())]));
            }
        }
    }

    fn mark(&mut self, at: Range<usize>, mark: char) {
        let (place, text) = match &mut self.open {
            Some(Unit::Word(place, word)) => (place, word),
            Some(Unit::Run(run)) => match run.last_mut() {
                Some((place, last)) => (place, last),
                None => return,
            },
            None => return,
        };
        place.end = at.end;
        push(text, mark);
    }

    fn ends_with(&self, letter: char) -> bool {
        matches!(&self.open, Some(Unit::Word(_, word)) if word.ends_with(letter))
    }

    fn replace_last(&mut self, at: &Range<usize>, letter: char) {
        if let Some(Unit::Word(place, word)) = &mut self.open {
            place.end = at.end;
            word.pop();
            push(word, letter);
        }
    }

    fn end(&mut self) {
        self.units.extend(self.open.take());
    }
}

fn push(word: &mut String, letter: char) {
    if word.len() + letter.len_utf8() <= LONGEST {
        word.push(letter);
    }
}

/// A letter without case; some have no accent to be taken off and are known by another letter all the same.
fn folded(letter: char, mut each: impl FnMut(char)) {
    for lower in letter.to_lowercase() {
        match lower {
            'ß' => ['s', 's'].into_iter().for_each(&mut each),
            'æ' => ['a', 'e'].into_iter().for_each(&mut each),
            'œ' => ['o', 'e'].into_iter().for_each(&mut each),
            'ø' => each('o'),
            'đ' => each('d'),
            'ł' => each('l'),
            'ı' => each('i'),
            'ς' => each('σ'),
            // What an accent leaves behind when its letter is made small.
            lower if CLASSES.get_u8(lower) >= 200 => {}
            lower => each(lower),
        }
    }
}

/// Whether words of the script run into each other.
fn is_unspaced(letter: char) -> bool {
    matches!(letter,
        '\u{e00}'..='\u{eff}' // Thai, Lao
        | '\u{1000}'..='\u{109f}' // Burmese
        | '\u{1100}'..='\u{11ff}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}' // Korean
        | '\u{1780}'..='\u{17ff}' // Khmer
        | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3040}'..='\u{312f}' | '\u{31a0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// The vowel or the end of a Korean syllable, which belongs to what is before it.
fn is_medial(letter: char) -> bool {
    matches!(letter, '\u{1160}'..='\u{11ff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn folds(one: &str, other: &str) {
        assert_eq!(indexed(one), indexed(other), "{one} and {other}");
    }

    #[test]
    fn case_accents_and_forms_of_unicode_make_no_difference() {
        for (one, other) in [
            ("Überfall", "uberfall"),
            ("Straße", "STRASSE"),
            ("naïve", "nai\u{308}ve"),
            ("Ελλάδα", "ελλαδα"),
            ("ΟΔΟΣ", "οδός"),
            ("Ёлка", "елка"),
            ("МОЙ", "мои\u{306}"),
            ("كِتَابٌ", "كتاب"),
            ("שָׁלוֹם", "שלום"),
            ("한국어", "한국어"),
            ("が", "か\u{3099}"),
            ("ｶﾞｲﾄﾞ", "ガイド"),
            ("Ｗｅｉｒ", "weir"),
            ("ﬁle", "file"),
            ("Łódź", "lodz"),
            ("İstanbul", "istanbul"),
            ("soft\u{ad}ware", "software"),
        ] {
            folds(one, other);
        }
        assert_ne!(indexed("мой"), indexed("мои"));
        assert_ne!(indexed("か"), indexed("が"));
    }

    #[test]
    fn words_of_india_keep_their_vowels() {
        assert_eq!(indexed("हिन्दी में"), "हिन्दी में");
        assert_ne!(indexed("कि"), indexed("का"));
    }

    #[test]
    fn scripts_without_spaces_become_pairs() {
        assert_eq!(indexed("東京都"), "東京 京都 都");
        assert_eq!(indexed("Rust言語は"), "rust 言語 語は は");
        assert_eq!(indexed("日本、語"), "日本 本 語");
        assert_eq!(terms("x 東京").last().unwrap().0, 5..8);
        assert_eq!(terms("한국")[0].0, 0..6, "a syllable is one character");
        assert!(indexed("ภาษาไทย").starts_with("ภา "));
    }

    #[test]
    fn marks_end_words_and_long_words_end_themselves() {
        assert_eq!(
            indexed("  don't-stop (now), a.b@c "),
            "don t stop now a b c"
        );
        assert_eq!(indexed(&"é".repeat(1000)).len(), LONGEST);
        assert_eq!(indexed("… \u{200b} ☃ !?"), "");
    }

    proptest! {
        #[test]
        fn whatever_is_read_stands_where_it_says(text in "\\PC{0,60}") {
            let mut last = 0;
            for (at, term) in terms(&text) {
                prop_assert!(text.get(at.clone()).is_some_and(|piece| !piece.is_empty()));
                prop_assert!(at.start >= last && !term.is_empty());
                prop_assert!(term.chars().all(|c| !c.is_whitespace() && (!c.is_ascii() || c.is_ascii_alphanumeric())));
                last = at.start;
            }
        }
    }

    #[test]
    fn folding_twice_changes_nothing() {
        let words = |text: &str| -> Vec<String> {
            let words = units(text).into_iter().filter_map(|unit| match unit {
                Unit::Word(_, word) => Some(word),
                Unit::Run(_) => None,
            });
            words.collect()
        };
        for character in '\u{80}'..='\u{ffff}' {
            let once = words(&format!("a{character}b"));
            assert_eq!(words(&once.join(" ")), once, "{character:?}");
        }
    }
}
