//! Random histories of a newsgroup on several servers: whatever they do, no number lies.

use proptest::prelude::*;

use super::world::{Event, Upstream, event};
use super::*;

struct History {
    upstreams: Vec<Upstream>,
    posted: u64,
    numbers: ArticleNumbers,
    kept: Kept,
    /// Rows as a store has them that was only told changes.
    stored: BTreeMap<(ServerId, u64), NumberRun>,
}

impl History {
    fn new(sizes: &[u64]) -> Self {
        let mut history = Self {
            upstreams: vec![
                Upstream {
                    low: 1,
                    ..Upstream::default()
                };
                sizes.len()
            ],
            posted: 0,
            numbers: ArticleNumbers::default(),
            kept: Kept::default(),
            stored: BTreeMap::new(),
        };
        for (server, &size) in sizes.iter().enumerate() {
            for article in 0..size {
                // Some articles are everywhere, others on one server only.
                let name = if article % 3 == 0 {
                    format!("s{server}n{article}")
                } else {
                    format!("n{article}")
                };
                history.upstreams[server].take(&id(&name));
            }
        }
        let carried = history.upstreams.iter().map(Upstream::carried);
        let servers: Vec<_> = (0..).map(ServerId).zip(carried).collect();
        history.numbers = ArticleNumbers::first_sight(&servers);
        history
    }

    fn post(&mut self) -> MessageId {
        self.posted += 1;
        id(&format!("posted{}", self.posted))
    }

    fn apply(&mut self, event: &Event) {
        match *event {
            Event::Post { servers } => {
                let id = self.post();
                for server in (0..3).filter(|server| servers & (1 << server) != 0) {
                    self.upstreams[server].take(&id);
                }
            }
            Event::Burst { server, articles } => {
                for _ in 0..articles {
                    let id = self.post();
                    self.upstreams[server as usize].take(&id);
                }
            }
            Event::Feed { from, to } => {
                let ids: Vec<MessageId> = self.upstreams[from as usize]
                    .articles
                    .values()
                    .rev()
                    .take(5)
                    .cloned()
                    .collect();
                for id in &ids {
                    self.upstreams[to as usize].take(id);
                }
            }
            Event::Expire { server, count } => self.upstreams[server as usize].expire(count),
            Event::Renumber { server, first, nth } => {
                self.upstreams[server as usize].renumber(first, nth)
            }
            Event::See { server } => self.see(server),
            Event::Fetch { server, from, to } => {
                let upstream = &self.upstreams[server as usize];
                let at = |part: u64| upstream.low + (upstream.high + 1 - upstream.low) * part / 100;
                let lines = upstream.lines(at(from), at(to));
                self.note(ServerId(server), &lines);
            }
            Event::Range {
                from,
                to,
                newest_first,
                prefer,
            } => self.range(from, to, newest_first, prefer),
            Event::Forget { server } => self.numbers.forget(ServerId(server)),
            Event::Restart => self.restart(),
        }
    }

    fn see(&mut self, server: u32) {
        let upstream = &mut self.upstreams[server as usize];
        if self.numbers.seen(ServerId(server), upstream.carried()) == Numbering::New {
            upstream.unnoticed = false;
        }
        let stored = self
            .kept
            .ids
            .keys()
            .find(|&&number| number >= self.numbers.low());
        self.numbers
            .raise_low(stored.copied().filter(|number| number % 2 == 0));
    }

    fn note(&mut self, server: ServerId, lines: &[(u64, MessageId)]) -> Vec<Option<u64>> {
        let (high, known) = (self.numbers.high(), self.kept.numbers.clone());
        let noted = self.kept.note(&mut self.numbers, server, lines);
        if noted.numbering == Numbering::New {
            self.upstreams[server.0 as usize].unnoticed = false;
        }
        let new = lines
            .iter()
            .zip(&noted.numbers)
            .filter(|((_, id), _)| !known.contains_key(id));
        let above: Vec<u64> = new
            .filter_map(|(_, number)| *number)
            .filter(|&number| number > high)
            .collect();
        assert!(
            above.is_sorted_by(|one, next| one < next),
            "in order of discovery"
        );
        noted.numbers
    }

