//! What a front did within a window, and charts over a restart.

use std::time::Duration;

use weir_engine::{Counters, Engine, ListenerCounts, Outcome, Point, Restored, Span};

use crate::kit::*;
use crate::rows::{Machine, add, stop};

const MINUTE: Duration = Duration::from_secs(60);

fn adds_up(counters: &Counters) {
    let sum: u64 = counters.parts().iter().map(|(_, count)| count).sum();
    assert_eq!(sum, counters.asked);
}

fn calls(points: &[Point]) -> u32 {
    points.iter().flat_map(|point| point.calls).sum()
}

/// Starts again on the same machine, as the program does.
fn again(machine: &Machine) -> (Desk, Restored) {
    let (desk, _, restored) = machine.start(policy());
    if let Some(series) = &restored.series {
        desk.engine.restore_series(series);
    }
    (desk, restored)
}

/// How much of a span Weir ran.
fn running(engine: &Engine, span: Span) -> Duration {
    let ran = engine.ran(span);
    ran.iter().map(|(from, to)| from.until(*to)).sum()
}

#[tokio::test(start_paused = true)]
async fn a_window_has_what_happened_in_it_and_adds_up() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    desk.engine.count_listeners(|| ListenerCounts {
        from_memory: 2,
        dropped: 30,
        refused: 400,
    });
    for _ in 0..3 {
        desk.engine.submit(job(one, RSS), desk.done("a")).await;
    }
    desk.engine.count_from_memory(5);
    let first = desk.engine.window(Span::Hour);
    assert_eq!(
        first.counters,
        Counters {
            dropped_full: 0,
            ..desk.engine.status().counters
        },
        "at first a window has all there is, down to the second"
    );
    assert_eq!(first.calls, [3, 0, 0, 0]);
    adds_up(&first.counters);
    pass(MINUTE * 61).await;
    desk.engine.submit(job(one, RSS), desk.done("b")).await;
    let hour = desk.engine.window(Span::Hour).counters;
    assert_eq!((hour.asked, hour.sent, hour.refused), (1, 1, 0));
    adds_up(&hour);
    let six = desk.engine.window(Span::SixHours).counters;
    assert_eq!((six.asked, six.sent, six.refused), (441, 4, 400));
    adds_up(&six);
    assert_eq!(desk.engine.window(Span::Hour).calls, [1, 0, 0, 0]);
    assert_eq!(desk.engine.window(Span::SixHours).calls, [4, 0, 0, 0]);
    pass(MINUTE * 60 * 24 * 8).await;
    for span in Span::ALL {
        assert_eq!(desk.engine.window(span).counters, Counters::default());
    }
}

#[tokio::test(start_paused = true)]
async fn a_front_has_percentiles_of_its_window() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    assert_eq!(
        desk.engine.window(Span::Hour).p95,
        None,
        "nothing was asked"
    );
    for millis in [100, 100, 100, 4000] {
        let call = desk.ready("a", Step::Take(Duration::from_millis(millis)));
        desk.engine.submit(job(one, RSS), call).await;
        pass(secs(20)).await;
    }
    for span in [Span::Hour, Span::Week] {
        let window = desk.engine.window(span);
        let (p50, p95) = (window.p50.unwrap(), window.p95.unwrap());
        assert!((100..=130).contains(&p50.as_millis()), "{p50:?}");
        assert!((4000..=5000).contains(&p95.as_millis()), "{p95:?}");
    }
    pass(MINUTE * 61).await;
    assert_eq!(desk.engine.window(Span::Hour).p50, None, "not asked lately");
}

