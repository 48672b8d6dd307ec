//! Writes XML into a string; everything is escaped and nothing is written that XML forbids.

use crate::text::{all, allowed, plain};

/// A document under way.
#[derive(Debug)]
pub(crate) struct Writer {
    out: String,
}

/// The beginning of every document of ours.
pub(crate) fn document() -> String {
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned()
}

impl Writer {
    /// Continues what is there.
    pub(crate) fn new(out: String) -> Self {
        Self { out }
    }

    pub(crate) fn finish(self) -> String {
        self.out
    }

    /// Makes room for this many bytes.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.out.reserve(bytes);
    }

    /// `<name key="value">`
    pub(crate) fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.tag(name, attributes);
        self.out.push('>');
    }

    /// `</name>`
    pub(crate) fn close(&mut self, name: &str) {
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push_str(">\n");
    }

    /// `<name key="value"/>`
    pub(crate) fn empty(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.tag(name, attributes);
        self.out.push_str("/>\n");
    }

    /// `<name>text</name>`
    pub(crate) fn element(&mut self, name: &str, text: &str) {
        self.open(name, &[]);
        self.text(text);
        self.close(name);
    }

    /// Text inside of an element.
    pub(crate) fn text(&mut self, text: &str) {
        self.escape(text);
    }

    /// A line end between elements, for people who read the bytes.
    pub(crate) fn line(&mut self) {
        self.out.push('\n');
    }

    /// Text that needs no escaping, such as a date of ours.
    pub(crate) fn raw(&mut self, write: impl FnOnce(&mut String)) {
        write(&mut self.out);
    }

    fn tag(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.out.push('<');
        self.out.push_str(name);
        for (key, value) in attributes {
            self.out.push(' ');
            self.out.push_str(key);
            self.out.push_str("=\"");
            self.escape(value);
            self.out.push('"');
        }
    }

    /// Escapes for text and attributes alike; white space other than a space would not survive in
    /// an attribute unless it is escaped.
    fn escape(&mut self, text: &str) {
        let markup = |byte| matches!(byte, b'&' | b'<' | b'>' | b'"' | b'\'');
        if all(text, |byte| plain(byte) & !markup(byte)) {
            self.out.push_str(text);
            return;
        }
        for character in text.chars() {
            match character {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '"' => self.out.push_str("&quot;"),
                '\'' => self.out.push_str("&#39;"),
                '\t' => self.out.push_str("&#9;"),
                '\n' => self.out.push_str("&#10;"),
                '\r' => self.out.push_str("&#13;"),
                _ if allowed(character) => self.out.push(character),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_escaped() {
        let mut writer = Writer::new(String::new());
        writer.open("a", &[("b", "<\"'&\n>")]);
        writer.text("]]> é & \t");
        writer.close("a");
        let expected = "<a b=\"&lt;&quot;&#39;&amp;&#10;&gt;\">]]&gt; é &amp; &#9;</a>\n";
        assert_eq!(writer.finish(), expected);
    }

    #[test]
    fn what_xml_forbids_is_left_out() {
        let mut writer = Writer::new(String::new());
        writer.element("a", "\u{0}x\u{1b}\u{85}\u{FFFE}y\u{7f}");
        assert_eq!(writer.finish(), "<a>xy</a>\n");
    }
}
