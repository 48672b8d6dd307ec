//! What happened lately, as text that survives a restart: the states of an upstream, its calls of the last day, and the
//! records about it.
//!
//! One text per upstream, written behind and as a whole, since a ring changes as a whole. A line that a later or an earlier
//! Weir wrote and that cannot be read is left out; the others count.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weir_dispatch::{Asker, Class, Cooldown, Moment, What};

use crate::askers::Askers;
use crate::record::{About, CallEnd, Got, MOST_RECORDS, Record, Records};
use crate::series::{Point, Series, Span};
use crate::side::Standing;
use crate::tally::Kind;

/// One line of the text.
#[derive(Serialize, Deserialize)]
enum Line {
    /// A state and when it began.
    State(Moment, Standing),
    /// The points of one span, by its place among all: calls, answer times, quota.
    Series(u8, String),
    /// Calls that ended within five minutes or less: since when, how many of each group, and two of their times. Written
    /// before there was `Series`.
    Calls(Moment, [u32; 4], Option<Duration>, Option<Duration>),
    /// A record.
    Record(Box<Kept>),
    /// Records of the next run have higher numbers than this.
    Numbers(u64),
}

/// What was written of one upstream.
#[derive(Default)]
pub(crate) struct ReadPast {
    pub(crate) states: Vec<(Moment, Standing)>,
    pub(crate) calls: Vec<Point>,
    pub(crate) series: Vec<(Span, String)>,
    pub(crate) records: Records,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    number: u64,
    at: Moment,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    class: Option<u8>,
    #[serde(default, skip_serializing_if = "is_nobody")]
    asker: Asked,
    #[serde(default, skip_serializing_if = "is_nothing")]
    about: About,
    what: What,
    /// The other program of a shared call, or the node whose answer it was, by name.
    #[serde(default, skip_serializing_if = "is_nobody")]
    with: Asked,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<CallEnd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    got: Option<Got>,
}

/// Who asked, by name: numbers are of one run.
#[derive(Default, Serialize, Deserialize)]
enum Asked {
    #[default]
    Nobody,
    Operator,
    Weir,
    Program(String),
}

fn is_nobody(asked: &Asked) -> bool {
    matches!(asked, Asked::Nobody)
}

fn is_nothing(about: &About) -> bool {
    *about == About::Nothing
}

impl Asked {
    fn of(asker: Asker, askers: &Askers) -> Self {
        match asker {
            Asker::OPERATOR => Self::Operator,
            Asker::WEIR => Self::Weir,
            asker => askers
                .name(asker)
                .map_or(Self::Nobody, |name| Self::Program(name.to_string())),
        }
    }

    fn asker(&self, askers: &Askers) -> Asker {
        match self {
            Self::Nobody => Asker::NOBODY,
            Self::Operator => Asker::OPERATOR,
            Self::Weir => Asker::WEIR,
            Self::Program(name) => askers.number(name),
        }
    }
}

/// Writes states, series and records, each oldest first. `last` is the highest number that a record may have before this is
/// written again.
pub(crate) fn write(
    history: &VecDeque<(Moment, Standing)>,
    (series, now): (&Series, Moment),
    (records, last): (&Records, u64),
    askers: &Askers,
) -> String {
    let states = history.iter().map(|&(at, state)| Line::State(at, state));
    let lines = records.newest().rev().map(|record| {
        let with = match record.what {
            What::Shared { with, .. } | What::Kept { by: with } => with,
            _ => Asker::NOBODY,
        };
        Line::Record(Box::new(Kept {
            number: record.number,
            at: record.at,
            class: record.class.map(|class| class.0),
            asker: Asked::of(record.asker, askers),
            about: record.about.clone(),
            what: record.what,
            with: Asked::of(with, askers),
            cause: record.cause.as_deref().map(str::to_owned),
            end: record.end,
            got: record.got,
        }))
    });
    let series = Span::ALL.map(|span| Line::Series(span as u8, series.write(span, now, false)));
    let numbers = Line::Numbers(last);
    let lines = states
        .chain(series)
        .chain(lines)
        .chain([numbers])
        .filter_map(|line| serde_json::to_string(&line).ok());
    lines.collect::<Vec<_>>().join("\n")
}

