//! What other trackers said, as bytes: a file beside that of the swarms of the same group.
//!
//! A head, the forwarders' names by slot with the hashes they never want to be asked about, the sheets one after another,
//! and a checksum. Times are what was left of them
//! when the file was written; the wall clock in the head tells how long nobody ran.

use weir_net::{is_nowhere, is_private};
use weir_tracker_proto::PeerId;

use super::sheet::{KeptSheet, Sheet, Slot, TrackerLine};
use super::told::{Slots, ToldPeer};
use super::{Ledger, SLICE, group_of, lock_of};
use crate::clock::FileTime;
use crate::sealed::{self, BadFile, Bytes};
use crate::swarm::PeerEndpoint;

const MAGIC: &[u8; 8] = b"weirsht3";
/// Written before it was kept who told us never to ask again.
const WITHOUT_NEVERS: &[u8; 8] = b"weirsht2";
/// Written before peers were looked at that trackers gave, and without what ours said last.
const OLD: &[u8; 8] = b"weirsht1";
/// In place of a slot without a name.
const NOBODY: Slot = Slot::MAX;

impl Ledger {
    /// The bytes of one group, if anything changed there since this was last asked.
    pub(crate) fn capture(&self, group: usize, now: FileTime) -> Option<Vec<u8>> {
        if !self.take_changed(group) {
            return None;
        }
        let mut file = MAGIC.to_vec();
        file.extend_from_slice(&now.wall.to_le_bytes());
        self.write_names(group, &mut file);
        for table in self.tables_of(group) {
            let hashes: Vec<[u8; 20]> = table.lock().hashes();
            for slice in hashes.chunks(SLICE) {
                let table = table.lock();
                for hash in slice {
                    if let Some(sheet) = table.get(self.spot(hash)) {
                        write_sheet(hash, sheet, now, &mut file);
                    }
                }
            }
        }
        Some(sealed::seal(file))
    }

    /// Takes in what a file holds. Slots are those of the names here, to which those are added that the file has besides.
    pub(crate) fn restore(&self, file: &[u8], now: FileTime) -> Result<(), BadFile> {
        let kinds = [MAGIC, WITHOUT_NEVERS, OLD];
        let kind = kinds.into_iter().find(|kind| file.starts_with(&kind[..]));
        let kind = kind.unwrap_or(MAGIC);
        let mut content = sealed::open(file, kind)?;
        let old = kind == OLD;
        let wall = content.take().map(u64::from_le_bytes);
        let wall = wall.ok_or(BadFile::Content)?;
        // Both are cut to whole seconds: nobody is asked early for that.
        let away = now.wall.saturating_sub(wall).saturating_sub(1);
        let away = u32::try_from(away).unwrap_or(u32::MAX);
        let slots = self.read_names(&mut content, kind == MAGIC);
        let slots = slots.ok_or(BadFile::Content)?;
        while !content.0.is_empty() {
            let read = read_sheet(&mut content, &slots, (now, away), old);
            let (hash, sheet) = read.ok_or(BadFile::Content)?;
            self.put(hash, sheet);
        }
        Ok(())
    }

    /// All names, each with those hashes of the group that it never wants to be asked about.
    fn write_names(&self, group: usize, file: &mut Vec<u8>) {
        let names = self.names.lock();
        let of_group = |hash: &[u8; 20]| group_of(lock_of(self.spot(hash))) == group;
        file.extend_from_slice(&(names.len() as u16).to_le_bytes());
        for (slot, name) in (0..).zip(&*names) {
            let name = &name.as_bytes()[..name.len().min(u16::MAX.into())];
            file.extend_from_slice(&(name.len() as u16).to_le_bytes());
            file.extend_from_slice(name);
            let mut nevers = self.nevers.of(slot, of_group);
            nevers.truncate(u16::MAX.into());
            file.extend_from_slice(&(nevers.len() as u16).to_le_bytes());
            file.extend_from_slice(nevers.as_flattened());
        }
    }

