//! Shared parts of the pages of all fronts, so that each looks and behaves like the others.

mod address;
mod head;
mod near;
mod pager;
mod paste;

use askama::Template;

pub use self::{
    address::address,
    head::{ColumnHead, Sorted},
    near::nearest,
    pager::{Pager, range},
    paste::{Paste, PasteAddress, Reach, authority_of, host_of, is_local},
};

use crate::{Failure, LivePart};

/// Renders the body of a page, or a part of one that script asks for.
///
/// # Errors
/// When the template fails. The cause is logged; the reader is only told that something went wrong.
pub fn render(template: &impl Template) -> Result<String, Failure> {
    template.render().map_err(failed)
}

/// A live part of a page: the element with this `id`. One that cannot be written stays as it is on the page.
pub fn part(id: impl Into<String>, template: &impl Template) -> Option<LivePart> {
    Some((id.into(), render(template).ok()?))
}

/// The same into memory for this many bytes; more is taken if it does not suffice.
pub(crate) fn render_within(template: &impl Template, room: usize) -> Result<String, Failure> {
    let mut text = String::with_capacity(room);
    template.render_into(&mut text).map_err(failed)?;
    Ok(text)
}

/// Writes a part of a page that changes while somebody looks; nothing if the template fails, which is logged.
pub fn written(template: &impl Template) -> String {
    template.render().unwrap_or_else(|error| {
        tracing::error!(%error, "cannot render a part of a page");
        String::new()
    })
}

fn failed(error: askama::Error) -> Failure {
    tracing::error!(%error, "cannot render a page");
    Failure::internal()
}
