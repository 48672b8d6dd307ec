//! Serves connections step by step, whatever the script is.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{Book, Door, Guest};

/// Bytes of a request's head at most.
const HEAD: usize = 64 << 10;

/// One step.
pub(super) enum Act {
    Write(Vec<u8>),
    Wait(Duration),
    Hang,
    Close,
    Reset,
}

/// The steps after one request.
pub(super) type Acts = Box<dyn Iterator<Item = Act> + Send>;

/// What a server over HTTP does.
pub(super) trait Plays: Clone + Send + Sized + 'static {
    /// Whether it closes before it has read anything.
    fn turns_away(&self) -> bool;

    /// What it does after a request, which is in the book already.
    fn acts(&self, book: &Book<Self>, head: &[u8]) -> Acts;
}

/// Serves whoever comes.
pub(super) async fn accept<B: Plays>(
    mut door: Door,
    book: Arc<Book<B>>,
    connections: Arc<AtomicUsize>,
) {
    let mut guests = JoinSet::new();
    loop {
        tokio::select! {
            guest = door.accept() => {
                let Some(guest) = guest else { return };
                connections.fetch_add(1, Ordering::Relaxed);
                guests.spawn(serve(guest, book.clone()));
            }
            Some(_) = guests.join_next() => {}
        }
    }
}

/// Serves a connection until one side has enough.
async fn serve<B: Plays>(mut guest: Box<dyn Guest>, book: Arc<Book<B>>) {
    if book.behaviour().turns_away() {
        return;
    }
    let mut unread = Vec::new();
    while let Some(head) = head(&mut guest, &mut unread).await {
        book.note(&head);
        for act in book.behaviour().acts(&book, &head) {
            match act {
                Act::Write(bytes) => {
                    if guest.write_all(&bytes).await.is_err() {
                        return;
                    }
                    book.written.fetch_add(bytes.len(), Ordering::Relaxed);
                }
                Act::Wait(time) => sleep(time).await,
                Act::Hang => std::future::pending().await,
                Act::Close => {
                    let _ = guest.shutdown().await;
                    return;
                }
                Act::Reset => return guest.reset(),
            }
        }
    }
}

/// The next request's head; what follows it stays in `unread`.
async fn head(guest: &mut Box<dyn Guest>, unread: &mut Vec<u8>) -> Option<Vec<u8>> {
    loop {
        let end = unread.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            let rest = unread.split_off(end + 4);
            return Some(std::mem::replace(unread, rest));
        }
        if unread.len() > HEAD || guest.read_buf(unread).await.ok()? == 0 {
            return None;
        }
    }
}
