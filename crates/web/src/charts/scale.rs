//! The height of values, and how they are written.

use std::time::Duration;

use crate::upstreams::answer_time;

/// The scale of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// From 0 to a round number above the highest value: calls, or calls per minute.
    Count,
    /// Seconds from 0 to a round number above the longest.
    Seconds,
    /// Seconds from a millisecond to ten seconds, each decade as high as the others.
    LogSeconds,
    /// From 0 to 100, whatever the values are.
    Percent,
}

/// The ends of a logarithmic scale, as powers of ten.
const LOW: f64 = -3.0;
const HIGH: f64 = 1.0;

impl Scale {
    /// A value as people read it; `–` if there is none.
    pub(crate) fn write(self, value: Option<f64>) -> String {
        let Some(value) = value else {
            return "–".to_owned();
        };
        match self {
            Self::Count if value.fract() == 0.0 || value >= 100.0 => {
                weir_engine::words::grouped(value.round() as u64)
            }
            Self::Count => format!("{value:.1}"),
            Self::Seconds | Self::LogSeconds => answer_time(Some(seconds(value))),
            Self::Percent => format!("{value:.0} %"),
        }
    }

    /// The value at the top, which is a round number that is not below `highest`.
    pub(super) fn top(self, highest: f64) -> f64 {
        match self {
            Self::Count => ceiling(highest.max(1.0), 1.0),
            Self::Seconds => ceiling(highest, 0.001),
            Self::LogSeconds => 10f64.powf(HIGH),
            Self::Percent => 100.0,
        }
    }

    /// How high a value is drawn, from 0 at the foot to 1 at the top.
    pub(super) fn part(self, value: f64, top: f64) -> f64 {
        let part = match self {
            Self::LogSeconds => (value.max(1e-9).log10() - LOW) / (HIGH - LOW),
            Self::Count | Self::Seconds | Self::Percent => value / top,
        };
        part.clamp(0.0, 1.0)
    }

    /// Values at which there is a line of the grid, each with its label; at most five.
    pub(super) fn grid(self, top: f64) -> Vec<(f64, String)> {
        match self {
            Self::LogSeconds => [
                (10.0, "10 s"),
                (1.0, "1 s"),
                (0.1, "100"),
                (0.01, "10"),
                (0.001, "1 ms"),
            ]
            .map(|(value, label)| (value, label.to_owned()))
            .to_vec(),
            Self::Percent => [100.0, 75.0, 50.0, 25.0, 0.0]
                .map(|value| (value, format!("{value}")))
                .to_vec(),
            Self::Count | Self::Seconds => [top, top / 2.0, 0.0]
                .map(|value| (value, self.label(value)))
                .to_vec(),
        }
    }

    fn label(self, value: f64) -> String {
        match value {
            0.0 => "0".to_owned(),
            value => self.write(Some(value)),
        }
    }
}

/// The smallest of 1, 2, 5, 10, … units that is not below this.
fn ceiling(value: f64, unit: f64) -> f64 {
    let mut unit = unit;
    // A value that is no number, or larger than any chart has, ends the search too.
    for _ in 0..20 {
        for factor in [1.0, 2.0, 5.0] {
            if unit * factor >= value {
                return unit * factor;
            }
        }
        unit *= 10.0;
    }
    unit
}

fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_is_a_round_number() {
        let of = |value| Scale::Count.top(value);
        assert_eq!(
            [0.0, 3.0, 58.0, 140.0, 2900.0].map(of),
            [1.0, 5.0, 100.0, 200.0, 5000.0]
        );
        assert_eq!(Scale::Seconds.top(2.9), 5.0);
        assert!(Scale::Seconds.top(f64::INFINITY).is_finite());
        assert!(Scale::Count.top(f64::NAN).is_finite());
    }

    #[test]
    fn each_decade_of_a_logarithmic_scale_is_a_quarter() {
        let part = |value| (Scale::LogSeconds.part(value, 10.0) * 100.0).round();
        assert_eq!(
            [0.0, 0.001, 0.01, 1.0, 10.0, 60.0].map(part),
            [0.0, 0.0, 25.0, 75.0, 100.0, 100.0]
        );
    }

    #[test]
    fn values_read_as_elsewhere() {
        assert_eq!(Scale::Count.write(Some(1204.0)), "1,204");
        assert_eq!(Scale::Count.write(Some(0.5)), "0.5");
        assert_eq!(Scale::LogSeconds.write(Some(0.7)), "0.7 s");
        assert_eq!(Scale::Percent.write(Some(18.0)), "18 %");
        assert_eq!(Scale::Percent.write(None), "–");
    }
}
