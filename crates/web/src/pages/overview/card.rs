//! The card of one front: what was asked of it and how little of it went upstream, its queue, its workers, its answer
//! times.

use askama::Template;
use weir_engine::{Counters, OwnKind, words::grouped};

use crate::{
    App, CardState, Figure, Icon,
    charts::Window,
    contribution::Contributed,
    upstreams::{answer_time, own_path},
};

/// A front's card, on the page and live.
#[derive(Template)]
#[template(path = "parts/card.html")]
pub(super) struct FrontCard {
    name: &'static str,
    title: &'static str,
    icon: Icon,
    state: CardState,
    sentence: String,
    flow: Option<Flow>,
    queue: Option<Queue>,
    workers: String,
    answer: String,
    /// The front's own figures.
    figures: Vec<Figure>,
    /// Where the front's own decisions are.
    decisions: Option<String>,
    lines: Option<String>,
    /// The full path of the file to edit.
    file: String,
    /// The file that the form writes.
    upstreams_file: String,
    /// Whether upstreams are added with a form.
    has_form: bool,
    window: Window,
}

/// What was asked, by what became of it.
struct Flow {
    asked: String,
    sent: String,
    parts: Vec<FlowPart>,
    /// The same in words.
    said: String,
}

struct FlowPart {
    /// Its name in the API, which decides how it looks.
    name: &'static str,
    /// Start and width in thousandths of the bar.
    x: u64,
    width: u64,
    /// `88 % memory`.
    label: String,
    /// Where the reasons are, if they concern no upstream.
    href: Option<String>,
}

struct Queue {
    words: String,
    /// In percent.
    used: u32,
    high: bool,
    thresholds: Vec<u32>,
    said: String,
}

impl FrontCard {
    /// The cards of all fronts that have one.
    pub(super) fn all(app: &App, window: Window) -> Vec<Self> {
        let fronts = app.fronts().iter();
        let cards = fronts.filter_map(|front| Self::of(app, front, window));
        cards.collect()
    }

    /// The element's id.
    pub(super) fn id(&self) -> String {
        format!("front-{}", self.name)
    }

    fn of(app: &App, front: &Contributed, window: Window) -> Option<Self> {
        let card = front.card.as_ref()?;
        let view = card.view();
        // A front that is not set up or is off has nothing to count.
        let idle = matches!(view.state, CardState::Unconfigured | CardState::Off);
        let engine = front.upstreams.as_ref().map(|all| all.engine());
        let seen = engine
            .filter(|_| !idle)
            .map(|engine| (engine.status(), engine.window(window.span)));
        let mut thresholds = card.thresholds();
        thresholds.sort_unstable();
        Some(Self {
            name: front.name,
            title: front.title,
            icon: front.icon,
            state: view.state,
            sentence: view.sentence,
            flow: seen
                .as_ref()
                .map(|(_, seen)| Flow::of(&seen.counters, front.name)),
            decisions: seen.as_ref().map(|_| own_path(front.name, None)),
            workers: seen.as_ref().map_or_else(String::new, |(figures, _)| {
                let (crew, most) = (figures.counts.crew, figures.max_workers);
                format!("{} of {}", grouped(crew), grouped(most))
            }),
            answer: seen.as_ref().map_or_else(String::new, |(_, seen)| {
                let (p50, p95) = (answer_time(seen.p50), answer_time(seen.p95));
                format!("p50 {p50} · p95 {p95}")
            }),
            queue: seen.map(|(figures, _)| {
                let counts = figures.counts;
                if thresholds.is_empty() {
                    thresholds.push((figures.grows_at, "more workers"));
                }
                Queue::of(
                    counts.queued,
                    counts.capacity,
                    figures.fill_percent,
                    &thresholds,
                )
            }),
            figures: view.figures.into_iter().filter(|one| !one.flow).collect(),
            lines: view.lines,
            file: app.shell().config_file.read().clone(),
            upstreams_file: app.shell().upstreams_file.read().clone(),
            has_form: front.upstreams.as_ref().is_some_and(|all| all.has_form()),
            window,
        })
    }
}

/// What a front answers from without asking anybody.
fn memory(front: &str) -> &'static str {
    match front {
        "tracker" => "memory",
        _ => "cache",
    }
}

