//! What a client is told: one logic behind both listeners.
//!
//! A listener hands over what it parsed and where it came from, and gets back what to reply or why not; how that
//! is written is left to [`crate::reply`].

mod sending;
mod terms;

use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use weir_tracker_proto::{Announce, Event, InfoHash};
use weir_web::Household;

use self::sending::Sending;
use crate::clock::Now;
use crate::forwarding::allowance::HeldBack;
use crate::forwarding::overload::Overload;
use crate::forwarding::{Forwarding, HeldReply, Stays};
use crate::heard::HeardClients;
use crate::ledger::ForeignWish;
use crate::lists::Unserved;
use crate::reply::{AnnounceReply, TrackerRefusal, Went};
use crate::swarm::{
    Consent, Doing, Forward, ForwardFlags, Full, OtherPeers, SwarmAnnounce, SwarmCounts, Swarms,
};

pub(crate) use self::terms::{Carries, ClientTerms};

/// Everything that listeners share.
pub(crate) struct Tracker {
    pub(crate) swarms: Arc<Swarms>,
    /// The way to other trackers.
    pub(crate) forwarding: Arc<Forwarding>,
    /// Replaced as a whole by a reload.
    terms: ArcSwap<ClientTerms>,
    /// Which clients have announced.
    pub(crate) heard: HeardClients,
}

/// What clients are told of a swarm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToldSwarm {
    /// Peers here, by address and port.
    pub(crate) peers: u32,
    /// Peers that other trackers named, likewise.
    pub(crate) others: u32,
    /// Both, as they are counted.
    pub(crate) counts: SwarmCounts,
    /// How many seeders of these are not here.
    pub(crate) elsewhere: u32,
}

impl Tracker {
    pub(crate) fn new(
        swarms: Arc<Swarms>,
        forwarding: Arc<Forwarding>,
        terms: ClientTerms,
    ) -> Self {
        Self {
            swarms,
            forwarding,
            terms: ArcSwap::from_pointee(terms),
            heard: HeardClients::default(),
        }
    }

    /// The terms that hold now; a listener keeps them for the requests it has at hand.
    pub(crate) fn terms(&self) -> arc_swap::Guard<Arc<ClientTerms>> {
        self.terms.load()
    }

    pub(crate) fn set_terms(&self, terms: ClientTerms) {
        self.terms.store(terms.into());
    }

    /// Takes note of an announce from `source` and appends peers to `out`, IPv4 and IPv6.
    #[inline]
    pub(crate) fn announce(
        &self,
        terms: &ClientTerms,
        announce: &Announce,
        source: IpAddr,
        carries: Carries,
        (now, random): (Now, &mut fastrand::Rng),
        out: [&mut Vec<u8>; 2],
    ) -> Result<AnnounceReply, TrackerRefusal> {
        #[cfg(test)]
        crate::fault::on_announce(&announce.info_hash.0);
        if let Err(why) = terms.lists.check(&announce.info_hash) {
            return Err(self.not_served(announce, why));
        }
        let (at, also) = terms.trust.endpoints(announce, source);
        let arrival = SwarmAnnounce {
            hash: announce.info_hash.0,
            at,
            also,
            doing: doing(announce),
            want: terms.want(announce, &at, carries),
        };
        let [v4, v6] = out;
        let starts = [v4.len(), v6.len()];
        let (forwarding, client) = (&*self.forwarding, Household::of(source));
        let (mut places, mut completes) = (None, None);
        let may = |ask| match ask {
            Consent::Completed => {
                let goes = forwarding.allowances().take(client, now.moment);
                completes = Some(goes);
                goes
            }
            // It goes to all of them, without a place.
            Consent::Forward if completes == Some(true) => true,
            // A swarm that finds no place stays as it is.
            Consent::Forward => {
                let taken = forwarding.take_places(true, &terms.forwarding, now.moment);
                let goes = !matches!(taken, Err(Stays::Busy | Stays::Full));
                places = Some(taken);
                goes
            }
        };
        let known = self
            .swarms
            .announce(&arrival, (now.minute, may), random, [v4, v6]);
        let known = match known {
            Ok(known) => known,
            Err(full) => {
                let (overloads, wait) = (forwarding.overloads(), terms.interval);
                return Err(match full {
                    Full::Tracker => {
                        overloads.note(Overload::Full, announce, wait);
                        TrackerRefusal::Full(wait)
                    }
                    Full::Address => {
                        overloads.note_crowded(announce, arrival.at.address(), wait);
                        TrackerRefusal::Crowded(wait)
                    }
                });
            }
        };
        // The page says that it works: what was refused does not.
        self.heard.note(&announce.peer_id, now);
        let mut reply = AnnounceReply {
            counts: known.counts,
            interval: terms.interval,
            held: None,
            went: Went::Nowhere,
        };
        // Nearly always nothing of it holds.
        let concerns_others = known.flags.has(ForwardFlags::PENDING_OR_PEERS)
            || known.forward != Forward::NotDue
            || is_event(announce);
        if !concerns_others {
            return Ok(reply);
        }
        if known.flags.has(ForwardFlags::PEERS) {
            let counts = self.give_others(&arrival, known.new, (starts, [v4, v6]), random);
            reply.counts = counts.unwrap_or(reply.counts);
        }
        let sending = Sending {
            rules: &terms.forwarding,
            announce,
            arrival: &arrival,
            known: &known,
            client,
            event: match announce.event {
                Event::Stopped => true,
                Event::Completed => completes == Some(true),
                _ => false,
            },
        };
        if announce.event == Event::Completed && !sending.event {
            let why = match completes {
                Some(_) => HeldBack::Throttled,
                None => HeldBack::Repeated,
            };
            forwarding.hold_back(client, why);
        }
        let places = match known.forward {
            Forward::First => places,
            Forward::Due if sending.event => None,
            Forward::Due => Some(forwarding.take_places(false, &terms.forwarding, now.moment)),
            Forward::NotDue => None,
        };
        self.send_on(&sending, places, random, &mut reply)?;
        Ok(reply)
    }

