//! What was decided about an upstream, kept with everything it takes to tell it again.
//!
//! The dispatcher says what it decided. What only the engine knows at that moment is added here: what the job was about,
//! what the upstream had said, how the call went, and what whoever asked got instead. A record is a fact of its moment;
//! only what was still open then (the end of a call, what the asker got) is filled in later, once.

mod ring;

use std::sync::Arc;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use weir_dispatch::{Asker, Class, JobId, Moment, UpstreamId, What};

use crate::call::Skipped;
use crate::tally::Kind;

pub(crate) use ring::{FREE, MOST_RECORDS, PackedCall, Records};

/// One decision as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Counts the decisions about this upstream from 1, so that each can be linked to.
    pub number: u64,
    /// When it was made.
    pub at: Moment,
    /// The class of the job it is about, if it is about one and not about the upstream itself.
    pub class: Option<Class>,
    /// Who asked for that job.
    pub asker: Asker,
    /// What the job is about.
    pub about: About,
    /// The decision and its reason.
    pub what: What,
    /// The reason in words, where it comes from outside: what the upstream said, or an operator.
    pub cause: Option<Arc<str>>,
    /// How the call went, once it has; of calls alone.
    pub end: Option<CallEnd>,
    /// What whoever asked got instead of an answer of this call.
    pub got: Option<Got>,
    /// Its job in this run, for what is filled in later.
    pub(crate) job: Option<JobId>,
}

impl Record {
    /// One about the upstream itself, with nothing said or filled in yet.
    pub fn new(number: u64, at: Moment, what: What) -> Self {
        Self {
            number,
            at,
            class: None,
            asker: Asker::default(),
            about: About::Nothing,
            what,
            cause: None,
            end: None,
            got: None,
            job: None,
        }
    }

    /// The skip that it tells of, if it does.
    pub(crate) fn skipped(&self) -> Option<Skipped> {
        match self.what {
            What::Skipped(skip) | What::Missed(skip) => Some(Skipped {
                skip,
                class: self.class,
                at: self.at,
                cause: self.cause.clone(),
                number: Some(self.number),
            }),
            _ => None,
        }
    }
}

/// What a job is about, in its front's terms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum About {
    /// Nothing in particular.
    #[default]
    Nothing,
    /// A torrent, by the bytes that are shown of its hash.
    #[serde(alias = "Hash")]
    Torrent(#[serde(deserialize_with = "shown")] [u8; 6]),
    /// A file. Not which: its name is the upstream's, and a link may hold a secret.
    File,
    /// Something that has a name: a query, the caps.
    Text(Arc<str>),
}

impl About {
    /// The torrent with this hash.
    #[inline]
    pub fn torrent(hash: &[u8; 20]) -> Self {
        let [a, b, c, d, .., y, z] = *hash;
        Self::Torrent([a, b, c, d, y, z])
    }

    /// As it is recorded: clients may ask for as much as they like.
    pub(crate) fn cut(self) -> Self {
        match self {
            Self::Text(text) if text.len() > LONGEST => Self::Text(cut(text)),
            about => about,
        }
    }

    /// In words, if it is about something: `4be19c07…90c2`.
    pub fn words(&self) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Torrent([a, b, c, d, y, z]) => {
                Some(format!("{a:02x}{b:02x}{c:02x}{d:02x}…{y:02x}{z:02x}"))
            }
            Self::File => Some("a file".to_owned()),
            Self::Text(text) => Some(text.to_string()),
        }
    }
}

/// Characters of a text that are recorded, as of a reason.
const LONGEST: usize = 200;

/// The beginning of a text that is too long to be recorded.
pub(crate) fn cut(text: Arc<str>) -> Arc<str> {
    match text.char_indices().nth(LONGEST) {
        None => text,
        Some(_) => text
            .chars()
            .take(LONGEST - 1)
            .chain(['…'])
            .collect::<String>()
            .into(),
    }
}

/// What is shown of a torrent's hash. Weir used to write the whole hash.
fn shown<'de, D: Deserializer<'de>>(from: D) -> Result<[u8; 6], D::Error> {
    let bytes = Vec::deserialize(from)?;
    match (<[u8; 6]>::try_from(&*bytes), <&[u8; 20]>::try_from(&*bytes)) {
        (Ok(shown), _) => Ok(shown),
        (_, Ok([a, b, c, d, .., y, z])) => Ok([*a, *b, *c, *d, *y, *z]),
        _ => Err(D::Error::invalid_length(bytes.len(), &"6 or 20 bytes")),
    }
}

/// How a call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallEnd {
    /// Its outcome.
    pub kind: Kind,
    /// How long it took.
    pub took: Duration,
}

