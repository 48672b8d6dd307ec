//! The article numbers of one newsgroup that newsreaders see, whichever server has the article.
//!
//! The numbers of one server mean nothing on another, and servers come, go and renumber. So a newsgroup has
//! numbers of its own. At first sight it takes those of its first server, shifted up by as many
//! as the largest other server claims to have more, so that the range is known before anything is
//! fetched. What is found later gets the next number; what others hold from earlier fills the room that the shift made.
//! A number once given never gets another article, and the marks never fall.
//!
//! Only runs are kept here (our start, length, server, their start); who has which Message-ID is asked
//! of a [`Shelf`]. An article has at most one number, so a number that was promised to a server before
//! its lines were read stays without an article if that article turns out to have one already.
//!
//! No I/O: the caller says what servers say and writes down what changed.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use weir_news_proto::MessageId;

mod discovery;
mod log;
mod rows;
mod runs;
mod server;
mod windows;

pub use discovery::Noted;
pub use log::{LogEntry, MOST_ARTICLES, NumberLog};
pub use rows::{NumberChanges, NumberMarks, NumberRows, NumberRun, ServerMarks};
pub(crate) use windows::joined;
pub use windows::{LineWindow, MAX_LINES, Stretch};

use server::Server;

/// The largest number that newsreaders have to understand (RFC 3977 §6).
const READABLE: u64 = 2_147_483_647;

/// The largest number that is believed and given, since a database holds numbers with a sign.
const LARGEST: u64 = i64::MAX as u64;

/// A news server, by a number that the caller keeps for it and never gives to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId(pub u32);

/// What a server says of a newsgroup, as GROUP and LIST COUNTS give it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Its lowest number.
    pub low: u64,
    /// Its highest number; below `low` if there are no articles.
    pub high: u64,
    /// How many articles it claims to have.
    pub count: u64,
}

/// Who has which number, of all articles that have one; the store knows.
pub trait Shelf {
    /// The number that an article was given.
    fn number_of(&self, id: &MessageId) -> Option<u64>;

    /// The article that has a number. As long as a number is not below the low mark, what it stands for has
    /// to be remembered, even if the article itself was thrown away.
    fn id_of(&self, number: u64) -> Option<MessageId>;

    /// Whether a number stands for this article; `None` if it is not known for whom.
    fn means(&self, number: u64, id: &MessageId) -> Option<bool> {
        self.id_of(number).map(|known| known == *id)
    }
}

/// The lowest and the highest number, as newsreaders are told them; the highest is one below the lowest if there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// No article has a lower number, ever again.
    pub low: u64,
    /// No article has a higher number, yet.
    pub high: u64,
}

/// How the numbers of a newsgroup begin.
struct Opening {
    lead: ServerId,
    first: Carried,
    shift: u64,
}

impl Opening {
    fn of(servers: &[(ServerId, Carried)], told: Marks) -> Option<Self> {
        let checked = |&(server, carried): &(ServerId, Carried)| Some((server, carried.checked()?));
        let believed = || servers.iter().filter_map(checked);
        let full = believed().find(|(_, carried)| !carried.is_empty());
        let (lead, first) = full.or_else(|| believed().next())?;
        let most = believed().map(|(_, carried)| carried.claimed()).max();
        let more = most.unwrap_or(0).saturating_sub(first.claimed());
        let more = more.max(told.high.saturating_sub(first.high));
        // Better to leave what others hold without numbers than to give out numbers that newsreaders cannot
        // read.
        let shift = more.min(READABLE.saturating_sub(first.high));
        Some(Self { lead, first, shift })
    }
}

/// Whether a server still means the same articles by its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// As far as can be seen.
    Same,
    /// It has begun again: everything known of its numbers is void.
    New,
}

/// The own numbers of one newsgroup.
#[derive(Clone, Debug, Default)]
pub struct ArticleNumbers {
    low: u64,
    high: u64,
    /// From the low mark up to here is room for what other servers hold from earlier.
    room_end: u64,
    /// The server whose numbers it took, while it is there.
    lead: Option<ServerId>,
    servers: BTreeMap<ServerId, Server>,
    /// Runs of servers that were taken away, until somebody writes that down.
    gone: Vec<(ServerId, u64)>,
}

