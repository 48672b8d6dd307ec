//! What clients get: feeds, caps and errors, each in the form they asked for.

mod caps;
mod item;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use weir_search_proto::error::code;
use weir_search_proto::{Channel, ErrorDocument, Format, Skipped, write_feed, write_feed_json};
use weir_web::Refusal;

use crate::links::Links;
use crate::scope::Scope;
use crate::session::Frozen;

use self::item::FeedItem;

pub(crate) use self::caps::{caps, indexers};
pub(crate) use self::item::{guid, link};

/// Seconds after which a request may be tried again that cannot be served, where nothing else says when. Programs take an
/// error without it for one that is worth trying at once.
pub(crate) const LATER: u64 = 300;

/// Which part of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeedPage {
    pub(crate) offset: u32,
    pub(crate) limit: u32,
}

/// Turns someone away whose key is missing or wrong, or does not allow this.
pub(crate) fn refusal(refusal: &Refusal) -> Response {
    if let Refusal::TooLittle { needs, has } = refusal {
        let text = format!(
            "This needs an API key with the right \"{}\"; this one has \"{}\".",
            needs.words(),
            has.words()
        );
        let error = ErrorDocument::new(code::NOT_ALLOWED, text);
        return with_status(StatusCode::FORBIDDEN, &error, Format::Xml);
    }
    let (text, wait) = match refusal {
        Refusal::NoKey | Refusal::TooLittle { .. } => (
            "This needs an API key: send apikey=KEY. The Connect page makes one.".to_owned(),
            None,
        ),
        Refusal::WrongKey => (
            "That is not an API key of this Weir. The Connect page makes one.".to_owned(),
            None,
        ),
        Refusal::Throttled { seconds, .. } => (
            format!("Too many wrong API keys; next try in {seconds} s."),
            Some(*seconds),
        ),
    };
    let error = ErrorDocument::new(code::BAD_CREDENTIALS, text);
    match wait {
        None => with_status(StatusCode::UNAUTHORIZED, &error, Format::Xml),
        Some(seconds) => later(seconds, &error, Format::Xml),
    }
}

/// A request that cannot be served as it is.
pub(crate) fn error(error: &ErrorDocument, format: Format) -> Response {
    let status = match error.code {
        code::NO_SUCH_ITEM => StatusCode::NOT_FOUND,
        code::UNKNOWN => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::BAD_REQUEST,
    };
    with_status(status, error, format)
}

/// An address that stands for nothing.
pub(crate) fn not_there(error: &ErrorDocument, format: Format) -> Response {
    with_status(StatusCode::NOT_FOUND, error, format)
}

/// Nobody could answer, and there is no older answer: when to come back.
pub(crate) fn busy(seconds: u64, skipped: &[Skipped], format: Format) -> Response {
    let text = format!("No indexer can answer now; come back in {seconds} s.");
    later(seconds, &nobody(text, skipped), format)
}

/// Nobody can answer until an operator switches one of them on, and nobody knows when that will be. No 429: programs take that for
/// a limit that they have reached themselves, and stay away for as long as it says, or for hours.
pub(crate) fn switched_off(skipped: &[Skipped], format: Format) -> Response {
    let text = "No indexer can answer until one of them is switched on.".to_owned();
    error(&nobody(text, skipped), format)
}

/// Who could not answer, and why.
fn nobody(mut text: String, skipped: &[Skipped]) -> ErrorDocument {
    let who: Vec<String> = skipped
        .iter()
        .map(|skipped| format!("{}: {}", skipped.indexer, skipped.reason))
        .collect();
    if !who.is_empty() {
        text = format!("{text} {}", who.join(". "));
    }
    ErrorDocument::new(code::UNKNOWN, text)
}

fn later(seconds: u64, error: &ErrorDocument, format: Format) -> Response {
    let mut response = with_status(StatusCode::TOO_MANY_REQUESTS, error, format);
    retry_after(&mut response, seconds);
    response
}

/// Always whole seconds: programs read a date as something else, and nothing as *at once*.
pub(crate) fn retry_after(response: &mut Response, seconds: u64) {
    response
        .headers_mut()
        .insert(header::RETRY_AFTER, seconds.into());
}

fn with_status(status: StatusCode, error: &ErrorDocument, format: Format) -> Response {
    let text = document(format, || error.xml(), || error.json());
    let mut response = (status, text).into_response();
    retry_after(&mut response, LATER);
    response
}

/// A page of a list.
pub(crate) fn feed(
    links: &Links,
    scope: &Scope,
    frozen: &Frozen,
    page: FeedPage,
    origin: &str,
    path: &str,
    format: Format,
) -> Response {
    let list = &frozen.list;
    let title = scope.title();
    let (link, self_url) = (format!("{origin}/search"), format!("{origin}{path}"));
    let channel = Channel {
        title: &title,
        description: match scope.is_demo {
            true => weir_web::DEMO,
            false => "Releases of several indexers as one feed",
        },
        link: &link,
        self_url: &self_url,
        offset: page.offset.into(),
        total: list.places as u64,
        skipped: &frozen.skipped,
        limits: None,
    };
    let shown: Vec<FeedItem<'_>> = list
        .page(page.offset, page.limit)
        .map(|merged| FeedItem::new(links, list, merged, origin))
        .collect();
    let items = || shown.iter().map(|shown| shown.item(scope.protocol));
    let mut response = document(
        format,
        || write_feed(&channel, items()),
        || write_feed_json(&channel, items()),
    );
    if format == Format::Xml {
        let kind = header::HeaderValue::from_static("application/rss+xml; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    response
}

fn document(
    format: Format,
    xml: impl FnOnce() -> String,
    json: impl FnOnce() -> String,
) -> Response {
    match format {
        Format::Xml => {
            let kind = [(header::CONTENT_TYPE, "application/xml; charset=utf-8")];
            (kind, xml()).into_response()
        }
        Format::Json => {
            let kind = [(header::CONTENT_TYPE, "application/json")];
            (kind, json()).into_response()
        }
    }
}
