//! Stretches of a chart without a value, and why there is none.

use weir_engine::{Span, dispatch::Moment};

/// Why there is no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// Weir was off.
    Off,
    /// Nothing was asked, so there was nothing to measure.
    NotAsked,
}

impl Why {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Off => "no data",
            Self::NotAsked => "not asked",
        }
    }
}

/// A stretch without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gap {
    pub(super) from: Moment,
    pub(super) to: Moment,
    pub(super) why: Why,
}

/// The gaps between `begin` and `now`, oldest first. Weir ran in the stretches `ran`; `steps` have a value. A short time in
/// which nothing was asked is no more than a break in the line: hatched is what takes a twelfth of the chart.
pub(super) fn gaps(
    span: Span,
    (begin, now): (Moment, Moment),
    ran: &[(Moment, Moment)],
    steps: &[Moment],
) -> Vec<Gap> {
    let gap = |from: Moment, to: Moment, why| Gap { from, to, why };
    let mut gaps = Vec::new();
    let mut at = begin;
    let within = ran
        .iter()
        .map(|(from, to)| ((*from).max(begin), (*to).min(now)));
    for (from, to) in within.filter(|(from, to)| from < to) {
        if at < from {
            gaps.push(gap(at, from, Why::Off));
        }
        let mut silent = from;
        let ends = steps
            .iter()
            .copied()
            .filter(|step| from <= *step && *step < to);
        for step in ends.map(Some).chain([None]) {
            let end = step.unwrap_or(to);
            if silent.until(end) >= span.length() / 12 {
                gaps.push(gap(silent, end, Why::NotAsked));
            }
            silent = end + span.step();
        }
        at = to;
    }
    // The step that is not over has no value yet, wherever one looks.
    if at + span.step() * 2 < now {
        gaps.push(gap(at, now, Why::Off));
    }
    gaps
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn minute(minutes: u64) -> Moment {
        Moment(0) + Duration::from_secs(60 * minutes)
    }

    #[test]
    fn being_off_and_not_being_asked_are_told_apart() {
        let every = |from: u64, to: u64| {
            (from * 6..to * 6).map(|step| Moment(0) + Duration::from_secs(10 * step))
        };
        let steps: Vec<Moment> = every(0, 10)
            .chain(every(30, 31))
            .chain(every(50, 60))
            .collect();
        let ran = [(minute(0), minute(20)), (minute(30), minute(60))];
        let found = gaps(Span::Hour, (minute(0), minute(60)), &ran, &steps);
        let found: Vec<_> = found
            .iter()
            .map(|gap| (gap.from, gap.to, gap.why))
            .collect();
        assert_eq!(
            found,
            [
                (minute(10), minute(20), Why::NotAsked),
                (minute(20), minute(30), Why::Off),
                (minute(31), minute(50), Why::NotAsked),
            ]
        );
    }

    #[test]
    fn a_short_silence_is_no_gap_and_a_short_stop_is_one() {
        let steps: Vec<Moment> = (0..60).map(minute).collect();
        let ran = [(minute(0), minute(29)), (minute(30), minute(60))];
        let found = gaps(Span::Hour, (minute(0), minute(60)), &ran, &steps);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].why, Why::Off);
    }

    #[test]
    fn before_the_first_start_there_is_no_data() {
        let found = gaps(
            Span::Hour,
            (minute(0), minute(60)),
            &[(minute(58), minute(60))],
            &[minute(58), minute(59)],
        );
        assert_eq!(
            found,
            [Gap {
                from: minute(0),
                to: minute(58),
                why: Why::Off
            }]
        );
        let never = gaps(Span::Hour, (minute(0), minute(60)), &[], &[]);
        assert_eq!(
            never,
            [Gap {
                from: minute(0),
                to: minute(60),
                why: Why::Off
            }]
        );
    }
}
