//! The store on Valkey or Redis, one server or a cluster: each call is one script (`redis/scripts/*.lua`), which says the
//! same as `memory/rows.rs`.
//!
//! All keys but those of swarm streams begin with `{weir}:` and so lie on one server of a cluster. Every key ends by itself
//! when nobody writes to it any more. The scripts' form is numbered (`needs`): a store that a newer Weir has written to in a form
//! that this one does not understand is [`Lost::Newer`]; fields that this one does not know stay as they are.

mod address;
mod guard;
mod hear;
mod link;
mod say;
mod scripts;
mod trouble;
mod wire;

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio_rustls::rustls::ClientConfig;

pub use self::address::RedisAddress;
use self::hear::{read_answer, read_pulse, read_row};
use self::link::Links;
use self::say::{put_limit, put_starts, put_switched, put_told, stream_key, table_name};
use self::scripts::Script;
use self::wire::{Args, Fields, hex};
use super::{
    Answer, Ask, AskId, Beat, Claim, Entry, Epoch, HandIn, HandedStart, Lease, Leave, LogAnswer,
    LogKey, Lost, MOST_ADDRESSES, MOST_MEMBERS, NodeId, Place, Pulse, Question, Reply, Seal,
    SharedRow, SharedStore, StoreTime, Stream, StreamEnd, StreamEnds, Table, TableChanges, Told,
    UpstreamKey, Version, fits, shortened,
};

/// Upstreams that one script looks at; more of them are several calls.
const AT_ONCE: usize = 16;

/// Starts that one script takes.
const STARTS_AT_ONCE: usize = 2000;

/// Streams that are read with one question. The answer has at least one entry of each that has any, and entries may be a mebibyte
/// long: longer answers than all of these together are refused.
const TOGETHER: usize = 24;

/// Bytes of one call at most.
const LONGEST_CALL: usize = 16 << 20;

/// Rows of a table at most.
const MOST_ROWS: usize = 4_000_000;

/// Bytes of keys and values that are read of a table at once.
const MOST_TABLE_BYTES: usize = 256 << 20;

/// Pieces in which a table is read; each has two thousand rows or four megabytes, but for those that were rewritten meanwhile.
const MOST_TABLE_PIECES: usize = 3 * MOST_ROWS / 2000;

/// A store on Valkey or Redis. Its connections are made and made anew in the background; a call while there is none ends at
/// once. Dropped, they end.
pub struct RedisStore {
    links: Arc<Links>,
    /// Which secret is used, so that a node with another one is told so.
    check: String,
    /// The time of the newest pulse that was heard of.
    heard: AtomicU64,
    /// What the scripts take for the time, instead of the server's: for tests alone.
    clock: Option<Arc<AtomicU64>>,
}

impl RedisStore {
    /// Begins to connect. `tls` is needed for `rediss://`; every call ends within `timeout`, usually one second.
    pub fn open(
        address: RedisAddress,
        seal: &Seal,
        tls: Option<Arc<ClientConfig>>,
        timeout: Duration,
    ) -> Self {
        Self {
            links: Links::open(address, tls, timeout, link::CHECK_EVERY),
            check: hex(&seal.check()),
            heard: AtomicU64::new(0),
            clock: None,
        }
    }

    /// The same with a clock that stands still until it is moved. For tests: all handles on one store need the same.
    #[must_use]
    pub fn with_clock(mut self, millis: Arc<AtomicU64>) -> Self {
        self.clock = Some(millis);
        self
    }

    /// Waits until the first attempt to connect has ended, for a word at the start.
    ///
    /// # Errors
    /// Why there is no connection; it is tried again all the same.
    pub async fn ready(&self) -> Result<(), Lost> {
        self.links.ready().await
    }

    fn clock(&self) -> String {
        let clock = self.clock.as_ref();
        clock.map_or_else(String::new, |clock| {
            clock.load(Ordering::SeqCst).to_string()
        })
    }

    /// Runs a script where everything but streams is.
    async fn run(&self, script: Script, fill: impl FnOnce(&mut Args)) -> Result<Fields, Lost> {
        Fields::of(self.value(script, fill).await?)
    }

    async fn value(
        &self,
        script: Script,
        fill: impl FnOnce(&mut Args),
    ) -> Result<redis::Value, Lost> {
        let mut own = Args::default();
        fill(&mut own);
        let bytes = own.0.iter().map(|arg| arg.len() + 16).sum();
        if bytes > LONGEST_CALL {
            return Err(Lost::TooLong(bytes));
        }
        let args = |run: &str| {
            let mut args = Args::default();
            args.text(run).text(&self.clock()).text(&self.check);
            args.0.append(&mut own.0);
            args
        };
        self.links.call(script, &["{weir}:meta"], args).await
    }

