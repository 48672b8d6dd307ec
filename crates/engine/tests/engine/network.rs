//! Our own outage is nobody's fault.

use crate::kit::*;
use weir_engine::dispatch::policy::Budget;
use weir_engine::dispatch::{Availability, Moment, UpstreamId, Wait, What};
use weir_engine::{Ended, Kind, Outcome, OwnKind, Trouble, Weather};

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

/// Two upstreams that have just shown that our own network is down, and one that nobody has called.
async fn paused() -> (Desk, [UpstreamId; 3]) {
    let desk = Desk::new(policy());
    let all = ["a", "b", "c"].map(|name| desk.upstream(name, secs(0), 1));
    pass(secs(31)).await;
    for upstream in &all[..2] {
        let call = desk.ready("down", TROUBLE);
        desk.engine.submit(job(*upstream, RSS), call).await;
    }
    (desk, all)
}

#[tokio::test(start_paused = true)]
async fn whoever_asks_for_the_next_slot_is_told_of_the_pause() {
    let (desk, [a, ..]) = paused().await;
    pass(secs(3)).await;
    let next = || desk.engine.next_wait(a, INTERACTIVE, Budget::Query);
    assert_eq!(next(), (secs(27), Some(Wait::Network)));
    assert_eq!(
        desk.engine.upstream(a).expect("it is there").next_call,
        secs(27)
    );
    let told = desk.engine.submit(job(a, INTERACTIVE), desk.done("again"));
    assert_eq!(told.await, Ended::Finished(Outcome::Done));
    assert_eq!(desk.starts("again"), [secs(61)]);
    let newest = desk.engine.decisions(a, None, 1).remove(0);
    let What::Started { reason, waited, .. } = newest.what else {
        panic!("{newest:?}");
    };
    assert_eq!((reason, waited), (Some(Wait::Network), secs(27)));
    assert_eq!(next(), (secs(0), None));
    // What waits longer than that for something else says so.
    let busy = desk.call("busy");
    desk.engine
        .submit_detached(job(a, INTERACTIVE), busy.clone());
    let queued = desk.engine.submit(job(a, INTERACTIVE), desk.done("queued"));
    pass(secs(9)).await;
    busy.answer();
    queued.await;
    let newest = desk.engine.decisions(a, None, 1).remove(0);
    assert!(
        matches!(newest.what, What::Started { reason: None, .. }),
        "{newest:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_cooldown_that_outlasts_the_pause_is_the_reason() {
    let (desk, [a, _, c]) = paused().await;
    let retry_after = Some(secs(3600));
    let throttled = desk.ready("c", Step::Outcome(Outcome::Throttled { retry_after }));
    desk.engine.submit(job(c, INTERACTIVE), throttled).await;
    let trouble = |upstream| {
        desk.engine
            .submit(job(upstream, INTERACTIVE), desk.ready("down", TROUBLE))
    };
    pass(secs(60)).await;
    trouble(a).await;
    let (_, why) = desk.engine.next_wait(c, INTERACTIVE, Budget::Query);
    assert_eq!(why, Some(Wait::Cooldown));
}

#[tokio::test(start_paused = true)]
async fn a_probe_is_told_for_after_the_pause_and_made_then() {
    let desk = Desk::new(policy());
    desk.try_with(Outcome::Done);
    let [a, b, c] = ["a", "b", "c"].map(|name| desk.upstream(name, secs(0), 1));
    let call = desk.ready("c", Step::Outcome(Outcome::Unavailable));
    for upstream in [a, b] {
        desk.engine
            .submit(job(upstream, RSS), desk.done("fine"))
            .await;
    }
    desk.engine.submit(job(c, RSS), call).await;
    // Its cooldown is over after 60 s, and it is probed 30 s later.
    pass(secs(75)).await;
    for upstream in [a, b] {
        let call = desk.ready("down", TROUBLE);
        desk.engine.submit(job(upstream, RSS), call).await;
    }
    let view = || desk.engine.upstream(c).expect("it is there");
    let probe = view().probe_at.expect("it is probed");
    assert_eq!(view().at.until(probe), secs(30));
    pass(secs(40)).await;
    assert_eq!(desk.starts("probe"), [secs(105)]);
}

#[tokio::test(start_paused = true)]
async fn each_outage_is_one_record_of_each_front_that_met_it() {
    let weather = Weather::default();
    let [tracker, search, news] =
        [(); 3].map(|()| Desk::with(policy(), |options| options.weather = weather.clone()));
    let (a, b) = (
        tracker.upstream("a", secs(0), 1),
        search.upstream("b", secs(0), 1),
    );
    news.upstream("c", secs(0), 1);
    let outage = async || {
        // For an hour, in which somebody asks every quarter of an hour.
        for _ in 0..4 {
            pass(secs(900)).await;
            for (desk, upstream) in [(&tracker, a), (&search, b)] {
                let call = desk.ready("down", TROUBLE);
                desk.engine.submit(job(upstream, COMPLETION), call).await;
            }
        }
        let end = tracker.engine.timeline().now();
        pass(secs(900)).await;
        tracker
            .engine
            .submit(job(a, COMPLETION), tracker.done("a"))
            .await;
        end
    };
    let told = |desk: &Desk| -> Vec<(OwnKind, u64, Moment)> {
        let own = desk.engine.own_decisions().into_iter();
        own.map(|one| (one.own.kind, one.count, one.last)).collect()
    };
    let ends = [outage().await, outage().await];
    // The very first failure of each was not known to be ours.
    let record = |count, end: usize| (OwnKind::OurNetwork, count, ends[end]);
    assert_eq!(told(&tracker), [record(3, 1), record(3, 0)]);
    assert_eq!(told(&search), [record(4, 1), record(4, 0)]);
    assert_eq!(told(&news), [], "nobody asked it for anything");
    let newest = tracker.engine.own_decisions().remove(0);
    assert_eq!(
        newest.sentence(),
        "2 upstreams failed at once, so the fault is in our own network. None was disabled."
    );
    let failed = tracker.engine.upstreams(0, 1)[0].requests[Kind::OurNetwork as usize];
    assert_eq!(failed, 8, "no fewer than records tell of");
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
