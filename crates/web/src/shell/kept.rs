//! Pages that many read, kept whole: a page of some ten thousand bytes takes longer to put together and to copy than
//! everything else that is done for a reader.

use axum::{
    body::Bytes,
    response::{Html, IntoResponse, Response},
};
use parking_lot::Mutex;
use weir_engine::Recent;

use super::Shell;
use crate::{Identity, Visitor};

/// Bytes of pages that are kept. What is read by many at a time fits many times.
pub(super) const KEPT: usize = 8 << 20;

/// Larger pages are put together each time: one of them would take the place of too many others.
const LARGE: usize = KEPT / 16;

/// The pages that were read lately.
pub(super) type KeptPages = Mutex<Recent<PageKey, Bytes>>;

/// All that a page is made from, apart from what never changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PageKey {
    /// Of its body.
    tag: u64,
    path: String,
    title: String,
    theme: Option<&'static str>,
    /// Whose forms are on it; nobody's for strangers.
    form_token: String,
    /// Whether there is no sign-in.
    anyone: bool,
}

impl Shell {
    /// A page whose body changes with `tag`, as it was put together for the reader before, if there was one.
    pub(super) fn kept(&self, visitor: &Visitor, title: &str, body: &str, tag: u64) -> Response {
        // A program has another token each time.
        if visitor.identity == Identity::Key || body.len() > LARGE {
            return self.page(visitor, title, body);
        }
        let key = PageKey {
            tag,
            path: visitor.path.clone(),
            title: title.to_owned(),
            theme: visitor.theme,
            form_token: visitor.form_token.clone(),
            anyone: visitor.identity == Identity::Anyone,
        };
        if let Some(page) = self.kept.lock().get(&key) {
            return Html(page).into_response();
        }
        let known = visitor.identity.signed_in().then_some(visitor);
        match self.write(known, visitor.theme, &visitor.path, title, body) {
            Ok(page) => {
                let page = Bytes::from(page);
                // Beside the page itself, with its key twice over.
                let weight = page.len() + 2 * (key.path.len() + key.title.len()) + 256;
                self.kept.lock().put(key, page.clone(), weight);
                Html(page).into_response()
            }
            Err(failure) => failure.into_response(),
        }
    }
}