impl ArticleNumbers {
    /// A newsgroup that is seen for the first time, with what its servers say, the first server first.
    /// An empty one gives no numbers if another has articles.
    pub fn first_sight(servers: &[(ServerId, Carried)]) -> Self {
        Self::first_sight_above(servers, Marks::default())
    }

    /// The same if newsreaders were told marks before it was seen: they do not fall.
    pub fn first_sight_above(servers: &[(ServerId, Carried)], told: Marks) -> Self {
        let Some(opening) = Opening::of(servers, told) else {
            let low = told.low.max(1);
            return Self {
                low,
                high: told.high.max(low - 1),
                room_end: low,
                ..Self::default()
            };
        };
        let Opening { lead, first, shift } = opening;
        let mut numbers = Self {
            low: first.low.max(told.low),
            high: first.low + shift + first.span() - 1,
            room_end: first.low + shift,
            lead: Some(lead),
            ..Self::default()
        };
        numbers.high = numbers.high.max(numbers.low - 1);
        for &(server, carried) in servers {
            if let Some(carried) = carried.checked() {
                let known = numbers.servers.entry(server);
                known.or_insert_with(|| Server::new(carried));
            }
        }
        if let Some(server) = numbers.servers.get_mut(&lead) {
            server.runs.add(first.low + shift, first.low, first.span());
        }
        numbers
    }

    /// The marks that [`Self::first_sight`] would make, and how many articles it would count.
    pub fn marks_at_first_sight(servers: &[(ServerId, Carried)]) -> (Marks, u64) {
        match Opening::of(servers, Marks::default()) {
            None => (Marks { low: 1, high: 0 }, 0),
            Some(Opening { first, shift, .. }) => {
                let high = first.low + shift + first.span() - 1;
                let low = first.low;
                (Marks { low, high }, first.claimed())
            }
        }
    }

    /// The lowest number that an article can have.
    pub fn low(&self) -> u64 {
        self.low
    }

    /// The highest number given or promised; one below the low mark if there is none.
    pub fn high(&self) -> u64 {
        self.high
    }

    /// About how many articles there are: never fewer than there are, unless a server said so.
    pub fn count(&self) -> u64 {
        let all = (self.high + 1).saturating_sub(self.low);
        let given = all - self.room().min(all);
        let lead = self.lead.and_then(|lead| self.servers.get(&lead));
        let Some(lead) = lead else {
            return given;
        };
        // Numbers of the first server were promised for holes as well.
        let promised = lead.runs.numbers();
        given.saturating_sub(promised) + promised.min(lead.carried.claimed())
    }

    /// Whether a server was seen.
    pub fn has_seen(&self, server: ServerId) -> bool {
        self.servers.contains_key(&server)
    }

    /// Whether no server was seen.
    pub fn is_unseen(&self) -> bool {
        self.servers.is_empty()
    }

    /// Takes in what a server says now; a server not seen before is added.
    pub fn seen(&mut self, server: ServerId, carried: Carried) -> Numbering {
        let first = self.servers.is_empty();
        self.seen_with(server, carried, first, true)
    }

    /// The same among several nodes. `first`: nobody else has this newsgroup's articles. Unless it may `give`, no numbers are
    /// promised.
    pub fn seen_with(
        &mut self,
        server: ServerId,
        carried: Carried,
        first: bool,
        give: bool,
    ) -> Numbering {
        let Some(carried) = carried.checked() else {
            return Numbering::Same;
        };
        let Some(known) = self.servers.get_mut(&server) else {
            let mut new = Server::new(carried);
            if first {
                // Nobody else has those articles any more, so they are not kept out for want of room.
                new.earlier = 0;
                self.lead = Some(server);
            }
            self.servers.insert(server, new);
            return Numbering::Same;
        };
        let before = known.carried;
        if carried.is_empty() && carried.high < before.high {
            // Servers say 0 0 0 for an empty newsgroup, and now and then for a full one. If it has
            // begun again, the first article will tell.
            return Numbering::Same;
        }
        known.carried = carried;
        if carried.high < before.low {
            known.begin_again();
            return Numbering::New;
        }
        if carried.high < before.high {
            // Servers that are several machines behind one name do this all the time. What is above is
            // looked at again, and the IDs there will show whether it means the same articles.
            known.mark = known.mark.min(carried.high);
            known.earlier = known.earlier.min(carried.high);
        }
        // A low mark that falls proves nothing: LIST and GROUP disagree about it on INN itself.
        known.runs.forget_below(carried.low);
        if give && self.lead == Some(server) {
            self.promise(server);
        }
        Numbering::Same
    }

