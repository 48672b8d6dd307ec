//! The places of a listener: who gets one, and who goes when all are taken.
//!
//! Every listener that keeps connections takes a [`Seat`] for each. One address holds at most a share of the places; a
//! connection beyond that ends the one of the same address that has waited longest for a request. When all places are
//! taken, the address that holds the most gives one up in the same way. So idle connections lose to active ones, and a
//! connection whose request is being answered never goes. This machine and `trusted_proxies` have places of their own
//! and no share: many clients may be behind one proxy.
//!
//! `table` decides, without clock or sockets. The table is locked when a seat is taken or given back, and when the next
//! move passes from client to server or back; [`Seat::asked`] is one write without a lock, for listeners that answer
//! each request at once.

mod metrics;
mod table;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::task::AbortHandle;

use self::table::{SeatKey, SeatTable};

pub use self::metrics::register;
pub use self::table::{Holder, Leaves, Seating};

/// The places of one listener; clones share them.
#[derive(Clone)]
pub struct Seats(Arc<SharedSeats>);

struct SharedSeats {
    table: Mutex<SeatTable<AbortHandle>>,
    /// By [`Leaves`].
    ended: [AtomicU64; Leaves::ALL.len()],
}

/// A taken place; given back when dropped.
pub struct Seat {
    seats: Seats,
    key: SeatKey,
    /// Since when the next move has been the client's; read by the table.
    since: Arc<AtomicU64>,
}

impl Seats {
    /// With as many places as `seating` says.
    pub fn new(seating: Seating) -> Self {
        Self(Arc::new(SharedSeats {
            table: Mutex::new(SeatTable::new(seating)),
            ended: Default::default(),
        }))
    }

    /// Takes a place for a new connection, which waits for its request from `now` on, and spawns the task that serves
    /// it. Another connection may be ended to make room; if none can be, nothing is spawned and this returns false.
    ///
    /// `now` is the time by any clock that never goes back, the same one for all seats here.
    pub fn take(&self, holder: Holder, now: u64, spawn: impl FnOnce(Seat) -> AbortHandle) -> bool {
        let since = Arc::new(AtomicU64::new(now));
        let taken = self.0.table.lock().take(holder, Arc::clone(&since));
        let key = match taken {
            Ok((key, leaver)) => {
                if let Some((task, why)) = leaver {
                    self.count(why);
                    // None if it has not been spawned yet: then it is aborted right after, below.
                    if let Some(task) = task {
                        task.abort();
                    }
                }
                key
            }
            Err(why) => {
                self.count(why);
                return false;
            }
        };
        let seat = Seat {
            seats: self.clone(),
            key,
            since,
        };
        let task = spawn(seat);
        let gone = self.0.table.lock().ended_by(key, task);
        if let Some(task) = gone {
            task.abort();
        }
        true
    }

    /// How many connections have been ended or turned away so far, by reason.
    pub fn ended(&self) -> [(&'static str, u64); Leaves::ALL.len()] {
        Leaves::ALL.map(|why| {
            let count = &self.0.ended[why as usize];
            (why.label(), count.load(Ordering::Relaxed))
        })
    }

    fn count(&self, why: Leaves) {
        self.0.ended[why as usize].fetch_add(1, Ordering::Relaxed);
    }
}

impl Seat {
    /// The client has just sent a request and was answered; from now on its connection waits for the next one.
    #[inline]
    pub fn asked(&self, now: u64) {
        self.since.store(now, Ordering::Relaxed);
    }

    /// The next move is the client's: it has not sent its request, or does not take its answer. It may have to go.
    pub fn waits(&self, now: u64) {
        self.asked(now);
        self.seats.0.table.lock().wait(self.key);
    }

    /// The next move is ours: the connection stays until it is made.
    pub fn works(&self) {
        self.seats.0.table.lock().work(self.key);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.0.table.lock().give_back(self.key);
    }
}
