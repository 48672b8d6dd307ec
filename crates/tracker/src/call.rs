//! Calls to other trackers, as the engine makes them: an announce of one of our peers, and the probe by which an operator
//! tries a tracker out.

mod kept;
mod keys;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weir_engine::dispatch::{Asker, Class, Job};
use weir_engine::{About, Call, Ended, Outcome, Permit, Reason};
use weir_net::BoxFuture;
use weir_tracker_proto::{Announce, Event};

use crate::clock::minute;
use crate::exchange::Exchange;
use crate::judge::{self, Judged};
use crate::last_words::LastWord;
use crate::ledger::sheet::{News, Slot};
use crate::outbound::{NoUsableAnswer, Outbound, Said};
use crate::sharing::TrackerSaid;
use crate::swarm::PeerEndpoint;
use crate::upstreams::Forwarder;

pub(crate) use self::kept::read;
pub(crate) use self::keys::Keys;

/// An announce on its way to one tracker. From [`Announcing::begin`] to [`Call::ended`] the ledger counts it.
pub(crate) struct Announcing {
    exchange: Arc<Exchange>,
    forwarder: Arc<Forwarder>,
    announce: Announce,
    at: PeerEndpoint,
    /// What the tracker wants to hear with a `stopped`: the sheet may be gone when it is sent.
    tracker_id: Option<Box<[u8]>>,
    /// The tracker hears of this peer for the first time, and has not answered yet.
    news: AtomicBool,
    /// An attempt was made.
    made: AtomicBool,
    /// From when on the tracker might be asked when this began; another node may have asked meanwhile.
    due: u32,
}

impl Announcing {
    /// Begins a call, which is then to be given to the engine or ended. `None` if the tracker is being asked already, or
    /// if there is no room for another info hash. The ledger has changed and is to be mirrored, but for a `stopped`.
    pub(crate) fn begin(
        exchange: &Arc<Exchange>,
        forwarder: &Arc<Forwarder>,
        announce: &Announce,
        at: PeerEndpoint,
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
            made: AtomicBool::new(false),
            due: match exchange.sharing {
                Some(_) => exchange.ledger().due(&announce.info_hash.0, forwarder.slot),
                None => 0,
            },
        };
        if announce.event == Event::Stopped {
            exchange.farewells.begin();
            return Some(call);
        }
        if !exchange.ledger().begin(call.hash(), call.regular()) {
            return None;
        }
        if announce.event == Event::Completed {
            // Should the peer stop before this is its turn, the tracker hears of that too, after it.
            let (_, first) = exchange.ledger().tell(forwarder.slot, at, announce);
            call.news.store(first, Ordering::Relaxed);
        }
        Some(call)
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
            asker: self.asker(),
            ..Job::new(self.forwarder.upstream, class)
        }
    }

    /// The peer's program.
    fn asker(&self) -> Asker {
        let exchange = &*self.exchange;
        exchange
            .programs
            .asker(&self.announce.peer_id, |name| exchange.engine.asker(name))
    }

    async fn call(&self, permit: Permit) -> Outcome {
        let (exchange, slot) = (&*self.exchange, self.forwarder.slot);
        let hash = self.hash();
        let stops = self.announce.event == Event::Stopped;
        if stops && exchange.swarms.has_peer(hash, &self.at) {
            return Outcome::Moot; // it waited so long that it is no longer true
        }
        if self.is_asked_elsewhere(&permit).await {
            return Outcome::Moot;
        }
        self.made.store(true, Ordering::Relaxed);
        let (tracker_id, first) = match stops {
            true => {
                // A `completed` of the same peer may have told it once more meanwhile.
                exchange.ledger().untell_one(hash, &self.at, slot);
                (self.tracker_id.clone(), false)
            }
            // A `completed` goes out although its peer has left: trackers count downloads by it.
            false => exchange.ledger().tell(slot, self.at, &self.announce),
        };
        let news = self.news.fetch_or(first, Ordering::Relaxed) || first;
        // Until there is an answer nobody else asks; should it never come, not before a failure is over.
        let wait = permit.time_out() + exchange.judge().failed_delay;
        if !stops {
            let due = exchange.seconds_in(wait);
            exchange.ledger().set_due(hash, slot, due);
        }
        let announce = self.outward(news);
        let waiting = Waiting(Some(self));
        let said = exchange
            .outbound
            .announce(
                &self.forwarder.target,
                &announce,
                tracker_id.as_deref(),
                permit.time_out(),
            )
            .await;
        waiting.over();
        let peers = match &said {
            Ok(Said::Given(given)) => exchange.foreign(&self.forwarder, hash, given).await,
            _ => Vec::new(),
        };
        self.take_in(&said, &peers, &permit)
    }

    /// Whether another node asks the tracker about this hash, or just did. It is due here as it is there then. Nobody waits
    /// for a store that does not answer.
    async fn is_asked_elsewhere(&self, permit: &Permit) -> bool {
        let (exchange, hash, slot) = (&*self.exchange, self.hash(), self.forwarder.slot);
        let Some(sharing) = exchange
            .sharing
            .as_ref()
            .filter(|_| self.regular().is_some())
        else {
            return false;
        };
        if !self.made.load(Ordering::Relaxed) {
            let due = exchange.ledger().due(hash, slot);
            if due != self.due && due > exchange.clock.now().seconds {
                sharing.count_elsewhere();
                return true;
            }
        }
        let claim = sharing.claim(hash, &self.forwarder, permit.time_out());
        match claim.await {
            Some(left) => {
                let ledger = exchange.ledger();
                // Its answer may have come while this one waited for the store.
                let due = exchange.seconds_in(left).max(ledger.due(hash, slot));
                ledger.set_due(hash, slot, due);
                true
            }
            None => false,
        }
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
        said: &Result<Said, NoUsableAnswer>,
        peers: &[PeerEndpoint],
        permit: &Permit,
    ) -> Outcome {
        let (exchange, hash) = (&*self.exchange, self.hash());
        let judge = exchange.judge();
        let mut judged = judge.judge(said, permit);
        // A tracker that was taken away meanwhile says nothing any more, and its slot may be another's.
        let current = exchange.roster.find(self.forwarder.upstream);
        if let Some(current) = &current {
            self.hear_never(said, &mut judged, current.slot);
        }
        self.note_word(said, peers, &judged);
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
        let Some(current) = current else {
            return judged.outcome;
        };
        let (ledger, slot) = (exchange.ledger(), current.slot);
        if let Ok(Said::Given(given)) = said {
            let interval = judge.interval(given);
            current.note_interval(&exchange.engine, interval);
            let expires = minute(exchange.seconds_in(judge.peers_live(interval)));
            let news = News {
                due: exchange.seconds_in(interval),
                expires: expires.short(),
                peers,
                tracker_id: given.tracker_id.as_deref(),
                most: usize::MAX,
            };
            ledger.absorb(hash, slot, &news);
            self.tell_others(interval, Some((peers, judge.peers_live(interval))));
        } else if let Some(due) = judged.due {
            ledger.set_due(hash, slot, exchange.seconds_in(due));
            self.tell_others(due, None);
        }
        judged.outcome
    }

    /// Tells the other nodes what the tracker said.
    fn tell_others(&self, due: Duration, peers: Option<(&[PeerEndpoint], Duration)>) {
        if let Some(sharing) = &self.exchange.sharing {
            let hash = self.hash();
            let said = TrackerSaid { hash, due, peers };
            sharing.tell_answer(&self.forwarder, &said);
        }
    }

    /// Keeps for pages what the tracker said.
    fn note_word(
        &self,
        said: &Result<Said, NoUsableAnswer>,
        peers: &[PeerEndpoint],
        judged: &Judged,
    ) {
        if self.announce.event == Event::Stopped {
            return; // nothing was asked
        }
        let exchange = &*self.exchange;
        let at = exchange.engine.timeline().now();
        let word = match (said, &judged.words) {
            (Ok(Said::Given(given)), _) => LastWord {
                at,
                seeders: given.seeders,
                leechers: given.leechers,
                peers: peers.len(),
                interval: Some(exchange.judge().interval(given)),
                trouble: None,
            },
            (_, words) => LastWord::trouble(at, words.as_deref().unwrap_or_default()),
        };
        let tracker = self.forwarder.upstream;
        exchange.words.put(self.hash(), tracker, word);
    }

    /// A tracker that never wants to be asked about one torrent is well. One that says so about several, with no other
    /// answer between, does not want us.
    fn hear_never(&self, said: &Result<Said, NoUsableAnswer>, judged: &mut Judged, slot: Slot) {
        let (ledger, judge) = (self.exchange.ledger(), self.exchange.judge());
        if !judged.never {
            if matches!(said, Ok(_) | Err(NoUsableAnswer::No(_))) {
                ledger.answered(slot);
            }
            return;
        }
        let due = self.exchange.seconds_in(judge.never);
        if ledger.never(self.hash(), slot, due, judge.never_hashes) {
            let reason = Reason::Never;
            judged.outcome = Outcome::Rejected { reason };
        }
    }
}

