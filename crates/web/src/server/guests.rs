//! Connections that a listener of a front took in and that ask for something of ours, such as `/stats` on the port of
//! the tracker. Each may ask once; the next question begins where that listener reads again.

use std::{net::SocketAddr, time::Duration};

use axum::Router;
use tokio::{net::TcpStream, sync::mpsc, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{ListenerEnd, connection::Service, finish};
use crate::App;

/// Guests that are served at once.
pub(crate) const AT_ONCE: usize = 64;

/// A connection that another listener took in.
#[derive(Debug)]
pub struct Guest {
    /// The connection, not blocking.
    pub stream: std::net::TcpStream,
    /// What was read of it.
    pub read: Vec<u8>,
    /// Where it comes from.
    pub peer: SocketAddr,
}

/// Serves guests from `router` (see [`App::figures`]) until `shutdown` or until no more can come; ends as
/// [`run`](super::run) does.
pub async fn run_guests<G: Into<Guest>>(
    mut guests: mpsc::Receiver<G>,
    app: &App,
    router: Router,
    shutdown: CancellationToken,
    drain: Duration,
) -> ListenerEnd {
    let seats = app.guest_seats().clone();
    let service = Service::new(app, (router, seats), shutdown.clone()).once();
    let mut open = JoinSet::new();
    loop {
        let guest = tokio::select! {
            () = shutdown.cancelled() => break,
            Some(_) = open.join_next() => continue,
            guest = guests.recv() => match guest {
                Some(guest) => guest,
                None => break,
            },
        };
        let Guest { stream, read, peer } = guest.into();
        match TcpStream::from_std(stream) {
            Ok(stream) => service.welcome(&mut open, (read, stream), peer),
            Err(error) => tracing::debug!(%error, "cannot take over a connection"),
        }
    }
    drop(guests);
    finish(open, drain).await
}
