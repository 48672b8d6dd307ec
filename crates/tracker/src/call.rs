//! Calls to other trackers, as the engine makes them: an announce of one of our peers, and the probe by which an operator
//! tries a tracker out.

use std::num::{NonZeroU16, NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;
use weir_engine::dispatch::{Class, Job, JobKey};
use weir_engine::{Call, Ended, Outcome, Permit};
use weir_net::BoxFuture;
use weir_tracker_proto::{Announce, Event, InfoHash, PeerId};

use crate::clock::minute;
use crate::exchange::Exchange;
use crate::judge;
use crate::ledger::sheet::{News, Slot};
use crate::outbound::{NoAnswer, Outbound, Said};
use crate::swarm::{Endpoint, Seed};
use crate::upstreams::Forwarder;

/// An announce on its way to one tracker. From [`Announcing::begin`] to [`Call::ended`] the ledger counts it.
pub(crate) struct Announcing {
    exchange: Arc<Exchange>,
    forwarder: Arc<Forwarder>,
    announce: Announce,
    at: Endpoint,
    /// What the tracker wants to hear with a `stopped`: the sheet may be gone when it is sent.
    tracker_id: Option<Box<[u8]>>,
    /// The tracker hears of this peer for the first time, and has not answered yet.
    news: AtomicBool,
}

impl Announcing {
    /// Begins a call, which is then to be given to the engine or ended. `None` if the tracker is being asked already, or
    /// if there is no room for another info hash. The ledger has changed and is to be mirrored, but for a `stopped`.
    pub(crate) fn begin(
        exchange: &Arc<Exchange>,
        forwarder: &Arc<Forwarder>,
        announce: &Announce,
        at: Endpoint,
    ) -> Option<Self> {
        let call = Self {
            exchange: Arc::clone(exchange),
            forwarder: Arc::clone(forwarder),
            announce: *announce,
            at,
            tracker_id: match announce.event {
                Event::Stopped => {
                    let hash = &announce.info_hash.0;
                    exchange.ledger().tracker_id(hash, forwarder.slot)
                }
                _ => None,
            },
            news: AtomicBool::new(false),
        };
        let begun = match announce.event {
            Event::Stopped => {
                exchange.farewells.begin();
                true
            }
            _ => exchange.ledger().begin(call.hash(), call.regular()),
        };
        begun.then_some(call)
    }

    fn hash(&self) -> &[u8; 20] {
        &self.announce.info_hash.0
    }

    /// The slot of its tracker, which is asked regularly about a hash once at a time; none for an event.
    fn regular(&self) -> Option<Slot> {
        (!is_event(self.announce.event)).then_some(self.forwarder.slot)
    }

    /// The job of this call.
    pub(crate) fn job(&self, class: Class) -> Job {
        let keys = Keys {
            seed: self.exchange.swarms.seed(),
            slot: self.forwarder.slot,
        };
        let (hash, event) = (self.hash(), self.announce.event);
        let is_event = is_event(event);
        Job {
            pending: Some(match is_event {
                true => keys.event(hash, &self.at, event),
                false => keys.peer(hash, &self.at),
            }),
            scheduled: Some(match is_event {
                true => keys.event(hash, &self.at, event),
                false => keys.hash(hash),
            }),
            order: Some(keys.peer(hash, &self.at)),
            ..Job::new(self.forwarder.upstream, class)
        }
    }

    async fn call(&self, permit: Permit) -> Outcome {
        let (exchange, slot) = (&*self.exchange, self.forwarder.slot);
        let hash = self.hash();
        let stops = self.announce.event == Event::Stopped;
        let is_here = exchange.swarms.has_peer(hash, &self.at);
        if is_event(self.announce.event) && is_here == stops {
            return Outcome::Moot; // it waited so long that it is no longer true
        }
        let (tracker_id, first) = match stops {
            true => (self.tracker_id.clone(), false),
            false => exchange.ledger().tell(slot, self.at, &self.announce),
        };
        let news = self.news.fetch_or(first, Ordering::Relaxed) || first;
        // Until there is an answer nobody else asks; should it never come, not before a failure is over.
        let wait = permit.time_out() + exchange.judge().failed_delay();
        if !stops {
            let due = exchange.seconds_in(wait);
            exchange.ledger().set_due(hash, slot, due);
        }
        let announce = self.outward(news);
        let said = exchange
            .outbound
            .announce(
                &self.forwarder.target,
                &announce,
                tracker_id.as_deref(),
                permit.time_out(),
            )
            .await;
        let peers = match &said {
            Ok(Said::Given(given)) => exchange.foreign(&self.forwarder, hash, given).await,
            _ => Vec::new(),
        };
        self.take_in(&said, &peers, &permit)
    }

    /// The announce as the tracker gets it.
    fn outward(&self, news: bool) -> Announce {
        let event = match self.announce.event {
            Event::None if news => Event::Started,
            event => event,
        };
        let (ipv4, ipv6) = self.forwarder.stated();
        Announce {
            event,
            ip: self.forwarder.config.ip,
            ipv4,
            ipv6,
            numwant: Some(match event {
                Event::Stopped => 0,
                _ => self.exchange.judge().numwant,
            }),
            compact: Some(true),
            no_peer_id: true,
            ..self.announce
        }
    }

    /// Notes what a tracker said in the ledger. That is mirrored when the call ends, as it does at once after a good
    /// answer; before that, the tracker counts as being asked whatever its line says.
    fn take_in(
        &self,
        said: &Result<Said, NoAnswer>,
        peers: &[Endpoint],
        permit: &Permit,
    ) -> Outcome {
        let (exchange, hash) = (&*self.exchange, self.hash());
        let judge = exchange.judge();
        let judged = judge.judge(said, permit);
        if let Some(words) = judged.words {
            permit.explain(words);
        }
        if self.announce.event == Event::Stopped {
            // Nobody is here who would need to be told when.
            return match judged.outcome {
                Outcome::Again { .. } => Outcome::No,
                outcome => outcome,
            };
        }
        // A tracker that was taken away meanwhile says nothing any more, and its slot may be another's.
        let Some(current) = exchange.roster.find(self.forwarder.upstream) else {
            return judged.outcome;
        };
        let (ledger, slot) = (exchange.ledger(), current.slot);
        if let Ok(Said::Given(given)) = said {
            let interval = judge.interval(given);
            current.note_interval(interval);
            let expires = minute(exchange.seconds_in(judge.peers_live(interval)));
            let news = News {
                due: exchange.seconds_in(interval),
                expires: expires.short(),
                peers,
                tracker_id: given.tracker_id.as_deref(),
                most: usize::MAX,
            };
            ledger.absorb(hash, slot, &news);
        } else if let Some(due) = judged.due {
            ledger.set_due(hash, slot, exchange.seconds_in(due));
        }
        judged.outcome
    }
}

impl Call for Announcing {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        Box::pin(self.call(permit))
    }

    fn keep(&self) -> Option<Vec<u8>> {
        Some(write(&self.announce, &self.at))
    }

    fn ended(&self, _: Ended) {
        if self.announce.event == Event::Stopped {
            return self.exchange.farewells.end();
        }
        let hash = self.hash();
        self.exchange.ledger().end(hash, self.regular());
        self.exchange.mirror(hash);
    }
}

