//! HTML as a row of tags and texts, read in one pass.
//!
//! Not every corner of HTML's own rules, and it need not be: whatever comes out is written anew and
//! escaped. What matters is that no byte is looked at without end and that contents which browsers
//! never show are skipped.

use std::borrow::Cow;

use quick_xml::escape::resolve_html5_entity;

use super::super::characters;

/// Elements whose content is no text of the article.
const SKIPPED: [&str; 21] = [
    "script",
    "style",
    "svg",
    "math",
    "iframe",
    "object",
    "embed",
    "template",
    "noscript",
    "noembed",
    "noframes",
    "textarea",
    "title",
    "select",
    "video",
    "audio",
    "canvas",
    "applet",
    "xmp",
    "plaintext",
    "map",
];

/// A piece of HTML.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Text, with its references replaced.
    Text(Cow<'a, str>),
    /// A tag that opens an element; the name is in lower case.
    Open { name: String, attributes: &'a str },
    /// A tag that closes one.
    Close { name: String },
}

/// The row of tokens.
pub(super) struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    pub(super) fn of(html: &'a str) -> Self {
        Self { rest: html }
    }

    /// Reads markup at the start of the rest; nothing if it is no markup but a lone `<`.
    fn markup(&mut self) -> Option<Option<Token<'a>>> {
        let after = self.rest.strip_prefix('<')?;
        match after.as_bytes() {
            [b'!', b'-', b'-', ..] => {
                self.skip_past(&after[3..], "-->");
                Some(None)
            }
            [b'!' | b'?', ..] => {
                self.skip_past(after, ">");
                Some(None)
            }
            [b'/', letter, ..] if letter.is_ascii_alphabetic() => {
                let (name, _) = self.tag(&after[1..]);
                Some(Some(Token::Close { name }))
            }
            [letter, ..] if letter.is_ascii_alphabetic() => {
                let (name, attributes) = self.tag(after);
                if SKIPPED.contains(&name.as_str()) && !attributes.ends_with('/') {
                    self.skip_content(&name);
                    return Some(None);
                }
                Some(Some(Token::Open { name, attributes }))
            }
            _ => None,
        }
    }

    fn skip_past(&mut self, text: &'a str, end: &str) {
        let found = text.find(end);
        self.rest = found.map_or("", |at| &text[at + end.len()..]);
    }

    /// Reads a tag from its name on, up to the `>` that is in no quotes.
    fn tag(&mut self, text: &'a str) -> (String, &'a str) {
        let length = text
            .find(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>'))
            .unwrap_or(text.len());
        let name = characters::cut_bytes(&text[..length], 32).to_ascii_lowercase();
        let mut quote = None;
        let mut before = b' ';
        let end = text.bytes().skip(length).position(|byte| {
            match (quote, byte) {
                (None, b'>') => return true,
                // Only after an equals sign does a quote begin a value.
                (None, b'"' | b'\'') if before == b'=' => quote = Some(byte),
                (Some(mark), byte) if mark == byte => quote = None,
                _ => {}
            }
            if !byte.is_ascii_whitespace() {
                before = byte;
            }
            false
        });
        let end = end.map_or(text.len(), |at| length + at);
        self.rest = text.get(end + 1..).unwrap_or_default();
        (name, text[length..end].trim())
    }

    /// Skips to the tag that closes this element, or to the end: as browsers do for scripts.
    fn skip_content(&mut self, name: &str) {
        let mut rest = self.rest;
        while let Some(at) = rest.find("</") {
            rest = &rest[at + 2..];
            let is_same = rest
                .get(..name.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(name));
            if is_same {
                let (_, _) = self.tag(rest);
                return;
            }
        }
        self.rest = "";
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        while !self.rest.is_empty() {
            match self.markup() {
                Some(Some(token)) => return Some(token),
                Some(None) => continue,
                None => {}
            }
            // The first character is text even if it is a `<`.
            let first = self.rest.chars().next().map_or(0, char::len_utf8);
            let end = self.rest[first..]
                .find('<')
                .map_or(self.rest.len(), |at| first + at);
            let (text, rest) = self.rest.split_at(end);
            self.rest = rest;
            return Some(Token::Text(unescape(text)));
        }
        None
    }
}

