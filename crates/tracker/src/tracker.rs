//! What a client is told: one logic behind both listeners.
//!
//! A listener hands over what it parsed and where it came from, and gets back what to reply or why not; how that
//! is written is left to [`crate::reply`].

use std::net::IpAddr;
use std::sync::OnceLock;

use arc_swap::ArcSwap;
use tokio::sync::oneshot;
use weir_tracker_proto::{Announce, Event, InfoHash};

use crate::clock::Now;
use crate::config::Config;
use crate::forwarding::allowance::{Held as HeldBack, Network};
use crate::forwarding::{self, Forwarding, Kind, Places, Sent, Stays};
use crate::ledger::Wish;
use crate::lists::Lists;
use crate::reply::Refusal;
use crate::swarm::{
    self, Age, Arrival, Ask, CountBy, Counts, Doing, Endpoint, Forward, Full, Known, Swarms,
    Upstream, Want,
};
use crate::trust::Trust;

/// Everything that listeners share.
pub(crate) struct Tracker {
    pub(crate) swarms: Swarms,
    /// Replaced as a whole by a reload.
    terms: ArcSwap<Terms>,
    /// The way to other trackers.
    forwarding: OnceLock<Forwarding>,
}

/// What clients are told and allowed.
#[derive(Debug)]
pub(crate) struct Terms {
    /// Seconds between announces.
    pub(crate) interval: u32,
    /// Peers given to who does not say how many.
    pub(crate) numwant: u32,
    /// Peers given at most.
    pub(crate) max_numwant: u32,
    /// Info hashes in one scrape.
    pub(crate) scrape_hashes: usize,
    /// When announces are sent on, and what clients are told meanwhile.
    pub(crate) forwarding: forwarding::Rules,
    pub(crate) trust: Trust,
    pub(crate) lists: Lists,
}

/// What a client is told after an announce, besides its peers.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) counts: Counts,
    /// Seconds until its next announce.
    pub(crate) interval: u32,
    /// The reply waits for what other trackers say; the same announce is then to be answered once more.
    pub(crate) held: Option<Held>,
}

/// An announce that concerns other trackers.
#[derive(Clone, Copy)]
struct Sending<'a> {
    forwarding: &'a Forwarding,
    rules: &'a forwarding::Rules,
    announce: &'a Announce,
    arrival: &'a Arrival,
    known: &'a Known,
    client: Network,
    /// All trackers hear of it at once: `stopped`, and the `completed` that its address may still have sent on.
    event: bool,
}

/// A reply that waits.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) hash: [u8; 20],
    pub(crate) at: Endpoint,
    /// Ends when a tracker brought a peer, or when none will.
    pub(crate) wake: oneshot::Receiver<()>,
}

impl Held {
    /// Waits as long as the terms allow. Says whether the peer is still here, so that its announce may be answered once
    /// more: done again for one that left meanwhile, it would bring it back.
    pub(crate) async fn wait(self, tracker: &Tracker) -> bool {
        let Self { hash, at, mut wake } = self;
        let forwarding = tracker.forwarding();
        let first_wait = tracker.terms().forwarding.first_wait;
        let over = tokio::time::timeout(first_wait, &mut wake).await;
        if over.is_err() {
            drop(wake);
            forwarding.let_go(&hash);
        }
        tracker.swarms.has_peer(&hash, &at)
    }
}

/// How a reply can carry peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carries {
    /// UDP over IPv4.
    V4,
    /// UDP over IPv6.
    V6,
    /// HTTP.
    Both,
}

impl Terms {
    pub(crate) fn new(config: &Config, trust: Trust, lists: Lists) -> Self {
        Self {
            interval: u32::try_from(config.announce_interval.as_secs()).unwrap_or(u32::MAX),
            numwant: config.numwant.min(config.max_numwant.get()),
            max_numwant: config.max_numwant.get(),
            scrape_hashes: config.scrape_hashes.get() as usize,
            forwarding: forwarding::Rules::new(config),
            trust,
            lists,
        }
    }
}

/// What swarms may hold, by the configuration.
pub(crate) fn rules(config: &Config) -> swarm::Rules {
    let minutes = config.age.as_secs() / 60;
    swarm::Rules {
        age: u16::try_from(minutes).map_or(Age::MAX, Age),
        count_by: match config.count_by {
            crate::config::CountBy::Ip => CountBy::Address(config.count_by_ip_peers.get()),
            crate::config::CountBy::Endpoint => CountBy::Endpoint,
        },
        max_swarms: config.max_swarms.get(),
        max_peers: config.max_peers.get(),
        max_peers_per_ip: config.max_peers_per_ip.map(Into::into),
        forwards: true,
    }
}

