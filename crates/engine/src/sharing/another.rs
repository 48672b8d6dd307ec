//! The second request of a call: it counts like any other, so it needs permission like any other.

use super::*;

/// Whether one more request may be made.
enum More {
    No,
    /// With this right, where its upstream is shared.
    Yes(Option<Granted>),
    Ask(Node, Ask),
}

impl Shared {
    pub(crate) fn has_room(&self, upstream: UpstreamId, budget: Budget) -> bool {
        let now = self.timeline.now();
        self.state.lock().has_room(upstream, budget, now)
    }

    pub(crate) async fn another(self: &Arc<Self>, upstream: UpstreamId, budget: Budget) -> bool {
        let sent = self.timeline.now();
        let more = self.with(|state, now, effects| {
            let more = state.more(upstream, budget, now);
            state.count_more(upstream, budget, more, now, effects)
        });
        let (node, ask) = match more {
            More::No => return false,
            More::Yes(_) => return true,
            More::Ask(node, ask) => (node, ask),
        };
        let id = ask.id;
        let answer = node.call(|store| store.ask(ask)).await;
        let more = self.with(|state, now, effects| {
            let more = state.heed_more(upstream, budget, id, (answer, sent), now, effects);
            state.count_more(upstream, budget, more, now, effects)
        });
        matches!(more, More::Yes(_))
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
                let open = OpenAsk {
                    upstream,
                    budget,
                    handed_in: false,
                };
                sharing.open.insert(id, open);
                More::Ask(sharing.node.clone(), ask)
            }
            None => self.more_alone(upstream, budget, id, now),
        }
    }

    /// In the share of this node.
    fn more_alone(&mut self, upstream: UpstreamId, budget: Budget, id: AskId, now: Moment) -> More {
        let windows = self.windows(upstream, budget, now);
        let ledger = self.sharing.as_ref().map(|sharing| &sharing.ledger);
        let wanted = wanted(upstream, budget);
        match ledger.map_or(Ok(()), |ledger| ledger.alone(&wanted, &windows, now)) {
            Ok(()) => More::Yes(Some(Granted {
                id,
                alone: true,
                late: false,
                question: None,
            })),
            Err(_) => More::No,
        }
    }

    fn heed_more(
        &mut self,
        upstream: UpstreamId,
        budget: Budget,
        id: AskId,
        (answer, sent): (Result<Answer, Lost>, Moment),
        now: Moment,
        effects: &mut Effects,
    ) -> More {
        let Some(sharing) = &mut self.sharing else {
            return More::No;
        };
        let open = sharing.open.remove(&id);
        let granted = Granted {
            id,
            alone: false,
            late: false,
            question: None,
        };
        match answer {
            Ok(Answer::Granted(_)) if sent.until(now) <= ledger::FRESH => More::Yes(Some(granted)),
            Ok(Answer::Granted(_)) => {
                self.give_back(upstream, granted, effects);
                More::No
            }
            Ok(_) => {
                if open.is_some_and(|open| open.handed_in) {
                    self.give_back(upstream, granted, effects);
                }
                More::No
            }
            Err(_) => {
                // Whether it was granted is not known. If it was, it counts until it is given back.
                sharing.note(upstream, Untold::Unused(id));
                sharing.alone = true;
                let id = sharing.node.ask_id();
                self.more_alone(upstream, budget, id, now)
            }
        }
    }

    /// Counts the request if it may be made.
    fn count_more(
        &mut self,
        upstream: UpstreamId,
        budget: Budget,
        more: More,
        now: Moment,
        effects: &mut Effects,
    ) -> More {
        if let More::Yes(granted) = more {
            self.dispatcher.count(now, upstream, budget);
            self.start_shared(upstream, budget, granted, now, effects);
            effects.handover |= self.keeps;
        }
        more
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