    /// Hands in; `more` of it follows.
    async fn hand_in_piece(&self, hand_in: &HandIn, more: bool) -> Result<Pulse, Lost> {
        let reply = self.run(Script::HandIn, |args| {
            args.node(hand_in.node).epoch(hand_in.epoch).flag(more);
            args.upstreams(&hand_in.upstreams());
            let known = hand_in.known.iter().take(MOST_MEMBERS);
            args.count(known.len());
            for node in known {
                args.node(*node);
            }
            put_starts(args, &hand_in.starts);
            args.count(hand_in.shares.len());
            for share in &hand_in.shares {
                args.upstream(share.upstream).ledger(share.ledger);
                args.window(share.window).number(share.starts.into());
            }
            args.count(hand_in.throttled.len());
            for (upstream, span, reason) in &hand_in.throttled {
                args.upstream(*upstream).span(*span).text(shortened(reason));
            }
            args.count(hand_in.limits.len());
            for (upstream, limit) in &hand_in.limits {
                args.upstream(*upstream);
                put_limit(args, *limit);
            }
            args.count(hand_in.switched.len());
            for (upstream, switched) in &hand_in.switched {
                args.upstream(*upstream);
                put_switched(args, switched);
            }
        });
        read_pulse(reply.await?, &self.heard)
    }

    async fn leave_piece(&self, leave: &Leave, more: bool) -> Result<(), Lost> {
        let fill = |args: &mut Args| {
            args.node(leave.node);
            args.number(self.heard.load(Ordering::SeqCst)).flag(more);
            args.upstreams(&leave.upstreams());
            put_starts(args, &leave.starts);
        };
        wire::number(self.value(Script::Leave, fill).await?).map(drop)
    }

    /// Reads streams that lie together.
    async fn read_some(
        &self,
        after: &[(Stream, Place)],
        most: usize,
    ) -> Result<Vec<StreamEnd>, Lost> {
        let keys: Vec<_> = after
            .iter()
            .map(|(stream, _)| stream_key(*stream))
            .collect();
        let args = |_: &str| {
            let mut args = Args::default();
            args.count(most.min(1000));
            for (_, place) in after {
                args.text(&format!("{}-{}", place.millis, place.number));
            }
            args
        };
        let reply = Fields::of(self.links.call(Script::Read, &keys, args).await?)?;
        if reply.left() != after.len() {
            return Fields::unknown();
        }
        let mut streams = after.iter().map(|(stream, _)| *stream);
        reply.each(|end| {
            let mut end = end.fields()?;
            let last = end.place()?;
            let entries = end.fields()?.each(|entry| {
                let place = entry.place()?;
                Ok((place.map_or_else(Fields::unknown, Ok)?, entry.bytes()?))
            })?;
            Ok(StreamEnd {
                stream: streams.next().map_or_else(Fields::unknown, Ok)?,
                last,
                entries,
            })
        })
    }

    /// A table, piece by piece.
    async fn read_table(&self, table: Table, since: Version) -> Result<Option<TableChanges>, Lost> {
        let mut rows: HashMap<Vec<u8>, (usize, Option<Vec<u8>>)> = HashMap::new();
        let mut from: Option<u64> = None;
        let (mut whole, mut began): (bool, Option<Epoch>) = (false, None);
        let (mut place, mut bytes) = (0, 0);
        for _ in 0..MOST_TABLE_PIECES {
            let mut reply = self
                .run(Script::Changes, |args| {
                    args.text(table_name(table));
                    if since == Version::NONE {
                        args.text("");
                    } else {
                        args.text(&format!("{:06x}", since.0 >> 40));
                    }
                    args.number(since.count()).maybe(from).flag(whole);
                })
                .await?;
            let (epoch, last) = (reply.epoch()?, reply.number()?);
            whole = reply.number()? == 1;
            let (till, more) = (reply.number()?, reply.number()? == 1);
            if *began.get_or_insert(epoch) != epoch {
                return Ok(None);
            }
            let mut entries = reply.fields()?;
            while !entries.is_empty() {
                let (key, value) = (entries.bytes()?, entries.value()?);
                bytes += key.len() + value.as_ref().map_or(0, Vec::len);
                rows.insert(key, (place, value));
                place += 1;
            }
            let too_long = rows.len() > MOST_ROWS || bytes > MOST_TABLE_BYTES;
            if too_long || more && from.is_some_and(|from| till <= from) {
                break;
            }
            if more {
                from = Some(till);
                continue;
            }
            let mut rows: Vec<_> = rows.into_iter().collect();
            rows.retain(|(_, (_, value))| value.is_some() || !whole);
            rows.sort_by_key(|(_, (place, _))| *place);
            return Ok(Some(TableChanges {
                version: Version::of(epoch, last),
                whole,
                entries: rows
                    .into_iter()
                    .map(|(key, (_, value))| (key, value))
                    .collect(),
            }));
        }
        Err(Lost::Refused("a table of the store is too long".into()))
    }
}