/// Asks a tracker for something that changes nothing there.
pub(crate) struct Probing {
    pub(crate) outbound: Arc<Outbound>,
    pub(crate) forwarder: Arc<Forwarder>,
}

impl Call for Probing {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            let target = &self.forwarder.target;
            match self.outbound.probe(target, permit.time_out()).await {
                Ok(()) => Outcome::Done,
                Err(no_answer) => {
                    permit.explain(no_answer.to_string());
                    judge::outcome(&no_answer, &permit)
                }
            }
        })
    }
}

/// Whether it is sent to all, whatever is due.
fn is_event(event: Event) -> bool {
    matches!(event, Event::Stopped | Event::Completed)
}

/// Keys of jobs at one tracker.
pub(crate) struct Keys<'a> {
    pub(crate) seed: &'a Seed,
    pub(crate) slot: Slot,
}

impl Keys<'_> {
    pub(crate) fn hash(&self, hash: &[u8; 20]) -> JobKey {
        self.key(0, &[hash])
    }

    pub(crate) fn peer(&self, hash: &[u8; 20], at: &Endpoint) -> JobKey {
        self.key(1, &[hash, at.wire()])
    }

    fn event(&self, hash: &[u8; 20], at: &Endpoint, event: Event) -> JobKey {
        self.key(2, &[hash, at.wire(), &[event_number(event)]])
    }

    /// The keyed hash of all of it. Parts need no marks between them: of one kind, only the address has two lengths.
    fn key(&self, kind: u8, parts: &[&[u8]]) -> JobKey {
        let mut bytes: SmallVec<[u8; 48]> = SmallVec::new();
        bytes.extend_from_slice(&self.slot.to_le_bytes());
        bytes.push(kind);
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        let hashed = self.seed.hash(&bytes);
        JobKey(NonZeroU64::new(hashed).unwrap_or(NonZeroU64::MAX))
    }
}

