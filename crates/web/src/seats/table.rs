//! Who holds which place, and who goes. Pure: no clock, no sockets, no tasks.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Household;

/// How many places one search queues again because their client has sent a request in the meantime. It limits how long
/// the lock is held if all of them have.
const LOOKS: usize = 64;
/// Without a configured share, an address holds one place in this many…
const SHARE: usize = 16;
/// …and at least as many as a browser opens.
const LEAST_SHARE: usize = 8;
/// One place in this many is kept from strangers.
const RESERVE: usize = 8;

/// How many places there are, and how they are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seating {
    /// All places.
    pub places: usize,
    /// Places that one address may hold.
    pub share: usize,
    /// Places that strangers cannot take.
    pub reserve: usize,
}

impl Seating {
    /// This many places, of which an address may hold `share`, by default a sixteenth. An eighth is kept for this
    /// machine and for proxies.
    pub fn new(places: usize, share: Option<NonZeroU32>) -> Self {
        let usual = (places / SHARE).max(LEAST_SHARE);
        let share = share.map_or(usual, |share| share.get() as usize);
        Self {
            places: places.max(1),
            share,
            reserve: places / RESERVE,
        }
    }
}

/// Who holds places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Holder {
    /// A household that has a share of them.
    Stranger(Household),
    /// This machine or a proxy, which have places of their own.
    Own(IpAddr),
}

impl Holder {
    /// The holder at an address.
    pub fn at(address: IpAddr, is_proxy: impl Fn(IpAddr) -> bool) -> Self {
        let address = address.to_canonical();
        match address.is_loopback() || is_proxy(address) {
            true => Self::Own(address),
            false => Self::Stranger(Household::of(address)),
        }
    }

    fn is_own(self) -> bool {
        matches!(self, Self::Own(_))
    }
}

/// Why a connection goes, or does not come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// Its address has its share, and asked for one more.
    Share,
    /// All places were taken, and another address asked for one.
    Room,
    /// It came when no other connection could be ended for it.
    TurnedAway,
}

impl Leaves {
    pub(super) const ALL: [Self; 3] = [Self::Share, Self::Room, Self::TurnedAway];

    /// Its name in metrics.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Share => "share",
            Self::Room => "room",
            Self::TurnedAway => "turned_away",
        }
    }
}

/// A place that is taken, for as long as the same connection has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeatKey {
    place: usize,
    /// Which of the connections that had the place.
    turn: u64,
}

/// A connection that has to go: what ends it, and why it goes.
type Leaver<E> = (Option<E>, Leaves);

/// The places. `E` is what ends a connection.
pub(super) struct SeatTable<E> {
    seating: Seating,
    places: Vec<Option<SeatPlace<E>>>,
    free: Vec<usize>,
    turns: u64,
    holders: HashMap<Holder, Holding>,
    /// Strangers and own holders with a connection that waits; the first to go is last.
    ranks: [BTreeSet<Rank>; 2],
    taken: [usize; 2],
}

struct SeatPlace<E> {
    turn: u64,
    holder: Holder,
    /// Written without the lock whenever the client has sent a request.
    since: Arc<AtomicU64>,
    /// The time under which it is queued among those that wait; not later than `since`.
    queued: Option<u64>,
    end: Option<E>,
}

/// What one holder has.
#[derive(Default)]
struct Holding {
    places: usize,
    /// Places whose client has the next move: since when, which turn of the place, and which place.
    waiting: BTreeSet<(u64, u64, usize)>,
    /// The holder's entry in `ranks`.
    rank: Option<Rank>,
}

/// Most places first, then the longest wait.
type Rank = (usize, Reverse<u64>, Holder);

impl<E> SeatTable<E> {
    pub(super) fn new(seating: Seating) -> Self {
        Self {
            seating,
            places: Vec::new(),
            free: Vec::new(),
            turns: 0,
            holders: HashMap::new(),
            ranks: Default::default(),
            taken: [0; 2],
        }
    }

    /// Takes a place for a connection that has waited since `since`; returns which connection goes for it, if any.
    pub(super) fn take(
        &mut self,
        holder: Holder,
        since: Arc<AtomicU64>,
    ) -> Result<(SeatKey, Option<Leaver<E>>), Leaves> {
        let leaver = match self.who_goes(holder)? {
            Some((place, why)) => {
                let end = self.remove(place).and_then(|place| place.end);
                Some((end, why))
            }
            None => None,
        };
        self.turns += 1;
        let turn = self.turns;
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        self.places[place] = Some(SeatPlace {
            turn,
            holder,
            since,
            queued: None,
            end: None,
        });
        self.taken[usize::from(holder.is_own())] += 1;
        self.holders.entry(holder).or_default().places += 1;
        let key = SeatKey { place, turn };
        self.wait(key);
        Ok((key, leaver))
    }

    /// Notes what ends a connection; returns it if the connection has already lost its place.
    pub(super) fn ended_by(&mut self, key: SeatKey, end: E) -> Option<E> {
        match self.at(key) {
            Some(place) => {
                place.end = Some(end);
                None
            }
            None => Some(end),
        }
    }

