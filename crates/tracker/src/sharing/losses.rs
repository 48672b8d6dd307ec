//! Whether what this node holds has to be told again.
//!
//! Streams hold every live peer, so that who reads them from their beginning is whole. That is not so after a node has left,
//! whose stream nobody who comes later finds, and after the store has lost something. Those who were there know these peers, and
//! as they announce, the streams hold them again after a third of the age and an interval. Only somebody who comes before that lacks
//! them: then one of those who lack nothing, the first by number, tells everything that it holds. While nobody comes, and when a
//! node that left comes back, nothing is told.

use std::collections::BTreeSet;
use std::time::Duration;

use weir_engine::dispatch::Moment;
use weir_store::shared::{Epoch, Member, NodeId, NodeState};

/// So long after a loss of the store, who does not show up there yet may only not have noticed.
const SETTLES: Duration = Duration::from_secs(10);
/// So long one node waits for another to tell everything, and takes over if that is not there any more.
const WAITS: Duration = Duration::from_secs(10 * 60);

/// What members and the store have lost, as far as it matters to those who come.
#[derive(Debug)]
pub(super) struct Losses {
    me: NodeId,
    epoch: Epoch,
    /// Who was a member when that was last looked at, and who was there.
    members: BTreeSet<NodeId>,
    here: BTreeSet<NodeId>,
    loss: Option<Loss>,
}

#[derive(Debug)]
struct Loss {
    /// When the last part of it was noticed.
    at: Moment,
    /// The store lost something.
    of_store: bool,
    /// Who left and is not back.
    left: BTreeSet<NodeId>,
    /// Who was there when it happened, and has been there since.
    whole: BTreeSet<NodeId>,
    /// When somebody else came.
    came: Option<Moment>,
}

impl Losses {
    /// `epoch` is the one that an earlier run knew; none if it is 0.
    pub(super) fn new(me: NodeId, epoch: Epoch) -> Self {
        Self {
            me,
            epoch,
            members: BTreeSet::new(),
            here: BTreeSet::from([me]),
            loss: None,
        }
    }

    /// Looks at who is there. Says whether this node is to tell everything: somebody lacks something that streams hold again only
    /// after `lasts`.
    pub(super) fn look(
        &mut self,
        members: &[Member],
        epoch: Epoch,
        lasts: Duration,
        now: Moment,
    ) -> bool {
        let all: BTreeSet<_> = members.iter().map(|member| member.node).collect();
        let here = members.iter().filter(|one| one.state == NodeState::Here);
        let mut here: BTreeSet<_> = here.map(|member| member.node).collect();
        here.insert(self.me);
        if epoch != self.epoch && self.epoch != Epoch(0) {
            self.lose(now).of_store = true;
        }
        self.epoch = epoch;
        if self.settles(now) {
            // They come back one by one.
            self.members.extend(&all);
            self.here.extend(&here);
        } else {
            let left: Vec<_> = self.members.difference(&all).copied().collect();
            if !left.is_empty() {
                self.lose(now).left.extend(left);
            }
            self.members.clone_from(&all);
            self.here.clone_from(&here);
        }
        let settles = self.settles(now);
        let Some(loss) = &mut self.loss else {
            return false;
        };
        loss.left.retain(|node| !all.contains(node));
        let undone = !loss.of_store && loss.left.is_empty() && loss.came.is_none();
        let waited = loss.came.is_some_and(|came| came.until(now) >= WAITS);
        if undone || waited || loss.at.until(now) >= lasts {
            self.loss = None;
            return false;
        }
        if !settles {
            loss.whole.retain(|node| here.contains(node));
        }
        if loss.came.is_none() && !here.is_subset(&loss.whole) {
            loss.came = Some(now);
        }
        let first = loss.whole.intersection(&here).next();
        loss.came.is_some() && first == Some(&self.me)
    }

    /// Everything was told from then on.
    pub(super) fn told(&mut self, began: Moment) {
        if self.loss.as_ref().is_some_and(|loss| loss.at <= began) {
            self.loss = None;
        }
    }

    /// Something more is lost.
    fn lose(&mut self, now: Moment) -> &mut Loss {
        let loss = self.loss.get_or_insert_with(|| Loss {
            at: now,
            of_store: false,
            left: BTreeSet::new(),
            whole: self.here.clone(),
            came: None,
        });
        loss.at = now;
        loss
    }

