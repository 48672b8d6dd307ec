//! The wire format from outside: write-then-read properties, answers in the style of real servers,
//! and bytes of nobody's.

#[path = "wire/block.rs"]
mod block;
#[path = "wire/command.rs"]
mod command;
#[path = "wire/hostile.rs"]
mod hostile;
#[path = "wire/lines.rs"]
mod lines;
#[path = "wire/recorded.rs"]
mod recorded;
#[path = "wire/strategies.rs"]
mod strategies;
