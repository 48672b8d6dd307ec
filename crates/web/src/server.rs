//! The listener: accepts, limits and ends connections. What is said on them is the router's business.

mod connection;
mod guests;
mod watch;

use std::{io, time::Duration};

use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{App, heard::LOOK};

use self::connection::Service;

pub(crate) use self::guests::AT_ONCE as GUESTS;
pub use self::guests::{Guest, run_guests};
pub(crate) use self::watch::Patience;

/// How the listener ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenerEnd {
    /// Connections that had to be cut off because their requests did not finish in time.
    pub cut: usize,
}

/// Serves until `shutdown`: then stops accepting, closes idle connections, lets requests under way finish for at
/// most `drain`, and cuts off the rest. Limits are those the app was opened with. Connections that fronts hand over are
/// served alongside the listener's own.
pub async fn run(
    listener: TcpListener,
    app: App,
    shutdown: CancellationToken,
    drain: Duration,
) -> ListenerEnd {
    // Streams never end by themselves.
    let live = async {
        shutdown.cancelled().await;
        app.live().close();
    };
    let heard = async {
        while tokio::time::timeout(LOOK, shutdown.cancelled())
            .await
            .is_err()
        {
            app.heard().note();
        }
        app.heard().note();
    };
    let guests = app.take_guests().into_iter().map(|(front, guests)| {
        let (waiting, router) = guests;
        let (app, shutdown) = (app.clone(), shutdown.clone());
        async move {
            let router = app.figures(front, router);
            run_guests(waiting, &app, router, shutdown, drain).await
        }
    });
    let guests = futures_util::future::join_all(guests);
    tokio::join!(
        listen(listener, app.clone(), shutdown.clone(), drain),
        guests,
        live,
        heard,
        app.share(shutdown.clone())
    )
    .0
}

async fn listen(
    listener: TcpListener,
    app: App,
    shutdown: CancellationToken,
    drain: Duration,
) -> ListenerEnd {
    let seats = app.seats().clone();
    let service = Service::new(&app, (app.router(), seats), shutdown.clone());
    let mut open = JoinSet::new();
    loop {
        // All are accepted, and idle ones go: nobody waits in the kernel's queue behind them.
        let accepted = tokio::select! {
            () = shutdown.cancelled() => break,
            Some(_) = open.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => service.welcome(&mut open, (Vec::new(), stream), peer),
            Err(error) if passing(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot accept connections right now; trying again");
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

/// Whether the client gave up before we got to it, so that the next one may be fine. Any other error (such as running out
/// of descriptors) needs time.
fn passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted
    )
}

async fn finish(mut open: JoinSet<()>, drain: Duration) -> ListenerEnd {
    let all = async { while open.join_next().await.is_some() {} };
    if tokio::time::timeout(drain, all).await.is_ok() {
        return ListenerEnd { cut: 0 };
    }
    let cut = open.len();
    tracing::warn!(cut, "connections were cut off at the end of the drain time");
    open.shutdown().await;
    ListenerEnd { cut }
}
