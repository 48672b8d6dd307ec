//! The attributes of an element: names and values as they stand, in quotes or without.
//!
//! More tolerant than XML, and of the time that a feed takes a good part is spent here: an item has
//! a dozen elements that are nothing but two attributes.

/// Names and values, not yet unescaped; what is broken is passed over.
pub(super) struct Attributes<'a> {
    rest: &'a str,
}

impl<'a> Attributes<'a> {
    /// Reads what stands between an element's name and its end.
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    /// Cuts off the beginning up to a byte of which this is true, which must be ASCII.
    fn until(&mut self, stop: impl Fn(u8) -> bool) -> &'a str {
        let end = self.rest.bytes().position(stop).unwrap_or(self.rest.len());
        let (before, rest) = self.rest.split_at(end);
        self.rest = rest;
        before
    }

    fn skip_space(&mut self) {
        self.until(|byte| !space(byte));
    }

    fn value(&mut self) -> &'a str {
        let quote = match self.rest.as_bytes().first() {
            Some(b'"') => b'"',
            Some(b'\'') => b'\'',
            _ => return self.until(space),
        };
        self.rest = &self.rest[1..];
        let value = self.until(|byte| byte == quote);
        self.rest = self.rest.get(1..).unwrap_or_default();
        value
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<(&'a str, &'a str)> {
        loop {
            self.skip_space();
            if self.rest.is_empty() {
                return None;
            }
            let name = self.until(|byte| byte == b'=' || space(byte));
            self.skip_space();
            let Some(rest) = self.rest.strip_prefix('=') else {
                // A name without a value is none.
                continue;
            };
            self.rest = rest;
            self.skip_space();
            return Some((name, self.value()));
        }
    }
}

fn space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_of_both_kinds_and_none_are_read() {
        for (text, expected) in [
            (" a=\"1\" b='2'", &[("a", "1"), ("b", "2")][..]),
            (
                "\n\ta = \"x y\"\r\nb=c d='e'f=g",
                &[("a", "x y"), ("b", "c"), ("d", "e"), ("f", "g")],
            ),
            (" x:a='é&amp;\"'", &[("x:a", "é&amp;\"")]),
            (" a='' b", &[("a", "")]),
            (" alone b='1' /", &[("b", "1")]),
            (" a=", &[("a", "")]),
            (" a='open", &[("a", "open")]),
            (" ='1' b==", &[("", "1"), ("b", "=")]),
            ("", &[]),
        ] {
            assert_eq!(
                Attributes::new(text).collect::<Vec<_>>(),
                expected,
                "{text}"
            );
        }
    }
}
