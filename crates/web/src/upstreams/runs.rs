//! Decisions about one upstream as rows of its page: equal ones in a row are one row, which opens.

use std::mem::discriminant;
use std::time::Duration;

use askama::Template;
use weir_engine::{
    OwnDecision, Record,
    dispatch::{Asker, DropReason, Wait, What},
};

use super::{
    decisions::{ToldDecision, own_names, tell, tell_one},
    numbers::{capital, grouped},
    sight::Sight,
    times::{Times, exactly},
};
use crate::{kit, pages::time::Shown};

/// Decisions that the opened runs of one page list at most: the page stays light, and a link leads to all of them.
const LISTED: usize = 100;

/// Rows that whoever watches is sent at once.
const WATCHED: usize = 20;

/// The row of the run whose oldest decisions are no longer recorded.
const EARLIER: &str = "d-earlier";

/// One row: a decision, or several equal ones without another between.
#[derive(Template)]
#[template(path = "upstreams/decision.html")]
pub(super) struct DecisionRow {
    /// By the oldest: a run that grows stays the same row.
    id: String,
    /// Of the newest, whose words the row has.
    newest: u64,
    at: Shown,
    /// HTML.
    word: String,
    asker: String,
    /// HTML.
    why: String,
    run: Option<DecisionRun>,
}

#[derive(Template)]
#[template(path = "upstreams/decision_word.html")]
struct DecisionWord {
    newest: u64,
    word: &'static str,
    look: &'static str,
}

#[derive(Template)]
#[template(path = "upstreams/decision_why.html")]
struct DecisionWhy {
    newest: u64,
    sentence: String,
}

/// What a row of several opens to.
struct DecisionRun {
    count: String,
    first: Shown,
    last: Shown,
    /// All but the one whose number the row has; newest first.
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
fn why(what: &What) -> (Option<Wait>, Option<DropReason>, Option<Asker>, u8) {
    match *what {
        What::Started { reason, .. } => (reason, None, None, 0),
        What::Waits { reason, .. } => (Some(reason), None, None, 0),
        // Queued at the deadline, under way then, or with a turn that comes too late.
        What::Skipped(skip) | What::Missed(skip) => {
            let turn = match skip.wait {
                None => 0,
                Some(Duration::ZERO) => 1,
                Some(_) => 2,
            };
            let limit = if skip.limit.is_some() { 4 } else { 0 };
            (Some(skip.reason), None, None, turn | limit)
        }
        What::Dropped { reason, .. } | What::PutOff { reason, .. } => (None, Some(reason), None, 0),
        What::Shared { with, .. } | What::Kept { by: with } => (None, None, Some(with), 0),
        What::CooldownBegan { cooldown, .. } => {
            (None, None, None, cooldown.cause.disables().into())
        }
        What::Healed
        | What::Duplicate
        | What::Raised { .. }
        | What::Retried { .. }
        | What::Cleared
        | What::Forgiven
        | What::SwitchedOff
        | What::SwitchedOn => (None, None, None, 0),
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
            let newest = run.first()?;
            let (oldest, mut rest) = run.split_last()?;
            let mut id = format!("d-{}", oldest.number);
            // The oldest of these are about to leave the records, and it stays the same row nevertheless.
            let fades = |last: &Record| last.number == oldest.number && last.number > 1;
            if run.len() > 1 && sight.records.last().is_some_and(fades) {
                (id, rest) = (EARLIER.to_owned(), run);
            }
            let listed = rest.len().min(room);
            room -= listed;
            let run = (!rest.is_empty()).then(|| DecisionRun {
                count: grouped(run.len() as u64),
                first: sight.times.shown_exactly(oldest.at),
                last: sight.times.shown_exactly(newest.at),
                rest: tell(sight, &rest[..listed])
                    .into_iter()
                    .map(|told| RunLine::new(sight, told))
                    .collect(),
                all: (listed < rest.len()).then(|| all(newest.number + 1)),
            });
            Some(DecisionRow {
                id,
                run,
                ..DecisionRow::new(sight, tell_one(sight.voice(), newest))
            })
        })
        .collect()
}

impl DecisionRow {
    fn new(sight: &Sight<'_>, told: ToldDecision) -> Self {
        let sentence = brief(&sight.times, sight.name(), &told.sentence);
        let asker = match (told.asker, told.class) {
            (Some(asker), Some(class)) => format!("{asker}, {class}"),
            (Some(asker), None) => asker,
            (None, Some(class)) => class.to_owned(),
            (None, None) => String::new(),
        };
        let at = sight.times.shown_exactly(told.at);
        Self::of((told.number, at), (told.word, told.look), asker, sentence)
    }

