//! Full text, without a file: the words of a text in any script, what a reader looks for, and the passage that is shown of
//! what was found. The index is in `store::text`; whatever it holds and whatever it is asked goes through `words`, so that
//! both sides always agree on what a word is.

pub(crate) mod excerpt;
pub mod inquiry;
pub(crate) mod words;

pub use self::excerpt::Piece;
pub use self::inquiry::{Inquiry, Order, is_day};
