//! Upstreams of real engines on pages and in the API, and what an operator does about them.

mod acting;
mod api;
mod figures;
mod front;
mod live;
mod lookout;
mod overview;
mod own;
mod pages;
mod shared;
mod watching;
