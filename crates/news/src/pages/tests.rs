//! Pages from values made by hand, as functions and through the web part.

mod addresses;
mod compose;
mod feeds;
mod forms;
mod hostile;
mod keeping;
mod programs;
mod search;
mod states;
mod thread;
mod weight;
mod world;
