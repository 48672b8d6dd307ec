//! What nodes do for a store that has lost something: each hands in its copies of the logs and says so, and no number is given
//! until all have, or ten seconds are over. Then articles get the numbers that could not be given meanwhile.
//!
//! A node that starts does the same: it may have been killed after it had heard of a new epoch, before its logs were handed in.
//! Its word tells whether they were.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use weir_engine::dispatch::Asker;
use weir_engine::{NodePart, NodeView};
use weir_store::shared::{Epoch, HAND_IN, HandIn, Leave, Lost, NodeId, NodeState, ShareWish};

use super::{Agreement, TRIES};
use crate::model::Model;
use crate::newsgroup::HeldNewsgroup;
use crate::policy::LOW;

/// How often it is looked whether all have handed in.
const LOOK: Duration = Duration::from_millis(250);

/// The same while nothing is to be handed in; a change of the surroundings is heard at once.
const REST: Duration = Duration::from_secs(5);

/// Whether all that is known has been handed in to a store that has lost something.
pub(super) struct Handing {
    state: Mutex<HandingState>,
    pub(super) done: Notify,
}

#[derive(Clone, Copy)]
struct HandingState {
    /// In which epoch, since when; `None` if there is nothing to be handed in.
    open: Option<(Epoch, Instant)>,
    /// Whether this node has.
    ours: bool,
}

/// The epoch in which a node starts, before it has heard which one it is.
const NOT_HEARD: Epoch = Epoch(0);

impl Default for Handing {
    fn default() -> Self {
        let state = HandingState {
            open: Some((NOT_HEARD, Instant::now())),
            ours: false,
        };
        Self {
            state: Mutex::new(state),
            done: Notify::new(),
        }
    }
}

impl Handing {
    pub(super) fn is_done(&self) -> bool {
        self.state.lock().open.is_none()
    }
}

impl NodePart for Handing {
    fn wishes(&self) -> Vec<ShareWish> {
        Vec::new()
    }

    fn hand_in(&self, to: &mut HandIn) {
        *self.state.lock() = HandingState {
            open: Some((to.epoch, Instant::now())),
            ours: false,
        };
    }

    fn leave(&self, _to: &mut Leave) {}

    fn look(&self, _view: &NodeView) {}
}

impl Model {
    /// Hands in logs when the store has lost something, as long as Weir runs; gives articles their numbers that were found
    /// while it was away.
    pub(crate) fn keep_agreeing(&self) {
        let Some(agreement) = &self.agreement else {
            return;
        };
        let vital = self.engine.vitals().add("news", "numbers");
        let parts = (
            self.me.clone(),
            self.lifetime.clone(),
            agreement.node.clone(),
        );
        let work = vital.drive(parts, |(me, lifetime, node)| {
            Box::pin(async move {
                let mut watch = node.watch();
                let mut returns = watch.borrow_and_update().returns;
                let mut pause = LOOK;
                loop {
                    tokio::select! {
                        changed = watch.changed() => if changed.is_err() { return },
                        () = tokio::time::sleep(pause) => {}
                        () = lifetime.closing() => return,
                    }
                    let Some(model) = me.upgrade() else { return };
                    let handed = tokio::select! {
                        handed = model.hand_in() => handed,
                        () = lifetime.closing() => return,
                    };
                    pause = if handed { REST } else { LOOK };
                    let now = watch.borrow().returns;
                    if handed && now != returns && !node.is_alone() {
                        returns = now;
                        model.number_found().await;
                    }
                }
            })
        });
        self.lifetime.spawn(work);
    }

    /// Hands in all logs, if there is need. Says whether all nodes have.
    async fn hand_in(&self) -> bool {
        let Some(agreement) = &self.agreement else {
            return true;
        };
        let HandingState { open, ours } = *agreement.handing.state.lock();
        let Some((epoch, since)) = open else {
            return true;
        };
        if agreement.node.is_alone() {
            return false;
        }
        if epoch == NOT_HEARD {
            let mut state = agreement.handing.state.lock();
            if state.open == open {
                state.open = Some((agreement.node.epoch(), Instant::now()));
            }
            return false;
        }
        if !ours {
            if self.hand_in_logs(agreement, epoch).await.is_err() {
                return false;
            }
            let mut state = agreement.handing.state.lock();
            state.ours |= state.open.is_some_and(|(now, _)| now == epoch);
            return false;
        }
        let Ok(entries) = agreement.whole(&handed_log(epoch)).await else {
            return false;
        };
        let has = |node: NodeId| {
            let word = handed(epoch, node);
            entries.iter().any(|entry| entry[..] == word)
        };
        let view = agreement.node.view();
        let here = view
            .members
            .iter()
            .filter(|member| member.state == NodeState::Here);
        let all = view.missing.is_empty() && here.clone().all(|member| has(member.node));
        if !all && since.elapsed() < HAND_IN {
            return false;
        }
        let mut state = agreement.handing.state.lock();
        if state.open == open {
            state.open = None;
            agreement.handing.done.notify_waiters();
        }
        state.open.is_none()
    }

    async fn hand_in_logs(&self, agreement: &Agreement, epoch: Epoch) -> Result<(), Lost> {
        let (log, word) = (handed_log(epoch), handed(epoch, agreement.node.id()));
        let entries = agreement.whole(&log).await?;
        if entries.iter().any(|entry| entry[..] == word) {
            return Ok(()); // before it was started again
        }
        let mut names = self.file.logged().await;
        names.extend(self.alive_names());
        names.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
        names.dedup();
        for name in names {
            if self.alive(&name).is_none() {
                let copy = self.file.log(&name).await;
                let from = copy.len().saturating_sub(1);
                let answer = agreement.extend(name.as_str(), from, Vec::new());
                let there = answer.await?.entries.into_iter().next();
                if there.as_deref() == copy.last().map(AsRef::as_ref) {
                    continue;
                }
            }
            let open = self.open(&name).await;
            let _turn = open.agreeing.lock().await;
            let keys = self.keys(&agreement.node);
            self.catch_up(agreement, &open, &keys).await?;
        }
        for _ in 0..TRIES {
            let entries = agreement.whole(&log).await?;
            if entries.iter().any(|entry| entry[..] == word) {
                return Ok(());
            }
            let answer = agreement.extend(&log, entries.len(), vec![word.to_vec()]);
            if answer.await?.appended {
                return Ok(());
            }
        }
        Err(Lost::Silent("others keep handing in".to_owned()))
    }

    /// Articles that were found without the store get their numbers.
    async fn number_found(&self) {
        for name in self.alive_names() {
            if let Some(open) = self.alive(&name)
                && open.with(HeldNewsgroup::number_again)
            {
                self.bring_new(&open, LOW, Asker::NOBODY).await;
                self.bring_others(&open, Asker::NOBODY).await;
            }
        }
    }
}

/// No newsgroup: says which nodes have handed in their logs. One for each epoch, so that those of earlier ones end by themselves.
fn handed_log(epoch: Epoch) -> String {
    format!("handed in {:016x}", epoch.0)
}

/// What a node says when it has handed in its logs.
fn handed(epoch: Epoch, node: NodeId) -> [u8; 17] {
    let mut word = [1; 17];
    word[1..9].copy_from_slice(&epoch.0.to_le_bytes());
    word[9..].copy_from_slice(&node.0.to_le_bytes());
    word
}
