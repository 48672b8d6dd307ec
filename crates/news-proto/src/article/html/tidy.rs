//! HTML written anew: a short list of tags, properly nested, and escaped text.

use super::super::characters;
use super::token::{Token, Tokens, attribute};

/// How deep elements may be nested; deeper tags are left out, their text is kept.
const DEPTH: usize = 32;

/// The tags that are kept. None of them loads or runs anything, and none has content that browsers
/// read by other rules than those of ordinary text.
pub(super) const TAGS: [&str; 40] = [
    "a",
    "b",
    "blockquote",
    "br",
    "center",
    "cite",
    "code",
    "dd",
    "del",
    "div",
    "dl",
    "dt",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "ins",
    "kbd",
    "li",
    "ol",
    "p",
    "pre",
    "q",
    "s",
    "samp",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "tr",
    "tt",
    "ul",
];

/// Writes HTML anew, at most about `most` bytes; says whether that was all of it.
pub(super) fn tidy(html: &str, most: usize) -> (String, bool) {
    let mut page = Page {
        out: String::new(),
        open: Vec::new(),
        most,
    };
    for token in Tokens::of(html) {
        if page.is_full() {
            break;
        }
        match token {
            Token::Text(text) => page.text(&text),
            Token::Open { name, attributes } => page.open(&name, attributes),
            Token::Close { name } => page.close(&name),
        }
    }
    let is_whole = !page.is_full();
    page.close_to(0);
    (page.out, is_whole)
}

struct Page {
    out: String,
    open: Vec<&'static str>,
    most: usize,
}

impl Page {
    fn is_full(&self) -> bool {
        self.out.len() >= self.most
    }

    fn open(&mut self, name: &str, attributes: &str) {
        if name == "img" {
            if let Some(text) = attribute(attributes, "alt").filter(|text| !text.is_empty()) {
                self.text(&format!("[{text}]"));
            }
            return;
        }
        let Some(tag) = TAGS.into_iter().find(|tag| *tag == name) else {
            return;
        };
        if matches!(tag, "br" | "hr") {
            self.out.push_str(if tag == "br" { "<br>" } else { "<hr>" });
            return;
        }
        self.make_room(tag);
        let address = match tag {
            "a" => match attribute(attributes, "href").filter(|address| super::is_allowed(address))
            {
                Some(address) => Some(address),
                None => return,
            },
            _ => None,
        };
        if self.open.len() == DEPTH || !self.fits(tag) {
            return;
        }
        self.open.push(tag);
        self.out.push('<');
        self.out.push_str(tag);
        if let Some(address) = address {
            self.out.push_str(" href=\"");
            self.text(&address);
            self.out.push('"');
        }
        self.out.push('>');
    }

    /// Closes what ends by itself when this tag comes.
    fn make_room(&mut self, tag: &str) {
        let (ended, within): (&[&str], &[&str]) = match tag {
            "li" => (&["li"], &["ul", "ol"]),
            "dt" | "dd" => (&["dt", "dd"], &["dl"]),
            "td" | "th" => (&["td", "th"], &["tr", "table"]),
            "tr" => (&["tr"], &["table"]),
            "tbody" => (&["tbody"], &["table"]),
            "a" => (&["a"], &[]),
            "blockquote" | "center" | "div" | "dl" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6"
            | "ol" | "p" | "pre" | "table" | "ul" => {
                (&["p"], &["td", "th", "li", "dd", "blockquote", "div"])
            }
            _ => return,
        };
        let inner = self
            .open
            .iter()
            .rposition(|open| within.contains(open))
            .map_or(0, |at| at + 1);
        if let Some(at) = self.open[inner..]
            .iter()
            .position(|open| ended.contains(open))
        {
            self.close_to(inner + at);
        }
    }

    /// Whether this tag may be here: browsers move what is misplaced in a table out of it.
    fn fits(&self, tag: &str) -> bool {
        let innermost = self.open.last().copied();
        match tag {
            "tbody" => innermost == Some("table"),
            "tr" => matches!(innermost, Some("table" | "tbody")),
            "td" | "th" => innermost == Some("tr"),
            _ => !matches!(innermost, Some("table" | "tbody" | "tr")),
        }
    }

    fn close(&mut self, name: &str) {
        if let Some(at) = self.open.iter().rposition(|open| *open == name) {
            self.close_to(at);
        }
    }

    fn close_to(&mut self, level: usize) {
        while self.open.len() > level
            && let Some(tag) = self.open.pop()
        {
            self.out.push_str("</");
            self.out.push_str(tag);
            self.out.push('>');
        }
    }

    fn text(&mut self, text: &str) {
        for character in text.chars() {
            // Escaping makes text up to six times as long, so it is measured here.
            if self.is_full() {
                return;
            }
            // By number: html5ever looks up names letter by letter.
            match character {
                '&' => self.out.push_str("&#38;"),
                '<' => self.out.push_str("&#60;"),
                '>' => self.out.push_str("&#62;"),
                '"' => self.out.push_str("&#34;"),
                '\n' | '\t' => self.out.push(character),
                _ if characters::is_removed(character) => {}
                _ => self.out.push(character),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_closed_in_order() {
        for (html, expected) in [
            ("<b><i>x</b>y</i>", "<b><i>x</i></b>y"),
            ("<p>a<p>b", "<p>a</p><p>b</p>"),
            (
                "<ul><li>a<li>b<ul><li>c</ul></ul>",
                "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>",
            ),
            (
                "<table><tr><td>a<td>b<tr><td>c",
                "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>",
            ),
            ("</div></p>x", "x"),
            ("<td>x", "x"),
            ("a<br>b</br>", "a<br>b"),
            (
                "<a href=http://a.example/>x<a href=http://b.example/>y",
                "<a href=\"http://a.example/\">x</a><a href=\"http://b.example/\">y</a>",
            ),
        ] {
            assert_eq!(tidy(html, 1_000), (expected.to_owned(), true), "{html}");
        }
    }

    #[test]
    fn nesting_is_limited() {
        let (html, _) = tidy(&"<div>".repeat(10_000), 1_000_000);
        assert_eq!(html.matches("<div>").count(), DEPTH);
        assert_eq!(html.matches("</div>").count(), DEPTH);
    }

    #[test]
    fn what_is_cut_is_still_closed() {
        assert_eq!(tidy("<b>äääää", 6), ("<b>ää</b>".to_owned(), false));
        assert_eq!(tidy("&&&&&&", 8), ("&#38;&#38;".to_owned(), false));
    }
}