    /// The slot here of each slot in the file.
    fn read_names(&self, content: &mut Bytes<'_>, with_nevers: bool) -> Option<Vec<Slot>> {
        let mut names = self.names.lock();
        let count = content.take().map(u16::from_le_bytes)?;
        let mut slots = Vec::with_capacity(count.into());
        for _ in 0..count {
            let length = content.take().map(u16::from_le_bytes)?;
            let name = str::from_utf8(content.some(length.into())?).ok()?;
            let known = names.iter().position(|other| other == name);
            let slot = known.unwrap_or_else(|| {
                names.push(name.to_owned());
                names.len() - 1
            });
            let slot = Slot::try_from(slot).ok()?;
            if with_nevers {
                for _ in 0..content.take().map(u16::from_le_bytes)? {
                    self.nevers.add(slot, content.take()?, usize::MAX);
                }
            }
            slots.push(slot);
        }
        Some(slots)
    }
}

fn write_sheet(hash: &[u8; 20], sheet: &Sheet, now: FileTime, file: &mut Vec<u8>) {
    file.extend_from_slice(hash);
    let asked = || sheet.split().filter(|(_, line, ..)| line.due > 0);
    file.extend_from_slice(&(asked().count() as u16).to_le_bytes());
    for (slot, line, v4, v6) in asked() {
        file.extend_from_slice(&slot.to_le_bytes());
        file.extend_from_slice(&line.due.saturating_sub(now.seconds).to_le_bytes());
        let left = line.expires.wrapping_sub(now.minute().short());
        let left = if left > u16::MAX / 2 { 0 } else { left };
        file.extend_from_slice(&left.to_le_bytes());
        file.extend_from_slice(&[line.v4, line.v6]);
        file.extend_from_slice(v4.as_flattened());
        file.extend_from_slice(v6.as_flattened());
    }
    file.push(sheet.told().len() as u8);
    for told in sheet.told() {
        match told.at {
            PeerEndpoint::V4(wire) => {
                file.push(4);
                file.extend_from_slice(&wire);
            }
            PeerEndpoint::V6(wire) => {
                file.push(6);
                file.extend_from_slice(&wire);
            }
        }
        file.extend_from_slice(&told.peer_id.0);
        file.extend_from_slice(&told.port.to_le_bytes());
        file.extend_from_slice(&told.key.to_le_bytes());
        file.extend(told.bytes.iter().flat_map(|count| count.to_le_bytes()));
        file.extend_from_slice(&(told.slots.iter().count() as u16).to_le_bytes());
        for slot in told.slots.iter() {
            file.extend_from_slice(&slot.to_le_bytes());
        }
    }
    file.extend_from_slice(&(sheet.ids().len() as u16).to_le_bytes());
    for (slot, id) in sheet.ids() {
        file.extend_from_slice(&slot.to_le_bytes());
        file.push(id.len() as u8);
        file.extend_from_slice(id);
    }
}