impl Flow {
    fn of(counters: &Counters, front: &str) -> Self {
        let words = |name| match name {
            "from_memory" => memory(front),
            "duplicates" => "already queued",
            "shut_down" => "cut off at shutdown",
            name => name,
        };
        let asked = counters.asked;
        // In their order the bar goes from what cost nothing to what was sent, then to what nobody got.
        let there = counters.parts().into_iter().filter(|(_, count)| *count > 0);
        let there: Vec<(&'static str, u64)> = there.collect();
        let of = |part: u64, whole: u64| (part * whole + asked / 2) / asked.max(1);
        let mut before = 0;
        let parts = there.iter().map(|&(name, count)| {
            let (from, to) = (before, before + count);
            before = to;
            // Each end is rounded, not each share, so that the shares add up.
            let percent = of(to, 100) - of(from, 100);
            let percent = match percent {
                0 => "<1 %".to_owned(),
                percent => format!("{percent} %"),
            };
            FlowPart {
                name,
                x: of(from, 1000),
                width: of(to, 1000) - of(from, 1000),
                label: format!("{percent} {}", words(name)),
                href: (name == "refused").then(|| own_path(front, Some(OwnKind::Refused))),
            }
        });
        let said = there
            .iter()
            .map(|(name, count)| format!("{} {}", grouped(*count), words(name)));
        Self {
            asked: grouped(asked),
            sent: grouped(counters.sent),
            said: format!(
                "{} asked: {}",
                grouped(asked),
                said.collect::<Vec<_>>().join(", ")
            ),
            parts: parts.collect(),
        }
    }
}

impl Queue {
    fn of(queued: u32, capacity: u32, fill: u32, thresholds: &[(u32, &'static str)]) -> Self {
        let words = format!("{} of {}", grouped(queued), grouped(capacity));
        let ticks: Vec<String> = thresholds
            .iter()
            .map(|(at, name)| format!("{name} at {at} %"))
            .collect();
        Self {
            said: format!("Queue: {words}; {}", ticks.join(", ")),
            words,
            used: fill.min(100),
            high: thresholds.iter().any(|(at, _)| fill >= *at),
            thresholds: thresholds.iter().map(|(at, _)| (*at).min(100)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_adds_up_to_what_was_asked() {
        let counters = Counters {
            asked: 1204,
            from_memory: 1059,
            shared: 70,
            sent: 73,
            skipped: 1,
            ..Counters::default()
        };
        let flow = Flow::of(&counters, "tracker");
        let labels: Vec<&str> = flow.parts.iter().map(|part| part.label.as_str()).collect();
        assert_eq!(
            labels,
            [
                "88 % memory",
                "6 % shared",
                "6 % sent",
                "<1 % skipped",
                "<1 % waiting"
            ]
        );
        assert_eq!(flow.parts.iter().map(|part| part.width).sum::<u64>(), 1000);
        assert_eq!((flow.asked.as_str(), flow.sent.as_str()), ("1,204", "73"));
        assert_eq!(
            flow.said,
            "1,204 asked: 1,059 memory, 70 shared, 73 sent, 1 skipped, 1 waiting"
        );
        let mut end = 0;
        for part in &flow.parts {
            assert_eq!(part.x, end, "one begins where the other ends");
            end += part.width;
        }
    }

    #[test]
    fn shares_add_up_to_a_hundred_percent() {
        let counters = Counters {
            asked: 3,
            from_memory: 1,
            shared: 1,
            sent: 1,
            ..Counters::default()
        };
        let flow = Flow::of(&counters, "cache");
        let labels: Vec<&str> = flow.parts.iter().map(|part| part.label.as_str()).collect();
        assert_eq!(labels, ["33 % cache", "34 % shared", "33 % sent"]);
    }

    #[test]
    fn nothing_asked_is_an_empty_bar() {
        let flow = Flow::of(&Counters::default(), "cache");
        assert!(flow.parts.is_empty());
        assert_eq!(flow.asked, "0");
    }

    #[test]
    fn a_meter_is_high_from_the_first_threshold_on() {
        let thresholds = [(60, "top-N"), (80, "tokens")];
        let of = |fill| Queue::of(fill * 100, 10_000, fill, &thresholds);
        assert!(!of(59).high && of(60).high);
        let queue = of(18);
        assert_eq!(
            queue.said,
            "Queue: 1,800 of 10,000; top-N at 60 %, tokens at 80 %"
        );
    }
}
