//! Decisions about one upstream as rows of its page: equal ones in a row are one row, which opens.

use std::mem::discriminant;

use askama::Template;
use weir_engine::{
    Record,
    dispatch::{Asker, DropReason, Wait, What},
};

use super::{
    decisions::{ToldDecision, tell, tell_one},
    numbers::{capital, grouped},
    sight::Sight,
    times::Times,
};
use crate::{kit, pages::time::Shown};

/// Decisions that the opened runs of one page list at most: the page stays light, and a link leads to all of them.
const LISTED: usize = 100;

/// One row: a decision, or several equal ones without another between.
#[derive(Template)]
#[template(path = "upstreams/decision.html")]
pub(super) struct DecisionRow {
    number: u64,
    at: Shown,
    word: &'static str,
    look: &'static str,
    asker: String,
    sentence: String,
    run: Option<DecisionRun>,
}

/// What a row of several opens to.
struct DecisionRun {
    count: String,
    first: Shown,
    last: Shown,
    /// All but the newest, which is the row itself; newest first.
    rest: Vec<RunLine>,
    /// Where all of them are listed one by one, if not all are here.
    all: Option<String>,
}

struct RunLine {
    number: u64,
    at: Shown,
    sentence: String,
}

/// Equal decisions next to each other; `all` are newest first.
pub(super) fn runs<'a, 'b>(all: &'a [&'b Record], fold: bool) -> Vec<&'a [&'b Record]> {
    all.chunk_by(|one, other| fold && is_same(one, other))
        .collect()
}

/// Whether two decisions are the same but for their times, amounts, and what exactly was asked for. A call that is under
/// way is like no other: how it ends is told later, in its own row.
pub(super) fn is_same(one: &Record, other: &Record) -> bool {
    let ended = |record: &Record| {
        let started = matches!(record.what, What::Started { .. });
        !started || record.end.is_some()
    };
    let kind = |record: &Record| record.end.map(|end| end.kind);
    ended(one)
        && ended(other)
        && one.class == other.class
        && one.asker == other.asker
        && one.cause == other.cause
        && kind(one) == kind(other)
        && one.got.map(|got| discriminant(&got)) == other.got.map(|got| discriminant(&got))
        && discriminant(&one.what) == discriminant(&other.what)
        && why(&one.what) == why(&other.what)
}

/// What tells apart decisions of one kind.
fn why(what: &What) -> (Option<Wait>, Option<DropReason>, Option<Asker>, bool) {
    match *what {
        What::Started { reason, .. } => (reason, None, None, false),
        What::Waits { reason, .. } => (Some(reason), None, None, false),
        What::Skipped(skip) | What::Missed(skip) => {
            (Some(skip.reason), None, None, skip.limit.is_some())
        }
        What::Dropped { reason, .. } => (None, Some(reason), None, false),
        What::Shared { with, .. } => (None, None, Some(with), false),
        What::CooldownBegan { cooldown, .. } => (None, None, None, cooldown.cause.disables()),
        What::Healed
        | What::Duplicate
        | What::Raised { .. }
        | What::Retried { .. }
        | What::Cleared
        | What::SwitchedOff
        | What::SwitchedOn => (None, None, None, false),
    }
}

/// The rows of some runs; `all` is where the decisions before a number are listed one by one.
pub(super) fn rows(
    sight: &Sight<'_>,
    runs: &[&[&Record]],
    all: impl Fn(u64) -> String,
) -> Vec<DecisionRow> {
    let mut room = LISTED;
    runs.iter()
        .filter_map(|run| {
            let (newest, rest) = run.split_first()?;
            let listed = rest.len().min(room);
            room -= listed;
            let mut row = DecisionRow::new(sight, tell_one(sight, newest));
            row.run = rest.last().map(|oldest| DecisionRun {
                count: grouped(run.len() as u64),
                first: sight.times.shown_exactly(oldest.at),
                last: sight.times.shown_exactly(newest.at),
                rest: tell(sight, &rest[..listed])
                    .into_iter()
                    .map(|told| RunLine::new(sight, told))
                    .collect(),
                all: (listed < rest.len()).then(|| all(newest.number + 1)),
            });
            Some(row)
        })
        .collect()
}

impl DecisionRow {
    fn new(sight: &Sight<'_>, told: ToldDecision) -> Self {
        Self {
            number: told.number,
            at: sight.times.shown_exactly(told.at),
            word: told.word,
            look: told.look,
            sentence: brief(&sight.times, sight.name(), &told.sentence),
            asker: match (told.asker, told.class) {
                (Some(asker), Some(class)) => format!("{asker}, {class}"),
                (Some(asker), None) => asker,
                (None, Some(class)) => class.to_owned(),
                (None, None) => String::new(),
            },
            run: None,
        }
    }