    fn settles(&self, now: Moment) -> bool {
        let loss = self.loss.as_ref();
        loss.is_some_and(|loss| loss.of_store && loss.at.until(now) < SETTLES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LASTS: Duration = Duration::from_secs(7200);

    /// What one of several nodes makes of what it sees, second by second.
    struct Watch {
        losses: Losses,
        epoch: u64,
        now: u64,
    }

    impl Watch {
        fn of(me: u64) -> Self {
            Self {
                losses: Losses::new(NodeId(me), Epoch(0)),
                epoch: 1,
                now: 0,
            }
        }

        /// These are there so many seconds later, and those below 0 are members that are silent.
        fn after(&mut self, seconds: u64, there: &[i64]) -> bool {
            self.now += seconds;
            let member = |node: &i64| Member {
                node: NodeId(node.unsigned_abs()),
                name: String::new(),
                version: String::new(),
                addresses: Vec::new(),
                silent: Duration::ZERO,
                lag: Duration::ZERO,
                state: match node {
                    ..0 => NodeState::Silent,
                    _ => NodeState::Here,
                },
            };
            let members: Vec<_> = there.iter().map(member).collect();
            let now = Moment(self.now * 1_000_000_000);
            self.losses.look(&members, Epoch(self.epoch), LASTS, now)
        }

        fn told(&mut self) {
            self.losses.told(Moment(self.now * 1_000_000_000));
        }
    }

    #[test]
    fn the_first_of_those_who_stayed_tells_whoever_comes_after_a_leaving() {
        let (mut two, mut three) = (Watch::of(2), Watch::of(3));
        for watch in [&mut two, &mut three] {
            assert!(!watch.after(1, &[2, 3, 4]));
            assert!(!watch.after(1, &[2, 3]), "nobody came");
            assert!(!watch.after(60, &[2, 3]));
        }
        assert!(two.after(60, &[1, 2, 3]));
        assert!(!three.after(60, &[1, 2, 3]));
        two.told();
        assert!(!two.after(1, &[1, 2, 3]));
        assert!(!two.after(1, &[1, 2, 3, 5]), "all of it can be read");
        // It goes silent before it has told all, as far as the other knows.
        assert!(three.after(60, &[1, -2, 3]));
        assert!(!three.after(700, &[1, 2, 3]), "it is told by now");
    }

    #[test]
    fn one_that_leaves_while_another_comes_is_missed_too() {
        let mut two = Watch::of(2);
        assert!(!two.after(1, &[2, 3]));
        assert!(two.after(2, &[1, 2]));
    }

    #[test]
    fn restarts_and_newcomers_alone_cost_nothing() {
        let mut one = Watch::of(1);
        for there in [&[1][..], &[1, 2], &[1, 2, 3], &[1, -2, 3], &[1, 2, 3]] {
            assert!(!one.after(20, there), "killed, or new: {there:?}");
        }
        for there in [&[1, 3][..], &[1, 2, 3], &[1, 2], &[1, 2, 3], &[1, 2, 3, 4]] {
            assert!(!one.after(60, there), "one after the other: {there:?}");
        }
        // Two at a time: the first that is back may lack what the other had told meanwhile.
        assert!(!one.after(60, &[1, 4]));
        assert!(one.after(60, &[1, 2, 4]));
    }

    #[test]
    fn who_was_not_there_when_the_store_lost_something_is_told() {
        let mut one = Watch::of(1);
        assert!(!one.after(1, &[1, 2, 3, -4]));
        one.epoch = 2;
        for there in [&[1][..], &[1, 3], &[1, 2, 3]] {
            assert!(!one.after(2, there), "they notice one by one: {there:?}");
        }
        assert!(!one.after(60, &[1, 2, 3]));
        assert!(one.after(1, &[1, 2, 3, 4]));
        // Once more while it tells: all of it again.
        one.epoch = 3;
        assert!(one.after(1, &[1, 2, 3, 4]));
        one.losses.told(Moment(0));
        assert!(one.after(1, &[1, 2, 3, 4]));
        one.told();
        assert!(!one.after(1, &[1, 2, 3, 4, 5]));
    }

    #[test]
    fn what_peers_have_announced_since_is_not_told() {
        let mut one = Watch::of(1);
        assert!(!one.after(1, &[1, 2, 3]));
        assert!(!one.after(1, &[1, 2]));
        assert!(!one.after(7200, &[1, 2, 4]));
        one.epoch = 2;
        assert!(!one.after(1, &[1, 2, 4]));
        assert!(!one.after(7200, &[1, 2, 4, 5]));
    }

    #[test]
    fn all_that_were_down_while_the_store_was_emptied_tell_what_they_have() {
        for me in [1, 2] {
            let mut watch = Watch {
                losses: Losses::new(NodeId(me), Epoch(1)),
                epoch: 2,
                now: 0,
            };
            assert!(!watch.after(1, &[me.cast_signed()]));
            assert!(watch.after(1, &[1, 2]));
        }
    }
}
