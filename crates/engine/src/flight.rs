//! Flights: many askers, one call, one typed answer. They sit before the queue: a front looks into
//! its cache, joins a flight, and only the first to do so has a job submitted.
//!
//! A flight belongs to none of its followers: its job lives as long as anybody follows, whoever made
//! it. The call puts its answer into the flight before it returns; what kept it from happening comes
//! back as [`Ended`].

mod board;
mod trip;

use std::hash::Hash;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use parking_lot::Mutex;
use weir_dispatch::{Asker, Job};

use crate::call::{Call, Ended};
use crate::engine::Engine;

use board::{Board, Flight, Seat};
use trip::Trip;

/// The flights of one kind of question.
pub struct Flights<K, T>(Arc<Inner<K, T>>);

impl<K, T> Clone for Flights<K, T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// How flights end before their call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlightOptions {
    /// A flight whose call has been under way for so long takes no more followers: the call's
    /// time-out.
    pub max_age: Duration,
    /// A job that has not started is cancelled so long after the last follower has left.
    pub keep_interest: Duration,
}

type OnAnswer<K, T> = Box<dyn Fn(&K, &Arc<T>) + Send + Sync>;

struct Inner<K, T> {
    engine: Engine,
    options: Mutex<FlightOptions>,
    on_answer: OnAnswer<K, T>,
    board: Board<K, T, Trip>,
}

impl<K, T> Inner<K, T> {
    fn options(&self) -> FlightOptions {
        *self.options.lock()
    }
}

/// Where a call puts its answer.
pub struct Landing<K, T> {
    flights: Weak<Inner<K, T>>,
    key: K,
    flight: Arc<Flight<T, Trip>>,
}

/// One who waits for a flight: a future of the answer.
///
/// Dropping it leaves the flight. When the last has left, a job that has not started is cancelled; a
/// call under way ends by itself and its answer is kept.
#[must_use = "dropping a follower leaves the flight"]
pub struct Follower<K: Key, T: Answer> {
    flights: Arc<Inner<K, T>>,
    flight: Arc<Flight<T, Trip>>,
    seat: Seat,
    leads: bool,
}

/// What asks for the same thing is equal.
pub trait Key: Hash + Eq + Clone + Send + Sync + 'static {}
impl<K: Hash + Eq + Clone + Send + Sync + 'static> Key for K {}

/// What can be shared by all who asked.
pub trait Answer: Send + Sync + 'static {}
impl<T: Send + Sync + 'static> Answer for T {}

impl<K: Key, T: Answer> Flights<K, T> {
    /// No flights yet. `on_answer` is told every answer before its followers are, also when nobody
    /// follows any more: it keeps it for the next asker.
    pub fn new(
        engine: Engine,
        options: FlightOptions,
        on_answer: impl Fn(&K, &Arc<T>) + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Inner {
            engine,
            options: Mutex::new(options),
            on_answer: Box::new(on_answer),
            board: Board::new(),
        }))
    }

    /// Flights under way, too, take followers for so long.
    pub fn set_max_age(&self, max_age: Duration) {
        self.0.options.lock().max_age = max_age;
    }

    /// Joins the flight with this key, and makes it if there is none: `start` gives the call, which
    /// is to put its answer on the landing; or it finds that the answer is in the cache by now, puts
    /// it there itself and gives none.
    pub fn join(
        &self,
        key: K,
        job: Job,
        start: impl FnOnce(Landing<K, T>) -> Option<Arc<dyn Call>>,
    ) -> Follower<K, T> {
        let flights = self.0.clone();
        let oldest = flights.engine.timeline().now() - flights.options().max_age;
        let fits = |trip: &Trip| trip.is_younger_than(oldest);
        let (flight, seat, leads) = flights.board.join(&key, fits, || Trip::new(job));
        if leads {
            flights.lead(&key, &flight, start);
        } else {
            flights.share(&flight, &job);
        }
        Follower {
            flights,
            flight,
            seat,
            leads,
        }
    }

    /// How many flights are not over.
    pub fn len(&self) -> usize {
        self.0.board.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K: Key, T: Answer> Landing<K, T> {
    /// Puts the answer into the flight, before the call returns.
    pub fn put(&self, answer: Arc<T>) {
        if let Some(flights) = self.flights.upgrade() {
            (flights.on_answer)(&self.key, &answer);
        }
        self.flight.put(answer);
    }

    /// Puts an answer into the flight that tells what went wrong. Followers get it when the engine has taken note of
    /// how the call went, so that whoever looks then at the upstream sees it resting; it is not kept.
    pub fn put_last(&self, answer: Arc<T>) {
        self.flight.put_last(answer);
    }

    /// What is asked.
    pub fn key(&self) -> &K {
        &self.key
    }
}

impl<K: Key, T: Answer> Follower<K, T> {
    /// Whether it made the flight, and did not join another's.
    pub fn leads(&self) -> bool {
        self.leads
    }

    /// Who made the flight: the asker of its job.
    pub fn leader(&self) -> Asker {
        self.flight.own.asker()
    }

    /// What it got, if anything yet.
    pub fn result(&self) -> Option<Result<Arc<T>, Ended>> {
        self.flight.result(self.seat)
    }
}

impl<K: Key, T: Answer> Future for Follower<K, T> {
    type Output = Result<Arc<T>, Ended>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.flight.poll(self.seat, context)
    }
}

impl<K: Key, T: Answer> Drop for Follower<K, T> {
    fn drop(&mut self) {
        let Some(number) = self.flight.leave(self.seat) else {
            return;
        };
        if self.flights.options().keep_interest.is_zero() {
            self.flights.abandon(&self.flight);
        } else {
            self.flights.abandon_later(&self.flight, number);
        }
    }
}