    /// The row as it is sent to whoever watches.
    pub(super) fn html(&self) -> String {
        kit::written(self)
    }
}

impl RunLine {
    fn new(sight: &Sight<'_>, told: ToldDecision) -> Self {
        Self {
            number: told.number,
            at: sight.times.shown_exactly(told.at),
            sentence: brief(&sight.times, sight.name(), &told.sentence),
        }
    }
}

/// A sentence for the upstream's own page, where its name would be repeated in each line; as HTML.
fn brief(times: &Times, name: &str, sentence: &str) -> String {
    let Some(rest) = sentence.strip_prefix(name) else {
        return times.html(sentence);
    };
    let rest = rest.trim_start_matches(':').trim_start();
    let verb = ["was ", "is "].iter();
    let rest = verb
        .filter_map(|verb| rest.strip_prefix(verb))
        .next()
        .unwrap_or(rest);
    times.html(&capital(rest))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weir_engine::{
        About, CallEnd, Got, Kind,
        dispatch::{Class, Moment, Skip},
    };

    use super::*;

    fn changed(mut record: Record, change: impl FnOnce(&mut Record)) -> Record {
        change(&mut record);
        record
    }

    fn record(number: u64, what: What) -> Record {
        Record::new(number, Moment(number), what)
    }

    fn called(number: u64, kind: Option<Kind>) -> Record {
        let time = Duration::from_millis(number);
        let what = What::Started {
            waited: time,
            reason: None,
            attempt: 1,
        };
        changed(record(number, what), |record| {
            record.class = Some(Class(0));
            record.about = About::Text(format!("query {number}").into());
            record.end = kind.map(|kind| CallEnd { kind, took: time });
        })
    }

    fn lengths(all: &[Record]) -> Vec<usize> {
        let all: Vec<&Record> = all.iter().collect();
        runs(&all, true).iter().map(|run| run.len()).collect()
    }

    #[test]
    fn equal_decisions_are_one_row_whatever_they_took_and_asked() {
        let done = |number| called(number, Some(Kind::Done));
        assert_eq!(lengths(&[done(9), done(8), done(7)]), [3]);
        let failed = called(8, Some(Kind::TimedOut));
        assert_eq!(lengths(&[done(9), failed, done(7)]), [1, 1, 1]);
        assert_eq!(
            lengths(&[called(9, None), called(8, None), done(7), done(6)]),
            [1, 1, 2],
            "how a call under way ends is told later, in its own row"
        );
    }

    #[test]
    fn another_reason_asker_class_or_answer_is_another_row() {
        let skip = |number, reason, limit| {
            let wait = Some(Duration::from_secs(number));
            record(
                number,
                What::Skipped(Skip {
                    reason,
                    wait,
                    limit,
                }),
            )
        };
        let plain = |number| skip(number, Wait::Cooldown, None);
        assert_eq!(lengths(&[plain(9), plain(8)]), [2]);
        let limit = Some(Duration::from_secs(60));
        let others = [
            skip(8, Wait::Gap, None),
            skip(8, Wait::Cooldown, limit),
            changed(plain(8), |record| record.asker = Asker(7)),
            changed(plain(8), |record| record.class = Some(Class(1))),
            changed(plain(8), |record| {
                record.cause = Some("it answered 503".into())
            }),
            changed(plain(8), |record| record.got = Some(Got::Nothing)),
            record(8, What::Healed),
        ];
        for other in others {
            assert_eq!(lengths(&[plain(9), other.clone(), plain(7)]), [1, 1, 1]);
        }
        let cached = |number, seconds| {
            let age = Duration::from_secs(seconds);
            changed(plain(number), |record| {
                record.got = Some(Got::Cached { age })
            })
        };
        assert_eq!(lengths(&[cached(9, 100), cached(8, 90)]), [2]);
    }

    #[test]
    fn a_sentence_on_its_own_page_goes_without_the_name() {
        let times = Times::fixed(Moment(0));
        for (whole, short) in [
            ("one was called at once.", "Called at once."),
            ("one is left alone for 5 min.", "Left alone for 5 min."),
            (
                "one skipped for Sonarr: it is off.",
                "Skipped for Sonarr: it is off.",
            ),
            (
                "one: Radarr got the same answer.",
                "Radarr got the same answer.",
            ),
            ("one waits: no quota.", "Waits: no quota."),
            (
                "one answered and is open again.",
                "Answered and is open again.",
            ),
            ("Something else about one.", "Something else about one."),
        ] {
            assert_eq!(brief(&times, "one", whole), short);
        }
        assert_eq!(brief(&times, "<i>", "<i> is <b>."), "&#60;b&#62;.");
    }
}
