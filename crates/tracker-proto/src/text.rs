//! Words of an upstream for people to read: whatever bytes it sent, shown as text.

use std::fmt::{self, Display, Formatter, Write};

/// Text that an upstream sent, which need not be UTF-8 and may be of any length.
///
/// It displays what it can: broken bytes and control characters become `�`, so that no upstream
/// can forge a line of our log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'a>(pub &'a [u8]);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                let safe = !c.is_control();
                f.write_char(if safe { c } else { char::REPLACEMENT_CHARACTER })?;
            }
            if !chunk.invalid().is_empty() {
                f.write_char(char::REPLACEMENT_CHARACTER)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_shows_what_it_can() {
        assert_eq!(Text("größe".as_bytes()).to_string(), "größe");
        assert_eq!(Text(b"a\xffb\nc").to_string(), "a\u{fffd}b\u{fffd}c");
    }
}
