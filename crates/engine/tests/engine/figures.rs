//! What can be seen from outside.

use crate::kit::*;
use weir_engine::dispatch::{What, Window, Windows};
use weir_engine::{Kind, ListenerCounts, Outcome, Rate, Span, Standing};

#[tokio::test(start_paused = true)]
async fn the_counters_add_up() {
    let mut policy = policy();
    policy.capacity = 2;
    let desk = Desk::new(policy);
    let one = desk.upstream("one", secs(60), 1);
    desk.engine.count_listeners(|| ListenerCounts {
        from_memory: 2,
        dropped: 30,
        refused: 400,
    });
    desk.engine.count_from_memory(5);
    desk.engine
        .submit(job(one, INTERACTIVE), desk.done("sent"))
        .await;
    desk.engine
        .submit(job(one, RSS), desk.done("skipped"))
        .await;
    let mut same = job(one, INTERACTIVE);
    same.pending = key(1);
    desk.engine.submit_detached(same, desk.done("queued"));
    desk.engine.submit_detached(same, desk.done("duplicate"));
    let cancelled = desk
        .engine
        .submit(job(one, INTERACTIVE), desk.done("cancelled"));
    desk.engine
        .submit(job(one, INTERACTIVE), desk.done("dropped"))
        .await;
    drop(cancelled);
    let counters = desk.engine.status().counters;
    assert_eq!((counters.asked, counters.from_memory), (443, 7));
    assert_eq!(
        (counters.sent, counters.skipped, counters.dropped),
        (1, 1, 31)
    );
    assert_eq!((counters.duplicates, counters.cancelled), (1, 1));
    assert_eq!((counters.refused, counters.dropped_full), (400, 1));
    let sum: u64 = counters.parts().iter().map(|(_, count)| count).sum();
    assert_eq!(sum, counters.asked);
    assert_eq!(counters.waiting(), 1);
    pass(secs(7)).await;
    assert_eq!(desk.engine.status().counters.waiting(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_gate_follows_the_queue() {
    let mut policy = policy();
    policy.capacity = 10;
    let desk = Desk::with(policy, |options| {
        options.rate = Rate {
            per_second: 10,
            burst: 2,
        }
    });
    let one = desk.upstream("one", secs(0), 1);
    let gate = desk.engine.gate();
    desk.engine.hold();
    assert_eq!(gate.reserve(4), 4);
    assert_eq!(gate.fill_percent(), 40);
    let jobs = (0..3).map(|_| (job(one, RSS), desk.done("a") as _));
    desk.engine.submit_reserved(jobs);
    gate.release(1);
    assert_eq!((desk.engine.status().counts.queued, gate.queued()), (3, 3));
    desk.engine.submit_detached(job(one, RSS), desk.done("a"));
    assert_eq!((gate.queued(), gate.reserve(100)), (4, 6));
    gate.release(6);
    desk.engine.release();
    settle().await;
    assert_eq!((desk.started().len(), gate.queued()), (4, 0));
    let now = desk.engine.timeline().now();
    assert!(gate.take_token(now) && gate.take_token(now) && !gate.take_token(now));
    assert_eq!(desk.engine.status().rate_limited, 1);
}

#[tokio::test(start_paused = true)]
async fn an_upstream_has_figures_history_and_series() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    let began = desk.engine.timeline().now();
    desk.engine
        .submit(job(one, RSS), desk.ready("a", Step::Take(millis(300))))
        .await;
    let bad = desk.ready("b", Step::Outcome(Outcome::Unavailable));
    desk.engine.submit(job(one, RSS), bad).await;
    pass(secs(120)).await;
    desk.engine.submit(job(one, RSS), desk.done("c")).await;
    pass(secs(30)).await;
    let figures = desk.engine.upstreams(0, 50).remove(0);
    assert_eq!((&*figures.name, figures.standing), ("one", Standing::Open));
    assert_eq!(figures.requests[Kind::Done as usize], 2);
    assert_eq!(figures.requests[Kind::Unavailable as usize], 1);
    assert_eq!(figures.latency.total(), 3);
    let view = desk.engine.upstream(one).expect("it is there");
    let states: Vec<_> = view.history.iter().map(|(_, state)| *state).collect();
    use Standing::{Cooldown, Open, Probing, Untried};
    assert_eq!(states, [Untried, Open, Cooldown, Probing, Open]);
    let points = desk.engine.upstream_series(one, Span::Hour);
    let calls: Vec<_> = points.iter().map(|point| point.calls).collect();
    assert_eq!(calls, [[1, 0, 1, 0], [1, 0, 0, 0]]);
    assert!(points.iter().all(|point| point.at + secs(10) > began));
    assert_eq!(desk.engine.series(Span::Hour).len(), 15);
}

#[tokio::test(start_paused = true)]
async fn decisions_come_in_pages_newest_first() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    for _ in 0..5 {
        desk.engine.submit(job(one, RSS), desk.done("a")).await;
    }
    let first = desk.engine.decisions(one, None, 2);
    assert_eq!(first.len(), 2);
    let last = first[1].number;
    let second = desk.engine.decisions(one, Some(last), 100);
    assert_eq!(second[0].number, last - 1);
    assert!(matches!(second[0].what, What::Started { attempt: 1, .. }));
}

#[tokio::test(start_paused = true)]
async fn a_series_shows_how_much_of_the_quota_was_used() {
    let desk = Desk::new(policy());
    let mut limited = quota(secs(0), 4);
    limited.query = Windows::from([(Window::HOUR, 100)]);
    let one = desk.engine.add_upstream("one", limited, secs(30));
    for _ in 0..3 {
        desk.engine.submit(job(one, RSS), desk.done("a")).await;
    }
    pass(secs(10)).await;
    let points = desk.engine.upstream_series(one, Span::Hour);
    assert_eq!(points[0].used, [3, 0]);
}

#[tokio::test(start_paused = true)]
async fn one_look_tells_how_all_upstreams_are() {
    let desk = Desk::new(policy());
    let (a, b) = (
        desk.upstream("a", secs(0), 1),
        desk.upstream("b", secs(0), 1),
    );
    let mut one_an_hour = quota(secs(0), 1);
    one_an_hour.query = Windows::from([(Window::HOUR, 1)]);
    let c = desk.engine.add_upstream("c", one_an_hour, secs(30));
    let broken = || desk.ready("broken", Step::Outcome(Outcome::Unavailable));
    desk.engine
        .submit(job(a, INTERACTIVE), desk.done("a"))
        .await;
    desk.engine
        .submit(job(c, INTERACTIVE), desk.done("c"))
        .await;
    pass(secs(10)).await;
    let failed = desk.engine.timeline().now();
    desk.engine.submit(job(a, INTERACTIVE), broken()).await;
    // A failed try after the cooldown is the same outage.
    desk.engine.submit(job(a, INTERACTIVE), broken()).await;
    let all = desk.engine.conditions();
    let names: Vec<_> = all.iter().map(|one| (&*one.name, one.standing)).collect();
    assert_eq!(
        names,
        [
            ("a", Standing::Cooldown),
            ("b", Standing::Untried),
            ("c", Standing::Open)
        ]
    );
    assert_eq!((all[0].upstream, all[1].upstream), (a, b));
    assert_eq!((all[0].since, all[0].was_called), (failed, true));
    assert!(!all[1].was_called && all[1].used_up.is_none());
    let window = all[2].used_up.expect("its hour is used up");
    assert_eq!((window.used, window.limit), (1, 1));
    pass(secs(3600)).await;
    let all = desk.engine.conditions();
    assert_eq!(all[2].used_up, None, "it has room again");
    assert_eq!(all[0].standing, Standing::Probing);
    assert_eq!(all[0].since, failed, "it has not answered since");
    desk.engine
        .submit(job(a, INTERACTIVE), desk.done("a"))
        .await;
    desk.engine.remove_upstream(b);
    let all = desk.engine.conditions();
    assert_eq!((all.len(), all[0].standing), (2, Standing::Open));
    assert!(all[0].since > failed);
}