/// Reads what was written, with every time moved by `shift`. Calls and records from before these `times` are left out; a record
/// from after them, since the wall clock was set back, is told as the latest that can have happened.
pub(crate) fn read(
    text: &str,
    shift: i64,
    times: RangeInclusive<Moment>,
    (most, askers): (usize, &Askers),
) -> ReadPast {
    let moved = |at: Moment| Moment(at.0.saturating_add_signed(shift));
    let (oldest, now) = times.into_inner();
    let mut past = ReadPast::default();
    for line in text.lines() {
        match serde_json::from_str(line) {
            Ok(Line::State(at, state)) => past.states.push((moved(at), state)),
            Ok(Line::Calls(at, calls, p50, p95)) if moved(at) >= oldest => past.calls.push(Point {
                at: moved(at),
                calls,
                p50,
                p95,
                fill: 0,
                used: [0; 2],
            }),
            Ok(Line::Series(span, text)) => {
                let span = Span::ALL.get(usize::from(span)).copied();
                past.series.extend(span.map(|span| (span, text)));
            }
            Ok(Line::Numbers(last)) if last < MOST_RECORDS => past.records.go_on_after(last),
            Ok(Line::Record(kept)) if kept.number < MOST_RECORDS => {
                if moved(kept.at) < oldest {
                    past.records.go_on_after(kept.number);
                    continue;
                }
                // All its times alike, so that what it says lasts as long.
                let ahead = now.until(moved(kept.at));
                let moved = |at: Moment| moved(at) - ahead;
                let with = kept.with.asker(askers);
                let what = match shifted(kept.what, moved) {
                    What::Shared { after, .. } => What::Shared { with, after },
                    What::Kept { .. } => What::Kept { by: with },
                    what => what,
                };
                past.records.restore(
                    most,
                    Record {
                        number: kept.number,
                        at: moved(kept.at),
                        class: kept.class.map(Class),
                        asker: kept.asker.asker(askers),
                        about: kept.about.cut(),
                        what,
                        cause: kept.cause.map(Into::into),
                        end: kept.end.or_else(|| lost(&kept.what)),
                        got: kept.got,
                        job: None,
                    },
                );
            }
            Ok(Line::Calls(..) | Line::Record(_) | Line::Numbers(_)) | Err(_) => {}
        }
    }
    past.records.changed = false;
    past
}

/// The end of a call that was under way when this was written. A stop writes how each call ended, so Weir was killed, and
/// the call may have been answered before that.
fn lost(what: &What) -> Option<CallEnd> {
    matches!(what, What::Started { .. }).then_some(CallEnd {
        kind: Kind::Lost,
        took: Duration::ZERO,
    })
}

/// The same decision with its times moved.
fn shifted(what: What, moved: impl Fn(Moment) -> Moment) -> What {
    match what {
        What::Waits {
            reason,
            until,
            full,
        } => What::Waits {
            reason,
            until: moved(until),
            full,
        },
        What::CooldownBegan {
            cooldown,
            rung,
            failures,
            next,
            probe,
        } => What::CooldownBegan {
            cooldown: Cooldown {
                until: moved(cooldown.until),
                ..cooldown
            },
            rung,
            failures,
            next,
            probe: moved(probe),
        },
        What::Retried { due } => What::Retried { due: moved(due) },
        What::PutOff { due, reason, limit } => What::PutOff {
            due: moved(due),
            reason,
            limit,
        },
        what => what,
    }
}

#[cfg(test)]
mod tests {
    use weir_dispatch::{Decision, UpstreamId};

    use super::*;
    use crate::series::Sample;

