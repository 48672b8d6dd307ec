//! What is measured against what must be, as a table.

use std::fs;
use std::process::ExitCode;

/// Bars and how they were met.
pub(crate) struct Bars {
    pub(crate) runs: usize,
    missed: Vec<String>,
}

/// Which side of a bar is the good one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    AtMost,
    AtLeast,
}

impl Bars {
    pub(crate) fn new(runs: usize) -> Self {
        println!("{runs} runs of each by turns; load average {}", load());
        println!(
            "{:44} {:>12} {:>10} {:>21}",
            "", "must", "median", "quartiles"
        );
        Self {
            runs,
            missed: Vec::new(),
        }
    }

    /// A figure that is only told.
    pub(crate) fn tell(&self, what: &str, values: &[f64]) {
        self.line(what, "", values, "");
    }

    /// A figure that must be on one side of a bar.
    pub(crate) fn hold(&mut self, what: &str, side: Side, bar: f64, values: &[f64]) {
        let sorted = sorted(values);
        let good = |value: f64| match side {
            Side::AtMost => value <= bar,
            Side::AtLeast => value >= bar,
        };
        // The quartile on the good side: if it misses, noise is no excuse.
        let best = match side {
            Side::AtMost => at(&sorted, 1),
            Side::AtLeast => at(&sorted, 3),
        };
        let verdict = match (good(at(&sorted, 2)), good(best)) {
            (true, _) => "met",
            (false, true) => "missed within noise",
            (false, false) => {
                self.missed.push(what.to_owned());
                "MISSED"
            }
        };
        let must = match side {
            Side::AtMost => format!("<= {}", figure(bar)),
            Side::AtLeast => format!(">= {}", figure(bar)),
        };
        self.line(what, &must, values, verdict);
    }

    fn line(&self, what: &str, must: &str, values: &[f64], verdict: &str) {
        let sorted = sorted(values);
        let [low, median, high] = [1, 2, 3].map(|quarter| figure(at(&sorted, quarter)));
        println!("{what:44} {must:>12} {median:>10} {low:>10} {high:>10}  {verdict}");
    }

    pub(crate) fn end(self) -> ExitCode {
        println!("load average at the end {}", load());
        match self.missed.is_empty() {
            true => ExitCode::SUCCESS,
            false => {
                println!("missed: {}", self.missed.join("; "));
                ExitCode::FAILURE
            }
        }
    }
}

/// The middle one of some values.
pub(crate) fn median(values: &[f64]) -> f64 {
    at(&sorted(values), 2)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn at(sorted: &[f64], quarter: usize) -> f64 {
    sorted[(sorted.len() - 1) * quarter / 4]
}

fn figure(value: f64) -> String {
    match value.abs() {
        ..100.0 => format!("{value:.2}"),
        _ => format!("{value:.0}"),
    }
}

fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}
