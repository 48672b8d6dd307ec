//! The listener: accepts, bounds and ends connections. What is said on them is the router's affair.

mod connection;
mod guests;

use std::{io, sync::Arc, time::Duration};

use tokio::{net::TcpListener, sync::Semaphore, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::App;

use self::connection::Service;

pub use self::guests::{Guest, run_guests};

/// How the listener ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Connections that had to be cut because their requests did not finish in time.
    pub cut: usize,
}

/// Serves until `shutdown`: then stops accepting, closes idle connections, lets requests under way finish for at
/// most `drain`, and cuts the rest. Limits are those the app was opened with.
pub async fn run(
    listener: TcpListener,
    app: App,
    shutdown: CancellationToken,
    drain: Duration,
) -> Ended {
    let service = Service::new(&app, app.router(), shutdown.clone());
    let room = Arc::new(Semaphore::new(service.limits.connections.max(1)));
    let mut open = JoinSet::new();
    loop {
        // Beyond the limit, connections wait in the kernel's queue: nobody is turned away for a short burst.
        let accepted = tokio::select! {
            () = shutdown.cancelled() => break,
            Some(_) = open.join_next() => continue,
            accepted = accept(&listener, &room) => accepted,
        };
        match accepted {
            Ok((stream, peer, permit)) => {
                let service = service.clone();
                open.spawn(async move {
                    service.serve(stream, peer).await;
                    drop(permit);
                });
            }
            Err(error) if passing(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot accept connections for the moment");
                tokio::select! {
                    () = shutdown.cancelled() => break,
                    () = tokio::time::sleep(Duration::from_millis(100)) => {}
                }
            }
        }
    }
    drop(listener);
    finish(open, drain).await
}

type Accepted = (
    tokio::net::TcpStream,
    std::net::SocketAddr,
    tokio::sync::OwnedSemaphorePermit,
);

/// # Cancel safety
/// A connection is either returned or still in the kernel's queue.
async fn accept(listener: &TcpListener, room: &Arc<Semaphore>) -> io::Result<Accepted> {
    let permit = Arc::clone(room)
        .acquire_owned()
        .await
        .map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((stream, peer, permit))
}

/// The client gave up before we came to it; the next one may be fine. Everything else (no descriptors left) needs time.
fn passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted
    )
}

async fn finish(mut open: JoinSet<()>, drain: Duration) -> Ended {
    let all = async { while open.join_next().await.is_some() {} };
    if tokio::time::timeout(drain, all).await.is_ok() {
        return Ended { cut: 0 };
    }
    let cut = open.len();
    tracing::warn!(cut, "connections were cut at the end of the drain time");
    open.shutdown().await;
    Ended { cut }
}
