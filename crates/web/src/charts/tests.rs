//! What is drawn, and what is said about it.

use std::time::Duration;

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

fn now() -> Moment {
    Moment(0) + MINUTE * 120
}

fn ago(seconds: u64) -> Moment {
    now() - Duration::from_secs(seconds)
}

fn series(name: &str, values: &[(u64, f64)]) -> Series {
    Series {
        name: name.to_owned(),
        look: "tracker",
        values: values
            .iter()
            .map(|(seconds, value)| (ago(*seconds), *value))
            .collect(),
    }
}

fn plot(times: &Times, series: Vec<Series>) -> Plot<'_> {
    Plot {
        id: "calls",
        title: "Calls sent upstream",
        unit: "per minute",
        span: Span::Hour,
        times,
        scale: Scale::Count,
        series,
        stacked: false,
        marks: Vec::new(),
        ran: vec![(ago(3600), now())],
    }
}

fn html(plot: &Plot<'_>) -> String {
    kit::render(&plot.draw()).expect("it is written")
}

#[test]
fn lines_break_where_there_is_no_value() {
    let times = Times::fixed(now());
    let one = series(
        "Tracker",
        &[(3000, 2.0), (2990, 4.0), (1200, 3.0), (20, 1.0), (10, 2.0)],
    );
    let drawn = plot(&times, vec![one]).draw();
    let drawing = drawn.drawing.as_ref().expect("there are points");
    assert_eq!(drawing.lines[0].path.matches('M').count(), 2);
    assert_eq!(drawing.lines[0].path.matches('L').count(), 2);
    assert_eq!(drawing.lines[0].dots.matches('M').count(), 1);
    let names: Vec<_> = drawing.gaps.iter().map(|gap| gap.3).collect();
    assert_eq!(names, [Some("not asked"); 3]);
    assert_eq!(drawing.grid[0], (22.0, "5".to_owned()));
    let html = html(&plot(
        &times,
        vec![series("Tracker", &[(20, 1.0), (10, 2.0)])],
    ));
    assert!(html.contains("Tracker: now 2, low 1, high 2."), "{html}");
    assert!(
        html.contains("<div id=\"calls-table\" data-live><details>"),
        "{html}"
    );
}

#[test]
fn the_time_in_which_weir_was_off_is_named() {
    let times = Times::fixed(now());
    let mut plot = plot(
        &times,
        vec![series(
            "Tracker",
            &[(3590, 1.0), (3580, 1.0), (20, 1.0), (10, 2.0)],
        )],
    );
    plot.ran = vec![(ago(3600), ago(3570)), (ago(30), now())];
    let html = html(&plot);
    assert_eq!(html.matches(">no data<").count(), 1, "{html}");
    assert_eq!(html.matches(">not asked<").count(), 0, "{html}");
}

#[test]
fn fewer_than_two_points_are_no_chart() {
    let times = Times::fixed(now() + Duration::from_secs(2));
    let none = html(&plot(&times, vec![series("Tracker", &[])]));
    assert!(none.contains("Collecting, first point in 8 s"), "{none}");
    assert!(!none.contains("now –"), "{none}");
    let one = html(&plot(&times, vec![series("Tracker", &[(10, 1.0)])]));
    assert!(one.contains("Collecting, next point in 8 s"), "{one}");
}

#[test]
fn what_was_not_measured_lately_has_no_value_now() {
    let times = Times::fixed(now());
    let lines = vec![
        series("Tracker", &[(20, 1.0), (10, 2.0)]),
        series("Search", &[(300, 7.0)]),
        series("News", &[]),
    ];
    let html = html(&plot(&times, lines));
    let words =
        "Tracker: now 2, low 1, high 2. Search: now –, low 7, high 7. News: now –, low –, high –.";
    assert!(html.contains(words), "{html}");
}

#[test]
fn names_never_lie_over_one_another() {
    let times = Times::fixed(now());
    let flat = |name: &str| series(name, &[(20, 0.0), (10, 0.0)]);
    let drawn = plot(&times, vec![flat("a"), flat("b"), flat("c")]).draw();
    let mut ends: Vec<f64> = drawn
        .drawing
        .unwrap()
        .lines
        .iter()
        .map(|line| line.end)
        .collect();
    ends.sort_by(f64::total_cmp);
    assert!(
        ends[1] - ends[0] >= 12.0 && ends[2] - ends[1] >= 12.0,
        "{ends:?}"
    );
    assert!(ends[2] <= 172.0, "{ends:?}");
}

#[test]
fn bars_stand_on_one_another() {
    let times = Times::fixed(now());
    let mut plot = plot(
        &times,
        vec![
            series("answered", &[(20, 6.0), (10, 2.0)]),
            series("failed", &[(20, 4.0)]),
        ],
    );
    plot.stacked = true;
    let drawing = plot.draw().drawing.unwrap();
    assert_eq!(drawing.grid[0].1, "10", "the sum decides");
    assert_eq!(drawing.lines[0].path.matches('z').count(), 2);
    assert!(
        drawing.lines[1].path.contains("V22h"),
        "{}",
        drawing.lines[1].path
    );
}

#[test]
fn names_from_outside_are_text() {
    let times = Times::fixed(now());
    let html = html(&plot(&times, vec![series("<b>", &[(20, 1.0), (10, 2.0)])]));
    assert!(!html.contains("<b>"), "{html}");
}

#[test]
fn live_parts_are_the_same_bytes_as_the_first_paint() {
    let times = Times::fixed(now());
    let plot = plot(&times, vec![series("Tracker", &[(20, 1.0), (10, 2.0)])]);
    let page = html(&plot);
    let parts = plot.parts();
    assert_eq!(parts.len(), 2);
    for (id, part) in parts {
        assert!(part.contains(&format!("id=\"{id}\"")), "{part}");
        assert!(page.contains(&part), "{part} in {page}");
    }
}