#[tokio::test(start_paused = true)]
async fn series_of_all_windows_survive_a_restart() {
    let machine = Machine::new();
    let (desk, restored) = again(&machine);
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    for minute in 0..90 {
        desk.engine.submit(job(one, RSS), desk.done("a")).await;
        if minute % 30 == 7 {
            let bad = desk.ready("b", Step::Outcome(Outcome::No));
            desk.engine.submit(job(one, RSS), bad).await;
        }
        pass(MINUTE).await;
    }
    let before = Span::ALL.map(|span| desk.engine.window(span));
    let upstream = Span::ALL.map(|span| desk.engine.upstream_series(one, span));
    stop(desk).await;
    pass(MINUTE * 10).await;
    let (desk, restored) = again(&machine);
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    // Ten minutes of the hour have gone by, and nothing of the longer ones.
    let hour = desk.engine.window(Span::Hour);
    let sent = before[0].counters.sent - hour.counters.sent;
    assert!((9..=12).contains(&sent), "{sent}");
    adds_up(&hour.counters);
    for span in [Span::SixHours, Span::Day, Span::Week] {
        let after = desk.engine.window(span);
        assert_eq!(after.counters, before[span as usize].counters, "{span:?}");
        assert_eq!(after.calls, before[span as usize].calls, "{span:?}");
        let sum = calls(&desk.engine.series(span));
        assert_eq!(u64::from(sum), after.calls.iter().sum::<u64>(), "{span:?}");
        let points = desk.engine.upstream_series(one, span);
        assert!(
            calls(&points) >= calls(&upstream[span as usize]),
            "{span:?}"
        );
        assert_eq!(calls(&points), 93, "{span:?}");
    }
    // A step that the restart cut in two is one again.
    desk.engine.submit(job(one, RSS), desk.done("a")).await;
    pass(MINUTE * 60).await;
    let week = desk.engine.series(Span::Week);
    assert_eq!(calls(&week), 94);
    assert!(week.windows(2).all(|pair| pair[0].at < pair[1].at));
    assert_eq!(desk.engine.window(Span::Week).counters.sent, 94);
}

#[tokio::test(start_paused = true)]
async fn the_time_in_which_weir_was_off_is_a_gap() {
    let machine = Machine::new();
    let (desk, _) = again(&machine);
    assert_eq!(desk.engine.ran(Span::Hour), [], "not a step is over");
    pass(MINUTE * 10).await;
    stop(desk).await;
    pass(MINUTE * 20).await;
    let (desk, _) = again(&machine);
    pass(MINUTE * 5).await;
    let ran = desk.engine.ran(Span::Hour);
    assert_eq!(ran.len(), 2, "{ran:?}");
    let gap = ran[0].1.until(ran[1].0).as_secs();
    assert!((19 * 60..=20 * 60).contains(&gap), "{gap}");
    let now = desk.engine.timeline().now();
    assert_eq!(ran[1].1, now, "it runs now");
    let ran = running(&desk.engine, Span::Hour).as_secs();
    assert!((15 * 60 - 10..=15 * 60 + 20).contains(&ran), "{ran}");
    // Nothing was asked in all that time, which is something else than being off.
    assert!(
        desk.engine
            .series(Span::Hour)
            .iter()
            .all(|point| point.p95.is_none())
    );
}

#[tokio::test(start_paused = true)]
async fn a_short_run_shows_in_the_longest_window_too() {
    let machine = Machine::new();
    let (desk, _) = again(&machine);
    pass(MINUTE * 2).await;
    stop(desk).await;
    pass(MINUTE * 60 * 24).await;
    let (desk, _) = again(&machine);
    pass(MINUTE * 35).await;
    assert_eq!(desk.engine.ran(Span::Week).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_clock_set_back_loses_no_more_than_it_must() {
    let machine = Machine::new();
    let (desk, restored) = again(&machine);
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    for _ in 0..30 {
        desk.engine.submit(job(one, RSS), desk.done("a")).await;
        pass(MINUTE).await;
    }
    stop(desk).await;
    machine.set_clock(|now| now - MINUTE * 10);
    let (desk, _) = again(&machine);
    pass(MINUTE * 2).await;
    let points = desk.engine.series(Span::Hour);
    let now = desk.engine.timeline().now();
    assert!(points.iter().all(|point| point.at <= now));
    assert!(points.windows(2).all(|pair| pair[0].at < pair[1].at));
    assert!(calls(&points) >= 19, "{}", calls(&points));
}
