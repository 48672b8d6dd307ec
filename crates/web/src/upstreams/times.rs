//! An engine's moments as people read them.
//!
//! Sentences are put together with *marks* in place of times. A mark becomes a `<time>` on a page, which script
//! turns into the browser's zone and counts down, and plain text elsewhere; so there is one sentence for both.

use std::{fmt::Write, time::Duration};

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use weir_engine::{Engine, dispatch::Moment};

use super::numbers::{escape, span};
use crate::pages::time::{Shown, clock};

/// The begin and end of a mark. Names and reasons hold no control characters, and a mark holds nothing but a
/// number, so a forged one can do no more than show a time.
const BEGIN: char = '\u{2}';
const END: char = '\u{3}';

/// Now, by the wall clock and by the engine's clock.
#[derive(Debug, Clone)]
pub(crate) struct Times {
    pub(crate) now: Timestamp,
    pub(crate) moment: Moment,
    zone: TimeZone,
}

/// How a mark is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeForm {
    /// `14:32`, with the day unless it is today.
    Minute,
    /// `14:32:08`.
    Second,
    /// `in 6 min`.
    Left,
}

impl Times {
    /// Times of pages: the clock may have been set since the engine started, so only differences count.
    pub(crate) fn new(engine: &Engine, now: Timestamp, zone: TimeZone) -> Self {
        let moment = engine.timeline().now();
        Self { now, moment, zone }
    }

    /// The same for a moment that was looked at before.
    pub(crate) fn seen(moment: Moment, now: Timestamp, zone: TimeZone) -> Self {
        Self { now, moment, zone }
    }

    /// Times by the engine's own clock.
    pub(crate) fn of(engine: &Engine) -> Self {
        let moment = engine.timeline().now();
        let now = Timestamp::try_from(engine.timeline().wall(moment)).unwrap_or(Timestamp::MAX);
        Self {
            now,
            moment,
            zone: TimeZone::system(),
        }
    }

    /// A fixed time.
    #[cfg(test)]
    pub(crate) fn fixed(moment: Moment) -> Self {
        Self {
            now: Timestamp::UNIX_EPOCH,
            moment,
            zone: TimeZone::UTC,
        }
    }

    /// The wall time of a moment.
    pub(crate) fn at(&self, moment: Moment) -> Timestamp {
        let (later, earlier) = (self.moment.until(moment), moment.until(self.moment));
        let signed = |span: Duration| SignedDuration::try_from(span).unwrap_or(SignedDuration::MAX);
        self.now
            .saturating_add(signed(later))
            .and_then(|at| at.saturating_sub(signed(earlier)))
            .unwrap_or(self.now)
    }

    /// The same at the last beginning of a step of this length: what is written of it stays as it is for so long.
    pub(crate) fn step(&self, step: Duration) -> Self {
        let step = u64::try_from(step.as_nanos()).unwrap_or(u64::MAX).max(1);
        let moment = Moment(self.moment.0 - self.moment.0 % step);
        Self {
            now: self.at(moment),
            moment,
            zone: self.zone.clone(),
        }
    }

    /// The moment at which the minute of a moment began, by the wall clock.
    pub(crate) fn minute(&self, moment: Moment) -> Moment {
        let nanos = self.at(moment).as_nanosecond().rem_euclid(60_000_000_000);
        moment - Duration::from_nanos(u64::try_from(nanos).unwrap_or_default())
    }

    /// For `datetime` and for the API, to the millisecond.
    pub(crate) fn exact(&self, moment: Moment) -> String {
        let at = self.at(moment);
        let whole = Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at);
        whole.to_string()
    }

    /// A moment to the minute, for people.
    pub(crate) fn shown(&self, moment: Moment) -> Shown {
        Shown {
            exact: self.exact(moment),
            ..Shown::new(self.at(moment), self.now, &self.zone)
        }
    }

    /// A moment to the second, for people.
    pub(crate) fn shown_exactly(&self, moment: Moment) -> Shown {
        let day = self.shown(moment).text;
        let text = match day.split_once(", ") {
            Some((day, _)) => format!("{day}, {}", clock(self.at(moment), &self.zone)),
            None => clock(self.at(moment), &self.zone),
        };
        Shown {
            exact: self.exact(moment),
            text,
        }
    }

    /// A moment below a chart, in one of the forms of `times.ts`: `m` is the date, and everything else the time of day.
    pub(crate) fn shown_as(&self, moment: Moment, form: &str) -> Shown {
        let at = self.at(moment).to_zoned(self.zone.clone());
        let format = if form == "m" { "%-d %b" } else { "%H:%M" };
        Shown {
            exact: self.exact(moment),
            text: at.strftime(format).to_string(),
        }
    }

    fn text(&self, moment: Moment, form: TimeForm) -> String {
        match form {
            TimeForm::Minute => self.shown(moment).text,
            TimeForm::Second => self.shown_exactly(moment).text,
            TimeForm::Left => format!("in {}", left(self.moment.until(moment))),
        }
    }

    /// A sentence with marks as HTML.
    pub(crate) fn html(&self, marked: &str) -> String {
        let mut html = String::with_capacity(marked.len() + 64);
        for piece in pieces(marked) {
            match piece {
                Piece::Text(text) => html.push_str(&escape(text)),
                Piece::Mark(moment, form) => {
                    let (exact, text) = (self.exact(moment), self.text(moment, form));
                    let _ = match form {
                        TimeForm::Minute => {
                            write!(html, "<time datetime=\"{exact}\">{text}</time>")
                        }
                        TimeForm::Second => write!(
                            html,
                            "<time datetime=\"{exact}\" data-seconds>{text}</time>"
                        ),
                        TimeForm::Left => {
                            write!(html, "<span data-until=\"{exact}\">{text}</span>")
                        }
                    };
                }
            }
        }
        html
    }

    /// The same as plain text.
    pub(crate) fn plain(&self, marked: &str) -> String {
        pieces(marked)
            .into_iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.to_owned(),
                Piece::Mark(moment, form) => self.text(moment, form),
            })
            .collect()
    }

    /// "14:32, in 6 min", the second part below one hour.
    pub(crate) fn until(&self, moment: Moment) -> String {
        let left = self.moment.until(moment);
        if left.is_zero() || left >= Duration::from_secs(3600) {
            return at(moment);
        }
        format!("{}, {}", at(moment), left_of(moment))
    }
}