    /// A front's own decision; what was decided again and again has one row.
    pub(super) fn own(times: &Times, decision: &OwnDecision) -> Self {
        let mut sentence = decision.sentence();
        if decision.last > decision.at {
            let last = exactly(decision.last);
            sentence += &format!(" The last time was at {last}.");
        }
        let asker = decision.own.asker.as_deref().unwrap_or_default();
        Self::of(
            (decision.number, times.shown_exactly(decision.at)),
            own_names(decision.own.kind),
            asker.to_owned(),
            times.html(&sentence),
        )
    }

    fn of(
        (number, at): (u64, Shown),
        (word, look): (&'static str, &'static str),
        asker: String,
        sentence: String,
    ) -> Self {
        Self {
            id: format!("d-{number}"),
            newest: number,
            at,
            word: kit::written(&DecisionWord {
                newest: number,
                word,
                look,
            }),
            why: kit::written(&DecisionWhy {
                newest: number,
                sentence,
            }),
            asker,
            run: None,
        }
    }

    /// The id of its element, and the element.
    fn live(&self) -> (String, String) {
        (self.id.clone(), kit::written(self))
    }

    /// What becomes known later of a call that is under way: how it ended.
    fn ending(self) -> [(String, String); 2] {
        [
            (format!("k-{}", self.newest), self.word),
            (format!("w-{}", self.newest), self.why),
        ]
    }
}

/// Rows for whoever watches, newest last: decisions after a number, or the newest if there is none; also how many more there
/// were, and the number of the newest.
pub(super) fn new_rows(
    sight: &Sight<'_>,
    after: Option<u64>,
) -> (Vec<(String, String)>, u64, Option<u64>) {
    let records = &sight.records;
    let newest = records.first().map(|record| record.number);
    let new = records.iter();
    let new: Vec<&Record> = match after {
        Some(after) => new.take_while(|record| record.number > after).collect(),
        None => new.collect(),
    };
    let mut runs = runs(&new, true);
    let left_out = runs.iter().skip(WATCHED).map(|run| run.len() as u64).sum();
    runs.truncate(WATCHED);
    runs.reverse();
    let rows = rows(sight, &runs, |before| {
        format!("{}?before={before}&each=1", sight.path())
    });
    let more = if after.is_some() { left_out } else { 0 };
    (rows.iter().map(DecisionRow::live).collect(), more, newest)
}

/// How the last calls ended, in the rows that they have.
pub(super) fn endings(sight: &Sight<'_>) -> Vec<(String, String)> {
    let called = |record: &&Record| matches!(record.what, What::Started { .. });
    let calls = sight.records.iter().filter(called).take(WATCHED);
    calls
        .flat_map(|record| DecisionRow::new(sight, tell_one(sight.voice(), record)).ending())
        .collect()
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

/// A sentence for the upstream's own page, as HTML.
fn brief(times: &Times, name: &str, sentence: &str) -> String {
    times.html(&without_name(name, sentence))
}

/// A sentence about an upstream for its own page, where its name would be repeated in each line.
pub fn without_name(name: &str, sentence: &str) -> String {
    let Some(rest) = sentence.strip_prefix(name) else {
        return sentence.to_owned();
    };
    let rest = rest.trim_start_matches(':').trim_start();
    let mut verbs = ["was ", "is "].iter();
    let without_verb = verbs.find_map(|verb| rest.strip_prefix(verb));
    capital(without_verb.unwrap_or(rest))
}

#[cfg(test)]
mod tests {
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
        let missed = |number, wait: Option<u64>| {
            let skip = Skip {
                reason: Wait::Gap,
                wait: wait.map(Duration::from_secs),
                limit: None,
            };
            record(number, What::Missed(skip))
        };
        let slow_queued_and_late = [
            missed(9, None),
            missed(8, Some(0)),
            missed(7, Some(74)),
            missed(6, Some(60)),
        ];
        assert_eq!(lengths(&slow_queued_and_late), [1, 1, 2]);
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
            (
                "one went into cooldown for 5 min.",
                "Went into cooldown for 5 min.",
            ),
            (
                "one was skipped for Sonarr: it is off.",
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
