//! Event streams: answers that end only when their reader leaves. They are never idle, so they cannot be ended to make
//! room; instead one address may have only a few, and all together hold at most half of the places.

use std::{collections::HashMap, net::IpAddr, sync::Arc};

use axum::{
    http::{StatusCode, header},
    response::Response,
};
use parking_lot::Mutex;

use crate::{Failure, body::keeping, seats::Holder};

/// The open streams; clones share them.
#[derive(Clone)]
pub(crate) struct Streams {
    open: Arc<Mutex<HashMap<Holder, usize>>>,
    /// For all addresses together.
    most: usize,
}

impl Streams {
    pub(crate) fn new(most: usize) -> Self {
        let open = Arc::default();
        Self { open, most }
    }

    /// Lets an answer through if it is not a stream, or if its reader may have one more.
    pub(crate) fn admit(
        &self,
        response: Response,
        address: IpAddr,
        per_address: usize,
    ) -> Result<Response, Failure> {
        let kind = response.headers().get(header::CONTENT_TYPE);
        if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
            return Ok(response);
        }
        let holder = Holder::at(address, |_| false);
        let open = self.open(holder, per_address).ok_or_else(too_many)?;
        Ok(response.map(|body| keeping(body, open)))
    }

    fn open(&self, holder: Holder, per_address: usize) -> Option<OpenStream> {
        let mut open = self.open.lock();
        let all: usize = open.values().sum();
        let own = open.get(&holder).copied().unwrap_or(0);
        if own >= per_address || all >= self.most {
            return None;
        }
        open.insert(holder, own + 1);
        let streams = self.clone();
        Some(OpenStream { streams, holder })
    }
}

fn too_many() -> Failure {
    Failure::new(
        StatusCode::TOO_MANY_REQUESTS,
        "Too many live pages are open.",
        "Close one, or raise web.limits.streams_per_address.",
    )
    .retry_after(10)
}

/// One open stream; counted until it is dropped.
struct OpenStream {
    streams: Streams,
    holder: Holder,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut open = self.streams.open.lock();
        if let Some(own) = open.get_mut(&self.holder) {
            *own -= 1;
            if *own == 0 {
                open.remove(&self.holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn stream() -> Response {
        let kind = (header::CONTENT_TYPE, "text/event-stream");
        axum::response::IntoResponse::into_response(([kind], "data: x\n\n"))
    }

    #[test]
    fn an_address_has_few_streams_and_all_have_half_the_places() {
        let streams = Streams::new(4);
        let from = |address: &str| streams.admit(stream(), address.parse().unwrap(), 2);
        let mut open = vec![from("203.0.113.1").unwrap(), from("203.0.113.1").unwrap()];
        assert_eq!(
            from("203.0.113.1").unwrap_err().status,
            StatusCode::TOO_MANY_REQUESTS
        );
        assert!(
            streams
                .admit(Response::new(Body::empty()), [203, 0, 113, 1].into(), 2)
                .is_ok(),
            "other answers are no streams"
        );
        open.push(from("2001:db8::1").unwrap());
        open.push(from("2001:db8::2").unwrap());
        assert!(from("2001:db8::3").is_err(), "the same network");
        assert!(from("203.0.113.9").is_err(), "half of the places");
        open.clear();
        assert!(from("203.0.113.9").is_ok());
        assert!(streams.open.lock().is_empty());
    }
}
