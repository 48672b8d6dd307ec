//! What a flight has to do with the engine: its job is submitted, raised, submitted again, cancelled.

use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use weir_dispatch::{Asker, Job, JobId, Moment};

use crate::call::{Call, Ended, Outcome, Permit};
use crate::payload::Hook;
use crate::timeline::Timeline;

use super::board::{Flight, Then};
use super::{Answer, Inner, Key, Landing};

/// A flight's job.
pub(super) struct Trip(Mutex<Ride>);

struct Ride {
    /// What is submitted, in the most urgent class of its followers.
    job: Job,
    /// Taken away when the flight is over: the call holds the flight.
    call: Option<Arc<dyn Call>>,
    /// The job of the latest launch, with its number, and what is told its end.
    under_way: Option<(u32, JobId, Arc<Hook>)>,
    /// When its call was first made.
    called_at: Option<Moment>,
}

impl<K: Key, T: Answer> Inner<K, T> {
    /// Makes the call of a new flight and launches it.
    pub(super) fn lead(
        self: &Arc<Self>,
        key: &K,
        flight: &Arc<Flight<T, Trip>>,
        start: impl FnOnce(Landing<K, T>) -> Option<Arc<dyn Call>>,
    ) {
        let landing = Landing {
            flights: Arc::downgrade(self),
            key: key.clone(),
            flight: flight.clone(),
        };
        // Others may have joined: if `start` panics, they must not wait forever.
        let mut guard = Unlaunched {
            flights: self,
            key,
            flight,
            ended: Some(Ended::Panicked),
        };
        if let Some(call) = start(landing) {
            let flown = Flown {
                call,
                flight: Arc::downgrade(flight),
                timeline: self.engine.timeline(),
            };
            flight.own.0.lock().call = Some(Arc::new(flown));
            self.launch(key, flight, 1);
            guard.ended = None;
        } else {
            // The answer is there; or nothing is, and it ends.
            guard.ended = Some(Ended::Cancelled);
        }
    }

    /// Submits the job of a flight.
    fn launch(self: &Arc<Self>, key: &K, flight: &Arc<Flight<T, Trip>>, launch: u32) {
        let (job, call) = {
            let mut ride = flight.own.0.lock();
            ride.called_at = None;
            (ride.job, ride.call.clone())
        };
        let Some(call) = call else {
            return self.land(key, flight, launch, Ended::Cancelled);
        };
        let hook = {
            let (flights, key, flight) = (self.clone(), key.clone(), flight.clone());
            let tell = move |ended| flights.land(&key, &flight, launch, ended);
            Arc::new(Hook(Box::new(tell)))
        };
        let Some(id) = self.engine.submit_hooked(job, call, hook.clone()) else {
            return;
        };
        let class = {
            let mut ride = flight.own.0.lock();
            let later = ride
                .under_way
                .as_ref()
                .is_some_and(|(other, ..)| *other > launch);
            if later || ride.call.is_none() {
                return; // it has ended in between
            }
            ride.under_way = Some((launch, id, hook));
            ride.job.class
        };
        // What happened before the job was known.
        if class < job.class {
            self.engine.raise(id, class);
        }
        if flight.is_empty() && self.options().keep_interest.is_zero() {
            self.abandon(flight);
        }
    }

    /// A launch ended.
    fn land(self: &Arc<Self>, key: &K, flight: &Arc<Flight<T, Trip>>, launch: u32, ended: Ended) {
        match self.board.end(key, flight, launch, ended) {
            Then::Launch(next) => self.launch(key, flight, next),
            Then::Over => {
                let mut ride = flight.own.0.lock();
                let over = (ride.call.take(), ride.under_way.take());
                drop(ride);
                drop(over); // not under the lock: the call holds the flight
            }
        }
    }

    /// Somebody joined a flight that was there already.
    pub(super) fn share(&self, flight: &Arc<Flight<T, Trip>>, job: &Job) {
        let (leader, raised) = {
            let mut ride = flight.own.0.lock();
            let more_urgent = job.class < ride.job.class;
            if more_urgent {
                ride.job.class = job.class;
            }
            let id = ride.under_way.as_ref().map(|(_, id, _)| *id);
            (ride.job.asker, id.filter(|_| more_urgent))
        };
        self.engine.note_shared(job, leader);
        if let Some(id) = raised {
            self.engine.raise(id, job.class);
        }
    }

    /// Nobody follows a flight: its job is cancelled if it has not started.
    pub(super) fn abandon(&self, flight: &Arc<Flight<T, Trip>>) {
        let under_way = flight.own.0.lock().under_way.clone();
        if let Some((_, id, hook)) = under_way {
            self.engine.shared.abandon(id, &hook);
        }
    }

    /// The same after the time that interest is kept, unless somebody joins.
    pub(super) fn abandon_later(self: &Arc<Self>, flight: &Arc<Flight<T, Trip>>, number: u32) {
        let (flights, flight) = (self.clone(), flight.clone());
        let shared = &self.engine.shared;
        let closing = shared.closing.clone();
        let later = async move {
            tokio::select! {
                () = closing.cancelled() => {}
                () = tokio::time::sleep(flights.options().keep_interest) => {
                    if flight.is_abandoned(number) {
                        flights.abandon(&flight);
                    }
                }
            }
        };
        shared.tasks.spawn_on(later, &shared.runtime);
    }
}

/// Ends a flight that was not launched.
struct Unlaunched<'a, K: Key, T: Answer> {
    flights: &'a Arc<Inner<K, T>>,
    key: &'a K,
    flight: &'a Arc<Flight<T, Trip>>,
    ended: Option<Ended>,
}

impl<K: Key, T: Answer> Drop for Unlaunched<'_, K, T> {
    fn drop(&mut self) {
        if let Some(ended) = self.ended {
            self.flights.land(self.key, self.flight, 1, ended);
        }
    }
}

impl Trip {
    pub(super) fn new(job: Job) -> Self {
        Self(Mutex::new(Ride {
            job,
            call: None,
            under_way: None,
            called_at: None,
        }))
    }

    pub(super) fn asker(&self) -> Asker {
        self.0.lock().job.asker
    }

    /// Whether its call was not made before this.
    pub(super) fn is_younger_than(&self, oldest: Moment) -> bool {
        self.0.lock().called_at.is_none_or(|at| at > oldest)
    }
}

/// The call of a flight, which notes when it is made.
struct Flown<T> {
    call: Arc<dyn Call>,
    flight: Weak<Flight<T, Trip>>,
    timeline: Timeline,
}

impl<T: Answer> Call for Flown<T> {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        if let Some(flight) = self.flight.upgrade() {
            let now = self.timeline.now();
            flight.own.0.lock().called_at.get_or_insert(now);
        }
        self.call.attempt(permit)
    }

    fn keep(&self) -> Option<Vec<u8>> {
        self.call.keep()
    }
}
