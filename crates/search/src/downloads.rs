//! Files behind releases, by way of their indexers' own budget of downloads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use weir_config::SecretUrl;
use weir_engine::dispatch::policy::Budget;
use weir_engine::dispatch::{Asker, Job, UpstreamId, Wait};
use weir_engine::{
    Ended, Fault, FlightAnswer, FlightKey, Flights, Follower, Got, Skipped, drop_reason, span,
};
use weir_web::Throttle;

use crate::answer::Digest;
use crate::call::{FileAnswer, FileCall, TurnCall, about_file};
use crate::config::indexer::Download;
use crate::indexer::Indexer;
use crate::judge::IndexerFault;
use crate::links::Link;
use crate::model::Model;
use crate::outbound::Fetched;
use crate::policy::INTERACTIVE;
use crate::unanswered::{skip, skip_reason};

/// What is said of a link that leads to no web address.
pub(crate) const INVALID: &str = "The indexer sent an invalid address.";

/// Why downloads wait where searches do not.
const NO_FILES: &str = "it asked us to wait with downloads";

/// Gets files, each of them once for all who ask for it at the same time.
pub(crate) struct Downloads {
    model: Arc<Model>,
    files: Flights<(UpstreamId, Digest), FileAnswer>,
    /// Turns that clients use themselves. Each makes its own call, so nobody shares one: they are told apart by number.
    turns: Flights<u64, ()>,
    turns_taken: AtomicU64,
    /// How many an address may make.
    pub(crate) throttle: Throttle,
}

/// What a client gets for a link.
pub(crate) enum Grab {
    File {
        bytes: Bytes,
        cached: bool,
    },
    Magnet(String),
    /// It is sent to this address and fetches the file itself.
    Elsewhere(String),
}

/// Why there is no file, in a sentence for the client.
pub(crate) enum NoFile {
    /// There is no such file.
    Unknown(String),
    /// It is to be asked for after so many seconds.
    Busy(String, u64),
    /// Its indexer did not answer in time.
    TimedOut(String),
    /// Its indexer gave something else.
    Failed(String),
    /// An operator has switched its indexer off.
    Off(String),
}

impl NoFile {
    pub(crate) fn sentence(&self) -> &str {
        let (Self::Unknown(sentence)
        | Self::Busy(sentence, _)
        | Self::TimedOut(sentence)
        | Self::Off(sentence)
        | Self::Failed(sentence)) = self;
        sentence
    }

    /// What the client gets, for the records.
    fn got(&self) -> Got {
        match self {
            Self::Busy(_, seconds) => Got::Retry {
                after: Duration::from_secs(*seconds),
            },
            Self::Unknown(_) | Self::TimedOut(_) | Self::Failed(_) | Self::Off(_) => Got::Nothing,
        }
    }
}

impl Downloads {
    pub(crate) fn new(model: Arc<Model>) -> Self {
        Self {
            files: Flights::new(model.engine.clone()),
            turns: Flights::new(model.engine.clone()),
            turns_taken: AtomicU64::new(0),
            model,
            throttle: Throttle::default(),
        }
    }

    /// Gets what a link leads to.
    pub(crate) async fn get(
        &self,
        indexer: &Arc<Indexer>,
        link: &Link,
        asker: Asker,
    ) -> Result<Grab, NoFile> {
        // Nobody is called for it, so it is served whatever holds its indexer: it is what the indexer once answered.
        if link.url.starts_with("magnet:") {
            self.model.engine.count_from_memory(1);
            return Ok(Grab::Magnet(link.url.clone()));
        }
        // A client that is sent on must not be sent to a file of its own, or to another program.
        let url =
            SecretUrl::parse(&link.url).filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.ok_or_else(|| NoFile::Unknown(INVALID.to_owned()))?;
        let job = Job {
            budget: Budget::Grab,
            asker,
            ..Job::new(indexer.upstream, INTERACTIVE)
        };
        match indexer.terms.download {
            Download::Redirect => self.send_on(indexer, link, job).await,
            Download::Proxy | Download::Magnet => self.fetch(indexer, link, url, job).await,
        }
    }

