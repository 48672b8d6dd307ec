//! What the tracker brings to the web listener, and what it says on its own port to those who do not announce.

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use weir_web::{Contribution, Icon, NavEntry, NavGroup, Requests, Right};

use crate::catalogue::Catalogue;
use crate::error::Error;
use crate::files::{FilesThread, Unwritten};
use crate::forwarder::Forwarders;
use crate::front::Front;
use crate::inbound::start::Answering;
use crate::look::Look;
use crate::{connect, metrics, pages};

impl Front {
    /// Card, pages, figures and metrics. What listeners count goes into `requests`.
    ///
    /// # Errors
    /// When the thread that looks through swarms cannot be started.
    pub(crate) fn contribute(&self, requests: &Requests) -> Result<Contribution, Error> {
        let Answering { tracker, clock, .. } = &self.answering;
        let (catalogue, mut walker) =
            Catalogue::new(tracker.swarms.clone(), *clock, self.threads.stop_token());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .map_err(Error::Thread)?;
        self.threads.start("pages", move || {
            runtime.block_on(walker.run());
            Ok(())
        })?;
        let seats = self.listeners.seats.clone();
        let guests = self.listeners.guests.lock().take();
        let listening = self.listening().to_vec();
        let forwarders = self.forwarders.clone();
        let look = Look::new(self.answering.clone(), listening, catalogue, forwarders);
        let listening = self.listening().to_vec();
        let connect = connect::panel(listening, tracker, *clock);
        let mut contribution = look.contribution(self.forwarders.clone(), requests);
        if let Some(guests) = guests {
            contribution = contribution.guests(guests, elsewhere());
        }
        let unwritten = self.files.lock().as_ref().map(FilesThread::unwritten);
        Ok(contribution
            .connect(connect)
            .missing(move || {
                let unwritten = unwritten.iter();
                unwritten.filter_map(Unwritten::missing).collect()
            })
            .metrics(move |registry| {
                let listeners = [("tracker", seats)];
                weir_web::seats::register(registry, "tracker_connections_ended", listeners);
                metrics::register(look, registry);
            })
            .nav(NavEntry {
                label: "Swarms",
                href: "/swarms",
                icon: Icon::Tracker,
                key: 'w',
                group: NavGroup::Watch,
                place: 2,
                phone: false,
                needs: Right::Read,
            }))
    }
}

impl Look {
    /// What needs no listener: upstreams, card, pages and figures.
    pub(crate) fn contribution(
        &self,
        forwarders: Arc<Forwarders>,
        requests: &Requests,
    ) -> Contribution {
        metrics::count_requests(self, requests);
        let shown = Arc::new(self.clone());
        let watched = self.clone();
        Contribution::new("tracker", "Tracker", Icon::Tracker)
            .upstreams(forwarders)
            .card(shown.clone())
            .stats(shown)
            .live("swarms", move || pages::live_parts(&watched))
            .router(Right::Read, pages::router(self.clone()))
            .api(pages::api(self.clone()))
    }
}

/// Answers on the tracker's own port whoever asks for neither announce, scrape nor figures.
fn elsewhere() -> Router {
    Router::new()
        .route("/", get(greet))
        .route("/announce", any(not_so))
        .route("/scrape", any(not_so))
        .fallback(async || {
            (
                StatusCode::NOT_FOUND,
                "There is nothing at this address of the tracker.\n",
            )
        })
}

async fn greet(headers: HeaderMap) -> String {
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let host = host.unwrap_or("HOST");
    format!(
        "This is a tracker: announce to http://{host}/announce. Pages are on the web address.\n"
    )
}

/// Announces and scrapes that are as they should be never come here.
async fn not_so(method: Method) -> Response {
    if method == Method::GET {
        return (
            StatusCode::BAD_REQUEST,
            "Announces and scrapes have no body.\n",
        )
            .into_response();
    }
    let text = "Announces and scrapes are GET requests.\n";
    (
        StatusCode::METHOD_NOT_ALLOWED,
        [(header::ALLOW, "GET")],
        text,
    )
        .into_response()
}
