//! Rings of flat size.

use super::*;

const FILL: Sample = Sample {
    fill: Some(7),
    used: [0; 2],
};
const DONE: Kind = Kind::Done;

#[test]
fn a_quantile_is_right_to_a_quarter_octave() {
    let mut series = Series::default();
    for millis in 1..=1000 {
        series.count(DONE, Duration::from_millis(millis));
    }
    series.close(0, 1, Sample::default());
    let point = series.points(Span::Hour, Moment(0))[0];
    let p50 = point.p50.expect("there were answers").as_millis();
    let p95 = point.p95.expect("there were answers").as_millis();
    assert!((450..=650).contains(&p50), "{p50}");
    assert!((850..=1200).contains(&p95), "{p95}");
    assert_eq!(point.calls, [1000, 0, 0, 0]);
}

#[test]
fn coarser_steps_are_made_of_the_finest() {
    let mut series = Series::default();
    for step in 0..180 {
        series.count(DONE, Duration::from_millis(5));
        series.count(Kind::TimedOut, Duration::from_secs(30));
        series.close(step, step + 1, Sample::default());
    }
    let now = Moment(0) + STEP * 180;
    let counts = Span::ALL.map(|span| {
        let points = series.points(span, now);
        (points.len(), points[0].calls)
    });
    assert_eq!(
        counts,
        [
            (180, [1, 0, 0, 1]),
            (30, [6, 0, 0, 6]),
            (6, [30, 0, 0, 30]),
            (1, [180, 0, 0, 180])
        ]
    );
}

#[test]
fn rings_never_hold_more_than_their_points() {
    let mut series = Series::default();
    for step in 0..100_000 {
        series.close(step, step + 1, FILL);
    }
    for span in Span::ALL {
        assert_eq!(series.rings[span as usize].len(), span.points());
        assert!(span.points() <= 360);
    }
}

#[test]
fn steps_without_calls_take_no_place() {
    let mut series = Series::default();
    series.close(0, 1, Sample::default());
    series.count(DONE, Duration::ZERO);
    series.close(1, 2, Sample::default());
    let points = series.points(Span::Hour, Moment(0));
    assert_eq!(points.len(), 1);
    assert_eq!(points[0].at, Moment(0) + STEP);
}

#[test]
fn points_older_than_the_span_are_not_shown() {
    let mut series = Series::default();
    series.count(DONE, Duration::ZERO);
    series.close(0, 1, Sample::default());
    let later = Moment(0) + Duration::from_secs(3601);
    assert!(series.points(Span::Hour, later).is_empty());
}

#[test]
fn every_time_has_a_bucket() {
    for took in [Duration::ZERO, Duration::from_millis(1), Duration::MAX] {
        assert!(bucket(took) < BUCKETS);
    }
    assert!(upper(bucket(Duration::from_secs(30))) >= Duration::from_secs(30));
    assert!(upper(bucket(Duration::from_millis(1))) >= Duration::from_millis(1));
}

#[test]
fn a_call_counts_at_the_very_moment_in_which_its_step_ends() {
    let mut series = Series::default();
    series.count(DONE, Duration::ZERO);
    series.close(0, 1, Sample::default());
    let day = series.day(Moment(0) + Span::Day.step());
    assert_eq!(day.iter().map(|point| point.calls[0]).sum::<u32>(), 1);
    let mut restored = Series::default();
    restored.restore(&day);
    assert_eq!(restored.day(Moment(0) + Span::Day.step()), day);
}
