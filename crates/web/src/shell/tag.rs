//! Pages that a browser may already have: their `ETag`, made from the body's own and from what the shell adds.

use std::hash::{DefaultHasher, Hash, Hasher};

use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use jiff::tz::TimeZone;

use super::Shell;
use crate::{Identity, NavEntry, Visitor, assets::Assets};

/// For whoever is signed in: kept by the browser alone, and looked up each time.
const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-cache");
/// For strangers, who all see the same.
const PUBLIC: HeaderValue = HeaderValue::from_static("public, max-age=60");

/// A number for everything that is the same on all pages. The same build with the same fronts gives the same one, so a
/// restart leaves pages in browsers valid.
pub(super) fn of_build(nav: &[NavEntry], public: &[&str], assets: &Assets, zone: &TimeZone) -> u64 {
    let mut hasher = DefaultHasher::new();
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    // Of what is not an asset: templates are part of the build.
    include_str!("../../templates/shell.html").hash(&mut hasher);
    include_str!("../../templates/sprite.html").hash(&mut hasher);
    include_str!("../../templates/theme.html").hash(&mut hasher);
    for name in ["favicon.svg", "app.css", "app.js"] {
        assets.path(name).hash(&mut hasher);
    }
    for entry in nav {
        (entry.label, entry.href, entry.key).hash(&mut hasher);
    }
    public.hash(&mut hasher);
    zone.iana_name().hash(&mut hasher);
    hasher.finish()
}

impl Shell {
    /// A page whose body changes with `tag`, or the word that the browser has it already.
    pub(crate) fn tagged(
        &self,
        visitor: &Visitor,
        headers: &HeaderMap,
        title: &str,
        body: &str,
        tag: u64,
    ) -> Response {
        let etag = format!("\"{tag:x}-{:x}\"", self.around_it(visitor, title));
        let mut response = match has(headers, &etag) {
            true => StatusCode::NOT_MODIFIED.into_response(),
            false => self.kept(visitor, title, body, tag),
        };
        if response.status().is_server_error() {
            return response;
        }
        let known = visitor.identity.signed_in();
        let kept = if known { PRIVATE } else { PUBLIC };
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, kept);
        headers.insert(header::VARY, HeaderValue::from_static("cookie"));
        if let Ok(etag) = HeaderValue::try_from(etag) {
            headers.insert(header::ETAG, etag);
        }
        response
    }

    /// A number for what the shell puts around the body for this visitor.
    fn around_it(&self, visitor: &Visitor, title: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.build, title, &visitor.path, visitor.theme).hash(&mut hasher);
        // What is in the navigation, and the name in the corner.
        (visitor.right, visitor.key_name()).hash(&mut hasher);
        match visitor.identity {
            Identity::Nobody => 0_u8.hash(&mut hasher),
            // A program sends no forms, and its token is another one each time.
            Identity::Key => 1_u8.hash(&mut hasher),
            Identity::Anyone => (2_u8, &visitor.form_token).hash(&mut hasher),
            Identity::Session(_) => (3_u8, &visitor.form_token).hash(&mut hasher),
        }
        hasher.finish()
    }
}

/// Whether the client has the page with this tag.
fn has(headers: &HeaderMap, etag: &str) -> bool {
    let known = headers.get_all(header::IF_NONE_MATCH).iter();
    let mut known = known.filter_map(|known| known.to_str().ok());
    known.any(|known| known.contains(etag))
}
