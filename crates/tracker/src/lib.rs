//! The tracker front: swarms, the listeners before them and the forwarders behind them.

pub mod swarm;
