//! Bencode (BEP 3): a writer, and a reader that borrows from what it reads.
//!
//! [`read`] checks a whole value once, in linear time, without recursion and without allocating;
//! the [`Value`] it gives is then walked like a tree. Tolerant where real trackers err and nothing is
//! ambiguous (keys out of order, integers beyond 64 bits), strict elsewhere (`i-0e`, leading
//! zeros). Of repeated keys the first counts.

mod reader;
mod writer;

pub use reader::{Dict, Error, List, MAX_DEPTH, MAX_ITEMS, Value, read, read_prefix};
pub use writer::{Writer, push_decimal};
