//! How far charts look back, in addresses and in words.

use weir_engine::Span;

/// One of the four windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) span: Span,
    /// In addresses: `1h`.
    pub(crate) name: &'static str,
    /// As a link: `1 h`.
    pub(crate) label: &'static str,
    /// In sentences: `last hour`.
    pub(crate) words: &'static str,
}

const fn of(span: Span, name: &'static str, label: &'static str, words: &'static str) -> Window {
    Window {
        span,
        name,
        label,
        words,
    }
}

/// All of them, shortest first.
pub(crate) const WINDOWS: [Window; 4] = [
    of(Span::Hour, "1h", "1 h", "last hour"),
    of(Span::SixHours, "6h", "6 h", "last 6 hours"),
    of(Span::Day, "24h", "24 h", "last 24 hours"),
    of(Span::Week, "7d", "7 d", "last 7 days"),
];

/// The window with this name.
pub(crate) fn window(name: &str) -> Option<Window> {
    WINDOWS.into_iter().find(|window| window.name == name)
}
