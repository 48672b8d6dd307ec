//! An upstream's states over the last 24 hours, as one band.

use std::time::Duration;

use weir_engine::{Standing, dispatch::Moment};

use super::{
    numbers::{counted, percent},
    sight::Sight,
};
use crate::pages::time::Shown;

const DAY: Duration = Duration::from_secs(24 * 3600);
/// The band's width in its own units.
const WIDTH: f64 = 1000.0;
const HEIGHT: u32 = 24;
/// A state other than open is never thinner than this.
const LEAST: f64 = 2.0;

pub(super) struct Band {
    pub(super) parts: Vec<BandPart>,
    /// Figures in words; times may be marked.
    pub(super) caption: String,
    /// Times under it: these four, then *now*.
    pub(super) axis: Vec<Shown>,
}

/// One state, from its beginning to its end.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BandPart {
    pub(super) look: &'static str,
    pub(super) x: f64,
    pub(super) width: f64,
    /// Out of [`HEIGHT`]: open is drawn low, what was not tried yet lower still, and everything else at full height.
    pub(super) height: u32,
}

impl BandPart {
    /// Where it begins, from the top.
    pub(super) fn y(&self) -> u32 {
        HEIGHT - self.height
    }
}

impl Band {
    pub(super) fn of(sight: &Sight<'_>) -> Self {
        let history = &sight.view.history;
        let (now, times) = (sight.times.moment, &sight.times);
        // To the minute, or whoever watches would be sent it anew each second.
        let minute = times.minute(now);
        let axis =
            [24, 18, 12, 6].map(|hours| times.shown(minute - Duration::from_secs(hours * 3600)));
        Self {
            parts: parts(history, now),
            caption: caption(history, now),
            axis: axis.into(),
        }
    }
}

/// States with their beginning and end within the last day.
fn stretches(
    history: &[(Moment, Standing)],
    now: Moment,
) -> impl Iterator<Item = (Moment, Moment, Standing)> + '_ {
    let begin = now - DAY;
    let ends = history.iter().skip(1).map(|(at, _)| *at).chain([now]);
    history
        .iter()
        .zip(ends)
        .map(move |((from, standing), to)| ((*from).max(begin), to.max(begin), *standing))
        .filter(|(from, to, _)| to > from)
}

fn parts(history: &[(Moment, Standing)], now: Moment) -> Vec<BandPart> {
    let begin = now - DAY;
    let place = |moment: Moment| {
        let part = begin.until(moment).as_secs_f64() / DAY.as_secs_f64();
        (part * WIDTH * 10.0).round() / 10.0
    };
    let first = history.first().map_or(now, |(at, _)| *at);
    let unknown = (first > begin).then(|| BandPart {
        look: "unknown",
        x: 0.0,
        width: place(first),
        height: 16,
    });
    let known = stretches(history, now).map(|(from, to, standing)| {
        let (x, end) = (place(from), place(to));
        let open = standing == Standing::Open;
        let width = if open { end - x } else { (end - x).max(LEAST) };
        BandPart {
            look: standing.name(),
            // A state that has only just begun still shows.
            x: x.min(WIDTH - width),
            width: (width * 10.0).round() / 10.0,
            height: match standing {
                Standing::Open => 16,
                Standing::Untried => 8,
                _ => HEIGHT,
            },
        }
    });
    unknown.into_iter().chain(known).collect()
}

/// `96.7 % open · 2 cooldowns · recorded since 13:02`.
fn caption(history: &[(Moment, Standing)], now: Moment) -> String {
    let (mut open, mut all) = (Duration::ZERO, Duration::ZERO);
    let (mut cooldowns, mut disabled) = (0_u32, 0_u32);
    for (from, to, standing) in stretches(history, now) {
        let span = from.until(to);
        all += span;
        match standing {
            Standing::Open => open += span,
            Standing::Cooldown => cooldowns += 1,
            Standing::Disabled => disabled += 1,
            Standing::Untried | Standing::Probing | Standing::Manual => {}
        }
    }
    let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    let mut words = vec![format!("{} open", percent(millis(open), millis(all)))];
    if cooldowns > 0 {
        words.push(counted(cooldowns, "cooldown", "cooldowns"));
    }
    if disabled > 0 {
        words.push(counted(disabled, "time disabled", "times disabled"));
    }
    if let Some((first, _)) = history.first().filter(|(first, _)| *first > now - DAY) {
        words.push(format!("recorded since {}", super::times::at(*first)));
    }
    words.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hour(hours: u64) -> Moment {
        Moment(0) + Duration::from_secs(3600 * hours)
    }

    #[test]
    fn a_band_covers_the_day_and_shows_the_shortest_cooldown() {
        let history = [
            (hour(90), Standing::Open),
            (hour(94), Standing::Cooldown),
            (hour(94) + Duration::from_secs(60), Standing::Probing),
            (hour(94) + Duration::from_secs(61), Standing::Open),
        ];
        let parts = parts(&history, hour(100));
        let looks: Vec<_> = parts.iter().map(|part| part.look).collect();
        assert_eq!(looks, ["unknown", "open", "cooldown", "probing", "open"]);
        assert_eq!((parts[0].x, parts[0].width), (0.0, 583.3));
        assert!(parts[2].width >= LEAST && parts[3].width >= LEAST);
        let heights: Vec<_> = parts.iter().map(|part| (part.y(), part.height)).collect();
        let (low, full) = ((8, 16), (0, 24));
        assert_eq!(heights, [low, low, full, full, low]);
        let end = parts.last().unwrap();
        assert!((end.x + end.width - WIDTH).abs() < 0.2, "{end:?}");
        let words = caption(&history, hour(100));
        assert!(
            words.starts_with("99.8 % open · 1 cooldown · recorded since "),
            "{words}"
        );
    }

    #[test]
    fn what_is_older_than_a_day_is_cut() {
        let history = [(hour(10), Standing::Open), (hour(90), Standing::Disabled)];
        let parts = parts(&history, hour(100));
        assert_eq!(parts[0].x, 0.0);
        assert_eq!(parts.len(), 2);
        assert_eq!(
            caption(&history, hour(100)),
            "58.3 % open · 1 time disabled"
        );
    }
}
