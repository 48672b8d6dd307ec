//! What waits for one listener: a bounded buffer that loses events rather than order.

use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use futures_util::Stream;
use hyper::body::Bytes;
use parking_lot::Mutex;

/// Frames that wait at most, and their bytes together. A page with 60 rows gets 60 at once.
const FRAMES: usize = 256;
const BYTES: usize = 512 << 10;

/// Written by the hub, read by the listener's connection.
#[derive(Default)]
pub(super) struct Mailbox(Mutex<Post>);

#[derive(Default)]
struct Post {
    frames: VecDeque<Bytes>,
    bytes: usize,
    /// Something was lost; nothing more comes until all that waits was taken.
    behind: bool,
    ended: bool,
    reader: Option<Waker>,
}

/// How far a listener is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReaderPace {
    /// It has room.
    Follows,
    /// It lost something, and has not yet taken all that waits.
    Behind,
    /// It lost something and has taken the rest: it can be told the whole.
    CaughtUp,
}

impl Mailbox {
    /// Puts a frame in, or loses it if the listener is too slow.
    pub(super) fn put(&self, frame: Bytes) {
        let mut post = self.0.lock();
        let full = post.frames.len() >= FRAMES || post.bytes + frame.len() > BYTES;
        // A single frame always finds room, however large it is.
        if post.ended || post.behind || (full && !post.frames.is_empty()) {
            post.behind = true;
            return;
        }
        post.bytes += frame.len();
        post.frames.push_back(frame);
    }

    pub(super) fn pace(&self) -> ReaderPace {
        let post = self.0.lock();
        match (post.behind, post.frames.is_empty()) {
            (false, _) => ReaderPace::Follows,
            (true, false) => ReaderPace::Behind,
            (true, true) => ReaderPace::CaughtUp,
        }
    }

    /// It is told the whole now.
    pub(super) fn begin_again(&self) {
        self.0.lock().behind = false;
    }

    /// Wakes the listener. Apart from [`Mailbox::put`], so that all events of a tick leave together.
    pub(super) fn wake(&self) {
        let reader = self.0.lock().reader.take();
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// Nothing comes any more. What waits is still delivered.
    pub(super) fn end(&self) {
        self.0.lock().ended = true;
        self.wake();
    }
}

/// The listener's side.
pub(super) struct Reading(pub(super) Arc<Mailbox>);

impl Stream for Reading {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut post = self.0.0.lock();
        match post.frames.pop_front() {
            Some(frame) => {
                post.bytes -= frame.len();
                Poll::Ready(Some(Ok(frame)))
            }
            None if post.ended => Poll::Ready(None),
            None => {
                post.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, StreamExt};

    use super::*;

    fn taken(reading: &mut Reading) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some(Some(Ok(frame))) = reading.next().now_or_never() {
            all.push(frame[0]);
        }
        all
    }

    #[test]
    fn a_slow_listener_loses_events_but_not_their_order() {
        let mailbox = Arc::new(Mailbox::default());
        let mut reading = Reading(Arc::clone(&mailbox));
        for number in 0..=FRAMES {
            mailbox.put(vec![number as u8].into());
        }
        assert_eq!(mailbox.pace(), ReaderPace::Behind);
        assert!(reading.next().now_or_never().is_some());
        mailbox.put(vec![99].into());
        let rest: Vec<u8> = (1..FRAMES).map(|number| number as u8).collect();
        assert_eq!(taken(&mut reading), rest, "room alone is not enough");
        assert_eq!(mailbox.pace(), ReaderPace::CaughtUp);
        mailbox.begin_again();
        mailbox.put(vec![1].into());
        assert_eq!(
            (mailbox.pace(), taken(&mut reading)),
            (ReaderPace::Follows, vec![1])
        );
    }

    #[test]
    fn bytes_are_bounded_too_but_one_event_always_fits() {
        let mailbox = Arc::new(Mailbox::default());
        mailbox.put(vec![1; 2 * BYTES].into());
        assert_eq!(mailbox.pace(), ReaderPace::Follows);
        mailbox.put(vec![2].into());
        assert_eq!(mailbox.pace(), ReaderPace::Behind);
        assert_eq!(taken(&mut Reading(mailbox)), [1]);
    }

    #[test]
    fn what_waits_is_delivered_before_the_end() {
        let mailbox = Arc::new(Mailbox::default());
        let mut reading = Reading(Arc::clone(&mailbox));
        assert!(reading.next().now_or_never().is_none());
        mailbox.put(vec![1].into());
        mailbox.end();
        assert!(reading.next().now_or_never().flatten().is_some());
        assert_eq!(reading.next().now_or_never(), Some(None));
    }
}
