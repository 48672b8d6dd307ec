//! The wire formats from outside: write-then-read properties, a second opinion on bencode, the bytes
//! of real programs and those of nobody's.

#[path = "wire/bencode.rs"]
mod bencode;
#[path = "wire/http_reply.rs"]
mod http_reply;
#[path = "wire/http_request.rs"]
mod http_request;
#[path = "wire/oracle.rs"]
mod oracle;
#[path = "wire/recorded.rs"]
mod recorded;
#[path = "wire/strategies.rs"]
mod strategies;
#[path = "wire/udp.rs"]
mod udp;