    /// A range as the door serves it: windows fetched, lines noted, sorted out.
    fn range(&mut self, from: u64, to: u64, newest_first: bool, prefer: u32) {
        let (low, high) = (self.numbers.low(), self.numbers.high());
        let at = |part: u64| low + (high + 1).saturating_sub(low) * part / 100;
        let range = at(from)..=at(to);
        let servers: Vec<ServerId> = (0..3).map(|step| ServerId((prefer + step) % 3)).collect();
        let stretches: Vec<Stretch> = if newest_first {
            self.numbers.descending(range.clone(), &servers).collect()
        } else {
            self.numbers.ascending(range.clone(), &servers).collect()
        };
        let expected = self.expected(&servers, &range);
        let mut served = Vec::new();
        for stretch in &stretches {
            assert!(stretch.numbers.end() - stretch.numbers.start() < MAX_LINES);
            for window in &stretch.windows {
                let (first, last) = (*window.theirs.start(), *window.theirs.end());
                assert!(last - first < MAX_LINES);
                let lines = self.upstreams[window.server.0 as usize].lines(first, last);
                served.extend(self.note(window.server, &lines).into_iter().flatten());
            }
        }
        for number in expected {
            assert!(served.contains(&number), "{number} was left out");
        }
    }

    /// Numbers in a range that must be served: known, and still where they are believed to be.
    fn expected(&self, servers: &[ServerId], range: &std::ops::RangeInclusive<u64>) -> Vec<u64> {
        let known = self
            .kept
            .ids
            .iter()
            .filter(|(number, _)| range.contains(number));
        let there = known.filter(|(number, id)| {
            let first = servers.iter().find_map(|&server| {
                self.numbers
                    .places(**number)
                    .find(|place| place.0 == server)
            });
            first.is_some_and(|(server, theirs)| {
                let upstream = &self.upstreams[server.0 as usize];
                !upstream.unnoticed && upstream.articles.get(&theirs) == Some(*id)
            })
        });
        there.map(|(number, _)| *number).collect()
    }

    fn restart(&mut self) {
        let changes = self.numbers.take_changes();
        for key in changes.gone {
            self.stored.remove(&key);
        }
        for run in changes.runs {
            self.stored.insert((run.server, run.our_start), run);
        }
        let rows = NumberRows {
            marks: changes.marks,
            servers: changes.servers,
            runs: self.stored.values().copied().collect(),
        };
        assert_eq!(rows, self.numbers.rows());
        self.numbers = ArticleNumbers::from_rows(&rows);
        assert_eq!(rows, self.numbers.rows());
    }

    /// What holds at every moment.
    fn check(&self, before: (u64, u64)) {
        let (low, high) = (self.numbers.low(), self.numbers.high());
        assert!(low >= before.0 && high >= before.1, "marks never fall");
        assert!(low <= high + 1);
        assert!(self.numbers.count() <= high + 1 - low);
        let mut served = 0;
        for (&number, id) in self.kept.ids.range(low..) {
            assert!(number <= high);
            let mut found = false;
            for (server, theirs) in self.numbers.places(number) {
                let upstream = &self.upstreams[server.0 as usize];
                let there = upstream.articles.get(&theirs);
                assert_eq!(self.numbers.own(server, theirs), Some(number));
                if !upstream.unnoticed {
                    assert!(
                        there.is_none_or(|there| there == id),
                        "{number} leads to another article"
                    );
                    found |= there.is_some();
                }
            }
            served += u64::from(found);
        }
        let settled = self.upstreams.iter().all(|upstream| !upstream.unnoticed);
        assert!(
            !settled || self.numbers.count() >= served,
            "{} of {served}",
            self.numbers.count()
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn numbers_never_lie_whatever_servers_do(
        sizes in prop::collection::vec(0..40_u64, 3),
        events in prop::collection::vec(event(), 1..80),
    ) {
        let mut history = History::new(&sizes);
        let mut marks = (0, 0);
        for event in &events {
            history.apply(event);
            history.check(marks);
            marks = (history.numbers.low(), history.numbers.high());
        }
    }
}
