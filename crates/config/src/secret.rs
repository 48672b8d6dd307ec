//! Text that must never reach a log, a page, an error or a metric.

use std::fmt;

/// A passkey, API key or password. Printing it shows a mask; only [`Secret::expose`] shows the text.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<str>);

impl Secret {
    /// Wraps the text.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The text itself. A review looks at every caller.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_text() {
        assert_eq!(format!("{:?}", Secret::new("passkey")), "Secret(…)");
    }
}
