//! Our own outage is nobody's fault.

use crate::kit::*;
use weir_engine::dispatch::Availability;
use weir_engine::{Ended, Outcome, Trouble, Weather};

const TROUBLE: Step = Step::Trouble(Trouble::NoRoute);

#[tokio::test(start_paused = true)]
async fn nobody_climbs_while_our_network_is_down_and_calls_pause() {
    let weather = Weather::default();
    let desk = Desk::with(policy(), |options| options.weather = weather.clone());
    let (a, b) = (
        desk.upstream("a", secs(0), 1),
        desk.upstream("b", secs(0), 1),
    );
    desk.engine.submit(job(a, RSS), desk.done("fine")).await;
    pass(secs(31)).await;
    assert_eq!(weather.down_for(), None);
    for upstream in [a, b] {
        let call = desk.ready("down", TROUBLE);
        let ended = desk.engine.submit(job(upstream, RSS), call).await;
        assert_eq!(ended, Ended::Finished(Outcome::OurNetwork));
    }
    let status = desk.engine.status();
    assert!(status.network_down && status.counts.paused_until.is_some());
    assert_eq!(weather.down_for(), Some(secs(31)), "since the last answer");
    assert!(!weather.apart().is_down(), "others may have another sky");
    for (upstream, state) in [(a, Availability::Open), (b, Availability::Untried)] {
        let view = desk.engine.upstream(upstream).expect("it is there");
        assert_eq!((view.status.state, view.status.rung), (state, 0));
    }
    let again = desk.engine.submit(job(a, INTERACTIVE), desk.done("again"));
    assert_eq!(again.await, Ended::Finished(Outcome::Done));
    assert_eq!(desk.starts("again"), [secs(61)]);
    assert!(!desk.engine.status().network_down);
    assert_eq!(weather.down_for(), None);
}

#[tokio::test(start_paused = true)]
async fn in_the_first_seconds_nobody_is_blamed_and_nothing_pauses() {
    let desk = Desk::new(policy());
    let (a, b) = (
        desk.upstream("a", secs(0), 1),
        desk.upstream("b", secs(0), 1),
    );
    desk.engine.submit(job(a, RSS), desk.done("fine")).await;
    let call = desk.ready("unclear", TROUBLE);
    let ended = desk.engine.submit(job(b, RSS), call).await;
    assert_eq!(ended, Ended::Finished(Outcome::OurNetwork));
    assert_eq!(desk.engine.status().counts.paused_until, None);
    // Another answers, so it was the upstream.
    desk.engine.submit(job(a, RSS), desk.done("fine")).await;
    let call = desk.ready("guilty", TROUBLE);
    let ended = desk.engine.submit(job(b, RSS), call).await;
    assert_eq!(ended, Ended::Finished(Outcome::Unavailable));
    let view = desk.engine.upstream(b).expect("it is there");
    assert!(matches!(view.status.state, Availability::Cooldown { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_lone_upstream_is_judged_at_once() {
    let desk = Desk::new(policy());
    let a = desk.upstream("a", secs(0), 1);
    let call = desk.ready("a", Step::Trouble(Trouble::SilentDns));
    let ended = desk.engine.submit(job(a, RSS), call).await;
    assert_eq!(ended, Ended::Finished(Outcome::Unavailable));
}

#[tokio::test(start_paused = true)]
async fn an_answer_on_another_front_proves_that_the_network_works() {
    let weather = Weather::default();
    let tracker = Desk::with(policy(), |options| options.weather = weather.clone());
    let search = Desk::with(policy(), |options| options.weather = weather.clone());
    let (a, b) = (
        tracker.upstream("a", secs(0), 1),
        search.upstream("b", secs(0), 1),
    );
    let first = tracker
        .engine
        .submit(job(a, RSS), tracker.ready("a", TROUBLE));
    assert_eq!(first.await, Ended::Finished(Outcome::OurNetwork));
    search.engine.submit(job(b, RSS), search.done("b")).await;
    let second = tracker
        .engine
        .submit(job(a, RSS), tracker.ready("a", TROUBLE));
    assert_eq!(second.await, Ended::Finished(Outcome::Unavailable));
}
