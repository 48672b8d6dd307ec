//! The parts of the `weir` binary: command line, configuration, and what the commands do.

pub mod added;
pub mod backup;
pub mod check;
pub mod cli;
pub mod config;
pub mod demo;
pub mod import;
pub mod remote;
pub mod search;
pub mod serve;
pub mod sign_in;
pub mod status;
