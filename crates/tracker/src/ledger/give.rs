//! Peers of other trackers in replies.

use super::sheet::Sheet;
use super::{Ledger, lock_of};
use crate::swarm::{LocalPeers, OtherPeers, PeerEndpoint, SwarmCounts, Want};

/// What a reply takes from a sheet.
pub(crate) struct ForeignWish<'a> {
    /// Where the asker is reached.
    pub(crate) asker: [Option<&'a PeerEndpoint>; 2],
    pub(crate) want: Want,
    /// It wants leechers, which peers of other trackers hardly are.
    pub(crate) seeds: bool,
    /// It is new here, and may be among what other trackers told.
    pub(crate) new: bool,
    /// Where the peers of this reply begin in the buffers.
    pub(crate) starts: [usize; 2],
}

impl Ledger {
    /// Appends peers of other trackers to a reply; says who takes part, with `local` of ours.
    #[inline(never)]
    pub(crate) fn give(
        &self,
        (hash, local): (&[u8; 20], &LocalPeers),
        wish: &ForeignWish<'_>,
        random: &mut fastrand::Rng,
        out: [&mut Vec<u8>; 2],
    ) -> SwarmCounts {
        let spot = self.spot(hash);
        let mut table = self.tables[lock_of(spot)].lock();
        let Some(sheet) = table.get_mut(spot) else {
            return local.with(OtherPeers::default());
        };
        if wish.new {
            self.counted(sheet, |sheet| {
                for asker in wish.asker.into_iter().flatten() {
                    sheet.remove(asker);
                }
            });
        }
        wish.fill(sheet, random, out);
        local.with(sheet.others())
    }

    /// Who of ours takes part in a swarm, how many those of other trackers add to that, and how many they are.
    pub(crate) fn count(&self, hash: &[u8; 20], local: &LocalPeers) -> ((SwarmCounts, u32), usize) {
        let counts = self.look(hash, |sheet| (local.split(sheet.others()), sheet.peers()));
        counts.unwrap_or_else(|| (local.split(OtherPeers::default()), 0))
    }
}

