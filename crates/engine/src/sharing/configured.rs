//! The limits that nodes have configured for one upstream: each keeps to its own, and pages say where they differ.

use std::collections::BTreeSet;

use weir_store::shared::{MOST_CONFIGURED, NodeId};

use super::*;

impl State {
    /// What this node has configured, in the order of windows.
    pub(super) fn configured(&self, upstream: UpstreamId) -> Vec<Configured> {
        let Some(quota) = self.dispatcher.quota(upstream) else {
            return Vec::new();
        };
        let both = [(Budget::Query, &quota.query), (Budget::Grab, &quota.grab)];
        let mut all: Vec<_> = both
            .into_iter()
            .flat_map(|(budget, windows)| {
                windows.iter().map(move |(window, limit)| Configured {
                    ledger: ledger::ledger(budget),
                    window: ledger::stored(window),
                    limit,
                })
            })
            .collect();
        all.sort();
        all.truncate(MOST_CONFIGURED);
        all
    }

    /// Compares that with what the others say, and sees to it that they hear of it.
    pub(super) fn compare_limits(
        &mut self,
        upstream: UpstreamId,
        told: &[(NodeId, Vec<Configured>)],
        node: &Node,
        effects: &mut Effects,
    ) {
        let own = self.configured(upstream);
        let view = node.view();
        let is_there = |other: NodeId| view.members.iter().any(|member| member.node == other);
        let differing = told
            .iter()
            .filter(|(other, _)| *other != node.id() && is_there(*other))
            .flat_map(|(other, theirs)| differing(&own, theirs, &node.name_of(*other)))
            .collect();
        let Some(sharing) = &mut self.sharing else {
            return;
        };
        if let Some(seen) = sharing.seen.get_mut(&upstream) {
            seen.differing = differing;
        }
        let said = told.iter().find(|(other, _)| *other == node.id());
        let has_room = said.is_some() || told.len() < MOST_CONFIGURED;
        if has_room && said.map_or(&[][..], |(_, said)| said) != own {
            sharing.note(upstream, Untold::Configured(upstream));
            self.tell_if_untold(effects);
        }
    }
}

/// The windows for which two nodes have different limits.
fn differing(own: &[Configured], theirs: &[Configured], node: &Arc<str>) -> Vec<DifferingLimit> {
    let windows = own.iter().chain(theirs);
    let windows: BTreeSet<_> = windows.map(|one| (one.ledger, one.window)).collect();
    let of = |limits: &[Configured], window| {
        let found = limits.iter().find(|one| (one.ledger, one.window) == window);
        found.map(|one| one.limit)
    };
    let differing = windows.into_iter().filter_map(|window| {
        let (here, there) = (of(own, window), of(theirs, window));
        (here != there).then(|| DifferingLimit {
            budget: match window.0 {
                weir_store::state::Ledger::Query => Budget::Query,
                weir_store::state::Ledger::Grab => Budget::Grab,
            },
            window: Window::of_seconds(window.1.0),
            here,
            there,
            node: node.clone(),
        })
    });
    differing.collect()
}