/// Takes the first of many starts, which are handed in by pieces: what a script does takes its time, and nobody else is heard
/// meanwhile. Names make it safe to hand in some of them twice.
fn piece(starts: &mut Vec<HandedStart>) -> Option<Vec<HandedStart>> {
    (starts.len() > STARTS_AT_ONCE).then(|| starts.drain(..STARTS_AT_ONCE).collect())
}

impl SharedStore for RedisStore {
    fn beat(&self, beat: Beat) -> Reply<'_, Pulse> {
        async move {
            let reply = self.run(Script::Beat, |args| {
                let addresses = beat
                    .addresses
                    .iter()
                    .take(MOST_ADDRESSES)
                    .map(IpAddr::to_string);
                let addresses = addresses.collect::<Vec<_>>().join(" ");
                args.node(beat.node).text(shortened(&beat.name));
                args.text(shortened(&beat.version)).text(&addresses);
                args.span(beat.lag).epoch(beat.new_epoch);
                args.number(self.heard.load(Ordering::SeqCst));
                args.epoch(beat.distrusts).upstreams(&beat.upstreams());
                args.count(beat.shares.len());
                for wish in &beat.shares {
                    args.upstream(wish.upstream).ledger(wish.ledger);
                    args.window(wish.window).number(wish.limit.into());
                }
            });
            read_pulse(reply.await?, &self.heard)
        }
        .boxed()
    }

    fn hand_in(&self, mut hand_in: HandIn) -> Reply<'_, Pulse> {
        async move {
            while let Some(starts) = piece(&mut hand_in.starts) {
                let piece = HandIn {
                    node: hand_in.node,
                    epoch: hand_in.epoch,
                    starts,
                    ..HandIn::default()
                };
                let pulse = self.hand_in_piece(&piece, true).await?;
                if pulse.epoch != hand_in.epoch {
                    return Ok(pulse);
                }
            }
            self.hand_in_piece(&hand_in, false).await
        }
        .boxed()
    }

    fn leave(&self, mut leave: Leave) -> Reply<'_, ()> {
        async move {
            while let Some(starts) = piece(&mut leave.starts) {
                let node = leave.node;
                self.leave_piece(&Leave { node, starts }, true).await?;
            }
            self.leave_piece(&leave, false).await
        }
        .boxed()
    }

    fn ask(&self, ask: Ask) -> Reply<'_, Answer> {
        async move {
            let reply = self.run(Script::Ask, |args| {
                args.node(ask.id.node).id(ask.id).upstream(ask.upstream);
                args.ledger(ask.ledger).count(ask.windows.len());
                for (window, limit) in &ask.windows {
                    args.window(*window).number((*limit).into());
                }
                args.maybe(ask.day_begins.map(Into::into));
                args.maybe(ask.gap.map(super::words::millis));
                match &ask.question {
                    Some(question) => args.key(&question.key),
                    None => args.text(""),
                };
                let question = ask.question.as_ref();
                args.span(question.map_or(Duration::ZERO, |question| question.claim));
                args.span(question.map_or(Duration::ZERO, |question| question.fresh));
                args.number(ask.wanted_until.0);
            });
            read_answer(reply.await?)
        }
        .boxed()
    }

    fn tell(&self, upstream: UpstreamKey, told: Vec<Told>) -> Reply<'_, StoreTime> {
        async move {
            let reply = self.value(Script::Tell, |args| {
                args.upstream(upstream).count(told.len());
                for told in &told {
                    put_told(args, told);
                }
            });
            wire::number(reply.await?).map(StoreTime)
        }
        .boxed()
    }

    fn rows(&self, upstreams: Vec<UpstreamKey>) -> Reply<'_, Vec<SharedRow>> {
        async move {
            let mut rows = Vec::with_capacity(upstreams.len());
            for upstreams in upstreams.chunks(AT_ONCE) {
                let reply = self.run(Script::Rows, |args| {
                    args.count(upstreams.len());
                    for upstream in upstreams {
                        args.upstream(*upstream);
                    }
                });
                let mut reply = reply.await?;
                let now = reply.time()?;
                if reply.left() != upstreams.len() {
                    return Fields::unknown();
                }
                rows.extend(reply.each(|row| Ok(read_row(now, row.fields())))?);
            }
            Ok(rows)
        }
        .boxed()
    }

    fn answer(
        &self,
        question: Question,
        claim: AskId,
        body: Option<Vec<u8>>,
        keep: Duration,
    ) -> Reply<'_, ()> {
        async move {
            fits(body.as_ref().map_or(0, Vec::len))?;
            let reply = self.value(Script::Answer, |args| {
                args.key(&question.key).id(claim).span(keep);
                args.value(body.as_deref());
            });
            wire::number(reply.await?).map(drop)
        }
        .boxed()
    }

    fn claim(&self, keys: Vec<[u8; 16]>, by: NodeId, span: Duration) -> Reply<'_, Vec<Claim>> {
        async move {
            let reply = self.run(Script::Claim, |args| {
                args.node(by).span(span).count(keys.len());
                for key in &keys {
                    args.key(key);
                }
            });
            let mut reply = reply.await?;
            reply.time()?;
            if reply.left() != keys.len() {
                return Fields::unknown();
            }
            reply.each(|claim| {
                let mut claim = claim.fields()?;
                if claim.is_empty() {
                    return Ok(Claim::Ours);
                }
                Ok(Claim::Theirs {
                    by: claim.node()?,
                    left: claim.span()?,
                })
            })
        }
        .boxed()
    }

    fn append(&self, stream: Stream, body: Vec<u8>, keep: Duration) -> Reply<'_, Place> {
        async move {
            fits(body.len())?;
            let args = |_: &str| {
                let mut args = Args::default();
                args.text(&self.clock()).span(keep);
                args.0.push(body);
                args
            };
            let key = stream_key(stream);
            let reply = self.links.call(Script::Append, &[key], args).await?;
            let mut reply = Fields::of(reply)?;
            Ok(Place {
                millis: reply.number()?,
                number: reply.number()?,
            })
        }
        .boxed()
    }

    fn read(&self, after: Vec<(Stream, Place)>, most: usize) -> Reply<'_, StreamEnds> {
        async move {
            // One question for all that lie together, which on a single server are all: nodes ask five times a second each, for
            // two streams of every other.
            let mut together: BTreeMap<_, Vec<_>> = BTreeMap::new();
            for (stream, place) in after {
                let part = self.links.part_of(&stream_key(stream));
                together.entry(part).or_default().push((stream, place));
            }
            let some = together.values().flat_map(|all| all.chunks(TOGETHER));
            let reads = some.map(|some| self.read_some(some, most));
            let mut read = StreamEnds::default();
            for ends in join_all(reads).await {
                match ends {
                    Ok(mut ends) => read.ends.append(&mut ends),
                    Err(lost) if lost.is_whole() => return Err(lost),
                    Err(lost) => read.lost = Some(lost),
                }
            }
            Ok(read)
        }
        .boxed()
    }

    fn put(&self, table: Table, entries: Vec<Entry>, keep: Duration) -> Reply<'_, Version> {
        async move {
            for (key, value) in &entries {
                fits(key.len() + value.as_ref().map_or(0, Vec::len))?;
            }
            let reply = self.run(Script::Put, |args| {
                args.text(table_name(table));
                args.span(keep).count(entries.len());
                for (key, value) in &entries {
                    args.bytes(key).value(value.as_deref());
                }
            });
            let mut reply = reply.await?;
            Ok(Version::of(reply.epoch()?, reply.number()?))
        }
        .boxed()
    }

    fn changes(&self, table: Table, since: Version) -> Reply<'_, TableChanges> {
        async move {
            for _ in 0..3 {
                if let Some(changes) = self.read_table(table, since).await? {
                    return Ok(changes);
                }
            }
            Err(Lost::Silent(
                "the store changes its epoch again and again".into(),
            ))
        }
        .boxed()
    }

    fn extend_within(
        &self,
        epoch: Option<Epoch>,
        log: LogKey,
        known: u64,
        entries: Vec<Vec<u8>>,
    ) -> Reply<'_, LogAnswer> {
        async move {
            for entry in &entries {
                fits(entry.len())?;
            }
            let LogKey::Numbers(key) = &log;
            let mut reply = self
                .run(Script::Extend, |args| {
                    args.text(&format!("numbers:{}", hex(key))).number(known);
                    match epoch {
                        Some(epoch) => args.epoch(epoch),
                        None => args.text(""),
                    };
                    args.count(entries.len());
                    for entry in &entries {
                        args.bytes(entry);
                    }
                })
                .await?;
            Ok(LogAnswer {
                appended: reply.number()? == 1,
                length: reply.number()?,
                entries: reply.fields()?.each(Fields::bytes)?,
            })
        }
        .boxed()
    }

    fn lease(&self, account: UpstreamKey, by: NodeId, open: u32, limit: u32) -> Reply<'_, Lease> {
        async move {
            let reply = self.run(Script::Lease, |args| {
                args.upstream(account).node(by);
                args.number(open.into()).number(limit.into());
            });
            let mut reply = reply.await?;
            Ok(Lease {
                now: reply.time()?,
                granted: reply.small()?,
                others: reply.small()?,
                nodes: reply.small()?,
            })
        }
        .boxed()
    }
}

#[cfg(test)]
mod same;
#[cfg(test)]
mod tests;
