//! What is known of one info hash at other trackers: when each may be asked again, which peers it gave, and which of
//! our peers it was told of.
//!
//! Eight bytes for each tracker and six (eighteen in IPv6) for each of its peers; whatever is rarer stands aside.

use std::cmp::Reverse;
use std::collections::HashSet;

use weir_tracker_proto::Announce;

use super::told::{Slots, ToldPeer};
use crate::swarm::{OtherPeers, PeerEndpoint};

/// The place of a forwarder in every sheet.
pub(crate) type Slot = u16;

/// Peers that a sheet remembers having told of; the oldest are forgotten, as upstreams forget them too.
const TOLD: usize = 32;
/// Seconds past its next announce after which a tracker has forgotten a peer by itself.
const FORGOTTEN: u32 = 60 * 60;
/// Addresses are counted in up to so many peers; no swarm of more is counted so.
const SCAN: usize = 64;
/// Bytes of a tracker id that are kept.
const TRACKER_ID: usize = 128;

/// One tracker. Seconds and minutes count from the beginning of the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TrackerLine {
    /// The second from which it may be asked again; 0 if it was never asked.
    pub(super) due: u32,
    /// The minute after which its peers are forgotten, in its lowest bits.
    pub(super) expires: u16,
    pub(super) v4: u8,
    pub(super) v6: u8,
}

/// One info hash.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    lines: Vec<TrackerLine>,
    /// The peers of the first line, then those of the second, and so on; none is there twice.
    v4: Vec<[u8; 6]>,
    more: Option<Box<RareParts>>,
    /// Calls that are queued, under way or to be made again.
    pub(super) pending: u16,
    /// Different addresses of all peers, while they are few.
    addresses: u16,
}

#[derive(Debug, Default)]
struct RareParts {
    v6: Vec<[u8; 18]>,
    told: Vec<ToldPeer>,
    ids: Vec<(Slot, Box<[u8]>)>,
    /// Trackers that a regular call is queued, under way or scheduled for.
    asked: Slots,
}

/// A line with its slot and its peers of both families.
type KeptLine = (Slot, TrackerLine, Vec<[u8; 6]>, Vec<[u8; 18]>);

/// A sheet as it was kept: lines with their slots and peers, told peers, tracker ids.
#[derive(Debug, Default)]
pub(super) struct KeptSheet {
    pub(super) lines: Vec<KeptLine>,
    pub(super) told: Vec<ToldPeer>,
    pub(super) ids: Vec<(Slot, Box<[u8]>)>,
}

/// What a good answer brings.
pub(crate) struct News<'a> {
    pub(crate) due: u32,
    pub(crate) expires: u16,
    pub(crate) peers: &'a [PeerEndpoint],
    pub(crate) tracker_id: Option<&'a [u8]>,
    /// Peers of all trackers that may be kept.
    pub(crate) most: usize,
}

impl Sheet {
    pub(super) fn restored(mut kept: KeptSheet) -> Self {
        kept.lines.sort_by_key(|(slot, ..)| *slot);
        kept.lines.dedup_by_key(|(slot, ..)| *slot);
        let mut sheet = Self::default();
        let mut all_v6 = Vec::new();
        for (slot, line, v4, v6) in kept.lines {
            *sheet.line_mut(slot) = line;
            sheet.v4.extend(v4);
            all_v6.extend(v6);
        }
        if !all_v6.is_empty() || !kept.told.is_empty() || !kept.ids.is_empty() {
            sheet.more = Some(Box::new(RareParts {
                v6: all_v6,
                told: kept.told,
                ids: kept.ids,
                asked: Slots::default(),
            }));
        }
        sheet.count_addresses();
        sheet
    }

