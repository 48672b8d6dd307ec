//! What the pages of all fronts are made of, so that each looks and behaves like the others.

mod address;
mod head;
mod near;
mod pager;

use askama::Template;

pub use self::{
    address::address,
    head::{ColumnHead, Sorted},
    near::nearest,
    pager::{Pager, range},
};

use crate::Failure;

/// Renders what is to stand on a page, or on its own where script asks for a part.
///
/// # Errors
/// When the template breaks, which is for the log: the reader is told that something did.
pub fn render(template: &impl Template) -> Result<String, Failure> {
    template.render().map_err(|error| {
        tracing::error!(%error, "cannot render a page");
        Failure::internal()
    })
}
