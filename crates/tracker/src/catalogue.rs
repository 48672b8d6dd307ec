//! Pages of swarms, largest first. One thread walks for all who ask, a slice under each lock, and keeps its answers
//! for a few seconds: a hundred readers of one page cost one walk.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::clock::TrackerClock;
use crate::swarm::{SeenSwarm, Swarms};

/// Swarms on a page.
pub(crate) const PAGE: usize = 50;
/// Questions that may wait; beyond, readers are told to come back.
const WAITING: usize = 256;
/// An answer is given again for this long.
const FRESH: Duration = Duration::from_secs(5);
/// Answers that are kept, a page of swarms each.
const KEPT: usize = 64;

/// A page that somebody wants to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageQuestion {
    pub(crate) of: Prefix,
    pub(crate) from: PageStart,
}

/// Where a page begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageStart {
    Start,
    After(SwarmRank),
    Before(SwarmRank),
}

/// A place in the order: more peers first, then by hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SwarmRank(Reverse<u32>, [u8; 20]);

impl SwarmRank {
    pub(crate) fn new(peers: u32, hash: [u8; 20]) -> Self {
        Self(Reverse(peers), hash)
    }

    pub(crate) fn of(seen: &SeenSwarm) -> Self {
        Self::new(seen.peers, seen.hash)
    }

    pub(crate) fn peers(&self) -> u32 {
        self.0.0
    }

    pub(crate) fn hash(&self) -> [u8; 20] {
        self.1
    }
}

/// The first hexadecimal digits of an info hash; none of them for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prefix {
    bytes: [u8; 20],
    digits: usize,
}

impl Prefix {
    /// At most 40 digits; `None` if something else stands there.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let mut prefix = Self::default();
        for letter in text.chars() {
            let digit = letter.to_digit(16)? as u8;
            let shift = if prefix.digits.is_multiple_of(2) {
                4
            } else {
                0
            };
            *prefix.bytes.get_mut(prefix.digits / 2)? |= digit << shift;
            prefix.digits += 1;
        }
        Some(prefix)
    }

    fn begins(&self, hash: &[u8; 20]) -> bool {
        let whole = self.digits / 2;
        let half = self.digits.is_multiple_of(2) || hash[whole] >> 4 == self.bytes[whole] >> 4;
        half && hash[..whole] == self.bytes[..whole]
    }
}

/// A page of swarms, as they were when the thread walked past them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CataloguePage {
    pub(crate) swarms: Vec<SeenSwarm>,
    /// Swarms that stand before these.
    pub(crate) before: usize,
    /// Swarms on all pages.
    pub(crate) all: usize,
}

impl CataloguePage {
    pub(crate) fn has_more(&self) -> bool {
        self.before + self.swarms.len() < self.all
    }
}

/// Too many questions wait, or the tracker stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Busy;

/// Asks the thread; clones ask the same one.
#[derive(Clone)]
pub(crate) struct Catalogue(mpsc::Sender<PendingQuestion>);

struct PendingQuestion {
    question: PageQuestion,
    answer: oneshot::Sender<Arc<CataloguePage>>,
}

impl Catalogue {
    /// The catalogue and what its thread runs.
    pub(crate) fn new(
        swarms: Arc<Swarms>,
        clock: TrackerClock,
        stop: CancellationToken,
    ) -> (Self, Walker) {
        let (ask, asked) = mpsc::channel(WAITING);
        let walker = Walker {
            swarms,
            clock,
            stop,
            asked,
            kept: VecDeque::new(),
        };
        (Self(ask), walker)
    }

    pub(crate) async fn page(&self, question: PageQuestion) -> Result<Arc<CataloguePage>, Busy> {
        let (answer, answered) = oneshot::channel();
        let asked = PendingQuestion { question, answer };
        self.0.try_send(asked).map_err(|_| Busy)?;
        answered.await.map_err(|_| Busy)
    }
}