    /// The peers of other trackers, to count them.
    pub(super) fn others(&self) -> OtherPeers<'_> {
        OtherPeers {
            v4: self.v4(),
            v6: self.v6(),
            addresses: self.addresses,
        }
    }

    /// Whoever has changed the peers does this last.
    fn count_addresses(&mut self) {
        self.addresses = match self.peers() {
            0..=SCAN => self.others().count_addresses(),
            _ => 0,
        };
    }

    pub(super) fn line(&self, slot: Slot) -> TrackerLine {
        self.lines
            .get(usize::from(slot))
            .copied()
            .unwrap_or_default()
    }

    pub(super) fn set_due(&mut self, slot: Slot, due: u32) {
        self.line_mut(slot).due = due;
    }

    /// Peers of other trackers.
    pub(super) fn peers(&self) -> usize {
        self.v4.len() + self.v6().len()
    }

    pub(super) fn v4(&self) -> &[[u8; 6]] {
        &self.v4
    }

    pub(super) fn v6(&self) -> &[[u8; 18]] {
        self.more.as_deref().map_or(&[], |more| &more.v6)
    }

    pub(super) fn told(&self) -> &[ToldPeer] {
        self.more.as_deref().map_or(&[], |more| &more.told)
    }

    pub(super) fn ids(&self) -> &[(Slot, Box<[u8]>)] {
        self.more.as_deref().map_or(&[], |more| &more.ids)
    }

    pub(super) fn tracker_id(&self, slot: Slot) -> Option<&[u8]> {
        let mut ids = self.ids().iter();
        ids.find(|(of, _)| *of == slot).map(|(_, id)| &**id)
    }

    /// A good answer: what the tracker said before is replaced.
    pub(super) fn absorb(&mut self, slot: Slot, news: &News<'_>) {
        self.forget_peers_of(slot);
        let room = news.most.saturating_sub(self.peers());
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        let mut known: HashSet<[u8; 18]> = self.v4.iter().map(long).collect();
        known.extend(self.v6());
        for peer in news.peers.iter().take(room) {
            match peer {
                PeerEndpoint::V4(wire) if v4.len() < 255 && known.insert(long(wire)) => {
                    v4.push(*wire)
                }
                PeerEndpoint::V6(wire) if v6.len() < 255 && known.insert(*wire) => v6.push(*wire),
                _ => {}
            }
        }
        let line = self.line_mut(slot);
        *line = TrackerLine {
            due: news.due,
            expires: news.expires,
            v4: v4.len() as u8,
            v6: v6.len() as u8,
        };
        let [before_v4, before_v6] = self.before(slot);
        self.v4.reserve_exact(v4.len());
        self.v4.splice(before_v4..before_v4, v4);
        if !v6.is_empty() {
            let all = &mut self.more.get_or_insert_default().v6;
            all.splice(before_v6..before_v6, v6);
        }
        self.count_addresses();
        self.set_tracker_id(slot, news.tracker_id);
    }

    /// A peer of other trackers is one of ours now.
    pub(super) fn remove(&mut self, peer: &PeerEndpoint) {
        match peer {
            PeerEndpoint::V4(wire) => {
                if let Some(position) = self.v4.iter().position(|other| other == wire) {
                    self.v4.remove(position);
                    self.shorten(position, |line| &mut line.v4);
                    self.count_addresses();
                }
            }
            PeerEndpoint::V6(wire) => {
                let Some(more) = &mut self.more else { return };
                if let Some(position) = more.v6.iter().position(|other| other == wire) {
                    more.v6.remove(position);
                    self.shorten(position, |line| &mut line.v6);
                    self.count_addresses();
                }
            }
        }
    }

    /// The line that the peer at a position belongs to has one fewer.
    fn shorten(&mut self, position: usize, count: impl Fn(&mut TrackerLine) -> &mut u8) {
        let mut end = 0;
        for line in &mut self.lines {
            let count = count(line);
            end += usize::from(*count);
            if position < end {
                *count -= 1;
                return;
            }
        }
    }

    /// Forgets peers that no tracker confirmed for too long.
    pub(super) fn expire(&mut self, minute: u16) {
        for slot in 0..self.lines.len() as Slot {
            let line = self.line(slot);
            let over = minute.wrapping_sub(line.expires) < u16::MAX / 2;
            if over && (line.v4 > 0 || line.v6 > 0) {
                self.forget_peers_of(slot);
            }
        }
    }

    /// A tracker is not asked any more: nothing of it is kept.
    pub(super) fn forget_tracker(&mut self, slot: Slot) {
        if usize::from(slot) < self.lines.len() {
            self.forget_peers_of(slot);
            self.lines[usize::from(slot)] = TrackerLine::default();
        }
        if let Some(more) = &mut self.more {
            more.ids.retain(|(of, _)| *of != slot);
            for told in &mut more.told {
                told.slots.remove(slot);
            }
        }
    }

    /// Nobody here takes part any more: what trackers gave goes. The times they demanded stay, and so do the peers that
    /// they are still to be told have gone.
    pub(super) fn forget_peers(&mut self) {
        self.v4 = Vec::new();
        self.more = self.more.take().and_then(|mut more| {
            more.v6 = Vec::new();
            if more.told.is_empty() {
                more.ids = Vec::new();
            }
            let keeps = !more.told.is_empty() || !more.asked.is_empty();
            keeps.then_some(more)
        });
        for line in &mut self.lines {
            (line.v4, line.v6) = (0, 0);
        }
        self.count_addresses();
    }

    /// Whether no time lies ahead, and nobody is to be told that a peer has gone.
    pub(super) fn is_over(&self, now: u32) -> bool {
        let remembers = |slot| now < self.line(slot).due.saturating_add(FORGOTTEN);
        self.pending == 0
            && self.lines.iter().all(|line| line.due <= now)
            && !self
                .told()
                .iter()
                .any(|told| told.slots.iter().any(remembers))
    }

    /// A tracker is going to be asked; `false` if it is already.
    pub(super) fn ask(&mut self, slot: Slot) -> bool {
        let asked = &mut self.more.get_or_insert_default().asked;
        let new = !asked.has(slot);
        asked.insert(slot);
        new
    }

    /// It was asked.
    pub(super) fn asked(&mut self, slot: Slot) {
        if let Some(more) = &mut self.more {
            more.asked.remove(slot);
        }
    }

    pub(super) fn is_asked(&self, slot: Slot) -> bool {
        self.more.as_ref().is_some_and(|more| more.asked.has(slot))
    }

    /// Notes that a tracker hears of a peer; `true` if for the first time.
    pub(super) fn tell(&mut self, slot: Slot, told: ToldPeer) -> bool {
        let all = &mut self.more.get_or_insert_default().told;
        let position = all.iter().position(|other| other.at == told.at);
        let position = position.unwrap_or_else(|| {
            if all.len() >= TOLD {
                all.remove(0);
            }
            all.push(told.clone());
            all.len() - 1
        });
        let kept = &mut all[position];
        let slots = std::mem::take(&mut kept.slots);
        *kept = ToldPeer { slots, ..told };
        let before = kept.slots.has(slot);
        kept.slots.insert(slot);
        !before
    }

    /// Keeps what a peer said last, for those who are told later that it has gone.
    pub(super) fn leaves(&mut self, at: &PeerEndpoint, announce: &Announce) {
        let Some(more) = &mut self.more else { return };
        if let Some(kept) = more.told.iter_mut().find(|told| told.at == *at) {
            let slots = std::mem::take(&mut kept.slots);
            *kept = ToldPeer {
                slots,
                ..ToldPeer::new(*at, announce)
            };
        }
    }

    /// Takes a peer out, with who was told of it.
    pub(super) fn untell(&mut self, at: &PeerEndpoint) -> Option<ToldPeer> {
        let all = &mut self.more.as_mut()?.told;
        let position = all.iter().position(|told| told.at == *at)?;
        Some(all.remove(position))
    }

    /// One tracker does not know of a peer any more.
    pub(super) fn untell_one(&mut self, at: &PeerEndpoint, slot: Slot) {
        let Some(more) = &mut self.more else { return };
        if let Some(position) = more.told.iter().position(|told| told.at == *at) {
            let slots = &mut more.told[position].slots;
            slots.remove(slot);
            if slots.is_empty() {
                more.told.remove(position);
            }
        }
    }

    pub(super) fn set_tracker_id(&mut self, slot: Slot, id: Option<&[u8]>) {
        let Some(id) = id.filter(|id| id.len() <= TRACKER_ID) else {
            return; // the old one stays in use
        };
        let ids = &mut self.more.get_or_insert_default().ids;
        ids.retain(|(of, _)| *of != slot);
        ids.push((slot, id.into()));
    }

    /// The lines with their slots and peers.
    pub(super) fn split(
        &self,
    ) -> impl Iterator<Item = (Slot, TrackerLine, &[[u8; 6]], &[[u8; 18]])> {
        let (mut v4, mut v6) = (self.v4(), self.v6());
        (0..).zip(&self.lines).map(move |(slot, line)| {
            let (of_v4, of_v6);
            (of_v4, v4) = v4.split_at(line.v4.into());
            (of_v6, v6) = v6.split_at(line.v6.into());
            (slot, *line, of_v4, of_v6)
        })
    }

    /// What two sheets of the same hash say: of each tracker the later time, with the peers that came with it, and all peers
    /// that trackers were told of. So nobody is asked early, and who was told is told of the end.
    pub(super) fn united(self, other: Self) -> Self {
        let mut kept = KeptSheet::default();
        for sheet in [&self, &other] {
            let lines = sheet.split().filter(|(_, line, ..)| line.due > 0);
            kept.lines
                .extend(lines.map(|(slot, line, v4, v6)| (slot, line, v4.to_vec(), v6.to_vec())));
            kept.told.extend_from_slice(sheet.told());
            kept.ids.extend_from_slice(sheet.ids());
        }
        kept.lines
            .sort_by_key(|(slot, line, ..)| (*slot, Reverse(line.due)));
        kept.lines.dedup_by_key(|(slot, ..)| *slot);
        let mut seen = HashSet::new();
        for (_, line, v4, v6) in &mut kept.lines {
            v4.retain(|peer| seen.insert(long(peer)));
            v6.retain(|peer| seen.insert(*peer));
            (line.v4, line.v6) = (v4.len() as u8, v6.len() as u8);
        }
        kept.told.reverse();
        let mut told: Vec<ToldPeer> = Vec::new();
        for one in kept.told {
            match told.iter_mut().find(|other| other.at == one.at) {
                Some(known) => one.slots.iter().for_each(|slot| known.slots.insert(slot)),
                None => told.push(one),
            }
        }
        told.truncate(TOLD);
        told.reverse();
        kept.told = told;
        let mut ids = Slots::default();
        kept.ids.retain(|(slot, _)| {
            let new = !ids.has(*slot);
            ids.insert(*slot);
            new
        });
        Self::restored(kept)
    }

    fn line_mut(&mut self, slot: Slot) -> &mut TrackerLine {
        let slot = usize::from(slot);
        if self.lines.len() <= slot {
            self.lines.reserve_exact(slot + 1 - self.lines.len());
            self.lines.resize(slot + 1, TrackerLine::default());
        }
        &mut self.lines[slot]
    }

    /// How many peers stand before those of a line.
    fn before(&self, slot: Slot) -> [usize; 2] {
        let lines = &self.lines[..usize::from(slot).min(self.lines.len())];
        lines.iter().fold([0, 0], |[v4, v6], line| {
            [v4 + usize::from(line.v4), v6 + usize::from(line.v6)]
        })
    }

    fn forget_peers_of(&mut self, slot: Slot) {
        let line = self.line(slot);
        let [v4, v6] = self.before(slot);
        self.v4.drain(v4..v4 + usize::from(line.v4));
        if let Some(more) = &mut self.more {
            more.v6.drain(v6..v6 + usize::from(line.v6));
        }
        if line.v4 > 0 || line.v6 > 0 {
            let line = self.line_mut(slot);
            (line.v4, line.v6) = (0, 0);
            self.count_addresses();
        }
    }
}

