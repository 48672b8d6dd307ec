//! Posting through servers in memory, with paused time.

mod deliveries;
mod shows;
