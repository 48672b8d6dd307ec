//! Many upstreams: those that do not answer cost the others nothing.

use std::time::Duration;

use weir_engine::dispatch::UpstreamId;
use weir_engine::{Ended, Outcome};

use crate::kit::*;

fn crowd(desk: &Desk, size: usize) -> Vec<UpstreamId> {
    (0..size)
        .map(|index| desk.upstream(&format!("upstream-{index}"), secs(20), 1))
        .collect()
}

/// When the jobs of 50 good upstreams start with so many dead ones beside them, and a worker for
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
