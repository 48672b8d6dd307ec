//! A flight's followers never hang, whatever comes first.

use std::sync::Arc;

use shuttle::future::block_on;
use shuttle::thread;
use weir_engine::{Ended, Outcome};

use crate::board::{Board, Flight, FlightSeat, Then};

const ROUNDS: usize = 3_000;

type Sky = Board<u8, u32, ()>;

/// Plays the engine: makes a launch that ends as `calls` says, and those that follow from it.
fn fly(board: &Sky, flight: &Arc<Flight<u32, ()>>, calls: impl Fn(u32) -> Result<u32, Ended>) {
    let mut launch = 1;
    loop {
        let ended = match calls(launch) {
            Ok(answer) => {
                flight.put(Arc::new(answer));
                Ended::Finished(Outcome::Done)
            }
            Err(ended) => ended,
        };
        match board.end(&1, flight, launch, ended) {
            Then::Launch(next) => launch = next,
            Then::Over => return,
        }
    }
}

fn wait(flight: &Arc<Flight<u32, ()>>, seat: FlightSeat) -> Result<u32, Ended> {
    let result = block_on(std::future::poll_fn(|context| flight.poll(seat, context)));
    flight.leave(seat);
    result.map(|answer| *answer)
}

/// Joins, and leads if there is nobody to follow.
fn ask(board: &Arc<Sky>, calls: impl Fn(u32) -> Result<u32, Ended>) -> (bool, Result<u32, Ended>) {
    let (flight, seat, leads) = board.join(&1, |()| true, || ());
    if leads {
        fly(board, &flight, calls);
    }
    (leads, wait(&flight, seat))
}

fn check(scene: impl Fn() + Send + Sync + 'static) {
    shuttle::check_random(scene, ROUNDS);
}

/// Three ask at once; the first call ends like this, those after it are answered.
fn three_ask(first: Ended) {
    let board = Arc::new(Sky::new());
    let askers: Vec<_> = (0..3)
        .map(|_| {
            let (board, first) = (board.clone(), first.clone());
            thread::spawn(move || {
                ask(&board, |launch| match launch {
                    1 => Err(first.clone()),
                    launch => Ok(launch),
                })
            })
        })
        .collect();
    for asker in askers {
        let (leads, result) = asker.join().expect("it does not panic");
        match result {
            // A leader that has not looked yet gets the answer too.
            Ok(answer) => assert!(answer > 1),
            Err(ended) => assert!(leads && ended == first, "only a leader is taken along"),
        }
    }
    assert_eq!(board.len(), 0);
}

#[test]
fn a_leader_that_panics_takes_nobody_along() {
    check(|| three_ask(Ended::Panicked));
}

#[test]
fn a_leader_that_is_cancelled_takes_nobody_along() {
    check(|| three_ask(Ended::Cancelled));
}

#[test]
fn an_end_that_is_for_all_reaches_all() {
    check(|| {
        let board = Arc::new(Sky::new());
        let askers: Vec<_> = (0..3)
            .map(|_| {
                let board = board.clone();
                thread::spawn(move || ask(&board, |_| Err(Ended::Shutdown)))
            })
            .collect();
        for asker in askers {
            let (_, result) = asker.join().expect("it does not panic");
            assert_eq!(result, Err(Ended::Shutdown));
        }
        assert_eq!(board.len(), 0);
    });
}

#[test]
fn the_last_follower_leaves_while_another_joins() {
    check(|| {
        let board = Arc::new(Sky::new());
        let (flight, seat, _) = board.join(&1, |()| true, || ());
        let leaver = {
            let (board, flight) = (board.clone(), flight.clone());
            thread::spawn(move || {
                // The engine cancels the queued job if nobody is left; else the call is made.
                let cancelled = flight.leave(seat);
                fly(&board, &flight, |launch| match launch {
                    1 if cancelled => Err(Ended::Cancelled),
                    launch => Ok(launch),
                });
            })
        };
        let joiner = {
            let board = board.clone();
            thread::spawn(move || ask(&board, |_| Ok(9)))
        };
        leaver.join().expect("it does not panic");
        let (_, result) = joiner.join().expect("it does not panic");
        assert!(result.is_ok(), "{result:?}");
        assert_eq!(board.len(), 0);
    });
}

#[test]
fn a_time_out_races_the_answer() {
    check(|| {
        let board = Arc::new(Sky::new());
        let (flight, seat, _) = board.join(&1, |()| true, || ());
        let call = {
            let flight = flight.clone();
            thread::spawn(move || flight.put(Arc::new(7)))
        };
        let time_out = {
            let (board, flight) = (board.clone(), flight.clone());
            thread::spawn(move || {
                fly(&board, &flight, |launch| match launch {
                    1 => Err(Ended::TimedOut),
                    launch => Ok(launch),
                });
            })
        };
        let late = {
            let board = board.clone();
            thread::spawn(move || ask(&board, |_| Ok(8)))
        };
        let leader = wait(&flight, seat);
        call.join().expect("it does not panic");
        time_out.join().expect("it does not panic");
        let (_, late) = late.join().expect("it does not panic");
        assert!(late.is_ok(), "{late:?}");
        match leader {
            Ok(answer) => assert!([7, 2].contains(&answer)),
            Err(ended) => assert_eq!(ended, Ended::TimedOut),
        }
        assert_eq!(board.len(), 0);
    });
}
