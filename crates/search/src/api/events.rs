//! A search as it goes on, as server-sent events: `state` when something changes, then `done`.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::HeaderName;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};
use tokio::sync::watch;
use weir_web::Failure;

use super::find;
use crate::search::Search;
use crate::views::Views;

/// Changes within this time are told together: sixty indexers answer in a burst, and a page draws each event.
const TOGETHER: Duration = Duration::from_millis(200);
/// Silence is broken after this time, so that nothing in between takes the connection for dead.
const PING: Duration = Duration::from_secs(15);
/// A browser that lost the connection comes back after this time.
const RETRY: Duration = Duration::from_secs(3);

/// `GET /api/v1/searches/{id}/events`.
pub(super) async fn of_search(
    State(views): State<Arc<Views>>,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let search = find(&views, &id)?;
    Ok(answer(views, search))
}

fn answer(views: Arc<Views>, search: Arc<Search>) -> Response {
    let events = Sse::new(events(views, search));
    let events = events.keep_alive(KeepAlive::new().interval(PING).text("ping"));
    // A proxy that gathers would hold them back.
    let straight = [(HeaderName::from_static("x-accel-buffering"), "no")];
    (straight, events).into_response()
}

/// Where a reader of a search is.
struct EventReader {
    views: Arc<Views>,
    search: Arc<Search>,
    changes: watch::Receiver<u64>,
    next: NextEvent,
}

enum NextEvent {
    /// The whole, as it is now.
    First,
    /// What changes.
    Change,
    /// That it is over.
    Done,
    Nothing,
}

fn events(views: Arc<Views>, search: Arc<Search>) -> impl Stream<Item = Result<Event, Infallible>> {
    let changes = search.watch();
    let reader = EventReader {
        views,
        search,
        changes,
        next: NextEvent::First,
    };
    stream::unfold(reader, |mut reader| async move {
        let event = reader.event().await?;
        Some((Ok(event), reader))
    })
}

impl EventReader {
    async fn event(&mut self) -> Option<Event> {
        match self.next {
            NextEvent::First => {}
            NextEvent::Change => self.changed().await,
            NextEvent::Done => {
                self.next = NextEvent::Nothing;
                return Some(Event::default().event("done").data("{}"));
            }
            NextEvent::Nothing => return None,
        }
        let number = *self.changes.borrow_and_update();
        let list = self.views.list(&self.search);
        let progress = self.views.progress(&self.search, &list);
        self.next = match progress.finished {
            true => NextEvent::Done,
            false => NextEvent::Change,
        };
        let body = progress.json(&self.search).to_string();
        let event = Event::default().event("state").retry(RETRY);
        Some(event.id(number.to_string()).data(body))
    }

    /// Waits for a change and then a moment for those that come with it, or until the search is over.
    async fn changed(&mut self) {
        tokio::time::sleep(TOGETHER).await;
        tokio::select! {
            _ = self.changes.changed() => {}
            () = tokio::time::sleep_until(self.search.deadline()) => {}
            // What each indexer is then called takes a moment.
            () = self.search.stop.cancelled() => tokio::time::sleep(TOGETHER / 4).await,
            () = self.views.lifetime.leaving() => self.search.stop.cancel(),
        }
    }
}