/// An attempt that waits for its answer. The engine drops one that takes too long.
struct Waiting<'a>(Option<&'a Announcing>);

impl Waiting<'_> {
    fn over(mut self) {
        self.0 = None;
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Some(call) = self.0.filter(|call| call.announce.event != Event::Stopped) else {
            return;
        };
        let at = call.exchange.engine.timeline().now();
        let word = LastWord::trouble(at, "it did not answer in time");
        let tracker = call.forwarder.upstream;
        call.exchange.words.put(call.hash(), tracker, word);
    }
}

impl Call for Announcing {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        Box::pin(self.call(permit))
    }

    fn keep(&self) -> Option<Vec<u8>> {
        Some(kept::write(&self.announce, &self.at))
    }

    fn about(&self) -> About {
        About::torrent(self.hash())
    }

    fn ended(&self, _: Ended) {
        if self.announce.event == Event::Stopped {
            return self.exchange.farewells.end();
        }
        let hash = self.hash();
        let was_told = self.made.load(Ordering::Relaxed) || !self.news.load(Ordering::Relaxed);
        if self.announce.event == Event::Completed && !was_told {
            let slot = self.forwarder.slot;
            self.exchange.ledger().untell_one(hash, &self.at, slot);
        }
        self.exchange.ledger().end(hash, self.regular());
        if self.announce.event == Event::Completed && !self.exchange.swarms.holds(hash) {
            // Its answer came when nobody was here any more who could use it.
            let now = self.exchange.clock.now().seconds;
            self.exchange.ledger().forget(hash, now);
        }
        self.exchange.mirror(hash);
    }
}

/// Asks a tracker for something that changes nothing there.
pub(crate) struct TrackerProbe {
    pub(crate) outbound: Arc<Outbound>,
    pub(crate) forwarder: Arc<Forwarder>,
}

impl Call for TrackerProbe {
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
