//! Who holds which place, and who goes. Pure: no clock, no sockets, no tasks.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Household;

/// Times that a connection moved on since the table last looked at it; one more look is what each request pays for at
/// most. It bounds how long the lock is held where all have.
const LOOKS: usize = 64;
/// Without a configured share, an address holds this part of the places…
const SHARE: usize = 16;
/// …and at least as many as a browser opens.
const LEAST_SHARE: usize = 8;
/// This part of the places is kept from strangers.
const RESERVE: usize = 8;

/// How many places there are, and how they are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seating {
    /// All of them.
    pub places: usize,
    /// Those that one address may hold.
    pub share: usize,
    /// Those that strangers cannot take.
    pub reserve: usize,
}

impl Seating {
    /// So many places, of which an address holds `share`, by default a sixteenth. An eighth is kept for this machine
    /// and for proxies.
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
    /// It came when nobody could be ended for it.
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

/// A connection that went, by what ends it.
type Leaver<E> = (Option<E>, Leaves);

/// The places. `E` is what ends a connection.
pub(super) struct SeatTable<E> {
    seating: Seating,
    places: Vec<Option<SeatPlace<E>>>,
    free: Vec<usize>,
    turns: u64,
    holders: HashMap<Holder, Holding>,
    /// Holders of whom one waits, strangers and own: first to go last.
    ranks: [BTreeSet<Rank>; 2],
    taken: [usize; 2],
}

struct SeatPlace<E> {
    turn: u64,
    holder: Holder,
    /// Written without the lock whenever the client has asked.
    since: Arc<AtomicU64>,
    /// Under which time it stands among those that wait; not later than `since`.
    queued: Option<u64>,
    end: Option<E>,
}

/// What one holder has.
#[derive(Default)]
struct Holding {
    places: usize,
    /// Places whose client has the next move: since when, whose turn it is there, and which.
    waiting: BTreeSet<(u64, u64, usize)>,
    /// Where the holder stands in `ranks`.
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

    /// Takes a place for a connection that waits since `since`; says who goes for it.
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

    /// Notes what ends a connection; gives it back if the connection has lost its place already.
    pub(super) fn ended_by(&mut self, key: SeatKey, end: E) -> Option<E> {
        match self.at(key) {
            Some(place) => {
                place.end = Some(end);
                None
            }
            None => Some(end),
        }
    }

    /// The client has the next move, since the time that stands in its cell.
    pub(super) fn wait(&mut self, key: SeatKey) {
        if self.at(key).is_some() {
            self.queue(key.place);
        }
    }

    /// We have the next move.
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

    /// Who gives up a place for a newcomer, if there is none left for it.
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

    /// Which of the two give up a place for a newcomer; none while there are free ones. Strangers never hold the
    /// reserve; beyond it, the others hold only what is free.
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

    /// The place of a holder whose client waits longest.
    fn longest_of(&mut self, holder: Holder) -> Option<usize> {
        for _ in 0..LOOKS {
            let place = self.first_waiting(holder)?;
            if !self.moved_on(place) {
                break;
            }
        }
        self.first_waiting(holder)
    }

    /// The same among all strangers, or all others; of the holders, the one with the most places.
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

    /// Whether a client has asked since its place was queued; it is queued anew then.
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
