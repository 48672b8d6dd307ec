//! What programs ask over HTTP: Torznab and Newznab, the shapes of Prowlarr and Jackett, downloads.

mod aliases;
mod download;
mod torznab;

use std::sync::Arc;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, Uri};
use axum::routing::get;
use weir_search_proto::Protocol;
use weir_web::Access;

use self::torznab::FeedRequest;
use crate::reply;
use crate::scope;
use crate::views::Views;

/// Routes that need a key, but for caps.
pub(crate) fn feeds(views: &Arc<Views>) -> (Access, Router) {
    let router = Router::new()
        .merge(of(Protocol::Torrent))
        .merge(of(Protocol::Nzb))
        .merge(aliases::feeds())
        .with_state(views.clone());
    let access = Access::OpenFeed {
        refuse: reply::refusal,
        open: is_open,
    };
    (access, router)
}

/// Routes that always need a key: caps are open, but not who is there.
pub(crate) fn lists(views: &Arc<Views>) -> (Access, Router) {
    let router = aliases::lists().with_state(views.clone());
    (Access::Feed(reply::refusal), router)
}

/// All indexers of a protocol, one of them, those with a tag.
fn of(protocol: Protocol) -> Router<Arc<Views>> {
    let [all, shorter, one, tagged] = addresses_of(protocol);
    let of_all = get(move |arrival: FeedRequest| torznab::all(arrival, protocol));
    Router::new()
        .route(&all, of_all.clone())
        .route(&shorter, of_all)
        .route(
            &one,
            get(
                async move |Path(name): Path<String>, arrival: FeedRequest| {
                    torznab::one(arrival, protocol, &name).await
                },
            ),
        )
        .route(
            &tagged,
            get(async move |Path(tag): Path<String>, arrival: FeedRequest| {
                torznab::tagged(arrival, protocol, &tag).await
            }),
        )
}

/// Most programs are told the address without `/api` and add it; some ask at what they were told.
fn addresses_of(protocol: Protocol) -> [String; 4] {
    let base = scope::path(protocol);
    ["/api", "", "/{indexer}/api", "/tag/{tag}/api"].map(|end| format!("/{base}{end}"))
}

/// All addresses that stand for indexers, with braces around what says for which.
#[cfg(test)]
pub(crate) fn addresses() -> Vec<String> {
    let own = [Protocol::Torrent, Protocol::Nzb]
        .into_iter()
        .flat_map(addresses_of);
    own.chain(aliases::addresses().map(str::to_owned)).collect()
}

/// Downloads, which carry their right in the link.
pub(crate) fn downloads(views: &Arc<Views>) -> Router {
    Router::new()
        .route("/dl/{token}/{name}", get(download::show))
        .with_state(views.clone())
}

/// What indexers can do is no secret, and some programs ask for it before they have a key. Who they are is one: without
/// a key all addresses answer alike ([`Scope::open`](scope::Scope::open)).
fn is_open(uri: &Uri) -> bool {
    let query = uri.query().unwrap_or_default();
    let parsed = weir_search_proto::parse_request(query);
    matches!(parsed.request, Ok(weir_search_proto::Request::Caps))
}

/// A header's text.
pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