impl ForeignWish<'_> {
    /// Makes room for up to half of the reply, and fills it.
    fn fill(&self, sheet: &Sheet, random: &mut fastrand::Rng, [v4, v6]: [&mut Vec<u8>; 2]) {
        let (number, families) = match self.want {
            Want::V4(number) => (number, [true, false]),
            Want::V6(number) => (number, [false, true]),
            Want::OwnFirst(number) | Want::Both(number) => (number, [true, true]),
        };
        let [here_v4, here_v6] = [sheet.v4().len(), sheet.v6().len()];
        let there = usize::from(families[0]) * here_v4 + usize::from(families[1]) * here_v6;
        let mut local = [
            (v4.len() - self.starts[0]) / 6,
            (v6.len() - self.starts[1]) / 18,
        ];
        if !self.seeds {
            let keep = number.div_ceil(2).max(number.saturating_sub(there));
            let over = (local[0] + local[1]).saturating_sub(keep);
            // The family that fills what is left comes last.
            let own_v4 = matches!(self.asker[0], Some(PeerEndpoint::V4(_)));
            let order = if own_v4 { [1, 0] } else { [0, 1] };
            let mut over = over;
            for family in order {
                let cut = over.min(local[family]);
                local[family] -= cut;
                over -= cut;
            }
            v4.truncate(self.starts[0] + local[0] * 6);
            v6.truncate(self.starts[1] + local[1] * 18);
        }
        let mut room = number.saturating_sub(local[0] + local[1]);
        let own_first = match self.asker[0] {
            Some(PeerEndpoint::V6(_)) => [false, true],
            _ => [true, false],
        };
        for of_v4 in own_first {
            if of_v4 && families[0] {
                room -= self.append(sheet.v4(), room, random, v4);
            } else if !of_v4 && families[1] {
                room -= self.append(sheet.v6(), room, random, v6);
            }
        }
    }

    /// Appends up to `room` of all, from anywhere on, without the asker.
    fn append<const N: usize>(
        &self,
        all: &[[u8; N]],
        room: usize,
        random: &mut fastrand::Rng,
        out: &mut Vec<u8>,
    ) -> usize {
        if all.is_empty() || room == 0 {
            return 0;
        }
        let (before, from) = all.split_at(random.usize(..all.len()));
        let asker = |peer: &[u8; N]| {
            let mut askers = self.asker.into_iter().flatten();
            askers.any(|asker| match asker {
                PeerEndpoint::V4(wire) => peer[..] == wire[..],
                PeerEndpoint::V6(wire) => peer[..] == wire[..],
            })
        };
        let mut given = 0;
        for peer in from
            .iter()
            .chain(before)
            .filter(|peer| !asker(peer))
            .take(room)
        {
            out.extend_from_slice(peer);
            given += 1;
        }
        given
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{HASH, ledger, v4};
    use super::*;

    fn v6(last: u8) -> PeerEndpoint {
        let mut wire = [0; 18];
        (wire[0], wire[15], wire[17]) = (0x20, last, 1);
        PeerEndpoint::V6(wire)
    }

    fn wish(want: Want, asker: &PeerEndpoint) -> ForeignWish<'_> {
        ForeignWish {
            asker: [Some(asker), None],
            want,
            seeds: false,
            new: false,
            starts: [3, 0],
        }
    }

    /// Gives to a reply that has so many local peers of each family already; says how many are in it then.
    fn given(
        ledger: &Ledger,
        wish: &ForeignWish<'_>,
        [local_v4, local_v6]: [usize; 2],
    ) -> [usize; 2] {
        let mut v4 = [&[0; 3][..], &vec![9; 6 * local_v4]].concat();
        let mut v6 = vec![9; 18 * local_v6];
        let mut random = fastrand::Rng::with_seed(1);
        let local = LocalPeers::default();
        ledger.give((&HASH, &local), wish, &mut random, [&mut v4, &mut v6]);
        assert_eq!(v4[..3], [0; 3], "what stood before stays");
        let mut seen = std::collections::HashSet::new();
        let mut foreign = v4[3..]
            .as_chunks::<6>()
            .0
            .iter()
            .filter(|peer| peer[0] != 9);
        assert!(foreign.all(|peer| seen.insert(*peer)));
        [(v4.len() - 3) / 6, v6.len() / 18]
    }

    #[test]
    fn foreign_peers_fill_a_reply_and_get_half_of_a_full_one() {
        let asker = v4(200);
        let ledger = ledger(&[v4(1), v4(2), v4(3), v6(1), v6(2)]);
        for (want, local, expected) in [
            (Want::V4(50), [0, 0], [3, 0]),
            (Want::V4(2), [0, 0], [2, 0]),
            (Want::V4(10), [10, 0], [10, 0]),
            (Want::V6(50), [0, 1], [0, 3]),
            (Want::OwnFirst(50), [1, 0], [4, 2]),
            (Want::OwnFirst(4), [1, 0], [4, 0]),
            (Want::Both(5), [0, 0], [3, 2]),
            (Want::V4(0), [0, 0], [0, 0]),
        ] {
            let wish = wish(want, &asker);
            assert_eq!(given(&ledger, &wish, local), expected, "{want:?} {local:?}");
        }
        let mut wish = wish(Want::V4(10), &asker);
        let count_local = |wish: &ForeignWish<'_>| {
            let (mut v4, mut v6) = ([&[0; 3][..], &[9; 60]].concat(), Vec::new());
            let mut random = fastrand::Rng::with_seed(1);
            let local = LocalPeers::default();
            ledger.give((&HASH, &local), wish, &mut random, [&mut v4, &mut v6]);
            v4[3..]
                .as_chunks::<6>()
                .0
                .iter()
                .filter(|peer| peer[0] == 9)
                .count()
        };
        assert_eq!(count_local(&wish), 7, "three of ours make room");
        wish.seeds = true;
        assert_eq!(count_local(&wish), 10, "not for one who wants leechers");
    }

    #[test]
    fn nobody_gets_itself_and_who_comes_to_us_is_no_longer_foreign() {
        let ledger = ledger(&[v4(1), v4(2)]);
        let asker = v4(1);
        let mut wish = wish(Want::V4(50), &asker);
        assert_eq!(given(&ledger, &wish, [0, 0]), [1, 0]);
        assert_eq!(ledger.peers(&HASH), 2);
        wish.new = true;
        assert_eq!(given(&ledger, &wish, [0, 0]), [1, 0]);
        assert_eq!(ledger.peers(&HASH), 1);
        assert_eq!(ledger.totals(), (1, 1));
    }
}
