//! Charts drawn on the server: a figure with a picture, a sentence and a table. Script draws the same again in the same
//! box; without script this is what there is.
//!
//! A page says what to show ([`Plot`]): lines or stacked bars, a scale, limits to mark, when Weir ran. What is missing
//! stays missing: a line breaks, and a stretch without any value is hatched and named, *no data* where Weir was off and
//! *not asked* where there was nothing to measure.

mod draw;
mod gap;
mod scale;
mod span;

use askama::Template;
use weir_engine::{Span, dispatch::Moment};

pub(crate) use self::{
    scale::Scale,
    span::{WINDOWS, Window, window},
};
use crate::{LivePart, kit, pages::time::Shown, upstreams::Times};

/// Rows of the table: the newest.
const ROWS: usize = 20;

/// One line of a chart, or one part of its bars.
pub(crate) struct Series {
    /// At the line's end, in the caption and as the head of a column.
    pub(crate) name: String,
    /// How it looks: a front's name, `p50`, `p95`, or an outcome.
    pub(crate) look: &'static str,
    /// A value for each step that has one, oldest first.
    pub(crate) values: Vec<(Moment, f64)>,
}

/// What a chart shows.
pub(crate) struct Plot<'a> {
    /// The element's id; a word.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// In the panel's corner.
    pub(crate) unit: &'static str,
    pub(crate) span: Span,
    pub(crate) times: &'a Times,
    pub(crate) scale: Scale,
    pub(crate) series: Vec<Series>,
    /// Whether the values are stacked bars rather than lines.
    pub(crate) stacked: bool,
    /// Lines across, such as a limit, each with its name.
    pub(crate) marks: Vec<(f64, String)>,
    /// When Weir ran, oldest first.
    pub(crate) ran: Vec<(Moment, Moment)>,
}

/// A chart, ready to be written: `{{ chart|safe }}` in a template writes its panel.
#[derive(Template)]
#[template(path = "charts/panel.html")]
pub(crate) struct Chart {
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    /// The looks of its lines, and its marks, for script: `tracker search`, `60 top-N,80 tokens`.
    lines: String,
    marks: String,
    /// The picture, or why there is none yet.
    drawing: Option<draw::Drawing>,
    collecting: String,
    caption: ChartCaption,
    table: ChartTable,
}

/// The sentence below the picture.
#[derive(Template)]
#[template(path = "charts/caption.html")]
struct ChartCaption {
    id: &'static str,
    words: String,
}

/// The same numbers as rows.
#[derive(Template)]
#[template(path = "charts/table.html")]
struct ChartTable {
    id: &'static str,
    title: &'static str,
    heads: Vec<String>,
    rows: Vec<(Shown, Vec<String>)>,
}

impl Plot<'_> {
    /// Draws it.
    pub(crate) fn draw(&self) -> Chart {
        let steps = self.steps();
        let marks = self.marks.iter();
        let marks = marks.map(|(value, name)| format!("{value} {name}"));
        Chart {
            id: self.id,
            title: self.title,
            unit: self.unit,
            lines: self
                .series
                .iter()
                .map(|one| one.look)
                .collect::<Vec<_>>()
                .join(" "),
            marks: marks.collect::<Vec<_>>().join(","),
            drawing: (steps.len() > 1).then(|| draw::Drawing::of(self, &steps)),
            collecting: self.collecting(steps.len()),
            caption: self.caption(&steps),
            table: self.table(&steps),
        }
    }

    /// What changes on a live page besides the picture, which script draws: id and element.
    pub(crate) fn parts(&self) -> Vec<LivePart> {
        let steps = self.steps();
        let caption = kit::part(format!("{}-caption", self.id), &self.caption(&steps));
        let table = kit::part(format!("{}-table", self.id), &self.table(&steps));
        caption.into_iter().chain(table).collect()
    }

    /// The steps for which there is a value, oldest first.
    fn steps(&self) -> Vec<Moment> {
        let all = self.series.iter().flat_map(|series| &series.values);
        let mut steps: Vec<Moment> = all.map(|(at, _)| *at).collect();
        steps.sort_unstable();
        steps.dedup();
        steps
    }

    /// `Collecting, first point in 8 s`.
    fn collecting(&self, points: usize) -> String {
        let step = self.span.step();
        let into = self.times.moment.0 % u64::try_from(step.as_nanos()).unwrap_or(u64::MAX);
        let left = step.saturating_sub(std::time::Duration::from_nanos(into));
        let which = if points == 0 { "first" } else { "next" };
        let left = weir_engine::span(left.max(std::time::Duration::from_secs(1)));
        format!("Collecting, {which} point in {left}")
    }

    /// `Tracker: now 73, low 43, high 81. Search: …`
    fn caption(&self, steps: &[Moment]) -> ChartCaption {
        let last = steps.last();
        let of = |series: &Series| {
            let values = || series.values.iter().map(|(_, value)| *value);
            let write = |value: Option<f64>| self.scale.write(value);
            let now = series.values.last().filter(|(at, _)| Some(at) == last);
            format!(
                "{}: now {}, low {}, high {}.",
                series.name,
                write(now.map(|(_, value)| *value)),
                write(values().reduce(f64::min)),
                write(values().reduce(f64::max))
            )
        };
        let words: Vec<String> = match steps.len() {
            0 | 1 => Vec::new(),
            _ => self.series.iter().map(of).collect(),
        };
        ChartCaption {
            id: self.id,
            words: words.join(" "),
        }
    }

    fn table(&self, steps: &[Moment]) -> ChartTable {
        let row = |at: &Moment| {
            let shown = match self.span {
                Span::Hour => self.times.shown_exactly(*at),
                _ => self.times.shown(*at),
            };
            let value = |series: &Series| {
                let found = series.values.binary_search_by_key(at, |(at, _)| *at);
                self.scale
                    .write(found.ok().map(|place| series.values[place].1))
            };
            (shown, self.series.iter().map(value).collect())
        };
        ChartTable {
            id: self.id,
            title: self.title,
            heads: self
                .series
                .iter()
                .map(|series| series.name.clone())
                .collect(),
            rows: steps.iter().rev().take(ROWS).map(row).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
