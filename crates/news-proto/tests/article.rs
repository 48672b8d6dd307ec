//! Articles from outside: recorded ones, hostile ones, and a second opinion.

#[path = "article/hostile.rs"]
mod hostile;
#[path = "article/kept.rs"]
mod kept;
#[path = "article/mime.rs"]
mod mime;
#[path = "article/oracle.rs"]
mod oracle;
#[path = "article/random.rs"]
mod random;
#[path = "article/text.rs"]
mod text;
