//! What is new since somebody last looked.

use crate::kit::*;
use weir_engine::dispatch::UpstreamId;
use weir_engine::{Onlooker, Outcome, Own, OwnKind, OwnReason, SinceLast, Standing, about};

fn told(new: &SinceLast) -> Vec<(u32, u64)> {
    let records = new.records.iter();
    records
        .map(|new| (new.upstream.0, new.record.number))
        .collect()
}

fn changed(new: &SinceLast) -> Vec<u32> {
    new.changed.iter().map(|(upstream, _)| upstream.0).collect()
}

#[tokio::test(start_paused = true)]
async fn each_record_is_told_once_and_the_newest_first_when_there_are_too_many() {
    let desk = Desk::new(policy());
    let all: Vec<UpstreamId> = (0..40)
        .map(|number| desk.upstream(&number.to_string(), secs(0), 1))
        .collect();
    let call = async |upstream: usize| {
        let done = desk.done("call");
        desk.engine
            .submit(job(all[upstream], INTERACTIVE), done)
            .await;
        pass(millis(1)).await;
    };
    call(3).await;
    let mut onlooker = Onlooker::default();
    let first = desk.engine.since_last(&mut onlooker, 5);
    assert!(
        first.records.is_empty() && first.changed.is_empty(),
        "{first:?}"
    );
    let nothing = desk.engine.since_last(&mut onlooker, 5);
    assert!(nothing.records.is_empty() && nothing.states.is_empty());
    call(3).await;
    call(7).await;
    let new = desk.engine.since_last(&mut onlooker, 5);
    assert_eq!((told(&new), new.more), (vec![(3, 2), (7, 1)], 0));
    assert_eq!(changed(&new), [3, 7]);
    // Some were called before the last look, some twice, and most only once and long ago.
    for upstream in (10..40).chain([12, 3, 12]) {
        call(upstream).await;
    }
    let new = desk.engine.since_last(&mut onlooker, 5);
    let newest = [(38, 1), (39, 1), (12, 2), (3, 3), (12, 3)];
    assert_eq!((told(&new), new.more), (newest.to_vec(), 28));
    assert_eq!(new.records[4].name.as_ref(), "12");
    assert_eq!(changed(&new).len(), 31);
    let newest = desk.engine.newest_records(3);
    let newest: Vec<_> = newest.iter().map(|new| new.upstream.0).collect();
    assert_eq!(newest, [12, 3, 12]);
}

#[tokio::test(start_paused = true)]
async fn states_are_told_in_their_order_even_those_that_nobody_saw() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    desk.upstream("two", secs(0), 1);
    let mut onlooker = Onlooker::default();
    desk.engine.since_last(&mut onlooker, 5);
    desk.engine
        .submit(job(one, INTERACTIVE), desk.done("good"))
        .await;
    pass(millis(10)).await;
    let bad = desk.ready("bad", Step::Outcome(Outcome::Unavailable));
    desk.engine.submit(job(one, INTERACTIVE), bad).await;
    pass(millis(10)).await;
    let new = desk.engine.since_last(&mut onlooker, 5);
    let states: Vec<_> = new.states.iter().map(|one| (one.from, one.to)).collect();
    use Standing::{Cooldown, Manual, Open, Untried};
    assert_eq!(states, [(Untried, Open), (Open, Cooldown)]);
    assert!(new.states[0].at < new.states[1].at);
    pass(secs(61)).await;
    desk.engine.switch_off(one, "because", "operator");
    let three = desk.upstream("three", secs(0), 1);
    let new = desk.engine.since_last(&mut onlooker, 5);
    let mut state = Cooldown;
    for change in &new.states {
        assert_eq!(change.from, state);
        state = change.to;
    }
    assert_eq!(state, Manual);
    assert!(changed(&new).contains(&three.0), "one that has just come");
    assert!(desk.engine.since_last(&mut onlooker, 5).states.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_a_front_decides_is_told_again_when_it_goes_on() {
    let desk = Desk::new(policy());
    let own = |asker: &str| Own {
        asker: Some(asker.into()),
        ..Own::new(OwnKind::Throttled, OwnReason::TooMany, about::COMPLETED)
    };
    desk.engine.note_own(own("a"), 1);
    let mut onlooker = Onlooker::default();
    assert!(desk.engine.since_last(&mut onlooker, 5).own.is_empty());
    pass(secs(1)).await;
    assert!(desk.engine.since_last(&mut onlooker, 5).own.is_empty());
    desk.engine.note_own(own("b"), 1);
    pass(secs(1)).await;
    desk.engine.note_own(own("a"), 7);
    let new = desk.engine.since_last(&mut onlooker, 5);
    let told: Vec<_> = new.own.iter().map(|one| (one.number, one.count)).collect();
    assert_eq!(told, [(1, 8), (2, 1)]);
}
