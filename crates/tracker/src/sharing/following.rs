//! Which streams are read, how far, and what of them is next.
//!
//! What stands in several streams is taken in by the time at which it was written: a peer that came on one node and went
//! on another is gone afterwards, also for a node that reads both from their beginning. So nothing is taken in while a
//! stream that may hold something older has yet to be read. A stream that cannot be read now, since its server of a cluster is
//! away, is not waited for: what stands there comes late, with its age.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use weir_engine::dispatch::Moment;
use weir_store::shared::{NodeId, Place, Stream, StreamEnd};

/// Entries of one stream that are read at once.
pub(super) const MOST: usize = 16;
/// Bytes of an entry, sealed; a longer one is not ours.
const LONGEST_ENTRY: usize = 128 << 10;
/// Bytes that wait to be taken in. Beyond, each stream has one entry there, so that all go on.
const WAITING: usize = 32 << 20;

/// All streams that are read.
#[derive(Debug, Default)]
pub(super) struct Following(BTreeMap<Stream, Followed>);

#[derive(Debug)]
struct Followed {
    /// Read up to here.
    read: Place,
    /// Read, and not taken in yet.
    waiting: VecDeque<(Place, Vec<u8>)>,
    /// Nothing stood behind that when it was read.
    at_end: bool,
    /// When everything was last read and taken in.
    current: Moment,
    /// Its server did not answer in this turn.
    away: bool,
    /// Its node has left: it is read to its end once more, for the last words, and then no longer.
    left: bool,
}

impl Following {
    /// Reads these streams from now on; new ones from where `begin` says. Others are read to their end first: a node that stops
    /// writes what it still has to say, and is no member any more a moment later.
    pub(super) fn follow(
        &mut self,
        streams: impl IntoIterator<Item = Stream>,
        begin: impl Fn(Stream) -> Place,
        now: Moment,
    ) {
        let mut before = std::mem::take(&mut self.0);
        for stream in streams {
            let followed = before.remove(&stream).unwrap_or_else(|| Followed {
                read: begin(stream),
                waiting: VecDeque::new(),
                at_end: false,
                current: now,
                away: false,
                left: false,
            });
            let followed = Followed {
                left: false,
                ..followed
            };
            self.0.insert(stream, followed);
        }
        before.retain(|_, one| !one.left || !one.at_end || !one.waiting.is_empty());
        for one in before.values_mut().filter(|one| !one.left) {
            one.left = true;
            one.at_end = false;
        }
        self.0.append(&mut before);
        for one in self.0.values_mut() {
            one.away = false;
        }
    }

    /// Reads this one no longer.
    pub(super) fn forget(&mut self, stream: Stream) {
        self.0.remove(&stream);
    }

    pub(super) fn has(&self, stream: Stream) -> bool {
        self.0.contains_key(&stream)
    }

    /// What is to be read, and from where.
    pub(super) fn wanted(&self) -> Vec<(Stream, Place)> {
        let idle = |one: &Followed| one.waiting.is_empty() && !one.away;
        let idle = self.0.iter().filter(|(_, one)| idle(one));
        idle.map(|(stream, one)| (*stream, one.read)).collect()
    }

    /// Takes what was read. Says which streams are read from their beginning now, because the place is none of theirs:
    /// the store has lost something.
    pub(super) fn take(&mut self, ends: Vec<StreamEnd>, now: Moment) -> Vec<Stream> {
        let mut anew = Vec::new();
        let waiting = self.0.values().flat_map(|one| &one.waiting);
        let mut waiting: usize = waiting.map(|(_, body)| body.len()).sum();
        for end in ends {
            let Some(one) = self.0.get_mut(&end.stream) else {
                continue;
            };
            let beyond = match end.last {
                Some(last) => last < one.read,
                None => one.read != Place::START,
            };
            if beyond {
                one.read = Place::START;
                one.at_end = end.last.is_none();
                anew.push(end.stream);
                continue;
            }
            let mut entries = end.entries;
            entries.truncate(MOST);
            // A store that does not keep the order is no reason to read for ever.
            entries.retain(|(place, _)| *place > one.read);
            entries.sort_by_key(|(place, _)| *place);
            // Of one that is not ours, that it was there is all that is kept.
            let long = |body: &&mut Vec<u8>| body.len() > LONGEST_ENTRY;
            let bodies = entries.iter_mut().map(|(_, body)| body);
            bodies.filter(long).for_each(|body| *body = Vec::new());
            let mut room = WAITING.saturating_sub(waiting);
            let fits = |(_, body): &&(Place, Vec<u8>)| {
                let fits = body.len() <= room;
                room = room.saturating_sub(body.len());
                fits
            };
            let fit = entries.iter().take_while(fits).count();
            entries.truncate(fit.max(1));
            waiting += entries.iter().map(|(_, body)| body.len()).sum::<usize>();
            if let Some((last, _)) = entries.last() {
                one.read = *last;
            }
            one.at_end = entries.is_empty() || end.last.is_none_or(|last| last <= one.read);
            if one.at_end && entries.is_empty() {
                one.current = now;
            }
            one.waiting.extend(entries);
        }
        anew
    }

