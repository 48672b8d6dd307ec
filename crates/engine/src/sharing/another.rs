//! The second request of a call: it counts like any other, so it needs permission like any other.

use super::asking::Heard;
use super::*;

/// Whether one more request may be made.
enum More {
    No,
    /// With this right, where its upstream is shared.
    Yes(Option<Granted>),
    /// The store is asked.
    Ask(Ask),
}

impl Shared {
    pub(crate) fn has_room(&self, upstream: UpstreamId, budget: Budget) -> bool {
        let now = self.timeline.now();
        self.state.lock().has_room(upstream, budget, now)
    }

    /// # Cancel safety
    /// Dropped, nothing is lost: what the store grants then is given back.
    pub(crate) async fn another(self: &Arc<Self>, upstream: UpstreamId, budget: Budget) -> bool {
        let (whose, told) = oneshot::channel();
        let sent = self.timeline.waking();
        self.with(|state, now, effects| {
            match state.more(upstream, budget, now) {
                More::Ask(ask) => effects.asks.push(Asking {
                    whose: Whose::Request(whose),
                    upstream,
                    budget,
                    gap: None,
                    sent,
                    ask,
                }),
                more => state.count_more((upstream, budget), more, whose, now, effects),
            };
        });
        told.await.unwrap_or(false)
    }
}

impl State {
    fn has_room(&mut self, upstream: UpstreamId, budget: Budget, now: Moment) -> bool {
        let windows = self.windows(upstream, budget, now);
        windows.iter().all(|window| window.next <= now)
    }

    fn more(&mut self, upstream: UpstreamId, budget: Budget, now: Moment) -> More {
        if !self.has_room(upstream, budget, now) {
            return More::No;
        }
        let is_limited = self.dispatcher.is_limited(upstream, budget);
        let Some(sharing) = self.sharing.as_mut().filter(|_| is_limited) else {
            return More::Yes(None);
        };
        if sharing.ledger.key(upstream).is_none() {
            return More::Yes(None);
        }
        let id = sharing.node.ask_id();
        let quota = self.dispatcher.quota(upstream).filter(|_| !sharing.alone);
        let wanted = wanted(upstream, budget);
        match quota.and_then(|quota| sharing.ledger.ask(id, &wanted, quota, now)) {
            Some(ask) => {
                sharing.open(id, upstream, budget);
                More::Ask(ask)
            }
            None => self.more_alone(upstream, budget, id, now),
        }
    }

    /// In the share of this node.
    fn more_alone(&mut self, upstream: UpstreamId, budget: Budget, id: AskId, now: Moment) -> More {
        let windows = self.windows(upstream, budget, now);
        let sharing = self.sharing.as_ref();
        let wanted = wanted(upstream, budget);
        match sharing.map_or(Ok(()), |sharing| sharing.alone(&wanted, &windows, now)) {
            Ok(()) => More::Yes(Some(Granted {
                id,
                alone: true,
                late: false,
                question: None,
            })),
            Err(_) => More::No,
        }
    }

    /// What the store said about one more request.
    pub(super) fn heed_more(
        &mut self,
        asking: Asking,
        heard: Heard,
        now: Moment,
        effects: &mut Effects,
    ) {
        let (upstream, budget) = (asking.upstream, asking.budget);
        let Whose::Request(whose) = asking.whose else {
            return;
        };
        let more = match heard {
            Heard::Granted(granted) => More::Yes(Some(granted)),
            Heard::Void | Heard::Not(_) => More::No,
            Heard::Nothing => match &self.sharing {
                Some(sharing) => {
                    let id = sharing.node.ask_id();
                    self.more_alone(upstream, budget, id, now)
                }
                None => More::No,
            },
        };
        self.count_more((upstream, budget), more, whose, now, effects);
    }

    /// Counts the request if it may be made, and says so.
    fn count_more(
        &mut self,
        (upstream, budget): (UpstreamId, Budget),
        more: More,
        whose: oneshot::Sender<bool>,
        now: Moment,
        effects: &mut Effects,
    ) {
        let granted = match more {
            // Its call was cut off meanwhile.
            More::Yes(Some(granted)) if whose.is_closed() => {
                return self.give_back(upstream, granted, effects);
            }
            More::Yes(granted) => granted,
            More::No | More::Ask(_) => {
                let _ = whose.send(false);
                return;
            }
        };
        self.dispatcher.count(now, upstream, budget);
        self.start_shared(upstream, budget, granted, now, effects);
        effects.handover |= self.keeps;
        // If its call is cut off just now, it counts all the same.
        let _ = whose.send(true);
    }
}

fn wanted(upstream: UpstreamId, budget: Budget) -> Wanted {
    Wanted {
        upstream,
        budget,
        gap: None,
        question: None,
    }
}