    /// Lets the client fetch the file itself; its call counts as one of ours.
    async fn send_on(&self, indexer: &Indexer, link: &Link, job: Job) -> Result<Grab, NoFile> {
        self.check_wait(indexer, &job)?;
        let number = self.turns_taken.fetch_add(1, Ordering::Relaxed);
        let follower = self
            .turns
            .join(number, job, |landing| Some(Arc::new(TurnCall { landing })));
        let elsewhere = |_: &()| Ok(Grab::Elsewhere(link.url.clone()));
        self.wait_for(indexer, &job, follower, elsewhere).await
    }

    async fn fetch(
        &self,
        indexer: &Arc<Indexer>,
        link: &Link,
        url: SecretUrl,
        job: Job,
    ) -> Result<Grab, NoFile> {
        let (model, key) = (&self.model, digest(link));
        let since = model.wall().saturating_sub(model.rules.load().lives.files);
        if let Some(bytes) = model.cache.file(&key, since) {
            model.engine.count_from_memory(1);
            return Ok(Grab::File {
                bytes,
                cached: true,
            });
        }
        // After the cache: what is there costs nobody a turn.
        self.check_wait(indexer, &job)?;
        let (key, now) = ((indexer.upstream, key), model.now());
        // What the host of the files said, the engine does not know.
        let pause = indexer.no_files_for(now);
        let held = (!pause.is_zero()).then_some(now);
        let job = Job {
            not_before: held.map_or(job.not_before, |now| now + pause),
            ..job
        };
        if held.is_some() && !self.files.is_under_way(&key) {
            model.engine.note_wait(&job, &about_file(), NO_FILES);
        }
        let follower = self.files.join(key, job, |landing| {
            Some(Arc::new(FileCall {
                model: model.clone(),
                indexer: indexer.clone(),
                url,
                held,
                landing,
            }))
        });
        let given = |answer: &FileAnswer| self.given(indexer, answer);
        self.wait_for(indexer, &job, follower, given).await
    }

    /// Waits for a turn and the call in it. Whatever the client gets instead of a file is in the record.
    async fn wait_for<K: FlightKey, T: FlightAnswer>(
        &self,
        indexer: &Indexer,
        job: &Job,
        mut follower: Follower<K, T>,
        given: impl FnOnce(&T) -> Result<Grab, NoFile>,
    ) -> Result<Grab, NoFile> {
        let patience = self.patience(indexer);
        let no_file = match tokio::time::timeout(patience, &mut follower).await {
            Ok(Ok(answer)) => match given(&answer) {
                Ok(grab) => return Ok(grab),
                Err(no_file) => no_file,
            },
            Ok(Err(ended)) => self.ended_without(indexer, ended),
            Err(_) => {
                let no_file = match follower.is_called() {
                    true => self.ended_without(indexer, Ended::TimedOut),
                    false => self.no_turn(indexer),
                };
                let engine = &self.model.engine;
                let (wait, why) = engine.next_wait(job.upstream, job.class, job.budget);
                let why = why.unwrap_or(Wait::Gap);
                follower.miss(skip(why, wait, Some(patience)), no_file.got());
                return Err(no_file);
            }
        };
        follower.note_got(no_file.got());
        Err(no_file)
    }

    /// How long a client waits for a turn and the call in it.
    fn patience(&self, indexer: &Indexer) -> Duration {
        self.model.rules.load().deadline + indexer.terms.timeout
    }

    /// A download that would wait longer than a client does is refused at once, with the time to come back.
    fn check_wait(&self, indexer: &Indexer, job: &Job) -> Result<(), NoFile> {
        let engine = &self.model.engine;
        self.check_off(indexer, job)?;
        let most = self.model.rules.load().deadline;
        let Some(wait) = indexer.wait_for_files(engine).filter(|wait| *wait > most) else {
            return Ok(());
        };
        let (name, next) = (indexer.name(), span(wait));
        let sentence = format!("{name} cannot be asked for a file now. Next try in {next}.");
        let no_file = self.busy(indexer, sentence);
        let (turn, why) = engine.next_wait(indexer.upstream, INTERACTIVE, Budget::Grab);
        match why.filter(|_| turn >= wait) {
            Some(why) => {
                let skip = skip(why, turn, Some(most));
                engine.note_skip(job, &about_file(), skip, no_file.got());
            }
            // It is the host of the files that is left alone, of which the engine does not know.
            None => {
                let (skip, why) = (skip(Wait::Cooldown, wait, Some(most)), NO_FILES);
                engine.note_skip_because(job, &about_file(), skip, no_file.got(), why);
            }
        }
        Err(no_file)
    }

