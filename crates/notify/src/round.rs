//! The task of this front: looks every few seconds, and has messages sent.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;
use weir_engine::dispatch::{Job, Moment};

use crate::call::MessageCall;
use crate::model::Model;
use crate::policy::MESSAGE;
use crate::tower::Tower;

/// How often it is checked whether a message is due; the engine decides when it is sent.
const TICK: Duration = Duration::from_secs(1);

/// What the task works with.
pub(crate) struct Round {
    pub(crate) model: Arc<Model>,
    pub(crate) tower: Box<dyn Tower>,
    /// When to look next.
    pub(crate) next_look: Moment,
}

impl Round {
    /// Runs until Weir is to stop.
    pub(crate) async fn run(&mut self) {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let lifetime = self.model.lifetime.clone();
        loop {
            tokio::select! {
                () = lifetime.leaving() => return,
                _ = tick.tick() => {}
            }
            self.step();
            // What was told is written before anything else happens: a restart must not tell it again.
            self.model.keep().await;
            self.send();
        }
    }

    fn step(&mut self) {
        let now = self.model.now();
        let hooks = self.model.hooks.all();
        // Without hooks nobody is told anything, and nothing is looked at.
        if hooks.is_empty() || now < self.next_look {
            return;
        }
        let rules = self.model.rules.load();
        self.next_look = now + rules.look_every;
        self.model.set_network_down(self.tower.is_network_down());
        let seen = self.tower.look(now);
        for hook in hooks.iter().filter(|hook| !self.is_off(hook.upstream)) {
            hook.look(now, &seen, &rules.terms, rules.lines, |happening| {
                self.tower.tell(happening)
            });
        }
    }

    /// Submits a message for each hook that has something to be told. It waits in the engine's queue for its time.
    fn send(&self) {
        let model = &self.model;
        for hook in model.hooks.all().iter() {
            if model.has_way_to(hook) && !self.is_off(hook.upstream) {
                hook.desk.submit(|| {
                    let call = MessageCall {
                        model: model.clone(),
                        hook: hook.clone(),
                    };
                    let job = Job::new(hook.upstream, MESSAGE);
                    model.engine.submit(job, Arc::new(call))
                });
            }
        }
    }

    /// Whether an operator has switched a hook off: it is told nothing, and hears later only of what is still so.
    fn is_off(&self, hook: weir_engine::dispatch::UpstreamId) -> bool {
        self.model.engine.rests([hook]) == [Some(Moment::NEVER)]
    }
}
