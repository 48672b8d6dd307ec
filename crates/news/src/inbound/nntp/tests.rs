mod access;
mod commands;
mod hostile;
mod limits;
mod packed;
mod posts;
mod ranges;
pub(crate) mod world;