/// Walks through the swarms, in a thread of its own.
pub(crate) struct Walker {
    swarms: Arc<Swarms>,
    clock: TrackerClock,
    stop: CancellationToken,
    asked: mpsc::Receiver<PendingQuestion>,
    /// The latest stand last.
    kept: VecDeque<(Instant, PageQuestion, Arc<CataloguePage>)>,
}

impl Walker {
    /// Answers until the tracker stops.
    pub(crate) async fn run(&mut self) {
        let stop = self.stop.clone();
        loop {
            let asked = tokio::select! {
                () = stop.cancelled() => return,
                asked = self.asked.recv() => asked,
            };
            let Some(PendingQuestion { question, answer }) = asked else {
                return;
            };
            // Who has gone away meanwhile costs nothing.
            if !answer.is_closed()
                && let Some(page) = self.answer(question, Instant::now())
            {
                drop(answer.send(page));
            }
        }
    }

    fn answer(&mut self, question: PageQuestion, now: Instant) -> Option<Arc<CataloguePage>> {
        self.kept.retain(|(at, ..)| now.duration_since(*at) < FRESH);
        if let Some((.., page)) = self.kept.iter().find(|(_, kept, _)| *kept == question) {
            return Some(Arc::clone(page));
        }
        let page = Arc::new(self.walk(&question)?);
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back((now, question, Arc::clone(&page)));
        Some(page)
    }

    fn walk(&self, question: &PageQuestion) -> Option<CataloguePage> {
        let mut found = BestSwarms::new(question);
        let mut walk = self.swarms.walk(self.clock.now().minute);
        while let Some(slice) = walk.next_slice() {
            if self.stop.is_cancelled() {
                return None;
            }
            slice.iter().for_each(|seen| found.offer(seen));
        }
        Some(found.page())
    }
}

/// The best of what was seen so far.
struct BestSwarms<'a> {
    question: &'a PageQuestion,
    /// At most two pages; sorted and cut to one when full.
    kept: Vec<SeenSwarm>,
    /// What does not come before this is not needed.
    worst: Option<SwarmRank>,
    /// Swarms on the earlier side of the place that was given.
    earlier: usize,
    all: usize,
}

impl<'a> BestSwarms<'a> {
    fn new(question: &'a PageQuestion) -> Self {
        Self {
            question,
            kept: Vec::with_capacity(2 * PAGE),
            worst: None,
            earlier: 0,
            all: 0,
        }
    }

    fn offer(&mut self, seen: &SeenSwarm) {
        if !self.question.of.begins(&seen.hash) {
            return;
        }
        self.all += 1;
        let place = SwarmRank::of(seen);
        let (earlier, wanted) = match self.question.from {
            PageStart::Start => (false, true),
            PageStart::After(given) => (place <= given, place > given),
            PageStart::Before(given) => (place < given, place < given),
        };
        self.earlier += usize::from(earlier);
        if !wanted
            || self
                .worst
                .is_some_and(|worst| !self.is_nearer(place, worst))
        {
            return;
        }
        self.kept.push(*seen);
        if self.kept.len() == 2 * PAGE {
            self.cut();
        }
    }

    /// Whether `one` is nearer to where the page begins or, seen from its end, ends.
    fn is_nearer(&self, one: SwarmRank, other: SwarmRank) -> bool {
        match self.question.from {
            PageStart::Before(_) => one > other,
            _ => one < other,
        }
    }

    fn cut(&mut self) {
        match self.question.from {
            PageStart::Before(_) => self
                .kept
                .sort_unstable_by_key(|seen| Reverse(SwarmRank::of(seen))),
            _ => self.kept.sort_unstable_by_key(SwarmRank::of),
        }
        self.kept.truncate(PAGE);
        self.worst = self.kept.get(PAGE - 1).map(SwarmRank::of);
    }

