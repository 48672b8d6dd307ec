//! Flights: many askers, one call, one typed answer. They come before the queue: a front looks into
//! its cache, joins a flight, and only the first to join submits a job.
//!
//! A flight belongs to none of its followers: its job lives as long as anybody follows, whoever started
//! it. The call puts its answer into the flight before it returns; if there was no answer, followers get
//! the reason as [`Ended`].

mod board;
mod trip;

use std::hash::Hash;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Instant;
use weir_dispatch::{Asker, Job, Moment, Skip, UpstreamId, Wait, What};

use crate::call::{Call, Ended, Skipped};
use crate::engine::Engine;
use crate::record::{Got, Receipt, Whose};

use board::{Board, Flight, FlightSeat};
use trip::Trip;

/// The flights of one kind of query.
pub struct Flights<K, T>(Arc<FlightsInner<K, T>>);

impl<K, T> Clone for Flights<K, T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

struct FlightsInner<K, T> {
    engine: Engine,
    board: Board<K, T, Trip>,
}

/// Where a call puts its answer.
pub struct Landing<K, T> {
    key: K,
    flight: Arc<Flight<T, Trip>>,
}

/// One asker's place in a flight: a future of the answer.
///
/// Dropping it leaves the flight. When the last follower has left, a job that has not started is cancelled; a
/// call under way runs to its end and its answer is kept.
#[must_use = "dropping a follower leaves the flight"]
pub struct Follower<K: FlightKey, T: FlightAnswer> {
    flights: Arc<FlightsInner<K, T>>,
    flight: Arc<Flight<T, Trip>>,
    seat: FlightSeat,
    leads: bool,
    /// What it would have submitted.
    job: Job,
    /// When it joined.
    joined: Moment,
    /// It is counted and recorded what became of this asker. Of whoever leads, the job tells that.
    counted: bool,
    /// The number of the record that tells it, unless that is the job's.
    record: Option<u64>,
}

/// Identifies what is asked for: equal keys share a flight.
pub trait FlightKey: Hash + Eq + Clone + Send + Sync + 'static {}
impl<K: Hash + Eq + Clone + Send + Sync + 'static> FlightKey for K {}

/// An answer that all followers can share.
pub trait FlightAnswer: Send + Sync + 'static {}
impl<T: Send + Sync + 'static> FlightAnswer for T {}

impl<K, T> FlightsInner<K, T> {
    /// Calls to an upstream that were made before this moment take no more followers: they are past their time-out, and
    /// whoever joined would wait for an answer that is not coming.
    fn oldest(&self, upstream: UpstreamId) -> Moment {
        self.engine.timeline().now() - self.engine.time_out(upstream)
    }
}

impl<K: FlightKey, T: FlightAnswer> Flights<K, T> {
    /// No flights yet.
    pub fn new(engine: Engine) -> Self {
        Self(Arc::new(FlightsInner {
            engine,
            board: Board::new(),
        }))
    }