    const ALL: RangeInclusive<Moment> = Moment(0)..=Moment::NEVER;

    #[test]
    fn a_number_that_no_record_has_is_left_out_and_counting_goes_on() {
        let askers = Askers::default();
        let mut written = Records::default();
        for number in [7, 8, u64::MAX] {
            written.restore(9, Record::new(number, Moment(5), What::Healed));
        }
        let history = VecDeque::new();
        let series = Series::default();
        let text = write(
            &history,
            (&series, Moment(9)),
            (&written, written.made()),
            &askers,
        );
        assert!(text.contains(&u64::MAX.to_string()));
        let mut records = read(&text, 0, ALL, (9, &askers)).records;
        let decision = Decision {
            upstream: UpstreamId(0),
            job: None,
            at: Moment(9),
            class: None,
            asker: Asker::NOBODY,
            what: What::Cleared,
        };
        records.push(9, &decision, About::Nothing, None);
        let numbers: Vec<_> = records.newest().map(|record| record.number).collect();
        assert_eq!(numbers, [9, 8, 7]);
    }

    #[test]
    fn a_call_that_was_under_way_when_weir_was_killed_is_not_under_way_for_ever() {
        let askers = Askers::default();
        let mut written = Records::default();
        let started = |number, end| {
            let what = What::Started {
                waited: Duration::ZERO,
                reason: None,
                attempt: 1,
            };
            Record {
                end,
                ..Record::new(number, Moment(5), what)
            }
        };
        let end = |kind, took| {
            let took = Duration::from_secs(took);
            Some(CallEnd { kind, took })
        };
        written.restore(9, started(1, end(Kind::Done, 2)));
        written.restore(9, started(2, None));
        written.restore(9, Record::new(3, Moment(6), What::Cleared));
        let series = Series::default();
        let text = write(
            &VecDeque::new(),
            (&series, Moment(9)),
            (&written, written.made()),
            &askers,
        );
        let records = read(&text, 0, ALL, (9, &askers)).records;
        let ends: Vec<_> = records.newest().map(|record| record.end).collect();
        assert_eq!(ends, [None, end(Kind::Lost, 0), end(Kind::Done, 2)]);
    }

    fn written(records: &Records, askers: &Askers) -> String {
        let series = Series::default();
        let history = VecDeque::new();
        write(&history, (&series, Moment(9)), (records, 0), askers)
    }

    #[test]
    fn whoever_else_asks_first_after_a_restart_a_record_names_the_same_programs_and_nodes() {
        let askers = Askers::default();
        let [sonarr, radarr, birch] = ["Sonarr", "Radarr", "birch"].map(|name| askers.number(name));
        let after = Duration::from_secs(2);
        let of_sonarr = |number, what| Record {
            asker: sonarr,
            ..Record::new(number, Moment(5), what)
        };
        let mut records = Records::default();
        let shared = What::Shared {
            with: radarr,
            after,
        };
        records.restore(9, of_sonarr(1, shared));
        records.restore(9, of_sonarr(2, What::Kept { by: birch }));
        let text = written(&records, &askers);
        let askers = Askers::default();
        for name in ["curl", "FlexGet", "Prowlarr", "rowan"] {
            askers.number(name);
        }
        let records = read(&text, 0, ALL, (9, &askers)).records;
        let named = |record: Record| {
            let (What::Shared { with: other, .. } | What::Kept { by: other }) = record.what else {
                panic!("{record:?}");
            };
            [record.asker, other]
                .map(|asker| askers.name(asker).expect("it has a name").to_string())
        };
        let named: Vec<_> = records.newest().map(named).collect();
        assert_eq!(named, [["Sonarr", "birch"], ["Sonarr", "Radarr"]]);
    }

    #[test]
    fn numbers_go_on_after_records_that_are_too_old_to_be_kept() {
        let askers = Askers::default();
        let mut records = Records::default();
        records.restore(9, Record::new(7, Moment(5), What::Healed));
        let text = written(&records, &askers);
        let read = read(&text, 0, Moment(6)..=Moment(9), (9, &askers)).records;
        assert_eq!((read.newest().count(), read.made()), (0, 7));
    }