/// The mark of a time of day.
pub(crate) fn at(moment: Moment) -> String {
    mark(moment, 'm')
}

/// The mark of a time of day to the second.
pub(crate) fn exactly(moment: Moment) -> String {
    mark(moment, 's')
}

/// The mark of "in 6 min".
pub(crate) fn left_of(moment: Moment) -> String {
    mark(moment, 'l')
}

/// As the script counts it down, beside the time of day: `6 min`.
fn left(time: Duration) -> String {
    match time.as_secs() {
        90..7200 => format!("{} min", time.as_secs().div_ceil(60)),
        7200.. => format!("{} h", time.as_secs().div_ceil(3600)),
        _ => span(time),
    }
}

fn mark(moment: Moment, form: char) -> String {
    format!("{BEGIN}{form}{}{END}", moment.0)
}

enum Piece<'a> {
    Text(&'a str),
    Mark(Moment, TimeForm),
}

fn pieces(marked: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = marked;
    while let Some((text, after)) = rest.split_once(BEGIN) {
        pieces.push(Piece::Text(text));
        let Some((inside, after)) = after.split_once(END) else {
            return pieces;
        };
        pieces.extend(read(inside));
        rest = after;
        // The engine writes the time left after a time of day; that is counted down too.
        if let (Some(Piece::Mark(moment, TimeForm::Minute)), Some(after)) =
            (pieces.last(), without_left(rest))
        {
            let moment = *moment;
            pieces.push(Piece::Text(", "));
            pieces.push(Piece::Mark(moment, TimeForm::Left));
            rest = after;
        }
    }
    pieces.push(Piece::Text(rest));
    pieces
}

fn read(inside: &str) -> Option<Piece<'_>> {
    let form = match inside.get(..1)? {
        "m" => TimeForm::Minute,
        "s" => TimeForm::Second,
        "l" => TimeForm::Left,
        _ => return None,
    };
    Some(Piece::Mark(Moment(inside.get(1..)?.parse().ok()?), form))
}

/// What follows ", in 6 min" or ", in 2 h 1 min", if the text begins with that.
fn without_left(text: &str) -> Option<&str> {
    let rest = without_span(text.strip_prefix(", in ")?)?;
    let smaller = rest.strip_prefix(' ').and_then(without_span);
    Some(smaller.unwrap_or(rest))
}

fn without_span(number: &str) -> Option<&str> {
    let unit = number.trim_start_matches(|digit: char| digit.is_ascii_digit() || digit == '.');
    let unit = (unit.len() < number.len()).then_some(unit)?;
    [" ms", " min", " s", " h"]
        .iter()
        .find_map(|name| unit.strip_prefix(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times() -> Times {
        Times {
            now: "2026-11-15T14:26:00Z".parse().unwrap(),
            moment: Moment(1_000_000_000_000),
            zone: TimeZone::UTC,
        }
    }

    #[test]
    fn one_sentence_serves_page_and_api() {
        let times = times();
        let back = times.moment + Duration::from_secs(360);
        let marked = format!(
            "<a> is cooling down until {}: it said so.",
            times.until(back)
        );
        assert_eq!(
            times.plain(&marked),
            "<a> is cooling down until 14:32, in 6 min: it said so."
        );
        assert_eq!(
            times.html(&marked),
            "&#60;a&#62; is cooling down until <time datetime=\"2026-11-15T14:32:00Z\">14:32</time>, \
             <span data-until=\"2026-11-15T14:32:00Z\">in 6 min</span>: it said so."
        );
    }

    #[test]
    fn what_the_engine_says_is_left_is_counted_down() {
        let times = times();
        let back = times.moment + Duration::from_secs(360);
        let html = times.html(&format!("until {}, in 6 min (failure 3)", at(back)));
        assert!(
            html.contains("<span data-until=\"2026-11-15T14:32:00Z\">in 6 min</span> (failure 3)")
        );
        let html = times.html(&format!("until {}, in 2 h 1 min: it said so", at(back)));
        assert!(html.ends_with("in 6 min</span>: it said so"), "{html}");
        let other = times.html(&format!("at {}, in which case", at(back)));
        assert!(other.ends_with("</time>, in which case"), "{other}");
    }

    #[test]
    fn forged_marks_do_no_harm() {
        let times = times();
        for text in [
            "\u{2}",
            "\u{2}x1\u{3}",
            "\u{2}m\u{3}",
            "a\u{2}mm9\u{3}b\u{3}",
        ] {
            assert!(!times.html(text).contains("<time"), "{text:?}");
            times.plain(text);
        }
        times.html(&format!("\u{2}m{}\u{3}", u64::MAX));
        times.html("\u{2}m0\u{3}");
    }

    #[test]
    fn other_days_are_named() {
        let times = times();
        let before = times.moment - Duration::from_secs(15 * 60);
        assert_eq!(times.shown_exactly(before).text, "14:11:00");
        let tomorrow = times.moment + Duration::from_secs(36_000);
        assert_eq!(times.shown_exactly(tomorrow).text, "Mon 16 Nov, 00:26:00");
    }
}
