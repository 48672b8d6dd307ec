//! How much of one article is read. What is beyond is cut and reported as [`Damage`](super::Damage).
//!
//! Together with readers that look at each byte a fixed number of times, these bound what a hostile
//! article can cost. The size of the article itself is up to whoever receives it.

/// Headers that are kept of an article; real ones have 15 to 40.
pub(super) const HEADERS: usize = 400;

/// Headers that are kept of one part of an article.
pub(super) const PART_HEADERS: usize = 32;

/// Bytes that are read of one header; a thousand references fit in.
pub(super) const HEADER_BYTES: usize = 64 * 1024;

/// Bytes that are read of all headers together.
pub(super) const HEAD_BYTES: usize = 512 * 1024;

/// Newsgroups that are kept of a header that lists them.
pub(super) const NEWSGROUPS: usize = 100;

/// Parts that are kept of an article.
pub(super) const PARTS: usize = 250;

/// How deep parts may be nested. This many boundaries are compared with each line, and functions
/// that walk the tree of parts call themselves this often at most.
pub(super) const DEPTH: usize = 16;

/// Bytes of plain text that are shown of all parts together.
pub(super) const TEXT_BYTES: usize = 1024 * 1024;

/// Bytes of HTML that are shown of all parts together, and bytes of HTML made from it. The
/// sanitiser needs up to 0.1 s for this much.
pub(super) const HTML_BYTES: usize = 128 * 1024;

/// Lines that are shown of one text.
pub(super) const LINES: usize = 50_000;

/// Links that are found in one text.
pub(super) const LINKS: usize = 1_000;

/// Bytes of a link; a longer one stays text.
pub(super) const LINK_BYTES: usize = 2_048;

/// Quote marks that are counted at the start of a line.
pub(super) const QUOTES: u8 = 50;

/// Different kinds of damage that are reported.
pub(super) const DAMAGES: usize = 20;
