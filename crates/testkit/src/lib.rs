//! Scripted upstreams for tests and the demonstration.
