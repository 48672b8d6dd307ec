//! The front's own listeners. Pages and the API come in over the web listener.

pub(crate) mod nntp;
