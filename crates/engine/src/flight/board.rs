//! Who waits for which flight: many followers, one call, one answer. Locks and wakers only; this file
//! does not know the engine, so that tests can try every order of events.
//!
//! A flight is *launched*: its job is submitted. If a launch comes to nothing because of a panic, a time-out
//! or a cancellation, that is the end for those who were there when it was made; whoever joined later
//! is carried over to another launch, as if the next in line had become its leader. Each launch ends
//! for somebody, so there are never more launches than followers. Any other end is for all.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::call::Ended;
use crate::sync::Mutex;

/// All flights that are not over, by key.
pub(crate) struct Board<K, T, X> {
    flights: Mutex<HashMap<K, Arc<Flight<T, X>>>>,
}

/// One flight.
pub(crate) struct Flight<T, X> {
    /// Whatever its owner keeps with it.
    pub(crate) own: X,
    state: Mutex<FlightState<T>>,
}

struct FlightState<T> {
    answer: Option<Arc<T>>,
    /// The answer once it is over, if there is no other.
    last_word: Option<Arc<T>>,
    /// The answer says what went wrong.
    went_wrong: bool,
    /// How it ended for everybody without an answer.
    over: Option<Ended>,
    /// The last launch that came to nothing, and how; 0 while there is none.
    failed: (u32, Ended),
    /// Launches made.
    launch: u32,
    followers: u32,
    /// Those who joined since the last launch was made.
    late: u32,
    next_id: u64,
    wakers: Vec<(u64, Waker)>,
}

/// A follower's place in a flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlightSeat {
    id: u64,
    /// If this launch or a later one comes to nothing, that is the end for this follower.
    launch: u32,
}

/// What is to be done about a launch that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Nothing: the flight is over.
    Over,
    /// Some joined late: launch again, with this number.
    Launch(u32),
}

impl<K: Hash + Eq + Clone, T, X> Board<K, T, X> {
    pub(crate) fn new() -> Self {
        Self {
            flights: Mutex::new(HashMap::new()),
        }
    }

    /// Joins the flight with this key if it `fits`, otherwise a new one made with `own`. The caller must
    /// then make launch 1.
    pub(crate) fn join(
        &self,
        key: &K,
        fits: impl FnOnce(&X) -> bool,
        own: impl FnOnce() -> X,
    ) -> (Arc<Flight<T, X>>, FlightSeat, bool) {
        let mut flights = self.flights.lock();
        if let Some(flight) = flights.get(key).filter(|flight| fits(&flight.own)) {
            return (flight.clone(), flight.board(), false);
        }
        // One that does not fit carries on for those already in it.
        let flight = Arc::new(Flight::new(own()));
        flights.insert(key.clone(), flight.clone());
        let seat = FlightSeat { id: 0, launch: 1 };
        (flight, seat, true)
    }

    /// The flight with this key.
    pub(crate) fn find(&self, key: &K) -> Option<Arc<Flight<T, X>>> {
        self.flights.lock().get(key).cloned()
    }

    /// A launch ended.
    pub(crate) fn end(
        &self,
        key: &K,
        flight: &Arc<Flight<T, X>>,
        launch: u32,
        ended: Ended,
    ) -> Then {
        let mut flights = self.flights.lock();
        let mut state = flight.state.lock();
        let carried =
            matches!(ended, Ended::Panicked | Ended::TimedOut | Ended::Cancelled) && state.late > 0;
        if state.answer.is_none() && carried {
            state.failed = (launch, ended);
            state.launch += 1;
            state.late = 0;
            let then = Then::Launch(state.launch);
            drop(flights);
            wake(state);
            return then;
        }
        if state.answer.is_none() {
            state.answer = state.last_word.take();
            state.went_wrong = state.answer.is_some();
        }
        state.over = Some(ended);
        if flights
            .get(key)
            .is_some_and(|other| Arc::ptr_eq(other, flight))
        {
            flights.remove(key);
        }
        drop(flights);
        wake(state);
        Then::Over
    }

    /// How many flights are not over.
    pub(crate) fn len(&self) -> usize {
        self.flights.lock().len()
    }
}

impl<T, X> Flight<T, X> {
    fn new(own: X) -> Self {
        Self {
            own,
            state: Mutex::new(FlightState {
                answer: None,
                last_word: None,
                went_wrong: false,
                over: None,
                failed: (0, Ended::Cancelled),
                launch: 1,
                followers: 1,
                late: 0,
                next_id: 1,
                wakers: Vec::new(),
            }),
        }
    }

    /// Adds a follower. Flights on the board are never over.
    fn board(&self) -> FlightSeat {
        let mut state = self.state.lock();
        let id = state.next_id;
        state.next_id += 1;
        state.followers += 1;
        state.late += 1;
        let launch = state.launch + 1;
        FlightSeat { id, launch }
    }

    /// The answer has arrived, for everybody who is or will be in this flight. If the flight is over, it is
    /// still for those who have not looked yet: better late than never.
    pub(crate) fn put(&self, answer: Arc<T>) {
        let mut state = self.state.lock();
        state.answer.get_or_insert(answer);
        wake(state);
    }

    /// The answer to give once the launch has ended: what went wrong, after everybody else has heard of it.
    pub(crate) fn put_last(&self, answer: Arc<T>) {
        self.state.lock().last_word = Some(answer);
    }

    pub(crate) fn poll(
        &self,
        seat: FlightSeat,
        context: &mut Context<'_>,
    ) -> Poll<Result<Arc<T>, Ended>> {
        let mut state = self.state.lock();
        if let Some(result) = state.result(seat) {
            return Poll::Ready(result);
        }
        let waker = context.waker();
        match state.wakers.iter_mut().find(|(id, _)| *id == seat.id) {
            Some((_, known)) => known.clone_from(waker),
            None => state.wakers.push((seat.id, waker.clone())),
        }
        Poll::Pending
    }

    /// What a follower got, if anything yet.
    pub(crate) fn result(&self, seat: FlightSeat) -> Option<Result<Arc<T>, Ended>> {
        self.state.lock().result(seat)
    }

    /// A follower leaves. Returns whether it was the last one of a flight that still has no result. Whoever
    /// joins after that is not lost: the launch that is then cancelled is made again.
    pub(crate) fn leave(&self, seat: FlightSeat) -> bool {
        let mut state = self.state.lock();
        state.wakers.retain(|(id, _)| *id != seat.id);
        state.followers -= 1;
        if seat.launch > state.launch {
            state.late -= 1;
        }
        state.followers == 0 && state.over.is_none() && state.answer.is_none()
    }

    /// Whether its answer says what went wrong.
    pub(crate) fn went_wrong(&self) -> bool {
        self.state.lock().went_wrong
    }

    /// Whether nobody follows it.
    pub(crate) fn is_empty(&self) -> bool {
        self.state.lock().followers == 0
    }
}

impl<T> FlightState<T> {
    fn result(&self, seat: FlightSeat) -> Option<Result<Arc<T>, Ended>> {
        if let Some(answer) = &self.answer {
            return Some(Ok(answer.clone()));
        }
        let (launch, ended) = &self.failed;
        if *launch >= seat.launch {
            return Some(Err(ended.clone()));
        }
        self.over.clone().map(Err)
    }
}

/// Wakes everybody, after releasing the lock.
fn wake<T>(mut state: impl std::ops::DerefMut<Target = FlightState<T>>) {
    let wakers = std::mem::take(&mut state.wakers);
    drop(state);
    for (_, waker) in wakers {
        waker.wake();
    }
}
