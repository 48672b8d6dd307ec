//! Events as bytes, by the rules of `text/event-stream`.

use std::fmt::Write;

use hyper::body::Bytes;

/// Sent when nothing else was for a while, so that nothing in between takes the connection for dead.
pub(super) const PING: Bytes = Bytes::from_static(b": ping\n\n");

/// Browsers that lost the connection come back after this time, each a little later than the other.
const RETRY_MS: u64 = 3000;
const JITTER_MS: u64 = 2000;

/// One event. `data` has no line ends: JSON never needs any.
pub(super) fn event(id: &str, name: &str, data: &str) -> Bytes {
    debug_assert!(!data.contains('\n'), "JSON has no line ends");
    let mut text = String::with_capacity(id.len() + name.len() + data.len() + 24);
    let _ = write!(text, "id: {id}\nevent: {name}\ndata: {data}\n\n"); // a string takes everything
    text.into()
}

/// What every stream begins with. `number` is the listener's.
pub(super) fn hello(number: u64) -> Bytes {
    // Numbers that follow one another are to differ by much (the golden ratio's way of spreading).
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let retry = RETRY_MS + spread % JITTER_MS;
    format!("retry: {retry}\n\n").into()
}