fn read_sheet(
    content: &mut Bytes<'_>,
    slots: &[Slot],
    (now, away): (FileTime, u32),
    old: bool,
) -> Option<([u8; 20], Sheet)> {
    // Which tracker may have private peers is not known here; those of an old file come back with its next answer.
    let stays = |peer: PeerEndpoint| {
        let at = peer.socket();
        at.port() != 0 && !is_nowhere(at.ip()) && !(old && is_private(at.ip()))
    };
    let slot = |content: &mut Bytes<'_>| {
        let slot = content.take().map(u16::from_le_bytes)?;
        Some(slots.get(usize::from(slot)).copied().unwrap_or(NOBODY))
    };
    let hash = content.take::<20>()?;
    let mut kept = KeptSheet::default();
    for _ in 0..content.take().map(u16::from_le_bytes)? {
        let slot = slot(content)?;
        let due = content.take().map(u32::from_le_bytes)?;
        let expires = content.take().map(u16::from_le_bytes)?;
        let [v4, v6] = content.take::<2>()?;
        let mut line = TrackerLine {
            due: now.seconds.saturating_add(due.saturating_sub(away)).max(1),
            expires: now
                .minute()
                .short()
                .wrapping_add(expires.saturating_sub(minutes(away))),
            v4,
            v6,
        };
        let mut v4 = content.some(usize::from(v4) * 6)?.as_chunks().0.to_vec();
        let mut v6 = content.some(usize::from(v6) * 18)?.as_chunks().0.to_vec();
        v4.retain(|wire| stays(PeerEndpoint::V4(*wire)));
        v6.retain(|wire| stays(PeerEndpoint::V6(*wire)));
        (line.v4, line.v6) = (v4.len() as u8, v6.len() as u8);
        if slot != NOBODY {
            kept.lines.push((slot, line, v4, v6));
        }
    }
    for _ in 0..content.take::<1>()?[0] {
        let at = match content.take::<1>()? {
            [4] => PeerEndpoint::V4(content.take()?),
            [6] => PeerEndpoint::V6(content.take()?),
            _ => return None,
        };
        let mut told = ToldPeer {
            at,
            peer_id: PeerId(content.take()?),
            port: content.take().map(u16::from_le_bytes)?,
            key: content.take().map(u32::from_le_bytes)?,
            bytes: [0; 3],
            slots: Slots::default(),
        };
        for count in told.bytes.iter_mut().filter(|_| !old) {
            *count = content.take().map(u64::from_le_bytes)?;
        }
        for _ in 0..content.take().map(u16::from_le_bytes)? {
            let slot = slot(content)?;
            if slot != NOBODY {
                told.slots.insert(slot);
            }
        }
        kept.told.push(told);
    }
    for _ in 0..content.take().map(u16::from_le_bytes)? {
        let slot = slot(content)?;
        let length = content.take::<1>()?[0];
        let id = content.some(length.into())?;
        if slot != NOBODY {
            kept.ids.push((slot, id.into()));
        }
    }
    Some((hash, Sheet::restored(kept)))
}

