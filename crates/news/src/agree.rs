//! Article numbers where several nodes share them: none is given before it stands in the log that all nodes append to
//! ([`crate::numbers::NumberLog`]), so that a number means the same article on all of them.
//!
//! A change of a newsgroup's numbers is tried on a copy, written to the log if nobody was faster, and only then made. While
//! the store does not answer, numbers that were given before are told, and what is found is kept without; it is fetched again
//! for its number when the store is back. Each node keeps a copy of each log. A store that has lost something gets it back
//! from the copies, and no number is given until all members have handed in theirs, or ten seconds are over.
//!
//! In the store, logs have names that say nothing, and entries are sealed with their log and their place there ([`SealedLog`]): whoever
//! can write to the store can make up no entry, and put none elsewhere. One that was changed means nothing.

mod following;
mod handing;
mod sealed;

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use weir_engine::{Node, NodePart};
use weir_store::shared::{LogAnswer, Lost, UpstreamKey};

use self::handing::Handing;
pub(crate) use self::sealed::SealedLog;
use crate::lines::SentLine;
use crate::model::Model;
use crate::newsgroup::{HeldNewsgroup, OpenNewsgroup, TakenIn, WindowSize, believed, named};
use crate::numbers::{
    ArticleNumbers, LogEntry, MOST_ARTICLES, Noted, NumberLog, Numbering, ServerId,
};
use crate::outbound::SelectedNumbers;
use crate::store::hash;

/// How often a change is tried anew because another node was faster.
const TRIES: usize = 8;

/// How long the first sight of a newsgroup waits for others to hand in what they know.
const PATIENCE: Duration = Duration::from_secs(3);

/// Entries of one log that are read; no newsgroup has so many.
const MOST_ENTRIES: usize = 200_000;

/// The servers that are configured here, as all nodes know them.
type Keys = Vec<(UpstreamKey, ServerId)>;

/// This node among others that give numbers.
pub(crate) struct Agreement {
    node: Node,
    handing: Arc<Handing>,
    /// What the node calls; let go with this.
    _part: Arc<dyn NodePart>,
}

impl Agreement {
    pub(crate) fn new(node: Node) -> Self {
        let handing = Arc::<Handing>::default();
        let part: Arc<dyn NodePart> = handing.clone();
        node.add_part(&part);
        Self {
            node,
            handing,
            _part: part,
        }
    }

    /// Whether all have handed in what the store may have lost.
    #[cfg(test)]
    pub(crate) fn is_done(&self) -> bool {
        self.handing.is_done()
    }

    async fn extend(
        &self,
        log: &str,
        known: usize,
        entries: Vec<Vec<u8>>,
    ) -> Result<LogAnswer, Lost> {
        let (log, known) = (SealedLog::new(self.node.seal(), log), known as u64);
        let sealed = log.seal(known, entries);
        let call = self
            .node
            .call(|store| store.extend(log.key(), known, sealed));
        Ok(log.open(known, call.await?))
    }

    /// Appends what gives numbers; false if somebody was faster, or the store has lost something and others have yet to hand
    /// in what they know.
    async fn give(&self, log: &str, known: usize, entries: Vec<Vec<u8>>) -> Result<bool, Lost> {
        // The epoch comes first: a new one is known here only after there is something to be handed in.
        let epoch = self.node.epoch();
        if !self.handing.is_done() {
            return Ok(false);
        }
        let (log, known) = (SealedLog::new(self.node.seal(), log), known as u64);
        let sealed = log.seal(known, entries);
        let call = self
            .node
            .call(|store| store.extend_within(Some(epoch), log.key(), known, sealed));
        let answer = call.await?;
        if !answer.appended && answer.length == known {
            // The next beat will notice it.
            self.node.hurry();
        }
        Ok(answer.appended)
    }

    /// All entries of a log.
    async fn whole(&self, log: &str) -> Result<Vec<Arc<[u8]>>, Lost> {
        let mut entries: Vec<Arc<[u8]>> = Vec::new();
        loop {
            let answer = self.extend(log, entries.len(), Vec::new()).await?;
            let some = !answer.entries.is_empty();
            entries.extend(answer.entries.into_iter().map(Arc::from));
            if !some || entries.len() as u64 >= answer.length {
                return Ok(entries);
            }
            if entries.len() > MOST_ENTRIES {
                let why = format!("the log of article numbers of {log:?} is too long");
                return Err(Lost::Refused(why));
            }
        }
    }
}

/// A change that was tried.
struct Trial<T> {
    numbers: Option<ArticleNumbers>,
    /// What the log has to say before it is made.
    entries: Vec<LogEntry>,
    told: T,
}