    /// Joins the flight with this key, or starts one if there is none: `start` returns the call, which
    /// must put its answer on the landing. If `start` finds that the answer is in the cache by now, it
    /// puts it there itself and returns `None`.
    pub fn join(
        &self,
        key: K,
        job: Job,
        start: impl FnOnce(Landing<K, T>) -> Option<Arc<dyn Call>>,
    ) -> Follower<K, T> {
        let flights = self.0.clone();
        let oldest = flights.oldest(job.upstream);
        let fits = |trip: &Trip| trip.is_younger_than(oldest);
        let now = flights.engine.timeline().now();
        let make = || Trip::new(job, now);
        let (flight, seat, leads) = flights.board.join(&key, fits, make);
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
            job,
            joined: now,
            counted: leads,
            record: None,
        }
    }

    /// Whether a call with this key is under way that still takes followers: whoever joins now gets
    /// its answer, however long the upstream's next slot is away.
    pub fn is_under_way(&self, key: &K) -> bool {
        let Some(flight) = self.0.board.find(key) else {
            return false;
        };
        let oldest = self.0.oldest(flight.own.job().upstream);
        flight.own.called_at().is_some_and(|at| at > oldest)
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

impl<K: FlightKey, T: FlightAnswer> Landing<K, T> {
    /// Puts the answer into the flight, before the call returns.
    pub fn put(&self, answer: Arc<T>) {
        self.flight.put(answer);
    }

    /// Puts an answer into the flight that says what went wrong. Followers get it once the engine has recorded how the
    /// call went, so that whoever then looks at the upstream sees its cooldown.
    pub fn put_last(&self, answer: Arc<T>) {
        self.flight.put_last(answer);
    }

    /// What is asked for.
    pub fn key(&self) -> &K {
        &self.key
    }
}

impl<K: FlightKey, T: FlightAnswer, E: FlightAnswer> Landing<K, Result<T, E>> {
    /// Puts in the result of the call: an answer at once, an error with [`Landing::put_last`].
    pub fn tell(&self, answer: Result<T, E>) {
        match answer {
            Ok(_) => self.put(Arc::new(answer)),
            Err(_) => self.put_last(Arc::new(answer)),
        }
    }
}

impl<K: FlightKey, T: FlightAnswer> Follower<K, T> {
    /// Whether it started the flight, rather than joining one.
    pub fn leads(&self) -> bool {
        self.leads
    }

    /// Who started the flight: the asker of its job.
    pub fn leader(&self) -> Asker {
        self.flight.own.job().asker
    }

    /// What it got, if anything yet.
    pub fn result(&self) -> Option<Result<Arc<T>, Ended>> {
        self.flight.result(self.seat)
    }

    /// Waits until it is certain that the flight's call will not be made before `until`, then returns how long it has
    /// to wait and for what: a cooldown began, a quota was used up, another call took the slot. The flight carries on
    /// all the same. Never ready once the call is made.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped before it is ready.
    pub fn put_off(
        &self,
        until: Instant,
    ) -> impl Future<Output = (Duration, Wait)> + Send + use<K, T> {
        let (flights, flight, seat) = (self.flights.clone(), self.flight.clone(), self.seat);
        let until = flights.engine.timeline().moment(until);
        let moved = flights.engine.shared.moved(flight.own.job().upstream);
        async move {
            loop {
                // Subscribe before looking, or a change in between would be missed.
                let moved = moved.notified();
                // The slot first, the result second: a flight that ends is over before it forgets that its call was
                // made.
                let turn = flights.turn_after(&flight, until);
                if let Some(turn) = turn.filter(|_| flight.result(seat).is_none()) {
                    return turn;
                }
                moved.await;
            }
        }
    }
}

impl<K: FlightKey, T: FlightAnswer> Follower<K, T> {
    /// The answer will come too late for this asker, who got this instead, if that is known by now; `skip` says why, and has a
    /// limit if the asker leaves for that reason. Gives the skip as it is recorded. A leader whose call is made already counts as one that was
    /// sent, and one that has ended meanwhile is told as that: neither is a skip. To be told at most once.
    pub fn miss(&mut self, skip: Skip, got: impl Into<Option<Got>>) -> Option<Skipped> {
        let got = got.into();
        if self.result().is_some() {
            return None;
        }
        if self.leads && self.is_called() {
            if let Some(got) = got {
                self.note_got(got);
            }
            return None;
        }
        let (about, _, id) = self.flight.own.asked();
        let leads = id.filter(|_| self.leads);
        let engine = &self.flights.engine;
        let what = match (self.is_called(), skip.limit) {
            // Its call is under way, so there is no turn to wait for, and nobody is skipped who leaves.
            (true, _) => What::Missed(Skip { wait: None, ..skip }),
            (false, Some(_)) => What::Skipped(skip),
            (false, None) => What::Missed(skip),
        };
        let record = engine.note_missed(&self.job, &about, leads, what, got);
        self.record = record.as_ref().map(|record| record.number);
        self.counted = true;
        record?.skipped()
    }

    /// The same for nobody: it only sees to it that the call is made, so nothing is told of it unless it leads.
    pub fn unasked(mut self) -> Self {
        self.counted = true;
        self
    }

    /// Whether its call was made.
    pub fn is_called(&self) -> bool {
        self.flight.own.called_at().is_some()
    }

    /// What whoever asked got, where that is not the answer of the call.
    pub fn note_got(&self, got: Got) {
        if let Some(Receipt { upstream, whose }) = self.receipt() {
            self.flights.engine.note_got(upstream, &whose, got);
        }
    }

    /// The record that tells what became of whoever asked, as far as there is one by now.
    pub fn receipt(&self) -> Option<Receipt> {
        let (about, _, job) = self.flight.own.asked();
        let whose = match self.record {
            Some(number) => Whose::Number(number),
            None if self.leads => Whose::Job {
                job,
                asker: self.job.asker,
                about,
                since: self.joined,
            },
            None => return None,
        };
        let upstream = self.job.upstream;
        Some(Receipt { upstream, whose })
    }

    /// Counts and records, once, what became of somebody who shares a call.
    fn count(&mut self, result: Option<&Result<Arc<T>, Ended>>) {
        if std::mem::replace(&mut self.counted, true) {
            return;
        }
        let engine = &self.flights.engine;
        let (about, began, _) = self.flight.own.asked();
        let shared = What::Shared {
            with: self.leader(),
            after: began.until(engine.timeline().now()),
        };
        self.record = match result {
            Some(Ok(_)) => {
                let got = match self.flight.went_wrong() {
                    true => Got::Nothing,
                    false => Got::Fresh,
                };
                engine.note_shared(&self.job, &about, shared, got)
            }
            // The call was made, and came to nothing for both.
            Some(Err(Ended::Panicked | Ended::TimedOut | Ended::Finished(_))) => {
                engine.note_shared(&self.job, &about, shared, Got::Nothing)
            }
            Some(Err(ended)) => engine.note_ended(&self.job, &about, ended),
            None => engine.note_ended(&self.job, &about, &Ended::Cancelled),
        };
    }
}

impl<K: FlightKey, T: FlightAnswer> Future for Follower<K, T> {
    type Output = Result<Arc<T>, Ended>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let result = std::task::ready!(self.flight.poll(self.seat, context));
        self.count(Some(&result));
        Poll::Ready(result)
    }
}

impl<K: FlightKey, T: FlightAnswer> Drop for Follower<K, T> {
    fn drop(&mut self) {
        let result = self.result();
        self.count(result.as_ref());
        if self.flight.leave(self.seat) {
            self.flights.abandon(&self.flight);
        }
    }
}