    /// A server is no longer asked. Its articles keep their numbers.
    pub fn forget(&mut self, server: ServerId) {
        if let Some(known) = self.servers.remove(&server) {
            let starts = known.runs.into_starts().into_iter();
            self.gone.extend(starts.map(|start| (server, start)));
        }
        if self.lead == Some(server) {
            self.lead = None;
        }
    }

    /// Raises the low mark to the lowest number that a server or the store still has; `stored` is the
    /// lowest that the caller can serve without asking a server. To be called after [`Self::seen`].
    pub fn raise_low(&mut self, stored: Option<u64>) {
        // After a new beginning, old numbers are found again only as lines are noted.
        let unsure = |server: &Server| server.carried.low <= server.renewed;
        if self.servers.is_empty() || self.servers.values().any(unsure) {
            return;
        }
        let lowest = self
            .servers
            .values()
            .filter_map(|server| server.runs.lowest());
        let wanted = self
            .servers
            .iter()
            .filter(|(id, _)| self.lead != Some(**id));
        let wanted: u64 = wanted.map(|(_, server)| server.unnumbered()).sum();
        let room = self.room().min(wanted);
        let room = (room > 0).then(|| self.room_end - room);
        let low = lowest
            .chain(room)
            .chain(stored)
            .min()
            .unwrap_or(self.high + 1);
        self.low = self.low.max(low);
    }

    /// What a server has above what was dealt with: to be fetched and noted, lowest window first, so that
    /// an interrupted fetch leaves no gap behind and numbers ascend as the server's do.
    pub fn above(&self, server: ServerId) -> Option<RangeInclusive<u64>> {
        let known = self.servers.get(&server)?;
        (known.mark < known.carried.high).then(|| known.mark + 1..=known.carried.high)
    }

    /// The own number of what a server calls by its number.
    pub fn own(&self, server: ServerId, theirs: u64) -> Option<u64> {
        let own = self.servers.get(&server)?.runs.own_of(theirs)?;
        (own >= self.low).then_some(own)
    }

    /// No number up to this one is given any more: newsreaders were told that there might be articles.
    pub fn raise_high(&mut self, told: u64) {
        if told <= READABLE {
            self.high = self.high.max(told);
        }
    }

    /// What a server calls an own number.
    pub fn theirs(&self, server: ServerId, own: u64) -> Option<u64> {
        let known = self.servers.get(&server).filter(|_| own >= self.low)?;
        known.runs.their_of(own)
    }

    /// The highest number of a server that stands for an own one; 0 if there is none.
    pub fn reach(&self, server: ServerId) -> u64 {
        let known = self.servers.get(&server);
        known.map_or(0, |known| known.runs.highest_theirs())
    }

    /// Up to which of its numbers each server has been dealt with.
    pub fn reached(&self) -> impl Iterator<Item = (ServerId, u64)> {
        let servers = self.servers.iter();
        servers.map(|(&id, server)| (id, server.mark.max(server.runs.highest_theirs())))
    }

    /// Where an own number can be fetched: each server with its own number for it.
    pub fn places(&self, own: u64) -> impl Iterator<Item = (ServerId, u64)> {
        let live = (own >= self.low).then_some(&self.servers);
        let servers = live.into_iter().flatten();
        servers.filter_map(move |(&id, server)| Some((id, server.runs.their_of(own)?)))
    }

    /// Numbers left for what other servers hold from earlier.
    fn room(&self) -> u64 {
        self.room_end.saturating_sub(self.low)
    }

    /// Gives numbers to everything new on the first server at once, if that is more than one window: so
    /// a range is right before its windows are fetched, in whichever order that happens. Less is
    /// numbered as its lines are noted, since other servers may have brought some of it before.
    fn promise(&mut self, server: ServerId) {
        let next = self.high + 1;
        let Some(known) = self.servers.get_mut(&server) else {
            return;
        };
        let carried = known.carried;
        let first = known
            .runs
            .highest_theirs()
            .max(known.mark)
            .max(carried.low - 1)
            + 1;
        let new = (carried.high + 1).saturating_sub(first);
        if new <= MAX_LINES || next + new > LARGEST || !known.runs.add(next, first, new) {
            return;
        }
        known.mark = carried.high;
        self.high += new;
    }
}

#[cfg(test)]
mod tests;
