//! Many upstreams: those that do not answer cost the others nothing.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;
use weir_engine::dispatch::UpstreamId;
use weir_engine::{Ended, Outcome};

use crate::kit::*;

fn crowd(desk: &Desk, size: usize) -> Vec<UpstreamId> {
    (0..size)
        .map(|index| desk.upstream(&format!("upstream-{index}"), secs(20), 1))
        .collect()
}

/// When the jobs of 50 good upstreams start with this many dead ones beside them, and a worker for
/// each upstream, as the search front has.
async fn served(dead: usize) -> Vec<Duration> {
    let mut policy = policy();
    policy.crew.base = 200;
    policy.crew.max = 200;
    let desk = Desk::new(policy);
    let upstreams = crowd(&desk, dead + 50);
    for round in 0..10 {
        for (index, &upstream) in upstreams.iter().enumerate() {
            let call = if index < dead {
                desk.ready("dead", Step::Never)
            } else {
                desk.ready("good", Step::Take(millis(300)))
            };
            desk.engine
                .submit_detached(job(upstream, INTERACTIVE), call);
        }
        pass(secs(2 + round % 2)).await;
    }
    pass(secs(60)).await;
    desk.starts("good")
}

#[tokio::test(start_paused = true)]
async fn fifty_good_upstreams_among_150_dead_ones_are_served_as_if_alone() {
    let alone = served(0).await;
    assert_eq!(alone.len(), 500);
    assert_eq!(served(150).await, alone);
}

#[tokio::test(start_paused = true)]
async fn dead_upstreams_do_not_hold_a_crew_of_ten() {
    let desk = Desk::new(policy());
    let upstreams = crowd(&desk, 200);
    for &dead in &upstreams[..150] {
        let call = desk.ready("dead", Step::Never);
        desk.engine.submit_detached(job(dead, INTERACTIVE), call);
    }
    pass(secs(15)).await;
    assert_eq!(desk.starts("dead").len(), 150);
    for &good in &upstreams[150..] {
        let call = desk.ready("good", Step::Take(millis(300)));
        desk.engine.submit_detached(job(good, INTERACTIVE), call);
    }
    pass(secs(10)).await;
    let starts = desk.starts("good");
    assert_eq!(starts.len(), 50);
    assert_eq!(starts[49] - starts[0], millis(1200));
}

/// How long a good call takes.
const ANSWER: Duration = Duration::from_millis(50);

/// How long the jobs of 50 good upstreams took from submission to end, by when they were submitted,
/// with this many dead ones beside them and a crew of ten. Over ten minutes each good upstream has a
/// job per second and each dead one a job per five, more than its four calls of 30 s can serve; no
/// cooldown ever comes to help.
async fn waits(dead: u64) -> Vec<(Duration, Duration)> {
    let mut policy = policy();
    policy.failure.threshold = u32::MAX;
    let desk = Desk::new(policy);
    let names = |kind, count| (0..count).map(move |index| format!("{kind}-{index}"));
    let add = |name: String| desk.upstream(&name, Duration::ZERO, 4);
    let good: Vec<UpstreamId> = names("good", 50).map(add).collect();
    let dead: Vec<UpstreamId> = names("dead", dead).map(add).collect();
    let mut jobs = JoinSet::new();
    for second in 0..600 {
        for &upstream in dead.iter().skip(second % 5).step_by(5) {
            let call = desk.ready("dead", Step::Never);
            desk.engine
                .submit_detached(job(upstream, INTERACTIVE), call);
        }
        for &upstream in &good {
            let call = desk.ready("good", Step::Take(ANSWER));
            let ticket = desk.engine.submit(job(upstream, INTERACTIVE), call);
            let asked = Instant::now();
            jobs.spawn(async move {
                assert_eq!(ticket.await, Ended::Finished(Outcome::Done));
                (secs(second as u64), asked.elapsed())
            });
        }
        pass(secs(1)).await;
    }
    let waiting = desk.engine.status().counts.waiting;
    assert_eq!(
        waiting as usize,
        dead.len() * 4,
        "the dead have all they may"
    );
    let mut waits = jobs.join_all().await;
    waits.sort();
    waits
}

/// The longest wait, and what all but one in a hundred stay below.
fn longest(waits: &[(Duration, Duration)]) -> (Duration, Duration) {
    let mut waits: Vec<Duration> = waits.iter().map(|&(_, wait)| wait).collect();
    waits.sort();
    (waits[waits.len() - 1], waits[waits.len() * 99 / 100])
}

#[tokio::test(start_paused = true)]
async fn ten_workers_serve_50_good_upstreams_among_150_dead_ones_as_if_alone() {
    let [alone, among] = [waits(0).await, waits(150).await];
    assert_eq!(alone.len(), 50 * 600);
    assert_eq!(among.len(), alone.len());
    // Each dead upstream costs one second of one worker, once: 15 s of a crew of ten.
    let (early, late) = among.split_at(50 * 30);
    let (max_alone, p99_alone) = longest(&alone);
    let (max, _) = longest(early);
    assert!(max <= secs(15) + max_alone, "{max:?}");
    let (max, p99) = longest(late);
    assert!(max <= max_alone + ANSWER, "{max:?} against {max_alone:?}");
    assert!(p99 <= p99_alone + ANSWER, "{p99:?} against {p99_alone:?}");
}

#[tokio::test(start_paused = true)]
async fn one_saturated_upstream_of_200_leaves_the_front_nearly_empty() {
    let desk = Desk::new(policy());
    let upstreams = crowd(&desk, 200);
    for _ in 0..20_000 {
        let call = desk.ready("stuck", Step::Never);
        desk.engine
            .submit_detached(job(upstreams[0], INTERACTIVE), call);
    }
    assert!(desk.engine.status().fill_percent < 10);
    let other = job(upstreams[1], BACKGROUND);
    let other = desk.engine.submit(other, desk.done("other"));
    assert_eq!(other.await, Ended::Finished(Outcome::Done));
}
