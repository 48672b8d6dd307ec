//! From a range of own numbers to what has to be asked of servers.

use std::ops::RangeInclusive;

use super::{ArticleNumbers, Server, ServerId};

/// Lines asked for at once, so that nothing waits long behind a window.
pub const MAX_LINES: u64 = 500;

/// A server's lines that lie between two wanted ones are fetched with them if they are no more than this:
/// they cost less than another command.
const SKIPPED: u64 = 50;

/// Lines to be asked of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineWindow {
    /// Who is to be asked.
    pub server: ServerId,
    /// Its own numbers, at most [`MAX_LINES`]. Some may stand for own numbers outside of the stretch, or
    /// for none.
    pub theirs: RangeInclusive<u64>,
}

/// Own numbers that are fetched together: once all its windows are here, its lines can be put in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// At most [`MAX_LINES`] of them.
    pub numbers: RangeInclusive<u64>,
    /// What to ask whom.
    pub windows: Vec<LineWindow>,
}

impl ArticleNumbers {
    /// What to ask for the articles in a range, lowest numbers first. Each is asked of the first of these
    /// servers that is known to have it; numbers that none of them has are passed over.
    pub fn ascending(
        &self,
        range: RangeInclusive<u64>,
        servers: &[ServerId],
    ) -> impl Iterator<Item = Stretch> {
        let (mut next, last) = self.within(range);
        std::iter::from_fn(move || {
            let known = self.known(servers);
            let starts = known.filter_map(|(_, known)| known.runs.next_own(next));
            let start = starts.min().filter(|&start| start <= last)?;
            let end = last.min(start + MAX_LINES - 1);
            next = end + 1;
            Some(self.stretch(start, end, servers))
        })
    }

    /// The same, highest numbers first.
    pub fn descending(
        &self,
        range: RangeInclusive<u64>,
        servers: &[ServerId],
    ) -> impl Iterator<Item = Stretch> {
        let (first, mut next) = self.within(range);
        std::iter::from_fn(move || {
            let known = self.known(servers);
            let ends = known.filter_map(|(_, known)| known.runs.previous_own(next));
            let end = ends.max().filter(|&end| end >= first)?;
            let start = first.max((end + 1).saturating_sub(MAX_LINES));
            // Own numbers begin at 1.
            next = start - 1;
            Some(self.stretch(start, end, servers))
        })
    }

    /// The first number from this one on that one of these servers is thought to have.
    pub fn next(&self, from: u64, servers: &[ServerId]) -> Option<u64> {
        let known = self.known(servers);
        let starts = known.filter_map(|(_, known)| known.runs.next_own(from.max(self.low)));
        starts.min()
    }

    /// The last one up to this one.
    pub fn previous(&self, from: u64, servers: &[ServerId]) -> Option<u64> {
        let known = self.known(servers);
        let ends = known.filter_map(|(_, known)| known.runs.previous_own(from));
        ends.max().filter(|&end| end >= self.low)
    }

    /// The part of a range that numbers can be in, as its first and last.
    fn within(&self, range: RangeInclusive<u64>) -> (u64, u64) {
        let low = self.low.max(1);
        (low.max(*range.start()), self.high.min(*range.end()))
    }

    fn known(&self, servers: &[ServerId]) -> impl Iterator<Item = (ServerId, &Server)> {
        let servers = servers.iter();
        servers.filter_map(|&id| Some((id, self.servers.get(&id)?)))
    }

    fn stretch(&self, first: u64, last: u64, servers: &[ServerId]) -> Stretch {
        let mut windows = Vec::new();
        let mut open = vec![(first, last)];
        for (server, known) in self.known(servers) {
            let mut theirs = Vec::new();
            let mut left = Vec::new();
            for (mut from, to) in open {
                for (own, run) in known.runs.between(from, to) {
                    if from < own {
                        left.push((from, own - 1));
                    }
                    theirs.push((run.theirs, run.theirs + run.length - 1));
                    from = own + run.length;
                }
                if from <= to {
                    left.push((from, to));
                }
            }
            open = left;
            let joined = joined(theirs, MAX_LINES).into_iter();
            windows.extend(joined.map(|(first, last)| LineWindow {
                server,
                theirs: first..=last,
            }));
        }
        Stretch {
            numbers: first..=last,
            windows,
        }
    }
}

/// Makes as few windows as possible of pieces of a server's numbers, none with more numbers than these.
pub(crate) fn joined(mut pieces: Vec<(u64, u64)>, most: u64) -> Vec<(u64, u64)> {
    pieces.sort_unstable();
    let mut windows: Vec<(u64, u64)> = Vec::new();
    for (first, last) in pieces {
        match windows.last_mut() {
            Some(window) if first - window.1 <= SKIPPED + 1 && last - window.0 < most => {
                window.1 = last;
            }
            _ => windows.push((first, last)),
        }
    }
    windows
}
