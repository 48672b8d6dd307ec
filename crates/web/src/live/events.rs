//! `GET /api/v1/events`.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use axum::{
    body::Body,
    extract::{Query, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::Stream;
use hyper::body::Bytes;
use serde::Deserialize;

use super::{
    hub::{NotHeard, Subscription},
    mailbox::Reading,
    topic::Topic,
};
use crate::{App, Failure, Visitor};

/// Topics of one listener at most.
const TOPICS: usize = 64;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct EventsQuery {
    /// With commas between them; none for all that is for programs.
    topics: String,
}

/// Streams what happens until the client leaves, its rights end or Weir stops.
pub(crate) async fn events(
    State(app): State<App>,
    visitor: Visitor,
    Query(asked): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let topics = read(&asked.topics, &app.contributed_topics())?;
    let pass = app.keeper().pass(&visitor).ok_or_else(Failure::internal)?;
    let last = headers.get("last-event-id");
    let last = last.and_then(|last| last.to_str().ok());
    let live = app.live();
    let subscribed = live.hub.subscribe(topics, pass, last);
    let subscription = subscribed.map_err(|not_heard| match not_heard {
        NotHeard::Full => Failure::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "Too many different pages are followed at once.",
            "Close some, or try again in a minute.",
        )
        .retry_after(60),
        NotHeard::Closed => Failure::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "Weir is stopping.",
            "Try again in a few seconds.",
        )
        .retry_after(5),
    })?;
    live.run(&app);
    Ok(respond(subscription))
}

fn read(topics: &str, contributed: &[&'static str]) -> Result<Vec<Topic>, Failure> {
    if topics.is_empty() {
        return Ok(Topic::FOR_PROGRAMS.to_vec());
    }
    // Not all that was sent is looked at: the bound comes first.
    let asked: Vec<&str> = topics.split(',').take(TOPICS + 1).collect();
    if asked.len() > TOPICS {
        return Err(Failure::new(
            StatusCode::BAD_REQUEST,
            format!("`topics` names more than {TOPICS} topics."),
            "Send fewer, or open a second stream.",
        )
        .at("topics"));
    }
    let topic =
        |text: &&str| Topic::parse(text, contributed).ok_or_else(|| unknown(text, contributed));
    asked.iter().map(topic).collect()
}

fn unknown(text: &str, contributed: &[&'static str]) -> Failure {
    let shown: String = text.chars().take(80).collect();
    let advice = match Topic::nearest(&shown, contributed) {
        Some(near) => format!("Did you mean `{near}`?"),
        None => {
            let all: Vec<String> = Topic::FOR_PROGRAMS
                .iter()
                .map(ToString::to_string)
                .collect();
            format!("Topics are: {}.", all.join(", "))
        }
    };
    Failure::new(
        StatusCode::BAD_REQUEST,
        format!("`topics`: there is no topic “{shown}”."),
        advice,
    )
    .at("topics")
}

fn respond(subscription: Subscription) -> Response {
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/event-stream"),
        ),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        // A proxy that gathers would hold events back.
        (
            HeaderName::from_static("x-accel-buffering"),
            HeaderValue::from_static("no"),
        ),
    ];
    (headers, Body::from_stream(EventStream::new(subscription))).into_response()
}

/// What one listener is sent.
struct EventStream {
    first: std::vec::IntoIter<Bytes>,
    rest: Reading,
    /// Given back when the client leaves.
    _place: Subscription,
}

impl EventStream {
    fn new(mut place: Subscription) -> Self {
        Self {
            first: std::mem::take(&mut place.first).into_iter(),
            rest: Reading(place.mailbox.clone()),
            _place: place,
        }
    }
}

impl Stream for EventStream {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.first.next() {
            Some(frame) => Poll::Ready(Some(Ok(frame))),
            None => Pin::new(&mut self.rest).poll_next(cx),
        }
    }
}
