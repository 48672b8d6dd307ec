//! Text as blocks for a page: quotes by level, who is quoted, signature, files.
//!
//! A block holds text and links, never HTML: templates write both, escaped.

mod role;

use std::borrow::Cow;

use super::damage::{Damage, Report};
use super::embedded::Embedded;
use super::limits;
use super::line::Line;
use super::link::{self, Span};

pub use role::Role;

/// A run of lines that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What these lines are.
    pub role: Role,
    /// How many quote marks they had; 0 is the author's own text.
    pub quote: u8,
    /// How many lines there are, blank ones included.
    pub lines: usize,
    /// The text with its links; lines are separated by line feeds.
    pub spans: Vec<Span>,
}

impl Block {
    /// The text without links.
    #[must_use]
    pub fn text(&self) -> String {
        self.spans.iter().map(Span::text).collect()
    }

    fn file(file: Embedded) -> Self {
        Self {
            role: Role::File(file),
            quote: 0,
            lines: 0,
            spans: Vec::new(),
        }
    }
}

/// Collects lines and files and makes blocks of them.
#[derive(Debug, Default)]
pub(super) struct Blocks<'a> {
    rows: Vec<Row<'a>>,
}

#[derive(Debug)]
enum Row<'a> {
    Line(Line<'a>),
    File(Embedded),
}

impl<'a> Blocks<'a> {
    /// Takes lines, as many as there is room for.
    pub(super) fn lines(&mut self, lines: impl Iterator<Item = Line<'a>>, report: &mut Report) {
        for line in lines {
            if self.rows.len() >= limits::LINES {
                report.add(Damage::LongText);
                return;
            }
            self.rows.push(Row::Line(line));
        }
    }

    /// Takes a file that stood between the lines.
    pub(super) fn file(&mut self, file: Embedded, report: &mut Report) {
        if !file.is_complete && file.part.is_none() {
            report.add(Damage::IncompleteFile(file.name.clone()));
        }
        if self.rows.len() < limits::LINES {
            self.rows.push(Row::File(file));
        }
    }

    /// Makes blocks of neighbours with the same role and quote level; blank lines around a block
    /// are dropped.
    pub(super) fn finish(mut self) -> Vec<Block> {
        self.undash();
        let lines: Vec<Option<&Line<'_>>> = self.rows.iter().map(Row::as_line).collect();
        let mut roles = role::of(&lines).into_iter();
        let (mut blocks, mut links) = (Vec::new(), limits::LINKS);
        let mut run: Option<(Role, u8, Vec<Line<'_>>)> = None;
        for row in self.rows {
            let role = roles.next().flatten();
            match (row, role) {
                (Row::Line(line), Some(role)) => match &mut run {
                    Some((same, quote, lines)) if *same == role && *quote == line.quote => {
                        lines.push(line)
                    }
                    _ => {
                        push(run.take(), &mut blocks, &mut links);
                        run = Some((role, line.quote, vec![line]));
                    }
                },
                // A line without a role is a mark that is not shown.
                (Row::Line(_), None) => push(run.take(), &mut blocks, &mut links),
                (Row::File(file), _) => {
                    push(run.take(), &mut blocks, &mut links);
                    blocks.push(Block::file(file));
                }
            }
        }
        push(run, &mut blocks, &mut links);
        blocks
    }
}

impl Blocks<'_> {
    /// Takes off the dash that PGP puts before lines of a signed text that start with one: without
    /// this, no signed text would have a signature of its author.
    fn undash(&mut self) {
        let mut is_signed = false;
        for row in &mut self.rows {
            let Row::Line(line) = row else {
                continue;
            };
            match line.text.trim_end() {
                "-----BEGIN PGP SIGNED MESSAGE-----" => is_signed = true,
                "-----BEGIN PGP SIGNATURE-----" => is_signed = false,
                _ => {}
            }
            if is_signed && line.quote == 0 && line.text.starts_with("- ") {
                line.text = match &line.text {
                    Cow::Borrowed(text) => Cow::Borrowed(&text[2..]),
                    Cow::Owned(text) => Cow::Owned(text[2..].to_owned()),
                };
            }
        }
    }
}

impl Row<'_> {
    fn as_line(&self) -> Option<&Line<'_>> {
        match self {
            Row::Line(line) => Some(line),
            Row::File(_) => None,
        }
    }
}

fn push(run: Option<(Role, u8, Vec<Line<'_>>)>, blocks: &mut Vec<Block>, links: &mut usize) {
    let Some((role, quote, lines)) = run else {
        return;
    };
    let is_blank = |line: &Line<'_>| line.text.trim().is_empty();
    let (Some(first), Some(last)) = (
        lines.iter().position(|line| !is_blank(line)),
        lines.iter().rposition(|line| !is_blank(line)),
    ) else {
        return;
    };
    let lines = &lines[first..=last];
    let text: Vec<&str> = lines.iter().map(|line| line.text.trim_end()).collect();
    let spans = link::spans(&text.join("\n"), links);
    blocks.push(Block {
        role,
        quote,
        lines: lines.len(),
        spans,
    });
}

#[cfg(test)]
mod tests {
    use super::super::line;
    use super::*;

    fn blocks(text: &str) -> Vec<(Role, u8, usize, String)> {
        let mut blocks = Blocks::default();
        blocks.lines(line::fixed(text), &mut Report::default());
        let blocks = blocks.finish().into_iter();
        blocks
            .map(|block| (block.role.clone(), block.quote, block.lines, block.text()))
            .collect()
    }

    #[test]
    fn quotes_attribution_and_signature_are_apart() {
        let text = "Mira Holt wrote:\n\n> one\n> two\n>> deep\n\nMy answer.\n\nMore.\n\n-- \nJonas\nriver.example\n";
        let expected = [
            (Role::Attribution, 0, 1, "Mira Holt wrote:".to_owned()),
            (Role::Text, 1, 2, "one\ntwo".to_owned()),
            (Role::Text, 2, 1, "deep".to_owned()),
            (Role::Text, 0, 3, "My answer.\n\nMore.".to_owned()),
            (Role::Signature, 0, 2, "Jonas\nriver.example".to_owned()),
        ];
        assert_eq!(blocks(text), expected);
    }

    #[test]
    fn nothing_but_blank_lines_is_no_block() {
        assert_eq!(blocks("\n \n\n"), []);
        assert_eq!(blocks(">\n>\n"), []);
    }

    #[test]
    fn files_stand_between_blocks() {
        let mut report = Report::default();
        let mut blocks = Blocks::default();
        blocks.lines(line::fixed("before"), &mut report);
        let file = Embedded {
            encoding: super::super::Encoding::Yenc,
            name: "a".into(),
            size: None,
            part: None,
            total: None,
            is_complete: false,
        };
        blocks.file(file.clone(), &mut report);
        blocks.lines(line::fixed("after"), &mut report);
        let roles: Vec<Role> = blocks
            .finish()
            .into_iter()
            .map(|block| block.role)
            .collect();
        assert_eq!(roles, [Role::Text, Role::File(file), Role::Text]);
        assert_eq!(report.into_list(), [Damage::IncompleteFile("a".into())]);
    }

    #[test]
    fn lines_are_limited() {
        let mut report = Report::default();
        let mut blocks = Blocks::default();
        let text = "a\n>b\n".repeat(limits::LINES / 2 + 1);
        blocks.lines(line::fixed(&text), &mut report);
        assert_eq!(blocks.finish().len(), limits::LINES);
        assert_eq!(report.into_list(), [Damage::LongText]);
    }
}