impl Model {
    /// The servers that are configured, as all nodes know them.
    fn keys(&self, node: &Node) -> Keys {
        let servers = self.federation.in_order().into_iter();
        let keys = servers.map(|server| {
            let key = server.entry().key(node.seal());
            (key, self.server_id(&server))
        });
        keys.collect()
    }

    /// Takes in what a server says of its numbers, and tells which windows are to be fetched to be up to date with it.
    pub(crate) async fn see(
        &self,
        open: &OpenNewsgroup,
        server: ServerId,
        said: SelectedNumbers,
        size: WindowSize,
    ) -> Vec<RangeInclusive<u64>> {
        let others = self.carried(&open.name);
        let told = self.told(&open.name);
        let Some(agreement) = &self.agreement else {
            return open.seen(server, said, (&others, told), size);
        };
        let carried = believed(said);
        let turn = open.agreeing.lock().await;
        let numbering = self.agree(agreement, open, |state, keys, give| {
            let none = NumberLog::default();
            let log = state.log.as_ref().unwrap_or(&none);
            let numbers = match &state.numbers {
                Some(numbers) => Some(numbers.clone()),
                None if log.is_open() => Some(ArticleNumbers::from_log(log, keys)),
                None if give => {
                    let first = std::iter::once((server, carried));
                    let rest = others.iter().copied().filter(|(other, _)| *other != server);
                    let servers: Vec<_> = first.chain(rest).collect();
                    Some(ArticleNumbers::first_sight_above(&servers, told))
                }
                None => None,
            };
            let Some(mut numbers) = numbers else {
                return Trial {
                    numbers: None,
                    entries: Vec::new(),
                    told: Numbering::Same,
                };
            };
            let known = numbers.has_seen(server);
            let first = !log.is_open() && numbers.is_unseen();
            let mut numbering = numbers.seen_with(server, carried, first, give);
            let key = keys.iter().find(|(_, id)| *id == server);
            if let Some((key, _)) = key.filter(|_| !known && log.is_open()) {
                numbers.take_runs(server, *key, log);
                numbering = numbers.seen_with(server, carried, first, give);
            }
            // Numbers of servers that this node has not seen, or does not have, are not its to give up; nor those of one
            // that it has just seen for the first time: its lines will show whether they mean what the log says.
            let seen = keys.iter().filter(|(_, id)| numbers.has_seen(*id));
            let seen: Keys = seen.copied().collect();
            if (known || !log.is_open()) && !log.has_others(&seen) {
                numbers.raise_low(None);
            }
            let mut entries = renewal(log, key_of(keys, server), numbering);
            entries.extend(match log.is_open() {
                false => numbers.opening(|id| key_of(keys, id)),
                true => numbers.promises_above(log.high(), |id| key_of(keys, id)),
            });
            Trial {
                numbers: Some(numbers),
                entries,
                told: numbering,
            }
        });
        let numbering = numbering.await;
        drop(turn);
        open.with(|state| state.note_seen(server, carried, numbering, size))
    }

    /// Takes in lines that a server sent for a window.
    pub(crate) async fn take_in(
        &self,
        open: &OpenNewsgroup,
        server: ServerId,
        window: &RangeInclusive<u64>,
        lines: &[SentLine],
        now: i64,
    ) -> TakenIn {
        let Some(agreement) = &self.agreement else {
            return open.take_in(server, window, lines, (&self.file, now));
        };
        let named = named(lines);
        let turn = open.agreeing.lock().await;
        let key = key_of(&self.keys(&agreement.node), server);
        let renewals = || {
            let of = |log: &NumberLog| key.map(|key| log.renewals(key));
            open.with(|state| state.log.as_ref().and_then(of))
        };
        let before = renewals();
        let noted = self.agree(agreement, open, |state, keys, give| {
            let Some(mut numbers) = state.numbers.clone() else {
                let told = Noted {
                    numbering: Numbering::Same,
                    numbers: vec![None; named.len()],
                    withheld: !named.is_empty(),
                };
                return Trial {
                    numbers: None,
                    entries: Vec::new(),
                    told,
                };
            };
            let what = (server, window, &named[..]);
            let noted = open.note_agreed(state, &mut numbers, what, (&self.file, give));
            let mut entries = Vec::new();
            if let (Some(log), Some(key)) = (&state.log, key_of(keys, server)) {
                let renews = noted.numbering == Numbering::New;
                let numbered = named.iter().zip(&noted.numbers);
                let articles = numbered.filter_map(|((theirs, id), number)| {
                    let (number, id) = ((*number)?, hash(id).cast_unsigned());
                    let new = log.id_of(number).is_none() && log.number_of(id).is_none();
                    let found = log.id_of(number) == Some(id) && (renews || log.lacks(key, number));
                    (new || found).then_some((number, *theirs, id))
                });
                entries = renewal(log, Some(key), noted.numbering);
                entries.extend(bindings(key, articles.collect()));
            }
            Trial {
                numbers: Some(numbers),
                entries,
                told: noted,
            }
        });
        let mut noted = noted.await;
        if renewals() != before {
            // Another node may have noticed it first.
            noted.numbering = Numbering::New;
        }
        let taken = open.with(|state| state.note_lines(server, window, lines, noted, now));
        drop(turn);
        taken
    }

