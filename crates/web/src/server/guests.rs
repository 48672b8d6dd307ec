//! Connections that a front's listener accepted and that ask for something of ours, such as `/stats` on the tracker's
//! port. Each may send one request; the next one goes to that listener again.

use std::{net::SocketAddr, time::Duration};

use axum::Router;
use tokio::{net::TcpStream, sync::mpsc, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{ListenerEnd, connection::Service, finish};
use crate::App;

/// Guests served at the same time.
pub(crate) const AT_ONCE: usize = 64;

/// A connection that another listener accepted.
#[derive(Debug)]
pub struct Guest {
    /// The connection, in non-blocking mode.
    pub stream: std::net::TcpStream,
    /// What has already been read from it.
    pub read: Vec<u8>,
    /// The address it comes from.
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
