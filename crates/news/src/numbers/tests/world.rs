//! News servers as they might behave, for histories.

use proptest::prelude::*;

use super::*;

/// One server's newsgroup.
#[derive(Clone, Debug, Default)]
pub(super) struct Upstream {
    pub(super) articles: BTreeMap<u64, MessageId>,
    pub(super) low: u64,
    pub(super) high: u64,
    /// It renumbered, and nobody has noticed.
    pub(super) unnoticed: bool,
}

impl Upstream {
    pub(super) fn carried(&self) -> Carried {
        Carried {
            low: self.low,
            high: self.high,
            count: self.articles.len() as u64,
        }
    }

    pub(super) fn take(&mut self, id: &MessageId) {
        if !self.articles.values().any(|known| known == id) {
            self.high += 1;
            self.articles.insert(self.high, id.clone());
        }
    }

    pub(super) fn expire(&mut self, count: u64) {
        self.low = (self.low + count).min(self.high + 1);
        self.articles = self.articles.split_off(&self.low);
    }

    /// The same articles from another number on, but for every `nth`.
    pub(super) fn renumber(&mut self, first: u64, nth: usize) {
        let old = std::mem::take(&mut self.articles).into_values().enumerate();
        let kept = old.filter(|(at, _)| at % nth != 0).map(|(_, id)| id);
        self.articles = (first..).zip(kept).collect();
        self.low = first;
        self.high = first + self.articles.len() as u64 - 1;
        self.unnoticed = true;
    }

    pub(super) fn lines(&self, first: u64, last: u64) -> Vec<(u64, MessageId)> {
        let last = last.max(first);
        let lines = self.articles.range(first..=last);
        lines.map(|(&number, id)| (number, id.clone())).collect()
    }
}

/// Something that happens to them or that we do.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// Somebody posts; the servers of this mask have it at once.
    Post {
        servers: u32,
    },
    /// Many post at once on one server.
    Burst {
        server: u32,
        articles: u64,
    },
    /// What one server has arrives at another.
    Feed {
        from: u32,
        to: u32,
    },
    Expire {
        server: u32,
        count: u64,
    },
    Renumber {
        server: u32,
        first: u64,
        nth: usize,
    },
    See {
        server: u32,
    },
    /// Part of what a server has is fetched, in per cent of its numbers.
    Fetch {
        server: u32,
        from: u64,
        to: u64,
    },
    /// A newsreader asks for a range, in per cent of our numbers.
    Range {
        from: u64,
        to: u64,
        newest_first: bool,
        prefer: u32,
    },
    Forget {
        server: u32,
    },
    Restart,
}

pub(super) fn event() -> impl Strategy<Value = Event> {
    let server = || 0..3_u32;
    prop_oneof![
        6 => (1..8_u32).prop_map(|servers| Event::Post { servers }),
        1 => (server(), 1..700_u64).prop_map(|(server, articles)| Event::Burst { server, articles }),
        2 => (server(), server()).prop_map(|(from, to)| Event::Feed { from, to }),
        2 => (server(), 0..9_u64).prop_map(|(server, count)| Event::Expire { server, count }),
        1 => (server(), 1..2_000_u64, 2..6_usize)
            .prop_map(|(server, first, nth)| Event::Renumber { server, first, nth }),
        5 => server().prop_map(|server| Event::See { server }),
        6 => (server(), 0..100_u64, 0..101_u64)
            .prop_map(|(server, from, to)| Event::Fetch { server, from, to }),
        3 => (0..100_u64, 0..101_u64, any::<bool>(), server())
            .prop_map(|(from, to, newest_first, prefer)| Event::Range { from, to, newest_first, prefer }),
        1 => server().prop_map(|server| Event::Forget { server }),
        2 => Just(Event::Restart),
    ]
}