    fn page(mut self) -> CataloguePage {
        self.cut();
        let mut before = self.earlier;
        if matches!(self.question.from, PageStart::Before(_)) {
            self.kept.reverse();
            before -= self.kept.len();
        }
        CataloguePage {
            swarms: self.kept,
            before,
            all: self.all,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::rules::split;
    use crate::swarm::SwarmCounts;

    fn seen(number: u32) -> SeenSwarm {
        let mut hash = [0; 20];
        hash[..4].copy_from_slice(&number.to_be_bytes());
        SeenSwarm {
            hash,
            // Many of the same size, in no order.
            peers: number * 7919 % 100 + 1,
            counts: SwarmCounts::default(),
            age: 0,
        }
    }

    fn ask(question: &PageQuestion) -> CataloguePage {
        let mut found = BestSwarms::new(question);
        (0..1000).for_each(|number| found.offer(&seen(number)));
        found.page()
    }

    #[test]
    fn pages_lead_through_all_swarms_in_order_and_back() {
        let mut in_order: Vec<SeenSwarm> = (0..1000).map(seen).collect();
        in_order.sort_by_key(SwarmRank::of);
        let of = Prefix::default();
        let mut from = PageStart::Start;
        for (number, wanted) in in_order.chunks(PAGE).enumerate() {
            let page = ask(&PageQuestion { of, from });
            assert_eq!(page.swarms, wanted, "page {number}");
            assert_eq!((page.before, page.all), (number * PAGE, 1000));
            assert_eq!(page.has_more(), number < 19);
            from = PageStart::After(SwarmRank::of(page.swarms.last().unwrap()));
        }
        assert_eq!(ask(&PageQuestion { of, from }).swarms, []);
        from = PageStart::Before(SwarmRank::of(&in_order[950]));
        for (number, wanted) in in_order.chunks(PAGE).enumerate().rev().skip(1) {
            let page = ask(&PageQuestion { of, from });
            assert_eq!(page.swarms, wanted, "page {number}");
            assert_eq!(page.before, number * PAGE);
            from = PageStart::Before(SwarmRank::of(&page.swarms[0]));
        }
    }

    #[test]
    fn a_prefix_of_any_length_narrows_it_down() {
        let question = |prefix| PageQuestion {
            of: Prefix::new(prefix).unwrap(),
            from: PageStart::Start,
        };
        // 0x000003e7 is 999, the last one.
        assert_eq!(ask(&question("000003e7")).all, 1);
        assert_eq!(ask(&question("000003E")).all, 8);
        assert_eq!(ask(&question("0000")).all, 1000);
        assert_eq!(ask(&question("1")).all, 0);
        assert_eq!(Prefix::new("12g"), None);
        assert_eq!(Prefix::new(&"0".repeat(41)), None);
        assert!(Prefix::new(&"0".repeat(40)).is_some());
    }

    #[test]
    fn many_readers_of_a_page_cost_one_walk_until_it_is_old() {
        let swarms = Arc::new(Swarms::new(split(&Config::default()).0.swarms, [1; 16]));
        let timeline = weir_engine::Timeline::starting_at(std::time::UNIX_EPOCH);
        let (_, mut walker) =
            Catalogue::new(swarms, TrackerClock::on(timeline), CancellationToken::new());
        let question = PageQuestion {
            of: Prefix::default(),
            from: PageStart::Start,
        };
        let now = Instant::now();
        let first = walker.answer(question, now).unwrap();
        let again = |walker: &mut Walker, at| walker.answer(question, at).unwrap();
        for _ in 0..100 {
            let page = again(&mut walker, now + FRESH - Duration::from_millis(1));
            assert!(Arc::ptr_eq(&page, &first));
        }
        assert!(!Arc::ptr_eq(&again(&mut walker, now + FRESH), &first));
        for digit in 0..KEPT + 10 {
            let of = Prefix::new(&format!("{digit:03x}")).unwrap();
            walker.answer(PageQuestion { of, ..question }, now + FRESH);
        }
        assert_eq!(walker.kept.len(), KEPT);
    }
}
