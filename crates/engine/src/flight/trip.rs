//! The engine's side of a flight: its job is submitted, raised, submitted again, cancelled.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use weir_dispatch::{Job, JobId, Moment, Wait};

use crate::call::{Call, Ended};
use crate::payload::Hook;
use crate::record::About;

use super::board::{Flight, Then};
use super::{FlightAnswer, FlightKey, FlightsInner, Landing};

/// A flight's job.
pub(super) struct Trip(Mutex<Ride>);

struct Ride {
    /// What is submitted, in the most urgent class of its followers.
    job: Job,
    /// Removed when the flight is over, because the call in turn holds the flight.
    call: Option<Arc<dyn Call>>,
    /// Told of start and end of the latest launch. Set before its job is submitted, so that nobody sees
    /// that a call began without seeing whose.
    hook: Option<Arc<Hook>>,
    /// The job of the latest launch, once it is submitted.
    id: Option<JobId>,
    /// The job of the first launch, which is that of whoever started the flight.
    first: Option<JobId>,
    /// What it asks, as soon as there is a call.
    about: About,
    /// When it was first asked for.
    began: Moment,
}

impl<K: FlightKey, T: FlightAnswer> FlightsInner<K, T> {
    /// Creates the call of a new flight and launches it.
    pub(super) fn lead(
        self: &Arc<Self>,
        key: &K,
        flight: &Arc<Flight<T, Trip>>,
        start: impl FnOnce(Landing<K, T>) -> Option<Arc<dyn Call>>,
    ) {
        let landing = Landing {
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
            {
                let mut ride = flight.own.0.lock();
                ride.about = call.about();
                ride.call = Some(call);
            }
            self.launch(key, flight, 1);
            guard.ended = None;
        } else {
            // Either `start` has put an answer there, or the flight ends without one.
            guard.ended = Some(Ended::Cancelled);
        }
    }

    /// Submits the job of a flight.
    fn launch(self: &Arc<Self>, key: &K, flight: &Arc<Flight<T, Trip>>, launch: u32) {
        let hook = {
            let (flights, key, flight) = (self.clone(), key.clone(), flight.clone());
            let land = move |ended| flights.land(&key, &flight, launch, ended);
            Arc::new(Hook::new(Box::new(land)))
        };
        let (job, call) = {
            let mut ride = flight.own.0.lock();
            (ride.hook, ride.id) = (Some(hook.clone()), None);
            (ride.job, ride.call.clone())
        };
        let Some(call) = call else {
            return self.land(key, flight, launch, Ended::Cancelled);
        };
        let Some(id) = self.engine.submit_hooked(job, call, hook.clone()) else {
            return;
        };
        let class = {
            let mut ride = flight.own.0.lock();
            if launch == 1 {
                ride.first = Some(id);
            }
            let latest = ride.hook.as_ref();
            if !latest.is_some_and(|latest| Arc::ptr_eq(latest, &hook)) {
                return; // it has ended in between
            }
            ride.id = Some(id);
            ride.job.class
        };
        // Catch up on what happened before the job's id was known.
        if class < job.class {
            self.engine.raise(id, class);
        }
        if flight.is_empty() {
            self.abandon(flight);
        }
    }

    /// A launch ended.
    fn land(self: &Arc<Self>, key: &K, flight: &Arc<Flight<T, Trip>>, launch: u32, ended: Ended) {
        match self.board.end(key, flight, launch, ended) {
            Then::Launch(next) => self.launch(key, flight, next),
            Then::Over => {
                let mut ride = flight.own.0.lock();
                let over = (ride.call.take(), ride.hook.take());
                drop(ride);
                drop(over); // not under the lock: the call holds the flight
            }
        }
    }

    /// Somebody joined a flight that was there already.
    pub(super) fn share(&self, flight: &Arc<Flight<T, Trip>>, job: &Job) {
        let raised = {
            let mut ride = flight.own.0.lock();
            let more_urgent = job.class < ride.job.class;
            if more_urgent {
                ride.job.class = job.class;
            }
            ride.id.filter(|_| more_urgent)
        };
        if let Some(id) = raised {
            self.engine.raise(id, job.class);
        }
    }

    /// How long a flight's call has to wait and for what, if it has not been made and cannot be made before `until`.
    pub(super) fn turn_after(
        &self,
        flight: &Flight<T, Trip>,
        until: Moment,
    ) -> Option<(Duration, Wait)> {
        let job = flight.own.job();
        let (wait, reason) = self.engine.next_wait(job.upstream, job.class, job.budget);
        let reason = reason.filter(|_| self.engine.timeline().now() + wait > until)?;
        // Looked at last: the call's own start uses up the slot, and is noted under the same lock of the engine.
        flight.own.called_at().is_none().then_some((wait, reason))
    }

    /// Nobody follows a flight: its job is cancelled if it has not started.
    pub(super) fn abandon(&self, flight: &Arc<Flight<T, Trip>>) {
        let (id, hook) = {
            let ride = flight.own.0.lock();
            (ride.id, ride.hook.clone())
        };
        // A job that is just being submitted is taken care of by `launch`.
        if let (Some(id), Some(hook)) = (id, hook) {
            self.engine.shared.abandon(id, &hook);
        }
    }
}

/// Ends a flight that was not launched.
struct Unlaunched<'a, K: FlightKey, T: FlightAnswer> {
    flights: &'a Arc<FlightsInner<K, T>>,
    key: &'a K,
    flight: &'a Arc<Flight<T, Trip>>,
    ended: Option<Ended>,
}

impl<K: FlightKey, T: FlightAnswer> Drop for Unlaunched<'_, K, T> {
    fn drop(&mut self) {
        if let Some(ended) = self.ended.take() {
            self.flights.land(self.key, self.flight, 1, ended);
        }
    }
}

impl Trip {
    pub(super) fn new(job: Job, began: Moment) -> Self {
        Self(Mutex::new(Ride {
            job,
            about: About::Nothing,
            began,
            call: None,
            hook: None,
            id: None,
            first: None,
        }))
    }

    /// What is submitted; its asker is the one who started the flight.
    pub(super) fn job(&self) -> Job {
        self.0.lock().job
    }

    /// What it asks, when it was first asked for, and the job that was submitted for whoever started it.
    pub(super) fn asked(&self) -> (About, Moment, Option<JobId>) {
        let ride = self.0.lock();
        (ride.about.clone(), ride.began, ride.first)
    }

    /// When the call of the latest launch was first made.
    pub(super) fn called_at(&self) -> Option<Moment> {
        self.0.lock().hook.as_ref()?.started()
    }

    /// Whether its call was not made before this.
    pub(super) fn is_younger_than(&self, oldest: Moment) -> bool {
        self.called_at().is_none_or(|at| at > oldest)
    }
}
