//! What becomes of an announce that concerns other trackers, and what follows for its reply.

use weir_tracker_proto::{Announce, Event};
use weir_web::Household;

use super::{Tracker, is_event};
use crate::forwarding::overload::Overload;
use crate::forwarding::{self, ForwardKind, HeldReply, QueuePlaces, SentAnnounce, Stays};
use crate::reply::{AnnounceReply, TrackerRefusal, Went};
use crate::swarm::{AfterAnnounce, Forward, ForwardFlags, SwarmAnnounce};

/// An announce that concerns other trackers.
#[derive(Clone, Copy)]
pub(super) struct Sending<'a> {
    pub(super) rules: &'a forwarding::ForwardRules,
    pub(super) announce: &'a Announce,
    pub(super) arrival: &'a SwarmAnnounce,
    pub(super) known: &'a AfterAnnounce,
    pub(super) client: Household,
    /// All trackers hear of it at once: `stopped`, and the `completed` that its address may still have sent on.
    pub(super) event: bool,
}

impl Tracker {
    /// Sends an announce on that found places, and says what follows for the reply.
    #[inline(never)]
    pub(super) fn send_on(
        &self,
        sending: &Sending<'_>,
        places: Option<Result<QueuePlaces, Stays>>,
        random: &mut fastrand::Rng,
        reply: &mut AnnounceReply,
    ) -> Result<(), TrackerRefusal> {
        let Sending {
            rules,
            announce,
            arrival,
            known,
            client,
            event,
        } = *sending;
        let forwarding = &*self.forwarding;
        let sent = |kind| SentAnnounce {
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
            return self.put_off(sending, stays, random, reply);
        }
        let mut pending = known.flags.has(ForwardFlags::PENDING);
        // Held before the announce goes into the ring: its answer may come before this function ends, and wakes only those
        // who are held by then.
        let waits =
            known.new && !rules.first_wait.is_zero() && !known.flags.has(ForwardFlags::PEERS);
        let waits = waits && (pending || first) && !is_event(announce);
        let held = waits
            .then(|| forwarding.hold(&arrival.hash, arrival.at))
            .flatten();
        match (announce.event, places) {
            (Event::Stopped, _) => {
                // Who is not here was taken leave of, or will be.
                if known.left && known.flags.has(ForwardFlags::FORWARDED) {
                    let last = known.last;
                    reply.went = forwarding.send_event(sent(ForwardKind::Stopped { last }));
                }
                return Ok(());
            }
            (Event::Completed, _) if event => {
                reply.went = forwarding.send_event(sent(ForwardKind::Completed));
            }
            (_, Some(Ok(places))) => {
                if forwarding.send(sent, places) {
                    reply.went = Went::On;
                    pending |= first;
                } else if first {
                    drop(held);
                    forwarding.tidy_held(&arrival.hash);
                    self.swarms.not_forwarded(&arrival.hash);
                    return self.put_off(sending, Stays::Full, random, reply);
                } else {
                    reply.went = self.drop_again(announce);
                }
            }
            (_, Some(Err(Stays::Full))) => reply.went = self.drop_again(announce),
            _ => {}
        }
        if pending {
            if rules.first_interval > 0 && known.age < rules.first_window {
                reply.interval = reply.interval.min(rules.first_interval);
            }
            reply.held = held.and_then(|held| self.keep_held(&arrival.hash, first, held));
        } else if held.is_some() {
            drop(held);
            forwarding.tidy_held(&arrival.hash);
        }
        Ok(())
    }

    /// Whether a reply still waits now that its announce is on the way. What the record said under the swarm's lock may
    /// be over: the last call may have ended between that and the hold, and nobody would wake this one.
    pub(super) fn keep_held(
        &self,
        hash: &[u8; 20],
        first: bool,
        held: HeldReply,
    ) -> Option<HeldReply> {
        let flags = self.swarms.flags(hash);
        if flags.has(ForwardFlags::PEERS) {
            // They came after those for this reply were picked: it ends at once and is answered again, with them.
            self.forwarding.wake(hash);
        } else if !first && !flags.has(ForwardFlags::PENDING) {
            drop(held);
            self.forwarding.tidy_held(hash);
            return None;
        }
        Some(held)
    }

    /// A re-announce does not go on, and its client does not notice.
    fn drop_again(&self, announce: &Announce) -> Went {
        let overloads = self.forwarding.overloads();
        overloads.note(Overload::AgainFull, announce, 0);
        Went::Lost
    }

    /// What a first announce that cannot go on now is told: the peer is stored all the same, and comes back as the first
    /// one.
    fn put_off(
        &self,
        sending: &Sending<'_>,
        stays: Stays,
        random: &mut fastrand::Rng,
        reply: &mut AnnounceReply,
    ) -> Result<(), TrackerRefusal> {
        let rules = sending.rules;
        let refusal = match stays {
            Stays::Busy => TrackerRefusal::Busy(rules.busy),
            _ => TrackerRefusal::QueueFull(rules.full),
        };
        let answered = refusal.retry().filter(|_| rules.peers);
        let what = match (stays, answered) {
            (Stays::Busy, None) => Overload::NoToken,
            (Stays::Busy, Some(_)) => Overload::NoTokenAnswered,
            (_, None) => Overload::FirstFull,
            (_, Some(_)) => Overload::FirstFullAnswered,
        };
        let overloads = self.forwarding.overloads();
        overloads.note(what, sending.announce, refusal.retry().unwrap_or(0));
        let Some(wait) = answered else {
            return Err(refusal);
        };
        reply.went = Went::Lost;
        // Not all at the same time, and not sooner: the record says how long at least.
        reply.interval = wait.saturating_add(random.u32(..=wait / 10));
        Ok(())
    }
}
