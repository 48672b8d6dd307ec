//! What is said of an upstream agrees with its records: over a restart, after it was away, and at any moment.

use weir_engine::dispatch::{Moment, UpstreamId, What};
use weir_engine::{Kind, Outcome, Record, Rows, Standing};

use crate::kit::*;
use crate::rows::{Machine, add, stop, throttle};

/// Calls that were answered, as figures and records count them.
fn answered(desk: &Desk, upstream: UpstreamId) -> [u64; 3] {
    let view = desk.engine.upstream(upstream).expect("it is there");
    let day = view.day.iter().map(|point| u64::from(point.calls[0]));
    let records = desk.engine.decisions(upstream, None, 99);
    let ended = |record: &&Record| record.end.is_some_and(|end| end.kind == Kind::Done);
    [
        view.figures.requests[Kind::Done as usize],
        day.sum(),
        records.iter().filter(ended).count() as u64,
    ]
}

#[tokio::test(start_paused = true)]
async fn calls_of_the_last_day_are_counted_over_a_restart() {
    let machine = Machine::new();
    let (desk, _, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    for wait in [0, 15, 400] {
        pass(secs(wait)).await;
        desk.engine.submit(job(one, RSS), desk.done("a")).await;
    }
    assert_eq!(answered(&desk, one), [3, 3, 3]);
    stop(desk).await;
    pass(secs(3600)).await;
    let (desk, _, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    assert_eq!(answered(&desk, one), [0, 3, 3], "by runs, days and records");
    desk.engine.submit(job(one, RSS), desk.done("a")).await;
    assert_eq!(answered(&desk, one), [1, 4, 4]);
    pass(secs(23 * 3600)).await;
    let view = desk.engine.upstream(one).expect("it is there");
    let day: u32 = view.day.iter().map(|point| point.calls[0]).sum();
    assert_eq!(day, 1, "the others are a day ago");
}

/// Takes an upstream away and brings it back, as a reload does.
fn come_back(desk: &Desk, rows: &Rows, one: UpstreamId) -> UpstreamId {
    desk.engine.remove_upstream(one);
    let again = desk.engine.add_upstream("one", quota(secs(0), 1), secs(30));
    desk.engine.restore(again, &rows.kept()["one"]);
    again
}

#[tokio::test(start_paused = true)]
async fn an_upstream_that_comes_back_has_its_records_and_figures() {
    let machine = Machine::new();
    let (desk, rows, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    desk.engine.submit(job(one, RSS), desk.done("a")).await;
    desk.engine.submit(job(one, RSS), desk.done("b")).await;
    let one = come_back(&desk, &rows, one);
    assert_eq!(answered(&desk, one), [2, 2, 2]);
    desk.engine.submit(job(one, RSS), desk.done("c")).await;
    assert_eq!(answered(&desk, one), [3, 3, 3]);
    let newest = &desk.engine.decisions(one, None, 1)[0];
    assert_eq!(newest.number, 3, "no number is given twice");
}

#[tokio::test(start_paused = true)]
async fn a_call_under_way_ends_in_the_records_of_an_upstream_that_came_back() {
    let machine = Machine::new();
    let (desk, rows, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    let call = desk.call("a");
    let ticket = desk.engine.submit(job(one, RSS), call.clone());
    settle().await;
    let one = come_back(&desk, &rows, one);
    call.answer();
    ticket.await;
    assert_eq!(answered(&desk, one), [1, 1, 1]);
    // And of one that comes back after the call.
    let call = desk.call("b");
    let ticket = desk.engine.submit(job(one, RSS), call.clone());
    settle().await;
    desk.engine.remove_upstream(one);
    call.answer();
    ticket.await;
    stop(desk).await;
    let (desk, _, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    assert_eq!(answered(&desk, one)[1..], [2, 2]);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_cooldown_is_noted_when_it_was() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    throttle(&desk, one, secs(63)).await;
    let until = match desk.engine.decisions(one, None, 1)[0].what {
        What::CooldownBegan { cooldown, .. } => cooldown.until,
        _ => Moment(0),
    };
    // Nobody looked at that moment.
    pass(secs(64)).await;
    let view = desk.engine.upstream(one).expect("it is there");
    assert_eq!(view.history.last(), Some(&(until, Standing::Probing)));
    assert_eq!(view.since, until);
}

#[tokio::test(start_paused = true)]
async fn switching_off_twice_keeps_the_first_reason() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    desk.engine.switch_off(one, "renewal", "somebody");
    pass(secs(60)).await;
    desk.engine.switch_off(one, "another", "somebody else");
    let view = desk.engine.upstream(one).expect("it is there");
    let off = view.off.expect("it is off");
    assert_eq!((off.reason.as_str(), off.at), ("renewal", view.since));
    assert_eq!(desk.engine.decisions(one, None, 9).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn no_next_try_is_named_while_one_is_under_way() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    desk.try_with(Outcome::Done);
    let probe = |desk: &Desk| desk.engine.upstream(one).expect("it is there").probe_at;
    assert!(probe(&desk).is_some());
    let call = desk.call("a");
    let ticket = desk.engine.submit(job(one, RSS), call.clone());
    settle().await;
    assert_eq!(probe(&desk), None);
    call.answer();
    ticket.await;
}
