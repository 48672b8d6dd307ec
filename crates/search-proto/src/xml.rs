//! What feeds, caps and errors share: bytes to text, text to nodes, and the way back.

mod attribute;
mod charset;
mod entity;
mod node;
mod root;
mod writer;

pub(crate) use charset::decode;
pub(crate) use node::{Node, Nodes, Tag, value_of};
pub(crate) use root::{error, open};
pub(crate) use writer::{Writer, document};

/// Elements within elements that are read.
pub(crate) const DEPTH: usize = 32;

/// Bytes of a single text that are read.
pub(crate) const LONGEST: usize = 2 * 1024 * 1024;

/// A document without what may stand before it: space, and a mark that is not at the very start.
fn trim_start(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{FEFF}')
}