    #[test]
    fn nothing_has_happened_in_the_future_when_the_clock_was_set_back() {
        let askers = Askers::default();
        let mut records = Records::default();
        let until = Moment(50);
        let cooldown = Cooldown {
            until,
            cause: weir_dispatch::Cause::Failed,
        };
        let began = What::CooldownBegan {
            cooldown,
            rung: 1,
            failures: 1,
            next: Duration::ZERO,
            probe: until,
        };
        records.restore(9, Record::new(1, Moment(5), What::Healed));
        records.restore(9, Record::new(2, Moment(30), began));
        let text = written(&records, &askers);
        let read = read(&text, 0, Moment(0)..=Moment(10), (9, &askers)).records;
        let told: Vec<_> = read
            .newest()
            .map(|record| (record.at, record.what))
            .collect();
        let until = Moment(30);
        let cooldown = Cooldown { until, ..cooldown };
        let began = What::CooldownBegan {
            cooldown,
            rung: 1,
            failures: 1,
            next: Duration::ZERO,
            probe: until,
        };
        assert_eq!(told, [(Moment(10), began), (Moment(5), What::Healed)]);
    }

    /// A past as full as it gets: states, calls in every step of all spans, and records with the longest words about what was
    /// asked for and why.
    #[test]
    fn the_past_of_an_upstream_takes_a_bounded_place_on_disk() {
        for (letter, most) in [("x", 240_000), ("\u{1f30a}", 480_000)] {
            let length = full_past(letter);
            assert!(length <= most && length > most / 2, "{letter}: {length}");
        }
    }

    fn full_past(letter: &str) -> usize {
        let late = |number: u64| Moment(1_800_000_000_000_000_000 + number);
        let history = (0..512).map(|number| (late(number), Standing::Disabled));
        let mut series = Series::default();
        let steps = Span::Week.length().as_secs() / 10;
        for step in 0..steps {
            // No two steps are alike, so none is written short.
            for _ in 0..step % 3 + 1 {
                series.count(Kind::Done, Duration::from_millis(900 + step % 7 * 200));
                series.count(Kind::TimedOut, Duration::from_secs(30));
            }
            let used = [9_000 + step as u32 % 9, 90_000 + step as u32 % 9];
            series.close(step, step + 1, Sample { fill: None, used });
        }
        let now = Moment(0) + Span::Week.length();
        let (mut records, askers) = (Records::default(), Askers::default());
        let asker = askers.number("qBittorrent 4.6.5");
        for number in 0..200 {
            let what = What::Started {
                waited: Duration::from_millis(1500),
                reason: None,
                attempt: 1,
            };
            let decision = Decision {
                upstream: UpstreamId(0),
                job: None,
                at: late(number),
                class: Some(Class(1)),
                asker,
                what,
            };
            let about = About::Text(letter.repeat(300).into());
            let words = letter.repeat(300).into();
            let record = records.push(200, &decision, about, Some(words));
            record.end = Some(CallEnd {
                kind: Kind::Unavailable,
                took: Duration::from_millis(1500),
            });
        }
        let text = write(
            &history.collect(),
            (&series, now),
            (&records, records.made()),
            &askers,
        );
        let length = text.len();
        let most = (200, &askers);
        let read = read(&text, 0, ALL, most);
        let lines = (read.states.len(), read.records.newest().count());
        assert_eq!(lines, (512, 200), "all of it is read again");
        let mut again = Series::default();
        for (span, text) in read.series {
            again.read(span, &text, 0, now);
        }
        for span in Span::ALL {
            let points = series.points(span, now);
            assert!(points.len() >= span.points() - 1);
            assert_eq!(again.points(span, now), points, "{span:?}");
        }
        length
    }
}