/// An event as it is kept.
fn event_number(event: Event) -> u8 {
    match event {
        Event::None => 0,
        Event::Completed => 1,
        Event::Started => 2,
        Event::Stopped => 3,
        Event::Paused => 4,
    }
}

/// What is kept of an announce across a restart.
fn write(announce: &Announce, at: &Endpoint) -> Vec<u8> {
    let mut kept = vec![1];
    kept.extend_from_slice(&announce.info_hash.0);
    kept.extend_from_slice(&announce.peer_id.0);
    kept.extend_from_slice(&announce.port.get().to_be_bytes());
    for count in [announce.uploaded, announce.downloaded, announce.left] {
        kept.extend_from_slice(&count.to_be_bytes());
    }
    kept.extend_from_slice(&announce.key.map_or(0, NonZeroU32::get).to_be_bytes());
    kept.push(event_number(announce.event));
    kept.extend_from_slice(at.wire());
    kept
}

/// The same back; `None` for what another version wrote.
pub(crate) fn read(kept: &[u8]) -> Option<(Announce, Endpoint)> {
    let (&1, kept) = kept.split_first()? else {
        return None;
    };
    let (hash, kept) = kept.split_first_chunk::<20>()?;
    let (peer_id, kept) = kept.split_first_chunk::<20>()?;
    let (port, kept) = kept.split_first_chunk::<2>()?;
    let (uploaded, kept) = kept.split_first_chunk::<8>()?;
    let (downloaded, kept) = kept.split_first_chunk::<8>()?;
    let (left, kept) = kept.split_first_chunk::<8>()?;
    let (key, kept) = kept.split_first_chunk::<4>()?;
    let (event, at) = kept.split_first()?;
    let at = match at.len() {
        6 => Endpoint::V4(at.try_into().ok()?),
        18 => Endpoint::V6(at.try_into().ok()?),
        _ => return None,
    };
    let port = NonZeroU16::new(u16::from_be_bytes(*port))?;
    let announce = Announce {
        uploaded: u64::from_be_bytes(*uploaded),
        downloaded: u64::from_be_bytes(*downloaded),
        left: u64::from_be_bytes(*left),
        key: NonZeroU32::new(u32::from_be_bytes(*key)),
        event: match event {
            0 => Event::None,
            1 => Event::Completed,
            2 => Event::Started,
            3 => Event::Stopped,
            4 => Event::Paused,
            _ => return None,
        },
        ..Announce::new(InfoHash(*hash), PeerId(*peer_id), port)
    };
    Some((announce, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_an_announce_is_read_back() {
        let port = NonZeroU16::new(6881).expect("not 0");
        let announce = Announce {
            uploaded: 1,
            downloaded: 2,
            left: 3,
            key: NonZeroU32::new(4),
            event: Event::Completed,
            ..Announce::new(InfoHash([5; 20]), PeerId([6; 20]), port)
        };
        for at in [Endpoint::V4([7; 6]), Endpoint::V6([8; 18])] {
            let kept = write(&announce, &at);
            assert!(kept.len() <= weir_engine::KEPT_BYTES);
            assert_eq!(read(&kept), Some((announce, at)));
            assert_eq!(read(&kept[1..]), None);
            assert_eq!(read(&kept[..kept.len() - 1]), None);
        }
    }
}