impl Tracker {
    pub(crate) fn new(swarms: Swarms, terms: Terms) -> Self {
        Self {
            swarms,
            terms: ArcSwap::from_pointee(terms),
            forwarding: OnceLock::new(),
        }
    }

    /// Opens the way to other trackers; once.
    pub(crate) fn set_forwarding(&self, forwarding: Forwarding) {
        drop(self.forwarding.set(forwarding));
    }

    /// The way to other trackers, if there is one.
    pub(crate) fn try_forwarding(&self) -> Option<&Forwarding> {
        self.forwarding.get()
    }

    /// The way to other trackers, for those who come from there.
    pub(crate) fn forwarding(&self) -> &Forwarding {
        self.forwarding.get().expect("forwarders are made after it")
    }

    /// The terms that hold now; a listener keeps them for the requests it has at hand.
    pub(crate) fn terms(&self) -> arc_swap::Guard<std::sync::Arc<Terms>> {
        self.terms.load()
    }

    pub(crate) fn set_terms(&self, terms: Terms) {
        self.terms.store(terms.into());
    }

    /// Takes note of an announce from `source` and appends peers to `out`, IPv4 and IPv6.
    #[inline]
    pub(crate) fn announce(
        &self,
        terms: &Terms,
        announce: &Announce,
        source: IpAddr,
        carries: Carries,
        (now, random): (Now, &mut fastrand::Rng),
        out: [&mut Vec<u8>; 2],
    ) -> Result<Told, Refusal> {
        #[cfg(test)]
        crate::fault::on_announce(&announce.info_hash.0);
        if !terms.lists.serve(&announce.info_hash) {
            return Err(Refusal::NotServed);
        }
        let (at, also) = terms.trust.endpoints(announce, source);
        let arrival = Arrival {
            hash: announce.info_hash.0,
            at,
            also,
            doing: doing(announce),
            want: terms.want(announce, &at, carries),
        };
        let [v4, v6] = out;
        let starts = [v4.len(), v6.len()];
        let client = Network::of(source);
        let (mut places, mut completes) = (None, None);
        let may = |ask| match (ask, self.forwarding.get()) {
            (_, None) => true,
            (Ask::Completed, Some(forwarding)) => {
                let most = terms.forwarding.events_per_minute;
                let goes = forwarding.allowances().take(client, now.moment, most);
                completes = Some(goes);
                goes
            }
            // It goes to all of them, without a place.
            (Ask::Forward, _) if completes == Some(true) => true,
            // A swarm that finds no place stays as it is.
            (Ask::Forward, Some(forwarding)) => {
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
            Err(Full::Tracker) => return Err(Refusal::Full(terms.interval)),
            Err(Full::Address) => return Err(Refusal::Crowded(terms.interval)),
        };
        let mut told = Told {
            counts: known.counts,
            interval: terms.interval,
            held: None,
        };
        // Nearly always nothing of it holds.
        let concerns_others = known.upstream.has(Upstream::PENDING_OR_PEERS)
            || known.forward != Forward::NotDue
            || is_event(announce);
        if let Some(forwarding) = self.forwarding.get()
            && concerns_others
        {
            if known.upstream.has(Upstream::PEERS) && arrival.doing != Doing::Leaves {
                let wish = Wish {
                    asker: [Some(&arrival.at), arrival.also.as_ref()],
                    want: arrival.want,
                    seeds: !wants_seeders(arrival.doing),
                    new: known.new,
                    starts,
                };
                let hash = &arrival.hash;
                let foreign = forwarding.ledger().give(hash, &wish, random, [v4, v6]);
                told.counts.seeders = told.counts.seeders.saturating_add(foreign as u32);
            }
            let sending = Sending {
                forwarding,
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
            self.send_on(&sending, places, random, &mut told)?;
        }
        Ok(told)
    }

    /// Sends an announce on that found places, and says what follows for the reply.
    #[inline(never)]
    fn send_on(
        &self,
        sending: &Sending<'_>,
        places: Option<Result<Places, Stays>>,
        random: &mut fastrand::Rng,
        told: &mut Told,
    ) -> Result<(), Refusal> {
        let Sending {
            forwarding,
            rules,
            announce,
            arrival,
            known,
            client,
            event,
        } = *sending;
        let sent = |kind| Sent {
            announce: Announce {
                // One that stays here is an announce like any other.
                event: match announce.event {
                    Event::Completed if !event => Event::None,
                    event => event,
                },
                ..*announce
            },
            at: arrival.at,
            also: arrival.also,
            client,
            kind,
        };
        let first = known.forward == Forward::First;
        if let Some(Err(stays @ (Stays::Busy | Stays::Full))) = places
            && first
        {
            return put_off(rules, stays, random, told);
        }
        let mut pending = known.upstream.has(Upstream::PENDING);
        // Before anybody is asked, so that no answer comes too soon to be noticed.
        let waits =
            known.new && !rules.first_wait.is_zero() && !known.upstream.has(Upstream::PEERS);
        let waits = waits && (pending || first) && !is_event(announce);
        let held = waits
            .then(|| forwarding.hold(&arrival.hash, arrival.at))
            .flatten();
        match (announce.event, places) {
            (Event::Stopped, _) => {
                // Who is not here was taken leave of, or will be.
                if known.left && known.upstream.has(Upstream::FORWARDED) {
                    let last = known.last;
                    forwarding.send_event(sent(Kind::Stopped { last }), rules);
                }
                return Ok(());
            }
            (Event::Completed, _) if event => forwarding.send_event(sent(Kind::Completed), rules),
            (_, Some(Ok(places))) => {
                if forwarding.send(sent, places) {
                    pending |= first;
                } else if first {
                    drop(held);
                    forwarding.let_go(&arrival.hash);
                    self.swarms.set_forwarded(&arrival.hash, None);
                    return put_off(rules, Stays::Full, random, told);
                } else {
                    forwarding.log_dropped(rules);
                }
            }
            (_, Some(Err(Stays::Full))) => forwarding.log_dropped(rules),
            _ => {}
        }
        if pending {
            if rules.first_interval > 0 && known.age < rules.first_window {
                told.interval = told.interval.min(rules.first_interval);
            }
            told.held =
                held.and_then(|held| self.keep_held(forwarding, &arrival.hash, first, held));
        } else if held.is_some() {
            drop(held);
            forwarding.let_go(&arrival.hash);
        }
        Ok(())
    }

    /// Whether a reply still waits now that its announce is on the way.
    fn keep_held(
        &self,
        forwarding: &Forwarding,
        hash: &[u8; 20],
        first: bool,
        held: Held,
    ) -> Option<Held> {
        let bits = self.swarms.upstream(hash);
        if bits.has(Upstream::PEERS) {
            // They came after those for this reply were picked: it ends at once and is answered again, with them.
            forwarding.brought(hash);
        } else if !first && !bits.has(Upstream::PENDING) {
            drop(held);
            forwarding.let_go(hash);
            return None;
        }
        Some(held)
    }

    /// Who takes part in a swarm; nobody in one that is not served.
    pub(crate) fn scrape(&self, terms: &Terms, hash: InfoHash) -> weir_tracker_proto::Counts {
        if !terms.lists.serve(&hash) {
            return weir_tracker_proto::Counts::default();
        }
        let (counts, upstream) = self.swarms.scrape(&hash.0);
        let foreign = match self.forwarding.get() {
            Some(forwarding) if upstream.has(Upstream::PEERS) => {
                forwarding.ledger().peers(&hash.0) as u32
            }
            _ => 0,
        };
        weir_tracker_proto::Counts {
            complete: counts.seeders.saturating_add(foreign),
            downloaded: counts.completed,
            incomplete: counts.leechers,
        }
    }
}

impl Terms {
    #[inline]
    fn want(&self, announce: &Announce, at: &Endpoint, carries: Carries) -> Want {
        let number = announce.numwant.unwrap_or(self.numwant);
        let number = number.min(self.max_numwant) as usize;
        let other_family = match at {
            Endpoint::V4(_) => announce.ipv6.is_some(),
            Endpoint::V6(_) => announce.ipv4.is_some(),
        };
        match carries {
            Carries::V4 => Want::V4(number),
            Carries::V6 => Want::V6(number),
            // Whether or not we believe its other address, it has one.
            Carries::Both if other_family => Want::Both(number),
            Carries::Both => Want::OwnFirst(number),
        }
    }
}

/// What a first announce that cannot go on now is told: the peer is stored all the same, and comes back as the first
/// one.
fn put_off(
    rules: &forwarding::Rules,
    stays: Stays,
    random: &mut fastrand::Rng,
    told: &mut Told,
) -> Result<(), Refusal> {
    let refusal = match stays {
        Stays::Busy => Refusal::Busy(rules.busy),
        _ => Refusal::QueueFull(rules.full),
    };
    let Some(wait) = refusal.retry().filter(|_| rules.peers) else {
        return Err(refusal);
    };
    // Not all at the same time, and not sooner.
    told.interval = wait.saturating_add(random.u32(..=wait / 10));
    Ok(())
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
