//! What this node may do with upstreams that it shares with others: ask the store, or spend its own share while it is alone.
//!
//! Pure: it is told what happens and when, and says what to do. `sharing` talks to the store.
//!
//! Why windows hold: the store grants no more than the limit less the shares of all members. A node that is alone counts the
//! starts that it makes then and makes no more than its share in any window. Neither looks at what the other does.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use weir_dispatch::{
    Budget, FullWindow, Moment, Quota, UpstreamId, Usage, Wait, Window, WindowUse,
};
use weir_store::shared::{
    Ask, AskId, HandedStart, Question, Share, ShareWish, StoreTime, ToldLimit, USE_WITHIN,
    UpstreamKey, nominal_share,
};
use weir_store::state;

use crate::node::StoreClock;

/// How long an answer of the store is waited for, by its own clock.
const WANTED: Duration = Duration::from_secs(1);

/// A grant that was asked for longer ago is not used: the store counts it from when it was granted, and the call has the
/// rest of [`USE_WITHIN`] to reach its upstream.
pub(crate) const FRESH: Duration = Duration::from_secs(1);

/// The store notes a start when it grants it, and the call is made when the answer arrives. If that takes longer than the gap
/// divided by this, the store is told when the call was made.
pub(crate) const CLOSE: u32 = 20;

/// A share of nothing may be more once the store is back, and nobody knows when that is: so often it is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// Starts of one upstream that are remembered beyond its windows' limits: probes and second requests are made without asking.
const SPARE: usize = 64;

/// All that one front shares.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    books: HashMap<UpstreamId, SharedBook>,
    shares: BTreeMap<(UpstreamKey, state::Ledger, state::Window), u32>,
    /// How many nodes there are, this one among them.
    members: u32,
    clock: StoreClock,
}

/// What is known of one shared upstream.
#[derive(Debug)]
struct SharedBook {
    key: UpstreamKey,
    /// This node's own starts that may still count, oldest first. Each budget has its own windows, so one never makes the
    /// other's starts forgotten.
    query: VecDeque<OwnStart>,
    grab: VecDeque<OwnStart>,
    /// When each of the limits was told that it told, here or at another node; not over a restart.
    learned: BTreeMap<(state::Ledger, state::Window), Moment>,
    /// It was removed, and its starts count for so long: until then a store that has lost something must hear of them.
    gone: Option<Duration>,
    /// It was removed and is back: what is known of its starts is newer than what was kept.
    is_back: bool,
}

#[derive(Clone, Copy, Debug)]
struct OwnStart {
    id: AskId,
    ledger: state::Ledger,
    at: Moment,
    spaced: bool,
    right: Right,
}

/// With what right a start was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Right {
    /// The store granted it, or was told of it at once.
    Granted,
    /// This node was alone, and it was in its share.
    Alone,
    /// One of both, in an earlier run.
    Earlier,
}

/// What a job wants of a shared upstream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) upstream: UpstreamId,
    pub(crate) budget: Budget,
    /// The gap that has to have passed; `None` for what keeps no distance.
    pub(crate) gap: Option<Duration>,
    pub(crate) question: Option<Question>,
}

/// Why a job may not start now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotAlone {
    pub(crate) until: Moment,
    pub(crate) reason: Wait,
    pub(crate) full: Option<FullWindow>,
}

impl Ledger {
    /// An upstream that is shared from now on.
    pub(crate) fn add(&mut self, upstream: UpstreamId, key: UpstreamKey) {
        let mut books = self.books.iter();
        let before = books.find(|(_, book)| book.key == key && book.gone.is_some());
        let before = before.map(|(before, _)| *before);
        let book = match before.and_then(|before| self.books.remove(&before)) {
            Some(book) => SharedBook {
                gone: None,
                is_back: true,
                ..book
            },
            None => SharedBook {
                key,
                query: VecDeque::new(),
                grab: VecDeque::new(),
                learned: BTreeMap::new(),
                gone: None,
                is_back: false,
            },
        };
        self.books.insert(upstream, book);
    }