    /// Those that were wanted and not read are tried again in the next turn.
    pub(super) fn miss(&mut self, wanted: &[Stream], read: &BTreeSet<Stream>) {
        for stream in wanted.iter().filter(|stream| !read.contains(stream)) {
            if let Some(one) = self.0.get_mut(stream) {
                one.away = true;
                one.at_end = false;
            }
        }
    }

    /// The next entry that may be taken in.
    pub(super) fn next(&mut self, now: Moment) -> Option<(Stream, Place, Vec<u8>)> {
        let unread = |one: &Followed| one.waiting.is_empty() && !one.at_end && !one.away;
        if self.0.values().any(unread) {
            return None;
        }
        let first = |one: &Followed| one.waiting.front().map(|(place, _)| *place);
        let waiting = self.0.iter_mut().filter(|(_, one)| first(one).is_some());
        let (stream, one) = waiting.min_by_key(|(stream, one)| (first(one), **stream))?;
        let (place, body) = one.waiting.pop_front()?;
        if one.waiting.is_empty() && one.at_end {
            one.current = now;
        }
        Some((*stream, place, body))
    }

    /// Whether something is known to be there that was not read yet.
    pub(super) fn is_behind(&self) -> bool {
        let mut all = self.0.values();
        all.any(|one| !one.at_end && !one.away || !one.waiting.is_empty())
    }

    /// Whether it was tried in vain.
    pub(super) fn is_away(&self, stream: Stream) -> bool {
        self.0.get(&stream).is_some_and(|one| one.away)
    }