    #[cold]
    fn not_served(&self, announce: &Announce, why: Unserved) -> TrackerRefusal {
        let what = match why {
            Unserved::NotAllowed => Overload::NotAllowed,
            Unserved::Denied => Overload::Denied,
        };
        self.forwarding.overloads().note(what, announce, 0);
        TrackerRefusal::NotServed
    }

    /// Appends peers of other trackers to a reply, and says who takes part with them; nothing if the swarm is gone
    /// meanwhile. It is looked at once more, because locks of swarms and of the ledger are never held together.
    #[inline(never)]
    fn give_others(
        &self,
        arrival: &SwarmAnnounce,
        new: bool,
        (starts, out): ([usize; 2], [&mut Vec<u8>; 2]),
        random: &mut fastrand::Rng,
    ) -> Option<SwarmCounts> {
        if arrival.doing == Doing::Leaves {
            // Who leaves gets no peers, but the same counts.
            return Some(self.told(&arrival.hash)?.counts);
        }
        let wish = ForeignWish {
            asker: [Some(&arrival.at), arrival.also.as_ref()],
            want: arrival.want,
            seeds: !wants_seeders(arrival.doing),
            new,
            starts,
        };
        let local = self.swarms.local(&arrival.hash)?;
        let (ledger, of) = (self.forwarding.ledger(), (&arrival.hash, &local));
        Some(ledger.give(of, &wish, random, out))
    }

    /// Waits as long as a reply may be held. Says whether its peer is still here, so that its announce may be answered
    /// once more: done again for one that left meanwhile, it would bring it back.
    pub(crate) async fn wait_for(&self, held: HeldReply) -> bool {
        let HeldReply { hash, at, mut wake } = held;
        let first_wait = self.terms().forwarding.first_wait;
        let over = tokio::time::timeout(first_wait, &mut wake).await;
        if over.is_err() {
            drop(wake);
            self.forwarding.tidy_held(&hash);
        }
        self.swarms.has_peer(&hash, &at)
    }

    /// Who takes part in a swarm; nobody in one that is not served.
    pub(crate) fn scrape(&self, terms: &ClientTerms, hash: InfoHash) -> weir_tracker_proto::Counts {
        if terms.lists.check(&hash).is_err() {
            return weir_tracker_proto::Counts::default();
        }
        let counts = self.told(&hash.0).unwrap_or_default().counts;
        weir_tracker_proto::Counts {
            complete: counts.seeders,
            downloaded: counts.completed,
            incomplete: counts.leechers,
        }
    }

    /// What clients are told of a swarm, and pages show; `None` if there is no such swarm.
    pub(crate) fn told(&self, hash: &[u8; 20]) -> Option<ToldSwarm> {
        let local = self.swarms.local(hash)?;
        let ((mut counts, elsewhere), others) = match local.flags.has(ForwardFlags::PEERS) {
            true => self.forwarding.ledger().count(hash, &local),
            false => (local.split(OtherPeers::default()), 0),
        };
        counts.seeders = counts.seeders.saturating_add(elsewhere);
        Some(ToldSwarm {
            peers: local.peers(),
            others: u32::try_from(others).unwrap_or(u32::MAX),
            counts,
            elsewhere,
        })
    }
}

/// Whether other trackers are told of an announce at once.
fn is_event(announce: &Announce) -> bool {
    matches!(announce.event, Event::Stopped | Event::Completed)
}

/// Whether a peer still has use for those who have all of it.
fn wants_seeders(doing: Doing) -> bool {
    matches!(
        doing,
        Doing::TakesPart {
            seeder: false,
            paused: false,
            ..
        }
    )
}

#[inline]
fn doing(announce: &Announce) -> Doing {
    match announce.event {
        Event::Stopped => Doing::Leaves,
        event => Doing::TakesPart {
            seeder: announce.left == 0 || event == Event::Completed,
            completed: event == Event::Completed,
            paused: event == Event::Paused,
        },
    }
}

#[cfg(test)]
mod tests;