    /// One that is gone. Its starts count in windows of this length at most.
    pub(crate) fn remove(&mut self, upstream: UpstreamId, longest: Duration, now: Moment) {
        let Some(mut book) = self.books.remove(&upstream) else {
            return;
        };
        // Where another is in its place already, that has its starts.
        if self.books.values().all(|other| other.key != book.key) {
            book.gone = Some(longest);
            self.books.insert(upstream, book);
        }
        self.books.retain(|_, book| book.counts(now));
    }

    /// As what all nodes know it, if it is shared.
    pub(crate) fn key(&self, upstream: UpstreamId) -> Option<UpstreamKey> {
        let book = self.books.get(&upstream)?;
        book.gone.is_none().then_some(book.key)
    }

    /// All that are shared.
    pub(crate) fn all(&self) -> impl Iterator<Item = (UpstreamId, UpstreamKey)> + '_ {
        let there = self.books.iter().filter(|(_, book)| book.gone.is_none());
        there.map(|(id, book)| (*id, book.key))
    }

    /// What it may spend when it is alone, and among how many.
    pub(crate) fn look(&mut self, shares: &[Share], members: usize) {
        let key = |share: &Share| (share.upstream, share.ledger, share.window);
        self.shares = shares.iter().map(|one| (key(one), one.starts)).collect();
        self.members = u32::try_from(members).unwrap_or(u32::MAX).max(1);
    }

    /// The store said what time it is.
    pub(crate) fn hear(&mut self, time: StoreTime, now: Moment) {
        self.clock.hear(time, now);
    }

    /// What time it is there, as far as that is known.
    pub(crate) fn time(&self, now: Moment) -> Option<StoreTime> {
        self.clock.now(now)
    }

    /// What time it was there then. Before the store has said what time it is, long ago: anything that another node says counts.
    pub(crate) fn when(&self, at: Moment, now: Moment) -> StoreTime {
        self.time(now).unwrap_or_default().before(at.until(now))
    }

    /// The upstream told a limit then.
    pub(crate) fn learn(&mut self, upstream: UpstreamId, usage: &Usage, at: Moment) {
        if let Some(book) = self.books.get_mut(&upstream) {
            let window = (ledger(usage.budget), stored(usage.window));
            book.learned.insert(window, at);
        }
    }

    /// When it told that, if that is known.
    pub(crate) fn learned(&self, upstream: UpstreamId, limit: &ToldLimit) -> Option<Moment> {
        let book = self.books.get(&upstream)?;
        book.learned.get(&(limit.ledger, limit.window)).copied()
    }

    /// The limits that an upstream told, as far as this node knows, for a store that has lost something.
    pub(crate) fn told<'a>(
        &'a self,
        upstream: UpstreamId,
        (query, grab): (&'a [WindowUse], &'a [WindowUse]),
        now: Moment,
    ) -> impl Iterator<Item = ToldLimit> + 'a {
        let both = [(state::Ledger::Query, query), (state::Ledger::Grab, grab)];
        both.into_iter().flat_map(move |(ledger, windows)| {
            let learned = windows.iter().filter(|one| one.learned);
            learned.map(move |one| {
                let told = ToldLimit {
                    ledger,
                    window: stored(one.window),
                    limit: one.limit,
                    used: None,
                    at: StoreTime::default(),
                };
                let at = self.learned(upstream, &told);
                ToldLimit {
                    at: at.map_or(told.at, |at| self.when(at, now)),
                    ..told
                }
            })
        })
    }

    /// What to ask the store; `None` until it has said what time it is.
    pub(crate) fn ask(
        &self,
        id: AskId,
        wanted: &Wanted,
        quota: &Quota,
        now: Moment,
    ) -> Option<Ask> {
        let book = self.books.get(&wanted.upstream)?;
        let windows = match wanted.budget {
            Budget::Query | Budget::Side => &quota.query,
            Budget::Grab => &quota.grab,
        };
        Some(Ask {
            id,
            upstream: book.key,
            ledger: ledger(wanted.budget),
            windows: windows
                .iter()
                .map(|(window, limit)| (stored(window), limit))
                .collect(),
            day_begins: windows.day_reset.map(second_of_day),
            gap: wanted.gap,
            question: wanted.question,
            wanted_until: self.clock.now(now)?.after(WANTED),
        })
    }

    /// Whether a job may start although the store does not answer: `windows` are those that hold for its budget, `lasts` says
    /// whether the share may still be spent.
    pub(crate) fn alone(
        &self,
        wanted: &Wanted,
        windows: &[WindowUse],
        lasts: bool,
        now: Moment,
    ) -> Result<(), NotAlone> {
        let Some(book) = self.books.get(&wanted.upstream) else {
            return Ok(());
        };
        let side = ledger(wanted.budget);
        for one in windows {
            let share = self.shares.get(&(book.key, side, stored(one.window)));
            let share = share.copied().filter(|_| lasts).unwrap_or(0);
            // Whatever a store says, no share is larger than this.
            let share = share.min(nominal_share(one.limit));
            // As long as the store counts a start: this one may reach its upstream sooner than the one before did.
            let counts = one.window.length() + USE_WITHIN;
            let begins = now - counts;
            let spent = book
                .starts(side)
                .iter()
                .filter(|start| start.right != Right::Granted && start.at > begins);
            let spent: Vec<Moment> = spent.map(|start| start.at).collect();
            if spent.len() < share as usize {
                continue;
            }
            // The start whose leaving makes room; without a share only the store can.
            let until = match share {
                0 => now + LOOK_AGAIN,
                share => spent[spent.len() - share as usize] + counts,
            };
            return Err(NotAlone {
                until,
                reason: Wait::Share,
                full: Some(FullWindow {
                    window: one.window,
                    used: u32::try_from(spent.len()).unwrap_or(u32::MAX),
                    limit: one.limit,
                    kept: share,
                }),
            });
        }
        let last = book.query.iter().rev().find(|start| start.spaced);
        if let (Some(gap), Some(last)) = (wanted.gap, last) {
            // Others may be alone as well, and know nothing of this node.
            let until = last.at + gap.saturating_mul(self.members.max(1));
            if until > now {
                return Err(NotAlone {
                    until,
                    reason: Wait::Gap,
                    full: None,
                });
            }
        }
        Ok(())
    }

    /// A call starts.
    pub(crate) fn start(&mut self, id: AskId, upstream: UpstreamId, made: &Made) {
        let Some(book) = self.books.get_mut(&upstream) else {
            return;
        };
        let ledger = ledger(made.budget);
        let starts = book.starts_mut(ledger);
        starts.push_back(OwnStart {
            id,
            ledger,
            at: made.at,
            spaced: made.budget == Budget::Query,
            right: match made.alone {
                true => Right::Alone,
                false => Right::Granted,
            },
        });
        let oldest = made.at - made.longest - USE_WITHIN;
        while starts.len() > 1
            && (starts[0].at < oldest || starts.len() > made.most.saturating_add(SPARE))
        {
            starts.pop_front();
        }
    }

    /// A start of an earlier run. Whether it was granted, and whether it kept a distance, is not known: it counts against the
    /// share and for the spacing, which is the safe side.
    pub(crate) fn restore(&mut self, id: AskId, upstream: UpstreamId, budget: Budget, at: Moment) {
        if let Some(book) = self.books.get_mut(&upstream)
            && !book.is_back
        {
            let ledger = ledger(budget);
            let starts = book.starts_mut(ledger);
            starts.push_back(OwnStart {
                id,
                ledger,
                at,
                spaced: budget == Budget::Query,
                right: Right::Earlier,
            });
            starts.make_contiguous().sort_by_key(|start| start.at);
        }
    }

    /// The starts that a store which has lost something must hear of.
    pub(crate) fn handed(&self, now: Moment) -> impl Iterator<Item = HandedStart> + '_ {
        let books = self.books.values().filter(move |book| book.counts(now));
        books.flat_map(move |book| {
            let starts = book.query.iter().chain(&book.grab);
            starts.map(move |start| start.handed(book.key, now))
        })
    }

    /// The starts that the store must hear of when this node leaves and its share is anybody's: those in its share. Of an
    /// earlier run's, which the store mostly knows by other names, only the newest, as many as the share is: more of them were
    /// not made alone.
    pub(crate) fn left(&self, now: Moment) -> Vec<HandedStart> {
        let mut left = Vec::new();
        for book in self.books.values() {
            for ledger in [state::Ledger::Query, state::Ledger::Grab] {
                let shares = self.shares.iter();
                let shares = shares.filter(|((key, of, _), _)| (*key, *of) == (book.key, ledger));
                let mut earlier = shares.map(|(_, share)| *share).max().unwrap_or(0);
                let starts = book.starts(ledger).iter().rev();
                let in_share = starts.filter(|start| match start.right {
                    Right::Granted => false,
                    Right::Alone => true,
                    Right::Earlier => {
                        let counts = earlier > 0;
                        earlier = earlier.saturating_sub(1);
                        counts
                    }
                });
                left.extend(in_share.map(|start| start.handed(book.key, now)));
            }
        }
        left
    }
}