    /// What an operator has switched off has no next try that could be told.
    fn check_off(&self, indexer: &Indexer, job: &Job) -> Result<(), NoFile> {
        let engine = &self.model.engine;
        let (_, why) = engine.next_wait(job.upstream, job.class, job.budget);
        if why != Some(Wait::Off) {
            return Ok(());
        }
        let skip = skip(Wait::Off, Duration::MAX, None);
        let told = engine.note_skip(job, &about_file(), skip, Got::Nothing);
        Err(off(indexer, &told))
    }

    fn given(&self, indexer: &Indexer, answer: &FileAnswer) -> Result<Grab, NoFile> {
        let fault = match answer {
            Ok(Fetched::Bytes(bytes)) => {
                return Ok(Grab::File {
                    bytes: bytes.clone(),
                    cached: false,
                });
            }
            Ok(Fetched::Magnet(url)) => return Ok(Grab::Magnet(url.clone())),
            Err(fault) => fault,
        };
        let sentence = format!("{} sent no file: {fault}.", indexer.name());
        Err(match fault {
            IndexerFault::Fault(Fault::Overload { .. })
            | IndexerFault::Limit(_)
            | IndexerFault::Downloads(_) => self.busy(indexer, sentence),
            IndexerFault::Missing | IndexerFault::Fault(Fault::Status(404 | 410)) => {
                NoFile::Unknown(sentence)
            }
            _ => NoFile::Failed(sentence),
        })
    }

    fn ended_without(&self, indexer: &Indexer, ended: Ended) -> NoFile {
        let name = indexer.name();
        match ended {
            Ended::Skipped(told) if told.skip.reason == Wait::Off => off(indexer, &told),
            Ended::Skipped(told) => {
                let (why, next) = (skip_reason(&told), told.skip.wait);
                let next =
                    next.map_or_else(String::new, |next| format!(" Next try in {}.", span(next)));
                let sentence = format!("{name} cannot be asked for a file now: {why}.{next}");
                self.busy(indexer, sentence)
            }
            Ended::Dropped(reason) => {
                let why = drop_reason(reason, None);
                self.busy(
                    indexer,
                    format!("{name} cannot be asked for a file now: {why}."),
                )
            }
            Ended::TimedOut => NoFile::TimedOut(format!("{name} did not send the file in time.")),
            _ => NoFile::Failed(format!("{name} sent no file.")),
        }
    }

    fn no_turn(&self, indexer: &Indexer) -> NoFile {
        let name = indexer.name();
        self.busy(indexer, format!("{name} could not be called in time."))
    }

    fn busy(&self, indexer: &Indexer, sentence: String) -> NoFile {
        let wait = indexer.wait_for_files(&self.model.engine);
        let wait = wait.unwrap_or_default().as_secs() + 1;
        NoFile::Busy(sentence, wait.min(24 * 60 * 60))
    }
}

/// Nobody knows when it is switched on again, so no time is told.
fn off(indexer: &Indexer, told: &Skipped) -> NoFile {
    let why = match told.cause.as_deref() {
        None | Some("") => String::new(),
        Some(reason) => format!(": \u{201c}{reason}\u{201d}"),
    };
    let name = indexer.name();
    NoFile::Off(format!(
        "{name} was switched off by an operator{why}. Switch it on, or choose another source."
    ))
}

fn digest(link: &Link) -> Digest {
    let mut hasher = blake3::Hasher::new();
    hasher.update(link.indexer.as_bytes()).update(&[0]);
    hasher.update(link.url.as_bytes());
    let mut digest = Digest::default();
    digest.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    digest
}
