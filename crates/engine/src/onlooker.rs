//! What is new since somebody last looked: for those who look once a second, whoever many they tell.
//!
//! Nothing is noted for them as things happen, so a front that nobody watches pays nothing. A look compares a few numbers of
//! each upstream under one lock, and takes a closer look only at what has changed.

use std::cmp::Reverse;
use std::sync::Arc;

use weir_dispatch::{Moment, UpstreamId};

use crate::engine::Engine;
use crate::own::OwnDecision;
use crate::record::Record;
use crate::side::{Side, Standing};
use crate::state::State;

/// What somebody has seen of an engine. Begins with nothing.
#[derive(Debug, Default)]
pub struct Onlooker {
    /// By the number in [`UpstreamId`].
    seen: Vec<Seen>,
    own: Option<(u64, Moment)>,
    /// Whether it has looked before.
    has_looked: bool,
}

/// What was seen of one upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    /// Records that were made.
    made: u64,
    /// Attempts that ended.
    ended: u64,
    /// Since when it has been in its state.
    state: (Moment, Standing),
}

/// What is new. The first look finds nothing new.
#[derive(Debug, Default)]
pub struct SinceLast {
    /// Upstreams of which a call began or ended, or whose state or records are others.
    pub changed: Vec<(UpstreamId, Arc<str>)>,
    /// Changes of state, in the order in which they happened for each upstream.
    pub states: Vec<StateChange>,
    /// The newest records, oldest first.
    pub records: Vec<NewRecord>,
    /// How many more were made.
    pub more: u64,
    /// The front's own decisions that were made or went on, oldest first.
    pub own: Vec<OwnDecision>,
}

/// A record with the upstream it is about.
#[derive(Clone, Debug)]
pub struct NewRecord {
    /// Which one.
    pub upstream: UpstreamId,
    /// Its name.
    pub name: Arc<str>,
    /// What was decided.
    pub record: Record,
}

/// An upstream went from one state to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateChange {
    /// Which one.
    pub upstream: UpstreamId,
    /// Its name.
    pub name: Arc<str>,
    /// When.
    pub at: Moment,
    /// Its state until then.
    pub from: Standing,
    /// Its state from then on.
    pub to: Standing,
}

impl Engine {
    /// What is new since the last look, with at most so many records.
    pub fn since_last(&self, onlooker: &mut Onlooker, most: usize) -> SinceLast {
        let now = self.shared.timeline.now();
        let mut new = SinceLast::default();
        onlooker.look(&mut self.shared.state.lock(), now, most, &mut new);
        self.look_at_own(onlooker, most, &mut new);
        onlooker.has_looked = true;
        new
    }

    /// The newest records about all upstreams, at most so many, oldest first.
    pub fn newest_records(&self, most: usize) -> Vec<NewRecord> {
        let mut state = self.shared.state.lock();
        let sides = (0..).map(UpstreamId).zip(&state.sides);
        let there = sides.filter(|(_, side)| !side.gone);
        let told = there.map(|(upstream, side)| (Reverse(side.newest_at()), upstream, 0));
        let told = told.collect();
        state.newest_of(told, most)
    }

    fn look_at_own(&self, onlooker: &mut Onlooker, most: usize, new: &mut SinceLast) {
        let newest = self.own_newest();
        let before = std::mem::replace(&mut onlooker.own, newest);
        if !onlooker.has_looked || before == newest {
            return;
        }
        let (made, last) = before.unwrap_or_default();
        let all = self.own_decisions().into_iter();
        let changed = all.filter(|one| one.number > made || one.last > last);
        new.own = changed.take(most).collect();
        new.own.reverse();
    }
}

impl Onlooker {
    fn look(&mut self, state: &mut State, now: Moment, most: usize, new: &mut SinceLast) {
        let known = self.seen.len();
        // Those with new records, and when the newest may have been made.
        let mut told: Vec<Told> = Vec::new();
        for number in 0..state.sides.len() {
            let upstream = UpstreamId(number as u32);
            if state.sides[number].gone {
                if number >= known {
                    self.seen.push(Seen::of(&state.sides[number]));
                }
                continue;
            }
            state.note_state(upstream, now);
            let side = &state.sides[number];
            let is = Seen::of(side);
            if number >= known {
                self.seen.push(is);
                if self.has_looked {
                    new.changed.push((upstream, side.name.clone()));
                }
                continue;
            }
            let was = std::mem::replace(&mut self.seen[number], is);
            if was == is {
                continue;
            }
            new.changed.push((upstream, side.name.clone()));
            if was.state != is.state {
                new.states.extend(side.changes_after(upstream, was.state));
            }
            if is.made > was.made {
                told.push((Reverse(side.newest_at()), upstream, was.made));
                new.more += is.made - was.made;
            }
        }
        new.records = state.newest_of(told, most);
        new.more = new.more.saturating_sub(new.records.len() as u64);
    }
}

/// When the newest record about an upstream may have been made, and the number after which records are wanted.
type Told = (Reverse<Moment>, UpstreamId, u64);

impl State {
    /// The newest records about these, oldest first.
    fn newest_of(&mut self, mut told: Vec<Told>, most: usize) -> Vec<NewRecord> {
        // The newest `most` of all are among those of the `most` upstreams that were told of last.
        told.sort_unstable();
        let mut found = Vec::new();
        for (_, upstream, after) in told.into_iter().take(most) {
            self.settle_calls(upstream);
            let side = &self.sides[upstream.0 as usize];
            let records = side.records.newest();
            let records = records.take_while(|record| record.number > after);
            found.extend(records.take(most).map(|record| NewRecord {
                upstream,
                name: side.name.clone(),
                record,
            }));
        }
        found.sort_unstable_by_key(|new| (new.record.at, new.upstream, new.record.number));
        let surplus = found.len().saturating_sub(most);
        found.drain(..surplus);
        found
    }
}

impl Seen {
    fn of(side: &Side) -> Self {
        let state = side.history.back().copied();
        Self {
            made: side.records.made() + side.new.made(),
            ended: side.requests.iter().sum(),
            state: state.unwrap_or((Moment(0), Standing::Untried)),
        }
    }
}

impl Side {
    /// Its changes of state after one that was seen.
    fn changes_after(
        &self,
        upstream: UpstreamId,
        (at, before): (Moment, Standing),
    ) -> impl Iterator<Item = StateChange> {
        let after = self.history.iter().position(|seen| *seen == (at, before));
        // One that changes more often than is kept has lost the oldest changes.
        let after = after.map_or(0, |place| place + 1);
        let from = [before].into_iter();
        let from = from.chain(self.history.range(after..).map(|(_, standing)| *standing));
        let to = self.history.range(after..);
        to.zip(from)
            .filter(|((_, to), from)| to != from)
            .map(move |(&(at, to), from)| StateChange {
                upstream,
                name: self.name.clone(),
                at,
                from,
                to,
            })
    }

    /// When its newest record was made. Calls may not be in its ring yet.
    fn newest_at(&self) -> Moment {
        let newest = self.records.newest().next().map(|record| record.at);
        newest.max(self.last_call).unwrap_or(Moment(0))
    }
}
