//! The wire formats from outside: write-then-read properties, documents in the style of real
//! programs, and bytes of nobody's.

#[path = "wire/caps.rs"]
mod caps;
#[path = "wire/feed.rs"]
mod feed;
#[path = "wire/hostile.rs"]
mod hostile;
#[path = "wire/read.rs"]
mod read;
#[path = "wire/recorded.rs"]
mod recorded;
#[path = "wire/request.rs"]
mod request;
#[path = "wire/strategies.rs"]
mod strategies;
