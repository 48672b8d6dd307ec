//! Shared pieces of the pages: shell, sign-in, overview, health and metrics.

pub mod config;