impl SharedBook {
    /// Whether anything in it may still count.
    fn counts(&self, now: Moment) -> bool {
        let mut starts = self.query.iter().chain(&self.grab);
        self.gone
            .is_none_or(|longest| starts.any(|start| start.at.until(now) <= longest + USE_WITHIN))
    }

    fn starts(&self, ledger: state::Ledger) -> &VecDeque<OwnStart> {
        match ledger {
            state::Ledger::Query => &self.query,
            state::Ledger::Grab => &self.grab,
        }
    }

    fn starts_mut(&mut self, ledger: state::Ledger) -> &mut VecDeque<OwnStart> {
        match ledger {
            state::Ledger::Query => &mut self.query,
            state::Ledger::Grab => &mut self.grab,
        }
    }
}

impl OwnStart {
    fn handed(&self, upstream: UpstreamKey, now: Moment) -> HandedStart {
        HandedStart {
            upstream,
            id: self.id,
            ledger: self.ledger,
            age: self.at.until(now),
            spaced: self.spaced,
        }
    }
}

/// A call that starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made {
    pub(crate) budget: Budget,
    pub(crate) at: Moment,
    pub(crate) alone: bool,
    /// How far back the windows of its budget reach, and the gaps.
    pub(crate) longest: Duration,
    /// How many starts those windows hold.
    pub(crate) most: usize,
}

/// The windows of one upstream of which this node wants a share.
pub(crate) fn wishes<'a>(
    key: UpstreamKey,
    query: &'a [WindowUse],
    grab: &'a [WindowUse],
) -> impl Iterator<Item = ShareWish> + 'a {
    let both = [(state::Ledger::Query, query), (state::Ledger::Grab, grab)];
    both.into_iter().flat_map(move |(ledger, windows)| {
        windows.iter().map(move |one| ShareWish {
            upstream: key,
            ledger,
            window: stored(one.window),
            limit: one.limit,
        })
    })
}

/// Which windows a budget counts in, in the store's words.
pub(crate) fn ledger(budget: Budget) -> state::Ledger {
    match budget {
        Budget::Query | Budget::Side => state::Ledger::Query,
        Budget::Grab => state::Ledger::Grab,
    }
}

pub(crate) fn stored(window: Window) -> state::Window {
    state::Window(window.seconds())
}

/// At which second of the day (UTC) days begin, given one of their beginnings: moments are counted from 1970.
fn second_of_day(reset: Moment) -> u32 {
    let seconds = Moment(0).until(reset).as_secs() % (24 * 60 * 60);
    u32::try_from(seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests;