    /// How long each node's stream of swarms was not read to its end.
    pub(super) fn lags(&self, now: Moment) -> Vec<(NodeId, Duration)> {
        let lag = |(stream, one): (&Stream, &Followed)| match stream {
            Stream::Swarm(node) => Some((*node, one.current.until(now))),
            Stream::Forwarded(_) => None,
        };
        self.0.iter().filter_map(lag).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Stream = Stream::Swarm(NodeId(1));
    const B: Stream = Stream::Swarm(NodeId(2));

    fn place(millis: u64) -> Place {
        Place { millis, number: 0 }
    }

    fn end(stream: Stream, millis: &[u64], last: Option<u64>) -> StreamEnd {
        let entries = millis.iter().map(|&millis| (place(millis), vec![]));
        StreamEnd {
            stream,
            last: last.map(place),
            entries: entries.collect(),
        }
    }

    fn all(following: &mut Following) -> Vec<u64> {
        let next = || following.next(Moment(9)).map(|(_, place, _)| place.millis);
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn several_streams_are_taken_in_by_time() {
        let mut following = Following::default();
        following.follow([A, B], |_| Place::START, Moment(0));
        assert_eq!(following.wanted().len(), 2);
        following.take(vec![end(A, &[1, 5, 9], Some(9))], Moment(1));
        assert_eq!(all(&mut following), [0; 0], "b may have something older");
        assert_eq!(following.wanted(), [(B, Place::START)]);
        following.take(vec![end(B, &[2, 4], Some(30))], Moment(1));
        assert_eq!(all(&mut following), [1, 2, 4], "b may have a 6");
        assert!(following.is_behind());
        following.take(vec![end(B, &[7, 30], Some(30))], Moment(1));
        assert_eq!(all(&mut following), [5, 7, 9, 30]);
        assert!(!following.is_behind());
        assert_eq!(following.wanted(), [(A, place(9)), (B, place(30))]);
    }

    #[test]
    fn what_waits_is_bounded_and_all_streams_go_on() {
        let mut following = Following::default();
        let streams = || (1..100).map(|node| Stream::Swarm(NodeId(node)));
        following.follow(streams(), |_| Place::START, Moment(0));
        let entries = |count: u64, len| (1..=count).map(move |at| (place(at), vec![7; len]));
        let full = |stream| StreamEnd {
            stream,
            last: Some(place(MOST as u64)),
            entries: entries(MOST as u64, LONGEST_ENTRY).collect(),
        };
        following.take(streams().map(full).collect(), Moment(1));
        let bytes = |following: &Following| -> usize {
            let waiting = following.0.values().flat_map(|one| &one.waiting);
            waiting.map(|(_, body)| body.len()).sum()
        };
        let most = WAITING + 100 * LONGEST_ENTRY;
        assert!(bytes(&following) <= most, "{}", bytes(&following));
        let mut taken = 0;
        while following.is_behind() {
            taken += all(&mut following).len();
            let rest = |(stream, read): (Stream, Place)| {
                let mut end = full(stream);
                end.entries.retain(|(place, _)| *place > read);
                end
            };
            let rest = following.wanted().into_iter().map(rest).collect();
            following.take(rest, Moment(2));
        }
        assert_eq!(taken, 99 * MOST, "nothing is lost");
        // What nobody of us wrote is not even kept until it is looked at.
        let mut following = Following::default();
        following.follow([A], |_| Place::START, Moment(0));
        let end = StreamEnd {
            stream: A,
            last: Some(place(2)),
            entries: entries(2, LONGEST_ENTRY + 1).collect(),
        };
        following.take(vec![end], Moment(1));
        assert_eq!(bytes(&following), 0);
        assert_eq!(all(&mut following), [1, 2], "it counts as not to be read");
    }

    #[test]
    fn a_place_that_is_none_of_the_streams_is_the_beginning() {
        let mut following = Following::default();
        following.follow([A, B], |_| place(50), Moment(0));
        let anew = following.take(vec![end(A, &[], Some(40)), end(B, &[], None)], Moment(1));
        assert_eq!(anew, [A, B]);
        assert_eq!(following.wanted(), [(A, Place::START), (B, Place::START)]);
        following.take(vec![end(A, &[40], Some(40)), end(B, &[], None)], Moment(1));
        assert_eq!(all(&mut following), [40]);
    }

    #[test]
    fn the_last_words_of_a_node_that_has_left_are_read() {
        let mut following = Following::default();
        following.follow([A, B], |_| Place::START, Moment(0));
        following.take(
            vec![end(A, &[1], Some(1)), end(B, &[2], Some(2))],
            Moment(1),
        );
        assert_eq!(all(&mut following), [1, 2]);
        following.follow([A], |_| Place::START, Moment(2));
        assert!(following.is_behind(), "it may have said something since");
        following.take(vec![end(A, &[], Some(1)), end(B, &[3], Some(4))], Moment(3));
        assert_eq!(all(&mut following), [3]);
        following.follow([A], |_| Place::START, Moment(4));
        following.take(vec![end(B, &[4], Some(4))], Moment(5));
        assert_eq!(all(&mut following), [4]);
        following.follow([A], |_| Place::START, Moment(6));
        assert!(!following.has(B) && !following.is_behind());
        // One that comes back is followed like any other.
        following.follow([A, B], |_| place(4), Moment(7));
        following.take(vec![end(B, &[], Some(4))], Moment(8));
        following.follow([A, B], |_| place(4), Moment(9));
        assert!(following.has(B));
    }

    #[test]
    fn a_stream_whose_server_is_away_holds_no_other_up() {
        let mut following = Following::default();
        following.follow([A, B], |_| Place::START, Moment(0));
        following.take(vec![end(A, &[1, 5], Some(5))], Moment(1));
        following.miss(&[A, B], &BTreeSet::from([A]));
        assert_eq!(following.wanted(), []);
        assert_eq!(all(&mut following), [1, 5]);
        assert!(!following.is_behind() && following.is_away(B));
        assert_eq!(following.lags(Moment(9))[1].1.as_nanos(), 9);
        // In the next turn it is tried again.
        following.follow([A, B], |_| Place::START, Moment(2));
        assert_eq!(following.wanted(), [(A, place(5)), (B, Place::START)]);
        following.take(vec![end(A, &[], Some(5)), end(B, &[2], Some(2))], Moment(3));
        assert_eq!(all(&mut following), [2]);
    }

    #[test]
    fn lag_grows_until_the_end_was_reached() {
        let mut following = Following::default();
        following.follow([A], |_| Place::START, Moment(0));
        following.take(vec![end(A, &[1], Some(2))], Moment(5));
        following.next(Moment(6)).unwrap();
        let lag = |following: &Following, now| following.lags(Moment(now))[0].1.as_nanos();
        assert_eq!(lag(&following, 7), 7);
        following.take(vec![end(A, &[2], Some(2))], Moment(8));
        following.next(Moment(9)).unwrap();
        assert_eq!(lag(&following, 10), 1);
        following.take(vec![end(A, &[], Some(2))], Moment(20));
        assert_eq!(lag(&following, 20), 0);
    }

    #[test]
    fn entries_that_do_not_go_on_are_left_out() {
        let mut following = Following::default();
        following.follow([A], |_| place(10), Moment(0));
        following.take(vec![end(A, &[3, 12, 10, 11], Some(12))], Moment(1));
        assert_eq!(all(&mut following), [11, 12]);
        assert!(!following.is_behind());
    }
}