/// What whoever asked got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Got {
    /// A new answer.
    Fresh,
    /// An answer that was kept from before.
    Cached {
        /// How old it was.
        age: Duration,
    },
    /// Nothing from this upstream.
    Nothing,
    /// An answer of another upstream, which was asked instead.
    Elsewhere,
    /// An error that says when to come back.
    Retry {
        /// After how long.
        after: Duration,
    },
}

/// Which record tells what became of somebody who asked.
#[derive(Clone, Debug)]
pub(crate) enum Whose {
    /// The one with this number.
    Number(u64),
    /// The newest one about a job; or about one that was refused at once, which is known by what it asked and when.
    Job {
        job: Option<JobId>,
        asker: Asker,
        about: About,
        since: Moment,
    },
}

/// Names the record that tells what became of somebody who asked, for what is known only when they are told.
#[derive(Clone, Debug)]
pub struct Receipt {
    pub(crate) upstream: UpstreamId,
    pub(crate) whose: Whose,
}

impl Receipt {
    /// That of a skip at this upstream, if it was recorded.
    pub fn of(upstream: UpstreamId, skipped: &Skipped) -> Option<Self> {
        let whose = Whose::Number(skipped.number?);
        Some(Self { upstream, whose })
    }
}

impl Whose {
    fn is(&self, record: &Record) -> bool {
        let about_asker = matches!(
            record.what,
            What::Started { .. }
                | What::Skipped(_)
                | What::Missed(_)
                | What::Dropped { .. }
                | What::Shared { .. }
        );
        about_asker
            && match self {
                Self::Number(number) => record.number == *number,
                Self::Job { job: Some(job), .. } => record.job == Some(*job),
                Self::Job {
                    job: None,
                    asker,
                    about,
                    since,
                } => {
                    let same = record.asker == *asker && record.about == about.clone().cut();
                    same && record.job.is_none() && record.at >= *since
                }
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_dispatch::{Decision, Start};

    fn decision(job: u64, what: What) -> Decision {
        Decision {
            upstream: UpstreamId(0),
            job: Some(JobId(job)),
            at: Moment(job),
            class: None,
            asker: Asker(1),
            what,
        }
    }

    fn start(job: u64) -> Decision {
        decision(
            job,
            What::Started {
                waited: Duration::ZERO,
                reason: None,
                attempt: 1,
            },
        )
    }

    #[test]
    fn a_record_stays_small() {
        // Up to 200 of them for each upstream. Words of upstreams are shared by the records that tell them.
        let sizes = (size_of::<ring::RingEntry>(), size_of::<Record>());
        assert!(sizes.0 == 32 && sizes.1 <= 176, "{sizes:?}");
    }

    /// A start of which everything can be packed, and how long its job waited and its call took.
    fn ordinary() -> (Start, Duration) {
        let start = Start {
            job: JobId(1 << 40 | 3),
            upstream: UpstreamId(0),
            class: Class(2),
            budget: weir_dispatch::Budget::Query,
            attempt: 3,
            asker: Asker::WEIR,
            since: Moment(9),
            reason: Some(weir_dispatch::Wait::Gap),
            decided: 0,
        };
        (start, Duration::from_millis(7321))
    }

    /// Whether a call is packed, and all its records are those of a call that is not: under way, ended with and without
    /// words, and given something else.
    fn is_packed(start: &Start, time: Duration, about: &About) -> bool {
        let at = start.since + time;
        let what = What::Started {
            waited: time,
            reason: start.reason,
            attempt: start.attempt,
        };
        let decided = Decision {
            class: Some(start.class),
            asker: start.asker,
            at,
            ..decision(start.job.0, what)
        };
        let [mut packed, mut pushed] = [Records::default(), Records::default()];
        let mut is_packed = true;
        for round in 1..=4 {
            match PackedCall::new(start, at, about.clone()) {
                Ok(call) => packed.take_call(3, &call),
                Err(about) => {
                    is_packed = false;
                    packed.begin(3, start, at, about);
                }
            }
            pushed.push(3, &decided, about.clone(), None);
            let end = CallEnd {
                kind: Kind::No,
                took: time,
            };
            let cause: Option<Arc<str>> = (round == 2).then(|| "no".into());
            for records in [&mut packed, &mut pushed] {
                if round > 1 {
                    records.end(round, end, cause.clone());
                }
                if round == 3 {
                    records.give(&Whose::Number(3), Got::Nothing);
                }
            }
        }
        let told = |records: &Records| -> Vec<Record> {
            let without_job = |record| Record {
                job: None,
                ..record
            };
            records.newest().map(without_job).collect()
        };
        assert_eq!(told(&packed), told(&pushed), "{start:?}, {time:?}");
        let got: Vec<_> = packed.newest().map(|one| (one.number, one.got)).collect();
        assert_eq!(got, [(4, None), (3, Some(Got::Nothing)), (2, None)]);
        is_packed
    }

    #[test]
    fn an_ordinary_call_is_packed_and_told_like_any_other() {
        use weir_dispatch::Wait;

        let (start, time) = ordinary();
        let reasons = [
            Wait::Off,
            Wait::Cooldown,
            Wait::Window,
            Wait::Gap,
            Wait::Agreeing,
            Wait::Share,
            Wait::Claimed,
        ]
        .map(Some);
        for reason in reasons.into_iter().chain([None]) {
            for (class, attempt) in (0..8).zip([1, 2, 3, 4].into_iter().cycle()) {
                let class = Class(class);
                let start = Start {
                    class,
                    attempt,
                    reason,
                    ..start
                };
                assert!(is_packed(&start, time, &About::Torrent([0, 0, 0, 0, 0, 1])));
            }
        }
        for asker in [0, 1, 4096, Asker::WEIR.0, Asker::OPERATOR.0].map(Asker) {
            assert!(is_packed(&Start { asker, ..start }, time, &About::Nothing));
        }
        let reason = Some(Wait::Network);
        let start_late = Start { reason, ..start };
        assert!(!is_packed(&start_late, time, &About::Nothing));
        for millis in [0, 1, 999, 1001, 274_877] {
            let time = Duration::from_millis(millis);
            assert!(is_packed(&start, time, &About::Nothing));
        }
    }

    #[test]
    fn what_has_no_room_in_a_packed_call_has_a_whole_record() {
        let (start, time) = ordinary();
        for about in [About::Text("linux".into()), About::Torrent([0; 6])] {
            assert!(!is_packed(&start, time, &about));
        }
        let late = Duration::from_millis(274_878);
        assert!(!is_packed(&start, late, &About::Nothing));
        let others = [
            Start {
                class: Class(8),
                ..start
            },
            Start {
                attempt: 5,
                ..start
            },
            Start {
                asker: Asker(40_000),
                ..start
            },
            Start {
                upstream: UpstreamId(1 << 16),
                ..start
            },
        ];
        for start in others {
            assert!(!is_packed(&start, time, &About::Nothing));
        }
    }

    #[test]
    fn a_call_that_takes_long_is_told_as_well() {
        let (start, waited) = ordinary();
        let call = PackedCall::new(&start, start.since + waited, About::Nothing);
        let mut records = Records::default();
        records.take_call(3, &call.expect("it is packed"));
        let end = CallEnd {
            kind: Kind::Done,
            took: Duration::from_secs(1000),
        };
        records.end(1, end, None);
        let ends: Vec<_> = records.newest().map(|one| one.end).collect();
        assert_eq!(ends, [Some(end)]);
    }

    #[test]
    fn only_the_last_are_kept_and_numbers_go_on() {
        let mut records = Records::default();
        for job in 0..5 {
            records.push(3, &start(job), About::Nothing, None);
        }
        let numbers = |records: &Records| -> Vec<u64> {
            records.newest().map(|record| record.number).collect()
        };
        assert_eq!(numbers(&records), [5, 4, 3]);
        records.take_back(4);
        assert_eq!(numbers(&records), [5, 3]);
        records.push(3, &start(5), About::Nothing, None);
        records.push(3, &start(6), About::Nothing, None);
        assert_eq!(numbers(&records), [7, 6, 5]);
    }

    #[test]
    fn a_reason_goes_to_the_record_it_is_for_and_to_no_other() {
        let mut records = Records::default();
        records.push(3, &start(1), About::Nothing, None);
        records.push(3, &start(2), About::Nothing, None);
        records.explain(2, "in time".into());
        records.explain(1, "too late".into());
        let causes: Vec<_> = records.newest().map(|record| record.cause).collect();
        assert_eq!(causes, [Some("in time".into()), None]);
    }

    #[test]
    fn a_call_ends_once_and_its_reason_stays() {
        let mut records = Records::default();
        records.push(3, &start(1), About::Nothing, None);
        records.push(3, &start(2), About::Nothing, None);
        let end = |kind| CallEnd {
            kind,
            took: Duration::from_secs(1),
        };
        records.end(1, end(Kind::Rejected), Some("no such host".into()));
        records.end(1, end(Kind::Done), Some("another".into()));
        let kept: Vec<_> = records.newest().map(|one| one.cause).collect();
        assert_eq!(kept, [None, Some("no such host".into())]);
    }

    #[test]
    fn what_an_asker_got_goes_once_to_the_newest_record_of_its_job() {
        let mut records = Records::default();
        let of_job = |job| Whose::Job {
            job: Some(JobId(job)),
            asker: Asker(1),
            about: About::Nothing,
            since: Moment(0),
        };
        records.push(9, &start(1), About::Nothing, None);
        records.push(9, &start(2), About::Nothing, None);
        records.push(9, &decision(2, What::Healed), About::Nothing, None);
        records.give(&of_job(2), Got::Nothing);
        records.give(&of_job(2), Got::Fresh);
        records.give(&of_job(3), Got::Fresh);
        let got: Vec<_> = records.newest().map(|one| one.got).collect();
        assert_eq!(got, [None, Some(Got::Nothing), None]);
        // Whoever has nothing may be told when to come back, once.
        for seconds in [60, 90] {
            let after = Duration::from_secs(seconds);
            records.give(&of_job(2), Got::Retry { after });
        }
        let after = Duration::from_secs(60);
        let got: Vec<_> = records.newest().map(|one| one.got).collect();
        assert_eq!(got, [None, Some(Got::Retry { after }), None]);
    }

    #[test]
    fn what_was_refused_at_once_is_known_by_its_question_and_no_older_record_changes() {
        let mut records = Records::default();
        let text = |text: &str| About::Text(text.into());
        let skip = weir_dispatch::Skip {
            reason: weir_dispatch::Wait::Gap,
            wait: None,
            limit: None,
        };
        let skipped = |at: u64| Decision {
            job: None,
            ..decision(at, What::Skipped(skip))
        };
        let asked = |about: &str, since: u64| Whose::Job {
            job: None,
            asker: Asker(1),
            about: text(about),
            since: Moment(since),
        };
        records.push(9, &skipped(1), text("linux"), None);
        records.push(9, &skipped(5), text("caps"), None);
        records.give(&asked("linux", 4), Got::Nothing);
        records.give(&asked("caps", 5), Got::Fresh);
        let got: Vec<_> = records.newest().map(|one| one.got).collect();
        assert_eq!(got, [Some(Got::Fresh), None]);
    }

    #[test]
    fn whoever_shared_nothing_may_have_got_something_older() {
        let mut records = Records::default();
        let shared = What::Shared {
            with: Asker(2),
            after: Duration::ZERO,
        };
        let number = records
            .push(9, &decision(1, shared), About::Nothing, None)
            .number;
        let age = Duration::from_secs(660);
        for got in [Got::Nothing, Got::Cached { age }, Got::Fresh] {
            records.give(&Whose::Number(number), got);
        }
        let got: Vec<_> = records.newest().map(|one| one.got).collect();
        assert_eq!(got, [Some(Got::Cached { age })]);
    }

    #[test]
    fn what_is_recorded_in_words_is_cut() {
        let long = || About::Text("é".repeat(10_000).into());
        let words: Arc<str> = "x".repeat(10_000).into();
        let mut records = Records::default();
        let cut = weir_dispatch::Skip {
            reason: weir_dispatch::Wait::Gap,
            wait: None,
            limit: None,
        };
        let skipped = Decision {
            job: None,
            ..decision(1, What::Skipped(cut))
        };
        let number = records
            .push(9, &skipped, long(), Some(words.clone()))
            .number;
        records.explain(number, words.clone());
        records.push(9, &start(2), long(), None);
        let end = CallEnd {
            kind: Kind::Broken,
            took: Duration::ZERO,
        };
        records.end(2, end, Some(words));
        // Whoever asked is still found by all that was asked for.
        let whose = Whose::Job {
            job: None,
            asker: Asker(1),
            about: long(),
            since: Moment(0),
        };
        records.give(&whose, Got::Nothing);
        for record in records.newest() {
            let about = record.about.words().expect("it has words");
            let cause = record.cause.expect("it has a cause");
            assert!(about.ends_with("é…") && cause.ends_with("x…"), "{about}");
            assert_eq!((about.chars().count(), cause.chars().count()), (200, 200));
        }
        let got: Vec<_> = records.newest().map(|one| one.got).collect();
        assert_eq!(got, [None, Some(Got::Nothing)]);
    }

    #[test]
    fn a_torrent_is_told_by_its_first_and_last_digits() {
        let mut hash = [0; 20];
        hash[..4].copy_from_slice(&[0x4b, 0xe1, 0x9c, 0x07]);
        hash[18..].copy_from_slice(&[0x90, 0xc2]);
        let words = About::torrent(&hash).words();
        assert_eq!(words.as_deref(), Some("4be19c07…90c2"));
    }

    #[test]
    fn a_torrent_is_read_as_it_is_written_and_as_it_was_written_before() {
        let torrent = About::Torrent([1, 2, 3, 4, 19, 20]);
        let text = serde_json::to_string(&torrent).expect("it can be written");
        assert_eq!(text, r#"{"Torrent":[1,2,3,4,19,20]}"#);
        let before = r#"{"Hash":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]}"#;
        for text in [&*text, before] {
            assert_eq!(
                serde_json::from_str::<About>(text).ok(),
                Some(torrent.clone())
            );
        }
        assert!(serde_json::from_str::<About>(r#"{"Torrent":[1,2,3]}"#).is_err());
    }
}