/// Both families in one form, to compare.
fn long(wire: &[u8; 6]) -> [u8; 18] {
    let mut long = [0; 18];
    long[..6].copy_from_slice(wire);
    long[17] = 1; // no peer of IPv6 has such an address and port with it
    long
}

#[cfg(test)]
mod tests {
    use weir_tracker_proto::PeerId;

    use super::*;

    fn v4(last: u8) -> PeerEndpoint {
        PeerEndpoint::V4([10, 0, 0, last, 0x1a, 0xe1])
    }

    fn v6(last: u8) -> PeerEndpoint {
        let mut wire = [0; 18];
        (wire[0], wire[15], wire[16]) = (0x20, last, 0x1a);
        PeerEndpoint::V6(wire)
    }

    fn absorb(sheet: &mut Sheet, slot: Slot, peers: &[PeerEndpoint]) {
        let news = News {
            due: 1800,
            expires: 60,
            peers,
            tracker_id: None,
            most: 6,
        };
        sheet.absorb(slot, &news);
    }

    fn lasts(sheet: &Sheet) -> (Vec<u8>, Vec<u8>) {
        let v4 = sheet.v4().iter().map(|wire| wire[3]).collect();
        (v4, sheet.v6().iter().map(|wire| wire[15]).collect())
    }