    /// No number up to this one is given any more: newsreaders were told that there might be articles.
    pub(crate) async fn raise_high(&self, open: &OpenNewsgroup, told: u64) {
        let Some(agreement) = &self.agreement else {
            return open.with(|state| {
                if let Some(numbers) = &mut state.numbers {
                    numbers.raise_high(told);
                }
            });
        };
        let high = open.with(|state| state.numbers.as_ref().map(ArticleNumbers::high));
        if high.is_none_or(|high| told <= high) {
            return;
        }
        let _turn = open.agreeing.lock().await;
        let raised = self.agree(agreement, open, |state, _, give| {
            let mut numbers = state.numbers.clone();
            let mut entries = Vec::new();
            if let Some(numbers) = numbers.as_mut().filter(|_| give) {
                numbers.raise_high(told);
                let high = numbers.high();
                if state.log.as_ref().is_some_and(|log| log.high() < high) {
                    entries.push(LogEntry::Raise { high });
                }
            }
            Trial {
                numbers,
                entries,
                told: (),
            }
        });
        raised.await;
    }

    /// Makes a change once the log has it. If that cannot be, it is made without giving numbers.
    async fn agree<T>(
        &self,
        agreement: &Agreement,
        open: &OpenNewsgroup,
        change: impl Fn(&HeldNewsgroup, &Keys, bool) -> Trial<T>,
    ) -> T {
        let keys = self.keys(&agreement.node);
        let mut give = self.may_give(agreement, open, &keys).await;
        for _ in 0..TRIES {
            let trial = open.with(|state| change(state, &keys, give));
            if give && !trial.entries.is_empty() {
                match self.append(agreement, open, &trial.entries).await {
                    Ok(true) => {}
                    Ok(false) => {
                        give = self.may_give(agreement, open, &keys).await;
                        continue;
                    }
                    Err(_) => {
                        give = false;
                        continue;
                    }
                }
            }
            open.with(|state| {
                state.numbers = trial.numbers;
                if give {
                    state.number_again();
                }
            });
            return trial.told;
        }
        let trial = open.with(|state| change(state, &keys, false));
        open.with(|state| state.numbers = trial.numbers);
        trial.told
    }

    /// Whether numbers may be given now, with the log as it stands in the store.
    async fn may_give(&self, agreement: &Agreement, open: &OpenNewsgroup, keys: &Keys) -> bool {
        let first = |state: &mut HeldNewsgroup| {
            let log = state.log.as_ref();
            state.numbers.is_none() && log.is_some_and(|log| !log.is_open())
        };
        if !agreement.handing.is_done() && !agreement.node.is_alone() && open.with(first) {
            let _ = tokio::time::timeout(PATIENCE, agreement.handing.done.notified()).await;
        }
        if agreement.node.is_alone() || self.catch_up(agreement, open, keys).await.is_err() {
            return false;
        }
        let writable = |state: &mut HeldNewsgroup| {
            let log = state.log.as_ref();
            log.is_some_and(NumberLog::is_writable)
        };
        agreement.handing.is_done() && open.with(writable)
    }
}

fn key_of(keys: &Keys, server: ServerId) -> Option<UpstreamKey> {
    let found = keys.iter().find(|(_, id)| *id == server);
    found.map(|(key, _)| *key)
}

/// What the log has to hear if a server has begun to count again.
fn renewal(log: &NumberLog, server: Option<UpstreamKey>, numbering: Numbering) -> Vec<LogEntry> {
    let renewed = server.filter(|_| numbering == Numbering::New && log.is_open());
    let entry = renewed.map(|server| LogEntry::Renew {
        server,
        times: log.renewals(server).saturating_add(1),
    });
    entry.into_iter().collect()
}

/// Entries that say whose numbers these are.
fn bindings(server: UpstreamKey, articles: Vec<(u64, u64, u64)>) -> Vec<LogEntry> {
    let parts = articles.chunks(MOST_ARTICLES);
    let entries = parts.map(|part| LogEntry::Bind {
        server,
        articles: part.to_vec(),
    });
    entries.collect()
}