/// The value of an attribute, with its references replaced; the first counts if there are several.
pub(super) fn attribute(attributes: &str, wanted: &str) -> Option<String> {
    let mut rest = attributes;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if rest.is_empty() {
            return None;
        }
        let end = rest
            .char_indices()
            .skip(1)
            .find(|(_, c)| c.is_ascii_whitespace() || matches!(c, '=' | '/'));
        let (name, after) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        let (value, after) = match after.trim_start().strip_prefix('=') {
            Some(after) => value(after.trim_start()),
            None => ("", after),
        };
        if name.eq_ignore_ascii_case(wanted) {
            return Some(characters::one_line(&unescape(value)));
        }
        rest = after;
    }
}

/// The value at the start of this text, and what follows it.
fn value(text: &str) -> (&str, &str) {
    for mark in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(mark) {
            return inner.split_once(mark).unwrap_or((inner, ""));
        }
    }
    text.split_at(
        text.find(|c: char| c.is_ascii_whitespace())
            .unwrap_or(text.len()),
    )
}

/// Replaces references such as `&amp;` and `&#228;` by what they mean; unknown ones stay.
fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut pieces = text.split('&');
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        // The longest name has 31 letters.
        let length = piece
            .bytes()
            .take(33)
            .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'#')
            .count();
        let (name, rest) = piece.split_at(length);
        if reference(name, &mut out) {
            out.push_str(rest.strip_prefix(';').unwrap_or(rest));
        } else {
            out.push('&');
            out.push_str(piece);
        }
    }
    Cow::Owned(out)
}

/// Writes what a reference means; says whether it means anything.
fn reference(name: &str, out: &mut String) -> bool {
    let Some(number) = name.strip_prefix('#') else {
        let found = match name {
            "amp" => Some("&"),
            "lt" => Some("<"),
            "gt" => Some(">"),
            "quot" => Some("\""),
            "apos" => Some("'"),
            _ if name.len() < 32 => resolve_html5_entity(name),
            _ => None,
        };
        out.push_str(found.unwrap_or_default());
        return found.is_some();
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => number.parse().ok(),
    };
    match code.and_then(char::from_u32) {
        Some(character) => {
            out.push(character);
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(html: &str) -> String {
        let tokens = Tokens::of(html).map(|token| match token {
            Token::Text(text) => format!("{text}|"),
            Token::Open { name, attributes } => format!("+{name}({attributes})|"),
            Token::Close { name } => format!("-{name}|"),
        });
        tokens.collect()
    }

    #[test]
    fn tags_and_texts() {
        assert_eq!(shown("a<B c='>'>d</b >e"), "a|+b(c='>')|d|-b|e|");
        assert_eq!(shown("a < b <> c<1"), "a |< b |<> c|<1|");
        assert_eq!(shown("<br/>x<p"), "+br(/)|x|+p()|");
        assert_eq!(shown("<a \"b>c\">"), "+a(\"b)|c\">|");
    }

    #[test]
    fn comments_and_scripts_are_skipped() {
        assert_eq!(shown("a<!-- <b> -->c<!doctype html>d<?x?>e"), "a|c|d|e|");
        assert_eq!(shown("a<script>if (a</b>) </Script >b<style>c"), "a|b|");
        assert_eq!(shown("a<!-- b"), "a|");
    }

    #[test]
    fn references_are_replaced() {
        assert_eq!(
            unescape("a &amp; b &lt;&#228;&#xE4;&auml;&nosuch;&#xD800; &"),
            "a & b <äää&nosuch;&#xD800; &"
        );
    }

    #[test]
    fn attributes_are_found_by_name() {
        let attributes = "a=1 href = \"x &amp; y\" HREF=z c='d' e";
        assert_eq!(attribute(attributes, "href").as_deref(), Some("x & y"));
        assert_eq!(attribute(attributes, "c").as_deref(), Some("d"));
        assert_eq!(attribute(attributes, "e").as_deref(), Some(""));
        assert_eq!(attribute(attributes, "f"), None);
        assert_eq!(attribute("=x=1 /href=/y", "href").as_deref(), Some("/y"));
    }
}
