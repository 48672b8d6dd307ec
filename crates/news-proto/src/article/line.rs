//! Text as lines with a quote level, from text of fixed lines or from `format=flowed` (RFC 3676).

use std::borrow::Cow;

use super::limits;
use super::media::DelSp;

/// One line as it is shown: without its quote marks, a flowed paragraph as a single line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// How many quote marks it had.
    pub(super) quote: u8,
    pub(super) text: Cow<'a, str>,
}

/// Lines as they were written; quote marks may have a space after each.
pub(super) fn fixed(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.split('\n').map(|line| {
        let (mut quote, mut rest) = (0, line);
        while quote < limits::QUOTES {
            // `> > x` and `>> x` are both two levels, and one space after the last mark is no text.
            let inner = rest.strip_prefix(' ').filter(|_| quote > 0).unwrap_or(rest);
            match inner.strip_prefix('>') {
                Some(after) => (quote, rest) = (quote + 1, after),
                None => break,
            }
        }
        let text = rest.strip_prefix(' ').filter(|_| quote > 0).unwrap_or(rest);
        Line {
            quote,
            text: Cow::Borrowed(text),
        }
    })
}

/// Lines of flowed text, joined to paragraphs.
pub(super) fn flowed(text: &str, DelSp(del_sp): DelSp) -> impl Iterator<Item = Line<'_>> {
    let mut lines = text.split('\n').map(unstuffed).peekable();
    std::iter::from_fn(move || {
        let mut line = lines.next()?;
        while flows(&line) {
            // A line that ends in a space goes on only in a line of the same quote level; the mark
            // of a signature is never joined to anything.
            let next = lines.next_if(|next| next.quote == line.quote && next.text != SIGNATURE);
            let Some(next) = next else { break };
            let joined = line.text.to_mut();
            if del_sp {
                joined.pop();
            }
            joined.push_str(&next.text);
        }
        Some(line)
    })
}

/// The line before a signature.
pub(super) const SIGNATURE: &str = "-- ";

/// Takes off quote marks, which have no spaces between them here, and the space that was put before
/// text that looks like one.
fn unstuffed(line: &str) -> Line<'_> {
    let marks = line.bytes().take_while(|byte| *byte == b'>').count();
    let text = &line[marks..];
    Line {
        quote: u8::try_from(marks).unwrap_or(u8::MAX).min(limits::QUOTES),
        text: Cow::Borrowed(text.strip_prefix(' ').unwrap_or(text)),
    }
}

fn flows(line: &Line<'_>) -> bool {
    line.text.ends_with(' ') && line.text != SIGNATURE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown<'a>(lines: impl Iterator<Item = Line<'a>>) -> Vec<(u8, String)> {
        lines
            .map(|line| (line.quote, line.text.into_owned()))
            .collect()
    }

    #[test]
    fn fixed_lines_have_marks_with_and_without_spaces() {
        let text = "a\n> b\n>> c\n> > d\n>e\n>  f\n>";
        let expected = [
            (0, "a"),
            (1, "b"),
            (2, "c"),
            (2, "d"),
            (1, "e"),
            (1, " f"),
            (1, ""),
        ];
        assert_eq!(
            shown(fixed(text)),
            expected.map(|(quote, text)| (quote, text.to_owned()))
        );
    }

    #[test]
    fn flowed_lines_are_joined_within_their_level() {
        let text = "one \ntwo\n> q \n> r\n>> deep \n> other\n  stuffed\n >no quote\n-- \nsig \n";
        let expected = [
            (0, "one two"),
            (1, "q r"),
            (2, "deep "),
            (1, "other"),
            (0, " stuffed"),
            (0, ">no quote"),
            (0, "-- "),
            (0, "sig "),
        ];
        assert_eq!(
            shown(flowed(text, DelSp(false))),
            expected.map(|(quote, text)| (quote, text.to_owned()))
        );
    }

    #[test]
    fn delsp_removes_the_space_that_joins() {
        assert_eq!(
            shown(flowed("東 \n京", DelSp(true))),
            [(0, "東京".to_owned())]
        );
        assert_eq!(
            shown(flowed("a  \nb", DelSp(true))),
            [(0, "a b".to_owned())]
        );
    }

    #[test]
    fn a_signature_is_not_joined_to_the_line_before() {
        let lines = shown(flowed("text \n-- \nsig", DelSp(false)));
        assert_eq!(lines.len(), 3, "{lines:?}");
    }

    #[test]
    fn quote_levels_are_limited() {
        let marks = ">".repeat(1_000);
        assert!(
            shown(fixed(&marks))
                .iter()
                .all(|(quote, _)| *quote == limits::QUOTES)
        );
        assert_eq!(shown(flowed(&marks, DelSp(false)))[0].0, limits::QUOTES);
    }
}
