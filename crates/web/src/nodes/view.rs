//! What is known of the nodes now, for pages and programs: who is there, whether this one is alone, and what is wrong with their store.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use weir_engine::{Node, NodeStanding, StoreTrouble, words::counted};
use weir_store::shared::{Member, NodeId, NodeState};

use crate::{App, Shown, upstreams::Times};

/// The nodes as this one sees them.
pub(crate) struct NodesView {
    pub(crate) name: String,
    pub(crate) alone: Option<AloneView>,
    /// What is wrong with a store that answers.
    trouble: Option<StoreTrouble>,
    /// Itself first, then by name.
    pub(crate) nodes: Vec<NodeSeen>,
    /// Nodes that have yet to tell a store that lost something what they know.
    pub(crate) missing: Vec<Arc<str>>,
    now: Timestamp,
    zone: jiff::tz::TimeZone,
}

/// Since when this node is alone, and why.
pub(crate) struct AloneView {
    pub(crate) since: Timestamp,
    /// In a sentence, with its full stop.
    pub(crate) why: String,
}

/// One node.
pub(crate) struct NodeSeen {
    pub(crate) id: NodeId,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) is_this: bool,
    pub(crate) state: SeenState,
    /// When it was last heard of; `None` for this one.
    pub(crate) heard: Option<Timestamp>,
    /// How far it is behind in reading what others write.
    pub(crate) lag: Duration,
}

/// Whether a node is there, as far as can be known from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SeenState {
    Here,
    Silent,
    /// This node is alone, so it does not know.
    Unknown,
}

impl SeenState {
    pub(crate) const ALL: [Self; 3] = [Self::Here, Self::Silent, Self::Unknown];

    /// Its name in the API.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Here => "here",
            Self::Silent => "silent",
            Self::Unknown => "unknown",
        }
    }

    /// The look of its chip, one of the states of an upstream.
    pub(crate) fn chip(self) -> &'static str {
        match self {
            Self::Here => "open",
            Self::Silent => "cooldown",
            Self::Unknown => "manual",
        }
    }
}

impl NodesView {
    /// What this node knows; `None` where there is only one.
    pub(crate) fn of(app: &App) -> Option<Self> {
        let node = app.node()?;
        Some(Self::at(node, app.now(), app.shell().zone.clone()))
    }

    pub(crate) fn at(node: &Node, now: Timestamp, zone: jiff::tz::TimeZone) -> Self {
        let (view, moment) = (node.view(), node.timeline().now());
        let times = Times::seen(moment, now, zone.clone());
        let alone = match &view.standing {
            NodeStanding::Together => None,
            NodeStanding::Alone { since, why } => Some(AloneView {
                since: times.at(*since),
                why: sentence(why),
            }),
        };
        // What members are was true when the store last answered.
        let told = view.heard.unwrap_or(moment);
        let seen = |member: &Member| NodeSeen {
            id: member.node,
            name: member.name.clone(),
            version: member.version.clone(),
            is_this: member.node == node.id(),
            state: match (member.node == node.id(), alone.is_some(), member.state) {
                (true, ..) => SeenState::Here,
                (_, true, _) => SeenState::Unknown,
                (_, _, NodeState::Here) => SeenState::Here,
                (_, _, NodeState::Silent) => SeenState::Silent,
            },
            heard: (member.node != node.id()).then(|| times.at(told - member.silent)),
            lag: member.lag,
        };
        let mut nodes: Vec<NodeSeen> = view.members.iter().map(seen).collect();
        if !nodes.iter().any(|one| one.is_this) {
            nodes.push(NodeSeen {
                id: node.id(),
                name: node.name().to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                is_this: true,
                state: SeenState::Here,
                heard: None,
                lag: Duration::ZERO,
            });
        }
        nodes.sort_by(|a, b| (!a.is_this, &a.name, a.id).cmp(&(!b.is_this, &b.name, b.id)));
        let missing = view.missing.iter();
        Self {
            name: node.name().to_owned(),
            missing: missing.map(|one| node.name_of(*one)).collect(),
            trouble: node.store_trouble().filter(|_| alone.is_none()),
            alone,
            nodes,
            now,
            zone,
        }
    }

    /// How many are in this state.
    pub(crate) fn count(&self, state: SeenState) -> usize {
        self.nodes.iter().filter(|one| one.state == state).count()
    }

    /// What is wrong with the store, why, and what that means now; `None` while nothing is.
    pub(crate) fn trouble_sentence(&self) -> Option<String> {
        let Some(alone) = &self.alone else {
            return self.trouble.map(|trouble| trouble.to_string());
        };
        Some(format!(
            "{} – {} Clients are answered as before. Of each limit, this node uses only its own share until the store is back.",
            self.alone_since(alone),
            alone.why
        ))
    }

    /// Only what is wrong, or since when this node is alone, without a full stop.
    pub(crate) fn trouble_headline(&self) -> Option<String> {
        let alone = self.alone.as_ref().map(|alone| self.alone_since(alone));
        alone.or_else(|| Some(self.trouble?.what.to_owned()))
    }

    /// Why this node is alone, or else what is wrong with the store.
    pub(crate) fn why(&self) -> Option<String> {
        let alone = self.alone.as_ref().map(|alone| alone.why.clone());
        alone.or_else(|| self.trouble_sentence())
    }

    fn alone_since(&self, alone: &AloneView) -> String {
        let since = Shown::new(alone.since, self.now, &self.zone).text;
        format!("This node has been alone since {since}")
    }

    /// How the nodes are doing, in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let trouble = self.trouble_sentence();
        let missing = (self.alone.is_none() && !self.missing.is_empty()).then(|| {
            format!(
                "The store has lost something. Calls with a limit wait until {} has told it what it knows.",
                self.missing.join(" and ")
            )
        });
        // Who is there is not said beside it: by a clock that stands still, nobody falls silent.
        if trouble.is_some() || missing.is_some() {
            let all: Vec<String> = trouble.into_iter().chain(missing).collect();
            return all.join(" ");
        }
        let (here, all) = (self.count(SeenState::Here), self.nodes.len());
        let silent = self.nodes.iter().find(|one| one.state == SeenState::Silent);
        match (silent, all) {
            (None, 1) => "This is the only node so far.".to_owned(),
            (None, 2) => "Both nodes are here.".to_owned(),
            (None, all) => format!("All {} are here.", counted(all as u64, "node", "nodes")),
            (Some(silent), _) => {
                let since = silent.heard.unwrap_or(self.now);
                let since = Shown::new(since, self.now, &self.zone).text;
                format!(
                    "{here} of {all} nodes are here. {} has been silent since {since}.",
                    silent.name
                )
            }
        }
    }

    /// When a node was last heard of, for people.
    pub(crate) fn shown(&self, at: Timestamp) -> Shown {
        Shown::new(at, self.now, &self.zone)
    }
}

/// A reason as a sentence: the store's own words begin and end as they like.
fn sentence(why: &str) -> String {
    let why = why.trim().trim_end_matches('.');
    format!("{why}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_ends_like_a_sentence() {
        assert_eq!(sentence("no answer"), "no answer.");
        assert_eq!(sentence(" Set maxmemory-policy. "), "Set maxmemory-policy.");
    }
}
