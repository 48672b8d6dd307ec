//! The model on servers in memory, with paused time: who is asked what and when, and what readers get.

mod agree;
mod animals;
mod articles;
mod caches;
mod failing;
mod hostile;
mod lists;
mod nodes;
mod numbered;
mod readers;
mod regression;
mod restart;
mod seeking;
pub(crate) mod world;