    /// The next move is the client's, since the time in its `since`.
    pub(super) fn wait(&mut self, key: SeatKey) {
        if self.at(key).is_some() {
            self.queue(key.place);
        }
    }

    /// The next move is ours.
    pub(super) fn work(&mut self, key: SeatKey) {
        if self.at(key).is_some() {
            self.unqueue(key.place);
        }
    }

    /// The connection has ended.
    pub(super) fn give_back(&mut self, key: SeatKey) {
        if self.at(key).is_some() {
            self.remove(key.place);
        }
    }

    fn at(&mut self, key: SeatKey) -> Option<&mut SeatPlace<E>> {
        let place = self.places.get_mut(key.place)?.as_mut();
        place.filter(|place| place.turn == key.turn)
    }

    /// Which place is given up for a newcomer, if none is free for it.
    fn who_goes(&mut self, newcomer: Holder) -> Result<Option<(usize, Leaves)>, Leaves> {
        let held = self.holders.get(&newcomer).map_or(0, |held| held.places);
        let (goes, why) = if !newcomer.is_own() && held >= self.seating.share {
            (self.longest_of(newcomer), Leaves::Share)
        } else if let Some(own) = self.crowded(newcomer.is_own()) {
            (self.longest_among(own), Leaves::Room)
        } else {
            return Ok(None);
        };
        goes.map_or(Err(Leaves::TurnedAway), |place| Ok(Some((place, why))))
    }

    /// Whether own holders (true) or strangers (false) give up a place for a newcomer; `None` while places are free.
    /// Strangers never hold the reserve; beyond the reserve, own holders get only places that are free.
    fn crowded(&self, newcomer_own: bool) -> Option<bool> {
        let Seating {
            places, reserve, ..
        } = self.seating;
        let [strangers, own] = self.taken;
        let full = strangers + own >= places;
        match newcomer_own {
            false if strangers >= places - reserve => Some(false),
            true if full => Some(own > 0 && own >= reserve),
            false if full => Some(true),
            _ => None,
        }
    }

    /// The place of this holder whose client has waited longest.
    fn longest_of(&mut self, holder: Holder) -> Option<usize> {
        for _ in 0..LOOKS {
            let place = self.first_waiting(holder)?;
            if !self.moved_on(place) {
                break;
            }
        }
        self.first_waiting(holder)
    }

    /// The same among all strangers or all own holders, at the holder with the most places.
    fn longest_among(&mut self, own: bool) -> Option<usize> {
        for _ in 0..LOOKS {
            let &(_, _, holder) = self.ranks[usize::from(own)].last()?;
            let place = self.first_waiting(holder)?;
            if !self.moved_on(place) {
                break;
            }
        }
        let &(_, _, holder) = self.ranks[usize::from(own)].last()?;
        self.first_waiting(holder)
    }

    fn first_waiting(&self, holder: Holder) -> Option<usize> {
        let (_, _, place) = self.holders.get(&holder)?.waiting.first()?;
        Some(*place)
    }

    /// Whether a client has sent a request since its place was queued; if so, it is queued again.
    fn moved_on(&mut self, place: usize) -> bool {
        let moved = self.places[place]
            .as_ref()
            .is_some_and(|place| place.queued != Some(place.since.load(Ordering::Relaxed)));
        if moved {
            self.queue(place);
        }
        moved
    }

    fn queue(&mut self, index: usize) {
        let Some(place) = &mut self.places[index] else {
            return;
        };
        let since = place.since.load(Ordering::Relaxed);
        let (before, turn) = (place.queued.replace(since), place.turn);
        let holder = place.holder;
        self.change(holder, |held| {
            if let Some(before) = before {
                held.waiting.remove(&(before, turn, index));
            }
            held.waiting.insert((since, turn, index));
        });
    }

    fn unqueue(&mut self, index: usize) {
        let Some(place) = &mut self.places[index] else {
            return;
        };
        let (turn, holder) = (place.turn, place.holder);
        if let Some(since) = place.queued.take() {
            self.change(holder, |held| {
                held.waiting.remove(&(since, turn, index));
            });
        }
    }

    fn remove(&mut self, index: usize) -> Option<SeatPlace<E>> {
        let place = self.places[index].take()?;
        self.free.push(index);
        let holder = place.holder;
        self.taken[usize::from(holder.is_own())] -= 1;
        self.change(holder, |held| {
            held.places -= 1;
            if let Some(since) = place.queued {
                held.waiting.remove(&(since, place.turn, index));
            }
        });
        Some(place)
    }

    /// Changes what a holder has, and with it its rank.
    fn change(&mut self, holder: Holder, change: impl FnOnce(&mut Holding)) {
        let held = self.holders.entry(holder).or_default();
        change(held);
        let oldest = held.waiting.first();
        let rank = oldest.map(|(since, ..)| (held.places, Reverse(*since), holder));
        let before = std::mem::replace(&mut held.rank, rank);
        if held.places == 0 {
            self.holders.remove(&holder);
        }
        if before != rank {
            let ranks = &mut self.ranks[usize::from(holder.is_own())];
            if let Some(before) = before {
                ranks.remove(&before);
            }
            ranks.extend(rank);
        }
    }
}

#[cfg(test)]
mod tests;
