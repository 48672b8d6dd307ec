//! What HTML says, as lines of text: for those who read no HTML, for search and for snippets.

use super::token::{Token, Tokens, attribute};

/// The longest address that is written out after the text of its link.
const ADDRESS: usize = 200;

/// How deep quotes are told from each other.
const QUOTES: usize = 10;

/// Writes the text of HTML, with quotes marked as in plain text.
pub(super) fn plain(html: &str) -> String {
    let mut writer = Writer::default();
    for token in Tokens::of(html) {
        match token {
            Token::Text(text) => writer.text(&text),
            Token::Open { name, attributes } => writer.open(&name, attributes),
            Token::Close { name } => writer.close(&name),
        }
    }
    writer.out
}

#[derive(Default)]
struct Writer {
    out: String,
    quotes: usize,
    /// How many quotes the last line was in.
    marked: usize,
    /// Inside `pre`, white space counts.
    is_literal: bool,
    /// White space that is written only if text follows.
    space: Space,
    /// Where the link leads whose text is being written, and where its text starts.
    link: Option<(String, usize)>,
}

#[derive(Default, Clone, Copy, PartialEq, PartialOrd)]
enum Space {
    #[default]
    None,
    Word,
    Line,
    Paragraph,
}

impl Writer {
    fn text(&mut self, text: &str) {
        if self.is_literal {
            let mut lines = text.split('\n');
            self.word(lines.next().unwrap_or_default());
            for line in lines {
                self.newline();
                self.word(line);
            }
            return;
        }
        for (index, word) in text.split(|c: char| c.is_ascii_whitespace()).enumerate() {
            if index > 0 {
                self.at_least(Space::Word);
            }
            self.word(word);
        }
    }

    fn word(&mut self, word: &str) {
        if word.is_empty() {
            return;
        }
        if self.out.is_empty() {
            self.mark();
        } else {
            match self.space {
                Space::None => {}
                Space::Word if self.out.ends_with(['\n', ' ']) => {}
                Space::Word => self.out.push(' '),
                Space::Line => self.newline(),
                Space::Paragraph => {
                    // A blank line between two quotes belongs to neither.
                    let quotes = self.quotes;
                    self.quotes = quotes.min(self.marked);
                    self.newline();
                    self.quotes = quotes;
                    self.newline();
                }
            }
        }
        self.space = Space::None;
        self.out.push_str(word);
    }

    fn open(&mut self, name: &str, attributes: &str) {
        match name {
            "br" => {
                // Two in a row are a paragraph.
                let next = if self.space >= Space::Line {
                    Space::Paragraph
                } else {
                    Space::Line
                };
                self.at_least(next);
            }
            "a" => {
                self.link = attribute(attributes, "href").map(|address| (address, self.out.len()))
            }
            "img" => {
                if let Some(text) = attribute(attributes, "alt").filter(|text| !text.is_empty()) {
                    self.word(&format!("[{text}]"));
                }
            }
            "li" => {
                self.at_least(Space::Line);
                self.word("*");
                self.at_least(Space::Word);
            }
            "hr" => {
                self.at_least(Space::Line);
                self.word("----");
                self.at_least(Space::Line);
            }
            "td" | "th" => self.at_least(Space::Word),
            "blockquote" => {
                self.at_least(Space::Paragraph);
                self.quotes += 1;
            }
            _ => {
                self.is_literal |= name == "pre";
                self.at_least(around(name));
            }
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "a" => {
                if let Some((address, start)) = self.link.take() {
                    self.address(&address, start);
                }
            }
            "blockquote" => {
                self.at_least(Space::Paragraph);
                self.quotes = self.quotes.saturating_sub(1);
            }
            _ => {
                self.is_literal &= name != "pre";
                self.at_least(around(name));
            }
        }
    }

    /// Writes where a link leads, unless its text says so.
    fn address(&mut self, address: &str, start: usize) {
        let shown = self.out.get(start..).unwrap_or_default().trim();
        let is_said = address
            .trim_end_matches('/')
            .ends_with(shown.trim_end_matches('/'));
        if super::is_allowed(address) && address.len() <= ADDRESS && (!is_said || shown.is_empty())
        {
            self.at_least(Space::Word);
            self.word(&format!("<{address}>"));
        }
    }

    fn at_least(&mut self, space: Space) {
        if space > self.space {
            self.space = space;
        }
    }

    fn newline(&mut self) {
        self.out.truncate(self.out.trim_end_matches(' ').len());
        self.out.push('\n');
        self.mark();
    }

    fn mark(&mut self) {
        self.marked = self.quotes;
        for _ in 0..self.quotes.min(QUOTES) {
            self.out.push_str("> ");
        }
    }
}

/// The space before and after an element.
fn around(name: &str) -> Space {
    match name {
        "p" | "pre" | "ul" | "ol" | "dl" | "table" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
            Space::Paragraph
        }
        "div" | "tr" | "dt" | "dd" | "center" | "section" | "article" | "header" | "footer"
        | "body" => Space::Line,
        _ => Space::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_lists_and_quotes_are_lines() {
        let html = "<html><head><title>t</title></head><body><p>One\n two</p><p>three<br>four</p>\
                    <ul><li>a<li>b</ul><blockquote>q<br>r</blockquote>end<pre>x\n  y</pre></body>";
        let expected = "One two\n\nthree\nfour\n\n* a\n* b\n> \n> q\n> r\n\nend\n\nx\n  y";
        assert_eq!(plain(html), expected.replace("\n> \n", "\n\n"));
    }

    #[test]
    fn addresses_of_links_are_written_out() {
        assert_eq!(
            plain("<a href=http://a.example/x>here</a>."),
            "here <http://a.example/x>."
        );
        assert_eq!(
            plain("<a href=http://a.example/>a.example</a>"),
            "a.example"
        );
        assert_eq!(plain("<a href=javascript:x>here</a>"), "here");
    }

    #[test]
    fn nothing_that_runs_is_text() {
        assert_eq!(
            plain("a<script>b</script><style>c</style> d&lt;e&gt;"),
            "a d<e>"
        );
    }
}
