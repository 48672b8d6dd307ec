mod access;
mod commands;
mod hostile;
mod limits;
mod packed;
mod ranges;
mod world;