    #[test]
    fn a_tracker_costs_eight_bytes() {
        assert_eq!(size_of::<TrackerLine>(), 8);
        assert!(size_of::<Sheet>() <= 64);
    }

    #[test]
    fn an_answer_replaces_the_peers_of_its_tracker_alone() {
        let mut sheet = Sheet::default();
        absorb(&mut sheet, 1, &[v4(1), v6(1), v4(2)]);
        absorb(&mut sheet, 0, &[v4(3), v6(2)]);
        assert_eq!(lasts(&sheet), (vec![3, 1, 2], vec![2, 1]));
        absorb(&mut sheet, 1, &[v4(4)]);
        assert_eq!(lasts(&sheet), (vec![3, 4], vec![2]));
        sheet.set_due(0, 7);
        assert_eq!(lasts(&sheet), (vec![3, 4], vec![2]), "a failure keeps them");
    }

    #[test]
    fn no_peer_is_there_twice_and_not_too_many() {
        let mut sheet = Sheet::default();
        absorb(&mut sheet, 0, &[v4(1), v4(1), v4(2)]);
        absorb(
            &mut sheet,
            3,
            &[v4(2), v4(3), v4(4), v4(5), v4(6), v4(7), v4(8)],
        );
        assert_eq!(lasts(&sheet).0, [1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_peer_that_comes_to_us_is_no_longer_one_of_others() {
        let mut sheet = Sheet::default();
        absorb(&mut sheet, 0, &[v4(1), v4(2), v6(1)]);
        absorb(&mut sheet, 1, &[v4(3)]);
        for peer in [v4(2), v6(1), v4(9), v6(9)] {
            sheet.remove(&peer);
        }
        assert_eq!(lasts(&sheet), (vec![1, 3], vec![]));
        absorb(&mut sheet, 0, &[]);
        assert_eq!(lasts(&sheet), (vec![3], vec![]));
    }

    #[test]
    fn peers_go_when_nobody_confirms_them_and_times_stay() {
        let mut sheet = Sheet::default();
        absorb(&mut sheet, 0, &[v4(1), v6(1)]);
        sheet.expire(59);
        assert_eq!(sheet.peers(), 2);
        sheet.expire(60);
        assert_eq!(sheet.peers(), 0);
        assert_eq!(sheet.line(0).due, 1800);
        absorb(&mut sheet, 2, &[v4(1)]);
        sheet.forget_peers();
        assert_eq!((sheet.peers(), sheet.line(2).due), (0, 1800));
        assert!(!sheet.is_over(1799) && sheet.is_over(1800));
    }

    #[test]
    fn who_was_told_is_remembered_once_per_peer() {
        let mut sheet = Sheet::default();
        let told = |last| ToldPeer {
            at: v4(last),
            peer_id: PeerId([last; 20]),
            port: 6881,
            key: 0,
            bytes: [0; 3],
            slots: Slots::default(),
        };
        for slot in [0, 70, 3] {
            sheet.tell(slot, told(1));
        }
        sheet.tell(5, told(2));
        let gone = sheet.untell(&v4(1)).unwrap();
        assert_eq!(gone.slots.iter().collect::<Vec<_>>(), [0, 3, 70]);
        assert_eq!(sheet.untell(&v4(1)), None);
        for last in 10..200 {
            sheet.tell(0, told(last));
        }
        assert_eq!(sheet.told().len(), TOLD);
        assert!(sheet.untell(&v4(2)).is_none(), "the oldest goes first");
    }

    #[test]
    fn a_tracker_id_stays_until_there_is_another() {
        let mut sheet = Sheet::default();
        sheet.set_tracker_id(1, Some(b"one"));
        sheet.set_tracker_id(2, Some(b"two"));
        sheet.set_tracker_id(1, None);
        assert_eq!(sheet.tracker_id(1), Some(&b"one"[..]));
        sheet.set_tracker_id(1, Some(b"three"));
        assert_eq!(sheet.tracker_id(1), Some(&b"three"[..]));
        sheet.forget_tracker(1);
        assert_eq!(sheet.tracker_id(1), None);
        assert_eq!(sheet.tracker_id(2), Some(&b"two"[..]));
    }
}