fn minutes(seconds: u32) -> u16 {
    u16::try_from(seconds / 60).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use weir_tracker_proto::{Announce, InfoHash};

    use super::super::LedgerLimits;
    use super::super::sheet::News;
    use super::*;

    const LIMITS: LedgerLimits = LedgerLimits {
        sheets: 100,
        peers: 1000,
        peers_of_one: 100,
    };
    const HASH: [u8; 20] = [7; 20];

    fn at(seconds: u32, wall: u64) -> FileTime {
        FileTime { seconds, wall }
    }

    fn empty(names: &[&str]) -> Ledger {
        let ledger = Ledger::new(LIMITS, [3; 16]);
        for (slot, name) in (0..).zip(names) {
            assert_eq!(ledger.slot_of(name, |_| true), slot);
        }
        ledger
    }

    fn dues(ledger: &Ledger) -> Vec<u32> {
        ledger.state(&HASH, [0, 1].into_iter()).dues
    }

    fn written(ledger: &Ledger, now: FileTime) -> Vec<u8> {
        let groups = 0..crate::swarm::snapshot::GROUPS;
        let mut files = groups.filter_map(|group| ledger.capture(group, now));
        let file = files.next().expect("one group changed");
        assert!(files.next().is_none());
        file
    }

    fn ledger() -> Ledger {
        let ledger = empty(&["a", "b"]);
        ledger.begin(&HASH, None);
        let peers = [
            PeerEndpoint::V4([1; 6]),
            PeerEndpoint::V6([2; 18]),
            PeerEndpoint::V4([3; 6]),
        ];
        let news = News {
            due: 1800,
            expires: crate::clock::minute(3600).short(),
            peers: &peers,
            tracker_id: Some(b"id"),
            most: 100,
        };
        ledger.absorb(&HASH, 1, &news);
        ledger.set_due(&HASH, 0, 700);
        ledger.end(&HASH, None);
        ledger
    }

    #[test]
    fn times_peers_and_ids_are_there_again_whatever_the_slots_are_called_now() {
        let file = written(&ledger(), at(600, 10_000));
        let after = empty(&["b"]);
        // Five minutes later, on a clock that has just begun.
        after.restore(&file, at(0, 10_300)).unwrap();
        assert_eq!(*after.names.lock(), ["b", "a"]);
        assert_eq!(dues(&after), [901, 1]);
        assert_eq!(after.peers(&HASH), 3);
        assert_eq!(after.totals(), (1, 3));
        assert_eq!(after.tracker_id(&HASH, 0).as_deref(), Some(&b"id"[..]));
        let again = written(&after, at(0, 10_300));
        let third = empty(&[]);
        third.restore(&again, at(0, 10_300)).unwrap();
        assert_eq!(dues(&third), [901, 1]);
        after.sweep(0, 1, 45 * 60, |_| {});
        assert_eq!(after.peers(&HASH), 3);
        after.sweep(0, 1, 46 * 60, |_| {});
        assert_eq!(after.peers(&HASH), 0, "an hour after they came");
    }

    #[test]
    fn a_forwarder_that_is_renamed_keeps_its_times_in_every_file() {
        let ledger = ledger();
        let groups = crate::swarm::snapshot::GROUPS;
        written(&ledger, at(600, 10_000));
        ledger.rename(0, "a");
        assert!((0..groups).all(|group| ledger.capture(group, at(600, 10_000)).is_none()));
        ledger.rename(0, "new");
        let files = (0..groups).filter_map(|group| ledger.capture(group, at(600, 10_000)));
        let files: Vec<Vec<u8>> = files.collect();
        assert_eq!(files.len(), groups, "the name is in each of them");
        let after = empty(&["b", "new"]);
        for file in &files {
            after.restore(file, at(0, 10_000)).unwrap();
        }
        assert_eq!(*after.names.lock(), ["b", "new"]);
        assert_eq!(dues(&after), [1200, 100]);
        // Two that change their names keep their slots.
        after.rename(0, "new");
        after.rename(1, "b");
        assert_eq!(*after.names.lock(), ["new", "b"]);
    }

    #[test]
    fn an_old_file_is_read_without_the_peers_that_are_no_longer_taken() {
        let v6 = |first: u16, last: u8| {
            let mut wire = [0; 18];
            wire[..2].copy_from_slice(&first.to_be_bytes());
            (wire[15], wire[17]) = (last, 1);
            PeerEndpoint::V6(wire)
        };
        let peers = [
            PeerEndpoint::V4([127, 0, 0, 1, 0, 1]),
            PeerEndpoint::V4([10, 0, 0, 1, 0, 1]),
            PeerEndpoint::V4([198, 51, 100, 7, 0, 1]),
            PeerEndpoint::V4([198, 51, 100, 8, 0, 0]),
            v6(0xfe80, 1),
            v6(0xfd00, 1),
            v6(0x2606, 1),
        ];
        let ledger = empty(&["a", "b"]);
        for slot in 0..2 {
            ledger.begin(&HASH, None);
            let news = News {
                due: 1800,
                expires: 60,
                peers: &peers[usize::from(slot)..],
                tracker_id: None,
                most: 100,
            };
            ledger.absorb(&HASH, slot, &news);
            ledger.end(&HASH, None);
        }
        let new = written(&ledger, at(0, 0));
        let mut older = new[..new.len() - blake3::OUT_LEN].to_vec();
        // Behind each of the two names is how many hashes it never wants.
        older.drain(26..28);
        older.drain(21..23);
        let mut with_kind = |kind: &[u8; 8]| {
            older[..8].copy_from_slice(kind);
            sealed::seal(older.clone())
        };
        let files = [with_kind(WITHOUT_NEVERS), with_kind(OLD)];
        for (file, left) in [&new, &files[0], &files[1]]
            .into_iter()
            .zip([[2, 2], [2, 2], [1, 1]])
        {
            let after = empty(&[]);
            assert_eq!(after.restore(file, at(0, 0)), Ok(()));
            assert!(after.state(&HASH, [].into_iter()).peers);
            let groups = 0..crate::swarm::snapshot::GROUPS;
            let kept = groups
                .flat_map(|group| after.tables_of(group))
                .find_map(|table| {
                    let table = table.lock();
                    let sheet = table.get(after.spot(&HASH))?;
                    Some([sheet.v4().len(), sheet.v6().len()])
                });
            assert_eq!(kept, Some(left), "each where it belongs");
            assert_eq!(after.totals(), (1, left[0] + left[1]));
            after.forget_tracker(0);
            after.forget_tracker(1);
            assert_eq!(after.totals(), (1, 0), "and goes with its tracker");
        }
    }

    #[test]
    fn a_file_that_was_cut_or_changed_is_refused() {
        let file = written(&ledger(), at(600, 10_000));
        let read = |file: &[u8]| empty(&[]).restore(file, at(0, 0));
        assert_eq!(read(&file), Ok(()));
        assert_eq!(read(&file[..file.len() - 1]), Err(BadFile::Checksum));
        let mut changed = file.clone();
        changed[20] ^= 1;
        assert_eq!(read(&changed), Err(BadFile::Checksum));
        assert_eq!(
            read(b"something else that is long enough for a checksum"),
            Err(BadFile::Foreign)
        );
        for end in 0..file.len() - blake3::OUT_LEN {
            let cut = sealed::seal(file[..end].to_vec());
            // Cut between two sheets it is whole again; anywhere else it is noticed.
            let _ = read(&cut);
        }
    }

    #[test]
    fn a_hash_in_two_files_keeps_the_later_times_and_all_who_were_told() {
        let later = empty(&["a", "b"]);
        later.begin(&HASH, None);
        let peers = [PeerEndpoint::V4([3; 6]), PeerEndpoint::V4([4; 6])];
        let news = News {
            due: 2000,
            expires: crate::clock::minute(3600).short(),
            peers: &peers,
            tracker_id: None,
            most: 100,
        };
        later.absorb(&HASH, 0, &news);
        later.set_due(&HASH, 1, 600);
        let port = std::num::NonZeroU16::MIN;
        let announce = Announce::new(InfoHash(HASH), PeerId([9; 20]), port);
        later.tell(0, PeerEndpoint::V4([9; 6]), &announce);
        let earlier = ledger();
        earlier.tell(1, PeerEndpoint::V4([9; 6]), &announce);
        earlier.tell(1, PeerEndpoint::V4([8; 6]), &announce);
        let file = |ledger: &Ledger| written(ledger, at(0, 0));
        let (one, other) = (file(&earlier), file(&later));
        for order in [[&one, &other], [&other, &one]] {
            let after = empty(&["a", "b"]);
            for file in order {
                after.restore(file, at(0, 0)).unwrap();
            }
            assert_eq!(dues(&after), [2000, 1800]);
            // Two of each tracker, one of them known to both.
            assert_eq!(after.totals(), (1, 4));
            assert_eq!(after.tracker_id(&HASH, 1).as_deref(), Some(&b"id"[..]));
            let told = after.untell(&HASH, &PeerEndpoint::V4([9; 6])).unwrap();
            assert_eq!(told.slots.iter().collect::<Vec<_>>(), [0, 1]);
            assert!(after.untell(&HASH, &PeerEndpoint::V4([8; 6])).is_some());
        }
    }

    #[test]
    fn nothing_is_written_where_nothing_changed() {
        let ledger = ledger();
        written(&ledger, at(0, 0));
        let groups = 0..crate::swarm::snapshot::GROUPS;
        assert!(
            groups
                .clone()
                .all(|group| ledger.capture(group, at(0, 0)).is_none())
        );
        ledger.set_due(&HASH, 0, 9);
        assert_eq!(
            groups
                .filter_map(|group| ledger.capture(group, at(0, 0)))
                .count(),
            1
        );
    }
}
